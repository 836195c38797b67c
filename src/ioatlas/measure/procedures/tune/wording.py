# SPDX-License-Identifier: Apache-2.0
"""The answer of a search in words, as JSON, and as a fio job to be run by hand."""

from __future__ import annotations

import json
from typing import Any

from ioatlas import __version__
from ioatlas.answer.analysis.wording import size_text
from ioatlas.answer.results.library import REPORT
from ioatlas.load.fio.jobfile import JobSection, render_job
from ioatlas.measure.procedures.tune.result import Best, Tuning, closed_cell, load_tuning
from ioatlas.model.cell import Cell
from ioatlas.model.options import JobValue
from ioatlas.model.target import Target
from ioatlas.model.units import format_count, format_latency, format_rate, format_size_rounded
from ioatlas.plan.latency_search import Goal
from ioatlas.store import confined
from ioatlas.store.journal import Journal
from ioatlas.target.sites import place_of


def asked(goal: Goal) -> str:
    """'99% within 5 ms'."""
    if goal.limit_ns is None:
        return "most IOPS, no latency limit"
    return f"{'99%' if goal.quantity == 'p99' else 'mean latency'} within {format_latency(goal.limit_ns)}"


def load_text(cell: Cell) -> str:
    """'4 KiB random read', 'mixed sizes random read and write, 67% reads'."""
    size = size_text(cell.option.get("bs", cell.bs_bytes)) if "bssplit" not in cell.option else "mixed sizes"
    share = f", {cell.option['rwmixread']}% reads" if "rwmixread" in cell.option else ""
    order = "random" if cell.rw.startswith("rand") else "sequential"
    return f"{size} {order} {' and '.join(cell.directions)}{share}"


def setting(best: Best) -> str:
    """In fio's options."""
    return f"numjobs={best.numjobs} iodepth={best.iodepth}"


def figures(best: Best) -> str:
    """'62.1 k IOPS (55 k to 70 k), 242 MiB/s, p99 3.49 ms'."""
    low, high = best.iops_low, best.iops_high
    interval = f" ({format_count(low)} to {format_count(high)})" if low and high else ""
    parts = [f"{format_count(best.iops)} IOPS{interval}", format_rate(best.bw_bytes_per_s)]
    parts += [f"mean {format_latency(best.lat_mean_ns)}"] if best.lat_mean_ns is not None else []
    parts += [f"p99 {format_latency(best.lat_p99_ns)}"] if best.lat_p99_ns is not None else []
    return ", ".join(parts)


RESULT, JOB = "tune.json", "best.fio"
SECONDS = 10
FILE = "ioatlas-by-hand"


def keep_answer(journal: Journal) -> dict[str, Any]:
    """The answer of a search, written beside its journal: as JSON, and the best setting as a job."""
    directory, tuning = journal.directory, load_tuning(journal)
    job = str(directory / JOB) if tuning.best else None
    if tuning.best is not None:
        cell = closed_cell((tuning.best.numjobs, tuning.best.iodepth), (cell for cell, _ in journal.cells()))
        confined.write_text(directory / JOB, best_job(tuning, tuning.best, cell, journal.targets()[0]), in_root=True)
    told = {"directory": str(directory), **tuning.as_json(), "report": str(directory / REPORT), "job": job}
    confined.write_text(directory / RESULT, json.dumps(told, indent=1) + "\n", in_root=True)
    return told


def best_job(tuning: Tuning, best: Best, cell: Cell, target: Target) -> str:
    """The text of the job file. Raises UsageError for a place that fio cannot read from a job file."""
    options: dict[str, JobValue] = {**dict(_place(cell, target)), **cell.option}
    options |= {"time_based": 1, "runtime": f"{SECONDS}s"}
    common: dict[str, JobValue] = {"thread": 1, "group_reporting": 1, "lat_percentiles": 1, "clat_percentiles": 0}
    if target.kind != "directory":
        common["allow_file_create"] = 0  # a name typed wrong makes no file
    comments = [
        f"ioatlas {__version__}: best setting for {load_text(cell)}, {asked(tuning.goal)}",
        f"measured in a closed loop: {figures(best)}",
        "run it: fio best.fio",
        *_warnings(cell, target),
    ]
    return "".join(f"; {line}\n" for line in comments) + render_job([JobSection("best", options)], common)


def _place(cell: Cell, target: Target) -> tuple[tuple[str, JobValue], ...]:
    if target.kind != "directory":
        return place_of(target)
    if cell.sharing == "private":
        return (("directory", target.location), ("filename_format", f"{FILE}.$jobnum"))
    return (("filename", f"{target.location.rstrip('/')}/{FILE}"),)


def _warnings(cell: Cell, target: Target) -> list[str]:
    if target.kind == "directory":
        size = format_size_rounded(cell.end_bytes)
        return [f"it first lays out {FILE} ({size}) in the directory and leaves it there: delete it afterwards"]
    return ["it OVERWRITES what lies on the target"] if cell.writes else []
