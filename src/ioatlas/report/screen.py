# SPDX-License-Identifier: Apache-2.0
"""The first screen of a campaign in the terminal: at most 23 lines of 100 columns, whatever the campaign."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ioatlas import __version__
from ioatlas.answer.analysis.imported_answer import LOADS, SETS
from ioatlas.answer.analysis.summary import summarise
from ioatlas.answer.analysis.wording import plural
from ioatlas.answer.product.quantity import money
from ioatlas.model.estimate import UNDETERMINED
from ioatlas.model.finding import FindingCode
from ioatlas.model.panel import WIDEST
from ioatlas.model.summary import Summary, Trust
from ioatlas.report.export import texts
from ioatlas.report.export.texts import conditions
from ioatlas.report.findings import told_doubts, worded
from ioatlas.report.heatmap import draw
from ioatlas.report.numbers import beside_of, named, next_line, small_of, title_of, value_of, where_of
from ioatlas.report.redact import redactor
from ioatlas.report.small_map import COLOURS, small_map

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ioatlas.model.panel import Table
    from ioatlas.model.result import CampaignResult

LINES = 23
"""Of the 24 of a small terminal: the shell asks on the last."""
MOST_HEADLINES = 4
MOST_SMALL = 4
MOST_DOUBTS = 3
MOST_FACTORS = 3
MOST_PRICES = 4
MOST_SET_NAME = 24
"""Letters of a set's name that are always shown."""
LABEL = 13
"""Columns of the label of a line."""
LEAST_MAP_LINES = 5
PASTED_WIDTH, PASTED_LINES = 80, 60

_BADGES = {Trust.GOOD: "bold black on green", Trust.FAIR: "bold black on yellow", Trust.LOW: "bold white on red"}


def console_of(width: int = WIDEST) -> Console:
    """A console on standard output. width: of what is no terminal; by default as wide as a screen may be."""
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, emoji=False, width=width)


def screen(result: CampaignResult, console: Console, *, place: str, report: str) -> list[Text]:
    """The lines, in the order in which they answer: how fast, whether to believe it, where, why not, what next.

    place: the campaign's directory as the user named it; report: the page's path, or ''.
    """
    summary = summarise(result)
    width = min(console.width, WIDEST)
    title = title_lines(summary, width)
    end = [Text(""), *_doubts(summary, width), *_end(summary, place, report, width)]
    room = LINES - len(title) - len(end)
    return [*title, *answer_lines(summary, result, console, width=width, room=room, place=place), *end]


def answer_lines(
    summary: Summary, result: CampaignResult, console: Console, *, width: int, room: int, place: str
) -> list[Text]:
    """How fast, and where: in so many lines, unless the numbers alone take more."""
    fits = _of_code(result, FindingCode.FIT, "Fit", width)
    top = [*fits, *([] if fits and not summary.headlines else _numbers(summary, width, place))]
    top += _of_code(result, FindingCode.BURST, "Burst", width)
    told = (
        []
        if summary.n_measured
        else [one for one in worded(result) if one.code is FindingCode.IMPORTED and not one.cells]
    )
    top += [line for one in told for line in labelled(one.title, one.sentence, width, LABEL)]
    top += _of_code(result, FindingCode.FACTOR, "Factors", width, MOST_FACTORS)
    top += _prices(result, width, place)
    room = max(LEAST_MAP_LINES, room - len(top) - 1)
    middle = _middle(result, console, width, room, f"ioatlas show {quote(place)} -v" if place else "-o DIR keeps all")
    return [*top, *([Text(""), *middle] if middle else [])]


def pasted(result: CampaignResult, form: str) -> str:
    """The answer to pass on by paste, as Markdown ('md') or BBCode. Nothing in it names the site."""
    summary, clean = summarise(result), redactor(result.targets)
    lines = answer_lines(summary, result, console_of(), width=PASTED_WIDTH, room=PASTED_LINES, place="DIR")
    return (texts.markdown if form == "md" else texts.bbcode)(
        " ".join(clean(title_of(summary)).split()),
        f"trust: {summary.trust_text}",
        [clean(line.plain.rstrip()) for line in lines],
        [clean(doubt.sentence) for doubt in told_doubts(summary.doubts)[:MOST_DOUBTS]],
        f"Measured with I/O Atlas {__version__}. {conditions(result)}",
    )


# -- parts ---------------------------------------------------------------------------------------------------


def title_lines(summary: Summary, width: int) -> list[Text]:

    text = title_of(summary)
    badge = f" TRUST: {summary.trust_text.upper()} "
    line = Text(text, style="bold")
    if len(text) + len(badge) + 2 > width:
        return [
            *(Text(part, style="bold") for part in _fold(text, width, 0)),
            Text(badge, style=_BADGES[summary.trust]),
        ]
    line.append(" " * (width - len(text) - len(badge)))
    line.append(badge, style=_BADGES[summary.trust])
    return [line]


def _numbers(summary: Summary, width: int, place: str) -> list[Text]:
    shown = summary.headlines[:MOST_HEADLINES]
    values = [value_of(one) for one in shown]
    widest = max((len(value) for value in values), default=0)
    told = (f"{value.ljust(widest)}   {where_of(one)}".rstrip() for one, value in zip(shown, values, strict=True))
    rows = [*zip((one.label for one in shown), told, strict=True)] or [("Best", "no value can be named: see why below")]
    if more := len(summary.headlines) - len(shown):
        rows.append(("", f"and {more} more: `ioatlas show {quote(place)} -v`"))
    room = MOST_SMALL if len(shown) < MOST_HEADLINES else 2
    rows += [(io.label, small_of(io)) for io in summary.small[:room]]
    rows += [(one.label, beside_of(one)) for one in summary.beside[:MOST_SMALL]]
    limits = [one.limit for one in shown] + [io.best.limit for io in summary.small[:room]]
    rows += [("Bottleneck", _bottlenecks(summary))] if summary.bottlenecks and not any(map(named, limits)) else []
    label = max([LABEL, *(len(name) + 2 for name, _ in rows)])
    return [line for name, text in rows for line in labelled(name, text, width, label)]


def _bottlenecks(summary: Summary) -> str:
    """'path 12 cells (90%) · drive 3'."""
    parts = [f"{'unclear' if one.name == UNDETERMINED else one.name} {one.count:,}" for one in summary.bottlenecks]
    parts[0] += " cell" if summary.bottlenecks[0].count == 1 else " cells"
    odds = ["" if one.probability is None else f" ({one.probability:.0%})" for one in summary.bottlenecks]
    return " · ".join((part + told).replace(" ", "\xa0") for part, told in zip(parts, odds, strict=True))


def _of_code(result: CampaignResult, code: FindingCode, label: str, width: int, most: int = 100) -> list[Text]:
    """The first findings of a kind, the first with a label."""
    told = [one.sentence for one in worded(result) if one.code is code]
    if len(told) > most:
        told = [*told[:most], f"and {len(told) - most} more: `ioatlas show DIR -v`"]
    return [line for n, text in enumerate(told) for line in labelled("" if n else label, text, width, LABEL)]


def _prices(result: CampaignResult, width: int, place: str) -> list[Text]:
    """What a unit of the product costs; of several products what their capacity costs, for `cost` compares them."""
    if not result.costs:
        return []
    first, several = result.costs[0], len(result.costs) > 1
    parts = [
        f"{'≤ ' if unit.lower_bound else ''}{money(unit.cost, first.currency)} per {unit.unit}"
        for unit in first.units
        if unit.cost is not None
    ]
    if several:
        shown = [(cost, unit) for cost in result.costs for unit in cost.units[:1] if unit.cost is not None]
        parts = [f"{cost.target} {money(unit.cost or 0.0, cost.currency)} per {unit.unit}" for cost, unit in shown]
        parts = [*parts[:MOST_PRICES], f"more: `ioatlas product cost {place}`"]
    return labelled("Price", " · ".join(parts), width, LABEL) if parts else []


def _doubts(summary: Summary, width: int) -> list[Text]:

    if not summary.doubts:
        return []
    shown = told_doubts(summary.doubts)[: MOST_DOUBTS - (summary.trust_text != summary.trust)]
    more = len(summary.doubts) - len(shown)
    why = "Not known" if summary.trust_text != summary.trust else f"Why {summary.trust}"
    lines = [Text(f"{why}{f' ({more} more: -v)' if more else ''}:", style="bold")]
    for doubt in shown:
        lines += [Text(line) for line in _fold(f"  • {doubt.sentence.rstrip('.')}", width, 4)]
    return lines


def _end(summary: Summary, place: str, report: str, width: int) -> list[Text]:
    lines = labelled("Next", next_line(summary.next_step, Path(place), place).replace("`", ""), width, 8)
    if not place:
        return lines
    more = f"ioatlas show {quote(place)} -v"
    if report and len(report) + len(more) + 16 <= width:
        return [*lines, *labelled("Report", f"{report}   More: {more}", width, 8)]
    return [*lines, *(labelled("Report", report, width, 8) if report else []), *labelled("More", more, width, 8)]


def _middle(result: CampaignResult, console: Console, width: int, room: int, more: str) -> list[Text]:
    """The tables of a campaign that is no map, else the small heat map."""
    if result.shown_as == "tables":
        tables = [table for table in result.tables if not (table.after_map or table.folded)]
        return _cut(rendered(text_tables(tables, width, notes=False), width), room, more)
    if sets := next((one for one in result.tables if one.title in (SETS, LOADS)), None):
        return _sets(sets, width, room)

    found = small_map(result)
    if found is None:
        return []
    return draw(found, width=width, lines=room, style=style_of(console), more=more)


def _sets(table: Table, width: int, room: int) -> list[Text]:
    """A line for each set, with the columns that fit; of the sets that do not how many there are of each tool."""
    rows = table.rows if len(table.rows) < room else table.rows[: max(room - 2, 1)]
    wide = [max(map(len, column)) + 2 for column in zip(table.columns, *rows, strict=True)]
    used = next(n for n in range(len(wide), 0, -1) if n <= 3 or MOST_SET_NAME + sum(wide[1:n]) <= width)
    most = min(wide[0], max(MOST_SET_NAME, width - sum(wide[1:used]))) - 2
    told = [(row[0] if len(row[0]) <= most else f"{row[0][: most - 1]}…", *row[1:used]) for row in rows]
    lines = rendered([table_of(table.columns[:used], told, left=table.columns[:1])], width)
    if left := Counter(row[0].partition(", ")[0] for row in table.rows[len(rows) :]):
        kinds = ", ".join(f"{count:,} of {name}" for name, count in left.most_common(4))
        lines += labelled("", f"{plural(left.total(), f'further {table.columns[0]}')}: {kinds}", width, 2)
    return lines


# -- helpers -------------------------------------------------------------------------------------------------


def table_of(heads: Sequence[str], rows: Iterable[Sequence[str]], *, left: Collection[str] = ()) -> RichTable:
    """A table of texts without lines; the columns named in `left` begin at one place, the others end at one."""
    table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        table.add_column(head, justify="left" if head in left else "right", no_wrap=head not in left)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def labelled(label: str, text: str, width: int, indent: int) -> list[Text]:
    """A line under its label, folded where it is too long."""
    lines = []
    for n, line in enumerate(_fold(label.ljust(indent) + text, width, indent)):
        made = Text(line)
        if n == 0 and label:
            made.stylize("bold", 0, len(label))
        lines.append(made)
    return lines


_UNIT = re.compile(r"(?<=\d) (?=(?:[KMGT]iB(?:/s)?|[kMG]?B(?:/s)?|[numµ]?s|(?:[kM] )?IOPS)\b)")
"""Between a number and its unit no line ends."""


def _fold(text: str, width: int, indent: int) -> list[str]:
    lines = textwrap.wrap(
        _UNIT.sub("\xa0", text),
        max(width, 40),
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        break_long_words=False,
        replace_whitespace=False,
    )
    return [line.replace("\xa0", " ") for line in lines] or [""]


def rendered(tables: Sequence[object], width: int) -> list[Text]:
    """Tables of Rich as lines."""
    console = Console(width=width, highlight=False, markup=False, emoji=False, color_system=None)
    with console.capture() as captured:
        for table in tables:
            console.print(table)
    return [Text(line) for line in captured.get().rstrip("\n").splitlines()]


def _cut(lines: list[Text], room: int, more: str) -> list[Text]:
    """What does not fit is counted."""
    if len(lines) <= room:
        return lines
    return [*lines[: room - 1], Text(f"... {plural(len(lines) - room + 1, 'more line')}: {more}")]


_FEW_COLOURS = ("", "", "bold", "bold", "bold reverse", "bold reverse")
"""Steps from slow to fast."""


def style_of(console: Console) -> Callable[[float | None], str]:
    """How a value is coloured by its share of the largest one.

    Both letters and ground are set, so that it can be read on light and dark terminals. Where there are 16 colours
    only, whose shades are the user's, weight stands for colour.
    """
    rich_enough = console.color_system in ("256", "truecolor", "windows")

    def style(share: float | None) -> str:
        if share is None or console.color_system is None:
            return ""
        step = min(len(_FEW_COLOURS) - 1, int(max(share, 0.0) * len(_FEW_COLOURS)))
        ground = COLOURS[int((step + 0.5) / len(_FEW_COLOURS) * len(COLOURS))]
        return f"{'#ffffff' if step < 2 else '#000000'} on #{ground}" if rich_enough else _FEW_COLOURS[step]

    return style


def text_tables(tables: Sequence[Table], width: int, *, notes: bool = True) -> list[RenderableType]:
    """Each under its title, with the columns that fit where some may be left out, and what is to be known of it."""
    parts: list[RenderableType] = []
    for table in tables:
        columns = dict(zip(table.columns, zip(*table.rows, strict=True), strict=True)) if table.rows else {}
        left = [name for name, texts in columns.items() if any(text[:1].isalpha() for text in texts)]
        gone = []
        for name in table.spare:
            if sum(max(map(len, (name, *texts))) + 2 for name, texts in columns.items()) > width:
                gone += [name] if columns.pop(name, ()) else []
        rows = zip(*columns.values(), strict=True)
        parts += [Text(table.title, style="bold"), table_of([*columns], rows, left=left)]
        parts += [Text(f"Left out, too wide: {', '.join(gone)}", style="dim")] if gone else []
        parts += [Text(table.note, style="dim")] if notes and table.note else []
        parts += [Text("")]
    return parts
