# SPDX-License-Identifier: Apache-2.0
"""Results and sheets brought together: every product of a set costed on the same terms and workload. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from ioatlas.analysis.wording import plural
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import format_size
from ioatlas.product.cost import Answer, Costed, Terms, answers, costed, units_of, with_fronts
from ioatlas.product.figures import figures, needs_permission
from ioatlas.product.readings import (
    Reading,
    Unit,
    Workload,
    common_block,
    n_suspect,
    readings,
    small_blocks,
    targets_of,
)
from ioatlas.product.sheet import Sheet


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
        terms,
        workload,
        products,
        answers(products),
        tuple(_remarks(offers, products, terms, workload)),
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
