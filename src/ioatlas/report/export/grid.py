# SPDX-License-Identifier: Apache-2.0
"""The sweep laid out as a figure: pages of tiles of cells, any axis on x, y, tile columns and tile rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ioatlas.answer.analysis.imported import NO_DATA
from ioatlas.answer.analysis.wording import UNKNOWN_STATE, size_text
from ioatlas.model.cell import MIXED, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.factors import FACTOR, Factor, speaks_for_itself
from ioatlas.model.fixed_work import is_fixed_work
from ioatlas.model.options import SIZE_OPTIONS
from ioatlas.model.result import CampaignResult
from ioatlas.model.tree import is_tree
from ioatlas.report.table import PRICES, Entry, entries

Level = OptionValue
Coordinates = dict[str, Level]

SIDES = "--x, --y, --tiles"
X_ORDER = ("size", "numjobs", "iodepth", "bs")
Y_ORDER = ("bs", "iodepth", "numjobs", "size")
TILE_ORDER = ("numjobs", "iodepth", "bs", "size")
MOST_COLUMNS = 4
"""Tiles of one axis beside each other: nine are three times three, not a strip of thirty inches."""
MANY_PAGES, FEW_CELLS = 6, 3
"""More pages than this with so few cells each become one list."""
UNSET, UNTOLD = "default", "not told"
"""Levels of cells that leave an option to fio, and of another tool's, whose file does not say it."""
AXIS_NAMES = {
    "bs": "Block size (bs)",
    "size": "File size (size)",
    "numjobs": "Jobs (numjobs)",
    "iodepth": "Queue depth (iodepth)",
}


@dataclass(frozen=True)
class Axis:
    """One dimension: fio's option name, or target, sharing, state, or a factor's column; `rw` also says which part of a
    mixed load it is.
    """

    name: str
    levels: tuple[Level, ...]
    unit: str = ""

    @property
    def heading(self) -> str:
        if self.name.startswith(FACTOR):
            return self.name.removeprefix(FACTOR) + (f", {self.unit}" if self.unit else "")
        return AXIS_NAMES.get(self.name, self.name)

    def label(self, level: Level) -> str:
        """A level as tick mark: '64 KiB', '8', 'randread'."""
        return size_text(level) if self.name in SIZE_OPTIONS and level not in (UNSET, UNTOLD) else str(level)

    def title(self, level: Level) -> str:
        """A level as heading: 'numjobs 8', 'randread'."""
        if self.name in ("rw", "target") or (self.name.startswith(FACTOR) and speaks_for_itself(level)):
            return self.label(level)
        return f"{self.name.removeprefix(FACTOR)} {self.label(level)}" + (f" {self.unit}" if self.unit else "")


@dataclass(frozen=True)
class Tile:
    """The cells of one tile by (x level, y level)."""

    column: Level | None
    row: Level | None
    cells: Mapping[tuple[Level, Level], Entry]


@dataclass(frozen=True)
class Page:
    """One figure. `fixed` are the levels of the axes that are on no side of it."""

    fixed: tuple[tuple[Axis, Level], ...]
    tiles: tuple[Tile, ...]

    @property
    def title(self) -> str:
        return ", ".join(axis.title(level) for axis, level in self.fixed)

    @property
    def slug(self) -> str:
        """For file names: 'nas1-randread'."""
        words = "-".join(axis.title(level) for axis, level in self.fixed)
        return "-".join("".join(c if c.isalnum() or c in "_." else " " for c in words).split()).lower()


@dataclass(frozen=True)
class Arrangement:
    """Where the tiles of a page stand: row by row. `wrapped`: one axis of tiles goes on in further rows, so each tile
    has a heading of its own.
    """

    rows: int
    columns: int
    count: int
    wrapped: bool

    def place(self, number: int) -> tuple[int, int]:
        return divmod(number, self.columns)

    def is_lowest(self, number: int) -> bool:
        """Whether no tile stands below this one."""
        return number + self.columns >= self.count


@dataclass(frozen=True)
class Layout:
    """columns, rows: axes of the tiles; None when there is one column or row only."""

    x: Axis
    y: Axis
    columns: Axis | None
    rows: Axis | None
    pages: tuple[Page, ...]

    def arrange(self, page: Page, most: int = MOST_COLUMNS) -> Arrangement:
        """Columns by rows of the tiles' axes; a strip of one axis that is longer than `most` goes on in further
        rows.
        """
        count, columns = len(page.tiles), len(self.columns.levels) if self.columns else 1
        if self.rows is not None or columns <= most:
            return Arrangement(count // columns, columns, count, wrapped=False)
        rows = -(-count // most)
        return Arrangement(rows, -(-count // rows), count, wrapped=True)


def axes_of(result: CampaignResult, found: Sequence[Entry], asked: Sequence[str] = ()) -> list[Axis]:
    """The axes of the sweep in the campaign's order; those with one level too, except sharing and state.

    Options that differ and follow from the axes (an engine that depends on the depth) are left out. Factors take the
    place of the target where they tell it.
    asked: axes by their names; a price is one only where it is asked for, and then in the place of what it follows.
    """
    told = _told_factors(found, asked)
    factors = {name: factor.unit for mine in told.values() for name, factor in mine.items()}
    of_target = {target: tuple(mine.items()) for target, mine in told.items()}
    named = len(of_target) > 1 and len(set(of_target.values())) == len(of_target)
    levels: dict[str, dict[Level, None]] = {**({} if named else {"target": {}}), "rw": {}}
    levels |= {name: {} for name in factors if named}
    declared = dict.fromkeys(name for name in result.axes if name not in ("target", "direction", "operation"))
    for name in (*declared, *_independent(found, tuple(declared)), "sharing", "state"):
        levels.setdefault(name, dict.fromkeys(result.axes.get(name, ())))
    places = [coordinates(entry, levels) for entry in found]
    for place in places:
        for name, values in levels.items():
            if name != "rw" or place[name] not in values:
                values[place[name]] = None
    present = {name: {place[name] for place in places} for name in levels}
    axes = [
        Axis(name, _ordered([v for v in values if v in present[name]]), factors.get(name, ""))
        for name, values in levels.items()
    ]
    return [axis for axis in axes if axis.levels and (len(axis.levels) > 1 or axis.name not in ("sharing", "state"))]


def _told_factors(found: Sequence[Entry], asked: Sequence[str]) -> dict[str, dict[str, Factor]]:
    """{target: its factors} without prices that nobody asked for, or without what has one value at each price."""
    every = {entry.cell.target: dict(entry.factors) for entry in found}
    price = next((name for name in (axis_named(one, _names(every)) for one in asked) if name in PRICES), "")
    apart: set[str] = set()
    for name in _names(every):
        values: dict[Factor | None, set[Factor | None]] = {}
        for factors in every.values():
            values.setdefault(factors.get(price), set()).add(factors.get(name))
        if not price or name in asked or any(len(mine) > 1 for mine in values.values()):
            apart.add(name)
    return {
        target: {name: one for name, one in factors.items() if name == price or (name in apart and name not in PRICES)}
        for target, factors in every.items()
    }


def _names(every: Mapping[str, Mapping[str, Factor]]) -> dict[str, None]:
    return dict.fromkeys(name for factors in every.values() for name in factors)


def _independent(found: Sequence[Entry], declared: tuple[str, ...]) -> list[str]:
    """Options that no axis declares and none explains: with two values in one place of the sweep, or there are no
    axes at all.
    """
    place_names = ("target", "rw", "sharing", "state", *declared)
    values: dict[str, dict[tuple[Level, ...], Level]] = {}
    independent: dict[str, None] = {}
    for entry in found:
        place = tuple(coordinates(entry, place_names).values())
        for name, value in entry.cell.options:
            if (
                name not in (*place_names, "operation")
                and values.setdefault(name, {}).setdefault(place, value) != value
            ):
                independent[name] = None
    return list(independent)


def coordinates(entry: Entry, names: Mapping[str, object] | Sequence[str]) -> Coordinates:
    """Where an entry stands on each named axis."""
    cell = entry.cell
    special: dict[str, Level] = {
        "target": cell.target,
        "sharing": cell.sharing,
        "state": cell.state,
        "rw": load_name(entry),
    }
    special |= {name: factor.value for name, factor in entry.factors.items()}
    absent = UNTOLD if cell.state == UNKNOWN_STATE else UNSET
    return {name: special[name] if name in special else cell.option.get(name, absent) for name in names}


def load_name(entry: Entry) -> str:
    """'randread', or 'randrw, read part' where a load has several directions. An operation that has a name of its own
    goes by it: several of a sequence have one rw, and an imported one may have none.
    """
    named = entry.cell.option.get("operation")
    if named and (is_fixed_work(entry.cell) or is_tree(entry.cell)):
        return str(named)
    if entry.estimate is not None and entry.estimate.kind == "imported":
        told = named or entry.cell.option.get("rw")
        known = entry.direction if entry.direction != NO_DATA else ""
        word = str(told or (f"{known}, pattern not told" if known else "operation not told"))
        return f"{word}, {entry.direction} part" if word in MIXED and entry.direction in ("read", "write") else word
    return entry.cell.rw if len(entry.cell.directions) == 1 else f"{entry.cell.rw}, {entry.direction} part"


def _ordered(levels: Sequence[Level]) -> tuple[Level, ...]:
    if all(isinstance(level, (int, float)) for level in levels):
        return tuple(sorted(levels, key=float))
    return tuple(levels)


def lay_out(result: CampaignResult, *, x: str = "", y: str = "", tiles: Sequence[str] = ()) -> Layout:
    """Choose the sides that were not asked for: y block size, x file size, tiles over numjobs and the next axis,
    pages over the rest.

    Raises UsageError on an axis that the campaign does not have or that is asked for twice, and on an empty result.
    """
    found = entries(result)
    if not found:
        raise UsageError("the campaign has no cell yet: there is nothing to draw", remedy="run `ioatlas resume` first")
    axes = {axis.name: axis for axis in axes_of(result, found, (x, y, *tiles))}
    x, y, *tiles = [axis_named(name, axes) for name in (x, y, *tiles)]
    asked = [name for name in (x, y, *tiles) if name]
    _check_asked(asked, axes, len(tiles))
    others = [axis for axis in axes.values() if axis.name not in asked]
    free = [axis.name for axis in others if len(axis.levels) > 1]
    y = y or _take(free, Y_ORDER)
    x = x or _take(free, X_ORDER) or _take(free, (), spare=())
    y = y or _take(free, (), spare=())
    columns, rows = ([*tiles, "", ""])[:2] if tiles else (_take(free, TILE_ORDER), _take(free, TILE_ORDER))
    if not tiles and not rows:
        rows = _take(free, (), spare=("target",)) if columns else ""
        columns = columns or _take(free, (), spare=("target",))
    single = [axis.name for axis in others if len(axis.levels) == 1]
    x = x or _take(single, X_ORDER, spare=())
    y = y or _take(single, Y_ORDER, spare=())
    if not x or not y:
        raise UsageError("the campaign has too few axes for these sides", where=SIDES, remedy="leave out --tiles")
    sides = [name for name in (x, y, columns, rows) if name]
    rest = [axis for axis in axes.values() if axis.name not in sides]
    layout = Layout(axes[x], axes[y], axes.get(columns), axes.get(rows), ())
    layout = replace(layout, pages=tuple(_pages(found, layout, rest)))
    return layout if tiles else _gathered(layout)


def _check_asked(asked: Sequence[str], axes: Mapping[str, Axis], n_tiles: int) -> None:
    for name in asked:
        if name not in axes:
            remedy = f"choose from {', '.join(axes)}"
            raise UsageError(f"the campaign has no axis {name!r}", where=SIDES, remedy=remedy)
    for name in asked:
        if asked.count(name) > 1:
            raise UsageError(f"axis {name!r} is asked for twice", where=SIDES, remedy="name each axis once")
    if n_tiles > 2:
        remedy = "name one or two axes: --tiles numjobs,iodepth"
        raise UsageError(f"{n_tiles} axes are asked for tiles", where=SIDES, remedy=remedy)


def _take(free: list[str], order: Sequence[str], *, spare: Sequence[str] = ("rw", "target")) -> str:
    """The first free axis by preference, which is free no more; '' where there is none but those to spare."""
    left = [name for name in free if name not in spare]
    choice = next((name for name in (*order, *left) if name in left), "")
    if choice:
        free.remove(choice)
    return choice


def _gathered(layout: Layout) -> Layout:
    """Imported sets of many kinds give many pages with a cell or two each: their cells stand in one list instead."""
    filled = [(page, tile, place) for page in layout.pages for tile in page.tiles for place in tile.cells]
    imported = all((e := tile.cells[place].estimate) and e.kind == "imported" for _, tile, place in filled)
    if not imported or len(layout.pages) <= MANY_PAGES or len(filled) > FEW_CELLS * len(layout.pages):
        return layout
    rows: dict[Level, Entry] = {}
    for page, tile, place in filled:
        text = _words_of(layout, page, tile, place)
        rows.setdefault(text if text not in rows else f"{text} ({len(rows)})", tile.cells[place])
    cells: dict[tuple[Level, Level], Entry] = {("", name): entry for name, entry in rows.items()}
    page = Page((), (Tile(None, None, cells),))
    return Layout(Axis("one cell each", ("",)), Axis("load", tuple(reversed(rows))), None, None, (page,))


def _words_of(layout: Layout, page: Page, tile: Tile, place: tuple[Level, Level]) -> str:
    """What a cell is, in words; what nobody set needs none."""
    sides = ((layout.columns, tile.column), (layout.rows, tile.row), (layout.x, place[0]), (layout.y, place[1]))
    parts = [
        (axis, level)
        for axis, level in (*page.fixed, *sides)
        if axis is not None and level not in (None, UNSET, UNTOLD)
    ]
    return ", ".join(axis.title(level) for axis, level in parts if level is not None)


def axis_named(name: str, axes: Mapping[str, object]) -> str:
    """The axis a person means: a factor goes by its own name too, and what was done by `operation` as by `rw`."""
    if name == "operation" and name not in axes:
        return "rw"
    return f"{FACTOR}{name}" if name not in axes and f"{FACTOR}{name}" in axes else name


_Cells = dict[tuple[Level, Level], Entry]


def _pages(found: Sequence[Entry], layout: Layout, rest: Sequence[Axis]) -> Iterator[Page]:
    x, y, columns, rows = layout.x, layout.y, layout.columns, layout.rows
    names = [axis.name for axis in (x, y, *rest, *(a for a in (columns, rows) if a))]
    placed: dict[tuple[Level, ...], dict[tuple[Level | None, Level | None], _Cells]] = {}
    for entry in found:
        at = coordinates(entry, names)
        tile = (at[columns.name] if columns else None, at[rows.name] if rows else None)
        page = placed.setdefault(tuple(at[axis.name] for axis in rest), {})
        page.setdefault(tile, {}).setdefault((at[x.name], at[y.name]), entry)
    for key in itertools.product(*(axis.levels for axis in rest)):
        if key in placed:
            grid = itertools.product(rows.levels if rows else (None,), columns.levels if columns else (None,))
            tiles = tuple(Tile(column, row, placed[key].get((column, row), {})) for row, column in grid)
            fixed = zip(rest, key, strict=True)
            yield Page(
                tuple((a, level) for a, level in fixed if len(a.levels) > 1 or a.name in ("rw", "target")), tiles
            )
