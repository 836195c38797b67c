# SPDX-License-Identifier: Apache-2.0
"""What factors do: along each one, the others held, how throughput changes, how it scales, and where it stops.

Ratios have the interval of Zou and Donner's MOVER on logarithms, from the intervals of both values.
Of every direction one load speaks: the one that is fastest over all members that have it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict

from ioatlas.answer.analysis.charts import chart
from ioatlas.model.estimate import UNDETERMINED, Bound
from ioatlas.model.factors import (
    Factor,
    FactorEffects,
    FactorLine,
    FactorPoint,
    Load,
    Measured,
    Member,
    speaks_for_itself,
)
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.load_curve import Spread
from ioatlas.model.panel import Dot, Line, Panel, Series, Table
from ioatlas.model.units import format_rate, grouped, per_cent, words
from ioatlas.stats.distributions import t_quantile
from ioatlas.stats.intervals import t_half_width

NO_GAIN = 0.05
"""More of a factor that adds less than this share gains nothing."""
Z95 = 1.959964


def factor_effects(members: Sequence[Member], label: Callable[[Load], str]) -> FactorEffects:
    """Every line that members differing in one factor alone make; first those of the factor with most levels, for
    whose sake a campaign is made. label: a load in words.
    """
    every = dict.fromkeys(name for member in members for name in member.factors)
    levels = {name: {member.factors[name] for member in members if name in member.factors} for name in every}
    names = [name for name in every if len(levels[name]) > 1]
    names.sort(key=lambda name: (-len(levels[name]), any(isinstance(one.value, str) for one in levels[name])))
    lines: list[FactorLine] = []
    alone: dict[str, str] = {}
    for name in names:
        found = [
            line for group in _groups(members, name) for line in _lines(group, name, _held(group, names, name), label)
        ]
        lines += found
        if not found:
            alone[name] = "no two members differ in it alone and have a load in common"
    return FactorEffects(tuple(lines), alone)


def combined(values: Sequence[Measured]) -> Measured:
    """Several readings of one load, as imports hold them, are repeats: their geometric mean, with the interval of
    Student's t on logarithms.
    """
    if len(values) == 1:
        return values[0]
    logs = [math.log(one.value) for one in values]
    mean = sum(logs) / len(logs)
    half = t_half_width(logs)
    cells = tuple(dict.fromkeys(key for one in values for key in one.cells))
    return Measured(
        math.exp(mean),
        math.exp(mean - half),
        math.exp(mean + half),
        len(values),
        values[0].ceiling,
        values[0].limit,
        cells,
    )


def _together(members: Sequence[Member]) -> Member:
    """Members with the same factors throughout are repeats of one."""
    if len(members) == 1:
        return members[0]
    measured = grouped(place for member in members for place in member.measured.items())
    name = " + ".join(member.name for member in members)
    return Member(name, members[0].factors, {place: combined(values) for place, values in measured.items()})


def _groups(members: Sequence[Member], name: str) -> list[list[Member]]:
    """Members that have the same values of all other factors, and several of this one; repeats as one."""
    found: dict[frozenset[tuple[str, Factor]], dict[Factor, list[Member]]] = {}
    for member in members:
        if name in member.factors:
            others = frozenset((key, value) for key, value in member.factors.items() if key != name)
            found.setdefault(others, {}).setdefault(member.factors[name], []).append(member)
    return [
        sorted(map(_together, group.values()), key=lambda one: _order(one.factors[name]))
        for group in found.values()
        if len(group) > 1
    ]


def _order(factor: Factor) -> tuple[int, float]:
    """Numbers ascending, then texts in the order in which they came: sorting keeps it."""
    return (1, 0.0) if isinstance(factor.value, str) else (0, float(factor.value))


def _held(group: Sequence[Member], names: Sequence[str], name: str) -> dict[str, Factor]:
    return {other: group[0].factors[other] for other in names if other != name and other in group[0].factors}


def _lines(
    group: Sequence[Member], name: str, held: Mapping[str, Factor], label: Callable[[Load], str]
) -> list[FactorLine]:
    """One line for each direction that two members of the group have a load of in common."""
    found = []
    directions = dict.fromkeys(direction for member in group for _, direction in member.measured)
    for direction in directions:
        load, among = _speaker(group, direction)
        if load is None:
            continue
        measured = [member.measured[load, direction] for member in among]
        points = tuple(
            _point(member, name, among[0], measured[0], one) for member, one in zip(among, measured, strict=True)
        )
        found.append(FactorLine(name, direction, label(load), held, points, ends=_ends(measured)))
    return found


def _speaker(group: Sequence[Member], direction: str) -> tuple[Load | None, list[Member]]:
    """The load that most members have, of these the fastest over all of them; and those members."""
    having: dict[Load, list[Member]] = {}
    for member in group:
        for load, where in member.measured:
            if where == direction and member.measured[load, direction].value > 0:
                having.setdefault(load, []).append(member)
    most = max(map(len, having.values()), default=0)
    if most < 2:
        return None, []

    def speed(load: Load) -> float:
        return sum(math.log(member.measured[load, direction].value) for member in having[load])

    # Of loads that fewer have the members may differ: the most, then the fastest.
    best = max((load for load, mine in having.items() if len(mine) == most), key=speed)
    return best, having[best]


def _point(member: Member, name: str, first_member: Member, first: Measured, one: Measured) -> FactorPoint:
    level, start = member.factors[name].value, first_member.factors[name].value
    change = Spread(1.0, 1.0, 1.0) if one is first else ratio_of(one, first)
    efficiency = None
    if not isinstance(level, str) and not isinstance(start, str) and level > 0 and start > 0:
        efficiency = change.scaled(start / level)
    return FactorPoint(member.factors[name], one, change, efficiency)


def ratio_of(one: Measured, other: Measured) -> Spread:
    """One value over another, with the interval that follows from both (MOVER on logarithms)."""
    value = one.value / other.value
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Spread(value)
    if min(one.low, other.low) <= 0:
        return Spread(value)
    middle = math.log(value)
    down = math.hypot(math.log(one.value / one.low), math.log(other.high / other.value))
    up = math.hypot(math.log(one.high / one.value), math.log(other.value / other.low))
    return Spread(value, math.exp(middle - down), math.exp(middle + up))


def _ends(measured: Sequence[Measured]) -> int | None:
    """The first place from which on nothing is gained that would be told; None where the last one still gains, where
    nothing ever did, or where intervals are missing or too wide to say so.
    """
    for place in range(1, len(measured) - 1):
        before = ratio_of(measured[place], measured[0])
        after = [ratio_of(later, measured[place]) for later in measured[place + 1 :]]
        grew = before.low is not None and before.low > 1 + NO_GAIN
        if grew and all(one.high is not None and one.high < 1 + NO_GAIN for one in after):
            return place
    return None


def pairs(line: FactorLine) -> list[tuple[FactorPoint, FactorPoint, Spread]]:
    """Every two levels of a factor of texts, the later over the earlier, with intervals that hold for all pairs
    together (Bonferroni).
    """
    every = list(itertools.combinations(line.points, 2))
    wider = t_quantile(1 - 0.025 / max(1, len(every)), math.inf) / Z95
    return [(one, other, _widened(ratio_of(other.measured, one.measured), wider)) for one, other in every]


def _widened(ratio: Spread, factor: float) -> Spread:
    if ratio.low is None or ratio.high is None:
        return ratio
    return Spread(
        ratio.value,
        ratio.value * (ratio.low / ratio.value) ** factor,
        ratio.value * (ratio.high / ratio.value) ** factor,
    )


RESOURCES = words("drive disk ssd hdd osd link port client node server brick box controller price cost")
"""Factors whose names hold one of these are bought more of: how well they scale is told in a sentence."""
MEGA = 1e6
NEAR_CEILING = 0.9
"""Share of a ceiling from which on it is named as the limit."""
MOST_PAIRS = 3
"""Of the levels of a factor of texts that are told in one sentence; the table has all."""
PRICE, PRICE_PER_TIB = "price", "price_per_tib"
"""Factors that follow from the product sheets."""
NOUNS = {"read": "reads", "write": "writes", "trim": "trims"}


def factor_findings(effects: FactorEffects, *, set_ups: int = 0) -> tuple[Finding, ...]:
    """One for each line. set_ups: how often each member was set up; 0 where they were measured in turns."""
    found = [
        Finding(
            FindingCode.FACTOR,
            {"factor": line.factor, "noun": _noun(line), "held": line.held_words, "load": line.load, **_told(line)},
            tuple(key for point in line.points for key in point.measured.cells),
            place="charts",
            direction=line.direction,
        )
        for line in effects.lines
    ]
    alone = [Finding(FindingCode.FACTOR, {"factor": name, "why": why}) for name, why in effects.alone.items()]
    apart = [Finding(FindingCode.FACTOR, {"n_set_ups": set_ups})] if set_ups and found else []
    return (*found, *alone, *apart)


def _noun(line: FactorLine) -> str:
    return NOUNS.get(line.direction, line.direction)


def _span(line: FactorLine, first: FactorPoint, last: FactorPoint) -> str:
    """'3 to 11 drives', 'mtu 1500 to 9000', 'link 1 to 10 Gbit/s'."""
    low, high = (f"{point.level.value:g}" for point in (first, last))  # numbers both
    unit = f" {first.level.unit}" if first.level.unit else ""
    if line.factor.endswith("s") and not unit:
        return f"{low} to {high} {line.factor}"
    return f"{line.factor} {low} to {high}{unit}"


def _at(line: FactorLine, point: FactorPoint) -> str:
    """'7 drives', 'mtu 9000'."""
    return f"{point.level.text} {line.factor}" if line.factor.endswith("s") else f"{line.factor} {point.level.text}"


def times_text(ratio: Spread) -> str:
    """'1.6 times (1.4 to 1.8)'."""
    told = f"{ratio.value:.2g} times" if ratio.value < 10 else f"{ratio.value:.0f} times"
    if ratio.low is None or ratio.high is None:
        return f"{told} (too few visits for an interval)"
    digits = 2 if abs(ratio.high - ratio.low) >= 0.1 else 3
    return f"{ratio.value:.{digits}g} times ({ratio.low:.{digits}g} to {ratio.high:.{digits}g})"


def _told(line: FactorLine) -> Mapping[str, Value]:
    """What a line shows, from its first point to its last, or to where it ends."""
    if not line.numeric:
        return _of_texts(line)
    priced = line.factor in (PRICE, PRICE_PER_TIB) and bool(line.points[0].level.unit)
    first, last = line.points[0], line.points[-1 if priced or line.ends is None else line.ends]
    change, unit, efficiency = last.change, first.level.unit, line.points[-1].efficiency
    values: dict[str, Value] = {"change": asdict(change)}
    if priced:
        low, high = float(first.level.value), float(last.level.value)
        values |= {"price_ratio": high / low, "least_price": low, "most_price": high, "unit": unit}
        values["unsure"] = change.low is not None and not _sure(change)
        efficiency = efficiency if line.factor == PRICE else None
    else:
        grew, fell = change.low is not None and change.low > 1, change.high is not None and change.high < 1
        way = "up" if grew else "down" if fell else "alone" if change.low is None else "unsure"
        limit = _limit(last.measured if line.ends is None else line.points[-1].measured)
        values |= {"span": _span(line, first, last), "way": way, "at": _at(line, last), "ends": line.ends is not None}
        values |= {"last": _at(line, line.points[-1]), "first": first.level.text}
        values["limit"] = limit if line.ends is not None or grew else ""
        efficiency = efficiency if any(word in line.factor.lower() for word in RESOURCES) else None
    if efficiency is not None:
        values |= {"efficiency": efficiency.value, "efficiency_low": efficiency.low or None}
        values["efficiency_high"] = efficiency.high or None
    return values


def _sure(change: Spread) -> bool:
    return change.low is not None and change.high is not None and (change.low > 1 or change.high < 1)


def _limit(one: Measured) -> str:
    """'link: 113 of 117.7 MB/s'; '' where that is not known."""
    bound = one.ceiling
    if bound is not None and one.value >= NEAR_CEILING * bound.bw_bytes_per_s:
        return f"{bound.name}: {one.value / MEGA:.4g} of {bound.bw_bytes_per_s / MEGA:.4g} MB/s"  # as links are counted
    return one.limit if one.limit not in (UNDETERMINED, "latency") else ""


def _of_texts(line: FactorLine) -> Mapping[str, Value]:
    every = pairs(line)
    return {
        "named": "" if all(speaks_for_itself(point.level.value) for point in line.points) else line.factor,
        "pairs": [
            {"level": other.level.text, "first": one.level.text, "change": asdict(ratio), "unsure": not _sure(ratio)}
            for one, other, ratio in every[:MOST_PAIRS]
        ],
        "n_more": max(0, len(every) - MOST_PAIRS) or None,
    }


# -- charts and tables ------------------------------------------------------------------------------------------------


def factor_charts(effects: FactorEffects) -> tuple[Panel, ...]:
    """A chart for each factor of numbers and each direction; a line for each set of values of the others."""
    groups = grouped(((line.factor, line.direction), line) for line in effects.lines if line.numeric)
    return tuple(_chart(factor, lines) for (factor, _), lines in groups.items())


def _chart(factor: str, lines: Sequence[FactorLine]) -> Panel:
    unit = lines[0].points[0].level.unit
    noun = _noun(lines[0])
    drawn = [Series(line.held_words or noun, tuple(map(_dot, line.points))) for line in lines]
    bounds: dict[str, Bound] = {}
    for line in lines:
        for point in line.points:
            if point.measured.ceiling is not None:
                bounds.setdefault(point.measured.ceiling.name, point.measured.ceiling)
    loads = dict.fromkeys(line.load for line in lines)
    held = f", with {lines[0].held_words}" if len(lines) == 1 and lines[0].held else ""
    known = any(dot.low is not None for one in drawn for dot in one.dots)
    bars = "Bars are 95% intervals over visits." if known else "Too few visits for intervals."
    return chart(
        f"{noun.capitalize()} over {factor}",
        f"{factor}, {unit}" if unit else factor,
        "Throughput",
        "B/s",
        drawn,
        limits=[Line(name, bound.bw_bytes_per_s) for name, bound in bounds.items()],
        note=f"{bars} {'; '.join(loads)}{held}.",
    )


def _dot(point: FactorPoint) -> Dot:
    one = point.measured
    return Dot(float(point.level.value), one.value, one.low, one.high, one.visits)


COLUMNS = ("Level", "Others", "Direction", "Throughput", "95% interval", "Against the first", "Efficiency", "Limit")


def factor_tables(effects: FactorEffects) -> Iterator[Table]:
    """A table for each factor: a row for each level."""
    for factor in dict.fromkeys(line.factor for line in effects.lines):
        lines = [line for line in effects.lines if line.factor == factor]
        rows = [_row(line, point) for line in lines for point in line.points]
        yield Table(f"Factor {factor}", COLUMNS, tuple(rows), folded=True)


def _row(line: FactorLine, point: FactorPoint) -> tuple[str, ...]:
    one, first = point.measured, point is line.points[0]
    known = one.low is not None and one.high is not None
    return (
        point.level.text,
        line.held_words or "–",
        line.direction,
        format_rate(one.value),
        f"{format_rate(one.low)} to {format_rate(one.high)}" if known else "–",  # type: ignore[arg-type]
        "–" if first else times_text(point.change),
        per_cent(point.efficiency.value) if point.efficiency is not None else "–",
        _limit(one) or "–",
    )
