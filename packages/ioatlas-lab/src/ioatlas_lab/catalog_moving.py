# SPDX-License-Identifier: Apache-2.0
"""Scenarios that change while they are measured: drift, stalls, credit that is used up."""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas_lab.recipes import (
    NAMED_URI,
    NBDKIT,
    PATH_NOTE,
    SIZE,
    STORAGE_DAEMON,
    URI,
    delays,
    nbdkit,
    number,
    scenario,
    throttled_null,
    whole,
)
from ioatlas_lab.scenario import Check, Recipe, Serve, Setting, Truth


@scenario(
    "drifting",
    "drive bandwidth",
    (NBDKIT,),
    {"high_bytes_per_s": 40_000_000, "low_bytes_per_s": 20_000_000, "drift_seconds": 60.0, "size_bytes": SIZE},
)
def _drifting(s: Mapping[str, Setting]) -> Recipe:
    """The rate wanders between two values in a straight line, there and back."""
    high, low, seconds = whole(s, "high_bytes_per_s"), whole(s, "low_bytes_per_s"), number(s, "drift_seconds")
    settings = (f"rate={high * 8}", "rate-file={dir}/rate", "burstiness=0.2")
    server = nbdkit("--filter=rate", "memory", f"{s['size_bytes']}", *settings)
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
    "stalling", "latency", (NBDKIT,), {"lat_ms": 1, "period_seconds": 5.0, "stall_seconds": 0.5, "size_bytes": SIZE}
)
def _stalling(s: Mapping[str, Setting]) -> Recipe:
    """A server that stands still for a while again and again (SIGSTOP and SIGCONT)."""
    delay, period, stall = whole(s, "lat_ms"), number(s, "period_seconds"), number(s, "stall_seconds")
    server = nbdkit("--filter=delay", "memory", f"{s['size_bytes']}", *delays(delay))
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
    "drive IOPS",
    (STORAGE_DAEMON,),
    {"iops": 1000, "burst_iops": 5000, "burst_seconds": 3, "size_bytes": SIZE},
)
def _burst_credit(s: Mapping[str, Setting]) -> Recipe:
    """A high IOPS rate for a few seconds of credit, then a low one, as cloud volumes have it."""
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
