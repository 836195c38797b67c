# SPDX-License-Identifier: Apache-2.0
"""What a session tells while it runs: how far it is, and every value as soon as it is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ioatlas.analysis.windows import window_values
from ioatlas.fio.batch import Batch
from ioatlas.model.application import WORK, is_work, work_of
from ioatlas.model.cell import Cell
from ioatlas.model.events import Event
from ioatlas.model.tree import is_tree, tree_operation
from ioatlas.model.visit import Visit


def progress_event(told: Mapping[str, float | None], batch: Batch, seconds: float) -> Event:
    """How far the session is, and which cell is measured now, so many seconds after the batch began."""
    at, end = 1000 * seconds, 0.0
    section = batch.sections[-1]
    for section in batch.sections:
        end += section.runtime_ms + section.gap_ms
        if at < end:
            break
    return Event("progress", {**told, "cell": section.cell.key, **axes_of(section.cell)})


def visit_events(visit: Visit, cell: Cell) -> Iterator[Event]:
    """A visit that counts: an event for each part."""
    for part in visit.parts:
        values = window_values(part, visit.window_start_ms)
        fields = {
            "cell": cell.key,
            **axes_of(cell),
            "direction": part.direction,
            "block": visit.replicate,
            "bw_bytes_per_s": round(values.bw_bytes_per_s, 1),
            "iops": round(values.iops, 2),
            "lat_mean_ns": values.lat_mean_ns,
            "lat_p99_ns": values.lat_p99_ns,
            "lat_kind": part.lat_kind,
            "verdict": visit.verdict.text,
            "purpose": visit.purpose,
        }
        yield Event("visit", fields)


def axes_of(cell: Cell) -> dict[str, object]:
    return {
        "target": cell.target,
        "rw": cell.rw,
        "bs_bytes": cell.bs_bytes,
        "size_bytes": cell.size_bytes,
        "numjobs": cell.numjobs,
        "iodepth": cell.iodepth,
        **({WORK: work_of(cell)} if is_work(cell) else {}),
        **({"operation": str(tree_operation(cell))} if is_tree(cell) else {}),
    }
