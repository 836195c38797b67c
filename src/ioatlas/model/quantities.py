# SPDX-License-Identifier: Apache-2.0
"""What can be shown and compared of a cell, with its interval, its words and a unit that fits the values at hand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ioatlas.model.errors import UsageError
from ioatlas.model.estimate import Estimate
from ioatlas.model.panel import Panel
from ioatlas.model.units import rate_units

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Unit:
    name: str
    factor: float
    """Value in base units that is 1 in this unit."""


@dataclass(frozen=True)
class Quantity:
    """`field` of an estimate (base units), its bounds, and what kind of units it has: of `units_of`. words: for people,
    in a sentence.
    """

    name: str
    words: str
    field: str
    low: str
    high: str
    kind: str
    sd: str
    per_job: bool = False
    bars_of_sd: bool = False
    """Whether its bounds are one standard deviation of repeats from the value, not its interval."""

    @property
    def label(self) -> str:
        return self.words[0].upper() + self.words[1:]

    def value(self, estimate: Estimate) -> float | None:
        return self._divided(estimate, self.field)

    def shown(self, estimate: Estimate | None) -> float | None:
        """The value where there is a finite one."""
        value = self.value(estimate) if estimate is not None else None
        return value if value is not None and math.isfinite(value) else None

    def bounds(self, estimate: Estimate) -> Bounds:
        if self.bars_of_sd:
            value, sd = self.value(estimate), self._divided(estimate, self.sd)
            return (None, None) if value is None or sd is None else (value - sd, value + sd)
        return self._divided(estimate, self.low), self._divided(estimate, self.high)

    def _divided(self, estimate: Estimate, field: str) -> float | None:
        value: float | None = getattr(estimate, field)
        return value / estimate.cell.numjobs if value is not None and self.per_job else value

    def unit(self, values: Iterable[float]) -> Unit:
        return unit_for(units_of(self.kind), values)


def unit_for(units: Sequence[Unit], values: Iterable[float]) -> Unit:
    """The largest unit in which the largest value is at least 10."""
    top = max(values, default=0.0)
    return next((unit for unit in reversed(units) if top / unit.factor >= 10), units[0])


def panel_unit(kind: str, panels: Iterable[Panel]) -> Unit:
    """Of the values of panels with one scale; of rates and times not the smallest one."""
    values = [dot.value for each in panels for series in each.series for dot in series.dots]
    return unit_for(units_of(kind)[kind in ("B/s", "ns") :], values)


TIME = (Unit("ns", 1), Unit("µs", 1e3), Unit("ms", 1e6), Unit("s", 1e9))
COUNT = (Unit("IOPS", 1), Unit("kIOPS", 1e3), Unit("MIOPS", 1e6))


def units_of(kind: str) -> tuple[Unit, ...]:
    """Units from the smallest up, of rates as they were chosen; another unit stays as it is."""
    if kind == "B/s":
        return tuple(Unit(name, factor) for name, factor in rate_units())
    return {"1/s": COUNT, "ns": TIME}.get(kind, (Unit(kind, 1.0),))


def _latency(name: str, words: str) -> Quantity:
    return Quantity(name, words, f"{name}_ns", f"{name}_low_ns", f"{name}_high_ns", "ns", f"{name}_sd_ns")


QUANTITIES = {
    q.name: q
    for q in (
        Quantity("bw", "throughput", "bw_bytes_per_s", "bw_low", "bw_high", "B/s", "bw_sd"),
        Quantity("iops", "I/Os per second", "iops", "iops_low", "iops_high", "1/s", "iops_sd"),
        _latency("lat_mean", "mean latency"),
        _latency("lat_p99", "99th percentile of latency"),
        Quantity(
            "bw_per_job", "throughput of each job", "bw_bytes_per_s", "bw_low", "bw_high", "B/s", "bw_sd", per_job=True
        ),
    )
}


COMPARED = {name: q.words for name, q in QUANTITIES.items() if not q.per_job}
"""What sides can be compared by, in words."""
LOWER_IS_BETTER = frozenset({"lat_mean", "lat_p99"})


def quantity(name: str) -> Quantity:
    """By its short name or by the column's: 'bw' or 'bw_bytes_per_s'. Raises UsageError."""
    for q in QUANTITIES.values():
        if name == q.name or (name == q.field and not q.per_job):
            return q
    raise UsageError(f"{name!r} is no quantity", where="--quantity", remedy=f"choose one of {', '.join(QUANTITIES)}")
