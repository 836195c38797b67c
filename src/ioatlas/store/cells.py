# SPDX-License-Identifier: Apache-2.0
"""The cells of a sweep, in its order, and what the map's model says of those that were not measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from ioatlas.model.cell import Cell
from ioatlas.store import schema as t
from ioatlas.store.database import MINE, OF_MY_CELLS, Database, Record
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
        with self.changing_plan():
            self.insert("cell", *rows)

    def cells(self) -> list[tuple[Cell, str]]:
        """All cells in sweep order with the reason why they are not measured. Raises IoAtlasError as `read_cell`."""
        rows = self._rows("SELECT * FROM cell WHERE :only IN ('', target) ORDER BY position")
        return [(self._cell(row), row.reason) for row in rows]

    def _cell(self, row: Record) -> Cell:
        """The cell of a row, read once as long as it says the same."""
        said = (row.cell_key, row.target, row.options_json, row.streams_json, row.sharing, row.state)
        if said not in self._cells:
            self._cells[said] = read_cell(self.row("cell", row.cell_key), row)
        return self._cells[said]

    def count_cells(self) -> int:
        """How many there are in the campaign, measured or not."""
        return int(self._value("SELECT count(*) FROM cell"))

    def replace_cells(self, cells: Sequence[tuple[Cell, str]]) -> None:
        """Other cells in the place of all, before anything was measured; planned visits go with them."""
        with self.changing_plan():
            if self._rows("SELECT 1 FROM visit WHERE status != 'planned' LIMIT 1"):
                raise AssertionError("cells were measured already")
            self._do("DELETE FROM visit")
            self._do("DELETE FROM cell")
            self.add_cells(cells)

    def leave_out(self, reasons: Mapping[str, str]) -> None:
        """Mark cells as not measured, and drop their planned visits. What another set-up measured stays measured."""
        drop = "UPDATE visit SET status = 'dropped', reason = :reason WHERE cell_key = :key AND status = 'planned'"
        done = "SELECT 1 FROM visit WHERE cell_key = :key AND status = 'done' AND purpose = 'sweep' LIMIT 1"
        with self.changing_plan():
            for key, reason in reasons.items():
                if self.set_up and self._rows(done, key=key):
                    self._do(f"{drop} AND {MINE}", key=key, reason=reason)
                else:
                    self._do("UPDATE cell SET reason = :reason WHERE cell_key = :key", key=key, reason=reason)
                    self._do(drop, key=key, reason=reason)


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
        with self.together():
            self._do(f"DELETE FROM prediction WHERE {OF_MY_CELLS}")
            self.insert("prediction", *map(asdict, rows))

    def predictions(self) -> list[Prediction]:
        names = t.TABLES["prediction"].listed()
        return [Prediction(*row) for row in self._rows(f"SELECT {names} FROM prediction WHERE {OF_MY_CELLS}")]
