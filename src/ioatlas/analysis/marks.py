# SPDX-License-Identifier: Apache-2.0
"""How a value is marked wherever it stands: in the terminal, on the page, in figures and tables."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from ioatlas.analysis.best import STEADY_WIDTH, client_limited, disagrees, found_unsteady, half_interval
from ioatlas.model.estimate import Estimate
from ioatlas.model.verdict import LOWER_BOUND, VerdictClass, VerdictCode, verdict_class


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
    Mark.DISAGREE: ("??", "beyond ±100%"),
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


def as_shown(e: Estimate) -> Estimate:
    """Where runs disagree, with what they gave: the least and the most, in place of an interval that says nothing."""
    bw, iops, ns = e.bw_bytes_per_s, e.iops, e.lat_mean_ns
    if e.verdict is not VerdictCode.RUNS_DISAGREE or not (e.bw_seen and e.bw_seen[0] and bw and iops and ns):
        return e
    low, high = min(1.0, e.bw_seen[0] / bw), max(1.0, e.bw_seen[1] / bw)
    # The mean latency goes with the rate, by Little's law.
    e = replace(e, bw_low=bw * low, bw_high=bw * high, lat_mean_low_ns=ns / high, lat_mean_high_ns=ns / low)
    return replace(e, iops_low=iops * low, iops_high=iops * high)
