# SPDX-License-Identifier: Apache-2.0
"""Texts to pass on: tables as CSV and Markdown, an answer as Markdown and as a forum's BBCode. The one place that
escapes what names may hold.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

_JOINT = "\u200b"
"""No width: what it parts is no tag, mention, reference or address."""


def escaped(text: str) -> str:
    """Text that ends no table cell, opens no tag, link or emphasis, and calls nobody."""
    text = re.sub(r"([\\`|<>\[\]*_~&])", r"\\\1", " ".join(text.split()))
    return re.sub(r"([@#]|://|\bwww)(?=\S)", rf"\1{_JOINT}", text)


def row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(escaped('' if cell is None else str(cell)) for cell in cells)} |"


def table(head: Sequence[object], rows: Iterable[Iterable[object]]) -> list[str]:
    """Lines of Markdown."""
    return [row(head), f"|{'---|' * len(head)}", *map(row, rows)]


def csv_text(head: Sequence[object], rows: Iterable[Iterable[object]]) -> str:
    """With plain line ends; None is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()


def markdown(title: str, badge: str, lines: Sequence[str], items: Sequence[str], end: str) -> str:
    """lines: as they are, in letters of one width."""
    text = "\n".join(lines)
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    listed = [*(f"- {escaped(item)}" for item in items), ""] if items else []
    return "\n".join(
        [f"**{escaped(title)} · {badge}**", "", f"{fence}text", text, fence, "", *listed, escaped(end), ""]
    )


def bbcode(title: str, badge: str, lines: Sequence[str], items: Sequence[str], end: str) -> str:
    """The same for forums."""
    title, text, end = (part.replace("[", f"[{_JOINT}") for part in (title, "\n".join(lines), end))
    listed = "".join(f"[*]{item.replace('[', f'[{_JOINT}')}\n" for item in items)
    listed = f"[list]\n{listed}[/list]\n" if items else ""
    return f"[b]{title} · {badge}[/b]\n[code]\n{text}\n[/code]\n{listed}{end}\n"
