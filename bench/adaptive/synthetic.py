# SPDX-License-Identifier: Apache-2.0
"""Whole replays at 5% of the cells: recorded sweeps, synthetic ones of known truth and families of targets.

    python bench/adaptive/synthetic.py [--seeds 20] [--jobs 2] [--only link,local] [--rows FILE] [--before FILE]

With `--before`, rows that another version of the design wrote on the same seeds, it prints both side by side.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import csv
import io
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import compare
import families
import surfaces
from recording import read_recording
from replay import Sweep, replay, sweep_of

from ioatlas.design.adaptive import Settings

RECORDED = sorted(path.name.split(".")[0] for path in compare.DATA.glob("*.csv.gz"))
FOUR = ("read", "write", "randread", "randwrite")
SWEEPS = {
    "array, a file each": lambda: surfaces.array(1),
    "array, one shared file": lambda: surfaces.array(2, private=False),
    "array, 14% noise": lambda: surfaces.array(3, sd=0.14),
    "array, four modes": lambda: surfaces.array(4, rws=FOUR, sizes=6, blocks=9, jobs=4),
    "engines, pools, mixes": surfaces.modes,
    "noisy disk": surfaces.disk,
}


NAMES = (*RECORDED, *SWEEPS, *families.FAMILIES)


@lru_cache
def sweep(name: str, seed: int = 0) -> Sweep:
    """seed: of a family, the target that it draws."""
    if name in RECORDED:
        return compare.sweep(name)
    rows = families.family(name, seed) if name in families.FAMILIES else SWEEPS[name]()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return sweep_of(read_recording(text.getvalue()))


def run(task: tuple[str, int]) -> tuple[float, ...]:
    name, seed = task
    s = sweep(name, seed if name in families.FAMILIES else 0)
    began = time.process_time()
    o = replay(s, Settings(cells=round(0.05 * len(s.space)), seed=seed, visits_limit=min(2, s.passes)))
    own = time.process_time() - began
    st = o.stated
    return (
        o.median_error,
        o.p90_error,
        o.interval_cover,
        st.median / o.median_error,
        st.p90 / o.p90_error,
        st.median_low <= o.median_error <= st.median_high,
        st.p90_low <= o.p90_error <= st.p90_high,
        own,
        len(o.history),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="names of sweeps, with commas between them")
    parser.add_argument("--before", default="", help="a file of `--rows` to compare with")
    parser.add_argument(
        "--rows",
        default="",
        help="append every row to this file as it is found; what it holds is not run again, so a stopped run goes on",
    )
    arguments = parser.parse_args()
    kept = Path(arguments.rows) if arguments.rows else None
    rows = [tuple(json.loads(line)) for line in kept.read_text().splitlines()] if kept and kept.exists() else []
    done = {row[:2] for row in rows}
    names = arguments.only.split(",") if arguments.only else NAMES
    tasks = [(name, seed) for seed in range(arguments.seeds) for name in names if (name, seed) not in done]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for task, found in zip(tasks, pool.map(run, tasks), strict=True):
            rows.append((*task, *(float(value) for value in found)))
            if kept:
                with kept.open("a") as log:
                    log.write(json.dumps(rows[-1]) + "\n")
    if arguments.before:
        compared([tuple(json.loads(line)) for line in Path(arguments.before).read_text().splitlines()], rows)
    else:
        table(rows)


LEAST_ERROR = 0.01
"""An error below this counts as this: how far below is of no use to anybody."""


def compared(before: list[tuple], after: list[tuple]) -> None:
    """Both versions on the seeds that both have; ratios are geometric means, over a sweep's seeds, then over sweeps."""
    old, new = ({tuple(row[:2]): np.array(row[2:]) for row in rows} for rows in (before, after))
    print("| sweep | cells | before | after | after / before, median | P90 | computing | seeds |\n" + "|---" * 8 + "|")
    ratios = []
    for name in NAMES:
        both = [key for key in old if key[0] == name and key in new]
        if not both:
            continue
        a, b = (np.array([rows[key] for key in both]) for rows in (old, new))
        log = [np.log(np.maximum(errors[:, :2], LEAST_ERROR)).mean(axis=0) for errors in (a, b)]
        ratios.append([*np.exp(log[1] - log[0]), b[:, 7].sum() / a[:, 7].sum()])
        said = [f"{100 * m:.1f} / {100 * p:.1f}%" for m, p in (a[:, :2].mean(axis=0), b[:, :2].mean(axis=0))]
        size = len(sweep(name).space)
        print(
            f"| {name} | {round(0.05 * size)} of {size} | {said[0]} | {said[1]} | "
            + " | ".join(f"{ratio:.2f}" for ratio in ratios[-1])
            + f" | {len(both)} |"
        )
    whole = np.exp(np.log(ratios).mean(axis=0))
    print(f"| **all {len(ratios)}** | | | | " + " | ".join(f"**{ratio:.2f}**" for ratio in whole) + " | |")


def table(rows: list[tuple]) -> None:
    print(
        "| sweep | cells | floor median / P90 | error median / P90 | goal"
        " | ratio stated/true median, P90 | held median, P90 | cover | CPU over visits of 0.6 s | seeds |\n"
        + "|---" * 10
        + "|"
    )
    for name in NAMES:
        a = np.array([row[2:] for row in rows if row[0] == name])
        if not len(a):
            continue
        s = sweep(name)
        floor = s.noise()
        goal = max(0.05, 1.2 * floor[0]), max(0.15, 2 * floor[1])
        met = ["met" if error <= limit else "missed" for error, limit in zip(a[:, :2].mean(axis=0), goal, strict=True)]
        ratio = np.median(a[:, 3:5], axis=0)
        print(
            f"| {name} | {round(0.05 * len(s.space))} of {len(s.space)}"
            f" | {100 * floor[0]:.1f} / {100 * floor[1]:.1f}%"
            f" | {100 * a[:, 0].mean():.1f} / {100 * a[:, 1].mean():.1f}% "
            f"| {met[0]}, {met[1]} | {ratio[0]:.2f}, {ratio[1]:.2f}"
            f" | {100 * a[:, 5].mean():.0f}%, {100 * a[:, 6].mean():.0f}% | {100 * a[:, 2].mean():.0f}% "
            f"| {100 * a[:, 7].sum() / a[:, 8].sum() / 0.6:.1f}% | {len(a)} |"
        )


if __name__ == "__main__":
    main()
