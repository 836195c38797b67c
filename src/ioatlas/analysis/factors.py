# SPDX-License-Identifier: Apache-2.0
"""What factors do: along each one, the others held, how throughput changes, how it scales, and where it stops.

Ratios have the interval of Zou and Donner's MOVER on logarithms, from the intervals of both values.
Of every direction one load speaks: the one that is fastest over all members that have it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

from ioatlas.model.factors import Factor, FactorEffects, FactorLine, FactorPoint, Load, Measured, Member
from ioatlas.model.load_curve import Spread
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
    measured: dict[tuple[Load, str], list[Measured]] = {}
    for member in members:
        for place, one in member.measured.items():
            measured.setdefault(place, []).append(one)
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
