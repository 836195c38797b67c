# SPDX-License-Identifier: Apache-2.0
"""What limits each cell, with a probability, by evidence from ceilings, counters, cache verdicts and the shape of the
map; 'undetermined' below even odds.

What answers by itself comes first: a cache verdict 'cached' names the cache; a load with a rate of its own is limited
by that rate as long as it is reached; a load generator that says so itself was the limit. All else is weighed
(`causes`): the likely candidate is named, or 'target' (or 'drive') where it lies behind path and client, but it is not
clear whether it is bytes, I/Os or a queue.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ioatlas.analysis.best import SAID, best_of, groups, speed, with_fresh
from ioatlas.analysis.cache import CacheReport, CacheVerdict
from ioatlas.analysis.causes import (
    IN_BYTES,
    REFILL,
    TARGET,
    Cause,
    Odds,
    Share,
    busy,
    crowded,
    has_room,
    odds,
    others_words,
    shares_of,
)
from ioatlas.analysis.ceilings import Ceiling
from ioatlas.analysis.refill import Refills, refill_shares
from ioatlas.analysis.shape import Case, PathView, Place, Seen, find_shapes
from ioatlas.analysis.wording import Namer, plural
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.limit import UNDETERMINED, Limit
from ioatlas.model.units import format_latency, format_rate
from ioatlas.model.verdict import LOWER_BOUND, VerdictCode

METHOD = "attribution/2"
CeilingsOf = Callable[[Cell, str], Sequence[Ceiling]]
EVEN = 0.5
"""Probability from which a limit is named."""
EXACT = 0.7
"""Probability from which bytes, I/Os or a queue of the target are told apart; below it they are 'target' together."""
TOLD, RIVAL = 3, 0.1
"""Pieces of evidence that are told; probability from which the next candidate is told."""
PROVEN, ANSWERED = 0.97, 0.9
"""Probability of a cache that counters prove or a rate that was asked for; of a cache by a cliff."""
PATH_SHARE = 0.7
"""Share of an I/O's time that the network's round trip takes, from which it is told."""


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
        parts = [
            f"{name} {count:,}{_mean_odds(one for one in limits.values() if one.resource == name)}"
            for name, count in counts.most_common()
            if name != UNDETERMINED
        ]
        parts += [f"unclear {counts[UNDETERMINED]:,}"] if counts[UNDETERMINED] else []
        sentence = f"Bottleneck of {plural(len(limits), 'value')}: {', '.join(parts)}."
        first: dict[str, str] = {}
        for (key, _), limit in limits.items():
            first.setdefault(limit.resource, key)
        found.append(Finding(FindingCode.LIMITS, sentence, tuple(first.values())))
        return tuple(found)


def mean_probability(limits: Iterable[Limit]) -> float | None:
    """Of those that state one; None where none does."""
    stated = [one.probability for one in limits if one.probability is not None]
    return sum(stated) / len(stated) if stated else None


def _mean_odds(limits: Iterable[Limit]) -> str:
    mean = mean_probability(limits)
    return "" if mean is None else f" ({mean:.0%})"


def attribute(
    estimates: Iterable[Estimate],
    *,
    ceilings: CeilingsOf,
    caches: CacheReport,
    seen: Mapping[str, Seen],
    paths: Mapping[str, PathView],
    fast_share: Mapping[Place, float] | None = None,
    standards: CeilingsOf | None = None,
    predicted: Iterable[Estimate] = (),
    refills: Refills | None = None,
) -> AttributionReport:
    """The limit of every measured value.

    seen:       what was seen beside a cell's visits, by cell key. paths: by target.
    fast_share: share of the I/Os that took less than half the mean, by cell and direction.
    standards:  links of standard rates that a path whose link is not known may have. predicted: what the map's model
                says of cells that were not measured: neighbours, with their own uncertainty.
    refills:    at what burst credit comes back, by target and direction.
    """
    cases: dict[Place, Case] = {}
    neighbours: list[Case] = []
    for e in (*estimates, *predicted):
        if not _comparable(e):
            continue
        place = (e.cell.key, e.direction)
        path, bounds = paths.get(e.cell.target, PathView()), tuple(ceilings(e.cell, e.direction))
        links = tuple(standards(e.cell, e.direction)) if standards is not None else ()
        case = Case(e, seen.get(e.cell.key, Seen()), path, bounds, caches.verdicts.get(place), links)
        if e.kind == "measured":
            cases[place] = case
        elif place not in cases:
            neighbours.append(case)
    find_shapes([*cases.values(), *neighbours], fast_share or {})
    return AttributionReport({place: _limit(case, refills or {}) for place, case in cases.items()})


def _comparable(e: Estimate) -> bool:
    values = (e.bw_bytes_per_s or 0.0, e.iops or 0.0)
    return (
        e.kind in ("measured", "predicted")
        and all(0 < value < math.inf for value in values)
        and e.verdict is not VerdictCode.DISCARDED
    )


def _limited(limit: Limit) -> str:
    """What limits it, what comes next, and the evidence, as short sentences."""
    evidence = "; ".join(limit.evidence)
    if not limit.determined:
        return f"bottleneck unclear: {evidence}."
    used = f", {limit.share:.0%} used" if limit.share is not None else ""
    sentence = f"{limit.odds_words} limited by {limit.resource}{limit.odds_number}{used}.".lstrip()
    if limit.next_resource and limit.next_share is not None:
        as_well = limit.share is not None and limit.next_share >= limit.share
        sentence += f" {limit.next_resource[:1].upper()}{limit.next_resource[1:]} is "
        sentence += f"{limit.next_share:.0%} used as well." if as_well else f"next, {limit.next_share:.0%} used."
    return f"{sentence} Evidence: {evidence}." if evidence else sentence


# -- from evidence to a name ---------------------------------------------------------------------------------


def _limit(case: Case, refills: Refills) -> Limit:
    bounds = sorted([*shares_of(case), *refill_shares(case, refills)], key=lambda one: -one.share)
    known = _known_limit(case, bounds)
    if known is not None:
        return known
    over = [one for one in bounds if one.share > one.tolerance]
    if over:
        return Limit(evidence=(f"{over[0].because}: above a ceiling, so the ceiling or the value is wrong",))
    found = odds(case, bounds)
    best = found.ranked[0]
    behind = sum(found.shares.get(cause, 0.0) for cause in sorted(TARGET))
    if best in TARGET and found.shares[best] < EXACT and behind >= EVEN:
        return _named(case, found, TARGET, "drive" if case.path.drives else "target", behind, bounds)
    if best is Cause.OTHER or found.shares[best] < EVEN:
        if behind >= EVEN:
            return _named(case, found, TARGET, "drive" if case.path.drives else "target", behind, bounds)
        return Limit(evidence=(_undecided(case, found, bounds),))
    return _named(case, found, frozenset({best}), _word(case, best, bounds), found.shares[best], bounds)


def _word(case: Case, cause: Cause, bounds: Sequence[Share]) -> str:
    """The resource: behind a server it may be its drives, its own network or a limit set there, hence 'target'."""
    if cause in (Cause.BYTES, Cause.IOS):
        return f"{'drive' if case.path.drives else 'target'} {cause}"
    return next((one.resource for one in bounds if one.cause is cause), str(cause))


def _named(
    case: Case, found: Odds, causes: frozenset[Cause], resource: str, probability: float, bounds: Sequence[Share]
) -> Limit:
    """The limit with its evidence, what is used most after it, and the candidate that comes next."""
    evidence = found.supporting(causes)[:TOLD]
    latency, trip = case.estimate.lat_mean_ns, case.path.round_trip_ns
    if Cause.LATENCY in causes and latency:
        evidence.append(f"each I/O takes {format_latency(latency)}")
        if trip and trip >= PATH_SHARE * latency:
            evidence.append(f"{min(1.0, trip / latency):.0%} of that is the network's round trip")
    rival = next(cause for cause in found.ranked if cause not in causes)
    if rival is not Cause.OTHER and found.shares[rival] >= RIVAL:
        evidence.append(f"otherwise {_word(case, rival, bounds)} ({found.shares[rival]:.0%})")
    following = _next(case, bounds, resource)
    return Limit(resource, _share(case, causes, bounds), *following, tuple(evidence), probability)


def _share(case: Case, causes: frozenset[Cause], bounds: Sequence[Share]) -> float | None:
    """How far what is named is used: of its bound, of the client's processors, or of the plateau behind both."""
    if causes <= {Cause.LATENCY}:
        return None
    if causes <= {Cause.OTHERS}:
        return case.seen.others
    if causes <= {Cause.CPU} and (seen := busy(case)) is not None:
        return min(1.0, seen[1])
    mine = [one.share for one in bounds if one.cause in causes and (one.cause is Cause.CPU or not one.compared)]
    if mine and (causes <= REFILL or not causes & TARGET):
        return mine[0]
    return min(1.0, case.of_plateau) if case.of_plateau else None


def _next(case: Case, bounds: Sequence[Share], resource: str) -> tuple[str, float | None]:
    """What is used most after the resource that is named."""
    others = [(one.share, one.resource) for one in bounds if one.resource != resource]
    if (seen := busy(case)) is not None and resource != "client CPU":
        others.append((seen[1], "client CPU"))
    return (max(others)[1], max(others)[0]) if others else ("", None)


def _undecided(case: Case, found: Odds, bounds: Sequence[Share]) -> str:
    """Between what it lies, and what would tell."""
    if not case.answers and not case.given_back:
        return "no other load was measured to compare with; test more jobs"
    if case.given_back:
        return "more load gained first and then gave it back; repeat it longer"
    first, second = [cause for cause in found.ranked if cause is not Cause.OTHER][:2]
    text = f"{_word(case, first, bounds)} ({found.shares[first]:.0%}) or "
    text += f"{_word(case, second, bounds)} ({found.shares[second]:.0%})"
    return f"{text}; {_advice(case, {first, second})}"


def _advice(case: Case, rivals: set[Cause]) -> str:
    if Cause.CPU in rivals and not has_room(case):
        seen = busy(case)
        if case.seen.cores is None or seen is None:
            return "the client's CPU was not watched"
        return f"{seen[2]}, so it may be the limit"
    if rivals <= IN_BYTES - TARGET:
        return "measure the path alone with --iperf"
    if Cause.LINK in rivals and not any(one.resource in ("link", "network path") for one in case.ceilings):
        return "the link's speed is not known: type it into testbed.toml, or measure it with --iperf"
    if Cause.LATENCY in rivals or Cause.CONNECTION in rivals:
        return "test more jobs"
    return "add block sizes to learn which"


def _known_limit(case: Case, bounds: Sequence[Share]) -> Limit | None:
    """A limit that needs no weighing: a cache that answered, a rate that was asked for, what the generator says."""
    if case.cache is not None and case.cache.word == "cached":
        return _cached(case, case.cache, bounds)
    if case.cache is not None and case.cache.word == "hole":
        return Limit(evidence=("the file has holes, which are read without the drives",))
    if case.estimate.verdict in LOWER_BOUND:
        seen = busy(case)
        text = seen[2] if seen is not None and seen[0] else ""
        told = "the load generator did not keep its I/Os in flight"
        if crowded(case):
            return _proven(case, Cause.OTHERS, (told, others_words(case)), bounds, SAID, case.seen.others)
        return _proven(case, "client CPU", (told, text) if text else (told,), bounds, SAID, seen[1] if seen else None)
    if case.cache is not None and case.cache.word == "suspect":
        return Limit(evidence=(f"a cache may have answered: {case.cache.evidence[0].sentence}",))
    configured = _configured(case)
    if configured is None:
        return None
    return _proven(case, "configured rate", (configured[1],), bounds, PROVEN, configured[0])


def _configured(case: Case) -> tuple[float, str] | None:
    """The load's own rate, when it is carried: how far, and in words."""
    option, cell = case.estimate.cell.option, case.estimate.cell
    if option.get("thinktime"):
        return 1.0, f"the load waits {option['thinktime']} us of its own between I/Os"
    for name, value in (("rate_iops", case.iops), ("rate", case.rate)):
        if not option.get(name):
            continue
        rates = [float(part) for part in str(option[name]).split(",") if part]
        index = ("read", "write", "trim").index(case.estimate.direction)
        offered = rates[min(index, len(rates) - 1)] * cell.numjobs
        if value >= 0.97 * offered:
            text = f"the load asks for {name} {option[name]} a job and gets {value / offered:.0%} of it"
            return min(1.0, value / offered), text
    return None


def _cached(case: Case, verdict: CacheVerdict, bounds: Sequence[Share]) -> Limit:
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
        return _proven(case, "client page cache", (text,), bounds, PROVEN, 1.0)
    if "footprint" in kinds and (user_space or (case.path.remote and cell.integer("direct", 0) == 1)):
        return _proven(case, "server cache", (text,), bounds, ANSWERED, 1.0)
    return Limit(evidence=(f"a cache answered ({text}), but not which one",))


def _proven(
    case: Case,
    resource: str,
    evidence: tuple[str, ...],
    bounds: Sequence[Share],
    probability: float,
    share: float | None = None,
) -> Limit:
    return Limit(resource, share, *_next(case, bounds, resource), evidence, probability)
