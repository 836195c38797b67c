# SPDX-License-Identifier: Apache-2.0
"""Cells, seconds and what was left of the budget: budgets x targets of the lab, slow to fast, no option set.

python bench/budget/run.py [-o RESULT.md] [--budgets 10,30,90,300] [--targets 'local,12 MB/s'] [--keep DIR]

With --keep each run is kept there and taken from there afterwards: a call that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
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


def made(name: str, budget: int, keep: Path | None) -> dict[str, float | str]:
    """One map, from `keep` or made now."""
    record = keep / f"{name.replace('/', ' per ')}-{budget}.json" if keep else None
    if record and record.exists():
        known: dict[str, float | str] = json.loads(record.read_text())
        return known
    with tempfile.TemporaryDirectory() as place:
        found = measure(name, budget, Path(place))
    if record and "problem" not in found:
        record.write_text(json.dumps(found))
    return found


def row(name: str, budget: int, found: dict[str, float | str]) -> str:
    if "problem" in found:
        return f"| {name} | {budget} s | {found['problem']} | | | | |"
    left = budget - float(found["seconds"])
    cells = f"{found['cells']} of {CELLS.get(name, ENOUGH)}"
    counts = f"{found['visits']} | {found['discarded']}"
    return f"| {name} | {budget} s | {cells} | {counts} | {found['seconds']} s | {left:+.1f} s |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", dest="output", type=Path)
    parser.add_argument("--budgets", default="10,30,90")
    parser.add_argument("--targets", default=",".join(LAB))
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    load = f"{os.getloadavg()[1]:.1f}"
    if asked.keep:
        asked.keep.mkdir(parents=True, exist_ok=True)
    lines = ["| target | budget | cells | visits | discarded | used | left |", "|---|---|---|---|---|---|---|"]
    for name in asked.targets.split(","):
        for budget in asked.budgets.split(","):
            lines.append(row(name, int(budget), made(name, int(budget), asked.keep)))
            print(lines[-1], flush=True)
    if asked.output:
        head = (
            "# Budgets and targets\n\n`quick` with no option but the budget; exports read-only (12 cells), the local "
            "directory written to (24 cells). `used` and `left` are the session's, without the report. One run each, "
            f"load average at the start {load}.\n\n"
        )
        asked.output.write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
