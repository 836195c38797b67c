# SPDX-License-Identifier: Apache-2.0
"""What clients of one target and targets loaded together have in common: what each got, how evenly, who starves,
whether they share what limits them, and the lines over their number.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

from ioatlas.answer.analysis.factors import ratio_of
from ioatlas.answer.analysis.wording import Namer, plural
from ioatlas.model.cell import CLIENTS, TARGETS, Cell
from ioatlas.model.estimate import UNDETERMINED, Estimate, Limit, Share, Shares
from ioatlas.model.factors import Measured
from ioatlas.model.finding import Finding, FindingCode, Value, common
from ioatlas.model.load_curve import Spread
from ioatlas.model.panel import Table
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import format_latency, format_rate, per_cent
from ioatlas.model.visit import Visit, VisitShare
from ioatlas.stats.distributions import Z95

FAIR = 0.8
"""Share of an even part that the one with the least gets at least, where sharing is called even."""
STARVES = 0.5
"""Share of an even part below which one is said to starve."""
GAIN = 0.1
"""Share by which more of them give more, where what they share is not yet the limit."""
MOST_ROWS = 400


def enough_of(line: Sequence[Estimate]) -> Estimate:
    """The first of a line that more of them hardly exceed."""
    return next(e for e in line if (e.bw_bytes_per_s or 0.0) >= _top(line) / (1 + GAIN))


def _top(line: Iterable[Estimate]) -> float:
    return max(e.bw_bytes_per_s or 0.0 for e in line)


@dataclass(frozen=True)
class Sharers:
    """What shares something: the clients of one target, or targets that are loaded together.

    option: their number in a cell, which `count` tells. of_visit, of_estimate: what each of them had. says: what a
    line over their number tells. note: below their table; done: with how long after the first one each was
    done. drawn: whether fewer than all are drawn anew for each visit, so that only all of them can be held against each
    other.
    """

    word: str
    code: FindingCode
    option: str
    count: Callable[[Cell], int]
    of_visit: Callable[[Visit], Sequence[VisitShare]]
    of_estimate: Callable[[Estimate], Shares | None]
    says: Callable[[Sequence[Estimate]], Mapping[str, Value]]
    note: str
    done: bool = False
    drawn: bool = False

    def shares(self, cell: Cell, direction: str, visits: Sequence[Visit]) -> Shares | None:
        """What each had of the visits of one cell; None where nobody shared them."""
        return _shares(direction, [(visit, self.of_visit(visit)) for visit in visits], self.count(cell))

    def measured(self, estimates: Iterable[Estimate]) -> list[tuple[Estimate, Shares]]:
        return [
            (e, shares)
            for e in estimates
            if e.kind == "measured" and e.bw_bytes_per_s and (shares := self.of_estimate(e)) is not None
        ]

    def lines(self, estimates: Iterable[Estimate]) -> dict[tuple[Cell, str], list[Estimate]]:
        """Lines over their number, from few to many: cells that differ in nothing else. By what they have in common."""
        lines: dict[tuple[Cell, str], list[Estimate]] = defaultdict(list)
        for e, _ in self.measured(estimates):
            options = tuple((name, value) for name, value in e.cell.options if name != self.option)
            lines[replace(e.cell, options=options), e.direction].append(e)
        return {place: sorted(line, key=lambda e: self.count(e.cell)) for place, line in lines.items() if len(line) > 1}

    def findings(self, result: CampaignResult) -> tuple[Finding, ...]:
        """What more of them add, of the line with the highest sum of each target and direction; how even they are."""
        measured = self.measured(result.estimates)
        namer = _namer(measured, result)
        best: dict[tuple[str, str], list[Estimate]] = {}
        for (cell, direction), line in self.lines(result.estimates).items():
            place = (cell.target, direction)
            if place not in best or _top(line) > _top(best[place]):
                best[place] = line
        alike = [(e, shares) for e, shares in measured if not self.drawn or shares.wanted == len(shares.parts)]
        return (*(self._line(line) for line in best.values()), *_fairness(alike, self.word, namer))

    def _line(self, line: Sequence[Estimate]) -> Finding:
        sums = [{"n": self.count(e.cell), "bw_bytes_per_s": e.bw_bytes_per_s or 0.0} for e in line]
        values = {**self.says(line), "sums": sums}
        cells = tuple(e.cell.key for e in line)
        return Finding(self.code, values, cells, target=line[-1].cell.target, direction=line[-1].direction)

    def tables(self, result: CampaignResult) -> tuple[Table, ...]:
        """What each got of every cell that several shared, the fastest cells first."""
        several = [(e, shares) for e, shares in self.measured(result.estimates) if len(shares.parts) > 1]
        namer = _namer(several, result)
        rows = [
            (
                f"{namer.short(e.cell)}, {e.direction}",
                one.name,
                format_rate(one.bw_bytes_per_s),
                per_cent(one.share),
                "" if one.lat_mean_ns is None else format_latency(one.lat_mean_ns),
                "" if one.lat_p99_ns is None else format_latency(one.lat_p99_ns),
                *((f"+{one.done_ms:.0f} ms",) if self.done else ()),
                str(one.n_visits),
            )
            for e, shares in sorted(several, key=lambda pair: -(pair[0].bw_bytes_per_s or 0.0))
            for one in shares.parts
        ]
        more = len(rows) - MOST_ROWS
        left = f" The fastest cells; {more} more rows stand in the export." if more > 0 else ""
        done = ("done",) if self.done else ()
        columns = ("cell", self.word, "throughput", "share", "mean latency", "p99 latency", *done, "visits")
        title = f"What each {self.word} got"
        return (Table(title, columns, tuple(rows[:MOST_ROWS]), note=self.note + left),) if rows else ()


def _namer(pairs: Sequence[tuple[Estimate, Shares]], result: CampaignResult) -> Namer:
    return Namer([e.cell for e, _ in pairs], [one.name for one in result.targets], tuple(result.axes))


def _shares(direction: str, visits: Sequence[tuple[Visit, Sequence[VisitShare]]], wanted: int) -> Shares | None:
    """What each had of visits of one cell, which come with what each had of them; None where nobody shared them.
    wanted: how many were to take part at once.
    """
    visits = [(visit, parts) for visit, parts in visits if parts]
    made: dict[str, list[_Made]] = defaultdict(list)
    for visit, every in visits:
        mine = [part for part in every if part.direction == direction]
        first = min((part.ended_at for part in mine), default=0.0)
        whole = sum(part.rate(visit.window_start_ms) for part in mine)
        for name in dict.fromkeys(part.name for part in mine):
            own = [part for part in mine if part.name == name]
            rate = sum(part.rate(visit.window_start_ms) for part in own)
            done = max(part.ended_at for part in own) - first
            made[name].append(_Made(own, rate, whole, 1000 * done))
    if not made:
        return None
    return Shares(
        tuple(_share(name, of) for name, of in sorted(made.items(), key=_in_order)),
        max(visit.skew_ms for visit, _ in visits),
        max(visit.finish_spread_ms for visit, _ in visits),
        wanted,
        min(len({part.name for part in every}) for _, every in visits),
    )


class _Made(NamedTuple):
    """One of several in one visit. rate: in the window that is kept; whole: of all; done_ms: after the first one."""

    parts: Sequence[VisitShare]
    rate: float
    whole: float
    done_ms: float


def _share(name: str, made: Sequence[_Made]) -> Share:
    n, rate, whole = len(made), sum(one.rate for one in made), sum(one.whole for one in made)
    per_io, mean, p99 = _of_parts([part for one in made for part in one.parts])
    return Share(
        name,
        n,
        rate / n,
        rate / n / per_io if per_io else 0.0,
        rate / whole if whole else 0.0,
        mean,
        p99,
        sum(one.done_ms for one in made) / n,
    )


def _in_order(item: tuple[str, object]) -> tuple[str, int]:
    """By name, with c2 before c10."""
    name = item[0].rstrip("0123456789")
    return name, int(item[0][len(name) :] or 0)


def _of_parts(parts: Sequence[VisitShare]) -> tuple[float, float | None, float | None]:
    """(bytes of an I/O, mean latency over all I/Os, largest p99) of parts of several visits; None where not told."""
    ios = sum(part.total_ios for part in parts)
    means = [(part.lat_mean_ns, part.total_ios) for part in parts if part.lat_mean_ns is not None]
    weight = sum(count for _, count in means)
    return (
        sum(part.io_bytes for part in parts) / ios if ios else 0.0,
        sum(mean * count for mean, count in means) / weight if weight else None,
        max((part.lat_p99_ns for part in parts if part.lat_p99_ns is not None), default=None),
    )


def _fairness(several: Sequence[tuple[Estimate, Shares]], word: str, namer: Namer) -> tuple[Finding, ...]:
    """How evenly they share. word: what they are: 'client' or 'target'."""
    several = [(e, shares) for e, shares in several if len(shares.parts) > 1]
    if not several:
        return ()
    worst, shares = min(several, key=lambda pair: pair[1].least)
    uneven = [e for e, each in several if each.least < FAIR]
    if not uneven:
        return (Finding(FindingCode.FAIRNESS, {"kind": word, "even": True, "least": shares.least}, in_order=True),)
    last = min(shares.parts, key=lambda one: one.bw_bytes_per_s)
    first = max(shares.parts, key=lambda one: one.bw_bytes_per_s)
    values: dict[str, Value] = {
        "kind": word,
        "starves": shares.least < STARVES,
        "last": last.name,
        "last_bytes_per_s": last.bw_bytes_per_s,
        "first": first.name,
        "first_bytes_per_s": first.bw_bytes_per_s,
        "load": f"{namer.short(worst.cell)}, {worst.direction}",
        "n_uneven": len(uneven),
        "n_values": len(several),
        "jain_index": min(each.jain_index for _, each in several),
    }
    return (
        Finding(
            FindingCode.FAIRNESS,
            values,
            tuple(e.cell.key for e in uneven[:20]),
            target=common(e.cell.target for e in uneven),
            direction=common(e.direction for e in uneven),
        ),
    )


GOAL_SKEW_MS = 10.0


def _clients_say(line: Sequence[Estimate]) -> Mapping[str, Value]:
    """How many clients it takes until more of them give no more."""
    enough = enough_of(line)
    return {"n_enough": None if enough is line[-1] else enough.cell.clients, "gain": GAIN}


AMONG_CLIENTS = Sharers(
    "client",
    FindingCode.CLIENTS,
    CLIENTS,
    lambda cell: cell.clients,
    lambda visit: visit.clients,
    lambda e: e.shares,
    _clients_say,
    "Throughput while all clients ran; latencies over the whole of each client's time.",
)


def fewer_note(shares: Shares | None) -> str:
    """What is to be said of a cell that fewer clients made than were to."""
    if shares is None or shares.fewest >= shares.wanted:
        return ""
    return f"made by {shares.fewest} of {plural(shares.wanted, 'client')} in some visits: others were lost"


def start_findings(estimates: Iterable[Estimate]) -> tuple[Finding, ...]:
    """How far apart clients started; nothing of a campaign that one client made."""
    skews = [shares.skew_ms for _, shares in AMONG_CLIENTS.measured(estimates)]
    if not skews:
        return ()
    in_order = max(skews) <= GOAL_SKEW_MS
    return (Finding(FindingCode.CLIENTS, {"skew_ms": max(skews)}, in_order=in_order),)


def _ratio(e: Estimate, first: Estimate) -> Spread:
    one, other = (Measured(each.bw_bytes_per_s or 0.0, each.bw_low, each.bw_high, each.n_visits) for each in (e, first))
    return ratio_of(one, other)


def _gain_told(e: Estimate, first: Estimate) -> str:
    """'5 targets together give 1.02 times (0.99 to 1.05) what one gives'"""
    ratio = _ratio(e, first)
    within = f" ({ratio.low:.2f} to {ratio.high:.2f})" if ratio.low is not None and ratio.high is not None else ""
    one = "one" if first.cell.n_targets == 1 else str(first.cell.n_targets)
    return f"{e.cell.n_targets} targets together give {ratio.value:.2f} times{within} what {one} gives"


def _targets_say(line: Sequence[Estimate]) -> Mapping[str, Value]:
    """What more targets add."""
    limit = limit_of(line[-1], line[0])
    of = "shared" if limit.resource == SHARED else "own"
    return {"limit": of if limit.determined else None, "gain": limit.evidence[0]}


AMONG_TARGETS = Sharers(
    "target",
    FindingCode.TOGETHER,
    TARGETS,
    lambda cell: cell.n_targets,
    lambda visit: visit.targets,
    lambda e: e.targets,
    _targets_say,
    "Throughput while all were loaded; latencies over the whole time of each. Done: how long after the first one.",
    done=True,
    drawn=True,
)


SHARED = "what the targets share"
"""A controller, a link, a switch, or the client: from this side they are one."""
OWN = "each target"
VARY = "Load different numbers of them (`targets = [1, 2, 5]`) to tell what they share from what each has."
_MOST_SURE, _LIKELIER = 0.97, 0.5


def with_group_limits(estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """The estimates, those of several targets together with what limits them as far as more of them tell it.

    What is known otherwise stays: a client that is fully busy is what they share.
    """
    found = {}
    for line in AMONG_TARGETS.lines(estimates).values():
        for e in line[1:]:
            if e.cell.n_targets > line[0].cell.n_targets:
                found[e.cell.key, e.direction] = limit_of(e, line[0])
    several = {(e.cell.key, e.direction) for e, _ in AMONG_TARGETS.measured(estimates) if e.cell.n_targets > 1}
    alone = Limit(UNDETERMINED, evidence=(VARY,))
    return tuple(
        replace(e, limit=found.get(place, alone))
        if (place := (e.cell.key, e.direction)) in several and (e.limit is None or not e.limit.determined)
        else e
        for e in estimates
    )


def limit_of(e: Estimate, first: Estimate) -> Limit:
    """Of a cell with more targets than `first`, whose load is otherwise the same."""
    told = _gain_told(e, first)
    ratio = _ratio(e, first)
    if ratio.low is None or ratio.high is None:
        return Limit(UNDETERMINED, evidence=(f"{told}; there is no interval for it",))
    times = e.cell.n_targets / first.cell.n_targets
    spread = max(math.log(ratio.high / ratio.low) / 2 / Z95, 1e-3)
    normal, seen = NormalDist(0.0, spread), math.log(ratio.value)
    shared = normal.cdf(math.log(1 + GAIN) - seen)
    own = normal.cdf(seen - math.log(max(1 + GAIN, (1 - GAIN) * times)))
    if shared >= _LIKELIER:
        return Limit(SHARED, evidence=(told,), probability=min(_MOST_SURE, shared))
    if own >= _LIKELIER:
        known = first.limit if first.limit is not None and first.limit.determined else None
        evidence = (told, *(known.evidence if known else ()))
        return Limit(known.resource if known else OWN, evidence=evidence, probability=min(_MOST_SURE, own))
    between = "more than one gives, less than all of them would apart"
    return Limit(UNDETERMINED, evidence=(f"{told}: {between}",))
