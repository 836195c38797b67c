# SPDX-License-Identifier: Apache-2.0
"""Confidence intervals over the visits of one cell. One value a visit; never over the intervals inside a visit.

Every function returns an `Interval`, which is withheld (bounds None, with a reason) rather than wrong. Methods carry an
id and a version; a changed formula gets a new version and the old function stays.

The variance of one visit, learnt from all cells together, gives two or three visits an interval; what was seen within
the visits bounds how far one may reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product, repeat
from math import comb, exp, inf, isfinite, log, sqrt

import numpy as np

from ioatlas.model.errors import UsageError
from ioatlas.stats.distributions import f_tail, log_gamma, t_quantile
from ioatlas.stats.warmup import Floats

LOG_T = "log-t/1"
MODERATED_LOG = "log-t-moderated/1"
PLAIN_T = "t/1"
MEDIAN = "median-order/1"


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval, in the unit of the values.

    low, high:  None when withheld; `reason` then says why. low <= estimate <= high otherwise.
    confidence: what is claimed, 0..1. n: visits.
    apart:      withheld because the visits are further apart than the pooled variance allows.
    """

    estimate: float | None
    low: float | None
    high: float | None
    n: int
    confidence: float
    method: str
    reason: str = ""
    apart: bool = False

    @property
    def withheld(self) -> bool:
        return self.low is None or self.high is None

    @property
    def relative_half_width(self) -> float:
        """Half the interval's width over the estimate; infinite when withheld or when the estimate is 0."""
        if self.low is None or self.high is None or not self.estimate:
            return inf
        return (self.high - self.low) / 2 / self.estimate

    def covers(self, truth: float) -> bool:
        return self.low is not None and self.high is not None and self.low <= truth <= self.high


def log_t_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Geometric mean of n >= 3 visits with Student's t interval on their logarithms.

    Throughput is positive and its noise multiplicative, so logarithms are nearer to normal than the values. A visit
    that measured zero (a stall) has no logarithm: the interval is then Student's on the plain values, cut at 0 (method
    't/1', and it says so).
    """
    checked = _checked(values, confidence)
    n = len(checked)
    if n < 3:
        return _withheld(
            checked,
            confidence,
            LOG_T,
            f"{n} visit{'s' if n != 1 else ''}, an interval without a pooled variance takes 3",
        )
    if min(checked) <= 0:
        return _plain_t(checked, confidence)
    logs = np.log(checked)
    return _log_interval(logs, float(logs.var(ddof=1)), n - 1, confidence, LOG_T)


def moderated_log_interval(values: Sequence[float], pooled: PooledVariance, confidence: float = 0.95) -> Interval:
    """Geometric mean of n >= 1 visits; the variance is the cell's own, shrunk towards that of all cells.

    Variance (d0 s0^2 + (n - 1) s^2) / (d0 + n - 1) with d0 + n - 1 degrees of freedom (Smyth 2004, Statistical
    Applications in Genetics and Molecular Biology 3(1), moderated t). A cell whose own variance cannot have come from
    the pool (F test, p < 0.01) keeps its own: plain log-t for n >= 3, withheld for n = 2.
    """
    checked = _checked(values, confidence)
    n = len(checked)
    if not n or min(checked) <= 0:
        return _with_a_zero(checked, confidence, MODERATED_LOG)
    logs = np.log(checked)
    own = float(logs.var(ddof=1)) if n > 1 else 0.0
    apart = exceeds_pool(own, n - 1, pooled.variance_log, pooled.dof)
    if apart and n < 3:
        return _too_far_apart(checked, confidence, MODERATED_LOG)
    return _log_interval(logs, *pooled.with_own(own, n), confidence, LOG_T if apart else MODERATED_LOG)


def median_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Median of n visits with a distribution-free interval from two of the sorted values.

    Its real coverage is at least `confidence` for every continuous distribution (binomial; David and Nagaraja 2003,
    section 7.1); `order_statistic_ranks` gives the ranks. Withheld when n is too small (below 6 for 95%).
    """
    checked = sorted(_checked(values, confidence))
    n = len(checked)
    ranks = order_statistic_ranks(n, confidence)
    if ranks is None:
        return _withheld(
            checked, confidence, MEDIAN, f"{n} visits are too few for a {confidence:.1%} interval of the median"
        )
    return Interval(float(np.median(checked)), checked[ranks[0] - 1], checked[ranks[1] - 1], n, confidence, MEDIAN)


@lru_cache(maxsize=1024)
def order_statistic_ranks(n: int, confidence: float) -> tuple[int, int] | None:
    """Ranks (l, u), counted from 1, of the narrowest symmetric pair that covers the median with at least `confidence`;
    None if none does.

    P(x_(l) < median < x_(n+1-l)) = 1 - 2 P(Binomial(n, 1/2) < l).
    """
    best = None
    for low in range(1, n // 2 + 1):
        if rank_coverage(n, low) < confidence:
            break
        best = (low, n + 1 - low)
    return best


def rank_coverage(n: int, low: int) -> float:
    """Exact coverage of the median by the order statistics of rank `low` and n + 1 - `low`."""
    return float(1 - 2 * sum(comb(n, i) for i in range(low)) / 2**n)


def t_half_width(values: Sequence[float], confidence: float = 0.95) -> float:
    """Of Student's interval of the mean of n >= 2 values."""
    return t_quantile((1 + confidence) / 2, len(values) - 1) * float(np.std(values, ddof=1)) / sqrt(len(values))


def _checked(values: Sequence[float], confidence: float) -> list[float]:
    if not 0 < confidence < 1:
        raise UsageError(f"a confidence of {confidence} is not between 0 and 1", remedy="write 95% as 0.95")
    checked = [float(value) for value in values]
    for value in checked:
        if not isfinite(value) or value < 0:
            raise UsageError(f"a visit's value is {value}", remedy="leave it out, and count it as discarded")
    return checked


def exceeds_pool(variance: float, dof: int, pooled_variance: float, pooled_dof: float) -> bool:
    """Whether a cell's own variance cannot have come from the pool: F or chi-square test, p < 0.01."""
    if not dof or pooled_variance < EQUAL:
        return dof > 0 and variance >= EQUAL
    ratio = variance / pooled_variance
    # A ratio of 1 is never rare; with so many degrees of freedom below the line F is chi-square.
    return ratio > 1 and bool(f_tail(dof, min(pooled_dof, 1e9), ratio) < 0.01)


def _withheld(values: Sequence[float], confidence: float, method: str, reason: str) -> Interval:
    if not values:
        return Interval(None, None, None, 0, confidence, method, reason)
    if method == MEDIAN:
        estimate = float(np.median(values))
    else:
        estimate = exp(sum(map(log, values)) / len(values)) if min(values) > 0 else float(np.mean(values))
    return Interval(estimate, None, None, len(values), confidence, method, reason)


def _too_far_apart(values: Sequence[float], confidence: float, method: str) -> Interval:
    """Of visits that the pooled variance cannot have brought forth."""
    why = "visits further apart than the pooled variance allows (p < 0.01)"
    return replace(_withheld(values, confidence, method, why), apart=True)


def _with_a_zero(values: Sequence[float], confidence: float, method: str) -> Interval:
    """Of visits one of which has no logarithm."""
    if len(values) < 3:
        return _withheld(values, confidence, method, "a visit measured zero" if values else "no visits")
    return _plain_t(values, confidence)


def _log_interval(logs: Floats, variance: float, dof: float, confidence: float, method: str) -> Interval:
    centre = float(logs.mean())
    half = t_quantile((1 + confidence) / 2, dof) * sqrt(variance / logs.size)
    return Interval(exp(centre), exp(centre - half), exp(min(centre + half, 709.0)), int(logs.size), confidence, method)


def _plain_t(values: Sequence[float], confidence: float) -> Interval:
    if not any(values):
        return Interval(0.0, None, None, len(values), confidence, PLAIN_T, "every visit measured zero")
    mean = float(np.mean(values))
    half = t_half_width(values, confidence)
    return Interval(
        mean,
        max(0.0, mean - half),
        mean + half,
        len(values),
        confidence,
        PLAIN_T,
        "a visit measured zero: arithmetic mean, not logarithms",
    )


SEEN_METHOD = "seen-2/1"
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
    return replace(interval, low=low, high=high, method=f"{interval.method} + {SEEN_METHOD}")


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


VARIANCE_METHOD = "pool-f-censored/2"
FEWEST_CELLS = 4
EQUAL = 1e-24
"""Variance of logarithms below which readings are equal: it is that of rounding, another one on each processor."""
_GRID = np.array([*product(np.linspace(-1, 1, 5), repeat=2)])
_CLOSER = 40
"""A likelihood of two parameters is looked for on a grid that closes in so often, to a ten-thousandth in half of it."""
_CENSORED = 0.9
"""Variances above this quantile only count as 'at least this large'."""


@dataclass(frozen=True)
class PooledVariance:
    """What all cells together say about the noise of one visit.

    variance_log: typical variance of the logarithm of one visit's value, without what is seen within visits.
    dof:          how much it says about any one cell, in degrees of freedom: small when cells differ in noise, inf when
                  all share one.
    n_cells:      cells with two visits or more.
    """

    variance_log: float
    dof: float
    n_cells: int

    def beside(self, within: float) -> PooledVariance:
        """For a cell in whose visits this variance of a visit's logarithm is seen."""
        return replace(self, variance_log=self.variance_log + within)

    def with_own(self, variance_log: float, n: int) -> tuple[float, float]:
        """(variance, degrees of freedom) of one visit of a cell whose own n visits have this variance: shrunk towards
        that of all cells (Smyth 2004, moderated t). Where it cannot have come from there it stays: shrinking it would
        invent significance.
        """
        if exceeds_pool(variance_log, n - 1, self.variance_log, self.dof):
            return variance_log, float(n - 1)
        if self.dof == inf:
            return self.variance_log, inf
        dof = self.dof + n - 1
        return (self.dof * self.variance_log + (n - 1) * variance_log) / dof, dof


def pool_variance(visits: Iterable[Sequence[float]], within: Iterable[float] = repeat(0.0)) -> PooledVariance | None:
    """Pooled variance of log values over cells; `visits` holds one list of visit values for each cell, `within` the
    variance that its visits' logarithms have by what is seen inside them.

    Model: a cell's true variance is scaled inverse chi-square around s0^2 + within with d0 degrees of freedom, so its
    sample variance with d degrees is (s0^2 + within) F(d, d0) (Smyth 2004, section 3; a prior that differs from cell to
    cell: Sartor et al. 2006, BMC Bioinformatics 7:538). s0^2 and d0 maximise the likelihood times s0, which keeps few
    cells from saying that visits agree exactly (Chung et al. 2013, Psychometrika 78(4)). The largest tenth of the
    variances, against what is typical beside what is seen within, is censored: a few cells that are noisy for a reason
    of their own do not widen every interval (the aim of Phipson et al. 2016, Annals of Applied Statistics 10(2)). Cells
    with a zero value have no logarithm and are left out. None below 4 cells with two visits or more, or when no two
    visits ever differ.
    """
    samples = []
    for values, inside in zip(visits, within, strict=False):
        array = np.asarray(values, dtype=float)
        if array.size >= 2 and np.all(np.isfinite(array)) and np.all(array > 0):
            samples.append((float(np.log(array).var(ddof=1)), array.size - 1, inside))
    return _pooled(tuple(samples)) if len(samples) >= FEWEST_CELLS else None


@lru_cache(maxsize=64)  # a result asks several times for the pool of the same cells
def _pooled(samples: tuple[tuple[float, int, float], ...]) -> PooledVariance | None:
    """samples: (variance, degrees of freedom, variance seen within visits) of each cell."""
    variance, dof, within = np.array([*zip(*samples, strict=True)], dtype=float)
    typical = float(variance @ dof / dof.sum())
    if typical < EQUAL:
        return None
    # Equal readings (coarse counters) have variance 0, which no continuous law produces: they count as very small.
    variance = np.maximum(variance, 1e-6 * typical)
    # The median of chi-square over its degrees of freedom is nearly this (Wilson and Hilferty 1931).
    pilot = max(float(np.median(variance / (1 - 2 / (9 * dof)) ** 3)), 1e-6 * typical)
    ratio = variance / (pilot + within)
    limits = [np.quantile(ratio[dof == d], _CENSORED) for d in dof] * (pilot + within)
    likely = variance <= limits
    d, seen, inside = dof[likely], variance[likely], within[likely]
    above, limits, beyond = dof[~likely], limits[~likely], within[~likely]
    kinds, kind = np.unique(d, return_inverse=True)
    of_kinds = log_gamma(kinds / 2)

    centre = np.array([log(pilot), 2.5])
    reach = np.array([4.0, 3.5])  # as far as the two may lie from there, as logarithms
    for _ in range(_CLOSER):
        points = centre + reach * _GRID
        points[:, 1] = np.clip(points[:, 1], -1.0, 6.0)
        between, d0 = np.exp(points.T)[:, :, None]
        scale = between + inside
        ratio = seen / scale
        gammas = log_gamma((kinds + d0) / 2) - of_kinds - log_gamma(d0 / 2)
        density = gammas[:, kind] + d / 2 * np.log(d / d0) + (d / 2 - 1) * np.log(ratio)
        density -= (d + d0) / 2 * np.log1p(d * ratio / d0) + np.log(scale)
        fit = points[:, 0] / 2 + density.sum(axis=1)
        if above.size:
            fit += np.log(np.maximum(f_tail(above, d0, limits / (between + beyond)), 1e-300)).sum(axis=1)
        best = points[np.argmax(fit)]
        reach = np.where(np.abs(best - centre) < 0.99 * reach, 0.6, 1.0) * reach  # from an edge it moves on
        centre = best
    # No cell can say more about a variance than the pool as a whole has seen.
    d0 = min(exp(float(centre[1])), float(dof.sum()))
    # Above 300 degrees of freedom Student's t is the normal to three digits.
    return PooledVariance(exp(float(centre[0])), d0 if d0 < 300 else inf, len(samples))
