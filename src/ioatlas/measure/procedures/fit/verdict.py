# SPDX-License-Identifier: Apache-2.0
"""What the windows of a load say of a requirement: on which side of its limit they lie, as far as can be told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate, pairwise
from math import ceil

import numpy as np

from ioatlas.answer.analysis.estimates import window_values
from ioatlas.measure.procedures.fit.use import Quantity, Requirement
from ioatlas.model.verdict import ReasonCode
from ioatlas.model.visit import Flush, Histogram, Part, Visit
from ioatlas.stats.warmup import Floats
from ioatlas.stats.windows import FEWEST, Told, of_mean, of_percentile

_R = ReasonCode
COUNTS_ALL_THE_SAME = frozenset({_R.OVER_RUN, _R.OVERLAP, _R.STALLED, _R.NO_IO, _R.COUNTERS, _R.LATE, _R.RUNTIME})
"""What keeps a visit out of a map and is part of the answer here: what a target holds back, and what a use's small
flushed writes or its caches make of its bytes, is how the target serves it. A log that was written whole before its
time was up is no less told of.
"""
GAP_MS, LEAD_MS = 100, 500
"""Between two windows, and what a rate leaves out at the start of one: a target with a bucket spends there what it
gained in the gap.
"""
KEPT_LEAD = 0.5
"""Share of a window that a load with a rate leaves out: it spends such credit only as fast as it asks for more than the
target has.
"""
WINDOW_SECONDS, RATE_WINDOW_SECONDS, PACED_WINDOW_SECONDS = 1.0, 2.0, 3.0
"""Of a load that runs freely, of one whose rate is to be so high at least, and of one that is told its rate, where a
use says nothing.
"""
HOPELESS = 30
"""A requirement that would take so many times what was measured lies at its limit, or moves too much to be told."""

WIDEST = 30
"""Times that an end of an interval may lie from the value to be told."""


class Answer(StrEnum):
    """Whether something fits."""

    PASS = "pass"  # noqa: S105 - an answer
    FAIL = "fail"
    UNDECIDED = "undecided"

    @classmethod
    def of_all(cls, answers: Sequence[Answer]) -> Answer:
        """Of several that all have to hold."""
        known = set(answers)
        return cls.FAIL if cls.FAIL in known else cls.UNDECIDED if cls.UNDECIDED in known or not known else cls.PASS


@dataclass(frozen=True)
class Judged:
    """A requirement with its answer.

    value: as it was measured; None without windows. low, high: the interval that holds at every look; None where too
    little is known for an end.
    seconds: that its load ran. more: how many windows more it would take by what is known; 0 where it is decided.
    moved: bytes. waited: share of its time for which the load waited for a processor, where that may be why it fails.
    by: what tells of it in a campaign that was measured for something else. missed: share of I/Os beyond a deadline.
    """

    requirement: Requirement
    answer: Answer
    value: float | None = None
    low: float | None = None
    high: float | None = None
    windows: int = 0
    seconds: float = 0.0
    more: int = 0
    moved: int = 0
    waited: float = 0.0
    by: str = ""
    missed: float | None = None

    @property
    def margin(self) -> float | None:
        """How many times as good as needed it is; None where that is not known."""
        if not self.value or self.requirement.quantity is Quantity.KEPT:
            return None
        latency = self.requirement.quantity.is_latency
        return self.requirement.limit / self.value if latency else self.value / self.requirement.limit

    @property
    def holds(self) -> bool:
        """Whether its value alone keeps the limit."""
        return (self.margin or (self.value or 0.0) / self.requirement.limit) >= 1


def counts(visit: Visit) -> bool:
    """Whether a visit is a window of a use."""
    return all(reason.code in COUNTS_ALL_THE_SAME for reason in visit.discarded)


def judge(requirement: Requirement, visits: Sequence[Visit], stream: str, in_flight: int = 1) -> Judged:
    """The answer on a requirement. visits: those of its cell that count. stream: its load's name in the cell, '' where
    the cell is of that load alone. in_flight: I/Os, at most, that wait with the load for a processor.
    """
    windows = [tuple(part for part in visit.parts if part.stream == stream) for visit in visits]
    waits = [(visit.waiting or 0.0) * _seconds(parts) for visit, parts in zip(visits, windows, strict=True)]
    windows = [parts for parts in windows if parts]
    seconds = sum(_seconds(parts) for parts in windows)
    moved = sum(part.io_bytes for parts in windows for part in parts)
    value, known = _known(requirement, windows) if windows else (None, None)
    if value is None or known is None or len(windows) < FEWEST:
        more = max(1, FEWEST - len(windows))
        return Judged(requirement, Answer.UNDECIDED, value, None, None, len(windows), seconds, more, moved)
    low, high = known.interval()
    over, under = (Answer.FAIL, Answer.PASS) if requirement.quantity.is_latency else (Answer.PASS, Answer.FAIL)
    answer = over if low > requirement.limit else under if high < requirement.limit else Answer.UNDECIDED
    more = 0
    if answer is Answer.UNDECIDED:
        more = max(1, ceil(len(windows) * (known.times(requirement.limit, HOPELESS) - 1)))
    elif answer is Answer.PASS and moved < requirement.bytes:
        answer, more = Answer.UNDECIDED, max(1, ceil(len(windows) * (requirement.bytes / max(moved, 1) - 1)))
    waited = 0.0
    if answer is Answer.FAIL:
        edge = low if requirement.quantity.is_latency else high
        share = sum(waits) / seconds if seconds else 0.0
        if _holds_without(requirement, requirement.limit * value / edge, value, windows, share, in_flight):
            answer, more, waited = Answer.UNDECIDED, 1, share
    ends = (min(low, value) if value < WIDEST * low else None, max(high, value) if high < WIDEST * value else None)
    found = Judged(requirement, answer, value, *ends, len(windows), seconds, more, moved, waited)
    if not requirement.misses:
        return found
    whole = Histogram.merge(_histogram(requirement, parts) for parts in windows)
    return replace(found, missed=sum(n for ns, n in whole.bins if ns > requirement.limit) / whole.count)


def _holds_without(
    requirement: Requirement,
    limit: float,
    value: float,
    windows: Sequence[Sequence[Part]],
    waited: float,
    in_flight: int,
) -> bool:
    """Whether a limit is kept once what the load waited for a processor is taken from the I/Os that break it, where
    the least of it does most.
    """
    if not requirement.quantity.is_latency:
        return waited >= 1 or value / (1 - waited) >= limit
    if requirement.percentile is None:
        return value * (1 - waited) <= limit
    histogram = Histogram.merge(_histogram(requirement, parts) for parts in windows)
    too_many = sum(n for ns, n in histogram.bins if ns > limit) - (1 - requirement.percentile / 100) * histogram.count
    needed = 0.0
    for ns, n in histogram.bins:
        if ns > limit and too_many > 0:
            needed += min(n, too_many) * (ns - limit)
            too_many -= n
    return needed <= 1e9 * waited * sum(map(_seconds, windows)) * in_flight


def _known(requirement: Requirement, windows: Sequence[Sequence[Part]]) -> tuple[float | None, Told | None]:
    """The value as it was measured, and what the windows tell of it."""
    if requirement.quantity.is_latency and requirement.percentile is not None:
        each = [_histogram(requirement, parts) for parts in windows]
        value = Histogram.merge(each).percentile_ns(requirement.percentile)
        return value, of_percentile(each, 1 - requirement.percentile / 100)
    kept = [pair for parts in windows if (pair := _value(requirement, parts)) is not None]
    if not kept:
        return None, None
    values, weights = zip(*kept, strict=True)
    value = sum(value * weight for value, weight in kept) / sum(weights)
    return value, of_mean(values, weights, shares=requirement.quantity is Quantity.KEPT)


def _value(requirement: Requirement, parts: Sequence[Part]) -> tuple[float, float] | None:
    """A window's mean latency with its I/Os, or its rate with its time."""
    if requirement.quantity.is_latency:
        histogram = _histogram(requirement, parts)
        mean = histogram.mean_ns
        return None if mean is None else (mean, float(histogram.count))
    if not _seconds(parts):
        return None
    kept = requirement.quantity is Quantity.KEPT
    after = [window_values(part, round(KEPT_LEAD * part.runtime_ms) if kept else LEAD_MS) for part in parts]
    seconds = max(one.seconds for one in after)
    if requirement.quantity is Quantity.RATE:
        return sum(one.bw_bytes_per_s for one in after), seconds
    ios = sum(one.iops for one in after)
    # More than was asked for makes up for what was missed in the first half.
    return (min(1.0, ios / requirement.asked) if kept else ios), seconds


def _seconds(parts: Sequence[Part]) -> float:
    return max((part.runtime_ms for part in parts), default=0.0) / 1000


def _histogram(requirement: Requirement, parts: Sequence[Part]) -> Histogram:
    if requirement.quantity is not Quantity.FLUSH:
        return Histogram.merge(part.histogram for part in parts if part.direction == requirement.quantity.value)
    if requirement.written:
        return Histogram.merge(part.histogram for part in parts if part.flush is not None)
    flush = Flush.joined(part.flush for part in parts)
    return Histogram() if flush is None else flush.histogram


MOST_WINDOWS = 12


def windows_in(visit: Visit) -> list[Visit]:
    """Windows of one run of a closed loop, by the course of its rate: as if all of its I/Os had become slower and
    faster together.
    """
    for count in range(MOST_WINDOWS, FEWEST - 1, -1):
        parts = [(part, _shares(np.array(part.series.bw_bytes_per_s), count)) for part in visit.parts]
        if all((shares > 0).all() for _, shares in parts):
            pieces = zip(*([_piece(part, float(one), count) for one in shares] for part, shares in parts), strict=True)
            return [replace(visit, parts=each) for each in pieces]
    return [visit]


def _shares(rates: Floats, count: int) -> Floats:
    """What each of so many equal times had of all, what is left over at the end aside."""
    moved = rates[: rates.size - rates.size % count].reshape(count, -1).sum(1)
    return np.asarray(moved / max(1.0, moved.sum()))


def _piece(part: Part, share: float, count: int) -> Part:
    """A share of a part, in one of so many equal times."""

    def slower(whole: Histogram) -> Histogram:
        counts: Counter[int] = Counter()
        upto = [round(share * end) for end in accumulate(n for _, n in whole.bins)]  # rounded where they add up
        for (ns, _), (begin, end) in zip(whole.bins, pairwise([0, *upto]), strict=True):
            counts[round(ns / count / share)] += end - begin
        return Histogram.from_counts(counts)

    flush = part.flush and replace(part.flush, histogram=slower(part.flush.histogram))
    return replace(part, runtime_ms=part.runtime_ms / count, histogram=slower(part.histogram), flush=flush)
