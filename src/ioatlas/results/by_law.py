# SPDX-License-Identifier: Apache-2.0
"""The laws of a campaign's targets: kept with the campaign, and fitted on from there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ioatlas.law.course import Course
from ioatlas.law.read import courses_by_target, have_one_law
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import KeptLaw, LaidOuts
from ioatlas.model.visit import Visit
from ioatlas.store.journal import Journal
from ioatlas.surrogate.threads import one_thread

if TYPE_CHECKING:
    from ioatlas.law.fit import Fit


MOST_TAUGHT, MOST_LOADS = 60, 1000
"""Loads that a law rests on: fitting takes so much longer with each of them, and tells little more. Of more than the
latter no law is fitted: all of them took from credit.
"""


@one_thread
def laws_of(journal: Journal, cells: Mapping[str, Cell], visits: Iterable[Visit]) -> dict[str, Fit]:
    """By target; none where the loads differ in what no law describes, and of a campaign that is not finished."""
    if not (journal.campaign().complete or journal.is_kept(KeptLaw)):
        return {}
    names = {cell.target for cell in cells.values()}
    told = {name for name in names if have_one_law(cell for cell in cells.values() if cell.target == name)}
    if not told:
        return {}
    from ioatlas.law.fit import fit_law  # with scipy, which other campaigns are shown without

    kept = journal.kept(KeptLaw).targets
    found = {}
    files = journal.kept(LaidOuts).files
    for name, courses in courses_by_target(visits, cells, journal.asked_ms(), files).items():
        if name not in told or len(courses) > MOST_LOADS or not any(course.counted for course in courses):
            continue
        teaching = _teaching(courses)
        fit = _kept(kept.get(name), teaching) or fit_law(teaching)
        if fit is not None:
            found[name] = fit
    return found


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
    """Fit the laws, which are given back, and keep where they lie."""
    if not journal.is_kept(KeptLaw):
        journal.keep(KeptLaw())
    fits = laws_of(journal, cells, journal.visits(with_series=True))
    journal.keep(KeptLaw({name: _record(fit) for name, fit in fits.items()}))
    return fits


def _record(fit: Fit) -> dict[str, Any]:
    shape = fit.shape
    asked = {one.visit_id for one in _teaching([replace(one, fits=True) for one in fit.courses]) if one.taught}
    return {
        "ways": list(shape.ways),
        "seek": shape.seek,
        "limiters": [[one.unit, list(one.ways), one.refills] for one in shape.limiters],
        "drifts": shape.drifts,
        "theta": [float(value) for value in fit.theta],
        "loads": len(fit.courses),
        "apart": sorted(asked - {course.visit_id for course in fit.courses if course.taught}),
    }


def _kept(record: Mapping[str, Any] | None, courses: list[Course]) -> Fit | None:
    """The law that was kept, fitted to the loads; None where there is none, or more was seen since."""
    from ioatlas.law.fit import MOST_APART, refit
    from ioatlas.law.model import Limiter, Shape

    if record is None or record.get("loads") != len(courses):
        return None
    try:
        limiters = tuple(Limiter(unit, tuple(ways), bool(refills)) for unit, ways, refills in record["limiters"])
        shape = Shape(tuple(record["ways"]), record["seek"], limiters, bool(record["drifts"]))
        theta = [float(value) for value in record["theta"]]
        apart = {int(one) for one in record["apart"]}
    except (KeyError, TypeError, ValueError):
        return None
    known = all(one.unit in ("bytes", "ios") for one in limiters) and shape.seek in ("none", "latency", "both")
    few = len(apart) <= MOST_APART * len(courses)
    if not known or not few:
        return None
    return refit(shape, theta, [replace(one, fits=one.fits and one.visit_id not in apart) for one in courses])
