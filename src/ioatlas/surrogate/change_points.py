# SPDX-License-Identifier: Apache-2.0
"""Cliffs along the footprint and steps along other axes: jumps that explain the readings better."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ioatlas.model.map_model import ChangePoint
from ioatlas.surrogate.gp import Posterior
from ioatlas.surrogate.law import Variant, variants_of
from ioatlas.surrogate.space import SIZE_NAMES, Floats, Ints, Space
from ioatlas.surrogate.surrogate import FIT_ITERATIONS, Surrogate, Training, fit

EVIDENCE_NEEDED = 2.5
"""Gain in log evidence (natural), on top of the logarithm of the number of places looked at, that makes a finding."""
MOST = 6
"""Change points of a map."""
FEWEST_CELLS = 6
TRIED = 3
VAIN = 1
"""Change points that a search goes on from though they do not pay: while one jump is unexplained the process stays as
rough as if there were no other, and either gains little.
"""
LEAST_GAIN = 0.5
CANDIDATE_ITERATIONS = 12
STEP_SD = np.array([1.0, 0.4, 0.4])
"""Prior sd of a step's height and of its change over the whole range of concurrency and of block size."""
_Gain = tuple[float, ChangePoint]


def footprint(space: Space, exponent: int) -> Floats:
    return np.asarray(space.size_bytes * space.numjobs**exponent)


def exponents(space: Space) -> tuple[int, ...]:
    """0: all jobs share one file of `size`; 1: each has its own. The readings decide which."""
    if "size" not in space.known or np.ptp(space.size_bytes) == 0:
        return ()
    return (0, 1) if np.ptp(space.numjobs) > 0 else (0,)


def regimes(space: Space, points: Sequence[ChangePoint]) -> Ints | None:
    """A number per cell, different on the two sides of each cliff and inside its bracket; None without cliffs."""
    cliffs = [point for point in points if not point.axis]
    if not cliffs:
        return None
    code = np.zeros(len(space), dtype=np.int64)
    for cliff in cliffs:
        size = footprint(space, cliff.exponent)
        side = (size > cliff.low * 1.0001).astype(np.int64) + (size >= cliff.high * 0.9999)
        code = code * 3 + np.where(space.in_direction(cliff.direction), side, 0)
    return np.unique(code, return_inverse=True)[1].astype(np.int64)


def fit_with(
    space: Space,
    training: Training,
    points: tuple[ChangePoint, ...],
    start: Surrogate | None = None,
    iterations: int = FIT_ITERATIONS,
) -> Surrogate:
    """The model with these change points, variants as in `start`; the residual crosses no cliff."""
    return fit(
        space,
        training,
        change_points=points,
        variants=start.variants if start else frozenset(),
        separate=regimes(space, points),
        start=start,
        iterations=iterations,
    )


def _candidate(
    model: Surrogate, points: tuple[ChangePoint, ...], iterations: int, other: frozenset[Variant] = frozenset()
) -> Surrogate:
    """The same readings explained otherwise: to be compared, not kept, at the weights of `model`.

    other: variants that are told where `model` has none of them, and the other way round.
    """
    return fit(
        model.space,
        model.training,
        change_points=points,
        variants=model.variants ^ other,
        separate=regimes(model.space, points),
        start=model,
        iterations=iterations,
        robust=False,
    )


def find_change_points(space: Space, training: Training, suspected: tuple[ChangePoint, ...] = ()) -> Surrogate:
    """The model with the change points the readings ask for, added one by one, and with the variants that they tell.

    Needs no particular cells: every pair of neighbouring levels that was measured is a candidate. suspected: what the
    cliff pass saw; such a point need not outweigh the number of places looked at.
    """
    model = _with_variants(_candidate(fit_with(space, training, ()), (), FIT_ITERATIONS))
    best, lead, ahead, vain = model, 0.0, 0.0, 0
    while len(training.cells) >= FEWEST_CELLS and len(model.change_points) < MOST and vain <= VAIN:
        found = _one_more(model, suspected)
        if not found:
            break
        gain, model = found
        ahead, vain = ahead + gain, vain + 1
        if ahead > lead:
            best, lead, vain = model, ahead, 0
    if best.change_points:
        # A jump that was not explained can hide a variant, or look like one.
        best = _with_variants(best)
    return fit_with(space, training, best.change_points, best)


def _one_more(model: Surrogate, suspected: tuple[ChangePoint, ...]) -> tuple[float, Surrogate] | None:
    """(gain in log evidence beyond what the finding needs, the model with the best further change point).

    None where none explains anything: there is no jump for another one to hide.
    """
    candidates = _candidates(model)
    looked = float(np.log(max(len(candidates), 1)))
    seen = [point for _, point in candidates if any(_overlap(point, other) for other in suspected)]
    found = []
    for point in dict.fromkeys([*_best_of_kinds(candidates), *seen[:TRIED]]):
        other = _candidate(model, (*model.change_points, point), CANDIDATE_ITERATIONS)
        needed = EVIDENCE_NEEDED + (0.0 if point in seen else looked)
        if other.log_evidence > model.log_evidence:
            found.append((other.log_evidence - model.log_evidence - needed, other))
    return max(found, key=lambda one: one[0], default=None)


def _with_variants(model: Surrogate) -> Surrogate:
    """The model with each variant that the evidence asks for, and without the others."""
    for variant in variants_of(model.space, model.training.cells):
        other = _candidate(model, model.change_points, CANDIDATE_ITERATIONS, frozenset({variant}))
        needed = -EVIDENCE_NEEDED if variant in model.variants else EVIDENCE_NEEDED
        if other.log_evidence > model.log_evidence + needed:
            model = other
    return model


def _candidates(model: Surrogate) -> list[_Gain]:
    """Every jump between neighbouring measured levels with its gain in log evidence at fixed hyperparameters, best
    first.
    """
    space, cells = model.space, model.training.cells
    found: list[_Gain] = []
    for direction in space.directions:
        inside = space.in_direction(direction)[cells]
        found += _cliffs(model, direction, inside)
        found += _steps(model, direction, inside)
    return sorted(found, key=lambda item: -item[0])


def _cliffs(model: Surrogate, direction: str, inside: NDArray[np.bool_]) -> Iterator[_Gain]:
    """Along the footprint, where a jump may change with concurrency and block size."""
    space, cells = model.space, model.training.cells
    shape = np.ones((len(cells), 3))
    for column, values in ((1, space.outstanding[cells]), (2, space.block_bytes[cells])):
        log = np.log(values)
        shape[:, column] = (log - log.mean()) / max(float(np.ptp(log)), 1e-9)
    shape *= STEP_SD
    for exponent in exponents(space):
        sizes = footprint(space, exponent)[cells]
        for low, high in itertools.pairwise(np.unique(sizes[inside])):
            over = inside & (sizes >= high)
            point = ChangePoint(float(low), float(high), exponent, direction)
            if min(over.sum(), (inside & ~over).sum()) < 2 or any(_overlap(point, e) for e in model.change_points):
                continue
            gain, step = _gain(model.posterior, shape * over[:, None])
            drop = float(np.exp(-np.mean(shape[over] @ step)))
            yield (gain, ChangePoint(point.low, point.high, exponent, direction, drop))


def _steps(model: Surrogate, direction: str, inside: NDArray[np.bool_]) -> Iterator[_Gain]:
    """A plain step along each other numeric axis."""
    space, cells, visits = model.space, model.training.cells, model.training.visits
    known = {(point.axis, point.direction, point.high) for point in model.change_points}
    for number, axis in enumerate(space.axes):
        if not axis.numeric or axis.derived or len(axis.levels) < 3 or axis.name in SIZE_NAMES:
            continue
        levels = np.array(axis.levels, dtype=float)[space.index[cells, number]]
        for low, high in itertools.pairwise(np.unique(levels[inside]).tolist()):
            over = inside & (levels >= high)
            # Two readings on either side, be they of one cell: the last level of an axis may have no second cell yet.
            if min(visits[over].sum(), visits[inside & ~over].sum()) < 2 or (axis.name, direction, high) in known:
                continue
            gain, step = _gain(model.posterior, over.astype(float)[:, None])
            yield (gain, ChangePoint(low, high, 0, direction, float(np.exp(-step[0])), axis.name))


def _gain(posterior: Posterior, columns: Floats) -> tuple[float, Floats]:
    """(gain in log evidence, most probable heights) of further columns with unit prior, (n, k), to the mean."""
    half = posterior.whiten(columns)
    inner = np.eye(columns.shape[1]) + half.T @ half
    score = columns.T @ posterior.alpha
    step = np.asarray(np.linalg.solve(inner, score), dtype=np.float64)
    return 0.5 * float(score @ step) - 0.5 * float(np.linalg.slogdet(inner)[1]), step


def _best_of_kinds(candidates: list[_Gain]) -> list[ChangePoint]:
    """The best candidate of each axis and direction, at most `TRIED`: neighbours of the best are mostly the same
    jump.
    """
    best: dict[tuple[str, str, int], ChangePoint] = {}
    for gain, point in candidates:
        if gain > LEAST_GAIN:
            best.setdefault((point.direction, point.axis, point.exponent), point)
    return list(best.values())[:TRIED]


def _overlap(point: ChangePoint, other: ChangePoint) -> bool:
    """Whether two cliffs can be one: their brackets overlap."""
    return (
        not point.axis
        and (point.axis, point.direction, point.exponent) == (other.axis, other.direction, other.exponent)
        and point.low < other.high
        and other.low < point.high
    )


def undecided(space: Space, point: ChangePoint) -> Ints:
    """Cells whose footprint lies inside the bracket of a cliff: nobody knows their side."""
    if point.axis:
        return np.array([], dtype=np.int64)
    size = footprint(space, point.exponent)
    inside = (size > point.low * 1.0001) & (size < point.high * 0.9999)
    return np.flatnonzero(space.in_direction(point.direction) & inside)
