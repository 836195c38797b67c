# SPDX-License-Identifier: Apache-2.0
"""Several targets that are loaded at the same time: their group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ioatlas.model.cell import Cell

LONGEST_NAME = 48


@dataclass(frozen=True)
class Group:
    """Targets that are loaded together. Cells go by the group's name, and work on targets of it by theirs."""

    name: str
    members: tuple[str, ...]


def group_name(members: Sequence[str]) -> str:
    """Name of a group that nobody named."""
    name = " + ".join(members)
    return name if len(name) <= LONGEST_NAME else f"{len(members)} targets together"


def on_members(cells: Iterable[Cell], groups: Iterable[Group]) -> tuple[Cell, ...]:
    """The cells as each target sees them: one of a group stands once for each of its targets, whose load it is."""
    members = {group.name: group.members for group in groups}
    if not members:
        return tuple(cells)
    return tuple(replace(cell, target=name) for cell in cells for name in members.get(cell.target, (cell.target,)))
