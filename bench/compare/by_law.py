# SPDX-License-Identifier: Apache-2.0
"""Two default maps of one unchanged simulated target of random physics, compared by their laws: how often a cell or the
map is called different.

Run: nice -n 15 .venv/bin/python bench/compare/by_law.py FIRST LAST DIR > bench/compare/RESULT-by-law.md
Targets are the open seeds of bench/law; the second map of each draws other noise. Maps are kept in DIR.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "law"))

from generate import Target, target
from world import mapped

from ioatlas.answer.results.comparison import compare_sides

WORKERS = 2


def pair(one: Target, place: Path) -> list[Path]:
    found = []
    for side in range(2):
        keep = place / f"{one.seed}-{side}"
        if not keep.exists():
            physics = replace(one.physics, seed=one.physics.seed + side * 1_000_003)
            shown = mapped(physics, keep=keep)
            if shown.problem:
                raise RuntimeError(shown.problem)
        found.append(keep)
    return found


def compared(seed: int, place: Path) -> tuple[int, str, str, int, int, int, str]:
    """(seed, kind, what it is, cells compared, of these called different, intervals that hold 1, of the map)."""
    one = target(seed)
    (found,) = compare_sides(pair(one, place)).result.pairs
    cells = [cell for cell in found.cells if cell.low is not None and cell.high is not None]
    called = sum(cell.outcome in ("higher", "lower") for cell in cells)
    hold = sum(cell.low <= 1 <= cell.high for cell in cells)
    whole = found.whole.outcome if found.whole else "not tested"
    return seed, one.kind, "; ".join(one.words)[:80], len(cells), called, hold, whole


def main() -> None:
    first, last, place = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    place.mkdir(parents=True, exist_ok=True)
    seeds = range(first, last + 1)
    with ProcessPoolExecutor(WORKERS) as pool:
        rows = list(pool.map(compared, seeds, [place] * len(seeds)))
    print("# Two default maps of one unchanged target, compared by their laws\n")
    print(f"`bench/compare/by_law.py {first} {last} DIR`; simulated targets, the open seeds of `bench/law`.\n")
    cells, called, hold = (sum(row[at] for row in rows) for at in (3, 4, 5))
    maps = [row[6] for row in rows if row[6] != "not tested"]
    wrong = sum(one in ("higher", "lower") for one in maps)
    print(f"- cells called different: {called} of {cells}; intervals that hold 1: {hold / cells:.1%}")
    print(f"- maps called different: {wrong} of {len(maps)}; not tested {len(rows) - len(maps)}\n")
    print("| seed | kind | target | cells | called different | hold 1 | map |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
