# SPDX-License-Identifier: Apache-2.0
"""What a write takes together with its flush. fio counts the two apart: the write ends before the flush begins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ioatlas.fio.figures import buckets
from ioatlas.fio.records import LatencyStats
from ioatlas.model.cell import Cell
from ioatlas.model.histogram import Histogram
from ioatlas.model.visit import Flush, Part, Series

FLUSHED = "flushed"


def with_flush(part: Part, told: LatencyStats | None, cell: Cell) -> Part:
    """The part of a job's writes with what fio told of its flushes.

    Latencies become those of a write with its flush, where fio's times can be taken: means add up; percentiles are
    those of a sum of two times that do not depend on each other.
    """
    if told is None or not told.samples or told.mean_ns is None or part.lat_mean_ns is None or cell.flush_holds_queue:
        return part
    flush = Flush(told.samples, told.mean_ns, told.histogram, part.lat_mean_ns, part.histogram)
    part = replace(part, flush=flush)
    if part.lat_kind != "total":
        return part
    share = flush.of_a_write
    return replace(
        part,
        lat_mean_ns=flush.write_mean_ns + share * flush.mean_ns,
        histogram=_sum(part.histogram, flush.histogram, share),
        series=_later(part.series, share * flush.mean_ns),
        lat_kind=FLUSHED,
    )


def _sum(first: Histogram, second: Histogram, share: float) -> Histogram:
    """Times of `first`, a share of them with a time of `second` behind each; as many as `first` has."""
    if not first.bins or not second.bins:
        return first
    (ns, counts), (more_ns, more) = (_bucketed(one) for one in (first, second))
    sums = buckets((ns[:, None] + more_ns[None, :]).ravel())
    weights = share * np.outer(counts, more / more.sum()).ravel()
    places, where = np.unique(np.concatenate((ns, sums)), return_inverse=True)
    exact = np.bincount(where, np.concatenate(((1 - share) * counts, weights)))
    # Rounded where they add up, so that no percentile moves and none is lost.
    upto = np.rint(np.cumsum(exact)).astype(np.int64)
    whole = np.diff(upto, prepend=0)
    return Histogram.from_counts(dict(zip(places.tolist(), whole.tolist(), strict=True)))


def _bucketed(histogram: Histogram) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Latencies in fio's buckets, of which there are few however many values were told, and their counts."""
    values, counts = np.asarray(histogram.bins, dtype=np.int64).T
    places, where = np.unique(buckets(values), return_inverse=True)
    return places, np.bincount(where, counts).astype(np.int64)


def _later(series: Series, by_ns: float) -> Series:
    """The series with each interval's latency so much longer: flushes are not told apart over time."""
    return replace(series, lat_mean_ns=tuple(ns + by_ns if ns else ns for ns in series.lat_mean_ns))
