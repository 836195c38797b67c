# SPDX-License-Identifier: Apache-2.0
"""The law's parameters with intervals, mode by mode: fixed cost of an I/O, bandwidth, parallelism, ceilings, cache sizes."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt

import numpy as np

from ioatlas.surrogate.law import OWN, SMALL_WRITES, Law, Parameter
from ioatlas.surrogate.space import Floats
from ioatlas.surrogate.surrogate import Surrogate

UNITS = {
    "service": ("fixed time of an I/O", "seconds", 1),
    "transfer": ("bandwidth of one stream", "bytes/s", -1),
    "servers": ("I/Os served at once", "I/Os", 1),
    "iops": ("ceiling in I/Os", "I/Os/s", 1),
    "bandwidth": ("ceiling in bytes", "bytes/s", 1),
}
NORMAL_90 = 1.6448536269514722
LEARNT = 0.6
"""A parameter is known when the readings left less than this share of its prior's standard deviation."""


def explain(model: Surrogate) -> tuple[Parameter, ...]:
    """Parameters of the whole map, then of each `rw` (or of all cells), with 90% intervals: Laplace approximation, the residual process included.

    Without a varied block size or concurrency the parameters that would need it are left out. `known` is False where the
    prior, not the readings, gives the value: print it as unknown.
    """
    law = model.law
    if law is None:
        return ()
    half = model.posterior.whiten(model.slope)
    mean = law.prior_mean + law.prior_sd * (model.slope.T @ model.posterior.alpha)
    covariance = (np.eye(len(mean)) - half.T @ half) * np.outer(law.prior_sd, law.prior_sd)
    prior = np.diag(law.prior_sd**2)
    found = []
    for number, edge in enumerate(law.edges):
        along = f"cache edge on {'size * numjobs' if edge.exponent else 'size'}"
        for words, name in ((along, f"capacity {number}"), ("what a miss behind it fetches at a time", f"granule {number}")):
            weights = law.contrast(name, 0)
            if weights is not None:
                found.append(_parameter(words, edge.direction, "bytes", 1, float(weights @ mean), weights, covariance, prior))
    small = law.contrast(SMALL_WRITES, law.smallest_writes)
    if small is not None:
        told = _parameter("time of the smallest writes, times what others lead to expect", "", "times", -1, float(small @ mean), small, covariance, prior)
        # A factor of one explains nothing.
        found.append(replace(told, known=told.known and not told.low <= 1.0 <= told.high))
    of_modes, limits = [], set()
    for mode, column in _modes(model):
        longer, by_servers = _alone(law, mean, column)
        for name, (words, unit, sign) in UNITS.items():
            weights = law.contrast(name, column)
            if weights is not None:
                log_value = float(weights @ mean)
                if name in ("service", "transfer", "servers"):
                    log_value, weights = log_value + longer, weights + by_servers
                trait = OWN.get(name)
                whose = ", of each job" if trait in law.traits else ""
                told = _parameter(words + whose, mode, unit, sign, log_value, weights, covariance, prior)
                of_modes.append(replace(told, low=max(told.low, 1.0)) if name == "servers" else told)
                if told.known and trait is not None:
                    limits.add(trait)
        service, transfer = law.contrast("service", column), law.contrast("transfer", column)
        if service is not None and transfer is not None and law.in_pieces[column]:
            piece = service - transfer
            of_modes.append(_parameter("I/Os are served in pieces of", mode, "bytes", 1, float(piece @ mean), piece, covariance, prior))
    for words, name in (("limits in I/Os with two jobs, times those with one", "servers"), ("ceiling in bytes with two jobs, times that with one", "bandwidth")):
        power = law.contrast(f"{name} by numjobs", 0)
        if power is not None and OWN[name] in law.traits:
            told = _parameter(words, "", "times", 1, log(2) * float(power @ mean), log(2) * power, covariance, prior)
            # The readings asked for the trait; a limit that none of them met has no growth to tell.
            found.append(replace(told, known=OWN[name] in limits))
    return (*found, *of_modes)


def _alone(law: Law, mean: Floats, cell: int) -> tuple[float, Floats]:
    """(logarithm of the time of a lone I/O over t0, its derivative by the parameters).

    The law divides t0 by n and by m servers, so that a lone I/O takes t0 (1 + m^-p)^(1/p): for one server and fewer that is not t0, which is then
    nobody's time. Told are the time a lone I/O takes and how many such are served at once, (1 + m^p)^(1/p), at least one.
    """
    servers, sharpness = law.contrast("servers", cell), law.contrast("sharpness", cell)
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


def _parameter(words: str, mode: str, unit: str, sign: int, log_value: float, weights: Floats, covariance: Floats, prior: Floats) -> Parameter:
    """weights: derivative of the logarithm by the law's parameters."""
    centre = sign * log_value
    sd = sqrt(max(float(weights @ covariance @ weights), 0.0))
    known = sd < LEARNT * sqrt(float(weights @ prior @ weights))
    low, value, high = (exp(min(max(centre + side * NORMAL_90 * sd, -60.0), 60.0)) for side in (-1, 0, 1))
    return Parameter(words, mode, value, low, high, unit, known)

