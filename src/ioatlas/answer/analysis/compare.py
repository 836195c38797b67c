# SPDX-License-Identifier: Apache-2.0
"""Two campaigns compared through their visits: cell by cell, and as a whole. `docs/method/statistics.md` says what
is assumed.

All differences are logarithms of ratios, second campaign over first, so that a halving and a doubling weigh the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log, log1p, sqrt
from statistics import fmean
from typing import Literal

import numpy as np

from ioatlas.answer.analysis.best import NUMBER_WIDTH
from ioatlas.answer.analysis.drift import FEWEST as FEWEST_SET_UPS
from ioatlas.answer.analysis.drift import Between, between
from ioatlas.model.errors import UsageError
from ioatlas.stats.distributions import Z95, t_quantile, t_tail
from ioatlas.stats.drift import Spread, level_spread
from ioatlas.stats.intervals import pool_variance
from ioatlas.stats.warmup import Floats

FEWEST_CELLS = 3
TOLERANCE = 0.02
LEVEL = 0.05
WILD = 3.0
FALSE_DISCOVERY_RATE = 0.05
BRIEF = "under 20 ms on both sides; use more files"
USUAL_POWER = 0.8
"""Chance with which a difference is found that is called detectable."""

Outcome = Literal["higher", "lower", "not different", "same", "not comparable"]


@dataclass(frozen=True)
class Reading:
    """One accepted visit: the cell's name or key, a positive value in any unit (0 for a stall), when it was made, in
    seconds, and in which set-up of its target.

    brief: its work was over so soon that what the system did just then decided the value.
    error: of what the law of a target or the model of a map says of a cell, in place of a visit, the standard error of
    its logarithm; visits: how many that rests on, 0 where the cell was not measured.
    within: variance of its logarithm by what is seen inside the visit.
    """

    cell: str
    value: float
    time: float
    set_up: int = 0
    brief: bool = False
    error: float | None = None
    visits: int = 1
    within: float = 0.0

    @property
    def by_law(self) -> bool:
        """Whether the law of the target tells a cell that was measured: then it tells the map."""
        return self.error is not None and self.visits > 0


@dataclass(frozen=True)
class CellComparison:
    """One cell that both campaigns visited.

    ratio, low, high: second over first with its 95% interval (None when not comparable); for this cell alone, not
    adjusted for their number.
    p: of 'differs by more than the tolerance'. outcome: 'higher' or 'lower' (second against first) at the false
    discovery rate; 'same': the whole interval lies within the tolerance; 'not different': neither. detectable: the
    smallest share by which the second could be lower and be found with 80% chance.
    """

    cell: str
    n_first: int
    n_second: int
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    outcome: Outcome
    reason: str = ""
    detectable: float | None = None

    @property
    def predicted(self) -> bool:
        """Whether one of the campaigns only foretells it."""
        return not (self.n_first and self.n_second)


@dataclass(frozen=True)
class MapComparison:
    """The map as a whole: geometric mean over cells of second / first, wild visits pulled in.

    detectable: as of a cell.
    """

    ratio: float
    low: float
    high: float
    p: float
    outcome: Outcome
    detectable: float


@dataclass(frozen=True)
class Comparison:
    """The cells that both have, and the map; None where it cannot be tested."""

    cells: tuple[CellComparison, ...]
    whole: MapComparison | None


def of_map(readings: Sequence[Reading]) -> set[str]:
    """The cells with which a campaign is part of the test of a map: those that it measured, or of which the law of its
    target tells.
    """
    by_law = any(one.by_law for one in readings)
    return {one.cell for one in readings if by_law or one.error is None}


def compare(
    first: Sequence[Reading],
    second: Sequence[Reading],
    *,
    tolerance: float = TOLERANCE,
    campaign_sd: float = 0.0,
    campaign_dof: float = inf,
    level: float = LEVEL,
    in_turns: bool = False,
    moved: Between | None = None,
) -> Comparison:
    """Compare the cells that both campaigns visited.

    Each cell: difference of mean logarithms, Welch's t with each campaign's variances shrunk to their pool (as
    `moderated_log_interval`; where cells were
    visited once: from the scatter of the cells' differences), plus the variance that all cells of a campaign share;
    test of a difference beyond `tolerance`; Benjamini and Hochberg (1995) over cells.
    The map: mean difference; its variance from means over stretches of time of each campaign, so that slow drift
    counts (`level_spread`).
    Where the law of a target says what a cell gives, its error is known, and that of a map is the one of their mean.
    What the model of a map predicts is tested cell by cell, by its own error, and is no part of the test of the map:
    its errors may have one cause.
    campaign_sd: standard deviation of the logarithm of a whole campaign's level between campaigns of one unchanged
    target, where that is known from earlier ones, with its degrees of freedom (`between_campaigns`); few of them
    widen everything, by Student's factor. Without it, the target is assumed to move no more between the campaigns
    than while they ran.
    level: of the test of the map, whose interval has the confidence 1 - level; smaller where it is one of several.
    in_turns: both were visited in turns, in one campaign: what drifts meanwhile moves both. The first visit of a cell
    is held against its first visit on the other side, and so on; only what moves their difference is doubt.
    moved: what moves between set-ups of their targets, where more is known of it than these two tell. Where both sides
    were set up twice or more, that is the doubt that all cells share, and drift counts within set-ups only.
    """
    if not 0 <= tolerance < 1:
        raise UsageError(f"a tolerance of {tolerance} is no share from 0 to 1", remedy="write 2% as 0.02")
    values = [_by_cell(readings) for readings in (first, second)]
    common = {cell: (side, values[1][cell]) for cell, side in values[0].items() if cell in values[1]}
    untested = _untested(common, _brief(first) & _brief(second))
    usable = [cell for cell in common if cell not in untested]
    logs = [{cell: np.log(side[cell]) for cell in usable} for side in values]
    difference = {cell: float(logs[1][cell].mean() - logs[0][cell].mean()) for cell in usable}
    variances = [_mean_variances(side, usable, own) for side, own in zip((first, second), values, strict=True)]
    parts = {cell: [side[cell] for side in variances] for cell in usable}
    margin = log1p(tolerance)
    whole, mapped = None, of_map(first) & of_map(second)
    told = [cell for cell in usable if cell in mapped]
    shared = 2 * (campaign_sd * t_quantile(0.975, campaign_dof) / t_quantile(0.975, inf)) ** 2
    set_ups = [len({reading.set_up for reading in readings}) for readings in (first, second)]
    if min(set_ups, default=0) > 1:
        in_turns, moved = False, moved or between_set_ups(first, second)
        if moved is not None:
            shared += moved.variance_of_difference(set_ups[0], set_ups[1], level)
    if len(told) >= FEWEST_CELLS:
        made = [{cell: side[cell] for cell in told} for side in logs]
        mean, spread = (
            _by_law(difference, {cell: parts[cell] for cell in told}, shared)
            if any(one.by_law for one in (*first, *second))
            else _by_visits(first, second, made, shared, in_turns=in_turns)
        )
        if spread is not None:
            shared = spread.drift_variance
            whole = _whole(mean, spread, margin, level)
    once = _spread_of([difference[cell] for cell in told])
    tests = {cell: _test(difference[cell], parts[cell], shared, margin, once) for cell in usable}
    chances = [test.p for test in tests.values() if test is not None]
    cut = benjamini_hochberg(chances, FALSE_DISCOVERY_RATE)
    called = max(cut, FALSE_DISCOVERY_RATE / max(1, len(chances)))
    visits = [Counter(one.cell for one in side for _ in range(one.visits)) for side in (first, second)]
    cells = [_cell(cell, visits[0][cell], visits[1][cell], tests[cell], cut, called, margin) for cell in usable]
    cells += [
        CellComparison(cell, visits[0][cell], visits[1][cell], None, None, None, None, "not comparable", reason)
        for cell, reason in untested.items()
    ]
    return Comparison(tuple(cells), whole)


def between_campaigns(campaigns: Sequence[Sequence[Reading]]) -> tuple[float, float]:
    """(standard deviation of a campaign's level, its degrees of freedom) from three or more campaigns of one
    unchanged target.

    The level is the mean over the cells that all visited of their mean logarithms. Includes the noise of visits, so
    it errs upward.
    """
    if len(campaigns) < 3:
        told = f"{len(campaigns)} campaigns say too little about how campaigns differ"
        raise UsageError(told, remedy="pass three or more campaigns of one unchanged target")
    sides = [_by_cell(readings) for readings in campaigns]
    cells = [cell for cell in sides[0] if all(cell in side and min(side[cell]) > 0 for side in sides)]
    if not cells:
        raise UsageError("the campaigns share no cell", remedy="compare campaigns of one sweep")
    levels = [float(np.mean([np.log(side[cell]).mean() for cell in cells])) for side in sides]
    return float(np.std(levels, ddof=1)), float(len(levels) - 1)


def _by_law(
    difference: Mapping[str, float], parts: Mapping[str, Sequence[tuple[float, float] | None]], shared: float
) -> tuple[float, Spread | None]:
    """(difference of two maps, its error), where a law tells cells of one or both; over those with a number: the
    others' runs disagree. parts: as of a test.
    """
    variance = {cell: sum(part[0] for part in both if part) for cell, both in parts.items() if all(both)}
    known = [cell for cell in variance if Z95 * sqrt(variance[cell]) <= NUMBER_WIDTH]
    if len(known) < FEWEST_CELLS:
        return 0.0, None
    scale = sqrt(sum(variance[cell] for cell in known) / len(known) ** 2 + shared)
    mean = _tamed(np.array([difference[cell] for cell in known])).mean()
    # So many degrees of freedom are those of the normal distribution.
    return float(mean), Spread(np.ones(1), np.array([scale]), 1e9, shared)


def _by_visits(
    first: Sequence[Reading],
    second: Sequence[Reading],
    logs: Sequence[dict[str, Floats]],
    shared: float,
    *,
    in_turns: bool,
) -> tuple[float, Spread | None]:
    if in_turns:
        residuals = [_paired(first, second, set(logs[0]))]
        mean = float(residuals[0][1].mean())
    else:
        residuals = [_residuals(readings, logs[side], logs[1 - side]) for side, readings in enumerate((first, second))]
        # Without wild visits both halves are the mean over cells of the difference.
        mean = (float(residuals[1][1].mean()) - float(residuals[0][1].mean())) / 2
    return mean, level_spread(residuals, extra_variance=shared)


def _residuals(readings: Sequence[Reading], own: dict[str, Floats], other: dict[str, Floats]) -> tuple[Floats, Floats]:
    """(times, residuals) of one campaign's visits, each against the other campaign's mean of the same cell,
    weighted so that cells count alike.

    Taking the other campaign's mean leaves this campaign's drift whole (its own mean would take a part of the drift
    away), and adds noise without order in time, because each campaign shuffles its cells. Residuals further than
    WILD robust deviations from their median count as if they lay there: a single stalled visit must hide no change
    of a whole map.
    """
    rows = [reading for reading in readings if reading.cell in own]
    residuals = _tamed(np.array([log(row.value) - float(other[row.cell].mean()) for row in rows]))
    residuals = within_set_ups(rows, residuals)
    weights = np.array([len(rows) / len(own) / own[row.cell].size for row in rows])
    return np.array([row.time for row in rows]), residuals * weights


def _paired(first: Sequence[Reading], second: Sequence[Reading], cells: set[str]) -> tuple[Floats, Floats]:
    """(times, differences) of the visits of two sides that were visited in turns: the n-th of a cell on either side,
    weighted so that cells count alike.
    """
    by_cell: dict[str, tuple[list[Reading], list[Reading]]] = {cell: ([], []) for cell in sorted(cells)}
    for side, readings in enumerate((first, second)):
        for reading in sorted(readings, key=lambda one: one.time):
            if reading.cell in cells:
                by_cell[reading.cell][side].append(reading)
    pairs = [(one, other, min(map(len, both))) for both in by_cell.values() for one, other in zip(*both, strict=False)]
    differences = _tamed(np.array([log(other.value / one.value) for one, other, _ in pairs]))
    weights = np.array([len(pairs) / len(cells) / count for *_, count in pairs])
    return np.array([(one.time + other.time) / 2 for one, other, _ in pairs]), differences * weights


def within_set_ups(rows: Sequence[Reading], residuals: Floats) -> Floats:
    """The residuals with the level of each set-up put on that of all; their mean stays."""
    numbers = np.array([row.set_up for row in rows])
    if np.unique(numbers).size < FEWEST_SET_UPS:
        return residuals
    moved = residuals.copy()
    for number in np.unique(numbers):
        mine = numbers == number
        moved[mine] += float(residuals.mean()) - float(residuals[mine].mean())
    return moved


def between_set_ups(*sides: Sequence[Reading]) -> Between | None:
    """What moves between set-ups, pooled over the sides; None where none was set up twice."""
    values = []
    for readings in sides:
        mine: dict[tuple[Hashable, int], list[float]] = {}
        for reading in readings:
            mine.setdefault((reading.cell, reading.set_up), []).append(reading.value)
        values.append(mine)
    return between(values)


def _tamed(values: Floats) -> Floats:
    """Values with those further than WILD robust deviations from their median put there."""
    centre = float(np.median(values))
    scale = 1.4826 * float(np.median(np.abs(values - centre)))
    return np.clip(values, centre - WILD * scale, centre + WILD * scale) if scale > 0 else values


@dataclass(frozen=True)
class _Test:
    difference: float
    error: float
    dof: float
    p: float


def _test(
    difference: float,
    parts: Sequence[tuple[float, float] | None],
    shared: float,
    margin: float,
    once: tuple[float, float] | None,
) -> _Test | None:
    """parts: of each side the variance of its mean logarithm, with the degrees of freedom."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        if once is None:
            return None
        known = [once]
    error = sqrt(sum(variance for variance, _ in known) + shared)
    dof = _satterthwaite(known)
    return _Test(difference, error, dof, _p_beyond(difference, error, dof, margin))


def _mean_variances(
    readings: Sequence[Reading], cells: Sequence[str], values: Mapping[str, Floats]
) -> dict[str, tuple[float, float] | None]:
    """By cell (variance of the mean logarithm of its visits, degrees of freedom), or what is known of it; None for a
    single visit without a pool. values: of all cells.
    """
    known = {one.cell: one.error**2 for one in readings if one.error is not None}
    within = {cell: fmean(seen) for cell, seen in _by_cell(readings, "within").items()}
    pool = pool_variance((values[cell].tolist() for cell in cells), (within[cell] for cell in cells))
    found: dict[str, tuple[float, float] | None] = {}
    for cell in cells:
        n = values[cell].size
        own = float(np.log(values[cell]).var(ddof=1)) if n > 1 else 0.0
        variance, dof = pool.beside(within[cell]).with_own(own, n) if pool else (own, n - 1.0)
        found[cell] = (known[cell], inf) if cell in known else (variance / n, dof) if dof else None
    return found


def _spread_of(differences: Sequence[float]) -> tuple[float, float] | None:
    """(variance, degrees of freedom) of one cell's difference where cells were visited once: from how the cells'
    differences scatter.

    Median absolute deviation, whose efficiency is 37% for normal values. It holds real differences between cells
    too, so it errs upward. None below 8 cells.
    """
    if len(differences) < 8:
        return None
    array = np.array(differences)
    scale = 1.4826 * float(np.median(np.abs(array - np.median(array))))
    return scale**2, 0.37 * len(differences)


def _p_beyond(difference: float, error: float, dof: float, margin: float) -> float:
    """P of |true difference| <= margin, at its edges (two-sided)."""
    if error == 0:
        return 0.0 if abs(difference) > margin else 1.0
    edges = np.array([abs(difference) - margin, abs(difference) + margin])
    return min(1.0, float(t_tail(edges / error, dof).sum()))


def _satterthwaite(parts: Sequence[tuple[float, float]]) -> float:
    total = sum(variance for variance, _ in parts)
    if total in (0, inf):
        return min(dof for _, dof in parts)
    lower = sum(variance**2 / dof for variance, dof in parts if dof < inf)
    return total**2 / lower if lower else inf


def benjamini_hochberg(chances: Sequence[float], rate: float) -> float:
    """Largest p that counts as found at this false discovery rate; -1 when none does."""
    ordered = np.sort(np.asarray(chances, dtype=float))
    passed = np.flatnonzero(ordered <= rate * np.arange(1, ordered.size + 1) / max(1, ordered.size))
    return float(ordered[passed[-1]]) if passed.size else -1.0


def _whole(mean: float, spread: Spread, margin: float, level: float) -> MapComparison:
    half = spread.half_width(1 - level)
    p = min(1.0, spread.beyond(abs(mean) - margin) + spread.beyond(abs(mean) + margin))
    return MapComparison(
        exp(mean),
        exp(mean - half),
        exp(min(mean + half, 700.0)),
        p,
        outcome_of(mean, half, margin, p <= level),
        detectable_of_map(spread, margin, level),
    )


def detectable_of_map(spread: Spread, margin: float, level: float) -> float:
    """Share by which a map has to be lower to be found with 80% chance."""
    return 1 - exp(-(spread.half_width(1 - level) + margin + spread.half_width(2 * USUAL_POWER - 1)))


def detectable_of_cell(error: float, dof: float, margin: float, level: float) -> float:
    """Likewise a cell. error: standard error of the difference of the logarithms, with its degrees of freedom."""
    return 1 - exp(-min(700.0, (t_quantile(1 - level / 2, dof) + t_quantile(USUAL_POWER, dof)) * error + margin))


def outcome_of(difference: float, half: float, margin: float, found: bool) -> Outcome:
    """What is said of a difference of logarithms. half: half the width of its interval."""
    if found:
        return "higher" if difference > 0 else "lower"
    return "same" if abs(difference) + half <= margin else "not different"


def _cell(
    name: str, n_first: int, n_second: int, test: _Test | None, cut: float, level: float, margin: float
) -> CellComparison:
    if test is None:
        reason = "measured once, and too few cells were measured twice to know the noise"
        return CellComparison(name, n_first, n_second, None, None, None, None, "not comparable", reason)
    half = t_quantile(0.975, test.dof) * test.error
    return CellComparison(
        name,
        n_first,
        n_second,
        exp(test.difference),
        exp(test.difference - half),
        exp(min(test.difference + half, 700.0)),
        test.p,
        outcome_of(test.difference, half, margin, test.p <= cut),
        detectable=detectable_of_cell(test.error, test.dof, margin, level),
    )


def _brief(readings: Sequence[Reading]) -> set[str]:
    """Cells most of whose visits were brief."""
    visits = Counter(reading.cell for reading in readings)
    brief = Counter(reading.cell for reading in readings if reading.brief)
    return {cell for cell, count in brief.items() if 2 * count > visits[cell]}


def _untested(common: Mapping[str, tuple[Floats, Floats]], brief: Container[str]) -> dict[str, str]:
    """The cells that cannot be compared, each with why: a visit measured zero, or most were brief."""
    stalled = {cell: _stalled(*sides) for cell, sides in common.items() if not all(side.min() for side in sides)}
    return {**stalled, **{cell: BRIEF for cell in common if cell in brief}}


def _stalled(first: Floats, second: Floats) -> str:
    zeros = [int(np.count_nonzero(side == 0)) for side in (first, second)]
    return f"visits that measured zero: {zeros[0]} of {first.size} and {zeros[1]} of {second.size}"


def _by_cell(readings: Sequence[Reading], name: str = "value") -> dict[str, Floats]:
    grouped: dict[str, list[float]] = {}
    for reading in readings:
        if not (np.isfinite(value := getattr(reading, name)) and value >= 0):
            raise UsageError(
                f"a visit's {name} is {value}", where=f"cell {reading.cell}", remedy="leave visits without a value out"
            )
        grouped.setdefault(reading.cell, []).append(value)
    return {cell: np.array(found) for cell, found in grouped.items()}
