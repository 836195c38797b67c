# SPDX-License-Identifier: Apache-2.0
"""What limits each cell, by evidence from ceilings, counters, cache verdicts and the shape of the map;
'undetermined' where these do not tell.

A resource is named when something shows that it is used up, and nothing else that is nearly used up could explain
the same value:

- a cache verdict 'cached' names the cache that answered;
- a load with a rate of its own is limited by that rate as long as it is reached;
- a ceiling of the path (arithmetic or measured) that is reached by 90% or more;
- the client's processors, when fio's own threads or all cores are full, or when they have no room and a target in
memory gives no more on this path;
- otherwise the shape: throughput that grows with the load is bound by latency; throughput that does not, while path
and client have room, is bound
  by what lies behind them, and how it changes with the block size tells bytes (the same bytes a second), I/Os (the
  same I/Os a second) and a single queue (the same from one I/O in flight on, none of them fast) apart.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from ioatlas.analysis.best import best_of, groups, speed, with_fresh
from ioatlas.analysis.cache import CacheReport, CacheVerdict
from ioatlas.analysis.ceilings import Ceiling
from ioatlas.analysis.shape import EXCLUDED, REACHED, Candidate, Case, PathView, Place, Seen, find_shapes
from ioatlas.analysis.wording import Namer, plural
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.limit import UNDETERMINED, Limit
from ioatlas.model.units import format_count, format_latency, format_rate
from ioatlas.model.verdict import LOWER_BOUND, WITHHELD, VerdictClass, VerdictCode, verdict_class

METHOD = "attribution/1"
CeilingsOf = Callable[[Cell, str], Sequence[Ceiling]]
FAR = 0.80
CLEAR = 0.05
"""The resource named leads the next one by this much, else both are named as possible."""
GENERATOR_FULL, GENERATOR_ROOM = 0.80, 0.60
CORES_FULL, CORES_ROOM = 0.95, 0.85
UNHINDERED = 0.1
"""Share of the time that fio waits for a processor up to which others' work does not hold it back."""
OWN_SHARE, SOFTIRQ_CORE = 0.2, 0.5
DRIVE_BUSY = 0.95
FAR_BELOW = 0.1
BEYOND_MEMORY = 1.5
"""A value this many times as fast as the path to memory took another one: the comparison says nothing."""
LINKS = frozenset({"link", "network path"})


@dataclass(frozen=True)
class AttributionReport:
    """Limits of a map, by cell and direction."""

    limits: Mapping[Place, Limit]
    method: str = METHOD

    @property
    def withheld(self) -> int:
        return sum(not limit.determined for limit in self.limits.values())

    def findings(self, estimates: Sequence[Estimate], fresh: Sequence[Estimate] = ()) -> tuple[Finding, ...]:
        """What limits the highest throughput of each direction, then how often each resource limits, and how often
        it could not be told.
        """
        known = [e for e in estimates if (e.cell.key, e.direction) in self.limits]
        if not known:
            return ()
        namer = Namer((e.cell for e in known), sorted({e.cell.target for e in known}))
        found = []
        merged = with_fresh(known, fresh)
        limits = {(e.cell.key, e.direction): e.limit or self.limits[e.cell.key, e.direction] for e in merged}
        for (target, direction), members in groups(merged).items():
            named = best_of(members)
            if named is None:
                continue
            best = named.peak
            limit = limits[best.cell.key, direction]
            what = f"Best {direction}{namer.on(target)}, {format_rate(speed(best))}, {namer.short(best.cell)}"
            found.append(
                Finding(
                    FindingCode.LIMIT if limit.determined else FindingCode.UNDETERMINED,
                    f"{what}: {_limited(limit)}",
                    (best.cell.key,),
                    title=f"What limits {direction}s{namer.on(target)}",
                    target=target,
                    direction=direction,
                )
            )
        counts = Counter(limit.resource for limit in limits.values())
        parts = [f"{name} {count:,}" for name, count in counts.most_common() if name != UNDETERMINED]
        parts += [f"unclear {counts[UNDETERMINED]:,}"] if counts[UNDETERMINED] else []
        sentence = f"Bottleneck of {plural(len(limits), 'value')}: {', '.join(parts)}."
        first: dict[str, str] = {}
        for (key, _), limit in limits.items():
            first.setdefault(limit.resource, key)
        found.append(Finding(FindingCode.LIMITS, sentence, tuple(first.values())))
        return tuple(found)


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
    cases: dict[Place, Case] = {}
    for e in estimates:
        if e.kind != "measured" or not e.bw_bytes_per_s or not e.iops or e.verdict is VerdictCode.DISCARDED:
            continue
        place = (e.cell.key, e.direction)
        path = paths.get(e.cell.target, PathView())
        bounds = tuple(ceilings(e.cell, e.direction))
        cases[place] = Case(e, seen.get(e.cell.key, Seen()), path, bounds, caches.verdicts.get(place))
    fastest: dict[tuple[str, str], float] = defaultdict(float)
    for case in cases.values():
        if case.cache is None or not case.cache.word:
            group = (case.estimate.cell.target, case.estimate.direction)
            fastest[group] = max(fastest[group], case.rate)
    find_shapes(cases, fast_share or {})
    limits = {}
    for place, case in cases.items():
        limit = _limit(case, fastest[case.estimate.cell.target, case.estimate.direction])
        if not limit.determined and case.estimate.verdict in LOWER_BOUND:
            # The generator itself says so, whatever else might be one.
            limit = Limit("client CPU", None, evidence=("the load generator did not keep its I/Os in flight",))
        limits[place] = limit
    return AttributionReport(limits)


def _limited(limit: Limit) -> str:
    """What limits it, what comes next, and the evidence, as short sentences."""
    evidence = "; ".join(limit.evidence)
    if not limit.determined:
        return f"bottleneck unclear: {evidence}."
    used = f", {limit.share:.0%} used" if limit.share is not None else ""
    sentence = f"limited by {limit.resource}{used}."
    if limit.next_resource and limit.next_share is not None:
        as_well = limit.share is not None and limit.next_share >= limit.share
        sentence += f" {limit.next_resource[:1].upper()}{limit.next_resource[1:]} is "
        sentence += f"{limit.next_share:.0%} used as well." if as_well else f"next, {limit.next_share:.0%} used."
    return f"{sentence} Evidence: {evidence}." if evidence else sentence


# -- from evidence to a name ---------------------------------------------------------------------------------


def _limit(case: Case, fastest: float) -> Limit:
    bounds = list(_bounds(case))
    cpu = _processor(case)
    if case.law is not None and case.law.resource == "single queue":
        # A client that copies one block at a time is a single queue too, unless each I/O takes far longer than the
        # path's own work.
        case.tight = any(_compared(one) and one.share <= FAR_BELOW for one in bounds)
    memory = next((one for one in bounds if _compared(one) and one.share >= FAR), None) if not case.tight else None
    known = _known_limit(case, bounds, cpu)
    if known is not None:
        return known
    over = [one for one in bounds if one.share > one.tolerance]
    if over:
        return Limit(evidence=(f"{over[0].because}: above a ceiling, so the ceiling or the value is wrong",))
    reached = [one for one in bounds if one.share >= REACHED and not _compared(one)]
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
        if memory is not None:
            cpu = replace(cpu, because=f"{cpu.because}; {memory.because}")
        return _with_next(cpu, bounds, case.shape)
    if memory is not None and memory.share >= REACHED and case.state != "rising" and _strained(case):
        return _with_next(replace(memory, because=f"as fast as memory: {memory.because}"), bounds, case.shape)
    if case.state == "rising":
        if case.estimate.verdict in LOWER_BOUND:
            return _with_next(
                cpu or Candidate("client CPU", 1.0, "the load generator did not keep its I/Os in flight", full=True),
                bounds,
            )
        latency = case.estimate.lat_mean_ns
        text = f"{case.shape}" + (f"; each I/O takes {format_latency(latency)}" if latency else "")
        best = max(bounds, key=lambda one: one.share, default=None)
        return Limit("latency", None, best.resource if best else "", best.share if best else None, (text,))
    return _behind(case, bounds, cpu, fastest)


def _known_limit(case: Case, bounds: Sequence[Candidate], cpu: Candidate | None) -> Limit | None:
    """A limit that no share of a ceiling has to show: a cache that answered, or a limit that was configured."""
    if case.cache is not None and case.cache.word == "cached":
        return _cached(case, case.cache, bounds)
    if case.cache is not None and case.cache.word == "suspect":
        return Limit(evidence=(f"a cache may have answered: {case.cache.evidence[0].sentence}",))
    configured = _configured(case)
    return None if configured is None else _with_next(configured, [*bounds, *([cpu] if cpu else [])])


def _behind(case: Case, bounds: Sequence[Candidate], cpu: Candidate | None, fastest: float) -> Limit:
    """What lies behind path and client, once these are known to have room."""
    if case.state == "alone":
        return Limit(evidence=(_alone(case),))
    if case.state == "bend":
        return Limit(evidence=(f"{case.shape}; test more of them",))
    near = [one for one in bounds if one.share >= FAR and not (_compared(one) and case.tight)]
    if near:
        why = "target and client cannot be told apart" if _compared(near[0]) else "near a limit, but not at it"
        return Limit(evidence=(f"{near[0].because}: {why}",))
    if not case.tight:
        if cpu is None:
            return Limit(evidence=("the client's CPU was not watched, so it may be the limit",))
        if cpu.share > GENERATOR_ROOM and cpu.resource == "client CPU" and not _room(case):
            return Limit(evidence=(f"{cpu.because}, so it may be the limit",))
    if case.path.remote and not any(one.resource in LINKS for one in bounds) and fastest < EXCLUDED * case.rate:
        return Limit(evidence=("the link's speed is not known: type it into testbed.toml, or measure it with --iperf",))
    drive = case.seen.drive(case.path.drives)
    others = [*bounds, *([cpu] if cpu else [])]
    if case.state == "per job":
        return _with_next(Candidate("connection queue", 1.0, case.shape), others)
    if case.law is not None:
        law = case.law
        if drive is not None:
            law = Candidate(law.resource, law.share, f"{law.because}; {drive[0]} was busy {drive[1]:.0%} of the time")
        return _with_next(law, others, case.shape)
    if drive is not None and drive[1] >= DRIVE_BUSY:
        text = f"{drive[0]} was busy {drive[1]:.0%} of the time, and more load gave no more; {case.undecided}"
        return _with_next(Candidate("drive", drive[1], text), others, case.shape)
    return Limit(
        evidence=(f"the target is at its limit ({case.shape}), but {case.undecided or 'nothing tells which one'}",)
    )


def _alone(case: Case) -> str:
    word = case.estimate.verdict
    if verdict_class(word) is VerdictClass.UNSTABLE and word not in WITHHELD:
        return f"its values are {word}, and no ceiling is reached"
    return "no other load was measured to compare with; test more jobs"


def _bounds(case: Case) -> Iterator[Candidate]:
    """Ceilings of path and client beside the value, nearest first. Those of the drive count as drive bandwidth."""
    found = []
    for one in case.ceilings:
        share = one.share(case.rate, case.iops if one.bw_bytes_per_s is None else None)
        if share is None or (one.resource == "stack" and share > BEYOND_MEMORY):
            continue
        bound = format_rate(one.bw_bytes_per_s) if one.bw_bytes_per_s else f"{format_count(one.iops or 0)} IOPS"
        resource = {
            "drive": "drive bandwidth",
            "network path": "link",
            "client": "client CPU",
            "stack": "client CPU",
        }.get(one.resource, one.resource)
        found.append(
            Candidate(resource, share, f"{share:.1%} of the {one.name} ({bound}, {one.kind})", tolerance=one.tolerance)
        )
    yield from sorted(found, key=lambda one: -one.share)


def _compared(one: Candidate) -> bool:
    """Whether it is a target in memory, which is compared with, rather than a bound: it names nothing while the
    processors have room.
    """
    return one.tolerance == math.inf


def _family(one: Candidate) -> str:
    return "link" if one.resource in LINKS else one.resource


def _processor(case: Case) -> Candidate | None:
    """How full the client's processors were; None where nothing watched them."""
    seen = case.seen
    generator, cores = seen.generator_share, seen.cores
    limited = case.estimate.verdict in LOWER_BOUND
    found: list[Candidate] = []
    if limited or generator is not None:
        share = max(generator or 0.0, GENERATOR_FULL if limited else 0.0)
        text = f"each of fio's jobs takes {generator or share:.0%} of a core"
        found.append(Candidate("client CPU", min(1.0, share), text, full=share >= GENERATOR_FULL))
    if cores is not None:
        own = min(1.0, (generator or 0.0) * case.estimate.cell.numjobs / max(1, seen.n_cores))
        text = f"the client's {seen.n_cores} cores are {cores:.0%} busy, fio's own share {own:.0%}"
        # Full of others' work: too busy to be ruled out, but nothing says that it is what limits this load.
        found.append(Candidate("client CPU", cores, text, full=cores >= CORES_FULL and own >= OWN_SHARE))
        if seen.busiest is not None and seen.busiest >= CORES_FULL and seen.softirq_cores >= SOFTIRQ_CORE:
            text = (
                f"one core is {seen.busiest:.0%} busy, {seen.softirq_cores:.2g} cores' worth of it with network "
                "interrupts"
            )
            found.append(Candidate("client CPU", seen.busiest, text, full=True))
    return max(found, key=lambda one: (one.full, one.share)) if found else None


def _room(case: Case) -> bool:
    """Whether the client's processors can be ruled out: they have room, or others' work does not keep fio from
    running when it wants to.
    """
    cores, generator, waiting = case.seen.cores, case.seen.generator_share, case.seen.waiting
    if (
        waiting
        and median(waiting) <= UNHINDERED
        and generator is not None
        and generator + median(waiting) < GENERATOR_ROOM
    ):
        return True
    return cores is not None and cores < CORES_ROOM and (generator is None or generator < GENERATOR_ROOM)


def _strained(case: Case) -> bool:
    """Whether fio itself, not others' work, leaves the client's processors without room."""
    cores, generator = case.seen.cores, case.seen.generator_share
    if generator is None or cores is None:
        return False
    own = generator * case.estimate.cell.numjobs / max(1, case.seen.n_cores)
    return generator >= GENERATOR_ROOM or (cores >= CORES_ROOM and own >= OWN_SHARE)


def _configured(case: Case) -> Candidate | None:
    """The load's own rate, when it is carried."""
    option, cell = case.estimate.cell.option, case.estimate.cell
    if option.get("thinktime"):
        return Candidate("configured rate", 1.0, f"the load waits {option['thinktime']} us of its own between I/Os")
    for name, value in (("rate_iops", case.iops), ("rate", case.rate)):
        if not option.get(name):
            continue
        rates = [float(part) for part in str(option[name]).split(",") if part]
        index = ("read", "write", "trim").index(case.estimate.direction)
        offered = rates[min(index, len(rates) - 1)] * cell.numjobs
        if value >= 0.97 * offered:
            return Candidate(
                "configured rate",
                min(1.0, value / offered),
                f"the load asks for {name} {option[name]} a job and gets {value / offered:.0%} of it",
            )
    return None


def _cached(case: Case, verdict: CacheVerdict, bounds: Sequence[Candidate]) -> Limit:
    """Which cache answered: the client's, when the bytes did not pass the path; the server's, when a cliff shows
    one behind a path without a cache.
    """
    kinds = {one.kind for one in verdict.evidence if one.strength == "proof"}
    cell = case.estimate.cell
    text = verdict.evidence[0].sentence
    user_space = str(cell.option.get("ioengine", "")) in {
        "nbd",
        "rbd",
        "gfapi",
        "gfapi_async",
        "libiscsi",
        "http",
        "libhdfs",
    }
    before_the_path = kinds & {"counters", "round trip", "ceiling"}
    if before_the_path and not user_space:
        return _with_next(Candidate("client page cache", 1.0, text), bounds)
    if "footprint" in kinds and (user_space or (case.path.remote and cell.integer("direct", 0) == 1)):
        return _with_next(Candidate("server cache", 1.0, text), bounds)
    return Limit(evidence=(f"a cache answered ({text}), but not which one",))


def _with_next(named: Candidate, others: Iterable[Candidate], shape: str = "") -> Limit:
    rest = [one for one in others if _family(one) != _family(named)]
    following = max(rest, key=lambda one: one.share, default=None)
    evidence = (named.because, *([shape] if shape else []))
    return Limit(
        named.resource,
        named.share,
        following.resource if following else "",
        following.share if following else None,
        evidence,
    )
