# SPDX-License-Identifier: Apache-2.0
"""Uses held against what was measured: the answer on each, with those on its requirements."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any, NamedTuple

from ioatlas.answer.law.cells import BEYOND, MOST_FORETOLD, foretold, measured
from ioatlas.answer.law.fit import Fit as LawFit
from ioatlas.answer.law.told import bursts
from ioatlas.answer.results.by_law import laws_of
from ioatlas.load.machine.visit_usage import records_by_visit
from ioatlas.measure.procedures.fit.plan import cells_of
from ioatlas.measure.procedures.fit.use import Asked, Quantity, Requirement, Use, Uses
from ioatlas.measure.procedures.fit.verdict import HOPELESS, WIDEST, Answer, Judged, counts, judge, windows_in
from ioatlas.model.cell import FLUSHES, Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.units import format_duration, format_size, format_times
from ioatlas.model.verdict import VerdictClass, VerdictCode, verdict_class
from ioatlas.model.visit import Visit
from ioatlas.stats.gates import offered_in
from ioatlas.store.journal import Journal


@dataclass(frozen=True)
class Fit:
    """A use on a target. judged: each requirement with the key of the cell that its load is measured in."""

    use: Use
    target: str
    judged: tuple[tuple[str, Judged], ...]

    @property
    def answer(self) -> Answer:
        return Answer.of_all([one.answer for _, one in self.judged])

    @property
    def margin(self) -> float | None:
        """The smallest of its requirements; None where none is known."""
        return min((one.margin for _, one in self.judged if one.margin is not None), default=None)

    @property
    def open(self) -> list[Judged]:
        """What is not decided."""
        return [one for _, one in self.judged if one.answer is Answer.UNDECIDED]

    @property
    def waited(self) -> bool:
        """Whether all that is open is so for want of a processor."""
        return all(one.waited for one in self.open)

    @property
    def more_seconds(self) -> float | None:
        """For how long its loads would have to run to decide it; None where no time would."""
        if self.waited or any(one.more >= HOPELESS * one.windows > 0 for one in self.open):
            return None
        return max(one.more * one.seconds / max(1, one.windows) for one in self.open)

    @property
    def finding(self) -> Finding:
        """The answer; of what is open its requirements tell what it would take."""
        values: dict[str, Value] = {
            "use": self.use.name,
            "title": self.use.title,
            "answer": self.answer.upper(),
            "margin": self.margin,
            "broken": [value_text(one) for _, one in self.judged if one.answer is Answer.FAIL],
            "n_open": len(self.open) if any(one.seconds for _, one in self.judged) else None,
            "n_required": len(self.judged),
        }
        return Finding(FindingCode.FIT, values, place="map", target=self.target)

    def as_json(self) -> dict[str, Any]:
        return {
            "use": self.use.name,
            "title": self.use.title,
            "target": self.target,
            "answer": self.answer.value,
            "margin": self.margin,
            "requirements": [_json(one) for _, one in self.judged],
        }


def value_text(one: Judged) -> str:
    """'p99 of flushes 12.1 ms (11.2 ms to 13.0 ms), at most 10 ms'."""
    asked = one.requirement
    if one.value is None:
        return f"{asked.words}: not measured"
    low, high, by = *("" if end is None else asked.amount(end) for end in (one.low, one.high)), one.by and f" {one.by}"
    what = "measured" if one.missed is None else f"{100 * one.missed:.2g}% were, p{asked.percentile:g}"
    if not low and not high:
        return (
            f"{asked.words}, {what} {asked.amount(one.value)}{by or f' in {one.windows} windows'}: too unsteady to tell"
        )
    ends = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
    return f"{asked.words}, {what} {asked.amount(one.value)} ({ends}){by}"


def takes(one: Judged) -> str:
    """What it would take to decide."""
    if not one.seconds:
        return f"{value_text(one)}{': too near to the limit to be told by that' if one.low or one.high else ''}"
    if one.waited:
        return f"{value_text(one)}: the load waited {one.waited:.0%} of its time for a processor, which may be why"
    if one.more >= HOPELESS * one.windows:
        return f"{value_text(one)}: it lies at the limit, or moves too much to be told"
    return f"{value_text(one)}: about {format_duration(one.more * one.seconds / one.windows)} more would tell"


def measured_text(one: Judged) -> str:
    """What was measured of a requirement, and how good that is; or what it would take to decide."""
    if one.answer is Answer.UNDECIDED:
        return takes(one)
    if one.margin is None:
        return value_text(one)
    good = format_times(one.margin) if one.margin >= 1 else f"{one.margin:.0%}"
    return f"{value_text(one)}: {good} as good as needed"


def requirement(one: Judged, use: Use, number: int, target: str) -> Finding:
    """A requirement with its answer, its source, and what to change."""
    values: dict[str, Value] = {
        "use": use.name,
        "number": number,
        "answer": one.answer.upper(),
        "measured": measured_text(one),
        "source": str(one.requirement.source),
        "change": None if one.answer is Answer.PASS else one.requirement.change,
    }
    return Finding(FindingCode.FIT, values, place="map", target=target)


def fits_of(journal: Journal, asked: Iterable[Asked], visits: Sequence[Visit]) -> list[Fit]:
    """Every use on every target, by the visits at hand."""
    in_flight = {cell.key: cell.outstanding for cell, _ in journal.cells()}
    by_cell, found = _by_cell(journal, filter(counts, visits)), []
    for each in asked:
        places = [(one, *each.cells[one.load]) for one in each.use.requires]
        judged = tuple((key, _judged(one, by_cell.get(key, ()), stream, in_flight[key])) for one, key, stream in places)
        found.append(Fit(each.use, each.target, judged))
    return found


def _by_cell(journal: Journal, visits: Iterable[Visit]) -> dict[str, list[Visit]]:
    """Visits with the time for which they waited for a processor, by the key of their cell."""
    records, found = records_by_visit(journal.usages()), defaultdict[str, list[Visit]](list)
    for visit in visits:
        found[visit.cell_key].append(replace(visit, waiting=records.get(visit.visit_id, {}).get("waiting")))
    return found


def _judged(asked: Requirement, visits: Sequence[Visit], stream: str, in_flight: int) -> Judged:
    """By the latest look, each at the end of a batch, that decided: the test holds at every look, so what is decided
    stays so while other requirements are not.
    """
    ends = [0, *{one.batch_id: place for place, one in enumerate(visits, 1)}.values()]
    looks = (judge(asked, visits[:end], stream, in_flight) for end in reversed(ends))
    now = next(looks)
    return next((one for one in chain([now], looks) if one.answer is not Answer.UNDECIDED), now)


def load_fits(journal: Journal) -> list[Fit]:
    """Those of a campaign, as far as it has come."""
    return fits_of(journal, journal.kept(Uses).asked, journal.visits(with_series=True))


Seen = tuple[Sequence[Visit], Sequence[Visit]]
"""Visits of a load, and their windows."""


def fits_measured(journal: Journal, uses: Iterable[Use], estimates: Iterable[Estimate]) -> list[Fit]:
    """Uses on the targets of a campaign that was measured, as far as its loads and the law of each target tell.
    estimates: of the campaign; a direction in which one of them is suspect, as it is of a cache, says nothing of the
    target, and one in which the client was the limit not that it is too slow.
    """
    suspect = [e for e in estimates if e.kind == "measured" and verdict_class(e.verdict) is VerdictClass.SUSPECT]
    cells = {cell.key: cell for cell, _ in journal.cells()}
    visits = journal.visits(with_series=True)
    laws, made = laws_of(journal, cells, visits), _by_cell(journal, (one for one in visits if not one.discarded))
    kept = [(cells[key], mine) for key, mine in made.items() if key in cells]
    seen = [(cell, (mine, [each for one in mine for each in windows_in(one)])) for cell, mine in kept]
    own = {(one.use.name, one.target): one for one in journal.kept(Uses).asked} if journal.is_kept(Uses) else {}
    found = []
    for target, use in product(journal.targets(), uses):
        if (mine := own.get((use.name, target.name))) and mine.use == use:  # which its own loads answer
            found += fits_of(journal, [mine], visits)
            continue
        here = [one for one in seen if one[0].target == target.name]
        judged = []
        for cell, loads in cells_of(use, target, {}):
            doubts = {e.verdict for e in suspect if e.cell.target == target.name and e.direction in cell.directions}
            for asked, (load, member) in product(use.requires, zip(loads, cell.members, strict=True)):
                if asked.load != load.name:
                    continue
                by_loads, hidden = member.flushes or asked.quantity.is_latency, doubts - {VerdictCode.CLIENT_LIMITED}
                told = (_by_loads if by_loads else _by_law)(asked, member, cell, here, laws)
                told = Judged(asked, Answer.UNDECIDED) if hidden and not member.flushes else told
                told = replace(told, answer=Answer.UNDECIDED) if doubts and told.answer is Answer.FAIL else told
                judged.append((cell.key, told))
        found.append(Fit(use, target.name, tuple(judged)))
    return found


BESIDE_OTHERS = 2
"""Times that a target has to be able to do what loads ask for that run at once: no law tells what one costs another."""


def _by_law(
    asked: Requirement, load: Cell, cell: Cell, made: Iterable[tuple[Cell, Seen]], laws: Mapping[str, LawFit]
) -> Judged:
    """A rate of a load among those of its cell. Each direction of each takes its share of the target's time: together
    they fit where there is room for all shares, and one that is too much alone is too much with others, even without
    what its loads waited for a processor.
    """
    seen = [one.cell for one in laws[cell.target].courses if one.counted] if cell.target in laws else []
    if not seen or asked.bytes or any(len(one.block_sizes) > 1 or one.flushes for one in cell.members):
        return Judged(asked, Answer.UNDECIDED)
    shares, high, most = [], math.inf, math.inf
    for one, way in ((member, way) for member in cell.members for way in member.directions):
        rate = _rate_by_law(one, way, cell.target, seen, laws)
        if rate is None:
            return Judged(asked, Answer.UNDECIDED)
        wanted = _wanted(asked, one, way) if one == load or one.loop == "open" else math.inf
        shares.append([wanted / end if end else math.inf for end in (rate.least, rate.low, rate.value)])
        if one == load:
            waits = [each.waiting or 0.0 for other, (visits, _) in made if way in other.directions for each in visits]
            high, most = min(high, rate.high / wanted), min(most, rate.most / wanted / (1 - max(waits, default=0.0)))
    least, low, value = (1 / sum(several) for several in zip(*shares, strict=True))
    least, kept = least / BESIDE_OTHERS if len(shares) > 1 else least, asked.quantity is Quantity.KEPT
    answer = Answer.PASS if least > 1 else Answer.FAIL if most < (asked.limit if kept else 1) else Answer.UNDECIDED
    low, value, high = (min(1.0, one) if kept else asked.limit * one for one in (low, min(value, high), high))
    shown = low if value < WIDEST * low else None, high if high < WIDEST * value else None
    return Judged(asked, answer, value, *shown, windows=1, by="by the law")


class _Rate(NamedTuple):
    """I/Os a second of a load in one direction, with the interval that is shown and the ends that decide."""

    value: float
    low: float
    high: float
    least: float
    most: float


def _rate_by_law(one: Cell, way: str, target: str, seen: Sequence[Cell], laws: Mapping[str, LawFit]) -> _Rate | None:
    """What the map measured is told as it is there; what lies between two of its loads in how much is in flight, by the
    law and by these. None where no load was like it. seen: cells of the loads that count.
    """
    rw, flight = f"{'rand' * one.rw.startswith('rand')}{way}", one.outstanding
    like = [each for each in seen if (each.rw, each.option.get("direct")) == (rw, one.option.get("direct"))]
    same = sorted((each for each in like if each.bs_bytes == one.bs_bytes), key=lambda each: each.outstanding)
    less, more = [e for e in same if e.outstanding <= flight][-1:], [e for e in same if e.outstanding >= flight][:1]
    plain = {key: value for key, value in one.options if key not in ("rwmixread", "rate_iops", "rate", "offset")}
    plain |= {"rw": rw, "size": max(each.size_bytes for each in seen)}
    paced = one.loop == "open" and not more  # it keeps no more in flight than it needs
    twin = less[0] if less and (paced or less == more) else Cell.of(target, plain, sharing=seen[0].sharing)
    told = next(iter(foretold([twin], laws, math.inf)), None)
    if told is None or not any(1 / BEYOND <= each.bs_bytes / one.bs_bytes <= BEYOND for each in like):
        return None
    value, low, high = (each or 0.0 for each in (told.iops, told.iops_low, told.iops_high))
    around = [measured(each, laws[target]) for each in less + more]
    if less and more:
        least, top = min(each.iops_low or 0.0 for each in around), max(each.iops_high or 0.0 for each in around)
        value, low, high = (min(max(end, least), top) for end in (value, low, high))
    unsure = 1 + (high - low > 2 * MOST_FORETOLD * value)  # such a law is wrong more often: twice as far
    least, most = (value * (end / value) ** unsure for end in (low, high))
    if less and not more:  # nobody saw what more in flight gains
        high = most = max(most, (around[0].iops_high or 0.0) * flight / less[0].outstanding)
    return _Rate(value, low, high, least, most)


def _wanted(asked: Requirement, load: Cell, way: str) -> float:
    """I/Os a second of a load in one direction."""
    if load.loop == "open":
        return offered_in(load, way) or math.inf
    reads = load.integer("rwmixread", 50) / 100 if len(load.directions) > 1 else float(way == "read")
    size = load.bs_bytes if asked.quantity is Quantity.RATE else 1
    return asked.limit / size * (reads if way == "read" else 1 - reads)


LIKE = 4.0
"""Times that a flush of a load which is only like the one asked for has to be away from a limit: what is appended is
also committed to the journal of a file system, and where a head has to move random writes are the slower ones.
"""


def _by_loads(
    asked: Requirement, load: Cell, cell: Cell, made: Iterable[tuple[Cell, Seen]], laws: Mapping[str, LawFit]
) -> Judged:
    """A latency, or the rate of a load that waits for flushes: what asks no less of the target may show that it fits,
    what asks no more that it does not.
    """
    way = "write" if load.flushes else asked.quantity.value
    beside = [one for one in cell.members if one != load]
    offered = sum(offered_in(load, each) or math.inf for each in load.directions)
    credit = [limiter for limiter, _ in bursts(laws[cell.target])] if cell.target in laws else []
    found = [Judged(asked, Answer.UNDECIDED)]
    for other, (visits, windows) in made:
        for place, one in enumerate(other.members):
            if one.directions != (way,) or one.loop == "open" or _flush_after(one) != _flush_after(load):
                continue
            others = [each for number, each in enumerate(other.members) if number != place]
            ios = sum(part.histogram.count for each in visits for part in each.parts)
            more = all(any(_asks_no_less(each, mine) for each in others) for mine in beside) and not asked.bytes
            less = not others and 1000 * ios <= offered * sum(each.ran_ms for each in visits)
            if load.flushes:
                alike = one.outstanding == load.outstanding and 1 / LIKE <= one.bs_bytes / load.bs_bytes <= LIKE
                more, less = more and alike and not any(one.covers("write") for one in credit), less and alike
            else:
                more = more and _asks_no_less(one, load) and _lasts(asked, one, laws)
                less = less and _asks_no_less(load, one) and (one.outstanding == 1 or offered == math.inf)
            if more or less:
                stream = other.streams[place][0] if other.streams else ""
                found.append(_held(asked, one, (visits, windows), stream, more=more, less=less))
    told = {one.answer for one in found} - {Answer.UNDECIDED}
    return next(one for one in reversed(found) if one.answer in told) if len(told) == 1 else found[-1]


def _flush_after(load: Cell) -> set[str]:
    """How many writes."""
    return {str(load.option.get(name, 0)) for name in FLUSHES} - {"0"}


def _asks_no_less(one: Cell, other: Cell) -> bool:
    """Whether a load that runs freely asks no less of a target than another, in whichever direction that goes."""
    return (
        set(other.directions) <= set(one.directions)
        and one.rw.startswith("rand") >= other.rw.startswith("rand")
        and min(one.block_sizes) >= max(other.block_sizes)
        and one.outstanding >= other.outstanding
        and one.option.get("direct") == other.option.get("direct")
        and _flush_after(one) == _flush_after(other)
    )


def _lasts(asked: Requirement, one: Cell, laws: Mapping[str, LawFit]) -> bool:
    """Whether the mean latency that a law gives a load for all time keeps a limit."""
    told = next(iter(foretold([one], laws, math.inf)), None)
    return told is not None and 1e9 * one.outstanding <= asked.limit * (told.iops_low or 0.0)


def _held(asked: Requirement, one: Cell, seen: Seen, stream: str, *, more: bool, less: bool) -> Judged:
    """A requirement held against visits of a load that asks no less, or no more, than the one that it is about."""
    visits, windows = seen
    spare, rate = LIKE if one.flushes else 1.0, 1.0
    needed = replace(asked, written=bool(one.flushes and one.option.get("direct")))
    if not asked.quantity.is_latency:  # of a closed loop it follows from the mean latency
        unit = {Quantity.RATE: one.bs_bytes, Quantity.KEPT: 1 / (asked.asked or 1)}.get(asked.quantity, 1)
        rate = 1e9 * one.outstanding * unit
        needed = Requirement(asked.load, Quantity.WRITE, rate / asked.limit)
    fits, fails = (judge(replace(needed, limit=needed.limit * by), windows, stream) for by in (1 / spare, spare))
    passed, failed = more and fits.answer is Answer.PASS, less and fails.answer is Answer.FAIL
    answer = Answer.PASS if passed else Answer.FAIL if failed else Answer.UNDECIDED
    value = judge(needed, visits, stream).value  # of which the windows are an image
    low, high = (edge and value and nearest(edge, value) for edge, nearest in ((fails.low, min), (fails.high, max)))
    if not asked.quantity.is_latency:
        value, low, high = (end and rate / end for end in (value, high, low))
    random, flush = "random " if one.rw.startswith("rand") else "", ", each with its flush" if one.flushes else ""
    by = f"with {random}{one.directions[0]}s of {format_size(one.bs_bytes)}, {one.outstanding} in flight{flush}"
    return Judged(asked, answer, value, low, high, fails.windows, waited=fails.waited, by=by, missed=fails.missed)


MOST_WINDOWS = 40
"""Of a number that is not decided, before others are asked."""


@dataclass(frozen=True)
class Carried:
    """How many a target carries. fits: of one, two, and so on. low, high: places in it of the most that it carries and
    of the fewest that it does not; -1 and its length where there is none. stuck: places between that stay undecided.
    """

    fits: Sequence[Fit]
    low: int
    high: int
    stuck: Sequence[int]

    @property
    def above(self) -> Fit | None:
        """The fewest that it does not carry, or that had been begun when the budget ended; None where none was."""
        asked = self.fits[self.high :] or [self.fits[place] for place in (self.next, *self.stuck) if place is not None]
        return next((fit for fit in asked if any(one.windows for _, one in fit.judged)), None)

    @property
    def around(self) -> list[Fit]:
        """The two around the answer."""
        return [*self.fits[max(self.low, 0) : self.low + 1], *filter(None, [self.above])]

    @property
    def next(self) -> int | None:
        """The place to be asked next; None when there is nothing between. Numbers double until one is too many."""
        top = max(self.low, *self.stuck, -1)
        if self.high == len(self.fits):
            return min(max(2 * top + 1, 0), self.high - 1) if top < self.high - 1 else None
        ends = ((self.low, min(self.stuck, default=self.high)), (top, self.high))
        return next(((low + high) // 2 for low, high in ends if high - low > 1), None)

    @property
    def answer(self) -> Answer:
        if self.low >= 0:
            return Answer.PASS if self.next is None or self.high < len(self.fits) else Answer.UNDECIDED
        return Answer.FAIL if self.high == 0 else Answer.UNDECIDED

    @property
    def finding(self) -> Finding:
        """The most that it seems to carry, with the most that it surely does and that it may."""
        above, most = self.above, self.fits[max(self.low, 0)]
        values: dict[str, Value] = {"none": self.answer is Answer.FAIL}
        if self.low + 1 < self.high < len(self.fits):
            seem = (fit for fit in reversed(self.fits[: self.high]) if all(one.holds for _, one in fit.judged))
            most = next(seem, most)
            values |= {"low": self.low + 1, "high": self.high}
        values["most"] = most.use.title if self.low >= 0 else None
        if above is not None:
            failed = above.answer is Answer.FAIL
            why = [value_text(one) if failed else takes(one) for _, one in above.judged if one.answer is above.answer]
            values |= {"above": above.use.title, "failed": failed, "why": why}
            values["more"] = failed and self.next is not None
        return Finding(FindingCode.FIT, values, place="map", target=self.fits[0].target)


def carried(fits: Sequence[Fit]) -> Carried:
    """From the fits of one, two, and so on, as far as they have come."""
    low = max((place for place, fit in enumerate(fits) if fit.answer is Answer.PASS), default=-1)
    high = next((n for n in range(low + 1, len(fits)) if fits[n].answer is Answer.FAIL), len(fits))
    tried = [place for place in range(low + 1, high) if any(one.windows >= MOST_WINDOWS for one in fits[place].open)]
    return Carried(fits, low, high, tried)


def _json(one: Judged) -> dict[str, Any]:
    asked = one.requirement
    return {
        "requirement": asked.words,
        "load": asked.load,
        "quantity": asked.quantity.value,
        "percentile": asked.percentile,
        "limit": asked.limit,
        "unit": "ns" if asked.quantity.is_latency else {"rate": "B/s", "iops": "1/s"}.get(asked.quantity.value, ""),
        "answer": one.answer.value,
        **{name: getattr(one, name) for name in ("value", "low", "high", "margin", "missed", "windows")},
        "seconds": round(one.seconds, 1),
        "windows_more": one.more,
        "waited": round(one.waited, 3),
        "bytes_moved": one.moved,
        "source": {"title": asked.source.title or "our profile", "url": asked.source.url, "read": asked.source.read},
        "change": asked.change,
    }
