# SPDX-License-Identifier: Apache-2.0
"""The shape of a map around each cell: how throughput answers to more load, what stays the same when the block size
changes, what is faster elsewhere. Facts with their uncertainty; what they are evidence of stands in `causes`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from ioatlas.analysis.cache import CacheVerdict
from ioatlas.analysis.ceilings import Ceiling
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.usage import CpuShares, Usage
from ioatlas.model.verdict import WITHHELD, VerdictClass, VerdictCode, verdict_class

_MORE = {"numjobs": "the jobs", "iodepth": "the iodepth"}
Place = tuple[str, str]
"""Cell key and direction."""

FLAT, RISING = 0.3, 0.7
"""Exponents of throughput over load up to which more load gives little, and from which it gives nearly in proportion.
"""
GIVEN_BACK = 0.1
"""A step of load that gains, while more load beyond it gains less than this, shows a credit or a disturbance."""
LEAST_SPREAD, MOST_SPREAD, UNSTEADY_SPREAD, UNKNOWN_SPREAD = 0.01, 1.0, 0.1, 0.05
"""Standard deviations of the logarithm of a value: least and most, of one that was not steady, of one without an
interval.
"""
BOTH_SIDES = 2 * 1.96


@dataclass(frozen=True)
class Drive:
    """A drive beside a cell: share of the time with work, I/Os in it on average."""

    name: str
    utilisation: float
    queue_mean: float


@dataclass(frozen=True)
class Seen:
    """What was seen beside the visits of one cell. generator: fio's CPU, share of a core for each job, by visit.

    waiting: share of the time that fio's threads stood ready and waited for a processor, by visit.
    cpu: what the load and other programs took of the machine's processors, by visit.
    """

    usages: tuple[Usage, ...] = ()
    generator: tuple[float, ...] = ()
    waiting: tuple[float, ...] = ()
    cpu: tuple[CpuShares, ...] = ()

    @property
    def others(self) -> float:
        """Share of the machine's processors that other programs took; 0 where nobody counted."""
        return median(one.others for one in self.cpu) if self.cpu else 0.0

    @property
    def cores(self) -> float | None:
        """Mean share of all cores that was busy."""
        shares = [sum(usage.core_busy) / len(usage.core_busy) for usage in self.usages if usage.core_busy]
        return median(shares) if shares else None

    @property
    def n_cores(self) -> int:
        return max((len(usage.core_busy) for usage in self.usages), default=0)

    @property
    def busiest(self) -> float | None:
        shares = [usage.busiest_core for usage in self.usages if usage.busiest_core is not None]
        return median(shares) if shares else None

    @property
    def softirq_cores(self) -> float:
        """Cores' worth of time spent in soft interrupts (network)."""
        shares = [usage.softirq * len(usage.core_busy) for usage in self.usages if usage.core_busy]
        return median(shares) if shares else 0.0

    @property
    def steal(self) -> float:
        """Share of the processors' time that the hypervisor took."""
        return median([usage.steal for usage in self.usages]) if self.usages else 0.0

    @property
    def retransmitted(self) -> float:
        """Share of TCP's segments that were sent again."""
        sent = sum(usage.tcp_segments_sent or 0 for usage in self.usages)
        return sum(usage.tcp_retransmitted or 0 for usage in self.usages) / sent if sent else 0.0

    @property
    def generator_share(self) -> float | None:
        return median(self.generator) if self.generator else None

    def drive(self, names: Iterable[str]) -> Drive | None:
        """The busiest of the drives."""
        found = []
        for name in names:
            disks = [usage.disks[name] for usage in self.usages if name in usage.disks]
            if disks:
                busy, queue = median(one.utilisation for one in disks), median(one.queue_mean for one in disks)
                found.append(Drive(name, busy, queue))
        return max(found, key=lambda one: (one.utilisation, one.queue_mean)) if found else None


@dataclass(frozen=True)
class PathView:
    """What is known of the way to a target. remote: it crosses a wire. drives: local devices at its end whose
    counters were read. round_trip_ns: of the network.
    """

    remote: bool = False
    drives: tuple[str, ...] = ()
    round_trip_ns: float | None = None


@dataclass(frozen=True)
class Answer:
    """What more load along one option gave.

    up: beyond this cell; otherwise the last step that led to it. exponent: of throughput over load, 0 nothing, 1 in
    proportion; sd: its uncertainty.
    """

    option: str
    up: bool
    exponent: float
    sd: float
    words: str


@dataclass(frozen=True)
class BlockStep:
    """The nearest larger (or smaller) block size whose plateau is known.

    exponent: of bytes a second over the block size, 0 the same bytes a second, 1 the same I/Os a second.
    """

    larger: bool
    exponent: float
    sd: float
    bs_bytes: int


@dataclass(frozen=True)
class Single:
    """One I/O in flight beside the cell: its share of the cell's I/Os a second, whether more in flight adds nothing.

    fast_share: of its I/Os that take less than half the mean; None where that was not told.
    """

    log_ratio: float
    sd: float
    flat: bool
    fast_share: float | None
    lat_mean_ns: float | None


@dataclass(frozen=True)
class Faster:
    """The highest value elsewhere over this one, as a logarithm, with its uncertainty."""

    log_ratio: float
    sd: float


@dataclass
class Case:
    """One cell and direction, with what is needed to judge it. standards: links of standard rates, where the link's
    rate is not known.
    """

    estimate: Estimate
    seen: Seen
    path: PathView
    ceilings: tuple[Ceiling, ...]
    cache: CacheVerdict | None
    standards: tuple[Ceiling, ...] = ()
    answers: tuple[Answer, ...] = ()
    given_back: bool = False
    blocks: tuple[BlockStep, ...] = ()
    single: Single | None = None
    plateau: tuple[float, float] | None = None
    """Bytes a second of all that stand still at the same rate, with the uncertainty of their mean."""
    of_plateau: float | None = None
    """Share of the fastest load of the same block size, where that is a plateau."""
    faster: Mapping[str, Faster] = field(default_factory=dict)
    """'bytes' and 'ios' among cells of the same pattern, 'path' among all of the direction."""

    @property
    def rate(self) -> float:
        return self.estimate.bw_bytes_per_s or 0.0

    @property
    def iops(self) -> float:
        return self.estimate.iops or 0.0

    @property
    def spread(self) -> float:
        """Standard deviation of the logarithm of the value."""
        e = self.estimate
        least = UNSTEADY_SPREAD if _unsteady(e) else LEAST_SPREAD
        if not e.bw_low or not e.bw_high or e.bw_low <= 0:
            least = MOST_SPREAD if e.verdict is VerdictCode.RUNS_DISAGREE else least
            return max(least, UNKNOWN_SPREAD)
        return min(MOST_SPREAD, max(least, math.log(e.bw_high / e.bw_low) / BOTH_SIDES))

    @property
    def flat(self) -> bool:
        """Whether more load gives little along every option that was varied."""
        return bool(self.answers) and all(one.exponent <= FLAT for one in self.answers)

    @property
    def rising(self) -> bool:
        """Whether more load gives nearly in proportion, whatever option was varied."""
        return bool(self.answers) and all(one.exponent >= RISING for one in self.answers)

    @property
    def bends(self) -> bool:
        return bool(self.answers) and not self.rising

    @property
    def shape(self) -> str:
        """How throughput answers to load, in words."""
        return "; ".join(one.words for one in self.answers)


# -- neighbours ----------------------------------------------------------------------------------------------


def _without(cell: Cell, *names: str) -> tuple[object, ...]:
    rest = tuple(pair for pair in cell.options if pair[0] not in {*names, "ioengine"})
    return (cell.target, cell.sharing, cell.state, rest)


Plane = Mapping[tuple[int, int], Case]
"""Cases by jobs and depth, all else the same."""


def find_shapes(cases: Iterable[Case], fast_share: Mapping[Place, float]) -> None:
    """Enter what the neighbours of every case tell, along numjobs and iodepth, then along the block size."""
    planes: dict[tuple[object, ...], dict[tuple[int, int], Case]] = defaultdict(dict)
    everywhere: dict[Place, list[Case]] = defaultdict(list)
    for case in cases:
        cell = case.estimate.cell
        if cell.loop == "closed" and not hidden(case):
            planes[case.estimate.direction, *_without(cell, "numjobs", "iodepth")][cell.numjobs, cell.iodepth] = case
            everywhere[cell.target, case.estimate.direction].append(case)
    for plane in planes.values():
        for (jobs, depth), case in plane.items():
            _answers(case, plane, jobs, depth)
    patterns: dict[tuple[object, ...], dict[int, Plane]] = defaultdict(dict)
    for plane in planes.values():
        e = next(iter(plane.values())).estimate
        if "bssplit" not in e.cell.option:
            patterns[e.direction, *_without(e.cell, "numjobs", "iodepth", "bs")][e.cell.bs_bytes] = plane
    for sizes in patterns.values():
        _compare_sizes(sizes, fast_share)
    for members in everywhere.values():
        _enter_faster(members, "path", lambda case: case.rate)
        for case in members:
            if case.flat:
                case.plateau = _level(case, [one for one in members if one.flat])


def _level(case: Case, standing: Sequence[Case]) -> tuple[float, float]:
    """Mean and uncertainty of the rates that cannot be told from this one."""
    near = [one for one in standing if abs(math.log(one.rate / case.rate)) <= 2 * math.hypot(one.spread, case.spread)]
    weights = [one.spread**-2 for one in near]
    mean = sum(w * math.log(one.rate) for w, one in zip(weights, near, strict=True)) / sum(weights)
    return math.exp(mean), sum(weights) ** -0.5


def hidden(case: Case) -> bool:
    """Cells that do not tell of what lies behind a cache."""
    return case.cache is not None and bool(case.cache.word)


def _unsteady(estimate: Estimate) -> bool:
    return verdict_class(estimate.verdict) is VerdictClass.UNSTABLE and estimate.verdict not in WITHHELD


def _answers(case: Case, plane: Plane, jobs: int, depth: int) -> None:
    """How throughput answers to more load, along each of the two ways of adding it."""
    found = []
    for option, here, line in (
        ("iodepth", depth, {d: one for (j, d), one in plane.items() if j == jobs}),
        ("numjobs", jobs, {j: one for (j, d), one in plane.items() if d == depth}),
    ):
        above = min((n for n in line if n > here), default=None)
        below = max((n for n in line if n < here), default=None)
        if above is not None:
            answer = _answer(option, here, case, above, line[above], up=True)
            last = line[max(line)]
            if answer.exponent > FLAT and math.log(last.iops / case.iops) < GIVEN_BACK:
                case.given_back = True
            else:
                found.append(answer)
        elif below is not None:
            found.append(_answer(option, below, line[below], here, case, up=False))
    case.answers = tuple(found)


def _answer(option: str, fewer: int, low: Case, more: int, high: Case, *, up: bool) -> Answer:
    gain, steps = math.log(high.iops / low.iops), math.log(more / fewer)
    words = f"{more / fewer:.3g}× {_MORE[option]} gave {math.exp(gain):.2g}× the speed"
    return Answer(option, up, gain / steps, math.hypot(low.spread, high.spread) / steps, words)


# -- block sizes ---------------------------------------------------------------------------------------------


def _compare_sizes(sizes: Mapping[int, Plane], fast_share: Mapping[Place, float]) -> None:
    """Plateaus of the nearest block sizes, one I/O in flight, and what is faster among all of one pattern."""
    plateaus = {bs: best for bs, plane in sizes.items() if (best := _plateau(plane)) is not None}
    for bs, plane in sizes.items():
        single = plane.get((1, 1))
        steps = tuple(_steps(bs, plateaus)) if bs in plateaus else ()
        for case in plane.values():
            if bs in plateaus:
                case.of_plateau = case.rate / plateaus[bs].rate
            if case.bends:
                case.blocks = steps
            if single is not None:
                place = (single.estimate.cell.key, single.estimate.direction)
                case.single = Single(
                    math.log(single.iops / case.iops),
                    math.hypot(single.spread, case.spread) if single is not case else single.spread,
                    single.flat,
                    fast_share.get(place),
                    single.estimate.lat_mean_ns,
                )
    members = [case for plane in sizes.values() for case in plane.values()]
    _enter_faster(members, "bytes", lambda case: case.rate)
    _enter_faster(members, "ios", lambda case: case.iops)


def _steps(bs: int, plateaus: Mapping[int, Case]) -> Iterator[BlockStep]:
    case = plateaus[bs]
    for larger in (True, False):
        sizes = [size for size in plateaus if (size > bs if larger else size < bs)]
        if sizes:
            nearest = min(sizes) if larger else max(sizes)
            other, steps = plateaus[nearest], math.log(nearest / bs)
            exponent = math.log(other.rate / case.rate) / steps
            yield BlockStep(larger, exponent, math.hypot(case.spread, other.spread) / abs(steps), nearest)


def _plateau(plane: Plane) -> Case | None:
    """The fastest cell, unless throughput still grows there with the load."""
    best = max(plane.values(), key=lambda case: case.rate)
    return best if best.bends else None


def _enter_faster(members: Sequence[Case], name: str, value: Callable[[Case], float]) -> None:
    best = max(members, key=value)
    for case in members:
        ratio = math.log(value(best) / value(case))
        case.faster = {**case.faster, name: Faster(ratio, math.hypot(best.spread, case.spread))}
