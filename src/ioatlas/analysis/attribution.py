# SPDX-License-Identifier: Apache-2.0
"""What limits each cell, by evidence from ceilings, counters, cache verdicts and the shape of the map; 'undetermined' where these do not tell.

A resource is named when something shows that it is used up, and nothing else that is nearly used up could explain the same value:

- a cache verdict 'cached' names the cache that answered;
- a load with a rate of its own is limited by that rate as long as it is reached;
- a ceiling of the path (arithmetic or measured) that is reached by 90% or more;
- the client's processors, when fio's own threads or all cores are full;
- otherwise the shape: throughput that grows with the load is bound by latency; throughput that does not, while path and client have room, is bound
  by what lies behind them, and how it changes with the block size tells bytes (the same bytes a second), I/Os (the same I/Os a second) and a
  single queue (the same from one I/O in flight on, none of them fast) apart.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from ioatlas.analysis.cache import CacheReport, CacheVerdict
from ioatlas.analysis.ceilings import TOLERANCE, Ceiling
from ioatlas.analysis.wording import Namer, plural
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.limit import UNDETERMINED, Limit
from ioatlas.model.result import Finding
from ioatlas.model.units import format_count, format_latency, format_rate, format_size
from ioatlas.model.usage import Usage
from ioatlas.model.verdict import LOWER_BOUND_WORDS, WITHHELD_WORDS, verdict_class

METHOD = "attribution/1"
CeilingsOf = Callable[[Cell, str], Sequence[Ceiling]]
State = Literal["saturated", "per job", "rising", "bend", "alone"]
Place = tuple[str, str]
"""Cell key and direction."""

REACHED = 0.90
"""A ceiling is reached from this share on; below FAR it has room."""
FAR = 0.80
CLEAR = 0.05
"""The resource named leads the next one by this much, else both are named as possible."""
FLAT_GAIN = 1.10
"""More load that gives less than this much more gives no more."""
RISING = 0.7
"""Exponent of throughput over load from which it grows with the load: a doubling gives 1.6 times."""
SAME = 0.05
"""Two plateaus are the same rate within this."""
TIGHT, TIGHT_SPAN = 0.03, 4
"""I/Os a second that hold within TIGHT, or bytes a second within SAME, over block sizes that differ TIGHT_SPAN-fold, are a rule of the target, not the
work of a full processor."""
GENERATOR_FULL, GENERATOR_ROOM = 0.80, 0.60
CORES_FULL, CORES_ROOM = 0.95, 0.85
OWN_SHARE, SOFTIRQ_CORE = 0.2, 0.5
NOISY = 0.15
"""Half of an interval, over the value, from which a plateau is not compared with others."""
FAST_SHARE, NO_FAST_SHARE = 0.01, 0.001
"""I/Os that take less than half the mean: some of them show a limit by credit, none of them a queue that serves one at a time."""
DRIVE_BUSY = 0.95
EXCLUDED = 1.5
"""A path that carried this many times as much elsewhere on the map is not what limits here."""

LINKS = frozenset({"link", "network path"})


@dataclass(frozen=True)
class Seen:
    """What was seen beside the visits of one cell. generator: fio's CPU, share of a core for each job, by visit."""

    usages: tuple[Usage, ...] = ()
    generator: tuple[float, ...] = ()

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
    def generator_share(self) -> float | None:
        return median(self.generator) if self.generator else None

    def drive(self, names: Iterable[str]) -> tuple[str, float] | None:
        """The busiest of the drives and its utilisation."""
        found = []
        for name in names:
            shares = [usage.disks[name].utilisation for usage in self.usages if name in usage.disks]
            if shares:
                found.append((median(shares), name))
        return (max(found)[1], max(found)[0]) if found else None


@dataclass(frozen=True)
class PathView:
    """What is known of the way to a target. remote: it crosses a wire. drives: local devices at its end whose counters were read."""

    remote: bool = False
    drives: tuple[str, ...] = ()


@dataclass(frozen=True)
class AttributionReport:
    """Limits of a map, by cell and direction."""

    limits: Mapping[Place, Limit]
    method: str = METHOD

    @property
    def withheld(self) -> int:
        return sum(not limit.determined for limit in self.limits.values())

    def findings(self, estimates: Sequence[Estimate], fresh: Sequence[Estimate] = ()) -> tuple[Finding, ...]:
        """What limits the highest throughput of each direction, then how often each resource limits, and how often it could not be told."""
        known = [e for e in estimates if (e.cell.key, e.direction) in self.limits]
        if not known:
            return ()
        namer = Namer((e.cell for e in known), sorted({e.cell.target for e in known}))
        found = []
        named = {(e.cell.target, e.direction): e for e in sorted(fresh, key=lambda e: e.bw_bytes_per_s or 0.0)}
        for (target, direction), best in sorted(named.items()):
            limit = self.limits.get((best.cell.key, direction))
            if limit is None or not best.bw_bytes_per_s:
                continue
            head = f"Highest {direction} throughput{namer.on(target)}, {format_rate(best.bw_bytes_per_s)} ({namer.cell(best.cell)})"
            what = f"limited by {limit.sentence}" if limit.determined else f"what limits it is undetermined: {'; '.join(limit.evidence)}"
            title = f"What limits {direction}s{namer.on(target)}"
            found.append(Finding("limit" if limit.determined else UNDETERMINED, f"{head}: {what}.", (best.cell.key,), title=title))
        counts = Counter(limit.resource for limit in self.limits.values())
        told = ", ".join(f"{resource} {count:,}" for resource, count in counts.most_common() if resource != UNDETERMINED)
        total = len(self.limits)
        sentence = (
            f"What limits each of {plural(total, 'value')}: {told or 'nothing could be told'};"
            if told
            else f"What limits the {plural(total, 'value')}:"
        )
        sentence += f" withheld as undetermined for {self.withheld:,} ({self.withheld / total:.0%})."
        first: dict[str, str] = {}
        for (key, _), limit in self.limits.items():
            first.setdefault(limit.resource, key)
        found.append(Finding("limits", sentence, tuple(first.values())))
        return tuple(found)


@dataclass(frozen=True)
class _Candidate:
    resource: str
    share: float
    because: str
    full: bool = False
    tolerance: float = TOLERANCE


@dataclass
class _Case:
    """One cell and direction, with what is needed to judge it."""

    estimate: Estimate
    seen: Seen
    path: PathView
    ceilings: tuple[Ceiling, ...]
    cache: CacheVerdict | None
    state: State = "alone"
    shape: str = ""
    law: _Candidate | None = None
    tight: bool = False
    undecided: str = ""
    flat_from_one: bool = False
    others: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.estimate.bw_bytes_per_s or 0.0

    @property
    def iops(self) -> float:
        return self.estimate.iops or 0.0


def attribute(
    estimates: Iterable[Estimate],
    *,
    ceilings: CeilingsOf,
    caches: CacheReport,
    seen: Mapping[str, Seen],
    paths: Mapping[str, PathView],
    fast_share: Mapping[Place, float] | None = None,
) -> AttributionReport:
    """The limit of every measured value.

    seen:       what was seen beside a cell's visits, by cell key. paths: by target.
    fast_share: share of the I/Os that took less than half the mean, by cell and direction.
    """
    cases: dict[Place, _Case] = {}
    for e in estimates:
        if e.kind != "measured" or not e.bw_bytes_per_s or not e.iops or e.verdict == "discarded":
            continue
        place = (e.cell.key, e.direction)
        path = paths.get(e.cell.target, PathView())
        bounds = tuple(ceilings(e.cell, e.direction))
        cases[place] = _Case(e, seen.get(e.cell.key, Seen()), path, bounds, caches.verdicts.get(place))
    fastest: dict[tuple[str, str], float] = defaultdict(float)
    for case in cases.values():
        if case.cache is None or not case.cache.word:
            group = (case.estimate.cell.target, case.estimate.direction)
            fastest[group] = max(fastest[group], case.rate)
    _shapes(cases, fast_share or {})
    limits = {}
    for place, case in cases.items():
        limits[place] = _limit(case, fastest[case.estimate.cell.target, case.estimate.direction])
    return AttributionReport(limits)


# -- the shape of the map -----------------------------------------------------------------------------------------------------


def _without(cell: Cell, *names: str) -> tuple[object, ...]:
    rest = tuple(pair for pair in cell.options if pair[0] not in {*names, "ioengine"})
    return (cell.target, cell.sharing, cell.state, rest)


def _shapes(cases: Mapping[Place, _Case], fast_share: Mapping[Place, float]) -> None:
    """Enter state and law of every case, from its neighbours along numjobs and iodepth, and then along the block size."""
    planes: dict[tuple[object, ...], dict[tuple[int, int], _Case]] = defaultdict(dict)
    for case in cases.values():
        cell = case.estimate.cell
        if cell.loop == "closed" and not _hidden(case):
            planes[case.estimate.direction, *_without(cell, "numjobs", "iodepth")][cell.numjobs, cell.iodepth] = case
    for plane in planes.values():
        for (jobs, depth), case in plane.items():
            _state(case, plane, jobs, depth)
    by_size: dict[tuple[object, ...], dict[int, dict[tuple[int, int], _Case]]] = defaultdict(dict)
    for plane in planes.values():
        cell = next(iter(plane.values())).estimate.cell
        if "bssplit" not in cell.option:
            direction = next(iter(plane.values())).estimate.direction
            by_size[direction, *_without(cell, "numjobs", "iodepth", "bs")][cell.bs_bytes] = plane
    for sizes in by_size.values():
        for bs_bytes, plane in sizes.items():
            for case in plane.values():
                if case.state == "saturated":
                    _law(case, bs_bytes, sizes, plane, fast_share)


def _hidden(case: _Case) -> bool:
    """Cells that do not tell of what lies behind a cache, or were not steady enough to be compared."""
    word = case.estimate.verdict
    return (case.cache is not None and bool(case.cache.word)) or (verdict_class(word) == "unstable" and word not in WITHHELD_WORDS)


def _state(case: _Case, plane: Mapping[tuple[int, int], _Case], jobs: int, depth: int) -> None:
    """How throughput answers to more load, along each of the two ways of adding it."""
    ways = {}
    for name, line in (
        ("iodepth", {d: one for (j, d), one in plane.items() if j == jobs}),
        ("numjobs", {j: one for (j, d), one in plane.items() if d == depth}),
    ):
        here = depth if name == "iodepth" else jobs
        above, below = min((n for n in line if n > here), default=None), max((n for n in line if n < here), default=None)
        if above is not None:
            word, text = _answer(here, case.estimate, above, line[above].estimate, last=False)
            if word == "rising" and line[max(line)].iops < FLAT_GAIN * case.iops:
                word = "bend"  # more still gives it back: a credit that was used up, or a disturbance
            ways[name] = (word, text)
        elif below is not None:
            ways[name] = _answer(below, line[below].estimate, here, case.estimate, last=True)
    words = {name: word for name, (word, _) in ways.items()}
    case.shape = "; ".join(f"{text} along {name}" for name, (_, text) in ways.items())
    kinds = set(words.values())
    if not kinds:
        case.state = "alone"
    elif words.get("iodepth") == "flat" and words.get("numjobs") == "rising":
        case.state = "per job"
    elif kinds == {"flat"}:
        case.state = "saturated"
    elif kinds == {"rising"}:
        case.state = "rising"
    else:
        case.state = "bend"


def _answer(fewer: int, low: Estimate, more: int, high: Estimate, *, last: bool) -> tuple[str, str]:
    """('flat', 'rising' or 'bend', in words): what `more` load gives over `fewer`. last: the step that led to the cell, none beyond was measured.

    Where there are intervals, growth must be clear of them.
    """
    gain = (high.iops or 0.0) / (low.iops or 1.0)
    text = f"{more / fewer:.3g} times the load gives {gain:.3g} times the throughput"
    if gain <= FLAT_GAIN:
        return "flat", text
    steps = math.log(more / fewer)
    surely = (high.iops_low or high.iops or 0.0) / (low.iops_high or low.iops or 1.0)
    # The step that led here may have ended at a limit just now: it must have been in full proportion.
    rising = math.log(gain) / steps >= (0.9 if last else RISING) and surely > 1 and math.log(surely) / steps >= RISING / 2
    return ("rising" if rising else "bend"), text


def _law(
    case: _Case,
    bs_bytes: int,
    sizes: Mapping[int, Mapping[tuple[int, int], _Case]],
    plane: Mapping[tuple[int, int], _Case],
    fast_share: Mapping[Place, float],
) -> None:
    """Bytes or I/Os a second, from the plateaus of other block sizes; and whether it is one queue."""
    plateaus = {size: best for size, other in sizes.items() if (best := _plateau(other)) is not None}
    here = plateaus.get(bs_bytes, case)
    if _noise(case.estimate) > NOISY or _noise(here.estimate) > NOISY:
        case.undecided = f"the values vary too much to be compared (±{max(_noise(case.estimate), _noise(here.estimate)):.0%})"
        return
    case.flat_from_one = (single := plane.get((1, 1))) is not None and single.state == "saturated"
    same_rate = [s for s, one in plateaus.items() if s != bs_bytes and abs(math.log(one.rate / here.rate)) <= SAME]
    same_iops = [s for s, one in plateaus.items() if s != bs_bytes and abs(math.log(one.iops / here.iops)) <= SAME]
    if same_rate and same_iops:
        case.undecided = "both limits of bytes and of I/Os meet at this block size"
        return
    if same_rate:
        span, worst = _held(bs_bytes, same_rate, lambda s: plateaus[s].rate / here.rate)
        case.tight = span >= TIGHT_SPAN and worst <= SAME
        sizes_text = _sizes_text((bs_bytes, *same_rate))
        case.law = _Candidate(
            _behind_name(case, "bandwidth"),
            case.rate / here.rate,
            f"{format_rate(here.rate)} at most with blocks of {sizes_text} alike, whatever the load",
        )
        return
    others = [one for s, one in plateaus.items() if s != bs_bytes]
    if _queue_or_rate(case, plane, here, others, fast_share, same_iops=bool(same_iops)):
        return
    if same_iops:
        span, worst = _held(bs_bytes, same_iops, lambda s: plateaus[s].iops / here.iops)
        case.tight = span >= TIGHT_SPAN and worst <= TIGHT
        sizes_text = _sizes_text((bs_bytes, *same_iops))
        case.law = _Candidate(
            _behind_name(case, "IOPS"),
            case.iops / here.iops,
            f"{format_count(here.iops)} I/Os a second at most with blocks of {sizes_text} alike, whatever the load",
        )
        return
    case.undecided = (
        "no other block size reaches a plateau to compare with"
        if not others
        else "neither bytes nor I/Os a second are the same at other block sizes"
    )


def _queue_or_rate(
    case: _Case,
    plane: Mapping[tuple[int, int], _Case],
    here: _Case,
    others: Sequence[_Case],
    fast_share: Mapping[Place, float],
    *,
    same_iops: bool,
) -> bool:
    """Whether it is one queue, or cannot be told from a limit on I/Os; True when that settles the case.

    A queue that serves one I/O at a time gives as much with one in flight as with many, and makes every I/O wait; a limit by credit lets some through
    at once. Fixed cost and transfer follow each other in a queue, so that the rate in bytes differs with the block size.
    """
    single = plane.get((1, 1))
    if single is not None and single.iops < REACHED * here.iops:
        return False
    flat = [one.estimate for one in plane.values() if one.state == "saturated"]
    fast = max((fast_share[e.cell.key, e.direction] for e in flat if (e.cell.key, e.direction) in fast_share), default=None)
    if fast is not None and fast >= FAST_SHARE:
        return False
    differs = any(abs(math.log(one.rate / here.rate)) > math.log(EXCLUDED) for one in others)
    if case.flat_from_one and single is not None and differs and fast is not None and fast <= NO_FAST_SHARE:
        latency = single.estimate.lat_mean_ns
        text = (
            f"one I/O in flight already gives {single.iops / here.iops:.0%} of it, and hardly any of its I/Os is faster than half the mean"
        )
        case.law = _Candidate("single queue", case.rate / here.rate, text + (f" ({format_latency(latency)} each)" if latency else ""))
        case.tight = True
        return True
    if same_iops:
        known = "the same I/Os a second from one in flight on" if single is not None else "one I/O in flight was not measured"
        case.undecided = f"{known}: a limit on I/Os and a single queue look alike here"
        return True
    return False


def _behind_name(case: _Case, what: str) -> str:
    """'drive' where local drives are at the end of the path; behind a server it may be its drives, its own network or a limit set there: 'target'."""
    return f"{'drive' if case.path.drives else 'target'} {what}"


def _noise(estimate: Estimate) -> float:
    """Half of the interval over the value; 0 where there is none."""
    if estimate.bw_low is None or estimate.bw_high is None or not estimate.bw_bytes_per_s:
        return 0.0
    return (estimate.bw_high - estimate.bw_low) / 2 / estimate.bw_bytes_per_s


def _held(bs_bytes: int, same: Sequence[int], ratio: Callable[[int], float]) -> tuple[float, float]:
    """Span of the block sizes over which a rate is the same, and how well it holds."""
    return max((*same, bs_bytes)) / min((*same, bs_bytes)), max(abs(math.log(ratio(s))) for s in same)


def _sizes_text(sizes: Iterable[int]) -> str:
    return " and ".join([", ".join(map(format_size, sorted(sizes)[:-1])), format_size(max(sizes))])


def _plateau(plane: Mapping[tuple[int, int], _Case]) -> _Case | None:
    """The fastest of the saturated cells."""
    flat = [case for case in plane.values() if case.state == "saturated"]
    return max(flat, key=lambda case: case.rate) if flat else None


# -- from evidence to a name ----------------------------------------------------------------------------------------------------


def _limit(case: _Case, fastest: float) -> Limit:
    bounds = list(_bounds(case))
    cpu = _processor(case)
    if case.cache is not None and case.cache.word == "cached":
        return _cached(case, case.cache, bounds)
    if case.cache is not None and case.cache.word == "suspect":
        return Limit(evidence=(f"a cache may have answered: {case.cache.evidence[0].sentence}",))
    if (configured := _configured(case)) is not None:
        return _with_next(configured, [*bounds, *([cpu] if cpu else [])])
    over = [one for one in bounds if one.share > one.tolerance]
    if over:
        return Limit(evidence=(f"{over[0].because}: above a ceiling, so the ceiling or the value is not what it seems",))
    reached = [one for one in bounds if one.share >= REACHED]
    full = cpu is not None and cpu.full and not case.tight
    if reached and case.state != "rising":
        [first, *rest] = reached
        rivals = [one for one in rest if first.share - one.share < CLEAR and _family(one) != _family(first)]
        if full and cpu is not None and cpu.share - first.share > -CLEAR:
            rivals.append(cpu)
        if rivals:
            return Limit(evidence=(f"{first.because}, and {rivals[0].because}: either may be the limit",))
        return _with_next(first, [*bounds, *([cpu] if cpu else [])], case.shape)
    if full and cpu is not None and case.state != "rising":
        return _with_next(cpu, bounds, case.shape)
    if case.state == "rising":
        if case.estimate.verdict in LOWER_BOUND_WORDS:
            return _with_next(cpu or _Candidate("client CPU", 1.0, "the load generator did not keep its I/Os in flight", full=True), bounds)
        latency = case.estimate.lat_mean_ns
        text = f"{case.shape}" + (f"; each I/O takes {format_latency(latency)}" if latency else "")
        best = max(bounds, key=lambda one: one.share, default=None)
        return Limit("latency", None, best.resource if best else "", best.share if best else None, (text,))
    return _behind(case, bounds, cpu, fastest)


def _behind(case: _Case, bounds: Sequence[_Candidate], cpu: _Candidate | None, fastest: float) -> Limit:
    """What lies behind path and client, once these are known to have room."""
    if case.state == "alone":
        return Limit(evidence=(_alone(case),))
    if case.state == "bend":
        return Limit(evidence=(f"between latency and saturation: {case.shape}",))
    near = [one for one in bounds if one.share >= FAR and not (case.tight and one.share < REACHED)]
    if near:
        return Limit(evidence=(f"{near[0].because}: too near to be ruled out, too far to be the limit",))
    if not case.tight:
        if cpu is None:
            return Limit(evidence=("the client's processors were not watched: they cannot be ruled out",))
        if cpu.share > GENERATOR_ROOM and cpu.resource == "client CPU" and not _room(case):
            return Limit(evidence=(f"{cpu.because}: too busy to be ruled out",))
    if case.path.remote and not any(one.resource in LINKS for one in bounds) and fastest < EXCLUDED * case.rate:
        return Limit(
            evidence=(
                "the link's speed is not known, and nothing else on this path was clearly faster: type it in, or name a host with iperf3",
            )
        )
    drive = case.seen.drive(case.path.drives)
    others = [*bounds, *([cpu] if cpu else [])]
    if case.state == "per job":
        return _with_next(_Candidate("connection queue", 1.0, case.shape), others)
    if case.law is not None:
        law = case.law
        if drive is not None:
            law = _Candidate(law.resource, law.share, f"{law.because}; {drive[0]} was busy {drive[1]:.0%} of the time")
        return _with_next(law, others, case.shape)
    if drive is not None and drive[1] >= DRIVE_BUSY:
        text = f"{drive[0]} was busy {drive[1]:.0%} of the time, and more load gives no more; {case.undecided}"
        return _with_next(_Candidate("drive", drive[1], text), others, case.shape)
    return Limit(evidence=(f"saturated behind path and client ({case.shape}), but {case.undecided or 'the shape does not tell what'}",))


def _alone(case: _Case) -> str:
    word = case.estimate.verdict
    if verdict_class(word) == "unstable" and word not in WITHHELD_WORDS:
        return f"its values are {word}, and no ceiling is reached"
    return "no other load was measured beside this one, and no ceiling is reached"


def _bounds(case: _Case) -> Iterator[_Candidate]:
    """Ceilings of path and client beside the value, nearest first. Those of the drive count as drive bandwidth."""
    found = []
    for one in case.ceilings:
        share = one.share(case.rate, case.iops if one.bw_bytes_per_s is None else None)
        if share is None:
            continue
        bound = format_rate(one.bw_bytes_per_s) if one.bw_bytes_per_s else f"{format_count(one.iops or 0)} IOPS"
        resource = {"drive": "drive bandwidth", "network path": "link", "client": "client CPU"}.get(one.resource, one.resource)
        found.append(_Candidate(resource, share, f"{share:.1%} of the {one.name} ({bound}, {one.kind})", tolerance=one.tolerance))
    yield from sorted(found, key=lambda one: -one.share)


def _family(one: _Candidate) -> str:
    return "link" if one.resource in LINKS else one.resource


def _processor(case: _Case) -> _Candidate | None:
    """How full the client's processors were; None where nothing watched them."""
    seen = case.seen
    generator, cores = seen.generator_share, seen.cores
    limited = case.estimate.verdict in LOWER_BOUND_WORDS
    found: list[_Candidate] = []
    if limited or generator is not None:
        share = max(generator or 0.0, GENERATOR_FULL if limited else 0.0)
        text = f"each of fio's jobs takes {generator or share:.0%} of a core"
        found.append(_Candidate("client CPU", min(1.0, share), text, full=share >= GENERATOR_FULL))
    if cores is not None:
        own = min(1.0, (generator or 0.0) * case.estimate.cell.numjobs / max(1, seen.n_cores))
        text = f"the client's {seen.n_cores} cores are {cores:.0%} busy, fio's own share {own:.0%}"
        # Full of others' work: too busy to be ruled out, but nothing says that it is what limits this load.
        found.append(_Candidate("client CPU", cores, text, full=cores >= CORES_FULL and own >= OWN_SHARE))
        if seen.busiest is not None and seen.busiest >= CORES_FULL and seen.softirq_cores >= SOFTIRQ_CORE:
            text = f"one core is {seen.busiest:.0%} busy, {seen.softirq_cores:.2g} cores' worth of it with network interrupts"
            found.append(_Candidate("client CPU", seen.busiest, text, full=True))
    return max(found, key=lambda one: (one.full, one.share)) if found else None


def _room(case: _Case) -> bool:
    cores, generator = case.seen.cores, case.seen.generator_share
    return cores is not None and cores < CORES_ROOM and (generator is None or generator < GENERATOR_ROOM)


def _configured(case: _Case) -> _Candidate | None:
    """The load's own rate, when it is carried."""
    option, cell = case.estimate.cell.option, case.estimate.cell
    if option.get("thinktime"):
        return _Candidate("configured rate", 1.0, f"the load waits {option['thinktime']} us of its own between I/Os")
    for name, value in (("rate_iops", case.iops), ("rate", case.rate)):
        if not option.get(name):
            continue
        rates = [float(part) for part in str(option[name]).split(",") if part]
        index = ("read", "write", "trim").index(case.estimate.direction)
        offered = rates[min(index, len(rates) - 1)] * cell.numjobs
        if value >= 0.97 * offered:
            return _Candidate(
                "configured rate",
                min(1.0, value / offered),
                f"the load asks for {name} {option[name]} a job and gets {value / offered:.0%} of it",
            )
    return None


def _cached(case: _Case, verdict: CacheVerdict, bounds: Sequence[_Candidate]) -> Limit:
    """Which cache answered: the client's, when the bytes did not pass the path; the server's, when a cliff shows one behind a path without a cache."""
    kinds = {one.kind for one in verdict.evidence if one.strength == "proof"}
    cell = case.estimate.cell
    text = verdict.evidence[0].sentence
    user_space = str(cell.option.get("ioengine", "")) in {"nbd", "rbd", "gfapi", "gfapi_async", "libiscsi", "http", "libhdfs"}
    before_the_path = kinds & {"counters", "round trip", "ceiling"}
    if before_the_path and not user_space:
        return _with_next(_Candidate("client page cache", 1.0, text), bounds)
    if "footprint" in kinds and (user_space or (case.path.remote and cell.integer("direct", 0) == 1)):
        return _with_next(_Candidate("server cache", 1.0, text), bounds)
    return Limit(evidence=(f"a cache answered ({text}), but not which one",))


def _with_next(named: _Candidate, others: Iterable[_Candidate], shape: str = "") -> Limit:
    rest = [one for one in others if _family(one) != _family(named)]
    following = max(rest, key=lambda one: one.share, default=None)
    evidence = (named.because, *([shape] if shape else []))
    return Limit(named.resource, named.share, following.resource if following else "", following.share if following else None, evidence)
