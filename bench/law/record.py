# SPDX-License-Identifier: Apache-2.0
"""From the events of a load to the intervals and latencies that fio would report."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from tests.simulate.device import Interval, Load
from tests.simulate.jobs import SimulatedJob

Floats = NDArray[np.float64]
_LATE = 0.2
"""Share of a log's rows that fio writes late, as seen on a machine that has other things to do."""


@dataclass(frozen=True)
class Event:
    """A parcel of I/Os of one clone that come one after the other; seconds since the load began."""

    began: float
    ended: float
    ios: float
    way: str
    clone: int


@dataclass
class Run:
    """A job as it goes on. ends: when nothing more is asked. left: bytes of each clone. group: I/Os of a parcel."""

    job: SimulatedJob
    ends: float
    began: float
    offsets: list[int]
    left: list[float]
    unsynced: list[int]
    group: int = 1
    counted: float = 0.0
    since: float = 0.0
    events: list[Event] = field(default_factory=list)

    @classmethod
    def of(cls, job: SimulatedJob, now: float, limit: float) -> Run:
        return cls(
            job,
            now + min(limit, job.runtime_seconds or math.inf),
            now,
            [int(job.number("offset") + job.number("offset_increment") * clone) for clone in range(job.numjobs)],
            [job.work_bytes or math.inf] * job.numjobs,
            [0] * job.numjobs,
            since=now,
        )

    def done(self, event: Event, now: float, per_s: float) -> None:
        """Book a parcel, and see how large the next ones may be."""
        self.events.append(event)
        self.counted += event.ios
        spent = now - self.since
        if spent > 0.05 and self.counted >= 20 * self.group:
            self.group = max(1, min(int(self.counted / spent / per_s + 0.5), 4 * self.group))
            self.counted, self.since = 0.0, now


def load_of(job: SimulatedJob, events: Sequence[Event], limit: float) -> Load:
    """Intervals, latencies and totals of a job. limit: seconds after which it was killed."""
    end = min(job.runtime_seconds or math.inf, limit)
    kept = [one for one in (_cut(event, end, limit) for event in events) if one is not None]
    last = max((one.ended for one in kept), default=0.0)
    ran = min(limit, last if job.work_bytes and last < end else max(end, last) if math.isfinite(end) else last)
    edges = _edges(job, ran, len(kept))
    mine: dict[tuple[int, str], list[Event]] = {(n, way): [] for n in range(job.numjobs) for way in job.directions}
    for one in kept:
        mine[one.clone, one.way].append(one)
    load = Load(job, 0.0, ran)
    totals = {way: np.zeros((2, len(edges))) for way in job.directions}
    for clone in range(job.numjobs):
        parts = {way: _binned(mine[clone, way], edges) for way in job.directions}
        load.clones.append(_intervals(parts, edges))
        for way, part in parts.items():
            totals[way] += part
    load.intervals = _intervals(totals, edges)
    draws = np.random.default_rng(len(kept))
    for way in job.directions:
        found = np.array([(one.ended - one.began, one.ios) for one in kept if one.way == way])
        if len(found):
            load.latencies[way] = _latencies(found, draws)
    return load


def _cut(one: Event, end: float, limit: float) -> Event | None:
    """What of a parcel was asked for before the end; single I/Os come back after it, unless all was killed."""
    if one.ios == 1:
        return one if one.ended <= limit else None
    if one.ended <= end:
        return one
    if one.began >= end:
        return None
    share = (end - one.began) / (one.ended - one.began)
    return replace(one, ios=max(1.0, round(one.ios * share)), ended=end)


def _edges(job: SimulatedJob, ran: float, seed: int) -> list[float]:
    """When the rows of a log are written, in seconds; the last is the end of the load."""
    step = job.number("log_avg_msec") / 1000 if "log_avg_msec" in job.options else 0.1
    draws = random.Random(f"log {seed} {ran}")
    at, edges = 0.0, []
    while at < ran - 1e-9:
        late = draws.uniform(0.2, 1.0) if draws.random() < _LATE else draws.uniform(0.0, 0.02)
        at = round(at + step * (1 + late), 3)
        edges.append(at)
    return [*edges[:-1], max(ran, 1e-6)]


def _binned(events: Sequence[Event], edges: Sequence[float]) -> Floats:
    """Shape (2, intervals): I/Os that came back in each, and the sum of their latencies; a parcel's come evenly."""
    counts, sums = np.zeros(len(edges)), np.zeros(len(edges))
    if not events:
        return np.stack([counts, sums])
    table = np.array([(one.began, one.ended, one.ios) for one in events])
    began, ended, ios = table[:, 0], table[:, 1], table[:, 2]
    latency = (ended - began) / ios
    places = np.asarray(edges)
    last = np.minimum(np.searchsorted(places, ended - 1e-9), len(edges) - 1)
    first = np.where(ios == 1, last, np.minimum(np.searchsorted(places, began, side="right"), last))
    whole = first == last
    np.add.at(counts, last[whole], ios[whole])
    np.add.at(sums, last[whole], (ios * latency)[whole])
    for n in np.nonzero(~whole)[0]:
        ends = np.concatenate(([began[n]], places[first[n] : last[n]], [ended[n]]))
        shares = np.diff(ends) / (ended[n] - began[n]) * ios[n]
        counts[first[n] : last[n] + 1] += shares
        sums[first[n] : last[n] + 1] += shares * latency[n]
    done = np.diff(np.floor(np.cumsum(counts) + 1e-6), prepend=0.0)
    return np.stack([done, np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0) * done])


def _intervals(parts: dict[str, Floats], edges: Sequence[float]) -> list[Interval]:
    made = []
    before = 0.0
    for place, end in enumerate(edges):
        ios = {way: float(part[0, place]) for way, part in parts.items()}
        mean = {way: float(part[1, place] / part[0, place]) if part[0, place] else 0.0 for way, part in parts.items()}
        # fio writes nothing of the interval in which a load ends.
        made.append(Interval(end, ios, mean, end - before if place < len(edges) - 1 else 0.0))
        before = end
    return made


def _latencies(found: Floats, draws: np.random.Generator) -> Floats:
    """Latencies that stand for all, ascending. found: rows of (seconds of a parcel, its I/Os)."""
    seconds, ios = found[:, 0], found[:, 1]
    chosen = draws.choice(len(found), min(4000, 50 + len(found)), p=ios / ios.sum())
    values = seconds[chosen] / ios[chosen]
    values = np.where(ios[chosen] > 1, values * np.exp(draws.normal(-0.02, 0.2, len(chosen))), values)
    return np.asarray(np.sort(values * (seconds.sum() / ios.sum()) / values.mean()))
