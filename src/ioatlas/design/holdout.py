# SPDX-License-Identifier: Apache-2.0
"""The error a map states of itself: from random cells that were predicted before they were measured, and from nothing
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ioatlas.model.map_model import StatedError
from ioatlas.stats.distributions import beta_below, t_quantile
from ioatlas.surrogate.space import Floats

COVER = 0.9
NORMAL_90 = 1.6448536269514722
CONFIDENCE = 0.95
LEAST_ERROR = 1e-6
ERROR_DOF = 1.5
"""Tail of the errors of a map, as the recorded sweeps show it: their P90 is three to six times their median."""
DRAWS = 4000
PRIOR_PICKS = 8.0
"""Weight, in picks, of the leave-one-out residuals of the training cells when the width of an interval is set."""


@dataclass(frozen=True)
class Pick:
    """One hold-out cell. log_predicted, sd, factor: what was said before it was measured (`factor` * sd: half-width of
    the 90% interval);
    log_measured: geometric mean of its visits; sd includes the noise of as many visits.
    """

    cell: int
    log_predicted: float
    sd: float
    factor: float
    log_measured: float
    log_again: float | None = None
    """What the present model says of the cell without its reading: the map has improved since."""
    scale: float = 1.0
    """Error of a reading of the kind that is asked for over that of this one, as far as noise makes them differ."""

    @property
    def error(self) -> float:
        """|predicted / measured - 1|: the geometric mean of what it was and what it is now.

        The one judges a younger map, the other a map whose form was chosen with the cell; the error of the cells
        nobody measured lies between.
        """
        said = (self.log_predicted, self.log_predicted if self.log_again is None else self.log_again)
        then, now = (max(abs(float(np.expm1(log - self.log_measured))), LEAST_ERROR) for log in said)
        return self.scale * float(np.sqrt(then * now))

    @property
    def standard(self) -> float:
        return abs(self.log_predicted - self.log_measured) / self.sd

    @property
    def covered(self) -> bool:
        return self.standard <= self.factor


def quantile(values: Floats, q: float) -> float:
    """Harrell-Davis estimate: a weighted mean of all order statistics, steadier than one of them when n is small
    (Biometrika 69(3), 1982).
    """
    return float(_quantile_weights(len(values), q) @ np.sort(values))


def _quantile_weights(n: int, q: float) -> Floats:
    return np.asarray(np.diff(beta_below((n + 1) * q, (n + 1) * (1 - q), np.arange(n + 1) / n)))


def _rank_bounds(n: int, q: float) -> tuple[int | None, int | None]:
    """Ranks (1 to n) between which the q-quantile lies with at least `CONFIDENCE`, a side at a time; None: beyond the
    sample.
    """
    tail = (1 - CONFIDENCE) / 2
    count = np.arange(n)
    below = np.append(beta_below(n - count, count + 1, 1 - q), 1.0)
    low = int(np.searchsorted(below, tail, side="right"))
    high = int(np.searchsorted(below, 1 - tail, side="left")) + 1
    return (low if low >= 1 else None), (high if high <= n else None)


def state(picks: Sequence[Pick]) -> StatedError:
    """What these picks say about the cells nobody measured.

    Intervals are order statistics, free of a distribution; where the sample ends before they do, as it does for the
    P90 below 36 picks, errors with
    a heavy tail are assumed, and so is the bias of a P90 from few picks.
    """
    n = len(picks)
    if n < 3:
        return StatedError(n, None, None, None, None, None, None, None)
    ordered = np.sort([pick.error for pick in picks])
    bounds: dict[float, tuple[float, float, float]] = {}
    for q in (0.5, 0.9):
        low, high = _rank_bounds(n, q)
        # On the logarithm, so that one far pick does not carry the P90 of a dozen.
        bias, least, most = _small_sample(n, q)
        raw = float(quantile(np.log(np.maximum(ordered, 1e-9)), q))
        first = float(ordered[low - 1]) if low else float(np.exp(raw - most))
        last = float(ordered[high - 1]) if high else max(float(np.exp(raw - least)), float(ordered[-1]))
        estimate = float(np.exp(raw - bias))
        bounds[q] = (estimate, min(first, estimate), max(last, estimate))
    cover = float(np.mean([pick.covered for pick in picks]))
    return StatedError(n, *bounds[0.5], *bounds[0.9], cover)


@lru_cache
def _small_sample(n: int, q: float) -> tuple[float, float, float]:
    """(bias, low, high) of the logarithm of the estimate of a q-quantile from n errors, 2.5 to 97.5% of it, less the
    true one.

    Errors taken as |Student-t| with `ERROR_DOF` degrees of freedom; drawn with a fixed seed, so that equal picks
    state equal errors.
    """
    drawn = np.random.default_rng(n).standard_t(ERROR_DOF, (DRAWS, n))
    weights = _quantile_weights(n, q)
    away = np.log(np.maximum(np.sort(np.abs(drawn), axis=1), 1e-9)) @ weights
    away -= np.log(t_quantile(0.5 + q / 2, ERROR_DOF))
    tail = (1 - CONFIDENCE) / 2
    return float(np.mean(away)), float(np.quantile(away, tail)), float(np.quantile(away, 1 - tail))


def width_factor(picks: Sequence[Pick], leave_one_out: Floats) -> float:
    """What to multiply a predicted sd by so that 90% of readings fall inside: conformal over earlier picks.

    leave_one_out: |standardised| residuals of the training cells; they stand in while there are few picks, with a total
    weight of `PRIOR_PICKS`, as does the normal law itself. Never below the normal law's 1.645: picks were judged by
    the wider sd of an earlier map, so they may widen the final intervals but not narrow them.
    """
    own = np.array([pick.standard for pick in picks])
    others = np.abs(leave_one_out)
    grid = np.abs(np.array([-2.326, -1.645, -1.282, -1.036, -0.842, -0.674, -0.524, -0.385, -0.253, -0.126]))
    values = np.concatenate([own, others, grid])
    weights = np.concatenate(
        [np.ones(len(own)), np.full(len(others), PRIOR_PICKS / max(len(others), 1)), np.full(len(grid), 0.3)]
    )
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    # One more pick counts as infinitely far, as in split conformal prediction (Vovk et al.), so small samples err on
    # the wide side.
    wanted = COVER * (reached[-1] + 1.0)
    at = int(np.searchsorted(reached, wanted))
    return float(np.clip(values[order][min(at, len(values) - 1)], NORMAL_90, 6.0))
