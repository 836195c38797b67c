# SPDX-License-Identifier: Apache-2.0
"""What fio writes: its JSON in the format json+ with the keys of fio 3.33, and the logs of intervals and of I/Os."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ioatlas.load.fio.figures import buckets
from ioatlas.load.fio.series import DIRECTIONS
from tests.simulate.device import Interval, Load
from tests.simulate.jobs import SimulatedJob
from tests.simulate.rows import Rows

VERSION = "fio-3.33"
_PERCENTS = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
_QUANTILES = 101
_DEPTHS = ("1", "2", "4", "8", "16", "32", ">=64")
_SUBMITS = ("0", "4", "8", "16", "32", "64", ">=64")
_STEPS = ("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000")
_SPREADS = {
    "iodepth_level": dict.fromkeys(_DEPTHS, 0.0),
    "iodepth_submit": dict.fromkeys(_SUBMITS, 0.0),
    "iodepth_complete": dict.fromkeys(_SUBMITS, 0.0),
    "latency_ns": dict.fromkeys(_STEPS, 0.0),
    "latency_us": dict.fromkeys(_STEPS, 0.0),
    "latency_ms": dict.fromkeys((*_STEPS, "2000", ">=2000"), 0.0),
}
"""Coarse histograms that fio prints besides; nothing reads them."""
_NONE = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
_NORMAL = np.array([NormalDist().inv_cdf((step + 0.5) / _QUANTILES) for step in range(_QUANTILES)])


@dataclass
class Entry:
    """One entry of `jobs`: a job with its load or, of each clone or lane of a trace, the rows of its I/Os.

    spread: of latencies inside an interval.
    flush_seconds: of a flush after each write. lanes: the jobs of a trace that are reported together.
    """

    job: SimulatedJob
    load: Load
    spread: float
    rows: list[Rows] = field(default_factory=list)
    cpu_seconds: float = 0.0
    flush_seconds: float = 0.0
    lanes: tuple[SimulatedJob, ...] = ()

    def count(self, way: str) -> int:
        """I/Os in one direction."""
        if self.rows:
            return sum(int((rows[:, 2] == DIRECTIONS.index(way)).sum()) for rows in self.rows)
        if self.load.clones:
            return self.load.ios(way)
        return round(self.load.ios(way) / self.job.numjobs) * self.job.numjobs

    def moved_bytes(self, way: str, count: int) -> int:
        """Bytes in one direction of so many I/Os."""
        if self.rows:
            return int(sum(rows[rows[:, 2] == DIRECTIONS.index(way), 3].sum() for rows in self.rows))
        return int(count * self.job.block_bytes(way))

    def latencies_ns(self, way: str, count: int) -> NDArray[np.float64]:
        """Latencies that stand for all of so many I/Os, ascending; each for as many as any other."""
        if self.rows:
            all_rows = np.concatenate(self.rows)
            return np.sort(all_rows[all_rows[:, 2] == DIRECTIONS.index(way), 1]) * 1e9
        if way in self.load.latencies:
            return self.load.latencies[way] * 1e9
        steps = _NORMAL[:: max(1, _QUANTILES // max(1, count))] if count < _QUANTILES else _NORMAL
        values = np.exp(self.spread * steps)
        alone = self.load.latency_seconds(way) - (self.flush_seconds if way == "write" else 0.0)
        return np.asarray(values * (alone * 1e9 / values.mean()), dtype=np.float64)


def _latency(values: NDArray[np.float64], count: int) -> dict[str, Any]:
    if not count or not values.size:
        return dict(_NONE)
    each, rest = divmod(count, values.size)
    middles = buckets(values.astype(np.int64))
    whole, places = np.unique(middles, return_inverse=True)
    counts = np.bincount(places, np.where(np.arange(values.size) < rest, each + 1, each))
    bins = {
        str(value): number
        for value, number in zip(whole.tolist(), counts.astype(np.int64).tolist(), strict=True)
        if number
    }
    ranks = [min(values.size - 1, max(0, math.ceil(percent / 100 * values.size) - 1)) for percent in _PERCENTS]
    return {
        "min": int(values[0]),
        "max": int(values[-1]),
        "mean": float(values.mean()),
        "stddev": float(values.std()),
        "N": count,
        "percentile": {f"{p:.6f}": int(middles[rank]) for p, rank in zip(_PERCENTS, ranks, strict=True)},
        "bins": bins,
    }


def _direction(entry: Entry, way: str) -> dict[str, Any]:
    count = entry.count(way) if way in entry.job.directions or entry.rows else 0
    moved = entry.moved_bytes(way, count) if count else 0
    runtime_ms = math.ceil(entry.load.ran_seconds * 1000 - 1e-6) if count else 0
    seconds = max(runtime_ms, 1) / 1000
    rate = moved / seconds
    return {
        "io_bytes": moved,
        "io_kbytes": moved >> 10,
        "bw_bytes": int(rate),
        "bw": int(rate) >> 10,
        "iops": count / seconds,
        "runtime": runtime_ms,
        "total_ios": count,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": _NONE,
        "clat_ns": _NONE,
        "lat_ns": _latency(entry.latencies_ns(way, count), count) if count else _NONE,
        "bw_min": int(rate) >> 10,
        "bw_max": int(rate) >> 10,
        "bw_agg": 100.0 if count else 0.0,
        "bw_mean": rate / 1024,
        "bw_dev": 0.0,
        "bw_samples": 1 if count else 0,
        "iops_min": int(count / seconds),
        "iops_max": int(count / seconds),
        "iops_mean": count / seconds,
        "iops_stddev": 0.0,
        "iops_samples": 1 if count else 0,
    }


def _flushes(entry: Entry) -> dict[str, Any]:
    """Each as long as any other."""
    count = entry.count("write") if entry.flush_seconds else 0
    return {"total_ios": count, "lat_ns": _latency(np.array([1e9 * entry.flush_seconds]), count)}


def _entry(entry: Entry, elapsed: float) -> dict[str, Any]:
    ways = {way: _direction(entry, way) for way in DIRECTIONS}
    ios = sum(way["total_ios"] for way in ways.values())
    busy = ios * entry.cpu_seconds / max(1e-3, entry.load.ran_seconds * entry.job.numjobs)
    percent = 100 * min(1.0, busy)
    return {
        "jobname": entry.job.name,
        "groupid": entry.job.group,
        "error": entry.load.error,
        "eta": 0,
        "elapsed": math.ceil(elapsed),
        "job options": dict(entry.job.own),
        **ways,
        "sync": _flushes(entry),
        "job_runtime": math.ceil(entry.load.ran_seconds * 1000) * entry.job.numjobs,
        "usr_cpu": percent / 3,
        "sys_cpu": percent * 2 / 3,
        "ctx": ios,
        "majf": 0,
        "minf": 16,
        **_SPREADS,
        "latency_depth": entry.job.iodepth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
    }


def json_text(common: Mapping[str, str], entries: Iterable[Entry], *, now: float, elapsed: float) -> bytes:
    """Fio's JSON document. now: seconds since the epoch at its end; elapsed: seconds since fio started."""
    value = {
        "fio version": VERSION,
        "timestamp": int(now),
        "timestamp_ms": int(now * 1000),
        "time": time.ctime(now),
        **({"global options": dict(common)} if common else {}),
        "jobs": [_entry(entry, elapsed) for entry in entries],
        "disk_util": [],
    }
    return orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n"


def write_logs(directory: Path, entry: Entry, began: float) -> None:
    """The logs that the jobs of an entry ask for. began: seconds since the epoch when its load started."""
    options = entry.job.options
    if entry.rows:
        return
    for kind in ("lat", "bw"):
        name = options.get(f"write_{kind}_log")
        if name:
            (directory / f"{name}_{kind}.log").write_text(_interval_log(entry, kind, began))


def write_rows(directory: Path, name: str, clones: Sequence[Rows], began: float) -> None:
    """A log with one row for each I/O."""
    lines: list[str] = []
    for rows in clones:
        times = round(began * 1000) + np.floor(rows[:, 0] * 1000).astype(np.int64)
        latencies = np.rint(rows[:, 1] * 1e9).astype(np.int64)
        columns = (times, latencies, *(rows[:, place].astype(np.int64) for place in (2, 3, 4)))
        lines += map("{}, {}, {}, {}, {}\n".format, *(column.tolist() for column in columns))
    (directory / f"{name}_lat.log").write_text("".join(lines))


def _interval_log(entry: Entry, kind: str, began: float) -> str:
    """Rows of every clone one after the other, each in time order; the last, unfinished interval has none.

    As fio does: a sample is the mean over its own interval, and one in which nothing came back has none.
    """
    clones = entry.load.clones
    if clones:
        return "".join(_clone_log(entry.job, intervals, 1, kind, began) for intervals in clones)
    return _clone_log(entry.job, entry.load.intervals, entry.job.numjobs, kind, began) * entry.job.numjobs


def _clone_log(job: SimulatedJob, intervals: Sequence[Interval], share: int, kind: str, began: float) -> str:
    """Rows of one clone. share: among how many the I/Os of the intervals are divided."""
    step = job.number("log_avg_msec") / 1000
    begin_ms = round(began * 1000)
    lines = []
    carried: dict[str, float] = {}
    latest: dict[str, float] = {}
    for one in intervals:
        ends = one.seconds or abs(one.end_seconds / step - round(one.end_seconds / step)) <= 1e-3
        at_ms = begin_ms + round(one.end_seconds * 1000)
        for way, ios in one.ios.items():
            found = ios + carried.pop(way, 0.0)
            # After the last whole interval a latency has a row, where none was just before; a rate has none.
            alone = kind == "lat" and one.end_seconds - latest.get(way, 0.0) >= step
            count = math.floor(found / share + 1e-6) * share if ends or alone else 0
            carried[way] = found - count
            if not count:  # nothing came back
                continue
            kib_per_s = count * job.block_bytes(way) / 1024 / (one.seconds or step) / share
            value = kib_per_s if kind == "bw" else one.latency_seconds[way] * 1e9
            latest[way] = math.floor(one.end_seconds / step + 1e-6) * step
            lines.append(f"{at_ms}, {round(value)}, {DIRECTIONS.index(way)}, 0, 0\n")
    return "".join(lines)
