# SPDX-License-Identifier: Apache-2.0
"""The cells of a sweep, in its order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from ioatlas.model.cell import Cell
from ioatlas.model.status import VisitStatus
from ioatlas.store import schema as t
from ioatlas.store.seal import Seals
from ioatlas.store.stored import read_cell


class Cells(Seals):
    """The sweep."""

    def add_cells(self, cells: Sequence[tuple[Cell, str]], first: int = 0) -> None:
        """Cells in the order of the sweep from place `first` on, each with the reason why it is not measured (''
        when it is to be).
        """
        rows = [
            {
                "cell_key": cell.key,
                "position": position,
                "target": cell.target,
                "options_json": json.dumps(cell.options),
                "sharing": cell.sharing,
                "state": cell.state,
                "streams_json": json.dumps(cell.streams),
                "reason": reason,
            }
            for position, (cell, reason) in enumerate(cells, first)
        ]
        with self.changing_plan() as link:
            if rows:
                link.execute(t.cell.insert(), rows)

    def cells(self) -> list[tuple[Cell, str]]:
        """All cells in sweep order with the reason why they are not measured. Raises IoAtlasError as `read_cell`."""
        with self._engine.connect() as link:
            rows = link.execute(sa.select(t.cell).order_by(t.cell.c.position)).all()
        return [(read_cell(self.row("cell", row.cell_key), row), row.reason) for row in rows]

    def count_cells(self) -> int:
        """How many there are, measured or not."""
        with self._engine.connect() as link:
            return int(link.execute(sa.select(sa.func.count()).select_from(t.cell)).scalar_one())

    def leave_out(self, reasons: Mapping[str, str]) -> None:
        """Mark cells as not measured, and drop their planned visits."""
        with self.changing_plan() as link:
            for key, reason in reasons.items():
                link.execute(t.cell.update().where(t.cell.c.cell_key == key).values(reason=reason))
                link.execute(
                    t.visit.update()
                    .where(t.visit.c.cell_key == key, t.visit.c.status == VisitStatus.PLANNED)
                    .values(status=VisitStatus.DROPPED, reason=reason)
                )
