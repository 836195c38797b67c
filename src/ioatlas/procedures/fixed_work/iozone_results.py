# SPDX-License-Identifier: Apache-2.0
"""IOzone's table as visits of IOzone's own cells: one figure an operation, timed by IOzone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ioatlas.fio.batch import Batch, Section
from ioatlas.fio.collect import SectionResult
from ioatlas.model.cell import Cell
from ioatlas.model.fixed_work import operation_of
from ioatlas.model.histogram import Histogram
from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.visit import Part, SectionState, Series, Visit
from ioatlas.store.journal import PlannedVisit

_FIO_WORDS = {"read": "read", "write": "write", "randread": "random read", "randwrite": "random write"}
"""The importer's word for an operation that fio's rw has one for."""


def operation_name(reading: ImportedReading) -> str:
    """The operation of a reading as the study calls it."""
    return reading.operation or _FIO_WORDS.get(reading.rw or "", reading.rw or "")


def also_moved(cells: Sequence[Cell]) -> dict[str, int]:
    """{direction: bytes} that IOzone moves in a run of these operations and reports nothing of (seen in its system
    calls, IOzone 3.489).

    It reads the first record once before the clock of read and of reread starts, and reads backward twice.
    """
    read = 0
    for cell in cells:
        if operation_of(cell) in ("read", "reread"):
            read += cell.bs_bytes
        elif operation_of(cell) == "backward read":
            read += cell.members[0].integer("io_size", 0)
    return {"read": read}


def iozone_results(
    readings: Sequence[ImportedReading], batch: Batch, planned: Mapping[int, PlannedVisit], started_at: float
) -> list[SectionResult]:
    """Results of the sections of one run of IOzone; an empty list when there is no complete table."""
    by_operation = {operation_name(reading): reading for reading in readings}
    if not by_operation:
        return []
    results = []
    at = started_at
    for index, section in enumerate(batch.sections):
        reading = by_operation.get(operation_of(section.cell))
        wrong = _wrong(section, reading)
        if wrong or reading is None or not reading.bw_bytes_per_s:
            results.append(SectionResult(section, SectionState.FAILED, None, wrong))
            continue
        work = section.cell.members[0].integer("io_size", 0)
        seconds = work / reading.bw_bytes_per_s
        part = Part(
            section.cell.directions[0],
            work,
            work // section.cell.bs_bytes,
            seconds * 1000,
            None,
            Histogram(),
            Series(0),
            "total",
        )
        row = planned[section.visit_id]
        visit = Visit(
            section.visit_id,
            section.cell.key,
            batch.batch_id,
            index,
            row.replicate,
            section.seed,
            at,
            (part,),
            purpose=row.purpose,
        )
        results.append(SectionResult(section, SectionState.FINISHED, visit))
        at += seconds
    return results


def _wrong(section: Section, reading: ImportedReading | None) -> str:
    """Why a reading is not that of the section; '' when it is."""
    cell = section.cell
    if reading is None or not reading.bw_bytes_per_s:
        return "IOzone reported nothing for it"
    if reading.bs_bytes != cell.bs_bytes or reading.size_bytes != int(cell.option["size"]):
        return f"IOzone reports a file of {reading.size_bytes} B with records of {reading.bs_bytes} B"
    return ""
