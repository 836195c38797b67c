# SPDX-License-Identifier: Apache-2.0
"""What moves from one set-up of a target to the next, and the doubt that this adds to every figure.

Configurations that cannot exist side by side are set up several times. The level of a set-up is the mean over cells of
the mean logarithm of their visits. How far the levels of one target lie apart is pooled over all targets: few set-ups
of each still give a variance. It holds drift over hours as well as what setting up makes different.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, hypot, log, sqrt

import numpy as np

from ioatlas.analysis.estimates import window_values
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.visit import Purpose, Visit, set_up_of
from ioatlas.stats.distributions import t_quantile

METHOD = "set-ups/1"
FEWEST = 2
_FIELDS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "bw_bytes_per_s": (("bw_bytes_per_s", "bw_low", "bw_high"), ("iops", "iops_low", "iops_high")),
    "lat_mean_ns": (("lat_mean_ns", "lat_mean_low_ns", "lat_mean_high_ns"),),
    "lat_p99_ns": (("lat_p99_ns", "lat_p99_low_ns", "lat_p99_high_ns"),),
}

Values = Mapping[tuple[Hashable, int], Sequence[float]]
"""Of one target: what its visits gave, by cell and set-up; all above zero."""


@dataclass(frozen=True)
class Between:
    """variance: of the logarithm of the level of one set-up. dof: its degrees of freedom."""

    variance: float
    dof: int

    def half_width(self, set_ups: int, confidence: float = 0.95) -> float:
        """Of the mean of so many set-ups, a logarithm."""
        return t_quantile(0.5 + confidence / 2, self.dof) * sqrt(self.variance / max(1, set_ups))

    def variance_of_difference(self, first: int, second: int, level: float = 0.05) -> float:
        """Of two means of so many set-ups each; larger by what Student's t is wider than the normal distribution."""
        wider = t_quantile(1 - level / 2, self.dof) / t_quantile(1 - level / 2, float("inf"))
        return self.variance * (1 / first + 1 / second) * wider**2


def levels(values: Values) -> list[float]:
    """The level of each set-up over the cells that all of them have; none with fewer than two."""
    known: dict[Hashable, dict[int, float]] = {}
    for (cell, number), each in values.items():
        if each and min(each) > 0:
            known.setdefault(cell, {})[number] = float(np.mean(np.log(each)))
    numbers = sorted({number for mine in known.values() for number in mine})
    common = [mine for mine in known.values() if len(mine) == len(numbers)]
    if len(numbers) < FEWEST or not common:
        return []
    return [float(np.mean([mine[number] for mine in common])) for number in numbers]


def between(targets: Iterable[Values]) -> Between | None:
    """The variance between set-ups, pooled over targets; None where none was set up twice."""
    every = [found for values in targets if (found := levels(values))]
    dof = sum(len(mine) - 1 for mine in every)
    if not dof:
        return None
    squares = sum(float(np.var(mine)) * len(mine) for mine in every)
    return Between(squares / dof, dof)


def with_set_ups(
    estimates: Sequence[Estimate], cells: Mapping[str, Cell], visits: Sequence[Visit]
) -> tuple[Estimate, ...]:
    """The estimates with intervals that hold what moved between set-ups of their target."""
    doubts = {
        (quantity, direction): found
        for quantity in _FIELDS
        for direction in dict.fromkeys(e.direction for e in estimates)
        if (found := between(_by_target(cells, visits, quantity, direction).values())) is not None
    }
    counts: dict[str, set[int]] = {}
    for visit in visits:
        if not visit.discarded and visit.purpose in (Purpose.SWEEP, Purpose.FRESH):
            counts.setdefault(visit.cell_key, set()).add(set_up_of(visit.replicate))
    return tuple(_widened(e, doubts, len(counts.get(e.cell.key, ()))) for e in estimates)


def _by_target(
    cells: Mapping[str, Cell], visits: Sequence[Visit], quantity: str, direction: str
) -> dict[str, dict[tuple[Hashable, int], list[float]]]:
    found: dict[str, dict[tuple[Hashable, int], list[float]]] = {}
    for visit in visits:
        if visit.discarded or visit.purpose is not Purpose.SWEEP or visit.cell_key not in cells:
            continue
        mine = found.setdefault(cells[visit.cell_key].target, {})
        for part in visit.parts:
            value = getattr(window_values(part, visit.window_start_ms), quantity)
            if part.direction == direction and value:
                mine.setdefault((visit.cell_key, set_up_of(visit.replicate)), []).append(float(value))
    return found


def _widened(e: Estimate, doubts: Mapping[tuple[str, str], Between], set_ups: int) -> Estimate:
    wider: dict[str, float | str] = {}
    for quantity, fields in _FIELDS.items():
        doubt = doubts.get((quantity, e.direction))
        for field, low, high in fields if doubt is not None else ():
            value, least, most = getattr(e, field), getattr(e, low), getattr(e, high)
            if doubt is not None and value and least and most and 0 < least <= value <= most:
                more = doubt.half_width(set_ups)
                wider[low] = value * exp(-hypot(log(value / least), more))
                wider[high] = value * exp(hypot(log(most / value), more))
    if not wider:
        return e
    return replace(e, **wider, method=f"{e.method} + {METHOD}")  # type: ignore[arg-type]
