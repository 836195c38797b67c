# SPDX-License-Identifier: Apache-2.0
"""An estimate: what a cell's visits say, or what the map's model or another tool says, never mixed up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ioatlas.model.cell import Cell

Kind = Literal["measured", "predicted", "imported"]
LatKind = Literal["total", "completion"]


@dataclass(frozen=True)
class Estimate:
    """One cell, one direction. Values are None where they are not known; intervals are 95% unless `method` says otherwise.

    bw_low, bw_high, iops_low, ...: bounds of the interval of the line above, same unit; None when withheld.
    verdict: 'steady', 'warm-up', 'drifting', 'unstable', 'cached', 'discarded', 'not admissible', ... one word or two.
    method:  id and version of what computed it, e.g. 't-log-pooled/1'.
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
    verdict: str = ""
    method: str = ""
    window_seconds: float | None = None
    cut_seconds: float | None = None
    n_discarded: int = 0
    seeds: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
