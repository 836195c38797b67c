# SPDX-License-Identifier: Apache-2.0
"""How faithfully each attribute of a foreign workload is carried into fio, and why.

Notes of more than a few words stand in a `fidelity.toml` beside the code that tells them, by code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ioatlas.store.toml import shipped

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

    def filled(self, **values: object) -> Fidelity:
        """With values in place of the names in braces."""
        attribute, reason, error = (text.format(**values) for text in (self.attribute, self.reason, self.error))
        return replace(self, attribute=attribute, reason=reason, error=error)

    def to_dict(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"attribute": self.attribute, "level": self.level, "reason": self.reason}
        if self.error:
            entry["error"] = self.error
        if self.jobs:
            entry["jobs"] = list(self.jobs)
        return entry


def notes_in(package: str, section: str) -> dict[str, Fidelity]:
    """The notes of a section of a package's `fidelity.toml`, by code."""
    return {code: Fidelity(*words) for code, words in shipped(package, "fidelity.toml")[section].items()}


class Notes(list[Fidelity]):
    """What is to be told of a load, in the order in which it was found."""

    def tell(self, note: Fidelity, **values: object) -> None:
        """A note of a table, with these values."""
        self.append(note.filled(**values))

    def same(self, attribute: str, reason: str) -> None:
        self.append(Fidelity(attribute, "exact", reason))

    def nearly(self, attribute: str, reason: str, error: str) -> None:
        self.append(Fidelity(attribute, "approximate", reason, error))

    def rounded(self, notes: Mapping[str, Fidelity], code: str, off: float, **values: object) -> None:
        """The note of this code; that of `CODE-rounded` where a figure is off after rounding."""
        self.tell(notes[code if abs(off) <= 1e-9 else f"{code}-rounded"], off=off, **values)

    def lost(self, attribute: str, reason: str) -> None:
        self.append(Fidelity(attribute, "not expressible", reason))

    def missing(self, names: Iterable[str]) -> None:
        """Files that are included and not there."""
        for name in names:
            why = "there is no such file; what it sets is missing. Put it beside the file that includes it"
            self.lost("include", f"{name}: {why}")
