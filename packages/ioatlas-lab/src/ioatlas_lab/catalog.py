# SPDX-License-Identifier: Apache-2.0
"""The scenarios that need no root and stay as they are: nbdkit and QEMU's storage daemon on a unix socket, plain files.

Each function is one row: settings in, recipe out. Rates and delays are configured, so they are the truth;
what a piece of software adds to it (burst credit, a fixed cost per I/O) stands in the note of the truth.
"""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas.model.words import words
from ioatlas_lab.recipes import (
    FIO,
    NAMED_URI,
    NBDKIT,
    PATH_NOTE,
    PYTHON_PLUGIN,
    REST,
    SIZE,
    STORAGE_DAEMON,
    URI,
    delays,
    nbdkit,
    number,
    per,
    read_latency,
    scenario,
    throttled_null,
    whole,
)
from ioatlas_lab.scenario import Check, MakeFile, Recipe, Setting, Truth


@scenario("memory", "client CPU", (NBDKIT,), {"size_bytes": SIZE})
def _memory(s: Mapping[str, Setting]) -> Recipe:
    """Memory served by nbdkit without any limit: what the client and the socket can carry."""
    truth = {"size_bytes": Truth(whole(s, "size_bytes"), "B")}
    return Recipe((nbdkit("memory", f"{s['size_bytes']}"),), URI, truth)


@scenario(
    "bandwidth", "drive bandwidth", (NBDKIT,), {"bw_bytes_per_s": 20_000_000, "burst_seconds": 2.0, "size_bytes": SIZE}
)
def _bandwidth(s: Mapping[str, Setting]) -> Recipe:
    """A fixed number of bytes a second, reads and writes with a budget each."""
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


@scenario("iops", "drive IOPS", (STORAGE_DAEMON,), {"iops": 2000, "size_bytes": SIZE})
def _iops(s: Mapping[str, Setting]) -> Recipe:
    """A fixed number of I/Os a second whatever their size, reads and writes together."""
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


@scenario("latency", "latency", (NBDKIT,), {"lat_ms": 5, "threads": 16, "size_bytes": SIZE})
def _latency(s: Mapping[str, Setting]) -> Recipe:
    """Every I/O takes a fixed time, many at once: throughput follows jobs x depth up to a knee."""
    delay, threads = whole(s, "lat_ms"), whole(s, "threads")
    server = nbdkit("--threads", f"{threads}", "--filter=delay", "memory", f"{s['size_bytes']}", *delays(delay))
    truth = {
        "lat_mean_ms": Truth(delay, "ms", note=f"{PATH_NOTE}; holds up to {threads} I/Os in flight a connection"),
        "knee_iodepth": Truth(threads, "1", note="in flight a connection; fio opens one connection a job"),
        "iops_per_job": Truth(
            per(threads * 1000, delay), "1/s", "arithmetic", "plateau of one connection: threads / delay"
        ),
    }
    checks = (
        read_latency("lat_mean_ms", delay, without_delay="lat_ms"),
        Check("iops_per_job", ("rw=randread", "bs=4k", f"iodepth={4 * threads}"), "iops", 0.5, 3, sleep_ms=delay),
    )
    return Recipe((server,), URI, truth, checks=checks)


@scenario(
    "single-queue", "single queue", (NBDKIT,), {"service_ms": 8, "bw_bytes_per_s": 150_000_000, "size_bytes": SIZE}
)
def _single_queue(s: Mapping[str, Setting]) -> Recipe:
    """One request at a time, each with a fixed cost plus transfer: a spindle, without its seek curve."""
    service, rate = whole(s, "service_ms"), whole(s, "bw_bytes_per_s")
    filters = ("--filter=noparallel", "--filter=delay", "--filter=rate")
    settings = (*delays(service), f"rate={rate * 8}", "serialize=all-requests")
    server = nbdkit(*filters, "memory", f"{s['size_bytes']}", *settings)
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
        read_latency("lat_mean_ms", service, without_delay="service_ms"),
    )
    return Recipe((server,), URI, truth, checks=checks)


@scenario("cache-edge", "server cache", (NBDKIT,), {"edge_bytes": 64 << 20, "miss_ms": 2, "size_bytes": SIZE})
def _cache_edge(s: Mapping[str, Setting]) -> Recipe:
    """A cache of known size before a slow disk: two regimes with an edge along the footprint."""
    edge, miss = whole(s, "edge_bytes"), whole(s, "miss_ms")
    block = 64 << 10
    settings = words(
        f"cache=unsafe cache-on-read=true cache-min-block-size={block} cache-max-size={edge} cache-high-threshold=100 "
        "cache-low-threshold=95"
    )
    filters = words("--filter=cache --filter=delay")
    environment = (("TMPDIR", "{dir}"),)
    server = nbdkit(*filters, "memory", f"{s['size_bytes']}", *delays(miss), *settings, environment=environment)
    truth = {
        "edge_bytes": Truth(
            edge,
            "B",
            note="a footprint below it is held whole after one pass; from it on, blocks of 64 KiB are evicted",
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
    "throttled", "drive bandwidth", (STORAGE_DAEMON,), {"iops": 2000, "bw_bytes_per_s": 50_000_000, "size_bytes": SIZE}
)
def _throttled(s: Mapping[str, Setting]) -> Recipe:
    """IOPS and bytes a second limited together: small blocks meet the one, large blocks the other."""
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
    "reducing",
    "drive bandwidth",
    (NBDKIT, PYTHON_PLUGIN),
    {"bw_bytes_per_s": 8_000_000, "compress": 1, "dedupe": 1, "size_bytes": 64 << 20},
)
def _reducing(s: Mapping[str, Setting]) -> Recipe:
    """A disk that compresses what it stores and keeps equal blocks once, with a back end of fixed bandwidth."""
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
    written = ("rw=randwrite", "bs=4k", "iodepth=4", "refill_buffers=1")
    half = (*written, "buffer_compress_percentage=50")
    plain = Check("bw_bytes_per_s", written, settle_seconds=0)
    checks = (
        (plain, Check("bw_reduced_bytes_per_s", half, settle_seconds=0, tolerance=0.05, wider=REST))
        if s["compress"]
        else (plain,)
    )
    return Recipe((nbdkit("python", "{plugins}/memory_disk.py", *settings),), URI, truth, checks=checks)


@scenario("page-cache", "client page cache", (FIO,), {"size_bytes": SIZE})
def _page_cache(s: Mapping[str, Setting]) -> Recipe:
    """A file read through this machine's own page cache: nothing reaches a device after the first pass."""
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
