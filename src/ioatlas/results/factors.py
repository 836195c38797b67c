# SPDX-License-Identifier: Apache-2.0
"""What the factors of a campaign's configurations do, as findings, charts and tables of its result."""

from __future__ import annotations

from dataclasses import replace

from ioatlas.analysis.factor_findings import factor_charts, factor_findings, factor_tables
from ioatlas.analysis.factors import combined, factor_effects
from ioatlas.analysis.wording import Namer
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.factors import FactorEffects, Load, Measured, Member, is_blocked
from ioatlas.model.result import CampaignResult
from ioatlas.model.verdict import LOWER_BOUND, VerdictClass, VerdictCode, verdict_class


def with_factors(result: CampaignResult) -> CampaignResult:
    """The result with what its factors do; as it was where it has no configurations."""
    if len(result.configurations) < 2:
        return result
    effects = campaign_effects(result)
    return replace(
        result,
        findings=(*result.findings, *factor_findings(effects, set_ups=_set_ups(result))),
        charts=(*factor_charts(effects), *result.charts),
        tables=(*factor_tables(effects), *result.tables),
    )


def _set_ups(result: CampaignResult) -> int:
    """How often each configuration was set up; 0 where they were measured in turns."""
    return (result.set_ups or 1) if is_blocked(result.configurations) else 0


def campaign_effects(result: CampaignResult) -> FactorEffects:
    """What the factors of its configurations do."""
    cells: dict[Load, Cell] = {}
    members = []
    for one in result.configurations:
        readings: dict[tuple[Load, str], list[Measured]] = {}
        for e in result.estimates:
            if e.cell.target == one.name and e.kind != "predicted" and (value := _measured(e)) is not None:
                load = load_of(e.cell)
                cells.setdefault(load, e.cell)
                readings.setdefault((load, e.direction), []).append(value)
        measured = {place: combined(values) for place, values in readings.items()}
        members.append(Member(one.name, one.factors, measured))
    namer = Namer([e.cell for e in result.estimates], (), tuple(result.axes))
    return factor_effects(members, lambda load: namer.short(cells[load]))


def load_of(cell: Cell) -> Load:
    """What a cell is on whatever target. The state is left out: it says how the data came to be there."""
    return (cell.options, cell.sharing, cell.streams)


def _measured(e: Estimate) -> Measured | None:
    """Its throughput; None where there is none to be believed."""
    believed = verdict_class(e.verdict) is not VerdictClass.SUSPECT or e.verdict in (*LOWER_BOUND, VerdictCode.IMPORTED)
    if not e.bw_bytes_per_s or not believed:
        return None
    limit = e.limit.resource if e.limit is not None else ""
    return Measured(e.bw_bytes_per_s, e.bw_low, e.bw_high, e.n_visits, e.ceiling, limit, (e.cell.key,))
