# SPDX-License-Identifier: Apache-2.0
"""Fitting a law to the courses of loads: starts from their kinks and tails, parts by evidence, errors by likelihood."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

import numpy as np

from ioatlas.answer.law.course import EVEN_BINS, FALL, FEWEST_AFTER, FEWEST_IOS, Course, Floats, Noise
from ioatlas.answer.law.model import DEVICE, UNITS, Limiter, Shape, Stack, expected

WITHIN = np.geomspace(0.003, 0.6, 11)
LOGS = np.log(WITHIN)
UNLIKE = np.array([0.1, 0.3, 1.0])
"""How far the noise of one load may be from that of another, as logarithms."""
BETWEEN = np.concatenate(([0.0], np.geomspace(0.002, 0.8, 12)))
LEAST_BETWEEN, MOST_BETWEEN = 0.005, 0.05
"""Bounds of the spread between loads that is expected of later ones; at the upper one it is misfit."""
HUBER = 3.0
"""Standard deviations beyond which a residual counts by its size, no more by its square."""
ANNEAL = (0.15, 0.04)
"""Noise with which starts are first improved: kinks make many optima, and wide noise passes over the small ones."""
SMALL = 0.015
"""Noise with which a good start is fitted first."""
FOLLOWED, FINISHED = 12, 2
"""Starts that are improved at the smaller noise too, and those that are followed to the end: the best of which all
limiters were seen to run out."""
SAME = 1e-3
"""Starts whose costs differ by no more came to the same place."""
EACH, LAST = 8, 15
"""Evaluations of a start at each noise, and of one that is followed to the end."""
ENDLESS = 12.0
"""Logarithm of how many times a credit is multiplied that is to last."""
LIKELY = 0.1
"""Spread between loads that is granted until the parameters have had their chance."""
RIVAL, MOST_RIVALS = 4.0, 3
"""Logarithm of the odds up to which another law may be the right one as well, and how many of them are kept."""
DRAWS, WALKED, WIDEST = 64, 100, 2.4
"""Points that stand for a posterior, steps that they walk, and how wide these are, over the root of the parameters."""
GONE, HELD = math.log(100.0), 1e-3
"""How far a part is put out of the way, and how firmly, where a law has to do without."""
ARMS = (math.log(4), 1.5)
"""Logarithm of how many arms seek at once, and its spread: from one spindle to flash."""
HOP = (math.log(0.5), 1.0)
"""Likewise of what a place among the streams of jobs costs, of a random one."""
DRIFT = 0.5
"""Spread of the logarithm of how many times as fast a target is in the end as at first."""
STEP = 1e-4
NEWTON = 8
"""Steps of Newton's method to the damping of a step; each doubles the digits."""
BOTH = ("read", "write")


@dataclass(frozen=True, eq=False)
class Fit:
    """A law with its posterior: parameters are normal about theta (parameters,) with covariance, on the scale of
    logarithms. evidence: logarithm of the marginal likelihood by Laplace's method. rivals: other laws that are about
    as probable.
    """

    shape: Shape
    theta: Floats
    covariance: Floats
    noise: Noise
    evidence: float
    courses: tuple[Course, ...]
    stack: Stack
    rivals: tuple[Fit, ...] = ()
    problem: _Problem | None = None
    """What it is the answer to; not kept."""
    draws: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    """Parameters drawn from the posterior, which is normal near its top alone; shape (DRAWS, parameters)."""

    @property
    def drift(self) -> float:
        """Logarithm of how many times as fast the target was in the end as at first; 0 where it did not change."""
        return float(self.theta[self.shape.index["drift"]]) if self.shape.drift else 0.0

    @cached_property
    def odds(self) -> list[tuple[Fit, float]]:
        """It and its rivals, each as probable as its evidence says, but none more so than it; 1 in all."""
        odds = np.exp([min(0.0, law.evidence - self.evidence) for law in (self, *self.rivals)])
        return [*zip((self, *self.rivals), (odds / odds.sum()).tolist(), strict=True)]

    @cached_property
    def foretold(self) -> dict[int, Floats]:
        """Logarithm of each bin's rate by the law, credit included: of loads that taught it, by their place."""
        told = expected(self.shape, self.theta[None, :], self.stack)[0]
        places = [place for place, course in enumerate(self.courses) if course.taught]
        return {place: row[: self.courses[place].edges.size - 1] for place, row in zip(places, told, strict=True)}

    def within(self, place: int) -> float:
        """Spread inside loads of the same cell; as of the usual load where none of them taught the law."""
        told = [(self.courses[one], within) for one, within in zip(self.foretold, self.noise.within, strict=True)]
        wanted = self.courses[place].cell.key
        alike = [within for course, within in told if course.cell.key == wanted]
        return float(np.sqrt(np.mean(np.square(alike or np.median(self.noise.within)))))

    @cached_property
    def residuals(self) -> list[Floats]:
        """Of each load that taught it: logarithm of what was seen over what the law says, by bin."""
        return [np.log(self.courses[place].rates) - row for place, row in self.foretold.items()]


class _Problem:
    """One shape on given courses: prior, residuals, Jacobian."""

    def __init__(self, shape: Shape, courses: Sequence[Course], stack: Stack, mean: Floats, spread: Floats) -> None:
        self.shape, self.courses, self.stack = shape, courses, stack
        self.mean, self.spread = mean, spread

    def at(self, theta: Floats) -> Fit:
        """The law with these parameters, of which it is not known how good it is."""
        blank, rough = np.zeros((theta.size, theta.size)), Noise.alike(SMALL)
        return Fit(self.shape, theta, blank, rough, -math.inf, tuple(self.courses), self.stack, problem=self)

    def whiteners(self, noise: Noise) -> tuple[Floats, float]:
        """Of each course a root of its inverse covariance, shape (loads, bins, bins) with zeros beyond its last bin;
        and the sum of the log determinants, but for what is the same under any noise. That which leaves each residual
        nearest to its bin, so that one bin that is off is one large residual.
        """
        stack = self.stack
        spread = np.where(stack.real, noise.within[:, None] ** 2 + stack.fixed, 1.0)
        white = stack.back @ (stack.apart / np.sqrt(spread)[:, :, None])
        whole = white.sum(axis=2)  # of an error that all bins have
        size = np.maximum(np.square(whole).sum(axis=1), 1e-300)
        grown = 1 + noise.between**2 * size
        less = (1 - 1 / np.sqrt(grown)) / size
        white = white - (less[:, None] * whole)[:, :, None] * (whole[:, None, :] @ white)
        return white, float(np.log(spread).sum() + np.log(grown).sum())

    def fit_noise(self, theta: Floats) -> Noise:
        """Spread inside each load and between them. Loads need not be alike: what a throttle gives is exact, what
        a busy client makes of an I/O alone is not. So the spread of a load is drawn from a distribution of its own over
        a grid, whose centre and width are what makes the loads most probable. That between loads is found by restricted
        likelihood (Patterson and Thompson 1971): the parameters are integrated out, or they would take up most of what
        loads differ by. Covariances of loads are inverted by Sherman and Morrison's formula.
        """
        points = np.concatenate([theta[None, :], theta + STEP * np.eye(theta.size)])
        told = expected(self.shape, points, self.stack)
        stack, real = self.stack, self.stack.real
        slopes = stack.apart @ ((told[1:] - told[0]).transpose(1, 2, 0) / STEP)
        off = (stack.apart @ np.clip(stack.seen - told[0], -1.0, 1.0)[:, :, None])[:, :, 0]
        whole = stack.apart.sum(axis=2)  # of an error that all bins of a load have
        between = BETWEEN[:, None] ** 2

        def weighed(within: Floats) -> tuple[Floats, Floats, Floats, Floats]:
            spread = np.where(real, within**2 + stack.fixed, 1.0)
            weights = real / spread
            cost = (weights * off**2 + np.log(spread)).sum(axis=2)
            return weights, (weights * whole**2).sum(axis=2), (weights * whole * off).sum(axis=2), cost

        _, total, first, cost = weighed(WITHIN[:, None, None])
        each = between[:, None]  # (between, 1, 1) before (within, loads)
        cost = cost + np.log1p(each * total) - each / (1 + each * total) * first**2
        far = (LOGS - LOGS[:, None]) / UNLIKE[:, None, None]
        prior = -0.5 * (far**2).reshape(-1, WITHIN.size)  # (centre and width, within)
        prior -= np.log(np.exp(prior).sum(axis=1, keepdims=True))
        chances = prior[:, :, None] - 0.5 * cost[:, None]  # (between, centre and width, within, loads)
        likely = np.logaddexp.reduce(chances, axis=2)
        best = np.argmax(likely.sum(axis=2), axis=1)
        rows = np.arange(best.size)
        posterior = np.exp(chances[rows, best] - likely[rows, best][:, None])
        within = np.exp((posterior * LOGS[:, None]).sum(axis=1))  # (between, loads)
        weights, total, first, _ = weighed(within[:, :, None])
        shrunk = between / (1 + between * total)
        heavy = np.einsum("wlb,lb,lbp->wlp", weights, whole, slopes)
        flat = slopes.reshape(-1, theta.size)
        inside = (weights.reshape(rows.size, 1, -1) * flat.T) @ flat
        precision = np.diag(1 / self.spread**2) + inside - np.einsum("wl,wlp,wlq->wpq", shrunk, heavy, heavy)
        pull = (weights * off).reshape(rows.size, -1) @ flat - np.einsum("wl,wlp->wp", shrunk * first, heavy)
        pull = pull - (theta - self.mean) / self.spread**2
        lost = -2 * likely.sum(axis=2)[rows, best] + np.linalg.slogdet(precision)[1]
        lost -= (pull * np.linalg.solve(precision, pull[..., None])[..., 0]).sum(axis=-1)
        row, weight = int(np.argmin(lost)), np.exp(-0.5 * (lost - lost.min()))
        granted = np.clip(BETWEEN, LEAST_BETWEEN, MOST_BETWEEN)
        spread = math.sqrt(float(np.average(granted**2, weights=weight)))
        unlike = [np.interp(one, LOGS, prior[best[row]]) for one in np.log(within[row])]
        return Noise(within[row], float(BETWEEN[row]), spread, float(np.sum(unlike)))

    def answer(self, theta: Floats) -> Fit:
        """The law with these parameters, its noise, its evidence and their covariance."""
        noise = self.fit_noise(theta)
        whiteners, determinant = self.whiteners(noise)
        [values], [slope] = _with_slopes([self], theta[None], whiteners)
        size, lost = np.abs(values), float(_lost(values))
        weights = np.sqrt(np.where(size <= HUBER, 1.0, HUBER / np.maximum(size, HUBER)))
        slope = slope * weights
        precision = slope @ slope.T + 1e-9 * np.diag(1 / self.spread**2)
        spread = float(np.linalg.slogdet(precision)[1]) + 2 * float(np.log(self.spread).sum())
        evidence = noise.unlike - 0.5 * (lost + determinant + spread)
        return replace(self.at(theta), covariance=np.linalg.inv(precision), noise=noise, evidence=evidence)


def _lost(values: Floats) -> Floats:
    """Sum of squares of residuals, shape (...) of (..., residuals), in which large ones count less."""
    size = np.abs(values)
    return np.asarray(np.where(size <= HUBER, size**2, 2 * HUBER * size - HUBER**2).sum(axis=-1))


# -- least squares of several starts side by side -----------------------------------------------------------


def _residuals(problems: Sequence[_Problem], theta: Floats, whiteners: Floats) -> Floats:
    """Whitened residuals and those of the prior, shape (problems, points, bins of all loads + parameters) of theta
    (problems, points, parameters). problems: of one shape and the same courses, with priors of their own.
    """
    first, (count, points, size) = problems[0], theta.shape
    off = first.stack.seen - expected(first.shape, theta.reshape(-1, size), first.stack)
    off = off.reshape(count, points, *first.stack.seen.shape).transpose(0, 2, 3, 1)
    white = np.matmul(whiteners, off).transpose(0, 3, 1, 2).reshape(count, points, -1)
    mean, spread = (np.array([[getattr(one, name)] for one in problems]) for name in ("mean", "spread"))
    return np.concatenate([white, (theta - mean) / spread], axis=2)


def _with_slopes(problems: Sequence[_Problem], theta: Floats, whiteners: Floats) -> tuple[Floats, Floats]:
    """Residuals, shape (problems, residuals) of theta (problems, parameters), and their derivatives by differences, all
    points at once; shape (problems, parameters, residuals).
    """
    points = theta[:, None] + np.concatenate([np.zeros((1, theta.shape[1])), STEP * np.eye(theta.shape[1])])
    values = _residuals(problems, points, whiteners)
    return values[:, 0], (values[:, 1:] - values[:, :1]) / STEP


def _improved(
    problems: Sequence[_Problem], theta: Floats, whiteners: Floats, evaluations: int
) -> tuple[Floats, Floats]:
    """Better parameters, shape (problems, parameters), and half their sums of squares; beyond HUBER a residual counts
    less. By Gauss and Newton's steps within regions that are trusted (More and Sorensen 1983). Own code: starts are
    many, and a library's calls take several times what the law takes.

    whiteners: of each problem, or one of all.
    """
    mean, spread = (np.array([getattr(one, name) for one in problems]) for name in ("mean", "spread"))
    radius = np.linalg.norm((theta - mean) / spread, axis=1)
    radius[radius == 0] = 1.0
    theta, (values, slopes) = theta.copy(), _with_slopes(problems, theta, whiteners)
    cost = 0.5 * _lost(values)
    for _ in range(evaluations - 1):
        step, foretold = _steps(values, slopes * spread[:, :, None], radius)
        tried, length = theta + step * spread, np.linalg.norm(step, axis=1)
        found, steep = _with_slopes(problems, tried, whiteners)
        gain = cost - 0.5 * _lost(found)
        taken, held = gain > 0, (gain > 0.75 * foretold) & (length > 0.95 * radius)
        for now, new in ((theta, tried), (values, found), (slopes, steep), (cost, cost - gain)):
            now[taken] = new[taken]
        radius = np.where(gain < 0.25 * foretold, 0.25 * length, np.where(held, 2 * length, radius))
        if ((taken & (gain < SAME)) | (radius < STEP)).all():
            break
    return theta, cost


def _steps(values: Floats, slopes: Floats, radius: Floats) -> tuple[Floats, Floats]:
    """Steps to the least of the quadratic that touches the cost, no longer than radius, and what they should gain."""
    pull = np.einsum("spr,sr->sp", slopes, np.clip(values, -HUBER, HUBER))
    curved = (slopes * (np.abs(values) <= HUBER)[:, None]) @ slopes.transpose(0, 2, 1)
    sizes, axes = np.linalg.eigh(curved)
    sizes = np.maximum(sizes, 1e-9 * sizes[:, -1:])
    along = np.einsum("spq,sp->sq", axes, pull)
    damping = np.zeros((len(radius), 1))
    for _ in range(NEWTON):  # of the secular equation |step| = radius, from below (Hebden 1973)
        step = along / (sizes + damping)
        length = np.linalg.norm(step, axis=1, keepdims=True)
        if (length <= 1.01 * radius[:, None]).all():
            break
        steep = (step**2 / (sizes + damping)).sum(axis=1, keepdims=True)
        more = length**2 / np.maximum(steep, 1e-300) * (length / radius[:, None] - 1)
        damping = np.maximum(0.0, damping + np.where(length > radius[:, None], more, 0.0))
    step = -along / (sizes + damping)
    gain = -(along * step + 0.5 * sizes * step**2).sum(axis=1)
    return np.einsum("spq,sq->sp", axes, step), gain


# -- priors and starts ---------------------------------------------------------------------------------------


def _device_prior(shape: Shape, courses: Sequence[Course]) -> tuple[dict[str, float], dict[str, float]]:
    """Centres and standard deviations of the logarithms, from the lightest and the fastest that was seen."""
    centre, spread = {"corner": 0.7, "knee": math.log(4)}, {"corner": 2.0, "knee": 0.6}
    for way in shape.ways:
        mine = [course for course in courses if course.direction == way] or list(courses)
        lightest = min(mine, key=lambda course: (course.outstanding, course.bs))
        alone = lightest.outstanding / lightest.before
        fastest = max(float(course.rates.max()) for course in mine)
        most = max(float(course.rates.max()) * course.bs for course in mine)
        byte = min(course.outstanding / (float(course.rates.max()) * course.bs) for course in mine)  # it takes no more
        values = (math.log(alone), math.log(0.4 * byte), math.log(1.5 * fastest), math.log(1.2 * most))
        for part, value, width in zip(DEVICE, values, (2.0, 1.5, 1.5, 1.0), strict=True):
            centre[f"{way}.{part}"], spread[f"{way}.{part}"] = value, width
    if shape.seek:
        centre["seek"] = min(centre[f"{way}.latency"] for way in shape.ways)
        spread["seek"] = 1.5
        (centre["arms"], spread["arms"]), (centre["hop"], spread["hop"]) = ARMS, HOP
    centre["drift"], spread["drift"] = 0.0, DRIFT
    return centre, spread


@dataclass(frozen=True)
class Start:
    """Where a limiter is looked for: rate, size, and how much faster than the rate its peak is."""

    rate: float
    size: float
    peak: float


def limiters_at(shape: Shape, theta: Floats) -> list[Start]:
    """Where the limiters of a law lie."""
    return [
        Start(*(float(shape.value(theta, f"{number}.{part}")) for part in ("rate", "size", "peak")))
        for number in range(len(shape.limiters))
    ]


def draw_down(courses: Sequence[Course], limiter: Limiter, rate: float, *, fallen: bool = True) -> float:
    """The most that loads took beyond what came back at a rate, through all loads and pauses; in the limiter's unit.
    fallen: that loads which fell had taken, which is then what there was.
    """
    lost, most, clock = 0.0, 0.0, 0.0
    for course in courses:
        if limiter.refills:
            lost = max(0.0, lost - rate * max(0.0, course.start - clock))
        clock = max(clock, course.start + course.ended)
        lost = 0.0 if limiter.each else lost
        if not limiter.covers(course.direction):
            if limiter.refills:
                lost = max(0.0, lost - rate * course.ended)
            continue
        size = limiter.size(course.cell)
        paths = lost + course.done * size - (rate * course.edges if limiter.refills else 0.0)
        most = max(most, float(paths.max() if course.fell or not fallen else paths[0]))
        lost = max(0.0, float(lost + course.moved * size - (rate * course.ended if limiter.refills else 0.0)))
    return most


def _starts(courses: Sequence[Course], limiter: Limiter, *, other_unit: bool = False) -> list[Start]:
    """Where a limiter may lie, by the loads that fell: rates are their tails, sizes the largest draw-down there.
    other_unit: there is one of the other unit too, so that it is large blocks that tell of bytes, small ones of I/Os.
    """
    fallen = [course for course in courses if course.taught and course.fell and limiter.covers(course.direction)]
    if limiter.unit == "cache" and fallen:  # by large loads alone nobody knows how small ones leave it
        mine = [course for course in courses if course.taught and limiter.covers(course.direction)]
        small, size = min(one.bs for one in fallen), max(one.excess * one.bs for one in fallen)
        large = [one for one in fallen if one.bs > small] or mine
        ios, rate = max(one.tail for one in fallen if one.bs == small), max(one.tail * one.bs for one in large)
        return [Start(rate, size, ios)] if small < max(one.bs for one in mine) else []
    if other_unit and fallen:
        chosen = (max if limiter.unit == "bytes" else min)(course.bs for course in fallen)
        fallen = [course for course in fallen if course.bs == chosen]
    if not fallen:
        return []
    tails = sorted(course.tail * limiter.size(course.cell) for course in fallen)
    rates = {tails[0], tails[len(tails) // 2], tails[-1]}
    most = max(fallen, key=lambda one: limiter.size(one.cell) * one.excess)
    peak = max(most.before * limiter.size(most.cell), FALL * tails[-1])
    return [Start(rate, max(draw_down(courses, limiter, rate), 0.05 * rate), peak - rate) for rate in sorted(rates)]


# -- search --------------------------------------------------------------------------------------------------


def _prior_of(shape: Shape, courses: Sequence[Course], starts: Sequence[Start]) -> tuple[Floats, Floats]:
    centre, spread = _device_prior(shape, courses)
    for number, start in enumerate(starts):
        for part, value in zip(("rate", "size", "peak"), (start.rate, start.size, start.peak), strict=True):
            centre[f"{number}.{part}"], spread[f"{number}.{part}"] = math.log(max(value, 1e-12)), 2.0
    return np.array([centre[name] for name in shape.names]), np.array([spread[name] for name in shape.names])


def _fit_shape(shape: Shape, courses: Sequence[Course], choices: Sequence[Sequence[Start]], before: Fit | None) -> Fit:
    """The best fit of a shape. choices: starts of all its limiters together; before: of a shape with fewer parts."""
    problems: list[_Problem] = []
    thetas: list[Floats] = []
    stack = before.stack if before is not None else Stack.of(courses, shape.ways)
    for starts in choices or [()]:
        mean, spread = _prior_of(shape, courses, starts)
        known = dict(zip(before.shape.names, before.theta, strict=True)) if before is not None else {}
        fitted = np.array([known.get(name, value) for name, value in zip(shape.names, mean, strict=True)])
        new = [fitted, mean] if known and starts else [fitted]  # a limiter may have hidden what the device does
        thetas += new
        problems += [_Problem(shape, courses, stack, mean, spread)] * len(new)
    rough, finer = (problems[0].whiteners(Noise.alike(level))[0] for level in ANNEAL)
    found, costs = _improved(problems, np.array(thetas), rough, EACH)
    best = np.argsort(costs, kind="stable")[:FOLLOWED]
    problems = [problems[one] for one in best.tolist()]
    found, costs = _improved(problems, found[best], finer, EACH)
    order = np.argsort(costs, kind="stable")
    steps = np.diff(costs[order], prepend=-math.inf)
    tried = [(problems[one], found[one]) for one in order.tolist()]
    apart = (one for one, step in zip(tried, steps, strict=True) if step > SAME and _all_seen(one[0].at(one[1])))
    # What is not seen now hardly ever is in the end.
    finished = _finished([*islice(apart, FINISHED)])
    return max(finished, key=lambda fit: (_all_seen(fit), fit.evidence), default=tried[0][0].at(tried[0][1]))


def _finished(starts: Sequence[tuple[_Problem, Floats]]) -> list[Fit]:
    """The fits from good starts. Noise follows once the parameters fit at a small one: else all is called noise."""
    if not starts:
        return []
    problems, theta = [problem for problem, _ in starts], np.array([theta for _, theta in starts])
    theta, _ = _improved(problems, theta, problems[0].whiteners(Noise.alike(SMALL))[0], LAST)
    for most in (LIKELY, LIKELY, math.inf):
        noises = [problem.fit_noise(one) for problem, one in zip(problems, theta, strict=True)]
        granted = [replace(noise, between=min(noise.between, most)) for noise in noises]
        whiteners = np.array([one.whiteners(noise)[0] for one, noise in zip(problems, granted, strict=True)])
        theta, _ = _improved(problems, theta, whiteners, LAST)
    return [problem.answer(one) for problem, one in zip(problems, theta, strict=True)]


def _moves(fit: Fit, courses: Sequence[Course]) -> Iterator[tuple[Shape, list[list[Start]]]]:
    """Shapes with one part more, or two that come together, each with the starts of all its limiters."""
    have = fit.shape.limiters
    # What was there may have stood in for the new part: it is looked for afresh too.
    known = [
        limiters_at(fit.shape, fit.theta),
        *([one] for one in (_starts(courses, have[0]) if len(have) == 1 else [])),
    ]
    ways = fit.shape.ways
    only = (Limiter("bytes", ("write",), refills=False), Limiter("cache", ("write",)))
    candidates: list[tuple[Limiter, ...]] = [(one,) for one in only if "write" in ways]
    if len({one.cell.numjobs for one in courses if one.taught}) > 1:
        of_each = [Limiter(unit, ways, each=True) for unit in UNITS]
        candidates += [(of_each[0],), (of_each[1],), (*of_each,)]
    together: list[tuple[Limiter, ...]] = [(Limiter("ios", ways), Limiter("bytes", ways))]
    for unit in UNITS:
        candidates += [(Limiter(unit, (way,)),) for way in ways]
        together += [(Limiter(unit, ways),), tuple(Limiter(unit, (way,)) for way in ways)]
    for added in [*candidates, *(together if len(ways) > 1 else [])]:
        if any(one in have for one in added) or len(have) + len(added) > 3:
            continue
        units = {one.unit for one in (*have, *added)}
        starts = [_starts(courses, one, other_unit=len(units) > 1) for one in added]
        if not all(starts):
            continue
        if len(added) == 1:
            choices = [[*before, start] for before in known for start in starts[0]]
        else:
            places = range(max(map(len, starts)))
            choices = [[*before, *(one[min(n, len(one) - 1)] for one in starts)] for before in known for n in places]
        yield replace(fit.shape, limiters=(*have, *added)), choices


def has_witness(fit: Fit, number: int) -> bool:
    """Whether loads saw a limiter's level run out: one fell, and it and another at least would have been faster with
    more credit, as much as they were. A pause of the target slows one load, and what was used up by then means nothing
    to the next. What limits bytes limits the largest blocks most, what limits I/Os the smallest: one of the loads is
    of these, where any of them has many bins. A cache limits both kinds.
    """
    limiter = fit.shape.limiters[number]
    endless = fit.theta.copy()
    endless[fit.shape.index[f"{number}.size"]] += ENDLESS
    told, other = expected(fit.shape, np.stack([fit.theta, endless]), fit.stack)
    counted = [course for course in fit.courses if course.taught]
    able = [one.bs for one in counted if limiter.covers(one.direction) and 2 * one.rates.size > EVEN_BINS]
    fell, held = 0, list[float]()
    for course, off, mine, free in zip(counted, fit.residuals, told, other, strict=True):
        if not limiter.covers(course.direction):
            continue
        gap = (mine - free)[: off.size]
        bound = gap < -math.log(FALL)
        if bound.sum() >= FEWEST_AFTER and abs(float(np.median(off[bound]))) < -float(np.median(gap[bound])) / 2:
            held.append(course.bs)
            fell += course.fell and bool(np.diff(course.done)[bound].sum() >= FEWEST_IOS)
    if limiter.unit == "cache":
        return fell > 0 and len(set(held)) > 1
    return fell > 0 and len(held) > 1 and (not able or (max if limiter.unit == "bytes" else min)(able) in held)


def fit_law(courses: Sequence[Course]) -> Fit | None:
    """The law with the parts for which there is evidence; None where no load counts.

    courses: of one target, in the order of time. Parts are added as long as they make what was seen more probable, by
    the marginal likelihood, and a limiter only with a load that saw it run out. What a cache answered at times, which
    no part of the law describes, is not let into it.
    """
    fit = _fitted(courses)
    apart = _contradicted(fit) if fit is not None else set()
    taught = [replace(one, fits=one.fits and (one.cell.key, one.direction) not in apart) for one in courses]
    return (apart and _fitted(taught)) or fit


def _contradicted(fit: Fit) -> set[tuple[str, str]]:
    """Cells with their direction whose loads differ twofold, by more than the law says, where it knows of no credit."""
    off: dict[tuple[str, str], list[float]] = {}
    for place, residuals in zip(fit.foretold, fit.residuals, strict=True):
        course = fit.courses[place]
        off.setdefault((course.cell.key, course.direction), []).append(float(residuals.mean()))
    limited = {way for limiter in fit.shape.limiters for way in limiter.ways}
    apart = {cell for cell, logs in off.items() if cell[1] not in limited and max(logs) - min(logs) > math.log(2)}
    left = {way for _, way in off.keys() - apart}
    return {cell for cell in apart if cell[1] in left}  # no direction is left bare


def _fitted(courses: Sequence[Course]) -> Fit | None:
    counted = [course for course in courses if course.taught]
    if not counted:
        return None
    ways = tuple(way for way in BOTH if any(course.direction == way for course in counted))
    best = _fit_shape(Shape(ways), courses, [], None)
    kinds = set(best.stack.loads.random.tolist())
    # Limiters are looked for without a seek: one that stands in for them would hide them.
    tried = [best]
    if len(kinds) > 1:
        tried.append(_or_with(best, courses, replace(best.shape, seek=not best.shape.seek)))
    for _ in range(3):
        moved = (_fit_shape(shape, courses, starts, best) for shape, starts in _moves(best, courses))
        found = [fit for fit in moved if _all_seen(fit)]
        tried += found
        if max((fit.evidence for fit in found), default=-math.inf) <= best.evidence:
            break
        best = max(found, key=lambda fit: fit.evidence)
    if len(kinds) > 1 and best.shape.limiters:
        best = _or_with(best, courses, replace(best.shape, seek=not best.shape.seek))
    if len({(one.cell.key, one.direction) for one in counted}) < len(counted):  # loads of one cell at different times
        drifting = _or_with(best, courses, replace(best.shape, drift=True))
        best = max(best, drifting, key=lambda fit: fit.evidence - RIVAL * fit.shape.drift)  # chance looks like drift
    tried += filter(_all_seen, [best, *_varied(best, courses)])
    best = max(filter(_all_seen, tried), key=lambda fit: fit.evidence)
    others = _without(best)
    better = max(others, key=lambda fit: fit.evidence)
    if better.evidence > best.evidence + RIVAL:  # the search had missed it
        assert best.problem is not None
        best = max(best, *_finished([(best.problem, better.theta)]), key=lambda fit: fit.evidence)
        others = _without(best)
    tried = sorted((fit for fit in tried if fit.shape != best.shape), key=lambda fit: -fit.evidence)[:MOST_RIVALS]
    near = [fit for fit in (*tried, *others) if fit.evidence > best.evidence - RIVAL]
    return replace(best, draws=_drawn(best), rivals=tuple(replace(fit, draws=_drawn(fit)) for fit in near))


def _drawn(fit: Fit) -> Floats:
    """Parameters drawn from the posterior: from the normal distribution, walking on by Metropolis' rule. Always the
    same.
    """
    assert fit.problem is not None
    problem, (whiteners, _) = fit.problem, fit.problem.whiteners(fit.noise)
    sizes, axes = np.linalg.eigh(fit.covariance)
    root, rng = (np.sqrt(np.maximum(sizes, 0.0)) * axes).T, np.random.default_rng(0)

    def probable(points: Floats) -> Floats:
        return np.asarray(-0.5 * _lost(_residuals([problem], points[None], whiteners)[0]))

    points = fit.theta + rng.standard_normal((DRAWS, fit.theta.size)) @ root
    logs = probable(points)
    for step in range(WALKED):
        scale = WIDEST / math.sqrt(fit.theta.size) / (1, 4)[step % 2]
        tried = points + scale * rng.standard_normal(points.shape) @ root
        found = probable(tried)
        taken = np.log(rng.random(DRAWS)) < found - logs
        points[taken], logs[taken] = tried[taken], found[taken]
    return np.asarray(np.round(points, 3))


def _without(fit: Fit) -> list[Fit]:
    """Laws in which what takes most of the device's time takes none, and its counterpart takes what it took: loads with
    the same number in flight look alike under latency and under saturation.
    """
    assert fit.problem is not None
    shape, starts = fit.shape, []
    for way in shape.ways:
        mine = [course for course in fit.courses if course.taught and course.direction == way]
        for part, other, size in (("latency", "iops", min), ("per_byte", "bytes", max)):
            chosen = size(course.bs for course in mine)
            heaviest = math.log(max(course.outstanding for course in mine if course.bs == chosen))
            alone, busy = shape.index[f"{way}.{part}"], shape.index[f"{way}.{other}"]
            theta, level = fit.theta.copy(), heaviest - fit.theta[busy]
            gone = alone if theta[alone] > level else busy
            theta[alone], theta[busy] = level, heaviest - theta[alone]
            theta[gone] += GONE if gone == busy else -GONE
            mean, spread = fit.problem.mean.copy(), fit.problem.spread.copy()
            mean[gone], spread[gone] = theta[gone], HELD
            starts.append((_Problem(shape, fit.courses, fit.stack, mean, spread), theta))
    return _finished(starts)


def _all_seen(fit: Fit) -> bool:
    return all(has_witness(fit, number) for number in range(len(fit.shape.limiters)))


def _varied(fit: Fit, courses: Sequence[Course]) -> Iterator[Fit]:
    """Laws whose limiters are those of directions that fell alone; and with one limiter in the other unit, at the same
    place for the loads that fell: by loads of one block size nobody knows which it is.
    """
    fallen, have = [course for course in courses if course.taught and course.fell], fit.shape.limiters
    ways = {course.direction for course in fallen}
    narrow = tuple(replace(one, ways=tuple(way for way in one.ways if way in ways) or one.ways) for one in have)
    tried = [(narrow, fit.theta)]
    for number, limiter in enumerate(have):
        other = replace(limiter, unit="ios" if limiter.unit == "bytes" else "bytes")
        mine = [one.cell for one in fallen if limiter.covers(one.direction) and limiter.unit != "cache"]
        for times in {other.size(cell) / limiter.size(cell) for cell in mine}:
            theta = fit.theta.copy()
            theta[-3 * len(have) :][3 * number : 3 * number + 3] += math.log(times)
            tried.append(((*have[:number], other, *have[number + 1 :]), theta))
    for limiters, theta in tried:
        if limiters != have and len(set(limiters)) == len(limiters):
            shape = replace(fit.shape, limiters=limiters)
            yield _fit_shape(shape, courses, [limiters_at(shape, theta)], replace(fit, theta=theta))


def _or_with(fit: Fit, courses: Sequence[Course], other: Shape) -> Fit:
    """The law, or one of another shape with the same limiters, as is more probable."""
    tried = _fit_shape(other, courses, [limiters_at(fit.shape, fit.theta)], fit)
    return max(fit, tried, key=lambda one: one.evidence)
