# SPDX-License-Identifier: Apache-2.0
"""How latency is spread over the I/Os of a cell, and how a visit went over time."""

from __future__ import annotations

from dataclasses import dataclass

PERCENTS = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99)


@dataclass(frozen=True)
class LatencyCurve:
    """Latency percentiles of one cell and direction, over all I/Os of the visits that its estimate is made from.

    latencies_ns: one for each of `PERCENTS`; None where fewer than `analysis.latencies.FEWEST_BEYOND` I/Os lie beyond.
    """

    cell_key: str
    direction: str
    n_ios: int
    latencies_ns: tuple[float | None, ...]


@dataclass(frozen=True)
class TimeCourse:
    """One visit and direction over time.

    started_seconds: since the first visit of the campaign. cut_ms: where the warm-up was cut; 0 when nothing was.
    end_ms: end of each interval since the load began. bw_bytes_per_s, lat_mean_ns: over that interval.
    discarded: why the visit does not count; '' when it does. purpose: what the visit was made for.
    """

    cell_key: str
    direction: str
    visit_id: int
    purpose: str
    started_seconds: float
    cut_ms: int
    verdict: str
    discarded: str
    end_ms: tuple[int, ...]
    bw_bytes_per_s: tuple[float, ...]
    lat_mean_ns: tuple[float, ...]
