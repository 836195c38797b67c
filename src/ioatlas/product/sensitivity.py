# SPDX-License-Identifier: Apache-2.0
"""How much a cost per unit depends on each thing that goes into it: one at a time, largest swing first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ioatlas.product.cost import HOURS_PER_YEAR, Costed, Terms, mean_watts
from ioatlas.product.price import MONTHS_PER_YEAR
from ioatlas.product.readings import Unit
from ioatlas.product.sheet import Per

VARY = 0.2
"""Share by which what has no interval is varied."""


@dataclass(frozen=True)
class Swing:
    """One input of one product varied from `low_input` to `high_input`, and the cost of a unit at both.

    by: 'interval' where the visits say how far, else the share. flips: another product becomes the cheapest, or this
    one does.
    """

    label: str
    unit: Unit
    name: str
    low_input: float
    high_input: float
    low_cost: float
    high_cost: float
    by: str
    flips: bool

    @property
    def width(self) -> float:
        return abs(self.high_cost - self.low_cost)


@dataclass(frozen=True)
class _Inputs:
    """Numbers that the cost of a unit is made of."""

    items: Mapping[str, float]
    per_month: float
    idle: float | None
    loaded: float | None
    load: float
    energy_price: float
    years: float
    amount: float

    def cost(self) -> float:
        watts = mean_watts(self.idle, self.loaded, self.load) or 0.0
        energy = watts / 1000 * HOURS_PER_YEAR * self.years * self.energy_price
        total = sum(self.items.values()) + self.per_month * MONTHS_PER_YEAR * self.years + energy
        return total / self.amount


def swings(products: Sequence[Costed], unit: Unit, terms: Terms, vary: float = VARY) -> tuple[Swing, ...]:
    """Of every product that gives the unit and has a price; widest first, those that move nothing left out."""
    known = {
        one.label: (one, made, cost.cost.value)
        for one in products
        if (cost := one.unit(unit)) is not None
        and cost.cost is not None
        and (made := _inputs(one, unit, terms)) is not None
    }
    found = []
    for label, (one, inputs, _) in known.items():
        others = [cost for name, (_, _, cost) in known.items() if name != label]
        found += _of(one, inputs, unit, vary, min(others, default=None))
    return tuple(sorted((one for one in found if one.width > 0), key=lambda one: -one.width))


def _inputs(one: Costed, unit: Unit, terms: Terms) -> _Inputs | None:
    found = one.unit(unit)
    if found is None or one.spend.total is None:
        return None
    items: dict[str, float] = {}
    tib = one.figures.usable_tib or 0.0
    for line in one.figures.bill.lines if one.figures.bill else ():
        amount = line.amount if line.per is Per.ITEM else line.per_tib * tib
        items[line.what] = items.get(line.what, 0.0) + amount
    return _Inputs(
        items,
        one.figures.per_month or 0.0 if terms.years else 0.0,
        one.spend.idle_watts,
        one.spend.loaded_watts,
        terms.load,
        terms.energy_price,
        terms.years,
        found.amount.value,
    )


def _of(one: Costed, inputs: _Inputs, unit: Unit, vary: float, cheapest_other: float | None) -> list[Swing]:
    base = inputs.cost()
    found = one.unit(unit)
    made: list[Swing] = []

    def add(name: str, low: float, high: float, put: Callable[[float], _Inputs], by: str = f"±{vary:.0%}") -> None:
        costs = put(low).cost(), put(high).cost()
        wins = base < cheapest_other if cheapest_other is not None else False
        flips = cheapest_other is not None and any((cost < cheapest_other) != wins for cost in costs)
        made.append(Swing(one.label, unit, name, low, high, *costs, by, flips))

    def around(value: float) -> tuple[float, float]:
        return value * (1 - vary), value * (1 + vary)

    for name, amount in inputs.items.items():
        add(f"price of {name}", *around(amount), _item(inputs, name))
    if inputs.per_month:
        add("service a month", *around(inputs.per_month), lambda value: replace(inputs, per_month=value))
    if inputs.energy_price and inputs.years:
        add("energy price", *around(inputs.energy_price), lambda value: replace(inputs, energy_price=value))
        if inputs.idle is not None and inputs.loaded is not None:
            add("share under load", 0.0, 1.0, lambda value: replace(inputs, load=value), "0 to 100%")
    if inputs.years:
        add("years", *around(inputs.years), lambda value: replace(inputs, years=value))
    if found is not None:
        low, high = found.amount.low, found.amount.high
        name = {Unit.TIB: "usable capacity", Unit.RAW_TIB: "raw capacity"}.get(unit, "measured value")
        if low is not None and high is not None and low > 0:
            add(name, low, high, lambda value: replace(inputs, amount=value), "interval")
        else:
            add(name, *around(found.amount.value), lambda value: replace(inputs, amount=value))
    return made


def _item(inputs: _Inputs, name: str) -> Callable[[float], _Inputs]:
    return lambda value: replace(inputs, items={**inputs.items, name: value})
