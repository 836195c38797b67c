# SPDX-License-Identifier: Apache-2.0
"""What commands print: lines as wide as the terminal (elsewhere whole, for tools that read them), and JSON; tables
written to a file whose ending says how; and one message where the values in a campaign's directory do not fit together
in a way that no check foresaw.
"""

from __future__ import annotations

import functools
import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Sequence
from html import escape
from pathlib import Path
from string import Template
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from ioatlas.model.errors import IoAtlasError, UsageError, written
from ioatlas.model.panel import WIDEST

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ioatlas.model.result import CampaignResult


WIDEST_PROSE = 120


def room(widest: int = WIDEST) -> int:
    """Columns that an answer may take."""
    return min(shutil.get_terminal_size().columns, widest) if sys.stdout.isatty() else widest


def fold(text: str, indent: str) -> list[str]:
    """Lines of a text, each as long as an answer may be. indent: of those after the first."""
    return textwrap.wrap(text, room(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def columns(rows: Sequence[Sequence[str]], *, right: Collection[int] = (), gap: str = "  ") -> list[str]:
    """Rows of texts as lines, each column as wide as its widest text. right: columns that end at the same place."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]

    def line(row: Sequence[str]) -> str:
        cells = (text.rjust(widths[n]) if n in right else text.ljust(widths[n]) for n, text in enumerate(row))
        return gap.join(cells).rstrip()

    return [line(row) for row in rows]


def folded(line: str, indent: int = 0, *, err: bool = False) -> str:
    """A line, on a terminal folded between words; what follows is set in by `indent`."""
    if not (sys.stderr if err else sys.stdout).isatty():
        return line
    columns = min(shutil.get_terminal_size().columns, WIDEST_PROSE)
    return textwrap.fill(line, columns, subsequent_indent=" " * indent, break_on_hyphens=False, break_long_words=False)


def say(text: str, *, err: bool = False, indent: int | None = None) -> None:
    """Print lines, each folded between words on a terminal. indent: of what follows; else two more than its own."""
    for line in text.splitlines():
        deeper = len(line) - len(line.lstrip()) + 2 if indent is None else indent
        click.echo(folded(line, deeper, err=err), err=err)


def say_json(value: Any, *, line: bool = False) -> None:
    """Print a value as JSON. line: on one line, where each line is an object of its own."""
    click.echo(json.dumps(value, separators=(",", ":")) if line else json.dumps(value, indent=2))


def show(result: CampaignResult, *, place: str, report: str) -> None:
    """Print the first screen of a campaign."""
    from ioatlas.report.screen import console_of, screen

    print_lines(screen(result, console := console_of(), place=place, report=report), console)


def print_lines(lines: Sequence[Text], console: Console) -> None:
    """On a terminal with its styles; elsewhere without the blanks that fill lines up."""
    if console.is_terminal:
        for line in lines:
            console.print(line, no_wrap=True, overflow="ignore", crop=False)
        return
    for line in lines:
        click.echo(line.plain.rstrip())


Rows = Sequence[Sequence[Any]]
PAGE = Path(__file__).with_name("table.html")
ENDINGS = (".csv", ".md", ".html", ".json")


def check_ending(path: Path) -> None:
    """Before anything is computed. Raises UsageError."""
    if path.suffix not in ENDINGS:
        raise UsageError(
            f"its ending {path.suffix!r} names no format", where=str(path), remedy=f"end it in {', '.join(ENDINGS)}"
        )


def write_table(path: Path, title: str, head: Sequence[str], rows: Rows, document: Callable[[], Any]) -> None:
    """document: what a JSON file holds. Raises UsageError, IoAtlasError."""
    from ioatlas.report.export.texts import csv_text, table

    check_ending(path)
    if path.suffix == ".json":
        text = json.dumps(document(), indent=1, ensure_ascii=False) + "\n"
    elif path.suffix == ".csv":
        text = csv_text(head, rows)
    else:
        lines = [f"# {title}", "", *table(head, rows), ""]
        text = "\n".join(lines) if path.suffix == ".md" else html(title, head, rows)
    with written(path, "name another file"):
        path.write_text(text, encoding="utf-8")


def html(title: str, head: Sequence[str], rows: Rows) -> str:
    """A page of its own that loads nothing."""
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "\n".join(
        f'<tr><th scope="row">{escape(_text(row[0]))}</th>'
        + "".join(f"<td>{escape(_text(cell))}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return Template(PAGE.read_text(encoding="utf-8")).substitute(title=escape(title), top=top, body=body)


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)


Given = ParamSpec("Given")
Answer = TypeVar("Answer")

FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What values lead to that cannot be computed with. What the system says is no part of it."""


def says_what_does_not_fit(command: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """A command that reads a campaign's directory, which may be somebody else's: one message in the place of a
    traceback, with the place in the code for a report.
    """

    @functools.wraps(command)
    def run(*arguments: Given.args, **options: Given.kwargs) -> Answer:
        try:
            return command(*arguments, **options)
        except Exception as error:
            import sqlite3  # a journal whose pages are damaged; when something went wrong only

            if not isinstance(error, (*FAULTS, sqlite3.Error)):
                raise
            places = [str(value) for value in options.values() if isinstance(value, Path)]
            raise IoAtlasError(
                f"values in it do not fit together ({type(error).__name__} at {_place(error.__traceback__)})",
                where=places[0] if places else "",
                remedy="restore it from a copy; where nobody changed it this is a fault of ioatlas: please report it",
            ) from error

    return run


def _place(traceback: TracebackType | None) -> str:
    """The last place in ioatlas itself."""
    place = "?"
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if module.startswith("ioatlas."):
            place = f"{module}, line {traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
