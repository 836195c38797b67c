# SPDX-License-Identifier: Apache-2.0
"""Real targets of random numbers by seed, each started and taken down by a context manager. Root, this machine only.

Seeds count through CLASSES again and again. Those from 90 on are closed until nothing is changed any more.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from servers import BLKIO, MIB, disk, loop_drive, nbdkit, process, run, throttled

from ioatlas_lab.network import goodput_bytes_per_s, lay_link
from ioatlas_lab.scenario import Link

FIRST_SEALED = 90
Span = tuple[float, float, float]
SMALL = ("rand read q16", "rand write q16", "q1 read")


@dataclass
class RealTarget:
    """A target that runs.

    confirm: words that let `ioatlas map` write to it. truth: {headline: of a footprint in bytes (usual, low, high), or
    None where it is this machine's}. limits: {headline: what limits it}. credit: {direction: (unit, size, seconds)}.
    falls: {direction: seconds of a load until only what lasts is left}.
    """

    seed: int
    name: str
    words: str
    location: str
    confirm: tuple[str, ...] = ()
    truth: dict[str, Callable[[int], Span | None]] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    credit: dict[str, list[tuple[str, float, float]]] = field(default_factory=lambda: {"read": [], "write": []})
    falls: dict[str, float] = field(default_factory=dict)
    odd: bool = False
    by_fio: tuple[str, ...] = ()
    """Headlines that also hang on this machine: what plain fio gets right after widens their truth."""

    def knows(self, headline: str, usual: float, low: float = 0.0, high: float = 0.0, *, limit: str = "") -> None:
        """A truth that holds at any footprint; IOPS, or bytes/s."""
        self.truth[headline] = lambda _size: (usual, low or usual, high or usual)
        self.limits[headline] = limit

    def knows_large(self, read: float, write: float, limit: str) -> None:
        self.knows("read", read, limit=limit)
        self.knows("write", write, limit=limit)


class Draws(random.Random):
    def log(self, low: float, high: float) -> float:
        return math.exp(self.uniform(math.log(low), math.log(high)))


def _confirmed(target: RealTarget, size: int) -> RealTarget:
    target.confirm = ("--overwrite", f"{target.location} {size}")
    return target


def _small(target: RealTarget, rate: float, way: str = "") -> None:
    """4 KiB I/Os under a limit in bytes that this machine's path reaches easily."""
    if rate / 4096 > 3000:
        return
    for headline in SMALL:
        if way in headline:
            target.knows(headline, rate / 4096, limit="bytes")


# -- the classes

Make = Callable[[int, Draws, Path], "contextlib.AbstractContextManager[RealTarget]"]
CLASSES: list[Make] = []


def _class(make: Callable[[int, Draws, Path], Iterator[RealTarget]]) -> Make:
    CLASSES.append(contextlib.contextmanager(make))
    return CLASSES[-1]


@_class
def rate_with_burst(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """A budget of bytes for each direction, with some seconds of it as credit."""
    rate, burst = round(draws.log(3e6, 30e6)), round(draws.uniform(1, 6), 1)
    words = f"{rate / 1e6:.3g} MB/s each way, {burst} s of credit"
    filters = ("--filter=rate", "memory", str(1 << 30), f"rate={rate * 8}", f"burstiness={burst}")
    with nbdkit(place, *filters) as uri:
        target = RealTarget(seed, "rate-with-burst", words, uri)
        target.knows_large(rate, rate, "bytes")
        _small(target, rate)
        for way in ("read", "write"):
            target.credit[way].append(("bytes", rate * burst, burst))
        target.falls = {"read": 0.3 + burst * rate / 4e8, "write": 0.3 + burst * rate / 4e8}
        yield _confirmed(target, 1 << 30)


@_class
def cloud(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """I/Os and bytes a second for both directions together, both with a burst."""
    iops, rate = round(draws.log(300, 2000)), round(draws.log(8e6, 50e6))
    more, longer, seconds = draws.uniform(1.5, 4), draws.uniform(1.5, 4), [draws.randint(1, 4) for _ in range(2)]
    words = f"{iops} IOPS (x{more:.1f} for {seconds[0]} s), {rate / 1e6:.3g} MB/s (x{longer:.1f} for {seconds[1]} s)"
    rules = {
        "iops_total": iops,
        "iops_total_max": iops * more,
        "iops_total_max_length": seconds[0],
        "bps_total": rate,
        "bps_total_max": rate * longer,
        "bps_total_max_length": seconds[1],
    }
    with throttled(place, 1 << 30, **rules) as uri:
        target = RealTarget(seed, "cloud", words, uri)
        target.knows_large(rate, rate, "bytes")
        for headline in SMALL:
            target.knows(headline, iops, limit="ios")
        for way in ("read", "write"):
            target.credit[way] += [
                ("bytes", rate * longer * seconds[1], longer * seconds[1]),
                ("ios", iops * more * seconds[0], more * seconds[0]),
            ]
        falls = max(seconds[0] * more / (more - 1), seconds[1] * longer / (longer - 1))
        target.falls = {"read": falls, "write": falls}
        yield _confirmed(target, 1 << 30)


@_class
def far(seed: int, draws: Draws, _place: Path) -> Iterator[RealTarget]:
    """A slow link and a server that takes its time."""
    bits, delay = round(draws.log(20e6, 200e6)), draws.randint(3, 25)
    namespace = f"iolaw{os.getpid()}"
    words = f"link {bits / 1e6:.3g} Mbit/s, {delay} ms"
    try:
        link = lay_link(Link(bits, 1500, burst_bytes=32 << 10), namespace)
        inside = ("nsenter", f"--net=/run/netns/{namespace}")
        filters = ("--filter=delay", "memory", str(1 << 30), f"rdelay={delay}ms", f"wdelay={delay}ms")
        with process(*inside, "nbdkit", "-f", "-i", link["server"], "-p", "10809", *filters):
            time.sleep(1.0)
            target = RealTarget(seed, "far", words, f"nbd://{link['server']}:10809", by_fio=SMALL)
            rate = goodput_bytes_per_s(bits, 1500)
            target.knows_large(rate, rate, "link")
            alone = delay / 1e3
            packed = 4112 / rate
            target.knows(
                "q1 read", 1 / (alone + 2e-4), 1 / (alone + 3e-4 + packed), 1 / (alone + 5e-5), limit="latency"
            )
            for headline in ("rand read q16", "rand write q16"):
                most = min(16 / alone, 1 / packed)
                limit = "latency" if 16 / alone < 0.7 / packed else "link" if 16 / alone > 1.4 / packed else ""
                target.knows(headline, most, most * 0.93, most * 1.001, limit=limit)
            yield _confirmed(target, 1 << 30)
    finally:
        subprocess.run(("ip", "netns", "del", namespace), check=False, capture_output=True)


@_class
def iscsi(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """A logical unit on a drive that reads and writes at rates of its own."""
    read, write = round(draws.log(8e6, 60e6)), round(draws.log(4e6, 40e6))
    port, name = 20000 + os.getpid() % 20000, f"iqn.2026-01.law:t{os.getpid()}"
    control = str(100 + os.getpid() % 30000)
    socket = place / "iscsi.sock"
    admin = ("tgtadm", "-C", control, "--lld", "iscsi", "--op")
    with contextlib.ExitStack() as stack:
        device = stack.enter_context(loop_drive(place, 512 * MIB, read_bps=read, write_bps=write))
        stack.enter_context(process("tgtd", "-f", "-C", control, "--iscsi", f"portal=127.0.0.1:{port}"))
        for _ in range(40):
            time.sleep(0.1)
            with contextlib.suppress(RuntimeError):
                run(*admin, "new", "--mode", "target", "--tid", "1", "-T", name)
                break
        run(*admin, "new", "--mode", "logicalunit", "--tid", "1", "--lun", "1", "--bstype", "aio", "-b", device)
        run(*admin, "bind", "--mode", "target", "--tid", "1", "-I", "ALL")
        words = (
            *("qemu-storage-daemon", "--blockdev"),
            f"driver=iscsi,node-name=disk,transport=tcp,portal=127.0.0.1:{port},target={name},lun=1",
            *("--nbd-server", f"addr.type=unix,addr.path={socket},max-connections=256"),
            *("--export", "type=nbd,id=export,node-name=disk,name=disk,writable=on"),
        )
        stack.enter_context(process(*words, ready=socket))
        told = f"read {read / 1e6:.3g}, write {write / 1e6:.3g} MB/s"
        target = RealTarget(seed, "iscsi", told, f"nbd+unix:///disk?socket={socket}")
        target.knows_large(read, write, "bytes")
        if read / 4096 < 1500:
            target.knows("rand read q16", read / 4096, limit="bytes")
        if write / 4096 < 1500:
            target.knows("rand write q16", write / 4096, limit="bytes")
        yield _confirmed(target, 512 * MIB)
        with contextlib.suppress(RuntimeError):
            run(*admin, "delete", "--force", "--mode", "target", "--tid", "1")


@_class
def spindle(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """One I/O at a time, each of a fixed length, and a rate."""
    delay, rate = draws.randint(3, 12), round(draws.log(15e6, 120e6))
    filters = ("--filter=noparallel", "--filter=delay", "--filter=rate", "memory", str(1 << 30))
    settings = (f"rdelay={delay}ms", f"wdelay={delay}ms", f"rate={rate * 8}", "burstiness=0.1")
    with nbdkit(place, "-t", "1", *filters, *settings, "serialize=all-requests") as uri:
        target = RealTarget(seed, "spindle", f"{delay} ms, {rate / 1e6:.3g} MB/s", uri, by_fio=SMALL)
        alone = delay / 1e3
        large = min(rate, MIB / (alone + 5e-4))
        limit = "bytes" if rate < 0.7 * MIB / alone else "ios" if rate > 1.4 * MIB / alone else ""
        for headline in ("read", "write"):
            target.knows(headline, large, min(rate, MIB / (alone + 1.5e-3)), min(rate, MIB / alone), limit=limit)
        for headline in SMALL:
            usual = 1 / (alone + 1.5e-4)
            name = "latency" if headline == "q1 read" else "ios"
            target.knows(headline, usual, 1 / (alone + 4e-4), 1 / alone, limit=name)
        yield _confirmed(target, 1 << 30)


@_class
def arm(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """An arm whose way takes time."""
    size = 1 << 30
    service, seek = draws.uniform(1e-3, 4e-3), [draws.uniform(5e-4, 3e-3), draws.uniform(6e-3, 15e-3), size]
    rate = draws.log(20e6, 150e6)
    parts = {"size": size, "servers": 1, "service": service, "seek": seek, "read_rate": rate, "write_rate": rate}
    words = f"service {service * 1e3:.2g} ms, seek {seek[0] * 1e3:.2g} to {seek[1] * 1e3:.2g} ms, {rate / 1e6:.3g} MB/s"
    with disk(place, parts) as uri:
        target = RealTarget(seed, "arm", words, uri, by_fio=SMALL)
        for headline in ("read", "write"):
            usual = MIB / (service + MIB / rate)
            limit = "bytes" if MIB / rate > 1.5 * service else ""
            target.knows(headline, usual, MIB / (service + MIB / rate + 5e-4), usual, limit=limit)

        def random_iops(footprint: int) -> Span:
            far_apart = random.Random(1)
            total = 0.0
            for _ in range(4000):
                distance = abs(far_apart.random() - far_apart.random()) * footprint
                if distance > 16 * MIB:
                    total += seek[0] + (seek[1] - seek[0]) * math.sqrt(min(1.0, distance / size))
            alone = service + total / 4000 + 4096 / rate
            return 1 / (alone + 1.5e-4), 1 / (alone + 5e-4), 1 / (alone + 3e-5)

        for headline in SMALL:
            target.truth[headline] = random_iops
            target.limits[headline] = "latency" if headline == "q1 read" else "ios"
        yield _confirmed(target, size)


@_class
def cache(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """A cache of reads before a slow store."""
    size, cached = 1 << 30, draws.choice((24, 40, 64, 96)) * MIB
    rate, write, latency = draws.log(15e6, 60e6), draws.log(10e6, 40e6), draws.uniform(3e-4, 3e-3)
    parts = {
        "size": size,
        "cache": [cached, 5e-5],
        "read_rate": rate,
        "write_rate": write,
        "read_latency": latency,
        "write_latency": latency,
        "apart": True,
    }
    words = f"cache {cached // MIB} MiB, store {rate / 1e6:.3g} / {write / 1e6:.3g} MB/s, {latency * 1e3:.2g} ms"
    with disk(place, parts) as uri:
        target = RealTarget(seed, "cache", words, uri, by_fio=("q1 read",))
        target.truth["read"] = lambda footprint: (rate, rate, rate) if footprint > 1.3 * cached else None
        target.limits["read"] = "bytes"
        target.knows("write", write, limit="bytes")
        target.credit["read"].append(("bytes", cached, math.inf))

        def heavy(footprint: int) -> Span | None:
            hits = min(1.0, cached / footprint)
            if hits > 0.7:
                return None
            cold = min(rate / 65536, 16 / (latency + 65536 / rate))
            usual = cold / (1 - hits)
            return usual, cold, usual

        def light(footprint: int) -> Span | None:
            hits = min(1.0, cached / footprint)
            if hits > 0.9:
                return None
            cold = latency + 65536 / rate + 1.5e-4
            return 1 / ((1 - hits) * cold + hits * 3e-4), 1 / (cold + 2e-4), 1 / ((1 - hits) * cold + hits * 1e-4)

        target.truth["rand read q16"], target.truth["q1 read"] = heavy, light
        target.limits["rand read q16"] = "bytes"
        yield _confirmed(target, size)


@_class
def slc(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """A drive that writes slowly after so many bytes, for good."""
    size, fast, slow = 2 << 30, draws.log(80e6, 200e6), draws.log(8e6, 30e6)
    first, read = round(draws.uniform(1, 4) * fast), draws.log(100e6, 250e6)
    parts = {
        "size": size,
        "slc": [first, fast],
        "write_rate": slow,
        "read_rate": read,
        "read_latency": 2e-4,
        "write_latency": 2e-4,
    }
    words = f"writes {fast / 1e6:.3g}, after {first / 1e6:.3g} MB {slow / 1e6:.3g} MB/s; reads {read / 1e6:.3g} MB/s"
    with disk(place, parts) as uri:
        target = RealTarget(seed, "slc", words, uri)
        target.knows("read", read, read * 0.93, read, limit="bytes")
        target.knows("write", slow, limit="bytes")
        target.credit["write"].append(("bytes", first, math.inf))
        target.falls = {"write": first / fast}
        yield _confirmed(target, size)


@_class
def ext4(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """A file system on a limited drive."""
    rate, iops = round(draws.log(10e6, 60e6)), round(draws.log(200, 1500))
    limits = {"read_bps": rate, "write_bps": rate, "read_iops": iops, "write_iops": iops}
    mount = place / "mnt"
    mount.mkdir()
    with loop_drive(place, 1 << 30) as device:
        run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        run("mount", device, str(mount))
        number = Path(f"/sys/block/{Path(device).name}/dev").read_text().strip()
        rules = {BLKIO / f"blkio.throttle.{name}_device": value for name, value in limits.items()}
        try:
            for rule, value in rules.items():
                rule.write_text(f"{number} {value}")
            target = RealTarget(seed, "ext4", f"{rate / 1e6:.3g} MB/s, {iops} IOPS each way", str(mount))
            target.knows_large(rate, rate, "bytes")
            for headline in SMALL:
                target.knows(headline, iops, limit="ios")
            yield target
        finally:
            for rule in rules:
                with contextlib.suppress(OSError):
                    rule.write_text(f"{number} 0")
            run("umount", str(mount))


@_class
def caps(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """Limits of each direction, without a burst."""
    read, write = round(draws.log(5e6, 60e6)), round(draws.log(5e6, 60e6))
    iops = round(draws.log(100, 2500))
    with throttled(place, 1 << 30, bps_read=read, bps_write=write, iops_total=iops) as uri:
        words = f"read {read / 1e6:.3g}, write {write / 1e6:.3g} MB/s, {iops} IOPS"
        target = RealTarget(seed, "caps", words, uri)
        target.knows_large(min(read, iops * MIB), min(write, iops * MIB), "bytes")
        for headline in SMALL:
            target.knows(headline, iops, limit="ios")
        yield _confirmed(target, 1 << 30)


@_class
def slow_answers(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """A fixed latency, sixteen at once, and a rate."""
    delay, rate = draws.randint(2, 30), round(draws.log(5e6, 60e6))
    filters = ("--filter=rate", "--filter=delay", "memory", str(1 << 30))
    with nbdkit(place, *filters, f"rdelay={delay}ms", f"wdelay={delay}ms", f"rate={rate * 8}", "burstiness=0.1") as uri:
        target = RealTarget(seed, "slow-answers", f"{delay} ms, {rate / 1e6:.3g} MB/s", uri, by_fio=SMALL)
        alone = delay / 1e3
        target.knows_large(rate, rate, "bytes")
        usual = 1 / (alone + 2e-4)
        target.knows("q1 read", usual, 1 / (alone + 6e-4), 1 / (alone + 5e-5), limit="latency")
        for headline in ("rand read q16", "rand write q16"):
            most, capped = 16 / (alone + 3e-4), rate / 4096
            limit = "latency" if most < 0.7 * capped else "bytes" if most > 1.4 * capped else ""
            low, high = min(16 / (alone + 1e-3), capped) * 0.97, min(16 / alone, capped)
            target.knows(headline, min(most, capped), low, high, limit=limit)
        yield _confirmed(target, 1 << 30)


@_class
def write_back(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """Writes that are taken fast until a cache is full."""
    size, drains = 1 << 30, draws.log(6e6, 30e6)
    back, taken = round(draws.uniform(1, 5) * drains), draws.uniform(2, 8) * drains
    read = draws.log(20e6, 120e6)
    parts = {"size": size, "back": [back, taken], "write_rate": drains, "read_rate": read, "read_latency": 3e-4}
    words = (
        f"write-back {back / 1e6:.3g} MB at {taken / 1e6:.3g}, drains {drains / 1e6:.3g} MB/s; reads {read / 1e6:.3g}"
    )
    with disk(place, parts) as uri:
        target = RealTarget(seed, "write-back", words, uri)
        target.knows("read", read, read * 0.95, read, limit="bytes")
        target.knows("write", drains, limit="bytes")
        if drains / 4096 < 2500:
            target.knows("rand write q16", drains / 4096, limit="bytes")
        target.credit["write"].append(("bytes", back, back / drains))
        target.falls = {"write": back / (taken - drains)}
        yield _confirmed(target, size)


@_class
def pauses(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """A drive that stands still for a while after so many bytes written."""
    size, rate = 1 << 30, draws.log(30e6, 100e6)
    every, least, most = draws.log(10e6, 60e6), 0.2, draws.uniform(0.4, 1.2)
    parts = {
        "size": size,
        "servers": 8,
        "service": 1e-3,
        "pauses": [every, least, most],
        "write_rate": rate,
        "read_rate": rate,
        "seed": seed,
    }
    words = f"{rate / 1e6:.3g} MB/s, pauses of {least} to {most:.2g} s every {every / 1e6:.3g} MB written"
    with disk(place, parts) as uri:
        target = RealTarget(seed, "pauses", words, uri, odd=True)
        target.knows("read", rate, rate * 0.93, rate)
        lasts = every / (every / rate + (least + most) / 2)
        target.knows("write", lasts, lasts * 0.93, lasts * 1.07)
        yield _confirmed(target, size)


@_class
def heat(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """A drive that slows down when it is warm."""
    size, rate, factor = 1 << 30, draws.log(30e6, 120e6), draws.uniform(0.25, 0.6)
    hot = draws.uniform(3, 15)
    parts = {
        "size": size,
        "servers": 4,
        "service": 1e-3,
        "heat": [hot, factor],
        "write_rate": rate,
        "read_rate": rate,
    }
    with disk(place, parts) as uri:
        target = RealTarget(seed, "heat", f"{rate / 1e6:.3g} MB/s, x{factor:.2f} after {hot:.0f} s", uri, odd=True)
        for headline in ("read", "write"):
            target.knows(headline, rate * factor, rate * factor * 0.95, rate)
        yield _confirmed(target, size)


@_class
def drive(seed: int, draws: Draws, place: Path) -> Iterator[RealTarget]:
    """A block device with limits of each direction."""
    size = 512 * MIB
    read, write, iops = round(draws.log(10e6, 80e6)), round(draws.log(8e6, 60e6)), round(draws.log(150, 1500))
    limits = {"read_bps": read, "write_bps": write, "read_iops": iops, "write_iops": iops}
    with loop_drive(place, size, **limits) as device:
        words = f"read {read / 1e6:.3g}, write {write / 1e6:.3g} MB/s, {iops} IOPS each way"
        target = RealTarget(seed, "drive", words, device, ("--destroy", str(size)))
        target.knows_large(read, write, "bytes")
        for headline in SMALL:
            target.knows(headline, iops, limit="ios")
        yield target


@contextlib.contextmanager
def started(seed: int) -> Iterator[RealTarget]:
    """The real target of a seed."""
    make = CLASSES[seed % len(CLASSES)]
    place = Path(tempfile.mkdtemp(prefix="iolaw-", dir="/dev/shm"))
    try:
        with make(seed, Draws(f"real target {seed}"), place) as target:
            yield target
    finally:
        shutil.rmtree(place, ignore_errors=True)
