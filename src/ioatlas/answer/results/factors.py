# SPDX-License-Identifier: Apache-2.0
"""What the factors of a campaign's configurations do, as findings, charts and tables of its result; and what
configurations give for what their products cost.

A price follows from the other factors: it changes with them. So it is not held while they vary, nor are they held while
it varies, except those that differ at one and the same price: what money did not buy is told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ioatlas.answer.analysis.factors import (
    PRICE,
    PRICE_PER_TIB,
    combined,
    factor_charts,
    factor_effects,
    factor_findings,
    factor_tables,
)
from ioatlas.answer.analysis.findings import in_reading_order
from ioatlas.answer.analysis.wording import Namer
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.factors import Configuration, Factor, FactorEffects, Load, Measured, Member, is_blocked
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.result import CampaignResult, ProductCost
from ioatlas.model.units import grouped
from ioatlas.model.verdict import LOWER_BOUND, VerdictClass, VerdictCode, verdict_class


def with_factors(result: CampaignResult) -> CampaignResult:
    """The result with what its factors do; as it was where it has no configurations."""
    if len(result.configurations) < 2:
        return result
    effects = campaign_effects(result)
    # Measured in turns, they were not set up one after another.
    set_ups = (result.set_ups or 1) if is_blocked(result.configurations) else 0
    return replace(
        result,
        findings=(*result.findings, *factor_findings(effects, set_ups=set_ups)),
        charts=(*factor_charts(effects), *result.charts),
        tables=(*factor_tables(effects), *result.tables),
    )


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


TIB = 1 << 40
Prices = Mapping[str, Mapping[str, Factor]]
"""By configuration and name of the factor."""


def with_prices(result: CampaignResult) -> CampaignResult:
    """The result with the prices of its configurations among their factors, and what they give for them."""
    known = {cost.target: cost for cost in result.costs}
    mine = {one.name: known[one.name] for one in result.configurations if one.name in known}
    currencies = sorted({cost.currency for cost in mine.values() if cost.total})
    if len(currencies) > 1:
        why = f"its configurations are priced in {' and '.join(currencies)}. Name one currency in their sheets"
        told = Finding(FindingCode.FACTOR, {"factor": "price", "why": why})
        return replace(result, findings=in_reading_order((*result.findings, told)))
    taken = {name for one in result.configurations for name in one.factors}
    prices = {
        target: {name: factor for name, factor in factors.items() if name not in taken}
        for target, factors in price_factors(mine.values()).items()
    }
    if not any(prices.values()):
        return result
    lines = tuple(
        line
        for name in dict.fromkeys(name for factors in prices.values() for name in factors)
        for line in campaign_effects(_over(result, prices, name)).lines
        if line.factor == name
    )
    effects = FactorEffects(lines)
    shown = tuple(replace(one, factors={**one.factors, **prices.get(one.name, {})}) for one in result.configurations)
    return replace(
        result,
        configurations=shown,
        findings=in_reading_order((*result.findings, *factor_findings(effects))),
        charts=(*result.charts, *factor_charts(effects)),
        tables=(*result.tables, *factor_tables(effects)),
    )


def price_factors(costs: Iterable[ProductCost]) -> Prices:
    """What each costs, and each usable TiB of it; empty unless two differ."""
    found: dict[str, dict[str, Factor]] = {}
    for cost in costs:
        if not cost.total:
            continue
        found[cost.target] = {PRICE: Factor(_rounded(cost.total), cost.currency)}
        if cost.usable_bytes:
            per_tib = cost.total / (cost.usable_bytes / TIB)
            found[cost.target][PRICE_PER_TIB] = Factor(round(per_tib, 1), cost.currency)
    for name in (PRICE, PRICE_PER_TIB):
        told = [factors[name].value for factors in found.values() if name in factors]
        if len(set(told)) < 2:
            for factors in found.values():
                factors.pop(name, None)
    return {target: factors for target, factors in found.items() if factors}


def _rounded(amount: float) -> float:
    return int(amount) if float(amount).is_integer() else round(amount, 2)


def _over(result: CampaignResult, prices: Prices, name: str) -> CampaignResult:
    """The result whose configurations have one price as their factor, and those that differ at one price."""
    priced = [one for one in result.configurations if name in prices.get(one.name, {})]
    held = _held(priced, prices, name)
    return replace(
        result,
        configurations=tuple(
            replace(
                one,
                factors={
                    name: prices[one.name][name],
                    **{key: factor for key, factor in one.factors.items() if key in held},
                },
            )
            for one in priced
        ),
    )


def _held(priced: Sequence[Configuration], prices: Prices, name: str) -> set[str]:
    """Factors that differ between configurations of one price."""
    groups = grouped((prices[one.name][name], one) for one in priced)
    return {
        key
        for group in groups.values()
        for key in {key for one in group for key in one.factors}
        if len({one.factors.get(key) for one in group}) > 1
    }
