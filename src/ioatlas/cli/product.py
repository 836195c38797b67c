# SPDX-License-Identifier: Apache-2.0
"""`ioatlas product`: sheets of products: a new one, checked, shown, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from ioatlas.answer.product.figures import (
    Figures,
    check_drives,
    document,
    drives_line,
    figures,
    needs_permission,
    remarks,
)
from ioatlas.answer.product.quantity import amount_text, both_units, in_tb, in_tib, money
from ioatlas.answer.product.sheet import Sheet
from ioatlas.cli._arguments import CampaignDirectory
from ioatlas.cli._commands import Commands, examples
from ioatlas.cli._output import (
    check_ending,
    folded,
    print_lines,
    say,
    say_json,
    says_what_does_not_fit,
    write_table,
)
from ioatlas.model.errors import GateError, UsageError, written
from ioatlas.model.panel import WIDEST

if TYPE_CHECKING:
    from rich.text import Text


LABEL = 13


def screen(sheet: Sheet, found: Figures, remarks: Sequence[str], *, verbose: bool, width: int = WIDEST) -> list[Text]:
    """The lines. verbose: every fact, the sources. width: columns of the terminal."""
    from rich.text import Text

    from ioatlas.report.screen import labelled

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


sheet_argument = click.argument("sheet", metavar="SHEET.toml", type=click.Path(path_type=Path))


@click.group(name="product", cls=Commands)
def command() -> None:
    """What a product is, holds and costs: a sheet of facts, each with its source and date.

    \b
    ioatlas product new nas.toml             a sheet to fill in
    ioatlas product check nas.toml           faults, and what is missing
    ioatlas product show nas.toml            capacity, price per TiB
    ioatlas product table a.toml b.toml      products side by side
    ioatlas product cost nas1 --product nas.toml   what a measured MB/s costs
    """  # noqa: D301


@command.command("new")
@click.argument("sheet", metavar="FILE.toml", type=click.Path(path_type=Path))
@click.option("--vendor", metavar="NAME", help="Who makes it.")
@click.option("--model", metavar="NAME", help="What it is called.")
@click.option("--source", metavar="TEXT", help="Where the facts are from. Default: typed in.")
@click.option("--drives", metavar="N", type=click.IntRange(1), help="How many drives.")
@click.option("--capacity", metavar="SIZE", help="Capacity of one drive, in the maker's unit: '8 TB'.")
@click.option("--layout", metavar="TYPE", help="Such as raid6, shr-1, raidz2.")
@click.option("--price", metavar="AMOUNT", type=float, help="Price of all of it.")
@click.option("--currency", metavar="USD", help="Of the price. Default: USD.")
def new_(sheet: Path, **given: str | float | None) -> None:
    """Write a new sheet to fill in. An existing file is left alone."""
    from ioatlas.answer.product.sheet_file import new_sheet, read_sheet

    for name, needs in (("capacity", "drives"), ("currency", "price")):
        if given[name] is not None and given[needs] is None:
            raise UsageError(f"--{name} says nothing without --{needs}", where=f"--{name}", remedy=f"add --{needs}")
    text = new_sheet(sheet.name, given, datetime.now(UTC).date().isoformat())
    figures(read_sheet(text, str(sheet)))  # what was typed is checked before it is written
    with written(sheet, "name a file in a folder that exists"), sheet.open("x", encoding="utf-8") as file:
        file.write(text)
    click.echo(f"{sheet}: fill it in, then `ioatlas product check {sheet}`")


@command.command("check", epilog=examples("product check"))
@click.argument("sheets", metavar="SHEET.toml...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--complete", is_flag=True, help="Exit with 3 when something a buyer would ask is missing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check_(sheets: tuple[Path, ...], *, complete: bool, as_json: bool) -> None:
    """Check sheets, and say what is missing."""
    from ioatlas.answer.product.sheet_file import SheetError, read_sheet_file

    told = []
    faults: list[UsageError] = []
    for path in sheets:
        try:
            sheet = read_sheet_file(path)
            check_drives(sheet)
            found = remarks(sheet, figures(sheet))
        except UsageError as error:
            faults += error.faults if isinstance(error, SheetError) else [error]
            continue
        told.append({"sheet": str(path), "name": sheet.name, "missing": found})
    if as_json and not faults:
        say_json(told)
    elif not as_json:
        for one in told:
            click.echo(f"{one['sheet']}: sound" + (f", {len(one['missing'])} to do" if one["missing"] else ""))
            for remark in one["missing"]:
                say(f"  • {remark}")
    if faults:
        _all_but_the_last(faults)
    lacking = [one for one in told if one["missing"]]
    if complete and lacking:
        raise GateError(f"{len(lacking)} of {len(told)} sheets are not complete", where=str(lacking[0]["sheet"]))


def _all_but_the_last(faults: list[UsageError]) -> NoReturn:
    """Tells each fault; the last as any command tells what it ends with."""
    *others, last = faults
    for fault in others:
        click.echo(folded(f"ioatlas: {fault}", 4), err=True)
    raise last


@command.command("show")
@sheet_argument
@click.option("--currency", metavar="USD", help="Of the totals. Default: that of the prices.")
@click.option("-v", "--verbose", is_flag=True, help="Every fact, what writes cost the drives, and the sources.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_(sheet: Path, *, currency: str | None, verbose: bool, as_json: bool) -> None:
    """Show a product: capacity, and price per TiB."""
    from ioatlas.answer.product.sheet_file import read_sheet_file

    read = read_sheet_file(sheet)
    found = figures(read, currency or "")
    if as_json:
        say_json(document(read, found))
        return
    from ioatlas.report.screen import console_of

    console = console_of()
    width = min(console.width, WIDEST)
    print_lines(screen(read, found, remarks(read, found), verbose=verbose, width=width), console)


@command.command("table", epilog=examples("product table"))
@click.argument("sheets", metavar="SHEET.toml...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--result",
    "results",
    multiple=True,
    metavar="DIR",
    type=CampaignDirectory(),
    help="Where each product was measured, in the order of the sheets.",
)
@click.option("-o", "output", metavar="FILE", type=click.Path(path_type=Path), help="Write .csv, .md, .html or .json.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def table_(sheets: tuple[Path, ...], results: tuple[Path, ...], output: Path | None, *, as_json: bool) -> None:
    """Products side by side.

    Specifications, price, what was claimed and measured, what works.
    """
    from ioatlas import api
    from ioatlas.answer.product.cost import Offer
    from ioatlas.answer.product.sheet_file import read_sheet_file
    from ioatlas.answer.product.table import columns, rows, table_document

    if output is not None:
        check_ending(output)
    if len(results) > len(sheets):
        raise UsageError(
            f"there are {len(results)} results and {len(sheets)} sheets",
            where="--result",
            remedy="give at most one result for each sheet, in their order",
        )
    measured = [api.load(path) for path in results]
    found = columns(
        [Offer(read_sheet_file(path), measured[n] if n < len(measured) else None) for n, path in enumerate(sheets)]
    )
    head, body = rows(found)
    if as_json:
        say_json(table_document(found))
    elif output is None:
        _print_table(head, body)
    if output is not None:
        write_table(output, "Products", head, body, lambda: table_document(found))
        click.echo(f"written: {output}", err=as_json)


def _print_table(head: list[str], body: list[list[str]]) -> None:
    """Folded into the width of the screen."""
    from ioatlas.report.screen import console_of, rendered, table_of

    console = console_of()
    print_lines(rendered([table_of(head, body, left=head)], console.width), console)
