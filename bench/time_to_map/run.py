# SPDX-License-Identifier: Apache-2.0
"""Time to the map of a target: `ioatlas map` on a few cells against bench-fio (fio-plot) over the full grid, in one
run, both judged by a reference pass.

    python bench/time_to_map/run.py [--directory DIR] [--cells 96] [--state STATE]     about 65 minutes python
    bench/time_to_map/run.py --quick                                            about 3 minutes, a reduced grid: checks
    the script

The grid is that of examples/campaigns/seed2021.toml: read write x 12 sizes x 10 block sizes x 8 numjobs, 1,920 cells,
16 of them not admissible (a block larger than the file). bench-fio has no size axis: it runs once for each size,
windows of 1 s (its shortest), same engine, same file, direct. Order: bench-fio over half of the sizes, ours, the
reference pass, bench-fio over the other half, ours again. So the reference lies in the middle, and drift of the
machine is no tool's advantage; both runs of ours are judged.

Ours is charged with the whole command: lay-out of the file, all loads, clean-up, report. Cells that the law does not
tell are in none of its figures. bench-fio is charged with its commands alone; its file is laid out before. The
reference is `ioatlas map` over every cell, one visit.

Stages that are done are kept in the state directory; the same command goes on from there. bench-fio 1.1.21 comes from
PyPI into a virtual environment of its own. Needs fio and a directory with 5 GiB free on a disk that takes direct I/O.
Writes RESULT.md when the grid is the full one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ioatlas.measure.campaign import load_result
from ioatlas.measure.procedures.options import read_campaign_file

SEED2021 = Path(__file__).parents[2] / "examples" / "campaigns" / "seed2021.toml"
PEER = "fio-plot==1.1.21"
WINDOW_SECONDS = 1
ENGINE = "psync"
CONFIDENCE = 0.95
RESAMPLES = 4000
Key = str
"""rw, size, bs and numjobs of a cell, joined by blanks: keys of JSON objects."""


@dataclass(frozen=True)
class Grid:
    """Values of the axes. campaign: the campaign file's text; None: the profile as it is."""

    rw: tuple[str, ...]
    size: tuple[int, ...]
    bs: tuple[int, ...]
    numjobs: tuple[int, ...]
    profile: bool

    @property
    def count(self) -> int:
        return len(self.rw) * len(self.size) * len(self.bs) * len(self.numjobs)

    def campaign(self) -> str:
        axes = "\n".join(
            f"{name} = {json.dumps(list(getattr(self, name)))}" for name in ("rw", "size", "bs", "numjobs")
        )
        return f"[sweep]\n{axes}\nioengine = {json.dumps(ENGINE)}\n"


def full_grid() -> Grid:
    axes = read_campaign_file(SEED2021).axes
    return Grid(*(tuple(axes[name]) for name in ("rw", "size", "bs", "numjobs")), profile=True)  # type: ignore[arg-type]


QUICK = Grid(
    ("read", "write"), (64 << 20, 256 << 20), (4 << 10, 32 << 10, 256 << 10, 2 << 20), (1, 4, 16, 64), profile=False
)


def key(rw: str, size: int, bs: int, numjobs: int) -> Key:
    return f"{rw} {size} {bs} {numjobs}"


def run(command: list[str], log: Path) -> float:
    """Wall seconds of a command; ends the program when it fails."""
    begun = time.monotonic()
    with log.open("a") as out:
        out.write(f"\n$ {' '.join(command)}\n")
        out.flush()
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}, see {log}")
    return time.monotonic() - begun


def ours(grid: Grid, target: Path, work: Path, extra: list[str]) -> dict[str, Any]:
    """One `ioatlas map`; values: I/Os per second by cell, which were measured, and the error that the map states."""
    campaign_file = work / "grid.toml"
    campaign_file.write_text(grid.campaign())
    what = ["--campaign", str(SEED2021)] if grid.profile else ["--campaign", str(campaign_file)]
    directory = work / "campaign"
    command = [
        str(Path(sys.executable).parent / "ioatlas"),
        "map",
        str(target),
        *what,
        *extra,
        "-o",
        str(directory),
        "--yes",
    ]
    seconds = run(command, work / "log")
    result = load_result(directory)
    values, measured = {}, []
    for estimate in result.estimates:
        if estimate.iops:
            name = key(estimate.cell.rw, estimate.cell.size_bytes, estimate.cell.bs_bytes, estimate.cell.numjobs)
            values[name] = estimate.iops
            if estimate.kind == "measured":
                measured.append(name)
    return {
        "seconds": seconds,
        "values": values,
        "measured": measured,
        "visits": result.n_visits,
        "discarded": result.n_discarded,
    }


def theirs(grid: Grid, size: int, bench_fio: Path, file: Path, work: Path) -> dict[str, Any]:
    """bench-fio over one size of the grid; the file is laid out."""
    out = work / "out"
    blocks = [str(bs) for bs in grid.bs if bs <= size]
    command = [
        str(bench_fio),
        "--target",
        str(file),
        "--type",
        "file",
        "--size",
        str(size),
        "--output",
        str(out),
        "--mode",
        *grid.rw,
        "--block-size",
        *blocks,
        "--iodepth",
        "1",
        "--numjobs",
        *map(str, grid.numjobs),
        "--engine",
        ENGINE,
        "--runtime",
        str(WINDOW_SECONDS),
        "--time-based",
        "--destructive",
        "--quiet",
    ]
    seconds = run(command, work / "log")
    values: dict[Key, float] = {}
    for path in out.rglob("*.json"):
        done = json.loads(path.read_text())
        options = {**done.get("global options", {}), **done["jobs"][0]["job options"]}
        rw = str(options["rw"])
        iops = sum(job[rw]["total_ios"] / (job[rw]["runtime"] / 1000) for job in done["jobs"] if job[rw]["runtime"])
        if iops:
            values[key(rw, size, _bytes(str(options["bs"])), int(options["numjobs"]))] = iops
    shutil.rmtree(out)
    return {"seconds": seconds, "values": values, "cells": len(blocks) * len(grid.rw) * len(grid.numjobs)}


def _bytes(text: str) -> int:
    units = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
    return int(text[:-1]) * units[text[-1].lower()] if text[-1].lower() in units else int(text)


class Stages:
    """What is done already, one JSON file a stage."""

    def __init__(self, state: Path) -> None:
        self.state = state
        state.mkdir(parents=True, exist_ok=True)

    def make(self, name: str, stage: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
        """The stage's result: from its file, else by running it in a fresh directory of its own. A stage that was cut
        off starts again.
        """
        done = self.state / f"{name}.json"
        if not done.exists():
            print(f"{datetime.now(UTC):%H:%M:%S} {name}", file=sys.stderr, flush=True)
            work = self.state / name
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            load = os.getloadavg()[0]
            made = {**stage(work), "load_before": load, "at": datetime.now(UTC).isoformat(timespec="seconds")}
            part = done.with_suffix(".part")
            part.write_text(json.dumps(made))
            part.rename(done)
        return json.loads(done.read_text())  # type: ignore[no-any-return]


def errors(values: dict[Key, float], truth: dict[Key, float], keys: list[Key]) -> np.ndarray:
    return np.array([abs(values[k] / truth[k] - 1) for k in keys if k in values and k in truth])


def spoken(found: np.ndarray) -> tuple[str, str]:
    """(median, P90), each with its 95% interval: cells drawn with replacement."""
    if not len(found):
        return "none", "none"
    rng = np.random.default_rng(1)
    drawn = found[rng.integers(0, len(found), (RESAMPLES, len(found)))]
    texts = []
    for q in (0.5, 0.9):
        low, high = np.quantile(np.quantile(drawn, q, axis=1), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        texts.append(f"{np.quantile(found, q):.1%} ({low:.1%} to {high:.1%})")
    return texts[0], texts[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"), help="where to measure (default: /var/tmp)")
    parser.add_argument("--cells", type=int, help="cells of ours (default: 96, quick 24)")
    parser.add_argument("--budget", help="time for ours, such as 3m, instead of a number of cells")
    parser.add_argument(
        "--state",
        type=Path,
        help="where finished stages are kept (default: ioatlas-time-to-map[-quick] in the directory); same command: "
        "goes on",
    )
    parser.add_argument("--quick", action="store_true", help="64 cells, to check the script; RESULT.md stays as it is")
    options = parser.parse_args()
    grid = QUICK if options.quick else full_grid()
    few = ["--cells", str(options.cells or (24 if options.quick else 96))]
    ask = ["--budget", options.budget] if options.budget else few
    state = options.state or options.directory / f"ioatlas-time-to-map{'-quick' if options.quick else ''}"
    stages = Stages(state)
    target, file = state / "target", state / "file"
    target.mkdir(exist_ok=True)

    def peer(work: Path) -> dict[str, Any]:
        venv.create(work / "venv", with_pip=True)
        run([str(work / "venv/bin/pip"), "install", "-q", "--disable-pip-version-check", PEER], work / "log")
        return {"bench_fio": str(work / "venv/bin/bench-fio")}

    def lay_out(work: Path) -> dict[str, Any]:
        job = (
            f"fio --name=lay-out --filename={file} --size={max(grid.size)} --rw=write --bs=1m --direct=1 "
            "--refill_buffers=1 --end_fsync=1"
        )
        return {"seconds": run(job.split(), work / "log")}

    bench_fio = Path(stages.make("peer", peer)["bench_fio"])
    stages.make("lay-out", lay_out)
    half = len(grid.size) // 2
    # Sizes by turns, so that neither half of bench-fio's time is all small files.
    turns = [grid.size[0::2], grid.size[1::2]] if half else [grid.size, ()]
    full = [
        stages.make(f"bench-fio-{size}", lambda work, size=size: theirs(grid, size, bench_fio, file, work))
        for size in turns[0]
    ]  # type: ignore[misc]
    ran = [stages.make("ours-1", lambda work: ours(grid, target, work, ask))]
    reference = stages.make("reference", lambda work: ours(grid, target, work, ["--visits", "1"]))
    full += [
        stages.make(f"bench-fio-{size}", lambda work, size=size: theirs(grid, size, bench_fio, file, work))
        for size in turns[1]
    ]  # type: ignore[misc]
    ran.append(stages.make("ours-2", lambda work: ours(grid, target, work, ask)))
    text = report(grid, ask, ran, full, reference)
    (state / "RESULT.md").write_text(text + "\n")
    if not options.quick:
        (Path(__file__).parent / "RESULT.md").write_text(text + "\n")
    print(text)
    file.unlink(missing_ok=True)


def report(
    grid: Grid, ask: list[str], ran: list[dict[str, Any]], full: list[dict[str, Any]], reference: dict[str, Any]
) -> str:
    truth = reference["values"]
    theirs_values = {k: v for part in full for k, v in part["values"].items()}
    theirs_seconds = sum(part["seconds"] for part in full)
    # The same cells for both: those of the reference that bench-fio gave a result for; ours has a value for every cell.
    keys = sorted(k for k in truth if k in theirs_values)
    fio = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    rows = [
        (
            "bench-fio, full grid, 1 s",
            theirs_seconds,
            errors(theirs_values, truth, keys),
            f"{len(theirs_values)} measured",
            "",
        )
    ]
    for number, one in enumerate(ran, 1):
        what = (
            f"{len(one['measured'])} measured in {one['visits']} visits, "
            f"{len(one['values']) - len(one['measured'])} predicted"
        )
        rows.append(
            (
                f"ioatlas map {' '.join(ask)}, run {number}",
                one["seconds"],
                errors(one["values"], truth, keys),
                what,
                f"{theirs_seconds / one['seconds']:.1f}",
            )
        )
    loads = ", ".join(
        f"{part['load_before']:.1f}" for part in sorted([*ran, *full, reference], key=lambda part: part["at"])
    )
    lines = [
        "# Time to the map",
        "",
        f"One command: `python bench/time_to_map/run.py{'' if grid.profile else ' --quick'} {' '.join(ask)}`.",
        "",
        (
            f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, {fio}, Python "
            f"{platform.python_version()}, {PEER}, {datetime.now(UTC):%Y-%m-%d}."
        ),
        f"Load average before each stage, with the up to {max(grid.numjobs)} jobs of the stage before in it: {loads}.",
        (
            f"Grid: {grid.count} cells = {' '.join(grid.rw)} x {len(grid.size)} sizes x {len(grid.bs)} bs x "
            f"{len(grid.numjobs)} numjobs"
        )
        + (
            " (examples/campaigns/seed2021.toml)"
            if grid.profile
            else " (reduced: this checks the script, nothing more)"
        )
        + f"; {ENGINE}, direct, one file shared by all jobs.",
        (
            "Order: bench-fio (half of the sizes), ours, reference, bench-fio (the others), ours again. A run that was "
            "stopped between two of these went on there."
        ),
        f"Reference: every cell once, {len(reference['measured'])} cells in {reference['seconds']:.0f} s.",
        "",
        (
            f"|value / reference - 1| of I/Os per second over the {len(keys)} cells that both have; 95% intervals by "
            "resampling cells:"
        ),
        "",
        "| | seconds | cells | median error | P90 error | times faster |",
        "|---|---|---|---|---|---|",
    ]
    for name, seconds, found, cells, ratio in rows:
        median, p90 = spoken(found)
        lines.append(f"| {name} | {seconds:.0f} | {cells} | {median} | {p90} | {ratio} |")
    lines += [
        "",
        "Ours, predicted and measured cells apart:",
        "",
        "| run | predicted: median | P90 | measured: median | P90 |",
        "|---|---|---|---|---|",
    ]
    for number, one in enumerate(ran, 1):
        measured = set(one["measured"])
        parts = [
            spoken(errors(one["values"], truth, [k for k in keys if (k in measured) is own])) for own in (False, True)
        ]
        lines.append(f"| {number} | {parts[0][0]} | {parts[0][1]} | {parts[1][0]} | {parts[1][1]} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
