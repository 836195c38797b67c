# SPDX-License-Identifier: Apache-2.0
"""Three configurations that cannot exist side by side, simulated: how often drift is called a difference, by the number
of set-ups of each, and how often a slower one is found.

Run: nice -n 15 .venv/bin/python bench/compare/set_ups.py [TRIALS] > bench/compare/RESULT-set-ups.md
"""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from ioatlas.answer.analysis.compare import Reading
from ioatlas.answer.analysis.many import ManyComparison, compare_many

SEED, CELLS, CV, VISITS = 15, 24, 0.04, 6
SET_UPS = (1, 2, 3, 6)
MOVES = (
    # words, standard deviation of the level of each set-up, drift from the first to the last set-up
    ("nothing moves", 0.0, 0.0),
    ("each set-up differs by 2%", 0.02, 0.0),
    ("each set-up differs by 5%", 0.05, 0.0),
    ("a steady drift of 10%", 0.0, 0.10),
)


def measured(
    rng: np.random.Generator, set_ups: int, own: float, drift: float, slower: float
) -> list[dict[str, list[Reading]]]:
    """Visits of three configurations, the third one slower; each pass goes back through the order of the one before."""
    order: list[int] = []
    for number in range(set_ups):
        mine = list(rng.permutation(3)) if number % 2 == 0 else order[-3:][::-1]
        order += [int(one) for one in mine]
    levels = rng.normal(size=CELLS)
    sides: list[dict[str, list[Reading]]] = [{} for _ in range(3)]
    seen = [0, 0, 0]
    for place, side in enumerate(order):
        level = rng.normal(0, own) + drift * place / max(1, len(order) - 1) + (np.log(1 - slower) if side == 2 else 0.0)
        visits = VISITS // set_ups
        for n, cell in enumerate(rng.permutation(np.repeat(np.arange(CELLS), visits))):
            value = float(np.exp(levels[cell] + level + rng.normal(0, CV)))
            at = place * CELLS * visits + n
            sides[side].setdefault(str(cell), []).append(Reading(str(cell), value, at, seen[side]))
        seen[side] += 1
    return sides


def compared(sides: list[dict[str, list[Reading]]]) -> ManyComparison:
    return compare_many(sides, visits=[True] * 3, campaigns=["one"] * 3)


def called(found: ManyComparison) -> list[tuple[int, int]]:
    return [(p.first, p.second) for p in found.pairs if p.whole is not None and p.whole.outcome in ("higher", "lower")]


def row(words: str, own: float, drift: float, set_ups: int, trials: int) -> str:
    rng = np.random.default_rng([SEED, set_ups, round(own * 100), round(drift * 100)])
    false, cells, hit, width = 0, [], 0, []
    for _ in range(trials):
        same = compared(measured(rng, set_ups, own, drift, 0.0))
        false += bool(called(same))
        cells.append(np.mean([pair.count("higher", "lower") / CELLS for pair in same.pairs]))
        width += [(pair.whole.high / pair.whole.low) ** 0.5 - 1 for pair in same.pairs if pair.whole is not None]
        hit += {(0, 2), (1, 2)} <= set(called(compared(measured(rng, set_ups, own, drift, 0.20))))
    return (
        f"| {words} | {set_ups} | {false / trials:.0%} | {np.mean(cells):.1%} | {hit / trials:.0%} "
        f"| {np.median(width):.1%} |"
    )


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    begin = time.monotonic()
    print("# Configurations measured one after another: drift and difference, simulated\n")
    print(f"`nice -n 15 .venv/bin/python bench/compare/set_ups.py {trials}`; {trials} trials a row, seed {SEED}.\n")
    print(f"Three configurations, {CELLS} cells, {VISITS} visits of each in all, noise {CV:.0%}; tolerance 2%.")
    print("Called different: any of the three maps, though none is. Found: the third one, 20% slower, against both.\n")
    print("| what moves | set-ups of each | called different | cells | 20% slower found | half interval of a map |")
    print("|---|---|---|---|---|---|")
    for words, own, drift in MOVES:
        for set_ups in SET_UPS:
            print(row(words, own, drift, set_ups, trials), flush=True)
    print(f"\n{time.monotonic() - begin:.0f} s, on a machine that was shared.")


if __name__ == "__main__":
    main()
