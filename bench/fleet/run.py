# SPDX-License-Identifier: Apache-2.0
"""Fleets of 1, 2, 4 and 10 clients in namespaces on one link: our sum, that of fio's client mode used by hand, and the
truth of the link; start skew, and what a load costs besides its time. Needs root, nbdkit and iproute2.

One command: python bench/fleet/run.py
"""

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.real.fleet_net import fleet_net

from ioatlas.load.fio.batch import Batch, Section
from ioatlas.load.fio.collect import fio_process
from ioatlas.load.fio.executor import SystemExecutor
from ioatlas.load.fio.loose_json import documents
from ioatlas.load.fleet.executor import FleetExecutor
from ioatlas.load.fleet.hosts import read_clients
from ioatlas.load.fleet.merge import read_batch_of
from ioatlas.model.cell import Cell
from ioatlas.model.visit import Purpose

SECONDS, ROUNDS, FLEETS, RATE = 3, 5, (1, 2, 4, 10), 10**9
LOAD = {"rw": "randread", "bs": 65536, "iodepth": 4, "size": 32 << 20}
JOB = "\n".join(
    ("[global]", "ioengine=nbd", "uri={uri}", "thread=1", "direct=1", "time_based=1", f"runtime={SECONDS}", "[load]",
     *(f"{name}={value}" for name, value in LOAD.items()), "norandommap=1", "randrepeat=0", "")
)  # fmt: skip


def ours(executor, net, place, number):
    """(bytes a second, start skew in ms, seconds besides the load) of one load."""
    count = len(net.names)
    cell = Cell.of("nbd", {**LOAD, "ioengine": "nbd", "clients": count, "norandommap": 1})
    section = Section(1, cell, 7 + number, 1000 * SECONDS, 250, (("uri", net.uri),))
    place.mkdir()
    begin = time.monotonic()
    batch = fio_process(Batch(1, place, (section,), readonly=True), {"nbd": 0})
    executor.run(batch)
    took = time.monotonic() - begin
    (result,) = read_batch_of(place, (section,), 1, {}, {1: Purpose.SWEEP})
    (part,) = result.visit.parts
    return part.io_bytes * 1000 / part.runtime_ms, result.visit.skew_ms, took - SECONDS


@contextlib.contextmanager
def servers(net, place):
    """Fio's own servers, started by hand. Each in a session of its own, as ours are and as `fio --daemonize` does: the
    kernel shares processors among sessions, and within this one they ran 7% faster on a busy machine.
    """
    running = []
    try:
        for name in net.names:
            enter = ["nsenter", f"--net=/run/netns/{name}", "--", "unshare", "--pid", "--fork", "--kill-child"]
            running.append(subprocess.Popen([*enter, "fio", f"--server=sock:{place}/{name}"], cwd=place,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                            start_new_session=True))  # fmt: skip
        while not all((place / name).exists() for name in net.names):
            time.sleep(0.05)
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def by_hand(net, place):
    """(sum of the clients' own rates, seconds besides the load) of fio's client mode."""
    (place / "job.fio").write_text(JOB.format(uri=net.uri))
    words = ["fio", "--output-format=json", "--output=out.json", "--eta=never"]
    for name in net.names:
        words += [f"--client=sock:{name}", "job.fio"]
    begin = time.monotonic()
    subprocess.run(words, cwd=place, check=True, capture_output=True)
    took = time.monotonic() - begin
    total = 0.0
    for document in documents((place / "out.json").read_text(), []):
        for one in document.value.get("client_stats", []) if isinstance(document.value, dict) else []:
            if one.get("jobname") != "All clients":
                total += one["read"]["io_bytes"] * 1000 / one["read"]["runtime"]
    return total, took - SECONDS


def typical(values, unit=1.0):
    spread = statistics.stdev(values) / unit if len(values) > 1 else 0.0
    return f"{statistics.mean(values) / unit:.2f} ± {spread:.2f}"


def main():
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; {ROUNDS} loads each, in turns, of {SECONDS} s")
    print(
        "| clients | link, MB/s | ours, MB/s | by hand, MB/s | start skew, ms | ours besides, s | by hand besides, s |"
    )
    print("|---|---|---|---|---|---|---|")
    for count in FLEETS:
        top = Path(tempfile.mkdtemp(prefix="ioatlas-bench-fleet-"))
        with fleet_net(count, top, rate_bits_per_s=RATE) as net, servers(net, top):
            executor = FleetExecutor(read_clients(net.clients), SystemExecutor())
            executor.open()
            mine, theirs = [], []
            try:
                for number in range(ROUNDS):
                    mine.append(ours(executor, net, top / str(number), number))
                    theirs.append(by_hand(net, top))
            finally:
                executor.close()
        shutil.rmtree(top)
        sums, skews, besides = zip(*mine, strict=True)
        print(
            f"| {count} | {net.truth / 1e6:.2f} | {typical(sums, 1e6)} | {typical([one for one, _ in theirs], 1e6)} "
            f"| {statistics.median(skews):.0f}, at most {max(skews):.0f} | {typical(besides)} "
            f"| {typical([one for _, one in theirs])} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
