# SPDX-License-Identifier: Apache-2.0
"""What the maker claims against what was measured. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ioatlas.analysis.best import client_limited
from ioatlas.analysis.wording import Namer
from ioatlas.model.cell import directions_of
from ioatlas.model.estimate import Estimate
from ioatlas.model.load_curve import Spread
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import format_count, format_latency
from ioatlas.product.quantity import MB, amount_text
from ioatlas.product.readings import Workload, counts, spread_of
from ioatlas.product.sheet import Claim


class Kept(StrEnum):
    """What measuring says of a claim."""

    REACHED = "reached"
    MISSED = "not reached"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"
    WORDS = "no figure"


@dataclass(frozen=True)
class ClaimCheck:
    """measured: in the claim's unit, with its interval. share: of the claim. why: where nothing decides."""

    claim: Claim
    kept: Kept
    measured: Spread | None = None
    share: float | None = None
    where: str = ""
    why: str = ""

    @property
    def text(self) -> str:
        """'measured 95.9 MB/s (94.1 to 97.7), 80% of the claim: not reached'."""
        if self.measured is None:
            return f"{self.kept.value}{f': {self.why}' if self.why else ''}"
        show = _SHOWN[self.claim.quantity]
        value, low, high = self.measured.value, self.measured.low, self.measured.high
        span = f" ({show(low)} to {show(high)})" if low is not None and high is not None else ""
        told = f"measured {show(value)}{span}, {self.share:.0%} of the claim: {self.kept.value}"
        return f"{told}, {self.why}" if self.why else told


_SHOWN: dict[str, Callable[[float], str]] = {
    "bw_bytes_per_s": lambda value: f"{amount_text(value / MB)} MB/s",
    "iops": lambda value: f"{format_count(value)} IOPS",
    "lat_mean_seconds": lambda value: format_latency(value * 1e9),
}


def check_claim(claim: Claim, result: CampaignResult | None, target: str = "") -> ClaimCheck:
    """Against the best cell of the load that the claim names: the fastest, or of a latency the lowest."""
    if claim.value is None:
        return ClaimCheck(claim, Kept.WORDS)
    if result is None:
        return ClaimCheck(claim, Kept.NOT_MEASURED)
    options = claim.options
    if "rw" not in options:
        return ClaimCheck(claim, Kept.NOT_MEASURED, why="the claim names no load; write cell = {rw = ..., bs = ...}")
    direction = claim.direction or directions_of(options["rw"])[0]
    found = [
        e
        for e in result.estimates
        if counts(e)
        and e.direction == direction
        and (not target or e.cell.target == target)
        and Workload(options).holds(e)
        and _amount(e, claim.quantity) is not None
    ]
    if not found:
        return ClaimCheck(claim, Kept.NOT_MEASURED, why="no cell of that load has a value")
    return _judged(claim, found, Namer((e.cell for e in result.estimates), [], tuple(result.axes)))


def _judged(claim: Claim, found: Sequence[Estimate], namer: Namer) -> ClaimCheck:
    lower_is_better = claim.quantity == "lat_mean_seconds"
    pick = min if lower_is_better else max
    best = pick(found, key=lambda e: (_amount(e, claim.quantity) or Spread(0.0)).value)
    amount, claimed = _amount(best, claim.quantity), claim.value
    assert amount is not None
    assert claimed is not None
    low, high = amount.least, amount.most
    if lower_is_better:
        kept = Kept.REACHED if high <= claimed else Kept.MISSED if low > claimed else Kept.UNDECIDED
    else:
        kept = Kept.REACHED if low >= claimed else Kept.MISSED if high < claimed else Kept.UNDECIDED
    why = ""
    if kept is not Kept.REACHED and client_limited(best):
        kept, why = Kept.UNDECIDED, "the client was the limit"
    return ClaimCheck(claim, kept, amount, amount.value / claimed if claimed else None, namer.cell(best.cell), why)


def _amount(e: Estimate, quantity: str) -> Spread | None:
    """In the claim's unit: bytes a second, I/Os a second, or seconds."""
    if quantity != "lat_mean_seconds":
        return spread_of(e, quantity)
    found = spread_of(e, "lat_mean_ns")
    return found.scaled(1e-9) if found else None
