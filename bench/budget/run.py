# SPDX-License-Identifier: Apache-2.0
"""Cells, seconds and what was left of the budget: budgets x targets of the lab, slow to fast, no option set.

python bench/budget/run.py [-o RESULT.md] [--budgets 10,30,90] [--targets 'local,12 MB/s']
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

LAB = {
    "1 IOPS": ("iops", "iops=1"),
    "125 IOPS": ("iops", "iops=125"),
    "12 MB/s": ("link-100m", ""),
    "114 MB/s": ("link-1g", ""),
    "local": ("", ""),
}
"""Name of a target: scenario of the lab and its setting; a directory beside the results where there is none."""
CELLS = {"local": 24}
"""Cells of `quick`; a directory is written to as well."""
ENOUGH = 12
IOATLAS = (sys.executable, "-m", "ioatlas")


def measure(name: str, budget: int, place: Path) -> dict[str, float | str]:
    """One map of a target; what it says at its end."""
    scenario, setting = LAB[name]
    campaign = place / f"{name.replace('/', ' per ')}-{budget}"
    target = place / "target"
    target.mkdir()
    words = ["map", "{}" if scenario else str(target), "--budget", f"{budget}s", "--json", "-o", str(campaign)]
    command = [*IOATLAS, *words]
    if scenario:
        lab = [*IOATLAS, "lab", "run", *(["--set", setting] if setting else []), scenario, "--"]
        command = [*lab, *command, "--read-only"]
    said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=place)
    events = [json.loads(line) for line in said.stdout.splitlines() if line.startswith("{")]
    done = next((event for event in reversed(events) if event.get("event") == "done"), None)
    if done is None:
        return {"problem": (said.stderr.strip().splitlines() or ["no answer"])[-1]}
    discarded = sum(event.get("event") == "discarded" for event in events)
    return {"cells": done["cells"], "visits": done["visits"], "seconds": done["seconds"], "discarded": discarded}


def row(name: str, budget: int, made: dict[str, float | str]) -> str:
    if "problem" in made:
        return f"| {name} | {budget} s | {made['problem']} | | | | |"
    left = budget - float(made["seconds"])
    cells = f"{made['cells']} of {CELLS.get(name, ENOUGH)}"
    counts = f"{made['visits']} | {made['discarded']}"
    return f"| {name} | {budget} s | {cells} | {counts} | {made['seconds']} s | {left:+.1f} s |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", dest="output", type=Path)
    parser.add_argument("--budgets", default="10,30,90")
    parser.add_argument("--targets", default=",".join(LAB))
    asked = parser.parse_args()
    lines = ["| target | budget | cells | visits | discarded | used | left |", "|---|---|---|---|---|---|---|"]
    for name in asked.targets.split(","):
        for budget in asked.budgets.split(","):
            with tempfile.TemporaryDirectory() as place:
                lines.append(row(name, int(budget), measure(name, int(budget), Path(place))))
                print(lines[-1], flush=True)
    if asked.output:
        asked.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
