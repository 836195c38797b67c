# SPDX-License-Identifier: Apache-2.0
"""Rates of creating, looking at and deleting files: ioatlas (fio), bonnie++ and fs_mark in turns on one directory.

python bench/metadata/run.py DIRECTORY [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

FILES = 16 * 1024
"""bonnie++ counts in multiples of 1,024."""


def of_ioatlas(directory: Path, work: Path) -> dict[str, float]:
    """One visit of empty files in one directory by one job."""
    (work / "c.toml").write_text(
        f'file_sizes = "0"\nvisits = 1\n[target]\npath = "{directory}"\n[sweep]\nnrfiles = {FILES}\nnumjobs = 1\n'
    )
    shutil.rmtree(work / "out", ignore_errors=True)
    tool = [sys.executable, "-m", "ioatlas"]
    subprocess.run(
        [*tool, "map", "--campaign", str(work / "c.toml"), "-o", str(work / "out"), "--yes"],
        check=True,
        capture_output=True,
    )
    shown = subprocess.run([*tool, "show", str(work / "out"), "--json"], check=True, capture_output=True, text=True)
    return {row["operation"]: row["iops"] for row in json.loads(shown.stdout)["rows"]}


def of_bonnie(directory: Path) -> dict[str, float]:
    """Its test of small files in sequence; it prints +++++ where a phase was too short to tell."""
    command = ["bonnie++", "-q", "-u", "root", "-d", str(directory), "-s", "0", "-n", str(FILES // 1024), "-m", "x"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().splitlines()[-1]
    fields = said.split(",")
    begin = fields.index(str(FILES // 1024)) if str(FILES // 1024) in fields else 0
    words = [word for word in fields[begin + 1 :] if word]
    told = dict(zip(("create", "stat", "delete"), words[0:6:2], strict=False))
    return {name: float(word) for name, word in told.items() if word.replace(".", "").isdigit()}


def of_fs_mark(directory: Path) -> dict[str, float]:
    """New empty files in one directory, not flushed; it closes each."""
    place = directory / "fs_mark"
    place.mkdir()
    try:
        command = ["fs_mark", "-d", str(place), "-n", str(FILES), "-s", "0", "-S", "0", "-t", "1", "-L", "1"]
        said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=directory).stdout
        rows = [line.split() for line in said.splitlines() if line.split() and line.split()[0].isdigit()]
        return {"create": float(rows[-1][3])}
    finally:
        shutil.rmtree(place)
        for log in directory.glob("fs_log*"):
            log.unlink()


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("directory", type=Path)
    asked.add_argument("--rounds", type=int, default=3)
    told = asked.parse_args()
    found: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as work:
        for _ in range(told.rounds):
            ours = of_ioatlas(told.directory, Path(work))
            for name, rates in (
                ("ioatlas", ours),
                ("bonnie++", of_bonnie(told.directory)),
                ("fs_mark", of_fs_mark(told.directory)),
            ):
                for operation, rate in rates.items():
                    found.setdefault(operation, {}).setdefault(name, []).append(rate)
    print("operation  program   files/s, median of rounds   over ioatlas")
    for operation, programs in found.items():
        base = median(programs["ioatlas"])
        for name, rates in programs.items():
            each = ", ".join(f"{rate:,.0f}" for rate in rates)
            print(f"{operation:<10} {name:<9} {median(rates):>12,.0f} ({each})   {median(rates) / base:.2f}")


if __name__ == "__main__":
    main()
