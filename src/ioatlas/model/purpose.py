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


class DesignPurpose(StrEnum):
    """Why the adaptive design asks for a visit. The texts stand in journals and in `replay --json`, and stay as they
    are.
    """

    CLIFF = "cliff"
    """Part of a line along the footprint, in search of a cliff."""
    START = "start"
    """One of the cells spread over the map from which the first model is made."""
    LEARN = "learn"
    """Where a reading takes most off the model's error."""
    HOLD_OUT = "honesty"
    """A random cell that was predicted before: only these state the map's error."""
    REPEAT = "repeat"
    """A second visit, so that the spread between visits is known."""
    SURPRISE = "surprise"
    """Again, because the reading was far from what was expected."""
    NEIGHBOUR = "neighbour"
    """Next to a surprise that was confirmed."""
    DENSE = "dense"
    """In a regime where the model fails."""
    CLOSING = "closing"
    """A second visit at the end, of a cell that has one."""

    @property
    def told(self) -> str:
        """The purpose for people."""
        return "hold-out" if self is DesignPurpose.HOLD_OUT else self.value
