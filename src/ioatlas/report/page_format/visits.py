# SPDX-License-Identifier: Apache-2.0
"""Latency percentiles and time courses of visits."""

from __future__ import annotations

from pydantic import Field

from ioatlas.report.page_format.cells import Column, Dictionary
from ioatlas.report.page_format.parts import Model


class LatencyCurves(Model):
    """Latency percentiles of rows of `Cells`, over all I/Os of their visits.

    row, n_ios: one for each curve. latencies: those of a curve one after the other, one for each of `percents`; NaN
    where too few I/Os lie beyond. left_out: they were too many for a page; the campaign has them.
    """

    percents: list[float]
    n: int
    row: Column
    n_ios: Column
    latencies: Column
    fewest_beyond: int = Field(description="I/Os that must lie beyond a percentile for it to be told")
    left_out: bool


class TimeCourses(Model):
    """Visits over time, in the order in which they ran; a visit of two directions is there twice.

    row, purpose, verdict, discarded, started_seconds, cut_ms, n_points: one for each visit. discarded: why it does not
    count, empty when it does. started_seconds: since the first one. cut_ms: end of the warm-up that was cut.
    end_ms, bw_bytes_per_s, lat_mean_ns: those of all visits one after the other, `n_points` for each; 0 where nothing
    completed. left_out: they were too many for a page; the campaign has them.
    """

    n: int
    row: Column
    purpose: Dictionary
    verdict: Dictionary
    discarded: Dictionary
    started_seconds: Column
    cut_ms: Column
    n_points: Column
    end_ms: Column
    bw_bytes_per_s: Column
    lat_mean_ns: Column
    left_out: bool
