# SPDX-License-Identifier: Apache-2.0
"""bonnie++ 1.03 to 2.00: its CSV line and its text table. K/sec are KiB/s; +++++ stands for 'too fast to measure' and
gives no reading.

Latencies are the worst of the run, so they go to `details`, never to a mean. Block size is the chunk size when it is
printed. When a file holds the text table and the CSV line of the same run, the CSV line (not rounded) is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ioatlas.interop.read.kit import reading
from ioatlas.interop.read.numbers import KIB, nanoseconds, num, size_bytes, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

_V1 = r"1\.9\d(?:\d|[a-z])?,\d\.\d+\w?,"
_V0 = r"[^,\n<>\"{}]{1,80},\d+[KMGT](?::\d+[kKmM]?)?(?:,(?:\d*\.?\d*|\++)){11,12},"
SIGNATURE = re.compile(
    rf"^\s*(?:{_V1}|{_V0})|^\s*-Per Chr- --Block-- -Rewrite-|^Version\s+[12]\.\d+\w*\s+------Sequential", re.MULTILINE
)
_NEW = re.compile(rf"^\s*{_V1}")
_OLD = re.compile(rf"^\s*{_V0}")
_SIZE = r"(\d+[KMGTkmgt])(?::(\d+[KMGTkmgt]?))?"
_ROW = re.compile(rf"^\s*(\S.*?)??\s*{_SIZE}\s+(.*)$")
_SEEKS = "random seeks"
_FILE_ROW = re.compile(r"^(?:(\S*[A-Za-z]\S*)\s+)?(\d[\d:/]*)\s+([\d+].*)$")

_IO = (
    ("write", None, "per-character write"),
    ("write", "write", None),
    ("mixed", None, "rewrite"),
    ("read", None, "per-character read"),
    ("read", "read", None),
    ("mixed", None, _SEEKS),
)
"""Direction, rw and operation of the figures of a run, in their order."""
_FILES = tuple(f"{order} {what}" for order in ("sequential", "random") for what in ("create", "stat", "delete"))


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


def read(source: Source) -> Iterator[ImportedReading]:
    tables = _Tables(source)
    for number, line in source.lines():
        text = line.strip()
        if _NEW.match(text):
            run = _new_csv(source, number, text.split(","))
        elif _OLD.match(text) and not text.startswith("Version"):
            run = _old_csv(source, number, text.split(","))
        else:
            tables.take(number, line, text)
            continue
        tables.runs = [item for item in tables.runs if (item.name, item.size) != (run.name, run.size)]
        yield from _readings(source, run)
    for run in tables.runs:
        yield from _readings(source, run)


@dataclass
class _Tables:
    """The text tables. Their runs wait for the end of the file: a CSV line of the same run takes a table's place."""

    source: Source
    version: str | None = None
    concurrency: str | None = None
    state: str = ""
    """What stood before: a heading ("io", "files", "file row") or a row ("io row", "after files")."""
    machine: str = ""
    runs: list[_Run] = field(default_factory=list)

    def take(self, number: int, line: str, text: str) -> None:
        if self._heading(text):
            return
        if text.startswith("Latency") and self.runs:
            cells = _columns(line, text.split()[1:], 6)
            if self.state == "io row":
                self.runs[-1].latencies = cells
            elif self.state == "after files":
                self.runs[-1].file_latencies = cells
        elif self.state in ("file row", "after files") and (match := _FILE_ROW.match(text)):
            self._file_row(number, line, match)
        elif self.state in ("io", "io row") and (match := _ROW.match(line)) and re.search(r"\d|\+{3}", match[4]):
            self._io_row(number, line, match)

    def _heading(self, text: str) -> bool:
        if match := re.match(r"Version\s+([12]\.\d+\w*)\s+------Sequential (Output|Create)", text):
            self.version = match[1]
            self.state = "io" if match[2] == "Output" else "files"
        elif match := re.match(r"Concurrency\s+(\d+)", text):
            self.concurrency = match[1]
        elif "------Sequential Create------" in text:
            self.state = "files"
        elif self.state == "files" and (match := re.match(r"(\S*)\s*-Create-- --Read---", text)):
            self.machine = match[1]
        elif self.state == "files" and re.match(r"files(?::|\s)", text):
            self.state = "file row"
        else:
            return False
        return True

    def _add(self, run: _Run) -> None:
        if len(self.runs) > 10_000:
            self.runs.clear()
        self.runs.append(run)

    def _file_row(self, number: int, line: str, match: re.Match[str]) -> None:
        """A row of the table of files belongs to the run of its name above it, or stands alone."""
        mine = [run for run in self.runs if not run.files and run.name == match[1]] if match[1] else self.runs[-1:]
        if not mine or mine[0].files:
            mine = [_Run(number, match[1] or self.machine, self.version, concurrency=self.concurrency)]
            self._add(mine[0])
        run = mine[0]
        run.number_of_files, run.file_line = match[2], number
        run.files = _columns(line, match[3].split(), 12)
        self.state = "after files"

    def _io_row(self, number: int, line: str, match: re.Match[str]) -> None:
        run = _Run(number, (match[1] or "").strip(), self.version, match[2], match[3], self.concurrency)
        run.io = _columns(line, match[4].split(), 12)
        if run.io:
            self._add(run)
            self.state = "io row"
        else:
            self.source.problem(number, "a table row that does not fit the columns")


def _columns(line: str, cells: Sequence[str], count: int) -> list[str]:
    """`count` cells in order; when some are blank, by their place in columns of 10 characters (value and CPU share),
    which begin behind 20 others.
    """
    if len(cells) == count:
        return list(cells)
    found = [""] * count
    step = 2 if count == 12 else 1
    for match in re.finditer(r"\S+", line[20:]):
        column, end = divmod(match.end() - 1, 10)
        if not 0 <= column < count // step:
            return []
        place = column * step + (1 if step == 2 and end > 5 else 0)
        if found[place]:
            return []
        found[place] = match.group()
    return found


def _new_csv(source: Source, number: int, cells: list[str]) -> _Run:
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


def _old_csv(source: Source, number: int, cells: list[str]) -> _Run:
    """1.03: name, size[:chunk], six pairs, number of files, six pairs."""
    size, _, chunk = cells[1].partition(":")
    run = _Run(number, cells[0], "1.03", size, chunk or None)
    if len(cells) < 27:
        source.problem(number, f"a CSV line of {len(cells)} fields where bonnie++ 1.03 writes 27: cut off")
        cells = [*cells[:-1], *[""] * (28 - len(cells))]
    run.io, run.number_of_files, run.files = cells[2:14], cells[14] or None, cells[15:27]
    return run


def _lettered(text: str) -> bool:
    """Whether a unit letter ends the figure, as in the table of 2.00, which counts in KiB."""
    return text.strip()[-1:].lower() in tuple("kmgt")


def _rate(text: str) -> float | None:
    """`2998`, `2998k`, `1.2g`; None for `+++++`."""
    text = text.strip()
    if not text or text.startswith("+"):
        return None
    if not _lettered(text):
        return num(text)
    value = num(text[:-1])
    return None if value is None else value * 1024 ** ("kmgt".index(text[-1].lower()) + 1)


def _readings(source: Source, run: _Run) -> Iterator[ImportedReading]:
    common: dict[str, Any] = {"tool_version": run.version, "label": run.name or None, "host": run.name or None}
    common["numjobs"] = whole(run.concurrency)
    chunk = size_bytes(run.chunk)
    found = 0
    for place, (direction, rw, operation) in enumerate(_IO):
        text = _at(run.io, place * 2)
        if (value := _rate(text)) is None:
            continue
        found += 1
        if operation == _SEEKS:
            rates: dict[str, Any] = {"iops": value}
            notes = list(run.notes)
        else:
            rates, notes = {"bw_bytes_per_s": value if _lettered(text) else value * KIB}, ["K/sec are KiB/s"]
        if operation == "rewrite":
            notes.append("each block is read, changed and written back; bytes counted once")
        yield reading(
            source,
            run.line,
            "bonnie++",
            **common,
            **rates,
            direction=direction,
            rw=rw,
            operation=operation,
            size_bytes=size_bytes(run.size),
            bs_bytes=1 if operation and operation.startswith("per-character") else chunk,
            notes=notes,
            details={
                "cpu_percent": num(_at(run.io, place * 2 + 1)),
                "lat_max_ns": nanoseconds(_at(run.latencies, place)),
            },
        )
    for place, operation in enumerate(_FILES):
        if (value := _rate(_at(run.files, place * 2))) is None:
            continue
        found += 1
        yield reading(
            source,
            run.file_line or run.line,
            "bonnie++",
            **common,
            operation=operation,
            iops=value,
            notes=("files per second; the number of files is in units of 1024",),
            details={"files": run.number_of_files, "lat_max_ns": nanoseconds(_at(run.file_latencies, place))},
        )
    if not found:
        source.problem(run.line, "nothing in this run was slow enough to be measured", lost=False)


def _at(cells: Sequence[str], place: int) -> str:
    return cells[place] if place < len(cells) else ""
