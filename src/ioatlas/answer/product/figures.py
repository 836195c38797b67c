# SPDX-License-Identifier: Apache-2.0
"""The figures of one product: capacity, price, price per TiB, beside those that somebody printed; with
the sheet as one JSON object. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ioatlas.answer.product.capacity import Capacity, usable_capacity
from ioatlas.answer.product.price import Bill, bill_of, monthly
from ioatlas.answer.product.quantity import TB, TIB, amount_text, both_units, in_tb, in_tib, money
from ioatlas.answer.product.sheet import DriveRole, Permission, Publishing, Sheet
from ioatlas.model.errors import UsageError

MOST_DRIVES = 100_000
"""A sheet of somebody else keeps no command busy without end."""


@dataclass(frozen=True)
class PrintedFigures:
    """What follows from the printed figures alone. sentences: where theirs and ours differ, and why."""

    computed_per_tib: float | None
    currency: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """raw_bytes: of data drives, or what was provisioned; None unknown. usable_bytes: None without a layout.

    price_total: what is paid once; per_month: what a service charges. price_per_tib: of usable capacity; None where
    either is not known, or where it is paid by the month.
    """

    name: str
    raw_bytes: int | None
    usable_bytes: int | None
    capacity: Capacity | None
    bill: Bill | None
    currency: str
    price_total: float | None
    price_per_tib: float | None
    price_per_raw_tib: float | None
    per_month: float | None
    per_tib_month: float | None
    printed: PrintedFigures | None

    @property
    def usable_tib(self) -> float | None:
        return None if self.usable_bytes is None else self.usable_bytes / TIB


def figures(sheet: Sheet, currency: str = "") -> Figures:
    """Everything that follows from a sheet. Raises UsageError for what cannot be: a layout without enough drives."""
    sizes = data_drives(sheet)
    capacity = None
    if sheet.layout is not None and sizes:
        capacity = usable_capacity(sizes, sheet.layout, where=f"{sheet.place}: layout")
    raw = sum(sizes) if sizes else None
    usable = capacity.usable_bytes if capacity else None
    if sheet.volume is not None:  # what a service gives is usable as it is
        raw = usable = sheet.volume.size_bytes
    bill = bill_of(sheet, currency)
    per_month = monthly(sheet, currency)
    named = bill.currency if bill else currency or (sheet.rates[0].currency if sheet.rates else "")
    total = _total(bill, usable)
    found = Figures(
        sheet.name,
        raw,
        usable,
        capacity,
        bill,
        named,
        total,
        _per_tib(bill, total, usable),
        _per_tib(bill, total, raw) if raw else None,
        per_month,
        per_month / (usable / TIB) if per_month is not None and usable else None,
        None,
    )
    return _with_printed(sheet, found)


def data_drives(sheet: Sheet) -> list[int]:
    """Bytes of each data drive; empty where there is none, or a capacity is not known."""
    sets = [one for one in sheet.drives if one.role is DriveRole.DATA]
    if sum(one.count for one in sets) > MOST_DRIVES:
        raise UsageError(
            f"it has more than {MOST_DRIVES:,} drives", where=f"{sheet.place}: drives", remedy="correct the counts"
        )
    if any(one.capacity_bytes is None for one in sets):
        return []
    return [one.capacity_bytes or 0 for one in sets for _ in range(one.count)]


def _total(bill: Bill | None, usable: int | None) -> float | None:
    """With what is charged for each TiB, where the capacity is known."""
    if bill is None:
        return None
    if not bill.per_tib:
        return bill.total
    return (bill.total or 0.0) + bill.per_tib * usable / TIB if usable is not None else None


def _per_tib(bill: Bill | None, total: float | None, size: int | None) -> float | None:
    if total is not None and size:
        return total / (size / TIB)
    if bill is not None and bill.per_tib and bill.total is None:  # priced by capacity alone
        return bill.per_tib
    return None


# -- what was printed ----------------------------------------------------------------------------------------------


def _with_printed(sheet: Sheet, found: Figures) -> Figures:
    printed = sheet.printed
    if printed is None:
        return found
    currency = printed.currency or found.currency
    total = printed.price_total if printed.price_total is not None else found.price_total
    computed = total / (printed.capacity_bytes / TIB) if total is not None and printed.capacity_bytes else None
    sentences = [
        *_capacity_sentences(printed.capacity, printed.capacity_bytes, found),
        *_price_sentences(printed.price_per_tib, computed, total, printed.capacity, currency, found),
    ]
    if (
        printed.price_total is not None
        and found.price_total is not None
        and not _near(printed.price_total, found.price_total, 0.005)
    ):
        sentences.append(
            f"The printed total is {money(printed.price_total, currency)}; "
            f"the items add up to {money(found.price_total, found.currency)}."
        )
    return replace(found, printed=PrintedFigures(computed, currency, tuple(sentences)))


def _capacity_sentences(text: str, size: int | None, found: Figures) -> list[str]:
    """Which of our figures the printed capacity is; TB that were printed as TiB are found out."""
    if size is None:
        return []
    ours = [(name, value) for name, value in (("usable", found.usable_bytes), ("raw", found.raw_bytes)) if value]
    told = []
    # A paper that writes 288 TiB and means 288 TB: in the wrong unit the number fits, in the right one it does not.
    for name, value in ours:
        if "i" in text and abs(size / TIB - value / TB) < 0.5 and not _near(size, value, 0.02):
            told.append(
                f"Printed as {text}, which is {in_tb(value)} of {name} capacity: {in_tb(value)} = {in_tib(value)}."
            )
            if name == "raw":
                told.append("It is the raw capacity, before redundancy.")
            return told
    for name, value in ours:
        if _near(size, value, 0.02):
            return [f"Printed as {text}; our {name} capacity is {both_units(value)}."]
    if ours:
        name, value = ours[0]
        return [f"Printed as {text}; our {name} capacity is {both_units(value)}, {value / size - 1:+.0%}."]
    return []


def _price_sentences(
    printed: float | None, computed: float | None, total: float | None, capacity: str, currency: str, found: Figures
) -> list[str]:
    told = []
    if computed is not None and total is not None:
        told.append(f"{money(total, currency)} / {capacity} = {amount_text(computed)} {currency} per TiB.")
    if printed is not None and computed is not None:
        told.append(f"Printed: {printed:g}, {_agreement(printed, computed)}.")
    ours = found.price_per_tib if found.price_per_tib is not None else found.price_per_raw_tib
    if ours is not None and computed is not None and not _near(ours, computed, 0.002):
        kind = "usable" if found.price_per_tib is not None else "raw"
        told.append(f"Per {kind} TiB it is {money(ours, found.currency)}, {ours / computed - 1:+.1%}.")
    return told


def _agreement(printed: float, computed: float) -> str:
    """Whether a printed number is the computed one, rounded or cut to as many digits as were printed."""
    digits = len(f"{printed:g}".partition(".")[2])
    if round(computed, digits) == printed:
        return "which is that rounded"
    if int(computed * 10**digits) == round(printed * 10**digits):
        return "which is that cut off, not rounded"
    return "which does not follow from the printed figures"


def _near(first: float, second: float, share: float) -> bool:
    return abs(first - second) <= share * max(abs(first), abs(second))


# -- what is missing -----------------------------------------------------------------------------------------------


def remarks(sheet: Sheet, found: Figures) -> list[str]:
    """What a buyer or a reviewer would still ask, each with what to write."""
    told = []
    if found.raw_bytes is None:
        told.append("Capacity is unknown: write capacity in [[drives]].")
    elif found.usable_bytes is None:
        told.append("Usable capacity is unknown: write [layout].")
    if found.bill is None and found.per_month is None:
        told.append("There is no price: write [[price]], or [[rate]] for a service.")
    elif any(not item.origin.date for item in sheet.prices):
        told.append("A price has no date: prices fall, so write date beside it.")
    if found.bill is not None and found.bill.with_tax is None:
        told.append("Whether prices hold tax is not said: write tax.")
    if sheet.power is None:
        told.append("Power is unknown: write [power] idle and loaded.")
    if sheet.publishing.licence is Permission.UNKNOWN:
        told.append("What the licence says about publishing is unknown: write [publishing].")
    elif needs_permission(sheet):
        told.append("The licence restricts publishing, and no permission is recorded.")
    if found.capacity is not None and found.capacity.unused:
        told.append(f"{found.capacity.unused} data drives are in no group of the layout.")
    return told


def needs_permission(sheet: Sheet) -> bool:
    """Whether results may not be published as they are."""
    return sheet.publishing.licence in (Permission.NO, Permission.ASK) and not sheet.publishing.permission


def held_by_licence(publishing: Publishing, permission: str = "") -> str:
    """Why the product's licence keeps results private; '' where it does not. permission: given elsewhere.

    A sheet that says nothing of the licence holds them too: nobody has looked.
    """
    if permission or publishing.permission:
        return ""
    return {
        Permission.NO: "the product's licence forbids publishing, and no permission is recorded",
        Permission.ASK: "the product's licence asks for permission to publish, and none is recorded",
        Permission.UNKNOWN: "the product sheet does not say what the licence says about publishing",
    }.get(publishing.licence, "")


def check_drives(sheet: Sheet) -> None:
    """Raises UsageError for a layout without drives to lay out."""
    if sheet.layout is not None and not any(one.role is DriveRole.DATA for one in sheet.drives):
        raise UsageError(
            "there is a layout and no data drives",
            where=f"{sheet.place}: layout",
            remedy="write [[drives]] with count and capacity",
        )


def drives_line(sheet: Sheet) -> str:
    """'8 x 8 TB (WD80EFZX)', by model."""
    parts: Sequence[str] = [
        f"{one.count} x {' '.join(part for part in (one.capacity, one.kind) if part) or 'drive'}"
        + (f" ({one.model})" if one.model else "")
        + (f" as {one.role.value}" if one.role is not DriveRole.DATA else "")
        for one in sheet.drives
    ]
    return ", ".join(parts)


_PRINTED = {"capacity", "capacity_bytes", "price_total", "price_per_tib"}


def document(sheet: Sheet, found: Figures) -> dict[str, Any]:
    """Sizes in bytes and TiB, money in `currency`, power in watts; null where something is not known."""
    capacity, power, printed = found.capacity, sheet.power, sheet.printed
    return {
        "format": 1,
        "name": sheet.name,
        "vendor": sheet.vendor,
        "model": sheet.model,
        "raw_bytes": found.raw_bytes,
        "raw_tib": found.raw_bytes / TIB if found.raw_bytes is not None else None,
        "usable_bytes": found.usable_bytes,
        "usable_tib": found.usable_tib,
        "price_total": found.price_total,
        "currency": found.currency or None,
        "price_per_tib": found.price_per_tib,
        "price_per_raw_tib": found.price_per_raw_tib,
        "price_per_month": found.per_month,
        "price_per_tib_month": found.per_tib_month,
        "layout": sheet.layout.name if sheet.layout else None,
        "survives_failures": capacity.survives if capacity else None,
        "failure_domain": capacity.domain if capacity else None,
        "capacity_steps": [asdict(step) for step in capacity.steps] if capacity else [],
        "idle_watts": power.idle_watts if power else None,
        "loaded_watts": power.loaded_watts if power else None,
        "printed": {**printed.model_dump(include=_PRINTED), **asdict(found.printed)}
        if printed and found.printed
        else None,
        "bill": [asdict(line) for line in found.bill.lines] if found.bill else [],
        "publishing": sheet.publishing.model_dump(mode="json", include={"licence", "says", "permission"}),
        "facts": {
            fact.name: {"value": fact.value, "source": fact.origin.source, "date": fact.origin.date}
            for fact in sheet.facts
        },
        "claims": [
            {"what": one.what, "value": one.text, "source": one.origin.source, "date": one.origin.date}
            for one in sheet.claims
        ],
        "functions": [
            one.model_dump(include={"name", "listed", "works", "evidence", "vendor_answer"}) for one in sheet.functions
        ],
        "sources": [{"source": source, "date": date, "of": names} for (source, date), names in sheet.origins().items()],
        "remarks": remarks(sheet, found),
    }
