# SPDX-License-Identifier: Apache-2.0
"""Error against number of cells on the recorded sweeps: random, space-filling and variance-driven plain Gaussian
process, and this design.

    python bench/adaptive/compare.py [--seeds 10] [--jobs 2] [--only link,local] > table

The plain process is scikit-learn's: anisotropic Matern-5/2 on log2 axes, 0/1 columns for modes, white noise fitted,
log throughput.
Its three designs visit every cell once (pass 1); this design's second visits read pass 2 and cost no cell. All are
judged by the
geometric mean of all passes on the cells they did not measure.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import gzip
import json
import sys
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path

import numpy as np
from recording import read_recording
from replay import Sweep, replay, sweep_of

from ioatlas.design.acquire import spread_out
from ioatlas.design.adaptive import Settings

DATA = Path(__file__).parent / "data"
SIZES = (24, 48, 96, 192)
METHODS = ("random + GP", "space-filling + GP", "GP by variance", "this design")


@lru_cache
def sweep(name: str) -> Sweep:
    path = DATA / f"{name}.csv.gz"
    return sweep_of(read_recording(gzip.decompress(path.read_bytes()).decode()))


def features(s: Sweep) -> np.ndarray:
    columns = []
    for number in s.space.own_axes:
        axis, at = s.space.axes[number], s.space.index[:, number]
        columns += (
            [axis.place[at]] if axis.numeric else [(at == level).astype(float) for level in range(len(axis.levels))]
        )
    return np.stack(columns, axis=1)


def plain_gp(
    x: np.ndarray, y: np.ndarray, at: np.ndarray, fitted: object = None
) -> tuple[np.ndarray, np.ndarray, object]:
    """(mean, sd, fitted kernel); with `fitted` its hyperparameters are kept."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = fitted or ConstantKernel(1.0) * Matern(np.full(x.shape[1], 0.7), (0.05, 20), nu=2.5) + WhiteKernel(
        0.02, (1e-5, 1.0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianProcessRegressor(
            kernel, optimizer=None if fitted else "fmin_l_bfgs_b", normalize_y=True, random_state=0
        ).fit(x, y)
        mean, sd = model.predict(at, return_std=True)
    return mean, sd, model.kernel_


def judge(s: Sweep, cells: list[int], mean: np.ndarray) -> tuple[float, float]:
    rest = np.setdiff1d(np.arange(len(s.space)), cells)
    error = np.abs(np.expm1(mean[rest] - np.nanmean(s.log_value[rest], axis=1)))
    return float(np.median(error)), float(np.quantile(error, 0.9))


def run(task: tuple[str, str, int]) -> list[tuple]:
    name, method, seed = task
    s = sweep(name)
    rng = np.random.default_rng(seed)
    sizes = [n for n in SIZES if n <= len(s.space) // 2]
    out: list[tuple] = []
    if method == "this design":
        for n in sizes:
            o = replay(s, Settings(cells=n, seed=seed, visits_limit=min(2, s.passes)))
            st = o.stated
            held = [
                low <= true <= high
                for low, true, high in (
                    (st.median_low, o.median_error, st.median_high),
                    (st.p90_low, o.p90_error, st.p90_high),
                )
            ]
            out.append(
                (
                    name,
                    method,
                    n,
                    o.median_error,
                    o.p90_error,
                    o.interval_cover,
                    st.median / o.median_error,
                    st.p90 / o.p90_error,
                    *held,
                )
            )
        return out
    x, y = features(s), s.log_value[:, 0]
    whole = np.arange(len(s.space))
    if method == "GP by variance":
        cells, kept = spread_out(s.space, np.array([], dtype=np.int64), 16, rng), None
        while len(cells) < max(sizes):
            kept = (
                None if len(cells) in (16, *sizes) else kept
            )  # hyperparameters are fitted at the judged sizes and kept between
            mean, sd, kept = plain_gp(x[cells], y[cells], x, kept)
            if len(cells) in sizes:
                out.append((name, method, len(cells), *judge(s, cells, mean)))
            order = [c for c in np.argsort(-sd) if c not in set(cells)]
            target = min(len(cells) + (8 if len(cells) < 96 else 24), *(n for n in sizes if n > len(cells)))
            cells += order[: target - len(cells)]
        out.append((name, method, len(cells), *judge(s, cells, plain_gp(x[cells], y[cells], x)[0])))
        return out
    for n in sizes:
        cells = (
            rng.choice(whole, n, replace=False).tolist()
            if method.startswith("random")
            else spread_out(s.space, np.array([], dtype=np.int64), n, rng)
        )
        out.append((name, method, n, *judge(s, cells, plain_gp(x[cells], y[cells], x)[0])))
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--rows",
        default="",
        help="append every row to this file as it is found; seeds that it holds are not run again",
    )
    parser.add_argument("--methods", default="GP,design", help="words of the methods to run, '-' for none")
    arguments = parser.parse_args()
    names = (
        arguments.only.split(",")
        if arguments.only
        else sorted(path.name.split(".")[0] for path in DATA.glob("*.csv.gz"))
    )
    methods = [method for method in METHODS if any(word in method for word in arguments.methods.split(","))]
    rows: list[tuple] = []
    if arguments.rows and Path(arguments.rows).exists():
        rows = [tuple(json.loads(line)) for line in Path(arguments.rows).read_text().splitlines()]
    # Seeds come in order, so those that are there already are the first.
    done = Counter(tuple(row[:2]) for row in rows if row[2] == SIZES[0])
    tasks = [
        (name, method, seed)
        for seed in range(arguments.seeds)
        for name in names
        for method in methods
        if seed >= done[name, method]
    ]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for number, found in enumerate(pool.map(run, tasks), 1):
            rows += found
            if arguments.rows:
                with open(arguments.rows, "a") as log:
                    log.writelines(json.dumps(row, default=bool) + "\n" for row in found)
            print(f"{number}/{len(tasks)}", file=sys.stderr)
    table(names, rows)


def table(names: list[str], rows: list[tuple]) -> None:
    print("Mean over seeds (their number in the last column) of median / P90 error in %, on the cells not measured.\n")
    for name in names:
        s = sweep(name)
        floor = s.noise()
        print(
            f"**{name}**: {len(s.space)} cells, {s.passes} passes,"
            f" floor between passes {100 * floor[0]:.1f} / {100 * floor[1]:.1f}\n"
        )
        sizes = [n for n in SIZES if n <= len(s.space) // 2]
        print(
            "| method | "
            + " | ".join(f"{n} ({100 * n / len(s.space):.0f}%)" for n in sizes)
            + " | seeds |\n|"
            + "---|" * (len(sizes) + 2)
        )
        for method in METHODS:
            found = [[r[3:5] for r in rows if tuple(r[:3]) == (name, method, n)] for n in sizes]
            cells = [np.array(errors).mean(axis=0) * 100 if errors else (np.nan, np.nan) for errors in found]
            print(
                f"| {method} | " + " | ".join(f"{a:.1f} / {b:.1f}" for a, b in cells) + f" | {min(map(len, found))} |"
            )
        print()
    print(
        "What the design said of itself. ratio: median over seeds of stated / true error;"
        " held: share of seeds whose interval held the true error.\n"
    )
    print(
        "| sweep | cells | ratio median | ratio P90 | held median | held P90 | cover of 90% intervals |\n"
        "|---|---|---|---|---|---|---|"
    )
    for name in names:
        for n in SIZES:
            mine = np.array([r[5:] for r in rows if tuple(r[:3]) == (name, "this design", n)], dtype=float)
            if len(mine):
                m = np.median(mine[:, 1:3], axis=0)
                print(
                    f"| {name} | {n} | {m[0]:.2f} | {m[1]:.2f}"
                    f" | {mine[:, 3].mean():.2f} | {mine[:, 4].mean():.2f} | {100 * mine[:, 0].mean():.0f}% |"
                )


if __name__ == "__main__":
    main()
