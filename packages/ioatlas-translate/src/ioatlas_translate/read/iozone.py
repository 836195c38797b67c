# SPDX-License-Identifier: Apache-2.0
"""IOzone's text output: the table, the throughput blocks, and the -R report (also saved as CSV).

A kB (also printed KB, Kbytes) is 1024 bytes throughout. -O prints operations per second, -N microseconds per operation.
A blank or zero column was not measured (-i chose others, -+n left the retest out).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ioatlas.load.streams.fixed_work import OPERATIONS
from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate.read.formats import NAMES
from ioatlas_translate.read.kit import KIB, cells_of, num, positive, reading, settings, settle, size_bytes, whole
from ioatlas_translate.read.source import Source

_HEADER = re.compile(r"^\s*[kK]B\s+reclen\s+(.*\S)\s*$")
_ROW = re.compile(r"^\s*(\d{1,15})\s+(\d{1,10})((?:\s+[\d.,]+)+)\s*$")
_CHILDREN = re.compile(
    r"^(?:>+\s*)*(?:([\w.:-]+):\s+)?\s*Children see throughput for\s+(\d+)\s+(.+?)\s*=\s*([\d.,]+)\s*(\S+)/sec"
)
_DETAIL = re.compile(
    r"^(?:>+\s*)*(?:[\w.:-]+:\s+)?\s*(Parent sees throughput|Min throughput per|Max throughput per|Avg throughput per"
    r"|Min xfer)\b.*?=\s*([\d.,]+)"
)
_REPORT = re.compile(r'^\W*"?\s*([A-Za-z][A-Za-z -]{2,30}?)\s*[Rr]eport"?[\s,;]*$')
_TPUT_ROW = re.compile(r'^\W*"?\s*([A-Za-z][A-Za-z -]{2,30}?)\s*"?[\s,;]+([\d.,;\s"]+)$')
_FIRST_COLUMNS = ("write", "rewrite", "read", "reread", "read", "write", "read", "rewrite", "read")
"""How the header names the first nine of COLUMNS; mapped files (-B) have no more."""
_COLUMN_SLACK = 4
"""Characters a figure may end beside its column's name."""
_SEEN_LIMIT = 100_000
_MOST_RECORD, _MOST_SIZE = 1 << 40, 1 << 50
"""KiB that a report may say; a damaged cell can hold any bit pattern."""
_MODES = {
    "rate": ("bw_bytes_per_s", KIB, "kB is 1024 bytes"),
    "ops": ("iops", 1, "-O: operations per second"),
    "usec": ("mean", 1000, "-N: microseconds per operation"),
}
"""What the figures are, their factor to base units, and how the reading says it."""
_FLAG = re.compile(
    r"(?:Include (?:close|fsync) in write timing|O_DIRECT feature enabled|No retest option selected)$"
    r"|SYNC Mode|Include CPU|Using mmap|POSIX async|Multi_buffer|Setting O_|Purge Mode"
)


def _kilo(digits: str, letter: str | None) -> int:
    return int(digits[:15]) * (KIB * KIB if letter in ("m", "M") else KIB if letter else 1)


_SETTINGS = settings(
    (r"Version \$Revision: ([\d.]+)", lambda match: {"version": match[1]}),
    (r"^Command line used:(.*)", lambda match: {"command": match[1].strip()}),
    (r'OPS Mode|^"*Output is in ops/sec"*$', lambda _: {"mode": "ops"}),
    (r"^Microseconds/op Mode", lambda _: {"mode": "usec"}),
    (r"^File size set to(.*)", lambda match: {"file_bytes": size_bytes(match[1])}),
    (r"^Record Size (\d+) ?([kKMm]?)[bB]$", lambda match: {"record_bytes": _kilo(match[1], match[2])}),
    (r"Throughput test with (\d+) (?:process|thread)", lambda match: {"processes": whole(match[1])}),
    (
        r"Each (?:process|thread) writes a (\d+) (k|K|M|m)?[bB]yte file in (\d+) (k|K|M|m)?[bB]yte records",
        lambda match: {"file_bytes": _kilo(match[1], match[2]), "record_bytes": _kilo(match[3], match[4])},
    ),
    (r'"?Record size = (\d+) (k|K|M|m)?[bB]ytes', lambda match: {"record_bytes": _kilo(match[1], match[2])}),
)


@dataclass
class _Run:
    """One run: what its header lines say, and where in its text the next line stands."""

    source: Source
    version: str | None = None
    command: str = ""
    mode: str = "rate"  # or ops, usec
    file_bytes: int | None = None
    record_bytes: int | None = None
    processes: int | None = None
    flags: list[str] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    ends: tuple[int, ...] = ()
    """Where each column's name ends, counted from the end of `reclen`."""
    report: str | None = None
    """The operation whose report the rows are of; its record sizes stand in the first one, `sizes`."""
    sizes: list[int] = field(default_factory=list)
    throughput_report: bool = False
    pending: ImportedReading | None = None
    """Of a throughput block, whose further lines add to it."""
    seen: set[tuple[Any, ...]] = field(default_factory=set)
    """What the table gave, so that the report does not give it again."""

    def reading(
        self, line: int, name: str, value: float | None, *notes: str, mode: str = "", **fields: Any
    ) -> ImportedReading:
        """One figure of one operation, in base units by the run's mode."""
        operation, (quantity, factor, note) = OPERATIONS[name], _MODES[mode or self.mode]
        fields[quantity] = None if value is None else value * factor
        more = {"settings": list(self.flags) or None, "command": self.command[:500] or None}
        return reading(
            self.source,
            line,
            "iozone",
            tool_version=self.version,
            direction=operation.direction,
            rw=operation.rw,
            operation=operation.operation,
            notes=(note, *notes),
            details={**fields.pop("details", {}), **more},
            **fields,
        )

    def take(self, number: int, line: str) -> Iterator[ImportedReading]:
        if self._heading(number, line):
            return
        elif match := _CHILDREN.match(line):
            yield from self.flush()
            self._children(number, match)
        elif self.pending is not None and (match := _DETAIL.match(line)):
            self.pending = _detail(self.pending, match[1], num(match[2]))
        elif match := _REPORT.match(line):
            self.report, self.sizes = operation_named(match[1]), []
            if self.report is None and "hroughput" not in line:
                self.source.problem(number, f"a report of an unknown operation: {match[1][:40]!r}")
        elif self.throughput_report and (match := _TPUT_ROW.match(line)):
            if self._cut_off(number, line, " "):
                self.source.problem(number, "the file ends inside this row, which was not used")
            else:
                yield from self._throughput_row(number, match)
        elif self.report is not None and line.strip():
            yield from self._report_line(number, line, self.report)
        else:
            yield from self._table_line(number, line)

    def flush(self) -> Iterator[ImportedReading]:
        if self.pending is not None:
            yield self.pending
        self.pending = None

    def _heading(self, number: int, line: str) -> bool:
        """Whether the line says what the run is or what follows, and holds no figure."""
        text = line.strip()
        if settle(self, text, _SETTINGS):
            pass
        elif _FLAG.match(text):
            self.flags.append(text[:80])
        elif "Throughput report Y-axis" in text:
            self.throughput_report, self.report = True, None
        elif _HEADER.match(line):
            self._header(number, line)
        elif "CPU utilization report" in line:  # -+u: per cents in the layout of the reports above
            self.throughput_report, self.report = False, None
        else:
            return False
        return True

    def _cut_off(self, number: int, line: str, ends: str | tuple[str, ...]) -> bool:
        return self.source.unended(number) and not line.endswith(ends) and not re.search(r"[;,\t]", line)

    # -- the table ---------------------------------------------------------------------------------------------------

    def _header(self, number: int, line: str) -> None:
        """The table's columns: the usual thirteen in order, more where pread/pwrite were compiled in."""
        names = line.split()[2:]
        extra = [name for name in names[13:] if operation_named(name)]
        if tuple(names[:9]) != _FIRST_COLUMNS or names[9:13] != list(COLUMNS[9:13])[: len(names) - 9]:
            self.source.problem(number, "a table header of an unknown layout")
            self.columns = ()
            return
        self.columns = COLUMNS[: len(names)] + tuple(operation_named(name) or "" for name in extra)
        if len(names) > 13 + len(extra):
            self.source.problem(number, "table columns of unknown operations were not read")
        ends = [match.end() for match in re.finditer(r"\S+", line)]
        self.ends = tuple(end - ends[1] for end in ends[2 : 2 + len(self.columns)])

    def _table_line(self, number: int, line: str) -> Iterator[ImportedReading]:
        if self.columns and _ROW.match(line):
            for found in self._row(number, line):
                if len(self.seen) < _SEEN_LIMIT:
                    self.seen.add((found.operation or found.rw, found.size_bytes, found.bs_bytes))
                yield found
        elif self.columns and re.match(r"^\s*\d{1,15}\s+\d{1,10}\s*$", line):
            self.source.problem(number, "a table row without figures: the run stopped here")
        elif line.strip().lower().startswith(("error ", "can not ", "cannot ", "can't ")):
            self.source.problem(number, f"iozone reports: {line.strip()[:100]}")

    def _row(self, number: int, line: str) -> Iterator[ImportedReading]:
        spans = [(match.group(), match.end()) for match in re.finditer(r"\S+", line)]
        size, record = whole(spans[0][0]), whole(spans[1][0])
        if not size or not record:
            self.source.problem(number, "a table row with no file or record size")
            return
        values = spans[2:]
        names = self._names([end - spans[1][1] for _, end in values])
        if len(set(names)) < len(names) or "" in names:
            self.source.problem(number, "a table row whose figures cannot be told apart by column")
            return
        if self.source.unended(number):  # a table row is never the end of iozone's output
            self.source.problem(number, "the file ends inside this row; its last figure was not used")
            values, names = values[:-1], names[:-1]
        fields: dict[str, Any] = {"bs_bytes": record * KIB, "size_bytes": size * KIB, "numjobs": 1}
        for name, (text, _) in zip(names, values, strict=True):
            if (value := positive(text)) is not None:
                yield self.reading(number, name, value, **fields)

    def _names(self, ends: Sequence[int]) -> list[str]:
        """The columns of a row's figures: all, those that -i asked for, or by where the figures end; '' for none."""
        asked = {int(text) for text in re.findall(r"(?<!\S)-[a-zA-Z]*i\s*(\d{1,2})(?!\S)", self.command)}
        expected = [name for name in self.columns if OPERATIONS[name].test in asked]
        if len(ends) == len(self.columns):
            return list(self.columns)
        if asked and len(ends) == len(expected):
            return expected
        places = [min(range(len(self.ends)), key=lambda at: abs(self.ends[at] - end)) for end in ends]
        near = (abs(self.ends[place] - end) <= _COLUMN_SLACK for place, end in zip(places, ends, strict=True))
        return [self.columns[place] if fits else "" for place, fits in zip(places, near, strict=True)]

    # -- throughput blocks and reports -------------------------------------------------------------------------------

    def _children(self, number: int, match: re.Match[str]) -> None:
        name, unit = operation_named(match[3]), match[5].lower()
        if name is None:
            self.source.problem(number, f"throughput of an unknown operation: {match[3][:40]!r}")
        elif unit not in ("kb", "kbytes", "kbyte", "ops"):
            self.source.problem(number, f"throughput in an unknown unit {match[5][:20]!r}")
        else:
            self.pending = self.reading(
                number,
                name,
                num(match[4]),
                "sum the children saw while all ran together",
                mode="ops" if unit == "ops" else "",
                bs_bytes=self.record_bytes,
                size_bytes=self.file_bytes,
                numjobs=whole(match[2]),
                host=match[1],
            )
            self.seen.add((self.pending.operation or self.pending.rw, self.pending.numjobs))

    def _report_line(self, number: int, line: str, report: str) -> Iterator[ImportedReading]:
        """`size value value ...`: record sizes stand in the report's first row."""
        cells = _cells(line)
        if len(cells) > 1 and self._cut_off(number, line, (" ", '"')):
            self.source.problem(number, "the file ends inside this row; its last figure was not used")
            cells = cells[:-1]
        values = [num(cell) if cell else 0.0 for cell in cells]
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            self.report = None
            return
        if not self.sizes:
            self.sizes = [int(value) for value in known]
            return
        size = known[0]
        for record, value in zip(self.sizes, known[1:], strict=False):
            if value > 0 and 0 < record < _MOST_RECORD and 0 < size < _MOST_SIZE:
                fields: dict[str, Any] = {"bs_bytes": int(record) * KIB, "size_bytes": int(size) * KIB, "numjobs": 1}
                found = self.reading(number, report, value, **fields, details={"report": True})
                if (found.operation or found.rw, found.size_bytes, found.bs_bytes) not in self.seen:
                    yield found

    def _throughput_row(self, number: int, match: re.Match[str]) -> Iterator[ImportedReading]:
        """One value for each number of processes; which numbers, only the command line or the blocks before say."""
        if (name := operation_named(match[1])) is None:
            return
        operation = OPERATIONS[name]
        values = [num(cell) for cell in re.split(r'[\s;"]+', match[2].strip()) if cell]
        known = {key[1] for key in self.seen if key[0] == (operation.operation or operation.rw) and len(key) == 2}
        if len(known) == len(values):
            return  # the blocks above said the same
        # `-l LOW` counts processes up from there, `-t N` has one column.
        low, fixed = (re.search(rf"(?<!\S)-{letter}\s*(\d{{1,6}})", self.command) for letter in "lt")
        for place, value in enumerate(values):
            jobs = int(low[1]) + place if low else None
            if jobs is None and len(values) == 1:
                jobs = int(fixed[1]) if fixed else self.processes
            if value:
                fields: dict[str, Any] = {"bs_bytes": self.record_bytes, "size_bytes": self.file_bytes, "numjobs": jobs}
                yield self.reading(number, name, value, **fields, details={"report": True})


def read(source: Source) -> Iterator[ImportedReading]:
    run = _Run(source)
    for number, line in source.lines():
        if "Iozone: Performance Test of File I/O" in line:
            yield from run.flush()
            run = _Run(source)
        else:
            yield from run.take(number, line)
    yield from run.flush()


def _cells(line: str) -> list[str]:
    """A report row: quoted and blank-separated as iozone prints it, or from a spreadsheet with empty cells kept."""
    if not re.search(r"[;\t,]", line):
        return [cell for cell in re.split(r'[\s"]+', line) if cell]
    cells = cells_of(line, ";\t,")
    return cells if cells[0] else cells[1:]


def _detail(found: ImportedReading, what: str, value: float | None) -> ImportedReading:
    if value is None:
        return found
    if what == "Min xfer":
        name, factor = "min_xfer_bytes", KIB
    else:
        own = "parent" if what.startswith("Parent") else f"{what[:3].lower()}_per_process"
        name, factor = (f"{own}_bytes_per_s", KIB) if found.iops is None else (f"{own}_iops", 1)
    return replace(found, details={**found.details, name: value * factor})


COLUMNS = tuple(OPERATIONS)[:13]

_NAMES = {name.replace(" ", ""): name for name in OPERATIONS} | {
    title: name for name, titles in NAMES["iozone"].items() for title in titles.split()
}


def operation_named(title: str) -> str | None:
    """The key of OPERATIONS a title stands for; None for a title IOzone does not have."""
    squeezed = re.sub(r"[^a-z]", "", title.lower().removesuffix("report").strip())
    return _NAMES.get(squeezed.removesuffix("report"))
