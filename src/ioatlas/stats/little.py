# SPDX-License-Identifier: Apache-2.0
"""Little's law over one visit: throughput x latency is the number of I/Os in flight, which the load was told to keep.

What a reading says is wrong where the two differ, or something took time that nobody counted. Flushes, think time and a
flush at the end are counted; rates and fio's own depth search leave only the upper bound. What is missing then is the
load generator's where its processor time, and its waits for a processor, are long enough; else it is told as a fault of
our own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from ioatlas.model.cell import TRACE, Cell
from ioatlas.model.visit import Part

LOW, HIGH = 0.90, 1.02
"""Shares of the number that was to be in flight between which a reading holds."""
_ONLY_BOUNDED = ("rate", "rate_iops", TRACE, "latency_target", "flow", "iodepth_low", "serialize_overlap")
"""Options with which fewer may be in flight than the depth says, and nobody knows how many."""
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d|)")
_US = {"": 1.0, "us": 1.0, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9, "d": 8.64e10}


@dataclass(frozen=True)
class InFlight:
    """I/Os in flight on average.

    low, high: as the reading counts them; a flush that holds up the queue may or may not be one. least, most: as many
    as the load may have kept. edge: share that the I/Os cut off at either end may make.
    """

    low: float
    high: float
    least: float
    most: float
    edge: float

    @property
    def missing(self) -> float:
        """Share of what was to be in flight that the reading does not hold, beyond what is allowed; 0 where it holds
        all.
        """
        short = 1 - self.high / self.least if self.least else 0.0
        return short if short > self.allowed else 0.0

    @property
    def allowed(self) -> float:
        """Share that may be missing."""
        return 1 - LOW + self.edge

    @property
    def beyond(self) -> bool:
        """Whether it holds more than there can have been: a broken clock or a wrong unit."""
        return self.low > self.most * (HIGH + self.edge)

    @property
    def sentence(self) -> str:
        of = self.most if self.beyond else self.least
        counted = self.low if self.beyond else self.high
        return (
            f"Little's law: IOPS x mean latency = {counted:.2f} in flight, {of:g} kept in flight "
            f"(ratio {counted / of:.2f})"
        )


def in_flight(parts: Sequence[Part], cell: Cell, *, asked_ms: float | None = None) -> InFlight | None:
    """What the parts of one load say of the number in flight; None where their latencies do not tell.

    asked_ms: how long the load was to run, where time bounds it. Every slot is busy all the time but for its last I/O,
    which was started and is not counted if the window ends first, and is counted in full if it is let finish. So one
    latency a slot is in doubt: a 1 s window of 100 ms I/Os is judged by 0.80 .. 1.12.
    """
    work = [part for part in parts if part.total_ios]
    total = sum(part.total_ios for part in work)
    seconds = _seconds(work, cell, asked_ms)
    if not work or seconds <= 0 or cell.outstanding < 1 or any(not _alone_ns(part) for part in work):
        return None
    if any(part.lat_kind == "intended" for part in work):
        return None  # from when an I/O was due: its wait for a free slot is in it
    held = sum(part.total_ios * _alone_ns(part) for part in work) / 1e9 / seconds
    flushes = [part.flush for part in work if part.flush is not None]
    flushed = sum(one.count * one.mean_ns for one in flushes) / 1e9 / seconds
    jobs = cell.outstanding // max(1, cell.iodepth)
    thought = _think_seconds(cell) * total / max(1, cell.integer("thinktime_blocks", 1)) / seconds
    least = float(jobs if thought else cell.outstanding)  # what is in flight comes back before a job thinks
    unknown = cell.flushes and not flushes and not cell.flush_holds_queue
    if unknown or any(cell.option.get(name) for name in _ONLY_BOUNDED):
        least = 0.0
    low, high = held + flushed, held + flushed + thought + (jobs if cell.flush_holds_queue else 0)
    longest = max((one.mean_ns for one in flushes), default=0.0) / 1e9 / seconds
    return InFlight(low, high, least, float(cell.outstanding), max(low / total, longest))


def _alone_ns(part: Part) -> float:
    """Mean latency without a flush; 0 where it is not known."""
    mean = part.flush.write_mean_ns if part.flush is not None else part.lat_mean_ns
    return mean if mean and isfinite(mean) else 0.0


def _seconds(parts: Sequence[Part], cell: Cell, asked_ms: float | None) -> float:
    """How long I/Os were issued: a flush at the end is part of the time of a load, and no I/O is in flight then."""
    ran_ms = max((part.runtime_ms for part in parts), default=0.0)
    if not cell.integer("end_fsync", 0) and not cell.integer("fsync_on_close", 0):
        return ran_ms / 1000
    seen_ms = [part.series.end_ms[-1] + part.series.interval_ms for part in parts if part.series.end_ms]
    until_ms = asked_ms or max(seen_ms, default=ran_ms)
    return min(ran_ms, until_ms) / 1000


def _think_seconds(cell: Cell) -> float:
    found = _TIME.fullmatch(str(cell.option.get("thinktime", "")).strip())
    return float(found[1]) * _US[found[2]] / 1e6 if found else 0.0
