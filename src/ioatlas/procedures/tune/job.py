# SPDX-License-Identifier: Apache-2.0
"""The best setting as a fio job to be run by hand."""

from __future__ import annotations

from ioatlas.fio.jobfile import JobSection, JobValue, render_job
from ioatlas.fio.uri import place_options
from ioatlas.model.cell import Cell
from ioatlas.model.target import Target
from ioatlas.model.units import format_size_rounded
from ioatlas.procedures.tune.result import Best, Tuning
from ioatlas.procedures.tune.wording import asked, figures, load_text

SECONDS = 10
FILE = "ioatlas-by-hand"


def best_job(tuning: Tuning, best: Best, cell: Cell, target: Target, version: str) -> str:
    """The text of the job file. Raises UsageError for a place that fio cannot read from a job file."""
    options: dict[str, JobValue] = {**dict(_place(cell, target)), **cell.option}
    options |= {"time_based": 1, "runtime": f"{SECONDS}s"}
    common: dict[str, JobValue] = {"thread": 1, "group_reporting": 1, "lat_percentiles": 1, "clat_percentiles": 0}
    if target.kind != "directory":
        common["allow_file_create"] = 0  # a name typed wrong makes no file
    comments = [
        f"ioatlas {version}: best setting for {load_text(cell)}, {asked(tuning.goal)}",
        f"measured in a closed loop: {figures(best)}",
        "run it: fio best.fio",
        *_warnings(cell, target),
    ]
    return "".join(f"; {line}\n" for line in comments) + render_job([JobSection("best", options)], common)


def _place(cell: Cell, target: Target) -> tuple[tuple[str, JobValue], ...]:
    if target.kind == "uri":
        return place_options(target.location)
    if target.kind != "directory":
        return (("filename", target.location),)
    if cell.sharing == "private":
        return (("directory", target.location), ("filename_format", f"{FILE}.$jobnum"))
    return (("filename", f"{target.location.rstrip('/')}/{FILE}"),)


def _warnings(cell: Cell, target: Target) -> list[str]:
    if target.kind == "directory":
        size = format_size_rounded(cell.end_bytes)
        return [f"it first lays out {FILE} ({size}) in the directory and leaves it there: delete it afterwards"]
    return ["it OVERWRITES what lies on the target"] if cell.writes else []
