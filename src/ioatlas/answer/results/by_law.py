# SPDX-License-Identifier: Apache-2.0
"""The laws of a campaign's targets: kept with the campaign, and fitted on from there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ioatlas.answer.analysis.best import best_of, groups, speed
from ioatlas.answer.analysis.drift import course_words
from ioatlas.answer.analysis.trust import SHIFT
from ioatlas.answer.analysis.wording import Namer
from ioatlas.answer.law.course import Course
from ioatlas.answer.law.read import courses_by_target, have_one_law
from ioatlas.answer.results.library import is_opened
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.outcomes import Chosen, KeptLaw, LaidOuts
from ioatlas.model.panel import Table
from ioatlas.model.result import Wander
from ioatlas.model.units import format_duration, format_rate
from ioatlas.model.visit import Visit
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.journal import Journal

if TYPE_CHECKING:
    from ioatlas.answer.law.fit import Fit


FEWEST_STOPS = 3
MOST_TAUGHT, MOST_LOADS = 60, 1000
"""Loads that a law rests on: fitting takes so much longer with each of them, and tells little more. Of more than the
latter no law is fitted: all of them took from credit.
"""


def are_chosen(journal: Journal) -> bool:
    """Whether the loads of a map were chosen one after another: they are no rounds, and no repeats of each other, for
    each has its own length, and what credit those before it had left.
    """
    return journal.is_kept(Chosen)


def are_foretold(journal: Journal, spec: CampaignSpec) -> bool:
    """Whether the law tells cells that no load made: not where each is to be precise. Of maps of few cells that version
    0.3 made too, in the place of what its model predicted.
    """
    few = any(spec.own.get(name) for name in ("cells", "error")) or "adaptive" in journal.record_names()
    return spec.wanted.precision is None and (few or journal.is_kept(KeptLaw))


def laws_of(journal: Journal, cells: Mapping[str, Cell], visits: Iterable[Visit]) -> dict[str, Fit]:
    """By target; none where the loads differ in what no law describes, and of a campaign that is not finished. What a
    bundle says of its law is not believed: it is fitted to the loads again.
    """
    if not (journal.campaign().complete or journal.is_kept(KeptLaw)):
        return {}
    names = {cell.target for cell in cells.values()}
    told = {name for name in names if have_one_law(cell for cell in cells.values() if cell.target == name)}
    if not told:
        return {}
    from ioatlas.answer.law.kept import fit_of

    kept = {} if is_opened(journal.directory) else journal.kept(KeptLaw).targets
    found, files = {}, journal.kept(LaidOuts).files
    for name, courses in courses_by_target(visits, cells, journal.asked_ms(), files).items():
        if name not in told or len(courses) > MOST_LOADS or not any(course.counted for course in courses):
            continue
        fit = fit_of(kept.get(name, {}), courses) or fitted(courses)
        if fit is not None:
            found[name] = fit
    return found


def fitted(courses: Sequence[Course]) -> Fit | None:
    """The law that they teach; None where none of them counts."""
    from threadpoolctl import threadpool_limits

    from ioatlas.answer.law.fit import fit_law

    with threadpool_limits(limits=1, user_api="blas"):
        return fit_law(_teaching(courses))


def _teaching(courses: Sequence[Course]) -> list[Course]:
    """The courses, with those that teach the law: of every cell one, then a second, spread evenly over the time."""
    turns: dict[int, list[int]] = {}
    made: Counter[tuple[str, str]] = Counter()
    for course in courses:
        if course.counted and course.visit_id:
            turns.setdefault(made[course.cell.key, course.direction], []).append(course.visit_id)
            made[course.cell.key, course.direction] += 1
    kept = {0}  # the files' writing
    for turn in sorted(turns):
        count = min(len(turns[turn]), MOST_TAUGHT - len(kept))
        kept |= {turns[turn][place * len(turns[turn]) // count] for place in range(count)}
    return [replace(course, fits=course.fits and course.visit_id in kept) for course in courses]


def keep_laws(journal: Journal, cells: Mapping[str, Cell]) -> dict[str, Fit]:
    """Fit the laws, which are given back, and keep them."""
    from ioatlas.answer.law.kept import record_of

    if not journal.is_kept(KeptLaw):
        journal.keep(KeptLaw())
    fits = laws_of(journal, cells, journal.visits(with_series=True))
    journal.keep(KeptLaw({name: record_of(fit) for name, fit in fits.items()}))
    return fits


def wanders_of(
    fits: Mapping[str, Fit], estimates: Sequence[Estimate], records: Mapping[int, Mapping[str, Any]]
) -> Iterator[Wander]:
    """How the levels of targets went that are as good as sure to have drifted, by a good deal; and pauses in which all
    that was in flight was held up, where loads lost as much, and did not wait as long for a processor of this machine.
    records: what was read beside each visit, by its id.
    """
    from ioatlas.answer.law.limits import LIKELY
    from ioatlas.answer.law.told import lost_of

    for target, fit in fits.items():
        sure = sum(odds for law, odds in fit.odds if law.drift * fit.drift > 0)
        if sure >= LIKELY and abs(math.expm1(fit.drift)) >= SHIFT.fair:
            best = {way: best_of(groups(estimates).get((target, way), ())) for way in fit.shape.ways}
            rates = ((way, speed(one.peak) * math.exp(fit.drift / 2)) for way, one in best.items() if one)
            now = ", ".join(f"{way}s {format_rate(rate)}" for way, rate in rates)
            change, end = math.expm1(fit.drift), max(one.start + one.ended for one in fit.courses)
            yield Wander(target, change, course_words(change, 0.0, end, now))
        met = [one for one in fit.courses if one.counted and one.visit_id]
        count, seconds = sum(one.stops[0] for one in met), sum(one.seconds for one in met)
        stopped = sum(one.stops[0] * one.stops[1] for one in met)
        waited = sum(one.seconds * (records.get(one.visit_id, {}).get("waiting") or 0.0) for one in met)
        if count >= FEWEST_STOPS and waited < stopped and any(lost_of(fit, way)[0] for way in fit.shape.ways):
            each, every = format_duration(stopped / count), f"{seconds / count:.2g} s"
            yield Wander(
                target, -1.0, f"falls to nothing for {each} every {every}: {stopped / seconds:.0%} of the time"
            )


def law_tables(fits: Mapping[str, Fit]) -> tuple[Table, ...]:
    """Each load as it was seen and as its target's law has it, credit included: how well the law describes them."""
    found = []
    for target, fit in fits.items():
        rows, namer = [], Namer([course.cell for course in fit.courses if course.visit_id], [target])
        for (place, logs), off in zip(fit.foretold.items(), fit.residuals, strict=True):
            course, seconds = fit.courses[place], np.diff(fit.courses[place].edges)
            seen, law = course.done[-1] / course.edges[-1], float(np.exp(logs) @ seconds / seconds.sum())
            load = (namer.short(course.cell) if course.visit_id else "writing the files", course.direction)
            rates = (format_rate(seen * course.bs), format_rate(law * course.bs), f"{law / seen - 1:+.1%}")
            rows.append((*load, *rates, f"{float(np.std(off)):.1%}" if off.size > 1 else "–"))
        columns = ("load", "direction", "measured", "by the law", "off", "spread within")
        note = "One law of the target is fitted to all of these; the interval of each number allows for its misfit."
        title = f"The law{f' of {target}' if len(fits) > 1 else ''}, load by load"
        found.append(Table(title, columns, tuple(rows), note, after_map=True, folded=True))
    return tuple(found)
