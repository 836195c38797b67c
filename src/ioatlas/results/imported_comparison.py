# SPDX-License-Identifier: Apache-2.0
"""Two directories compared when at least one holds nothing but imported readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ioatlas.analysis.compare import TOLERANCE
from ioatlas.analysis.imported_compare import ImportedValue, ReadingsComparison, compare_readings
from ioatlas.analysis.imported_methods import differences
from ioatlas.errors import UsageError
from ioatlas.model.estimate import Estimate
from ioatlas.results.comparison import QUANTITIES, measured_values
from ioatlas.results.imported import is_imported, read_imported
from ioatlas.store.imported import FILE_NAME as IMPORTED
from ioatlas.store.journal import FILE_NAME as JOURNAL


@dataclass(frozen=True)
class ImportedComparison:
    """methods: how each set of either side was measured. differences: sentences on what is not alike, or cannot be
    known to be.
    """

    quantity: str
    names: tuple[str, str]
    directories: tuple[Path, Path]
    result: ReadingsComparison
    methods: Mapping[str, Mapping[str, str]]
    differences: tuple[str, ...]


def involves_imported(first: Path, second: Path) -> bool:
    """Whether a side is imported: a directory without a journal, or the file of imported readings itself, which stands
    beside a journal.
    """
    return any(_only_imported(place) for place in (first, second))


def compare_imported(
    first: Path, second: Path, quantity: str = "bw", *, tolerance: float = TOLERANCE
) -> ImportedComparison:
    """Compare load by load. Raises UsageError when a side has no value of that quantity, or no load is on both."""
    sides = [_side(place, quantity) for place in (first, second)]
    names = [place.parent.name if place.name == IMPORTED else place.resolve().name for place in (first, second)]
    if names[0] == names[1]:
        names = [str(first), str(second)]
    result = compare_readings(sides[0][0], sides[1][0], tolerance=tolerance)
    if not result.rows:
        told = (
            f"{result.ambiguous} loads have several counterparts"
            if result.ambiguous
            else "no operation, block size, size, jobs and depth fit"
        )
        raise UsageError(
            f"the two sides have no load in common: {told}",
            where=f"{first} and {second}",
            remedy="`ioatlas show DIR --cells` lists the loads of each",
        )
    several = [len(side[1]) > 1 for side in sides]
    methods = {
        (f"{name}: {label}" if many else name): facts
        for name, many, (_, sets) in zip(names, several, sides, strict=True)
        for label, facts in sets.items()
    }
    return ImportedComparison(
        quantity,
        (names[0], names[1]),
        (first, second),
        result,
        methods,
        tuple(f"{name}: {values}" for name, values in differences(methods).items()),
    )


def _only_imported(place: Path) -> bool:
    return is_imported(place) and not (place / JOURNAL).exists()


def _side(place: Path, quantity: str) -> tuple[list[ImportedValue], Mapping[str, Mapping[str, str]]]:
    if _only_imported(place):
        found = read_imported(place)
        column = QUANTITIES[quantity]
        values = [
            ImportedValue(e.cell, e.direction, float(value), _told(e))
            for e in found.estimates
            if (value := getattr(e, column)) is not None
        ]
        methods: Mapping[str, Mapping[str, str]] = found.methods
    else:
        values, facts = measured_values(place, quantity)
        methods = {"measured": facts}
    if not values:
        raise UsageError(f"no value of {quantity} to compare", where=str(place), remedy="choose another --quantity")
    return values, methods


def _told(estimate: Estimate) -> str:
    return f"{estimate.cell.target}, {estimate.statistic}, {estimate.notes[0]}"
