# SPDX-License-Identifier: Apache-2.0
"""Batched visits against single fio runs by hand: `python bench/batched/run.py [--rounds 8]` (root for the link).

For each target the same cells are measured in a batch of ours and, alternating with it, by a fio of its own started by
hand with the job
text a report offers. Printed: ratio batched / single of throughput with a 95% interval over rounds.

  limited   NBD, 100 MiB/s (QEMU's throttle: its bucket holds a tenth of a second, so windows are 15 s: a full bucket is
  0.7% of one) spindle   NBD, one request at a time, 8 ms each: 125 IOPS, 32 jobs link      NBD over two network
  namespaces, 100 Mbit/s token bucket, 32 jobs file      a file on this machine's disk (noisy; the interval is the
  result)
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ioatlas.load.fio.batch import GLOBAL, Batch, Section, job_text, section_options
from ioatlas.load.fio.collect import OUTPUT, read_batch
from ioatlas.load.fio.jobfile import JobSection, render_job
from ioatlas.load.fio.process import NOBODY, find_fio, run_process
from ioatlas.model.cell import Cell
from ioatlas.plan.pace import Pace

MIB = 1 << 20
NETWORK = ("atlas-bs", "atlas-bc")


def cell(**options):
    return Cell.of("t", {"iodepth": 1, "direct": 1, "norandommap": 1, "refill_buffers": 1, **options})


def wait_for(path):
    deadline = time.monotonic() + 10
    while not path.exists():
        if time.monotonic() > deadline:
            sys.exit(f"{path} did not appear")
        time.sleep(0.05)


def limited(place):
    socket = place / "q.sock"
    command = [
        "qemu-storage-daemon",
        "--object",
        f"throttle-group,id=t,x-bps-total={100 * MIB}",
        "--blockdev",
        f"driver=file,node-name=n,filename={place / 'disk.img'}",
        "--blockdev",
        "driver=throttle,node-name=d,throttle-group=t,file=n",
        "--nbd-server",
        f"addr.type=unix,addr.path={socket},max-connections=64",
        "--export",
        "type=nbd,id=e,node-name=d,name=d,writable=on",
    ]
    (place / "disk.img").write_bytes(os.urandom(64 * MIB))
    process = subprocess.Popen(command)
    wait_for(socket)
    return (
        process,
        f"nbd+unix:///d?socket={socket}",
        [cell(rw="read", bs=65536, size=64 * MIB, numjobs=4, ioengine="nbd")],
    )


def spindle(place):
    socket = place / "s.sock"
    process = subprocess.Popen(
        [
            "nbdkit",
            "-f",
            "-U",
            str(socket),
            "-t",
            "1",
            "--filter=noparallel",
            "--filter=delay",
            "memory",
            "64M",
            "rdelay=8ms",
            "wdelay=8ms",
            "serialize=all-requests",
        ]
    )
    wait_for(socket)
    return (
        process,
        f"nbd+unix:///?socket={socket}",
        [cell(rw="randread", bs=4096, size=64 * MIB, numjobs=32, ioengine="nbd")],
    )


def link(place):
    server, client = NETWORK
    for line in (
        f"ip netns add {server}",
        f"ip netns add {client}",
        (f"ip link add abs netns {server} type veth peer name abc netns {client}"),
        f"ip -n {server} addr add 10.99.7.1/24 dev abs",
        f"ip -n {client} addr add 10.99.7.2/24 dev abc",
        f"ip -n {server} link set lo up",
        f"ip -n {server} link set abs up",
        f"ip -n {client} link set abc up",
        f"tc -n {server} qdisc add dev abs root tbf rate 100mbit burst 32k latency 50ms",
    ):
        subprocess.run(line.split(), check=True)
    process = subprocess.Popen(
        ["ip", "netns", "exec", server, "nbdkit", "-f", "-i", "10.99.7.1", "-P", str(place / "l.pid"), "memory", "64M"]
    )
    wait_for(place / "l.pid")
    return process, "nbd://10.99.7.1", [cell(rw="read", bs=65536, size=64 * MIB, numjobs=32, ioengine="nbd")]


def file(place):
    path = place / "data"
    subprocess.run(
        [
            "fio",
            "--name=l",
            f"--filename={path}",
            "--rw=write",
            "--bs=1m",
            "--size=256m",
            "--end_fsync=1",
            "--output=/dev/null",
        ],
        check=True,
    )
    return None, str(path), [cell(rw="randread", bs=4096, size=256 * MIB, numjobs=n, ioengine="psync") for n in (1, 8)]


def measure_batched(fio, sections, directory):
    batch = Batch(1, directory, sections)
    (directory / "job.fio").write_text(job_text(batch))
    run_process(
        [fio.path, "--output-format=json+", f"--output={OUTPUT}", "--eta=never", "job.fio"],
        NOBODY,
        directory=directory,
        sink="fio.err",
        limit_seconds=batch.seconds * 1.5 + 30,
    )
    results = read_batch(directory, sections, 1, {}, {})
    return {
        r.section.visit_id: rate(r.visit.parts[0].io_bytes, r.visit.parts[0].runtime_ms)
        for r in results
        if r.state == "finished"
    }


def measure_single(fio, section, directory):
    """The visit in a fio of its own, as a person would write it: no logs, no delay."""
    job = JobSection(section.name, section_options(section))
    bare = {name: value for name, value in GLOBAL.items() if "log" not in name}
    (directory / "hand.fio").write_text(render_job([job], bare))
    subprocess.run(
        [fio.path, "--output-format=json", "--output=hand.json", "--eta=never", "hand.fio"],
        cwd=directory,
        check=True,
        stderr=subprocess.DEVNULL,
    )
    text = (directory / "hand.json").read_text()
    figures = json.loads(text[text.index("{") :])["jobs"][0]["read"]  # the NBD engine writes a line before the brace
    return rate(figures["io_bytes"], figures["runtime"]), max(
        0, figures["runtime"] - section.runtime_ms
    ) * 1e6 / figures["lat_ns"]["mean"]


def rate(io_bytes, runtime_ms):
    return io_bytes / runtime_ms * 1000


def compare(name, fio, place, uri, cells, rounds, window_ms):
    pace = Pace(window_ms)
    place_options = (("uri", uri),) if "://" in uri else (("filename", uri),)
    for one in cells:
        probe = Section(0, one, 1, 1000, 10, place_options)
        got = measure_single(fio, probe, place)
        pace.learn(one, one.outstanding * one.bs_bytes / got[0], got[1])
    ratios = {one.key: [] for one in cells}
    levels = {one.key: [] for one in cells}
    overlapped = 0
    for round_number in range(rounds):
        sections = tuple(
            Section(i, one, 100 + round_number, *pace.runtime_and_gap_ms(one), place_options)
            for i, one in enumerate(cells * 2)
        )
        batched = measure_batched(fio, sections, place)
        overlapped += len(sections) - len(batched)
        for index, one in enumerate(cells):
            single, _ = measure_single(fio, sections[index], place)
            levels[one.key].append(single)
            values = [batched[i] for i in (index, index + len(cells)) if i in batched]
            ratios[one.key] += [math.log(value / single) for value in values]
    for one in cells:
        logs = ratios[one.key]
        if len(logs) < 2:
            print(f"{name:<9} {one.rw} x {one.outstanding}: every section over-ran; a campaign makes these alone")
            continue
        mean, spread = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
        runtime_ms, gap_ms = pace.runtime_and_gap_ms(one)
        print(
            f"{name:<9} {one.rw} {one.bs_bytes} B x {one.outstanding:<3} window {runtime_ms} ms, gap {gap_ms} ms: "
            f"single {statistics.fmean(levels[one.key]) / 1e6:9.3f} MB/s, "
            f"batched/single {100 * math.expm1(mean):+.2f}% (95%: {100 * math.expm1(mean - 2.2 * spread):+.2f} to "
            f"{100 * math.expm1(mean + 2.2 * spread):+.2f}%), "
            f"{len(logs)} pairs, {overlapped} sections set aside"
        )
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--targets", nargs="*", default=["limited", "spindle", "link", "file"])
    options = parser.parse_args()
    fio = find_fio()
    makers = {"limited": (limited, 15000), "spindle": (spindle, 500), "link": (link, 500), "file": (file, 500)}
    for name in options.targets:
        make, window_ms = makers[name]
        if name == "link" and os.geteuid():
            print("link      left out: it needs root")
            continue
        place = Path(tempfile.mkdtemp(dir="/var/tmp"))
        process = None
        try:
            process, uri, cells = make(place)
            if name == "link":
                fio_here = type(fio)(str(place / "fio"), fio.version)
                Path(fio_here.path).write_text(f'#!/bin/sh\nexec ip netns exec {NETWORK[1]} {fio.path} "$@"\n')
                Path(fio_here.path).chmod(0o755)
                compare(name, fio_here, place, uri, cells, options.rounds, window_ms)
            else:
                compare(name, fio, place, uri, cells, options.rounds, window_ms)
        finally:
            if process is not None:
                process.terminate()
                process.wait()
            if name == "link":
                for namespace in NETWORK:
                    subprocess.run(["ip", "netns", "del", namespace], check=False)
            shutil.rmtree(place)


if __name__ == "__main__":
    main()
