# SPDX-License-Identifier: Apache-2.0
"""Drift over a campaign: effects of replicates, and the test that voids a replicate; and how well the level of a whole
campaign is known when the target drifts slowly while it is measured.

A replicate is the passes over the cells that a two-way fit calls blocks.

Everything works on natural logarithms: an effect of -0.10 is a level 10% lower, whatever the cell.

A target that moves inside replicates as much as between them wanders: readings stay on one side of their cells' levels
for several visits in a row.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import comb, exp, expm1, log1p, sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ioatlas.model.errors import UsageError
from ioatlas.model.units import grouped
from ioatlas.stats.distributions import NEWTON_STEPS, beta_below, t_beyond, t_tail
from ioatlas.stats.warmup import Floats, change_points, noise_around, without_step

Codes = NDArray[np.intp]
T = TypeVar("T", bound=Hashable)

FIT_METHOD = "two-way-huber/2"

RELEVANT_SHIFT = 0.15
"""A replicate is voided for nothing less than such a change of level: smaller ones are in the spread between visits."""
LOST_SHARE = 0.05
"""Share of a replicate's cells that may be left without a visit that counts."""
LOST_CHANCE = 0.001
FEWEST_EACH_SIDE, SHARE_EACH_SIDE = 5, 0.2
_HUBER = 1.5
_ROUNDING = 1e-9
"""Residuals that are smaller are equal readings."""


@dataclass(frozen=True)
class ReplicateFit:
    """Additive model ln(value) = cell + replicate, fitted so that single wild visits count less.

    effects: by replicate, logarithms relative to the mean over visits. apart: standard errors of their differences,
    shape (replicates, replicates), in the order of `effects`. errors: of one, such that those of two replicates, added
    as squares, are about that of their difference.
    residuals: shape (n,), in the order of the input.
    """

    effects: dict[int, float]
    residuals: Floats
    apart: Floats

    @property
    def errors(self) -> dict[int, float]:
        others = max(len(self.effects) - 1, 1)
        return dict(zip(self.effects, np.sqrt((self.apart**2).sum(axis=1) / (2 * others)).tolist(), strict=True))


def fit_replicates(cells: Sequence[Hashable], replicates: Sequence[int], values: Sequence[float]) -> ReplicateFit:
    """Fit cell levels and replicate effects to visits; all three have the same length, values are positive, NaN is
    refused.

    Huber's M-estimate (k = 1.5) by iteratively reweighted least squares (Huber and Ronchetti 2009, section 7.8), each
    step solved exactly. A cell visited once tells nothing of replicates. Replicates that share no cell with the others
    cannot be compared with them and raise UsageError.
    """
    if not len(cells) == len(replicates) == len(values) or not len(values):
        raise UsageError(
            "cells, replicates and values of a replicate fit differ in length or are empty",
            remedy="pass one of each for every visit",
        )
    array = np.asarray(values, dtype=float)
    if not np.all(np.isfinite(array) & (array > 0)):
        raise UsageError("a replicate fit takes positive values", remedy="leave out visits that measured nothing")
    logs = np.log(array)
    cell_names, cell = _codes(cells)
    replicate_names, replicate = _codes(replicates)
    _need_connected(cell, replicate, len(replicate_names))
    weights = np.ones(logs.size)
    effect: Floats = np.zeros(len(replicate_names))
    dof = max(1, logs.size - len(cell_names) - len(replicate_names) + 1)
    # Residuals of k visits of one cell are smaller than the noise by sqrt((k - 1) / k) and more; the median is raised
    # for it.
    shrink = sqrt(dof / logs.size)
    for _ in range(200):
        before = effect
        effect, normal = _effects(cell, replicate, weights, logs)
        effect = effect - float(np.average(effect[replicate]))
        level = _means(cell, weights, logs - effect[replicate])
        residuals: Floats = logs - level[cell] - effect[replicate]
        scale = 1.4826 * float(np.median(np.abs(residuals))) / shrink
        if scale > _ROUNDING:
            weights = np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(residuals), 1e-12))
        if np.max(np.abs(effect - before)) < 1e-7:
            break
    sd = sqrt(float(np.sum(weights * residuals**2)) / dof)
    inverse = np.linalg.inv(normal)
    own = np.diag(inverse)
    apart = sd * np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * inverse, 0.0))
    return ReplicateFit({name: float(effect[index]) for index, name in enumerate(replicate_names)}, residuals, apart)


def _effects(cell: Codes, replicate: Codes, weights: Floats, logs: Floats) -> tuple[Floats, Floats]:
    """(effects, normal matrix): weighted least squares with the cells' levels eliminated. By turns it would take the
    more steps the fewer cells replicates share.
    """
    replicates, cells = int(replicate.max()) + 1, int(cell.max()) + 1
    weight = np.bincount(cell * replicates + replicate, weights, cells * replicates).reshape(cells, replicates)
    off = logs - _means(cell, weights, logs)[cell]
    shared = weight.T @ (weight / weight.sum(axis=1, keepdims=True))
    # What each shares with the others is added up: a difference from its weight would lose digits where it is little.
    np.fill_diagonal(shared, 0.0)
    own = shared.sum(axis=1)
    # Effects are told but for a constant; the last term makes their sum 0.
    normal = np.diag(own) - shared + (own.mean() or 1.0) / replicates
    return np.linalg.solve(normal, np.bincount(replicate, weights * off, replicates)), normal


def _codes(names: Sequence[T]) -> tuple[list[T], Codes]:
    order = list(dict.fromkeys(names))
    index = {name: i for i, name in enumerate(order)}
    return order, np.array([index[name] for name in names], dtype=np.intp)


def _means(group: Codes, weights: Floats, values: Floats) -> Floats:
    means: Floats = np.bincount(group, weights * values) / np.bincount(group, weights)
    return means


def _need_connected(cell: Codes, replicate: Codes, replicates: int) -> None:
    label = np.arange(replicates)
    lowest = np.empty(int(cell.max()) + 1, dtype=np.intp)
    while True:
        # Of each cell the lowest label of its replicates, and of each replicate that of its cells, until none changes.
        lowest.fill(replicates)
        np.minimum.at(lowest, cell, label[replicate])
        before = label.copy()
        np.minimum.at(label, replicate, lowest[cell])
        if np.array_equal(label, before):
            break
    if len(set(label.tolist())) > 1:
        raise UsageError("replicates without a common cell cannot be compared", remedy="give all of them a common cell")


def replicate_shift(fit: ReplicateFit, replicate: int) -> str:
    """Why the replicate's level is out of line with the other replicates, or ''. Needs three replicates: of two
    nobody knows which
    one moved.

    Both are asked for: a difference from the median of the other replicates above RELEVANT_SHIFT, and above four times
    its standard error, to which the usual spread of the replicates (1.4826 x median absolute deviation) belongs.
    """
    others = [effect for name, effect in fit.effects.items() if name != replicate]
    if len(others) < 2 or replicate not in fit.effects:
        return ""
    centre = float(np.median(others))
    usual = 1.4826 * float(np.median(np.abs(np.array(others) - centre))) if len(others) >= 3 else 0.0
    difference = fit.effects[replicate] - centre
    if abs(expm1(difference)) < RELEVANT_SHIFT or abs(difference) < 4 * sqrt(fit.errors[replicate] ** 2 + usual**2):
        return ""
    return f"level {expm1(difference):+.0%} against the other replicates"


def shift_within(residuals: Sequence[float] | Floats) -> tuple[int, str] | None:
    """(index, reason) of a change of level inside a replicate, from its visits' log residuals in the order of time;
    None
    when there is none.

    A fifth of the visits, and five of them, must lie on either side: a few odd visits at one end are not another level
    of the target.
    """
    series = np.asarray(residuals, dtype=float)
    n = series.size
    if n < 12:
        return None
    changes = change_points(series, noise_around(without_step(series, 3), 2), strength=4 * (1 + 15 / n))
    if not changes:
        return None
    least = max(FEWEST_EACH_SIDE, SHARE_EACH_SIDE * n)
    first = max(changes, key=lambda change: min(change, n - change))
    if min(first, n - first) < least:
        return None
    step = float(series[first:].mean() - series[:first].mean())
    if abs(exp(step) - 1) < RELEVANT_SHIFT:
        return None
    return first, f"level {expm1(step):+.0%} from visit {first + 1} of the replicate on"


def lost_cells(lost: int, cells: int, lost_elsewhere: int, cells_elsewhere: int) -> str:
    """Why a replicate is to be voided for cells that were left without a visit that counts, after all were tried
    again; ''
    when it stands.

    More than 5% must be lost, more than chance makes of 5% (binomial, p < 0.001), and more than in the other replicates
    (Fisher's exact test, p < 0.001): what is lost in every replicate is lost by the target or the sweep, and no
    repetition
    of a replicate brings it back.
    """
    if not cells or lost < 2 or lost <= LOST_SHARE * cells:
        return ""
    if beta_below(lost, cells - lost + 1, LOST_SHARE) >= LOST_CHANCE:
        return ""
    if cells_elsewhere and _drawn(lost, cells + cells_elsewhere, lost + lost_elsewhere, cells) >= LOST_CHANCE:
        return ""
    return f"{lost} of {cells} cells lost, limit {LOST_SHARE:.0%}"


def _drawn(least: int, total: int, marked: int, drawn: int) -> float:
    """Chance of at least so many marked ones among those drawn from a total (hypergeometric)."""
    most = min(marked, drawn)
    ways = sum(comb(marked, count) * comb(total - marked, drawn - count) for count in range(least, most + 1))
    return ways / comb(total, drawn)


FEWEST = 32
"""Readings of cells that were read more than once."""
LAGS = range(2, 7)
"""Distances, in visits, at which residuals are held against each other. What two neighbours share may be noise of the
moment.
"""
PERSISTENT = 0.5
"""Share of the residuals' variance that must still be common at these distances: of noise in which neighbours agree by
0.6 it is 0.17.
"""
LESS_PERSISTENT, STRONG = 0.3, 0.25
"""The same of a common part whose standard deviation is a quarter and more, which no noise of the moment has."""
RELEVANT = log1p(RELEVANT_SHIFT) / 2
"""Standard deviation of that common part, logarithms: one deviation up and one down are a relevant shift."""
_WIDTH = 5
_WILD = 3.0


def wander(cells: Sequence[Hashable], values: Sequence[float]) -> tuple[int, int, float] | None:
    """Between which readings, in the order of time, the level went how far, as a logarithm: the extremes of its running
    median. None where it did not wander, or nobody can tell.

    cells, values: shape (n,); values positive. A cell read once tells nothing. Places are those of the input.
    """
    logs = np.log(np.asarray(values, dtype=float))
    places = grouped((cell, place) for place, cell in enumerate(cells))
    residual = logs.copy()
    for mine in places.values():
        residual[mine] -= logs[mine].mean()
    kept = np.flatnonzero([len(places[cell]) > 1 for cell in cells])
    if kept.size < FEWEST:
        return None
    series = residual[kept] - float(np.median(residual[kept]))
    spread = 1.4826 * float(np.median(np.abs(series)))
    tame = np.clip(series, -_WILD * spread, _WILD * spread)
    common = float(np.mean([np.mean(tame[:-lag] * tame[lag:]) for lag in LAGS]))
    share = LESS_PERSISTENT if common >= STRONG**2 else PERSISTENT
    if common < max(share * float(np.mean(tame**2)), RELEVANT**2):
        return None
    level = _running_median(series)
    begin, end = sorted((int(np.argmin(level)), int(np.argmax(level))))
    return int(kept[begin]), int(kept[end]), float(level[end] - level[begin])


def _running_median(series: Floats) -> Floats:
    """Of _WIDTH readings, of fewer at the ends."""
    half = _WIDTH // 2
    return np.array([float(np.median(series[max(0, at - half) : at + half + 1])) for at in range(series.size)])


METHOD = "white-plus-ou/1"
STRETCHES = 24
SHARES = np.array([0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97])
TIMES = 10
LONGEST = 2.0


@dataclass(frozen=True)
class Spread:
    """Distribution of the error of a difference of levels: a mixture of Student's t, all with `dof` degrees of freedom.

    weights, scales: shape (g,), weights sum to 1; scales are logarithms. drift_variance: expected variance of the part
                     that is drift.
    """

    weights: Floats
    scales: Floats
    dof: float
    drift_variance: float
    method: str = METHOD

    def beyond(self, x: float) -> float:
        """P(error > x)."""
        known = self.scales > 0
        chance = np.where(known, t_tail(x / np.where(known, self.scales, 1.0), self.dof), float(x < 0))
        return float(self.weights @ chance)

    def half_width(self, confidence: float = 0.95) -> float:
        """The h for which P(|error| <= h) is `confidence`."""
        tail = (1 - confidence) / 2
        if self.beyond(0.0) <= tail:
            return 0.0
        # Of a tail, which is convex, no step of Newton's passes the root from below.
        weights, scales = self.weights[self.scales > 0], self.scales[self.scales > 0]
        x = 1e-6 * float(scales.max())
        for _ in range(NEWTON_STEPS):
            tails, slopes = t_beyond(x / scales, self.dof)
            step = x * float((weights @ tails - tail) / (weights @ slopes))
            x += step
            if step <= 1e-9 * x:
                break
        return x


def level_spread(campaigns: Sequence[tuple[Floats, Floats]], *, extra_variance: float = 0.0) -> Spread | None:
    """Error of the sum of the campaigns' mean levels (their difference has the same), each from its visits' residuals.

    campaigns: (times, residuals) for each, shape (n,): seconds and logarithms, with the cells' levels taken out.
    Model: residual = level + white noise + Ornstein-Uhlenbeck drift, the share q of drift and its correlation time tau
    the same in all campaigns. Residuals are averaged over up to 24 stretches of time each; the likelihood of their
    contrasts (REML: Patterson and Thompson 1971, Biometrika 58) over a grid of q and tau with prior weights 1 - q, the
    variance integrated out, gives the mixture. Correlation times reach to twice the longest campaign: drift that is
    slower still cannot be told from a change of the target. None with fewer than 4 stretches of visits in one campaign.
    extra_variance is added to every component.
    """
    pieces = [
        _stretches(np.asarray(times, dtype=float), np.asarray(residuals, dtype=float)) for times, residuals in campaigns
    ]
    if not pieces or any(means.size < 4 or not np.isfinite(means).all() for _, means, _ in pieces):
        return None
    lengths = [float(np.ptp(at)) for at, _, _ in pieces]
    gaps = [float(np.median(np.diff(at))) for at, _, _ in pieces]
    shortest, longest = min(gaps) / 2, max(lengths)
    if not 0 < shortest < longest:
        return None
    taus = np.geomspace(shortest, LONGEST * longest, TIMES)
    share = np.repeat(SHARES, TIMES)
    tau = np.tile(taus, SHARES.size)
    dof = sum(means.size - 1 for _, means, _ in pieces)
    log_det = np.zeros(share.size)
    squares = np.zeros(share.size)
    mean_variance = np.zeros(share.size)
    drift_variance = np.zeros(share.size)
    for at, means, counts in pieces:
        k = means.size
        drift = np.exp(-np.abs(at[:, None] - at[None, :])[None] / tau[:, None, None]) * share[:, None, None]
        covariance = drift + (1 - share)[:, None, None] * np.diag(counts.mean() / counts)[None]
        contrast = _contrasts(k)
        inner = contrast @ covariance @ contrast.T
        more_log_det, more_squares = profiled(inner, contrast @ means)
        log_det += more_log_det
        squares += more_squares
        weight = counts / counts.sum()
        mean_variance += np.einsum("i,gij,j->g", weight, covariance, weight)
        drift_variance += np.einsum("i,gij,j->g", weight, drift, weight)
    if not squares.min() > 0:
        return Spread(np.ones(1), np.array([np.sqrt(extra_variance)]), float(dof), extra_variance)
    # Strong drift is held less likely beforehand, in proportion to 1 - q: short campaigns cannot rule it out and would
    # find nothing.
    logs = np.log(1 - share) - 0.5 * (log_det + dof * np.log(squares))
    weights = np.exp(logs - np.logaddexp.reduce(logs))
    variance = squares / dof
    scales = np.sqrt(variance * mean_variance + extra_variance)
    return Spread(weights, scales, float(dof), float(weights @ (variance * drift_variance)) + extra_variance)


def profiled(covariances: Floats, y: Floats) -> tuple[Floats, Floats]:
    """(logarithm of the determinant, y' covariance^-1 y) of each covariance, shape (g, k, k); y of shape (k,)."""
    solved = np.linalg.solve(covariances, np.broadcast_to(y[:, None], (*covariances.shape[:-1], 1)))[..., 0]
    return np.linalg.slogdet(covariances)[1], solved @ y


def _stretches(times: Floats, residuals: Floats) -> tuple[Floats, Floats, NDArray[np.float64]]:
    """(mean time, mean residual, visits) of up to STRETCHES stretches with equally many visits each."""
    order = np.argsort(times, kind="stable")
    parts = np.array_split(order, max(1, min(STRETCHES, order.size // 2)))
    at = np.array([times[part].mean() for part in parts])
    means = np.array([residuals[part].mean() for part in parts])
    return at, means, np.array([part.size for part in parts], dtype=float)


def _contrasts(k: int) -> Floats:
    """Orthonormal contrasts (Helmert), shape (k - 1, k): every row sums to 0."""
    rows = np.tril(np.ones((k - 1, k)), 0)
    index = np.arange(1, k)
    rows[index - 1, index] = -index
    result: Floats = rows / np.sqrt(index * (index + 1))[:, None]
    return result
