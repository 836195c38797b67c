# SPDX-License-Identifier: Apache-2.0
"""Why a visit was discarded, and why a cell has no estimate: a code for each and the sentence with the figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class ReasonCode(StrEnum):
    """Why a visit does not count. Sentences begin with these texts, in journals too, so that they stay as they are."""

    ERROR = "error"
    NO_IO = "no I/O completed in the window"
    STALLED = "stalled"
    """The target stood still for the whole window."""
    BYTES = "bytes"
    LITTLES_LAW = "Little's law"
    COUNTERS = "kernel counters"
    CEILING = "ceiling"
    RUNTIME = "runtime"
    OVERLAP = "overlapped its neighbour"
    OVER_RUN = "ran longer than asked"
    LATE = "settled in the second half of its window"
    """Settled late; it counts again when a longer visit does not confirm that."""
    VOIDED = "block voided"
    """The replicate it belongs to was out of line and was repeated."""
    BURST = "while burst credit lasted"
    SKEW = "start skew"
    """The clients of a fleet did not start together, or ran together for too short a time."""
    OTHER = "other"

    @property
    def text(self) -> str:
        """As people read it."""
        return "replicate voided" if self is ReasonCode.VOIDED else str(self)


@dataclass(frozen=True)
class Reason:
    """One reason to discard a visit. sentence: with its figures, and with the stream it is of in front where there are
    several.
    """

    code: ReasonCode
    sentence: str


def sentences(reasons: Iterable[Reason]) -> str:
    """As the journal holds them; '' when there is none."""
    return "; ".join(reason.sentence for reason in reasons)


def read_reasons(text: str) -> tuple[Reason, ...]:
    """The reasons of a journal's text, which `sentences` gives back unchanged."""
    found: list[Reason] = []
    for piece in text.split("; ") if text else ():
        code = _code_of(piece)
        if code is ReasonCode.OTHER and found:
            # A sentence may hold a semicolon itself.
            found[-1] = Reason(found[-1].code, f"{found[-1].sentence}; {piece}")
        else:
            found.append(Reason(code, piece))
    return tuple(found)


def _code_of(sentence: str) -> ReasonCode:
    stream, colon, rest = sentence.partition(": ")
    starts = (sentence, rest) if colon and " " not in stream else (sentence,)
    return next((code for start in starts for code in ReasonCode if start.startswith(code)), ReasonCode.OTHER)


BUDGET_ENDED = "not reached: the budget ended"
"""Why visits were given up, in journals too."""


class UnmeasuredCode(StrEnum):
    """Why a cell of the sweep has no estimate. Reasons begin with these texts, in journals too."""

    NOT_ADMISSIBLE = "not admissible"
    LEFT_OUT = "left out"
    FAILED = "failed"
    NOT_REACHED = "not reached"
    NOT_OF_THE_MAP = "a step of the load-latency curve"
    FIRST_LOOK = "a first look at the speed"
    TRIAL = "a trial of the search for the highest load"
    BESIDE = "told beside the map"
    OTHER = "other"


ASIDE = frozenset(
    {UnmeasuredCode.NOT_OF_THE_MAP, UnmeasuredCode.FIRST_LOOK, UnmeasuredCode.TRIAL, UnmeasuredCode.BESIDE}
)
"""Of cells that are measured on the way to others: visits of theirs may be planned, and no result shows them."""


@dataclass(frozen=True)
class UnmeasuredReason:
    """Why one cell has no estimate; for OTHER the detail is the whole text."""

    code: UnmeasuredCode
    detail: str = ""

    @property
    def text(self) -> str:
        if self.code is UnmeasuredCode.OTHER:
            return self.detail
        return f"{self.code}: {self.detail}" if self.detail else str(self.code)


def read_unmeasured(text: str) -> UnmeasuredReason:
    """The reason of a journal's text, which `UnmeasuredReason.text` gives back unchanged."""
    kind, colon, detail = text.partition(": ")
    if kind in UnmeasuredCode.__members__.values() and kind != UnmeasuredCode.OTHER and bool(colon) == bool(detail):
        return UnmeasuredReason(UnmeasuredCode(kind), detail)
    return UnmeasuredReason(UnmeasuredCode.OTHER, text)
