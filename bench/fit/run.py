# SPDX-License-Identifier: Apache-2.0
"""How often `ioatlas fit` is right, on both sides of a limit, and how long it takes.

simulated: the answers of the test itself, on windows of latencies whose level moves and follows its last.
real:      NBD servers whose truth is set: flushes of a known p99 (`slow.py`), reads at a known rate (nbdkit's rate
           filter) and of a known mean, each `--reruns` times.
etcd:      beside ours the fio job that etcd's documents name.

    python bench/fit/run.py simulated [--sequences 10000]
    python bench/fit/run.py real [--reruns 5]
    python bench/fit/run.py etcd [--directory DIR]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
LIMIT, SHARE = 10.0, 0.01
LOOKS = (8, 10, 13, 17, 22, 29, 38, 50, 66, 88, 117)
WINDOW_IOS = 200
SCENARIOS = (
    # p99 in ms, spread of I/Os, of windows, how much each window follows the last
    (8.0, 0.4, 0.05, 0.5),
    (9.0, 0.4, 0.05, 0.5),
    (10.0, 0.4, 0.05, 0.0),
    (10.0, 0.4, 0.1, 0.5),
    (10.0, 0.3, 0.3, 0.5),
    (10.0, 0.3, 0.3, 0.8),
    (11.0, 0.4, 0.05, 0.5),
    (12.0, 0.4, 0.05, 0.5),
    (2.0, 0.4, 0.3, 0.8),
    (40.0, 0.4, 0.3, 0.8),
)
BYTES = 64 << 20
RATE = 20e6


def _answer(latencies: np.ndarray) -> tuple[str, int]:
    from ioatlas.model.histogram import Histogram
    from ioatlas.model.visit import Flush, Part, Series, Visit
    from ioatlas.procedures.fit.use import Quantity, Requirement
    from ioatlas.procedures.fit.verdict import judge

    requirement = Requirement("log", Quantity.FLUSH, LIMIT * 1e6, 99.0)
    visits = []
    for number, window in enumerate(latencies):
        # In bins of a 64th of a doubling, as fio has them.
        bins, counts = np.unique(np.rint(64 * np.log2(window * 1e6)), return_counts=True)
        ns = np.exp2(bins / 64).astype(np.int64)
        histogram = Histogram(tuple(zip(ns.tolist(), counts.tolist(), strict=True)))
        flush = Flush(window.size, float(window.mean() * 1e6), histogram, 0.0, Histogram())
        part = Part("write", 4096 * window.size, window.size, 1000.0, None, Histogram(), Series(0), flush=flush)
        visits.append(Visit(number, "c", 1, 0, number, 1, 0.0, (part,)))
    for look in LOOKS:
        answer = judge(requirement, visits[:look], "").answer
        if answer != "undecided":
            return answer.value, look
    return "undecided", LOOKS[-1]


def simulated(sequences: int) -> None:
    print("| p99 (limit 10 ms) | spread of I/Os | of windows | follows | pass | fail | undecided | windows, median |")
    print("|---|---|---|---|---|---|---|---|")
    for p99, spread, moves, follow in SCENARIOS:
        random = np.random.default_rng(20261124)
        median = p99 / math.exp(2.3263 * math.hypot(spread, moves))
        answers: Counter[str] = Counter()
        taken = []
        for _ in range(sequences):
            level = random.standard_normal(LOOKS[-1])
            for at in range(1, level.size):
                level[at] = follow * level[at - 1] + math.sqrt(1 - follow**2) * level[at]
            noise = random.standard_normal((LOOKS[-1], WINDOW_IOS))
            answer, windows = _answer(median * np.exp(moves * level[:, None] + spread * noise))
            answers[answer] += 1
            taken.append(windows)
        told = " | ".join(f"{100 * answers[one] / sequences:.2f}%" for one in ("pass", "fail", "undecided"))
        print(f"| {p99:g} ms | {spread} | {moves} | {follow} | {told} | {statistics.median(taken):.0f} |", flush=True)


@contextlib.contextmanager
def server(*command: str):
    """An NBD server on a socket; its URI."""
    with tempfile.TemporaryDirectory(prefix="iof", dir="/tmp") as folder:
        socket = Path(folder) / "s"
        process = subprocess.Popen(["nbdkit", "--foreground", "--unix", str(socket), *command])
        try:
            while not socket.exists():
                time.sleep(0.05)
            yield f"nbd+unix:///?socket={socket}"
        finally:
            process.terminate()
            process.wait()


def slow(p99_ms: float, on: str, number: int, sigma: float = 0.4) -> tuple[str, ...]:
    return ("python", str(HERE / "slow.py"), f"p99_ms={p99_ms}", f"on={on}", f"sigma={sigma}", f"seed={number}")


def limited(share: float) -> tuple[str, ...]:
    return ("--filter=rate", "memory", str(BYTES), f"rate={round(share * RATE * 8)}", "burstiness=0.1")


def fit(uri: str, use: str) -> tuple[dict, float]:
    """The JSON of a run, and its seconds."""
    with tempfile.TemporaryDirectory(prefix="iof", dir="/tmp") as folder:
        begin = time.monotonic()
        writes = ["--overwrite", f"{uri} {BYTES}"] if uri.startswith("nbd") else []
        done = subprocess.run(
            [sys.executable, "-m", "ioatlas", "fit", uri, "--for", use, "-o", f"{folder}/c", "--json", "-q", *writes],
            capture_output=True,
            text=True,
            check=False,
        )
        if not done.stdout.startswith("{"):
            raise SystemExit(done.stderr)
        return json.loads(done.stdout), time.monotonic() - begin


def real(reruns: int) -> None:
    mean = 5.0 / math.exp(0.4**2 / 2) * math.exp(2.3263 * 0.4)  # the p99 of a law with a mean of 5 ms
    paced = 80 * (256 << 10) / RATE
    targets = {
        "flushes, p99 8 ms": ("pass", "etcd", lambda n: slow(8, "flush", n)),
        "flushes, p99 12 ms": ("fail", "etcd", lambda n: slow(12, "flush", n)),
        "flushes, p99 2 ms": ("pass", "etcd", lambda n: slow(2, "flush", n)),
        "flushes, p99 40 ms": ("fail", "etcd", lambda n: slow(40, "flush", n)),
        "1.1 of the needed rate": ("pass", f"{HERE}/free.toml", lambda _: limited(1.1)),
        "0.9 of the needed rate": ("fail", f"{HERE}/free.toml", lambda _: limited(0.9)),
        "1.1 of the rate asked for": ("pass", f"{HERE}/paced.toml", lambda _: limited(1.1 * paced)),
        "0.9 of the rate asked for": ("fail", f"{HERE}/paced.toml", lambda _: limited(0.9 * paced)),
        "mean 4 ms": ("pass", f"{HERE}/mean.toml", lambda n: slow(0.8 * mean, "read", n)),
        "mean 6 ms": ("fail", f"{HERE}/mean.toml", lambda n: slow(1.2 * mean, "read", n)),
    }
    found: dict[str, list[tuple[str, float, list[float]]]] = {name: [] for name in targets}
    for number in range(reruns):
        for name, (_, use, command) in targets.items():
            with tempfile.NamedTemporaryFile("r", prefix="iof") as served:
                how = command(number + 1)
                with server(*how, *([f"told={served.name}"] if "python" in how else [])) as uri:
                    told, seconds = fit(uri, use)
                really = [float(one) for one in served.read().split()]
            one = told["fits"][0]["requirements"][0]
            found[name].append((told["answer"], seconds, really))
            print(name, told["answer"], f"{seconds:.0f} s", one["value"], really, file=sys.stderr, flush=True)
    print("| target | true | served | runs | right | undecided | wrong | seconds, median (most) |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (truth, _, _) in targets.items():
        count = Counter(answer for answer, _, _ in found[name])
        seconds = [taken for _, taken, _ in found[name]]
        served = [really["mean" not in name] for _, _, really in found[name] if really]
        range_ms = f"{min(served):.1f} to {max(served):.1f} ms" if served else ""
        wrong = sum(count.values()) - count[truth] - count["undecided"]
        print(
            f"| {name} | {truth} | {range_ms} | {len(seconds)} | {count[truth]} | {count['undecided']} | {wrong} | "
            f"{statistics.median(seconds):.0f} ({max(seconds):.0f}) |"
        )


def documented(place: list[str]) -> float:
    """p99 of the flushes in ms, by the job of etcd's documents."""
    done = subprocess.run(
        ["fio", "--rw=write", "--size=22m", "--bs=2300", "--name=mytest", "--output-format=json", *place],
        capture_output=True,
        text=True,
        check=True,
    )
    job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    return job["sync"]["lat_ns"]["percentile"]["99.000000"] / 1e6


def etcd(directory: Path | None) -> None:
    print("| target | etcd's job, p99 | answer by it | ours, p99 (interval) | answer |")
    print("|---|---|---|---|---|")

    def row(name: str, theirs: float, told: dict) -> None:
        one = told["fits"][0]["requirements"][0]
        ours = f"{one['value'] / 1e6:.3g} ms ({one['low'] / 1e6:.3g} to {one['high'] / 1e6:.3g})"
        by_theirs = "pass" if theirs < LIMIT else "fail"
        print(f"| {name} | {theirs:.3g} ms | {by_theirs} | {ours} | {told['answer']} |", flush=True)

    for number in range(3 if directory else 0):
        place = directory / "documented"
        place.mkdir()
        theirs = documented(["--ioengine=sync", "--fdatasync=1", f"--directory={place}"])
        shutil.rmtree(place)
        row(f"a disk, run {number + 1}", theirs, fit(str(directory), "etcd")[0])
    for p99 in (1, 4, 8, 12, 20):
        with server(*slow(p99, "flush", 1)) as uri:
            # The engine for NBD flushes by fsync alone.
            theirs = documented(["--ioengine=nbd", f"--uri={uri}", "--fsync=1"])
            row(f"NBD, p99 {p99} ms", theirs, fit(uri, "etcd")[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["simulated", "real", "etcd"])
    parser.add_argument("--sequences", type=int, default=10_000)
    parser.add_argument("--reruns", type=int, default=5)
    parser.add_argument("--directory", type=Path)
    asked = parser.parse_args()
    if asked.part == "simulated":
        simulated(asked.sequences)
    elif asked.part == "real":
        real(asked.reruns)
    else:
        etcd(asked.directory)


if __name__ == "__main__":
    main()
