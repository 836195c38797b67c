# SPDX-License-Identifier: Apache-2.0
"""A test that runs in rounds until its tracked value is steady: what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Quantity = Literal["iops", "bw_bytes_per_s", "lat_mean_ns"]


@dataclass(frozen=True)
class RoundsCell:
    """One cell of a round. read_percent: share of its I/Os that are reads. value: average over the measurement window,
    None where a round lacks it.
    """

    key: str
    rw: str
    bs_bytes: int
    read_percent: int
    value: float | None
    tracked: bool = False


@dataclass(frozen=True)
class RoundsResult:
    """One test on one target.

    part:        what is apart in a purge, fill and rounds of its own ('bs 128 KiB'), or ''.
    quantity:    what is tracked and reported, in its unit; tracked: the cell that is tracked, in words.
    values:      the tracked value of every round, in order. first: number (from 1) of the first round after the last
                 preparation; those before it belong to a session that was interrupted, and no window spans both.
    met:         steady state was reached. ended: why no further round is run ('' while the test goes on).
    window:      numbers of the first and last round of the measurement window; None with fewer than five rounds.
    average, range_share, slope_share, line: over the window; line: best-fit values at its first and last round.
    written_bytes: by the rounds, up to the end of each.
    deviations:  what is not as the specification says.
    """

    target: str
    test: str
    title: str
    part: str
    quantity: Quantity
    tracked: str
    values: tuple[float, ...]
    first: int
    met: bool
    ended: str
    reason: str
    window: tuple[int, int] | None
    average: float | None
    range_share: float | None
    slope_share: float | None
    line: tuple[float, float] | None
    cells: tuple[RoundsCell, ...]
    written_bytes: tuple[int, ...] = ()
    footprint_bytes: int = 0
    purge: str = ""
    deviations: tuple[str, ...] = ()
    method: str = ""
