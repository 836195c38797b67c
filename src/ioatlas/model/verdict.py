# SPDX-License-Identifier: Apache-2.0
"""How a verdict's word is to be taken: steady, unsteady, or not a value of the target at all."""

from __future__ import annotations

from typing import Literal

VerdictClass = Literal["steady", "unstable", "suspect"]

STEADY_WORDS = frozenset({"", "steady", "flat", "warm-up", "slowdown", "constant", "stable", "work-bounded"})
UNSTABLE_WORDS = frozenset({"unstable", "drifting", "bistable", "noisy", "no steady state", "unsteady", "wide", "too short", "overloaded"})
WITHHELD_WORDS = frozenset({"too short"})
"""Of these, the ones that say that no verdict could be given, not that the load was found unsteady."""
LOWER_BOUND_WORDS = frozenset({"client-limited"})
"""The load did not ask more of the target: what was measured is the client, and the target does at least that. Marked as suspect."""


def verdict_class(word: str) -> VerdictClass:
    """Any word that is not known is suspect: an unknown verdict must not look like a steady one."""
    if word in STEADY_WORDS:
        return "steady"
    return "unstable" if word in UNSTABLE_WORDS else "suspect"
