# SPDX-License-Identifier: Apache-2.0
"""Latency percentiles and the courses of visits, packed for the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from ioatlas.analysis.latencies import FEWEST_BEYOND
from ioatlas.model.result import PERCENTS, LatencyCurve, TimeCourse
from ioatlas.report.columns import Floats, pack_f32, pack_integers, pack_log16, pack_texts
from ioatlas.report.page_format.cells import LatencyCurves, TimeCourses

MOST_CURVES = 12_000
MOST_POINTS = 120_000
"""Of all courses together: 4 bytes each before they are packed, of a page that should stay under 3 MB."""

Places = Mapping[tuple[str, str], int]
"""Rows of the page by cell key and direction."""


def packed_curves(curves: Sequence[LatencyCurve], places: Places) -> LatencyCurves:
    """The curves of the rows that the page shows."""
    known = [curve for curve in curves if (curve.cell_key, curve.direction) in places]
    kept = known if len(known) <= MOST_CURVES else []
    latencies = np.array([curve.latencies_ns for curve in kept], dtype=np.float64)
    return LatencyCurves(
        percents=list(PERCENTS),
        n=len(kept),
        row=pack_integers([places[curve.cell_key, curve.direction] for curve in kept]),
        n_ios=pack_f32([curve.n_ios for curve in kept]),
        latencies=pack_log16(latencies.ravel())[0],
        fewest_beyond=FEWEST_BEYOND,
        left_out=len(kept) < len(known),
    )


def packed_courses(courses: Sequence[TimeCourse], places: Places) -> TimeCourses:
    """The courses of the visits to the rows that the page shows."""
    known = [course for course in courses if (course.cell_key, course.direction) in places]
    kept = known if sum(len(course.end_ms) for course in known) <= MOST_POINTS else []
    return TimeCourses(
        n=len(kept),
        row=pack_integers([places[course.cell_key, course.direction] for course in kept]),
        purpose=pack_texts([course.purpose for course in kept]),
        verdict=pack_texts([course.verdict for course in kept]),
        discarded=pack_texts([course.discarded for course in kept]),
        started_seconds=pack_f32([course.started_seconds for course in kept]),
        cut_ms=pack_integers([course.cut_ms for course in kept]),
        n_points=pack_integers([len(course.end_ms) for course in kept]),
        end_ms=pack_integers([*chain.from_iterable(each.end_ms for each in kept)]),
        bw_bytes_per_s=pack_log16(_joined(each.bw_bytes_per_s for each in kept))[0],
        lat_mean_ns=pack_log16(_joined(each.lat_mean_ns for each in kept))[0],
        left_out=len(kept) < len(known),
    )


def _joined(series: Iterable[Sequence[float]]) -> Floats:
    return np.array([*chain.from_iterable(series)], dtype=np.float64)
