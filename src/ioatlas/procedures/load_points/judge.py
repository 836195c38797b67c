# SPDX-License-Identifier: Apache-2.0
"""The verdict on a visit of several streams at once. Its window is what the load point says: nothing is made longer,
only labelled.
"""

from __future__ import annotations

from dataclasses import replace

from ioatlas.analysis.load_curve import together
from ioatlas.fio.batch import Section
from ioatlas.model.verdict import Verdict, VerdictCode
from ioatlas.model.visit import Visit
from ioatlas.stats.stream_gates import judge_streams
from ioatlas.stats.verdict import judge


def judged_together(section: Section, visit: Visit) -> Visit:
    """The visit with its verdict, where its warm-up ends, and why it is discarded."""
    cell = section.cell
    report = judge_streams(visit, cell, asked_ms=section.runtime_ms, waiting=visit.waiting)
    rates = [part.series.bw_bytes_per_s for part in together(visit.parts) if part.series.bw_bytes_per_s]
    label, cut_ms = Verdict(VerdictCode.TOO_SHORT), 0
    if rates:
        series = [sum(values) for values in zip(*rates, strict=False)]
        verdict = judge(
            series,
            interval_ms=section.interval_ms,
            quantum=cell.bs_bytes * 1000 / section.interval_ms,
            outstanding=cell.outstanding,
        )
        # An offered load has no warm-up to be cut from its rate; where its response time settles late, the load point
        # says so by its spread.
        cut_ms = verdict.cut_ms if verdict.steady and cell.loop == "closed" else 0
        label = verdict.verdict
    if report.labels:
        label = report.labels[0]
    return replace(visit, verdict=label, window_start_ms=cut_ms, discarded=report.discards)
