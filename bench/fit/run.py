# SPDX-License-Identifier: Apache-2.0
"""How often `ioatlas fit` is right, on both sides of a limit, and how long it takes.

boundary:  the answers on windows of drawn targets on both sides of a limit and at it, whose levels move and follow
           their last: how many are right, undecided, wrong, and how many targets get both answers in all their runs.
real:      NBD servers whose truth is set: flushes of a known p99 (`slow.py`), reads at a known rate (nbdkit's rate
           filter) and of a known mean, each `--reruns` times.
etcd:      beside ours the fio job that etcd's documents name.

    python bench/fit/run.py boundary [--targets 20] [--reruns 100] [--sides 0.8,0.9,1.1,1.2]
    python bench/fit/run.py real [--reruns 5]
    python bench/fit/run.py etcd [--directory DIR]
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
LIMIT = 10.0
BYTES = 64 << 20
RATE, ASKED = 20e6, 80.0
BUDGET_SECONDS = 180.0
KINDS = {
    # seconds of a window, and how far the truth lies on each side of a limit of 1 (a share of misses: of 1%)
    "p99 of flushes 8 and 12 ms, limit 10 ms": (1.0, (0.8, 1.2)),
    "1.1 and 0.9 of the needed rate": (2.0, (1.1, 0.9)),
    "1.1 and 0.9 of the rate asked for": (3.0, (1.1, 0.9)),
    "0.5% and 2% of deadlines missed, 1% may be": (3.0, (0.5, 2.0)),
}


def _levels(random: np.random.Generator, count: int, moves: float, follow: float) -> np.ndarray:
    """Of windows that lie around 1 and follow the last; their mean over all time is 1."""
    level = random.standard_normal(count)
    for at in range(1, count):
        level[at] = follow * level[at - 1] + math.sqrt(1 - follow**2) * level[at]
    return np.exp(moves * level - moves**2 / 2)


def _windows(kind: str, truth: float, nature: np.random.Generator, noise: np.random.Generator):
    """A requirement, and the windows of a target that is drawn by `nature`, as `noise` has them this time."""
    from ioatlas.measure.procedures.fit.use import Quantity, Requirement
    from ioatlas.model.visit import Flush, Histogram, Part, Series, Visit

    seconds = KINDS[kind][0]
    count = int(BUDGET_SECONDS / seconds)
    spread, moves, follow = nature.uniform(0.2, 0.6), nature.uniform(0.01, 0.15), nature.uniform(0, 0.6)
    ios = int(math.exp(nature.uniform(math.log(100), math.log(1500))))
    levels = _levels(noise, count, moves, follow)

    def visits(parts):
        return (Visit(number, "c", 1, 0, number, 1, 0.0, (part,)) for number, part in enumerate(parts))

    if "rate" in kind:
        quantity = Quantity.KEPT if "asked" in kind else Quantity.RATE
        limit = 0.95 if quantity is Quantity.KEPT else RATE
        # At the limit itself a share is what windows keep that all miss some.
        shares = (
            np.minimum(truth, truth * levels if truth != 1 else 1.0) if quantity is Quantity.KEPT else truth * levels
        )
        if quantity is Quantity.KEPT and truth == 1:
            shares = np.maximum(0.0, 1 - 0.05 * _levels(noise, count, 6 * moves, follow))
        done = shares * seconds * (ASKED if quantity is Quantity.KEPT else RATE / (256 << 10))
        parts = [
            Part("read", round(n * (256 << 10)), round(n), 1000 * seconds, None, Histogram(), Series(0)) for n in done
        ]
        if quantity is Quantity.KEPT:  # whole I/Os of so few would be a grain of their own
            parts = [replace(part, total_ios=n) for part, n in zip(parts, done, strict=True)]
        return Requirement("l", quantity, limit, asked=ASKED), visits(parts)
    flushes = "flush" in kind
    beyond = 2.3263 if flushes else {0.5: 2.5758, 2.0: 2.0537}.get(truth, 2.3263)
    level = LIMIT * (truth if flushes else 1.0) / math.exp(beyond * math.hypot(spread, moves))

    def window(one: float) -> Part:
        each = 1e6 * one * np.exp(spread * noise.standard_normal(ios))
        # In bins of a 64th of a doubling, as fio has them.
        bins, counts = np.unique(np.rint(64 * np.log2(each)), return_counts=True)
        histogram = Histogram(tuple(zip(np.exp2(bins / 64).astype(int).tolist(), counts.tolist(), strict=True)))
        if not flushes:
            return Part("read", 4096 * ios, ios, 1000 * seconds, None, histogram, Series(0))
        flush = Flush(ios, float(each.mean()), histogram, 0.0, Histogram())
        return Part("write", 4096 * ios, ios, 1000 * seconds, None, Histogram(), Series(0), flush=flush)

    ms = level * levels * math.exp(moves**2 / 2)
    return Requirement("l", Quantity.FLUSH if flushes else Quantity.READ, LIMIT * 1e6, 99.0), visits(map(window, ms))


def _answer(requirement, windows, most: int) -> tuple[str, int]:
    """As the steps of a fit ask for windows: the fewest that tell anything, then one more for three."""
    from ioatlas.measure.procedures.fit.procedure import GROWTH
    from ioatlas.measure.procedures.fit.verdict import judge
    from ioatlas.stats.windows import FEWEST

    made, wanted = [], FEWEST
    while True:
        made += itertools.islice(windows, wanted)
        judged = judge(requirement, made, "")
        if not judged.more or len(made) == most:
            return judged.answer.value, len(made)
        wanted = min(most - len(made), max(1, min(judged.more, len(made) // GROWTH)))


def boundary(targets: int, reruns: int, asked: list[float]) -> None:
    print("| limit | truth | targets x runs | right | undecided | wrong | flips | seconds, median (90%) |")
    print("|---|---|---|---|---|---|---|---|")
    for kind, (seconds, sides) in KINDS.items():
        for truth in asked or (*sides, 1.0):
            right = "undecided" if truth == 1 else "pass" if (truth > 1) == (sides[0] > 1) else "fail"
            count: Counter[str] = Counter()
            taken, flips = [], 0
            for target in range(targets):
                answers = set()
                for run in range(reruns):
                    natured = np.random.default_rng((target, round(100 * truth), len(kind)))
                    noise = np.random.default_rng((target, round(100 * truth), len(kind), run))
                    answer, windows = _answer(*_windows(kind, truth, natured, noise), int(BUDGET_SECONDS / seconds))
                    answers.add(answer)
                    count[answer] += 1
                    taken.append(windows * seconds)
                flips += {"pass", "fail"} <= answers
            open_, all_ = count["undecided"], targets * reruns
            told = "at it" if truth == 1 else f"{right}, {truth:g}"
            wrong = all_ - open_ - (count[right] if truth != 1 else 0)
            tail = f"{statistics.median(taken):.0f} ({np.percentile(taken, 90):.0f})"
            good = f"{100 * (count[right] if truth != 1 else 0) / all_:.1f}%"
            shares = f"{good} | {100 * open_ / all_:.1f}% | {100 * wrong / all_:.2f}% | {flips}"
            print(f"| {kind} | {told} | {targets} x {reruns} | {shares} | {tail} |", flush=True)


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
    parser.add_argument("part", choices=["boundary", "real", "etcd"])
    parser.add_argument("--targets", type=int, default=20)
    parser.add_argument("--reruns", type=int, default=100)
    parser.add_argument("--sides", type=lambda text: [float(one) for one in text.split(",")], default=[])
    parser.add_argument("--directory", type=Path)
    asked = parser.parse_args()
    if asked.part == "boundary":
        boundary(asked.targets, asked.reruns, asked.sides)
    elif asked.part == "real":
        real(asked.reruns)
    else:
        etcd(asked.directory)


if __name__ == "__main__":
    main()
