# SPDX-License-Identifier: Apache-2.0
"""What the figures of an imported reading say about each other: arithmetic that every measurement obeys.

A contradiction is told at the reading and never corrected: which of its figures is wrong, the source does not say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.units import format_count, format_latency, format_rate, format_size

_TOLERANCE = 0.1
"""Relative: tools round what they print, and count their seconds in their own ways."""
_BUCKET = 0.05
"""Relative: percentiles are edges or middles of a histogram's steps."""
_FEW_IN_FLIGHT = 0.5
"""Below this share of the depth the queue was not full, or the latency is not that of one I/O."""
_ONE_WAY = frozenset({"read", "write", "randread", "randwrite", "trim", "randtrim"})


def doubts(reading: ImportedReading) -> tuple[str, ...]:
    """Sentences on what cannot be, or what a failed run left; empty for most readings."""
    return tuple(sentence for check in _CHECKS for sentence in check(reading))


def _differ(one: float, other: float, rounding: float = 0) -> bool:
    return abs(one - other) > _TOLERANCE * max(one, other) + rounding


def _digits(reading: ImportedReading) -> float:
    """How far a rate may be off because of the digits it was printed with."""
    return _figure(reading.details.get("bw_half_digit_bytes_per_s")) or 0.0


def _errors(reading: ImportedReading) -> Iterator[str]:
    if reading.errors:
        code = any("error code" in note for note in reading.notes)
        what = f"error {reading.errors}" if code else f"{reading.errors} errors"
        yield f"the tool reported {what}: the run failed, at least in part"


def _latency_and_time(reading: ImportedReading) -> Iterator[str]:
    """No I/O takes longer than its run."""
    seconds = reading.runtime_seconds
    for name, value in (("mean", reading.lat_mean_ns), ("99th percentile", reading.lat_p99_ns)):
        if seconds and value and value / 1e9 > seconds * (1 + _TOLERANCE):
            yield (
                f"contradiction: a {name} latency of {format_latency(value)} in a run of {seconds:g} s; "
                "one of them is wrong"
            )


def _order(reading: ImportedReading) -> Iterator[str]:
    """No percentile is below a lower one; a mean lies between the least and the most."""
    details = reading.details
    for name, listed in details.items():
        points = _points(listed)
        fallen = next((high for low, high in pairwise(points) if high[1] < low[1] * (1 - _BUCKET)), None)
        if fallen is not None:
            yield f"contradiction: of {name}, {fallen[0]:g}% is below a lower percentile"
    own = "clat" if reading.lat_kind == "completion" else "lat"
    for kind in ("slat", "clat", "lat"):
        low, high = (_figure(details.get(f"{kind}_{end}_ns")) for end in ("min", "max"))
        mean = _figure(details.get(f"{kind}_mean_ns", reading.lat_mean_ns if kind == own else None))
        p99 = reading.lat_p99_ns if (reading.lat_p99_kind == "completion") == (kind == "clat") else None
        for name, value in (("mean", mean), ("99th percentile", p99 if kind != "slat" else None)):
            if value is not None and high is not None and value > high * (1 + _BUCKET):
                most = format_latency(high)
                yield f"contradiction: a {kind} {name} of {format_latency(value)} above the most, {most}"
        if mean is not None and low is not None and mean < low * (1 - _BUCKET):
            yield f"contradiction: a {kind} mean of {format_latency(mean)} below the least, {format_latency(low)}"


def _points(listed: object) -> list[tuple[float, float]]:
    """(per cent, value) of percentiles, ascending; empty for anything else."""
    if not isinstance(listed, Mapping):
        return []
    found = [(_figure(at), _figure(value)) for at, value in listed.items()]
    return sorted((at, value) for at, value in found if at is not None and value is not None and at <= 100)


def _figure(value: object) -> float | None:
    try:
        return None if value is None else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _count_and_time(reading: ImportedReading) -> Iterator[str]:
    """I/Os are their rate times time."""
    total, iops, seconds = _figure(reading.details.get("total_ios")), reading.iops, reading.runtime_seconds
    if not total or not iops or not seconds or seconds < 1 or abs(total / seconds - iops) <= 1:
        return
    if _differ(iops * seconds, total):
        yield (
            f"contradiction: {format_count(iops)} I/Os per second for {seconds:g} s make "
            f"{format_count(iops * seconds)}, but {format_count(total)} were made"
        )


def _bytes_and_time(reading: ImportedReading) -> Iterator[str]:
    """Bytes are rate times time."""
    moved, rate, seconds = reading.io_bytes, reading.bw_bytes_per_s, reading.runtime_seconds
    if moved and rate and seconds and seconds >= 0.1 and _differ(rate * seconds, moved, _digits(reading) * seconds):
        yield (
            f"contradiction: {format_rate(rate)} for {seconds:g} s make {format_size(round(rate * seconds))}, "
            f"but {format_size(moved)} were moved"
        )


def _rate_and_size(reading: ImportedReading) -> Iterator[str]:
    """Bandwidth is I/Os times block size, where all I/Os have one size."""
    rate, iops, block = reading.bw_bytes_per_s, reading.iops, reading.bs_bytes
    # IOR counts opening and closing into the bandwidth alone: its I/Os come to more, never to less.
    if rate and iops and block and reading.tool == "ior" and iops * block > rate:
        return
    if rate and iops and float(iops).is_integer() and block and (iops - 1) * block <= rate <= (iops + 1) * block:
        return  # a count without its fraction: 3 I/Os per second are up to 3.99
    if rate and iops and block and iops >= 1 and _differ(iops * block, rate, _digits(reading)):
        yield (
            f"contradiction: {format_count(iops)} I/Os per second of {format_size(block)} make "
            f"{format_rate(iops * block)}, not {format_rate(rate)}; the sizes are not all alike, or one is wrong"
        )


def _littles_law(reading: ImportedReading) -> Iterator[str]:
    """I/Os in flight are I/Os per second times their latency, and at most jobs times depth."""
    if reading.iops is None or not reading.lat_mean_ns or not reading.iodepth or not reading.numjobs:
        return
    if reading.tool == "ioatlas":
        return  # a geometric mean of I/Os and a mean of latencies: together they hold of steady visits alone
    if any("of each SD or FWD" in note or "entry's share" in note for note in reading.notes):
        return  # what part of the load the figures are of is not told
    in_flight = reading.iops * reading.lat_mean_ns / 1e9
    asked = reading.numjobs * reading.iodepth
    known = f"{format_count(reading.iops)} IOPS with {format_latency(reading.lat_mean_ns)} are {in_flight:.2g} I/Os"
    if in_flight > asked * (1 + _TOLERANCE):
        yield f"contradiction (Little's law): {known} in flight, but the run had at most {asked}"
    elif in_flight < asked * _FEW_IN_FLIGHT and _is_whole(reading):
        yield (
            f"Little's law: {known} in flight, but {asked} were asked for. The queue was not full, or the latency is "
            "not that of one I/O"
        )


def _is_whole(reading: ImportedReading) -> bool:
    """Whether the reading has all I/Os of a load that was not paced: only then its I/Os in flight can be too few."""
    paced = any(reading.details.get(name) for name in ("reqrate", "requested_rate", "rate", "rate_iops", "thinktime"))
    return not paced and (reading.direction == "mixed" or reading.rw in _ONE_WAY or reading.tool == "xdd")


_CHECKS: tuple[Callable[[ImportedReading], Iterator[str]], ...] = (
    _errors,
    _latency_and_time,
    _order,
    _count_and_time,
    _bytes_and_time,
    _rate_and_size,
    _littles_law,
)
