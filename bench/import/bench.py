# SPDX-License-Identifier: Apache-2.0
"""Import speed: 10,000 fio JSON files, `ioatlas import` against fio-plot's loader, the same files in one run.

    python bench/import/bench.py [--files 10000] [--rounds 3]

The files are real fio output (null engine, one run for each iodepth and numjobs), copied with their rates changed a
little so that no two are equal. fio-plot is installed from PyPI into a virtual environment of its own. Each round times
both, in alternating order, as whole processes, by the clock and by processor time (user and system, all processes),
which a busy machine disturbs less. fio-plot keeps the figures its charts need; ioatlas writes every figure of every
file (percentiles and all) to SQLite (imported.sqlite) and prints it as JSON. The script checks that both read the same
rates.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import closing
from pathlib import Path

FIO_PLOT = "fio-plot==1.1.21"
DEPTHS = (1, 2, 4, 8, 16, 32, 64)
JOBS = (1, 2, 4, 8)
LOADER = """
import json, sys, logging
from fio_plot.fiolib import jsonimport, jsonparsing
jsonimport.logger = logging.getLogger()
settings = {"input_directory": [sys.argv[1]], "rw": "randread", "filter": ("read", "write"),
            "iodepth": [1, 2, 4, 8, 16, 32, 64], "numjobs": [1, 2, 4, 8],
            "type": "iops", "subtypes": None, "query": None}
dataset = jsonimport.import_json_dataset(settings, jsonimport.list_json_files(settings))
parse = getattr(jsonparsing, "parse_json_data", None) or jsonparsing.build_json_mapping
parsed = parse(settings, dataset)
rows = [row for item in parsed for row in item["data"]]
print(json.dumps([len(rows), sum(float(row["iops"]) for row in rows)]))
"""


def make_files(folder: Path, count: int) -> None:
    """Real runs first, then copies with other rates."""
    templates = []
    for depth in DEPTHS:
        for jobs in JOBS:
            command = [
                "fio",
                "--name=bench",
                "--ioengine=null",
                "--rw=randread",
                "--bs=4k",
                "--size=1m",
                f"--iodepth={depth}",
                f"--numjobs={jobs}",
                "--group_reporting",
                "--output-format=json",
            ]
            templates.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    rng = random.Random(1)
    for number in range(count):
        record = templates[number % len(templates)]
        factor = 1 + rng.random() / 10
        part = record["jobs"][0]["read"]
        kept = part["iops"], part["bw"], part["bw_bytes"]
        part["iops"], part["bw"], part["bw_bytes"] = kept[0] * factor, int(kept[1] * factor), int(kept[2] * factor)
        (folder / f"run-{number:05d}.json").write_text(json.dumps(record, indent=2))
        part["iops"], part["bw"], part["bw_bytes"] = kept


def fio_plot_python(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "-q", "install", FIO_PLOT], check=True)
    return python


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_fio_plot(python: Path, files: Path) -> tuple[float, float, int, float]:
    started, used = time.perf_counter(), processor_seconds()
    done = subprocess.run([python, "-c", LOADER, str(files)], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    rows, iops = json.loads(done.stdout.splitlines()[-1])
    return seconds, processor_seconds() - used, rows, iops


def run_ioatlas(files: Path, out: Path) -> tuple[float, float, int, float]:
    shutil.rmtree(out, ignore_errors=True)
    tool = Path(sys.executable).with_name("ioatlas")
    started, used = time.perf_counter(), processor_seconds()
    subprocess.run(
        [tool, "import", str(files), "-o", str(out), "--json"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    seconds, used = time.perf_counter() - started, processor_seconds() - used
    with closing(sqlite3.connect(out / "imported.sqlite")) as link:
        count, iops = link.execute("SELECT count(*), total(iops) FROM reading").fetchone()
    return seconds, used, count, iops


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        files = scratch / "files"
        files.mkdir()
        make_files(files, options.files)
        python = fio_plot_python(scratch / "fio-plot")
        size = sum(item.stat().st_size for item in files.iterdir())
        print(
            f"{options.files} files, {size / 1e6:.1f} MB, {os.cpu_count()} processors, Python "
            f"{sys.version.split()[0]}, {FIO_PLOT}"
        )
        ratios = []
        for number in range(options.rounds):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            results: dict[int, tuple[float, float, int, float]] = {}
            for which in order:
                results[which] = run_fio_plot(python, files) if which == 0 else run_ioatlas(files, scratch / "out")
            theirs, ours = results[0], results[1]
            assert theirs[2] == ours[2] == options.files, (theirs, ours)
            assert abs(theirs[3] - ours[3]) < 1e-6 * abs(ours[3]), (theirs, ours)
            ratios.append((theirs[0] / ours[0], theirs[1] / ours[1]))
            clock = f"clock {theirs[0]:.2f} s and {ours[0]:.2f} s, ratio {ratios[-1][0]:.2f}"
            print(
                f"round {number + 1}: fio-plot and ioatlas: {clock}; processor {theirs[1]:.2f} s and {ours[1]:.2f} s, "
                f"ratio {ratios[-1][1]:.2f}",
                flush=True,
            )
        clock_ratio, processor_ratio = (sorted(ratio[which] for ratio in ratios)[len(ratios) // 2] for which in (0, 1))
        load = os.getloadavg()[0]
        print(
            f"median ratio by the clock {clock_ratio:.2f} (goal 3), by processor time {processor_ratio:.2f}; load "
            f"average {load:.1f}"
        )


if __name__ == "__main__":
    main()
