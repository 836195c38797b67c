# SPDX-License-Identifier: Apache-2.0
"""What of a campaign's result a procedure may say otherwise; the methods here answer as for a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ioatlas.answer.analysis.estimates import estimate_cells
from ioatlas.answer.analysis.findings import map_findings
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding
from ioatlas.model.result import CampaignResult
from ioatlas.model.visit import Purpose, Visit
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.journal import Journal

Axes = dict[str, tuple[OptionValue, ...]]
Row = tuple[Cell, str]
"""A cell, and the reason why it is not measured; '' when it is."""


class ResultParts:
    """The parts of one campaign's result."""

    hidden_purposes: ClassVar[frozenset[Purpose]] = frozenset({Purpose.PROBE, Purpose.BESIDE})
    """Purposes of visits that are no visits of the result."""
    attributed: ClassVar[bool] = True
    """Whether counters and ceilings can tell its loads apart: what ran at once, they cannot."""
    claims_bytes: ClassVar[bool] = True
    """Whether its visits say how many bytes they moved, which counters can be held against."""
    in_replicates: ClassVar[bool] = True
    """Whether its visits are replicates of the same cells, whose drift can be told."""

    def __init__(self, journal: Journal, spec: CampaignSpec) -> None:
        self.journal = journal
        self.spec = spec

    def rows(self, rows: list[Row], visits: list[Visit]) -> tuple[list[Row], list[Visit]]:
        """Cells and visits as the map shows them."""
        return rows, visits

    def estimates(self, cells: Mapping[str, Cell], visits: Sequence[Visit]) -> tuple[Estimate, ...]:
        """A value with its interval for every cell and direction that was measured."""
        return estimate_cells(cells, visits, grade=self.spec.wanted)

    def axes(self, cells: Mapping[str, Cell]) -> Axes:
        """The axes on which the cells stand, each with its values in order."""
        axes: Axes = dict(self.spec.axes)
        for name in dict.fromkeys(name for pattern in self.spec.patterns for name in pattern):
            values = tuple(dict.fromkeys(pattern[name] for pattern in self.spec.patterns if name in pattern))
            if len(values) > 1:
                axes = {name: values, **axes}
        sizes = {cell.size_bytes for cell in cells.values()}
        if "size" in axes:
            # A target smaller than every size of the sweep is measured over its whole.
            known = dict.fromkeys([*axes["size"], *(cell.size_bytes for cell in cells.values())])
            axes["size"] = tuple(value for value in known if value in sizes)
        elif len(sizes) > 1:
            axes["size"] = tuple(sorted(sizes))
        return axes

    def findings(self, result: CampaignResult) -> tuple[Finding, ...]:
        """What its values say, from the result without findings."""
        return map_findings(result)

    def finish(self, result: CampaignResult, visits: Sequence[Visit]) -> CampaignResult:  # noqa: ARG002
        """The result with sections of its own."""
        return result
