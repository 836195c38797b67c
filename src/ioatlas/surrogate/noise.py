# SPDX-License-Identifier: Apache-2.0
"""What repeated readings of the same cells say about the noise of one reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ioatlas.surrogate.space import Floats

PRIOR_SD = 0.06
"""Log sd assumed before there are repeats: between a limited lab target (0.01) and a shared virtual disk (0.14)."""
PRIOR_PAIRS = 1.5
LEAST_VAR = 1e-6
STUDENT_DOF = 4.0
"""Readings are taken as Student-t with this many degrees of freedom: stalls are rare and far out."""


@dataclass(frozen=True)
class Noise:
    """sd: log standard deviation of one reading, without its tail. pairs: independent differences it rests on."""

    sd: float
    pairs: int

    @property
    def var(self) -> float:
        return self.sd**2


def measure_noise(visits: Sequence[Sequence[float]]) -> Noise:
    """Robust log sd of one reading from cells visited more than once: log readings, cell by cell.

    Scale of a Student-t with 4 degrees of freedom, by iterated weights, with `PRIOR_PAIRS` pseudo-observations of
    `PRIOR_SD`, as far as that is not far above the others.
    """
    squares = _squares(visits)
    var = PRIOR_SD**2 if not len(squares) else max(float(np.median(squares)) / 0.55, 1e-8)
    for _ in range(30):
        total = float(np.sum((STUDENT_DOF + 1) / (STUDENT_DOF + squares / var) * squares))
        var = (total + PRIOR_PAIRS * min(PRIOR_SD**2, 4 * var)) / (len(squares) + PRIOR_PAIRS)
    return Noise(float(np.sqrt(max(var, LEAST_VAR))), len(squares))


def _squares(visits: Sequence[Sequence[float]]) -> Floats:
    """Squared differences of each reading from the mean of those before it, of the variance of one reading."""
    gaps = [
        float(cell[i + 1] - np.mean(cell[: i + 1])) / np.sqrt(1 + 1 / (i + 1))
        for cell in visits
        for i in range(len(cell) - 1)
    ]
    return np.array(gaps, dtype=float) ** 2
