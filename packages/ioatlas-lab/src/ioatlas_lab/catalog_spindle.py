# SPDX-License-Identifier: Apache-2.0
"""One drive with seeks and rotation: written in place, as the back end of a log, and in each of two boxes that
replicate, behind a port each of a switch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ioatlas.model.errors import UsageError
from ioatlas_lab.catalog_root import PORT, iperf_server
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.scenario import (
    SOCKET,
    URI,
    Check,
    Nodes,
    Recipe,
    Serve,
    Settings,
    Step,
    Truth,
    check,
    choice,
    each_way,
    follows,
    nbdkit,
    number,
    scenario,
    whole,
)
from ioatlas_lab.spindle_disk import BLOCK, RESERVE, SEGMENT, TRACK

STEPS = 4000
SIGMAS = 4


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


def spindle(s: Settings) -> Spindle:
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


def log_drive(s: Settings) -> Spindle:
    """The drive under a log. Raises UsageError where its spare is too small to clean with."""
    drive = spindle(s)
    least = (RESERVE + 2) * SEGMENT
    if drive.drive_bytes - drive.size_bytes < least:
        raise UsageError(
            f"a log of {drive.size_bytes} bytes cannot be cleaned with {s['spare_percent']}% of spare",
            remedy=f"set spare_percent to {math.ceil(100 * least / drive.size_bytes)} or more",
        )
    return drive


def drive_words(s: Settings, *, log: bool, aged: bool = False, number: int = 1) -> str:
    """What nbdkit is told of the drive; number: of several, which turn apart from one another."""
    given = {"size": s["size_bytes"], "rate": s["bw_bytes_per_s"], "log": int(log), "aged": int(aged), "seed": number}
    same = {name: s[name] for name in ("settle_ms", "stroke_ms", "rpm", "spare_percent")}
    told = "{dir}/log.json" if number == 1 else f"{{dir}}/log{number}.json"
    settings = " ".join(f"{key}={value}" for key, value in {**given, **same, "told": told}.items())
    words = f"python {{plugins}}/spindle_disk.py {settings}"
    # A log keeps whole blocks: smaller writes are read, changed and written.
    return f"--filter=blocksize {words} minblock={BLOCK}" if log else words


def chance(drive: Spindle, mean: float, deviation: float, seconds: float) -> tuple[float, str]:
    """Tolerance of a mean over as many accesses as fit into the time, and why."""
    count = seconds / mean
    return (
        max(0.01, SIGMAS * deviation / mean / math.sqrt(count)),
        f"chance: {SIGMAS} standard deviations of {count:.0f} seeks and turns of up to {drive.turn_s * 1000:.1f} ms",
    )


SECONDS = 6.0
"""Of a check that rests on chance."""


@scenario("in-place")
def _in_place(s: Settings) -> Recipe:
    """One drive with seeks and rotation, written in place: every random I/O pays a seek and half a turn."""
    drive, size = spindle(s), whole(s, "size_bytes")
    mean, deviation = drive.access_s(BLOCK, size)
    in_turn = (
        "random 4 KiB over the whole size, at any depth: 1 / (mean seek + half a turn + transfer); served in order of "
        "arrival"
    )
    truth = {
        "iops": follows(1 / mean, in_turn),
        "bw_bytes_per_s": Truth(drive.bw_bytes_per_s, "sequential, of one job"),
        "lat_mean_ms": follows(mean * 1000, "of random 4 KiB, one in flight; the socket adds to it"),
    }
    near, why = chance(drive, mean, deviation, SECONDS)
    small = f"bs=4k iodepth=4 size={size}"
    alone = f"rw=randwrite bs=4k iodepth=1 size={size}"
    checks = (
        *(check("iops", f"rw={way} {small}", 0.5, SECONDS, near, wider=why) for way in ("randread", "randwrite")),
        check("lat_mean_ms", alone, 0, SECONDS, near, tolerance_absolute=0.3, wider=why),
        *each_way("bw_bytes_per_s", f"bs=64k iodepth=4 size={size}", 0.5),
    )
    return Recipe((nbdkit(drive_words(s, log=False)),), URI, truth, checks=checks)


@scenario("log-structured")
def _log(s: Settings) -> Recipe:
    """One drive with seeks and rotation, under a log with room: random writes go as fast as sequential ones, what they
    scattered is read slowly.
    """
    drive, size = log_drive(s), whole(s, "size_bytes")
    region = size // 16
    mean, deviation = drive.access_s(BLOCK, size)
    scattered, spread = drive.access_s(BLOCK, region)
    amplification, cleaning = drive.cleaning()
    room = drive.drive_bytes - size - RESERVE * SEGMENT
    neighbours = f"sequential reads of {region >> 20} MiB after random writes of 4 KiB there: a seek for each block"
    counted = (
        "of random writes over the whole size once the log is full: bytes written for each of the host's; the "
        "instance's log.json counts them"
    )
    truth = {
        "bw_bytes_per_s": follows(drive.bw_bytes_per_s, "writes, random or not, until the spare is used up"),
        "iops": follows(1 / mean, "random reads of 4 KiB: as in place, a seek and half a turn each"),
        "scattered_bytes_per_s": follows(BLOCK / scattered, neighbours),
        "spare_bytes": follows(room, "what is written before cleaning begins"),
        "write_amplification": follows(amplification, counted),
        "cleaning_bytes_per_s": follows(cleaning, "such writes, as the host sees them"),
    }
    # Reads first: they need what random writes leave, which takes the smaller part of the spare.
    reading, scatter = f"rw=read bs=64k iodepth=4 size={region}", "rw=randwrite bs=4k random_generator=lfsr"
    near, why = chance(drive, scattered, spread, SECONDS)
    random_near, random_why = chance(drive, mean, deviation, SECONDS)
    moved = f"{random_why}; a sixteenth of the blocks lies elsewhere"
    checks = (
        check("scattered_bytes_per_s", reading, 1, SECONDS, near, kind="mean_bw", wider=why, first=scatter),
        check("iops", f"rw=randread bs=4k iodepth=4 size={size}", 0.5, SECONDS, random_near + 0.02, wider=moved),
        check("bw_bytes_per_s", f"rw=randwrite bs=4k iodepth=16 size={size}", 0.5),
    )
    return Recipe((nbdkit(drive_words(s, log=True)),), URI, truth, checks=checks)


@scenario("log-structured-full")
def _log_full(s: Settings) -> Recipe:
    """One drive with seeks and rotation, under a log that is full and was overwritten at random: cleaning shares the
    drive with the host.
    """
    drive, size = log_drive(s), f"size={whole(s, 'size_bytes')}"
    amplification, cleaning = drive.cleaning()
    mean, deviation = drive.access_s(BLOCK, drive.drive_bytes)
    random_writes = "random writes of 4 KiB over the whole size: cleaning takes the rest"
    counted = "bytes written for each of the host's; the instance's log.json counts"
    truth = {
        "bw_bytes_per_s": follows(cleaning, random_writes),
        "write_amplification": follows(amplification, counted),
        "iops": follows(1 / mean, "random reads of 4 KiB, anywhere on the drive"),
        "scattered_bytes_per_s": follows(
            BLOCK / mean, "sequential reads: neighbours lie anywhere, a seek for each block"
        ),
    }
    near, why = chance(drive, mean, deviation, SECONDS)
    stream, over = f"rw=read bs=64k iodepth=4 {size}", f"rw=randwrite bs=4k iodepth=32 norandommap=1 {size}"
    cleaned = "segments are cleaned one at a time, and each gives back another share"
    checks = (
        check("iops", f"rw=randread bs=4k iodepth=4 {size}", 0.5, SECONDS, near, wider=why),
        check("scattered_bytes_per_s", stream, 1, SECONDS, near, kind="mean_bw", wider=why),
        check("bw_bytes_per_s", over, 1, 10, 0.05, kind="mean_bw", wider=cleaned),
    )
    return Recipe((nbdkit(drive_words(s, log=True, aged=True)),), URI, truth, checks=checks)


# -- two boxes -------------------------------------------------------------------------------------------------------

BESIDE_PORT = 10810


def _pair_steps(s: Settings, *, log: bool, both: bool, away: bool) -> tuple[Step, ...]:
    rate, mtu = whole(s, "rate_bits_per_s"), whole(s, "mtu")
    local = "{dir}/disk1.sock"
    disks = [nbdkit(drive_words(s, log=log), local, "disk1", node=1)]
    nodes = ["--blockdev", f"driver=nbd,node-name=here,server.type=unix,server.path={local}"]
    top = "here"
    if not away:
        # On all addresses of its namespace: for the other box, and for a client that reads from both.
        disks.append(nbdkit(drive_words(s, log=log, number=2), f"0.0.0.0:{BESIDE_PORT}", "disk2", node=2))
        there = f"server.type=inet,server.host={{beside2}},server.port={BESIDE_PORT}"
        pair = "driver=quorum,node-name=pair,children.0=here,children.1=there,vote-threshold=1,read-pattern=fifo"
        nodes += ["--blockdev", f"driver=nbd,node-name=there,{there}", "--blockdev", pair]
        top = "pair"
    export = ("--export", f"type=nbd,id=export,node-name={top},name=disk,writable=on")
    address = f"addr.type=inet,addr.host={{node1}},addr.port={PORT},max-connections=256"
    controller = ("qemu-storage-daemon", *nodes, "--nbd-server", address, *export)
    steps: list[Step] = [
        Nodes(2, rate, mtu, beside_bits_per_s=whole(s, "replication_bits_per_s")),
        *disks,
        Serve("box1", controller, f"{{node1}}:{PORT}", node=1),
        iperf_server(1),
    ]
    if both:
        places = (f"{{node1}}:{PORT}/disk", f"{{node2}}:{BESIDE_PORT}/")
        words = ("{python}", "-m", "ioatlas_lab.spread_server", f"unix:{SOCKET}", "0", *places)
        steps.append(Serve("paths", words, SOCKET))
    after = number(s, "away_after_seconds")
    if after and not away:
        steps.append(Serve("away", ("{python}", "{plugins}/mover.py", "away", "{dir}/disk2.pid", f"{after:g}")))
    return tuple(steps)


@scenario("pair")
def _pair(s: Settings) -> Recipe:
    """Two boxes that replicate synchronously, each with a drive and a link; one can be taken away."""
    log = choice(s, "store", "in-place", "log-structured") == "log-structured"
    away = bool(s["one_away"])
    both = choice(s, "reads", "one", "both") == "both" and not away
    drive = log_drive(s) if log else spindle(s)
    names = ("rate_bits_per_s", "replication_bits_per_s")
    link, beside = (goodput_bytes_per_s(whole(s, name), whole(s, "mtu")) for name in names)
    slowest = min(link, drive.bw_bytes_per_s, *(() if away else (beside,)))
    once, deviation = drive.access_s(BLOCK, drive.size_bytes)
    written = "sequential: the least of link, replication link and drive"
    turns = "; from both in turn it lies between that and twice as much" if both else ""
    deep = "of 4 KiB over the whole size, deep enough that no drive waits; each serves in order of arrival"
    truth = {
        "write_bytes_per_s": follows(slowest, "the lesser of link and drive" if away else written),
        "read_bytes_per_s": follows(
            min(link, drive.bw_bytes_per_s), f"sequential, from one box: the lesser of link and drive{turns}"
        ),
        "random_read_iops": follows((2 if both else 1) / once, deep),
        "link_bytes_per_s": follows(link, "TCP payload of each box's port, each direction apart"),
        "replication_bytes_per_s": follows(beside, "TCP payload of the link between the boxes"),
        "drive_bytes_per_s": Truth(drive.bw_bytes_per_s, "of each box"),
    }
    if not log:
        later, _ = drive.access_s(BLOCK, drive.size_bytes, 1 if away else 2)
        least = "of random 4 KiB, one in flight, at least: drives seek alike, the later turn counts; the ways add to it"
        truth["write_lat_mean_ms"] = follows(later * 1000, least)
    steps = _pair_steps(s, log=log, both=both, away=away)
    checks = _pair_checks(drive, log=log, both=both, reads=(once, deviation))
    return Recipe(steps, URI if both else f"nbd://{{server}}:{PORT}/disk", truth, checks=checks)


def _pair_checks(drive: Spindle, *, log: bool, both: bool, reads: tuple[float, float]) -> tuple[Check, ...]:
    size = f"size={drive.size_bytes}"
    stream = f"bs=64k iodepth=8 {size}"
    near, why = chance(drive, *reads, SECONDS * (2 if both else 1))
    checks = [check("random_read_iops", f"rw=randread iodepth=16 bs=4k {size}", 0.5, SECONDS, near, wider=why)]
    if not both:
        checks.append(check("read_bytes_per_s", f"rw=read {stream}", 1))
    # The log has room for a quarter of this.
    ways = ("write", "randwrite") if log else ("write",)
    return (*checks, *(check("write_bytes_per_s", f"rw={way} {stream}", 1) for way in ways))
