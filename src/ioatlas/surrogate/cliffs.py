# SPDX-License-Identifier: Apache-2.0
"""Cliffs along the footprint: where a step in throughput explains the readings better than a smooth map does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ioatlas.surrogate.law import Edge
from ioatlas.surrogate.space import Floats, Ints, Space
from ioatlas.surrogate.surrogate import Surrogate, Training, fit

EVIDENCE_NEEDED = 4.0
"""Gain in log evidence (natural) that makes an edge a finding: odds of about 50 to 1."""
MAX_EDGES = 4
TRIED = 3
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
        size = footprint(space, edge.exponent)
        side = (size > edge.low_bytes * 1.0001).astype(np.int64) + (size >= edge.high_bytes * 0.9999)
        code = code * 3 + np.where(space.in_direction(edge.direction), side, 0)
    return np.unique(code, return_inverse=True)[1].astype(np.int64)


def fit_with_edges(space: Space, training: Training, edges: tuple[Edge, ...], start: Surrogate | None = None, iterations: int = 40) -> Surrogate:
    return fit(space, training, edges=edges, separate=regimes(space, edges), start=start.start if start else None, iterations=iterations)


def _candidates(model: Surrogate) -> list[tuple[float, Edge]]:
    """Every step between neighbouring measured footprints, with its gain in log evidence at fixed hyperparameters, best first."""
    space, cells = model.space, model.training.cells
    log_n = np.log(space.outstanding[cells])
    log_bs = np.log(space.block_bytes[cells])
    scaled = [np.ones(len(cells))]
    for values in (log_n, log_bs):
        scaled.append((values - values.mean()) / max(float(np.ptp(values)), 1e-9) if np.ptp(values) > 0 else np.zeros(len(cells)))
    shape = np.stack(scaled, axis=1) * STEP_SD
    found = []
    for direction in space.directions():
        inside = space.in_direction(direction)[cells]
        for exponent in exponents(space):
            sizes = footprint(space, exponent)[cells]
            levels = np.unique(sizes[inside])
            for low, high in zip(levels[:-1], levels[1:], strict=True):
                above = inside & (sizes >= high)
                if above.sum() < 2 or (inside & ~above).sum() < 2 or _known(model.law.edges if model.law else (), direction, exponent, low, high):
                    continue
                columns = shape * above[:, None]
                half = model.posterior.whiten(columns)
                inner = np.eye(3) + half.T @ half
                score = columns.T @ model.posterior.alpha
                step = np.linalg.solve(inner, score)
                gain = 0.5 * float(score @ step) - 0.5 * float(np.linalg.slogdet(inner)[1])
                drop = float(np.exp(-np.mean(shape[above] @ step)))
                found.append((gain, Edge(float(low), float(high), exponent, direction, drop=max(drop, 1 / drop))))
    return sorted(found, key=lambda item: -item[0])


def _known(edges: tuple[Edge, ...], direction: str, exponent: int, low: float, high: float) -> bool:
    return any(e.direction == direction and e.exponent == exponent and e.low_bytes < high and low < e.high_bytes for e in edges)


def find_edges(space: Space, training: Training, known: tuple[Edge, ...] = (), start: Surrogate | None = None) -> tuple[Surrogate, tuple[Edge, ...]]:
    """The edges the readings ask for, added one by one, and the model fitted with them. Needs no particular cells."""
    edges = tuple(_bracketed(space, training, edge) for edge in known)
    model = fit_with_edges(space, training, edges, start)
    if not exponents(space) or len(training.cells) < 6:
        return model, edges
    while len(edges) < MAX_EDGES:
        tried = [edge for gain, edge in _candidates(model)[:TRIED] if gain > 0.5]
        best, gained = None, EVIDENCE_NEEDED
        for edge in tried:
            other = fit_with_edges(space, training, (*edges, edge), None, iterations=25)
            if other.log_evidence - model.log_evidence > gained:
                best, gained = (other, edge), other.log_evidence - model.log_evidence
        if best is None:
            break
        model, edges = best[0], (*edges, best[1])
    return model, edges


def _bracketed(space: Space, training: Training, edge: Edge) -> Edge:
    """The edge with its bracket as fine as the cells measured by now allow, the capacity being where the law puts it."""
    return replace(edge, low_bytes=edge.low_bytes, high_bytes=edge.high_bytes)
