# SPDX-License-Identifier: Apache-2.0
"""What limits a cell: the resource that is used up, how far, what comes next, and the evidence; or that it cannot be
told.
"""

from __future__ import annotations

from dataclasses import dataclass

UNDETERMINED = "undetermined"
VERY_LIKELY = 0.8
ODDS = ((0.95, "almost certainly"), (VERY_LIKELY, "very likely"), (0.0, "probably"))
"""Words for probabilities from so much on."""


@dataclass(frozen=True)
class Limit:
    """Of one cell and direction.

    resource:   'link', 'client CPU', 'drive bandwidth' ... (docs/method/limits.md), 'latency' where more load would
                give more, or 'undetermined'.
    share:      of the resource that is used (1 = all); None where it has no measure.
    next_resource, next_share: the resource that is used most after it: what would limit once the first is widened.
    evidence:   sentences; of an undetermined cell why it is.
    probability: of the resource being what limits; None where it was not worked out, as in older results. What is less
                likely than not is undetermined.
    """

    resource: str = UNDETERMINED
    share: float | None = None
    next_resource: str = ""
    next_share: float | None = None
    evidence: tuple[str, ...] = ()
    probability: float | None = None

    @property
    def odds_words(self) -> str:
        """'probably': the probability in words; '' where it was not worked out."""
        if self.probability is None:
            return ""
        return next(words for least, words in ODDS if self.probability >= least)

    @property
    def odds_number(self) -> str:
        """' (85%)'."""
        return "" if self.probability is None else f" ({self.probability:.0%})"

    @property
    def determined(self) -> bool:
        return self.resource != UNDETERMINED

    @property
    def sentence(self) -> str:
        """'very likely link (93%), 99% used; next is client CPU at 41%: ...'."""
        text = f"{self.odds_words} {self.resource}{self.odds_number}".strip()
        text += f", {self.share:.0%} used" if self.share is not None else ""
        if self.next_resource:
            text += f"; next is {self.next_resource}" + (
                f" at {self.next_share:.0%}" if self.next_share is not None else ""
            )
        return text + (f": {'; '.join(self.evidence)}" if self.evidence else "")


@dataclass(frozen=True)
class Bound:
    """The tightest upper bound that is known of a cell's path. kind: 'computed', 'measured' or 'typed in'."""

    name: str
    bw_bytes_per_s: float
    kind: str = "computed"
