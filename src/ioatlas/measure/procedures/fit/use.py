# SPDX-License-Identifier: Apache-2.0
"""A use: the loads that it makes, what it requires of them, and who says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ioatlas.model.cell import OptionValue
from ioatlas.model.outcomes import KeptRecord
from ioatlas.model.units import format_count, format_latency

OURS = "our profile"
"""The source of a requirement that nobody published."""
KEPT_SHARE = 0.95
"""Of a rate that a load asks for: with less, work piles up. Between nothing missing and the tenth that `etcdctl check
perf` and MLPerf Storage let pass, as far from one as from the other.
"""


class Quantity(StrEnum):
    """What a requirement is about."""

    READ = "read"
    WRITE = "write"
    FLUSH = "flush"
    RATE = "rate"
    IOPS = "iops"
    KEPT = "kept"
    """The share of the rate asked for that was carried."""

    @property
    def is_latency(self) -> bool:
        return self in (Quantity.READ, Quantity.WRITE, Quantity.FLUSH)


@dataclass(frozen=True)
class Source:
    """Where a requirement is published. read: the date on which it was read there. All '' for one of ours."""

    title: str = ""
    url: str = ""
    read: str = ""

    def __str__(self) -> str:
        read = f"read {self.read}" if self.read else ""
        return ", ".join(part for part in (self.title or OURS, self.url, read) if part)


@dataclass(frozen=True)
class Load:
    """One load of a use. options: fio's, normalised. size_bytes: of what it works on. source: of its rate."""

    name: str
    options: Mapping[str, OptionValue]
    size_bytes: int
    source: Source = Source()


@dataclass(frozen=True)
class Requirement:
    """What a use asks of one of its loads.

    limit: at most, of a latency in nanoseconds; at least, of anything else: bytes or I/Os a second, a share.
    percentile: of the latency; None for its mean. asked: I/Os a second that the load asks for, where it asks.
    bytes: that must have been moved before it can be said to hold. written: of a flush, that the write before it counts
    with it, since no page cache takes that. misses: that the limit is a deadline, which what the percentile leaves may
    miss.
    """

    load: str
    quantity: Quantity
    limit: float
    percentile: float | None = None
    source: Source = Source()
    change: str = ""
    asked: float = 0.0
    bytes: int = 0
    written: bool = False
    misses: bool = False

    @property
    def words(self) -> str:
        """'log: p99 of flushes at most 10 ms'."""
        if self.misses:
            may = f"{100 - (self.percentile or 0):.6g}% of {self.quantity}s"
            return f"{self.load}: at most {may} later than {self.amount(self.limit)}"
        if self.quantity.is_latency:
            what = "mean" if self.percentile is None else f"p{self.percentile:g}"
            flush = "writes with their flush" if self.written else "flushes"
            of = flush if self.quantity is Quantity.FLUSH else f"{self.quantity}s"
            return f"{self.load}: {what} of {of} at most {self.amount(self.limit)}"
        if self.quantity is Quantity.KEPT:
            return f"{self.load}: {format_count(self.asked)} I/Os a second kept up"
        return f"{self.load}: at least {self.amount(self.limit)}"

    def amount(self, value: float) -> str:
        """A value of it for people; rates in decimal units, as requirements have them."""
        if self.quantity.is_latency:
            return format_latency(value)
        if self.quantity is Quantity.KEPT:
            return f"{100 * value:.1f}%"
        if self.quantity is Quantity.IOPS:
            return f"{format_count(value)} IOPS"
        return f"{value / 1e9:.3g} GB/s" if value >= 1e9 else f"{value / 1e6:.3g} MB/s"


@dataclass(frozen=True)
class Use:
    """name: as it was asked for. title: for people. phases: loads that run at once, phase after phase.
    window_seconds: how long each runs at a time; 0 for the usual.
    """

    name: str
    title: str
    phases: tuple[tuple[Load, ...], ...]
    requires: tuple[Requirement, ...]
    window_seconds: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class Asked:
    """A use on a target. cells: of each load the key of the cell that it is measured in, and its stream there."""

    use: Use
    target: str
    cells: Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Uses(KeptRecord):
    """What a campaign asks."""

    NAME, CONTENT = "fit", "asked"
    asked: tuple[Asked, ...] = ()
