# SPDX-License-Identifier: Apache-2.0
"""The small map in letters, which a report keeps for lists of many campaigns: none of them is computed again."""

from __future__ import annotations

import re
import string

from ioatlas.model.result import CampaignResult
from ioatlas.report.small_map import COLOURS, MISSING, Value, small_map, thinned

LOADS, LEVELS = 4, 6
"""Kinds of load, and values of each axis, that are drawn."""
DOUBTED, NOTHING = "?", "."
_TILE = rf"[A-Za-z?.]{{1,{LEVELS}}}(?:/[A-Za-z?.]{{1,{LEVELS}}}){{0,{LEVELS - 1}}}"
WRITTEN = re.compile(f"{_TILE}(?: {_TILE}){{0,{LOADS - 1}}}|")
"""What `letters` writes, and nothing else."""


def letters(result: CampaignResult) -> str:
    """'cdz/a?Z ..z/aab': a word for each kind of load, its rows from the top, a letter for each cell: from a for the
    lowest share of the largest value to z for the highest, a capital where it is estimated, `?` where it is not
    believed, `.` where there is none. '' where there is no map.
    """
    found = small_map(result)
    if found is None:
        return ""
    xs, ys = thinned(found.x.levels, LEVELS), thinned(found.y.levels[::-1], LEVELS)
    return " ".join(
        "/".join("".join(_letter(found.values.get((load, x, y), Value(MISSING))) for x in xs) for y in ys)
        for load in found.loads[:LOADS]
    )


def _letter(value: Value) -> str:
    if value.step is None:
        return NOTHING if value.text == MISSING else DOUBTED
    return (string.ascii_uppercase if value.is_estimated else string.ascii_lowercase)[value.step]


def colour_of(letter: str) -> str:
    """'#26828e'; '' of a cell without a colour."""
    return f"#{COLOURS[ord(letter.lower()) - ord('a')]}" if letter.isalpha() else ""


def in_words(told: str) -> str:
    """'20 cells with a value, 1 not believed'."""
    kinds = (("with a value", str.islower), ("estimated", str.isupper), ("not believed", DOUBTED.__eq__))
    counts = [f"{count} {words}" for words, holds in kinds if (count := sum(map(holds, told)))]
    return ", ".join(counts).replace(" ", " cells ", 1) or "no value"
