# SPDX-License-Identifier: Apache-2.0
"""The cells of a page: axes, packed columns, values, what was not measured, how to run a cell again, and the latencies
and courses of their visits.
"""

from __future__ import annotations

from typing import Literal

from ioatlas.report.page_format.parts import AxisUnit, Model

AxisRole = Literal["option", "target", "direction", "sharing", "state", "factor"]
Encoding = Literal["u8", "u16", "u32", "f32", "log16", "quotient", "width8"]


class Constant(Model):
    """An option that every cell shares. Sizes are bytes."""

    name: str
    value: str
    unit: AxisUnit


class Axis(Model):
    """One dimension of the sweep. Cells refer to levels by position."""

    name: str
    """fio's option name, or target, direction, sharing, state, or factor_NAME"""
    role: AxisRole
    unit: AxisUnit
    numeric: bool
    """levels are numbers in ascending order"""
    derived: bool
    """follows from the other axes (an engine that depends on the depth): shown, never navigated"""
    levels: list[int | float | str | None]
    """null: the option is not set in these cells"""
    label: str = ""
    """what people read, where neither fio's name nor ours tells it"""


class Column(Model):
    """One value per row of a table, packed. `data` is base64 of gzip of the bytes described by `encoding`;
    little-endian throughout.

    u8, u16, u32  plain integers; where `step` is 1, each is the sum of those up to it. f32           IEEE floats;
    NaN is unknown. log16         codes c of 16 bits, written as all low bytes and then all high bytes; 0 is
    unknown, else exp(base + (c - 1) * step).
    quotient      no data: the column `of` divided by the level of the numeric axis `by`. width8        a bound
    beside the column `of`: codes c of 8 bits; 0 is withheld, 1 is no width, else the width in logarithms is
                  w = exp(base + (c - 2) * step) and the bound is of * exp(sign * w). With `mirror` the stored byte
                  is c minus the code of that column, modulo 256.
    """

    encoding: Encoding
    data: str = ""
    base: float = 0.0
    step: float = 0.0
    sign: int = 0
    of: str = ""
    by: str = ""
    mirror: str = ""


class Dictionary(Model):
    """A column of positions in a list of texts. Many texts are packed: base64 of gzip of their JSON array, and
    `texts` is empty.
    """

    texts: list[str]
    packed_texts: str
    codes: Column


class Cells(Model):
    """The rows of the result: one for each cell, direction and kind that has an estimate, in grid order.

    axes: one column of level positions for each axis, in the order of `ReportData.axes`.
    values: columns by name, NaN where unknown: bw_bytes_per_s, bw_low, bw_high, iops, iops_low, iops_high,
    lat_mean_ns, lat_mean_low_ns,
        lat_mean_high_ns, lat_p99_ns, lat_p99_low_ns, lat_p99_high_ns, window_seconds, cut_seconds,
        ceiling_bytes_per_s, limit_probability, watts, ratio, ratio_low, ratio_high,
        ratio_told (0: undecided, 1: a difference, 2: the same within the tolerance, 3: predicted). A
        name is left out when no row has a value.
    resolution: largest relative rounding of a value in this page; 0 where single-precision floats are kept.
    loop: 'closed' or 'open'; empty for what was imported. seeds: of the visits, as text; empty in pages of many
    rows, an export has them.
    notes_left_out: the notes were too many for a page and are all empty here; an export has them.
    """

    n_rows: int
    axes: list[Column]
    kind: Dictionary
    mark: Dictionary
    verdict: Dictionary
    method: Dictionary
    lat_kind: Dictionary
    loop: Dictionary
    seeds: Dictionary
    note: Dictionary
    limit: Dictionary
    """what limits the cell, 'undetermined', or empty where that was not worked out"""
    limit_why: Dictionary
    """margin to the next resource and evidence; empty like notes where there are too many"""
    ceiling: Dictionary
    """name of the tightest bound of the path, whose value is `ceiling_bytes_per_s`; empty without one"""
    grade: Dictionary
    """how far a value is to be believed, and why no further; empty when unknown"""
    n_visits: Column
    n_discarded: Column
    values: dict[str, Column]
    resolution: float
    notes_left_out: bool


class UnmeasuredCells(Model):
    """Cells of the sweep without an estimate: level positions as in `Cells.axes`, and why."""

    n_rows: int
    axes: list[Column]
    reason: Dictionary
    code: Dictionary
    """of each reason: `UnmeasuredCode`"""


class JobRecipe(Model):
    """What the page needs to write a cell's fio job: these lines, then one line for each option axis.

    A null level writes no line. Where `has_engine` is false no option sets an engine: it is the target's own from
    `target_engine`, else the first of `engine_from_depth` at iodepth 1 and the second above. `work_bounded` names
    options that end the load by work: with one of them in a cell, or `constant_work_bounded`, no runtime is
    written.
    """

    global_lines: list[str]
    engine_from_depth: list[str]
    target_engine: dict[str, str]
    has_engine: bool
    work_bounded: list[str]
    constant_work_bounded: bool
    sharing: str
    """of every cell; empty when it is an axis"""
    default_window_seconds: float


class LatencyCurves(Model):
    """Latency percentiles of rows of `Cells`, over all I/Os of their visits.

    row, n_ios: one for each curve. latencies: those of a curve one after the other, one for each of `percents`; NaN
    where too few I/Os lie beyond. left_out: they were too many for a page; the campaign has them.
    """

    percents: list[float]
    n: int
    row: Column
    n_ios: Column
    latencies: Column
    fewest_beyond: int
    """I/Os that must lie beyond a percentile for it to be told"""
    left_out: bool


class TimeCourses(Model):
    """Visits over time, in the order in which they ran; a visit of two directions is there twice.

    row, purpose, verdict, discarded, started_seconds, cut_ms, n_points: one for each visit. discarded: why it does not
    count, empty when it does. started_seconds: since the first one, whole. cut_ms: end of the warm-up that was cut.
    end_ms, bw_bytes_per_s, lat_mean_ns: those of all visits one after the other, `n_points` for each; 0 where nothing
    completed. left_out: they were too many for a page; the campaign has them.
    """

    n: int
    row: Column
    purpose: Dictionary
    verdict: Dictionary
    discarded: Dictionary
    started_seconds: Column
    cut_ms: Column
    n_points: Column
    end_ms: Column
    bw_bytes_per_s: Column
    lat_mean_ns: Column
    left_out: bool
