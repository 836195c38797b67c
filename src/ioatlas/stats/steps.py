# SPDX-License-Identifier: Apache-2.0
"""Steps in a short series of levels, one level a campaign, with a stated chance of a false alarm.

The largest two-sample t over all places where the series could be cut (Worsley 1979), against its own distribution for
that many values. That distribution does not depend on the level or the noise, so it is simulated once for each length.
A step that is found cuts the series; both parts are searched again (binary segmentation, Scott and Knott 1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ioatlas.stats.intervals import t_quantile
from ioatlas.stats.warmup import Floats

METHOD = "max-t-steps/1"
FEWEST = 4
"""Levels below which no step is looked for: three have one degree of freedom left."""
_DRAWS = 20_000
_SEED = 1979


@dataclass(frozen=True)
class Step:
    """A change of level between value `at - 1` and value `at`.

    change, low, high: second level less first with its 95% interval, in the unit of the values. The place was chosen
    for its size, so the change errs outward when it is hardly significant. p: chance of as large a t somewhere in the
    series without any step.
    """

    at: int
    change: float
    low: float
    high: float
    p: float


def find_steps(values: Sequence[float], *, false_alarms: float = 0.01) -> tuple[Step, ...]:
    """Steps of `values` in their order, shape (n,); none below four.

    false_alarms: chance, 0..1, that a series without a step, with independent normal noise, gives one or more.
    """
    found = _search(np.asarray(values, dtype=float), 0, false_alarms)
    return tuple(sorted(found, key=lambda step: step.at))


def smallest_step(n: int, sd: float, *, false_alarms: float = 0.01, power: float = 0.8) -> float | None:
    """The step at the last value that a series of n values with noise `sd` shows with this chance, or None below 4."""
    if n < FEWEST:
        return None
    limit = float(np.quantile(_largest(n), 1 - false_alarms))
    dof = n - 2
    # The power of a t test with a fixed limit, by the normal approximation of the noncentral t.
    from scipy.special import ndtri

    shift = limit + ndtri(power) * sqrt(1 + limit**2 / (2 * dof))
    return float(shift * sd * sqrt(1 + 1 / (n - 1)))


def _search(values: Floats, offset: int, false_alarms: float) -> list[Step]:
    if values.size < FEWEST:
        return []
    statistics = _cuts(values[None, :])[0]
    at = int(np.argmax(statistics)) + 1
    p = float((1 + np.count_nonzero(_largest(values.size) >= statistics[at - 1])) / (_DRAWS + 1))
    if p > false_alarms:
        return []
    before, after = values[:at], values[at:]
    spread = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    dof = values.size - 2
    change = float(after.mean() - before.mean())
    half = t_quantile(0.975, dof) * sqrt(spread / dof * (1 / before.size + 1 / after.size))
    step = Step(offset + at, change, change - half, change + half, p)
    return [step, *_search(before, offset, false_alarms), *_search(after, offset + at, false_alarms)]


def _cuts(rows: Floats) -> Floats:
    """|t| of every cut of every row, shape (rows, n - 1); cut k leaves k + 1 values before it."""
    n = rows.shape[1]
    rounding = 1e-12 * np.abs(rows).max(axis=1, keepdims=True)
    rows = rows - rows.mean(axis=1, keepdims=True)
    counts = np.arange(1, n, dtype=float)
    sums = np.cumsum(rows, axis=1)
    total, squares = sums[:, -1:], (rows**2).sum(axis=1, keepdims=True)
    before, after = sums[:, :-1] / counts, (total - sums[:, :-1]) / (n - counts)
    within = np.maximum(squares - counts * before**2 - (n - counts) * after**2, 0.0)
    error = np.sqrt(within / (n - 2) * (1 / counts + 1 / (n - counts)))
    gap: NDArray[np.float64] = np.abs(after - before)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap > rounding, gap / error, 0.0)


@lru_cache(maxsize=256)
def _largest(n: int) -> Floats:
    """The largest |t| of series of n independent normal values, shape (draws,)."""
    draws = np.random.default_rng(_SEED + n)
    parts = [_cuts(draws.normal(size=(2000, n))).max(axis=1) for _ in range(_DRAWS // 2000)]
    largest: Floats = np.concatenate(parts)
    return largest
