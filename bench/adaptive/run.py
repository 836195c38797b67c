# SPDX-License-Identifier: Apache-2.0
"""What the law foretells of the cells that a map of few cells did not visit: recorded sweeps, synthetic ones of known
truth and families of targets.

    python bench/adaptive/run.py [--share 0.05] [--seeds 3] [--jobs 2] [--only link,local]

Loads are chosen as in a map with `--cells`. The k-th load of a cell reads the k-th pass of its sweep, in turn; its
course is what was recorded, one rate.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import csv
import gzip
import io
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import families
import surfaces
from recording import Recording, read_recording

from ioatlas.answer.law.cells import foretold
from ioatlas.answer.law.choose import MAIN_SECONDS, START_SECONDS, next_load, seconds_of_others
from ioatlas.answer.law.course import Course
from ioatlas.answer.law.fit import fit_law
from ioatlas.answer.law.read import have_one_law
from ioatlas.model.cell import Cell

DATA = Path(__file__).parent / "data"
WINDOW_SECONDS = 0.4
"""Of a reading, in the recorded sweeps."""
FOUR = ("read", "write", "randread", "randwrite")
SWEEPS = {
    "array, a file each": lambda: surfaces.array(1),
    "array, one shared file": lambda: surfaces.array(2, private=False),
    "array, 14% noise": lambda: surfaces.array(3, sd=0.14),
    "array, four modes": lambda: surfaces.array(4, rws=FOUR, sizes=6, blocks=9, jobs=4),
    "engines, pools, mixes": surfaces.modes,
    "noisy disk": surfaces.disk,
}
NAMES = (*sorted(path.name.split(".")[0] for path in DATA.glob("*.csv.gz")), *SWEEPS, *families.FAMILIES)


@lru_cache
def recording(name: str, seed: int) -> Recording:
    """seed: of a family, the target that it draws."""
    if (DATA / f"{name}.csv.gz").exists():
        return read_recording(gzip.decompress((DATA / f"{name}.csv.gz").read_bytes()).decode())
    rows = families.family(name, seed) if name in families.FAMILIES else SWEEPS[name]()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return read_recording(text.getvalue())


def cells_of(sweep: Recording) -> list[Cell]:
    renamed = {"bs_bytes": "bs", "size_bytes": "size"}
    options = [{renamed.get(name, name): value for name, value in point.items()} for point in sweep.points]
    return [Cell.of("target", {"size": 1 << 30, **{k: v for k, v in one.items() if v is not None}}) for one in options]


def run(task: tuple[str, int, float]) -> tuple[str, int, int, int, list[float], list[bool], int]:
    """Name, seed, cells in all and visited; errors of the cells that were foretold, as logarithms, whether the interval
    of each held the truth, and how many were not told.
    """
    name, seed, share = task
    sweep = recording(name, seed)
    cells = cells_of(sweep)
    rates = [
        [one.get("iops") or one["bw_bytes_per_s"] / cell.bs_bytes for one in readings]
        for cell, readings in zip(cells, sweep.readings, strict=True)
    ]
    if not have_one_law(cells):
        return name, seed, len(cells), 0, [], [], len(cells)
    place = {cell.key: number for number, cell in enumerate(cells)}
    most = max(3, round(share * len(cells)))
    total = left = MAIN_SECONDS + seconds_of_others(most)
    courses: list[Course] = []
    made: Counter[str] = Counter()
    while (one := next_load(cells, courses, total=total, left=left, seed=seed, most=most)) is not None:
        passes = rates[place[one.cell.key]]
        rate = passes[made[one.cell.key] % len(passes)]
        made[one.cell.key] += 1
        edges = np.array([0.0, WINDOW_SECONDS])
        done = rate * edges
        courses.append(
            Course(one.cell, one.direction, total - left, edges, done, done[-1], WINDOW_SECONDS, len(courses) + 1)
        )
        left -= one.seconds + START_SECONDS
    fit = fit_law(courses)
    open_cells = [cell for cell in cells if cell.key not in made]
    told = foretold(open_cells, {"target": fit}) if fit is not None else ()
    errors, held = [], []
    for e in told:
        truth = float(np.exp(np.mean(np.log(rates[place[e.cell.key]]))))
        errors.append(e.iops / truth - 1)
        held.append(e.iops_low <= truth <= e.iops_high)
    return name, seed, len(cells), len(made), errors, held, len(open_cells) - len(told)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="names of sweeps, with commas between them")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else NAMES
    tasks = [(name, seed, arguments.share) for name in names for seed in range(arguments.seeds)]
    print("| sweep | cells | told of the others | error, median / P90 | intervals that held |\n" + "|---" * 5 + "|")
    with ProcessPoolExecutor(arguments.jobs) as pool:
        found = pool.map(run, tasks)
        for name in names:
            rows = [next(found) for _ in range(arguments.seeds)]
            errors = np.abs([error for row in rows for error in row[4]])
            told = f"{errors.size / (errors.size + sum(row[6] for row in rows)):.0%}"
            if errors.size:
                told += f" | {np.median(errors):.1%} / {np.quantile(errors, 0.9):.1%}"
                told += f" | {np.mean([one for row in rows for one in row[5]]):.0%}"
            else:
                told += " | – | –"
            print(f"| {name} | {rows[0][3]} of {rows[0][2]} | {told} |", flush=True)


if __name__ == "__main__":
    main()
