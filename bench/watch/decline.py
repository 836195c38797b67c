# SPDX-License-Identifier: Apache-2.0
"""Slow declines after 7 quiet days of hourly rounds that differ by 3%: how many of 15 a watch misses."""

from __future__ import annotations

import numpy as np

from ioatlas.stats.sequential import Watcher, limit_for

CHARTS, AHEAD, AFTER, TRIALS = 8, 7 * 24, 10 * 24, 15


def main() -> None:
    limit = limit_for(365 * 24 * CHARTS)
    print("| slower by | over days | missed | mean rounds |\n|---|---|---|---|")
    for days in (2, 10, 30):
        for total in (-0.1, -0.3):
            found = [at for trial in range(TRIALS) if (at := alarm(trial, days, total, limit))]
            print(f"| {-total:.0%} | {days} | {TRIALS - len(found)} of {TRIALS} | {np.mean(found):.0f} |")


def alarm(trial: int, days: int, total: float, limit: float) -> int:
    """Rounds from the start of the decline to its alarm; 0 where there is none until 10 days after its end."""
    count = AHEAD + days * 24 + AFTER
    levels = 0.03 * np.random.default_rng(trial).normal(size=count)
    levels[AHEAD:] += np.log1p(total) * np.minimum(1, np.arange(count - AHEAD) / (days * 24))
    watcher = Watcher(limit, least=0.05)
    shown = [at for at, value in enumerate(levels) if watcher.take(float(value)) and at >= AHEAD]
    return shown[0] - AHEAD + 1 if shown else 0


if __name__ == "__main__":
    main()
