# SPDX-License-Identifier: Apache-2.0
"""The closing line of a session."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ioatlas.model.purpose import Purpose
from ioatlas.run.budget import Budget
from ioatlas.store.journal import Journal


@dataclass(frozen=True)
class Summary:
    """How a session ended."""

    directory: Path
    cells: int
    visits: int
    seconds: float
    complete: bool
    budget_seconds: float | None = None

    @classmethod
    def of(
        cls, journal: Journal, budget: Budget | None, *, complete: bool, counted: frozenset[Purpose] | None = None
    ) -> Summary:
        """What the journal holds now. budget: of the session, None where there was none to be made."""
        kept = [
            visit
            for visit in journal.visits()
            if not visit.discarded and (visit.purpose != Purpose.PROBE if counted is None else visit.purpose in counted)
        ]
        cells = len({visit.cell_key for visit in kept})
        seconds, total = (budget.elapsed, budget.total) if budget is not None else (0.0, None)
        return cls(journal.directory, cells, len(kept), seconds, complete, total)
