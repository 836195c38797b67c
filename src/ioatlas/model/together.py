# SPDX-License-Identifier: Apache-2.0
"""Several targets that are loaded at the same time: their group, and what each got of a load."""

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


@dataclass(frozen=True)
class TargetShare:
    """One target's part of an estimate: means over the visits in which it was loaded.

    share: of the sum of all targets, over those visits. done_ms: how long after the first one it was done.
    """

    target: str
    n_visits: int
    bw_bytes_per_s: float
    iops: float
    share: float
    lat_mean_ns: float | None = None
    lat_p99_ns: float | None = None
    done_ms: float = 0.0


@dataclass(frozen=True)
class TargetShares:
    """The targets of one cell and direction, in the order of their group.

    skew_ms: between the first and the last start, the largest of all visits; finish_spread_ms: likewise of the ends.
    loaded: how many were loaded at once.
    """

    targets: tuple[TargetShare, ...]
    skew_ms: float
    finish_spread_ms: float
    loaded: int

    @property
    def evenness(self) -> tuple[float, float]:
        """What the target with the least gets, as a share of an even part; and Jain's index."""
        rates = [one.bw_bytes_per_s for one in self.targets]
        squares = sum(rate * rate for rate in rates)
        if not squares:
            return 1.0, 1.0
        return min(rates) * len(rates) / sum(rates), sum(rates) ** 2 / (len(rates) * squares)

    @property
    def first_done(self) -> str:
        """The target that is done first, on average."""
        return min(self.targets, key=lambda one: one.done_ms).target

    @property
    def last_done(self) -> str:
        """The target that is done last, on average."""
        return max(self.targets, key=lambda one: one.done_ms).target
