# SPDX-License-Identifier: Apache-2.0
"""Random campaigns, each stopped at a random batch: does a design that saw every batch ask for what a fresh one asks
for?

    python bench/adaptive/histories.py [--histories 200] [--first 0]

Exits with 1 when one of them does not.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import surfaces
from recording import Recording
from replay import Sweep, read_pass, sweep_of

from ioatlas.design.adaptive import AdaptiveDesign, Reading, Request, Settings

SMALL = {
    "line": lambda: surfaces.tiny(1),
    "two modes, few sizes": lambda: surfaces.array(2, sizes=4, blocks=6, jobs=4),
    "shared file, noisy": lambda: surfaces.array(5, sd=0.1, sizes=6, blocks=4, jobs=3, private=False),
}
LARGE = {
    "array": lambda: surfaces.array(1),
    "four modes": lambda: surfaces.array(4, sizes=6, blocks=9, jobs=4, rws=("read", "write", "randread", "randwrite")),
    "noisy disk": lambda: surfaces.disk(1),
    "engines": lambda: surfaces.modes(2),
}
MEASURED = ("pass", "bw_bytes_per_s", "iops", "lat_mean_ns", "lat_p99_ns")


@lru_cache
def sweep(name: str) -> Sweep:
    """A surface of `SMALL` or `LARGE` as a recording holds it."""
    cells: dict[tuple, tuple[dict, list[dict]]] = {}
    for row in {**SMALL, **LARGE}[name]():
        point = {axis: value for axis, value in row.items() if axis not in MEASURED}
        found = cells.setdefault(tuple(point.values()), (point, []))
        found[1].append({"iops": row["iops"], "lat_mean_ns": float(row["lat_mean_ns"])})
    points, readings = zip(*cells.values(), strict=True)
    kept = tuple(tuple(passes) for passes in readings)
    return sweep_of(Recording(points, kept, len(kept[0])))


def warm_and_cold(names: Sequence[str], number: int, most: int) -> tuple[list[Request], list[Request]]:
    """The batch after a random history, from the design that led there and from a fresh one.

    number: draws surface, seed, cells (at most `most`), stop and failed visits.
    """
    draw = random.Random(number)
    s = sweep(draw.choice(list(names)))
    cells = draw.randint(12, most)
    settings = Settings(
        cells=cells, seed=draw.randrange(10**6), certain=draw.random() < 0.6, error=draw.choice([None, None, 0.1])
    )
    stop, failing = draw.randint(cells // 3, cells), draw.choice([0.0, 0.0, 0.1])
    warm, history = AdaptiveDesign(s.space, settings), list[Reading]()
    batch = warm.next_batch(history)
    while batch and len(history) < stop:
        made = read_pass(s, history, batch)
        history += [replace(reading, log_value=None) if draw.random() < failing else reading for reading in made]
        batch = warm.next_batch(history)
    return batch, AdaptiveDesign(s.space, settings).next_batch(history)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    differ, requests, ended = [], 0, 0
    for number in range(arguments.first, arguments.first + arguments.histories):
        warm, cold = warm_and_cold([*SMALL, *LARGE], number, 60)
        requests, ended = requests + len(warm), ended + (not warm)
        if warm != cold:
            differ.append(number)
    print(
        f"{arguments.histories} histories, {requests} requests compared, {ended} at their end:"
        f" {len(differ)} differ {differ or ''}"
    )
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
