# SPDX-License-Identifier: Apache-2.0
"""The small heat map of the first screen: kinds of load side by side, block sizes down, jobs across.

Marks say what a colour cannot: they are there in pipes, without colour and for readers who do not see it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ioatlas.analysis.best import speed, with_fresh
from ioatlas.analysis.marks import SIGNS, Mark, mark_of
from ioatlas.model.tree import is_tree
from ioatlas.model.units import number_of

if TYPE_CHECKING:
    from rich.text import Text

    from ioatlas.model.estimate import Estimate
    from ioatlas.model.result import CampaignResult
    from ioatlas.report.export.grid import Axis, Level
    from ioatlas.report.export.quantities import Quantity
    from ioatlas.report.table import Entry

MISSING = "·"
LEGEND = {**{sign: words for sign, words in SIGNS.values() if sign}, MISSING: "no value"}
"""Every mark with its words, in the order of the legend."""
LOADS = {"randread": "rand read", "randwrite": "rand write"}
_MIB, _KIB, _GIB = 1 << 20, 1 << 10, 1 << 30
_LEAST_MIB = 999.5 * _KIB
"""From here on the headline says MiB/s: both have one unit."""
MOST_NAMED = 3
"""Kinds of load that are named of those that are not shown."""
GAP = 2
"""Blanks between two kinds of load."""


@dataclass(frozen=True)
class Value:
    """What stands in one place: its text without the mark, the mark, and its share of the largest value."""

    text: str
    mark: str = ""
    share: float | None = None


@dataclass(frozen=True)
class SmallMap:
    """columns: of each kind of load. left_out: what does not fit or is folded, in words."""

    unit: str
    x: Axis
    y: Axis
    values: Mapping[tuple[Level, Level, Level], Value]
    loads: tuple[Level, ...]
    folded: str

    @property
    def marks(self) -> list[str]:
        used = {value.mark or value.text for value in self.values.values()}
        return [mark for mark in LEGEND if mark in used]


def small_map(result: CampaignResult, quantity: Quantity | None = None, x: str = "", y: str = "") -> SmallMap | None:
    """None where there are no two axes to draw, as with a single cell. quantity: by default the speed. x, y: axes by
    their names, else those that say most. Raises UsageError on an axis that there is not.
    """
    from ioatlas.errors import UsageError
    from ioatlas.model.export_columns import FACTOR
    from ioatlas.report.export.grid import Axis, axes_of, axis_named, coordinates
    from ioatlas.report.table import entries

    again = {(e.cell.key, e.direction, e.kind): e for e in with_fresh(result.estimates, result.fresh)}
    found = [
        replace(entry, estimate=again.get((e.cell.key, e.direction, e.kind), e)) if (e := entry.estimate) else entry
        for entry in entries(result)
    ]
    axes = {axis.name: axis for axis in axes_of(result, found, (x, y))}
    x, y = axis_named(x, axes), axis_named(y, axes)
    sides = [name for name in axes if name not in ("rw", "target")]
    for name in filter(None, (x, y)):
        if name not in sides:
            remedy = f"choose from {', '.join(sides)}"
            raise UsageError(f"the campaign has no axis {name!r} to show", where="--x, --y", remedy=remedy)
    varied = [name for name in sides if len(axes[name].levels) > 1]
    y = y or ("bs" if "bs" in axes and x != "bs" else next((name for name in varied if name != x), ""))
    rest = [name for name in varied if name != y]
    factors = [name for name in rest if name.startswith(FACTOR)]
    numeric = [name for name in factors if not any(isinstance(level, str) for level in axes[name].levels)]
    most = sorted(numeric, key=lambda name: -len(axes[name].levels))[:1]
    preferred = (*most, "numjobs", "iodepth", "size")
    x = x or next((name for name in preferred if name in rest), rest[0] if rest else "numjobs")
    if x not in axes and found:
        axes[x] = Axis(x, tuple(dict.fromkeys(coordinates(entry, (x,))[x] for entry in found)))
    if not found or y not in axes or x not in axes or x == y or (len(found) < 2 and not varied):
        return None
    places: dict[tuple[Level, Level, Level], list[Entry]] = {}
    others = [name for name in (*factors, "target") if name in axes and len(axes[name].levels) > 1 and name != x]
    for entry in found:
        at = coordinates(entry, (*others, "rw", x, y))
        word = str(entry.cell.option.get("operation", at["rw"]))
        load = ": ".join(
            [*([", ".join(axes[name].title(at[name]) for name in others)] if others else []), LOADS.get(word, word)]
        )
        places.setdefault((load, at[x], at[y]), []).append(entry)
    in_calls = all(is_tree(entry.cell) for entry in found)

    def rate(e: Estimate) -> float:
        """What is drawn: bytes per second, or calls where most move no data."""
        if quantity is not None:
            return quantity.value(e) or 0.0
        return (e.iops or 0.0) if in_calls else speed(e)

    lowest = quantity is not None and quantity.name.startswith("lat")
    chosen = {place: _chosen(candidates, rate, lowest=lowest) for place, candidates in places.items()}
    # What disagrees has no value, by which others could be ranked.
    rates = {place: rate(e) if e and mark_of(e) is not Mark.DISAGREE else 0.0 for place, e in chosen.items()}
    top = max(rates.values(), default=0.0)
    scale = quantity.unit([top]) if quantity is not None else None
    unit, factor = (scale.name, scale.factor) if scale else unit_of(top, in_calls=in_calls)
    values = {place: _value(e, rates[place], factor, top) for place, e in chosen.items()}
    over = [f"{name} ({len(axes[name].levels)})" for name in rest if name not in (x, *others)]
    folded = f"{'lowest' if lowest else 'highest'} over {', '.join(over)}" if over else ""
    return SmallMap(unit, axes[x], axes[y], values, tuple(dict.fromkeys(load for load, _, _ in values)), folded)


def _chosen(candidates: Sequence[Entry], rate: Callable[[Estimate], float], *, lowest: bool) -> Estimate | None:
    """The best of what is folded into one place: what may be named before what may not, measured before estimated where
    they are as good.
    """
    there = [entry.estimate for entry in candidates if entry.estimate is not None and rate(entry.estimate) > 0]
    if not there:
        return None
    order = list(Mark)
    sound = [e for e in there if order.index(mark_of(e)) < order.index(Mark.IMPORTED)]
    sign = -1 if lowest else 1
    return max(sound or there, key=lambda e: (-order.index(mark_of(e)) if not sound else 0, sign * rate(e)))


def unit_of(top: float, *, in_calls: bool = False) -> tuple[str, float]:
    """The unit for a map whose largest value is this, and how much one of it is."""
    if in_calls:
        return ("k operations/s", 1000) if top >= 10_000 else ("operations/s", 1)
    if top >= 100 * _GIB:
        return "GiB/s", _GIB
    return ("MiB/s", _MIB) if top >= _LEAST_MIB else ("KiB/s", _KIB)


def _value(e: Estimate | None, rate: float, factor: float, top: float) -> Value:
    if e is None:
        return Value(MISSING)
    mark = mark_of(e)
    if mark is Mark.DISAGREE:
        return Value(SIGNS[mark][0])
    return Value(number_of(rate / factor), SIGNS[mark][0], rate / top if top else None)


# -- drawing -------------------------------------------------------------------------------------------------


def draw(
    found: SmallMap, *, width: int, style: Callable[[float | None], str], lines: int | None = None, more: str = ""
) -> list[Text]:
    """At most `lines` lines of `width`; what does not fit is named, and `more` says where all of it is. Without `lines`
    all of it, columns in strips.
    """
    from rich.text import Text

    left: list[str] = []
    rows = list(reversed(found.y.levels))
    bands = _strips(found, width) if lines is None else _bands(found, width, left)
    lines = lines or len(bands) * (len(rows) + 2) + 2
    note = bool(found.folded)
    room = max(1, (lines - 1 - note) // len(bands) - 2)
    while room < min(2, len(rows)) and len(bands) > 1:
        bands.pop()
        room = max(1, (lines - 1 - note) // len(bands) - 2)
    shown = [load for band, _ in bands for load in band]
    if len(shown) < len(found.loads):
        names = [str(load) for load in found.loads if load not in shown]
        left.append(
            ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" * (len(names) > MOST_NAMED))
        )
    if room < len(rows):
        rows = _thinned(rows, room)
        left.append(f"{len(found.y.levels) - len(rows)} of {len(found.y.levels)} {found.y.name} values")
    drawn: list[Text] = []
    for band, columns in bands:
        drawn += _band(found, band, columns, rows, style)
    if found.folded:
        drawn.append(Text(found.folded, style="italic"))
    legend = "  ".join(f"{mark} {LEGEND[mark]}" for mark in found.marks)
    rest = f"Not shown: {'; '.join(left)} ({more})" if left else ""
    together = "  ".join(filter(None, (legend, rest)))
    notes = [together] if len(together) <= width else [legend, rest]
    return [*drawn, *(Text(line) for one in notes for line in textwrap.wrap(one, width))]


def _bands(found: SmallMap, width: int, left: list[str]) -> list[tuple[list[Level], list[Level]]]:
    """Kinds of load that stand side by side, and the columns that fit; all bands have the same columns."""
    side = _side(found)
    columns = list(found.x.levels)
    while len(columns) > 2 and side + _width(found, found.loads[0], columns) > width:
        columns = _thinned(columns, len(columns) - 1)
    if len(columns) < len(found.x.levels):
        left.append(f"{len(found.x.levels) - len(columns)} of {len(found.x.levels)} {found.x.name} values")
    bands: list[tuple[list[Level], list[Level]]] = []
    for load in found.loads:
        used = side + sum(_width(found, one, columns) for one in bands[-1][0]) if bands else width + 1
        if bands and used + _width(found, load, columns) <= width:
            bands[-1][0].append(load)
        else:
            bands.append(([load], columns))
    return bands


def _strips(found: SmallMap, width: int) -> list[tuple[list[Level], list[Level]]]:
    """As `_bands` with all columns: where a kind of load is too wide, it has several."""
    step = len(found.x.levels)
    while step > 1 and _side(found) + max(_width(found, load, found.x.levels[:step]) for load in found.loads) > width:
        step -= 1
    if step == len(found.x.levels):
        return _bands(found, width, [])
    parts = [list(found.x.levels[at : at + step]) for at in range(0, len(found.x.levels), step)]
    return [([load], part) for load in found.loads for part in parts]


def _thinned(levels: Sequence[Level], count: int) -> list[Level]:
    """So many of them, the first and the last included, evenly spread."""
    if count >= len(levels):
        return list(levels)
    if count < 2:
        return [levels[0]]
    return [levels[round(n * (len(levels) - 1) / (count - 1))] for n in range(count)]


def _side(found: SmallMap) -> int:
    return max(
        len(found.unit),
        len(_AXIS_WORDS.get(found.x.name, found.x.heading)),
        *(len(_upwards(found, level)) for level in found.y.levels),
    )


def _column(found: SmallMap, load: Level, level: Level) -> int:
    """Width of one column without its mark."""
    texts = [found.values[load, level, j].text for j in found.y.levels if (load, level, j) in found.values]
    return max(len(_across(found, level)), *(len(text) for text in texts), 2)


def _width(found: SmallMap, load: Level, columns: Sequence[Level]) -> int:
    """Of a kind of load: each column with a blank before and a mark after it."""
    return GAP + max(len(str(load)), sum(_column(found, load, level) + 2 for level in columns))


def _band(
    found: SmallMap,
    loads: Sequence[Level],
    columns: Sequence[Level],
    rows: Sequence[Level],
    style: Callable[[float | None], str],
) -> list[Text]:
    from rich.text import Text

    side = _side(found)
    head = Text(found.unit.ljust(side), style="bold")
    under = Text(_AXIS_WORDS.get(found.x.name, found.x.heading).ljust(side), style="bold")
    lines = [Text(_upwards(found, j).rjust(side)) for j in rows]
    for load in loads:
        width = _width(found, load, columns)
        spare = width - GAP - sum(_column(found, load, level) + 2 for level in columns)
        head.append(" " * GAP + f" {load}".ljust(width - GAP))
        under.append(" " * GAP)
        for line in lines:
            line.append(" " * GAP)
        for level in columns:
            room = _column(found, load, level) + 1
            under.append(_across(found, level).rjust(room) + " ")
            for line, j in zip(lines, rows, strict=True):
                value = found.values.get((load, level, j), Value(""))
                line.append(f"{value.text.rjust(room)}{value.mark or ' '}", style=style(value.share))
        for line in (under, *lines):
            line.append(" " * spare)
    return [head, *([under] if any(_across(found, level) for level in columns) else []), *lines]


def _upwards(found: SmallMap, level: Level) -> str:
    """A value of the axis upwards; of a factor with its name, where it is a bare number."""
    from ioatlas.model.export_columns import FACTOR

    return found.y.title(level) if found.y.name.startswith(FACTOR) else found.y.label(level)


def _across(found: SmallMap, level: Level) -> str:
    """A value of the axis across; an axis that nobody set needs none."""
    from ioatlas.report.export.grid import UNSET, UNTOLD

    return "" if level in (UNSET, UNTOLD) and len(found.x.levels) == 1 else found.x.label(level)


_AXIS_WORDS = {"numjobs": "jobs", "size": "size"}
