# SPDX-License-Identifier: Apache-2.0
"""Throughput with and without the telemetry sampler, alternating within one run, on a target limited by the client's processor.

The sampler is switched on and off every 200 ms while fio runs; neighbouring stretches are compared, so that slow drift of a
shared machine cancels out. Besides the usual interval it is run far too often, to show an effect at all.

One command: python bench/telemetry/run.py [SECONDS]
"""

import contextlib
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise

from ioatlas import lab
from ioatlas.probe.telemetry import Sampler, Watched, cost_of

STRETCH_SECONDS = 0.2
LOG_MS = 20


def before_others():
    """On a machine that others use, run before them where we may; fio is in our session and follows."""
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as out:
        out.write("-15")
    with contextlib.suppress(OSError):
        os.nice(-10)


def stretches(location, watched, interval, seconds):
    """(on, mean IOPS) of each stretch of one fio run."""
    with tempfile.TemporaryDirectory(prefix="ioatlas-telemetry-") as folder:
        words = [
            "fio",
            "--name=j",
            "--ioengine=nbd",
            f"--uri={location}",
            "--rw=randread",
            "--bs=4k",
            "--iodepth=16",
            "--size=256m",
            "--time_based",
        ]
        words += [
            f"--runtime={seconds}",
            f"--write_iops_log={folder}/l",
            f"--log_avg_msec={LOG_MS}",
            "--log_unix_epoch=1",
            "--output=/dev/null",
        ]
        load = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        times, on = [], True
        while load.poll() is None:
            began = time.time()
            if on:
                with Sampler(watched, interval):
                    time.sleep(STRETCH_SECONDS)
            else:
                time.sleep(STRETCH_SECONDS)
            times.append((on, began, time.time()))
            on = not on
        with open(f"{folder}/l_iops.1.log") as log:
            rows = [tuple(map(int, line.replace(",", " ").split()[:2])) for line in log]
    found = []
    for on, began, ended in times:
        inside = [rate for end_ms, rate in rows if began * 1000 + LOG_MS < end_ms <= ended * 1000]
        if len(inside) >= 5:
            found.append((on, statistics.mean(inside)))
    return found


def main(seconds=20):
    before_others()
    # More than one target has, so that the cost shown is an upper bound.
    watched = Watched(devices=("vda", "loop0", "loop1"), interfaces=("eth0", "lo"))
    cost = cost_of(watched)
    print(
        f"one sample: {cost.processor_seconds * 1e6:.0f} us of processor time, {cost.wall_seconds * 1e6:.0f} us of wall time (median of {cost.readings})"
    )
    with lab.start("memory") as target:
        for interval in (1.0, 0.1, 0.01):
            found = stretches(target.location, watched, interval, seconds)
            logs = [math.log(after / before) * (1 if on else -1) for (_, before), (on, after) in pairwise(found)]
            mean, half = statistics.mean(logs), 2 * statistics.stdev(logs) / (len(logs) / 2) ** 0.5  # neighbours share a stretch
            low, high = math.exp(mean - half) - 1, math.exp(mean + half) - 1
            print(
                f"every {interval:g} s: throughput {math.exp(mean) - 1:+.2%} with the sampler (95%: {low:+.2%} to {high:+.2%}, median "
                f"{math.exp(statistics.median(logs)) - 1:+.2%}, {len(found)} stretches of {STRETCH_SECONDS:g} s); by arithmetic {cost.processor_seconds / interval:.3%} of one core"
            )
    print("load: 4 KiB random reads of memory over NBD, depth 16: limited by the client's processor")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
