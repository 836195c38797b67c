# SPDX-License-Identifier: Apache-2.0
"""How a value is marked wherever it stands: in the terminal, on the page, in figures and tables."""

from __future__ import annotations

from enum import StrEnum

from ioatlas.analysis.best import STEADY_WIDTH, client_limited, disagrees, found_unsteady, half_interval
from ioatlas.model.estimate import Estimate
from ioatlas.model.verdict import LOWER_BOUND, VerdictClass, verdict_class


class Mark(StrEnum):
    """The one thing to know of a value, soundest first."""

    REMEASURED = "re-measured"
    STEADY = "steady"
    WIDE = "wide"
    MINIMUM = "minimum"
    PREDICTED = "predicted"
    IMPORTED = "imported"
    UNSTABLE = "unstable"
    DISAGREE = "disagree"
    SUSPECT = "suspect"


SIGNS = {
    Mark.REMEASURED: ("*", "re-measured"),
    Mark.UNSTABLE: ("!", "not steady"),
    Mark.MINIMUM: ("≥", "client-limited"),
    Mark.WIDE: ("±", "beyond ±50%"),
    Mark.SUSPECT: ("?", "suspect"),
    Mark.PREDICTED: ("~", "estimated"),
    Mark.IMPORTED: ("^", "imported"),
    Mark.DISAGREE: ("??", "runs disagree"),
    Mark.STEADY: ("", ""),
}
"""A sign for text, and its words, in the order of a legend."""


def mark_of(e: Estimate) -> Mark:
    """The gravest that holds."""
    if e.kind != "measured":
        return Mark(e.kind)
    if disagrees(e):
        return Mark.DISAGREE
    if verdict_class(e.verdict) is VerdictClass.SUSPECT and e.verdict not in LOWER_BOUND:
        return Mark.SUSPECT
    if found_unsteady(e):
        return Mark.UNSTABLE
    if client_limited(e):
        return Mark.MINIMUM
    if (half_interval(e) or 0.0) > STEADY_WIDTH:
        return Mark.WIDE
    return Mark.REMEASURED if e.bw_first is not None else Mark.STEADY
