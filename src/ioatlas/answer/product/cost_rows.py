# SPDX-License-Identifier: Apache-2.0
"""A cost comparison as JSON, as rows of a CSV, as a table of texts, and drawn. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ioatlas.answer.product.cost import Answer, BreakEven, CostComparison, Costed, Front, Spend, UnitCost
from ioatlas.answer.product.quantity import amount_text, money
from ioatlas.answer.product.readings import Unit
from ioatlas.model.errors import UsageError
from ioatlas.model.load_curve import Spread
from ioatlas.model.panel import Dot, Drawing, Panel, Series
from ioatlas.model.units import words

CSV_COLUMNS = words("""
    product unit amount amount_low amount_high cost_per_unit cost_low cost_high currency total purchase service
    energy years per_watt watts_from front workload n_visits
""")


def document(found: CostComparison) -> dict[str, Any]:
    """Money in `currency`, shares as fractions; null where something is not known."""
    return {
        "format": 1,
        "currency": found.terms.currency or None,
        "years": found.terms.years,
        "energy_price_per_kwh": found.terms.energy_price,
        "load": found.terms.load,
        "workload": found.workload.text or None,
        "products": [_product(one) for one in found.products],
        "answers": [asdict(one) for one in found.answers],
        "remarks": list(found.remarks),
    }


def _product(one: Costed) -> dict[str, Any]:
    return {
        "product": one.label,
        "usable_bytes": one.figures.usable_bytes,
        "usable_tib": one.figures.usable_tib,
        "spend": {**asdict(one.spend), "total": one.spend.total},
        "units": [_unit(unit) for unit in one.units],
    }


def _unit(unit: UnitCost) -> dict[str, Any]:
    reading, cost = unit.reading, unit.cost
    return {
        "unit": unit.unit.value,
        "amount": unit.amount.value,
        "amount_low": unit.amount.low,
        "amount_high": unit.amount.high,
        "cost": cost.value if cost else None,
        "cost_low": cost.low if cost else None,
        "cost_high": cost.high if cost else None,
        "per_watt": unit.per_watt,
        "watts_from": unit.watts_from,
        "front": unit.front.value,
        "where": reading.where if reading else "",
        "n_visits": reading.n_visits if reading else None,
        "lower_bound": reading.lower_bound if reading else False,
    }


def csv_rows(found: CostComparison) -> list[list[Any]]:
    """One row for each product and unit, in the order of `CSV_COLUMNS`; None is empty."""
    terms, rows = found.terms, []
    for one in found.products:
        paid = {**asdict(one.spend), "total": one.spend.total, "currency": terms.currency, "years": terms.years}
        for unit in one.units:
            told = {**paid, **_unit(unit), "product": one.label, "workload": unit.reading.where if unit.reading else ""}
            rows.append([told["cost" if name == "cost_per_unit" else name] for name in CSV_COLUMNS])
    return rows


def table(found: CostComparison) -> tuple[list[str], list[list[str]]]:
    """Head and rows: one product a column; cost of each unit with its interval and what it is of."""
    currency = found.terms.currency
    head = ["", *(one.label for one in found.products)]
    rows = [[_total_name(found), *(_money(one.spend.total, currency) for one in found.products)]]
    for name in ("purchase", "service", "energy"):
        values = [getattr(one.spend, name) for one in found.products]
        if found.terms.years and any(value for value in values):
            rows.append([f"  {name}", *(_part(one.spend, name, currency) for one in found.products)])
    several = len(found.products) > 1
    for unit in found.units:
        each = [one.unit(unit) for one in found.products]
        rows.append([f"per {unit.value}", *(_cost(one, currency, mark=several) for one in each)])
        rows.append(["  of", *(_amount(one) for one in each)])
        if any(one is not None and one.per_watt for one in each):
            per_watt = [amount_text(one.per_watt) if one and one.per_watt else "-" for one in each]
            rows.append([f"  {_plain(unit)} per watt", *per_watt])
    return head, rows


def _plain(unit: Unit) -> str:
    return "TiB" if unit in (Unit.TIB, Unit.RAW_TIB) else unit.value.split(" ")[0]


def _total_name(found: CostComparison) -> str:
    years = found.terms.years
    return f"total over {years:g} year{'' if years == 1 else 's'}" if years else "purchase"


def _part(spend: Spend, name: str, currency: str) -> str:
    """A part of a total: a box has no monthly charge, and a service is not bought; energy has to be told."""
    value = getattr(spend, name)
    return "-" if value is None and name != "energy" and spend.total is not None else _money(value, currency)


def _money(value: float | None, currency: str) -> str:
    return "unknown" if value is None else money(value, currency)


def _cost(one: UnitCost | None, currency: str, *, mark: bool) -> str:
    if one is None:
        return "-"
    if one.cost is None:
        return "no price"
    bound = "≤ " if one.reading is not None and one.reading.lower_bound else ""
    place = {Front.YES: " *", Front.UNDECIDED: " ?"}.get(one.front, "") if mark else ""
    return f"{bound}{money(one.cost.value, currency)}{interval_text(one.cost)}{place}"


def interval_text(amount: Spread) -> str:
    """' (95 to 103)', or nothing."""
    if amount.low is None and amount.high is None:
        return ""
    low = amount_text(amount.low) if amount.low is not None else "?"
    high = amount_text(amount.high) if amount.high is not None else "?"
    return f" ({low} to {high})"


def _amount(one: UnitCost | None) -> str:
    if one is None or (one.reading is None and one.amount.value == 1):
        return "-"
    where = f" at {one.reading.where}" if one.reading is not None and one.reading.where else ""
    return f"{amount_text(one.amount.value)}{where}"


def sentences(found: CostComparison) -> list[str]:
    """The answer for each unit, and what the others would have to cost."""
    currency = found.terms.currency
    told = []
    for one in found.answers:
        told.append(f"Per {one.unit.value}: {_standing(one)}.")
        told += [_match(even, currency) for even in one.break_even if even.label != one.second or one.saving]
    return told


def _standing(one: Answer) -> str:
    """'A is cheapest, 38% below B'."""
    if not one.saving and not one.unbounded:
        return f"{one.cheapest} and {one.second} cost the same"
    why = "a value has no interval: measure with more --visits" if one.unbounded else "intervals overlap"
    sure = "" if one.decided else f"; not decided, {why}"
    return f"{one.cheapest} is cheapest, {one.saving:.0%} below {one.second}{sure}"


def _match(even: BreakEven, currency: str) -> str:
    if even.purchase.value <= 0:
        return f"{even.label} would not match it at any price: running it costs more."
    change = f", {even.change:+.0%}" if even.change is not None else ""
    a_month = " a month" if even.monthly else ""
    price = f"{money(even.purchase.value, currency)}{a_month}{interval_text(even.purchase)}"
    return f"{even.label} would match it at {price}{change}."


def price_drawing(found: CostComparison, title: str) -> Drawing:
    """Total cost to the right, what a product gives upwards. Raises UsageError when fewer than two have a price."""
    panels = tuple(panel for unit in found.units if (panel := _price_panel(unit, found.products)) is not None)
    if not panels:
        raise UsageError("too few products have price and value in common", where="-o", remedy="write a table instead")
    terms = found.terms
    over = f" over {terms.years:g} years" if terms.years else ""
    note = "Dashed: products that no other one beats in both cost and value. Bars: 95% intervals."
    return Drawing(title, "points", f"total cost{over} ({terms.currency})", "", "", panels, "linear", "linear", note)


def _price_panel(unit: Unit, products: tuple[Costed, ...]) -> Panel | None:
    known = [
        (one, total, cost) for one in products if (total := one.spend.total) is not None and (cost := one.unit(unit))
    ]
    if len(known) < 2:
        return None
    series = tuple(
        Series(one.label, (Dot(total, cost.amount.value, cost.amount.low, cost.amount.high),))
        for one, total, cost in known
    )
    front = sorted((total, cost.amount.value) for _, total, cost in known if cost.front is Front.YES)
    return Panel(str(unit), series, path=tuple(front))
