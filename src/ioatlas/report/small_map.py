# SPDX-License-Identifier: Apache-2.0
"""The small heat map of an answer: kinds of load side by side, block sizes down, jobs across. The terminal, what is
pasted elsewhere, the card and lists of campaigns draw it; these in letters, which a report keeps.

Marks say what a colour cannot: they are there in pipes, without colour and for readers who do not see it.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ioatlas.answer.analysis.best import SIGNS, Mark, mark_of, speed
from ioatlas.model.errors import UsageError
from ioatlas.model.estimate import Estimate
from ioatlas.model.factors import FACTOR
from ioatlas.model.quantities import Quantity
from ioatlas.model.result import CampaignResult
from ioatlas.model.tree import is_tree
from ioatlas.model.units import number_of, rate_units, words
from ioatlas.report.export.drawing import NOT_BELIEVED
from ioatlas.report.export.grid import UNSET, UNTOLD, Axis, Level, axes_of, axis_named, coordinates
from ioatlas.report.table import Entry, entries

MISSING = "·"
LEGEND = {**{sign: words for sign, words in SIGNS.values() if sign}, MISSING: "no value"}
"""Every mark with its words, in the order of the legend."""
LOADS = {"randread": "rand read", "randwrite": "rand write"}
AXIS_WORDS = {"numjobs": "jobs", "size": "size"}
COLOURS = words("""
    481d6f 482979 463480 423f85 3e4989 3a548c 355e8d 31688e 2d708e 29798e 26828e 238a8d 20938c 1e9b8a 20a486 26ad81
    32b67a 40bd72 52c569 65cb5e 7cd250 93d741 aadc32 c2df23 dae319 f4e61e
""")
"""From the lower end of the scale in equal steps: viridis without its darkest, as in figures."""
_DOUBTED = {SIGNS[mark][0] for mark in NOT_BELIEVED}


@dataclass(frozen=True)
class Value:
    """What stands in one place: its text without the mark, the mark, and where it lies on the scale, from 0 to 1."""

    text: str
    mark: str = ""
    share: float | None = None

    @property
    def step(self) -> int | None:
        """Of the colours; None where it has none, for it is not there or not believed."""
        if self.share is None or self.mark in _DOUBTED:
            return None
        return min(int(self.share * len(COLOURS)), len(COLOURS) - 1)

    @property
    def is_estimated(self) -> bool:
        return self.mark == SIGNS[Mark.PREDICTED][0]


@dataclass(frozen=True)
class SmallMap:
    """loads: kinds of load, side by side. folded: which axes a value is the best over, in words."""

    unit: str
    x: Axis
    y: Axis
    values: Mapping[tuple[Level, Level, Level], Value]
    loads: tuple[Level, ...]
    folded: str

    @property
    def name_across(self) -> str:
        return AXIS_WORDS.get(self.x.name, self.x.heading)

    def across(self, level: Level) -> str:
        """A value of the axis across; an axis that nobody set needs none."""
        return "" if level in (UNSET, UNTOLD) and len(self.x.levels) == 1 else self.x.label(level)

    def upwards(self, level: Level) -> str:
        """A value of the axis upwards; of a factor with its name, where it is a bare number."""
        return self.y.title(level) if self.y.name.startswith(FACTOR) else self.y.label(level)

    @property
    def marks(self) -> list[str]:
        used = {value.mark or value.text for value in self.values.values()}
        return [mark for mark in LEGEND if mark in used]


def small_map(result: CampaignResult, quantity: Quantity | None = None, x: str = "", y: str = "") -> SmallMap | None:
    """None where there are no two axes to draw, as with a single cell. quantity: by default the speed. x, y: axes by
    their names, else those that say most. Raises UsageError on an axis that there is not.
    """
    every = [*entries(result)]
    found = [entry for entry in every if entry.estimate is not None] or every  # no level of which nothing is known
    axes = {axis.name: axis for axis in axes_of(result, found, (x, y))}
    x, y, varied = _sides(axes, axis_named(x, axes), axis_named(y, axes))
    if x not in axes and found:
        axes[x] = Axis(x, tuple(dict.fromkeys(coordinates(entry, (x,))[x] for entry in found)))
    if not found or y not in axes or x not in axes or x == y or (len(found) < 2 and not varied):
        return None
    named = [name for name in (*varied, "target") if name == "target" or name.startswith(FACTOR)]
    others = [name for name in named if name in axes and len(axes[name].levels) > 1 and name not in (x, y)]
    places = _placed(every, axes, x, y, others)
    in_calls = all(is_tree(entry.cell) for entry in every)

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
    place_of = _scale([(mark_of(e), rate(e)) for entry in found if (e := entry.estimate) is not None])
    values = {place: _value(e, rates[place], factor, place_of) for place, e in chosen.items()}
    over = [f"{name} ({len(axes[name].levels)})" for name in varied if name not in (x, y, *others)]
    folded = f"{'lowest' if lowest else 'highest'} over {', '.join(over)}" if over else ""
    return SmallMap(unit, axes[x], axes[y], values, tuple(dict.fromkeys(load for load, _, _ in values)), folded)


def _sides(axes: Mapping[str, Axis], x: str, y: str) -> tuple[str, str, list[str]]:
    """Which axis lies across and which upwards, as asked for or else those that say most; and all of several values."""
    sides = [name for name in axes if name not in ("rw", "target")]
    for name in filter(None, (x, y)):
        if name not in sides:
            remedy = f"choose from {', '.join(sides)}"
            raise UsageError(f"the campaign has no axis {name!r} to show", where="--x, --y", remedy=remedy)
    varied = [name for name in sides if len(axes[name].levels) > 1]
    y = y or ("bs" if "bs" in axes and x != "bs" else next((name for name in varied if name != x), ""))
    rest = [name for name in varied if name != y]
    factors = [axes[name] for name in rest if name.startswith(FACTOR)]
    numeric = [one for one in factors if not any(isinstance(level, str) for level in one.levels)]
    most = [one.name for one in sorted(numeric, key=lambda one: -len(one.levels))[:1]]
    preferred = (*most, "numjobs", "iodepth", "size")
    return x or next((name for name in preferred if name in rest), [*rest, "numjobs"][0]), y, varied


def _placed(
    every: Sequence[Entry], axes: Mapping[str, Axis], x: str, y: str, others: Sequence[str]
) -> dict[tuple[Level, Level, Level], list[Entry]]:
    """What is folded into each place: kind of load, across, upwards. others: axes that a kind of load names too."""
    places: dict[tuple[Level, Level, Level], list[Entry]] = {}
    for entry in every:
        at = coordinates(entry, (*others, "rw", x, y))
        if at[x] in axes[x].levels and at[y] in axes[y].levels:
            word = str(entry.cell.option.get("operation", at["rw"]))
            told = ", ".join(axes[name].title(at[name]) for name in others)
            load = ": ".join(filter(None, (told, LOADS.get(word, word))))
            places.setdefault((load, at[x], at[y]), []).append(entry)
    return places


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
    small, middle, large = rate_units()[1:4]
    if top >= 100 * large[1]:
        return large
    return middle if top >= 999.5 * small[1] else small  # from here on the headline has this unit: both have one


def _scale(told: Sequence[tuple[Mark, float]]) -> Callable[[float], float]:
    """Where a value lies on the colours, as on the page: from zero to the largest that is believed; on logarithms where
    a quarter of all values would share the darkest thirtieth of that.
    """
    believed = [value for mark, value in told if mark not in NOT_BELIEVED and value > 0]
    least, most = min(believed, default=1.0), max(believed, default=1.0)
    values = [value for _, value in told if value > 0]
    if least == most or 4 * sum(value < most / 30 for value in values) <= len(values):
        return lambda value: value / most
    return lambda value: math.log(value / least) / math.log(most / least)


def _value(e: Estimate | None, rate: float, factor: float, place_of: Callable[[float], float]) -> Value:
    if e is None:
        return Value(MISSING)
    mark = mark_of(e)
    if mark is Mark.DISAGREE:
        return Value(SIGNS[mark][0])
    return Value(number_of(rate / factor), SIGNS[mark][0], min(1.0, max(0.0, place_of(rate))) if rate else None)


def thinned(levels: Sequence[Level], count: int) -> list[Level]:
    """So many of them, the first and the last included, evenly spread."""
    if count >= len(levels):
        return list(levels)
    if count < 2:
        return [levels[0]]
    return [levels[round(n * (len(levels) - 1) / (count - 1))] for n in range(count)]


MOST_LOADS, MOST_LEVELS = 4, 6
"""Kinds of load, and values of each axis, that are drawn."""
DOUBTED, NOTHING = "?", "."
_TILE = rf"[A-Za-z?.]{{1,{MOST_LEVELS}}}(?:/[A-Za-z?.]{{1,{MOST_LEVELS}}}){{0,{MOST_LEVELS - 1}}}"
WRITTEN = re.compile(f"{_TILE}(?: {_TILE}){{0,{MOST_LOADS - 1}}}|")
"""What `letters` writes, and nothing else."""


def letters(result: CampaignResult) -> str:
    """'cdz/a?Z ..z/aab': a word for each kind of load, its rows from the top, a letter for each cell: from a for the
    lower end of the map's scale to z for the upper, a capital where it is estimated, `?` where it is not
    believed, `.` where there is none. '' where there is no map.
    """
    found = small_map(result)
    if found is None:
        return ""
    xs, ys = thinned(found.x.levels, MOST_LEVELS), thinned(found.y.levels[::-1], MOST_LEVELS)
    return " ".join(
        "/".join("".join(_letter(found.values.get((load, x, y), Value(MISSING))) for x in xs) for y in ys)
        for load in found.loads[:MOST_LOADS]
    )


def _letter(value: Value) -> str:
    if value.step is None:
        return NOTHING if value.text == MISSING else DOUBTED
    return (string.ascii_uppercase if value.is_estimated else string.ascii_lowercase)[value.step]


def colour_of(letter: str) -> str:
    """'#26828e'; '' of a cell without a colour."""
    return f"#{COLOURS[ord(letter.lower()) - ord('a')]}" if letter.isalpha() else ""


def in_words(told: str) -> str:
    """'20 cells with a value, 1 not believed'."""
    kinds = (("with a value", str.islower), ("estimated", str.isupper), ("not believed", DOUBTED.__eq__))
    counts = [f"{count} {words}" for words, holds in kinds if (count := sum(map(holds, told)))]
    return ", ".join(counts).replace(" ", " cells ", 1) or "no value"
