# SPDX-License-Identifier: Apache-2.0
"""IOzone's -b workbook: a BIFF 2 file (or saved again as BIFF 8), read by xlrd. `line` is the row of the first sheet.

A cut file is cut back to its last whole BIFF 2 record first, which xlrd would refuse otherwise.
"""

from __future__ import annotations

import io
import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ioatlas.interop.read.iozone import Run, operation_named, report_row, throughput_row
from ioatlas.interop.read.numbers import KIB, size_bytes
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

MAGIC = (b"\x09\x00\x04\x00", b"\x09\x02\x06\x00", b"\x09\x04\x06\x00", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
"""First bytes: BIFF 2, 3, 4, and the OLE container of BIFF 5 and 8."""
_LIMIT = 16 << 20
_LARGEST = 1e18
_EOF = b"\x0a\x00\x00\x00"


def whole_records(raw: bytes) -> tuple[bytes, bool]:
    """A BIFF 2 to 4 stream up to its last whole record, with an end record; and whether nothing was missing."""
    place = 0
    while place + 4 <= len(raw):
        kind, length = struct.unpack_from("<HH", raw, place)
        if kind == 0x0A:
            return raw[: place + 4], True
        if place + 4 + length > len(raw):
            break
        place += 4 + length
    return raw[:place] + _EOF, False


def _rows(source: Source) -> list[list[Any]]:
    import xlrd  # type: ignore[import-untyped]

    raw = source.head(_LIMIT + 1)
    if len(raw) > _LIMIT:
        source.problem(0, f"a workbook larger than {_LIMIT >> 20} MiB was not read")
        return []
    if not raw.startswith(MAGIC[3]):
        raw, complete = whole_records(raw)
        if not complete:
            source.problem(0, "the workbook is cut off; what was complete is kept")
    try:
        book = xlrd.open_workbook(file_contents=raw, logfile=io.StringIO(), ragged_rows=True)
        sheet = book.sheet_by_index(0)
        return [sheet.row_values(row) for row in range(min(sheet.nrows, 100_000))]
    except Exception as error:  # noqa: BLE001 - xlrd meets damaged files with whatever its unpacking raises
        source.problem(0, f"the workbook cannot be read: {type(error).__name__}: {error}")
        return []


def read(source: Source) -> Iterator[ImportedReading]:
    book = _Book(source)
    for number, row in enumerate(_rows(source), start=1):
        yield from book.take(number, row)
    if not book.known:
        source.problem(0, "a workbook that iozone did not write")


@dataclass
class _Book:
    """Where in the sheet the next row stands. known: a row was found that only IOzone writes."""

    source: Source
    run: Run = field(default_factory=Run)
    report: str | None = None
    """The operation whose report the rows are of; its record sizes stand in the first one, `sizes`."""
    sizes: list[float] = field(default_factory=list)
    throughput: bool = False
    known: bool = False

    def take(self, number: int, row: list[Any]) -> Iterator[ImportedReading]:
        title = next((cell.strip() for cell in row if isinstance(cell, str) and cell.strip()), "")
        # A damaged cell can hold any bit pattern; zero is what IOzone leaves where it measured nothing.
        figures = [
            cell if math.isfinite(cell) and 0 <= cell < _LARGEST else 0.0 for cell in row if isinstance(cell, float)
        ]
        if self._heading(number, title) or not figures:
            return
        if self.throughput and (name := operation_named(title)):
            yield from throughput_row(self.source, self.run, number, name, figures)
        elif self.report is not None and not self.sizes:
            self.sizes = figures
        elif self.report is not None:
            yield from report_row(self.source, self.run, number, self.report, self.sizes, figures)

    def _heading(self, number: int, title: str) -> bool:
        if number == 1 and "iozone" in title.lower():
            self.known, self.run.command = True, title
            self.run.mode = self.run.commanded_mode()
            if match := re.search(r"(?<!\S)-s\s*(\d+[kKmMgG]?)", title):
                self.run.file_bytes = size_bytes(match[1], bare=KIB)
        elif "CPU utilization" in title:  # -+u: per cents in the layout of the reports above
            self.report, self.throughput = None, False
        elif title.startswith("Throughput report"):
            self.report, self.throughput, self.known = None, True, True
        elif match := re.match(r"Record size = (\d{1,12})\s*k?", title):
            self.run.record_bytes = int(match[1]) * KIB
        elif title.lower().endswith("report"):
            self.report, self.sizes = operation_named(title), []
            self.known = self.known or self.report is not None
            if self.report is None:
                self.source.problem(number, f"a report of an unknown operation: {title[:40]!r}")
        else:
            return False
        return True
