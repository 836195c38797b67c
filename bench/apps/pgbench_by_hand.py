# SPDX-License-Identifier: Apache-2.0
"""pgbench timed by ioatlas against pgbench run by hand, on one PostgreSQL in one run: is it the same figure?

    PYTHONPATH=src python bench/apps/pgbench_by_hand.py [--seconds 3] [--runs 6] > bench/apps/pgbench_by_hand.txt

A cluster is made in a folder of /var/tmp and removed. Runs by hand go before and after those of ioatlas.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
from math import exp, log, sqrt
from pathlib import Path

from ioatlas.campaign import load_result
from ioatlas.procedures.application.ready import ready_works
from ioatlas.stats.intervals import t_quantile

WORK = ready_works()["pgbench-s10"].work


def shell(command: str, folder: Path, run: Path) -> str:
    """One command of the ready-made work, as its driver runs it."""
    known = {**os.environ, "IOATLAS_RUN": str(run), "IOATLAS_SEED": "1"}
    done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=known, capture_output=True, text=True, check=True)
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=6)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place, tempfile.TemporaryDirectory() as run:
        folder, target = Path(place, "cluster"), Path(place, "target")
        folder.mkdir()
        target.mkdir()
        shell(WORK.bound("setup", str(folder)), folder, Path(run))
        try:
            told = compare(asked, folder, target, Path(run), Path(place))
        finally:
            shell(WORK.bound("cleanup", str(folder)), folder, Path(run))
    print(told)


def compare(asked: argparse.Namespace, folder: Path, target: Path, run: Path, place: Path) -> str:
    """Half of the runs by hand, then ioatlas, then the other half."""
    command = WORK.command.replace("-T 10", f"-T {asked.seconds}").replace("$IOATLAS_RUN", str(run))
    pattern = WORK.metric.regex

    def by_hand(count: int) -> list[float]:
        return [float(re.search(pattern, shell(command, folder, run))[1]) for _ in range(count)]

    by_hand(1)  # warm-up of both
    before = by_hand(asked.runs // 2)
    campaign = place / "pgbench.toml"
    campaign.write_text(
        f"visits = {asked.runs}\n[target]\npath = {json.dumps(str(target))}\n[[work]]\nname = 'pgbench'\n"
        f"command = '''{command}'''\nmetric = {{ regex = '{pattern}', unit = 'tps' }}\n"
    )
    directory = place / "campaign"
    ioatlas = ["python", "-m", "ioatlas", "map", "--campaign", str(campaign), "-o", str(directory), "--yes"]
    subprocess.run(ioatlas, check=True, capture_output=True)
    hand = [*before, *by_hand(asked.runs - asked.runs // 2)]
    (figure,) = load_result(directory).works
    logs = [log(one) for one in hand]
    half = t_quantile(0.975, len(logs) - 1) * statistics.stdev(logs) / sqrt(len(logs))
    mean = statistics.fmean(logs)
    overlap = figure.low <= exp(mean + half) and exp(mean - half) <= figure.high
    return (
        f"pgbench, scale 10, 8 clients, {asked.seconds} s a run, one cluster, runs by hand before and after\n"
        f"by hand   {exp(mean):8.0f} tps  ({exp(mean - half):.0f} to {exp(mean + half):.0f}), {len(hand)} runs\n"
        f"ioatlas   {figure.value:8.0f} tps  ({figure.low:.0f} to {figure.high:.0f}), {figure.n_visits} visits\n"
        f"ratio     {figure.value / exp(mean):8.3f}; the intervals {'overlap' if overlap else 'DO NOT OVERLAP'}"
    )


if __name__ == "__main__":
    main()
