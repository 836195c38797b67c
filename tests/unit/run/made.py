# SPDX-License-Identifier: Apache-2.0
"""Cells, sections and visits as a session has them."""

from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.collect import SectionResult
from ioatlas.model.cell import Cell
from ioatlas.model.visit import Histogram, Part, Purpose, SectionState, Series, Visit
from ioatlas.store.journal import PlannedVisit

MIB = 1 << 20


def cell(target="t", **options):
    return Cell.of(target, {"rw": "randread", "bs": 4096, "size": 1 << 30, "numjobs": 2, "iodepth": 8, **options})


def section(visit_id=1, of=None, runtime_ms=490, gap_ms=10):
    return Section(visit_id, of or cell(), 7, runtime_ms, gap_ms, (("filename", "/x"),))


def planned(visit_id=1, purpose=Purpose.SWEEP, *, alone=False):
    return PlannedVisit("k", 0, 7, purpose, alone, 490, visit_id=visit_id)


def part(direction="read", mib=100, runtime_ms=1000):
    return Part(direction, mib * MIB, mib * 256, runtime_ms, 1e6, Histogram(((1_000_000, mib * 256),)), Series(0))


def result(visit_id=1, of=None, *parts, state=SectionState.FINISHED, started_at=1000.0, reason=""):
    one = section(visit_id, of)
    visit = Visit(visit_id, one.cell.key, 1, 0, 3, 7, started_at, parts or (part(),))
    return SectionResult(one, state, visit, reason)
