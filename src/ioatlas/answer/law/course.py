# SPDX-License-Identifier: Apache-2.0
"""The datum: the time course of one load, I/Os completed from moment to moment, cut into a few bins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.outcomes import LaidOut
from ioatlas.model.visit import SLICE_MS, Histogram, Visit

Floats = NDArray[np.float64]

EVEN_BINS = 16
EARLY_BINS, LONG_SECONDS = (1024, 512, 256, 128, 64, 32, 16, 8, 4, 2), 0.5
"""Bins are even in time, but for the start, where a load changes most: it is cut by halves,
of a long load down to bins of so many seconds."""
SLICE_SECONDS, FEWEST_SLICES = SLICE_MS / 1000, 4
FEWEST_IOS, MOST_FEWEST = 3, 8
COUNT = 0.7
"""Relative error of a bin is this over its I/Os: a completion falls on one or the other side of an edge."""
CLOCK_SECONDS = 1e-3
"""fio's logs tell whole milliseconds."""
FALL = 1.05
"""A load fell where it was so many times faster before its kink than after it,"""
FEWEST_AFTER = 2
"""and that is seen in so many bins."""
LEAST_STOP_NS, FAR = 1e8, 4.0
"""An I/O that took so long, and so many times as long as half of its load's, was held up."""
LEAST_LAID_MS = 300
"""Of a file's writing that tells of the law: a shorter one is over before it is under way."""
SURE, FEWEST_MIDDLE = 3.0, 3
"""A load had not settled where its last bins lie so many standard deviations off its middle, of so many bins."""
CLEAR = 4.0
"""and that is more than so many standard errors of its last rate."""


@dataclass(frozen=True)
class Course:
    """One load as it was seen.

    start: seconds since the first load of the target began. edges, done: seconds since its own start and I/Os completed
    up to then, shape (bins + 1), both from 0. moved: I/Os completed in all, what came back after its end included;
    ended: when the last of them did. counted: whether it tells of the law; else only what it took from credit is known.
    """

    cell: Cell
    direction: str
    start: float
    edges: Floats
    done: Floats
    moved: float
    ended: float
    visit_id: int = 0
    counted: bool = True
    interval: float = math.inf
    """Of the log, s: to that is known when an I/O came back."""
    stops: tuple[float, float] = (0.0, 0.0)
    """How often all that was in flight was held up, and for how many seconds."""
    fits: bool = True
    """Whether the law is fitted to it: of very many loads some of each cell are enough."""

    @property
    def edge_seconds(self) -> float:
        """How well it is known when the I/O came back with which a bin ends; no better than by counting where several
        are in flight.
        """
        return self.interval if self.outstanding <= 1 else math.inf

    @property
    def taught(self) -> bool:
        """Whether the law rests on it."""
        return self.counted and self.fits

    @property
    def bs(self) -> float:
        return float(self.cell.bs_bytes)

    @property
    def outstanding(self) -> float:
        return float(self.cell.outstanding)

    @cached_property
    def rates(self) -> Floats:
        """I/Os a second of each bin."""
        return np.diff(self.done) / np.diff(self.edges)

    @cached_property
    def kink(self) -> int:
        """The edge at which credit ran out, if it did: the first where the course lies as far above its own last rate
        as anywhere, but for what chance gives.
        """
        above = self.done - self.tail * self.edges
        most = float(above.max())
        return int(np.argmax(above >= most - min(FEWEST_IOS + self.outstanding / 2, most / 4)))

    @cached_property
    def tail(self) -> float:
        """I/Os a second in the last part of the load: its last two fifths."""
        begin = min(int(np.searchsorted(self.edges, 0.6 * self.edges[-1])), self.edges.size - 2)
        return float((self.done[-1] - self.done[begin]) / (self.edges[-1] - self.edges[begin]))

    @cached_property
    def before(self) -> float:
        """I/Os a second up to the kink; the tail's where there is none."""
        kink = self.kink
        return float(self.done[kink] / self.edges[kink]) if 0 < kink < self.edges.size - 1 else self.tail

    @cached_property
    def excess(self) -> float:
        """I/Os up to the kink beyond those at the tail's rate."""
        return float(self.done[self.kink] - self.tail * self.edges[self.kink])

    @cached_property
    def fell(self) -> bool:
        """Whether it was a good deal faster at first, by more I/Os than chance gives."""
        least = max(FEWEST_IOS, min(self.outstanding, MOST_FEWEST))
        # I/Os in flight may come back together: a count may be off by half of them at any edge.
        if self.excess <= FEWEST_IOS + self.outstanding / 2:
            return False
        if self.before <= FALL * self.tail or self.done[self.kink] < least:
            return False
        if self.done[-1] - self.done[self.kink] < 2 * self.outstanding:  # no more than where in a wave it ended
            return False
        after = np.log(self.rates[self.kink :])
        if after.size < FEWEST_AFTER:  # as a pause at its end looks too
            return False
        rough = float(after.std(ddof=1)) / math.sqrt(after.size)
        return math.log(self.before / self.tail) > CLEAR * rough

    @cached_property
    def seconds(self) -> float:
        return float(self.edges[-1])

    def filling(self, ios: float) -> float:
        """Relative error of so many first I/Os: what is in flight at the start may pass at once, or have to wait."""
        return min(self.outstanding, ios) / (2 * ios)

    @cached_property
    def flat_seconds(self) -> float:
        """How long it ran after its kink."""
        return self.seconds - (float(self.edges[self.kink]) if self.fell else 0.0)


def trend_of(course: Course, usual: Floats | float = 0.0) -> float:
    """How much faster or slower a load was still getting when it ended, as a logarithm: what it changed in its later
    part, by twice what its last two bins both differ from its middle. 0 where it had settled, or where chance may have
    given it. usual: logarithms of what its bins should give.
    """
    logs = np.log(course.rates) - usual
    begin = min(max(logs.size // 4, course.kink if course.fell else 0), logs.size - 2 - FEWEST_MIDDLE)
    if begin < 1:
        return 0.0
    middle = logs[begin:-2]
    least, most = sorted((logs[-2:] - median(middle)).tolist())
    chance = SURE * math.sqrt(float(np.mean(np.square(np.diff(middle)))) / 2)
    change = 2 * (max(0.0, least) + min(0.0, most))
    return change if abs(change) > max(math.log(FALL), 2 * chance) else 0.0


def cut(edges: Floats, done: Floats, outstanding: float) -> tuple[Floats, Floats]:
    """About 20 bins of a course: even in time, finer at the start; each holds a few I/Os, and ends with one where one
    is in flight. Of several that come back one by one some are half done at any time: each is spread over the time
    since the last did.

    edges, done: seconds and I/Os up to then, both from 0.
    """
    rises = np.append(0, np.flatnonzero(np.diff(done) > 0) + 1)
    if outstanding > 1 and done[-1] < 2 * rises.size:
        done = np.interp(edges, edges[rises], done[rises])
    ends = np.arange(edges.size) if outstanding > 1 else rises
    total = float(edges[-1])
    early = (total / k for k in EARLY_BINS if k <= 128 or total / k >= LONG_SECONDS)
    wanted = sorted({*(total * k / EVEN_BINS for k in range(1, EVEN_BINS + 1)), *early})
    if total >= FEWEST_SLICES * SLICE_SECONDS:
        wanted = sorted({SLICE_SECONDS * round(at / SLICE_SECONDS) if at > SLICE_SECONDS else at for at in wanted})
    least = max(FEWEST_IOS, min(outstanding, MOST_FEWEST))
    chosen = [0]
    for moment in wanted:
        at = int(ends[min(int(np.searchsorted(edges[ends], moment - 1e-9)), ends.size - 1)])
        if at > chosen[-1] and done[at] - done[chosen[-1]] >= least:
            chosen.append(at)
    chosen[max(1, len(chosen) - 1) :] = [int(ends[-1])]  # what is left over goes into the last bin
    return edges[chosen], done[chosen]


def course_of(visit: Visit, cell: Cell, first: float, asked_ms: float | None = None) -> list[Course]:
    """The courses of a visit, one for each direction. first: when the first load began, seconds since the epoch."""
    found = []
    for part in visit.parts:
        series = part.series
        if not part.total_ios or not part.runtime_ms or not part.io_bytes:
            continue
        ends = np.asarray(series.end_ms, dtype=float) / 1000
        moved = np.asarray(series.bw_bytes_per_s, dtype=float) * series.interval_ms / 1000
        in_time = ends.size if asked_ms is None else int((ends <= asked_ms / 1000 + 1e-9).sum())
        # Of several fewer and fewer are in flight then. Of less than two waves that tells more than where in one the
        # time was up.
        if cell.outstanding > 1 and moved[:in_time].sum() >= 2 * cell.outstanding * part.io_bytes / part.total_ios:
            ends, moved = ends[:in_time], moved[:in_time]
        alone = len(cell.block_sizes) == 1 and cell.loop == "closed" and len(visit.parts) == 1
        course = _course(
            cell,
            part.direction,
            visit.started_at - first,
            (ends, moved * part.total_ios / part.io_bytes),
            (float(part.total_ios), part.runtime_ms / 1000),
            visit.visit_id,
            counted=alone and not visit.discarded,
        )
        found.append(replace(course, stops=_stops(part.histogram, cell.outstanding)))
    return found


def _stops(latencies: Histogram, outstanding: int) -> tuple[float, float]:
    usual = latencies.percentile_ns(50) or 0.0
    held = Histogram(tuple(one for one in latencies.bins if one[0] >= max(LEAST_STOP_NS, FAR * usual)))
    return held.count / outstanding, ((held.percentile_ns(50) or usual) - usual) / 1e9


def _course(
    cell: Cell,
    direction: str,
    start: float,
    logged: tuple[Floats, Floats],
    whole: tuple[float, float],
    visit_id: int,
    *,
    counted: bool,
) -> Course:
    """logged: ends of intervals, s, and I/Os in each. whole: I/Os in all, and seconds until the last of them."""
    ends, ios = logged
    edges, done = np.concatenate(([0.0], ends)), np.concatenate(([0.0], np.cumsum(ios)))
    if done[-1] <= 0:
        edges, done = np.array([0.0, whole[1]]), np.array([0.0, whole[0]])
    interval = float(edges[1])
    edges, done = cut(edges, done, cell.outstanding)
    counted = counted and float(np.diff(done).min()) > 0
    return Course(cell, direction, start, edges, done, *whole, visit_id, counted=counted, interval=interval)


def _laid(one: LaidOut, first: float) -> Course:
    """The course of a file's writing. It is of no cell of the map: of one in sequence, as it was."""
    options: dict[str, OptionValue] = {
        "rw": "write",
        "bs": one.bs_bytes,
        "iodepth": one.iodepth,
        "size": max(one.moved_bytes, one.bs_bytes),
    }
    ios = np.asarray(one.interval_bytes, dtype=float) / one.bs_bytes
    # Once the last of it is asked for, fewer and fewer are in flight.
    ios = ios[: 1 + int((np.cumsum(ios) <= one.moved_bytes / one.bs_bytes - one.iodepth).sum())]
    ends = np.arange(1.0, ios.size + 1) * one.interval_ms / 1000
    return _course(
        Cell.of(one.target, options),
        "write",
        one.started_at - first,
        (ends, ios),
        (one.moved_bytes / one.bs_bytes, one.ran_ms / 1000),
        0,
        counted=one.ran_ms >= LEAST_LAID_MS,
    )


def courses_of(
    visits: Iterable[Visit], cells: Mapping[str, Cell], asked_ms: Mapping[int, int], laid_out: Iterable[LaidOut] = ()
) -> list[Course]:
    """Courses of all loads of one target, in the order of time."""
    made = [visit for visit in visits if visit.cell_key in cells and visit.parts]
    files = [one for one in laid_out if one.started_at and one.moved_bytes]
    first = min([*(visit.started_at for visit in made), *(one.started_at for one in files)], default=0.0)
    found = [
        course
        for visit in made
        for course in course_of(visit, cells[visit.cell_key], first, asked_ms.get(visit.visit_id))
    ]
    return sorted([*found, *(_laid(one, first) for one in files)], key=lambda course: course.start)


@dataclass(frozen=True)
class Noise:
    """Spread of a law's residuals, in logarithms. within: of a sixteenth of each load, shape (loads,), or (1,) where
    all are alike; between: of whole loads, as is most probable. spread: of a load that is yet to come, which is more,
    for few loads leave it open how far they differ. unlike: logarithm of how probable it is that loads are so rough.
    """

    within: Floats
    between: float
    spread: float = 0.0
    unlike: float = 0.0

    @classmethod
    def alike(cls, level: float) -> Self:
        """The same for all loads, inside them and between them."""
        return cls(np.full(1, level), level)


def independent_errors(course: Course) -> tuple[Floats, Floats, Floats]:
    """Combinations of the logarithms of a course's rates whose errors do not depend on each other: shape (combinations,
    bins), that back to bins, and the variance of each beyond the square of the spread inside the load. Of a bin that
    has the square `share` times; counting, clock and kink add to it. What falls on the other side of an edge is missing
    in one bin and too much in the next, so that of a whole load no more is unknown than where it begins and ends.
    """
    length, ios = np.diff(course.edges), np.diff(course.done)
    share = np.maximum(1.0, course.seconds / EVEN_BINS / length)
    edge = np.hypot(np.minimum(COUNT / ios, course.edge_seconds / length), CLOCK_SECONDS / length)
    fixed = np.zeros(length.size)
    fixed[0] += course.filling(float(ios[0])) ** 2
    if course.fell:  # before the kink the client and the device show; what comes after is the limiter, which is exact
        kink = course.kink
        steps = np.abs(np.diff(np.log(course.rates[:kink]))) if kink > 2 else np.zeros(0)
        rough = max(0.03, float(median(steps)) if steps.size else 0.1)
        fixed[:kink] += rough**2
        fixed[max(0, kink - 1) : kink + 1] += 0.3**2
    beside = np.eye(length.size) - (np.eye(length.size, k=1) + np.eye(length.size, k=-1)) / 2
    root = np.sqrt(share)
    sizes, axes = np.linalg.eigh((np.diag(fixed) + edge[:, None] * edge * beside) / (root[:, None] * root))
    return axes.T / root, axes, np.maximum(sizes, 0.0)
