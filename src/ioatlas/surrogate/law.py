# SPDX-License-Identifier: Apache-2.0
"""The mechanistic mean of a map: a closed queue with a fixed and a transfer time, two ceilings and a hit ratio.

An I/O takes t0 + bs * b of service; n outstanding I/Os keep up to m servers busy until a ceiling is met (asymptotic
bounds of a closed network: Denning and Buzen, Computing Surveys 10(3), 1978, section 6). Time per completed I/O:

    r = ( ((t0 + bs b) / n^a)^p + ((t0 + bs b) / m)^p + (1 / C)^p + (bs / B)^p )^(1/p)      p: how sharp the knee is

with C a ceiling in I/Os and B one in bytes per second. A cache of capacity E on the way gives r = h r_hit + (1-h) r_miss,

    h = (1 + (F / E)^(4 k))^(-1/4)        F: footprint; k = 1 is uniform random access to an LRU cache, large k a cliff

Where misses fetch a granule G at a time (read-ahead, a cache's block, a stripe unit), I/Os that go through the file in order share it: the t0
and 1 / C of a miss are then multiplied by (1 + (G / bs)^q)^(-1/q).

Beyond a step along another axis, and for the smallest writes, r is multiplied by a factor of its own.

Every physical quantity is a common value times a factor for each level of each categorical axis, shrunk towards 1, so
directions and modes share what the data do not tell apart.

Traits are what a target has or has not; the readings decide (`cliffs`):

    modes apart     the factors between modes are large: writes that wait for what reads find in a cache
    own queues      m and C are each job's, not all jobs': a connection, a queue pair or a thread for each
    own bandwidth   B is each job's
    pieces          of a direction: I/Os are served in pieces of t0 / b bytes (a cache's block, a stripe unit, the largest transfer of a protocol)
                    and one that is smaller takes as long: t0 + bs b is then (t0^f + (bs b)^f)^(1/f), f large
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ioatlas.surrogate.space import SECTOR_BYTES, Floats, Ints, Space

MODE_SD, MODES_APART_SD = 0.5, 1.5
"""Prior standard deviation of the log factor between modes: 1.6 either way; 4.5 where they are apart."""
MODES_APART, PIECES = "modes apart", "pieces "
OWN = {"servers": "own queues", "iops": "own queues", "bandwidth": "own bandwidth"}
"""The trait that makes a limit each job's."""
PIECE_SHARPNESS = 6.0
"""f of I/Os that are served in pieces: 12% longer at one piece than below and above it."""
HIT_SHARPNESS = 4.0
MISSED = ("service", "transfer", "servers", "iops", "bandwidth")
"""Quantities that differ behind an edge."""
GRANULE_BYTES = 65536
GRANULE_SD = 1.5
"""Prior of the logarithm of what a miss fetches at a time: from a page to a read-ahead of a few MiB."""
GRANULE_SHARPNESS = 3.0
SMALL_WRITES = "small writes"
SMALL_WRITES_SD = 0.5
"""Prior standard deviation of the log factor between the smallest writes and what the law says of them: below a page, a stripe unit or a
mapping unit a write is a read, a change and a larger write."""
JOBS_SD = 0.3
"""Prior standard deviation of the power of numjobs that a limit grows with: about 0 where all jobs share it, about 1 where each has its own."""


@dataclass(frozen=True)
class Edge:
    """A place where throughput jumps: between two measured levels of the footprint, or of another axis.

    axis:      '' for the footprint `size * numjobs^exponent` in bytes, a cliff that a cache makes: the law behind it has parameters of
               its own and no residual crosses it. Else the axis' name: a plain step (small writes, a stripe unit, a queue limit).
    direction: the direction it was seen in; '' for all.
    drop:      throughput on the low side over throughput on the high side.
    granular:  whether a miss fetches more than it was asked for, which I/Os in order share.
    """

    low: float
    high: float
    exponent: int = 0
    direction: str = ""
    drop: float = 1.0
    axis: str = ""
    granular: bool = False


@dataclass(frozen=True)
class _Quantity:
    """One physical quantity: its place in the parameter vector, the columns that multiply it, and its prior."""

    name: str
    first: int
    design: Floats
    mean: Floats
    sd: Floats


@dataclass(frozen=True)
class _View:
    """What the law needs of some cells, looked up once."""

    rows: Ints
    designs: dict[str, Floats]
    log_bs: Floats
    log_n: dict[str, Floats]
    log_footprint: list[Floats]
    applies: list[NDArray[np.bool_]]
    ordered: NDArray[np.bool_]
    fold: Floats


@dataclass(frozen=True)
class Parameter:
    """A parameter of the law with a 90% interval; `unit` as in `service_seconds`. `known` is False when the data say nothing about it."""

    name: str
    mode: str
    value: float
    low: float
    high: float
    unit: str
    known: bool


class Law:
    """The law over all cells of a space. Parameters are a vector of logarithms (except exponents), shape (p,)."""

    def __init__(self, space: Space, cells: Ints, log_iops: Floats, edges: tuple[Edge, ...] = (), traits: frozenset[str] = frozenset()) -> None:
        """traits: what the target has of `traits_of`."""
        self.space = space
        self.traits = traits
        self.edges = tuple(edge for edge in edges if not edge.axis)
        self.steps = tuple(edge for edge in edges if edge.axis)
        edges = self.edges
        self._log_bs = np.log(space.block_bytes)
        modes, self.mode_names = _mode_columns(space)
        self._with_modes = np.hstack([np.ones((len(space), 1)), modes])
        self._log_footprint = [np.log(space.size_bytes) + edge.exponent * np.log(space.numjobs) for edge in edges]
        self._applies = [space.in_direction(edge.direction) for edge in edges]
        self.in_pieces = np.zeros(len(space), dtype=bool)
        """Which cells' I/Os are served in pieces, (len(space),)."""
        for direction in space.directions:
            if PIECES + direction in traits:
                self.in_pieces |= space.in_direction(direction)
        self._last: _View | None = None
        self._quantities: list[_Quantity] = []
        self._at: dict[str, _Quantity] = {}
        of_job = {name: np.log(space.numjobs) if trait in traits else np.zeros(len(space)) for name, trait in OWN.items()}
        work = np.log(space.outstanding)[cells] - log_iops
        service = float(np.quantile(work, 0.2))
        mode_sd = MODES_APART_SD if MODES_APART in traits else MODE_SD
        self._add("service", service, 2.0, mode_sd)
        if "block" in space.known and np.ptp(self._log_bs) > 0:
            self._add("transfer", float(np.quantile(work - self._log_bs[cells], 0.1)), 1.5, mode_sd)
            self._add("bandwidth", float(np.max((log_iops + self._log_bs[cells]) - of_job["bandwidth"][cells])) + 0.2, 1.0, mode_sd)
        # Without a varied block the two ceilings are one, and the transfer time is part of the service time.
        if np.ptp(space.outstanding) > 0:
            self._add("servers", float(np.quantile(np.log(space.outstanding) - of_job["servers"], 0.75)), 1.5, mode_sd)
            self._add("iops", float(np.max(log_iops - of_job["iops"][cells])) + 0.5, 1.5, mode_sd)
            self._add("sharpness", np.log(3.0), 0.6, 0.0)
        if np.ptp(space.numjobs) > 0:
            for name, trait in OWN.items():
                if name in self._at:
                    self._add(f"{name} by numjobs", float(trait in traits), JOBS_SD, 0.0)
        for name, values in (("numjobs", space.numjobs), ("iodepth", space.iodepth)):
            if np.ptp(values) > 0:
                self._add(f"exponent of {name}", 1.0, 0.15, 0.1)
        for number, edge in enumerate(edges):
            half = 0.5 * np.log(edge.high / edge.low)
            self._add(f"capacity {number}", 0.5 * np.log(edge.high * edge.low), max(half * 0.7, 0.1), 0.0)
            self._add(f"steepness {number}", np.log(3.0), 1.0, 0.4)
            slower = float(np.log(max(edge.drop, 1.5)))
            for name in MISSED:
                if name in self._at:
                    sign = 1.0 if name in ("service", "transfer") else -1.0
                    self._add(f"miss {number} {name}", sign * 0.7 * slower, 0.8, 0.6)
            if edge.granular:
                self._add(f"granule {number}", float(np.log(GRANULE_BYTES)), GRANULE_SD, 0.0)
        factors = {f"step {number}": (above(space, step).astype(float), 1.0) for number, step in enumerate(self.steps)}
        smallest = _smallest_writes(space)
        self.smallest_writes = int(np.argmax(smallest))
        """A cell that the factor of the smallest writes applies to in full, where there is one."""
        if smallest.any():
            factors[SMALL_WRITES] = smallest, SMALL_WRITES_SD
        for name, (applies, sd) in factors.items():
            self._add_columns(name, applies[:, None], np.zeros(1), np.array([sd]))
        self._factors = tuple(factors)
        self.prior_mean = np.concatenate([q.mean for q in self._quantities])
        self.prior_sd = np.concatenate([q.sd for q in self._quantities])

    def _add(self, name: str, mean: float, sd: float, mode_sd: float) -> None:
        design = self._with_modes[:, :1] if mode_sd == 0 else self._with_modes
        width = design.shape[1]
        self._add_columns(name, design, np.r_[mean, np.zeros(width - 1)], np.r_[sd, np.full(width - 1, mode_sd)])

    def _add_columns(self, name: str, design: Floats, mean: Floats, sd: Floats) -> None:
        first = sum(q.design.shape[1] for q in self._quantities)
        quantity = _Quantity(name, first, design, mean, sd)
        self._quantities.append(quantity)
        self._at[name] = quantity

    def contrast(self, name: str, cell: int) -> Floats | None:
        """Weights that give the logarithm of this quantity at a cell from the parameter vector; None when the law has no such quantity."""
        quantity = self._at.get(name)
        if quantity is None:
            return None
        weights = np.zeros(len(self.prior_mean))
        weights[quantity.first : quantity.first + quantity.design.shape[1]] = quantity.design[cell]
        return weights

    def carried(self, other: Law, theta: Floats) -> Floats:
        """Parameters of another law of the same space as a place to start from: what both have, the prior elsewhere and where traits move it."""
        out = self.prior_mean.copy()
        for q in self._quantities:
            old = other._at.get(q.name)
            if old is not None and old.design.shape[1] == q.design.shape[1] and not (q.name.endswith("by numjobs") and old.mean[0] != q.mean[0]):
                out[q.first : q.first + q.design.shape[1]] = theta[old.first : old.first + old.design.shape[1]]
        return out

    def _view(self, rows: Ints) -> _View:
        if self._last is None or self._last.rows is not rows:
            designs = {q.name: q.design[rows] for q in self._quantities}
            logs = {name: np.log(values[rows]) for name, values in (("numjobs", self.space.numjobs), ("iodepth", self.space.iodepth))}
            footprints = [values[rows] for values in self._log_footprint]
            self._last = _View(rows, designs, self._log_bs[rows], logs, footprints, [inside[rows] for inside in self._applies], self.space.ordered[rows], np.where(self.in_pieces[rows], PIECE_SHARPNESS, 1.0))
        return self._last

    def _linear(self, theta: Floats, view: _View) -> dict[str, Floats]:
        return {q.name: view.designs[q.name] @ theta[q.first : q.first + q.design.shape[1]] for q in self._quantities}

    def _log_iops(self, phi: dict[str, Floats], view: _View, *, slopes: bool) -> tuple[Floats, dict[str, Floats]]:
        """Prediction and its derivative by each quantity, where slopes are asked for."""
        log_time, slope = self._log_time(phi, view, 0, slopes=slopes)
        for number in range(len(self.edges)):
            missed, missed_slope = self._log_time(phi, view, number + 1, slopes=slopes)
            steep = HIT_SHARPNESS * np.exp(np.minimum(np.maximum(phi[f"steepness {number}"], -2), 3.5))
            over = np.where(view.applies[number], steep * (view.log_footprint[number] - phi[f"capacity {number}"]), -60.0)
            log_hit = np.minimum(-np.logaddexp(0.0, over) / HIT_SHARPNESS, -1e-12)
            log_miss = np.log(-np.expm1(log_hit))
            mixed = np.logaddexp(log_hit + log_time, log_miss + missed)
            if not slopes:
                log_time = mixed
                continue
            from_hit = np.exp(log_hit + log_time - mixed)
            from_miss = 1 - from_hit
            by_over = -(from_hit - from_miss * np.exp(log_hit - log_miss)) / (1 + np.exp(np.minimum(-over, 60.0))) / HIT_SHARPNESS
            slope = {name: from_hit * slope.get(name, 0.0) + from_miss * missed_slope.get(name, 0.0) for name in {**slope, **missed_slope}}
            slope[f"steepness {number}"] = by_over * over * view.applies[number]
            slope[f"capacity {number}"] = -by_over * steep * view.applies[number]
            log_time = mixed
        for name in self._factors:
            log_time = log_time - phi[name]
            slope[name] = np.full(len(view.rows), -1.0)
        return -log_time, slope

    def _log_time(self, phi: dict[str, Floats], view: _View, missed: int, *, slopes: bool) -> tuple[Floats, dict[str, Floats]]:
        """Logarithm of the seconds per completed I/O with the misses of the first edges added, and its derivative by each quantity, where asked for."""

        def value(name: str) -> Floats:
            total = phi[name]
            for number in range(missed):
                total = total + phi[f"miss {number} {name}"]
            return total

        slope: dict[str, Floats] = {}
        # What part of a miss an I/O pays: all of it in random order, and where its block is beyond the granule.
        granules = {name: GRANULE_SHARPNESS * (phi[name] - view.log_bs) for name in (f"granule {number}" for number in range(missed)) if name in phi}
        paid = -sum(np.where(view.ordered, np.logaddexp(0.0, over) / GRANULE_SHARPNESS, 0.0) for over in granules.values())
        log_service = value("service") + paid
        fixed_share: Floats | float = 1.0
        if "transfer" in phi:
            transfer = value("transfer") + view.log_bs
            both = np.logaddexp(view.fold * log_service, view.fold * transfer) / view.fold
            fixed_share = np.exp(view.fold * (log_service - both))
            log_service = both
        sharp = np.exp(np.minimum(np.maximum(phi["sharpness"], -1), 3)) if "sharpness" in phi else np.full(len(view.rows), 3.0)
        log_n = sum((phi.get(f"exponent of {name}", 1.0) * values for name, values in view.log_n.items()), np.zeros(len(view.rows)))
        terms = [log_service - log_n]
        by_jobs = {name: phi.get(f"{name} by numjobs", 0.0) * view.log_n["numjobs"] for name in OWN}
        if "iops" in phi:
            terms += [log_service - value("servers") - by_jobs["servers"], paid - value("iops") - by_jobs["iops"]]
        if "bandwidth" in phi:
            terms.append(view.log_bs - value("bandwidth") - by_jobs["bandwidth"])
        table = np.stack(terms)
        top = table.max(axis=0)
        powers = np.exp(sharp * (table - top))
        total = powers.sum(axis=0)
        out = top + np.log(total) / sharp
        if not slopes:
            return out, slope
        shares = powers / total
        served = shares[0] + (shares[1] if "iops" in phi else 0.0)
        slope["service"] = served * fixed_share
        for name, over in granules.items():
            by_granule = -np.where(view.ordered, 1 / (1 + np.exp(-np.clip(over, -60, 60))), 0.0)
            slope[name] = (slope["service"] + (shares[2] if "iops" in phi else 0.0)) * by_granule
        if "transfer" in phi:
            slope["transfer"] = served * (1 - fixed_share)
        for name, values in view.log_n.items():
            if f"exponent of {name}" in phi:
                slope[f"exponent of {name}"] = -shares[0] * values
        if "iops" in phi:
            slope["servers"], slope["iops"] = -shares[1], -shares[2]
            slope["sharpness"] = np.sum(shares * table, axis=0) - out
        if "bandwidth" in phi:
            slope["bandwidth"] = -shares[-1]
        for name in OWN:
            if f"{name} by numjobs" in phi:
                slope[f"{name} by numjobs"] = slope[name] * view.log_n["numjobs"]
        for number in range(missed):
            for name in MISSED:
                if name in phi:
                    slope[f"miss {number} {name}"] = slope[name]
        return out, slope

    def predict(self, theta: Floats, rows: Ints) -> Floats:
        """Log I/Os per second of the cells `rows`, shape (len(rows),)."""
        view = self._view(rows)
        return self._log_iops(self._linear(theta, view), view, slopes=False)[0]

    def jacobian(self, theta: Floats, rows: Ints) -> tuple[Floats, Floats]:
        """(prediction, its derivative): shapes (n,) and (n, p)."""
        view = self._view(rows)
        base, slope = self._log_iops(self._linear(theta, view), view, slopes=True)
        blocks = [-slope[q.name][:, None] * view.designs[q.name] for q in self._quantities]
        return base, np.concatenate(blocks, axis=1)

    def fit(self, cells: Ints, log_iops: Floats, noise_var: Floats, start: Floats, iterations: int) -> Floats:
        """Most probable parameters for independent errors of variance `noise_var`, shape (n,); Levenberg-Marquardt."""
        theta = start.copy()
        scale = self.prior_sd
        weight = 1.0 / np.sqrt(noise_var)
        damping = 1e-2

        def cost(at: Floats) -> float:
            residual = (log_iops - self.predict(at, cells)) * weight
            # Huber's loss beyond 2.5 sd: one stalled reading must not bend the law.
            size = np.abs(residual)
            loss = np.where(size < 2.5, 0.5 * size**2, 2.5 * size - 3.125)
            return float(np.sum(loss) + 0.5 * np.sum(((at - self.prior_mean) / scale) ** 2))

        now, quiet = cost(theta), 0
        for _ in range(iterations):
            fitted, slope = self.jacobian(theta, cells)
            residual = (log_iops - fitted) * weight
            kept = np.sqrt(np.minimum(1.0, 2.5 / np.maximum(np.abs(residual), 1e-9)))
            rows = slope * (weight * kept)[:, None] * scale
            gradient = rows.T @ (residual * kept) - (theta - self.prior_mean) / scale
            normal = rows.T @ rows + np.eye(len(theta))
            for _ in range(8):
                step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), gradient) * scale
                step = np.minimum(np.maximum(step, -2.0), 2.0)
                tried = cost(theta + step)
                if tried < now:
                    break
                damping = max(damping * 4, 1e-3)
            else:
                break
            gained = now - tried
            theta, now, damping = theta + step, tried, damping / 8
            quiet = quiet + 1 if gained < 1e-4 * (1 + abs(now)) else 0
            if quiet == 2:
                break
        return theta


def traits_of(space: Space, cells: Ints) -> tuple[str, ...]:
    """The traits that readings of these cells can tell of."""
    found = [MODES_APART] if len(np.unique(space.mode[cells])) > 1 else []
    if np.ptp(space.numjobs[cells]) > 0:
        # At one depth m servers for each job cannot be told from more of them for all.
        found += [OWN["servers"]] if np.ptp(space.iodepth[cells]) > 0 else []
        found += [OWN["bandwidth"]] if np.ptp(space.block_bytes[cells]) > 0 else []
    for direction in space.directions:
        # Two block sizes do not tell a fixed time and a time per byte from pieces.
        if len(np.unique(space.block_bytes[cells[space.in_direction(direction)[cells]]])) > 2:
            found.append(PIECES + direction)
    return tuple(found)


def above(space: Space, step: Edge) -> NDArray[np.bool_]:
    """Which cells lie on the high side of a step along an axis of the space, in its direction; shape (n,)."""
    axis = space.axis_named(step.axis)
    assert axis is not None
    levels = np.array(space.axes[axis].levels, dtype=float)
    return np.asarray((levels[space.index[:, axis]] >= step.high) & space.in_direction(step.direction))


def _smallest_writes(space: Space) -> Floats:
    """How much of each cell's load writes less than a sector, or, where no block is as small, blocks of the smallest of three or more sizes: 0 to 1, shape (n,)."""
    blocks = np.unique(space.block_bytes)
    if len(blocks) < 3:
        return np.zeros(len(space))
    small = space.block_bytes < SECTOR_BYTES if blocks[0] < SECTOR_BYTES <= blocks[-1] else space.block_bytes == blocks[0]
    return space.written * small


def _mode_columns(space: Space) -> tuple[Floats, tuple[str, ...]]:
    """Contrasts of the categorical axes and of numeric axes without a role of their own; shape (n, columns)."""
    columns, names = [], []
    physical = {"bs_bytes", "bs", "size_bytes", "size", "numjobs", "iodepth", "footprint_bytes", "outstanding"}
    for number, axis in enumerate(space.axes):
        at = space.index[:, number]
        if not axis.numeric and len(axis.levels) == 2:
            columns.append(at - 0.5)
            names.append(f"{axis.name}={axis.levels[1]}")
        elif not axis.numeric and len(axis.levels) <= 24:
            for level, value in enumerate(axis.levels):
                columns.append((at == level).astype(float))
                names.append(f"{axis.name}={value}")
        elif axis.numeric and axis.name not in physical:
            columns.append(axis.place[at] - 0.5)
            names.append(axis.name)
    return (np.stack(columns, axis=1) if columns else np.zeros((len(space), 0))), tuple(names)
