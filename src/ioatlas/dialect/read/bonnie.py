# SPDX-License-Identifier: Apache-2.0
"""bonnie++ 1.03 to 2.00: its CSV line and its text table. K/sec are KiB/s; +++++ stands for 'too fast to measure' and gives no reading.

Latencies are the worst of the run, so they go to `details`, never to a mean. Block size is the chunk size when it is printed.
When a file holds the text table and the CSV line of the same run, the CSV line (not rounded) is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ioatlas.dialect.read.numbers import KIB, num, size_bytes, times, whole
from ioatlas.dialect.read.source import Source
from ioatlas.model.foreign import ForeignReading

_V1 = r"1\.9\d(?:\d|[a-z])?,\d\.\d+\w?,"
_V0 = r"[^,\n<>\"{}]{1,80},\d+[KMGT](?::\d+[kKmM]?)?(?:,(?:\d*\.?\d*|\++)){11,12},"
SIGNATURE = re.compile(rf"^\s*(?:{_V1}|{_V0})|^\s*-Per Chr- --Block-- -Rewrite-|^Version\s+[12]\.\d+\w*\s+------Sequential", re.MULTILINE)
_NEW = re.compile(rf"^\s*{_V1}")
_OLD = re.compile(rf"^\s*{_V0}")
_LATENCY = re.compile(r"^(\d+)(us|ms|s)$")
_SIZE = r"(\d+[KMGTkmgt])(?::(\d+[KMGTkmgt]?))?"
_ROW = re.compile(rf"^\s*(\S.*?)??\s*{_SIZE}\s+(.*)$")
_FILE_ROW = re.compile(r"^(?:(\S*[A-Za-z]\S*)\s+)?(\d[\d:/]*)\s+([\d+].*)$")

# name: (direction, rw, operation, unit)
_IO = (
    ("write", None, "per-character write", "KiB"),
    ("write", "write", None, "KiB"),
    ("mixed", None, "rewrite", "KiB"),
    ("read", None, "per-character read", "KiB"),
    ("read", "read", None, "KiB"),
    ("mixed", None, "random seeks", "ops"),
)
_FILES = ("sequential create", "sequential stat", "sequential delete", "random create", "random stat", "random delete")


@dataclass
class _Run:
    line: int
    name: str
    version: str | None
    size: str | None = None
    chunk: str | None = None
    concurrency: str | None = None
    io: Sequence[str] = ()
    files: Sequence[str] = ()
    number_of_files: str | None = None
    latencies: Sequence[str] = ()
    file_latencies: Sequence[str] = ()
    file_line: int = 0
    notes: list[str] = field(default_factory=list)


def read(source: Source) -> Iterator[ForeignReading]:
    version: str | None = None
    concurrency: str | None = None
    state = machine = ""
    pending: list[_Run] = []
    for number, line in source.lines():
        text = line.strip()
        if _NEW.match(text):
            found = _new_csv(source, number, text.split(","))
            if found is not None:
                pending = [run for run in pending if not (run.name == found.name and run.size == found.size)]
                yield from _readings(source, found)
            continue
        if _OLD.match(text) and not text.startswith("Version"):
            run = _old_csv(source, number, text.split(","))
            if run is not None:
                pending = [item for item in pending if not (item.name == run.name and item.size == run.size)]
                yield from _readings(source, run)
            continue
        if match := re.match(r"Version\s+([12]\.\d+\w*)\s+------Sequential (Output|Create)", text):
            version = match[1]
            state = "io" if match[2] == "Output" else "files"
        elif match := re.match(r"Concurrency\s+(\d+)", text):
            concurrency = match[1]
        elif "------Sequential Create------" in text:
            state = "files"
        elif state == "files" and (match := re.match(r"(\S*)\s*-Create-- --Read---", text)):
            machine = match[1]
        elif state == "files" and re.match(r"files(?::|\s)", text):
            state = "file row"
        elif text.startswith("Latency") and pending:
            cells = text.split()[1:]
            if state == "io row":
                pending[-1].latencies = _columns(line, cells, 6, 20, 10)
            elif state == "after files":
                pending[-1].file_latencies = _columns(line, cells, 6, 20, 10)
        elif state in ("file row", "after files") and (match := _FILE_ROW.match(text)):
            open_runs = [run for run in pending if not run.files and run.name == match[1]] if match[1] else pending[-1:]
            if not open_runs or open_runs[0].files:  # a table of files alone
                if len(pending) > 10_000:
                    pending.clear()
                open_runs = [_Run(number, match[1] or machine, version, concurrency=concurrency)]
                pending += open_runs
            run = open_runs[0]
            run.number_of_files, run.file_line = match[2], number
            run.files = _columns(line, match[3].split(), 12, 20, 10)
            state = "after files"
        elif state in ("io", "io row") and (match := _ROW.match(line)) and re.search(r"\d|\+{3}", match[4]):
            cells = match[4].split()
            run = _Run(number, (match[1] or "").strip(), version, match[2], match[3], concurrency)
            run.io = _columns(line, cells, 12, match.start(4) if len(cells) == 12 else 20, 10)
            if not run.io:
                source.problem(number, "a table row that does not fit the columns")
                continue
            if len(pending) > 10_000:
                pending.clear()
            pending.append(run)
            state = "io row"
    for run in pending:
        yield from _readings(source, run)


def _columns(line: str, cells: Sequence[str], count: int, start: int, width: int) -> list[str]:
    """`count` cells in order; when some are blank, by their place in columns of `width` characters (value and CPU share)."""
    if len(cells) == count:
        return list(cells)
    found = [""] * count
    step = 2 if count == 12 else 1
    for match in re.finditer(r"\S+", line[start:]):
        place = (match.end() - 1) // width
        if not 0 <= place < count // step:
            return []
        inside = place * step + (1 if step == 2 and (match.end() - 1) % width > 5 else 0)
        if found[inside]:
            return []
        found[inside] = match.group()
    return found


def _new_csv(source: Source, number: int, cells: list[str]) -> _Run | None:
    """Format 1.96 and 1.97, and 1.98 (bonnie++ 1.98 and 2.00) with seeks and seekers before the figures."""
    extra = 2 if cells[0] >= "1.98" else 0
    need = 46 + extra
    run = _Run(number, cells[2], cells[1])
    if len(cells) < need + 2:
        source.problem(number, f"a CSV line of {len(cells)} fields where bonnie++ writes {need + 2}: cut off")
        cells = [*cells[:-1], *[""] * (need + 3 - len(cells))]
    run.concurrency, run.size, run.chunk = cells[3], cells[5] or None, cells[6] or None
    first = 7 + extra
    run.io = cells[first : first + 12]
    run.number_of_files = cells[first + 12] or None
    files = first + 17
    run.files = cells[files : files + 12]
    latencies = cells[files + 12 : files + 24]
    run.latencies, run.file_latencies = latencies[:6], latencies[6:]
    if extra:
        run.notes.append(f"{cells[7] or '?'} seeks by {cells[8] or '?'} processes")
    return run


def _old_csv(source: Source, number: int, cells: list[str]) -> _Run | None:
    """1.03: name, size[:chunk], six pairs, number of files, six pairs."""
    size, _, chunk = cells[1].partition(":")
    run = _Run(number, cells[0], "1.03", size, chunk or None)
    if len(cells) < 27:
        source.problem(number, f"a CSV line of {len(cells)} fields where bonnie++ 1.03 writes 27: cut off")
        cells = [*cells[:-1], *[""] * (28 - len(cells))]
    run.io, run.number_of_files, run.files = cells[2:14], cells[14] or None, cells[15:27]
    return run


def _rate(text: str) -> float | None:
    """`2998`, `2998k`, `1.2g` (2.00 writes a unit letter in its table; it counts in KiB)."""
    text = text.strip()
    if not text or text.startswith("+"):
        return None
    if text[-1:].lower() in "kmgt" and not text[-1:].isdigit():
        value = num(text[:-1])
        return None if value is None else value * 1024 ** ("kmgt".index(text[-1].lower()) + 1)
    return num(text)


def _nanoseconds(text: str) -> float | None:
    match = _LATENCY.match(text.strip())
    return None if match is None else times(num(match[1]), {"us": 1e3, "ms": 1e6, "s": 1e9}[match[2]])


def _readings(source: Source, run: _Run) -> Iterator[ForeignReading]:
    common: dict[str, Any] = {"tool": "bonnie++", "tool_version": run.version, "label": run.name or None, "host": run.name or None, "n": 1}
    common["numjobs"] = whole(run.concurrency)
    size, chunk = size_bytes(run.size), size_bytes(run.chunk)
    found = False
    for place, (direction, rw, operation, unit) in enumerate(_IO):
        text = run.io[place * 2] if place * 2 < len(run.io) else ""
        value = _rate(text)
        if value is None:
            continue
        found = True
        details: dict[str, Any] = {}
        if (cpu := num(run.io[place * 2 + 1] if place * 2 + 1 < len(run.io) else "")) is not None:
            details["cpu_percent"] = cpu
        if place < len(run.latencies) and (worst := _nanoseconds(run.latencies[place])) is not None:
            details["lat_max_ns"] = worst
        notes = list(run.notes) if unit == "ops" else ["K/sec are KiB/s"]
        if operation == "rewrite":
            notes.append("each block is read, changed and written back; bytes counted once")
        per_character = operation is not None and operation.startswith("per-character")
        yield ForeignReading(
            source.name, run.line, **common, direction=direction, rw=rw, operation=operation, size_bytes=size,
            bs_bytes=1 if per_character else chunk, iops=value if unit == "ops" else None,
            bw_bytes_per_s=None if unit == "ops" else _bytes(text, value), notes=tuple(notes), details=details,
        )  # fmt: skip
    for place, operation in enumerate(_FILES):
        value = _rate(run.files[place * 2]) if place * 2 < len(run.files) else None
        if value is None:
            continue
        found = True
        details = {"files": run.number_of_files}
        if place < len(run.file_latencies) and (worst := _nanoseconds(run.file_latencies[place])) is not None:
            details["lat_max_ns"] = worst
        yield ForeignReading(
            source.name,
            run.file_line or run.line,
            **common,
            operation=operation,
            iops=value,
            notes=("files per second; the number of files is in units of 1024",),
            details=details,
        )
    if not found:
        source.problem(run.line, "nothing in this run was slow enough to be measured", lost=False)


def _bytes(text: str, value: float) -> float:
    """The table of 2.00 has a unit letter and was resolved already; every other figure is KiB/s."""
    return value if text.strip()[-1:].lower() in "kmgt" and not text.strip()[-1:].isdigit() else value * KIB
