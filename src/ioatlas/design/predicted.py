# SPDX-License-Identifier: Apache-2.0
"""The map a design ends with: throughput and latency of every cell with 90% intervals, and where the model is not to
be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ioatlas.design.adaptive import AdaptiveDesign, Reading, values_by_cell
from ioatlas.surrogate.gp import one_thread
from ioatlas.surrogate.space import Floats, Ints
from ioatlas.surrogate.surrogate import Surrogate, Training, fit

METHOD = "adaptive-law-gp/2"


@dataclass(frozen=True)
class PredictedMap:
    """Arrays over all cells of the space, shape (n,); natural logarithms. `measured`: cells with a reading of their
    own; what stands here for them is the model's smoothing, not their estimate.

    log_half_width: half-width of the 90% interval of a cell's true value.
    log_lat_mean:   seconds; None without latency readings. Follows from throughput by Little's law, outstanding =
    iops * latency, times the
                    median departure from it among the readings; same half-width. log_lat_p99 adds the p99-to-mean
                    ratio, modelled apart.
    """

    measured: Ints
    log_iops: Floats
    log_half_width: Floats
    log_lat_mean: Floats | None
    log_lat_p99: Floats | None
    log_lat_p99_half_width: Floats | None


@one_thread
def predicted_map(
    design: AdaptiveDesign, history: Sequence[Reading], model: Surrogate, readings: float = np.inf
) -> PredictedMap:
    """The whole map from a finished history. readings: intervals hold the geometric mean of so many readings; the
    true value when infinite.
    """
    rows = np.arange(len(design.space))
    said = model.predict(rows)
    half = design.factor(history, model) * np.sqrt(said.variance(readings))
    log_lat, log_p99, p99_half = None, None, None
    held = [
        (r.request.cell, r.log_value + np.log(r.lat_mean_ns / 1e9))
        for r in history
        if r.log_value is not None and r.lat_mean_ns
    ]
    if held:
        log_n = np.log(design.space.outstanding)
        departure = float(np.median([value - log_n[cell] for cell, value in held]))
        log_lat = log_n + departure - said.mean
    ratios: dict[int, list[float]] = {}
    for r in history:
        if r.lat_mean_ns and r.lat_p99_ns:
            ratios.setdefault(r.request.cell, []).append(float(np.log(r.lat_p99_ns / r.lat_mean_ns)))
    if log_lat is not None and len(ratios) >= 6:
        tail = fit(design.space, Training.of(ratios), use_law=False)
        ratio = tail.predict(rows)
        gap, variance = tail.leave_one_out()
        log_p99 = log_lat + ratio.mean
        widen = max(1.645, float(np.quantile(np.abs(gap) / np.sqrt(variance), 0.9)))
        p99_half = np.sqrt(half**2 + widen**2 * ratio.variance(readings))
    measured = np.array(sorted(values_by_cell(history)), dtype=np.int64)
    return PredictedMap(measured, said.mean, half, log_lat, log_p99, p99_half)
