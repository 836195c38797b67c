# SPDX-License-Identifier: Apache-2.0
"""Rates of creating, looking at and deleting files: ioatlas (fio) beside mdtest, bonnie++ and fs_mark.

    python bench/metadata/run.py [DIRECTORY] [--rounds 6] [--files 16384]    # without a directory: as root

Without a directory every run of every program gets a new ext4 in memory, so that all meet the same state and no disk.
With one, each gets a new directory there, after everything was flushed. Programs come in another random order in each
round. ioatlas runs twice a round: what its own two runs differ by is the noise that the others are held against.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from math import exp, log, sqrt
from pathlib import Path

from ioatlas.stats.distributions import t_quantile

Rates = dict[str, float]
IMAGE_BYTES = 1 << 30
OURS, AGAIN = "ioatlas", "ioatlas again"


def of_ioatlas(directory: Path, files: int) -> Rates:
    """One visit of empty files in one directory by one job."""
    with tempfile.TemporaryDirectory() as scratch:
        campaign, out = Path(scratch, "c.toml"), Path(scratch, "out")
        campaign.write_text(
            f'file_sizes = "0"\nvisits = 1\n[target]\npath = "{directory}"\n[sweep]\nnrfiles = {files}\nnumjobs = 1\n'
        )
        tool = [sys.executable, "-m", "ioatlas"]
        made = [*tool, "map", "--campaign", str(campaign), "-o", str(out), "--yes"]
        subprocess.run(made, check=True, capture_output=True)
        shown = subprocess.run([*tool, "show", str(out), "--json"], check=True, capture_output=True, text=True)
    return {row["operation"]: row["iops"] for row in json.loads(shown.stdout)["rows"]}


def of_mdtest(directory: Path, files: int) -> Rates:
    """Empty files in one directory by one task."""
    command = ["mdtest", "-F", "-C", "-T", "-r", "-n", str(files), "-d", str(directory)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    names = {"File creation": "create", "File stat": "stat", "File removal": "delete"}
    lines = (line.strip() for line in said.splitlines())
    return {names[line[:20].strip()]: float(line.split()[-2]) for line in lines if line[:20].strip() in names}


def of_bonnie(directory: Path, files: int) -> Rates:
    """Its test of small files in sequence; it prints +++++ where a phase was too short to tell."""
    count = str(files // 1024)
    command = ["bonnie++", "-q", "-u", "root", "-d", str(directory), "-s", "0", "-n", count, "-m", "x"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().splitlines()[-1]
    fields = said.split(",")
    # After the number of files come four empty fields, then rate and CPU of create, stat and delete.
    words = [word for word in fields[fields.index(count) + 1 :] if word]
    told = dict(zip(("create", "stat", "delete"), words[0:6:2], strict=True))
    return {name: float(word) for name, word in told.items() if word.replace(".", "").isdigit()}


def of_fs_mark(directory: Path, files: int) -> Rates:
    """New empty files in one directory, not flushed; it closes each."""
    command = ["fs_mark", "-d", str(directory), "-n", str(files), "-s", "0", "-S", "0", "-t", "1", "-L", "1"]
    with tempfile.TemporaryDirectory() as scratch:
        said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=scratch).stdout
    rows = [line.split() for line in said.splitlines() if line.split() and line.split()[0].isdigit()]
    return {"create": float(rows[-1][3])}


PROGRAMS: dict[str, Callable[[Path, int], Rates]] = {
    OURS: of_ioatlas,
    AGAIN: of_ioatlas,
    "mdtest": of_mdtest,
    "bonnie++": of_bonnie,
    "fs_mark": of_fs_mark,
}


@contextlib.contextmanager
def place(directory: Path | None) -> Iterator[Path]:
    """An empty directory in a state that is the same each time, with nothing waiting to be written."""
    with contextlib.ExitStack() as stack:
        if directory is None:
            top = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
            image, here = top / "image", top / "mount"
            here.mkdir()
            with image.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, IMAGE_BYTES)
            lazy = "lazy_itable_init=0,lazy_journal_init=0"
            subprocess.run(["mkfs.ext4", "-q", "-F", "-E", lazy, image], check=True)
            subprocess.run(["mount", "-o", "loop,noatime", image, here], check=True)
            stack.callback(subprocess.run, ["umount", here], check=True)
        else:
            here = Path(tempfile.mkdtemp(dir=directory))
            stack.callback(shutil.rmtree, here)
        made = here / "names"
        made.mkdir()
        os.sync()
        with contextlib.suppress(OSError):
            Path("/proc/sys/vm/drop_caches").write_text("3")
        yield made


def ratio(above: list[float], below: list[float]) -> tuple[float, float, float]:
    """(mean, low, high) of the ratio of two programs, round by round: 95% interval of the mean of logarithms."""
    logs = [log(one / other) for one, other in zip(above, below, strict=True)]
    mean = statistics.fmean(logs)
    half = t_quantile(0.975, len(logs) - 1) * statistics.stdev(logs) / sqrt(len(logs))
    return exp(mean), exp(mean - half), exp(mean + half)


def table(found: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    """A line for each operation of each program."""
    yield "operation  program        files/s, median   over ioatlas, round by round"
    for operation, programs in found.items():
        ours = programs[OURS]
        for name, rates in programs.items():
            line = f"{operation:<10} {name:<14} {statistics.median(rates):>15,.0f}"
            if name == OURS:
                yield f"{line}   {min(rates):,.0f} to {max(rates):,.0f}"
            elif len(rates) < len(ours):
                yield f"{line}   told in {len(rates)} of {len(ours)} rounds"
            else:
                mean, low, high = ratio(rates, ours)
                yield f"{line}   {mean:.2f} ({low:.2f} to {high:.2f}){'' if low <= 1 <= high else '  differs'}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=6, help="two or more")
    parser.add_argument("--files", type=int, default=16 * 1024, help="a multiple of 1,024, as bonnie++ counts")
    asked = parser.parse_args()
    programs = [name for name in PROGRAMS if name.split()[0] == OURS or shutil.which(name)]
    order, found = random.Random(1), dict[str, dict[str, list[float]]]()
    for number in range(asked.rounds):
        for name in order.sample(programs, len(programs)):
            with place(asked.directory) as here:
                rates = PROGRAMS[name](here, asked.files)
            for operation, rate in rates.items():
                found.setdefault(operation, {one: [] for one in programs})[name].append(rate)
        print(f"round {number + 1} of {asked.rounds}", file=sys.stderr, flush=True)
    shared = {name: {who: rates for who, rates in each.items() if rates} for name, each in found.items()}
    absent = sorted(set(PROGRAMS) - set(programs))
    print(f"{asked.files:,} empty files, {asked.rounds} rounds" + (f"; not installed: {absent}" if absent else ""))
    print("\n".join(table(shared)))


if __name__ == "__main__":
    main()
