# SPDX-License-Identifier: Apache-2.0
"""Several sides held against each other: every pair as two campaigns are, with one control over cells and pairs.

Cells: one family of all cells of all pairs, false discovery rate 5% (Benjamini and Hochberg 1995). Maps as a whole:
each pair is tested at 5% divided by the number of pairs (Bonferroni), so that with sides that do not differ any map is
called different in at most 5% of such comparisons; the intervals hold together. The two never mix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import exp, inf, log
from statistics import median
from string import ascii_lowercase
from typing import Any

import numpy as np

from ioatlas.answer.analysis.compare import (
    FALSE_DISCOVERY_RATE,
    FEWEST_CELLS,
    LEVEL,
    TOLERANCE,
    CellComparison,
    Comparison,
    MapComparison,
    Outcome,
    Reading,
    benjamini_hochberg,
    between_set_ups,
    compare,
    of_map,
    outcome_of,
)
from ioatlas.answer.analysis.drift import Between

METHOD = "pairs-bonferroni-bh/1"
FEWEST_REPEATS = 2
EFFECT = 0.10
MOST_SHARED = 0.5
"""Share of a pair's cells that all sides have, from which maps are compared over those."""

Readings = Mapping[str, Sequence[Reading]]
Test = Callable[[Sequence[Reading], Sequence[Reading]], Comparison]
"""`compare` as it is made for one pair."""


@dataclass(frozen=True)
class Pair:
    """Two of the sides, by their places; ratios are second over first.

    cells: those both have, with outcomes at the rate that holds over all pairs. untested: loads with a ratio and no
    test, because a side has one value. whole: over `map_cells` cells, those that all sides have where they are most of
    what the pair shares, else what it shares; its interval at the level that holds over all pairs. ratio: of the map;
    the median ratio of the loads where it was not tested.
    """

    first: int
    second: int
    cells: tuple[CellComparison, ...]
    untested: tuple[CellComparison, ...]
    whole: MapComparison | None
    ratio: float | None
    map_cells: int = 0

    def count(self, *outcomes: Outcome) -> int:
        return sum(cell.outcome in outcomes for cell in self.cells)


@dataclass(frozen=True)
class Place:
    """Where a side stands. best, worst: the ranks it may have; equal where all others are told apart from it.

    letters: sides that share one are not told apart. alone: cells in which it is better than each of the others.
    """

    side: int
    best: int
    worst: int
    letters: str
    alone: int


@dataclass(frozen=True)
class ManyComparison:
    """reference: the side others are held against; None when all pairs are. ranking: best first; empty with a
    reference, where the others are not compared with each other.

    n_common: cells that the maps of all sides have. undecided: of these, in how many no side is better than all others.
    map_level: level of each test of a map.
    """

    pairs: tuple[Pair, ...]
    reference: int | None
    ranking: tuple[Place, ...]
    n_common: int
    undecided: int
    tolerance: float
    effect: float
    false_discovery_rate: float
    map_level: float
    method: str = METHOD

    @property
    def wholes(self) -> list[MapComparison]:
        """The whole maps that were tested."""
        return [pair.whole for pair in self.pairs if pair.whole is not None]

    @property
    def weakest(self) -> float:
        """The difference that every test of a whole map finds."""
        return max((whole.detectable for whole in self.wholes), default=1.0)

    def pair(self, first: int, second: int) -> Pair | None:
        """The pair in this order, or turned round."""
        for pair in self.pairs:
            if (pair.first, pair.second) == (first, second):
                return pair
            if (pair.first, pair.second) == (second, first):
                return turned(pair)
        return None


def compare_many(
    sides: Sequence[Readings],
    *,
    visits: Sequence[bool],
    campaigns: Sequence[object] | None = None,
    reference: int | None = None,
    tolerance: float = TOLERANCE,
    higher_is_better: bool = True,
    between: tuple[float, float] = (0.0, inf),
) -> ManyComparison:
    """Compare all pairs, or each side with one of them.

    visits: for each side whether its values are visits; of others a load is tested only with two values or more.
    campaigns: for each side which campaign it is of, where it is one; sides of one campaign may have been visited in
    turns.
    between: how far campaigns of an unchanged target lie apart, with its degrees of freedom (`between_campaigns`).
    """
    effect = effect_for(tolerance)
    wanted = (
        list(combinations(range(len(sides)), 2))
        if reference is None
        else [(reference, other) for other in range(len(sides)) if other != reference]
    )
    level = LEVEL / len(wanted)
    readings = [[one for values in side.values() for one in values] for side in sides]
    mapped = [of_map(own) for own in readings]
    common = set.intersection(*mapped)
    pairs = []
    moved = _moved(readings, campaigns) if campaigns is not None else {}
    for a, b in wanted:
        by_visits = visits[a] and visits[b]
        same = by_visits and campaigns is not None and campaigns[a] == campaigns[b]
        test = partial(
            compare,
            tolerance=tolerance,
            campaign_sd=between[0],
            campaign_dof=between[1],
            level=level,
            in_turns=same and in_turns(sides[a], sides[b]),
            moved=moved.get(campaigns[a]) if same and campaigns is not None else None,
        )
        pairs.append(_pair(a, b, sides, mapped[a] & mapped[b], common, test, by_visits=by_visits))
    pairs = _controlled(pairs, tolerance)
    ranking: tuple[Place, ...] = ()
    undecided = 0
    if reference is None:
        ranking = _ranking(pairs, len(sides), common, higher_is_better=higher_is_better)
        undecided = len(common) - sum(place.alone for place in ranking)
    return ManyComparison(
        tuple(pairs), reference, ranking, len(common), undecided, tolerance, effect, FALSE_DISCOVERY_RATE, level
    )


def _moved(readings: Sequence[Sequence[Reading]], campaigns: Sequence[object]) -> dict[object, Between | None]:
    """What moves between set-ups of the sides of each campaign: few set-ups of each say more together."""
    return {
        campaign: between_set_ups(*(side for side, own in zip(readings, campaigns, strict=True) if own == campaign))
        for campaign in dict.fromkeys(campaigns)
    }


def effect_for(tolerance: float) -> float:
    """The slow-down whose chance to be found is told: 10%, or twice the tolerance where that is wide."""
    return EFFECT if tolerance < EFFECT / 2 else min(2 * tolerance, (1 + tolerance) / 2)


def _pair(
    a: int, b: int, sides: Sequence[Readings], shared: set[str], common: set[str], test: Test, *, by_visits: bool
) -> Pair:
    first, second = sides[a], sides[b]
    both = [name for name in first if name in second]
    tested = (
        both if by_visits else [name for name in both if min(len(first[name]), len(second[name])) >= FEWEST_REPEATS]
    )
    single = [_untested(name, first[name], second[name]) for name in both if name not in set(tested)]
    found = _compared(first, second, tested, test) if tested else None
    shared = shared & set(tested)
    whole, map_cells = (found.whole, len(shared)) if found and found.whole else (None, 0)
    if common <= shared and max(FEWEST_CELLS, len(shared) * MOST_SHARED) <= len(common) < len(shared):
        # All maps over the same cells, or the ranking would follow from who has which.
        over_common = _compared(first, second, [name for name in tested if name in common], test).whole
        if over_common is not None:
            whole, map_cells = over_common, len(common)
    ratios = [cell.ratio for cell in (*(found.cells if found else ()), *single) if cell.ratio is not None]
    ratio = whole.ratio if whole else median(ratios) if ratios else None
    return Pair(a, b, found.cells if found else (), tuple(single), whole, ratio, map_cells)


def in_turns(first: Readings, second: Readings) -> bool:
    """Whether two sides of one campaign were visited in turns, and not one after the other: half of the visits of
    each lie between the first and the last of the other.
    """
    times = [
        [reading.time for values in side.values() for reading in values if reading.error is None]
        for side in (first, second)
    ]
    return all(times) and all(
        sum(min(others) <= time <= max(others) for time in own) >= len(own) / 2 for own, others in (times, times[::-1])
    )


def _compared(first: Readings, second: Readings, names: Sequence[str], test: Test) -> Comparison:
    readings = [[reading for name in names for reading in side[name]] for side in (first, second)]
    return test(readings[0], readings[1])


def _untested(name: str, first: Sequence[Reading], second: Sequence[Reading]) -> CellComparison:
    values = [[reading.value for reading in readings] for readings in (first, second)]
    ratio = None
    if all(min(each) > 0 for each in values):
        logs = [float(np.mean(np.log(each))) for each in values]
        ratio = exp(logs[1] - logs[0])
    short = [side for side, each in zip(("the first", "the second"), values, strict=True) if len(each) < FEWEST_REPEATS]
    reason = f"no test: {' and '.join(short)} side has one value"
    n = [sum(reading.visits for reading in readings) for readings in (first, second)]
    return CellComparison(name, n[0], n[1], ratio, None, None, None, "not comparable", reason)


def _controlled(pairs: Sequence[Pair], tolerance: float) -> list[Pair]:
    """Outcomes of cells anew, at the false discovery rate over the cells of all pairs."""
    cut = benjamini_hochberg(
        [cell.p for pair in pairs for cell in pair.cells if cell.p is not None], FALSE_DISCOVERY_RATE
    )
    margin = log(1 + tolerance)

    def judged(cell: CellComparison) -> CellComparison:
        if cell.p is None or cell.ratio is None or cell.low is None:
            return cell
        difference = log(cell.ratio)
        half = difference - log(cell.low) if cell.low > 0 else inf
        return replace(cell, outcome=outcome_of(difference, half, margin, cell.p <= cut))

    return [replace(pair, cells=tuple(judged(cell) for cell in pair.cells)) for pair in pairs]


_OTHER: dict[Outcome, Outcome] = {"higher": "lower", "lower": "higher"}


def turned(pair: Pair) -> Pair:
    """The same pair with the first side over the second one."""

    def over(one: CellComparison | MapComparison) -> dict[str, Any]:
        outcome = _OTHER.get(one.outcome, one.outcome)
        return {"ratio": _inverse(one.ratio), "low": _inverse(one.high), "high": _inverse(one.low), "outcome": outcome}

    def cell(one: CellComparison) -> CellComparison:
        return replace(one, n_first=one.n_second, n_second=one.n_first, **over(one))

    whole = pair.whole and replace(pair.whole, **over(pair.whole))
    cells, untested = tuple(map(cell, pair.cells)), tuple(map(cell, pair.untested))
    return Pair(pair.second, pair.first, cells, untested, whole, _inverse(pair.ratio), pair.map_cells)


def _inverse(value: float | None) -> float | None:
    return None if value is None else 1 / value if value > 0 else inf


def _ranking(pairs: Sequence[Pair], n: int, common: set[str], *, higher_is_better: bool) -> tuple[Place, ...]:
    """The sides from best to worst by the mean of their logarithmic ratios to all others."""
    sign = 1.0 if higher_is_better else -1.0
    better = "higher" if higher_is_better else "lower"
    score = [0.0] * n
    beats: set[tuple[int, int]] = set()
    for pair in pairs:
        if pair.ratio:
            score[pair.second] += sign * log(pair.ratio) / n
            score[pair.first] -= sign * log(pair.ratio) / n
        if pair.whole is not None and pair.whole.outcome in ("higher", "lower"):
            won = pair.whole.outcome == better
            beats.add((pair.second, pair.first) if won else (pair.first, pair.second))
    alone = _alone(pairs, n, common, better)
    order = sorted(range(n), key=lambda side: -score[side])
    shared = letters(order, {frozenset(pair) for pair in beats})
    return tuple(
        Place(
            side,
            1 + sum((other, side) in beats for other in range(n)),
            n - sum((side, other) in beats for other in range(n)),
            shared[side],
            alone[side],
        )
        for side in order
    )


def _alone(pairs: Sequence[Pair], n: int, common: set[str], better: str) -> Counter[int]:
    """In how many of the common cells each side is better than each of the others."""
    wins: dict[str, Counter[int]] = {}
    for pair in pairs:
        for cell in pair.cells:
            if cell.outcome in ("higher", "lower") and cell.cell in common:
                winner = pair.second if cell.outcome == better else pair.first
                wins.setdefault(cell.cell, Counter())[winner] += 1
    return Counter(side for found in wins.values() for side, count in found.items() if count == n - 1)


def letters(order: Sequence[int], apart: Collection[frozenset[int]]) -> dict[int, str]:
    """Insert and absorb (Piepho 2004, J. Comput. Graph. Stat. 13(2)); the first in order has the first letter."""
    columns: list[frozenset[int]] = [frozenset(order)]
    for pair in sorted(apart, key=lambda pair: sorted(order.index(one) for one in pair)):
        split: list[frozenset[int]] = []
        for column in columns:
            split += [column - {one} for one in pair] if pair <= column else [column]
        columns = _absorbed(split)
    place = {side: at for at, side in enumerate(order)}
    columns.sort(key=lambda column: sorted(place[side] for side in column))
    return {side: "".join(_letter(at) for at, column in enumerate(columns) if side in column) for side in order}


def _absorbed(columns: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Without those that lie within another one."""
    kept: list[frozenset[int]] = []
    for column in sorted(dict.fromkeys(columns), key=len, reverse=True):
        if not any(column <= larger for larger in kept):
            kept.append(column)
    return kept


def _letter(at: int) -> str:
    return ascii_lowercase[at] if at < len(ascii_lowercase) else f"[{at + 1}]"
