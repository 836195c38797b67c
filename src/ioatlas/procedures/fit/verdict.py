# SPDX-License-Identifier: Apache-2.0
"""What the windows of a load say of a requirement: one test for all, on a share that lies on one side of a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, inf, isfinite, log

from ioatlas.analysis.windows import window_values
from ioatlas.model.histogram import Histogram
from ioatlas.model.reason import ReasonCode
from ioatlas.model.visit import Flush, Part, Visit
from ioatlas.procedures.fit.use import Quantity, Requirement
from ioatlas.stats.share import FEWEST, MOST_WORTH, RISK, apart, interval, worth

_R = ReasonCode
COUNTS_ALL_THE_SAME = frozenset({_R.OVER_RUN, _R.OVERLAP, _R.STALLED, _R.NO_IO, _R.COUNTERS, _R.LATE})
"""What keeps a visit out of a map and is part of the answer here: what a target holds back, and what a use's small
flushed writes or its caches make of its bytes, is how the target serves it.
"""
GAP_MS, LEAD_MS = 100, 500
"""Between two windows, and what a rate leaves out at the start of one: a target with a bucket spends there what it
gained in the gap.
"""
KEPT_LEAD = 0.5
"""Share of a window that a load with a rate leaves out: it spends such credit only as fast as it asks for more than the
target has.
"""
WINDOW_SECONDS, RATE_WINDOW_SECONDS, PACED_WINDOW_SECONDS = 1.0, 2.0, 5.0
"""Of a load that runs freely, of one whose rate is to be so high at least, and of one that is told its rate, where a
use says nothing.
"""
HOPELESS = 100
"""A requirement that would take so many times what was measured lies at its limit, as far as anybody can tell."""


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

    value, low, high: as it was measured, with the interval that holds at every look; None without windows.
    seconds: that its load ran. more: how many windows more it would take by what is known; 0 where it is decided.
    moved: bytes.
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

    @property
    def margin(self) -> float | None:
        """How many times as good as needed it is; None where that is not known."""
        if not self.value or self.requirement.quantity is Quantity.KEPT:
            return None
        latency = self.requirement.quantity.is_latency
        return self.requirement.limit / self.value if latency else self.value / self.requirement.limit


def counts(visit: Visit) -> bool:
    """Whether a visit is a window of a use."""
    return all(reason.code in COUNTS_ALL_THE_SAME for reason in visit.discarded)


def judge(requirement: Requirement, visits: Sequence[Visit], stream: str) -> Judged:
    """The answer on a requirement. visits: those of its cell that count. stream: its load's name in the cell, '' where
    the cell is of that load alone.
    """
    windows = [tuple(part for part in visit.parts if part.stream == stream) for visit in visits]
    windows = [parts for parts in windows if parts]
    seconds = sum(_seconds(parts) for parts in windows)
    moved = sum(part.io_bytes for parts in windows for part in parts)
    if not windows:
        return Judged(requirement, Answer.UNDECIDED, more=FEWEST)
    if requirement.quantity.is_latency and requirement.percentile is not None:
        known = _slow(requirement, windows)
    else:
        known = _mean(requirement, windows)
    if known is None:
        return Judged(requirement, Answer.UNDECIDED, windows=len(windows), seconds=seconds, more=FEWEST, moved=moved)
    answer, (value, low, high), needed = known
    if len(windows) < FEWEST:
        answer, needed = Answer.UNDECIDED, max(needed, FEWEST - len(windows))
    if answer is Answer.PASS and moved < requirement.bytes:
        answer, needed = Answer.UNDECIDED, ceil(len(windows) * (requirement.bytes / max(moved, 1) - 1))
    more = max(1, needed) if answer is Answer.UNDECIDED else 0
    return Judged(requirement, answer, value, low, high, len(windows), seconds, more, moved)


Known = tuple[Answer, tuple[float, float, float], int]
"""Answer, measured value with its interval, windows more that it would take."""


def _slow(requirement: Requirement, windows: Sequence[Sequence[Part]]) -> Known | None:
    """Of a percentile: the share of I/Os slower than its limit is to be smaller than what the percentile leaves."""
    each = [_histogram(requirement.quantity, parts) for parts in windows]
    whole = Histogram.merge(each)
    if not whole.count:
        return None
    left = 1 - (requirement.percentile or 0) / 100
    value = whole.percentile_ns(100 * (1 - left)) or 0.0
    weights = [one.count for one in each if one.count]

    def shares(limit: float) -> list[float]:
        return [_above(one, limit) / one.count for one in each if one.count]

    # What draws are worth is told by the windows where such a share really lies, and where the limit cuts it.
    worths = [worth(shares(at), weights) for at in {requirement.limit, value}]
    counted = min(float(whole.count), *worths)
    share = _above(whole, requirement.limit) / whole.count
    low, high = interval(share, counted, left)
    # A limit far from every window is not a matter of how draws hang together around the percentile itself.
    far = apart(_levels(each, left, whole.count), log(requirement.limit))
    answer = Answer.PASS if high < left or far < 0 else Answer.FAIL if low > left or far > 0 else Answer.UNDECIDED
    most, least = interval(left, counted, left)[::-1]
    ends = [whole.percentile_ns(100 * (1 - end)) if end < 1 else whole.ends_ns[0] for end in (most, least)]
    return answer, (value, ends[0] or 0.0, ends[1] or value), _more(share, left, counted, len(windows))


def _levels(each: Sequence[Histogram], left: float, count: int) -> list[float]:
    """Logarithms of a percentile, of as many windows together as it takes for it to have an I/O beyond it."""
    some = ceil(len(each) / (count * left))
    groups = [Histogram.merge(each[at : at + some]) for at in range(0, len(each) - some + 1, some)]
    found = [one.percentile_ns(100 * (1 - left)) for one in groups]
    return [log(level) for level in found if level] if len(groups) >= FEWEST else []


def _mean(requirement: Requirement, windows: Sequence[Sequence[Part]]) -> Known | None:
    """Of a mean latency or a rate: as a share of twice what is asked or was seen most, so that it is one."""
    latency = requirement.quantity.is_latency
    found = [_value(requirement, parts) for parts in windows]
    kept = [pair for pair in found if pair is not None]
    if not kept:
        return None
    values, weights = [value for value, _ in kept], [weight for _, weight in kept]
    scale = 2 * max(requirement.limit, *values)
    counted = min(MOST_WORTH, worth([value / scale for value in values], weights))
    value = sum(value * weight for value, weight in kept) / sum(weights)
    limit = requirement.limit / scale
    low, high = interval(value / scale, counted, limit)
    above, below = (Answer.FAIL, Answer.PASS) if latency else (Answer.PASS, Answer.FAIL)
    far = apart([log(value) for value in values], log(requirement.limit)) if min(values) > 0 else 0
    answer = above if low > limit or far > 0 else below if high < limit or far < 0 else Answer.UNDECIDED
    return answer, (value, low * scale, high * scale), _more(value / scale, limit, counted, len(windows))


def _value(requirement: Requirement, parts: Sequence[Part]) -> tuple[float, float] | None:
    """A window's mean latency with its I/Os, or its rate with its time."""
    if requirement.quantity.is_latency:
        histogram = _histogram(requirement.quantity, parts)
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
    return (ios / requirement.asked if kept else ios), seconds


def _seconds(parts: Sequence[Part]) -> float:
    return max((part.runtime_ms for part in parts), default=0.0) / 1000


def _histogram(quantity: Quantity, parts: Sequence[Part]) -> Histogram:
    if quantity is Quantity.FLUSH:
        flush = Flush.joined(part.flush for part in parts)
        return flush.histogram if flush is not None else Histogram()
    return Histogram.merge(part.histogram for part in parts if part.direction == quantity.value)


def _above(histogram: Histogram, limit: float) -> int:
    return sum(count for ns, count in histogram.bins if ns > limit)


def _more(share: float, limit: float, counted: float, windows: int) -> int:
    """Windows more until the interval would leave the limit out, if all goes on as it did."""
    evidence = counted * sum(p * log(p / q) for p, q in ((share, limit), (1 - share, 1 - limit)) if p)
    wanted = log(1 / RISK) + 0.5 * log(max(counted, 2.0))
    times = wanted / evidence if evidence > 0 else inf
    return ceil(windows * min(HOPELESS, max(0.0, times - 1))) if isfinite(times) else HOPELESS * windows
