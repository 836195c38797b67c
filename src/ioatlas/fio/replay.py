# SPDX-License-Identifier: Apache-2.0
"""A cell that is a timed trace: its lanes as fio jobs of one group, and latencies from the time each I/O was due."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ioatlas import beneath
from ioatlas.errors import IoAtlasError, faults
from ioatlas.fio.io_log import RESOLUTION_NS, IoLog, series_of_rows
from ioatlas.fio.iolog import TimedIo, Trace, due_ms, lane_of, lane_text, read_trace, trace_text
from ioatlas.fio.jobfile import JobSection, JobValue
from ioatlas.fio.series import DIRECTIONS, SectionSeries, load_rows
from ioatlas.model.cell import TRACE, TRACE_SECONDS, Cell
from ioatlas.model.visit import SectionState, Series
from ioatlas.stats.openloop import OpenLoop, intended_from
from ioatlas.stats.warmup import Floats

FILE = "trace.iolog"
LANES = "trace"
"""The trace in a campaign's directory, and the folder of its lanes beside it."""
LEAD_MS = 800
"""From fio's start to the first I/O: time to start every lane."""
LATEST = 3.0
SPARE_SECONDS = 30.0
FASTER = 0.98
SERIES_POINTS, SHORTEST_INTERVAL_MS = 50, 10
_WORKLOAD = frozenset(
    {"rw", "bs", "size", "numjobs", "filename", "offset", "randrepeat", "randseed", "norandommap", TRACE, TRACE_SECONDS}
)
"""What a job with a log of its I/Os takes from there, or takes by another name."""


def cap_ms(cell: Cell) -> int:
    """Longest a replay may run: a target that cannot follow makes it late."""
    return round(1000 * (LATEST * float(cell.option[TRACE_SECONDS]) + SPARE_SECONDS))


def write_trace(directory: Path, trace: Trace, lane_counts: set[int]) -> None:
    """The trace and its lanes, where batches of the campaign in `directory` find them."""
    beneath.write_text(directory / FILE, trace_text(trace), in_root=True)
    for count in lane_counts:
        folder = beneath.make_directory(directory, f"{LANES}/{count}")
        for number in range(count):
            beneath.write_text(folder / str(number), lane_text(lane_of(trace, number, count), LEAD_MS))


def lane_name(name: str, number: int) -> str:
    return f"{name}-{number}" if number else name


def lane_sections(name: str, options: dict[str, JobValue], cell: Cell) -> list[JobSection]:
    """The jobs of a replay, one a lane, in one group: fio reports them as one under the name of the first.

    options: of the section, with the cell's own; paths are relative to the batch's directory.
    """
    common = {key: value for key, value in options.items() if key not in _WORKLOAD}
    if "filename" in options:
        common["replay_redirect"] = options["filename"]
    sections = []
    for number in range(cell.numjobs):
        own: dict[str, JobValue] = {
            "read_iolog": f"../../{LANES}/{cell.numjobs}/{number}",
            "write_lat_log": lane_name(name, number),
            "log_offset": 1,
        }
        sections.append(
            JobSection(lane_name(name, number), {**common, **own, **({} if number else {"new_group": None})})
        )
    return sections


@dataclass(frozen=True)
class _Done:
    """Columns of what was logged, lanes one after the other: completion and latency (ns), when it was due (ns since the
    first), its direction, bytes.
    """

    completion: Floats
    latency: Floats
    due: Floats
    direction: tuple[str, ...]
    moved: Floats


def read_replay(directory: Path, name: str, cell: Cell) -> tuple[IoLog, SectionState, str]:
    """The logs of all lanes against the trace; the state of its section; and why it is not finished."""
    with faults(IoAtlasError, "the trace of this campaign cannot be read", where=FILE, remedy="start a new campaign"):
        trace = read_trace(beneath.read_text(directory / ".." / ".." / FILE), FILE)
    empty = IoLog(SectionSeries(None, None, {}), {})
    lanes = [
        _lane(directory / f"{lane_name(name, number)}_lat.log", lane_of(trace, number, cell.numjobs))
        for number in range(cell.numjobs)
    ]
    if any(lane is None for lane in lanes):
        return empty, SectionState.FAILED, "what fio replayed is not the trace"
    done = [lane for lane in lanes if lane is not None and lane.completion.size]
    if not done:
        return empty, SectionState.CUT_SHORT, "no I/O of the trace was made"
    completion, latency = (
        np.concatenate([lane.completion for lane in done]),
        np.concatenate([lane.latency for lane in done]),
    )
    due, moved = np.concatenate([lane.due for lane in done]), np.concatenate([lane.moved for lane in done])
    direction = np.array([way for lane in done for way in lane.direction])
    whole = intended_from(completion, latency, due, resolution_ns=RESOLUTION_NS)
    started = completion - latency
    if np.ptp(started) < FASTER * np.ptp(due) - 2 * RESOLUTION_NS:
        return (
            empty,
            SectionState.FAILED,
            (
                f"fio replayed {np.ptp(due) / 1e9:.3g} s of trace in {np.ptp(started) / 1e9:.3g} s: "
                "this version does not keep its times"
            ),
        )
    start_ms, end_ms = int(started.min() / 1e6), int(completion.max() / 1e6)
    spent_ms = max(1, end_ms - start_ms)
    interval_ms = max(SHORTEST_INTERVAL_MS, spent_ms // SERIES_POINTS)
    series: dict[str, Series] = {}
    loops: dict[str, tuple[OpenLoop, ...]] = {}
    for way in trace.directions:
        mine = direction == way
        rows = np.column_stack([completion[mine] / 1e6, latency[mine], np.zeros(mine.sum()), moved[mine]]).astype(
            np.int64
        )
        series[way] = series_of_rows(rows, start_ms, interval_ms, max(1, spent_ms // interval_ms))
        loops[way] = (replace(whole, latency_ns=whole.latency_ns[mine]),)
    log = IoLog(SectionSeries(start_ms, end_ms, series), loops, spent_ms)
    if completion.size < len(trace.ios):
        return log, SectionState.CUT_SHORT, f"{completion.size} of {len(trace.ios)} I/Os of the trace were made"
    return log, SectionState.FINISHED, ""


def _lane(path: Path, ios: tuple[TimedIo, ...]) -> _Done | None:
    """One lane's rows beside its I/Os; None when they are not the same ones. With one in flight the log is in the order
    of the trace.
    """
    rows = load_rows(path, columns=(0, 1, 2, 3, 4))
    if len(rows) > len(ios):
        return None
    ios = ios[: len(rows)]
    told = [(DIRECTIONS[row[2]], int(row[3]), int(row[4])) for row in rows]
    if told != [(one.direction, one.length_bytes, one.offset_bytes) for one in ios]:
        return None
    return _Done(
        rows[:, 0] * 1e6,
        rows[:, 1].astype(float),
        np.array([due_ms(one) * 1e6 for one in ios], dtype=float),
        tuple(one.direction for one in ios),
        rows[:, 3].astype(float),
    )
