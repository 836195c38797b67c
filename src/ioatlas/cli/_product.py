# SPDX-License-Identifier: Apache-2.0
"""A product sheet on the screen: capacity, price and power first, then how they come about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ioatlas.cli._output import WIDEST
from ioatlas.product.figures import Figures, drives_line, needs_permission
from ioatlas.product.quantity import amount_text, both_units, in_tb, in_tib, money
from ioatlas.product.sheet import Sheet

if TYPE_CHECKING:
    from rich.text import Text


LABEL = 13


def screen(sheet: Sheet, found: Figures, remarks: Sequence[str], *, verbose: bool, width: int = WIDEST) -> list[Text]:
    """The lines. verbose: every fact, the sources. width: columns of the terminal."""
    from rich.text import Text

    from ioatlas.cli._screen import labelled

    lines = [Text(sheet.name, style="bold")]

    def add(label: str, text: str) -> None:
        lines.extend(labelled(label, text, width, LABEL))

    for label, text in _answer(sheet, found):
        add(label, text)
    lines.append(Text(""))
    for label, text in _capacity(found):
        add(label, text)
    if found.printed is not None:
        for n, sentence in enumerate(found.printed.sentences):
            add("" if n else "As printed", sentence)
    for n, remark in enumerate(remarks):
        add("" if n else "To do", remark)
    if verbose:
        lines += [Text(""), *(line for label, text in _rest(sheet) for line in labelled(label, text, width, 20))]
    return lines


def _answer(sheet: Sheet, found: Figures) -> Iterator[tuple[str, str]]:
    capacity = found.capacity
    if found.usable_bytes is not None:
        kept = ""
        if capacity is not None:
            n, word = capacity.survives, capacity.domain
            kept = f"   survives {n} {word} failure{'' if n == 1 else 's'}" if n else "   survives no failure"
        yield "Usable", both_units(found.usable_bytes) + kept
    elif found.raw_bytes is not None:
        yield "Usable", f"unknown, no layout is given; raw {both_units(found.raw_bytes)}"
    else:
        yield "Usable", "unknown"
    yield "Price", _price(found)
    if sheet.power is not None:
        yield "Power", sheet.power.text
    if needs_permission(sheet):
        yield "Publishing", f"NOT without permission: licence says {sheet.publishing.says or 'so'}"


def _price(found: Figures) -> str:
    parts = []
    if found.price_total is not None:
        parts.append(money(found.price_total, found.currency))
    if found.per_month is not None:
        parts.append(f"{money(found.per_month, found.currency)} a month")
    if found.price_per_tib is not None and found.usable_bytes is None:
        parts.append(f"{money(found.price_per_tib, found.currency)} per TiB, of what capacity is not said")
    elif found.price_per_tib is not None:
        parts.append(f"{money(found.price_per_tib, found.currency)} per usable TiB")
    elif found.price_per_raw_tib is not None:
        parts.append(f"{money(found.price_per_raw_tib, found.currency)} per raw TiB")
    if found.per_tib_month is not None:
        parts.append(f"{money(found.per_tib_month, found.currency)} per TiB and month")
    if found.bill is not None and found.bill.dates:
        first, last = found.bill.dates[0], found.bill.dates[-1]
        parts.append(f"({first})" if first == last else f"({first} to {last})")
    return "   ".join(parts) or "unknown"


def _capacity(found: Figures) -> Iterator[tuple[str, str]]:
    if found.capacity is None:
        return
    wide = max(len(step.name) for step in found.capacity.steps)
    for n, step in enumerate(found.capacity.steps):
        size = f"{in_tib(step.left_bytes):>11} {in_tb(step.left_bytes):>11}"
        yield "" if n else "Capacity", f"{step.name.ljust(wide)} {size}   {step.why}"


def _rest(sheet: Sheet) -> Iterator[tuple[str, str]]:
    yield "drives", drives_line(sheet) or "unknown"
    for fact in sheet.facts:
        if fact.name not in ("vendor", "model"):
            yield fact.name.replace("_", " "), str(fact.value)
    for item in sheet.prices:
        count = f"{item.count} x " if item.count > 1 else ""
        per = f" per {item.per.value}" if item.per.value != "item" else ""
        yield item.what, f"{count}{amount_text(item.each)} {item.currency}{per}, tax {item.tax.value}"
    for one in sheet.exchanges:
        yield "exchange rate", f"{one.rate:g} {one.currency} for one {one.for_one}"
    for claim in sheet.claims:
        yield "claimed", f"{claim.what}: {claim.text}"
    for function in sheet.functions:
        said = f" ({function.evidence})" if function.evidence else ""
        yield "function", f"{function.name}: works {function.works}{said}"
    for (source, date), names in sheet.origins().items():
        yield "source", f"{source}{f', {date}' if date else ''}: {', '.join(names)}"
