# SPDX-License-Identifier: Apache-2.0
"""Response time against load: what several streams at once gave at each load point, in total and for each stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ioatlas.model.verdict import VerdictCode

LATENCY_NOTE = (
    "lower bound: fio's clock starts after its rate sleep, so an I/O that was started late is not charged for its wait"
)


@dataclass(frozen=True)
class Spread:
    """A value over visits and its 95% interval; None where there are not visits enough for one."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def least(self) -> float:
        """The lower bound, or the value where there is none; `most` likewise."""
        return self.value if self.low is None else self.low

    @property
    def most(self) -> float:
        return self.value if self.high is None else self.high

    def scaled(self, factor: float) -> Spread:
        """Every bound times a factor."""
        low, high = ((None if bound is None else bound * factor) for bound in (self.low, self.high))
        return Spread(self.value * factor, low, high)


@dataclass(frozen=True)
class StreamPoint:
    """One stream and direction at one load point. offered_iops: None in a closed loop. share: of all I/Os, 0 to 1."""

    stream: str
    direction: str
    offered_iops: float | None
    iops: float
    bw_bytes_per_s: float
    share: float
    lat_mean_ns: float | None
    lat_p95_ns: float | None
    lat_p99_ns: float | None


def load_name(phase: str, percent: float | None) -> str:
    """'hotband', '95%', 'mix 95%'."""
    return " ".join(filter(None, (phase, "" if percent is None else f"{percent:g}%"))) or "all streams"


@dataclass(frozen=True)
class LoadPoint:
    """All streams together at one load.

    percent:      of the highest load (or of the load asked for); None for a load that runs freely.
    offered_iops: what fio was told; None in a closed loop. asked_iops: before rates were rounded to whole numbers for
                  each stream.
    behind_ios, chance_ios: I/Os the generator was behind at the end, the worst of the visits, and what chance explains
                            of it.
    watts:        under this load, by meter.
    state:        against the curve's limit, where rates are sized by: 'within', 'borderline' or 'over'; else ''.
    """

    phase: str
    percent: float | None
    loop: str
    offered_iops: float | None
    asked_iops: float | None
    iops: Spread
    bw_bytes_per_s: Spread
    lat_mean_ns: Spread | None
    lat_p95_ns: Spread | None
    lat_p99_ns: Spread | None
    overloaded: bool
    behind_ios: float | None
    chance_ios: float | None
    verdict: VerdictCode
    n_visits: int
    n_discarded: int
    seconds: float
    streams: tuple[StreamPoint, ...] = ()
    watts: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()
    state: str = ""

    @property
    def name(self) -> str:
        return load_name(self.phase, self.percent)


@dataclass(frozen=True)
class Sizing:
    """Fixed request rates, in I/Os per second, by what they did to the latency. docs/guide/tune.md has the rule.

    safe_iops:  the highest rate such that it and every lower one kept the limit; None when the lowest did not.
    borderline_iops: lowest and highest rate above it that were not clearly too much; None when there is none.
    over_iops:  the lowest rate from which on every one was too much; None when none was. overloaded: it was not even
                carried there; otherwise its latency was over the limit.
    highest_iops: the highest rate that was tried.
    """

    safe_iops: float | None
    borderline_iops: tuple[float, float] | None
    over_iops: float | None
    overloaded: bool
    highest_iops: float


@dataclass(frozen=True)
class LoadCurve:
    """The load points of one target in the order of the campaign.

    limit_ns: of the response time that the highest load keeps; None when no load was searched for. quantity: which
              one it limits. highest_iops: by phase name.
    idle_watts: by meter. power: how watts were read, or 'not measured'. target_meters: those whose watts are the
                target's, not the client's.
    setting:  of a search, the best one in fio's options, whose closed loop is the first point; '' otherwise. sizing:
              what fixed rates it carries within the limit.
    capacity_bytes: of the product, as typed in or the size of a device; None for a directory of which nobody said it.
    """

    target: str
    points: tuple[LoadPoint, ...]
    footprint_bytes: int
    capacity_bytes: int | None = None
    limit_ns: float | None = None
    highest_iops: tuple[tuple[str, float], ...] = ()
    limited_by: tuple[tuple[str, str], ...] = ()
    idle_watts: tuple[tuple[str, float], ...] = ()
    power: str = "not measured"
    target_meters: tuple[str, ...] = ()
    quantity: Literal["mean", "p99"] = "mean"
    setting: str = ""
    sizing: Sizing | None = None

    def target_watts(self, watts: tuple[tuple[str, float], ...]) -> float | None:
        """Watts of the target: its meters added up; None when one of them is missing or there is none."""
        known = dict(watts)
        if not self.target_meters or any(name not in known for name in self.target_meters):
            return None
        return sum(known[name] for name in self.target_meters)

    def efficiency(self, point: LoadPoint) -> tuple[float, float] | None:
        """IOPS per watt and bytes per second per watt at a load; None where power is not measured."""
        watts = self.target_watts(point.watts)
        return (point.iops.value / watts, point.bw_bytes_per_s.value / watts) if watts else None

    @property
    def idle_bytes_per_watt(self) -> float | None:
        """Bytes of capacity per idle watt; None where idle power is not measured or the capacity is not known."""
        watts = self.target_watts(self.idle_watts)
        return self.capacity_bytes / watts if watts and self.capacity_bytes else None
