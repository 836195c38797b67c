# SPDX-License-Identifier: Apache-2.0
"""What windows of a load tell of its mean or of a percentile, asked again after every window, with one stated risk for
all the asking.

Windows lie around a level, about normally on the scale of logarithms, and each follows the last. How far the level of
all time may lie from theirs is told by a mixture of t statistics that holds at every look (Robbins 1970; Lai 1976; Wang
and Ramdas 2025). Slow windows weigh more in a mean and in a percentile than their number: so the spread of windows is
part of the level, and its own error of the error.

Nothing is less than none, and a share no more than all. However windows differ, rates far above a limit are not made
up for, nor are shares far below a limit near all, nor windows most of whose I/Os are slower than a percentile may be:
that is told by a bet against the limit, whose gain is seldom large where it holds (Waudby-Smith and Ramdas 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log, sqrt
from statistics import NormalDist

import numpy as np

from ioatlas.model.visit import Histogram
from ioatlas.stats.warmup import Floats

METHOD = "t-mixture-sequence/1"
RISK = 0.0005
"""Of an interval that ever leaves the level out."""
FEWEST = 6
"""Windows before anything is said."""
PRECISION = 0.01
"""Of the mixture, in windows: a level is looked for within ten spreads of the limit."""
DOUBT = 1.5
"""Standard errors (Bartlett 1946) that are added to how much windows are seen to follow: a few show less of it than
there is.
"""
LONG_MEMORY = 0.95
"""Of each window in the next, at most: what follows more than that is no series that a mean tells of."""
LEAST = 0.1
"""A window in which next to nothing happened counts as this part of the mean."""
SAME = 1e-18
"""Variance of logarithms that is one of rounding."""
_NODES = 24
_BETS = (np.arange(_NODES) + 0.5) / _NODES
"""Parts of what one has, staked on each window; the mean of all their gains counts."""
_HALVINGS = 26


@dataclass(frozen=True)
class Told:
    """What windows tell, in logarithms. low, high: the level itself, by what was counted and by windows like these.
    far: how far from these it may lie, by how many times as many windows as were seen. share: the most that it can be,
    of a share, by a bet; infinite of anything else. least: the least, by a bet.
    """

    low: float
    high: float
    far: Callable[[float], float]
    share: float = inf
    least: float = 0.0

    def interval(self) -> tuple[float, float]:
        """The level lies between these at every look; infinitely far where too little is known."""
        far = self.far(1.0)
        low, high = (exp(self.low - far), exp(self.high + far)) if far < inf else (0.0, inf)
        return max(self.least, low), min(self.share, high)

    def times(self, limit: float, most: float) -> float:
        """How many times what was seen it takes until the interval leaves a limit out, if all goes on as it did."""
        gap = max(self.low - log(limit), log(limit) - self.high)
        found = 1.0
        while found < most and self.far(found) >= gap:
            found *= 1.1
        return min(found, most)


def of_mean(values: Sequence[float], weights: Sequence[float], *, shares: bool = False) -> Told | None:
    """Of the mean of windows that count so much each. None where nothing happened in any. shares: at most 1 each."""
    w = np.asarray(weights, float)
    x = np.asarray(values, float)
    mean = float((w * x).sum() / w.sum())
    if not mean > 0:
        return None
    middle, spread, worth, widest = _spread(np.log(np.maximum(x, LEAST * mean)), w)
    most = widest * (_reach(x.size) + widest / 2)
    told = _told((log(mean), middle + spread**2 / 2), spread, spread, worth, x.size, most)
    each = w * min(worth / w.sum(), 1 / w.max())
    return replace(told, least=_least(x, each), share=1 - _least(1 - x, each) if shares else inf)


def of_percentile(windows: Sequence[Histogram], left: float) -> Told | None:
    """Of the latency that a share `left` of all I/Os exceeds. None where so few were made that it has none beyond."""
    some = [one for one in windows if one.count]
    whole = Histogram.merge(some)
    if whole.count * left < 1:
        return None
    w = np.array([one.count for one in some], float)
    share = max(left, 1 / float(np.median(w)))  # a window tells no rarer latency
    levels = np.log([one.percentile_ns(100 * (1 - share)) or 1.0 for one in some])
    middle, spread, worth, widest = _spread(levels, w)
    counted = log(whole.percentile_ns(100 * (1 - left)) or 1)
    if not spread:
        return Told(counted, counted, lambda _: 0.0)
    latency = _percentile(some, levels, left)
    level = latency(spread)
    slope = max(0.0, (latency(1.2 * spread) - level) / (0.2 * spread))
    most = widest * _reach(levels.size) + latency(max(widest, spread)) - level
    told = _told((counted, middle + level), spread, slope, worth, levels.size, most)
    return replace(told, least=_slowest(some, whole, left, w * min(worth / w.sum(), 1 / w.max())))


def _slowest(windows: Sequence[Histogram], whole: Histogram, left: float, weights: Floats) -> float:
    """The slowest latency that clearly more than a share `left` of the I/Os exceed; 0 where that is known of none."""
    at = [ns for ns, _ in whole.bins]
    low, high = -1, len(at)
    while high - low > 1:
        middle = (low + high) // 2
        beyond = np.array([sum(n for ns, n in one.bins if ns > at[middle]) / one.count for one in windows])
        low, high = (middle, high) if _gain(beyond, left, weights) else (low, middle)
    return float(at[low]) if low >= 0 else 0.0


def _least(values: Floats, weights: Floats) -> float:
    """The mean of what is never negative is more than this, whenever one looks. weights: independent windows."""
    return _highest(0.0, float(values.max()) or 1.0, lambda limit: _gain(values, limit, weights))


def _highest(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """The highest between two for which something holds that holds for all below it."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _gain(values: Floats, limit: float, weights: Floats) -> bool:
    """Whether a bet that their mean is more than a limit has won, so that it is."""
    return bool(np.logaddexp.reduce(np.log1p(np.outer(_BETS, values / limit - 1)) @ weights) > log(_NODES / RISK))


def _told(levels: Sequence[float], spread: float, slope: float, worth: float, count: int, most: float) -> Told:
    """slope: how much the level moves with the spread. worth: independent windows that the count of them is worth, in
    the level's error; its own error is told by all their steps. most: how far the level may lie at all.
    """

    def far(times: float) -> float:
        error = spread * sqrt(1 / (times * worth) + slope**2 / (2 * max(0.5, times * worth - 1)))
        return min(most, error * _reach(times * count)) if error else 0.0

    return Told(min(levels), max(levels), far)


def _percentile(windows: Sequence[Histogram], levels: Floats, left: float) -> Callable[[float], float]:
    """The latency that a share of all I/Os exceeds, above the middle of the windows' levels and by their spread, where
    I/Os lie around the level of their window as these do.
    """
    bins = sorted((log(ns) - level, n) for one, level in zip(windows, levels, strict=True) for ns, n in one.bins)
    around = np.array([at for at, _ in bins])
    above = 1 - np.concatenate(([0.0], np.cumsum([float(n) for _, n in bins]))) / sum(n for _, n in bins)
    nodes = np.array([NormalDist().inv_cdf(part) for part in _BETS])

    def latency(spread: float) -> float:
        def exceeded(at: float) -> bool:
            return bool(above[np.searchsorted(around, at - spread * nodes, "right")].mean() > left)

        return _highest(float(around[0]) - 4 * spread, float(around[-1]) + 4 * spread, exceeded)

    return latency


def _spread(levels: Floats, weights: Floats) -> tuple[float, float, float, float]:
    """The middle of windows, their standard deviation, how many independent ones they are worth, and the widest
    standard deviation, of a series whose windows follow the last by `LONG_MEMORY`. Both are of series that step as
    these do: steps are many, where what follows slowly has few windows' worth to show its spread.
    """
    w = weights * levels.size / weights.sum()
    middle = float((w * levels).mean())
    off = np.sqrt(w) * (levels - middle)
    square, count = float((off * off).sum()), levels.size
    if square < SAME * count:
        return middle, 0.0, float(count), 0.0
    follow = float((off[1:] * off[:-1]).sum()) / square
    # A series of few windows shows less following than there is (Kendall 1954).
    follow += (1 + 3 * follow) / count
    error = sqrt((1 - min(1.0, max(0.0, follow)) ** 2) / max(1, count - 2))
    follow = min(LONG_MEMORY, max(0.0, follow + DOUBT * error))
    worth = max(1.5, count * (1 - follow) / (1 + follow) * count / float((w * w).sum()))
    # Of two windows there is one step, which has no spread.
    spread, widest = (
        float(np.std(off[1:] - by * off[:-1], ddof=int(count > 2))) / sqrt(1 - by**2) for by in (follow, LONG_MEMORY)
    )
    return middle, spread, worth, widest


def _reach(count: float) -> float:
    """Standard errors within which the level of so many independent windows lies, whenever one looks."""
    grown = 2 / count * (log(1 / RISK) + 0.5 * log((count + PRECISION) / PRECISION))
    kept = PRECISION / (count + PRECISION)
    if grown > 50 or exp(grown) * kept >= 1:
        return inf
    return sqrt(max(1.0, count - 1) * (exp(grown) - 1) / (1 - exp(grown) * kept))
