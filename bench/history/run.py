# SPDX-License-Identifier: Apache-2.0
"""False alarms and finds of `ioatlas history`, simulated.

    nice -n 15 .venv/bin/python bench/history/run.py 300

A campaign: 24 cells x 2 visits, lognormal noise of a visit 5%, and a level of its own by which campaigns of an
unchanged target differ. Some levels follow each other (AR(1)), which the method does not assume.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from ioatlas.analysis.compare import Reading
from ioatlas.analysis.timeline import Moment, follow

CELLS, VISITS, NOISE = 24, 2, 0.05
SEED = 20261123


def series(draws: np.random.Generator, n: int, between: float, ar: float, step: float, at: int) -> list[Moment]:
    """So many campaigns; from `at` on the level is changed by the factor 1 + step."""
    levels = np.empty(n)
    last = draws.normal(0, between)
    for place in range(n):
        last = ar * last + draws.normal(0, between * np.sqrt(1 - ar**2)) if place else last
        levels[place] = last + (np.log1p(step) if place >= at else 0.0)
    base = draws.normal(18, 1, CELLS)
    moments = []
    for place in range(n):
        readings: list[Reading] = []
        for cell in range(CELLS):
            values = np.exp(base[cell] + levels[place] + draws.normal(0, NOISE, VISITS))
            readings += [Reading(str(cell), float(value), float(place)) for value in values]
        moments.append(Moment(str(place), float(place), {"all": readings}, {}))
    return moments


def worse(moments: Sequence[Moment], recent: int = 5) -> bool:
    return any(timeline.verdict == "worse" for timeline in follow(moments, recent=recent))


def main(times: int) -> None:
    draws = np.random.default_rng(SEED)
    print(
        "| campaigns | they differ by | AR(1) | told worse where nothing changed, one look | in any look up to here |"
    )
    print("|---|---|---|---|---|")
    for between, ar in ((0.01, 0.0), (0.05, 0.0), (0.03, 0.5)):
        for n in (6, 12, 24):
            once = ever = 0
            for _ in range(times):
                moments = series(draws, n, between, ar, 0.0, n)
                looks = [worse(moments[:seen]) for seen in range(4, n + 1)]
                once += looks[-1]
                ever += any(looks)
            print(f"| {n} | {between:.0%} | {ar:g} | {once / times:.1%} | {ever / times:.1%} |", flush=True)
    print()
    print("| campaigns before the step | they differ by | step | found at once | after 2 more | after 4 more |")
    print("|---|---|---|---|---|---|")
    for before in (5, 10, 20):
        for between, step in ((0.01, -0.1), (0.03, -0.1), (0.03, -0.2)):
            found = [0, 0, 0]
            for _ in range(times):
                moments = series(draws, before + 5, between, 0.0, step, before)
                for place, more in enumerate((1, 3, 5)):
                    found[place] += worse(moments[: before + more])
            told = " | ".join(f"{count / times:.0%}" for count in found)
            print(f"| {before} | {between:.0%} | {step:.0%} | {told} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
