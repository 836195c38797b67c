# SPDX-License-Identifier: Apache-2.0
"""Three sides at once, simulated: false calls of any map, and a 10% slow-down of one of three.

Run: nice -n 15 .venv/bin/python bench/compare/many.py [TRIALS [CAMPAIGNS]] > bench/compare/RESULT-many.md
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from run import campaign, drift

from ioatlas.answer.analysis.compare import Reading
from ioatlas.answer.analysis.many import ManyComparison, Pair, compare_many
from ioatlas.answer.results.comparison import compare_sides

SEED = 15
CASES = (
    # cells, visits of each, CV of a visit, drift, standard deviation of the drift
    (36, 3, 0.03, "none", 0.0),
    (100, 3, 0.12, "none", 0.0),
    (36, 3, 0.03, "slow", 0.02),
    (100, 3, 0.12, "slow", 0.05),
    (36, 2, 0.10, "1/f", 0.05),
)
SWEEP = """
visits = 3
window = "300ms"
{targets}
[sweep]
rw = ["randread", "randwrite"]
bs = ["4k", "16k", "64k"]
size = ["1m"]
numjobs = [1, 4]
direct = 1
"""

Side = dict[str, list[Reading]]


def by_cell(readings: list[Reading]) -> Side:
    found: Side = {}
    for reading in readings:
        found.setdefault(reading.cell, []).append(reading)
    return found


def slowed(side: Side, share: float, cells: set[str] | None = None) -> Side:
    return {
        name: [Reading(r.cell, (1 - share) * r.value, r.time) for r in values] if not cells or name in cells else values
        for name, values in side.items()
    }


def called(found: ManyComparison) -> int:
    return sum(pair.whole is not None and pair.whole.outcome in ("higher", "lower") for pair in found.pairs)


def of(found: ManyComparison, first: int, second: int) -> Pair:
    pair = found.pair(first, second)
    assert pair is not None
    return pair


def lower(pair: Pair) -> bool:
    return pair.whole is not None and pair.whole.outcome == "lower"


def study(cells: int, visits: int, cv: float, kind: str, sd: float, trials: int) -> str:
    rng = np.random.default_rng([SEED, cells, visits, round(cv * 100), len(kind)])
    n = cells * visits
    family, false_cells, both, wrong = 0, [], 0, 0
    stated = []
    for _ in range(trials):
        levels = np.exp(rng.normal(size=cells))
        moving = drift(kind, rng, 3 * n + 1000, sd)
        sides = [by_cell(campaign(rng, levels, visits, cv, moving[at : at + n])) for at in (0, n + 500, 2 * n + 1000)]
        same = compare_many(sides, visits=[True] * 3)
        family += called(same) > 0
        false_cells.append(np.mean([pair.count("higher", "lower") / cells for pair in same.pairs]))
        one = compare_many([*sides[:2], slowed(sides[2], 0.10)], visits=[True] * 3)
        both += lower(of(one, 0, 2)) and lower(of(one, 1, 2))
        wrong += of(one, 0, 1).whole.outcome in ("higher", "lower")  # type: ignore[union-attr]
        stated.append(of(same, 0, 1).whole.detectable)  # type: ignore[union-attr]
    return (
        f"| {cells} x {visits} | {cv:.0%} | {kind} {sd:.0%} | {family / trials:.0%} | {np.mean(false_cells):.2%} "
        f"| {both / trials:.0%} | {wrong / trials:.0%} | {np.median(stated):.1%} |"
    )


def campaigns(count: int) -> str:
    """Whole campaigns of a simulated target with three configurations, compared by target."""
    from tests.simulate.law import Law, Way
    from tests.unit.simulated import Shell

    names = ("one", "two", "three")
    false = cells = tested = found = told = 0
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            for name in names:
                (place / name).mkdir()
            targets = "\n".join(f'[[target]]\nname = "{name}"\npath = "{place / name}"' for name in names)
            (place / "three.toml").write_text(SWEEP.format(targets=targets))
            way = Way(50e-6, 60e3, 400e6)
            law = Law(read=way, write=way, random_read=way, random_write=way, noise=0.04, seed=number)
            made = Shell(law)("map", "--campaign", place / "three.toml", "-o", place / "c", "--yes")
            assert made.returncode == 0, made.stderr
            same = compare_sides([place / "c"], by_target=True)
            false += called(same.result) > 0
            cells += sum(pair.count("higher", "lower") for pair in same.result.pairs)
            tested += sum(len(pair.cells) for pair in same.result.pairs)
            readings = [dict(side) for side in same.loads.readings]
            one = compare_many(
                [*readings[:2], slowed({k: list(v) for k, v in readings[2].items()}, 0.10)],
                visits=[True] * 3,
                campaigns=[place] * 3,
            )
            found += lower(of(one, 0, 2)) and lower(of(one, 1, 2))
            told += of(one, 0, 1).whole.outcome in ("higher", "lower")  # type: ignore[union-attr]
    return (
        f"{count} campaigns of one target under three names, 12 cells, 3 visits, noise 4%: in {false} some map was "
        f"called different, {cells} of {tested} cells. With the third slowed by 10%: found against both others in "
        f"{found}, the two equal ones called different in {told}."
    )


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    began = time.monotonic()
    print("# Three sides at once: false calls, and one slower, simulated\n")
    print(f"`nice -n 15 .venv/bin/python bench/compare/many.py {trials} {count}`; seed {SEED}. Tolerance 2%.\n")
    print("Noise and drift as in RESULT.md. Family: any of the three maps called different.\n")
    print(
        "| cells x visits | CV | drift | A/A/A: any map | A/A/A: cells | 10% slower third: found against both "
        "| and the equal two called different | smallest difference stated |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for case in CASES:
        print(study(*case, trials), flush=True)
    print(f"\n{campaigns(count)}\n")
    print(f"{time.monotonic() - began:.0f} s.")


if __name__ == "__main__":
    main()
