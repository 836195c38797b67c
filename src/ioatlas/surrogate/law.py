# SPDX-License-Identifier: Apache-2.0
"""The mechanistic mean of a map: a closed queue with a fixed and a transfer time, two ceilings and a hit ratio.

An I/O takes t0 + bs * b of service; n outstanding I/Os keep up to m servers busy until a ceiling is met (asymptotic
bounds of a closed network: Denning and Buzen, Computing Surveys 10(3), 1978, section 6). Time per completed I/O:

    r = ( ((t0 + bs b) / n^a)^p + ((t0 + bs b) / m)^p + (1 / C)^p + (bs / B)^p )^(1/p)      p: how sharp the knee is

with C a ceiling in I/Os and B one in bytes per second; m, C and B grow with a power of `numjobs`: about 0 where all
jobs share them, about 1 where each has its own. A cache of capacity E on the way gives r = h r_hit + (1-h) r_miss,

    h = (1 + (F / E)^(4 k))^(-1/4)        F: footprint; k = 1 is uniform random access to an LRU cache, large k a cliff

Beyond a step along another axis r is multiplied by a factor of its own.

Every physical quantity is a common value times a factor for each level of each categorical axis, shrunk towards 1, so
directions and modes share what the data do not tell apart.

Variants are what a target has or has not; the readings decide (`change_points`):

    modes apart         the factors between modes are large: writes that wait for what reads find in a cache
    per-job queues      m and C are each job's: a connection, a queue pair or a thread for each
    per-job bandwidth   B is each job's
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ioatlas.model.map_model import ChangePoint
from ioatlas.surrogate.space import Floats, Ints, Space

T = TypeVar("T")

MODE_SD, MODES_APART_SD = 0.5, 1.5
"""Prior standard deviation of the log factor between modes: 1.6 either way; 4.5 where they are apart."""
GROWTH_SD = 0.3
"""Prior standard deviation of the power of numjobs that a limit grows with: about 0 where all jobs share it, about 1
where each has its own.
"""
HIT_SHARPNESS = 4.0
NEVER = 60.0
"""Logarithm of a limit that nothing meets, where the grid cannot tell of it."""
HUBER_SDS = 2.5
"""Residual beyond which a reading pulls the law no harder: one stalled reading must not bend it."""
DAMPINGS, LONGEST_STEP, QUIET_GAIN = 8, 2.0, 1e-4
"""Of Levenberg-Marquardt: dampings tried at a place, longest step of a parameter, gain of two steps that ends it."""
PHYSICAL_AXES = frozenset(
    {"bs_bytes", "bs", "size_bytes", "size", "numjobs", "iodepth", "footprint_bytes", "outstanding"}
)


class Variant(StrEnum):
    MODES_APART = "modes apart"
    PER_JOB_QUEUES = "per-job queues"
    PER_JOB_BANDWIDTH = "per-job bandwidth"


class _Record(Generic[T]):
    """A record whose fields are all of one type: parameter numbers, values of some cells, or derivatives."""

    def leaves(self) -> Iterator[T]:
        return (getattr(self, f.name) for f in fields(self))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Service(_Record[T]):
    """What serves an I/O, as logarithms: seconds, seconds per byte, I/Os at once, I/Os per second, bytes per second."""

    fixed: T
    per_byte: T
    servers: T
    iops: T
    bandwidth: T


@dataclass(frozen=True)
class Scaling(_Record[T]):
    """How limits meet (logarithm of p) and what grows with concurrency, as powers."""

    sharpness: T
    rate_by_jobs: T
    rate_by_depth: T
    servers_by_jobs: T
    iops_by_jobs: T
    bandwidth_by_jobs: T

    def by_jobs(self) -> dict[Variant, tuple[T, ...]]:
        """The powers that a variant moves from 0 to 1."""
        return {
            Variant.PER_JOB_QUEUES: (self.servers_by_jobs, self.iops_by_jobs),
            Variant.PER_JOB_BANDWIDTH: (self.bandwidth_by_jobs,),
        }


@dataclass(frozen=True)
class Behind(Generic[T]):
    """A cache on the way: logarithms of its capacity in bytes, of k, and of what its misses change of the service."""

    capacity: T
    steepness: T
    miss: Service[T]


@dataclass(frozen=True)
class Physics(Generic[T]):
    """All quantities of a law: of hits, then behind each cliff, then the logarithms of the steps' factors."""

    service: Service[T]
    scaling: Scaling[T]
    behind: tuple[Behind[T], ...]
    steps: tuple[T, ...]

    def parts(self) -> tuple[tuple[T, ...], ...]:
        """What laws with other change points have in common is the beginning of each part."""
        behind = (part for cache in self.behind for part in (cache.capacity, cache.steepness, *cache.miss.leaves()))
        return (*self.service.leaves(), *self.scaling.leaves()), tuple(behind), self.steps


class _Vector:
    """Collects the parameter vector: which columns make each quantity, and their prior."""

    def __init__(self, space: Space) -> None:
        self._ones = np.ones((len(space), 1))
        self._modes = np.hstack([self._ones, _mode_columns(space)])
        self.columns: list[Floats] = []
        self.mean: list[Floats] = []
        self.sd: list[Floats] = []
        self.given: list[float] = []
        self.owner: list[int] = []

    def add(self, mean: float, sd: float, mode_sd: float = 0.0) -> int:
        """A quantity with this prior, of each mode its own where mode_sd is given; returns its number."""
        columns = self._modes if mode_sd else self._ones
        means, sds = np.zeros(columns.shape[1]), np.full(columns.shape[1], mode_sd)
        means[0], sds[0] = mean, sd
        return self._append(columns, means, sds, 0.0)

    def factor(self, applies: Floats, sd: float) -> int:
        return self._append(applies[:, None], np.zeros(1), np.array([sd]), 0.0)

    def constant(self, value: float) -> int:
        """A quantity that these cells cannot tell."""
        return self._append(self._ones[:, :0], np.zeros(0), np.zeros(0), value)

    def _append(self, columns: Floats, mean: Floats, sd: Floats, given: float) -> int:
        number = len(self.given)
        self.columns.append(columns)
        self.mean.append(mean)
        self.sd.append(sd)
        self.given.append(given)
        self.owner += [number] * columns.shape[1]
        return number


@dataclass(frozen=True)
class _View:
    """What the law needs of some cells, looked up once. columns: (n, p)."""

    rows: Ints
    columns: Floats
    log_bs: Floats
    log_jobs: Floats
    log_depth: Floats
    log_footprint: list[Floats]
    applies: list[NDArray[np.bool_]]


class Law:
    """The law over all cells of a space. Parameters are a vector of logarithms (except powers), shape (p,)."""

    def __init__(
        self,
        space: Space,
        cells: Ints,
        log_iops: Floats,
        change_points: tuple[ChangePoint, ...] = (),
        variants: frozenset[Variant] = frozenset(),
    ) -> None:
        """cells, log_iops: the readings that the prior takes its scale from."""
        self.variants = variants
        self.space = space
        self.cliffs = tuple(point for point in change_points if not point.axis)
        self.steps = tuple(point for point in change_points if point.axis)
        vector = _Vector(space)
        service, told = _service(vector, space, cells, log_iops, variants)
        self.physics: Physics[int] = Physics(
            service,
            _scaling(vector, space, told, variants),
            tuple(_behind(vector, cliff, told) for cliff in self.cliffs),
            tuple(vector.factor(above(space, step).astype(float), 1.0) for step in self.steps),
        )
        self.prior_mean = np.concatenate(vector.mean)
        self.prior_sd = np.concatenate(vector.sd)
        self._columns = np.hstack(vector.columns)
        self._owner = np.array(vector.owner, dtype=np.int64)
        self._given = np.array(vector.given)
        # The numbers of a record, in the order of its fields.
        self._service = np.array([*service.leaves()])
        self._scaling = np.array([*self.physics.scaling.leaves()])
        self._misses = [np.array([*behind.miss.leaves()]) for behind in self.physics.behind]
        self._membership = (self._owner[:, None] == np.arange(len(self._given))).astype(float)
        self._last: _View | None = None

    def carried(self, other: Law, theta: Floats) -> Floats:
        """Parameters of a law of the same space with other change points or variants as a place to start from."""
        out = self.prior_mean.copy()
        for mine, old in zip(self.physics.parts(), other.physics.parts(), strict=True):
            # The first of each kind are the same; further ones are new.
            for number, old_number in zip(mine, old, strict=False):
                out[self._owner == number] = theta[other._owner == old_number]
        for variant, numbers in self.physics.scaling.by_jobs().items():
            if (variant in self.variants) != (variant in other.variants):
                moved = np.isin(self._owner, numbers)
                out[moved] = self.prior_mean[moved]
        return out

    def _view(self, rows: Ints) -> _View:
        if self._last is None or self._last.rows is not rows:
            space = self.space
            log_jobs = np.log(space.numjobs[rows])
            self._last = _View(
                rows,
                self._columns[rows],
                np.log(space.block_bytes[rows]),
                log_jobs,
                np.log(space.iodepth[rows]),
                [np.log(space.size_bytes[rows]) + cliff.exponent * log_jobs for cliff in self.cliffs],
                [space.in_direction(cliff.direction)[rows] for cliff in self.cliffs],
            )
        return self._last

    def _log_time(self, theta: Floats, view: _View) -> tuple[Floats, Floats]:
        """Logarithm of the seconds per completed I/O, (n,), and its derivative by each quantity, (quantities, n)."""
        phi = ((view.columns * theta) @ self._membership).T + self._given[:, None]
        at = self.physics
        scaling, service = phi[self._scaling], phi[self._service]
        slope = np.zeros_like(phi)
        log_time, by_service, by_scaling = _queue(service, scaling, view)
        slope[self._service] = by_service
        slope[self._scaling] = by_scaling
        for number, behind in enumerate(at.behind):
            service = service + phi[self._misses[number]]
            missed, by_service, by_scaling = _queue(service, scaling, view)
            steep = HIT_SHARPNESS * np.exp(np.minimum(np.maximum(phi[behind.steepness], -2), 3.5))
            over = steep * (view.log_footprint[number] - phi[behind.capacity])
            over = np.where(view.applies[number], over, -NEVER)
            log_hit = np.minimum(-np.logaddexp(0.0, over) / HIT_SHARPNESS, -1e-12)
            log_miss = np.log(-np.expm1(log_hit))
            mixed = np.logaddexp(log_hit + log_time, log_miss + missed)
            from_hit = np.exp(log_hit + log_time - mixed)
            from_miss = 1 - from_hit
            by_hit = from_hit - from_miss * np.exp(log_hit - log_miss)
            by_over = -by_hit / (1 + np.exp(np.minimum(-over, NEVER))) / HIT_SHARPNESS * view.applies[number]
            slope *= from_hit
            by_service *= from_miss
            for numbers in (self._service, *self._misses[: number + 1]):
                slope[numbers] += by_service
            slope[self._scaling] += by_scaling * from_miss
            slope[behind.steepness] = by_over * over
            slope[behind.capacity] = -by_over * steep
            log_time = mixed
        for step in at.steps:
            log_time = log_time - phi[step]
            slope[step] = -1.0
        return log_time, slope

    def predict(self, theta: Floats, rows: Ints) -> Floats:
        """Log I/Os per second of the cells `rows`, shape (len(rows),)."""
        return -self._log_time(theta, self._view(rows))[0]

    def jacobian(self, theta: Floats, rows: Ints) -> tuple[Floats, Floats]:
        """(prediction, its derivative): shapes (n,) and (n, p)."""
        view = self._view(rows)
        log_time, slope = self._log_time(theta, view)
        return -log_time, -slope[self._owner].T * view.columns

    def fit(self, cells: Ints, log_iops: Floats, noise_var: Floats, start: Floats, iterations: int) -> Floats:
        """Most probable parameters for independent errors of variance `noise_var`, shape (n,); Levenberg-Marquardt.

        With Huber's loss.
        """
        weight, view = 1.0 / np.sqrt(noise_var), self._view(cells)
        longest = LONGEST_STEP / self.prior_sd

        def at(z: Floats) -> tuple[float, Floats, Floats]:
            """(cost, residuals, derivative of the time by each quantity): so a step taken is not looked at again."""
            log_time, slope = self._log_time(self.prior_mean + z * self.prior_sd, view)
            residual = (log_iops + log_time) * weight
            size = np.abs(residual)
            loss = np.where(size < HUBER_SDS, 0.5 * size**2, HUBER_SDS * (size - 0.5 * HUBER_SDS))
            return float(np.sum(loss) + 0.5 * np.sum(z**2)), residual, slope

        z = (start - self.prior_mean) / self.prior_sd
        (now, residual, slope), damping, quiet = at(z), 1e-2, 0
        for _ in range(iterations):
            kept = np.sqrt(np.minimum(1.0, HUBER_SDS / np.maximum(np.abs(residual), 1e-9)))
            rows = -slope[self._owner].T * view.columns * (weight * kept)[:, None] * self.prior_sd
            gradient, normal = rows.T @ (residual * kept) - z, rows.T @ rows + np.eye(len(z))
            for _ in range(DAMPINGS):
                np.fill_diagonal(damped := normal.copy(), (1 + damping) * np.diag(normal))
                step = np.minimum(np.maximum(np.linalg.solve(damped, gradient), -longest), longest)
                tried, residual_there, slope_there = at(z + step)
                if tried < now:
                    break
                damping = max(damping * 4, 1e-3)
            else:
                break
            quiet = quiet + 1 if now - tried < QUIET_GAIN * (1 + abs(tried)) else 0
            z, now, residual, slope, damping = z + step, tried, residual_there, slope_there, damping / 8
            if quiet == 2:
                break
        return self.prior_mean + z * self.prior_sd


def _queue(service: Floats, scaling: Floats, view: _View) -> tuple[Floats, Floats, Floats]:
    """Logarithm of the seconds per completed I/O, and its derivatives; rows are the fields of `Service`, `Scaling`."""
    fixed, per_byte, servers, iops, bandwidth = service
    sharpness, rate_by_jobs, rate_by_depth, servers_by_jobs, iops_by_jobs, bandwidth_by_jobs = scaling
    log_service = np.logaddexp(fixed, per_byte + view.log_bs)
    fixed_share = np.exp(fixed - log_service)
    sharp = np.exp(np.minimum(np.maximum(sharpness, -1), 3))
    table = np.empty((4, len(log_service)))
    table[0] = log_service - rate_by_jobs * view.log_jobs - rate_by_depth * view.log_depth
    table[1] = log_service - servers - servers_by_jobs * view.log_jobs
    table[2] = -iops - iops_by_jobs * view.log_jobs
    table[3] = view.log_bs - bandwidth - bandwidth_by_jobs * view.log_jobs
    top = table.max(axis=0)
    powers = np.exp(sharp * (table - top))
    total = powers.sum(axis=0)
    log_time = top + np.log(total) / sharp
    powers /= total
    by_rate = powers[0]
    by_service, by_scaling = np.empty_like(service), np.empty_like(scaling)
    served = by_rate + powers[1]
    by_service[0] = served * fixed_share
    by_service[1] = served - by_service[0]
    np.negative(powers[1:], out=by_service[2:])
    by_scaling[0] = (powers * table).sum(axis=0) - log_time
    np.multiply(by_rate, -view.log_jobs, out=by_scaling[1])
    np.multiply(by_rate, -view.log_depth, out=by_scaling[2])
    np.multiply(powers[1:], -view.log_jobs, out=by_scaling[3:])
    return log_time, by_service, by_scaling


@dataclass(frozen=True)
class _Told:
    """Which axes of a grid vary: without a varied block the transfer time is part of the fixed time and the two
    ceilings
    are one; without varied concurrency there is no knee.
    """

    block: bool
    load: bool


def _service(
    vector: _Vector, space: Space, cells: Ints, log_iops: Floats, variants: frozenset[Variant]
) -> tuple[Service[int], _Told]:
    """The service of hits; its prior lies where the readings are."""
    log_bs, log_n = np.log(space.block_bytes), np.log(space.outstanding)
    told = _Told("block" in space.known and bool(np.ptp(log_bs) > 0), bool(np.ptp(log_n) > 0))
    work = log_n[cells] - log_iops
    log_jobs = np.log(space.numjobs)
    queues = log_jobs if Variant.PER_JOB_QUEUES in variants else np.zeros(len(space))
    links = log_jobs if Variant.PER_JOB_BANDWIDTH in variants else np.zeros(len(space))
    mode_sd = MODES_APART_SD if Variant.MODES_APART in variants else MODE_SD

    def add(mean: float, sd: float, known: bool, otherwise: float) -> int:
        return vector.add(mean, sd, mode_sd) if known else vector.constant(otherwise)

    return Service(
        fixed=add(float(np.quantile(work, 0.2)), 2.0, True, 0.0),
        per_byte=add(float(np.quantile(work - log_bs[cells], 0.1)), 1.5, told.block, -NEVER),
        servers=add(float(np.quantile(log_n - queues, 0.75)), 1.5, told.load, NEVER),
        iops=add(float(np.max(log_iops - queues[cells])) + 0.5, 1.5, told.load, NEVER),
        bandwidth=add(float(np.max(log_iops + log_bs[cells] - links[cells])) + 0.2, 1.0, told.block, NEVER),
    ), told


def variants_of(space: Space, cells: Ints) -> list[Variant]:
    """The variants that readings of these cells can tell of."""
    found = [Variant.MODES_APART] if len(np.unique(space.mode[cells])) > 1 else []
    if np.ptp(space.numjobs[cells]) > 0:
        # At one depth m servers for each job cannot be told from more of them for all.
        found += [Variant.PER_JOB_QUEUES] if np.ptp(space.iodepth[cells]) > 0 else []
        found += [Variant.PER_JOB_BANDWIDTH] if np.ptp(space.block_bytes[cells]) > 0 else []
    return found


def _scaling(vector: _Vector, space: Space, told: _Told, variants: frozenset[Variant]) -> Scaling[int]:
    jobs, depth = bool(np.ptp(space.numjobs) > 0), bool(np.ptp(space.iodepth) > 0)

    def grows(known: bool, each: Variant) -> int:
        power = float(each in variants)
        return vector.add(power, GROWTH_SD) if known else vector.constant(0.0)

    return Scaling(
        sharpness=vector.add(np.log(3.0), 0.6) if told.load else vector.constant(np.log(3.0)),
        rate_by_jobs=vector.add(1.0, 0.15, 0.1) if jobs else vector.constant(1.0),
        rate_by_depth=vector.add(1.0, 0.15, 0.1) if depth else vector.constant(1.0),
        servers_by_jobs=grows(jobs, Variant.PER_JOB_QUEUES),
        iops_by_jobs=grows(jobs, Variant.PER_JOB_QUEUES),
        bandwidth_by_jobs=grows(jobs and told.block, Variant.PER_JOB_BANDWIDTH),
    )


def _behind(vector: _Vector, cliff: ChangePoint, told: _Told) -> Behind[int]:
    slower = 0.7 * float(np.log(max(cliff.drop, 1.5)))

    def miss(mean: float, known: bool) -> int:
        return vector.add(mean, 0.8, 0.6) if known else vector.constant(0.0)

    return Behind(
        vector.add(0.5 * np.log(cliff.high * cliff.low), max(0.35 * np.log(cliff.high / cliff.low), 0.1)),
        vector.add(np.log(3.0), 1.0, 0.4),
        Service(
            miss(slower, True),
            miss(slower, told.block),
            miss(-slower, told.load),
            miss(-slower, told.load),
            miss(-slower, told.block),
        ),
    )


def above(space: Space, step: ChangePoint) -> NDArray[np.bool_]:
    """Which cells lie on the high side of a step along an axis of the space, in its direction; shape (n,)."""
    axis = space.axis_named(step.axis)
    assert axis is not None
    levels = np.array(space.axes[axis].levels, dtype=float)
    return np.asarray((levels[space.index[:, axis]] >= step.high) & space.in_direction(step.direction))


def _mode_columns(space: Space) -> Floats:
    """Contrasts of the categorical axes and of numeric axes without a role of their own; shape (n, columns)."""
    columns: list[Floats] = [np.zeros((len(space), 0))]
    for number, axis in enumerate(space.axes):
        at = space.index[:, number]
        if not axis.numeric and len(axis.levels) == 2:
            columns.append(np.asarray(at[:, None] - 0.5, dtype=np.float64))
        elif not axis.numeric and len(axis.levels) <= 24:
            columns.append((at[:, None] == np.arange(len(axis.levels))).astype(float))
        elif axis.numeric and axis.name not in PHYSICAL_AXES:
            columns.append(np.asarray(axis.place[at][:, None] - 0.5, dtype=np.float64))
    return np.hstack(columns)
