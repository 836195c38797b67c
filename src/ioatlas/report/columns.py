# SPDX-License-Identifier: Apache-2.0
"""Packing of columns: numbers to the base64 texts that `page_format.Column` describes; latency percentiles and courses
of visits among them.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ioatlas.answer.analysis.latencies import FEWEST_BEYOND
from ioatlas.model.result import PERCENTS, LatencyCurve, TimeCourse
from ioatlas.report.page_format import Column, Dictionary, Encoding, LatencyCurves, TimeCourses

Floats = NDArray[np.float64]

PLAIN_TEXT_LETTERS = 20_000
"""Texts of a column together; more are packed."""

_INTEGERS: dict[Encoding, str] = {"u8": "<u1", "u16": "<u2", "u32": "<u4"}
LOG16_CODES = 65535
WIDTH8_CODES = 254
SMALLEST_WIDTH = 1e-6
"""Interval widths below this (relative) are written as no width."""


def pack_bytes(raw: bytes) -> str:
    """Base64 of gzip; equal input gives equal text."""
    return base64.b64encode(gzip.compress(raw, compresslevel=6, mtime=0)).decode("ascii")


def pack_texts(texts: Sequence[str]) -> Dictionary:
    """A text for each row, each written once."""
    place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    codes = pack_integers([place[text] for text in texts])
    kept = list(place)
    if sum(map(len, kept)) <= PLAIN_TEXT_LETTERS:
        return Dictionary(texts=kept, packed_texts="", codes=codes)
    return Dictionary(texts=[], packed_texts=pack_bytes(json.dumps(kept).encode()), codes=codes)


def pack_integers(numbers: Sequence[int] | NDArray[np.integer]) -> Column:
    """Non-negative integers in the narrowest of u8, u16 and u32; those that never fall as their steps."""
    values = np.asarray(numbers, dtype=np.int64)
    steps = np.diff(values, prepend=0)
    rising = len(values) > 1 and bool((steps >= 0).all())
    values = steps if rising else values
    top = int(values.max(initial=0))
    for encoding, dtype in _INTEGERS.items():
        if top <= np.iinfo(dtype).max:
            return Column(encoding=encoding, data=pack_bytes(values.astype(dtype).tobytes()), step=float(rising))
    raise ValueError(f"{top} does not fit 32 bits")


def pack_f32(values: Sequence[float] | Floats) -> Column:
    return Column(encoding="f32", data=pack_bytes(np.asarray(values, dtype="<f4").tobytes()))


def pack_log16(values: Floats) -> tuple[Column, Floats, float]:
    """Positive values on a logarithmic scale of 65,535 codes; anything else is unknown.

    Returns the column, the values a reader gets back, and the largest relative rounding.
    """
    known = np.isfinite(values) & (values > 0)
    codes = np.zeros(values.shape, dtype=np.uint16)
    back = np.full(values.shape, np.nan)
    base = step = 0.0
    if known.any():
        logs = np.log(values[known])
        base = float(logs.min())
        step = float(logs.max() - base) / (LOG16_CODES - 1)
        codes[known] = 1 if step == 0 else np.rint((logs - base) / step).astype(np.uint16) + 1
        back[known] = np.exp(base + (codes[known].astype(np.float64) - 1) * step)
    planes = np.concatenate([codes & 0xFF, codes >> 8]).astype(np.uint8)
    return (
        Column(encoding="log16", data=pack_bytes(planes.tobytes()), base=base, step=step),
        back,
        float(np.expm1(step / 2)),
    )


def width_scale(widths: Floats) -> tuple[float, float]:
    """(base, step) that spread 254 codes over the widths at hand."""
    wide = widths[np.isfinite(widths) & (widths > SMALLEST_WIDTH)]
    if not wide.size:
        return 0.0, 0.0
    base = float(np.log(wide.min()))
    return base, float(np.log(wide.max()) - base) / (WIDTH8_CODES - 1)


def width_codes(widths: Floats, base: float, step: float) -> NDArray[np.uint8]:
    """Codes of logarithmic widths: 0 unknown, 1 no width, else 2 + steps above base."""
    codes = np.zeros(widths.shape, dtype=np.uint8)
    known = np.isfinite(widths)
    codes[known] = 1
    wide = known & (widths > SMALLEST_WIDTH)
    codes[wide] = 2 if step == 0 else np.rint((np.log(widths[wide]) - base) / step).astype(np.uint8) + 2
    return codes


def pack_interval(centre: Floats, low: Floats, high: Floats, names: tuple[str, str, str]) -> dict[str, Column]:
    """Bounds beside a column, as 8-bit logarithmic widths. `names` are those of centre, low and high.

    The lower bound is written as its difference from the upper one's code: an interval symmetric on the log scale
    costs nothing twice.
    """
    of, low_name, high_name = names
    with np.errstate(divide="ignore", invalid="ignore"):
        above, below = np.log(high / centre), np.log(centre / low)
    above, below = (np.where(np.isfinite(width), np.maximum(width, 0.0), np.nan) for width in (above, below))
    base, step = width_scale(np.concatenate([above, below]))
    up, down = width_codes(above, base, step), width_codes(below, base, step)
    return {
        high_name: Column(encoding="width8", data=pack_bytes(up.tobytes()), base=base, step=step, sign=1, of=of),
        low_name: Column(
            encoding="width8",
            data=pack_bytes((down - up).tobytes()),
            base=base,
            step=step,
            sign=-1,
            of=of,
            mirror=high_name,
        ),
    }


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
        started_seconds=pack_integers([round(course.started_seconds) for course in kept]),
        cut_ms=pack_integers([course.cut_ms for course in kept]),
        n_points=pack_integers([len(course.end_ms) for course in kept]),
        end_ms=pack_integers([*chain.from_iterable(each.end_ms for each in kept)]),
        bw_bytes_per_s=pack_log16(_joined(each.bw_bytes_per_s for each in kept))[0],
        lat_mean_ns=pack_log16(_joined(each.lat_mean_ns for each in kept))[0],
        left_out=len(kept) < len(known),
    )


def _joined(series: Iterable[Sequence[float]]) -> Floats:
    return np.array([*chain.from_iterable(series)], dtype=np.float64)
