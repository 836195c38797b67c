# SPDX-License-Identifier: Apache-2.0
"""A visit: one independent start of the load for one cell, and what was recorded of it; what it is made for, and the
states of visits, batches and sections. Texts of enumerations are those of the journal.

Latency histograms are merged by count. Percentiles are read off the merged counts, never averaged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import accumulate

from ioatlas.model.verdict import NO_VERDICT, Reason, Verdict


@dataclass(frozen=True)
class Histogram:
    """I/Os by latency. `bins` is sorted: (latency_ns, count); the latency is the one that stands for the bucket."""

    bins: tuple[tuple[int, int], ...] = ()

    @classmethod
    def from_counts(cls, counts: Mapping[int, int]) -> Histogram:
        return cls(tuple(sorted((int(ns), int(n)) for ns, n in counts.items() if n > 0)))

    @classmethod
    def merge(cls, histograms: Iterable[Histogram]) -> Histogram:
        counts: dict[int, int] = {}
        for histogram in histograms:
            for ns, n in histogram.bins:
                counts[ns] = counts.get(ns, 0) + n
        return cls.from_counts(counts)

    @cached_property
    def _up_to(self) -> tuple[int, ...]:
        """How many I/Os took no longer than each bin; it is asked for again and again."""
        return tuple(accumulate(n for _, n in self.bins))

    @property
    def count(self) -> int:
        return self._up_to[-1] if self.bins else 0

    @property
    def ends_ns(self) -> tuple[float, ...]:
        """Latencies of the fastest and the slowest I/O; nothing where it is empty."""
        return (float(self.bins[0][0]), float(self.bins[-1][0])) if self.bins else ()

    @property
    def mean_ns(self) -> float | None:
        total = self.count
        return sum(ns * n for ns, n in self.bins) / total if total else None

    def percentile_ns(self, percent: float) -> float | None:
        """Nearest-rank percentile, 0 < percent <= 100; None when the histogram is empty."""
        total = self.count
        if not total:
            return None
        rank = max(1.0, total * percent / 100)
        place = min(bisect_left(self._up_to, rank), len(self.bins) - 1)
        return float(self.bins[place][0])


class Purpose(StrEnum):
    """Why a visit was planned. The texts are those of the journal's column and stay as they are."""

    SWEEP = "sweep"
    """A replicate of a cell; only these give the cell its value. The trials of a tuning are of this kind too."""
    PROBE = "probe"
    """A short look at a target's pace, so that windows can be sized. It is part of no figure."""
    FRESH = "fresh"
    """Made again for a cell that is to be named because it is extreme, so that its value does not come from the choice.
    """
    BASELINE = "sentinel"
    """Watches the target for drift between the replicates, and is part of no cell's value."""
    INITIAL = "before"
    """A read before any load wrote; none are made any more."""
    SEARCH = "search"
    """A trial on the way to the highest load of several streams."""
    CURVE = "curve"
    """A point of the load-latency curve of a setting that was tuned."""
    BESIDE = "beside"
    """Told beside the map, of which it is no cell: writes that wait for a flush, and reads under writes."""

    @classmethod
    def _missing_(cls, value: object) -> Purpose | None:
        return cls.BASELINE if value == "baseline" else None


SWEPT = frozenset({Purpose.SWEEP, Purpose.BASELINE})
"""Visits that show how a target was over the time of the sweep."""
COUNTED = frozenset({Purpose.SWEEP, Purpose.FRESH})
"""Visits that give the values of a result."""


class VisitStatus(StrEnum):
    """How far a visit is."""

    PLANNED = "planned"
    DONE = "done"
    DISCARDED = "discarded"
    """Made, and taken out of every figure."""
    FAILED = "failed"
    DROPPED = "dropped"
    """Given up before it was made."""


class BatchStatus(StrEnum):
    """How far a batch is."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class SectionState(StrEnum):
    """How a section of a batch ended."""

    FINISHED = "finished"
    CUT_SHORT = "cut-short"
    """Stopped before its time: it may be made again."""
    OVER_RUN = "over-run"
    """Drained past its gap, or overlapped a neighbour: made again alone."""
    FAILED = "failed"
    """An I/O error, or no figures."""


class RemarkKind(StrEnum):
    """What a remark on a campaign is about."""

    WARNING = "warning"
    LEFT_OUT = "left-out"
    """Something planned was not measured."""
    NOTE = "note"


REPLICATES_OF_A_SET_UP = 100_000
"""Replicates of the first set-up of a target count from 0, of the second from here, and so on."""


def set_up_of(replicate: int) -> int:
    """In which set-up of its target a replicate was made, from 0; some replicates count down from its first."""
    return (replicate + REPLICATES_OF_A_SET_UP // 2) // REPLICATES_OF_A_SET_UP


SLICE_MS = 100
"""Throttles of Linux and QEMU let I/Os pass in slices of this length: what is counted over times that are no part or
multiple of it holds now one slice more, now one less.
"""


@dataclass(frozen=True)
class Series:
    """Interval series of one part, summed over jobs. All tuples have the same length.

    end_ms:      end of each interval, milliseconds since the visit's load started.
    bw_bytes_per_s, lat_mean_ns: over the interval; lat_mean_ns is 0 where no I/O completed.
    """

    interval_ms: int
    end_ms: tuple[int, ...] = ()
    bw_bytes_per_s: tuple[float, ...] = ()
    lat_mean_ns: tuple[float, ...] = ()


@dataclass(frozen=True)
class Flush:
    """The flushes that writes of a part waited for, beside the writes themselves: how many, and what each took alone.

    mean_ns, write_mean_ns: of a flush, and of a write without it.
    """

    count: int
    mean_ns: float
    histogram: Histogram
    write_mean_ns: float
    write_histogram: Histogram

    @property
    def of_a_write(self) -> float:
        """Flushes a write, at most one: of a mix fio also flushes after reads, which no write waits for."""
        return min(1.0, self.count / self.write_histogram.count) if self.write_histogram.count else 0.0

    @classmethod
    def joined(cls, flushes: Iterable[Flush | None]) -> Flush | None:
        """Of several parts together; None where none has any."""
        known = [one for one in flushes if one is not None and one.count]
        if not known:
            return None
        count, writes = sum(one.count for one in known), Histogram.merge(one.write_histogram for one in known)
        alone = sum(one.write_mean_ns * one.write_histogram.count for one in known)
        return cls(
            count,
            sum(one.mean_ns * one.count for one in known) / count,
            Histogram.merge(one.histogram for one in known),
            alone / writes.count if writes.count else known[0].write_mean_ns,
            writes,
        )


@dataclass(frozen=True)
class Part:
    """Totals of one direction of one visit, over the whole time its load ran (`runtime_ms`; whole milliseconds where
    fio counted them).

    lat_kind: what its latencies cover; 'flushed' is a write and the flush that it waits for.
    stream: which of several streams at once; '' when the load is one.
    """

    direction: str
    io_bytes: int
    total_ios: int
    runtime_ms: float
    lat_mean_ns: float | None
    histogram: Histogram
    series: Series
    lat_kind: str = "total"
    short_ios: int = 0
    drop_ios: int = 0
    stream: str = ""
    flush: Flush | None = None


@dataclass(frozen=True)
class VisitShare:
    """What one of several had of a part of a visit, in the time in which all of them ran: a client of all targets that
    it loads, or a target of all clients.

    started_at: when its own load began, by our clock; runtime_ms: for how long it ran, beyond the common time too.
    lat_mean_ns, lat_p99_ns: over the whole of its own time.
    """

    direction: str
    started_at: float
    runtime_ms: float
    io_bytes: int
    total_ios: int
    bw_bytes_per_s: float
    lat_mean_ns: float | None = None
    lat_p99_ns: float | None = None
    stream: str = ""
    series: Series = Series(0)
    name: str = ""

    @property
    def ended_at(self) -> float:
        """When its own load was done, by our clock."""
        return self.started_at + self.runtime_ms / 1000

    def rate(self, window_start_ms: int) -> float:
        """Bytes a second from so long after the common start on, where its series tells; else of all of it."""
        kept = [
            value
            for end_ms, value in zip(self.series.end_ms, self.series.bw_bytes_per_s, strict=True)
            if end_ms > window_start_ms
        ]
        return sum(kept) / len(kept) if window_start_ms and kept else self.bw_bytes_per_s


@dataclass(frozen=True)
class Visit:
    """What one section of one fio process did. `window_start_ms` is where the warm-up was cut (0: nothing was cut).

    clients: of a visit that several clients made, the share of each; its parts are their sum.
    targets: of a visit that loads several targets together, the share of each; its parts are their sum.
    clock_error_ms: how far off their clocks may be against each other.
    """

    visit_id: int
    cell_key: str
    batch_id: int
    section: int
    replicate: int
    seed: int
    started_at: float
    parts: tuple[Part, ...]
    error: int = 0
    cpu_percent: float | None = None
    purpose: Purpose = Purpose.SWEEP
    window_start_ms: int = 0
    verdict: Verdict = NO_VERDICT
    discarded: tuple[Reason, ...] = ()
    clients: tuple[VisitShare, ...] = ()
    clock_error_ms: float = 0.0
    targets: tuple[VisitShare, ...] = ()
    load_cores: tuple[float, float] | None = None
    """Cores' worth of user and system time that its load took: known until it is in the journal, like what follows."""
    waiting: float | None = None
    """Share of its time in which the load's threads stood ready and waited for a processor: known as it is judged."""

    def moved(self, target: str) -> tuple[tuple[str, str, int], ...]:
        """(target, direction, bytes) of all that it did. target: of its cell, where that is one alone."""
        shares = tuple((one.name, one.direction, one.io_bytes) for one in self.targets)
        return shares or tuple((target, part.direction, part.io_bytes) for part in self.parts)

    @property
    def ran_ms(self) -> float:
        """How long its load ran, what was in flight at the end included; of several the longest, not the time that they
        have in common.
        """
        return max((one.runtime_ms for one in self.clients or self.targets or self.parts), default=0.0)

    @property
    def skew_ms(self) -> float:
        """Between the first and the last start, of clients and of targets loaded together."""
        starts = [part.started_at for part in (*self.clients, *self.targets)]
        return 1000 * (max(starts) - min(starts)) if starts else 0.0

    @property
    def finish_spread_ms(self) -> float:
        """Between the first and the last end, likewise."""
        ends = [part.ended_at for part in (*self.clients, *self.targets)]
        return 1000 * (max(ends) - min(ends)) if ends else 0.0
