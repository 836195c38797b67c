# SPDX-License-Identifier: Apache-2.0
"""The result of a fixed-work study: charts and tables beside the cells, and findings of its own in the place of a
map's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ioatlas.answer.analysis.ceilings import ceilings_of
from ioatlas.answer.analysis.fixed_work import agreement_table, agreements, charts, readings, sequence_findings
from ioatlas.answer.results.parts import ResultParts
from ioatlas.load.machine.typed_in import testbeds, typed_lines
from ioatlas.measure.procedures.fixed_work.options import FixedWorkOptions
from ioatlas.model.cell import Cell
from ioatlas.model.finding import FindingCode
from ioatlas.model.outcomes import KnownMemory
from ioatlas.model.panel import Line
from ioatlas.model.result import CampaignResult
from ioatlas.model.testbed import Testbed
from ioatlas.model.visit import Visit
from ioatlas.plan.spec import CampaignSpec

MAP_FINDINGS = frozenset({FindingCode.KNEE})
"""Findings that name extremes of a map or its lines along numjobs, which a fixed-work study has not, or that it words
itself.
"""


class SequenceParts(ResultParts):
    """Charts and tables beside the cells, and findings in the place of a map's."""

    def finish(self, result: CampaignResult, visits: Sequence[Visit]) -> CampaignResult:
        memories = self.journal.kept(KnownMemory).sizes_bytes
        beds = testbeds(self.journal.latest_testbed(), self.journal.directory)
        return with_order(result, self.spec, visits, beds, memories, typed_lines(self.journal.directory))


def with_order(
    result: CampaignResult,
    spec: CampaignSpec,
    visits: Iterable[Visit],
    beds: Mapping[str, Testbed],
    memories: Mapping[str, int],
    lines: Mapping[str, float],
) -> CampaignResult:
    """The result with what belongs to a fixed-work study. memories: bytes of the client and, where it was typed in, the
    server. lines: bytes per second of reference lines that were typed in.
    """
    cells: dict[str, Cell] = {estimate.cell.key: estimate.cell for estimate in result.estimates}
    found = readings(cells, visits)
    if not found:
        return result
    nine = spec.of(FixedWorkOptions).ordered == "iozone2017"
    compared = agreements(found)
    typed = [Line(name, value) for name, value in lines.items()]
    limits = {reading.cell.target: [*_limits(reading.cell, beds), *typed] for reading in reversed(found)}
    marks = [Line(f"memory of the {name}", float(value)) for name, value in memories.items()]
    return replace(
        result,
        charts=tuple(charts(found, by_operation=nine, limits=limits, marks=marks)),
        tables=(agreement_table(compared),) if compared else (),
        shown_as="charts",
        is_map=False,
        findings=(
            *sequence_findings(found, by_operation=nine),
            *(one for one in result.findings if one.code not in MAP_FINDINGS),
        ),
    )


def _limits(cell: Cell, beds: Mapping[str, Testbed]) -> Sequence[Line]:
    """Ceilings of the path, from arithmetic or typed in; of one target, the tightest of each name."""
    bed = beds.get(cell.target)
    if bed is None:
        return ()
    known: dict[str, float] = {}
    for direction in ("read", "write"):
        for one in ceilings_of(bed, cell.bs_bytes, direction):
            if one.bw_bytes_per_s:
                known[one.name] = min(one.bw_bytes_per_s, known.get(one.name, one.bw_bytes_per_s))
    return tuple(Line(name, value) for name, value in sorted(known.items(), key=lambda pair: pair[1]))
