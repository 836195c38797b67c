# SPDX-License-Identifier: Apache-2.0
"""How it is told that sides were not measured under the same conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ioatlas.results.conditions import Apart, Group

SHOWN = 3
_TITLES: dict[Group, str] = {
    "method": "Not comparable here, because these differ",
    "unknown": "Not known to be the same",
    "version": "Other versions",
    "testbed": "Other testbed",
}


def conditions(apart: Sequence[Apart], names: Sequence[str], *, every: bool = False) -> list[str]:
    """One line for each kind of difference, the weightiest first; nothing where nothing differs."""
    lines = []
    for group, title in _TITLES.items():
        found = [one for one in apart if one.group == group]
        if not found:
            continue
        shown = found if every else found[:SHOWN]
        more = f"; and {len(found) - len(shown)} more: -v" if len(found) > len(shown) else ""
        told = ", ".join(one.name for one in shown) if group == "unknown" else _sentences(shown, names)
        lines.append(f"{title}: {told}{more}")
    return lines


def _sentences(apart: Sequence[Apart], names: Sequence[str]) -> str:
    return "; ".join(one.sentence(names) for one in apart)
