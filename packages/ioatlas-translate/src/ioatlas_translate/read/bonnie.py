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

from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate.read.kit import KIB, nanoseconds, num, reading, size_bytes, whole
from ioatlas_translate.read.source import Source

_V1 = r"1\.9\d(?:\d|[a-z])?,\d\.\d+\w?,"
_V0 = r"[^,\n<>\"{}]{1,80},\d+[KMGT](?::\d+[kKmM]?)?(?:,(?:\d*\.?\d*|\++)){11,12},"
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
"""Direction, rw and operation of the figures of a run, in their order; behind them those of files."""
_FILES = [
    (None, None, f"{order} {what}") for order in ("sequential", "random") for what in ("create", "stat", "delete")
]


@dataclass
class _Run:
    """figures: a value and its share of the processor for each of the tests; latencies: of each; '' was not printed."""

    line: int
    name: str
    version: str | None
    size: str | None = None
    chunk: str | None = None
    concurrency: str | None = None
    figures: list[str] = field(default_factory=lambda: [""] * 24)
    latencies: list[str] = field(default_factory=lambda: [""] * 12)
    number_of_files: str | None = None
    file_line: int = 0
    notes: tuple[str, ...] = ()


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
            if self.state in ("io row", "after files") and (cells := _columns(line, text.split()[1:], 6)):
                at = 0 if self.state == "io row" else 6
                self.runs[-1].latencies[at : at + 6] = cells
        elif self.state in ("file row", "after files") and (match := _FILE_ROW.match(text)):
            self._file_row(number, line, match)
        elif self.state in ("io", "io row") and (match := _ROW.match(line)) and re.search(r"\d|\+{3}", match[4]):
            run = _Run(number, (match[1] or "").strip(), self.version, match[2], match[3], self.concurrency)
            if cells := _columns(line, match[4].split(), 12):
                run.figures[:12] = cells
                self._add(run)
                self.state = "io row"
            else:
                self.source.problem(number, "a table row that does not fit the columns")

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
        mine = [run for run in self.runs if not run.file_line and run.name == match[1]] if match[1] else self.runs[-1:]
        if not mine or mine[0].file_line:
            mine = [_Run(number, match[1] or self.machine, self.version, concurrency=self.concurrency)]
            self._add(mine[0])
        mine[0].number_of_files, mine[0].file_line = match[2], number
        mine[0].figures[12:] = _columns(line, match[3].split(), 12) or [""] * 12
        self.state = "after files"


def _columns(line: str, cells: Sequence[str], count: int) -> list[str]:
    """`count` cells in order; when some are blank, by their place in columns of 10 characters (value and CPU share),
    which begin behind 20 others. Empty where they do not fit.
    """
    if len(cells) == count:
        return list(cells)
    found = [""] * count
    step = 2 if count == 12 else 1
    for match in re.finditer(r"\S+", line[20:]):
        column, end = divmod(match.end() - 1, 10)
        place = column * step + (1 if step == 2 and end > 5 else 0)
        if not 0 <= column < count // step or found[place]:
            return []
        found[place] = match.group()
    return found


def _new_csv(source: Source, number: int, cells: list[str]) -> _Run:
    """Format 1.96 and 1.97, and 1.98 (bonnie++ 1.98 and 2.00) with seeks and seekers before the figures."""
    extra = 2 if cells[0] >= "1.98" else 0
    cells, first = _whole(source, number, cells, 48 + extra, "bonnie++"), 7 + extra
    run = _Run(number, cells[2], cells[1], cells[5] or None, cells[6] or None, cells[3])
    run.figures = cells[first : first + 12] + cells[first + 17 : first + 29]
    run.latencies = cells[first + 29 : first + 41]
    run.number_of_files = cells[first + 12] or None
    run.notes = (f"{cells[7] or '?'} seeks by {cells[8] or '?'} processes",) if extra else ()
    return run


def _old_csv(source: Source, number: int, cells: list[str]) -> _Run:
    """1.03: name, size[:chunk], six pairs, number of files, six pairs."""
    size, _, chunk = cells[1].partition(":")
    cells = _whole(source, number, cells, 27, "bonnie++ 1.03")
    run = _Run(number, cells[0], "1.03", size, chunk or None)
    run.figures, run.number_of_files = cells[2:14] + cells[15:27], cells[14] or None
    return run


def _whole(source: Source, number: int, cells: list[str], count: int, tool: str) -> list[str]:
    """The cells of a CSV line; blank ones where it is cut off, and its last figure with them."""
    if len(cells) >= count:
        return cells
    source.problem(number, f"a CSV line of {len(cells)} fields where {tool} writes {count}: cut off")
    return [*cells[:-1], *[""] * (count + 1 - len(cells))]


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
    found = False
    for place, (direction, rw, operation) in enumerate((*_IO, *_FILES)):
        text, line, of_files = run.figures[2 * place], run.line, place >= len(_IO)
        if (value := _rate(text)) is None:
            continue
        found = True
        fields: dict[str, Any] = {"iops": value, "notes": list(run.notes)}
        details: dict[str, Any] = {"lat_max_ns": nanoseconds(run.latencies[place])}
        if of_files:
            line, details = run.file_line or line, {"files": run.number_of_files, **details}
            fields["notes"] = ["files per second; the number of files is in units of 1024"]
        elif operation != _SEEKS:
            fields = {"bw_bytes_per_s": value if _lettered(text) else value * KIB, "notes": ["K/sec are KiB/s"]}
        if operation == "rewrite":
            fields["notes"].append("each block is read, changed and written back; bytes counted once")
        if not of_files:
            per_character = bool(operation) and str(operation).startswith("per-character")
            fields |= {"size_bytes": size_bytes(run.size), "bs_bytes": 1 if per_character else size_bytes(run.chunk)}
            details = {"cpu_percent": num(run.figures[2 * place + 1]), **details}
        yield reading(
            source,
            line,
            "bonnie++",
            tool_version=run.version,
            label=run.name or None,
            host=run.name or None,
            numjobs=whole(run.concurrency),
            direction=direction,
            rw=rw,
            operation=operation,
            **fields,
            details=details,
        )
    if not found:
        source.problem(run.line, "nothing in this run was slow enough to be measured", lost=False)
