# SPDX-License-Identifier: Apache-2.0
"""How faithfully each attribute of a foreign workload is carried into fio, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["exact", "approximate", "not expressible"]


@dataclass(frozen=True)
class Fidelity:
    """One attribute. `error` says how far an approximation is off, in words or numbers; empty unless `approximate`."""

    attribute: str
    level: Level
    reason: str
    error: str = ""

    def to_dict(self) -> dict[str, str]:
        entry = {"attribute": self.attribute, "level": self.level, "reason": self.reason}
        return entry | {"error": self.error} if self.error else entry


def exact(attribute: str, reason: str) -> Fidelity:
    return Fidelity(attribute, "exact", reason)


def approximate(attribute: str, reason: str, error: str) -> Fidelity:
    return Fidelity(attribute, "approximate", reason, error)


def not_expressible(attribute: str, reason: str) -> Fidelity:
    return Fidelity(attribute, "not expressible", reason)


_WORSE = {"not expressible": 0, "approximate": 1, "exact": 2}


def merged(entries: Iterable[Fidelity]) -> tuple[Fidelity, ...]:
    """Each entry once, in order of first appearance; an attribute's worst levels first."""
    unique = list(dict.fromkeys(entries))
    first = {entry.attribute: position for position, entry in reversed(list(enumerate(unique)))}
    return tuple(sorted(unique, key=lambda entry: (first[entry.attribute], _WORSE[entry.level])))
