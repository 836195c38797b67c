# SPDX-License-Identifier: Apache-2.0
"""`ioatlas product cost`: what a TiB, a MB/s or 1,000 IOPS of a product costs, and which product wins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from ioatlas import api
from ioatlas.answer.analysis.wording import plural
from ioatlas.answer.product.cost import Offer, Terms, compare_costs, offers_of
from ioatlas.answer.product.cost_rows import CSV_COLUMNS, csv_rows, document, price_drawing, sentences, table
from ioatlas.answer.product.kept import kept_sheet
from ioatlas.answer.product.price import common_currency
from ioatlas.answer.product.readings import Workload, targets_of
from ioatlas.answer.product.sheet_file import read_sheet_file
from ioatlas.cli._arguments import CampaignDirectory, latency_limit, path_option
from ioatlas.cli._commands import examples
from ioatlas.cli._output import check_ending, print_lines, say_json, says_what_does_not_fit, write_table
from ioatlas.model.errors import UsageError
from ioatlas.model.options import read_option
from ioatlas.model.units import parse_percent
from ioatlas.report.export.texts import csv_text
from ioatlas.report.export.to_panels import write_drawing
from ioatlas.report.screen import console_of, labelled, rendered, table_of

if TYPE_CHECKING:
    from rich.text import Text

    from ioatlas.answer.product.cost import CostComparison, Offer
    from ioatlas.answer.product.readings import Workload
    from ioatlas.model.result import CampaignResult

FIGURES = (".png", ".svg", ".pdf")


@click.command(name="cost", epilog=examples("cost"))
@click.argument("results", metavar="[DIR]...", nargs=-1, type=CampaignDirectory())
@path_option(
    "--product",
    "sheets",
    multiple=True,
    metavar="SHEET",
    help="Product sheet of each DIR, in their order. Default: product.toml in DIR.",
)
@click.option("--at", "at", multiple=True, metavar="OPTION=VALUE", help="Only cells with this fio option. Repeatable.")
@click.option("--p99", metavar="TIME", help="Only cells whose 99th percentile of latency is within this.")
@click.option("--mean", metavar="TIME", help="Only cells whose mean latency is within this.")
@click.option("--years", metavar="N", type=click.FloatRange(0, 100), help="Count service and energy over N years.")
@click.option("--energy-price", metavar="AMOUNT", type=click.FloatRange(0), default=0.0, help="Of one kWh.")
@click.option("--load", metavar="PERCENT", default="100%", show_default=True, help="Share of the time under load.")
@click.option("--currency", metavar="USD", help="Of all amounts. Default: that of the sheets.")
@path_option(
    "-o",
    "output",
    metavar="FILE",
    help="Write .csv, .md, .html or .json; .png, .svg or .pdf draws price against value.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(
    results: tuple[Path, ...],
    sheets: tuple[Path, ...],
    at: tuple[str, ...],
    p99: str | None,
    mean: str | None,
    years: float | None,
    energy_price: float,
    load: str,
    currency: str | None,
    output: Path | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    """What products cost for what they give: per usable TiB, per MB/s, per 1,000 IOPS.

    Intervals of measured values carry through. A star marks products that no other one beats in both total
    cost and value; a question mark those where the intervals do not decide.
    """
    if output is not None and output.suffix.lower() not in FIGURES:
        check_ending(output)
    offers = _offers(results, sheets)
    terms = Terms(
        currency or common_currency(one.sheet for one in offers),
        years if years is not None else 0.0,
        energy_price,
        parse_percent(load, where="--load", most=1.0),
    )
    if energy_price and not years:
        raise UsageError(
            "energy costs something over time only", where="--energy-price", remedy="say for how long: --years 5"
        )
    found = compare_costs(offers, terms, _workload(at, p99, mean))
    if as_json:
        say_json(document(found))
    elif as_csv:
        click.echo(csv_text(CSV_COLUMNS, csv_rows(found)), nl=False)
    else:
        _print(found)
    if output is not None and output.suffix.lower() in FIGURES:
        for path in write_drawing(price_drawing(found, _title(found)), output):
            click.echo(f"written: {path}", err=as_json or as_csv)
    elif output is not None:
        head, rows = (list(CSV_COLUMNS), csv_rows(found)) if output.suffix == ".csv" else table(found)
        write_table(output, _title(found), head, rows, lambda: document(found))
        click.echo(f"written: {output}", err=as_json or as_csv)


def _offers(results: Sequence[Path], sheets: Sequence[Path]) -> list[Offer]:
    """Every product with where it was measured. Raises UsageError when sheets and results do not go together."""
    if not results and not sheets:
        raise UsageError(
            "nothing to cost", remedy="name a campaign and its sheet: `ioatlas product cost DIR --product SHEET.toml`"
        )
    if len(results) == 1 and len(sheets) > 1:
        offers = offers_of(read_sheet_file(sheets[0]), api.load(results[0]))
        if len(offers) == len(sheets):  # one result with a target for each product
            return [
                Offer(read_sheet_file(sheet), one.result, one.target) for sheet, one in zip(sheets, offers, strict=True)
            ]
    if sheets and len(sheets) < len(results):
        raise UsageError(
            f"there are {len(results)} results and {plural(len(sheets), 'product sheet')}",
            where="--product",
            remedy="give a sheet for each result, in their order; or none, where campaigns name theirs",
        )
    found: list[Offer] = []
    for n, directory in enumerate(results):
        result = api.load(directory)
        found += offers_of(read_sheet_file(sheets[n]), result) if sheets else _named(directory, result)
    for sheet in sheets[len(results) :]:
        found.append(Offer(read_sheet_file(sheet)))
    return found


def _named(directory: Path, result: CampaignResult) -> list[Offer]:
    """By the sheets that the campaign itself names. Raises UsageError where it names none."""
    found = [
        Offer(sheet, result, target)
        for target in targets_of(result)
        if (sheet := kept_sheet(directory, target)) is not None
    ]
    if not found:
        raise UsageError(
            "the campaign names no product",
            where=str(directory),
            remedy="give its sheet: --product SHEET.toml; `ioatlas product new` writes one",
        )
    return found


def _workload(at: Sequence[str], p99: str | None, mean: str | None) -> Workload:

    options = {}
    for text in at:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"{text!r} is not OPTION=VALUE", where="--at", remedy="write --at bs=4k")
        key, read = read_option(name, value, where=f"--at {name}")
        options[key] = read
    name, limit_ns = latency_limit(p99, mean)
    return Workload(options, limit_ns, f"lat_{name}_ns")


def _title(found: CostComparison) -> str:
    terms = found.terms
    parts = [f"over {terms.years:g} years" if terms.years else "purchase only"]
    if terms.energy_price:
        parts.append(f"energy at {terms.energy_price:g} {terms.currency}/kWh")
    if terms.years and terms.load < 1:
        parts.append(f"{terms.load:.0%} of the time under load")
    if found.workload.text:
        parts.append(found.workload.text)
    return f"Cost, {', '.join(parts)}"


def _print(found: CostComparison) -> None:

    console = console_of()
    lines: list[Text] = []
    for sentence in sentences(found):
        indent = 0 if sentence.startswith("Per ") else 2
        lines += labelled("", f"{' ' * indent}{sentence}", 100, 0)
    head, rows = table(found)
    lines += [
        *([Text("")] if lines else []),
        Text(_title(found), style="bold"),
        *rendered([table_of(head, rows, left=head)], console.width),
    ]
    if len(found.products) > 1:
        lines.append(Text("* no other costs less in all and gives more   ? intervals do not decide", style="dim"))
    for n, remark in enumerate(found.remarks):
        lines += labelled("" if n else "Note", remark, 100, 7)
    print_lines(lines, console)
