# SPDX-License-Identifier: Apache-2.0
"""An interval over few visits reaches no further than what was seen within them lends credit to.

Two or three visits that lie far apart give Student's t an interval of many powers of ten. It covers the truth, and
tells nothing. No mean and no percentile lies far outside of what single I/Os and stretches of a visit gave.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import log, sqrt

import numpy as np

from ioatlas.stats.intervals import Interval, log_t_interval, t_quantile

METHOD = "seen-2/1"
REACH = 2.0
"""How many times beyond what was seen a truth may lie."""
FAR = 100.0
"""Upper over lower end from which an interval is withheld: ten times either way."""
MOST_VISITS = 30
"""Visits beyond which no number is told that would be enough."""
TOO_FAR = "visits too far apart for an interval"


def bounded(interval: Interval, values: Sequence[float], seen: Iterable[float] = ()) -> Interval:
    """The interval of these visits' values, no further than REACH beyond what was seen; withheld beyond FAR.

    seen: what single I/Os or stretches within the visits gave, in the same unit; the visits' values always count.
    The width does not change where it is usual. What is withheld says how many visits would be enough.
    """
    if interval.low is None or interval.high is None or not interval.estimate:
        return interval
    known = [*values, *(value for value in seen if value > 0), interval.estimate]
    low, high = max(interval.low, min(known) / REACH), min(interval.high, max(known) * REACH)
    if low > 0 and high > FAR * low:
        return replace(interval, low=None, high=None, reason=_too_far(values, interval.confidence), apart=True)
    if (low, high) == (interval.low, interval.high):
        return interval
    return replace(interval, low=low, high=high, method=f"{interval.method} + {METHOD}")


def few_visits_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Student's t on logarithms, bounded by what the visits gave."""
    return bounded(log_t_interval(values, confidence), values)


def _too_far(values: Sequence[float], confidence: float) -> str:
    """Why, and how many more visits like these would be enough."""
    logs = np.log([value for value in values if value > 0])
    sd = float(logs.std(ddof=1)) if logs.size > 1 else 0.0
    for n in range(len(values) + 1, MOST_VISITS + 1):
        if t_quantile((1 + confidence) / 2, n - 1) * sd / sqrt(n) <= log(FAR) / 2:
            more = n - len(values)
            return f"{TOO_FAR}: it takes about {more} more visit{'s' if more > 1 else ''}"
    return TOO_FAR
