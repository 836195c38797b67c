# SPDX-License-Identifier: Apache-2.0
"""Response time against load, of several streams at once."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ioatlas.report.page_format.parts import Model, Pair


class SpreadData(Model):
    """A value over visits with its 95% interval; null where there are too few visits for one."""

    value: float
    low: float | None
    high: float | None


class StreamRow(Model):
    """One stream and direction at one load point. share: of all I/Os, 0 to 1. offered_iops: null in a closed loop."""

    stream: str
    direction: str
    offered_iops: float | None
    iops: float
    bw_bytes_per_s: float
    share: float
    lat_mean_ns: float | None
    lat_p95_ns: float | None
    lat_p99_ns: float | None


class LoadPointData(Model):
    """Several streams together at one load. Latencies are over all I/Os; of an open loop they are lower bounds.

    behind_ios, chance_ios: I/Os that the generator was behind at the end, and what chance explains of it. watts:
    null when not measured.
    """

    name: str
    phase: str
    percent: float | None
    loop: Literal["open", "closed"]
    offered_iops: float | None
    iops: SpreadData | None
    bw_bytes_per_s: SpreadData | None
    lat_mean_ns: SpreadData | None
    lat_p95_ns: SpreadData | None
    lat_p99_ns: SpreadData | None
    overloaded: bool
    state: str = Field(description="within, borderline or over the curve's limit; '' where rates are not sized by it")
    behind_ios: float | None
    chance_ios: float | None
    verdict: str
    n_visits: int
    watts: float | None
    iops_per_watt: float | None
    bytes_per_s_per_watt: float | None
    streams: list[StreamRow]


class LoadCurveData(Model):
    """Response time against load of one target, load points in the order in which they ran. power: how watts were
    read, or 'not measured'; '' where nobody asked. limit_ns: of `quantity`. sizing: which fixed rates are safe, in
    words, or ''.
    """

    target: str
    points: list[LoadPointData]
    limit_ns: float | None
    quantity: Literal["mean", "p99"]
    sizing: str
    highest: list[Pair] = Field(description="I/Os per second of the highest load, by phase")
    power: str
    idle_watts: float | None
    idle_bytes_per_watt: float | None
    latency_note: str
