# SPDX-License-Identifier: Apache-2.0
"""Cliffs along the footprint, steps along other axes, traits of the target: what explains the readings better than a smooth map without it does."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ioatlas.surrogate.gp import Posterior
from ioatlas.surrogate.law import PIECES, Edge, traits_of
from ioatlas.surrogate.space import SIZE_NAMES, Floats, Ints, Space
from ioatlas.surrogate.surrogate import Surrogate, Training, fit

EVIDENCE_NEEDED = 2.5
"""Gain in log evidence (natural) that adds a trait or takes it away, or, on top of the logarithm of the number of places looked at, makes an edge a finding."""
GRANULE_EVIDENCE = 1.0
"""Gain in log evidence from which an edge is taken to be with a granule, or no longer: it is one more parameter, not one more place."""
MAX_EDGES = 6
TRIED = 3
LEAST_GAIN = 0.5
CANDIDATE_ITERATIONS = 12
STEP_SD = np.array([1.0, 0.4, 0.4])
"""Prior sd of a step's height and of its change over the whole range of concurrency and of block size."""


def footprint(space: Space, exponent: int) -> Floats:
    return np.asarray(space.size_bytes * space.numjobs**exponent)


def exponents(space: Space) -> tuple[int, ...]:
    """0: all jobs share one file of `size`; 1: each has its own. The readings decide which."""
    if "size" not in space.known or np.ptp(space.size_bytes) == 0:
        return ()
    return (0, 1) if np.ptp(space.numjobs) > 0 else (0,)


def regimes(space: Space, edges: tuple[Edge, ...]) -> Ints | None:
    """A number per cell, different on the two sides of each edge and inside its bracket; None without edges."""
    if not edges:
        return None
    code = np.zeros(len(space), dtype=np.int64)
    for edge in edges:
        if edge.axis:
            continue
        size = footprint(space, edge.exponent)
        side = (size > edge.low * 1.0001).astype(np.int64) + (size >= edge.high * 0.9999)
        code = code * 3 + np.where(space.in_direction(edge.direction), side, 0)
    return np.unique(code, return_inverse=True)[1].astype(np.int64)


def fit_with_edges(
    space: Space,
    training: Training,
    edges: tuple[Edge, ...],
    start: Surrogate | None = None,
    iterations: int = 40,
    robust: bool = True,
    traits: frozenset[str] | None = None,
) -> Surrogate:
    """traits: as in `Law`; None: as in the model to start from."""
    if traits is None:
        traits = start.traits if start else frozenset()
    return fit(space, training, edges=edges, separate=regimes(space, edges), start=start.start if start else None, iterations=iterations, robust=robust, traits=traits)


def _candidate(model: Surrogate, edges: tuple[Edge, ...], traits: frozenset[str] | None = None) -> Surrogate:
    """The same readings with other edges or other traits, to be compared, not kept: judged at the weights of `model`."""
    return fit_with_edges(model.space, model.training, edges, model, CANDIDATE_ITERATIONS, robust=False, traits=traits)


def _candidates(model: Surrogate, posterior: Posterior) -> list[tuple[float, Edge]]:
    """Every step between neighbouring measured footprints, with its gain in log evidence at fixed hyperparameters, best first."""
    space, cells = model.space, model.training.cells
    log_n = np.log(space.outstanding[cells])
    log_bs = np.log(space.block_bytes[cells])
    scaled = [np.ones(len(cells))]
    for values in (log_n, log_bs):
        scaled.append((values - values.mean()) / max(float(np.ptp(values)), 1e-9) if np.ptp(values) > 0 else np.zeros(len(cells)))
    shape = np.stack(scaled, axis=1) * STEP_SD
    found = []
    for direction in space.directions:
        inside = space.in_direction(direction)[cells]
        for exponent in exponents(space):
            sizes = footprint(space, exponent)[cells]
            levels = np.unique(sizes[inside])
            for low, high in itertools.pairwise(levels):
                above = inside & (sizes >= high)
                if above.sum() < 2 or (inside & ~above).sum() < 2 or _known(model.law.edges if model.law else (), direction, exponent, low, high):
                    continue
                columns = shape * above[:, None]
                half = posterior.whiten(columns)
                inner = np.eye(3) + half.T @ half
                score = columns.T @ posterior.alpha
                step = np.linalg.solve(inner, score)
                gain = 0.5 * float(score @ step) - 0.5 * float(np.linalg.slogdet(inner)[1])
                drop = float(np.exp(-np.mean(shape[above] @ step)))
                found.append((gain, Edge(float(low), float(high), exponent, direction, drop)))
        found += _steps(model, posterior, direction, inside)
    return sorted(found, key=lambda item: -item[0])


def _steps(model: Surrogate, posterior: Posterior, direction: str, inside: NDArray[np.bool_]) -> list[tuple[float, Edge]]:
    """The same for a plain step along each other numeric axis."""
    space, cells, visits = model.space, model.training.cells, model.training.visits
    known = model.law.steps if model.law else ()
    found = []
    for number, axis in enumerate(space.axes):
        if not axis.numeric or axis.derived or len(axis.levels) < 3 or axis.name in SIZE_NAMES:
            continue
        levels = np.array(axis.levels, dtype=float)[space.index[cells, number]]
        measured = np.unique(levels[inside])
        for low, high in itertools.pairwise(measured):
            over = inside & (levels >= high)
            # Two readings on either side, be they of one cell: a step on the last level of an axis may have no second cell yet.
            if min(visits[over].sum(), visits[inside & ~over].sum()) < 2 or any(e.axis == axis.name and e.direction == direction and e.high == high for e in known):
                continue
            half = posterior.whiten(over.astype(float)[:, None])[:, 0]
            inner = 1.0 + float(half @ half)
            score = float(over @ posterior.alpha)
            gain = 0.5 * score**2 / inner - 0.5 * float(np.log(inner))
            found.append((gain, Edge(float(low), float(high), 0, direction, float(np.exp(-score / inner)), axis.name)))
    return found


def _best_of_kinds(candidates: list[tuple[float, Edge]]) -> list[Edge]:
    """The best candidate of each axis and direction, at most `TRIED`: neighbours of the best one are mostly the same jump."""
    best: dict[tuple[str, str, int], Edge] = {}
    for gain, edge in candidates:
        if gain > LEAST_GAIN:
            best.setdefault((edge.direction, edge.axis, edge.exponent), edge)
    return list(best.values())[:TRIED]


def _same(edge: Edge, other: Edge) -> bool:
    """Whether two edges along the footprint can be one: brackets that overlap."""
    return not edge.axis and (edge.direction, edge.exponent) == (other.direction, other.exponent) and edge.low < other.high and other.low < edge.high


def _known(edges: tuple[Edge, ...], direction: str, exponent: int, low: float, high: float) -> bool:
    return any(e.direction == direction and e.exponent == exponent and e.low < high and low < e.high for e in edges)


def find_edges(
    space: Space, training: Training, known: tuple[Edge, ...] = (), start: Surrogate | None = None, suspected: tuple[Edge, ...] = ()
) -> tuple[Surrogate, tuple[Edge, ...]]:
    """The edges the readings ask for and the model fitted with them: known ones narrowed or dropped, further ones added one by one.

    Needs no particular cells: every pair of neighbouring footprints that was measured is a candidate. suspected: what the cliff pass
    saw; such an edge need not outweigh the number of places looked at.
    """
    edges = known
    # Candidates are judged at the weights of a start: what they are compared with must be, too.
    model = fit_with_edges(space, training, edges, start or fit_with_edges(space, training, edges), robust=False)
    if len(training.cells) < 6:
        return fit_with_edges(space, training, edges, model), edges
    for edge in known:
        others = tuple(e for e in edges if e is not edge)
        choices = [(others, 0.0), *(((*others, finer), EVIDENCE_NEEDED) for finer in _within(space, training, edge))]
        for choice, prior in choices:
            other = _candidate(model, choice)
            # Dropping an edge needs to be as good as the edge was good when it was found.
            if other.log_evidence - prior > model.log_evidence - EVIDENCE_NEEDED + (0.0 if choice is others else 0.01):
                model, edges = other, choice
                if choice is others:
                    break
    model, before = _with_traits(model, edges), edges
    while len(edges) < MAX_EDGES:
        candidates = _candidates(model, model.posterior)
        looked = float(np.log(max(len(candidates), 1)))
        # A process that has bent to a jump already hides it: the same places as a stiff one sees them.
        stiff = _candidates(model, model.stiff_posterior())
        seen = [edge for _, edge in candidates if any(_same(edge, other) for other in suspected)]
        tried = dict.fromkeys([*_best_of_kinds(candidates), *_best_of_kinds(stiff), *seen[:TRIED]])
        scored = []
        for edge in tried:
            needed = EVIDENCE_NEEDED + (0.0 if edge in seen else looked)
            other = _candidate(model, (*edges, edge))
            scored.append((other.log_evidence - model.log_evidence - needed, needed, (*edges, edge), other))
        scored.sort(key=lambda one: -one[0])
        if scored and scored[0][0] <= 0:
            scored = _pairs(scored, model)
        if not scored:
            break
        _, _, edges, model = scored[0]
    model, edges = _granular(model, edges)
    # A search that goes on from another asks again when it begins.
    if edges != before and start is None:
        model = _with_traits(model, edges)
    return fit_with_edges(space, training, edges, model), edges


def _with_traits(model: Surrogate, edges: tuple[Edge, ...]) -> Surrogate:
    """The model with each trait that the readings can tell, or without it, whichever explains them better."""
    told_by_granule = {PIECES + edge.direction for edge in edges if edge.granular}
    for trait in traits_of(model.space, model.training.cells):
        if trait in told_by_granule:
            continue
        other = _candidate(model, edges, model.traits ^ {trait})
        if other.log_evidence > model.log_evidence + EVIDENCE_NEEDED:
            model = other
    return model


def _granular(model: Surrogate, edges: tuple[Edge, ...]) -> tuple[Surrogate, tuple[Edge, ...]]:
    """The model and its edges, each with or without a granule that I/Os in order share, whichever explains the readings better.

    Asked only of a direction in which both orders and several block sizes were measured: one of them alone does not tell.
    """
    space = model.space
    for number, edge in enumerate(edges):
        cells = model.training.cells[space.in_direction(edge.direction)[model.training.cells]]
        if edge.axis or len(np.unique(space.ordered[cells])) < 2 or np.ptp(space.block_bytes[cells]) == 0:
            continue
        choice = (*edges[:number], replace(edge, granular=not edge.granular), *edges[number + 1 :])
        # A granule is what a miss is served in: pieces of all I/Os of that direction would say it twice.
        other = _candidate(model, choice, model.traits - {PIECES + edge.direction})
        if other.log_evidence > model.log_evidence + GRANULE_EVIDENCE:
            model, edges = other, choice
    return model, edges


_Scored = tuple[float, float, tuple[Edge, ...], Surrogate]
"""Gain in evidence beyond what is needed, what is needed, the edges, the model with them."""


def _pairs(scored: list[_Scored], model: Surrogate) -> list[_Scored]:
    """The best candidate with each of the next ones, as far as two explain what either alone does not: while one jump is unexplained the process
    stays as rough as if there were no edge, and the other gains little.
    """
    (lacking, needed, edges, start), *others = scored
    if lacking + needed <= 0:
        # The best explains nothing of its own: there is no jump for another one to hide.
        return []
    found: list[_Scored] = []
    for _, more, wider, _ in others[:TRIED]:
        both = (*edges, wider[-1])
        other = _candidate(start, both)
        gain = other.log_evidence - model.log_evidence - needed - more
        if gain > 0:
            found.append((gain, needed + more, both, other))
    return sorted(found, key=lambda one: -one[0])


def _within(space: Space, training: Training, edge: Edge) -> list[Edge]:
    """The brackets between footprints measured by now inside the edge's bracket; [] when there is none new."""
    if edge.axis:
        return []
    inside = space.in_direction(edge.direction)[training.cells]
    levels = np.unique(footprint(space, edge.exponent)[training.cells][inside])
    levels = levels[(levels >= edge.low * 0.9999) & (levels <= edge.high * 1.0001)]
    return [replace(edge, low=float(a), high=float(b)) for a, b in itertools.pairwise(levels)] if len(levels) > 2 else []


def undecided(space: Space, edge: Edge) -> Ints:
    """Cells whose footprint lies inside the bracket of an edge: nobody knows their side."""
    if edge.axis:
        return np.array([], dtype=np.int64)
    size = footprint(space, edge.exponent)
    return np.flatnonzero(space.in_direction(edge.direction) & (size > edge.low * 1.0001) & (size < edge.high * 0.9999))
