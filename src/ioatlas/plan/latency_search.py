# SPDX-License-Identifier: Apache-2.0
"""Search for the best numjobs x iodepth under a latency limit: history in, next trials out. Pure.

Loads are judged as in MLRsearch (RFC 9971): many short trials instead of one long one, a load is a lower bound when
at most half of the duration summed over its trials exceeded the limit whatever the trials still missing would say, an
upper bound when more than half did.
The search runs over a plane instead of a line: doubling along iodepth, then along numjobs while that gains anything,
then bisection between the last load that meets the limit and the first that does not, and other splits of about the
same I/Os in flight.

It is written as straight code over `_View.need`, which stops it where a trial is missing: every call goes through the
whole search again with what is known by then. That makes it resumable by construction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from statistics import median, variance
from typing import Literal

from ioatlas.model.units import grouped

GAIN, MOST_GAIN = 0.02, 0.05
"""A load must be this much faster to be preferred to a smaller one, and to count as growth; more where trials of one
load differ more.
"""
WIDTH = 0.05
"""Bisection ends when the two loads differ by this share, or by one."""
FLAT_STEPS = 2
"""Doublings without a gain after which a line has reached its plateau."""
TOGETHER = 3
"""Levels of the first line that are tried in one batch."""
MOST_ROUNDS = 12
"""Refinements around a best setting that moves; noise must not keep the search going."""

Point = tuple[int, int]
"""(numjobs, iodepth)."""
State = Literal["meets", "exceeds", "failed"]


@dataclass(frozen=True)
class Goal:
    """What is searched for: most IOPS such that `quantity` stays within `limit_ns` (None: no limit, most IOPS).

    exceed_ratio: share of the summed duration that may exceed the limit; trials: the duration sum, in trials of a load.
    """

    quantity: Literal["p99", "mean"] = "p99"
    limit_ns: float | None = None
    max_jobs: int = 64
    max_depth: int = 256
    exceed_ratio: float = 0.5
    trials: int = 3

    def exceeded(self, trial: Trial) -> bool:
        """Whether one trial broke the limit; unknown latency does."""
        if self.limit_ns is None:
            return False
        value = trial.lat_p99_ns if self.quantity == "p99" else trial.lat_mean_ns
        return value is None or value > self.limit_ns


@dataclass(frozen=True)
class Trial:
    """One short visit of a load. iops: all directions; latencies: of the slower direction. limited: the client was
    the limit.
    """

    point: Point
    iops: float
    lat_mean_ns: float | None
    lat_p99_ns: float | None
    seconds: float
    limited: bool = False


@dataclass(frozen=True)
class Verdict:
    """A load so far. decided: no missing trial of its duration sum could change `state`."""

    state: State
    decided: bool


@dataclass(frozen=True)
class Load:
    """A load with the medians of its trials."""

    point: Point
    iops: float
    lat_mean_ns: float | None
    lat_p99_ns: float | None
    trials: int
    verdict: Verdict

    @property
    def outstanding(self) -> int:
        return self.point[0] * self.point[1]


@dataclass(frozen=True)
class Outcome:
    """What the search found.

    best:       most IOPS within the limit, the smallest load among those within 2% of it (5% at most, where trials
    vary); None when no load meets the limit.
    limited_by: 'latency limit', 'throughput plateau', 'max jobs/depth', 'client', 'a load that failed'.
    """

    best: Load | None
    limited_by: str
    loads: tuple[Load, ...]


class _MissingTrialsError(Exception):
    def __init__(self, points: Sequence[Point]) -> None:
        super().__init__(points)
        self.points = tuple(points)


def judge_load(trials: Sequence[Trial], goal: Goal) -> Verdict:
    """RFC 9971, section on load classification: exceed ratio if all missing trials were good, and if all were bad."""
    bad = sum(trial.seconds for trial in trials if goal.exceeded(trial))
    done = sum(trial.seconds for trial in trials)
    # A first trial may be shorter than the later ones, whose length is known better.
    wanted = max(done, goal.trials * max(trial.seconds for trial in trials))
    optimistic, pessimistic = bad / wanted, (bad + wanted - done) / wanted
    if goal.limit_ns is None or pessimistic <= goal.exceed_ratio:
        return Verdict("meets", decided=len(trials) >= goal.trials or goal.limit_ns is not None)
    if optimistic > goal.exceed_ratio:
        return Verdict("exceeds", decided=True)
    return Verdict("exceeds" if bad > goal.exceed_ratio * done else "meets", decided=False)


@dataclass
class _View:
    """What is known, and the way to ask for more."""

    goal: Goal
    loads: Mapping[Point, Load]
    gain: float

    def need(self, points: Iterable[Point]) -> list[Load]:
        points = list(points)
        missing = [point for point in points if point not in self.loads]
        if missing:
            raise _MissingTrialsError(missing)
        return [self.loads[point] for point in points]

    def one(self, point: Point) -> Load:
        return self.need([point])[0]

    def decide(self, point: Point) -> Load:
        """The load once its verdict is final."""
        load = self.one(point)
        if not load.verdict.decided and load.trials < 3 * self.goal.trials:
            raise _MissingTrialsError([point])
        return load

    def compare(self, best: Load) -> None:
        """Try the setting, the fastest load and the next larger ones side by side: neither a lucky trial nor a slow
        minute may decide.
        """
        meeting = [load for load in self.loads.values() if load.verdict.state == "meets"]
        wanted = dict.fromkeys((best.point, max(meeting, key=lambda load: load.iops).point), self.goal.trials)
        for axis in (0, 1):
            above = _beside(self.loads.values(), best.point, axis)[1]
            larger = next((load for load in above if load.verdict.state == "meets"), best)
            wanted.setdefault(larger.point, self.goal.trials)
            if above and above[0].verdict.state == "exceeds" and _worth(best, above[0], self.gain):
                # What keeps the setting from being larger is tried again, at another time than before.
                wanted[above[0].point] = 2 * self.goal.trials
        missing = [point for point, trials in wanted.items() if self.loads[point].trials < trials]
        if missing:
            raise _MissingTrialsError(missing)

    def best(self) -> Load | None:
        return _best(self.loads.values(), self.gain)


def _best(loads: Iterable[Load], gain: float) -> Load | None:
    meeting = [load for load in loads if load.verdict.state == "meets" and load.iops > 0]
    if not meeting:
        return None
    top = max(load.iops for load in meeting)
    near = [load for load in meeting if load.iops >= (1 - gain) * top]
    return min(near, key=lambda load: (load.outstanding, load.point))


def loads_of(goal: Goal, history: Iterable[Trial], failed: Iterable[Point] = ()) -> dict[Point, Load]:
    """Medians and verdict of every load tried; `failed` ones could not be run at all."""
    by_point = grouped((trial.point, trial) for trial in history)
    loads = {
        point: Load(
            point,
            median(trial.iops for trial in trials),
            _median(trial.lat_mean_ns for trial in trials),
            _median(trial.lat_p99_ns for trial in trials),
            len(trials),
            judge_load(trials, goal),
        )
        for point, trials in by_point.items()
    }
    for point in failed:
        if point not in loads:
            loads[point] = Load(point, 0.0, None, None, 0, Verdict("failed", decided=True))
    return loads


def needed_gain(history: Iterable[Trial]) -> float:
    """1.5 standard deviations of the logarithm of one load's trials, pooled, within 2% and 5%."""
    by_point = grouped((trial.point, log(trial.iops)) for trial in history if trial.iops > 0)
    freedom = sum(len(values) - 1 for values in by_point.values())
    squares = sum(variance(values) * (len(values) - 1) for values in by_point.values() if len(values) > 1)
    return min(MOST_GAIN, max(GAIN, 1.5 * sqrt(squares / freedom))) if freedom else GAIN


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def next_trials(goal: Goal, history: Sequence[Trial], failed: Iterable[Point] = ()) -> tuple[Point, ...]:
    """The loads to try next, lightest first; empty when the search is done.

    history: every trial so far, in any order. failed: loads that could not be run.
    """
    view = _View(goal, loads_of(goal, history, failed), needed_gain(history))
    try:
        depth = _first_line(view)
        if view.best() is None and view.decide((1, 1)).verdict.state != "meets":
            return ()
        _more_jobs(view, depth)
        for _ in range(MOST_ROUNDS):
            before = view.best()
            if before is None:
                break
            _refine(view, before.point)
            view.decide(before.point)
            view.compare(before)
            if view.best() == before:
                break
    except _MissingTrialsError as missing:
        return tuple(sorted(missing.points, key=lambda point: (point[0] * point[1], point)))
    return ()


def _doubling(highest: int) -> list[int]:
    """1, 2, 4, ... and `highest` itself."""
    return [*(1 << power for power in range(highest.bit_length()) if 1 << power < highest), highest]


def _more_jobs(view: _View, depth: int) -> None:
    """Lines of doubling numbers of jobs, for as long as that gains."""
    flat, top = 0, _top(view)
    for jobs in _doubling(view.goal.max_jobs)[1:]:
        depth = _line(view, jobs, depth)
        now = _top(view)
        flat = 0 if now > (1 + view.gain) * top else flat + 1
        top = max(top, now)
        if flat >= FLAT_STEPS:
            return


def _top(view: _View) -> float:
    return max((load.iops for load in view.loads.values() if load.verdict.state == "meets"), default=0.0)


def _first_line(view: _View) -> int:
    """Depth to start the next line from: the smallest one near the best of this line."""
    tried: list[Load] = []
    levels = _doubling(view.goal.max_depth)
    flat, top = 0, 0.0
    for index, depth in enumerate(levels):
        if index and index % TOGETHER == 1:
            view.need((1, level) for level in levels[index : index + TOGETHER])
        load = view.one((1, depth))
        if load.verdict.state != "meets":
            load = view.decide((1, depth))
        tried.append(load)
        if load.verdict.state != "meets":
            break
        flat = 0 if load.iops > (1 + view.gain) * top else flat + 1
        top = max(top, load.iops)
        if flat >= FLAT_STEPS:
            break
    best = _best(tried, view.gain)
    return best.point[1] if best else 1


def _line(view: _View, jobs: int, depth: int) -> int:
    """One line of a number of jobs, from the depth that suited the line before: down until the limit is met, up while
    it gains.
    """
    load = view.one((jobs, depth))
    while load.verdict.state != "meets" and depth > 1:
        depth = max(1, depth // 2)
        load = view.one((jobs, depth))
    while load.verdict.state == "meets" and depth < view.goal.max_depth:
        higher = min(2 * depth, view.goal.max_depth)
        # Without a gain over everything so far this number of jobs is no better at that depth.
        if load.iops <= (1 + view.gain) * max(
            (other.iops for other in view.loads.values() if other.point[0] < jobs), default=0.0
        ):
            break
        up = view.one((jobs, higher))
        if up.verdict.state != "meets" or up.iops <= (1 + view.gain) * load.iops:
            break
        load, depth = up, higher
    return depth


def _refine(view: _View, point: Point) -> None:
    """Bisection along both axes around a setting, and other splits of its I/Os in flight."""
    jobs, depth = point
    goal = view.goal
    beside = [(2 * jobs, max(1, depth // 2)), (max(1, jobs // 2), 2 * depth), (2 * jobs, depth), (jobs, 2 * depth)]
    wanted = [pair for pair in beside if pair[0] <= goal.max_jobs and pair[1] <= goal.max_depth and pair != point]
    view.need(wanted)
    _bisect(view, point, axis=1)
    _bisect(view, point, axis=0)


def _bisect(view: _View, point: Point, *, axis: int) -> None:
    """Narrow the gaps above and below a setting along one axis (0: jobs, 1: depth)."""

    def at(level: int) -> Point:
        return (level, point[1]) if axis == 0 else (point[0], level)

    base = view.one(point)
    above = _beside(view.loads.values(), point, axis)[1][:1]
    if above and _worth(base, above[0], view.gain):
        low, high = point[axis], above[0].point[axis]
        while high - low > max(1, WIDTH * low):
            middle = (low + high) // 2
            load = view.decide(at(middle))
            low, high = (middle, high) if load.verdict.state == "meets" else (low, middle)
    below = _beside(view.loads.values(), point, axis)[0][-1:]
    if below and below[0].verdict.state == "meets":
        # At a plateau: the smallest load that is as fast.
        low, high = below[0].point[axis], point[axis]
        while high - low > max(1, WIDTH * low):
            middle = (low + high) // 2
            load = view.one(at(middle))
            low, high = (
                (low, middle)
                if load.verdict.state == "meets" and load.iops >= (1 - view.gain) * base.iops
                else (middle, high)
            )


def _worth(base: Load, above: Load, gain: float) -> bool:
    """Whether something faster may lie between a load and the next one that does not meet the limit."""
    state = above.verdict.state
    return state == "failed" or (state == "exceeds" and above.iops > (1 + gain) * base.iops)


def conclude(
    goal: Goal, history: Sequence[Trial], failed: Iterable[Point] = (), exclude: Iterable[Point] = ()
) -> Outcome:
    """What the trials show, whether or not the search was finished. exclude: settings that fresh visits did not
    confirm.
    """
    refuted = set(exclude)
    loads = loads_of(goal, history, failed)
    for point in refuted & loads.keys():
        loads[point] = replace(loads[point], verdict=Verdict("exceeds", decided=True))
    ordered = tuple(sorted(loads.values(), key=lambda load: (load.outstanding, load.point)))
    gain = needed_gain(history)
    best = _best(ordered, gain)
    if best is None:
        limited_by = "latency limit" if goal.limit_ns is not None else "a load that failed"
        return Outcome(None, limited_by, ordered)
    return Outcome(best, _limited_by(goal, best, ordered, history, gain), ordered)


def _beside(loads: Iterable[Load], point: Point, axis: int) -> tuple[list[Load], list[Load]]:
    """Loads on a setting's line along one axis (0: jobs, 1: depth), below it and above it, in order."""
    line = sorted((load for load in loads if load.point[1 - axis] == point[1 - axis]), key=lambda one: one.point[axis])
    below = [one for one in line if one.point[axis] < point[axis]]
    return below, [one for one in line if one.point[axis] > point[axis]]


def _limited_by(goal: Goal, best: Load, loads: Sequence[Load], history: Iterable[Trial], gain: float) -> str:
    above = [
        load
        for load in loads
        if load.point[0] >= best.point[0] and load.point[1] >= best.point[1] and load.point != best.point
    ]
    top = max(load.iops for load in loads if load.verdict.state == "meets")
    faster = [load for load in above if load.iops > (1 + gain) * top]
    if any(load.verdict.state == "exceeds" for load in faster):
        return "latency limit"
    mine = [trial.limited for trial in history if trial.point == best.point]
    if mine and sum(mine) > len(mine) / 2:
        return "client"
    if edge := _edge(goal, best, loads, gain):
        return edge
    ran = [load for load in above if load.verdict.state != "failed"]
    if ran:
        return "throughput plateau"
    return "a load that failed" if above else "max jobs/depth"


def _edge(goal: Goal, best: Load, loads: Sequence[Load], gain: float) -> str:
    """Why an axis that still gained on its last step ends at this setting; '' when neither does."""
    for axis, highest in enumerate((goal.max_jobs, goal.max_depth)):
        below, above = _beside(loads, best.point, axis)
        if not below or best.iops <= (1 + gain) * below[-1].iops:
            continue
        if best.point[axis] == highest:
            return "max jobs/depth"
        if above and above[0].verdict.state == "failed":
            return "a load that failed"
    return ""
