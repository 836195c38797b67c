# SPDX-License-Identifier: Apache-2.0
"""The answers as findings of a campaign's result; the loads stand in its map like any others."""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas.analysis.load_curve import STREAM, apart
from ioatlas.model.cell import Cell
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.result import CampaignResult
from ioatlas.model.visit import Visit
from ioatlas.procedures.fit.fits import carried, load_fits, requirement_text
from ioatlas.procedures.fit.plan import PHASE
from ioatlas.procedures.options import FitOptions
from ioatlas.results.parts import Axes, ResultParts, Row

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
        def told(title: str, text: str, target: str = "") -> Finding:
            return Finding(FindingCode.FIT, text, title=title, place="map", target=target)

        found, fits = [], load_fits(self.journal)
        if self.spec.of(FitOptions).fit_max:
            most = carried(fits)
            found.append(told("How many it carries", most.sentence))
            fits = most.told
        for fit in fits:
            found.append(told(f"Fit for {fit.use.name}", fit.sentence, fit.target))
            for number, (_, one) in enumerate(fit.judged, 1):
                found.append(told(f"{fit.use.name}, requirement {number}", requirement_text(one), fit.target))
        return tuple(found)
