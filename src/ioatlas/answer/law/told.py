# SPDX-License-Identifier: Apache-2.0
"""What a law says of a cell: the rate that lasts, with its interval, and how far that is to be believed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist, median
from typing import Any, NamedTuple

import numpy as np

from ioatlas.answer.law.course import COUNT, EVEN_BINS, FALL, SLICE_SECONDS, Course, Floats, trend_of
from ioatlas.answer.law.fit import ENDLESS, MOST_BETWEEN, Fit, Start, draw_down, limiters_at
from ioatlas.answer.law.model import UNITS, Limiter, Loads, Shape, device_rate
from ioatlas.model.cell import Cell
from ioatlas.model.summary import Trust
from ioatlas.model.units import format_duration, format_size_rounded, per_cent
from ioatlas.stats.distributions import t_quantile

WIDE = 2.2
"""Half-width of an interval in standard deviations: 95% where the variance is itself estimated from a dozen loads."""
SURE = 0.975
PER_LOAD = 0.5
"""Loads that a parameter of the law takes up: it is learned from the course of a load too."""
FLOOR = 0.004
"""Least half-width, as a share."""
OFF = 2.5
"""Standard errors by which loads of a cell may differ from the law before they are told in its place."""
PER_PARAMETER = 0.35
UNEVEN = 0.3
"""Spread of the last bins of a load from which its rate is a range."""
DISAGREE = 1.0
"""Spread, or half-width, as a share, beyond which no number is told of it."""
GOOD_WIDTH, FAIR_WIDTH = 0.05, 0.15
"""Half-widths of an interval up to which a number may be good, and fair."""
GOOD_SECONDS, FAIR_SECONDS = 5.0, 3.0
"""For how long its loads must have run at the rate that lasts: credit that outlasts them cannot be seen."""
CREDIBLE = 0.3
"""Standard deviation of what a law says up to which a load is told without the credit that it gives it."""
FEWEST_BINS = 4
"""Of a load, from which their spread is taken for what is seen inside it."""
WAVE = 0.41
"""Standard deviation of a count between two moments that lie anywhere in waves of one I/O: sqrt(2/12)."""
TOLD_SECONDS = 0.25
"""Credit of less than this at the sustained rate is how a throttle works, and no burst."""


NODES = np.array([NormalDist().inv_cdf((k + 0.5) / 400) for k in range(400)]) / NormalDist().inv_cdf(SURE)
"""Of a normal distribution, where each stands for as much of it; in half-widths of an interval."""


@dataclass(frozen=True)
class Told:
    """Of a cell: I/Os a second that last, with a 95% interval. loads: of this very cell. seen_seconds: for how long
    they ran at the rate that lasts. off: logarithm of what they gave over what the law says; None without any.
    by_law: whether the law is told rather than the loads.
    """

    value: float
    low: float
    high: float
    loads: int = 0
    seen_seconds: float = 0.0
    off: float | None = None
    by_law: bool = True
    uneven: float = 0.0
    """Spread of its bins beyond what counting gives, or of its loads, as a logarithm."""
    seen: tuple[float, float] = (0.0, 0.0)
    """The least and the most that any of its loads may have given, by what is known of each."""
    trend: float = 0.0
    """How much faster or slower its last load was still getting when it ended, as a logarithm."""
    on_credit: bool = False
    """Whether its low end is what it would fall to if its loads, which were too short to show that, ran on credit."""
    ran_out: bool = False
    """Whether it is what a limit lets pass whose credit was seen to run out."""

    @property
    def held_seconds(self) -> float | None:
        """For how long it is known to last, where its loads were so short that credit may have outlasted them."""
        return self.seen_seconds if 0 < self.seen_seconds < GOOD_SECONDS and not self.ran_out else None

    @property
    def half_width(self) -> float:
        """Half the interval, as a share of the value."""
        return (self.high - self.low) / (2 * self.value)


def sustained_logs(shape: Shape, theta: Floats, cell: Cell, direction: str) -> Floats:
    """Logarithm of I/Os a second that last, shape (points,) of theta (points, parameters)."""
    rate = device_rate(shape, theta, Loads.of([(cell, direction)], shape.ways))[:, 0]
    for number, limiter in enumerate(shape.limiters):
        if limiter.covers(direction):
            rate = np.minimum(rate, shape.lasting(theta, number, np.array([limiter.size(cell)]))[:, 0])
    return np.asarray(np.log(rate))


def bursts(fit: Fit) -> list[tuple[Limiter, Start]]:
    """The limiters of a law whose credit is a burst, with where they lie."""
    placed = zip(fit.shape.limiters, limiters_at(fit.shape, fit.theta), strict=True)
    return [(limiter, at) for limiter, at in placed if at.size >= TOLD_SECONDS * at.rate]


def fastest(limiter: Limiter, at: Start, courses: Sequence[Course]) -> float:
    """The rate under a limiter, in its unit, while it has credit, as far as loads came to it: of a bucket that refills
    no more than its peak.
    """
    seen = max(max(one.before, one.tail) * limiter.size(one.cell) for one in courses)
    return max(at.rate, min(at.rate + at.peak, seen) if limiter.refills else seen)


def tell(fit: Fit, cell: Cell, direction: str) -> Told:
    """What the law and the loads of a cell say of it together. The interval is that of all laws that may be the right
    one, and of a target that drifts it reaches from the mean of the time to what it was in the end.
    """
    told = [_tell(law, cell, direction) for law, _ in fit.odds]
    low, value, high = np.log([(one.low, one.value, one.high) for one in told]).T[..., None]
    moved = np.array([[law.drift / 2] for law, _ in fit.odds])
    low, high = low + np.minimum(0.0, moved), high + np.maximum(0.0, moved)
    points = (value + NODES * np.where(NODES < 0, value - low, high - value)).ravel()
    chances = np.repeat([odds for _, odds in fit.odds], NODES.size)
    order = np.argsort(points)
    shares = (np.cumsum(chances[order]) - chances[order] / 2) / NODES.size
    least, most = np.exp(np.interp((1 - SURE, SURE), shares, points[order])).tolist()
    fallen = min((rate / limiter.size(cell) for limiter, rate in _hidden(fit, direction)), default=least)
    ran_out = told[0].by_law and _on_credit(fit, cell, direction)
    return replace(told[0], low=min(least, fallen), high=most, on_credit=fallen < least, ran_out=ran_out)


@lru_cache(maxsize=16)
def _hidden(fit: Fit, direction: str) -> tuple[tuple[Limiter, float], ...]:
    """Limiters, with their rates, that a direction may come to yet: one in the other unit, and what a load of either
    direction fell to for which the law has no part, as far as other loads did not take as much as was fast there.
    """
    suspects, mine = [], [one for one in fit.courses if one.counted and one.direction == direction]
    for limiter, at in bursts(fit):
        if mine and limiter.refills and limiter.unit != "cache" and limiter.covers(direction):
            # Where bytes have credit, I/Os may have as many seconds of it, or bytes where I/Os do.
            other = replace(limiter, unit=UNITS[limiter.unit == UNITS[0]], ways=(direction,))
            share = max(one.tail * other.size(one.cell) for one in mine) / fastest(limiter, at, mine)
            suspects.append((other, share * at.rate, share * at.size, fit.courses))
    for place, course in enumerate(fit.courses):
        if not (course.counted and course.fell and course.excess >= TOLD_SECONDS * course.tail):
            continue
        lasting, error = _by_law(fit, course.cell, course.direction)
        chance = OFF * math.sqrt(_tail(place, fit, lasting, error).spread + fit.noise.between**2 + error**2)
        limited = any(one.covers(course.direction) for one in fit.shape.limiters)
        if limited and math.log(course.tail) + max(math.log(FALL), chance) > lasting:
            continue
        others = tuple(one for one in fit.courses if one is not course)
        for limiter in (Limiter(unit, tuple({direction, course.direction})) for unit in UNITS):
            rate = course.tail * limiter.size(course.cell)
            suspects.append((limiter, rate, draw_down(fit.courses[: place + 1], limiter, rate), others))
    return tuple(
        (limiter, rate)
        for limiter, rate, size, courses in suspects
        if draw_down(courses, limiter, rate, fallen=False) < size
    )


@lru_cache(maxsize=1024)
def _tell(fit: Fit, cell: Cell, direction: str) -> Told:
    value, error = _by_law(fit, cell, direction)
    lost, doubt = lost_of(fit, direction)
    places = [n for n, one in enumerate(fit.courses) if one.counted and one.cell.key == cell.key]
    if not places:
        refuted = _refuted(fit, cell.rw, direction)
        return _told(value + lost, error**2 + fit.noise.between**2 + doubt**2 + refuted**2)
    trends = {place: trend_of(fit.courses[place], fit.foretold.get(place, 0.0)) for place in places}
    rising = trends[places[-1]]
    places = [place for place in places if not trends[place]] or places[-1:]
    mine = [fit.courses[place] for place in places]
    tails = [_tail(place, fit, value, error) for place in places]
    between, freedom = _between(fit)
    logs, spreads, rough, seconds, shares, _ = np.array(tails).T
    uneven = max(float(rough.max()), math.sqrt(max(0.0, _beyond(logs, spreads)) / max(1, logs.size - 1)))
    weights = 1 / (spreads + between)
    level, own = float(np.average(logs, weights=weights)), 1 / float(weights.sum())
    own += (float(rough.max()) / 2) ** 2 * bool(rough.max() > UNEVEN)
    if uneven > UNEVEN and logs.size > 1:  # what it gave over all their time, which no load alone says
        mean = float(np.average(np.exp(logs), weights=seconds))
        squares = logs.size * float(np.average((np.exp(logs) / mean - 1) ** 2, weights=seconds))
        own = max(squares / (logs.size - 1), between + float(spreads.mean())) / logs.size
        level, freedom = math.log(mean), freedom + logs.size - 1
    if lost:
        level += lost - math.log1p(-float(np.average(shares, weights=seconds)))
        own += doubt**2
    level += trends[places[-1]] / 2  # where it was when it ended is all that is known
    off, seen = level - value, _seen_seconds(fit.courses, mine, math.exp(level))
    ends = np.exp(logs + WIDE * np.sqrt(spreads) * [[-1], [1]])
    more: dict[str, Any] = {"loads": len(mine), "seen_seconds": seen, "off": off, "uneven": uneven, "trend": rising}
    more["seen"] = float(ends.min()), float(ends.max())
    wide = t_quantile(SURE, freedom + 2)
    if logs.size == 1 and off > OFF * math.sqrt(error**2 + own) and _on_credit(fit, cell, direction):
        lasting = _told(value, error**2 + fit.noise.between**2 + doubt**2, wide=wide, **more)
        return replace(lasting, high=max(lasting.high, math.exp(level)))
    if trends[places[-1]] or abs(off) > OFF * math.sqrt(error**2 + own) or uneven > UNEVEN:
        return _told(level, own, wide=wide, by_law=False, **more)
    # Both say it: each with its weight; what they differ by is how far either may be off.
    share = own / (own + error**2) if error > 0 else 1.0
    known = own * (1 - share) + (share * off) ** 2
    return _told(level - share * off, known + (0.0 if lost else doubt**2), wide=wide, **more)


def _on_credit(fit: Fit, cell: Cell, direction: str) -> bool:
    """Whether what lasts of a cell is what a limiter with credit lets pass. A single load above that had some of it
    back, which is likelier than that this one cell knows no limit.
    """
    told, mine = 1.01 * math.exp(_by_law(fit, cell, direction)[0]), [one for one in bursts(fit) if one[0].refills]
    return any(one.covers(direction) and at.rate <= told * one.size(cell) for one, at in mine)


@lru_cache(maxsize=64)
def _refuted(fit: Fit, rw: str, direction: str) -> float:
    """By how much loads of cells of a pattern differ from the law where they are told in its place, as a logarithm: by
    as much it may be off beside them.
    """
    cells = {one.cell.key: one.cell for one in fit.courses if one.counted and one.direction == direction}
    found = [_tell(fit, cell, direction) for cell in cells.values() if cell.rw == rw]
    return max((abs(told.off or 0.0) for told in found if not told.by_law), default=0.0)


@lru_cache(maxsize=16)
def lost_of(fit: Fit, direction: str) -> tuple[float, float]:
    """Logarithm of the share of its usual speed that a direction keeps over time, for pauses that its loads met, and
    the standard error, as of a compound Poisson process: a load that met none is not spared for good. 0 where chance
    may have given it: the error alone.
    """
    counted = [one for one, course in enumerate(fit.courses) if course.counted and course.direction == direction]
    *_, seconds, shares, chances = np.array([_tail(place, fit, 0.0) for place in counted]).T
    times, spared = seconds * shares / seconds.sum(), seconds * chances / seconds.sum()
    doubt = math.sqrt(float(np.maximum(0.0, np.maximum(0.0, times) ** 2 - spared**2).sum()))  # a pause gives nothing
    if times.sum() <= OFF * float(np.linalg.norm(spared)):
        return 0.0, doubt
    return math.log1p(-float(times.sum())), doubt


def _seen_seconds(courses: Sequence[Course], mine: Sequence[Course], rate: float) -> float:
    """For how long the loads of a cell ran at the rate that lasts; or would have had to run for as many bytes, and as
    many I/Os, as all loads of its direction moved: credit that outlasts those cannot be seen. rate: I/Os a second.
    """
    alike = [course for course in courses if course.counted and course.direction == mine[0].direction]
    moved = min(sum(course.moved * course.bs for course in alike) / mine[0].bs, sum(course.moved for course in alike))
    return max(sum(course.flat_seconds for course in mine), moved / rate)


@lru_cache(maxsize=16)
def _between(fit: Fit) -> tuple[float, float]:
    """Variance between loads of one cell, and its degrees of freedom: from all repeats, and from what the law leaves
    between loads. Where it leaves much, that is its own misfit, and it counts for one repeat only.
    """
    taught = sum(course.taught for course in fit.courses)
    freedom = 1.0 if fit.noise.between >= MOST_BETWEEN else max(1.0, taught - PER_LOAD * fit.theta.size)
    squares = freedom * fit.noise.spread**2
    repeated: dict[tuple[str, str], list[_Tail]] = {}
    for place, course in enumerate(fit.courses):
        if course.taught:
            tail = _tail(place, fit, *_by_law(fit, course.cell, course.direction))
            repeated.setdefault((course.cell.key, course.direction), []).append(tail)
    more = 0.0
    for tails in repeated.values():
        logs, spreads = np.array([(one.log, one.spread) for one in tails]).T
        more += _beyond(logs, spreads)
        freedom += logs.size - 1
    return (squares + max(0.0, more)) / freedom, freedom


def _beyond(logs: Floats, spreads: Floats) -> float:
    """Sum of squares by which loads differ, beyond what is seen inside each. spreads: variances of these logarithms."""
    return float(((logs - logs.mean()) ** 2).sum() - spreads.sum() * (1 - 1 / logs.size))


@lru_cache(maxsize=1024)
def _by_law(fit: Fit, cell: Cell, direction: str) -> tuple[float, float]:
    """Logarithm of what lasts and its standard error, by the delta method."""
    step = 1e-4
    points = np.concatenate([fit.theta[None, :], fit.theta + step * np.eye(fit.theta.size)])
    logs = sustained_logs(fit.shape, points, cell, direction)
    slope = (logs[1:] - logs[0]) / step
    counted = sum(course.taught for course in fit.courses)
    free = max(1.0, counted - PER_PARAMETER * fit.theta.size)
    spread = float(slope @ fit.covariance @ slope) * counted / free
    return float(logs[0]), math.sqrt(max(0.0, spread))


class _Tail(NamedTuple):
    """What one load says of the rate that lasts. log: its logarithm. spread: the variance of that, from what is seen
    inside the load. rough: its unevenness. seconds: how long it ran so. lost: what share of its usual speed pauses took
    in that time. chance: what chance takes.
    """

    log: float
    spread: float
    rough: float
    seconds: float
    lost: float
    chance: float


@lru_cache(maxsize=1024)
def _tail(place: int, fit: Fit, lasting: float, error: float = 0.0) -> _Tail:
    """The rate that lasts by one load.

    It is the last rate of the load; where credit had not run out, less what the law gives for that, which is as sure as
    the law, where the law is sure enough. lasting: logarithm of what lasts by the law, with its standard error.
    """
    course = fit.courses[place]
    begin = course.kink if course.fell else 0
    lengths, logs = np.diff(course.edges), np.log(course.rates)
    usual = fit.foretold.get(place, np.zeros_like(logs))
    middle = float(median((logs - usual)[begin:]))
    asked = float(np.exp(usual + middle)[begin:] @ lengths[begin:])
    lost = 1 - float(course.done[-1] - course.done[begin]) / asked
    rough = 1.48 * float(median(np.abs(logs - usual - middle)[begin:]))
    waves = max(COUNT, WAVE * course.outstanding)
    chance = rough / math.sqrt(logs.size - begin) + waves / asked
    later = max(begin, int(np.searchsorted(course.edges, 0.3 * course.seconds)))
    if lost <= OFF * chance and logs.size - later >= FEWEST_BINS:  # else none can be spared for how it begins
        begin = later
    ios, length = course.done[-1] - course.done[begin], course.edges[-1] - course.edges[begin]
    lengths, logs, usual = lengths[begin:], logs[begin:], usual[begin:]
    # Of a few waves nobody knows how far the next one is; of more their spread tells.
    count = COUNT if logs.size >= FEWEST_BINS else waves
    begun = max(course.filling(ios), SLICE_SECONDS / length) if begin == 0 else 0.0
    counting = math.hypot(min(count / ios, course.edge_seconds / length), begun)
    rest = max(1.0, course.seconds / EVEN_BINS / length) / max(1, logs.size)
    spread = counting**2 + fit.within(place) ** 2 * rest
    rough = 0.0
    if logs.size >= FEWEST_BINS:
        off = logs - usual - (logs - usual).mean()  # credit that runs out is no unevenness
        variance = float(off @ off) / (logs.size - 1)
        follow = float(np.clip((off[1:] @ off[:-1]) / max(float(off @ off), 1e-12), 0.0, 0.9))
        grown = variance / logs.size * (1 + follow) / (1 - follow)
        spread = max(spread, grown)
        rough = math.sqrt(variance) - COUNT / math.sqrt(max(1.0, ios / logs.size))
    level = math.log(ios / length)
    if place in fit.foretold:
        less = math.log(float(np.average(np.exp(usual), weights=lengths))) - lasting
        doubt = error**2 + fit.noise.between**2
        spread *= math.exp(2 * max(0.0, less))  # only what is not credit tells of what lasts
        level, spread = level - less * (doubt <= CREDIBLE**2), spread + min(less**2, doubt)
        rough *= less <= CREDIBLE  # what ran on credit says nothing of how even it is without
    return _Tail(level, min(spread, ENDLESS**2), max(0.0, rough), float(length), lost, chance)


def _told(log: float, spread: float, *, wide: float = WIDE, trend: float = 0.0, **more: Any) -> Told:
    """What was still getting faster or slower may go on as far again."""
    width = max(math.log1p(FLOOR), wide * math.sqrt(spread))
    low, high = log - width + min(0.0, trend), log + width + max(0.0, trend)
    return Told(math.exp(log), math.exp(low), math.exp(high), trend=trend, **more)


def grade(told: Told, bs_bytes: int) -> tuple[Trust, str]:
    """How far a number is to be believed, and why no further: by its interval, and by how often and for how long it was
    seen. One load without a repeat is never good; one that had not settled is low, however narrow its interval.
    """
    seen = f"it was seen for {format_duration(told.seen_seconds)} only"
    if told.held_seconds is not None:
        moved = format_size_rounded(told.held_seconds * told.value * bs_bytes)
        seen = f"it held for {format_duration(told.held_seconds)} ({moved}); what lasts longer is not known"
    if told.trend:
        return Trust.LOW, f"it was still getting {'faster' if told.trend > 0 else 'slower'} when its load ended"
    if max(told.uneven, told.half_width) > DISAGREE:
        return Trust.LOW, "its runs disagree" if told.loads > 1 else "one run tells too little"
    if told.uneven > UNEVEN:
        return Trust.LOW, f"its speed varied by ±{per_cent(told.uneven)}"
    if told.on_credit and told.half_width > GOOD_WIDTH:
        level = Trust.LOW if told.half_width > FAIR_WIDTH else Trust.FAIR
        return level, f"it may be {per_cent(1 - told.low / told.value)} lower once credit has run out"
    if told.half_width > FAIR_WIDTH:
        return Trust.LOW, f"known only to ±{per_cent(told.half_width)}"
    if told.seen_seconds < FAIR_SECONDS:
        return Trust.LOW, seen
    if told.half_width > GOOD_WIDTH:
        return Trust.FAIR, f"known to ±{per_cent(told.half_width)}"
    if told.loads < 2:
        return Trust.FAIR, "it was measured once"
    if told.seen_seconds < GOOD_SECONDS:
        return Trust.FAIR, seen
    return Trust.GOOD, ""
