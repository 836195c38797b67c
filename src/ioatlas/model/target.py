# SPDX-License-Identifier: Apache-2.0
"""A target: what is measured, and how it is recognised again before every start of the load; and groups of
them that are loaded together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ioatlas.model.cell import Cell

TargetKind = Literal["directory", "file", "block", "uri", "imported", "together"]
"""imported: nowhere; what another tool measured goes by such a target's name. together: several at once."""


@dataclass(frozen=True)
class Identity:
    """Facts that must still hold before every fio start; a disk may have another name after a reboot, a NAS may be
    unmounted.

    facts: sorted (name, value), e.g. ('fs_type', 'ext4'), ('source', '/dev/vda'), ('st_dev', '65024'), ('serial', ...),
           ('size_bytes', ...).
    """

    facts: tuple[tuple[str, str], ...] = ()

    def differences(self, other: Identity) -> tuple[str, ...]:
        mine, theirs = dict(self.facts), dict(other.facts)
        return tuple(
            f"{name} was {mine.get(name, 'unknown')}, is {theirs.get(name, 'unknown')}"
            for name in sorted(mine.keys() | theirs.keys())
            if mine.get(name) != theirs.get(name)
        )


@dataclass(frozen=True)
class Target:
    """One place to measure. `location` is an absolute path or a URI; `size_bytes` is None for a directory."""

    name: str
    kind: TargetKind
    location: str
    identity: Identity = field(default_factory=Identity)
    size_bytes: int | None = None
    free_bytes: int | None = None
    logical_block_bytes: int = 512
    ioengine: str | None = None

    @property
    def takes_flushes(self) -> bool:
        """Whether its server says that it takes any; an error for every other one."""
        return NO_FLUSHES not in self.identity.facts


NO_FLUSHES = ("flushes", "none")
"""Among the facts of an NBD export to which no flush may be sent."""
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
