# SPDX-License-Identifier: Apache-2.0
"""Visits made again because they seem to settle late: how often for nothing, and how often a change of level at each
place is found.

Run: nice -n 15 .venv/bin/python bench/overhead/late.py [SERIES] > bench/overhead/LATE.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from scipy.signal import lfilter

from ioatlas.stats.verdict import judge

INTERVALS, SEED = 50, 180
NOISE = {
    "iid, CV 10%": (0.0, 0.1),
    "AR(1) 0.3, CV 20%": (0.3, 0.2),
    "AR(1) 0.6, CV 20%": (0.6, 0.2),
    "AR(1) 0.9, CV 20%": (0.9, 0.2),
}
LOGNORMAL = "lognormal, CV 42%"


def noise(name: str, rng: np.random.Generator, count: int) -> np.ndarray:
    """Factors around 1, shape (count, INTERVALS)."""
    if name == LOGNORMAL:
        return np.exp(0.4 * rng.normal(size=(count, INTERVALS)) - 0.08)
    rho, cv = NOISE[name]
    around = lfilter([1], [1, -rho], rng.normal(size=(count, INTERVALS + 300)), axis=1)[:, 300:]
    return np.maximum(1 + cv * np.sqrt(1 - rho**2) * around, 0.0)


def shapes() -> Iterator[tuple[str, np.ndarray]]:
    at = np.arange(INTERVALS) / INTERVALS
    yield "none", np.ones(INTERVALS)
    for place in (0.2, 0.4, 0.6, 0.7, 0.8, 0.9):
        yield f"0.6 to 1 at {place:.0%}", np.where(at < place, 0.6, 1.0)
    for place in (0.2, 0.4, 0.6, 0.7, 0.8, 0.9):
        yield f"1.6 to 1 at {place:.0%}", np.where(at < place, 1.6, 1.0)
    for end in (0.3, 0.6, 0.9):
        yield f"ramp 0.4 to 1 until {end:.0%}", np.minimum(1, 0.4 + 0.6 * at / end)
    for begin, end in ((0.3, 0.4), (0.9, 1.0)):
        yield f"0.2 from {begin:.0%} to {end:.0%}", np.where((at >= begin) & (at < end), 0.2, 1.0)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    columns = [*NOISE, LOGNORMAL]
    print("# Late cuts\n")
    print(
        f"`.venv/bin/python bench/overhead/late.py {count}`: {count} series of {INTERVALS} intervals each, seed "
        f"{SEED}.\n"
    )
    print(
        "Share made again because the cut is late / cut early / labelled drifting, unstable or bistable; the rest is "
        "flat.\n"
    )
    print(f"| level | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")
    for name, shape in shapes():
        cells = []
        for column in columns:
            verdicts = [judge(row * shape, interval_ms=10) for row in noise(column, np.random.default_rng(SEED), count)]
            late = np.mean([one.late for one in verdicts])
            early = np.mean([one.cut > 0 and not one.late for one in verdicts])
            other = np.mean([one.label not in ("flat", "warm-up", "slowdown") for one in verdicts])
            cells.append(f"{late:.1%} / {early:.0%} / {other:.0%}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
