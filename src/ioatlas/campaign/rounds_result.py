# SPDX-License-Identifier: Apache-2.0
"""What came of a campaign's rounds, and what was written where before each visit, computed anew from its journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ioatlas.analysis.footprints import Written, written_before
from ioatlas.analysis.rounds import result_of, rounds_estimates, rounds_finding, rounds_of
from ioatlas.campaign.placing import Places
from ioatlas.campaign.preparation import STEPS
from ioatlas.campaign.rounds import OUTCOME, part_of, pass_name, passes_of
from ioatlas.campaign.spec import CampaignSpec
from ioatlas.design.snia import PROCEDURES, deviations
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.result import Finding
from ioatlas.model.rounds import RoundsResult
from ioatlas.model.visit import Visit
from ioatlas.store.journal import Journal


@dataclass(frozen=True)
class RoundsOutcome:
    """All passes of a campaign: their results, the estimates of their cells, a finding for each."""

    results: tuple[RoundsResult, ...]
    estimates: tuple[Estimate, ...]
    findings: tuple[Finding, ...]


def load_rounds(journal: Journal, spec: CampaignSpec, visits: Sequence[Visit]) -> RoundsOutcome:
    """The passes of a test in rounds; those that were not begun have no result."""
    assert spec.snia is not None
    procedure, known = PROCEDURES[spec.snia], journal.outcomes().get(OUTCOME, {})
    sizes = {target.name: target.size_bytes for target in journal.targets()}
    results: list[RoundsResult] = []
    estimates: list[Estimate] = []
    found: list[Finding] = []
    for cells in passes_of(journal, spec.snia):
        target = cells[0].target
        facts = known.get(pass_name(procedure, target, cells), {})
        rounds = rounds_of(spec.snia, cells, visits, facts.get("first", 0))
        if not rounds.complete:
            continue
        all_cells = [cell for cell, _ in journal.cells() if cell.target == target]
        odd = deviations(spec.snia, all_cells, window_seconds=spec.window_seconds, capacity_bytes=sizes[target])
        result = result_of(rounds, ended=facts.get("ended", ""), part=part_of(procedure, cells), purge=facts.get("purge", ""), deviations=odd)
        results.append(result)
        estimates += rounds_estimates(rounds, result)
        found.append(rounds_finding(result, (rounds.tracked.key,)))
    return RoundsOutcome(tuple(results), tuple(estimates), tuple(found))


def load_history(journal: Journal, cells: Mapping[str, Cell], visits: Sequence[Visit]) -> dict[int, Written]:
    """What had been written to the footprint of each visit when it began, by visit_id."""
    places = Places(cell for cell, _ in journal.cells())
    steps = {step.what for each in STEPS.values() for step in each}
    prepared: dict[str, list[float]] = {}
    for at, target, what, _ in journal.ledger_in_time():
        if what in steps:
            prepared.setdefault(target, []).append(at)
    return written_before(cells, visits, places.footprint, prepared)
