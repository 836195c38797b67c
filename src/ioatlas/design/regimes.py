# SPDX-License-Identifier: Apache-2.0
"""Regimes of a map: a mode (`rw`) on one side of each cliff. Where the model fails in one, it is measured densely and
named.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ioatlas.model.map_model import WeakRegime
from ioatlas.surrogate.space import Floats, Ints
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


def weak_regimes(model: Surrogate, dense: Collection[int] = (), goal: float | None = None) -> tuple[WeakRegime, ...]:
    """Regimes that fail, or that hold cells of `dense`: those asked for because their regime failed. goal: the median
    error asked for.
    """
    group, found = regime_of(model), []
    failing = failing_regimes(model, goal)
    error = _errors(model)
    asked = np.array(sorted(dense), dtype=np.int64)
    for number in np.unique(group).tolist():
        mine = group[model.training.cells] == number
        count = int(np.sum(group[asked] == number))
        if number in failing or (count and mine.any()):
            cells = np.flatnonzero(group == number)
            found.append(
                WeakRegime(
                    _name(model, cells),
                    len(cells),
                    int(mine.sum()),
                    count,
                    float(np.median(error[mine])),
                    number in failing,
                )
            )
    return tuple(found)


def failing_regimes(model: Surrogate, goal: float | None = None) -> tuple[int, ...]:
    """Numbers of the regimes (of `regime_of`) whose readings the others miss by far more than the goal and the noise,
    and that have cells left.
    """
    group, error = regime_of(model), _errors(model)
    limit = FAILED_ERROR if goal is None else min(FAILED_ERROR, FAR * goal)
    # Without a repeat nothing tells noise from what is a cell's own.
    unknown = 0.0 if model.training.noise.pairs else model.hyper.rough_var
    noise = np.sqrt(model.training.read_var + unknown)
    found = []
    for number in np.unique(group).tolist():
        mine = group[model.training.cells] == number
        if mine.sum() < FAILED_LEAST or mine.sum() == np.sum(group == number):
            continue
        by_noise = NOISE_TIMES * MEDIAN_OF_NORMAL * float(np.median(noise[mine]))
        if float(np.median(error[mine])) > max(limit, by_noise):
            found.append(number)
    return tuple(found)


def _errors(model: Surrogate) -> Floats:
    gap, _ = model.leave_one_out()
    return np.asarray(np.abs(np.expm1(-gap)))


def _name(model: Surrogate, cells: Ints) -> str:
    rw = model.space.axis_named("rw")
    mode = "" if rw is None else f"rw={model.space.axes[rw].levels[model.space.index[cells[0], rw]]}"
    side = "" if model.kernel.separate is None else f"footprint {_range(model, cells)}"
    return ", ".join(filter(None, (mode, side))) or "all cells"


def _range(model: Surrogate, cells: Ints) -> str:
    size = model.space.size_bytes[cells] * model.space.numjobs[cells]
    return f"{size.min() / 2**20:.6g} to {size.max() / 2**20:.6g} MiB (size * numjobs)"
