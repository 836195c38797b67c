# SPDX-License-Identifier: Apache-2.0
"""Products side by side: specifications, capacity, price, claims against measurements, functions. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from ioatlas.answer.analysis.best import client_limited
from ioatlas.answer.analysis.wording import Namer
from ioatlas.answer.product.cost import Offer
from ioatlas.answer.product.figures import Figures, document, drives_line, figures
from ioatlas.answer.product.quantity import MB, amount_text, both_units, money
from ioatlas.answer.product.readings import Workload, counts, spread_of
from ioatlas.answer.product.sheet import Claim, Fact, Function, Permission, Product, Sheet
from ioatlas.model.cell import directions_of
from ioatlas.model.estimate import Estimate
from ioatlas.model.load_curve import Spread
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import format_count, format_latency


class Kept(StrEnum):
    """What measuring says of a claim."""

    REACHED = "reached"
    MISSED = "not reached"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"
    WORDS = "no figure"


@dataclass(frozen=True)
class ClaimCheck:
    """measured: in the claim's unit, with its interval. share: of the claim. why: where nothing decides."""

    claim: Claim
    kept: Kept
    measured: Spread | None = None
    share: float | None = None
    where: str = ""
    why: str = ""

    @property
    def text(self) -> str:
        """'measured 95.9 MB/s (94.1 to 97.7), 80% of the claim: not reached'."""
        if self.measured is None:
            return f"{self.kept.value}{f': {self.why}' if self.why else ''}"
        show = _SHOWN[self.claim.quantity]
        value, low, high = self.measured.value, self.measured.low, self.measured.high
        span = f" ({show(low)} to {show(high)})" if low is not None and high is not None else ""
        told = f"measured {show(value)}{span}, {self.share:.0%} of the claim: {self.kept.value}"
        return f"{told}, {self.why}" if self.why else told


_SHOWN: dict[str, Callable[[float], str]] = {
    "bw_bytes_per_s": lambda value: f"{amount_text(value / MB)} MB/s",
    "iops": lambda value: f"{format_count(value)} IOPS",
    "lat_mean_seconds": lambda value: format_latency(value * 1e9),
}


def check_claim(claim: Claim, result: CampaignResult | None, target: str = "") -> ClaimCheck:
    """Against the best cell of the load that the claim names: the fastest, or of a latency the lowest."""
    if claim.value is None:
        return ClaimCheck(claim, Kept.WORDS)
    if result is None:
        return ClaimCheck(claim, Kept.NOT_MEASURED)
    options = claim.options
    if "rw" not in options:
        return ClaimCheck(claim, Kept.NOT_MEASURED, why="the claim names no load; write cell = {rw = ..., bs = ...}")
    direction = claim.direction or directions_of(options["rw"])[0]
    found = [
        e
        for e in result.estimates
        if counts(e)
        and e.direction == direction
        and (not target or e.cell.target == target)
        and Workload(options).holds(e)
        and _amount(e, claim.quantity) is not None
    ]
    if not found:
        return ClaimCheck(claim, Kept.NOT_MEASURED, why="no cell of that load has a value")
    return _judged(claim, found, Namer((e.cell for e in result.estimates), [], tuple(result.axes)))


def _judged(claim: Claim, found: Sequence[Estimate], namer: Namer) -> ClaimCheck:
    lower_is_better = claim.quantity == "lat_mean_seconds"
    pick = min if lower_is_better else max
    best = pick(found, key=lambda e: (_amount(e, claim.quantity) or Spread(0.0)).value)
    amount, claimed = _amount(best, claim.quantity), claim.value
    assert amount is not None
    assert claimed is not None
    low, high = amount.least, amount.most
    if lower_is_better:
        kept = Kept.REACHED if high <= claimed else Kept.MISSED if low > claimed else Kept.UNDECIDED
    else:
        kept = Kept.REACHED if low >= claimed else Kept.MISSED if high < claimed else Kept.UNDECIDED
    why = ""
    if kept is not Kept.REACHED and client_limited(best):
        kept, why = Kept.UNDECIDED, "the client was the limit"
    return ClaimCheck(claim, kept, amount, amount.value / claimed if claimed else None, namer.cell(best.cell), why)


def _amount(e: Estimate, quantity: str) -> Spread | None:
    """In the claim's unit: bytes a second, I/Os a second, or seconds."""
    if quantity != "lat_mean_seconds":
        return spread_of(e, quantity)
    found = spread_of(e, "lat_mean_ns")
    return found.scaled(1e-9) if found else None


UNKNOWN = "not stated"


@dataclass(frozen=True)
class Column:
    """One product of the table."""

    sheet: Sheet
    figures: Figures
    checks: tuple[ClaimCheck, ...]

    @property
    def label(self) -> str:
        return self.sheet.name


def columns(offers: Sequence[Offer]) -> tuple[Column, ...]:
    """Raises UsageError for a sheet that does not add up."""
    return tuple(
        Column(
            one.sheet,
            figures(one.sheet),
            tuple(check_claim(claim, one.result, one.target) for claim in one.sheet.claims),
        )
        for one in offers
    )


def rows(products: Sequence[Column]) -> tuple[list[str], list[list[str]]]:
    """Head and rows, a product a column. What no product states has no row."""
    head = ["", *(one.label for one in products)]
    made = [*_facts(products), *_capacity(products), *_claims(products), *_functions(products)]
    made += [*_publishing(products), *_sources(products)]
    return head, [row for row in made if any(cell not in ("", UNKNOWN) for cell in row[1:])]


def _facts(products: Sequence[Column]) -> list[list[str]]:
    known = list(Product.model_fields)
    names = _in_order(fact.name for one in products for fact in one.sheet.facts)
    names.sort(key=lambda name: known.index(name) if name in known else len(known))
    made = []
    for name in names:
        if name in ("vendor", "model"):
            continue
        made.append([name.replace("_", " "), *(_fact(one.sheet.facts, name) for one in products)])
    return made


def _fact(facts: Iterable[Fact], name: str) -> str:
    value = next((one.value for one in facts if one.name == name), None)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return UNKNOWN if value is None else str(value)


def _capacity(products: Sequence[Column]) -> list[list[str]]:
    def each(name: str, told: Iterable[str]) -> list[str]:
        return [name, *(text or UNKNOWN for text in told)]

    return [
        each("drives", (drives_line(one.sheet) for one in products)),
        each("layout", (one.sheet.layout.name if one.sheet.layout else "" for one in products)),
        each("failures survived", (_survives(one.figures) for one in products)),
        each("raw capacity", (_size(one.figures.raw_bytes) for one in products)),
        each("usable capacity", (_size(one.figures.usable_bytes) for one in products)),
        each("capacity as printed", (one.sheet.printed.capacity if one.sheet.printed else "" for one in products)),
        each("price", (_money(one.figures.price_total, one.figures) for one in products)),
        each("price a month", (_money(one.figures.per_month, one.figures) for one in products)),
        each("price per usable TiB", (_money(one.figures.price_per_tib, one.figures) for one in products)),
        each("price per TiB as printed", (_printed(one) for one in products)),
        each("power", (one.sheet.power.text if one.sheet.power else "" for one in products)),
    ]


def _survives(found: Figures) -> str:
    capacity = found.capacity
    if capacity is None:
        return ""
    return f"{capacity.survives} {capacity.domain}{'' if capacity.survives == 1 else 's'}"


def _size(size: int | None) -> str:
    return "" if size is None else both_units(size)


def _money(amount: float | None, found: Figures) -> str:
    return "" if amount is None else money(amount, found.currency)


def _printed(one: Column) -> str:
    told, found = one.sheet.printed, one.figures.printed
    return f"{told.price_per_tib:g} {found.currency}" if told and found and told.price_per_tib is not None else ""


def _claims(products: Sequence[Column]) -> list[list[str]]:
    """A row for each thing claimed, and one below it for what was measured."""
    made = []
    for what in _in_order(check.claim.what for one in products for check in one.checks):
        found = [next((check for check in one.checks if check.claim.what == what), None) for one in products]
        made.append([f"claimed: {what}", *(check.claim.text if check else UNKNOWN for check in found)])
        made.append([f"measured: {what}", *(check.text if check else UNKNOWN for check in found)])
    return made


def _functions(products: Sequence[Column]) -> list[list[str]]:
    made = []
    for name in _in_order(function.name for one in products for function in one.sheet.functions):
        found = [next((each for each in one.sheet.functions if each.name == name), None) for one in products]
        made.append([f"function: {name}", *(_function(one) for one in found)])
    return made


def _function(one: Function | None) -> str:
    """'listed, does not work: a snapshot never ended. Vendor: none'."""
    if one is None:
        return UNKNOWN
    listed = {True: "listed, ", False: "not listed, ", None: ""}[one.listed]
    works = {"yes": "works", "no": "does not work", "partly": "works in part", "not tried": "not tried"}[one.works]
    evidence = f": {one.evidence}" if one.evidence else ""
    answer = f". Vendor: {one.vendor_answer}" if one.vendor_answer else ""
    return f"{listed}{works}{evidence}{answer}"


def _publishing(products: Sequence[Column]) -> list[list[str]]:
    def publishing_of(sheet: Sheet) -> str:
        one = sheet.publishing
        if one.licence is Permission.UNKNOWN and not one.permission:
            return UNKNOWN
        says = f" ({one.says})" if one.says else ""
        allowed = f"; permission: {one.permission}" if one.permission else ""
        return f"licence: {one.licence.value}{says}{allowed}"

    return [["publishing results", *(publishing_of(one.sheet) for one in products)]]


def _sources(products: Sequence[Column]) -> list[list[str]]:
    """Who says so: each source once, with its date."""
    each = [[f"{source}{f' ({date})' if date else ''}" for source, date in one.sheet.origins()] for one in products]
    return [["sources", *("; ".join(told) for told in each)]]


def _in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def table_document(products: Sequence[Column]) -> dict[str, Any]:
    """Every product as `product show --json` has it, its claims with what was measured."""
    return {
        "format": 1,
        "products": [
            {**document(one.sheet, one.figures), "claims": [_check(check) for check in one.checks]} for one in products
        ],
    }


def _check(check: ClaimCheck) -> dict[str, Any]:
    claim = check.claim
    return {
        "what": claim.what,
        "value": claim.text,
        "quantity": claim.quantity or None,
        "claimed": claim.value,
        "measured": asdict(check.measured) if check.measured else None,
        "share": check.share,
        "kept": check.kept.value,
        "where": check.where,
        "why": check.why,
        "source": claim.origin.source,
        "date": claim.origin.date,
    }
