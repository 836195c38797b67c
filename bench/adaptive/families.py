# SPDX-License-Identifier: Apache-2.0
"""Six families of targets that nobody used to choose the model: each seed draws a target of its own.

They are what their vendors' data sheets and textbooks say of them, written without a look at the model: disk with
seeks,
cloud volume, NVMe drive behind a processor, NFS with a client cache, RAID-5, SMB server that serves one request at a
time.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable

from surfaces import KIB, MIB, _rows

FOUR = ("read", "write", "randread", "randwrite")
Cells = list[tuple[dict, float]]


def _grid(**axes: tuple) -> list[dict]:
    return [dict(zip(axes, levels, strict=True)) for levels in itertools.product(*axes.values())]


def hard_disk(rng: random.Random) -> Cells:
    """One arm: seeks grow with the root of the footprint and shrink with the queue; a stream needs no seek, several
    do.
    """
    rotation, full_seek, media = rng.choice([4.2e-3, 5.6e-3, 8.3e-3]) / 2, rng.uniform(6e-3, 12e-3), rng.uniform(1, 2.5)
    cells: Cells = []
    for point in _grid(
        rw=FOUR,
        bs_bytes=tuple(4 * KIB << b for b in range(0, 9, 1)),
        size_bytes=tuple(256 * MIB << (2 * s) for s in range(4)),
        iodepth=(1, 2, 4, 8, 16, 32),
    ):
        bs, depth = point["bs_bytes"], point["iodepth"]
        transfer = bs / (media * 1e8)
        if point["rw"].startswith("rand"):
            seek = 1e-3 + full_seek * math.sqrt(point["size_bytes"] / (256 * MIB << 6)) * 0.6
            sorted_by = 1 + 0.35 * math.log2(depth)
            time = (seek + rotation) / sorted_by + transfer
            # A write cache on the drive gathers writes.
            time *= 0.6 if "write" in point["rw"] else 1.0
        else:
            time = max(transfer, 60e-6 / min(depth, 4))
        cells.append((point, 1 / time))
    return cells


def cloud_volume(rng: random.Random) -> Cells:
    """A volume with a cap on I/Os (of at most 256 KiB each) and one on bytes per second, behind a network."""
    cap, rate, trip = rng.choice([3000, 6000, 16000]), rng.choice([125e6, 250e6, 500e6]), rng.uniform(0.4e-3, 1.2e-3)
    cells: Cells = []
    for point in _grid(
        rw=("randread", "randwrite", "read", "write"),
        bs_bytes=tuple(4 * KIB << b for b in range(9)),
        numjobs=(1, 2, 4, 8),
        iodepth=(1, 4, 16, 64),
    ):
        bs, out = point["bs_bytes"], point["numjobs"] * point["iodepth"]
        # In order, small I/Os are merged before they are counted.
        counted = max(1.0, bs / (256 * KIB)) if "rand" in point["rw"] else max(0.25, bs / (256 * KIB))
        free = out / (trip * (1.3 if "write" in point["rw"] else 1.0) + bs / 1.5e9)
        cells.append((point, min(free, cap / counted, rate / bs)))
    return cells


def fast_drive(rng: random.Random) -> Cells:
    """An NVMe drive that is faster than a job: each job costs processor time for each I/O, and there are only so many
    cores.
    """
    cost, cores = rng.uniform(2.5e-6, 8e-6), rng.choice([2, 4, 8])
    flash, channels, lanes = rng.uniform(60e-6, 110e-6), rng.choice([32, 64, 128]), rng.choice([3.2e9, 6.8e9])
    cells: Cells = []
    for point in _grid(
        rw=("randread", "randwrite"),
        bs_bytes=tuple(512 << b for b in range(11)),
        numjobs=(1, 2, 4, 8, 16),
        iodepth=(1, 2, 8, 32, 128),
    ):
        bs, jobs, depth = point["bs_bytes"], point["numjobs"], point["iodepth"]
        write = "write" in point["rw"]
        device = (18e-6 if write else flash) + bs / (1.2e9 if write else 2.2e9)
        # Less than a page is read, changed and written.
        device += flash if write and bs < 4 * KIB else 0.0
        by_device = min(jobs * depth, channels) / device
        by_processor = min(jobs, cores) / (cost + bs / 12e9)
        by_lanes = lanes * (0.7 if write else 1.0) / bs
        cells.append((point, 1 / sum(x**-4 for x in (by_device, by_processor, by_lanes)) ** 0.25))
    return cells


def nfs_client(rng: random.Random) -> Cells:
    """NFS over 1 Gbit/s: reads of what the client holds in memory never leave it, all else does, in requests of
    `wsize`.
    """
    memory, trip, wsize = (
        rng.choice([96, 256, 768]) * MIB,
        rng.uniform(150e-6, 500e-6),
        rng.choice([64, 256, 1024]) * KIB,
    )
    cells: Cells = []
    for point in _grid(
        rw=("read", "randread", "write"),
        bs_bytes=tuple(4 * KIB << b for b in range(9)),
        size_bytes=tuple(8 * MIB << s for s in range(8)),
        numjobs=(1, 2, 4, 8),
    ):
        bs, jobs = point["bs_bytes"], point["numjobs"]
        footprint = point["size_bytes"] * jobs
        held = 0.0 if point["rw"] == "write" else min(1.0, memory / footprint)
        if point["rw"] == "read" and footprint > memory:
            held = 0.0
        requests = max(1.0, bs / wsize)
        remote = trip * requests + bs / 118e6
        if point["rw"] == "read":
            # Read-ahead keeps the next request under way.
            remote = max(bs / 118e6, trip * bs / (128 * KIB))
        local = 1.5e-6 + bs / 6e9
        iops = min(jobs, 8) / (held * local + (1 - held) * remote)
        over_link = (1 - held) * bs / 116e6
        cells.append((point, min(iops, 1 / over_link if over_link else math.inf)))
    return cells


def raid5(rng: random.Random) -> Cells:
    """Disks in RAID-5: a write of less than a stripe reads and writes data and parity, a whole stripe does not."""
    disks, chunk = rng.choice([4, 6, 9]), rng.choice([16, 64, 256]) * KIB
    service, media = rng.uniform(4e-3, 9e-3), rng.uniform(1e8, 2e8)
    stripe = chunk * (disks - 1)
    cells: Cells = []
    for point in _grid(
        rw=("randread", "randwrite", "write"),
        bs_bytes=tuple(4 * KIB << b for b in range(11)),
        numjobs=(1, 2, 4, 8, 16),
        iodepth=(1, 8),
    ):
        bs, out = point["bs_bytes"], point["numjobs"] * point["iodepth"]
        touched = max(1.0, min(bs / chunk, disks))
        per_disk = service + bs / touched / media
        if point["rw"] == "randread":
            work = touched * per_disk
        else:
            part = bs < stripe
            work = 4 * per_disk * touched if part else disks * (service + bs / (disks - 1) / media)
            if point["rw"] == "write":
                # Gathered into stripes, but for those whose turn comes too early.
                work = disks * (0.2 * service + stripe / (disks - 1) / media) * bs / stripe * (1.5 if part else 1.0)
        busy = disks * (1 - (1 - 1 / disks) ** (out * touched))
        cells.append((point, min(busy / work, out / per_disk)))
    return cells


def smb_server(rng: random.Random) -> Cells:
    """A server with one thread for each connection, one connection for all jobs or one each, signing every byte."""
    each, trip = rng.random() < 0.5, rng.uniform(200e-6, 900e-6)
    signing, link, credit = rng.uniform(150e6, 700e6), rng.choice([118e6, 1.17e9]), rng.choice([64, 1024]) * KIB
    cells: Cells = []
    for point in _grid(
        rw=("read", "write", "randread", "randwrite"),
        bs_bytes=tuple(4 * KIB << b for b in range(10)),
        numjobs=(1, 2, 4, 8),
        iodepth=(1, 4, 16),
    ):
        bs, jobs, depth = point["bs_bytes"], point["numjobs"], point["iodepth"]
        requests = max(1.0, bs / credit)
        serve = requests * 40e-6 + bs / signing + (120e-6 if point["rw"].startswith("rand") else 0.0)
        serve *= 1.4 if "write" in point["rw"] else 1.0
        threads = jobs if each else 1
        iops = min(jobs * depth / (trip + serve), min(threads, 6) / serve)
        cells.append((point, min(iops, link / bs)))
    return cells


FAMILIES: dict[str, tuple[Callable[[random.Random], Cells], float]] = {
    "hard disk": (hard_disk, 0.04),
    "cloud volume": (cloud_volume, 0.02),
    "fast drive": (fast_drive, 0.03),
    "NFS client": (nfs_client, 0.03),
    "RAID-5": (raid5, 0.06),
    "SMB server": (smb_server, 0.05),
}
"""By name: what draws a target, and the noise of one reading."""


def family(name: str, seed: int) -> list[dict]:
    """Rows of a dense sweep, two passes, of the target that this seed draws."""
    draw, sd = FAMILIES[name]
    rng = random.Random(f"{name} {seed}")
    return _rows(rng, draw(rng), 2, sd)
