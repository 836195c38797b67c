# SPDX-License-Identifier: Apache-2.0
"""One drive with seeks and rotation, twice: written in place, and as the back end of a log."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ioatlas.errors import UsageError
from ioatlas_lab.recipes import NBDKIT, PYTHON_PLUGIN, REGISTRY, URI, each_way, nbdkit, number, whole
from ioatlas_lab.scenario import Check, Recipe, Scenario, Setting, Truth
from ioatlas_lab.spindle_disk import BLOCK, RESERVE, SEGMENT, TRACK

STEPS = 4000
SIGMAS = 4
DRIVE: dict[str, Setting] = {
    "bw_bytes_per_s": 20_000_000,
    "settle_ms": 0.5,
    "stroke_ms": 11.5,
    "rpm": 7200,
    "spare_percent": 50,
    "size_bytes": 256 << 20,
}
"""Settings of the drive, which is larger than what it offers by the spare."""


@dataclass(frozen=True)
class Spindle:
    """The drive by its formulas: settle + stroke x sqrt(distance / size) + a turn at random + transfer."""

    size_bytes: int
    drive_bytes: float
    bw_bytes_per_s: float
    settle_s: float
    stroke_s: float
    turn_s: float

    def seek_s(self, distance_bytes: float) -> float:
        """Settling and moving so far."""
        return self.settle_s + self.stroke_s * math.sqrt(distance_bytes / self.drive_bytes)

    def access_s(self, block_bytes: int, span_bytes: float, drives: int = 1) -> tuple[float, float]:
        """Mean and standard deviation of an access after another one, both anywhere in the span.

        Distances of two such places have the density 2 (1 - d). Within a track there is neither seek nor turn.
        With several drives, all do the same and the last one counts: the longest of so many turns.
        """
        turn = self.turn_s * drives / (drives + 1)
        spread = self.turn_s**2 * drives / (drives + 1) ** 2 / (drives + 2)
        mean = square = 0.0
        for step in range(STEPS):
            d = (step + 0.5) / STEPS
            if d * span_bytes <= TRACK:
                continue
            weight, time = 2 * (1 - d) / STEPS, self.seek_s(d * span_bytes) + turn
            mean += weight * time
            square += weight * (time**2 + spread)
        return mean + block_bytes / self.bw_bytes_per_s, math.sqrt(square - mean**2)

    def cleaning(self) -> tuple[float, float]:
        """(write amplification, bytes a second for the host) of random writes once the log is full.

        A circular log with the share u of its blocks in use finds the share v of its oldest segment in use, where
        u = (v - 1) / ln(v). A segment is read whole and written whole; v of that is moved, the rest is the host's.
        When cleaning begins the reserve is free, when it ends one segment more: half a one in the mean.
        """
        used = self.size_bytes / (self.drive_bytes - (RESERVE + 0.5) * SEGMENT)
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if (middle - 1) / math.log(middle) < used else (low, middle)
        turns = self.seek_s(RESERVE * SEGMENT) + self.seek_s((RESERVE + 1) * SEGMENT) + self.turn_s
        seconds = 2 * SEGMENT / self.bw_bytes_per_s + turns
        return 1 / (1 - low), (1 - low) * SEGMENT / seconds


def spindle(s: Mapping[str, Setting]) -> Spindle:
    """The drive of these settings. Raises UsageError for a size that is not in blocks."""
    size = whole(s, "size_bytes")
    if size % BLOCK:
        raise UsageError(f"size_bytes must be a multiple of {BLOCK}, not {size}")
    return Spindle(
        size,
        size * (1 + number(s, "spare_percent") / 100),
        number(s, "bw_bytes_per_s"),
        number(s, "settle_ms") / 1000,
        number(s, "stroke_ms") / 1000,
        60 / number(s, "rpm"),
    )


def log_drive(s: Mapping[str, Setting]) -> Spindle:
    """The drive under a log. Raises UsageError where its spare is too small to clean with."""
    drive = spindle(s)
    least = (RESERVE + 2) * SEGMENT
    if drive.drive_bytes - drive.size_bytes < least:
        raise UsageError(
            f"a log of {drive.size_bytes} bytes cannot be cleaned with {s['spare_percent']}% of spare",
            remedy=f"set spare_percent to {math.ceil(100 * least / drive.size_bytes)} or more",
        )
    return drive


def drive_words(s: Mapping[str, Setting], *, log: bool, aged: bool = False, number: int = 1) -> tuple[str, ...]:
    """What nbdkit is told of the drive; number: of several, which turn apart from one another."""
    given = {"size": s["size_bytes"], "rate": s["bw_bytes_per_s"], "log": int(log), "aged": int(aged), "seed": number}
    told = "{dir}/log.json" if number == 1 else f"{{dir}}/log{number}.json"
    same = {name: s[name] for name in ("settle_ms", "stroke_ms", "rpm", "spare_percent")}
    settings = (f"{key}={value}" for key, value in {**given, **same, "told": told}.items())
    # A log keeps whole blocks: smaller writes are read, changed and written.
    before, after = (("--filter=blocksize",), (f"minblock={BLOCK}",)) if log else ((), ())
    return (*before, "python", "{plugins}/spindle_disk.py", *settings, *after)


def chance(drive: Spindle, mean: float, deviation: float, seconds: float) -> tuple[float, str]:
    """Tolerance of a mean over as many accesses as fit into the time, and why."""
    count = seconds / mean
    return (
        max(0.01, SIGMAS * deviation / mean / math.sqrt(count)),
        f"chance: {SIGMAS} standard deviations of {count:.0f} seeks and turns of up to {drive.turn_s * 1000:.1f} ms",
    )


def _in_place(s: Mapping[str, Setting]) -> Recipe:
    drive, size = spindle(s), whole(s, "size_bytes")
    mean, deviation = drive.access_s(BLOCK, size)
    truth = {
        "iops": Truth(
            1 / mean,
            "1/s",
            "arithmetic",
            "random 4 KiB over the whole size, at any depth: 1 / (mean seek + half a turn + transfer); served in "
            "order of arrival",
        ),
        "bw_bytes_per_s": Truth(drive.bw_bytes_per_s, "B/s", note="sequential, of one job"),
        "lat_mean_ms": Truth(mean * 1000, "ms", "arithmetic", "of random 4 KiB, one in flight; the socket adds to it"),
    }
    seconds = 6.0
    tolerance, why = chance(drive, mean, deviation, seconds)
    whole_size = f"size={size}"
    checks = (
        *(
            Check("iops", (f"rw={way}", "bs=4k", "iodepth=4", whole_size), "iops", 0.5, seconds, tolerance, wider=why)
            for way in ("randread", "randwrite")
        ),
        Check(
            "lat_mean_ms",
            ("rw=randwrite", "bs=4k", "iodepth=1", whole_size),
            "latency",
            0,
            seconds,
            tolerance,
            0.3,
            wider=why,
        ),
        *each_way("bw_bytes_per_s", "bs=64k", "iodepth=4", whole_size, settle_seconds=0.5),
    )
    return Recipe((nbdkit(*drive_words(s, log=False)),), URI, truth, checks=checks)


def _log(s: Mapping[str, Setting]) -> Recipe:
    drive, size = log_drive(s), whole(s, "size_bytes")
    region = size // 16
    mean, deviation = drive.access_s(BLOCK, size)
    scattered, spread = drive.access_s(BLOCK, region)
    amplification, cleaning = drive.cleaning()
    truth = {
        "bw_bytes_per_s": Truth(
            drive.bw_bytes_per_s, "B/s", "arithmetic", "writes, random or not, until the spare is used up"
        ),
        "iops": Truth(1 / mean, "1/s", "arithmetic", "random reads of 4 KiB: as in place, a seek and half a turn each"),
        "scattered_bytes_per_s": Truth(
            BLOCK / scattered,
            "B/s",
            "arithmetic",
            f"sequential reads of {region >> 20} MiB after random writes of 4 KiB there: a seek for each block",
        ),
        "spare_bytes": Truth(
            drive.drive_bytes - size - RESERVE * SEGMENT, "B", "arithmetic", "what is written before cleaning begins"
        ),
        "write_amplification": Truth(
            amplification,
            "1",
            "arithmetic",
            "of random writes over the whole size once the log is full: bytes written for each of the host's; the "
            "instance's log.json counts them",
        ),
        "cleaning_bytes_per_s": Truth(cleaning, "B/s", "arithmetic", "such writes, as the host sees them"),
    }
    # Reads first: they need what random writes leave, which takes the smaller part of the spare.
    reading = ("rw=read", "bs=64k", "iodepth=4", f"size={region}")
    tolerance, why = chance(drive, scattered, spread, 6.0)
    random_tolerance, random_why = chance(drive, mean, deviation, 6.0)
    checks = (
        Check(
            "scattered_bytes_per_s",
            reading,
            "mean_bw",
            1,
            6,
            tolerance,
            wider=why,
            first=("rw=randwrite", "bs=4k", "random_generator=lfsr"),
        ),
        Check(
            "iops",
            ("rw=randread", "bs=4k", "iodepth=4", f"size={size}"),
            "iops",
            0.5,
            6,
            random_tolerance + 0.02,
            wider=f"{random_why}; a sixteenth of the blocks lies elsewhere",
        ),
        Check("bw_bytes_per_s", ("rw=randwrite", "bs=4k", "iodepth=16", f"size={size}"), "bw", 0.5, 3),
    )
    return Recipe((nbdkit(*drive_words(s, log=True)),), URI, truth, checks=checks)


def _log_full(s: Mapping[str, Setting]) -> Recipe:
    drive, size = log_drive(s), whole(s, "size_bytes")
    amplification, cleaning = drive.cleaning()
    mean, deviation = drive.access_s(BLOCK, drive.drive_bytes)
    truth = {
        "bw_bytes_per_s": Truth(
            cleaning, "B/s", "arithmetic", "random writes of 4 KiB over the whole size: cleaning takes the rest"
        ),
        "write_amplification": Truth(
            amplification, "1", "arithmetic", "bytes written for each of the host's; the instance's log.json counts"
        ),
        "iops": Truth(1 / mean, "1/s", "arithmetic", "random reads of 4 KiB, anywhere on the drive"),
        "scattered_bytes_per_s": Truth(
            BLOCK / mean, "B/s", "arithmetic", "sequential reads: neighbours lie anywhere, a seek for each block"
        ),
    }
    tolerance, why = chance(drive, mean, deviation, 6.0)
    checks = (
        Check("iops", ("rw=randread", "bs=4k", "iodepth=4", f"size={size}"), "iops", 0.5, 6, tolerance, wider=why),
        Check(
            "scattered_bytes_per_s",
            ("rw=read", "bs=64k", "iodepth=4", f"size={size}"),
            "mean_bw",
            1,
            6,
            tolerance,
            wider=why,
        ),
        Check(
            "bw_bytes_per_s",
            ("rw=randwrite", "bs=4k", "iodepth=32", "norandommap=1", f"size={size}"),
            "mean_bw",
            1,
            10,
            0.05,
            wider="segments are cleaned one at a time, and each gives back another share",
        ),
    )
    return Recipe((nbdkit(*drive_words(s, log=True, aged=True)),), URI, truth, checks=checks)


for _name, _limit, _words, _build in (
    ("in-place", "single queue", "written in place: every random I/O pays a seek and half a turn", _in_place),
    (
        "log-structured",
        "drive bandwidth",
        "under a log with room: random writes go as fast as sequential ones, what they scattered is read slowly",
        _log,
    ),
    (
        "log-structured-full",
        "drive bandwidth",
        "under a log that is full and was overwritten at random: cleaning shares the drive with the host",
        _log_full,
    ),
):
    REGISTRY[_name] = Scenario(
        _name, _limit, f"one drive with seeks and rotation, {_words}", (NBDKIT, PYTHON_PLUGIN), DRIVE, _build
    )
