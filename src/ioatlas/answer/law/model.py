# SPDX-License-Identifier: Apache-2.0
"""The law of a target: a device, and limiters before it, with parameters that have names and units.

Device: an I/O of b bytes with n outstanding completes every 1/D seconds,

    1/D = (((L + s + lam b)/n)^p + sat^p)^(1/p)        sat = ((1/C + s')^q + (b/B)^q)^(1/q)

L, lam: latency of an I/O alone and what a byte adds. C, B: most I/Os and bytes a second. s: what a random place costs
an I/O, and s' = s/k the device, of which k arms seek at once; a share h of both where several jobs each go through
a part of the file in sequence. p: how sharp the knee between the two is (the asymptotic bounds of Denning and Buzen
1978 are p = inf); q: whether I/Os and bytes are limits of one resource (1) or of two.

Limiter: a token bucket of size S that refills at R, in bytes or I/Os, of one direction or shared, with a peak rate P.
Without refill it is space that is fast once, as the SLC part of a drive. A write-back cache of S bytes empties at what
the medium behind it takes, R bytes or P I/Os a second; what came first leaves first. By min-plus algebra (Le Boudec and
Thiran, Network Calculus, 2001) a load that never waits has completed after t seconds

    N(t) = min(D t, (level_i + R_i t)/x_i, (M P_i + P_i t)/x_i)                  x = b, or 1 of I/Os

and levels run on through every load and pause. What drifts does all of it by and by faster or slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ioatlas.answer.law.course import SLICE_SECONDS, Course, Floats, independent_errors
from ioatlas.model.cell import Cell

Unit = Literal["bytes", "ios", "cache"]
UNITS: tuple[Unit, ...] = ("bytes", "ios")
"""Of token buckets."""
DEVICE = ("latency", "per_byte", "iops", "bytes")
SHARED = ("corner", "knee")


@dataclass(frozen=True)
class Limiter:
    """A limit in bytes or I/Os, of reads, of writes, or of both together; or a write-back cache. Of that `rate` is of
    the largest blocks, and `peak` the most I/Os a second that leave it. each: each job's connection has a bucket of its
    own, which is full when its load begins.
    """

    unit: Unit
    ways: tuple[str, ...]
    refills: bool = True
    each: bool = False

    def covers(self, direction: str) -> bool:
        return direction in self.ways

    def size(self, cell: Cell) -> float:
        """What an I/O takes of the buckets, as a share of each where they are several."""
        return (1.0 if self.unit == "ios" else float(cell.bs_bytes)) / (cell.numjobs if self.each else 1)


@dataclass(frozen=True)
class Shape:
    """Which parts a law has."""

    ways: tuple[str, ...]
    seek: bool = False
    limiters: tuple[Limiter, ...] = ()
    drift: bool = False
    """Whether all of it gets faster or slower by and by, by a factor over the time of all loads."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the parameters, in their order; all are logarithms of what the names say."""
        named = [f"{way}.{part}" for way in self.ways for part in DEVICE] + list(SHARED)
        named += ["seek", "arms", "hop"] * self.seek + ["drift"] * self.drift
        return (*named, *(f"{n}.{part}" for n in range(len(self.limiters)) for part in ("rate", "size", "peak")))

    def lasting(self, theta: Floats, number: int, size: Floats) -> Floats:
        """I/Os a second that a limiter lets pass for good, shape (points, loads). size: what an I/O of each takes."""
        rate, peak = (self.value(theta, f"{number}.{part}")[..., None] for part in ("rate", "peak"))
        return np.asarray(np.minimum(peak if self.limiters[number].unit == "cache" else np.inf, rate / size))

    @cached_property
    def index(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def places(self) -> dict[str, NDArray[np.int64]]:
        """Of each part of a device, its parameter of each way."""
        return {part: np.array([self.index[f"{way}.{part}"] for way in self.ways]) for part in DEVICE}

    def value(self, theta: Floats, name: str) -> Floats:
        """A parameter in its unit, shape (...) of theta (..., parameters)."""
        return _in_units(theta[..., self.index[name]])


@dataclass(frozen=True)
class Loads:
    """Loads side by side, as arrays of shape (loads,): what the law needs to know of each."""

    ways: NDArray[np.int64]
    bs: Floats
    outstanding: Floats
    random: NDArray[np.bool_]
    jobs: Floats
    streams: NDArray[np.bool_]
    """Whether I/Os come from several jobs, each with a part of the file."""

    @classmethod
    def of(cls, loads: Sequence[tuple[Cell, str]], ways: tuple[str, ...]) -> Loads:
        cells = [cell for cell, _ in loads]
        return cls(
            np.array([ways.index(way) for _, way in loads]),
            np.array([float(cell.bs_bytes) for cell in cells]),
            np.array([float(cell.outstanding) for cell in cells]),
            np.array([cell.rw.startswith("rand") for cell in cells]),
            np.array([float(cell.numjobs) for cell in cells]),
            np.array([cell.outstanding > cell.iodepth for cell in cells]),
        )


@dataclass(frozen=True)
class Stack:
    """All courses of a target as arrays. The first axis is that of the courses that count, in the order of time.

    ends, lengths: of bins, s, shape (loads, most bins); beyond a course's last bin the ends repeat and `real` is False.
    seen: logarithms of their rates, 0 there.
    apart, back, fixed: of each load's bins what `independent_errors` gives, shapes (loads, most bins, most bins) twice
    and (loads, most bins); 0 beyond its last bin.
    pauses, took: seconds before every course, counted or not, and of it, shape (courses,). step_ways, step_bs, moved:
    its way (-1 for one that the law does not have), bytes an I/O and I/Os. counted: places of those that count.
    phase: when each bin was, from -1/2 to 1/2 of the time of all courses, shape (loads, most bins).
    """

    ways: tuple[str, ...]
    loads: Loads
    ends: Floats
    lengths: Floats
    real: NDArray[np.bool_]
    seen: Floats
    apart: Floats
    back: Floats
    fixed: Floats
    pauses: Floats
    took: Floats
    step_ways: NDArray[np.int64]
    step_bs: Floats
    moved: Floats
    counted: NDArray[np.int64]
    phase: Floats

    @classmethod
    def of(cls, courses: Sequence[Course], ways: tuple[str, ...]) -> Stack:
        counted = [course for course in courses if course.taught]
        most = max(course.edges.size - 1 for course in counted)
        ends = np.array([np.pad(one.edges[1:], (0, most + 1 - one.edges.size), mode="edge") for one in counted])
        real = np.array([np.arange(most) < one.edges.size - 1 for one in counted])
        seen = np.array([np.pad(np.log(one.rates), (0, most + 1 - one.edges.size)) for one in counted])
        apart, back, fixed = np.zeros((*real.shape, most)), np.zeros((*real.shape, most)), np.zeros(real.shape)
        for place, course in enumerate(counted):
            bins = slice(course.rates.size)
            apart[place, bins, bins], back[place, bins, bins], fixed[place, bins] = independent_errors(course)
        lengths = np.where(real, np.diff(ends, axis=1, prepend=0.0), 1.0)
        # Loads may lie over each other: what one takes of the clock is what no earlier one took.
        begun = np.array([one.start for one in courses])
        ends_at = begun + np.array([one.ended for one in courses])
        until = np.maximum.accumulate(np.concatenate([[0.0], ends_at[:-1]]))
        return cls(
            ways,
            Loads.of([(one.cell, one.direction) for one in counted], ways),
            ends,
            lengths,
            real,
            seen,
            apart,
            back,
            fixed,
            np.maximum(0.0, begun - until),
            np.maximum(0.0, ends_at - np.maximum(until, begun)),
            np.array([ways.index(one.direction) if one.direction in ways else -1 for one in courses]),
            np.array([float(one.bs) for one in courses]),
            np.array([float(one.moved) for one in courses]),
            np.flatnonzero([one.taught for one in courses]),
            (np.array([[one.start] for one in counted]) + ends - lengths / 2) / max(ends_at) - 0.5,
        )

    @cached_property
    def log_lengths(self) -> Floats:
        return np.asarray(np.log(self.lengths))

    @cached_property
    def _found(self) -> dict[Limiter, tuple[NDArray[np.int64], Floats, Floats, Floats]]:
        return {}

    def under(self, limiter: Limiter) -> tuple[NDArray[np.int64], Floats, Floats, Floats]:
        """Places of the loads under a limiter, ends of their bins, what an I/O of each takes of its bucket; and what
        every course takes of it, shape (courses,).
        """
        if limiter not in self._found:
            covers = np.array([*map(limiter.covers, self.ways), False])
            mine = np.flatnonzero(covers[self.loads.ways])
            each, steps = (np.ones(bs.size) if limiter.unit == "ios" else bs for bs in (self.loads.bs, self.step_bs))
            each = each / (self.loads.jobs if limiter.each else 1.0)
            self._found[limiter] = (mine, self.ends[mine], each[mine], covers[self.step_ways] * self.moved * steps)
        return self._found[limiter]


def _in_units(logarithms: Floats) -> Floats:
    return np.asarray(np.exp(np.minimum(np.maximum(logarithms, -60.0), 60.0)))


def device_times(shape: Shape, theta: Floats, loads: Loads) -> tuple[Floats, Floats, Floats]:
    """Logarithm of the time that an I/O takes by latency, by I/Os and by bytes, s; shapes (points, loads) of theta
    (points, parameters).
    """
    latency, byte, ios, most = (_in_units(theta[:, shape.places[part]])[:, loads.ways] for part in DEVICE)
    alone, busy = latency + loads.bs * byte, 1 / ios
    if shape.seek:  # from one job's part of a file to another's it is no farther than to a random place
        seek, arms, hop = (shape.value(theta, name)[:, None] for name in ("seek", "arms", "hop"))
        place = seek * np.where(loads.random, 1.0, np.minimum(hop, 1.0) * loads.streams)
        alone, busy = alone + place, busy + place / arms
    return np.log(alone / loads.outstanding), np.log(busy), np.log(loads.bs / most)


def device_rate(shape: Shape, theta: Floats, loads: Loads) -> Floats:
    """I/Os a second that the device makes, shape (points, loads) of theta (points, parameters)."""
    corner = 1 + shape.value(theta, "corner")[:, None]
    knee = np.clip(shape.value(theta, "knee"), 1.0, 25.0)[:, None]
    alone, by_ios, by_bytes = device_times(shape, theta, loads)
    saturated = np.logaddexp(corner * by_ios, corner * by_bytes) / corner
    return np.asarray(np.exp(-np.logaddexp(knee * alone, knee * saturated) / knee))


def expected(shape: Shape, theta: Floats, stack: Stack) -> Floats:
    """Logarithm of each bin's rate in I/Os a second, shape (points, loads, most bins) of theta (points, parameters).

    What was moved takes from the levels as it was seen, so that an error does not run on.
    """
    alone = device_rate(shape, theta, stack.loads)
    done = alone[:, :, None] * stack.ends
    for number, limiter in enumerate(shape.limiters):
        mine, ends, size, _ = stack.under(limiter)
        if limiter.unit == "cache":
            allowed = _through_cache(shape, theta, number, stack)[:, mine] / size[:, None]
            done[:, mine] = np.minimum(done[:, mine], allowed)
            continue
        rate = shape.value(theta, f"{number}.rate")[:, None]
        level = shape.value(theta, f"{number}.size")[:, None]
        level = np.repeat(level, mine.size, 1) if limiter.each else _levels(limiter, rate, level, stack)[:, mine]
        if not limiter.refills:
            level = level * (1 - rate / np.maximum(alone[:, mine] * size, rate))
        allowed = (rate / size)[:, :, None] * ends
        allowed += (level / size)[:, :, None]
        if limiter.refills:
            peak = (rate + shape.value(theta, f"{number}.peak")[:, None]) / size
            # The peak limit has a bucket of its own, of what passes in a slice at its rate.
            np.minimum(allowed, peak[:, :, None] * (SLICE_SECONDS + ends), out=allowed)
        done[:, mine] = np.minimum(done[:, mine], allowed)
    done[:, :, 1:] = np.diff(done, axis=2)
    drift = theta[:, shape.index["drift"], None, None] if shape.drift else 0.0
    return np.asarray((np.log(np.maximum(done, 1e-300)) - stack.log_lengths + drift * stack.phase) * stack.real)


def _through_cache(shape: Shape, theta: Floats, number: int, stack: Stack) -> Floats:
    """Most bytes that each load that counts has written through a cache by the ends of its bins, shape (points, loads,
    most bins). Of what lies in the cache the bytes are known, and the seconds that the medium takes for them.
    """
    space = shape.value(theta, f"{number}.size")
    takes = stack.step_bs * shape.lasting(theta, number, stack.step_bs)
    held, busy = np.zeros_like(space), np.zeros_like(space)
    found = []
    brought = stack.under(shape.limiters[number])[3]
    for pause, took, new, at in zip(stack.pauses, stack.took, brought, takes.T, strict=True):
        rested = np.maximum(0.0, busy - pause)
        held, busy = rested * held / np.maximum(busy, 1e-9), rested
        found.append((held, busy))
        left = np.maximum(0.0, busy + new / at - took)
        last = np.minimum(left, new / at)  # what came first leaves first
        kept = last * at + (left - last) * held / np.maximum(busy, 1e-9)
        fits = np.minimum(1.0, space / np.maximum(kept, 1e-9))
        held, busy = kept * fits, left * fits
    held, busy = np.array(found).transpose(1, 2, 0)[:, :, stack.counted, None]
    at, old = takes[:, stack.counted, None], np.minimum(stack.ends, busy)
    return np.asarray(space[:, None, None] - held + held / np.maximum(busy, 1e-9) * old + at * (stack.ends - old))


def _levels(limiter: Limiter, rate: Floats, size: Floats, stack: Stack) -> Floats:
    """What a limiter's bucket holds when each load that counts begins, shape (points, loads).

    A pause and the load after it take a level L to clip(L + gain, 0, most). Two such steps are one of the same form, so
    all steps up to each are composed by doubling (Hillis and Steele 1986), which takes log2(steps) passes over arrays.
    """
    pairs = list(zip(rate[:, 0].tolist(), size[:, 0].tolist(), strict=True))
    row = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
    if len(row) < len(pairs):  # most points of a Jacobian differ in something else
        several = np.array([*row])
        return _levels(limiter, several[:, :1], several[:, 1:], stack)[[row[pair] for pair in pairs]]
    back = rate if limiter.refills else np.zeros_like(size)
    spent = stack.under(limiter)[3]
    gain = back * (stack.pauses + stack.took) - spent
    most = np.minimum(np.maximum(size + back * stack.took - spent, 0.0), size)
    least = np.zeros_like(most)
    shift = 1
    while shift < gain.shape[1]:
        low, high, more = least[:, shift:], most[:, shift:], gain[:, shift:]
        least[:, shift:], most[:, shift:], gain[:, shift:] = (
            np.minimum(np.maximum(least[:, :-shift] + more, low), high),
            np.minimum(np.maximum(most[:, :-shift] + more, low), high),
            more + gain[:, :-shift],
        )
        shift *= 2
    after = np.minimum(np.maximum(size + gain, least), most)
    begin = np.concatenate([size, after[:, :-1]], axis=1)
    return np.asarray(np.minimum(size, begin + back * stack.pauses)[:, stack.counted])
