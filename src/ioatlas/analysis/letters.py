# SPDX-License-Identifier: Apache-2.0
"""Letters for a ranking with ties: two things share one exactly where they were not told apart."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from string import ascii_lowercase
from typing import TypeVar

Thing = TypeVar("Thing", bound=Hashable)


def letters(order: Sequence[Thing], apart: Collection[frozenset[Thing]]) -> dict[Thing, str]:
    """Insert and absorb (Piepho 2004, J. Comput. Graph. Stat. 13(2)); the first in order has the first letter."""
    columns: list[frozenset[Thing]] = [frozenset(order)]
    for pair in sorted(apart, key=lambda pair: sorted(order.index(one) for one in pair)):
        split: list[frozenset[Thing]] = []
        for column in columns:
            split += [column - {one} for one in pair] if pair <= column else [column]
        columns = _absorbed(split)
    place = {thing: at for at, thing in enumerate(order)}
    columns.sort(key=lambda column: sorted(place[thing] for thing in column))
    return {thing: "".join(_letter(at) for at, column in enumerate(columns) if thing in column) for thing in order}


def _absorbed(columns: Sequence[frozenset[Thing]]) -> list[frozenset[Thing]]:
    """Without those that lie within another one."""
    kept: list[frozenset[Thing]] = []
    for column in sorted(dict.fromkeys(columns), key=len, reverse=True):
        if not any(column <= larger for larger in kept):
            kept.append(column)
    return kept


def _letter(at: int) -> str:
    return ascii_lowercase[at] if at < len(ascii_lowercase) else f"[{at + 1}]"
