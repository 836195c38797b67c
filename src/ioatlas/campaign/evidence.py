# SPDX-License-Identifier: Apache-2.0
"""What ceilings, caches and saturation say about a campaign's estimates, from the testbed of its last session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ioatlas.analysis.cache import judge_caches
from ioatlas.analysis.ceilings import Ceiling
from ioatlas.analysis.drift import block_states
from ioatlas.analysis.limits import ceilings_of, limit_finding
from ioatlas.analysis.saturation import iops_by_visit, saturation_findings
from ioatlas.campaign.counts import Counts
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.result import Finding
from ioatlas.model.testbed import Fact, Testbed
from ioatlas.model.visit import Visit


def testbeds(record: Mapping[str, Any]) -> dict[str, Testbed]:
    """The testbed of each target as a session recorded it."""
    beds = {}
    for name, bed in record["targets"].items():
        facts = tuple(Fact(**{"value": None, **fact}) for fact in bed["facts"])
        beds[name] = Testbed(bed["target"], bed["taken_at"], facts)
    return beds


def judge(
    estimates: Sequence[Estimate],
    fresh: Sequence[Estimate],
    visits: Iterable[Visit],
    beds: Mapping[str, Testbed],
    counts: Counts,
) -> tuple[tuple[Estimate, ...], tuple[Finding, ...]]:
    """The estimates with cache verdicts, and findings on caches, saturation and what limits the highest throughput.

    counts: claims against the counters of the targets' paths.
    """
    known: dict[tuple[str, int, str], Sequence[Ceiling]] = {}

    def ceilings(cell: Cell, direction: str) -> Sequence[Ceiling]:
        place = (cell.target, cell.bs_bytes, direction)
        if place not in known:
            bed = beds.get(cell.target)
            known[place] = ceilings_of(bed, cell.bs_bytes, direction) if bed is not None else ()
        return known[place]

    made = list(visits)
    caches = judge_caches(estimates, made, ceilings=ceilings, counted_bytes=_counted({e.cell.key: e.cell for e in estimates}, made, counts))
    marked = caches.mark(estimates)
    found = [*caches.findings(), *saturation_findings(marked, iops_by_visit(made))]
    found += _drift({e.cell.key: e.cell for e in estimates}, made)
    for direction in ("read", "write"):
        named = [e for e in fresh if e.direction == direction and e.bw_bytes_per_s]
        if named:
            best = max(named, key=lambda e: e.bw_bytes_per_s or 0.0)
            bounds = ceilings(best.cell, direction)
            if bounds:
                found.append(limit_finding(best.bw_bytes_per_s or 0.0, bounds, what=f"Highest {direction} throughput", iops=best.iops))
    return marked, tuple(found)


def _drift(cells: Mapping[str, Cell], visits: Sequence[Visit]) -> list[Finding]:
    """Blocks whose level left the others, or moved inside. They are told, not repeated: the intervals hold the shift already."""
    states = block_states(cells, visits)
    moved = [state for state in states if state.voided or state.shift]
    if not moved:
        return []
    several = len({state.target for state in states}) > 1
    told = "; ".join(f"{state.target}: {state.sentence}" if several else state.sentence for state in moved[:3])
    return [Finding("drift", f"{len(moved)} of {len(states)} random blocks drifted or lost more than a few windows: {told}.")]


def _counted(cells: Mapping[str, Cell], visits: Iterable[Visit], counts: Counts) -> dict[int, float]:
    """{visit_id: bytes counted} of visits that were alone in their batch, or whose batch's counters agree with the claims.

    Counters are read once a batch; where those of several visits disagree, which visit it was is not known and nothing is said of any.
    """
    known: dict[int, float] = {}
    for visit in visits:
        cell = cells.get(visit.cell_key)
        claimed = {part.direction: part.io_bytes for part in visit.parts if part.io_bytes}
        mine = {count.direction: count for count in counts.get((cell.target, visit.batch_id), ()) if count.claimed_bytes} if cell else {}
        if not claimed or not all(direction in mine for direction in claimed):
            continue
        shares = {direction: min(1.0, mine[direction].counted_bytes / mine[direction].claimed_bytes) for direction in claimed}
        alone = all(mine[direction].visits == 1 for direction in claimed)
        if alone or all(not mine[direction].failed for direction in claimed):
            known[visit.visit_id] = sum(size * shares[direction] for direction, size in claimed.items())
    return known
