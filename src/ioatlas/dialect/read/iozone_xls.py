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
from typing import Any

from ioatlas.dialect.read.iozone import Run, reading, throughput_row
from ioatlas.dialect.read.iozone_words import operation_named
from ioatlas.dialect.read.numbers import KIB, size_bytes
from ioatlas.dialect.read.source import Source
from ioatlas.model.foreign import ForeignReading

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


def read(source: Source) -> Iterator[ForeignReading]:
    run = Run()
    report: str | None = None
    sizes: list[float] = []
    throughput = False
    known = False
    for number, row in enumerate(_rows(source), start=1):
        texts = [cell.strip() for cell in row if isinstance(cell, str) and cell.strip()]
        # A damaged cell can hold any bit pattern; zero is what IOzone leaves where it measured nothing.
        figures = [cell if math.isfinite(cell) and 0 <= cell < _LARGEST else 0.0 for cell in row if isinstance(cell, float)]
        title = texts[0] if texts else ""
        if number == 1 and "iozone" in title.lower():
            run.command = title
            known = True
            run.mode = run.commanded_mode()
            if match := re.search(r"(?<!\S)-s\s*(\d+[kKmMgG]?)", title):
                run.file_bytes = size_bytes(match[1], bare=KIB)
        elif "CPU utilization" in title:  # -+u: per cents in the layout of the reports above
            report, throughput = None, False
        elif title.startswith("Throughput report"):
            throughput, known, report = True, True, None
        elif match := re.match(r"Record size = (\d{1,12})\s*k?", title):
            run.record_bytes = int(match[1]) * KIB
        elif title.lower().endswith("report"):
            report, sizes = operation_named(title), []
            known = known or report is not None
            if report is None:
                source.problem(number, f"a report of an unknown operation: {title[:40]!r}")
        elif throughput and figures and (name := operation_named(title)):
            yield from throughput_row(source, run, number, name, figures)
        elif report is not None and figures:
            if not sizes:
                sizes = figures
                continue
            for record, value in zip(sizes, figures[1:], strict=False):
                if value > 0 and 0 < record < 2**40 and 0 < figures[0] < 2**50:
                    yield reading(
                        source,
                        number,
                        run,
                        report,
                        value,
                        bs_bytes=int(record) * KIB,
                        size_bytes=int(figures[0]) * KIB,
                        numjobs=1,
                        details={"report": True},
                    )
    if not known:
        source.problem(0, "a workbook that iozone did not write")
