# SPDX-License-Identifier: Apache-2.0
"""What limits each cell. Known apart from how fast the target is: a cache that answered, a rate that the load asks for,
a client without room. All else is told by the law of the target; where none tells it, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ioatlas.answer.analysis.best import CLIENT, SAID, best_of, groups, speed
from ioatlas.answer.analysis.cache import CacheReport, CacheVerdict
from ioatlas.answer.analysis.ceilings import LIMITED, Ceiling, CeilingsOf
from ioatlas.answer.analysis.wording import Namer
from ioatlas.model.estimate import Estimate, Limit
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.testbed import CpuShares, Usage
from ioatlas.model.units import format_rate
from ioatlas.model.verdict import LOWER_BOUND, VerdictCode

Place = tuple[str, str]
"""Cell key and direction."""
OTHERS = "other programs on this client"
PROVEN, ANSWERED = 0.97, 0.9
"""Probability of a cache that counters prove or a rate that was asked for; of a cache by a cliff."""
FULL = 0.9
"""Share of a core that each of fio's jobs takes, and of all cores, from which the client is what limits."""
OWN_SHARE = 0.2
"""Share of all cores that fio takes itself, below which full cores are others' work."""
CROWD = 0.3
"""Share of the processors from which other programs may keep a load from running."""
HINDERED = 0.1
"""Share of the time that fio waits for a processor, from which others' work hinders it."""
SOFTIRQ_CORE = 0.5
"""Cores' worth of network interrupts from which a full core is full of them."""
LINKS = frozenset({"link", "network path"})
IN_BYTES = frozenset({"target bandwidth", "rate limit in bytes", "rate limit per job in bytes"})
CARRIED = 0.97
"""Share of the rate that a load asks for, or that a link carries, from which it is reached."""
_USER_SPACE = frozenset({"nbd", "rbd", "gfapi", "gfapi_async", "libiscsi", "http", "libhdfs"})
"""Engines that read around the client's page cache."""


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
    def cores(self) -> float:
        """Mean share of all cores that was busy; 0 where nobody counted."""
        shares = [sum(usage.core_busy) / len(usage.core_busy) for usage in self.usages if usage.core_busy]
        return median(shares) if shares else 0.0

    @property
    def n_cores(self) -> int:
        return max((len(usage.core_busy) for usage in self.usages), default=0)

    @property
    def busiest(self) -> float:
        shares = [usage.busiest_core for usage in self.usages if usage.busiest_core is not None]
        return median(shares) if shares else 0.0

    @property
    def softirq_cores(self) -> float:
        """Cores' worth of time spent in soft interrupts (network)."""
        shares = [usage.softirq * len(usage.core_busy) for usage in self.usages if usage.core_busy]
        return median(shares) if shares else 0.0

    @property
    def generator_share(self) -> float:
        return median(self.generator) if self.generator else 0.0

    @property
    def hindered(self) -> bool:
        """Whether fio waited for a processor, as far as anybody looked."""
        return not self.waiting or median(self.waiting) > HINDERED


def limits_of(
    estimates: Iterable[Estimate],
    caches: CacheReport,
    seen: Mapping[str, Seen],
    by_law: Callable[[Estimate], Limit | None],
    ceilings: CeilingsOf,
    remote: Collection[str] = (),
) -> dict[Place, Limit]:
    """What limits measured values, where that is known. seen: by cell key. by_law: what the law of the target tells.
    remote: targets behind a wire.
    """
    found = {}
    for e in estimates:
        if e.kind != "measured" or not speed(e) or e.verdict is VerdictCode.DISCARDED:
            continue
        place = (e.cell.key, e.direction)
        served = e.cell.target in remote
        links = _links(e, ceilings(e.cell, e.direction))
        limit = _known(e, caches.verdicts.get(place), seen.get(e.cell.key, Seen()), links, served=served) or by_law(e)
        if links and limit is not None and limit.resource in IN_BYTES:
            limit = Limit(evidence=(f"{links[0][2]}, and the target may move no more either",))
        if limit is not None:
            found[place] = limit
    return found


def _links(e: Estimate, ceilings: Iterable[Ceiling]) -> list[tuple[str, float, str]]:
    """Links that are nearly or wholly used: (resource, share used, in words)."""
    value = e.bw_bytes_per_s or 0.0
    bounds = [(one.resource, one.bw_bytes_per_s) for one in ceilings if one.resource in LINKS and one.bw_bytes_per_s]
    shares = [(name, value / most, f"the {name} carries {format_rate(most)}") for name, most in bounds]
    return [one for one in shares if abs(one[1] - 1) <= 1 - LIMITED]


def _known(
    e: Estimate, cache: CacheVerdict | None, seen: Seen, links: Iterable[tuple[str, float, str]], *, served: bool
) -> Limit | None:
    """A limit that is known apart from the law."""
    if cache is not None and cache.word == "cached":
        return _cached(e, cache, served=served)
    if cache is not None and cache.word == "hole":
        return Limit(evidence=("the file has holes, which are read without the drives",))
    for resource, used, text in links:
        if abs(used - 1) <= 1 - CARRIED:
            return Limit(resource, min(1.0, used), evidence=(text,), probability=SAID)
    client = _client(e, seen)
    if client is not None and e.verdict in LOWER_BOUND:
        return client
    if cache is not None and cache.word == "suspect":
        return Limit(evidence=(f"a cache may have answered: {cache.evidence[0].sentence}",))
    return _configured(e) or client


def _cached(e: Estimate, verdict: CacheVerdict, *, served: bool) -> Limit:
    """Which cache answered: the client's, when the bytes did not pass the path; the server's, when a cliff shows
    one behind a path without a cache.
    """
    kinds = {one.kind for one in verdict.evidence if one.strength == "proof"}
    text = verdict.evidence[0].sentence
    user_space = str(e.cell.option.get("ioengine", "")) in _USER_SPACE
    if kinds & {"counters", "round trip"} and not user_space:
        return Limit("client page cache", 1.0, evidence=(text,), probability=PROVEN)
    if "footprint" in kinds and (user_space or (served and e.cell.integer("direct", 0) == 1)):
        return Limit("server cache", 1.0, evidence=(text,), probability=ANSWERED)
    return Limit(evidence=(f"a cache answered ({text}), but not which one",))


def _configured(e: Estimate) -> Limit | None:
    """The load's own rate, when it is carried."""
    option = e.cell.option
    if option.get("thinktime"):
        text = f"the load waits {option['thinktime']} us of its own between I/Os"
        return Limit("configured rate", 1.0, evidence=(text,), probability=PROVEN)
    for name, value in (("rate_iops", e.iops or 0.0), ("rate", speed(e))):
        if not option.get(name):
            continue
        rates = [float(part) for part in str(option[name]).split(",") if part]
        index = ("read", "write", "trim").index(e.direction)
        offered = rates[min(index, len(rates) - 1)] * e.cell.numjobs
        if value >= CARRIED * offered:
            text = f"the load asks for {name} {option[name]} a job and gets {value / offered:.0%} of it"
            return Limit("configured rate", min(1.0, value / offered), evidence=(text,), probability=PROVEN)
    return None


def _client(e: Estimate, seen: Seen) -> Limit | None:
    """The client's processors, full of fio's own work or of others'; None where they have room, or were not watched."""
    said = ("the load generator did not keep its I/Os in flight",) if e.verdict in LOWER_BOUND else ()
    own = min(1.0, seen.generator_share * e.cell.numjobs / max(1, seen.n_cores))
    if seen.cores >= FULL and seen.others >= max(CROWD, own) and (said or seen.hindered):
        load = median(one.load for one in seen.cpu)
        text = f"other programs took {seen.others:.0%} of the client's processors, the load {load:.0%}"
        return Limit(OTHERS, seen.others, evidence=(*said, text), probability=SAID)
    full = [(seen.generator_share, f"each of fio's jobs takes {seen.generator_share:.0%} of a core")]
    if own >= OWN_SHARE and seen.hindered:
        text = f"the client's {seen.n_cores} cores are {seen.cores:.0%} busy, fio's own share {own:.0%}"
        full.append((seen.cores, text))
    if seen.softirq_cores >= SOFTIRQ_CORE:
        text = f"one core is {seen.busiest:.0%} busy, {seen.softirq_cores:.2g} cores of it with network interrupts"
        full.append((seen.busiest, text))
    share, text = max(full)
    if not said and share < FULL:
        return None
    told = (text,) if share >= FULL else ()
    return Limit(CLIENT, share or None, evidence=(*said, *told), probability=SAID)


# -- findings ------------------------------------------------------------------------------------------------


def limit_findings(estimates: Sequence[Estimate]) -> tuple[Finding, ...]:
    """What limits the highest throughput of each direction. Nothing of values whose limit nothing tells."""
    namer = Namer((e.cell for e in estimates), sorted({e.cell.target for e in estimates}))
    found = []
    for (target, direction), members in groups(e for e in estimates if e.limit is not None).items():
        named = best_of(members)
        if named is None or named.peak.limit is None:
            continue
        best, limit = named.peak, named.peak.limit
        values: dict[str, Value] = {
            "bw_bytes_per_s": speed(best),
            "load": namer.short(best.cell),
            "evidence": limit.evidence,
        }
        if limit.determined:
            further = limit.next_resource if limit.next_share is not None else None
            as_well = limit.share is not None and (limit.next_share or 0.0) >= limit.share
            values |= {"resource": limit.resource, "probability": limit.probability, "used": limit.share}
            values |= {"next": further, "next_used": limit.next_share, "as_well": as_well}
        code = FindingCode.LIMIT if limit.determined else FindingCode.UNDETERMINED
        found.append(Finding(code, values, (best.cell.key,), target=target, direction=direction))
    return tuple(found)
