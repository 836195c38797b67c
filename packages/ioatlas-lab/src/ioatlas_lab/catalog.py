# SPDX-License-Identifier: Apache-2.0
"""The scenarios that need no root: nbdkit and QEMU's storage daemon on a unix socket, plain files.

Each function is one row: settings in, recipe out. Rates and delays are configured, so they are the truth;
what a piece of software adds to it (burst credit, a fixed cost per I/O) stands in the note of the truth.
"""

from __future__ import annotations

from ioatlas_lab.scenario import (
    NAMED_URI,
    PATH_NOTE,
    REST,
    URI,
    MakeFile,
    Recipe,
    Run,
    Serve,
    Settings,
    Truth,
    check,
    delayed,
    follows,
    nbdkit,
    number,
    per,
    read_latency,
    scenario,
    throttled_null,
    whole,
)


@scenario("memory")
def _memory(s: Settings) -> Recipe:
    """Memory served by nbdkit without any limit: what the client and the socket can carry."""
    return Recipe((nbdkit(f"memory {s['size_bytes']}"),), URI, {"size_bytes": Truth(whole(s, "size_bytes"))})


@scenario("bandwidth")
def _bandwidth(s: Settings) -> Recipe:
    """A fixed number of bytes a second, reads and writes with a budget each."""
    rate, burst = whole(s, "bw_bytes_per_s"), number(s, "burst_seconds")
    credit = "credit at the start, and again after an idle time; drained by reading at full speed"
    truth = {
        "bw_bytes_per_s": Truth(rate, f"after the burst credit of {burst:g} s is drained; each direction apart"),
        "burst_bytes": Truth(rate * burst, credit, "documented"),
    }
    server = nbdkit(f"--filter=rate memory {s['size_bytes']} rate={rate * 8} burstiness={burst:g}")
    checks = (
        check("bw_bytes_per_s", "rw=read bs=64k iodepth=4", burst + 1),
        check("bw_bytes_per_s", "rw=randwrite bs=4k iodepth=16", burst + 1),
    )
    return Recipe((server,), URI, truth, checks=checks)


@scenario("iops")
def _iops(s: Settings) -> Recipe:
    """A fixed number of I/Os a second whatever their size, reads and writes together."""
    iops = whole(s, "iops")
    credit = "a tenth of a second of the rate at the start and after an idle time"
    truth = {
        "iops": Truth(iops, "after the burst credit is drained; sum of reads and writes; keeps no data"),
        "burst_ios": Truth(iops * 0.1, credit, "documented"),
    }
    checks = (
        check("iops", "rw=randread bs=4k iodepth=16", 1),
        check("iops", "rw=randrw bs=64k iodepth=4", 1),
    )
    return Recipe((throttled_null(s["size_bytes"], iops_total=iops),), NAMED_URI, truth, checks=checks)


@scenario("latency")
def _latency(s: Settings) -> Recipe:
    """Every I/O takes a fixed time, many at once: throughput follows jobs x depth up to a knee."""
    delay, threads = whole(s, "lat_ms"), whole(s, "threads")
    truth = {
        "lat_mean_ms": Truth(delay, f"{PATH_NOTE}; holds up to {threads} I/Os in flight a connection"),
        "knee_iodepth": Truth(threads, "in flight a connection; fio opens one connection a job"),
        "iops_per_job": follows(per(threads * 1000, delay), "plateau of one connection: threads / delay"),
    }
    checks = (
        read_latency("lat_mean_ms", delay, without_delay="lat_ms"),
        check("iops_per_job", f"rw=randread bs=4k iodepth={4 * threads}", 0.5, kind="iops", sleep_ms=delay),
    )
    return Recipe((nbdkit(f"--threads {threads} {delayed(s['size_bytes'], delay)}"),), URI, truth, checks=checks)


@scenario("single-queue")
def _single_queue(s: Settings) -> Recipe:
    """One request at a time, each with a fixed cost plus transfer: a spindle, without its seek curve."""
    service, rate = whole(s, "service_ms"), whole(s, "bw_bytes_per_s")
    filters = "--filter=noparallel --filter=delay --filter=rate"
    server = nbdkit(f"{delayed(s['size_bytes'], service, filters)} rate={rate * 8} serialize=all-requests")
    in_turn = "1 / service time at any depth and any number of jobs (small blocks)"
    truth = {
        "iops": follows(per(1000, service), in_turn),
        "bw_bytes_per_s": Truth(rate, "ceiling of large blocks; with 1 MiB blocks the service time is the tighter one"),
        "lat_mean_ms": Truth(service, f"one I/O in flight; {PATH_NOTE}"),
    }
    checks = (
        check("iops", "rw=randread bs=4k iodepth=1", 0.5, sleep_ms=service, without_delay="service_ms"),
        check("iops", "rw=randwrite bs=4k iodepth=1 numjobs=4", 0.5, 4, sleep_ms=service),
        read_latency("lat_mean_ms", service, without_delay="service_ms"),
    )
    return Recipe((server,), URI, truth, checks=checks)


@scenario("cache-edge")
def _cache_edge(s: Settings) -> Recipe:
    """A cache of known size before a slow disk: two regimes with an edge along the footprint."""
    edge, miss, block = whole(s, "edge_bytes"), whole(s, "miss_ms"), 64 << 10
    cache = (
        f"cache=unsafe cache-on-read=true cache-min-block-size={block} cache-max-size={edge} cache-high-threshold=100 "
        "cache-low-threshold=95"
    )
    disk = delayed(s["size_bytes"], miss, "--filter=cache --filter=delay")
    server = nbdkit(f"{disk} {cache}", environment=(("TMPDIR", "{dir}"),))
    held = "a footprint below it is held whole after one pass; from it on, blocks of 64 KiB are evicted"
    twice = "upper bound of a sequential pass over twice the edge: 64 KiB a miss, whose copying comes on top"
    first = "least time of the first pass that fills the cache"
    truth = {
        "edge_bytes": Truth(edge, held),
        "miss_ms": Truth(miss, "a miss takes this long, one miss at a time; a hit only passes the socket"),
        "miss_bw_bytes_per_s": follows(per(block * 1000, miss), twice),
        "fill_seconds": follows(edge / block * miss / 1000, first),
    }
    around, stream = "footprints of whole blocks on both sides", "rw=read bs=64k iodepth=4"
    checks = (
        check("miss_bw_bytes_per_s", f"{stream} size={2 * edge}", 3, 6, sleep_ms=miss, without_delay="miss_ms"),
        check("edge_bytes", stream, 0, 1, 1 / 64, kind="edge", wider=around),
    )
    return Recipe((server,), URI, truth, checks=checks)


@scenario("throttled")
def _throttled(s: Settings) -> Recipe:
    """IOPS and bytes a second limited together: small blocks meet the one, large blocks the other."""
    iops, rate = whole(s, "iops"), whole(s, "bw_bytes_per_s")
    truth = {
        "iops": Truth(iops, "ceiling of small blocks"),
        "bw_bytes_per_s": Truth(rate, "ceiling of large blocks"),
        "ridge_bytes": follows(rate / iops, "block size at which both limits meet"),
    }
    checks = (
        check("iops", "rw=randread bs=4k iodepth=16", 1),
        check("bw_bytes_per_s", "rw=read bs=256k iodepth=4", 1.5),
    )
    server = throttled_null(s["size_bytes"], iops_total=iops, bps_total=rate)
    return Recipe((server,), NAMED_URI, truth, checks=checks)


@scenario("reducing")
def _reducing(s: Settings) -> Recipe:
    """A disk that compresses what it stores and keeps equal blocks once, with a back end of fixed bandwidth."""
    rate = whole(s, "bw_bytes_per_s")
    settings = f"size={s['size_bytes']} rate={rate} compress={s['compress']} dedupe={s['dedupe']}"
    half = "of data of which half of every 4 KiB block is zero; the compressed block has a small overhead"
    truth = {
        "bw_bytes_per_s": Truth(rate, "of data that neither compress nor repeat; reads and writes together"),
        "bw_reduced_bytes_per_s": follows(2 * rate, half),
    }
    written = "rw=randwrite bs=4k iodepth=4 refill_buffers=1"
    checks = [check("bw_bytes_per_s", written, 0)]
    if s["compress"]:
        zeros = f"{written} buffer_compress_percentage=50"
        checks.append(check("bw_reduced_bytes_per_s", zeros, 0, near=0.05, wider=REST))
    return Recipe((nbdkit(f"python {{plugins}}/memory_disk.py {settings}"),), URI, truth, checks=tuple(checks))


@scenario("page-cache")
def _page_cache(s: Settings) -> Recipe:
    """A file read through this machine's own page cache: nothing reaches a device after the first pass."""
    truth = {"device_read_bytes": follows(0, "after the first pass, as long as the file fits into free memory")}
    steps = (MakeFile("{dir}/data", whole(s, "size_bytes")),)
    passes = f"rw=read bs=64k direct=0 invalidate=0 size={s['size_bytes']}"
    checks = (check("device_read_bytes", passes, 0, 0, kind="device_reads"),)
    return Recipe(steps, "{dir}/data", truth, kind="file", checks=checks, options={"direct": 0, "ioengine": "psync"})


# -- what changes while it is measured ---------------------------------------------------------------------------------


def _mover(line: str, ready: str) -> Serve:
    return Serve("mover", ("{python}", "{plugins}/mover.py", *line.split()), ready)


@scenario("drifting")
def _drifting(s: Settings) -> Recipe:
    """The rate wanders between two values in a straight line, there and back."""
    high, low, seconds = whole(s, "high_bytes_per_s"), whole(s, "low_bytes_per_s"), number(s, "drift_seconds")
    server = nbdkit(f"--filter=rate memory {s['size_bytes']} rate={high * 8} rate-file={{dir}}/rate burstiness=0.2")
    mover = _mover(f"drift {{dir}}/rate {high * 8} {low * 8} {seconds}", "{dir}/rate")
    truth = {
        "high_bytes_per_s": Truth(high, "at the start, which the target's file 'rate' dates"),
        "low_bytes_per_s": Truth(low, f"after {seconds:g} s; then up again as slowly"),
        "slope_bytes_per_s2": follows((low - high) / seconds, "set every 0.2 s; the server looks once a second"),
    }
    steps = "the rate is set every 0.2 s and looked up once a second"
    checks = (check("slope_bytes_per_s2", "rw=read bs=64k iodepth=4", 2, 15, 0.03, kind="slope", wider=steps),)
    return Recipe((mover, server), URI, truth, checks=checks)


@scenario("stalling")
def _stalling(s: Settings) -> Recipe:
    """A server that stands still for a while again and again (SIGSTOP and SIGCONT)."""
    delay, period, stall = whole(s, "lat_ms"), number(s, "period_seconds"), number(s, "stall_seconds")
    mover = _mover(f"stall {{dir}}/disk.pid {period} {stall}", "{dir}/stalls")
    truth = {
        "stall_seconds": Truth(stall, "the longest I/O of every period takes this long"),
        "period_seconds": Truth(period, "from the start of one stall to the next"),
        "stalled_share": follows(stall / period, "share of the time in which nothing is done"),
        "lat_ms": Truth(delay, f"outside the stalls; {PATH_NOTE}"),
    }
    stopped = "a process is stopped and continued, one I/O of the path on top"
    alone, near = "rw=randread bs=4k iodepth=1", 0.02
    checks = (check("stall_seconds", alone, 0, 2 * period, kind="longest", tolerance_absolute=near, wider=stopped),)
    return Recipe((nbdkit(delayed(s["size_bytes"], delay)), mover), URI, truth, checks=checks)


@scenario("burst-credit")
def _burst_credit(s: Settings) -> Recipe:
    """A high IOPS rate for a few seconds of credit, then a low one, as cloud volumes have it."""
    iops, burst, seconds = whole(s, "iops"), whole(s, "burst_iops"), whole(s, "burst_seconds")
    server = throttled_null(s["size_bytes"], iops_total=iops, iops_total_max=burst, iops_total_max_length=seconds)
    drain = burst * seconds / (burst - iops) if burst > iops else 0.0
    leaks = f"leaks at {iops} a second: full-speed load uses it up in about {drain:.1f} s"
    truth = {
        "iops": Truth(iops, "once the credit is used up"),
        "burst_iops": Truth(burst, "while credit lasts; a tenth of a second more at the very start"),
        "credit_ios": Truth(burst * seconds, leaks, "documented"),
    }
    checks = (check("iops", "rw=randread bs=4k iodepth=16", drain + 1.5),)
    return Recipe((server,), NAMED_URI, truth, checks=checks)


# -- what does wrong: wrong bytes, errors, refused sizes ---------------------------------------------------------------


@scenario("corrupting")
def _corrupting(s: Settings) -> Recipe:
    """A disk that flips one byte in some of the blocks written to it, and reports success."""
    every = whole(s, "every_writes")
    server = nbdkit(f"python {{plugins}}/memory_disk.py size={s['size_bytes']} every={every}")
    truth = {"every_writes": Truth(every, "each write of this number stores one wrong byte and returns success")}
    verify = f"rw=randwrite bs=4k iodepth=8 size={4 * every * 4096} verify=crc32c do_verify=1"
    checks = (check("every_writes", verify, 0, 0, 0, kind="writes_per_error"),)
    return Recipe((server,), URI, truth, checks=checks)


@scenario("corrupting-parallel")
def _corrupting_parallel(s: Settings) -> Recipe:
    """A file on QEMU's FUSE export, which mixes up parallel writes (QEMU before the middle of 2025)."""
    file = ("--blockdev", "driver=file,node-name=disk,filename={dir}/content")
    export = ("--export", "type=fuse,id=export,node-name=disk,mountpoint={dir}/disk,writable=on")
    server = Serve("disk", ("qemu-storage-daemon", "--pidfile", "{dir}/mounted", *file, *export), "{dir}/mounted")
    stored = "writes in flight that are stored right; a newer QEMU stores any number right"
    verify = "rw=randwrite bs=4k ioengine=libaio direct=1 size=16m verify=crc32c do_verify=1"
    steps = (MakeFile("{dir}/content", whole(s, "size_bytes")), Run(("touch", "{dir}/disk")), server)
    checks = (check("safe_iodepth", verify, 0, 0, 0, kind="safe_iodepth"),)
    return Recipe(steps, "{dir}/disk", {"safe_iodepth": Truth(1, stored, "documented")}, kind="file", checks=checks)


@scenario("failing")
def _failing(s: Settings) -> Recipe:
    """A disk that answers some I/Os with an error."""
    percent = number(s, "error_percent")
    server = nbdkit(f"--filter=error memory {s['size_bytes']} error=EIO error-rate={percent:g}%")
    truth = {"error_percent": Truth(percent, "chance of every single I/O to fail with EIO")}
    chance = {"kind": "error_percent", "wider": "chance: four standard deviations of 700 errors"}
    checks = (check("error_percent", "rw=randread bs=4k iodepth=4", 0, 3, 0.15, **chance),)
    return Recipe((server,), URI, truth, checks=checks)


@scenario("sector-4k")
def _sector(s: Settings) -> Recipe:
    """A disk that refuses I/Os smaller than or not aligned to 4 KiB."""
    sector = whole(s, "sector_bytes")
    sizes = (
        f"blocksize-minimum={sector} blocksize-preferred={sector} blocksize-maximum=32M blocksize-error-policy=error"
    )
    server = nbdkit(f"--filter=blocksize-policy memory {s['size_bytes']} {sizes}")
    truth = {"sector_bytes": Truth(sector, "smaller or unaligned requests fail with EINVAL")}
    checks = (check("sector_bytes", "rw=randread iodepth=1", 0, 1, 0, kind="refused"),)
    return Recipe((server,), URI, truth, checks=checks)
