# SPDX-License-Identifier: Apache-2.0
"""How often `ioatlas fit DIR` of a campaign that was measured is sure and wrong: maps of simulated targets that are
drawn, and requirements whose limits lie 1.05 to 30 times beside what these targets really do.

    python bench/fit/campaigns.py [--targets 24] [--seed 2] [--burst]

A log that grows costs one to three times what an overwritten one does; of a mix the truth lies between what the shares
of both directions leave, less a half, and what each alone could do. With --burst targets are faster at first.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
from collections import Counter
from pathlib import Path
from statistics import NormalDist

from tests.simulate.law import Burst, Law, Way
from tests.unit.simulated import World

from ioatlas.measure.campaign import load_result
from ioatlas.measure.procedures.fit.fits import fits_measured
from ioatlas.measure.procedures.fit.use import Load, Quantity, Requirement, Use
from ioatlas.measure.procedures.fit.verdict import Answer

CAMPAIGN = """
budget = "{}s"
[target]
path = "TARGET"
[sweep]
rw = ["read", "write", "randread", "randwrite"]
bs = ["4k", "1m"]
size = "4m"
numjobs = [1, 4]
"""
BESIDE = ((1.05, 1.6), (1.6, 6.0), (6.0, 30.0))
Case = tuple[str, Load, Requirement, Answer, int]


def drawn(draw: random.Random, burst: bool) -> Law:
    def between(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    def way() -> Way:
        latency = between(5e-5, 1e-2)
        return Way(latency, between(0.7 / latency, 8 / latency), between(2e7, 2e9))

    def at_random(one: Way) -> Way:
        return Way(one.latency_seconds * between(1, 12), one.iops / between(1, 12), one.bytes_per_s / between(1, 2.7))

    read, write = way(), way()
    return Law(
        read,
        write,
        at_random(read),
        at_random(write),
        noise=draw.uniform(0.005, 0.1),
        jitter=draw.uniform(0.01, 0.3),
        spread=draw.uniform(0.1, 0.6),
        flush_seconds=between(1e-4, 3e-2),
        burst=Burst(between(1e6, 1e8), draw.uniform(1.5, 6), between(1e3, 1e4)) if burst else None,
        seed=draw.randrange(10**6),
    )


def iops(way: Way, bs: int, in_flight: int) -> float:
    return min(in_flight / (way.latency_seconds + bs / way.bytes_per_s), way.iops, way.bytes_per_s / bs)


def cases_of(law: Law, draw: random.Random) -> list[Case]:
    """Requirements beside what the target does, with the right answer, and how far beside."""
    found: list[Case] = []

    def add(name: str, load: dict, quantity: Quantity, truth: float, percentile: float | None = None) -> None:
        for far, (low, high) in enumerate(BESIDE):
            for times in (draw.uniform(low, high), 1 / draw.uniform(low, high)):
                fits = (times > 1) == quantity.is_latency
                needed = Requirement("l", quantity, truth * times, percentile)
                found.append((name, Load("l", load, 4 << 20), needed, Answer.PASS if fits else Answer.FAIL, far))

    beyond = math.exp(NormalDist().inv_cdf(0.99) * law.spread - law.spread**2 / 2)
    depth, bs = draw.choice([1, 2, 4]), draw.choice([4096, 16384, 1 << 20])
    ways = {"randread": law.random_read, "randwrite": law.random_write, "read": law.read, "write": law.write}
    for rw, way in ways.items():
        load, rate = {"rw": rw, "bs": bs, "iodepth": depth}, iops(way, bs, depth)
        quantity = Quantity.READ if "read" in rw else Quantity.WRITE
        add("mean", load, quantity, 1e9 * depth / rate)
        add("p99", load, quantity, 1e9 * depth / rate * beyond, 99.0)
        add("rate", load, Quantity.IOPS, rate)
        for far, (low, high) in enumerate(BESIDE):
            for times in (draw.uniform(low, high), 1 / draw.uniform(low, high)):
                asked = max(1, round(rate / times))
                right = Answer.PASS if rate / asked >= 0.95 else Answer.FAIL
                paced = Load("l", load | {"rate_iops": str(asked)}, 4 << 20)
                found.append(("paced", paced, Requirement("l", Quantity.KEPT, 0.95, asked=asked), right, far))
    flushed = draw.uniform(1, 3) * (1 / iops(law.random_write, 4096, 1) + law.flush_seconds)
    log = {"rw": "write", "bs": 2300, "direct": 0, "fdatasync": 1, "file_append": 1}
    add("p99 of flushes", log, Quantity.FLUSH, 1e9 * flushed * beyond, 99.0)
    add("flushes a second", log, Quantity.IOPS, 1 / flushed)
    share = draw.choice([30, 50, 70])
    for bs, depth in ((4096, 4), (16384, 2)):
        reads, writes = (iops(way, bs, depth) for way in (law.random_read, law.random_write))
        least = 1 / (share / 100 / reads + (1 - share / 100) / writes)
        most = min(100 * reads / share, writes / (1 - share / 100), 1.5 * least)
        mix = {"rw": "randrw", "rwmixread": share, "bs": bs, "iodepth": depth}
        add("mix", mix, Quantity.IOPS, math.exp(draw.uniform(math.log(least / 1.8), math.log(most))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=24)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--burst", action="store_true")
    asked = parser.parse_args()
    count: Counter[tuple[str, int, str]] = Counter()
    for number in range(asked.targets):
        draw = random.Random(f"{asked.seed} {number}")
        law = drawn(draw, asked.burst)
        with tempfile.TemporaryDirectory(prefix="iofc", dir="/dev/shm") as folder:
            world = World(Path(folder), law)
            world.run(CAMPAIGN.format(draw.choice([20, 40, 60])))
            cases = cases_of(law, draw)
            uses = [Use(str(place), "x", ((load,),), (needed,)) for place, (_, load, needed, _, _) in enumerate(cases)]
            fits = fits_measured(world.journal(), uses, load_result(world.directory).estimates)
            for (name, _, _, right, far), fit in zip(cases, fits, strict=True):
                told = "right" if fit.answer is right else "open" if fit.answer is Answer.UNDECIDED else "wrong"
                count[name, far, told] += 1
    print("| requirement | times beside its limit | right | undecided | wrong |\n|---|---|---|---|---|")
    for name in dict.fromkeys(name for name, _, _ in count):
        for far, (low, high) in enumerate(BESIDE):
            print(f"| {name} | {low:g} to {high:g} | {count[name, far, 'right']} | ", end="")
            print(f"{count[name, far, 'open']} | {count[name, far, 'wrong']} |")


if __name__ == "__main__":
    main()
