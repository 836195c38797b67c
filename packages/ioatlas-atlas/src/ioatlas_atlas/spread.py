# SPDX-License-Identifier: Apache-2.0
"""Which loads of an upload lie far from what others reached with the same product over the same protocol and link."""

from __future__ import annotations

import sqlalchemy as sa

from ioatlas.answer.analysis.wording import plural
from ioatlas.model.units import format_count
from ioatlas_atlas.best import LOAD
from ioatlas_atlas.database import Database
from ioatlas_atlas.extracted import CellFound, CheckFound, Found
from ioatlas_atlas.records import DOUBTED, LIKENESS, NOT_CHECKED
from ioatlas_atlas.tables import best
from ioatlas_atlas.views import load_name

ENOUGH = 2
"""Evaluators that reached about the same: a value that one alone tells is no measure of another's."""
BEYOND = 3.0
"""Times the confirmed value; a load that gives more, or less than one part of so many of the least, is doubted."""
MOST_NAMED = 4


def marked(database: Database, found: Found, product_id: str) -> Found:
    """The upload with a doubt at each such load, and the check that says how many were held against others'."""
    here = [best.c.product_id == product_id, best.c.protocol == found.protocol, best.c.link == found.link]
    with database.reading() as link:
        rows = link.execute(sa.select(best).where(*here, best.c.evaluators >= ENOUGH, best.c.confirmed)).all()
        known = link.execute(sa.select(sa.func.max(best.c.evaluators)).where(*here)).scalar() or 0
    peers = {tuple(getattr(row, name) for name in LOAD): row for row in rows}
    cells, held, doubted = list(found.cells), 0, 0
    for number, one in enumerate(found.cells):
        row = peers.get(_load(one)) if one.usable and one.iops else None
        held += row is not None
        if row is not None and one.iops and not row.least / BEYOND <= one.iops <= row.iops * BEYOND:
            doubted += 1
            times = f"{one.iops / row.iops:,.2g} times the {format_count(row.iops)} IOPS"
            cells[number] = one.model_copy(update={"doubt": f"{times} that others confirm of it", "usable": False})
    said = f"{held - doubted} of {held} loads lie among those of {plural(known, 'evaluator')}"
    why = plural(known, "peer") if product_id else "no product named"
    state, text = ("passed", said) if held else ("note", f"{NOT_CHECKED}: {why}")
    checks = [*found.checks, CheckFound(name=LIKENESS, state=state, text=text)]
    told = [
        f"{load_name(one.rw, one.bs_bytes)}, {one.iodepth * one.numjobs} in flight: {one.doubt}"
        for one in cells
        if one.doubt
    ]
    if told:
        more = f"; and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
        said = f"{len(told)} of {len(cells)} are neither ranked nor found: {'; '.join(told[:MOST_NAMED])}{more}"
        checks.append(CheckFound(name=DOUBTED, state="note", text=said))
    doubts = {(one.cell_key, one.direction) for one in cells if one.doubt}
    best_of = found.summary.get("headlines", ())
    best_of = [one for one in best_of if (one.get("cell"), one.get("direction")) not in doubts]
    fits = [one for one in found.fits or () if {way for _, way in doubts}.isdisjoint(one.ways)]
    summary = {**found.summary, "headlines": best_of}
    return found.model_copy(update={"cells": cells, "checks": checks, "summary": summary, "fits": fits})


def _load(one: CellFound) -> tuple[str, str, int, int]:
    alike = one.streams == "" and one.loop == "closed"
    return (one.rw if alike else "", one.direction, one.bs_bytes, one.iodepth * one.numjobs)
