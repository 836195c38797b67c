# SPDX-License-Identifier: Apache-2.0
"""When a cell has been visited often enough: by precision, not by count. Pure: visit values in, decision out.

Looking at the interval after every visit and stopping at the first narrow one picks the lucky moments: a nominal 95%
then covers as little as 90%. Three guards, one for each situation, are counted in `bench/coverage`:

- with a variance pooled over cells, the moderated interval is the posterior of a model whose prior was learnt from
the cells themselves;
  averaged over cells its coverage does not depend on when one looks (Rouder 2014, Psychonomic Bulletin & Review 21(2));
- without, every look uses a higher confidence than is claimed (`look_confidence`);
- certified grade looks only at planned visit numbers, at 97.5% a look but the last, with an interval that assumes no
distribution.

A grade says how precise cells are to be, and which interval that gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ioatlas.model.errors import UsageError
from ioatlas.model.options import GradeName
from ioatlas.stats.intervals import (
    LOG_T,
    Interval,
    PooledVariance,
    log_t_interval,
    median_interval,
    moderated_log_interval,
)

MAP_METHOD = "log-t-looks/1"
CERTIFIED_METHOD = "median-looks/2"
CERTIFIED_LOOKS = (7, 10, 13, 20, 30)
CERTIFIED_LOOK_CONFIDENCE = 0.975
MAP_LOOKS = (3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80)

_LOOK_CONFIDENCE = {1: 0.95, 2: 0.964, 3: 0.97, 4: 0.974, 5: 0.976}
"""Confidence of each of k looks of plain log-t that together claim 95%, found by simulation of the worst noise for
each k
(60,000 series each: coverage 94.9 to 97.6% over CV / precision from 0.3 to 5); 0.978 beyond 5 looks."""

State = Literal["precise", "cap", "more"]


@dataclass(frozen=True)
class Decision:
    """What to do with one cell.

    state:        'precise' (stop: the width asked for is reached), 'cap' (stop: it is not, and the width reached is
    in `interval`), 'more'.
    interval:     of the visits so far, claimed at 95%. Between planned looks it is for display: no rule may stop on it.
    next_visits:  visits until the next look, 0 when stopped.
    """

    state: State
    interval: Interval
    next_visits: int


def look_confidence(looks: int) -> float:
    """Confidence to use at each of `looks` looks so that the interval at the stop covers what is claimed, 95%."""
    return _LOOK_CONFIDENCE.get(looks, 0.978)


def map_grade(
    values: Sequence[float], *, precision: float = 0.05, cap: int = 5, pooled: PooledVariance | None = None
) -> Decision:
    """Map grade: half-width of the 95% interval of the geometric mean at most `precision` of it.

    values: one positive value for each accepted visit, in the order they were made; precision: a share, 0.05 for 5%.
    cap: most visits. At least 3 visits, 2 when `pooled` is known. With a cap above 10 looks grow apart (3, 4, 5, 7,
    10, 14, 20, 28, 40 ..).
    """
    _check(precision, cap, 2 if pooled else 3)
    n = len(values)
    if pooled:
        interval = moderated_log_interval(values, pooled)
        looks = tuple(sorted({2, *(look for look in MAP_LOOKS if look < cap), cap}))
    else:
        looks = tuple(sorted({*(look for look in MAP_LOOKS if look < cap), cap}))
        plain = log_t_interval(values, look_confidence(len(looks)))
        interval = replace(plain, confidence=0.95, method=MAP_METHOD if plain.method == LOG_T else plain.method)
    return _decide(interval, n, looks, precision)


def certified_grade(values: Sequence[float], *, precision: float = 0.02, cap: int = 30) -> Decision:
    """Certified grade: order-statistic interval of the median, half-width at most `precision`, at 7, 10, 13, 20 or 30
    visits only.

    97.5% at each look but the last, where nothing is left to choose, claimed as 95%: whatever the distribution,
    stopping at the first narrow one of five looks keeps 95% (`bench/coverage`). `cap` is one of the looks, else the
    largest look below it; at least 7.
    """
    _check(precision, cap, CERTIFIED_LOOKS[0])
    looks = tuple(look for look in CERTIFIED_LOOKS if look <= cap)
    confidence = 0.95 if len(values) >= looks[-1] else CERTIFIED_LOOK_CONFIDENCE
    interval = replace(median_interval(values, confidence), confidence=0.95, method=CERTIFIED_METHOD)
    return _decide(interval, len(values), looks, precision)


def _check(precision: float, cap: int, least: int) -> None:
    if not 0 < precision < 1:
        raise UsageError(
            f"a precision of {precision} is not between 0% and 100%",
            where="--precision",
            remedy="write it as a share or per cent: 5%",
        )
    if cap < least:
        raise UsageError(
            f"at most {cap} visits allow no interval, this rule takes {least}", remedy=f"allow {least} visits or more"
        )


def _decide(interval: Interval, n: int, looks: tuple[int, ...], precision: float) -> Decision:
    narrow = interval.relative_half_width <= precision
    if (narrow and n in looks) or n >= looks[-1]:
        # Visits beyond the last look (a repeat ordered for another reason) still count.
        return Decision("precise" if narrow else "cap", interval, 0)
    return Decision("more", interval, next(look for look in looks if look > n) - n)


DEFAULT_CAP = {GradeName.MAP: 5, GradeName.CERTIFIED: 30}
DEFAULT_PRECISION = {GradeName.MAP: 0.05, GradeName.CERTIFIED: 0.02}


@dataclass(frozen=True)
class Grade:
    """name: 'map' (Student's t on logarithms) or 'certified' (order statistics of the median).

    precision: half-width to reach, as a share; None: a fixed number of visits, nothing to reach. cap: most visits
    of a cell.
    """

    name: GradeName = GradeName.MAP
    precision: float | None = None
    cap: int = 5

    def decide(self, values: Sequence[float], pooled: PooledVariance | None) -> Decision:
        """Whether a cell with these visits is done."""
        if self.precision is None:
            return Decision("precise", self.interval(values, pooled), 0)
        if self.name == "certified":
            return certified_grade(values, precision=self.precision, cap=self.cap)
        return map_grade(values, precision=self.precision, cap=self.cap, pooled=pooled)

    def interval(self, values: Sequence[float], pooled: PooledVariance | None) -> Interval:
        """The interval of a cell's visits; under a rule that looks, the one that keeps its coverage under looking."""
        if self.precision is not None and (self.name == "map" or len(values) >= CERTIFIED_LOOKS[0]):
            found = self.decide(values, pooled).interval
            if not found.withheld:
                return found
        if pooled is None:
            return log_t_interval(values)
        return moderated_log_interval(values, pooled)
