# SPDX-License-Identifier: Apache-2.0
"""pgbench timed by ioatlas against pgbench run by hand, on one PostgreSQL, in turns.

Is it the same figure, are two equal works told equal, and is a slower one found?

    PYTHONPATH=src python bench/apps/pgbench_by_hand.py [--seconds 5] [--rounds 10] > bench/apps/pgbench_by_hand.txt

A cluster is made in a folder of /var/tmp and removed. In each round three works are run by hand and by ioatlas, both in
another random order: pgbench, pgbench again, and a slower one, whose transactions sleep 3 ms.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from math import exp, log, sqrt
from pathlib import Path

from ioatlas.campaign import load_result
from ioatlas.procedures.application.ready import ready_works
from ioatlas.stats.intervals import t_quantile

WORK = ready_works()["pgbench-s10"].work
SCRIPT = "slower.sql"
SLEEP_MS = 3
Rounds = dict[str, dict[str, list[float]]]


def shell(command: str, folder: Path, run: Path) -> str:
    """One command of the ready-made work, as its driver runs it."""
    known = {**os.environ, "IOATLAS_RUN": str(run), "IOATLAS_SEED": "1"}
    done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=known, capture_output=True, text=True, check=True)
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=10)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place, tempfile.TemporaryDirectory() as run:
        folder = Path(place, "cluster")
        folder.mkdir()
        shell(WORK.bound("setup", str(folder)), folder, Path(run))
        try:
            found = rounds(asked, folder, Path(run), Path(place))
        finally:
            shell(WORK.bound("cleanup", str(folder)), folder, Path(run))
    print(f"pgbench, scale 10, 8 clients, {asked.seconds} s a run, {asked.rounds} rounds in turns on one cluster")
    print("\n".join(table(found)))


def commands(seconds: int, run: Path, place: Path) -> dict[str, str]:
    """The works by name."""
    usual = WORK.command.replace("-T 10", f"-T {seconds}").replace("$IOATLAS_RUN", str(run))
    script = subprocess.run(["pgbench", "--show-script=tpcb-like"], capture_output=True, text=True, check=True)
    text = script.stdout + script.stderr
    slower = place / SCRIPT
    slower.write_text(text.replace("BEGIN;", f"\\sleep {SLEEP_MS} ms\nBEGIN;"))
    # Its own -s: a script of one's own does not ask the database for the scale.
    return {"pgbench": usual, "again": usual, "slower": usual.replace("pgbench -h", f"pgbench -s 10 -f {slower} -h")}


def rounds(asked: argparse.Namespace, folder: Path, run: Path, place: Path) -> Rounds:
    """Transactions a second of each work in each round, by both ways."""
    works = commands(asked.seconds, run, place)
    order = random.Random(1)
    found: Rounds = {way: {name: [] for name in works} for way in ("by hand", "ioatlas")}

    def by_hand(name: str) -> float:
        said = re.search(WORK.metric.regex, shell(works[name], folder, run))
        return float(said[1]) if said else sys.exit(f"{name}: pgbench told no rate")

    for name in works:  # warm-up
        by_hand(name)
    for number in range(asked.rounds):
        for way in order.sample(list(found), 2):
            if way == "ioatlas":
                told = by_ioatlas(works, place, number)
            else:
                told = {name: by_hand(name) for name in order.sample(list(works), len(works))}
            for name, rate in told.items():
                found[way][name].append(rate)
        print(f"round {number + 1} of {asked.rounds}", file=sys.stderr, flush=True)
    return found


def by_ioatlas(works: dict[str, str], place: Path, number: int) -> dict[str, float]:
    """One visit of each work, in an order of the campaign's own."""
    target, campaign, directory = place / "target", place / f"{number}.toml", place / f"campaign{number}"
    target.mkdir(exist_ok=True)
    campaign.write_text(
        f"visits = 1\norder_seed = {number + 1}\n[target]\npath = {json.dumps(str(target))}\n"
        + "".join(
            f"[[work]]\nname = '{name}'\ncommand = '''{command}# {name}'''\n"
            f"metric = {{ regex = '{WORK.metric.regex}', unit = 'tps' }}\n"
            for name, command in works.items()
        )
    )
    words = [sys.executable, "-m", "ioatlas", "map", "--campaign", str(campaign), "-o", str(directory), "--yes"]
    subprocess.run(words, check=True, capture_output=True)
    return {figure.work: figure.value for figure in load_result(directory).works}


def ratio(above: list[float], below: list[float]) -> str:
    """Mean and 95% interval of the ratio, round by round."""
    logs = [log(one / other) for one, other in zip(above, below, strict=True)]
    mean = statistics.fmean(logs)
    half = t_quantile(0.975, len(logs) - 1) * statistics.stdev(logs) / sqrt(len(logs))
    found = "differs" if mean - half > 0 or mean + half < 0 else "no difference shown"
    return f"{exp(mean):.3f} ({exp(mean - half):.3f} to {exp(mean + half):.3f})  {found}"


def table(found: Rounds) -> Iterator[str]:
    """One way over the other, then what each way says of equal and of slower works."""
    for way, works in found.items():
        middle = {name: f"{statistics.median(rates):.0f}" for name, rates in works.items()}
        yield f"{way:<8} median tps: " + ", ".join(f"{name} {rate}" for name, rate in middle.items())
    yield f"ioatlas over by hand    {ratio(found['ioatlas']['pgbench'], found['by hand']['pgbench'])}"
    for way, works in found.items():
        yield f"equal works, {way:<10} {ratio(works['again'], works['pgbench'])}"
        yield f"{SLEEP_MS} ms more, {way:<12} {ratio(works['slower'], works['pgbench'])}"


if __name__ == "__main__":
    main()
