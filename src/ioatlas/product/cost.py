# SPDX-License-Identifier: Apache-2.0
"""What a unit costs: purchase, service and energy over a time, divided by what a product gives. Pure.

Intervals of what was measured are carried through: a cost per unit is lowest where the value is highest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ioatlas.model.load_curve import Spread
from ioatlas.product.figures import Figures
from ioatlas.product.price import MONTHS_PER_YEAR
from ioatlas.product.quantity import TIB
from ioatlas.product.readings import Reading, Unit
from ioatlas.product.sheet import Sheet

HOURS_PER_YEAR = 8760


@dataclass(frozen=True)
class Terms:
    """years: how long it is paid for; 0: the purchase alone. energy_price: of a kWh, in the currency. load: share of
    the time under load, the rest is idle.
    """

    currency: str
    years: float = 0.0
    energy_price: float = 0.0
    load: float = 1.0


@dataclass(frozen=True)
class Spend:
    """What is paid over the years; None where it is not known. watts: the mean over the time, of idle and loaded."""

    purchase: float | None
    service: float | None
    energy: float | None
    watts: float | None
    idle_watts: float | None = None
    loaded_watts: float | None = None

    @property
    def total(self) -> float | None:
        """None where neither a purchase nor a service has a price. Energy that is not known is left out."""
        if self.purchase is None and self.service is None:
            return None
        return (self.purchase or 0.0) + (self.service or 0.0) + (self.energy or 0.0)


class Front(StrEnum):
    """Whether a product is one of those that no other beats in both total cost and what it gives."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class UnitCost:
    """cost: for one unit, with its interval. per_watt: units for each watt. front: undecided where intervals overlap,
    unknown without a price.
    """

    unit: Unit
    amount: Spread
    cost: Spread | None
    per_watt: float | None
    watts_from: str
    reading: Reading | None
    front: Front = Front.UNKNOWN


@dataclass(frozen=True)
class Costed:
    """One product with what it gives. label: told apart from the others."""

    label: str
    sheet: Sheet
    figures: Figures
    spend: Spend
    units: tuple[UnitCost, ...]

    def unit(self, unit: Unit) -> UnitCost | None:
        return next((one for one in self.units if one.unit is unit), None)


@dataclass(frozen=True)
class BreakEven:
    """At which purchase price a product costs as much for a unit as the cheapest one. change: a share of its price now;
    None where that is not known. purchase: below zero when no price would do; of a service what it charges a month.
    """

    label: str
    purchase: Spread
    change: float | None
    monthly: bool = False


@dataclass(frozen=True)
class Answer:
    """cheapest: label. decided: its interval lies below all others. saving: share, against the next one.
    unbounded: some measured value has no interval, so nothing can be decided.
    """

    unit: Unit
    cheapest: str
    decided: bool
    saving: float
    second: str
    break_even: tuple[BreakEven, ...]
    unbounded: bool = False


def spend(sheet: Sheet, found: Figures, terms: Terms, measured_watts: float | None = None) -> Spend:
    """measured_watts: under load, where a meter told them; they stand before those of the sheet."""
    power = sheet.power
    loaded = measured_watts if measured_watts is not None else power.loaded_watts if power else None
    idle = power.idle_watts if power else None
    mean = mean_watts(idle, loaded, terms.load)
    energy = None
    if mean is not None:
        energy = mean / 1000 * HOURS_PER_YEAR * terms.years * terms.energy_price
    service = found.per_month * MONTHS_PER_YEAR * terms.years if found.per_month is not None and terms.years else None
    return Spend(found.price_total, service, energy, mean, idle, loaded)


def mean_watts(idle: float | None, loaded: float | None, load: float) -> float | None:
    """Over a time that is under load for a share; the one stands for the other where only one is known."""
    if idle is None or loaded is None:
        return loaded if loaded is not None else idle
    return idle + load * (loaded - idle)


def costed(
    label: str,
    sheet: Sheet,
    found: Figures,
    terms: Terms,
    given: Sequence[Reading],
    measured_watts: float | None = None,
    *,
    raw: bool = False,
) -> Costed:
    """A product's cost of each unit that it is known to give. raw: of raw capacity too."""
    paid = spend(sheet, found, terms, measured_watts)
    units = []
    if found.usable_tib:
        per_tib = None
        if paid.total is not None:
            per_tib = Spread(paid.total / found.usable_tib)
        elif found.price_per_tib is not None:
            per_tib = Spread(found.price_per_tib)
        per_watt = found.usable_tib / paid.watts if paid.watts else None
        units.append(UnitCost(Unit.TIB, Spread(found.usable_tib), per_tib, per_watt, "mean", None))
    elif found.price_per_tib is not None:  # priced by capacity alone
        units.append(UnitCost(Unit.TIB, Spread(1.0), Spread(found.price_per_tib), None, "", None))
    if raw and found.raw_bytes:
        size = found.raw_bytes / TIB
        per_raw = Spread(paid.total / size) if paid.total is not None else None
        per_watt = size / paid.watts if paid.watts else None
        units.append(UnitCost(Unit.RAW_TIB, Spread(size), per_raw, per_watt, "mean", None))
    for reading in given:
        loaded = sheet.power.loaded_watts if sheet.power else None
        watts, origin = (reading.watts, "measured") if reading.watts else (loaded, "sheet")
        per_watt = reading.amount.value / watts if watts else None
        cost = divided(paid.total, reading.amount)
        units.append(UnitCost(reading.unit, reading.amount, cost, per_watt, origin if watts else "", reading))
    return Costed(label, sheet, found, paid, tuple(units))


def divided(total: float | None, amount: Spread) -> Spread | None:
    """What one unit costs; its interval is upside down."""
    if total is None or amount.value <= 0:
        return None
    low = total / amount.high if amount.high else None
    high = total / amount.low if amount.low and amount.low > 0 else None
    return Spread(total / amount.value, low, high)


# -- a set of products -------------------------------------------------------------------------------------------


def units_of(products: Sequence[Costed]) -> list[Unit]:
    """Those that some product gives, in the order of `Unit`."""
    return [unit for unit in Unit if any(one.unit(unit) is not None for one in products)]


def with_fronts(products: Sequence[Costed]) -> tuple[Costed, ...]:
    """The products with their place on the front of total cost against what each gives, for each unit."""
    return tuple(
        replace(one, units=tuple(replace(unit, front=_on_front(one, unit, products)) for unit in one.units))
        for one in products
    )


def _on_front(one: Costed, unit: UnitCost, products: Sequence[Costed]) -> Front:
    if one.spend.total is None:
        return Front.UNKNOWN
    answer = Front.YES
    for other in products:
        theirs = other.unit(unit.unit)
        if other is one or theirs is None or other.spend.total is None:
            continue
        verdict = _beaten(one.spend.total, unit.amount, other.spend.total, theirs.amount)
        if verdict and not (_bounded(unit) and _bounded(theirs)):
            verdict = None
        if verdict:
            return Front.NO
        answer = Front.UNDECIDED if verdict is None else answer
    return answer


def _bounded(one: UnitCost) -> bool:
    """Whether its amount is exact, as a capacity is, or was measured with an interval."""
    return one.reading is None or None not in (one.amount.low, one.amount.high)


def _beaten(total: float, amount: Spread, their_total: float, theirs: Spread) -> bool | None:
    """Whether the other costs no more and gives no less, and one of them is better; None: intervals overlap."""
    if their_total > total or theirs.value < amount.value:
        return False
    if their_total == total and theirs.value == amount.value:
        return False
    return True if theirs.least >= amount.most else None


def answers(products: Sequence[Costed]) -> tuple[Answer, ...]:
    """For each unit which product is cheapest, and at what price each other one would be."""
    return tuple(made for unit in units_of(products) if (made := _answer(unit, products)) is not None)


def _answer(unit: Unit, products: Sequence[Costed]) -> Answer | None:
    every = [(one, found) for one in products if (found := one.unit(unit)) is not None and found.cost is not None]
    known = [(one, found.cost) for one, found in every if found.cost is not None]
    if len(known) < 2:
        return None
    known.sort(key=lambda pair: pair[1].value)
    (best, lowest), (second, next_lowest) = known[0], known[1]
    unbounded = not all(_bounded(found) for _, found in every)
    decided = not unbounded and all(lowest.most < cost.least for _, cost in known[1:])
    even = [made for one, _ in known[1:] if (made := break_even(one, unit, lowest)) is not None]
    saving = 1 - lowest.value / next_lowest.value if next_lowest.value else 0.0
    return Answer(unit, best.label, decided, saving, second.label, tuple(even), unbounded)


def break_even(one: Costed, unit: Unit, target: Spread) -> BreakEven | None:
    """The purchase price at which a product costs `target` for a unit, or what it may charge a month where it is a
    service. None for what has no price of its own.
    """
    found, now = one.unit(unit), one.spend
    if found is None or (now.purchase is None and not now.service):
        return None
    monthly = now.purchase is None
    price, rest = (
        (now.service, now.energy or 0.0) if monthly else (now.purchase, (now.service or 0.0) + (now.energy or 0.0))
    )
    share = (one.figures.per_month or 0.0) / (now.service or 1.0) if monthly else 1.0
    amount = found.amount

    def at(cost: float, units: float) -> float:
        return (cost * units - rest) * share

    low = high = None
    if None not in (target.low, target.high) or None not in (amount.low, amount.high):
        low, high = at(target.least, amount.least), at(target.most, amount.most)
    even = at(target.value, amount.value)
    return BreakEven(one.label, Spread(even, low, high), even / (price * share) - 1 if price else None, monthly)
