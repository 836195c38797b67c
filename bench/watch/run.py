# SPDX-License-Identifier: Apache-2.0
"""False alarms and delays of `ioatlas watch`, simulated.

    nice -n 15 .venv/bin/python bench/watch/run.py > bench/watch/RESULT.md

Days of 24 rounds, four cells each. A world says how rounds of an unchanged target differ; the method assumes
independent normal values of one level. Part of the noise is common to the cells of a round.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np

from ioatlas.answer.analysis.watching import Round, Rules, Watched

SEED = 20261123
HOUR, DAY = 3600.0, 86_400.0
CELLS = ("randread", "randwrite", "read", "write")
QUIET_DAYS, TRIALS, AHEAD = 1000, 100, 7 * 24
LATEST = 30 * 24

World = Callable[[np.random.Generator, int], np.ndarray]
"""Logarithms of levels, shape (rounds, cells)."""


def normal(sd: float) -> World:
    """Independent rounds; half of the variance is common to all cells."""

    def made(draws: np.random.Generator, rounds: int) -> np.ndarray:
        own, common = draws.normal(0, sd, (rounds, len(CELLS))), draws.normal(0, sd, (rounds, 1))
        return (own + common) / np.sqrt(2)

    return made


def heavy(draws: np.random.Generator, rounds: int) -> np.ndarray:
    """Student's t with 3 degrees of freedom, 3% wide."""
    return 0.03 * draws.standard_t(3, (rounds, len(CELLS))) / np.sqrt(3)


def stray(draws: np.random.Generator, rounds: int) -> np.ndarray:
    """As normal, and one round in 100 is 30% slower."""
    return normal(0.03)(draws, rounds) + np.where(draws.random((rounds, 1)) < 0.01, np.log(0.7), 0.0)


def wandering(correlation: float) -> World:
    """Each round follows the one before: AR(1), 3%."""

    def draw(draws: np.random.Generator, rounds: int) -> np.ndarray:
        levels = normal(0.03)(draws, rounds)
        for at in range(1, rounds):
            levels[at] = correlation * levels[at - 1] + np.sqrt(1 - correlation**2) * levels[at]
        return levels

    return draw


def daily(draws: np.random.Generator, rounds: int) -> np.ndarray:
    """15% slower from 9 to 17 o'clock, as where people work."""
    hours = np.arange(rounds)[:, None] % 24
    return normal(0.03)(draws, rounds) + np.where((hours >= 9) & (hours < 17), np.log(0.85), 0.0)


def alarms(levels: np.ndarray, rules: Rules) -> Iterator[int]:
    """The round that showed it, of every alarm."""
    watch = Watched(rules, len(CELLS))
    for at, row in enumerate(np.exp(levels)):
        made = Round(str(at), at * HOUR, dict(zip(CELLS, map(float, row), strict=True)))
        yield from (at for change in watch.take(made) if change.worse)


def quiet(world: World, rules: Rules) -> int:
    """False alarms in 1,000 days."""
    return len(list(alarms(world(np.random.default_rng(SEED), QUIET_DAYS * 24), rules)))


def delays(world: World, step: float, cells: int, rules: Rules) -> tuple[list[float], int]:
    """Rounds from a slow-down to its alarm, the first round that is slow being 1; and how many were never found."""
    found, missed = [], 0
    for trial in range(TRIALS):
        levels = world(np.random.default_rng(SEED + trial), AHEAD + LATEST)
        levels[AHEAD:, :cells] += np.log1p(step)
        at = next((at for at in alarms(levels, rules) if at >= AHEAD), None)
        if at is None:
            missed += 1
        else:
            found.append(at - AHEAD + 1)
    return found, missed


def main() -> None:
    usual = Rules(HOUR)
    plain = Rules(HOUR, tolerance=0.0)
    print("# Watching: false alarms and delays, simulated\n")
    print(f"`bench/watch/run.py`; a round an hour, {len(CELLS)} cells. Asked for: a false alarm in 365 days.\n")
    print(f"## {QUIET_DAYS:,} quiet days ({QUIET_DAYS * 24:,} rounds)\n")
    print("| world | false alarms | with `--tolerance 0` | with `--rhythm 24h` | foretold, tolerance 0 |")
    print("|---|---|---|---|---|")
    worlds: dict[str, World] = {
        "independent, 1%": normal(0.01),
        "independent, 3%": normal(0.03),
        "independent, 10%": normal(0.10),
        "heavy tails, 3%": heavy,
        "one round in 100 is 30% slower": stray,
        "each follows the last (0.3), 3%": wandering(0.3),
        "each follows the last (0.6), 3%": wandering(0.6),
        "15% slower from 9 to 17": daily,
    }
    rhythm = Rules(HOUR, rhythm_seconds=DAY)
    for name, world in worlds.items():
        counts = [quiet(world, rules) for rules in (usual, plain, rhythm)]
        told = f"{QUIET_DAYS / 365:.1f}" if name.startswith("independent") else "-"
        print(f"| {name} | {' | '.join(map(str, counts))} | {told} |", flush=True)
    print(f"\n## Slow-downs after {AHEAD // 24} quiet days\n")
    print(f"Rounds until the alarm, of {TRIALS} trials each; not found within 30 days counts as missed.\n")
    print("| rounds differ by | slower by | of 4 cells | mean | median | 95 in 100 within | missed |")
    print("|---|---|---|---|---|---|---|")
    differing: dict[str, World] = {f"{sd:.0%}": normal(sd) for sd in (0.01, 0.03, 0.10)}
    differing["3%, each follows the last (0.6)"] = wandering(0.6)
    for name, world in differing.items():
        for step, cells in ((-0.05, 4), (-0.1, 4), (-0.2, 1), (-0.2, 4), (-0.5, 1)):
            found, missed = delays(world, step, cells, usual)
            told = (
                f"{np.mean(found):.1f} | {np.median(found):.0f} | {np.quantile(found, 0.95):.0f}"
                if found
                else "- | - | -"
            )
            print(f"| {name} | {-step:.0%} | {cells} | {told} | {missed / TRIALS:.0%} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
