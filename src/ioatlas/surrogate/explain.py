# SPDX-License-Identifier: Apache-2.0
"""The law's parameters with intervals, mode by mode: fixed cost of an I/O, bandwidth, parallelism, ceilings, cache
sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp, log, sqrt

import numpy as np

from ioatlas.model.map_model import Parameter
from ioatlas.surrogate.law import Law, Service
from ioatlas.surrogate.space import Floats
from ioatlas.surrogate.surrogate import Surrogate

NORMAL_90 = 1.6448536269514722
LEARNT = 0.6
"""A parameter is known when the readings left less than this share of its prior's standard deviation."""


@dataclass(frozen=True)
class _Said:
    """How a quantity is told: its name and unit, and -1 where the inverse is told."""

    words: str
    unit: str
    sign: int = 1


TOLD = Service(
    fixed=_Said("fixed time of an I/O", "seconds"),
    per_byte=_Said("bandwidth of one stream", "bytes/s", -1),
    servers=_Said("I/Os served at once", "I/Os"),
    iops=_Said("ceiling in I/Os", "I/Os/s"),
    bandwidth=_Said("ceiling in bytes", "bytes/s"),
)


@dataclass(frozen=True)
class _Believed:
    """The law's parameters: most probable values (p,), their covariance and that of the prior, (p, p)."""

    mean: Floats
    covariance: Floats
    prior: Floats

    def told(self, said: _Said, mode: str, weights: Floats, log_value: float | None = None) -> Parameter:
        """weights: derivative of the logarithm by the parameters. log_value: the logarithm where it is not linear in
        them.
        """
        centre = said.sign * (float(weights @ self.mean) if log_value is None else log_value)
        sd = sqrt(max(float(weights @ self.covariance @ weights), 0.0))
        known = sd < LEARNT * sqrt(float(weights @ self.prior @ weights))
        low, value, high = (exp(min(max(centre + side * NORMAL_90 * sd, -60.0), 60.0)) for side in (-1, 0, 1))
        return Parameter(said.words, mode, value, low, high, said.unit, known)


def explain(model: Surrogate) -> tuple[Parameter, ...]:
    """Parameters of the whole map, then of each `rw` (or of all cells), with 90% intervals: Laplace approximation, the
    residual process included.

    Without a varied block size or concurrency the parameters that would need it are left out. `known` is False where
    the
    prior, not the readings, gives the value: print it as unknown.
    """
    law = model.law
    if law is None:
        return ()
    half = model.posterior.whiten(model.slope)
    mean = law.prior_mean + law.prior_sd * (model.slope.T @ model.posterior.alpha)
    covariance = (np.eye(len(mean)) - half.T @ half) * np.outer(law.prior_sd, law.prior_sd)
    believed = _Believed(mean, covariance, np.diag(law.prior_sd**2))
    found = []
    for cliff, behind in zip(law.cliffs, law.physics.behind, strict=True):
        said = _Said(f"cache edge on {'size * numjobs' if cliff.exponent else 'size'}", "bytes")
        weights = law.contrast(behind.capacity, 0)
        if weights is not None:
            found.append(believed.told(said, cliff.direction, weights))
    for mode, cell in _modes(model):
        found += _of_mode(law, believed, mode, cell)
    return (*found, *_growth(law, believed))


def _of_mode(law: Law, believed: _Believed, mode: str, cell: int) -> Iterator[Parameter]:
    """What serves the I/Os of one mode; cell: one of it."""
    longer, by_servers = _alone(law, believed.mean, cell)
    service = law.physics.service
    for said, number in zip(TOLD.leaves(), service.leaves(), strict=True):
        weights = law.contrast(number, cell)
        if weights is None:
            continue
        log_value = float(weights @ believed.mean)
        if number in (service.fixed, service.per_byte, service.servers):
            log_value, weights = log_value + longer, weights + by_servers
        told = believed.told(said, mode, weights, log_value)
        yield replace(told, low=max(told.low, 1.0)) if number == service.servers else told


def _growth(law: Law, believed: _Believed) -> Iterator[Parameter]:
    """How limits grow with the number of jobs, where the readings tell that they do."""
    for words, number in (
        ("I/Os served at once with two jobs, times those with one", law.physics.scaling.servers_by_jobs),
        ("ceiling in I/Os with two jobs, times that with one", law.physics.scaling.iops_by_jobs),
        ("ceiling in bytes with two jobs, times that with one", law.physics.scaling.bandwidth_by_jobs),
    ):
        power = law.contrast(number, 0)
        if power is not None:
            told = believed.told(_Said(words, "times"), "", log(2) * power)
            # A factor of one explains nothing.
            yield replace(told, known=told.known and not told.low <= 1.0 <= told.high)


def _alone(law: Law, mean: Floats, cell: int) -> tuple[float, Floats]:
    """(logarithm of the time of a lone I/O over t0, its derivative by the parameters).

    The law divides t0 by n and by m servers, so that a lone I/O takes t0 (1 + m^-p)^(1/p): for one server and fewer
    that is not t0, which is then nobody's time. Told are the time a lone I/O takes and how many such are served at
    once, (1 + m^p)^(1/p), at least one.
    """
    servers = law.contrast(law.physics.service.servers, cell)
    sharpness = law.contrast(law.physics.scaling.sharpness, cell)
    if servers is None or sharpness is None:
        return 0.0, np.zeros(len(mean))
    power, log_m = exp(min(max(float(sharpness @ mean), -1.0), 3.0)), float(servers @ mean)
    return float(np.logaddexp(0.0, -power * log_m)) / power, -servers / (1 + exp(min(power * log_m, 60.0)))


def _modes(model: Surrogate) -> list[tuple[str, int]]:
    """(name, a cell of it) for each rw; other categorical axes at the level most of the training cells have."""
    rw = model.space.axis_named("rw")
    if rw is None:
        return [("", int(model.training.cells[0]))]
    found = []
    for level, name in enumerate(model.space.axes[rw].levels):
        trained = model.training.cells[model.space.mode[model.training.cells] == level]
        if len(trained):
            found.append(("without rw" if name is None else str(name), int(trained[0])))
    return found
