# SPDX-License-Identifier: Apache-2.0
"""How faithfully each attribute of a foreign workload is carried into fio, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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


class Notes(list[Fidelity]):
    """What is to be told of a load, in the order in which it was found."""

    def same(self, attribute: str, reason: str) -> None:
        self.append(exact(attribute, reason))

    def nearly(self, attribute: str, reason: str, error: str) -> None:
        self.append(approximate(attribute, reason, error))

    def rounded(self, attribute: str, exactly: str, roughly: str, off: float, error: str) -> None:
        """Exact unless a figure is off after rounding."""
        self.append(approximate(attribute, roughly, error) if abs(off) > 1e-9 else exact(attribute, exactly))

    def lost(self, attribute: str, reason: str) -> None:
        self.append(not_expressible(attribute, reason))

    def missing(self, names: Iterable[str]) -> None:
        """Files that are included and not there."""
        for name in names:
            why = "there is no such file; what it sets is missing. Put it beside the file that includes it"
            self.lost("include", f"{name}: {why}")
