# SPDX-License-Identifier: Apache-2.0
"""Distance from the true optimum and seconds taken, on targets whose optimum is known by arithmetic.

The target is an NBD server in memory that serves `threads` requests of a connection at once and takes `delay` for each:
with one connection at most threads / delay IOPS, at a mean latency of max(delay, outstanding x delay / threads). Under
a p99 limit above the delay all of that can be had.

Compared, each with the same fio, limit, block size and bounds (one connection, iodepth up to 100):
  ioatlas         `ioatlas tune`, the search, the fresh visits and the curve counted binary search   of iodepth 1 to
  100, then halving numjobs while none meets the limit: the method that PerfKitBenchmarker documents for its
                  latency-limited fio benchmark, written anew here with trials of `--trial` seconds
  latency_target  fio's own: one job that changes its depth until latency_percentile of the I/Os stay within
  latency_target
The score of each is what its setting really gives: measured afterwards, the same way for all, in three runs of 3 s.

    python bench/tune/run.py [--rounds 1] [--trial 3]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

MAX_DEPTH = 100
SETUPS = ((16, 20, 200), (12, 20, 60), (24, 40, 60))
"""Threads of a connection, delay in ms, limit of the 99th percentile in ms."""


@dataclass
class Found:
    numjobs: int
    iodepth: int
    seconds: float


@dataclass
class Server:
    threads: int
    delay_ms: int
    directory: Path

    def __enter__(self) -> str:
        path = self.directory / "s"
        path.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [
                "nbdkit",
                "--foreground",
                "--unix",
                str(path),
                "-t",
                str(self.threads),
                "--filter=delay",
                "memory",
                "64M",
                f"rdelay={self.delay_ms}ms",
            ],
            stderr=subprocess.DEVNULL,
        )
        while not path.exists():
            time.sleep(0.02)
        return f"nbd+unix:///?socket={path}"

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


def fio(directory: Path, uri: str, jobs: int, depth: int, seconds: float, more: str = "") -> dict[str, float]:
    """IOPS and p99 (ns) of one run; `depth` as fio ended it, where it changes it."""
    job = f"""[global]
thread=1
group_reporting=1
clocksource=clock_gettime
lat_percentiles=1
[load]
ioengine=nbd
uri={uri}
rw=randread
bs=4096
size=67108864
norandommap=1
numjobs={jobs}
iodepth={depth}
time_based=1
runtime={round(seconds * 1000)}ms
{more}
"""
    (directory / "job.fio").write_text(job)
    text = subprocess.run(
        ["fio", "--output-format=json", "job.fio"], cwd=directory, capture_output=True, text=True, check=True
    ).stdout
    entry = json.loads(text[text.index("{") :])["jobs"][0]
    read = entry["read"]
    return {
        "iops": read["iops"],
        "p99": read["lat_ns"]["percentile"]["99.000000"],
        "depth": entry.get("latency_depth", depth),
    }


def ours(directory: Path, uri: str, limit_ms: int, _trial: float) -> Found | None:
    begin = time.monotonic()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "ioatlas",
            "tune",
            uri,
            "--rw",
            "randread",
            "--bs",
            "4k",
            "--p99",
            f"{limit_ms}ms",
            "--max-jobs",
            "1",
            "--max-depth",
            str(MAX_DEPTH),
            "--read-only",
            "--json",
            "-o",
            str(directory / f"c{time.time_ns()}"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - begin
    best = json.loads(done.stdout)["best"]
    return Found(best["numjobs"], best["iodepth"], seconds) if best else None


def binary_search(directory: Path, uri: str, limit_ms: int, trial: float) -> Found | None:
    """Largest depth that meets the limit, by bisection; jobs are halved while none does."""
    begin = time.monotonic()
    jobs = 1
    while jobs:
        low, high, best = 1, MAX_DEPTH, 0
        while low <= high:
            depth = (low + high) // 2
            if fio(directory, uri, jobs, depth, trial)["p99"] <= limit_ms * 1e6:
                low, best = depth + 1, depth
            else:
                high = depth - 1
        if best:
            return Found(jobs, best, time.monotonic() - begin)
        jobs //= 2
    return None


def latency_target(directory: Path, uri: str, limit_ms: int, trial: float) -> Found | None:
    """The search inside fio: windows as long as the others' trials, ended by itself when it has settled."""
    begin = time.monotonic()
    options = f"latency_target={limit_ms}ms\nlatency_window={round(trial * 1000)}ms\nlatency_percentile=99\n"
    try:
        figures = fio(directory, uri, 1, MAX_DEPTH, 20 * trial, options)
    except subprocess.CalledProcessError:  # it ends with an error when it finds no depth
        return None
    return Found(1, int(figures["depth"]), time.monotonic() - begin)


METHODS = {"ioatlas tune": ours, "binary search": binary_search, "fio latency_target": latency_target}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--trial", type=float, default=3.0)
    asked = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="iob", dir="/tmp") as name:
        directory = Path(name)
        for threads, delay_ms, limit_ms in SETUPS:
            optimum = threads / delay_ms * 1000
            with Server(threads, delay_ms, directory) as uri:
                for method, search in METHODS.items():
                    for _ in range(asked.rounds):
                        found = search(directory, uri, limit_ms, asked.trial)
                        if found is None:
                            rows.append((threads, delay_ms, limit_ms, method, "none", 0.0, float("nan"), float("nan")))
                            print(rows[-1], file=sys.stderr)
                            continue
                        runs = [fio(directory, uri, found.numjobs, found.iodepth, 3.0) for _ in range(3)]
                        iops = statistics.median(run["iops"] for run in runs)
                        p99_ms = statistics.median(run["p99"] for run in runs) / 1e6
                        rows.append(
                            (
                                threads,
                                delay_ms,
                                limit_ms,
                                method,
                                f"{found.numjobs} x {found.iodepth}",
                                found.seconds,
                                iops / optimum,
                                p99_ms,
                            )
                        )
                        print(rows[-1], file=sys.stderr)
            shutil.rmtree(directory / "scratch", ignore_errors=True)
    print(
        "| threads, delay, p99 limit | method | setting found | seconds | IOPS, share of the optimum | p99, ms | "
        "limit met |"
    )
    print("|---|---|---|---|---|---|---|")
    for threads, delay_ms, limit_ms, method, setting, seconds, share, p99_ms in rows:
        if setting == "none":
            print(f"| {threads}, {delay_ms} ms, {limit_ms} ms | {method} | none | | | | |")
            continue
        met = "yes" if p99_ms <= limit_ms else "no"
        print(
            f"| {threads}, {delay_ms} ms, {limit_ms} ms | {method} | {setting} | {seconds:.0f} | {share:.1%} | "
            f"{p99_ms:.0f} | {met} |"
        )


if __name__ == "__main__":
    main()
