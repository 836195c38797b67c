# SPDX-License-Identifier: Apache-2.0
"""Steady state as the SNIA Solid State Storage Performance Test Specification defines it: a stationarity test over
rounds, not a precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from ioatlas.model.errors import UsageError

METHOD = "snia-pts-2.0/1"
WINDOW = 5
RANGE_LIMIT = 0.20
SLOPE_LIMIT = 0.10
MOST_ROUNDS = 25


@dataclass(frozen=True)
class SteadyState:
    """Result of the test on the rounds run so far.

    met:            steady state reached in round `round_number` (counted from 1), the last of the measurement window.
    finished:       met, or `MOST_ROUNDS` rounds are over: no further round is run.
    average:        of the measurement window (the last five rounds when not met), in the unit of the tracking variable;
                    None below 5 rounds.
    range_share:    (max - min) / average over the window; at most 0.20. slope_share: excursion of the best-fit line /
                    average; at most 0.10.
    line:           the best-fit line's values at the window's first and last round.
    """

    met: bool
    finished: bool
    round_number: int
    average: float | None
    range_share: float | None
    slope_share: float | None
    reason: str
    line: tuple[float, float] | None = None


def steady_state(rounds: Sequence[float]) -> SteadyState:
    """Test the tracking variable (for the IOPS test 4 KiB random write IOPS), one value a round.

    The window is the first five consecutive rounds for which max - min <= 20% of their average and the least-squares
    line moves by at most 10% of it from the window's first to its last round (PTS 2.0, definition of steady state).
    Values are not negative; rounds after the 25th are refused.
    """
    values = [float(value) for value in rounds]
    if any(not isfinite(value) or value < 0 for value in values):
        raise UsageError("a round has no valid value", remedy="repeat the round")
    if len(values) > MOST_ROUNDS:
        raise UsageError(
            f"{len(values)} rounds, the specification ends after {MOST_ROUNDS}", remedy="start again with a purge"
        )
    if len(values) < WINDOW:
        return SteadyState(False, False, len(values), None, None, None, f"{len(values)} rounds, a window has {WINDOW}")
    last: SteadyState | None = None
    for end in range(WINDOW, len(values) + 1):
        last = _window(values[end - WINDOW : end], end)
        if last.met:
            return last
    assert last is not None
    return last


def _window(window: Sequence[float], end: int) -> SteadyState:
    y = np.array(window)
    average = float(y.mean())
    if average <= 0:
        return SteadyState(False, end >= MOST_ROUNDS, end, average, None, None, "no I/O in the window")
    x = np.arange(WINDOW) - (WINDOW - 1) / 2
    spread = float(np.ptp(y)) / average
    rise = float(x @ y) / float(x @ x) * (WINDOW - 1)
    slope = abs(rise) / average
    # The limits are inclusive; the allowance is for rounding only.
    met = spread <= RANGE_LIMIT + 1e-12 and slope <= SLOPE_LIMIT + 1e-12
    word = "met" if met else "not met"
    reason = (
        f"{word} in round {end}: range {spread:.1%} of the average (limit {RANGE_LIMIT:.0%}), slope "
        f"{slope:.1%} (limit {SLOPE_LIMIT:.0%})"
    )
    line = (average - rise / 2, average + rise / 2)
    return SteadyState(met, met or end >= MOST_ROUNDS, end, average, spread, slope, reason, line)
