# SPDX-License-Identifier: Apache-2.0
"""An estimate: what a cell's visits say, or what the map's model or another tool says, never mixed up. Shares say
what each client or target got of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ioatlas.model.cell import Cell
from ioatlas.model.summary import Trust
from ioatlas.model.verdict import VerdictCode

Kind = Literal["measured", "predicted", "imported"]
LatKind = Literal["total", "completion", "intended", "flushed", "unknown"]
"""What a latency covers: from submission, from the kernel's start, or from the time the I/O was due, to completion;
flushed: from submission to the end of the flush that a write waits for. Unknown only for what was imported.
"""


@dataclass(frozen=True)
class Estimate:
    """One cell, one direction. Values are None where they are not known; intervals are 95% unless `method` says
    otherwise.

    bw_low, bw_high, iops_low, ...: bounds of the interval of the line above, same unit; None when withheld.
    statistic: of an imported value what it is, such as 'mean of 3 runs'.
    method:  id and version of what computed it, e.g. 't-log-pooled/1'.
    limit:   what limits the cell; ceiling: the tightest bound known of its path; None where that was not worked out.
    watts:   power of the target beside the visits of a cell, all directions together; None where nothing measured it.
    """

    cell: Cell
    direction: str
    kind: Kind
    n_visits: int
    bw_bytes_per_s: float | None = None
    bw_low: float | None = None
    bw_high: float | None = None
    iops: float | None = None
    iops_low: float | None = None
    iops_high: float | None = None
    lat_mean_ns: float | None = None
    lat_mean_low_ns: float | None = None
    lat_mean_high_ns: float | None = None
    lat_p99_ns: float | None = None
    lat_p99_low_ns: float | None = None
    lat_p99_high_ns: float | None = None
    lat_kind: LatKind = "total"
    verdict: VerdictCode = VerdictCode.NONE
    method: str = ""
    window_seconds: float | None = None
    cut_seconds: float | None = None
    n_discarded: int = 0
    seeds: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    written_before_bytes: float | None = None
    """Written to the cell's footprint between its preparation and the middle one of its visits."""
    limit: Limit | None = None
    ceiling: Bound | None = None
    watts: float | None = None
    statistic: str = ""
    bw_first: float | None = None
    """What the sweep gave of a cell that was named and measured again: its value is that of the fresh visits."""

    n_repeats: int = 0
    """Of an imported value: readings that the user called repeats, of which it is the mean."""
    bw_sd: float | None = None
    """Standard deviation of repeats; likewise the other quantities."""
    iops_sd: float | None = None
    lat_mean_sd_ns: float | None = None
    lat_p99_sd_ns: float | None = None
    shares: Shares | None = None
    """Of a cell that several clients made together: what each got."""
    grade: Trust | None = None
    """How far its value is to be believed; None where that was not worked out."""
    grade_reason: str = ""
    """Why it is less than good, in words."""
    outrun: bool = False
    """Whether the target may do more: its load was still getting faster, or a cell without a number may be faster."""
    held_seconds: float | None = None
    """For how long it is known to last, where its visits were so short that a burst may have outlasted them."""
    targets: Shares | None = None
    """Of a cell that loads several targets together: what each got."""
    bw_seen: tuple[float, float] | None = None
    """The least and the most that its visits gave, B/s; None without visits."""

    @property
    def verdict_text(self) -> str:
        """As people read it."""
        return self.statistic if self.verdict is VerdictCode.IMPORTED else self.verdict

    @property
    def iops_per_watt(self) -> float | None:
        return self.iops / self.watts if self.watts and self.iops is not None else None

    @property
    def bw_bytes_per_s_per_watt(self) -> float | None:
        return self.bw_bytes_per_s / self.watts if self.watts and self.bw_bytes_per_s is not None else None


@dataclass(frozen=True)
class Share:
    """One client's or target's part of an estimate: means over the visits in which it took part.

    share: of the sum of all, over those visits. done_ms: how long after the first one it was done.
    """

    name: str
    n_visits: int
    bw_bytes_per_s: float
    iops: float
    share: float
    lat_mean_ns: float | None = None
    lat_p99_ns: float | None = None
    done_ms: float = 0.0


@dataclass(frozen=True)
class Shares:
    """All parts of one cell and direction, in the order of their names.

    skew_ms: between the first and the last start, the largest of all visits; finish_spread_ms: likewise of the ends.
    wanted:  how many were to take part at once. fewest: how many did, in the visit with the fewest.
    """

    parts: tuple[Share, ...]
    skew_ms: float
    finish_spread_ms: float
    wanted: int
    fewest: int

    @property
    def rates(self) -> list[float]:
        return [one.bw_bytes_per_s for one in self.parts]

    @property
    def jain_index(self) -> float:
        """Jain's fairness index of their throughputs: 1 when all get the same, 1/n when one gets all."""
        squares = sum(rate * rate for rate in self.rates)
        return sum(self.rates) ** 2 / (len(self.rates) * squares) if squares else 1.0

    @property
    def least(self) -> float:
        """What the one with the least gets, as a share of an even part."""
        total = sum(self.rates)
        return min(self.rates) * len(self.rates) / total if total else 1.0

    @property
    def first_done(self) -> str:
        """The one that is done first, on average."""
        return min(self.parts, key=lambda one: one.done_ms).name

    @property
    def last_done(self) -> str:
        """The one that is done last, on average."""
        return max(self.parts, key=lambda one: one.done_ms).name


UNDETERMINED = "undetermined"
VERY_LIKELY = 0.8


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
    most_bytes_per_s: what the resource lets through of the cell's I/Os, B/s, where the law of the target says so.
    """

    resource: str = UNDETERMINED
    share: float | None = None
    next_resource: str = ""
    next_share: float | None = None
    evidence: tuple[str, ...] = ()
    probability: float | None = None
    most_bytes_per_s: float | None = None

    @property
    def determined(self) -> bool:
        return self.resource != UNDETERMINED

    @property
    def bound(self) -> Bound | None:
        return Bound(self.resource, self.most_bytes_per_s, "law") if self.most_bytes_per_s else None


@dataclass(frozen=True)
class Bound:
    """The tightest upper bound that is known of a cell: of its path, or of the target by its law. kind: 'computed',
    'measured', 'typed in' or 'law'.
    """

    name: str
    bw_bytes_per_s: float
    kind: str = "computed"
