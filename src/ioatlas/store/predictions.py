# SPDX-License-Identifier: Apache-2.0
"""What the map's model says of cells that were not measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from ioatlas.store import schema as t
from ioatlas.store.database import Database


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
        with self._engine.connect() as link:
            return [Prediction(*row) for row in link.execute(sa.select(t.prediction).where(*self._my_cells()))]

    def _my_cells(self) -> tuple[sa.ColumnElement[bool], ...]:
        mine = sa.select(t.cell.c.cell_key).where(t.cell.c.target == self.only)
        return (t.prediction.c.cell_key.in_(mine),) if self.only else ()
