# SPDX-License-Identifier: Apache-2.0
"""Uses held against what was measured: the answer on each, with those on its requirements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

from ioatlas.answer.law.cells import MOST_FORETOLD, foretold
from ioatlas.answer.law.fit import Fit as LawFit
from ioatlas.answer.results.by_law import laws_of
from ioatlas.load.machine.visit_usage import records_by_visit
from ioatlas.measure.procedures.fit.plan import cells_of
from ioatlas.measure.procedures.fit.use import Asked, Quantity, Requirement, Use, Uses
from ioatlas.measure.procedures.fit.verdict import HOPELESS, Answer, Judged, counts, judge
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.units import format_duration
from ioatlas.model.verdict import VerdictClass, verdict_class
from ioatlas.model.visit import Visit
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
    def sentence(self) -> str:
        """The answer in plain English; of what is open its requirements tell what it would take."""
        if self.answer is Answer.PASS:
            room = f", with {times(self.margin)} what it needs" if self.margin is not None else ""
            return f"PASS: {self.target} fits {self.use.title}{room}."
        if self.answer is Answer.FAIL:
            broken = [told(one) for _, one in self.judged if one.answer is Answer.FAIL]
            return f"FAIL: {self.target} does not fit {self.use.title}: {'; '.join(broken)}."
        if not any(one.seconds for _, one in self.judged):
            return f"UNDECIDED: what was measured does not tell whether {self.target} fits {self.use.title}."
        count, of = len(self.open), len(self.judged)
        each = f"{count} of {of} requirements {'is' if count == 1 else 'are'}" if of > 1 else "its requirement is"
        return f"UNDECIDED: whether {self.target} fits {self.use.title} is not known: {each} open."

    def as_json(self) -> dict[str, Any]:
        return {
            "use": self.use.name,
            "title": self.use.title,
            "target": self.target,
            "answer": self.answer.value,
            "margin": self.margin,
            "sentence": self.sentence,
            "requirements": [_json(one) for _, one in self.judged],
        }


def times(margin: float) -> str:
    """'3.1 times'."""
    return f"{margin:.2g} times" if margin < 99.5 else f"{margin:,.0f} times"


def told(one: Judged) -> str:
    """'p99 of flushes 12.1 ms (11.2 ms to 13.0 ms), at most 10 ms'."""
    asked = one.requirement
    if one.value is None:
        return f"{asked.words}: not measured"
    low, high = ("" if end is None else asked.amount(end) for end in (one.low, one.high))
    if not low and not high:
        return f"{asked.words}, measured {asked.amount(one.value)} in {one.windows} windows that differ too much"
    ends = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
    return f"{asked.words}, measured {asked.amount(one.value)} ({ends})"


def takes(one: Judged) -> str:
    """What it would take to decide."""
    if not one.seconds:
        return f"{told(one)}{': too near to the limit to be told by the law' if one.windows else ''}"
    if one.waited:
        return f"{told(one)}: the load waited {one.waited:.0%} of its time for a processor, which may be why"
    if one.more >= HOPELESS * one.windows:
        return f"{told(one)}: it lies at the limit, or moves too much to be told"
    return f"{told(one)}: about {format_duration(one.more * one.seconds / one.windows)} more would tell"


def measured_text(one: Judged) -> str:
    """What was measured of a requirement, and how good that is; or what it would take to decide."""
    if one.answer is Answer.UNDECIDED:
        return takes(one)
    if one.margin is None:
        return told(one)
    good = times(one.margin) if one.margin >= 1 else f"{one.margin:.0%}"
    return f"{told(one)}: {good} as good as needed"


def requirement_text(one: Judged) -> str:
    """A requirement with its answer, its source, and what to change."""
    change = f" Change: {one.requirement.change}." if one.requirement.change and one.answer is not Answer.PASS else ""
    return f"{one.answer.upper()}: {measured_text(one)}. Source: {one.requirement.source}.{change}"


def fits_of(journal: Journal, asked: Iterable[Asked], visits: Sequence[Visit]) -> list[Fit]:
    """Every use on every target, by the visits at hand."""
    by_cell: dict[str, list[Visit]] = {}
    in_flight = {cell.key: cell.outstanding for cell, _ in journal.cells()}
    records = records_by_visit(journal.usages())
    for visit in visits:
        if counts(visit):
            waited = records.get(visit.visit_id, {}).get("waiting")
            by_cell.setdefault(visit.cell_key, []).append(replace(visit, waiting=waited))
    found = []
    for each in asked:
        places = [(one, *each.cells[one.load]) for one in each.use.requires]
        judged = tuple((key, _judged(one, by_cell.get(key, ()), stream, in_flight[key])) for one, key, stream in places)
        found.append(Fit(each.use, each.target, judged))
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


def fits_by_law(journal: Journal, uses: Iterable[Use], estimates: Iterable[Estimate]) -> list[Fit]:
    """Uses on the targets of a campaign that was measured, by the law of each: rates that loads near enough tell of.
    What else a use requires is not measured. estimates: of the campaign; a direction in which one of them is suspect,
    as it is of a cache, says nothing of the target.
    """
    measured = [e for e in estimates if e.kind == "measured"]
    suspect = {(e.cell.target, e.direction) for e in measured if verdict_class(e.verdict) is VerdictClass.SUSPECT}
    cells = {cell.key: cell for cell, _ in journal.cells()}
    laws = laws_of(journal, cells, journal.visits(with_series=True))
    found = []
    for target, use in product(journal.targets(), uses):
        places = {load.name: cell for cell, loads in cells_of(use, target, {}) for load in loads}
        judged = []
        for one in use.requires:
            cell = places[one.load]
            told = suspect.isdisjoint((cell.target, way) for way in cell.directions)
            judged.append((cell.key, _by_law(one, cell, laws if told else {})))
        found.append(Fit(use, target.name, tuple(judged)))
    return found


def _by_law(asked: Requirement, cell: Cell, laws: Mapping[str, LawFit]) -> Judged:
    seen = [one.cell for one in laws[cell.target].courses if one.counted] if cell.target in laws else []
    if not seen or asked.quantity not in (Quantity.RATE, Quantity.IOPS) or asked.bytes or cell.streams:
        return Judged(asked, Answer.UNDECIDED)
    sized = Cell.of(cell.target, {**cell.option, "size": max(one.size_bytes for one in seen)}, sharing=seen[0].sharing)
    for told in foretold([sized], laws, math.inf):
        unit = cell.bs_bytes if asked.quantity is Quantity.RATE else 1
        value, low, high = (unit * (one or 0.0) for one in (told.iops, told.iops_low, told.iops_high))
        if high - low > 2 * MOST_FORETOLD * value:  # a law that is so unsure is wrong more often: twice as far
            low, high = low * low / value, high * high / value
        answer = Answer.PASS if low > asked.limit else Answer.FAIL if high < asked.limit else Answer.UNDECIDED
        return Judged(asked, answer, value, low, high, windows=1)
    return Judged(asked, Answer.UNDECIDED)


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
    def told(self) -> list[Fit]:
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
    def sentence(self) -> str:
        """The most that it seems to carry, with the most that it surely does and that it may."""
        target, above, most, between = self.fits[0].target, self.above, self.fits[max(self.low, 0)], ""
        if self.low + 1 < self.high < len(self.fits):
            seem = (fit for fit in reversed(self.fits[: self.high]) if all(one.holds for _, one in fit.judged))
            most, between = next(seem, most), f" ({self.low + 1} to {self.high})"
        none = "does not carry even one" if self.answer is Answer.FAIL else "is not known to carry any"
        carries = f"carries {most.use.title}{between}" if self.low >= 0 else none
        if above is None:
            return f"{target} {carries}; more was not tried."
        failed = above.answer is Answer.FAIL
        why = [told(one) if failed else takes(one) for _, one in above.judged if one.answer is above.answer]
        verb = "It does not carry" if failed else "It is undecided whether it carries"
        more = " The budget ended before what lies between was tried." if failed and self.next is not None else ""
        return f"{target} {carries}. {verb} {above.use.title}: {'; '.join(why)}.{more}"


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
        **{name: getattr(one, name) for name in ("value", "low", "high", "margin", "windows")},
        "seconds": round(one.seconds, 1),
        "windows_more": one.more,
        "waited": round(one.waited, 3),
        "bytes_moved": one.moved,
        "source": {"title": asked.source.title or "our profile", "url": asked.source.url, "read": asked.source.read},
        "change": asked.change,
    }
