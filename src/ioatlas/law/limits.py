# SPDX-License-Identifier: Apache-2.0
"""What limits a cell, read off the law: the part that takes most of an I/O's time; and credit that ran out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from ioatlas.law.course import Floats
from ioatlas.law.fit import Fit
from ioatlas.law.model import Limiter, Loads, Shape, seconds_alone, seconds_of_bytes, seconds_of_ios
from ioatlas.law.told import TOLD_SECONDS, loads_of, tell
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Limit
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.units import format_count, format_duration, format_rate, format_size_rounded

NEXT = 1.5
"""Times the next part that the largest must be to be named alone."""
UNKNOWN = 0.7
"""Standard deviation of a part's logarithm beyond which nothing was learned of it."""
MOST_SURE = 0.99
"""How sure a law can make anybody: it may lack a part."""
AT_LINK = 0.03
LINKS = frozenset({"link", "network path"})


def limit_of(fit: Fit, cell: Cell, direction: str, bounds: Sequence[tuple[str, float]] = ()) -> Limit:
    """bounds: (resource, bytes a second) that are known of the path."""
    told = tell(fit, cell, direction)
    value = told.value * cell.bs_bytes
    for resource, most in bounds:
        if resource in LINKS and abs(value / most - 1) <= AT_LINK:
            text = f"the {resource} carries {format_rate(most)}"
            return Limit(resource, min(1.0, value / most), evidence=(text,), probability=0.95)
    parts = sorted(_parts(fit, cell, direction), key=lambda one: -one[1])
    (name, most, spread), (rival, other, _) = parts[:2]
    if most < NEXT * other:
        return Limit(evidence=(f"{_told(name)} and {_told(rival)} both hold it back, about as much",))
    if spread > UNKNOWN:
        return Limit(evidence=(f"{_told(name)}, most likely, but no load showed how far it goes",))
    text = _evidence(fit, name, cell, direction, value)
    if not told.by_law and told.off and round(told.off, 2):
        text += f", by the law of the target, from which its loads differ by {math.expm1(told.off):+.0%}"
    ahead = math.log(most / max(other, 1e-12)) / max(spread, 0.1)
    sure = MOST_SURE * 0.5 * (1 + math.erf(ahead / math.sqrt(2)))
    return Limit(name, None, rival, other / most, (text,), sure)


def _parts(fit: Fit, cell: Cell, direction: str) -> Iterator[tuple[str, float, float]]:
    """(name, seconds an I/O that it alone would take, standard deviation of their logarithm) of each part."""
    loads = loads_of(fit.shape, cell, direction)
    outstanding = float(cell.outstanding)

    def of(seconds: Callable[[Shape, Floats, Loads], Floats], each: float = 1.0) -> tuple[float, float]:
        step = 1e-4
        points = np.concatenate([fit.theta[None, :], fit.theta + step * np.eye(fit.theta.size)])
        logs = np.log(seconds(fit.shape, points, loads)[:, 0] / each)
        slope = (logs[1:] - logs[0]) / step
        return math.exp(float(logs[0])), math.sqrt(max(0.0, float(slope @ fit.covariance @ slope)))

    yield "latency", *of(seconds_alone, outstanding)
    yield "target IOPS", *of(seconds_of_ios)
    yield "target bandwidth", *of(seconds_of_bytes)
    for number, limiter in enumerate(fit.shape.limiters):
        if limiter.covers(direction):
            place = fit.shape.index[f"{number}.rate"]
            seconds = limiter.size(float(cell.bs_bytes)) / math.exp(fit.theta[place])
            name = "rate limit in bytes" if limiter.unit == "bytes" else "rate limit in I/Os"
            yield name, seconds, math.sqrt(float(fit.covariance[place, place]))


def _told(name: str) -> str:
    return {"latency": "latency", "target IOPS": "its IOPS", "target bandwidth": "its bandwidth"}.get(name, f"a {name}")


def _evidence(fit: Fit, name: str, cell: Cell, direction: str, value: float) -> str:
    """value: bytes a second that are told of the cell; no most is less."""
    shape, theta = fit.shape, fit.theta
    if name == "latency":
        alone = float(seconds_alone(shape, theta[None, :], loads_of(shape, cell, direction))[0, 0])
        return f"an I/O alone takes {alone * 1000:.3g} ms; more in flight gives more"
    if name == "target IOPS":
        most = max(math.exp(theta[shape.index[f"{direction}.iops"]]), value / cell.bs_bytes)
        return f"the target makes {format_count(most)} IOPS at most"
    if name == "target bandwidth":
        most = max(math.exp(theta[shape.index[f"{direction}.bytes"]]), value)
        return f"the target moves {format_rate(most)} at most"
    return "loads fell to this rate once their credit was used up"


# -- credit --------------------------------------------------------------------------------------------------


def burst_findings(fits: Mapping[str, Fit]) -> tuple[Finding, ...]:
    """What a target does after a pause, for how long, and when it can again."""
    found = []
    several = len(fits) > 1
    for target, fit in fits.items():
        for number, limiter in enumerate(fit.shape.limiters):
            rate, size, more = (
                float(fit.shape.value(fit.theta, f"{number}.{part}")) for part in ("rate", "size", "peak")
            )
            if size < TOLD_SECONDS * rate or not all(_has_like(rival, limiter) for rival in fit.rivals):
                continue
            ways = " and ".join(f"{way}s" for way in limiter.ways)
            on = f" on {target}" if several else ""
            fast = _fastest(fit, number)
            told, amount = _rate_words(limiter, size)
            peak = told(min(rate + more, fast)) if fast else told(rate + more)
            if limiter.refills:
                back = format_duration(size / rate)
                text = f"After a pause {ways}{on} run at {peak} for the first {amount}, then at {told(rate)}. "
                text += f"The credit is back after {back} without load."
            else:
                text = f"The first {amount} of {ways}{on} run at {peak}, what follows at {told(rate)}."
            direction = limiter.ways[0] if len(limiter.ways) == 1 else ""
            title = f"After a pause, {ways}{on}"
            found.append(Finding(FindingCode.BURST, text, title=title, target=target, direction=direction))
    return tuple(found)


def _has_like(fit: Fit, limiter: Limiter) -> bool:
    """Whether a law has such a limiter too. Of one block size nobody knows whether bytes are limited or I/Os."""
    return any((one.ways, one.refills) == (limiter.ways, limiter.refills) for one in fit.shape.limiters)


def _rate_words(limiter: Limiter, size: float) -> tuple[Callable[[float], str], str]:
    """How rates of a limiter are written, and its size in words."""
    if limiter.unit == "bytes":
        return format_rate, format_size_rounded(int(size))
    return (lambda value: f"{format_count(value)} IOPS"), f"{format_count(size)} I/Os"


def _fastest(fit: Fit, number: int) -> float:
    """The most that was seen of loads that a limiter covers, in its unit."""
    limiter = fit.shape.limiters[number]
    return max(
        (
            course.before * limiter.size(course.bs)
            for course in fit.courses
            if course.taught and limiter.covers(course.direction)
        ),
        default=0.0,
    )
