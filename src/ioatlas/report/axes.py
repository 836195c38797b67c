# SPDX-License-Identifier: Apache-2.0
"""The axes of a campaign's result, and where each of its cells stands on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.factors import FACTOR, Factor
from ioatlas.model.options import SIZE_OPTIONS
from ioatlas.model.result import CampaignResult
from ioatlas.model.verdict import UnmeasuredReason
from ioatlas.report.page_format import Axis, AxisRole, AxisUnit
from ioatlas.report.table import PRICES, factors_of, varied_options

Integers = NDArray[np.int64]

PERCENT_OPTIONS = frozenset(
    {"rwmixread", "rwmixwrite", "percentage_random", "buffer_compress_percentage", "dedupe_percentage"}
)
PSEUDO_AXES: tuple[AxisRole, ...] = ("target", "direction", "sharing", "state")


class Grid:
    """The axes of a result and each cell's place on them.

    axes, names:     the axes, and their names in the same order.
    rows:            level positions of `result.estimates`, by axis name.
    unmeasured:      level positions of the unmeasured cells, one for each direction; `unmeasured_reasons` beside them.
    constants:       options that every cell shares.
    """

    def __init__(self, result: CampaignResult) -> None:
        left = [(one, direction) for one in result.unmeasured for direction in one.cell.directions]
        self.unmeasured_reasons: list[UnmeasuredReason] = [one.reason for one, _ in left]
        cells = [*(one.cell for one in result.estimates), *(one.cell for one, _ in left)]
        directions = [*(one.direction for one in result.estimates), *(direction for _, direction in left)]

        options = varied_options(cells)
        shared = {**result.constants, **(cells[0].option if cells else {})}
        self.constants: dict[str, OptionValue] = {name: value for name, value in shared.items() if name not in options}
        declared = [name for name in result.axes if name in options and name not in PSEUDO_AXES]
        others = [name for name in options if name not in declared]
        factors, prices, units = _factors(result)
        values: dict[str, list[OptionValue | None]] = {
            **_columns(factors, cells),
            "target": [cell.target for cell in cells],
            **_columns(prices, cells),
            **{name: [cell.option.get(name) for cell in cells] for name in declared},
            "direction": list(directions),
            **_where_varied(cells, "sharing", "state"),
            **{name: [cell.option.get(name) for cell in cells] for name in others},
        }
        known: dict[str, Sequence[OptionValue]] = {**result.axes, "target": [target.name for target in result.targets]}
        known["direction"] = ("read", "write", "trim")

        self.axes: list[Axis] = []
        self.rows: dict[str, Integers] = {}
        self.unmeasured: dict[str, Integers] = {}
        key = np.zeros(len(cells), dtype=np.int64)
        for name, column in values.items():
            levels = _ordered_levels(dict.fromkeys(column), known.get(name, ()), keep_absent=name in declared)
            place = {level: i for i, level in enumerate(levels)}
            codes = np.fromiter((place[value] for value in column), dtype=np.int64, count=len(column))
            given = name in declared or (name == "target" and not factors) or not (declared or factors)
            derived = not given and _follows(key, codes)
            if not derived:
                key = _dense(key * len(levels) + codes)
            self.rows[name], self.unmeasured[name] = np.split(codes, [len(result.estimates)])
            self.axes.append(_axis(name, levels, derived=derived, unit=units.get(name, "")))
        self.names = [axis.name for axis in self.axes]


Factors = Mapping[str, Mapping[str, Factor]]


def _factors(result: CampaignResult) -> tuple[Factors, Factors, dict[str, str]]:
    """Factors of each target, its prices, and the units of both. Factors take the place of targets where they tell them
    apart, and are left out elsewhere; prices follow from targets and stand after them.
    """
    every = factors_of(result)
    units = {name: one.unit for mine in every.values() for name, one in mine.items()}
    own, prices = (
        {target: {n: f for n, f in mine.items() if (n in PRICES) is asked} for target, mine in every.items()}
        for asked in (False, True)
    )
    return own if 1 < len(own) == len({tuple(mine.items()) for mine in own.values()}) else {}, prices, units


def _where_varied(cells: Sequence[Cell], *names: str) -> dict[str, list[OptionValue | None]]:
    columns = {name: [getattr(cell, name) for cell in cells] for name in names}
    return {name: column for name, column in columns.items() if len(set(column)) > 1}


def _columns(factors: Factors, cells: Sequence[Cell]) -> dict[str, list[OptionValue | None]]:
    """A column for each factor of the targets."""
    names = dict.fromkeys(name for mine in factors.values() for name in mine)
    return {
        name: [one.value if (one := factors.get(cell.target, {}).get(name)) else None for cell in cells]
        for name in names
    }


def _dense(key: Integers) -> Integers:
    """The same grouping with small numbers, so that crossing many axes cannot overflow."""
    return np.unique(key, return_inverse=True)[1].astype(np.int64).reshape(key.shape)


def _follows(key: Integers, codes: Integers) -> bool:
    """Whether `codes` has one value for each value of `key`."""
    return len(np.unique(np.stack([key, codes], axis=1), axis=0)) == len(np.unique(key))


def _ordered_levels(
    present: Iterable[OptionValue | None], known: Sequence[OptionValue], *, keep_absent: bool
) -> list[OptionValue | None]:
    """Levels ascending when all are numbers, else in the campaign's order; then any the campaign did not declare;
    unset last.
    """
    seen = set(present)
    levels = [
        level
        for level in dict.fromkeys([*known, *(v for v in present if v is not None)])
        if keep_absent or level in seen
    ]
    if all(isinstance(level, (int, float)) for level in levels):
        levels = sorted(levels, key=float)
    return [*levels, *([None] if None in seen else [])]


def _axis(name: str, levels: list[OptionValue | None], *, derived: bool, unit: str) -> Axis:
    """unit: of a factor."""
    numeric = all(isinstance(level, (int, float)) for level in levels)
    if name.startswith(FACTOR):
        label = name.removeprefix(FACTOR) + (f", {unit}" if unit else "")
        return Axis(name=name, role="factor", unit="none", numeric=numeric, derived=derived, levels=levels, label=label)
    role: AxisRole = name if name in PSEUDO_AXES else "option"
    return Axis(name=name, role=role, unit=unit_of(name), numeric=numeric, derived=derived, levels=levels)


def unit_of(option: str) -> AxisUnit:
    """What the values of an option are counted in."""
    if option in SIZE_OPTIONS:
        return "bytes/s" if option == "rate" else "bytes"
    return "percent" if option in PERCENT_OPTIONS else "none"
