# SPDX-License-Identifier: Apache-2.0
"""A table written to a file whose ending says how: CSV, Markdown, HTML or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from ioatlas.errors import UsageError, written
from ioatlas.report.export.markup import csv_text, table

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
