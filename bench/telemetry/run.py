# SPDX-License-Identifier: Apache-2.0
"""What the telemetry sampler costs a load that is limited by the client's processor: many short pairs of stretches,
with it and without.

A machine that others use makes throughput wander by tens of per cent within a second, so that pairs of throughputs tell
nothing. Here each stretch is judged by the I/Os that fio makes for each second of processor time it was given
(schedstat): what others take from it drops out, and what the sampler does to it through caches and interrupts stays in.
The processor time of the sampler itself is counted apart and added.

In a pair one stretch has the sampler and one has not, in random order; the interval is a bootstrap over pairs. The rate
is PER_SECOND samples a second; a campaign takes 1 to 10.

One command: python bench/telemetry/run.py [SECONDS]
"""

import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

from ioatlas.load.machine.telemetry import Sample, Sampler, Watched

STRETCH_SECONDS = 0.1
LOG_MS = 10
PER_SECOND = 20
DRAWS = 2000


class Blank(Sampler):
    """The same thread at the same times, which reads nothing: so that pairs differ in the reading only."""

    def _read(self):
        return Sample(time.time(), time.monotonic(), {})


def processor_seconds(pid):
    """Time that all threads of fio have run."""
    total = 0
    for name in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{name}/schedstat") as file:
                total += int(file.read().split()[0])
        except OSError:
            continue
    return total / 1e9


def stretches(watched, seconds, generator):
    """(with the sampler, began, ended, fio's processor seconds) of each stretch, and fio's I/Os by time: [(ms, I/Os a
    second)].
    """
    with tempfile.TemporaryDirectory(prefix="ioatlas-telemetry-") as folder:
        words = [
            "fio",
            "--name=j",
            "--ioengine=null",
            "--rw=randread",
            "--bs=4k",
            "--size=1g",
            "--norandommap",
            "--thread",
            "--time_based",
            f"--runtime={seconds}",
            f"--write_iops_log={folder}/l",
            f"--log_avg_msec={LOG_MS}",
            "--log_unix_epoch=1",
            "--output=/dev/null",
        ]
        load = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        found = []
        end = time.time() + seconds - 2
        while time.time() < end:
            pair = [True, False]
            generator.shuffle(pair)
            for on in pair:
                before, began = processor_seconds(load.pid), time.time()
                if on:
                    with Sampler(watched, 1 / PER_SECOND):
                        time.sleep(STRETCH_SECONDS)
                else:
                    with Blank(watched, 1 / PER_SECOND):
                        time.sleep(STRETCH_SECONDS)
                ended = time.time()
                found.append((on, began, ended, processor_seconds(load.pid) - before))
        load.wait()
        with open(f"{folder}/l_iops.1.log") as log:
            rows = [tuple(map(int, line.replace(",", " ").split()[:2])) for line in log]
    return found, rows


def done_between(rows, began, ended):
    """I/Os between two times, from the rates of the intervals that lie inside, stretched over the whole."""
    inside = [rate for ms, rate in rows if began * 1000 + LOG_MS <= ms <= ended * 1000]
    return statistics.mean(inside) * (ended - began) if len(inside) >= 5 else None


def interval(logs, generator):
    """Median and its 95% bootstrap interval, as changes."""
    draws = sorted(statistics.median(generator.choices(logs, k=len(logs))) for _ in range(DRAWS))
    return tuple(math.exp(value) - 1 for value in (statistics.median(logs), draws[DRAWS // 40], draws[-DRAWS // 40]))


def cost_of(watched, readings=200):
    """Median seconds of processor time that one sample takes on this machine."""
    sampler = Sampler(watched)
    sampler.snapshot()
    spent = []
    for _ in range(readings):
        before = time.thread_time()
        sampler.snapshot()
        spent.append(time.thread_time() - before)
    sampler.close()
    return statistics.median(spent)


def main(seconds=90):
    generator = random.Random(1)
    # More than one target has, so that the cost shown is an upper bound.
    watched = Watched(devices=("vda", "loop0", "loop1"), interfaces=("eth0", "lo"))
    cost = cost_of(watched)
    print(f"one sample: {cost * 1e6:.0f} us of processor time (median of 200)")
    found, rows = stretches(watched, seconds, generator)
    rates, throughputs = [], []
    for (first_on, *first), (_, *second) in zip(found[::2], found[1::2], strict=False):
        values = []
        for began, ended, spent in (first, second):
            done = done_between(rows, began, ended)
            values.append((done / spent, done / (ended - began)) if done and spent > 0 else None)
        if None not in values:
            on, off = values if first_on else values[::-1]
            rates.append(math.log(on[0] / off[0]))
            throughputs.append(math.log(on[1] / off[1]))
    change, low, high = interval(rates, generator)
    print(
        f"I/Os for each second of processor time, {PER_SECOND} samples a second: {change:+.2%} (95%: {low:+.2%} to "
        f"{high:+.2%}, {len(rates)} pairs of {STRETCH_SECONDS:g} s)"
    )
    change, low, high = interval(throughputs, generator)
    print(f"throughput as it was, others' work included: {change:+.2%} (95%: {low:+.2%} to {high:+.2%})")
    for rate in (1, 10):
        print(
            f"at {rate} sample{'s' if rate > 1 else ''} a second the sampler itself takes {cost * rate:.3%} of one core"
        )
    print("load: fio's null engine, one job, 4 KiB: limited by the client's processor alone")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
