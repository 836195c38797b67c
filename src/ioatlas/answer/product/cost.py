# SPDX-License-Identifier: Apache-2.0
"""What a unit costs: purchase, service and energy over a time, divided by what a product gives; and every product of a
set costed on the same terms and workload. Pure.

Intervals of what was measured are carried through: a cost per unit is lowest where the value is highest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean

from ioatlas.answer.analysis.wording import plural
from ioatlas.answer.product.figures import Figures, figures, needs_permission
from ioatlas.answer.product.price import MONTHS_PER_YEAR
from ioatlas.answer.product.quantity import TIB
from ioatlas.answer.product.readings import (
    Reading,
    Unit,
    Workload,
    common_block,
    n_suspect,
    readings,
    small_blocks,
    targets_of,
)
from ioatlas.answer.product.sheet import Sheet
from ioatlas.model.load_curve import Spread
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import format_size

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


@dataclass(frozen=True)
class Offer:
    """A product, and where its result measured it; None where only the sheet is known."""

    sheet: Sheet
    result: CampaignResult | None = None
    target: str = ""


@dataclass(frozen=True)
class CostComparison:
    """remarks: what a reader has to know before believing it, in sentences."""

    terms: Terms
    workload: Workload
    products: tuple[Costed, ...]
    answers: tuple[Answer, ...]
    remarks: tuple[str, ...]

    @property
    def units(self) -> list[Unit]:
        return units_of(self.products)


def compare_costs(offers: Sequence[Offer], terms: Terms, workload: Workload) -> CostComparison:
    """Raises UsageError for sheets whose prices cannot be brought into the currency of the terms."""
    workload = _same_block(offers, workload)
    labels = _labels(offers)
    given = [readings(offer.result, offer.target, workload) if offer.result is not None else () for offer in offers]
    known_figures = [figures(offer.sheet, terms.currency) for offer in offers]
    # Where a layout is not known raw capacity is all that can be compared.
    raw = any(one.raw_bytes is not None and one.usable_bytes is None for one in known_figures)
    products = with_fronts(
        [
            costed(label, offer.sheet, one, terms, found, _watts(found), raw=raw)
            for label, offer, one, found in zip(labels, offers, known_figures, given, strict=True)
        ]
    )
    return CostComparison(
        terms, workload, products, answers(products), tuple(_remarks(offers, products, terms, workload))
    )


def _same_block(offers: Sequence[Offer], workload: Workload) -> Workload:
    """IOPS of different block sizes are not compared: the smallest that all have is taken."""
    if "bs" in workload.options or workload.block_bytes is not None:
        return workload
    sets = [small_blocks(one.result, one.target, workload) for one in offers if one.result is not None]
    return replace(workload, block_bytes=common_block(sets)) if len(sets) > 1 else workload


def _watts(found: Sequence[Reading]) -> float | None:
    known = [one.watts for one in found if one.watts]
    return fmean(known) if known else None


def _labels(offers: Sequence[Offer]) -> list[str]:
    """The product's name; with its target, or a number, where that is not enough."""
    names = [one.sheet.name for one in offers]
    several = Counter(names)
    told = [
        f"{name} ({one.target})" if several[name] > 1 and one.target else name
        for name, one in zip(names, offers, strict=True)
    ]
    again, seen = Counter(told), Counter[str]()
    labels = []
    for name in told:
        seen[name] += 1
        labels.append(f"{name} #{seen[name]}" if again[name] > 1 else name)
    return labels


def _remarks(offers: Sequence[Offer], products: Sequence[Costed], terms: Terms, workload: Workload) -> list[str]:
    told = []
    for offer, one in zip(offers, products, strict=True):
        if one.spend.total is None and one.figures.price_per_tib is None and one.figures.per_month is None:
            told.append(f"{one.label}: no price is known.")
        if one.figures.usable_bytes is None and one.figures.raw_bytes is not None:
            told.append(f"{one.label}: usable capacity is unknown, its sheet has no layout.")
        if one.figures.per_month is not None and not terms.years:
            told.append(f"{one.label} is paid by the month: say --years.")
        if terms.years and terms.energy_price and one.spend.energy is None:
            told.append(f"{one.label}: power is unknown, so energy is left out.")
        if offer.result is not None and not any(unit.reading is not None for unit in one.units):
            told.append(f"{one.label}: {_why_nothing(offer.result, offer.target, workload)}.")
        if needs_permission(offer.sheet):
            told.append(f"{one.label}: its licence restricts publishing results, and no permission is recorded.")
        told += [f"{one.label}: {text}." for text in _reading_notes(one)]
    told += _of_the_set(offers, products, terms, workload)
    return told


def _why_nothing(result: CampaignResult, target: str, workload: Workload) -> str:
    """Why no cell of a result counts."""
    suspect = n_suspect(result, target, workload)
    if suspect:
        return f"{plural(suspect, 'cell')} may have been answered by a cache, and none is left to count"
    return f"no measured cell fits ({workload.text})" if workload.text else "it has no measured value"


def _reading_notes(one: Costed) -> list[str]:
    notes = {}
    for unit in one.units:
        reading = unit.reading
        if reading is None:
            continue
        if reading.lower_bound:
            notes[f"{unit.unit.value} was limited by the client, so it costs at most that"] = True
        if reading.note:
            notes[f"{unit.unit.value}: {reading.note}"] = True
    return list(notes)


def _of_the_set(offers: Sequence[Offer], products: Sequence[Costed], terms: Terms, workload: Workload) -> list[str]:
    told = []
    taxes = {one.figures.bill.with_tax for one in products if one.figures.bill is not None}
    if len(taxes) > 1:
        told.append("Prices of some products hold tax and others do not, or do not say.")
    dates = sorted({date[:4] for one in products if one.figures.bill is not None for date in one.figures.bill.dates})
    if len(dates) > 1:
        told.append(f"Prices are from {dates[0]} to {dates[-1]}; prices of storage fall.")
    measured = [one for one in offers if one.result is not None]
    if len(measured) > 1 and workload.block_bytes is None and "bs" not in workload.options:
        told.append("The results have no random block size in common: kIOPS are not of the same load.")
    elif workload.block_bytes is not None:
        told.append(f"kIOPS are of {format_size(workload.block_bytes)} blocks, which all results have.")
    if any(_differ(products, unit) for unit in (Unit.MB_READ, Unit.MB_WRITE)):
        told.append("MB/s are each product's best, of different loads: --at compares one load.")
    if not terms.years and any(one.sheet.power is not None for one in products):
        told.append("Energy is not counted: say --years and --energy-price.")
    return told


def _differ(products: Sequence[Costed], unit: Unit) -> bool:
    """Whether products tell a unit of loads that differ."""
    found = (one.unit(unit) for one in products)
    return len({one.reading.where for one in found if one is not None and one.reading is not None}) > 1


def offers_of(sheet: Sheet, result: CampaignResult | None) -> list[Offer]:
    """One for each target of a result."""
    if result is None:
        return [Offer(sheet)]
    return [Offer(sheet, result, target) for target in targets_of(result)] or [Offer(sheet, result, "")]
