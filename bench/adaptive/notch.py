# SPDX-License-Identifier: Apache-2.0
"""Where the design breaks: a planted notch, 16 of 864 cells 4 times slower than their neighbours, which no smooth
model foresees.

python bench/adaptive/notch.py [--seeds 20]      prints the table, writes notch.png
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import csv
import io
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import surfaces
from recording import read_recording
from replay import Sweep, replay, sweep_of

from ioatlas.design.adaptive import Settings
from ioatlas.model.visit import DesignPurpose

SIZES = (48, 96, 192)


def make(sd: float, seed: int) -> Sweep:
    rows = surfaces.disk(seed, sd, 2, notch=4.0)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return sweep_of(read_recording(text.getvalue()))


def run(task: tuple[float, int, int]) -> tuple:
    sd, n, seed = task
    sweep = make(sd, seed)
    notch = np.array([surfaces.in_notch(dict(point)) for point in sweep.space.points])
    outcome = replay(sweep, Settings(cells=n, seed=seed))
    measured = {r.request.cell for r in outcome.history}
    inside = np.array([cell for cell in measured if notch[cell]])
    rest = np.array(outcome.unmeasured)
    error = np.abs(np.expm1(outcome.log_predicted - np.nanmean(sweep.log_value[rest], axis=1)))
    held = np.abs(outcome.log_predicted - np.nanmean(sweep.log_value[rest], axis=1)) <= outcome.log_half_width
    there = notch[rest]
    honest = sum(1 for r in outcome.history if r.request.purpose is DesignPurpose.HOLD_OUT and notch[r.request.cell])
    return (
        sd,
        n,
        seed,
        len(inside),
        honest,
        float(np.median(error[there])) if there.any() else 0.0,
        float(held[there].mean()) if there.any() else 1.0,
        outcome.median_error,
        outcome.p90_error,
        outcome.stated.median,
        outcome.stated.p90,
    )


def picture(seed: int) -> None:
    """Slice rw=write, size=256 MiB of one quiet map at 96 cells: truth, prediction, their ratio with the measured
    cells marked.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    sweep = make(0.02, seed)
    space = sweep.space
    blocks, jobs = sorted(set(space.block_bytes)), sorted(set(space.numjobs))
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), layout="constrained")
    outcome = replay(sweep, Settings(cells=96, seed=seed))
    measured = {r.request.cell for r in outcome.history}
    said = outcome.model.predict(np.arange(len(space))).mean
    truth = np.nanmean(sweep.log_value, axis=1)
    slice_ = [c for c, p in enumerate(space.points) if p["rw"] == "write" and p["size_bytes"] == 256 << 20]
    titles = ("recorded throughput, GB/s", "predicted from 96 of 864 cells", "predicted / recorded")
    log_bs = np.log(space.block_bytes)
    for axis, title, values in zip(
        axes, titles, (np.exp(truth + log_bs) / 1e9, np.exp(said + log_bs) / 1e9, np.exp(said - truth)), strict=True
    ):
        grid = np.full((len(blocks), len(jobs)), np.nan)
        for c in slice_:
            grid[blocks.index(space.block_bytes[c]), jobs.index(space.numjobs[c])] = values[c]
        ratio = title.startswith("predicted /")
        shown = axis.imshow(
            grid,
            origin="lower",
            aspect="auto",
            cmap="cividis",
            **({"vmin": 0.5, "vmax": 4} if ratio else {"vmin": 0, "vmax": 2.2}),
        )
        for c in slice_:
            if c in measured and axis is not axes[0]:
                axis.plot(
                    jobs.index(space.numjobs[c]),
                    blocks.index(space.block_bytes[c]),
                    "o",
                    mfc="white",
                    mec="black",
                    ms=5,
                )
        axis.set_xticks(range(len(jobs)), [f"{int(j)}" for j in jobs])
        axis.set_yticks(range(len(blocks)), [f"{int(b) // 1024}k" for b in blocks])
        axis.set_xlabel("numjobs")
        axis.set_ylabel("bs")
        axis.set_title(title, fontsize=10)
        figure.colorbar(shown, ax=axis)
    figure.suptitle(
        "A notch no sample fell on (rw=write, size=256 MiB; circles: measured;"
        " writes of 128k by 16 jobs and more are 4 times slower)",
        fontsize=9,
    )
    figure.savefig(Path(__file__).parent / "notch.png", dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--rows",
        default="",
        help="append every row to this file as it is found; what it holds is not run again, so a stopped run goes on",
    )
    arguments = parser.parse_args()
    kept = Path(arguments.rows) if arguments.rows else None
    rows = [tuple(json.loads(line)) for line in kept.read_text().splitlines()] if kept and kept.exists() else []
    done = {row[:3] for row in rows}
    tasks = [
        (sd, n, seed)
        for seed in range(arguments.seeds)
        for sd in (0.02, 0.14)
        for n in SIZES
        if (sd, n, seed) not in done
    ]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(run, tasks):
            rows.append(row)
            if kept:
                with kept.open("a") as log:
                    log.write(json.dumps(row) + "\n")
    print(
        "| noise | cells | touched | touched by a hold-out pick | cells measured in the notch"
        " | notch error (median) | intervals that held it | map error median / P90 | stated median / P90 |\n|"
        + "---|"
        * 9
    )
    for sd in (0.02, 0.14):
        for n in SIZES:
            mine = [r for r in rows if r[0] == sd and r[1] == n]
            share = lambda at, mine=mine: np.mean([r[at] > 0 for r in mine])  # noqa: E731
            mean = lambda at, mine=mine: float(np.median([r[at] for r in mine]))  # noqa: E731
            print(
                f"| {100 * sd:.0f}% | {n} | {100 * share(3):.0f}% of seeds | {100 * share(4):.0f}%"
                f" | {np.mean([r[3] for r in mine]):.1f} of 16 | {100 * mean(5):.0f}%"
                f" | {100 * np.mean([r[6] for r in mine]):.0f}% "
                f"| {100 * mean(7):.1f} / {100 * mean(8):.1f}% | {100 * mean(9):.1f} / {100 * mean(10):.1f}% |"
            )
    missed = next((r[2] for r in rows if r[0] == 0.02 and r[1] == 96 and r[3] == 0), 0)
    picture(missed)


if __name__ == "__main__":
    main()
