# SPDX-License-Identifier: Apache-2.0
"""What a product costs: its bill in one currency, and what a service charges for a time. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ioatlas.answer.product.quantity import TB, TIB
from ioatlas.answer.product.sheet import Per, Period, PriceItem, Rate, RateOf, Sheet, Tax, Volume
from ioatlas.model.errors import UsageError

HOURS_PER_MONTH = 730.0
"""A twelfth of a year, as services bill: 8,760 hours / 12."""
MONTHS_PER_YEAR = 12
_MONTHS = {Period.HOUR: 1 / HOURS_PER_MONTH, Period.MONTH: 1.0, Period.YEAR: float(MONTHS_PER_YEAR)}
_UNIT = {Per.TB: TB, Per.TIB: TIB}


@dataclass(frozen=True)
class Line:
    """An item of the bill in the currency of the total. per: 'item', or a unit of capacity."""

    what: str
    count: int
    each: float
    amount: float
    per: Per
    note: str = ""

    @property
    def per_tib(self) -> float:
        """Of a line that is charged by capacity: for each TiB."""
        return self.amount * TIB / _UNIT[self.per] if self.per is not Per.ITEM else 0.0


@dataclass(frozen=True)
class Bill:
    """total: None when nothing has a price for itself. per_tib: what is charged for each TiB besides, 0 when nothing.

    with_tax: None where prices do not say.
    """

    currency: str
    lines: tuple[Line, ...]
    total: float | None
    per_tib: float
    with_tax: bool | None
    dates: tuple[str, ...]


def bill_of(sheet: Sheet, currency: str = "") -> Bill | None:
    """The bill in one currency: the one asked for, the sheet's, or that of its prices. None without prices.

    Raises UsageError when prices cannot be added up.
    """
    if not sheet.prices:
        return None
    currency = currency or sheet_currency(sheet)
    taxes = {item.tax for item in sheet.prices}
    mixed = Tax.INCLUDED in taxes and Tax.EXCLUDED in taxes
    lines = [_line(sheet, item, currency, without_tax=mixed) for item in sheet.prices]
    items = [line.amount for line in lines if line.per is Per.ITEM]
    per_tib = sum(line.per_tib for line in lines)
    with_tax = None if taxes == {Tax.UNKNOWN} else (Tax.INCLUDED in taxes and not mixed)
    dates = tuple(sorted({item.origin.date for item in sheet.prices if item.origin.date}))
    return Bill(currency, tuple(lines), sum(items) if items else None, per_tib, with_tax, dates)


def sheet_currency(sheet: Sheet) -> str:
    """Of its totals; '' without a price. Raises UsageError when several prices leave it open."""
    used = sorted({item.currency for item in sheet.prices} | {rate.currency for rate in sheet.rates})
    if sheet.currency or not used:
        return sheet.currency
    if len(used) > 1:
        raise UsageError(
            f"prices are in {' and '.join(used)}, and the total has no currency",
            where=sheet.place,
            remedy=f'write currency = "{used[0]}" at the top of the sheet, and [[exchange]] for the others',
        )
    return used[0]


def _line(sheet: Sheet, item: PriceItem, currency: str, *, without_tax: bool) -> Line:
    rate = exchange_rate(sheet, item.currency, currency)
    notes = []
    if rate != 1:
        notes.append(f"paid in {item.currency}")
    if without_tax and item.tax is Tax.INCLUDED:
        if item.tax_rate is None:
            raise UsageError(
                f"the price of {item.what!r} holds tax and others do not, so they cannot be added",
                where=sheet.place,
                remedy="write its tax_rate, or all prices alike",
            )
        rate /= 1 + item.tax_rate
        notes.append(f"{item.tax_rate * 100:g}% tax taken off")
    each = item.each * rate
    return Line(item.what, item.count, each, each * item.count, item.per, ", ".join(notes))


def exchange_rate(sheet: Sheet, paid: str, wanted: str) -> float:
    """How much of `wanted` one of `paid` is. Raises UsageError when the sheet holds no rate for it."""
    if paid == wanted:
        return 1.0
    for one in sheet.exchanges:
        if (one.currency, one.for_one) == (paid, wanted):
            return 1 / one.rate
        if (one.currency, one.for_one) == (wanted, paid):
            return one.rate
    raise UsageError(
        f"there is no exchange rate from {paid} to {wanted}",
        where=sheet.place,
        remedy=f'write [[exchange]] with currency = "{paid}", for_one = "{wanted}", rate, source and date',
    )


def monthly(sheet: Sheet, currency: str = "") -> float | None:
    """What a service charges a month for what was provisioned; None where the sheet has no rates.

    Raises UsageError when something is charged for and the sheet does not say how much of it there is.
    """
    if not sheet.rates:
        return None
    if sheet.volume is None:
        raise UsageError(
            "there are rates and nothing that was provisioned",
            where=sheet.place,
            remedy='write [volume] with size = "1 TiB", and iops and throughput where they are charged for',
        )
    currency = currency or sheet_currency(sheet)
    return sum(
        charged(rate, provisioned(sheet.volume, rate, sheet.place)) * exchange_rate(sheet, rate.currency, currency)
        for rate in sheet.rates
    )


def provisioned(volume: Volume, rate: Rate, place: str) -> float:
    """How many units of what a rate charges for. Raises UsageError."""
    if rate.of is RateOf.VOLUME:
        return 1.0
    if rate.of is RateOf.CAPACITY:
        return volume.size_bytes / rate.unit_size
    amount = volume.iops if rate.of is RateOf.IOPS else volume.throughput_bytes_per_s
    if amount is None:
        raise UsageError(
            f"{rate.of.value} is charged for, and [volume] does not say how much",
            where=place,
            remedy=f"write {rate.of.value} = in [volume]",
        )
    return amount / rate.unit_size


def charged(rate: Rate, units: float) -> float:
    """Amount a month, in the rate's currency, for so many units: those between what is included and the next step."""
    top = units if rate.up_to is None else min(units, rate.up_to)
    return max(0.0, top - rate.included) * rate.amount / _MONTHS[rate.period]


def common_currency(sheets: Iterable[Sheet]) -> str:
    """That of all; '' when none has a price. Raises UsageError when they differ."""
    used = sorted({currency for sheet in sheets if (currency := sheet_currency(sheet))})
    if len(used) > 1:
        raise UsageError(
            f"the sheets are in {' and '.join(used)}",
            where=", ".join(used),
            remedy="choose one with --currency; each sheet needs an [[exchange]] to it",
        )
    return used[0] if used else ""
