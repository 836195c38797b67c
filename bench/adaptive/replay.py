# SPDX-License-Identifier: Apache-2.0
"""The adaptive design run against a recorded dense sweep instead of a device, and judged on the cells it did not
measure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from recording import Recording

from ioatlas.design.adaptive import AdaptiveDesign, Reading, Request, Settings
from ioatlas.design.regimes import weak_regimes
from ioatlas.model.map_model import ChangePoint, StatedError, WeakRegime
from ioatlas.surrogate.gp import one_thread
from ioatlas.surrogate.space import Floats, Space
from ioatlas.surrogate.surrogate import Surrogate


@dataclass(frozen=True)
class Sweep:
    """A recording as numbers. log_value: (cells, passes), logarithm of `quantity` with the block size divided out of
    bandwidth; nan where nothing was read.
    """

    space: Space
    log_value: Floats
    quantity: str

    @property
    def passes(self) -> int:
        return int(self.log_value.shape[1])

    def noise(self) -> tuple[float | None, float | None]:
        """Median and P90 over cells and pairs of passes of |earlier / later - 1|; (None, None) with one pass."""
        gaps = [
            np.abs(np.expm1(self.log_value[:, a] - self.log_value[:, b]))
            for a, b in combinations(range(self.passes), 2)
        ]
        found = np.concatenate(gaps) if gaps else np.array([])
        found = found[np.isfinite(found)]
        return (float(np.median(found)), float(np.quantile(found, 0.9))) if len(found) else (None, None)


@dataclass(frozen=True)
class Outcome:
    """What a replay found. Errors are |predicted / truth - 1| over unmeasured cells; None when there are none."""

    cells_total: int
    history: tuple[Reading, ...]
    median_error: float | None
    p90_error: float | None
    interval_cover: float | None
    interval_half_width: float | None
    stated: StatedError
    edges: tuple[ChangePoint, ...]
    model: Surrogate
    unmeasured: tuple[int, ...]
    log_predicted: Floats
    log_half_width: Floats
    weak_regimes: tuple[WeakRegime, ...]
    """Median error of the predicted latencies on the unmeasured cells, by quantity."""

    @property
    def cells_measured(self) -> int:
        return len({reading.request.cell for reading in self.history})


def sweep_of(recording: Recording) -> Sweep:
    """The quantity that most cells have, throughput before latency. Bandwidth and IOPS stand in for each other where
    the block size is known.
    """
    space = Space.of(recording.points)
    log_bs = np.log(space.block_bytes)
    counts = {
        name: sum(1 for cell in recording.readings if any(name in r for r in cell))
        for name in ("bw_bytes_per_s", "iops", "lat_mean_ns", "lat_p99_ns")
    }
    throughput = any(counts[name] for name in ("bw_bytes_per_s", "iops"))
    quantity = "bw_bytes_per_s" if counts["bw_bytes_per_s"] else "iops"
    if not throughput:
        quantity = max(("lat_mean_ns", "lat_p99_ns"), key=lambda name: counts[name])
    kept: list[int] = []
    table: list[list[float]] = []
    for cell, passes in enumerate(recording.readings):
        row = [
            _log_value(reading, quantity, float(log_bs[cell]), "block" in space.known, float(space.outstanding[cell]))
            for reading in passes
        ]
        good = [value for value in row if value is not None]
        if good:
            kept.append(cell)
            table.append(good + [np.nan] * (recording.passes - len(good)))
    if len(kept) < 3:
        raise ValueError(f"only {len(kept)} cells have a reading of {quantity}")
    if len(kept) < len(space):
        space = Space.of([recording.points[cell] for cell in kept])
    return Sweep(space, np.array(table), quantity)


def _log_value(
    reading: Mapping[str, float], quantity: str, log_bs: float, block_known: bool, outstanding: float
) -> float | None:
    if quantity.startswith("lat"):
        return float(np.log(outstanding) - np.log(reading[quantity] / 1e9)) if quantity in reading else None
    if quantity == "bw_bytes_per_s" and quantity in reading:
        return float(np.log(reading[quantity])) - log_bs
    if "iops" in reading and (quantity == "iops" or block_known):
        return float(np.log(reading["iops"]))
    return None


def read_pass(sweep: Sweep, history: Sequence[Reading], batch: Sequence[Request]) -> list[Reading]:
    """The k-th visit of a cell reads pass k; a visit beyond the last pass reads nothing."""
    visits: dict[int, int] = {}
    for reading in history:
        visits[reading.request.cell] = visits.get(reading.request.cell, 0) + 1
    made = []
    for request in batch:
        number = visits.get(request.cell, 0)
        visits[request.cell] = number + 1
        value = float(sweep.log_value[request.cell, number]) if number < sweep.passes else np.nan
        made.append(Reading(request, value if np.isfinite(value) else None))
    return made


@one_thread
def replay(sweep: Sweep, settings: Settings) -> Outcome:
    """Runs the design to its end and judges it. Truth of a cell is the geometric mean of its passes that were not
    read.
    """
    design = AdaptiveDesign(sweep.space, settings)
    history: list[Reading] = []
    while batch := design.next_batch(history):
        history += read_pass(sweep, history, batch)
    model = design.final_model(history)
    stated = design.stated_error(history, model, sweep.passes)
    unmeasured = np.array(
        [cell for cell in range(len(sweep.space)) if cell not in {r.request.cell for r in history}], dtype=np.int64
    )
    counts = np.maximum(np.sum(np.isfinite(sweep.log_value[unmeasured]), axis=1), 1)
    said = model.predict(unmeasured)
    half = design.factor(history, model) * np.sqrt(said.smooth_var + said.rough_var + said.noise_var / counts)
    judged: dict[str, float | None] = dict.fromkeys(
        ("median_error", "p90_error", "interval_cover", "interval_half_width")
    )
    if len(unmeasured):
        truth = np.nanmean(sweep.log_value[unmeasured], axis=1)
        error = np.abs(np.expm1(said.mean - truth))
        judged = {
            "median_error": float(np.median(error)),
            "p90_error": float(np.quantile(error, 0.9)),
            "interval_cover": float(np.mean(np.abs(said.mean - truth) <= half)),
            "interval_half_width": float(np.median(np.expm1(half))),
        }
    return Outcome(
        cells_total=len(sweep.space),
        history=tuple(history),
        stated=stated,
        edges=model.change_points,
        model=model,
        unmeasured=tuple(int(c) for c in unmeasured),
        log_predicted=said.mean,
        log_half_width=half,
        weak_regimes=weak_regimes(model, settings.error),
        **judged,
    )
