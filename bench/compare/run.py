# SPDX-License-Identifier: Apache-2.0
"""A against A, and a 10% slow-down, on simulated campaigns: how often `ioatlas compare` calls a map or a cell
different.

With DIR each row is kept there as soon as it is made and taken from there afterwards, and a call ends with status 4
before a row that would
begin after SECONDS: repeated calls make all in short slices.

Run: nice -n 15 .venv/bin/python bench/compare/run.py [PAIRS [DIR [SECONDS]]] > bench/compare/RESULT.md
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.signal import lfilter

from ioatlas.answer.analysis.compare import Reading, compare

SEED = 20212
CASES = (
    # cells, visits of each, CV of a visit, drift, standard deviation of the drift
    (100, 3, 0.12, "none", 0.0),
    (100, 3, 0.12, "slow", 0.05),
    (100, 3, 0.12, "1/f", 0.05),
    (400, 2, 0.12, "none", 0.0),
    (400, 2, 0.12, "slow", 0.05),
    (400, 2, 0.12, "1/f", 0.05),
    (30, 3, 0.12, "none", 0.0),
    (30, 3, 0.12, "slow", 0.05),
    (100, 3, 0.01, "none", 0.0),
    (100, 3, 0.01, "slow", 0.01),
    (30, 3, 0.01, "slow", 0.01),
    (100, 1, 0.12, "none", 0.0),
)


def drift(kind: str, rng: np.random.Generator, n: int, sd: float) -> np.ndarray:
    """Logarithm of the target's level over n visits. slow: correlation over 50 visits; 1/f: the same power in every
    octave.
    """
    if kind == "none":
        return np.zeros(n)
    if kind == "slow":
        r = np.exp(-1 / 50)
        return sd * np.sqrt(1 - r * r) * lfilter([1], [1, -r], rng.normal(size=n + 500))[500:]
    size = 1 << 16
    frequency = np.fft.rfftfreq(size)
    frequency[0] = 1
    pink = np.fft.irfft(
        rng.normal(size=frequency.size) * np.exp(2j * np.pi * rng.random(frequency.size)) / np.sqrt(frequency), size
    )[:n]
    return sd * pink / pink.std()


def campaign(rng: np.random.Generator, levels: np.ndarray, visits: int, cv: float, level: np.ndarray) -> list[Reading]:
    order = np.concatenate([rng.permutation(levels.size) for _ in range(visits)])
    values = levels[order] * np.exp(cv * rng.normal(size=order.size) + level)
    return [
        Reading(str(cell), float(value), float(when))
        for when, (cell, value) in enumerate(zip(order, values, strict=True))
    ]


def study(cells: int, visits: int, cv: float, kind: str, sd: float, pairs: int) -> str:
    rng = np.random.default_rng([SEED, cells, visits, round(cv * 100), len(kind)])
    n = cells * visits
    maps = worst = found = 0
    different, hit, stated_map, stated_cell = [], [], [], []
    for _ in range(pairs):
        levels = np.exp(rng.normal(size=cells))
        # The second campaign follows the first one: 1/f drift goes on, slow drift has forgotten.
        both = drift(kind, rng, 2 * n + 500, sd)
        first = campaign(rng, levels, visits, cv, both[:n])
        second = campaign(rng, levels, visits, cv, both[-n:])
        same = compare(first, second)
        assert same.whole is not None
        maps += same.whole.outcome in ("higher", "lower")
        share = sum(cell.outcome in ("higher", "lower") for cell in same.cells) / cells
        different.append(share)
        worst = max(worst, share)
        slow = compare(first, [Reading(r.cell, 0.9 * r.value, r.time) for r in second])
        assert slow.whole is not None
        found += slow.whole.outcome == "lower"
        hit.append(sum(cell.outcome == "lower" for cell in slow.cells) / cells)
        stated_map.append(slow.whole.detectable)
        stated_cell.append(np.mean([cell.detectable for cell in slow.cells if cell.detectable is not None]))
    return (
        f"| {cells} x {visits} | {cv:.0%} | {kind} {sd:.0%} | {maps / pairs:.1%} | {np.mean(different):.2%} (largest "
        f"{worst:.0%}) "
        f"| {found / pairs:.0%} ({np.mean(stated_map):.0%}) | {np.mean(hit):.1%} ({np.mean(stated_cell):.1%}) |"
    )


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    began = time.monotonic()
    print("# Two campaigns compared: false alarms and power, simulated\n")
    print(
        f"`nice -n 15 .venv/bin/python bench/compare/run.py {pairs}`; {pairs} pairs a row, seed {SEED}. Tolerance 2%, "
        "false discovery rate 5%.\n"
    )
    print(
        "A visit's value = the cell's level x lognormal noise (CV) x the target's level, which drifts as named over "
        "the visits of a campaign in random order;"
    )
    print(
        "drift: standard deviation; slow: correlation time 50 visits; 1/f: goes on from the first campaign into the "
        "second, 500 visits later."
    )
    print("In brackets: the least slow-down that the comparison itself says it finds 8 times in 10.\n")
    print(
        "| cells x visits | CV | drift | A/A: map called different | A/A: cells called different | 10% slower: map "
        "found | 10% slower: cells found |"
    )
    print("|---|---|---|---|---|---|---|")
    for case in CASES:
        keep = (
            Path(sys.argv[2]) / f"{' '.join(map(str, case)).replace('/', '-')} {pairs}" if len(sys.argv) > 2 else None
        )
        if keep is not None and keep.exists():
            print(keep.read_text())
            continue
        if len(sys.argv) > 3 and time.monotonic() - began > float(sys.argv[3]):
            sys.exit(4)
        made = study(*case, pairs)
        print(made, flush=True)
        if keep is not None:
            keep.parent.mkdir(parents=True, exist_ok=True)
            keep.write_text(made)


if __name__ == "__main__":
    main()
