# SPDX-License-Identifier: Apache-2.0
"""What a search for the best setting found, computed from its journal: nothing here runs a load. What
the search keeps there besides its trials.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median_high
from typing import Any

from ioatlas.answer.analysis.estimates import cell_verdict, window_values
from ioatlas.answer.analysis.load_curve import Rate, RateState, mean_interval, percentile_interval, size_up
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.load_curve import Sizing
from ioatlas.model.outcomes import KeptRecord
from ioatlas.model.units import grouped
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import Histogram, Purpose, Visit
from ioatlas.plan.latency_search import Goal, Load, Outcome, Point, Trial, conclude, judge_load
from ioatlas.stats.gates import offered_iops
from ioatlas.stats.intervals import Interval, bounded, log_t_interval
from ioatlas.store.journal import Journal

SEARCH, FRESH, CURVE = Purpose.SWEEP, Purpose.FRESH, Purpose.CURVE
"""Purposes of the visits of a search; its trials are a sweep to everything else that reads the journal."""

PERCENTS = tuple(range(10, 101, 10))
OVERLOADED = 0.99
ROOM, LEAST_DEPTH, MOST_DEPTH = 4, 32, 1024
"""An open loop needs room for more I/Os in flight than the closed loop kept, or it waits for the target as that one
does.
"""


@dataclass(frozen=True)
class Best:
    """The best setting, from its fresh visits only. Latencies are those of the slower direction; the interval is
    95%. seconds: of one visit.
    """

    numjobs: int
    iodepth: int
    iops: float
    iops_low: float | None
    iops_high: float | None
    bw_bytes_per_s: float
    lat_mean_ns: float | None
    lat_p99_ns: float | None
    n_visits: int
    share_by_direction: Mapping[str, float]
    seconds: float = 0.0
    verdict: VerdictCode = VerdictCode.NONE


@dataclass(frozen=True)
class CurvePoint:
    """One step of the load-latency curve. Latencies are lower bounds: fio's clock starts when it submits, not when the
    I/O was due.

    overloaded: more than half of its visits did not carry the rate. n_overloaded: how many.
    low, high:  95% interval of the latency that the goal limits.
    state:      by the rule of docs/guide/tune.md.
    seconds:    of one visit. verdict: on how steady they were.
    """

    percent: int
    offered: float
    iops: float
    lat_mean_ns: float | None
    lat_p99_ns: float | None
    overloaded: bool
    low_ns: float | None
    high_ns: float | None
    n_visits: int
    n_overloaded: int
    bw_bytes_per_s: float
    state: RateState
    seconds: float
    verdict: VerdictCode


@dataclass(frozen=True)
class Level:
    """A step of the curve to be measured."""

    percent: int
    offered_iops: float
    numjobs: int
    iodepth: int
    options: Mapping[str, OptionValue]


@dataclass(frozen=True)
class Tuning:
    """The whole result. `best` is None when no setting meets the limit."""

    goal: Goal
    best: Best | None
    limited_by: str
    outcome: Outcome
    curve: tuple[CurvePoint, ...]
    n_trials: int
    seconds: float
    refuted: tuple[Point, ...]
    remarks: tuple[str, ...]

    @property
    def sizing(self) -> Sizing | None:
        """What fixed rates are safe; None without a curve."""
        return size_up([Rate(point.offered, point.state, overloaded=point.overloaded) for point in self.curve])

    def as_json(self) -> dict[str, Any]:
        told = vars(self.best).items() if self.best is not None else ()
        best = {name: value for name, value in told if name != "share_by_direction"} or None
        return {
            "goal": {
                "quantity": self.goal.quantity if self.goal.limit_ns is not None else "iops",
                "limit_ns": self.goal.limit_ns,
            },
            "best": best,
            "limited_by": self.limited_by,
            "seconds": round(self.seconds, 2),
            "curve": [vars(point) for point in self.curve],
            "curve_latency": "lower bound",
            "sizing": asdict(self.sizing) if self.sizing else None,
            "trials": [
                {**_load(load), "meets": load.verdict.state == "meets", "decided": load.verdict.decided}
                for load in self.outcome.loads
            ],
            "n_trials": self.n_trials,
            "refuted": [{"numjobs": jobs, "iodepth": depth} for jobs, depth in self.refuted],
            "remarks": list(self.remarks),
        }


def _load(load: Load) -> dict[str, Any]:
    return {
        "numjobs": load.point[0],
        "iodepth": load.point[1],
        "iops": load.iops,
        "lat_mean_ns": load.lat_mean_ns,
        "lat_p99_ns": load.lat_p99_ns,
        "trials": load.trials,
    }


def trial_of(cell: Cell, visit: Visit) -> Trial:
    """A visit as a trial: all directions together, latencies of the slower one."""
    values = [window_values(part, visit.window_start_ms) for part in visit.parts]
    return Trial(
        (cell.numjobs, cell.iodepth),
        sum(value.iops for value in values),
        max((value.lat_mean_ns for value in values if value.lat_mean_ns is not None), default=None),
        max((value.lat_p99_ns for value in values if value.lat_p99_ns is not None), default=None),
        max((value.seconds for value in values), default=0.0),
        visit.verdict.code is VerdictCode.CLIENT_LIMITED,
    )


def trials_of(cells: Mapping[str, Cell], visits: Iterable[Visit]) -> list[Trial]:
    """Trials of the search, in the order in which they were made."""
    return [trial_of(cells[v.cell_key], v) for v in visits if v.purpose == SEARCH and not v.discarded and v.parts]


FEWEST_FRESH = 3
"""Fresh visits that an interval takes."""


def fresh_trials(cell: Cell, visits: Iterable[Visit]) -> list[Trial]:
    """The visits of a setting that were made after it had been named."""
    return [trial_of(cell, visit) for visit in _fresh(cell, visits)]


def _fresh(cell: Cell, visits: Iterable[Visit]) -> list[Visit]:
    return [v for v in visits if v.purpose == FRESH and v.cell_key == cell.key and not v.discarded and v.parts]


def holds(goal: Goal, fresh: Sequence[Trial]) -> bool:
    """Whether fresh visits confirm a setting: enough of them, and at most half of their time exceeds the limit."""
    return len(fresh) >= FEWEST_FRESH and judge_load(fresh, goal).state == "meets"


def curve_levels(best: Best, percents: Iterable[int] = PERCENTS) -> list[Level]:
    """Offered loads at 10, 20, ... 100% of the capacity, or others, as fio options. fio's rates are whole numbers for
    each job and direction.
    """
    depth = min(MOST_DEPTH, max(LEAST_DEPTH, ROOM * best.iodepth))
    levels = []
    directions = [name for name in ("read", "write", "trim") if best.share_by_direction.get(name)]
    mixed = len(directions) > 1
    for percent in percents:
        wanted = {name: best.iops * percent / 100 * best.share_by_direction[name] for name in directions}
        jobs = max(1, min(best.numjobs, math.floor(min(wanted.values()))))
        rates = {name: max(1, round(rate / jobs)) for name, rate in wanted.items()}
        text: OptionValue = (
            ",".join(str(rates.get(name, "")) for name in ("read", "write", "trim")).rstrip(",")
            if mixed
            else rates[directions[0]]
        )
        options: dict[str, OptionValue] = {"rate_iops": text, "rate_process": "linear"}
        levels.append(Level(percent, float(sum(rates.values()) * jobs), jobs, depth, options))
    return levels


FINEST = 3
"""Steps between which none is tried, in per cent of the capacity."""


def between(tuning: Tuning) -> int | None:
    """The step in the middle between the safe rate and the next that was tried, in per cent of the capacity.

    None where the safe rate is the highest one, or where it is known to FINEST per cent.
    """
    safe = tuning.sizing.safe_iops or 0.0 if tuning.sizing is not None else 0.0
    below = max((point.percent for point in tuning.curve if point.offered <= safe), default=0)
    above = min((point.percent for point in tuning.curve if point.offered > safe), default=below)
    return (below + above) // 2 if above - below > FINEST else None


REPEATED = 1000
"""Added to the number of a visit that repeats a step."""


def curve_point(cell: Cell, visits: Sequence[Visit], goal: Goal, sustained_iops: float | None = None) -> CurvePoint:
    """The visits of one step of the curve. Of several the middle one tells the latency, as in the search.

    sustained_iops: what the closed loop kept up for sure; a higher rate may be carried for a while only.
    """
    short = sum(_falls_short(cell, visit) for visit in visits)
    trials = [trial_of(cell, visit) for visit in visits]
    ends = [interval for visit in visits if (interval := _limited_interval(visit, goal)) is not None]
    low, high = _middle(low for low, _ in ends), _middle(high for _, high in ends)
    state = RateState.of(low, high, goal.limit_ns, n_visits=len(visits), n_overloaded=short)
    if state is RateState.WITHIN and sustained_iops is not None and offered_iops(cell) > sustained_iops:
        state = RateState.BORDERLINE
    return CurvePoint(
        visits[0].replicate % REPEATED,
        offered_iops(cell),
        sum(_rate(visit, "total_ios") for visit in visits) / len(visits),
        _middle(trial.lat_mean_ns for trial in trials),
        _middle(trial.lat_p99_ns for trial in trials),
        overloaded=2 * short > len(visits),
        low_ns=low,
        high_ns=high,
        n_visits=len(visits),
        n_overloaded=short,
        bw_bytes_per_s=sum(_rate(visit, "io_bytes") for visit in visits) / len(visits),
        seconds=sum(map(_seconds, visits)) / len(visits),
        verdict=_verdict(visits, log_t_interval([trial.iops for trial in trials])),
        state=state,
    )


def _middle(values: Iterable[float | None]) -> float | None:
    """The larger of the two in the middle where there are two; None when one is not known."""
    known = list(values)
    there = [value for value in known if value is not None]
    return median_high(there) if there and len(there) == len(known) else None


def _seconds(visit: Visit) -> float:
    return max((part.runtime_ms for part in visit.parts), default=0) / 1000


def _verdict(visits: Sequence[Visit], rates: Interval) -> VerdictCode:
    return cell_verdict([visit.verdict.code for visit in visits], rates)


def _rate(visit: Visit, name: str) -> float:
    seconds = _seconds(visit)
    return sum(getattr(part, name) for part in visit.parts) / seconds if seconds else 0.0


def _falls_short(cell: Cell, visit: Visit) -> bool:
    """Whether the offered rate was not carried."""
    offered, seconds = offered_iops(cell), _seconds(visit)
    done = sum(part.total_ios for part in visit.parts)
    # What is under way when the time is up was carried too: one I/O a job, and the rate times the latency of the
    # quickest tenth.
    quick = Histogram.merge(part.histogram for part in visit.parts).percentile_ns(10) or 0.0
    under_way = cell.numjobs + offered * quick / 1e9
    # A late start of the generator is not an overload: the last four fifths must fall short as well.
    late = sum(window_values(part, int(part.runtime_ms // 5)).iops for part in visit.parts)
    return done + under_way < OVERLOADED * offered * seconds and late < OVERLOADED * offered


def _limited_interval(visit: Visit, goal: Goal) -> tuple[float, float] | None:
    """Of the latency that the goal limits, in the slower direction; None without latencies."""
    histograms = [one for one in _histograms([visit]).values() if one.count]
    if not histograms:
        return None
    ends = [percentile_interval(one, 99) if goal.quantity == "p99" else mean_interval(one) for one in histograms]
    return max(low for low, _ in ends), max(high for _, high in ends)


def _histograms(visits: Sequence[Visit]) -> dict[str, Histogram]:
    """By direction, of all visits."""
    names = {part.direction for visit in visits for part in visit.parts}
    return {
        name: Histogram.merge(part.histogram for visit in visits for part in visit.parts if part.direction == name)
        for name in sorted(names)
    }


def _best(cell: Cell, visits: Iterable[Visit]) -> Best | None:
    fresh = _fresh(cell, visits)
    if len(fresh) < FEWEST_FRESH:
        return None
    trials = [trial_of(cell, visit) for visit in fresh]
    rates = [trial.iops for trial in trials]
    interval = log_t_interval(rates)
    shown, iops = bounded(interval, rates), interval.estimate or 0.0
    parts, ios = [part for visit in fresh for part in visit.parts], Counter[str]()
    for part in parts:
        ios[part.direction] += part.total_ios
    means = [trial.lat_mean_ns for trial in trials if trial.lat_mean_ns is not None]
    tails = [value for one in _histograms(fresh).values() if (value := one.percentile_ns(99)) is not None]
    return Best(
        cell.numjobs,
        cell.iodepth,
        iops,
        shown.low,
        shown.high,
        iops * sum(part.io_bytes for part in parts) / ios.total(),
        sum(means) / len(means) if means else None,
        max(tails, default=None),
        len(fresh),
        {name: count / ios.total() for name, count in ios.items()},
        sum(map(_seconds, fresh)) / len(fresh),
        _verdict(fresh, interval),
    )


def closed_cell(point: Point, cells: Iterable[Cell]) -> Cell:
    """That of a setting, not those of its curve."""
    return next(cell for cell in cells if (cell.numjobs, cell.iodepth) == point and "rate_iops" not in cell.option)


def load_tuning(journal: Journal) -> Tuning:
    """The result of the search in a journal, as far as it has come."""
    goal = journal.kept(TuneGoal).goal
    cells = {cell.key: cell for cell, _ in journal.cells()}
    visits = journal.visits(with_series=True)
    trials = trials_of(cells, visits)
    gone = journal.kept(Refuted).points
    outcome = conclude(goal, trials, journal.kept(Unrunnable).points, gone)
    best = None
    if outcome.best is not None:
        cell = closed_cell(outcome.best.point, cells.values())
        best = _best(cell, visits) if holds(goal, fresh_trials(cell, visits)) else None
    steps = grouped((v.cell_key, v) for v in visits if v.purpose == CURVE and not v.discarded and v.parts)
    sustained = best.iops_low if best else None
    curve = [curve_point(cells[key], mine, goal, sustained) for key, mine in steps.items()]
    limited_by = journal.kept(TuneEnd).by or outcome.limited_by
    seconds = sum((row.ended_at or row.started_at) - row.started_at for row in journal.sessions())
    return Tuning(
        goal,
        best,
        limited_by,
        outcome,
        tuple(sorted(curve, key=lambda point: point.offered)),
        len(trials),
        seconds,
        gone,
        tuple(text for _, text in journal.remarks()),
    )


@dataclass(frozen=True)
class TuneGoal(KeptRecord):
    """What is searched for."""

    NAME, CONTENT = "tune", "goal"
    goal: Goal = field(default_factory=Goal)


@dataclass(frozen=True)
class TuneEnd(KeptRecord):
    """'budget' where that ended the search before it knew enough."""

    NAME, CONTENT = "tune_ended", "by"
    by: str = ""


@dataclass(frozen=True)
class _Points(KeptRecord):
    CONTENT = "points"
    points: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Refuted(_Points):
    """Settings whose fresh visits did not hold what their trials promised."""

    NAME = "tune_refuted"


@dataclass(frozen=True)
class Unrunnable(_Points):
    """Settings under which the load generator could not even start."""

    NAME = "tune_failed"
