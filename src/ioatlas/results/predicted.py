# SPDX-License-Identifier: Apache-2.0
"""What the map's model says of cells that were not measured, as estimates and as findings. Never as measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.map_model import ChangePoint, Maps, WeakRegime
from ioatlas.model.result import BlindCheck
from ioatlas.model.units import format_count, format_size_rounded
from ioatlas.model.verdict import VerdictCode
from ioatlas.store.journal import Prediction

WEAK_TOLD = 5


def predicted_estimates(cells: Mapping[str, Cell], rows: Iterable[Prediction]) -> Iterator[Estimate]:
    """Predictions by direction; a mix is divided as the load divides it (a direction that a mix leaves out has none),
    latency follows from Little's law in a closed loop.
    """
    for row in rows:
        cell = cells[row.cell_key]
        for direction in cell.directions:
            share = _share(cell, direction)
            if share == 0:
                continue
            iops, low, high = (value * share for value in (row.iops, row.iops_low, row.iops_high))
            closed = cell.loop == "closed"
            # Little's law; the fastest prediction is the one of lowest latency.
            mean, least, most = (
                cell.outstanding * share / value * 1e9 if closed else None for value in (iops, high, low)
            )
            yield Estimate(
                cell,
                direction,
                "predicted",
                0,
                iops * cell.bs_bytes,
                low * cell.bs_bytes,
                high * cell.bs_bytes,
                iops,
                low,
                high,
                mean,
                least,
                most,
                row.lat_p99_ns,
                row.lat_p99_low_ns,
                row.lat_p99_high_ns,
                verdict=VerdictCode.PREDICTED,
                method=row.method,
            )


def _share(cell: Cell, direction: str) -> float:
    if len(cell.directions) == 1:
        return 1.0
    reads = cell.integer("rwmixread", 50) / 100
    return reads if direction == "read" else 1 - reads


def map_findings(maps: Maps) -> Iterator[Finding]:
    """How good the map is, and where its cliffs are."""
    for target, outcome in maps.targets.items():
        stated = outcome.stated_error
        sentence = f"{target}: {outcome.measured:,} of {outcome.cells:,} cells were measured, the others are estimated."
        if stated.median is None or stated.p90 is None or stated.cover is None:
            sentence += " Too few blind checks to say how far off the estimates are."
        else:
            sentence += (
                f" Blind check on {stated.n} cells: typically {stated.median:.0%} off"
                f"{_range(stated.median_low, stated.median_high)}, 9 of 10 within {stated.p90:.0%}."
                f" {stated.cover:.0%} of the 90% intervals held."
            )
        yield Finding(FindingCode.MAP_ERROR, sentence, target=target)
        for edge in outcome.change_points:
            yield Finding(FindingCode.CLIFF, _cliff(target, edge), target=target, direction=edge.direction)
        yield from [
            Finding(FindingCode.WEAK_REGIME, f"{target}: {_weak(regime)}", target=target)
            for regime in outcome.weak_regimes[:WEAK_TOLD]
        ]


def blind_checks(maps: Maps) -> tuple[BlindCheck, ...]:
    """What the hold-out sample of each target says."""
    return tuple(
        BlindCheck(name, said.n, said.median, said.median_low, said.median_high)
        for name, said in ((name, outcome.stated_error) for name, outcome in maps.targets.items())
    )


def _weak(regime: WeakRegime) -> str:
    """Where the model failed, what was done about it, and what is left. Old journals know only where."""
    where = f"estimates of {regime.name} were {regime.median_error:.0%} off"
    if regime.measured is None:
        return f"{where}: measure these cells rather than believe them."
    known = f"{regime.measured:,} of its {regime.cells:,} cells are measured"
    done = f"{regime.dense:,} more cells were measured there"
    if regime.failing:
        return f"{where}; {f'{done}, ' if regime.dense else ''}{known}. Measure the others rather than believe them."
    if regime.measured == regime.cells:
        return f"{where}; {done}, so that none is estimated."
    return f"{where}; {done}, and they now pass: {known}."


def _range(low: float | None, high: float | None) -> str:
    return f" (could be {low * 100:.0f}–{high:.0%})" if low is not None and high is not None else ""


def _cliff(target: str, edge: ChangePoint) -> str:
    along = edge.axis or ("size x numjobs" if edge.exponent else "size")
    low, high = (format_count(value) if edge.axis else format_size_rounded(value) for value in (edge.low, edge.high))
    which = f" {edge.direction}" if edge.direction else ""
    change = f"{edge.drop:.1f} times faster" if edge.drop >= 1 else f"{1 / edge.drop:.1f} times slower"
    return f"{target}:{which} throughput changes between {along} {low} and {high}: {change} below it."
