# SPDX-License-Identifier: Apache-2.0
"""Synthetic dense sweeps of known truth, none of them drawn from the model under test: used by the tests and the
bench.
"""

from __future__ import annotations

import itertools
import math
import random

KIB, MIB = 1 << 10, 1 << 20


def noisy(rng: random.Random, value: float, sd: float, stall: float = 0.01) -> float:
    """One reading: log-normal with a Student-like tail, now and then a stall."""
    factor = math.exp(rng.gauss(0, sd) * (1.0 if rng.random() < 0.9 else 2.5))
    return value * factor * (rng.uniform(0.25, 0.7) if rng.random() < stall else 1.0)


def array(
    seed: int = 0,
    sd: float = 0.02,
    passes: int = 2,
    *,
    cliff: float = 5.0,
    notch: float = 1.0,
    private: bool = True,
    sizes: int = 12,
    blocks: int = 10,
    jobs: int = 8,
    rws: tuple[str, ...] = ("read", "write"),
) -> list[dict]:
    """A network array: finite servers (exact closed machine-repair queue), a cache on the footprint, a link,
    small-write penalty.
    """
    rng = random.Random(seed)
    servers = rng.choice([4, 8, 16, 32])
    link = rng.choice([120e6, 1.2e9, 2.5e9])
    capacity = rng.choice([48, 96, 200, 400, 700, 1500]) * MIB
    latency = rng.uniform(60e-6, 400e-6)
    stream = rng.uniform(100e6, 900e6)
    cells = []
    for rw, b, s, j in itertools.product(rws, range(blocks), range(sizes), range(jobs)):
        bs, size, numjobs = 4 * KIB << b, MIB << s, 1 << j
        if bs > size:
            continue
        write, rand = "write" in rw, rw.startswith("rand")
        footprint = size * (numjobs if private else 1)
        hit = (
            1.0
            if footprint <= capacity
            else (capacity / footprint if rand else max(0.0, 1 - 4 * (footprint / capacity - 1)))
        )
        if write:
            hit = 1.0 if footprint <= capacity / 4 else 0.25
        hit_time = latency * (1.6 if write else 1.0) * (1.2 if rand else 1.0) + bs / (stream * (0.6 if write else 1))
        if write and bs < 8 * KIB:
            hit_time *= 2.5
        time = hit_time * (hit + (1 - hit) * cliff)
        # Asymptotic queue with finite servers: mean of the busy-server count, smooth at the knee.
        busy = servers * (1 - math.exp(-numjobs / servers))
        iops = busy / time
        iops = 1 / ((1 / iops) ** 6 + (bs / link) ** 6) ** (1 / 6)
        if notch != 1 and write and bs == 128 * KIB and numjobs >= 16:
            iops /= notch
        cells.append(({"rw": rw, "bs_bytes": bs, "size_bytes": size, "numjobs": numjobs}, iops))
    return _rows(rng, cells, passes, sd)


def modes(seed: int = 0, sd: float = 0.05, passes: int = 2) -> list[dict]:
    """Categorical modes and queue depth: engine x target x rwmixread x bs x iodepth, no size, no numjobs."""
    rng = random.Random(seed)
    cells = []
    for engine, target, mix, b, q in itertools.product(
        ["io_uring", "libaio", "posixaio"], ["pool-a", "pool-b"], [0, 25, 50, 75, 100], range(7), range(7)
    ):
        bs, depth = 512 << b, 1 << q
        cost = {"io_uring": 1.0, "libaio": 1.15, "posixaio": 2.3}[engine] * 9e-6
        device = {"pool-a": 80e-6, "pool-b": 300e-6}[target] * (1 + 0.8 * (1 - mix / 100))
        service = device + bs / 1.5e9
        parallel = {"pool-a": 24, "pool-b": 9}[target]
        iops = 1 / ((service / depth) ** 3 + (service / parallel) ** 3 + cost**3) ** (1 / 3)
        if bs < 4096 and mix < 100:
            iops *= 0.5
        cells.append(({"engine": engine, "target": target, "rwmixread": mix, "bs_bytes": bs, "iodepth": depth}, iops))
    return _rows(rng, cells, passes, sd)


def tiny(seed: int = 0, sd: float = 0.03, passes: int = 2) -> list[dict]:
    """100 cells: 2 x 10 x 5."""
    return list(array(seed, sd, passes, sizes=1, blocks=10, jobs=5)) or array(
        seed, sd, passes, sizes=12, blocks=1, jobs=5
    )


def in_notch(point: dict) -> bool:
    """16 of the 864 cells of `disk`: writes of 128 KiB by 16 or more jobs."""
    return "write" in point["rw"] and point["bs_bytes"] == 128 * KIB and point["numjobs"] >= 16


def disk(seed: int = 0, sd: float = 0.14, passes: int = 3, notch: float = 1.0) -> list[dict]:
    """A noisy local disk: 4 rw x 9 bs x 6 jobs x 4 sizes, universal scalability law, no cliff, read-ahead for
    sequential reads.
    """
    rng = random.Random(seed)
    cells = []
    for rw, b, j, s in itertools.product(["read", "write", "randread", "randwrite"], range(9), range(6), range(4)):
        bs, numjobs, size = 4 * KIB << b, 1 << j, (16 << (2 * s)) * MIB
        time = {"read": 60e-6, "write": 90e-6, "randread": 110e-6, "randwrite": 95e-6}[rw] + bs / (
            1.1e9 if "read" in rw else 0.7e9
        )
        x = numjobs / (1 + 0.06 * (numjobs - 1) + 0.0008 * numjobs * (numjobs - 1)) / time
        x = 1 / ((1 / x) ** 2.5 + (bs / (4.2e9 if "read" in rw else 2.1e9)) ** 2.5) ** (1 / 2.5)
        x *= 1 - 0.04 * s
        x /= notch if in_notch({"rw": rw, "bs_bytes": bs, "numjobs": numjobs}) else 1.0
        cells.append(({"rw": rw, "bs_bytes": bs, "numjobs": numjobs, "size_bytes": size}, x))
    return _rows(rng, cells, passes, sd)


def big(seed: int = 0, sd: float = 0.03, passes: int = 2) -> list[dict]:
    """About 4,500 cells: four modes, with iodepth as well."""
    rows = []
    for depth in (1, 4, 16):
        for row in array(seed, sd, passes, sizes=10, blocks=9, jobs=5, rws=("read", "write", "randread", "randwrite")):
            scale = {1: 1.0, 4: 2.9, 16: 4.2}[depth]
            rows.append(
                {**row, "iodepth": depth, "iops": row["iops"] * scale, "bw_bytes_per_s": row["bw_bytes_per_s"] * scale}
            )
    return rows


def _rows(rng: random.Random, cells: list, passes: int, sd: float) -> list[dict]:
    rows = []
    for number in range(1, passes + 1):
        order = rng.sample(cells, len(cells))
        drift = 0.0
        for point, truth in order:
            drift = 0.98 * drift + rng.gauss(0, sd * 0.1)
            iops = noisy(rng, truth * math.exp(drift), sd)
            jobs = point.get("numjobs", 1) * point.get("iodepth", 1)
            lat = jobs / iops * 1e9
            rows.append(
                {
                    "pass": number,
                    **point,
                    "bw_bytes_per_s": round(iops * point["bs_bytes"]),
                    "iops": round(iops, 3),
                    "lat_mean_ns": round(lat),
                    "lat_p99_ns": round(lat * rng.uniform(1.5, 4)),
                }
            )
    return rows
