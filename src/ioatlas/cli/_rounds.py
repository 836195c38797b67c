# SPDX-License-Identifier: Apache-2.0
"""Tests in rounds as tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ioatlas.model.result import CampaignResult


def rounds_tables(result: CampaignResult) -> list[RenderableType]:
    """A table for each test in rounds: block sizes down, read shares across, averages of the measurement window."""
    from rich.table import Table
    from rich.text import Text

    from ioatlas.report.rounds import table_of

    parts: list[RenderableType] = []
    for test in result.rounds:
        title, heads, lines = table_of(test)
        table = Table(box=None, pad_edge=False, header_style="bold")
        for head in heads:
            table.add_column(head, justify="right", no_wrap=True)
        for line in lines:
            table.add_row(*(Text(text) for text in line))
        parts += [Text(title, style="bold"), table, Text("")]
    return parts
