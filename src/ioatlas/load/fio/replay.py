# SPDX-License-Identifier: Apache-2.0
"""Timed traces: fio's version 3 log read, checked and dealt out to lanes, which fio replays at absolute times as jobs
of one group; and latencies from the time each I/O was due.

Facts about fio's replay that the lanes rest on (fio 3.33, `iolog.c`, each tried): a version 3 log waits a time since
the job's last I/O, so a replay that was once late stays late by as much for good; a `wait` of version 2 waits until an
absolute time, in milliseconds since fio started, so what is overdue is made up for at once. With more than one I/O in
flight fio sees completions only when it is full or about to submit, so every lane has one.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from ioatlas.load.fio.jobfile import JobSection
from ioatlas.load.fio.series import DIRECTIONS, RESOLUTION_NS, IoLog, SectionSeries, load_rows, series_of_rows
from ioatlas.model.cell import TRACE, TRACE_SECONDS, Cell
from ioatlas.model.errors import IoAtlasError, UsageError, faults
from ioatlas.model.options import JobValue
from ioatlas.model.visit import SectionState, Series
from ioatlas.stats.openloop import OpenLoop, intended_from
from ioatlas.stats.warmup import Floats
from ioatlas.store import confined

MOST_IOS = 200_000
"""I/Os of a trace: each is logged by itself (about 40 B of text)."""
NAME = "data"
_ACTIONS = {"read": "read", "write": "write"}
_FILE_ACTIONS = frozenset({"add", "open", "close"})
_NO_DATA = frozenset({"sync", "datasync"})
_ALIGNMENT = 1 << 20
_NUMBER = re.compile(r"[0-9]{1,18}")
"""What fio can hold: below 2^63."""


@dataclass(frozen=True)
class TimedIo:
    """One I/O: microseconds since the first one, direction, place on the target."""

    at_us: int
    direction: str
    offset_bytes: int
    length_bytes: int


@dataclass(frozen=True)
class Trace:
    """I/Os in the order of their times. left_out: what the source held besides, in words."""

    ios: tuple[TimedIo, ...]
    left_out: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """From the first I/O to the last."""
        return self.ios[-1].at_us / 1e6

    @property
    def end_bytes(self) -> int:
        return max(one.offset_bytes + one.length_bytes for one in self.ios)

    @property
    def block_sizes(self) -> tuple[int, ...]:
        return tuple(sorted({one.length_bytes for one in self.ios}))

    @property
    def directions(self) -> tuple[str, ...]:
        used = {one.direction for one in self.ios}
        return tuple(direction for direction in ("read", "write") if direction in used)

    @cached_property
    def digest(self) -> str:
        """Hash of the I/Os: 16 hexadecimal digits."""
        return hashlib.sha256(trace_text(self).encode()).hexdigest()[:16]


def read_trace(text: str, where: str) -> Trace:
    """A trace in fio's version 3 format: `MICROSECONDS FILE ACTION OFFSET LENGTH`, after the line `fio version 3
    iolog`.

    Times count from the first I/O. Several files lie one after the other, each from a multiple of 1 MiB on. Raises
    UsageError with the line.
    """
    lines = text.splitlines()
    head = lines[0].strip() if lines else ""
    if head != "fio version 3 iolog":
        without = head == "fio version 2 iolog"
        raise UsageError(
            "this trace is of version 2, which has no times" if without else "this is no timed trace of fio",
            where=f"{where}:1",
            remedy="use a log that fio 3.29 or newer wrote with write_iolog: it begins with `fio version 3 iolog`",
        )
    found: list[tuple[int, str, str, int, int]] = []
    idle = 0
    for number, line in enumerate(lines[1:], 2):
        words = line.split()
        if not words:
            continue
        place = f"{where}:{number}"
        if len(words) < 3 or not _NUMBER.fullmatch(words[0]):
            raise _bad(f"{line[:60]!r} is no line of a trace", place)
        action = words[2]
        if action in _FILE_ACTIONS:
            continue
        if action in _NO_DATA:
            idle += 1
            continue
        if action not in _ACTIONS:
            raise _bad(f"{action!r} is not replayed", place)
        if len(words) != 5 or not (_NUMBER.fullmatch(words[3]) and _NUMBER.fullmatch(words[4])) or int(words[4]) == 0:
            raise _bad(f"{line[:60]!r} lacks an offset or a length", place)
        found.append((int(words[0]), words[1], _ACTIONS[action], int(words[3]), int(words[4])))
        if len(found) > MOST_IOS:
            raise UsageError(f"it has more than {MOST_IOS:,} I/Os", where=place, remedy="cut it into shorter ones")
    if not found:
        raise UsageError("the trace holds no read and no write", where=where, remedy="name another file")
    left_out = (f"{idle} sync or datasync of the trace are left out.",) if idle else ()
    return Trace(_placed(found), left_out)


def _bad(what: str, where: str) -> UsageError:
    return UsageError(what, where=where, remedy="write `MICROSECONDS FILE read|write OFFSET LENGTH`, numbers in bytes")


def _placed(found: list[tuple[int, str, str, int, int]]) -> tuple[TimedIo, ...]:
    ends: dict[str, int] = {}
    for _, name, _, offset, length in found:
        ends[name] = max(ends.get(name, 0), offset + length)
    bases, base = {}, 0
    for name, end in ends.items():
        bases[name] = base
        base += math.ceil(end / _ALIGNMENT) * _ALIGNMENT
    begin = min(at for at, *_ in found)
    ios = [
        TimedIo(at - begin, direction, bases[name] + offset, length) for at, name, direction, offset, length in found
    ]
    return tuple(sorted(ios, key=lambda one: one.at_us))


def trace_text(trace: Trace) -> str:
    """The trace in version 3, on one file."""
    rows = (f"{one.at_us} {NAME} {one.direction} {one.offset_bytes} {one.length_bytes}\n" for one in trace.ios)
    return f"fio version 3 iolog\n0 {NAME} add\n0 {NAME} open\n{''.join(rows)}{trace.ios[-1].at_us} {NAME} close\n"


def due_ms(one: TimedIo) -> int:
    """When a lane makes it, in the whole milliseconds of fio's wait: up to 1 ms after the trace's own time."""
    return -(-one.at_us // 1000)


def lane_of(trace: Trace, number: int, count: int) -> tuple[TimedIo, ...]:
    """The I/Os of one of `count` lanes: every count-th one, so that neighbours in time lie in different lanes."""
    return trace.ios[number::count]


def lane_text(ios: Iterable[TimedIo], lead_ms: int) -> str:
    """A lane in version 2, each I/O after a wait until `lead_ms` plus its time since fio started."""
    rows = (
        f"{NAME} wait {lead_ms + due_ms(one)} 0\n{NAME} {one.direction} {one.offset_bytes} {one.length_bytes}\n"
        for one in ios
    )
    return f"fio version 2 iolog\n{NAME} add\n{NAME} open\n{''.join(rows)}{NAME} close\n"


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
    confined.write_text(directory / FILE, trace_text(trace), in_root=True)
    for count in lane_counts:
        folder = confined.make_directory(directory, f"{LANES}/{count}")
        for number in range(count):
            confined.write_text(folder / str(number), lane_text(lane_of(trace, number, count), LEAD_MS))


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
        trace = read_trace(confined.read_text(directory / ".." / ".." / FILE), FILE)
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
