# SPDX-License-Identifier: Apache-2.0
"""Two sets of values of which at least one was imported: loads that match, their ratio, and a test only where both
sides have repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean, median

from ioatlas.analysis.compare import FALSE_DISCOVERY_RATE, TOLERANCE, CellComparison, Reading, compare
from ioatlas.analysis.imported import NOT_TOLD
from ioatlas.analysis.many import effect_for
from ioatlas.model.cell import MIXED, Cell

AXES = ("bs", "size", "numjobs", "iodepth", "rwmixread", "rate_iops")
FEWEST = 2
"""Values of one load on each side from which its scatter is known at all."""

Load = tuple[tuple[str, str | int | float], ...]


@dataclass(frozen=True)
class ImportedValue:
    """One value of one load: a reading of another tool, or an accepted visit of ours.

    told: where it comes from and what statistic it is.
    """

    cell: Cell
    direction: str
    value: float
    told: str
    time: float = 0.0


@dataclass(frozen=True)
class ImportedRow:
    """One load that both sides have.

    load: its options in words, first the operation. first, second: geometric means of the values. unknown: options
    that one side does not tell, taken as equal.
    test: of the difference, where both sides have at least two values; else None and `reason` says why.
    """

    load: Load
    direction: str
    first: float
    second: float
    n_first: int
    n_second: int
    told_first: str
    told_second: str
    unknown: tuple[str, ...]
    test: CellComparison | None
    reason: str

    @property
    def ratio(self) -> float:
        return self.second / self.first


@dataclass(frozen=True)
class ReadingsComparison:
    """ambiguous: loads with more than one counterpart, because a source does not tell what tells them apart; they
    are not compared.
    """

    rows: tuple[ImportedRow, ...]
    only_first: int
    only_second: int
    ambiguous: int
    median_ratio: float | None
    tested: int


def compare_readings(
    first: Sequence[ImportedValue], second: Sequence[ImportedValue], *, tolerance: float = TOLERANCE
) -> ReadingsComparison:
    """Match loads by operation, direction, bs, size, numjobs, iodepth, rwmixread and offered rate, and compare each
    with its counterpart.

    An option that a source does not tell fits any value, if that leaves one counterpart. Where some load has two or
    more values on both sides, those loads are tested as campaigns are (`compare`); all others have a ratio and
    nothing else.
    """
    sides = [_by_load(values) for values in (first, second)]
    pairs, ambiguous, used = counterparts(*sides)
    repeated = [i for i, (a, b) in enumerate(pairs) if min(len(sides[0][a]), len(sides[1][b])) >= FEWEST]
    tests: dict[int, CellComparison] = {}
    if repeated:
        readings = [
            [Reading(str(i), value.value, value.time) for i in repeated for value in sides[which][pairs[i][which]]]
            for which in (0, 1)
        ]
        found = compare(
            readings[0],
            readings[1],
            tolerance=tolerance,
            effect=effect_for(tolerance),
            false_discovery_rate=FALSE_DISCOVERY_RATE,
        )
        tests = {int(cell.cell): cell for cell in found.cells}
    rows = [_row(a, b, sides[0][a], sides[1][b], tests.get(i)) for i, (a, b) in enumerate(pairs)]
    ratios = [row.ratio for row in rows]
    return ReadingsComparison(
        tuple(rows),
        len(sides[0].keys() - used[0]),
        len(sides[1].keys() - used[1]),
        ambiguous,
        median(ratios) if ratios else None,
        len(tests),
    )


_Key = tuple[str, str, Load]
"""Operation, direction and the other options of a load, as far as its source tells them."""


def _by_load(values: Sequence[ImportedValue]) -> dict[_Key, list[ImportedValue]]:
    found: dict[_Key, list[ImportedValue]] = {}
    for value in values:
        if value.value > 0:
            found.setdefault(_key(value), []).append(value)
    return found


def _key(value: ImportedValue) -> _Key:
    return load_of(value.cell, value.direction)


def load_of(cell: Cell, direction: str) -> _Key:
    """A load by what any tool may tell of it."""
    option = cell.option
    operation = str(option.get("operation") or option.get("rw") or "")
    operation = "" if operation.endswith(NOT_TOLD) else {"readwrite": "rw"}.get(operation, operation)
    load = tuple(
        (name, option[name]) for name in AXES if name in option and (name != "rwmixread" or operation in MIXED)
    )
    return operation, direction, load


def counterparts(
    first: Mapping[_Key, object], second: Mapping[_Key, object]
) -> tuple[list[tuple[_Key, _Key]], int, tuple[set[_Key], set[_Key]]]:
    """Each load with its one counterpart; how many have several; and the loads that have any."""
    by_operation: dict[tuple[str, str], list[_Key]] = {}
    for key in second:
        by_operation.setdefault(key[:2], []).append(key)
    fits: dict[_Key, list[_Key]] = {}
    back: dict[_Key, list[_Key]] = {}
    for key in first:
        candidates = (
            [key] if key in second else [other for other in by_operation.get(key[:2], ()) if _fit(key[2], other[2])]
        )
        for other in candidates:
            fits.setdefault(key, []).append(other)
            back.setdefault(other, []).append(key)
    pairs = [(key, others[0]) for key, others in fits.items() if len(others) == 1 and len(back[others[0]]) == 1]
    return pairs, len(fits) - len(pairs), (set(fits), set(back))


def _fit(one: Load, other: Load) -> bool:
    """Whether what both tell is equal, and at least the block size is told by both or by neither."""
    a, b = dict(one), dict(other)
    return ("bs" in a) == ("bs" in b) and all(a[name] == b[name] for name in a.keys() & b.keys())


def _row(
    first: _Key,
    second: _Key,
    ours: Sequence[ImportedValue],
    theirs: Sequence[ImportedValue],
    test: CellComparison | None,
) -> ImportedRow:
    a, b = dict(first[2]), dict(second[2])
    unknown = tuple(name for name in AXES if (name in a) != (name in b))
    short = [side for side, values in (("the first", ours), ("the second", theirs)) if len(values) < FEWEST]
    reason = "" if test is not None else f"no test: {' and '.join(short)} side has one value"
    return ImportedRow(
        (("rw", first[0]), *((name, {**b, **a}[name]) for name in AXES if name in a or name in b)),
        first[1],
        _mean(ours),
        _mean(theirs),
        len(ours),
        len(theirs),
        _told(ours),
        _told(theirs),
        unknown,
        test,
        reason,
    )


def _mean(values: Sequence[ImportedValue]) -> float:
    return exp(fmean(log(value.value) for value in values))


def _told(values: Sequence[ImportedValue]) -> str:
    words = list(dict.fromkeys(value.told for value in values))
    return words[0] if len(words) == 1 else f"{words[0]} and {len(words) - 1} more"
