# SPDX-License-Identifier: Apache-2.0
"""The answer of a search in words."""

from __future__ import annotations

from ioatlas.analysis.wording import plural, size_text
from ioatlas.design.latency_search import Goal
from ioatlas.model.cell import Cell
from ioatlas.model.units import format_count, format_latency, format_rate
from ioatlas.procedures.tune.result import Best, Tuning

ENDED = {
    "latency limit": "more load exceeds the limit",
    "throughput plateau": "more load gave no more IOPS",
    "max jobs/depth": "the search ended at --max-jobs or --max-depth: more may be possible",
    "client": "the client was the bottleneck: the target may do more",
    "a load that failed": "fio could not run more load",
    "budget": "the budget ended the search: more may be possible",
}
"""What ended a search, for people."""
_RW = {
    "read": "sequential read",
    "write": "sequential write",
    "randread": "random read",
    "randwrite": "random write",
    "rw": "sequential read and write",
    "readwrite": "sequential read and write",
    "randrw": "random read and write",
}


def asked(goal: Goal) -> str:
    """'99% within 5 ms'."""
    if goal.limit_ns is None:
        return "most IOPS, no latency limit"
    return f"{'99%' if goal.quantity == 'p99' else 'mean latency'} within {format_latency(goal.limit_ns)}"


def load_text(cell: Cell) -> str:
    """'4 KiB random read', 'mixed sizes random read and write, 67% reads'."""
    size = size_text(cell.option.get("bs", cell.bs_bytes)) if "bssplit" not in cell.option else "mixed sizes"
    share = f", {cell.option['rwmixread']}% reads" if "rwmixread" in cell.option else ""
    return f"{size} {_RW.get(cell.rw, cell.rw)}{share}"


def setting(best: Best) -> str:
    """In fio's options."""
    return f"numjobs={best.numjobs} iodepth={best.iodepth}"


def figures(best: Best) -> str:
    """'62.1 k IOPS (55 k to 70 k), 242 MiB/s, p99 3.49 ms'."""
    interval = (
        f" ({format_count(best.iops_low)} to {format_count(best.iops_high)})"
        if best.iops_low and best.iops_high
        else ""
    )
    parts = [f"{format_count(best.iops)} IOPS{interval}", format_rate(best.bw_bytes_per_s)]
    parts += [f"mean {format_latency(best.lat_mean_ns)}"] if best.lat_mean_ns is not None else []
    parts += [f"p99 {format_latency(best.lat_p99_ns)}"] if best.lat_p99_ns is not None else []
    return ", ".join(parts)


def evidence(tuning: Tuning, best: Best) -> str:
    """'5 confirming runs; more load gave no more IOPS'."""
    return f"{plural(best.n_visits, 'confirming run')}; {ENDED.get(tuning.limited_by, tuning.limited_by)}"


def best_sentence(tuning: Tuning, best: Best) -> str:
    return f"{asked(tuning.goal)}: {setting(best)} gives {figures(best)}. {evidence(tuning, best)}."


def none_sentence(tuning: Tuning) -> str:
    """Why there is no best setting."""
    if not tuning.outcome.loads:
        why = "no trial finished"
    elif tuning.refuted:
        why = "confirming runs kept none of the settings that the search named"
    else:
        why = "even one I/O at a time exceeds it"
    return f"No setting found for {asked(tuning.goal)}: {why}."
