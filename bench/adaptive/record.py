# SPDX-License-Identifier: Apache-2.0
"""Record dense sweeps to compare designs on: every cell of a grid, several passes, each in its own random order.

    python bench/adaptive/record.py
    local|link|cache|buffered|mixed|packed|queue|warm_cache|wide_cache|nas_cache|wide_nas|
                                                spindle|throttled|connections|drive [--passes 2] [--lock FILE]

Targets:
  local     a directory on the local file system, O_DIRECT, psync: noisy, no cache edge.
  link      nbdkit (1 ms reads, 2 ms writes, 16 server threads a connection) behind a 1 Gbit/s link between
            two network namespaces (needs root): latency, parallelism and link ceilings of known size.
  cache     nbdkit's cache filter (96 MiB) in front of a 1 ms store: a server cache edge of known size.
  buffered  a file on the local file system read through a page cache held to 160 MiB by a memory cgroup (needs root).
  mixed     reads and writes mixed (rwmixread) by two engines, O_DIRECT, on the local file system.
  packed    writes of data of given compressibility (buffer_compress_percentage) to a compressed RAM disk (zram; needs
  root).
  queue     nbdkit: 2 ms, 4 threads a connection, 300 Mbit/s for all; reads, writes and mixes over depth and jobs.
  warm_cache
            such a cache in a known state: the cells of a batch have one size, and the batch begins with a read of as
            much of it as
            the cache holds. What is hit follows from the cell then, and not from what was measured before. Writes go
            through to the store.
  wide_cache
            the same on a grid of 1,920 cells, as many as the sweep of one target in examples/campaigns/seed2021.toml.
  nas_cache such a cache where a NAS has it: behind a 1 Gbit/s link, in front of a 1 ms store (needs root). Random
            order only: a section in order begins at the start of the file, which an earlier one may have left in the
            cache.
  wide_nas  the same on a grid of 1,920 cells.
  spindle   nbdkit: one I/O at a time on a connection, 8 ms reads and 6 ms writes (and 800 Mbit/s, which no section is
  long enough to feel).
  throttled QEMU's storage daemon: 2,500 I/Os/s and 60 MB/s for all, and what its bucket adds in 0.4 s: about a quarter.
  connections
            nbdkit: 1 ms reads and 3 ms writes, 8 threads and 250 Mbit/s for each connection.
  drive     a loop device over memory with limits in the root block cgroup: 20,000 reads/s, 4,000 writes/s, 200 and 80
  MB/s (needs root).

A section takes 0.4 s; sections are placed 0.5 or 0.6 s apart inside one fio by `startdelay`, 24 to a batch. The
lock is released between groups of batches, so that others can measure: the recordings are noisy and say so.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import gzip
import itertools
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
KIB, MIB = 1 << 10, 1 << 20
QUANTITIES = ("bw_bytes_per_s", "iops", "lat_mean_ns", "lat_p99_ns")
RUNTIME_MS = 400
Cell = dict[str, str | int]
"""fio options, sizes in bytes."""


def grid(
    rw: list[str], bs_kib: list[int], size_mib: list[int], numjobs: list[int], iodepth: list[int], **others: list
) -> list[Cell]:
    axes = {
        "rw": rw,
        "bs": [b * KIB for b in bs_kib],
        "size": [s * MIB for s in size_mib],
        "numjobs": numjobs,
        "iodepth": iodepth,
        **others,
    }
    return [dict(zip(axes, levels, strict=True)) for levels in itertools.product(*axes.values())]


@contextlib.contextmanager
def scratch(parent: str | None = None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="atlas-record-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def lay_out(folder: Path, sizes: set[int]) -> None:
    for size in sizes:
        job = [
            "fio",
            "--name=lay",
            f"--filename={folder}/{size}",
            f"--size={size}",
            "--rw=write",
            "--bs=1m",
            "--direct=1",
            "--ioengine=psync",
        ]
        subprocess.run([*job, "--refill_buffers=1", "--output-format=terse"], check=True, capture_output=True)


def wait_for(path: Path) -> None:
    for _ in range(100):
        if path.exists():
            return
        time.sleep(0.05)
    raise SystemExit(f"{path} did not appear")


@contextlib.contextmanager
def process(command: list[str], **kwargs: object) -> Iterator[subprocess.Popen]:
    child = subprocess.Popen(command, **kwargs)
    try:
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(10)


@contextlib.contextmanager
def local(cells: list[Cell]) -> Iterator[tuple[list[str], object, int]]:
    with scratch(os.environ.get("ATLAS_SCRATCH", "/var/tmp")) as folder:
        lay_out(folder, {int(c["size"]) for c in cells})
        yield (
            ["direct=1", *([] if "ioengine" in cells[0] else ["ioengine=psync"])],
            lambda c: [f"filename={folder}/{c['size']}"],
            500,
        )


@contextlib.contextmanager
def buffered(cells: list[Cell]) -> Iterator[tuple[list[str], object, int]]:
    group = Path("/sys/fs/cgroup/memory/atlas-record")
    with scratch(os.environ.get("ATLAS_SCRATCH", "/var/tmp")) as folder:
        lay_out(folder, {int(c["size"]) for c in cells})
        group.mkdir(exist_ok=True)
        (group / "memory.limit_in_bytes").write_text(str(160 * MIB))
        (group / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield ["ioengine=psync", "direct=0", "invalidate=0"], lambda c: [f"filename={folder}/{c['size']}"], 600
        finally:
            (group.parent / "cgroup.procs").write_text(str(os.getpid()))
            with contextlib.suppress(OSError):
                group.rmdir()


WARM_OPTIONS = ("cache=writethrough", "cache-min-block-size=64K", "cache-high-threshold=100", "cache-low-threshold=95")
"""Blocks and thresholds as in docs/decisions/0042: the edge lies where max-size says."""


def fill(prefix: list[str], uri: str, size: int) -> None:
    command = [
        "fio",
        "--name=f",
        "--ioengine=nbd",
        f"--{uri}",
        "--rw=write",
        "--bs=1m",
        "--iodepth=8",
        f"--size={size}",
    ]
    subprocess.run([*prefix, *command], check=True, capture_output=True)


def over_memory(cells: list[Cell], *words: str) -> list[str]:
    """Words of nbdkit: these options, the memory plugin as large as the largest cell, these parameters."""
    options = [word for word in words if word.startswith("-")]
    return [
        *options,
        "memory",
        str(max(int(c["size"]) for c in cells)),
        *(word for word in words if word not in options),
    ]


@contextlib.contextmanager
def nbd(cells: list[Cell], *words: str) -> Iterator[tuple[list[str], object, int]]:
    """A filled nbdkit over memory."""
    with scratch("/dev/shm") as folder:
        socket = folder / "n.sock"
        with process(
            ["nbdkit", "-f", "-U", str(socket), *over_memory(cells, *words)], env={**os.environ, "TMPDIR": str(folder)}
        ):
            wait_for(socket)
            uri = f"uri=nbd+unix:///?socket={socket}"
            fill([], uri, max(int(c["size"]) for c in cells))
            yield ["ioengine=nbd", uri], lambda _: [], 600


CACHE = ("--filter=cache", "--filter=delay", "rdelay=1ms", "wdelay=1ms", "cache-max-size=96M", "cache-on-read=true")


def cache(cells: list[Cell], *options: str) -> contextlib.AbstractContextManager:
    return nbd(cells, "--threads=16", *CACHE, *options)


def warm_cache(cells: list[Cell]) -> contextlib.AbstractContextManager:
    return cache(cells, *WARM_OPTIONS)


def link(cells: list[Cell]) -> contextlib.AbstractContextManager:
    return linked(over_memory(cells, "--filter=delay", "rdelay=1ms", "wdelay=2ms"))


@contextlib.contextmanager
def nas_cache(cells: list[Cell]) -> Iterator[tuple[list[str], object, int]]:
    with (
        scratch("/dev/shm") as folder,
        linked(over_memory(cells, *CACHE, *WARM_OPTIONS), env={**os.environ, "TMPDIR": str(folder)}) as (
            common,
            extra,
            period_ms,
        ),
    ):
        fill(BEHIND_THE_LINK, common[1], max(int(c["size"]) for c in cells))
        yield common, extra, period_ms


@contextlib.contextmanager
def linked(words: list[str], **kwargs: object) -> Iterator[tuple[list[str], object, int]]:
    """An nbdkit with these words behind a 1 Gbit/s link."""
    server, client, address = "arecs", "arecc", "10.97.0.1"

    def run(*words: str) -> None:
        subprocess.run(words, check=True)

    try:
        run("ip", "netns", "add", server)
        run("ip", "netns", "add", client)
        run("ip", "link", "add", "vs", "netns", server, "type", "veth", "peer", "name", "vc", "netns", client)
        run("ip", "-n", server, "addr", "add", f"{address}/24", "dev", "vs")
        run("ip", "-n", client, "addr", "add", "10.97.0.2/24", "dev", "vc")
        for space, device in ((server, "vs"), (client, "vc")):
            run("ip", "-n", space, "link", "set", "lo", "up")
            run("ip", "-n", space, "link", "set", device, "mtu", "1500", "up")
            run(*f"tc -n {space} qdisc add dev {device} root tbf rate 1gbit burst 256k latency 50ms".split())
        with process(
            ["nsenter", f"--net=/run/netns/{server}", "nbdkit", "-f", "-i", address, "-t", "16", *words], **kwargs
        ):
            time.sleep(0.5)
            yield ["ioengine=nbd", f"uri=nbd://{address}"], lambda _: [], 600
    finally:
        for space in (server, client):
            subprocess.run(["ip", "netns", "del", space], check=False)


@contextlib.contextmanager
def packed(cells: list[Cell]) -> Iterator[tuple[list[str], object, int]]:
    size, sysfs = max(int(c["size"]) for c in cells), Path("/sys/block/zram0")
    if (sysfs / "disksize").read_text().strip() != "0":
        raise SystemExit("zram0 is in use")
    (sysfs / "disksize").write_text(str(size))
    try:
        yield ["ioengine=psync", "direct=1", "refill_buffers=1", "filename=/dev/zram0"], lambda _: [], 500
    finally:
        (sysfs / "reset").write_text("1")


def queue(cells: list[Cell]) -> contextlib.AbstractContextManager:
    return nbd(cells, "--threads=4", "--filter=rate", "--filter=delay", "rdelay=2ms", "wdelay=2ms", "rate=300M")


def spindle(cells: list[Cell]) -> contextlib.AbstractContextManager:
    return nbd(cells, "--filter=noparallel", "--filter=delay", "--filter=rate", "rdelay=8ms", "wdelay=6ms", "rate=800M")


def connections(cells: list[Cell]) -> contextlib.AbstractContextManager:
    return nbd(
        cells, "--threads=8", "--filter=delay", "--filter=rate", "rdelay=1ms", "wdelay=3ms", "connection-rate=250M"
    )


@contextlib.contextmanager
def throttled(cells: list[Cell]) -> Iterator[tuple[list[str], object, int]]:
    with scratch("/dev/shm") as folder:
        socket, image, size = folder / "t.sock", folder / "image", max(int(c["size"]) for c in cells)
        image.touch()
        os.truncate(image, size)
        command = ["qemu-storage-daemon", "--object", "throttle-group,id=limits,x-iops-total=2500,x-bps-total=60000000"]
        command += ["--blockdev", f"driver=file,node-name=image,filename={image}"]
        command += ["--blockdev", "driver=throttle,node-name=disk,throttle-group=limits,file=image"]
        command += ["--nbd-server", f"addr.type=unix,addr.path={socket},max-connections=64"]
        with process([*command, "--export", "type=nbd,id=export,node-name=disk,name=disk,writable=on"]):
            wait_for(socket)
            uri = f"uri=nbd+unix:///disk?socket={socket}"
            fill([], uri, size)
            yield ["ioengine=nbd", uri], lambda _: [], 600


DRIVE_LIMITS = {
    "read_bps_device": 200_000_000,
    "write_bps_device": 80_000_000,
    "read_iops_device": 20_000,
    "write_iops_device": 4_000,
}


@contextlib.contextmanager
def drive(cells: list[Cell]) -> Iterator[tuple[list[str], object, int]]:
    with scratch("/dev/shm") as folder:
        lay_out(folder, {max(int(c["size"]) for c in cells)})
        (image,) = folder.iterdir()
        found = subprocess.run(["losetup", "--show", "-f", str(image)], check=True, capture_output=True, text=True)
        device = found.stdout.strip()
        number = os.stat(device).st_rdev

        def limit(limits: dict[str, int]) -> None:
            for name, value in limits.items():
                Path("/sys/fs/cgroup/blkio", f"blkio.throttle.{name}").write_text(
                    f"{os.major(number)}:{os.minor(number)} {value}"
                )

        try:
            limit(DRIVE_LIMITS)
            yield ["ioengine=libaio", "direct=1", f"filename={device}"], lambda _: [], 600
        finally:
            limit(dict.fromkeys(DRIVE_LIMITS, 0))
            subprocess.run(["losetup", "-d", device], check=False)


TARGETS = {
    "local": (
        local,
        grid(
            ["read", "write", "randread", "randwrite"],
            [4, 8, 16, 32, 64, 128, 256, 512, 1024],
            [16, 64, 256, 1024],
            [1, 2, 4, 8, 16],
            [1],
        ),
    ),
    "link": (
        link,
        grid(["read", "randread", "randwrite"], [4, 8, 16, 32, 64, 128, 256], [16, 256], [1, 2], [1, 2, 4, 8, 16, 32]),
    ),
    "cache": (
        cache,
        grid(["read", "write", "randread", "randwrite"], [4, 16, 64, 256], [16, 32, 64, 128, 256, 512], [1, 4], [1, 4]),
    ),
    "buffered": (
        buffered,
        grid(["read", "randread"], [4, 8, 16, 32, 64, 128, 256], [16, 32, 64, 128, 256, 512, 1024], [1, 2, 4, 8], [1]),
    ),
    "mixed": (
        local,
        grid(
            ["randrw"],
            [4, 16, 64, 256],
            [512],
            [1, 4],
            [1, 4, 16],
            rwmixread=[0, 25, 50, 75, 100],
            ioengine=["libaio", "io_uring"],
        ),
    ),
    "packed": (
        packed,
        grid(
            ["write", "randwrite"],
            [4, 8, 16, 32, 64, 128],
            [256],
            [1, 2, 4, 8],
            [1],
            buffer_compress_percentage=[0, 25, 50, 75, 90],
        ),
    ),
    "queue": (
        queue,
        grid(
            ["randread", "randwrite", "randrw"], [4, 16, 64, 128, 256, 512], [256], [1, 2, 4], [1, 2, 4, 8, 16, 32, 64]
        ),
    ),
    "warm_cache": (
        warm_cache,
        grid(
            ["read", "randread", "randwrite"], [4, 8, 16, 32, 64, 128, 256], [16, 32, 64, 128, 256, 512], [1, 4], [1, 4]
        ),
    ),
    "wide_cache": (
        warm_cache,
        grid(
            ["read", "randread", "randwrite"],
            [4, 8, 16, 32, 64, 128, 256, 512],
            [16, 24, 32, 48, 64, 96, 128, 192, 256, 512],
            [1, 2, 4, 8],
            [1, 4],
        ),
    ),
    "nas_cache": (
        nas_cache,
        grid(
            ["randread", "randwrite"],
            [4, 8, 16, 32, 64, 128, 256],
            [16, 32, 64, 96, 128, 192, 256, 512],
            [1, 2, 4],
            [1, 4],
        ),
    ),
    "wide_nas": (
        nas_cache,  # at most 16 MiB in flight: more would not drain before the next section begins
        grid(
            ["randread", "randwrite"],
            [4, 8, 16, 32, 64, 128, 256, 512],
            [16, 24, 32, 48, 64, 96, 128, 192, 256, 512],
            [1, 2, 4, 8],
            [1, 2, 4],
        ),
    ),
    "spindle": (
        spindle,
        grid(["read", "randread", "randwrite"], [4, 8, 16, 32, 64, 128, 256, 512], [256], [1, 2, 4], [1, 2, 4]),
    ),
    "throttled": (
        throttled,
        grid(["read", "write", "randread", "randwrite"], [4, 8, 16, 32, 64, 128, 256], [64, 256], [1, 2, 4, 8], [1, 4]),
    ),
    "connections": (
        connections,
        grid(["randread", "randwrite"], [4, 8, 16, 32, 64, 128, 256], [256], [1, 2, 4, 8], [1, 2, 4, 8]),
    ),
    "drive": (
        drive,
        grid(["read", "randread", "write", "randwrite"], [4, 8, 16, 32, 64, 128, 256], [256], [1, 2, 4], [1, 2, 4, 8]),
    ),
}
WARMED_BYTES_PER_S = dict.fromkeys(("warm_cache", "wide_cache", "nas_cache", "wide_nas"), 50e6)
"""How fast the cache of a target that is read warm fills, at least."""
WARMED_MIB = 160
BEHIND_THE_LINK = ["nsenter", "--net=/run/netns/arecc"]
PREFIX = dict.fromkeys(("link", "nas_cache", "wide_nas"), BEHIND_THE_LINK)


def percentile(section: dict, direction: str) -> float | str:
    found = section[direction]["lat_ns"].get("percentile", {})
    return found.get("99.000000", "")


def batches_of(cells: list[Cell], *, of_one_size: bool) -> list[list[Cell]]:
    """Cells in random order, 24 to a batch."""
    order = random.sample(cells, len(cells))
    groups: dict[object, list[Cell]] = {}
    for cell in order:
        groups.setdefault(cell["size"] if of_one_size else None, []).append(cell)
    made = [group[at : at + 24] for group in groups.values() for at in range(0, len(group), 24)]
    return random.sample(made, len(made)) if of_one_size else made


def run_batch(
    prefix: list[str],
    common: list[str],
    extra: object,
    period_ms: int,
    cells: list[Cell],
    folder: Path,
    warmed_bytes_per_s: float,
) -> list[list]:
    lines = [
        "[global]",
        "thread=1",
        "time_based=1",
        f"runtime={RUNTIME_MS}ms",
        "clocksource=clock_gettime",
        "group_reporting=1",
        "randrepeat=0",
    ]
    lines += ["norandommap=1", "lat_percentiles=1", "clat_percentiles=0", *common]
    first_ms = 0
    if warmed_bytes_per_s:
        size = int(cells[0]["size"])
        part = min(size, WARMED_MIB * MIB)
        first_ms = 100 * math.ceil(10 * part / warmed_bytes_per_s) + 200
        lines += [
            "[warm]",
            "rw=read",
            "bs=1m",
            "iodepth=8",
            "time_based=0",
            f"runtime={first_ms - 100}ms",
            f"offset={size - part}",
            f"size={part}",
            *extra(cells[0]),
        ]
    for place, cell in enumerate([cells[0], *cells]):  # the first section is thrown away: it starts late
        lines += [
            f"[s{place}]",
            "new_group=1",
            f"startdelay={first_ms + place * period_ms}ms",
            *(f"{name}={value}" for name, value in cell.items()),
        ]
        lines += [f"randseed={random.randrange(1 << 30)}", *extra(cell)]
    job, out = folder / "job.fio", folder / "out.json"
    job.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [*prefix, "fio", "--output-format=json", f"--output={out}", str(job)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"fio failed: {done.stderr[-800:]}")
    text = out.read_text()
    sections = {s["jobname"]: s for s in json.loads(text[text.index("{") :])["jobs"]}
    rows = []
    for place, cell in enumerate(cells, 1):
        section = sections[f"s{place}"]
        parts = [section[direction] for direction in ("read", "write") if section[direction]["total_ios"]]
        if section["error"] or not parts or max(part["runtime"] for part in parts) < RUNTIME_MS * 0.9:
            continue
        seconds, ios = max(part["runtime"] for part in parts) / 1000, sum(part["total_ios"] for part in parts)
        rows.append(
            [
                *cell.values(),
                round(sum(part["io_bytes"] for part in parts) / seconds),
                round(ios / seconds, 2),
                round(sum(part["lat_ns"]["mean"] * part["total_ios"] for part in parts) / ios),
                percentile(section, "read" if section["read"]["total_ios"] else "write") if len(parts) == 1 else "",
            ]
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--lock", default=os.devnull, help="a file to lock while a group of batches runs")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    opener, cells = TARGETS[arguments.target]
    rows: list[list] = []
    with scratch() as folder, opener(cells) as (common, extra, period_ms), open(arguments.lock, "w") as lock:
        for number in range(1, arguments.passes + 1):
            warmed = WARMED_BYTES_PER_S.get(arguments.target, 0.0)
            batches = batches_of(cells, of_one_size=warmed > 0)
            for group in range(0, len(batches), 4):
                fcntl.flock(lock, fcntl.LOCK_EX)
                for batch in batches[group : group + 4]:
                    got = run_batch(PREFIX.get(arguments.target, []), common, extra, period_ms, batch, folder, warmed)
                    rows += [[number, *row] for row in got]
                fcntl.flock(lock, fcntl.LOCK_UN)
                time.sleep(0.2)
                print(
                    f"{time.strftime('%T')} pass {number}: {min((group + 4) * 24, len(cells))}/{len(cells)} cells,"
                    f" {len(rows)} rows",
                    file=sys.stderr,
                    flush=True,
                )
    # Order of measuring is kept: a reader can see drift. gzip without a time stamp: the same bytes for the same rows.
    out = HERE / "data" / f"{arguments.target}.csv.gz"
    with open(out, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed:
        names = [{"bs": "bs_bytes", "size": "size_bytes"}.get(name, name) for name in cells[0]]
        text = [",".join(["pass", *names, *QUANTITIES])] + [",".join(map(str, row)) for row in rows]
        packed.write(("\n".join(text) + "\n").encode())
    rates = [row[-4] for row in rows]
    print(f"{out}: {len(rows)} rows, {math.log10(max(rates) / min(rates)):.1f} decades", file=sys.stderr)


if __name__ == "__main__":
    main()
