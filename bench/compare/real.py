# SPDX-License-Identifier: Apache-2.0
"""A against A, and a 10% slow-down, on real campaigns: a server with limited bandwidth measured again and again.

Campaigns are kept in DIR when it is given, and taken from there when they exist.
Run: nice -n 5 .venv/bin/python bench/compare/real.py [PAIRS [DIR]] > bench/compare/RESULT-real.md
"""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ioatlas.answer.analysis.many import Pair
from ioatlas.answer.results.comparison import compare_sides

TOOL = Path(sys.executable).parent / "ioatlas"
SEED = 20213
RATE = 100_000_000
SWEEP = """[sweep]
rw = ["randread"]
bs = ["16k", "32k", "64k", "128k"]
size = ["64m"]
numjobs = [1, 2, 4]
"""


def measure(work: Path, name: str, rate: int) -> Path:
    """One campaign on a server of its own, with every visit in a fresh random order; measured unless it is there."""
    directory = work / name
    if directory.exists():
        return directory
    sweep = work / f"{name}.toml"
    sweep.write_text(f"order_seed = {random.randrange(1, 10**6)}\n{SWEEP}")
    limits = ["--set", f"bw_bytes_per_s={rate}", "--set", "burst_seconds=0.05"]
    load = [
        str(TOOL),
        "map",
        "{}",
        "--read-only",
        "--campaign",
        str(sweep),
        "--visits",
        "2",
        "-o",
        str(directory),
        "--yes",
    ]
    subprocess.run(
        [str(TOOL), "lab", "run", "bandwidth", *limits, "--", *load], check=True, capture_output=True, timeout=300
    )
    return directory


def row(name: str, found: list[Pair], wanted: tuple[str, ...]) -> str:
    whole = [result.whole for result in found if result.whole is not None]
    maps = sum(result.outcome in wanted for result in whole)
    cells = [sum(cell.outcome in wanted for cell in result.cells) / len(result.cells) for result in found]
    least = np.mean([result.detectable for result in whole])
    ratios = [result.ratio for result in whole]
    return (
        f"| {name} | {len(found)} | {maps} | {np.mean(cells):.1%} (largest {max(cells):.0%}) | {min(ratios):.3f} "
        f".. {max(ratios):.3f} | {least:.0%} |"
    )


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    random.seed(SEED)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(scratch)
        # The slowed target is measured in between, so that nothing but the limit tells the two series apart.
        first = [measure(work, "a0", RATE)]
        slow = []
        for index in range(pairs):
            order = [("a", RATE), ("b", RATE * 9 // 10)]
            random.shuffle(order)
            for kind, rate in order:
                (first if kind == "a" else slow).append(measure(work, f"{kind}{index + 1}", rate))
                print(f"{kind}{index + 1} {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        same = [compare_sides((x, y)).result.pairs[0] for x, y in itertools.pairwise(first)]
        slower = [compare_sides((first[i + k], b)).result.pairs[0] for i, b in enumerate(slow) for k in (0, 1)]
    print("# Two campaigns compared: real campaigns\n")
    print(
        f"`nice -n 5 .venv/bin/python bench/compare/real.py {pairs}`; lab target `bandwidth` at {RATE:,} bytes/s "
        f"(slowed: {RATE * 9 // 10:,}), 12 cells, 2 visits each, a server of its own for every campaign."
    )
    print(
        f"{pairs} pairs of neighbouring campaigns of the unchanged target; every campaign of the slowed one against "
        "the two neighbours.\n"
    )
    print(
        "| pairs | tries | map called different | cells called different | ratio of the map | said to be found 8 "
        "times in 10 |\n|---|---|---|---|---|---|"
    )
    print(row("A/A", same, ("higher", "lower")))
    print(row("10% slower", slower, ("lower",)))
    print(f"\n{(time.monotonic() - began) / 60:.0f} min.")


if __name__ == "__main__":
    main()
