# SPDX-License-Identifier: Apache-2.0
"""Regimes of a map: a mode (`rw`) on one side of each cliff. Where the model fails in one, that is said."""

from __future__ import annotations

import numpy as np

from ioatlas.model.map_model import WeakRegime
from ioatlas.surrogate.space import Ints
from ioatlas.surrogate.surrogate import Surrogate

FAILED_ERROR = 0.3
"""Median error of a regime's readings, each foretold by the others, beyond which the model fails there; with a goal,
the lesser of it and `FAR` goals.
"""
FAR = 3.0
NOISE_TIMES = 2.0
"""What noise alone would make the median error is never called a failure, nor twice that."""
FAILED_LEAST = 4
MEDIAN_OF_NORMAL = 0.6744897501960817


def regime_of(model: Surrogate) -> Ints:
    """Mode (`rw`) and side of the cliffs as one number per cell, shape (n,)."""
    group = model.space.mode
    if model.kernel.separate is not None:
        group = group * (int(model.kernel.separate.max()) + 1) + model.kernel.separate
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def weak_regimes(model: Surrogate, goal: float | None = None) -> tuple[WeakRegime, ...]:
    """Regimes whose readings the others miss by far more than the goal and the noise, and that have cells left. goal:
    the median error asked for.
    """
    group, found = regime_of(model), []
    error = np.abs(np.expm1(-model.leave_one_out()[0]))
    limit = FAILED_ERROR if goal is None else min(FAILED_ERROR, FAR * goal)
    # Without a repeat nothing tells noise from what is a cell's own.
    unknown = 0.0 if model.training.noise.pairs else model.hyper.rough_var
    noise = np.sqrt(model.training.read_var + unknown)
    for number in np.unique(group).tolist():
        mine, cells = group[model.training.cells] == number, np.flatnonzero(group == number)
        count = int(mine.sum())
        if count < FAILED_LEAST or count == len(cells):
            continue
        missed = float(np.median(error[mine]))
        if missed > max(limit, NOISE_TIMES * MEDIAN_OF_NORMAL * float(np.median(noise[mine]))):
            found.append(WeakRegime(_name(model, cells), len(cells), count, 0, missed, failing=True))
    return tuple(found)


def _name(model: Surrogate, cells: Ints) -> str:
    rw = model.space.axis_named("rw")
    mode = "" if rw is None else f"rw={model.space.axes[rw].levels[model.space.index[cells[0], rw]]}"
    side = "" if model.kernel.separate is None else f"footprint {_range(model, cells)}"
    return ", ".join(filter(None, (mode, side))) or "all cells"


def _range(model: Surrogate, cells: Ints) -> str:
    size = model.space.size_bytes[cells] * model.space.numjobs[cells]
    return f"{size.min() / 2**20:.6g} to {size.max() / 2**20:.6g} MiB (size * numjobs)"
