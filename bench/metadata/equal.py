# SPDX-License-Identifier: Apache-2.0
"""Names on one directory, measured again and again: how often does `compare` call equal campaigns different?

    python bench/metadata/equal.py [DIR] [--pairs 20] [--files 300] [--visits 4]

Neighbours are compared, each campaign once. At a false discovery rate of 5% one comparison in twenty may call
anything.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

TOOL = (sys.executable, "-m", "ioatlas")


def campaign(target: Path, out: Path, asked: argparse.Namespace) -> None:
    file = out.with_suffix(".toml")
    sweep = f"nrfiles = {asked.files}\nnumjobs = [1, 2]\n"
    file.write_text(
        f'file_sizes = "0"\nvisits = {asked.visits}\n[target]\npath = "{target}"\nname = "equal"\n[sweep]\n{sweep}'
    )
    command = [*TOOL, "map", "--campaign", str(file), "-o", str(out), "--yes", "--quiet"]
    subprocess.run(command, check=True, capture_output=True, text=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", nargs="?", type=Path, default=Path("/var/tmp"))
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--visits", type=int, default=4)
    asked = parser.parse_args()
    outcomes: Counter[str] = Counter()
    calling = 0
    with tempfile.TemporaryDirectory(dir=asked.directory) as target, tempfile.TemporaryDirectory() as place:
        for pair in range(asked.pairs):
            sides = [Path(place, f"{pair}-{side}") for side in "ab"]
            for out in sides:
                campaign(Path(target), out, asked)
            words = [*TOOL, "compare", *map(str, sides), "--json"]
            said = json.loads(subprocess.run(words, check=False, capture_output=True, text=True).stdout)["pairs"][0]
            called = [cell for cell in said["cells"] if cell["outcome"] in ("higher", "lower")]
            outcomes.update(cell["outcome"] for cell in said["cells"])
            calling += bool(called)
            told = ", ".join(f"{one['operation']} x{one['numjobs']} {one['ratio']:.2f}" for one in called)
            print(f"pair {pair + 1}: {told or 'none called'}", flush=True)
    print(f"{calling} of {asked.pairs} comparisons called anything; cells: {dict(outcomes)}")


if __name__ == "__main__":
    main()
