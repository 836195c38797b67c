# SPDX-License-Identifier: Apache-2.0
"""The answers as findings of a campaign's result; the loads stand in its map like any others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from ioatlas.answer.analysis.load_curve import STREAM, apart
from ioatlas.answer.analysis.trust import IDLE, again
from ioatlas.answer.results.parts import Axes, ResultParts, Row
from ioatlas.measure.procedures.fit.fits import Carried, Fit, carried, load_fits, requirement
from ioatlas.measure.procedures.fit.plan import PHASE
from ioatlas.measure.procedures.fit.verdict import Answer
from ioatlas.measure.procedures.options import FitOptions
from ioatlas.model.cell import Cell
from ioatlas.model.finding import Finding
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import Doubt, DoubtCode, Trust
from ioatlas.model.units import round_budget
from ioatlas.model.visit import Visit

NAMED = ("rw", "bs", "numjobs", "iodepth")


class FitParts(ResultParts):
    """A finding for each use, then one for each requirement."""

    attributed = False
    in_replicates = False

    def rows(self, rows: list[Row], visits: list[Visit]) -> tuple[list[Row], list[Visit]]:
        plain = {cell.key for cell, _ in rows if not cell.streams}
        streams, made = apart([cell for cell, _ in rows if cell.streams], visits)
        kept = [row for row in rows if row[0].key in plain]
        return [*kept, *((cell, "") for cell in streams.values())], [
            *(visit for visit in visits if visit.cell_key in plain),
            *made,
        ]

    def axes(self, cells: Mapping[str, Cell]) -> Axes:
        axes: Axes = {}
        for name in (PHASE, STREAM, *NAMED):
            values = tuple(dict.fromkeys(cell.option[name] for cell in cells.values() if name in cell.option))
            if len(values) > 1 or name in NAMED[:2]:
                axes[name] = values
        return axes

    def findings(self, result: CampaignResult) -> tuple[Finding, ...]:  # noqa: ARG002
        most, fits = self._answers
        found = [most.finding] if most else []
        for fit in fits:
            found.append(fit.finding)
            found += [requirement(one, fit.use, n, fit.target) for n, (_, one) in enumerate(fit.judged, 1)]
        return tuple(found)

    def finish(self, result: CampaignResult, visits: Sequence[Visit]) -> CampaignResult:  # noqa: ARG002
        """Its findings are the answer. What a load gives that is told its rate is no speed of the target."""
        doubts = tuple(self._doubts())
        return replace(result, headlines=(), shown_as="tables", doubts=doubts, is_map=False, has_small=False)

    @cached_property
    def _answers(self) -> tuple[Carried | None, Sequence[Fit]]:
        """How many a target carries, where that was asked; and the fits that are told."""
        fits = load_fits(self.journal)
        most = carried(fits) if self.spec.of(FitOptions).fit_max else None
        return most, fits if most is None else most.around

    def _doubts(self) -> Iterator[Doubt]:
        """That not all is decided, and how long it would take."""
        most, fits = self._answers
        left = [fit for fit in fits if fit.answer is Answer.UNDECIDED]
        if not left or (most and most.answer is not Answer.UNDECIDED):
            return
        more = [fit.more_seconds for fit in left]
        known, budget = [one for one in more if one is not None], self.spec.budget_seconds
        advice = IDLE if any(fit.waited for fit in left) else None
        if known and budget is not None:
            advice = again(f"--budget {round_budget(budget + sum(known))}")
        yield Doubt(DoubtCode.NUMBER, Trust.LOW, {"uses": [fit.use.name for fit in left]}, advice)
