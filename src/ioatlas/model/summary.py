# SPDX-License-Identifier: Apache-2.0
"""The answer of a campaign on one screen: how fast, whether to believe it, what limits it, what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from ioatlas.model.finding import Value

Quantity = Literal["bw_bytes_per_s", "iops", "lat_mean_ns"]
ToRun = Literal["again", "compare", "fit", "idle", "label", "look", "measure-alike", "resume"]
ToChange = Literal["direct", "faster-client", "larger", "more-rounds", "own", "stop-using", "written"]


class Trust(StrEnum):
    """How far a campaign's values are to be believed. The rules are in docs/method/trust.md."""

    GOOD = "good"
    FAIR = "fair"
    LOW = "low"


class DoubtCode(StrEnum):
    """What makes a campaign less than good. The texts stand in exports and pages, and stay as they are."""

    CORRUPTION = "corruption"
    CONTRADICTION = "contradiction"
    NOTHING = "nothing-measured"
    CACHED = "cached"
    HOLES = "holes"
    OTHER_LOAD = "other-load"
    OTHER_PROGRAMS = "other-programs"
    DRIFT = "drift"
    NO_STEADY_STATE = "no-steady-state"
    DATA_REDUCTION = "data-reduction"
    FAILED = "failed"
    SKIPPED = "skipped"
    CLIENT_LIMITED = "client-limited"
    MEASURED_ONCE = "measured-once"
    UNFINISHED = "unfinished"
    IMPORTED = "imported"
    NUMBER = "number"
    """One of the main numbers is less than good by itself."""


@dataclass(frozen=True)
class Advice:
    """What the reader can do, as a code and values. options: of a run that is made again, as they are typed."""

    code: ToRun | ToChange
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Doubt:
    """One reason why the badge is not good, as a code and values. level: 'fair' or 'low'."""

    code: DoubtCode
    level: Trust
    values: Mapping[str, Value] = field(default_factory=dict)
    advice: Advice | None = None
    cells: tuple[str, ...] = ()


LOPSIDED, EVEN_WIDTH = 2.0, 0.05
"""Times as long as the other one side of an interval may be to be told as ±; up to which half-width any is."""


@dataclass(frozen=True)
class Headline:
    """The best value of one target and direction, or the answer of a test of another kind. It is the map's value.

    value, low, high: of `quantity`, in its unit; in `unit` of what is counted but is no I/O.
    uncertainty: half the 95% interval, a share of the value, or None.
    where:      the cell in words. cell: its key, '' where it is no cell.
    lower_bound: the client was the limit, or loads that have no number may be faster (high is None then): the target
                may do more. estimated: predicted by the model, not measured.
    first:      what the sweep gave before the cell was measured again; None when it was not.
    tie:        a smaller load, or another cell, that is as fast; or which faster cells it leaves out. In words.
    ties:       keys of all cells that are as fast.
    limit:      what limits it; 'undetermined' or '' where that was not told. limit_probability: None where unknown.
    grade:      how far this number is to be believed; None where that was not worked out.
    held_seconds: for how long it is known to last, where its loads were so short that a burst may have outlasted them:
                the interval is of what was seen. None where they were not.
    """

    label: str
    target: str
    direction: str
    quantity: Quantity
    value: float
    low: float | None = None
    high: float | None = None
    where: str = ""
    cell: str = ""
    n_visits: int = 0
    lower_bound: bool = False
    estimated: bool = False
    first: float | None = None
    tie: str = ""
    ties: tuple[str, ...] = ()
    limit: str = ""
    limit_probability: float | None = None
    unit: str = ""
    grade: Trust | None = None
    held_seconds: float | None = None

    @property
    def uncertainty(self) -> float | None:
        if self.low is None or self.high is None or not self.value:
            return None
        return (self.high - self.low) / 2 / self.value

    @property
    def lopsided(self) -> bool:
        """Whether its interval is told by its ends: one side is LOPSIDED times as long as the other, or longer."""
        if self.low is None or self.high is None or (self.uncertainty or 0.0) <= EVEN_WIDTH:
            return False
        less, more = self.value - self.low, self.high - self.value
        return max(less, more) > LOPSIDED * min(less, more)

    @property
    def moved(self) -> float | None:
        """Change from the first pass to the check, a share; None where it was not measured again."""
        return self.value / self.first - 1 if self.first else None


@dataclass(frozen=True)
class LoadReading:
    """What one load of a small-I/O line gave. in_flight: I/Os. limit: what limits it, '' where that was not told.
    held_seconds: as of a headline.
    """

    cell: str
    in_flight: int
    iops: float
    lat_mean_ns: float | None
    lat_p99_ns: float | None
    estimated: bool = False
    grade: Trust | None = None
    limit: str = ""
    held_seconds: float | None = None


@dataclass(frozen=True)
class SmallIo:
    """Small blocks at the lightest load and at the one with most IOPS, of one target and kind of load."""

    label: str
    target: str
    direction: str
    rw: str
    bs_bytes: int
    lightest: LoadReading
    best: LoadReading


@dataclass(frozen=True)
class Beside:
    """Small I/Os, one in flight: writes that wait for a flush each, or reads while writes keep the target at its limit.

    alone_ns: mean latency of the same reads without writes; None where their runs disagree, and of a flush.
    writes_bytes_per_s, lasting_bytes_per_s: of the writes beside it, and of the same writes alone, for good; None of a
    flush.
    """

    label: str
    target: str
    direction: str
    bs_bytes: int
    reading: LoadReading
    alone_ns: float | None = None
    writes_bytes_per_s: float | None = None
    lasting_bytes_per_s: float | None = None


@dataclass(frozen=True)
class Count:
    """How often something was found. probability: mean of what was stated; None where nothing was."""

    name: str
    count: int
    probability: float | None = None


@dataclass(frozen=True)
class Summary:
    """What stands on the first screen, in the terminal and of the report.

    doubts:     worst first. next_step: what the reader can do now.
    bottlenecks: most frequent first, 'undetermined' last; of measured values.
    sizes:      bytes of the target that its measured cells went over, from the least to the most; whole_bytes: of all
                of it, 0 where it has no size of its own.
    """

    name: str
    profile: str
    seconds: float
    n_cells: int
    n_measured: int
    n_estimated: int
    n_imported: int
    n_visits: int
    complete: bool
    trust: Trust
    doubts: tuple[Doubt, ...]
    headlines: tuple[Headline, ...]
    small: tuple[SmallIo, ...]
    bottlenecks: tuple[Count, ...]
    next_step: tuple[Advice, ...]
    beside: tuple[Beside, ...] = ()
    sizes: tuple[int, ...] = ()
    whole_bytes: int = 0

    @property
    def trust_text(self) -> str:
        """The badge in words: what others measured is as good as they were."""
        imported = self.n_imported and not self.n_measured and self.trust is Trust.FAIR
        return "as imported" if imported else str(self.trust)
