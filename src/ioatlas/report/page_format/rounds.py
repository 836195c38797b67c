# SPDX-License-Identifier: Apache-2.0
"""Tests in rounds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ioatlas.report.page_format.parts import Model


class RoundsCellData(Model):
    """One cell of a round. read_percent: share of its I/Os that are reads; value: average over the measurement
    window, in the test's quantity.
    """

    rw: str
    bs_bytes: int
    read_percent: int
    value: float | None
    tracked: bool


class RoundsData(Model):
    """A test that ran in rounds until its tracked value was steady (`ioatlas.model.rounds`).

    first: number, from 1, of the first round after the last preparation. window: numbers of the measurement
    window's first and last round.
    line: the best-fit line at those two. written_bytes: by the rounds since the last preparation.
    """

    target: str
    title: str
    part: str
    quantity: Literal["iops", "bw_bytes_per_s", "lat_mean_ns"]
    tracked: str
    values: list[float]
    first: int
    met: bool
    claims: bool = Field(description="the test is one of steady state; write saturation is not")
    ended: str
    reason: str
    window: list[int] | None
    average: float | None
    range_share: float | None
    slope_share: float | None
    line: list[float] | None
    cells: list[RoundsCellData]
    written_bytes: int
    footprint_bytes: int
    purge: str
    deviations: list[str]
    method: str
