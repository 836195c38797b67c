# SPDX-License-Identifier: Apache-2.0
"""What a visit is made for."""

from __future__ import annotations

from enum import StrEnum


class Purpose(StrEnum):
    """Why a visit was planned. The texts are those of the journal's column and stay as they are."""

    SWEEP = "sweep"
    """A replicate of a cell; only these give the cell its value. The trials of a tuning are of this kind too."""
    PROBE = "probe"
    """A short look at a target's pace, so that windows can be sized. It is part of no figure."""
    FRESH = "fresh"
    """Made again for a cell that is to be named because it is extreme, so that its value does not come from the choice.
    """
    BASELINE = "sentinel"
    """Watches the target for drift between the replicates, and is part of no cell's value."""
    INITIAL = "before"
    """An initial read: of a footprint in the state that was prepared, before any load writes to it."""
    SEARCH = "search"
    """A trial on the way to the highest load of several streams."""
    CURVE = "curve"
    """A point of the load-latency curve of a setting that was tuned."""

    @classmethod
    def _missing_(cls, value: object) -> Purpose | None:
        return cls.BASELINE if value == "baseline" else None


SWEPT = frozenset({Purpose.SWEEP, Purpose.BASELINE})
"""Visits that show how a target was over the time of the sweep."""
COUNTED = frozenset({Purpose.SWEEP, Purpose.FRESH})
"""Visits that give the values of a result."""
