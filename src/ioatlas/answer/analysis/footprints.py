# SPDX-License-Identifier: Apache-2.0
"""What had been written to a visit's footprint when it began.

A read of what was just written at random is another measurement than a read of a file laid out in one piece: caches
are warm with it, log-structured storage has scattered it. Every read therefore carries what was written to its
bytes since they were prepared.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median

from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.units import format_size_rounded, grouped
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import Purpose, Visit

Place = Callable[[Cell], Hashable]


@dataclass(frozen=True)
class Written:
    """Bytes written to a footprint since it was prepared."""

    sequential_bytes: float = 0.0
    random_bytes: float = 0.0

    @property
    def total_bytes(self) -> float:
        return self.sequential_bytes + self.random_bytes


def written_before(
    cells: Mapping[str, Cell], visits: Iterable[Visit], place: Place, prepared: Mapping[str, Sequence[float]]
) -> dict[int, Written]:
    """What had been written to the bytes of every visit when it began, by visit_id.

    visits: all that ran, discarded ones and trials too: they wrote as well. place: what two cells have in common
    that work on the same
    bytes. prepared: times (seconds since the epoch) at which each target was written over in full, which is where
    counting starts. Bytes of a load that covers more than the visit's footprint count in proportion.
    """
    history: dict[Hashable, list[tuple[float, Cell, float]]] = {}
    times = {target: sorted(each) for target, each in prepared.items()}
    found: dict[int, Written] = {}
    for visit in sorted(visits, key=lambda each: (each.started_at, each.visit_id)):
        cell = cells.get(visit.cell_key)
        if cell is None:
            continue
        here = history.setdefault(place(cell), [])
        mine = times.get(cell.target, [])
        before = bisect_right(mine, visit.started_at)
        start = mine[before - 1] if before else 0.0
        sequential = random = 0.0
        for at, writer, size in here:
            if at >= start:
                share = size * _overlap(writer, cell)
                random, sequential = (
                    (random + share, sequential) if writer.rw.startswith("rand") else (random, sequential + share)
                )
        found[visit.visit_id] = Written(sequential, random)
        size = sum(part.io_bytes for part in visit.parts if part.direction != "read")
        if size:
            here.append((visit.started_at, cell, size))
    return found


def _overlap(writer: Cell, reader: Cell) -> float:
    """Share of a load's footprint that lies in another's."""
    low, high = max(writer.integer("offset", 0), reader.integer("offset", 0)), min(writer.end_bytes, reader.end_bytes)
    span = writer.end_bytes - writer.integer("offset", 0)
    jobs = min(1.0, reader.numjobs / writer.numjobs) if writer.sharing == "private" else 1.0
    return max(0, high - low) / span * jobs if span > 0 else 0.0


def with_history(
    estimates: Iterable[Estimate], visits: Iterable[Visit], history: Mapping[int, Written]
) -> tuple[Estimate, ...]:
    """The estimates with what was written to their footprint before, and notes that say so; reads of holes are
    marked as such.
    """
    by_cell = grouped(
        (visit.cell_key, visit) for visit in visits if not visit.discarded and visit.purpose is Purpose.SWEEP
    )
    return tuple(_marked(estimate, by_cell.get(estimate.cell.key, []), history) for estimate in estimates)


def _marked(estimate: Estimate, visits: Sequence[Visit], history: Mapping[int, Written]) -> Estimate:
    cell = estimate.cell
    if estimate.kind == "measured" and cell.state == "fresh" and estimate.direction == "read":
        # Also where the gates have discarded every visit, because the device's counters saw nothing of it.
        return replace(
            estimate,
            verdict=VerdictCode.HOLE,
            notes=(*estimate.notes, "read of a file without data: the drive was not asked"),
        )
    if estimate.kind != "measured" or not visits:
        return estimate
    if cell.state == "fresh":
        share = mean(
            part.io_bytes for visit in visits for part in visit.parts if part.direction == estimate.direction
        ) / max(1, cell.footprint_bytes)
        text = f"first writes to a new file: each visit wrote {share:.2g} times its length"
        return replace(
            estimate, notes=(*estimate.notes, text + ("; what exceeds it are overwrites" if share > 1 else ""))
        )
    used = [visit for visit in visits if visit.seed in estimate.seeds] if estimate.seeds else visits
    known = [history[visit.visit_id] for visit in used if visit.visit_id in history]
    if not known:
        return estimate
    before = median(one.total_bytes for one in known)
    if estimate.direction != "read" or not any(one.total_bytes for one in known):
        return replace(estimate, written_before_bytes=before)
    low, high = min(one.total_bytes for one in known), max(one.total_bytes for one in known)
    amount = (
        format_size_rounded(high) if high < 1.05 * low else f"{format_size_rounded(low)} to {format_size_rounded(high)}"
    )
    random = sum(one.random_bytes for one in known) / sum(one.total_bytes for one in known)
    text = f"read after {amount} of writes to this footprint, {random:.0%} of them random"
    return replace(estimate, written_before_bytes=before, notes=(*estimate.notes, text))
