# SPDX-License-Identifier: Apache-2.0
"""What came of a campaign's rounds, computed anew from its journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from ioatlas.answer.analysis.rounds import (
    RoundsResult,
    result_of,
    rounds_chart,
    rounds_doubts,
    rounds_estimates,
    rounds_finding,
    rounds_headline,
    rounds_of,
    rounds_table,
)
from ioatlas.answer.results.parts import ResultParts
from ioatlas.measure.procedures.options import SniaOptions
from ioatlas.measure.procedures.snia.plan import part_of, pass_name, passes_of
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding
from ioatlas.model.outcomes import SniaPass, SniaPasses
from ioatlas.model.result import CampaignResult
from ioatlas.model.visit import Visit
from ioatlas.plan.snia import PROCEDURES, deviations
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.journal import Journal


class RoundsParts(ResultParts):
    """The passes of a test in rounds; those that were not begun have no result."""

    in_replicates = False

    def __init__(self, journal: Journal, spec: CampaignSpec) -> None:
        super().__init__(journal, spec)
        self._results: list[RoundsResult] = []
        self._findings: list[Finding] = []

    def estimates(self, cells: Mapping[str, Cell], visits: Sequence[Visit]) -> tuple[Estimate, ...]:  # noqa: ARG002
        journal, spec, test = self.journal, self.spec, self.spec.of(SniaOptions).snia
        assert test is not None
        procedure, known = PROCEDURES[test], journal.kept(SniaPasses).passes
        sizes = {target.name: target.size_bytes for target in journal.targets()}
        estimates: list[Estimate] = []
        for made in passes_of(journal, test):
            target = made[0].target
            facts = known.get(pass_name(procedure, target, made), SniaPass())
            rounds = rounds_of(test, made, visits, facts.first)
            if not rounds.complete:
                continue
            all_cells = [cell for cell, _ in journal.cells() if cell.target == target]
            odd = deviations(test, all_cells, window_seconds=spec.window_seconds, capacity_bytes=sizes[target])
            result = result_of(
                rounds, ended=facts.ended, part=part_of(procedure, made), purge=facts.purge, deviations=odd
            )
            self._results.append(result)
            estimates += rounds_estimates(rounds, result)
            self._findings.append(rounds_finding(result, (rounds.tracked.key,)))
        return tuple(estimates)

    def findings(self, result: CampaignResult) -> tuple[Finding, ...]:  # noqa: ARG002
        return tuple(self._findings)

    def finish(self, result: CampaignResult, visits: Sequence[Visit]) -> CampaignResult:  # noqa: ARG002
        return replace(
            result,
            records={"rounds": [asdict(one) for one in self._results]},
            shown_as="tables",
            headlines=tuple(
                rounds_headline(one, several=len(result.targets) > 1)
                for one in self._results
                if one.average is not None
            ),
            doubts=rounds_doubts(self._results),
            charts=tuple(map(rounds_chart, self._results)),
            tables=(*map(rounds_table, self._results), *result.tables),
        )
