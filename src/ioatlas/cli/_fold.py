# SPDX-License-Identifier: Apache-2.0
"""Lines as wide as the terminal. Elsewhere they stay whole, for tools that read lines."""

from __future__ import annotations

import shutil
import sys
import textwrap

WIDEST = 100
"""Columns of an answer where there is no terminal, and at most where there is one."""
WIDEST_PROSE = 120


def room(widest: int = WIDEST) -> int:
    """Columns that an answer may take."""
    return min(shutil.get_terminal_size().columns, widest) if sys.stdout.isatty() else widest


def folded(line: str, indent: int = 0) -> str:
    """A line, on a terminal folded between words; what follows is set in by `indent`."""
    if not sys.stdout.isatty():
        return line
    return textwrap.fill(
        line, room(WIDEST_PROSE), subsequent_indent=" " * indent, break_on_hyphens=False, break_long_words=False
    )
