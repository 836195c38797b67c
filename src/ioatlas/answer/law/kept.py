# SPDX-License-Identifier: Apache-2.0
"""A fitted law as a record, and back: what it tells needs no fitting then."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from ioatlas.answer.law.course import Course, Noise
from ioatlas.answer.law.fit import DRAWS, Fit
from ioatlas.answer.law.model import Limiter, Shape, Stack, Unit

VERSION = 20
"""Raised with every change after which a law of the same loads may be another one."""


def record_of(fit: Fit) -> dict[str, Any]:
    """The law and which loads it rests on, as JSON."""
    shape = fit.shape
    return {
        "version": VERSION,
        "loads": _digest(fit.courses),
        "taught": [place for place, course in enumerate(fit.courses) if course.taught],
        "ways": list(shape.ways),
        "seek": shape.seek,
        "drift": shape.drift,
        "limiters": [[one.unit, list(one.ways), one.refills, one.each] for one in shape.limiters],
        "theta": fit.theta.tolist(),
        "covariance": fit.covariance.tolist(),
        "noise": [fit.noise.between, fit.noise.spread, *fit.noise.within.tolist()],
        "evidence": fit.evidence,
        "draws": fit.draws.tolist(),
        "rivals": [record_of(rival) for rival in fit.rivals],
    }


def fit_of(record: Mapping[str, Any], courses: Sequence[Course]) -> Fit | None:
    """The law that was kept; None for one of another version, of other loads, or that is none."""
    if record.get("version") != VERSION or record.get("loads") != _digest(courses):
        return None
    try:
        if {unit for unit, *_ in record["limiters"]} - set(get_args(Unit)):
            return None
        limiters = tuple(Limiter(unit, tuple(ways), *map(bool, more)) for unit, ways, *more in record["limiters"])
        shape = Shape(tuple(record["ways"]), bool(record["seek"]), limiters, bool(record["drift"]))
        theta, covariance = (np.array(record[name], dtype=float) for name in ("theta", "covariance"))
        noise = np.array(record["noise"], dtype=float)
        places, evidence = set(record["taught"]), float(record["evidence"])
        made = tuple(replace(one, fits=place in places) for place, one in enumerate(courses))
        draws = np.array(record["draws"], dtype=float)
        numbers = np.concatenate([theta, covariance.ravel(), draws.ravel(), noise, (evidence,)])
        size = len(shape.names)
        shapes = (theta.shape, covariance.shape, draws.shape, noise.shape)
        if (
            shapes != ((size,), (size, size), (DRAWS, size), (2 + sum(one.taught for one in made),))
            or not np.isfinite(numbers).all()
        ):
            return None
        rivals = tuple(fit for one in record["rivals"] if (fit := fit_of(one, courses)) is not None)
        if len(rivals) != len(record["rivals"]):
            return None
        spread, stack = Noise(noise[2:], *map(float, noise[:2])), Stack.of(made, shape.ways)
        return Fit(shape, theta, covariance, spread, evidence, made, stack, rivals, draws=draws)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _digest(courses: Sequence[Course]) -> str:
    """Of what was seen, to the last bit."""
    found = hashlib.sha256()
    for one in courses:
        moments = (one.start, one.moved, one.ended)
        found.update(repr((one.cell.key, one.direction, one.visit_id, one.counted, *map(float, moments))).encode())
        found.update(one.edges.tobytes() + one.done.tobytes())
    return found.hexdigest()
