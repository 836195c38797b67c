# SPDX-License-Identifier: Apache-2.0
"""Bars and lines of several sides: which loads, in which order, each value with its interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp
from statistics import NormalDist, fmean

from ioatlas.answer.analysis.compare import Reading
from ioatlas.answer.analysis.wording import Namer, size_text
from ioatlas.answer.law.cells import METHOD
from ioatlas.answer.results.only import Filter, passes, same
from ioatlas.answer.results.sides import Aligned
from ioatlas.model.cell import MIXED, Cell, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.options import SIZE_OPTIONS
from ioatlas.model.panel import Dot, Drawing, Line, Panel, Series
from ioatlas.model.quantities import QUANTITIES
from ioatlas.model.result import PERCENTS, CampaignResult
from ioatlas.model.units import grouped
from ioatlas.stats.distributions import Z95
from ioatlas.stats.intervals import (
    Interval,
    PooledVariance,
    bounded,
    few_visits_interval,
    moderated_log_interval,
    pool_variance,
)

MOST_BARS, MOST_PANELS, MOST_LINES = 60, 24, 12
X_ORDER = ("bs", "numjobs", "iodepth", "size")
NAMED_FIRST = ("rw", "bs", "size", "numjobs", "iodepth")
_SHOWN = (1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99)


@dataclass(frozen=True)
class Load:
    """One load with all its directions. values: by side, the interval of each direction and of their total."""

    cell: Cell
    directions: Mapping[int, Mapping[str, Interval]]
    total: Mapping[int, Interval]


def loads_of(aligned: Aligned, quantity: str, where: Filter) -> list[Load]:
    """Loads that pass the filter, in the order of the first side. Raises UsageError when none does.

    where: values by option; fio's names, sizes as one writes them; `direction` too.
    """
    pools = [
        pool_variance([_values(rows) for rows in side.values()], [_within(rows) for rows in side.values()])
        for side in aligned.readings
    ]
    grouped: dict[str, dict[str, str]] = {}
    for name, row in aligned.rows.items():
        if passes(row.cell, row.direction, where):
            grouped.setdefault(row.cell.key, {})[row.direction] = name
    loads = [_load(aligned, names, pools, quantity) for names in grouped.values()]
    found = sorted((load for load in loads if load.total), key=_order([load.cell for load in loads], where))
    if not found:
        raise UsageError("no load is left", where="--where", remedy=f"options and values there are: {_there(aligned)}")
    return found


def bars(aligned: Aligned, quantity: str, *, where: Filter, title: str) -> Drawing:
    """Each load a group, each side a bar; reads and writes of a mixed load are stacked to their total."""
    loads = [load for load in loads_of(aligned, quantity, where) if len(load.total) == len(aligned.sides)]
    if not loads:
        raise UsageError("no load is common to all sides", where="--where", remedy="name sides of the same sweep")
    if len(loads) * len(aligned.sides) > MOST_BARS:
        raise UsageError(
            f"{len(loads)} loads of {len(aligned.sides)} sides make too many bars to read",
            where="bars",
            remedy=f"choose with --where, such as --where bs=4k; there are: {_there(aligned)}",
        )
    labels = _labels([load.cell for load in loads])
    mixed = any(len(parts) > 1 for load in loads for parts in load.directions.values())
    stacked = mixed and quantity in ("bw", "iops")
    series = tuple(
        Series(side.name, tuple(_dot(float(place), load, number, stacked=stacked) for place, load in enumerate(loads)))
        for number, side in enumerate(aligned.sides)
    )
    ticks = tuple((float(place), label) for place, label in enumerate(labels))
    shown = QUANTITIES[quantity]
    notes = ["Of mixed loads reads are below, writes above; the interval is of their total."] if stacked else []
    notes += ["Of mixed loads it is that of the slower direction."] if mixed and not stacked else []
    if any(dot.low is None for one in series for dot in one.dots):
        notes.append("A bar without an interval has one visit.")
    if any(total.n == 0 for load in loads for total in load.total.values()):
        notes.append("Loads that a side did not measure are as it predicts them.")
    if quantity in ("bw", "iops") and any(side.kind == "measured" for side in aligned.sides):
        notes.append("Bars are means of whole visits; a map tells what lasts.")
    return Drawing(title, "bars", "", shown.words, shown.kind, (Panel("", series, ticks),), note=" ".join(notes))


def lines(
    aligned: Aligned,
    quantity: str,
    *,
    where: Filter,
    title: str,
    x: str = "",
    ceilings: Mapping[str, Sequence[Line]] | None = None,
) -> Drawing:
    """A line for each side over one option, a panel for each combination of the others.

    ceilings: of throughput, by the key of a cell and its direction ('KEY/read'), drawn in its panel.
    """
    loads = loads_of(aligned, quantity, where)
    values = _options([load.cell for load in loads])
    x = x or next((name for name in X_ORDER if len(values.get(name, ())) > 1), "")
    if x not in values:
        raise UsageError(
            f"the loads have no option {x!r}" if x else "the loads differ in nothing that has an order",
            where="--x",
            remedy=f"choose from {', '.join(sorted(values))}",
        )
    levels = _sorted(values[x])
    others = [name for name in values if name != x and len(values[name]) > 1]
    panels = []
    for combination in product(*(_sorted(values[name]) for name in others)):
        place = dict(zip(others, combination, strict=True))
        inside = [load for load in loads if all(load.cell.option.get(name) == value for name, value in place.items())]
        if inside:
            panels.append(_panel(aligned, inside, x, levels, place, ceilings or {}))
    if len(panels) > MOST_PANELS:
        raise UsageError(
            f"{len(panels)} panels are too many to read",
            where="lines",
            remedy=f"choose with --where; there are: {_there(aligned)}",
        )
    shown = QUANTITIES[quantity]
    return Drawing(title, "lines", x, shown.words, shown.kind, tuple(panels), x_scale="categories")


def _panel(
    aligned: Aligned,
    loads: Sequence[Load],
    x: str,
    levels: Sequence[OptionValue],
    place: Mapping[str, OptionValue],
    ceilings: Mapping[str, Sequence[Line]],
) -> Panel:
    at = {load.cell.option.get(x): load for load in loads}
    series = tuple(
        Series(
            side.name,
            tuple(
                _dot(float(number), at[level], which, stacked=False)
                for number, level in enumerate(levels)
                if level in at and which in at[level].total
            ),
        )
        for which, side in enumerate(aligned.sides)
    )
    limits: dict[str, Line] = {}
    if ceilings:
        for load in loads:
            for direction in {direction for parts in load.directions.values() for direction in parts}:
                limits |= {
                    f"{line.name} {line.value}": line for line in ceilings.get(f"{load.cell.key}/{direction}", ())
                }
    ticks = tuple((float(number), _text(x, level)) for number, level in enumerate(levels))
    title = ", ".join(_text(name, value, named=name != "rw") for name, value in place.items())
    return Panel(title, series, ticks, tuple(limits.values()))


def latency_curves(results: Sequence[tuple[str, CampaignResult]], *, where: Filter, title: str) -> Drawing:
    """Percentiles of latency, 1 to 99.99, a line for each side and load. Raises UsageError when there are too many."""
    found = []
    for name, result in results:
        cells = {e.cell.key: e.cell for e in result.estimates}
        curves = [
            (cells[curve.cell_key], curve)
            for curve in result.latency_curves
            if curve.cell_key in cells and passes(cells[curve.cell_key], curve.direction, where)
        ]
        found += [(name, cell, curve) for cell, curve in curves]
    if not found:
        raise UsageError("no load is left that has latencies", where="--where", remedy="leave it out to see which are")
    if len(found) > MOST_LINES:
        options = _options([cell for _, cell, _ in found])
        raise UsageError(
            f"{len(found)} lines are too many to read",
            where="latency",
            remedy=f"choose with --where; there are: {_told(options)}",
        )
    labels = _labels([cell for _, cell, _ in found])
    several = len(set(labels)) > 1
    lines = tuple(
        Series(
            f"{name}: {label.replace(chr(10), ', ')} {curve.direction}" if several else f"{name} ({curve.direction})",
            tuple(
                Dot(_percentile_place(percent), value)
                for percent, value in zip(PERCENTS, curve.latencies_ns, strict=True)
                if value is not None
            ),
        )
        for (name, _, curve), label in zip(found, labels, strict=True)
    )
    ticks = tuple((_percentile_place(percent), f"{percent:g}") for percent in PERCENTS if percent in _SHOWN)
    note = "Over all I/Os of the visits that count."
    panel = Panel("", lines, ticks)
    return Drawing(title, "lines", "percentile", "latency", "ns", (panel,), "percentiles", "log", note)


def _percentile_place(percent: float) -> float:
    """Each further nine is one step, the median in the middle of what is below the first: the normal quantile."""
    return NormalDist().inv_cdf(percent / 100)


def _load(aligned: Aligned, names: Mapping[str, str], pools: Sequence[PooledVariance | None], quantity: str) -> Load:
    directions: dict[int, dict[str, Interval]] = {}
    total: dict[int, Interval] = {}
    for number, readings in enumerate(aligned.readings):
        mine = {direction: readings[name] for direction, name in names.items() if readings.get(name)}
        if not mine:
            continue
        pool = pools[number]
        inside = {way: _within(rows) for way, rows in mine.items()}
        directions[number] = {
            way: _by_law(rows[0]) or _interval(_values(rows), pool, inside[way]) for way, rows in mine.items()
        }
        alone = next(iter(directions[number].values())) if len(mine) == 1 else None
        foretold = any(rows[0].error is not None for rows in mine.values())  # their errors have one cause
        totals = _totals(list(mine.values()), quantity)
        total[number] = alone or _interval(totals, None if foretold else pool, max(inside.values()))
    return Load(aligned.rows[next(iter(names.values()))].cell, directions, total)


def _by_law(one: Reading) -> Interval | None:
    """Of what the law says of a cell."""
    if one.error is None:
        return None
    width = exp(Z95 * one.error)
    return Interval(one.value, one.value / width, one.value * width, one.visits, 0.95, METHOD)


def _totals(parts: Sequence[Sequence[Reading]], quantity: str) -> list[float]:
    """Rates of one visit's directions add up; of latencies the slower direction counts."""
    by_visit = grouped((row.time, row.value) for part in parts for row in part)
    join = max if quantity.startswith("lat") else sum
    return [float(join(values)) for values in by_visit.values() if len(values) >= len(parts)]


def _values(rows: Sequence[Reading]) -> list[float]:
    return [row.value for row in rows]


def _within(rows: Sequence[Reading]) -> float:
    return fmean(row.within for row in rows)


def _interval(values: Sequence[float], pool: PooledVariance | None, within: float) -> Interval:
    """As for a cell of a map: the own scatter and that of all cells of the side."""
    if pool is None:
        return few_visits_interval(values)
    return bounded(moderated_log_interval(values, pool.beside(within)), values)


def _dot(x: float, load: Load, side: int, *, stacked: bool) -> Dot:
    total = load.total[side]
    parts: tuple[tuple[str, float], ...] = ()
    if stacked:
        parts = tuple(
            (direction, interval.estimate or 0.0) for direction, interval in sorted(load.directions[side].items())
        )
    return Dot(x, total.estimate or 0.0, total.low, total.high, total.n, parts if len(parts) > 1 else ())


def _order(cells: Sequence[Cell], where: Filter) -> Callable[[Load], tuple[int, ...]]:
    """By each option: as the filter names its values, else from small to large."""
    places: dict[str, dict[OptionValue, int]] = {}
    for name, values in _options(cells).items():
        texts = where.get(name, ())

        def rank(value: OptionValue, name: str = name, texts: Sequence[str] = texts) -> int:
            return next((place for place, text in enumerate(texts) if same(name, value, text)), len(texts))

        ordered = sorted(_sorted(values), key=rank)
        places[name] = {value: place for place, value in enumerate(ordered)}

    def key(load: Load) -> tuple[int, ...]:
        options: dict[str, OptionValue] = {"rw": load.cell.rw, **load.cell.option}
        return tuple(known.get(options[name], -1) if name in options else -1 for name, known in places.items())

    return key


def _labels(cells: Sequence[Cell]) -> list[str]:
    """Only what tells the loads from each other."""
    varied = [name for name, values in _options(cells).items() if len(values) > 1]
    if not varied:
        return [Namer(cells, []).cell(cell) for cell in cells]

    def text(name: str, cell: Cell) -> str:
        mix = cell.option.get("rwmixread") if name == "rw" and cell.rw in MIXED and "rwmixread" not in varied else None
        told = _text(name, cell.option[name], named=name != "rw")
        return told if mix is None else f"{told} {mix}% reads"

    return ["\n".join(text(name, cell) for name in varied if name in cell.option) for cell in cells]


def _options(cells: Sequence[Cell]) -> dict[str, set[OptionValue]]:
    """Values by option; without an option that follows from another, such as an engine that depends on the depth."""
    found: dict[str, set[OptionValue]] = {}
    rows = [{"rw": cell.rw, **cell.option} for cell in cells]
    for row in rows:
        for name, value in row.items():
            found.setdefault(name, set()).add(value)
    follows = [name for name in found if name not in NAMED_FIRST and len(found[name]) > 1 and _follows(name, rows)]
    return {name: values for name, values in found.items() if name not in follows}


def _follows(name: str, rows: Sequence[Mapping[str, OptionValue]]) -> bool:
    return any(
        len({(row.get(other), row.get(name)) for row in rows}) == len({row.get(other) for row in rows})
        for other in NAMED_FIRST
        if len({row.get(other) for row in rows}) > 1
    )


def _text(name: str, value: OptionValue, *, named: bool = False) -> str:
    text = size_text(value) if name in SIZE_OPTIONS else str(value)
    return f"{name} {text}" if named else text


def _sorted(values: set[OptionValue]) -> list[OptionValue]:
    return sorted(
        values, key=lambda value: (isinstance(value, str), value if not isinstance(value, str) else 0, str(value))
    )


def _there(aligned: Aligned) -> str:
    return _told(_options([row.cell for row in aligned.rows.values()]))


def _told(options: Mapping[str, set[OptionValue]]) -> str:
    told = []
    for name, values in options.items():
        if len(values) > 1:
            shown = [_text(name, value).replace(" ", "") for value in _sorted(values)]
            told.append(f"{name}={','.join(shown[:6])}{',...' if len(shown) > 6 else ''}")
    return "; ".join(told) or "a single load"
