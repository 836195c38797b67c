# SPDX-License-Identifier: Apache-2.0
"""The laws of a campaign's targets, where its loads were chosen by them: kept with the campaign, and fitted on from
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ioatlas.law.course import Course
from ioatlas.law.read import courses_by_target
from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import KeptLaw, LaidOuts
from ioatlas.model.visit import Visit
from ioatlas.store.journal import Journal

if TYPE_CHECKING:
    from ioatlas.law.fit import Fit


def laws_of(journal: Journal, cells: Mapping[str, Cell], visits: Iterable[Visit]) -> dict[str, Fit]:
    """By target; none of a campaign whose loads were not chosen so."""
    if not journal.is_kept(KeptLaw):
        return {}
    from ioatlas.law.fit import fit_law  # with scipy, which other campaigns are shown without

    kept = journal.kept(KeptLaw).targets
    found = {}
    files = journal.kept(LaidOuts).files
    for name, courses in courses_by_target(visits, cells, journal.asked_ms(), files).items():
        fit = _kept(kept.get(name), courses) or fit_law(courses)
        if fit is not None:
            found[name] = fit
    return found


def keep_laws(journal: Journal, cells: Mapping[str, Cell]) -> None:
    """Fit the laws and keep where they lie."""
    fits = laws_of(journal, cells, journal.visits(with_series=True))
    journal.keep(KeptLaw({name: _record(fit) for name, fit in fits.items()}))


def _record(fit: Fit) -> dict[str, Any]:
    shape = fit.shape
    return {
        "ways": list(shape.ways),
        "seek": shape.seek,
        "limiters": [[one.unit, list(one.ways), one.refills] for one in shape.limiters],
        "drifts": shape.drifts,
        "theta": [float(value) for value in fit.theta],
        "loads": len(fit.courses),
        "apart": [course.visit_id for course in fit.courses if course.counted and not course.fits],
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
    return refit(shape, theta, [replace(one, fits=one.visit_id not in apart) for one in courses])
