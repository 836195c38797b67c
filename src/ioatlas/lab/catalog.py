# SPDX-License-Identifier: Apache-2.0
"""The scenarios that need no root: nbdkit and QEMU's storage daemon on a unix socket, and plain files.

Each function is one row: settings in, recipe out. Rates and delays are configured, so they are the truth;
what a piece of software adds to it (burst credit, a fixed cost per I/O) stands in the note of the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ioatlas.lab.scenario import Check, MakeFile, Recipe, Requirement, Run, Scenario, Serve, Setting, Truth

NBDKIT = Requirement("nbdkit", "nbdkit")
PYTHON_PLUGIN = Requirement("nbdkit-python-plugin", "nbdkit-plugin-python")
STORAGE_DAEMON = Requirement("qemu-storage-daemon", "qemu-system-common")
FIO = Requirement("fio", "fio")

SOCKET = "{dir}/disk.sock"
URI = "nbd+unix:///?socket={dir}/disk.sock"
NAMED_URI = "nbd+unix:///disk?socket={dir}/disk.sock"
SIZE = 256 << 20
REST = "half of each block is zeros, which compress to a little more than nothing; random bytes grow by their codes"
PATH_NOTE = "the path over the socket adds 0.02 to 0.3 ms, measured on the same path without delay"

REGISTRY: dict[str, Scenario] = {}


def scenario(
    name: str,
    *,
    limit: str,
    summary: str,
    requires: tuple[Requirement, ...],
    needs_root: bool = False,
    **settings: Setting,
) -> Callable[[Callable[[Mapping[str, Setting]], Recipe]], Callable[[Mapping[str, Setting]], Recipe]]:
    """Enter a function as a row of the registry."""

    def enter(build: Callable[[Mapping[str, Setting]], Recipe]) -> Callable[[Mapping[str, Setting]], Recipe]:
        REGISTRY[name] = Scenario(name, limit, summary, requires, settings, build, needs_root)
        return build

    return enter


def whole(settings: Mapping[str, Setting], name: str) -> int:
    """An integer setting."""
    return int(settings[name])


def number(settings: Mapping[str, Setting], name: str) -> float:
    """A setting as a number."""
    return float(settings[name])


def per(amount: float, time: float) -> float:
    """Rate of something that takes this long; without end where it takes no time."""
    return amount / time if time else math.inf


def nbdkit(
    *words: str,
    address: tuple[str, ...] = ("--unix", SOCKET),
    ready: str = SOCKET,
    environment: tuple[tuple[str, str], ...] = (),
) -> Serve:
    """Start nbdkit on the scenario's socket, with 64 threads a connection unless `words` says otherwise.

    As a daemon, because nbdkit 1.32 in the foreground ends with the program that started it (it asks for a signal at
    its parent's death).
    """
    argv = ("nbdkit", *address, "--pidfile", "{dir}/disk.pid", "--threads", "64", *words)
    return Serve("disk", argv, ready, inside=ready != SOCKET, daemon=True, environment=environment)


def throttled_null(size_bytes: Setting, **limits: int) -> Serve:
    """QEMU's storage daemon throttling a device that keeps no data. limits: iops_total=2000 and so on, as its throttle
    group names them.
    """
    rules = "".join(f",x-{name.replace('_', '-')}={value}" for name, value in limits.items())
    argv = (
        "qemu-storage-daemon",
        "--object",
        f"throttle-group,id=limit{rules}",
        "--blockdev",
        f"driver=null-co,node-name=raw,size={size_bytes}",
        "--blockdev",
        "driver=throttle,node-name=disk,throttle-group=limit,file=raw",
        *storage_export(),
    )
    return Serve("disk", argv, SOCKET)


def storage_export() -> tuple[str, ...]:
    """Words by which the storage daemon exports its node 'disk' on the scenario's socket."""
    export = "type=nbd,id=export,node-name=disk,name=disk,writable=on"
    return ("--nbd-server", f"addr.type=unix,addr.path={SOCKET},max-connections=256", "--export", export)


@scenario(
    "memory",
    limit="client CPU",
    summary="memory served by nbdkit without any limit: what the client and the socket can carry",
    requires=(NBDKIT,),
    size_bytes=SIZE,
)
def _memory(s: Mapping[str, Setting]) -> Recipe:
    truth = {"size_bytes": Truth(whole(s, "size_bytes"), "B")}
    return Recipe((nbdkit("memory", f"{s['size_bytes']}"),), URI, truth)


@scenario(
    "bandwidth",
    limit="drive bandwidth",
    summary="a fixed number of bytes a second, reads and writes with a budget each",
    requires=(NBDKIT,),
    bw_bytes_per_s=20_000_000,
    burst_seconds=2.0,
    size_bytes=SIZE,
)
def _bandwidth(s: Mapping[str, Setting]) -> Recipe:
    rate, burst = whole(s, "bw_bytes_per_s"), number(s, "burst_seconds")
    truth = {
        "bw_bytes_per_s": Truth(
            rate, "B/s", note=f"after the burst credit of {burst:g} s is drained; each direction apart"
        ),
        "burst_bytes": Truth(
            rate * burst,
            "B",
            "documented",
            "credit at the start, and again after an idle time; drained by reading at full speed",
        ),
    }
    server = nbdkit("--filter=rate", "memory", f"{s['size_bytes']}", f"rate={rate * 8}", f"burstiness={burst:g}")
    checks = (
        Check("bw_bytes_per_s", ("rw=read", "bs=64k", "iodepth=4"), settle_seconds=burst + 1),
        Check("bw_bytes_per_s", ("rw=randwrite", "bs=4k", "iodepth=16"), settle_seconds=burst + 1),
    )
    return Recipe((server,), URI, truth, checks=checks)


@scenario(
    "iops",
    limit="drive IOPS",
    summary="a fixed number of I/Os a second whatever their size, reads and writes together",
    requires=(STORAGE_DAEMON,),
    iops=2000,
    size_bytes=SIZE,
)
def _iops(s: Mapping[str, Setting]) -> Recipe:
    iops = whole(s, "iops")
    server = throttled_null(s["size_bytes"], iops_total=iops)
    truth = {
        "iops": Truth(iops, "1/s", note="after the burst credit is drained; sum of reads and writes; keeps no data"),
        "burst_ios": Truth(
            iops * 0.1, "1", "documented", "a tenth of a second of the rate at the start and after an idle time"
        ),
    }
    checks = (
        Check("iops", ("rw=randread", "bs=4k", "iodepth=16"), "iops", settle_seconds=1),
        Check("iops", ("rw=randrw", "bs=64k", "iodepth=4"), "iops", settle_seconds=1),
    )
    return Recipe((server,), NAMED_URI, truth, checks=checks)


@scenario(
    "latency",
    limit="latency",
    summary="every I/O takes a fixed time, many at once: throughput follows jobs x depth up to a knee",
    requires=(NBDKIT,),
    lat_ms=5,
    threads=16,
    size_bytes=SIZE,
)
def _latency(s: Mapping[str, Setting]) -> Recipe:
    delay, threads = whole(s, "lat_ms"), whole(s, "threads")
    server = nbdkit(
        "--threads",
        f"{threads}",
        "--filter=delay",
        "memory",
        f"{s['size_bytes']}",
        f"rdelay={delay}ms",
        f"wdelay={delay}ms",
    )
    truth = {
        "lat_mean_ms": Truth(delay, "ms", note=f"{PATH_NOTE}; holds up to {threads} I/Os in flight a connection"),
        "knee_iodepth": Truth(threads, "1", note="in flight a connection; fio opens one connection a job"),
        "iops_per_job": Truth(
            per(threads * 1000, delay), "1/s", "arithmetic", "plateau of one connection: threads / delay"
        ),
    }
    checks = (
        Check(
            "lat_mean_ms",
            ("rw=randread", "bs=4k", "iodepth=1"),
            "latency",
            0,
            3,
            0.02,
            0.3,
            sleep_ms=delay,
            without_delay="lat_ms",
        ),
        Check("iops_per_job", ("rw=randread", "bs=4k", f"iodepth={4 * threads}"), "iops", 0.5, 3, sleep_ms=delay),
    )
    return Recipe((server,), URI, truth, checks=checks)


@scenario(
    "single-queue",
    limit="single queue",
    summary="one request at a time, each with a fixed cost plus transfer: a spindle, without its seek curve",
    requires=(NBDKIT,),
    service_ms=8,
    bw_bytes_per_s=150_000_000,
    size_bytes=SIZE,
)
def _single_queue(s: Mapping[str, Setting]) -> Recipe:
    service, rate = whole(s, "service_ms"), whole(s, "bw_bytes_per_s")
    server = nbdkit(
        "--filter=noparallel",
        "--filter=delay",
        "--filter=rate",
        "memory",
        f"{s['size_bytes']}",
        f"rdelay={service}ms",
        f"wdelay={service}ms",
        f"rate={rate * 8}",
        "serialize=all-requests",
    )
    truth = {
        "iops": Truth(
            per(1000, service),
            "1/s",
            "arithmetic",
            "1 / service time at any depth and any number of jobs (small blocks)",
        ),
        "bw_bytes_per_s": Truth(
            rate, "B/s", note="ceiling of large blocks; with 1 MiB blocks the service time is the tighter one"
        ),
        "lat_mean_ms": Truth(service, "ms", note=f"one I/O in flight; {PATH_NOTE}"),
    }
    checks = (
        Check(
            "iops", ("rw=randread", "bs=4k", "iodepth=1"), "iops", 0.5, 3, sleep_ms=service, without_delay="service_ms"
        ),
        Check("iops", ("rw=randwrite", "bs=4k", "iodepth=1", "numjobs=4"), "iops", 0.5, 4, sleep_ms=service),
        Check(
            "lat_mean_ms",
            ("rw=randread", "bs=4k", "iodepth=1"),
            "latency",
            0,
            3,
            0.02,
            0.3,
            sleep_ms=service,
            without_delay="service_ms",
        ),
    )
    return Recipe((server,), URI, truth, checks=checks)


@scenario(
    "cache-edge",
    limit="server cache",
    summary="a cache of known size before a slow disk: two regimes with an edge along the footprint",
    requires=(NBDKIT,),
    edge_bytes=64 << 20,
    miss_ms=2,
    size_bytes=SIZE,
)
def _cache_edge(s: Mapping[str, Setting]) -> Recipe:
    edge, miss = whole(s, "edge_bytes"), whole(s, "miss_ms")
    block = 64 << 10
    server = nbdkit(
        "--filter=cache",
        "--filter=delay",
        "memory",
        f"{s['size_bytes']}",
        f"rdelay={miss}ms",
        f"wdelay={miss}ms",
        "cache=unsafe",
        "cache-on-read=true",
        f"cache-min-block-size={block}",
        f"cache-max-size={edge}",
        "cache-high-threshold=100",
        "cache-low-threshold=95",
        environment=(("TMPDIR", "{dir}"),),
    )
    truth = {
        "edge_bytes": Truth(
            edge,
            "B",
            note="a footprint below it is held whole after one pass; at it and above it, blocks of 64 KiB are evicted",
        ),
        "miss_ms": Truth(miss, "ms", note="a miss takes this long, one miss at a time; a hit only passes the socket"),
        "miss_bw_bytes_per_s": Truth(
            per(block * 1000, miss),
            "B/s",
            "arithmetic",
            "upper bound of a sequential pass over twice the edge: 64 KiB a miss, whose copying comes on top",
        ),
        "fill_seconds": Truth(
            edge / block * miss / 1000, "s", "arithmetic", "least time of the first pass that fills the cache"
        ),
    }
    checks = (
        Check(
            "miss_bw_bytes_per_s",
            ("rw=read", "bs=64k", "iodepth=4", f"size={2 * edge}"),
            "bw",
            3,
            6,
            sleep_ms=miss,
            without_delay="miss_ms",
        ),
        Check(
            "edge_bytes",
            ("rw=read", "bs=64k", "iodepth=4"),
            "edge",
            0,
            1,
            1 / 64,
            wider="footprints of whole blocks on both sides",
        ),
    )
    return Recipe((server,), URI, truth, checks=checks)


@scenario(
    "drifting",
    limit="drive bandwidth",
    summary="the rate wanders between two values in a straight line, there and back",
    requires=(NBDKIT,),
    high_bytes_per_s=40_000_000,
    low_bytes_per_s=20_000_000,
    drift_seconds=60.0,
    size_bytes=SIZE,
)
def _drifting(s: Mapping[str, Setting]) -> Recipe:
    high, low, seconds = whole(s, "high_bytes_per_s"), whole(s, "low_bytes_per_s"), number(s, "drift_seconds")
    server = nbdkit(
        "--filter=rate",
        "memory",
        f"{s['size_bytes']}",
        f"rate={high * 8}",
        "rate-file={dir}/rate",
        "burstiness=0.2",
    )
    mover = Serve(
        "mover",
        ("{python}", "{plugins}/mover.py", "drift", "{dir}/rate", str(high * 8), str(low * 8), str(seconds)),
        "{dir}/rate",
    )
    truth = {
        "high_bytes_per_s": Truth(high, "B/s", note="at the start, which the target's file 'rate' dates"),
        "low_bytes_per_s": Truth(low, "B/s", note=f"after {seconds:g} s; then up again as slowly"),
        "slope_bytes_per_s2": Truth(
            (low - high) / seconds, "B/s per s", "arithmetic", "set every 0.2 s; the server looks once a second"
        ),
    }
    checks = (
        Check(
            "slope_bytes_per_s2",
            ("rw=read", "bs=64k", "iodepth=4"),
            "slope",
            2,
            15,
            0.03,
            wider="the rate is set every 0.2 s and looked up once a second",
        ),
    )
    return Recipe((mover, server), URI, truth, checks=checks)


@scenario(
    "stalling",
    limit="latency",
    summary="a server that stands still for a while again and again (SIGSTOP and SIGCONT)",
    requires=(NBDKIT,),
    lat_ms=1,
    period_seconds=5.0,
    stall_seconds=0.5,
    size_bytes=SIZE,
)
def _stalling(s: Mapping[str, Setting]) -> Recipe:
    delay, period, stall = whole(s, "lat_ms"), number(s, "period_seconds"), number(s, "stall_seconds")
    server = nbdkit("--filter=delay", "memory", f"{s['size_bytes']}", f"rdelay={delay}ms", f"wdelay={delay}ms")
    mover = Serve(
        "mover", ("{python}", "{plugins}/mover.py", "stall", "{dir}/disk.pid", str(period), str(stall)), "{dir}/stalls"
    )
    truth = {
        "stall_seconds": Truth(stall, "s", note="the longest I/O of every period takes this long"),
        "period_seconds": Truth(period, "s", note="from the start of one stall to the next"),
        "stalled_share": Truth(stall / period, "1", "arithmetic", "share of the time in which nothing is done"),
        "lat_ms": Truth(delay, "ms", note=f"outside the stalls; {PATH_NOTE}"),
    }
    checks = (
        Check(
            "stall_seconds",
            ("rw=randread", "bs=4k", "iodepth=1"),
            "longest",
            0,
            2 * period,
            0.01,
            0.02,
            wider="a process is stopped and continued, one I/O of the path on top",
        ),
    )
    return Recipe((server, mover), URI, truth, checks=checks)


@scenario(
    "burst-credit",
    limit="drive IOPS",
    summary="a high IOPS rate for a few seconds of credit, then a low one, as cloud volumes have it",
    requires=(STORAGE_DAEMON,),
    iops=1000,
    burst_iops=5000,
    burst_seconds=3,
    size_bytes=SIZE,
)
def _burst_credit(s: Mapping[str, Setting]) -> Recipe:
    iops, burst, seconds = whole(s, "iops"), whole(s, "burst_iops"), whole(s, "burst_seconds")
    server = throttled_null(s["size_bytes"], iops_total=iops, iops_total_max=burst, iops_total_max_length=seconds)
    drain = burst * seconds / (burst - iops) if burst > iops else 0.0
    truth = {
        "iops": Truth(iops, "1/s", note="once the credit is used up"),
        "burst_iops": Truth(burst, "1/s", note="while credit lasts; a tenth of a second more at the very start"),
        "credit_ios": Truth(
            burst * seconds,
            "1",
            "documented",
            f"leaks at {iops} a second: full-speed load uses it up in about {drain:.1f} s",
        ),
    }
    checks = (Check("iops", ("rw=randread", "bs=4k", "iodepth=16"), "iops", settle_seconds=drain + 1.5),)
    return Recipe((server,), NAMED_URI, truth, checks=checks)


@scenario(
    "throttled",
    limit="drive bandwidth",
    summary="IOPS and bytes a second limited together: small blocks meet the one, large blocks the other",
    requires=(STORAGE_DAEMON,),
    iops=2000,
    bw_bytes_per_s=50_000_000,
    size_bytes=SIZE,
)
def _throttled(s: Mapping[str, Setting]) -> Recipe:
    iops, rate = whole(s, "iops"), whole(s, "bw_bytes_per_s")
    server = throttled_null(s["size_bytes"], iops_total=iops, bps_total=rate)
    truth = {
        "iops": Truth(iops, "1/s", note="ceiling of small blocks"),
        "bw_bytes_per_s": Truth(rate, "B/s", note="ceiling of large blocks"),
        "ridge_bytes": Truth(rate / iops, "B", "arithmetic", "block size at which both limits meet"),
    }
    checks = (
        Check("iops", ("rw=randread", "bs=4k", "iodepth=16"), "iops", settle_seconds=1),
        Check("bw_bytes_per_s", ("rw=read", "bs=256k", "iodepth=4"), settle_seconds=1.5),
    )
    return Recipe((server,), NAMED_URI, truth, checks=checks)


@scenario(
    "corrupting",
    limit="",
    summary="a disk that flips one byte in some of the blocks written to it, and reports success",
    requires=(NBDKIT, PYTHON_PLUGIN),
    every_writes=500,
    size_bytes=64 << 20,
)
def _corrupting(s: Mapping[str, Setting]) -> Recipe:
    server = nbdkit("python", "{plugins}/corrupting_disk.py", f"size={s['size_bytes']}", f"every={s['every_writes']}")
    truth = {
        "every_writes": Truth(
            whole(s, "every_writes"), "1", note="each write of this number stores one wrong byte and returns success"
        ),
    }
    every = whole(s, "every_writes")
    verify = ("rw=randwrite", "bs=4k", "iodepth=8", f"size={4 * every * 4096}", "verify=crc32c", "do_verify=1")
    return Recipe((server,), URI, truth, checks=(Check("every_writes", verify, "writes_per_error", 0, 0, 0),))


@scenario(
    "corrupting-parallel",
    limit="",
    summary="a file on QEMU's FUSE export, which mixes up blocks that are written at the same time (QEMU before the "
    "middle of 2025)",
    requires=(STORAGE_DAEMON, Requirement("fusermount3", "fuse3"), Requirement("/dev/fuse", "a kernel with FUSE")),
    size_bytes=64 << 20,
)
def _corrupting_parallel(s: Mapping[str, Setting]) -> Recipe:
    server = Serve(
        "disk",
        (
            "qemu-storage-daemon",
            "--pidfile",
            "{dir}/mounted",
            "--blockdev",
            "driver=file,node-name=disk,filename={dir}/content",
            "--export",
            "type=fuse,id=export,node-name=disk,mountpoint={dir}/disk,writable=on",
        ),
        "{dir}/mounted",
    )
    truth = {
        "safe_iodepth": Truth(
            1, "1", "documented", "writes in flight that are stored right; a newer QEMU stores any number right"
        )
    }
    verify = ("rw=randwrite", "bs=4k", "ioengine=libaio", "direct=1", "size=16m", "verify=crc32c", "do_verify=1")
    steps = (MakeFile("{dir}/content", whole(s, "size_bytes")), Run(("touch", "{dir}/disk")), server)
    return Recipe(
        steps, "{dir}/disk", truth, kind="file", checks=(Check("safe_iodepth", verify, "safe_iodepth", 0, 0, 0),)
    )


@scenario(
    "reducing",
    limit="drive bandwidth",
    summary="a disk that compresses what it stores and keeps equal blocks once, with a back end of fixed bandwidth",
    requires=(NBDKIT, PYTHON_PLUGIN),
    bw_bytes_per_s=8_000_000,
    compress=1,
    dedupe=1,
    size_bytes=64 << 20,
)
def _reducing(s: Mapping[str, Setting]) -> Recipe:
    rate = whole(s, "bw_bytes_per_s")
    settings = (f"size={s['size_bytes']}", f"rate={rate}", f"compress={s['compress']}", f"dedupe={s['dedupe']}")
    truth = {
        "bw_bytes_per_s": Truth(
            rate, "B/s", note="of data that neither compress nor repeat; reads and writes together"
        ),
        "bw_reduced_bytes_per_s": Truth(
            2 * rate,
            "B/s",
            "arithmetic",
            "of data of which half of every 4 KiB block is zero; the compressed block has a small overhead",
        ),
    }
    words = ("rw=randwrite", "bs=4k", "iodepth=4", "refill_buffers=1")
    half = (*words, "buffer_compress_percentage=50")
    plain = Check("bw_bytes_per_s", words, settle_seconds=0)
    checks = (
        (plain, Check("bw_reduced_bytes_per_s", half, settle_seconds=0, tolerance=0.05, wider=REST))
        if s["compress"]
        else (plain,)
    )
    return Recipe((nbdkit("python", "{plugins}/reducing_disk.py", *settings),), URI, truth, checks=checks)


@scenario(
    "failing",
    limit="",
    summary="a disk that answers some I/Os with an error",
    requires=(NBDKIT,),
    error_percent=1.0,
    size_bytes=SIZE,
)
def _failing(s: Mapping[str, Setting]) -> Recipe:
    percent = number(s, "error_percent")
    server = nbdkit("--filter=error", "memory", f"{s['size_bytes']}", "error=EIO", f"error-rate={percent:g}%")
    truth = {"error_percent": Truth(percent, "%", note="chance of every single I/O to fail with EIO")}
    return Recipe(
        (server,),
        URI,
        truth,
        checks=(
            Check(
                "error_percent",
                ("rw=randread", "bs=4k", "iodepth=4"),
                "error_percent",
                0,
                3,
                0.15,
                wider="chance: four standard deviations of 700 errors",
            ),
        ),
    )


@scenario(
    "sector-4k",
    limit="",
    summary="a disk that refuses I/Os smaller than or not aligned to 4 KiB",
    requires=(NBDKIT,),
    sector_bytes=4096,
    size_bytes=SIZE,
)
def _sector(s: Mapping[str, Setting]) -> Recipe:
    sector = whole(s, "sector_bytes")
    server = nbdkit(
        "--filter=blocksize-policy",
        "memory",
        f"{s['size_bytes']}",
        f"blocksize-minimum={sector}",
        f"blocksize-preferred={sector}",
        "blocksize-maximum=32M",
        "blocksize-error-policy=error",
    )
    truth = {"sector_bytes": Truth(sector, "B", note="smaller or unaligned requests fail with EINVAL")}
    return Recipe(
        (server,), URI, truth, checks=(Check("sector_bytes", ("rw=randread", "iodepth=1"), "refused", 0, 1, 0),)
    )


@scenario(
    "page-cache",
    limit="client page cache",
    summary="a file read through this machine's own page cache: nothing reaches a device after the first pass",
    requires=(FIO,),
    size_bytes=SIZE,
)
def _page_cache(s: Mapping[str, Setting]) -> Recipe:
    truth = {
        "device_read_bytes": Truth(
            0, "B", "arithmetic", "after the first pass, as long as the file fits into free memory"
        )
    }
    steps = (MakeFile("{dir}/data", whole(s, "size_bytes")),)
    checks = (
        Check(
            "device_read_bytes",
            ("rw=read", "bs=64k", "direct=0", "invalidate=0", f"size={s['size_bytes']}"),
            "device_reads",
            0,
            0,
        ),
    )
    return Recipe(steps, "{dir}/data", truth, kind="file", checks=checks, options={"direct": 0, "ioengine": "psync"})
