# SPDX-License-Identifier: Apache-2.0
"""The small map while it fills: means of what was measured so far; a place stays empty until it has a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ioatlas.cli._heatmap import draw
from ioatlas.model.application import is_work
from ioatlas.model.cell import Cell
from ioatlas.model.events import Event
from ioatlas.model.tree import is_tree
from ioatlas.model.units import number_of
from ioatlas.model.visit import SWEPT
from ioatlas.report.small_map import LOADS, SmallMap, Value, unit_of

if TYPE_CHECKING:
    from rich.text import Text

    from ioatlas.report.export.grid import Level

ACROSS = ("numjobs", "iodepth", "size")
"""What stands across: the first of them that varies."""
_Place = tuple[str, int, int]


class LiveMap:
    """cells: those of the campaign that can be measured, in the order of the sweep."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        plain = not any(cell.streams or is_tree(cell) or is_work(cell) or cell.trace for cell in cells)
        self._across = next((name for name in ACROSS if len({_level(cell, name) for cell in cells}) > 1), ACROSS[0])
        several = len({cell.target for cell in cells}) > 1
        self._places: dict[tuple[str, str], _Place] = {}
        for cell in cells if plain else ():
            for direction in cell.directions:
                load = LOADS.get(cell.rw, cell.rw)
                load += f" ({direction})" if len(cell.directions) > 1 else ""
                load = f"{cell.target}: {load}" if several else load
                self._places[cell.key, direction] = (load, _level(cell, self._across), cell.bs_bytes)
        self._found: dict[tuple[str, str], tuple[float, int]] = {}

    def take(self, event: Event) -> None:
        """Of visits the values; other events change nothing."""
        if event.name != "visit" or event.fields.get("purpose") not in SWEPT:
            return
        at = (str(event.fields.get("cell")), str(event.fields.get("direction")))
        if at in self._places:
            total, count = self._found.get(at, (0.0, 0))
            self._found[at] = (total + float(event.fields["bw_bytes_per_s"]), count + 1)

    def lines(self, *, width: int, lines: int, style: Callable[[float | None], str]) -> list[Text]:
        """At most `lines` lines; none before the first value, and none where there are no two places to fill."""
        from ioatlas.report.export.grid import Axis

        if len(set(self._places.values())) < 2 or not self._found:
            return []
        best: dict[_Place, float] = {}
        for at, (total, count) in self._found.items():
            place = self._places[at]
            best[place] = max(best.get(place, 0.0), total / count)
        top = max(best.values())
        unit, factor = unit_of(top)
        values: dict[tuple[Level, Level, Level], Value] = {place: Value("") for place in self._places.values()}
        values |= {
            place: Value(number_of(rate / factor), "", rate / top if top else None) for place, rate in best.items()
        }
        x, y = (tuple(sorted({place[n] for place in self._places.values()})) for n in (1, 2))
        loads = tuple(dict.fromkeys(load for load, _, _ in values))
        found = SmallMap(unit, Axis(self._across, x), Axis("bs", y), values, loads, "")
        return draw(found, width=width, lines=lines, style=style, more="in the report")


def _level(cell: Cell, name: str) -> int:
    return {"numjobs": cell.numjobs, "iodepth": cell.iodepth, "size": cell.size_bytes}[name]
