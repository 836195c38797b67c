# SPDX-License-Identifier: Apache-2.0
"""How faithfully each attribute of a foreign workload is carried into fio, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Level = Literal["exact", "approximate", "not expressible"]


@dataclass(frozen=True)
class Fidelity:
    """One attribute.

    error: how far an approximation is off, in words or numbers; empty unless `approximate`.
    jobs:  the jobs or operations it is about; empty when it is about all of them.
    """

    attribute: str
    level: Level
    reason: str
    error: str = ""
    jobs: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"attribute": self.attribute, "level": self.level, "reason": self.reason}
        if self.error:
            entry["error"] = self.error
        if self.jobs:
            entry["jobs"] = list(self.jobs)
        return entry


def exact(attribute: str, reason: str) -> Fidelity:
    return Fidelity(attribute, "exact", reason)


def approximate(attribute: str, reason: str, error: str) -> Fidelity:
    return Fidelity(attribute, "approximate", reason, error)


def not_expressible(attribute: str, reason: str) -> Fidelity:
    return Fidelity(attribute, "not expressible", reason)


def missing_include(name: str) -> Fidelity:
    return not_expressible(
        "include", f"{name}: there is no such file; what it sets is missing. Put it beside the file that includes it"
    )


_WORSE = {"not expressible": 0, "approximate": 1, "exact": 2}


def merged(entries: Iterable[Fidelity]) -> tuple[Fidelity, ...]:
    """Each entry once, in order of first appearance; an attribute's worst levels first."""
    unique = list(dict.fromkeys(entries))
    first = {entry.attribute: position for position, entry in reversed(list(enumerate(unique)))}
    return tuple(sorted(unique, key=lambda entry: (first[entry.attribute], _WORSE[entry.level])))


def located(found: Mapping[Fidelity, Sequence[str]], everything: Sequence[str]) -> list[Fidelity]:
    """Entries with the names of the jobs they are about, left out where that is every job there is."""
    whole = set(everything)
    return [
        entry if set(names) == whole else replace(entry, jobs=tuple(dict.fromkeys(names)))
        for entry, names in found.items()
    ]
