# SPDX-License-Identifier: Apache-2.0
"""How steady a load was, and what its value is worth: one code for each verdict, its text at the edge, and how it is to
be taken. And why a visit was discarded or a cell has no estimate: a code for each and the sentence with the figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class VerdictClass(StrEnum):
    """How a verdict is to be taken: a steady value, an unsteady one, or not a value of the target at all."""

    STEADY = "steady"
    UNSTABLE = "unstable"
    SUSPECT = "suspect"


class VerdictCode(StrEnum):
    """The verdict on a visit or an estimate. The texts stand in journals and tables, and stay as they are."""

    NONE = ""
    STEADY = "steady"
    FLAT = "flat"
    WARM_UP = "warm-up"
    """A lower level up to the cut, then steady."""
    SLOWDOWN = "slowdown"
    """A higher level up to the cut, then steady."""
    WORK_BOUNDED = "work-bounded"
    """The time of a fixed amount of work: no window and no steady state."""
    WORK_DONE = "work done"
    """The same in a sweep, where the cell ends by its work."""
    UNSTABLE = "unstable"
    DRIFTING = "drifting"
    BISTABLE = "bistable"
    NO_STEADY_STATE = "no steady state"
    OVERLOADED = "overloaded"
    RUNS_DISAGREE = "runs disagree"
    """Its visits lie too far apart for a number: an interval beyond ±100%, or none that could be given."""
    UNCERTAIN = "uncertain"
    """Each visit was steady, but too few or too noisy visits leave an interval beyond ±50%."""
    TOO_SHORT = "too short"
    """No verdict could be given: too few I/Os, or too short a window."""
    CLIENT_LIMITED = "client-limited"
    """What was measured is the client; the target does at least that."""
    UNACCOUNTED = "unaccounted"
    """Throughput and latency contradict each other, and nothing that was measured explains it: a fault of ours."""
    CACHED = "cached"
    SUSPECT = "suspect"
    HOLE = "hole"
    """A read of ranges that were never written."""
    DOUBTED = "doubted"
    """Whoever took the result in found something that speaks against it."""
    DISCARDED = "discarded"
    """No visit of the cell passed the gates."""
    PREDICTED = "predicted"
    IMPORTED = "imported"
    """Another tool's value; the statistic says what it is."""
    UNKNOWN = "unknown"
    """A text that no version until this one wrote."""


_STEADY = frozenset(
    {
        VerdictCode.NONE,
        VerdictCode.STEADY,
        VerdictCode.FLAT,
        VerdictCode.WARM_UP,
        VerdictCode.SLOWDOWN,
        VerdictCode.WORK_BOUNDED,
    }
)
_UNSTABLE = frozenset(
    {
        VerdictCode.UNSTABLE,
        VerdictCode.DRIFTING,
        VerdictCode.BISTABLE,
        VerdictCode.NO_STEADY_STATE,
        VerdictCode.RUNS_DISAGREE,
        VerdictCode.UNCERTAIN,
        VerdictCode.TOO_SHORT,
        VerdictCode.OVERLOADED,
        VerdictCode.UNACCOUNTED,
    }
)
WITHHELD = frozenset({VerdictCode.TOO_SHORT, VerdictCode.UNCERTAIN})
"""Of the unsteady ones, those that say that no verdict could be given, not that the load was found unsteady."""
LOWER_BOUND = frozenset({VerdictCode.CLIENT_LIMITED})
"""The load did not ask more of the target: what was measured is a lower bound of what it does. Marked as suspect."""
_WITH_TIME = frozenset({VerdictCode.WARM_UP, VerdictCode.SLOWDOWN})


def verdict_class(code: VerdictCode) -> VerdictClass:
    """How a verdict is to be taken. What is neither steady nor unsteady is suspect: an unknown one must not look like a
    steady one.
    """
    if code in _STEADY:
        return VerdictClass.STEADY
    return VerdictClass.UNSTABLE if code in _UNSTABLE else VerdictClass.SUSPECT


@dataclass(frozen=True)
class Verdict:
    """The verdict on one visit. detail: where the cut is ('120 ms'), or the figures it rests on; for UNKNOWN the whole
    text.
    """

    code: VerdictCode = VerdictCode.NONE
    detail: str = ""

    @property
    def text(self) -> str:
        """As the journal holds it."""
        if self.code is VerdictCode.UNKNOWN or not self.detail:
            return self.detail or self.code
        return f"{self.code}({self.detail})" if self.code in _WITH_TIME else f"{self.code}: {self.detail}"


NO_VERDICT = Verdict()

_TEXT = re.compile(r"(?P<code>[a-z -]+?)(?:\((?P<time>[^()]*)\)|: (?P<detail>.+))?", re.DOTALL)


@lru_cache(maxsize=4096)
def read_verdict(text: str) -> Verdict:
    """The verdict of a journal's text, which `Verdict.text` gives back unchanged."""
    found = _TEXT.fullmatch(text)
    if not text or found is None or found["code"] not in VerdictCode.__members__.values():
        return Verdict(VerdictCode.UNKNOWN, text) if text else NO_VERDICT
    code = VerdictCode(found["code"])
    if found["time"] is not None and code not in _WITH_TIME:
        return Verdict(VerdictCode.UNKNOWN, text)
    read = Verdict(code, found["time"] or found["detail"] or "")
    return read if read.text == text else Verdict(VerdictCode.UNKNOWN, text)


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
