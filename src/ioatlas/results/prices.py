# SPDX-License-Identifier: Apache-2.0
"""Price as a factor: what configurations give for what their products cost.

A price follows from the other factors: it changes with them. So it is not held while they vary, nor are they held
while it varies, except those that differ at one and the same price: what money did not buy is told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ioatlas.analysis.factor_findings import PRICE, PRICE_PER_TIB, factor_charts, factor_findings, factor_tables
from ioatlas.analysis.headlines import headlines
from ioatlas.model.factors import Configuration, Factor, FactorEffects
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.result import CampaignResult, ProductCost
from ioatlas.results.factors import campaign_effects

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
        told = Finding(FindingCode.FACTOR, f"Nothing can be said of the price: {why}.", title="Factor price")
        return replace(result, findings=headlines((*result.findings, told)))
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
        findings=headlines((*result.findings, *factor_findings(effects))),
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
    groups: dict[Factor, list[Configuration]] = {}
    for one in priced:
        groups.setdefault(prices[one.name][name], []).append(one)
    return {
        key
        for group in groups.values()
        for key in {key for one in group for key in one.factors}
        if len({one.factors.get(key) for one in group}) > 1
    }
