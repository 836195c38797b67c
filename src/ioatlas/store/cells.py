# SPDX-License-Identifier: Apache-2.0
"""The cells of a sweep, in its order, and what the map's model says of those that were not measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from ioatlas.model.cell import Cell
from ioatlas.model.visit import Purpose, VisitStatus
from ioatlas.store import schema as t
from ioatlas.store.database import Database
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
        mine = (t.cell.c.target == self.only,) if self.only else ()
        rows = self._rows(sa.select(t.cell).where(*mine).order_by(t.cell.c.position))
        return [(self._cell(row), row.reason) for row in rows]

    def _cell(self, row: sa.Row[Any]) -> Cell:
        """The cell of a row, read once as long as it says the same."""
        said = (row.cell_key, row.target, row.options_json, row.streams_json, row.sharing, row.state)
        if said not in self._cells:
            self._cells[said] = read_cell(self.row("cell", row.cell_key), row)
        return self._cells[said]

    def count_cells(self) -> int:
        """How many there are in the campaign, measured or not."""
        return int(self._value(sa.select(sa.func.count()).select_from(t.cell)))

    def replace_cells(self, cells: Sequence[tuple[Cell, str]]) -> None:
        """Other cells in the place of all, before anything was measured; planned visits go with them."""
        with self.changing_plan() as link:
            if link.execute(sa.select(t.visit.c.visit_id).where(t.visit.c.status != VisitStatus.PLANNED)).first():
                raise AssertionError("cells were measured already")
            link.execute(t.visit.delete())
            link.execute(t.cell.delete())
        self.add_cells(cells)

    def leave_out(self, reasons: Mapping[str, str]) -> None:
        """Mark cells as not measured, and drop their planned visits. What another set-up measured stays measured."""
        with self.changing_plan() as link:
            for key, reason in reasons.items():
                drop = t.visit.update().where(t.visit.c.cell_key == key, t.visit.c.status == VisitStatus.PLANNED)
                if self.set_up and self._is_measured(link, key):
                    drop = drop.where(*self._mine())
                else:
                    link.execute(t.cell.update().where(t.cell.c.cell_key == key).values(reason=reason))
                link.execute(drop.values(status=VisitStatus.DROPPED, reason=reason))

    @staticmethod
    def _is_measured(link: sa.Connection, key: str) -> bool:
        done = (t.visit.c.cell_key == key, t.visit.c.status == VisitStatus.DONE, t.visit.c.purpose == Purpose.SWEEP)
        return link.execute(sa.select(t.visit.c.visit_id).where(*done).limit(1)).first() is not None


@dataclass(frozen=True)
class Prediction:
    """What the map's model says of a cell that was not measured; the interval is that of one reading, 90%."""

    cell_key: str
    iops: float
    iops_low: float
    iops_high: float
    lat_p99_ns: float | None
    lat_p99_low_ns: float | None
    lat_p99_high_ns: float | None
    method: str


class Predictions(Database):
    """The last predictions of the map."""

    def set_predictions(self, rows: Iterable[Prediction]) -> None:
        """Replace the model's predictions."""
        with self._engine.begin() as link:
            link.execute(t.prediction.delete().where(*self._my_cells()))
            values = [asdict(row) for row in rows]
            if values:
                link.execute(t.prediction.insert(), values)

    def predictions(self) -> list[Prediction]:
        return [Prediction(*row) for row in self._rows(sa.select(t.prediction).where(*self._my_cells()))]

    def _my_cells(self) -> tuple[sa.ColumnElement[bool], ...]:
        mine = sa.select(t.cell.c.cell_key).where(t.cell.c.target == self.only)
        return (t.prediction.c.cell_key.in_(mine),) if self.only else ()
