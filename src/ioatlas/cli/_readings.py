# SPDX-License-Identifier: Apache-2.0
"""Imported readings as a table of the terminal: no column is cut, and what is left out is told."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ioatlas.cli._output import table_of

if TYPE_CHECKING:
    from rich.console import RenderableType

TEXTS = ("source", "tool", "operation", "direction")
FIGURES = ("bs", "size", "jobs", "depth", "IOPS", "bandwidth", "mean", "p99", "errors")
COLUMNS = (*TEXTS, *FIGURES, "statistic")
LEFT_OUT_FIRST = ("statistic", "tool", "depth", "size", "p99", "jobs", "direction", "mean")
"""What a narrow terminal does without, in this order."""
BETWEEN = 2
SHORTEST_SOURCE = 20


def readings_table(rows: Sequence[Sequence[str]], width: int) -> list[RenderableType]:
    """rows: a text for each of `COLUMNS`. The folder that all sources share stands above, empty columns are dropped."""
    from rich.text import Text

    folder, rows = _without_folder(rows)
    used = [name for at, name in enumerate(COLUMNS) if name in ("source", "bandwidth") or any(row[at] for row in rows)]
    widths = {name: max(len(name), *(len(row[COLUMNS.index(name)]) for row in rows)) for name in used}
    left: list[str] = []
    for name in LEFT_OUT_FIRST:
        if _fits({**widths, "source": min(widths["source"], SHORTEST_SOURCE)}, width):
            break
        if name in widths:
            del widths[name]
            left.append(name)
    others = sum(wide + BETWEEN for name, wide in widths.items() if name != "source")
    widths["source"] = max(min(widths["source"], width - others), SHORTEST_SOURCE)
    lines = [[_tail(row[COLUMNS.index(name)], wide) for name, wide in widths.items()] for row in rows]
    parts: list[RenderableType] = [Text(f"in {folder}", style="dim")] if folder else []
    parts.append(table_of(list(widths), lines, left=(*TEXTS, "statistic")))
    if left:
        parts.append(Text(f"Not shown, the terminal is too narrow: {', '.join(left)}", style="dim"))
    return parts


def _fits(widths: dict[str, int], width: int) -> bool:
    return sum(widths.values()) + BETWEEN * (len(widths) - 1) <= width


def _without_folder(rows: Sequence[Sequence[str]]) -> tuple[str, list[Sequence[str]]]:
    """The folder of all sources, and the rows with their sources in it."""
    try:
        folder = os.path.commonpath([os.path.dirname(row[0]) for row in rows])  # noqa: PTH120 - sources are texts
    except ValueError:  # some begin at the root, others do not
        folder = ""
    if len(folder) < 2:
        return "", list(rows)
    return folder, [(row[0][len(folder) + 1 :], *row[1:]) for row in rows]


def _tail(text: str, width: int) -> str:
    """The end of a text: of a source it tells file and line."""
    return text if len(text) <= width else "…" + text[len(text) - width + 1 :]
