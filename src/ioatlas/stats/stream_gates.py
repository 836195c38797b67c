# SPDX-License-Identifier: Apache-2.0
"""Gates for a visit of several streams at once: each stream by what it was told to do, the visit by all of them
together.
"""

from __future__ import annotations

from dataclasses import replace

from ioatlas.model.cell import Cell
from ioatlas.model.reason import Reason, ReasonCode
from ioatlas.model.verdict import Verdict, VerdictCode
from ioatlas.model.visit import Part, Visit
from ioatlas.stats.gates import GateReport, generator_cpu_gate, judge_visit, rates_of, runtime_gate
from ioatlas.stats.openloop import Backlog, backlog


def offered_by_direction(cell: Cell) -> dict[str, float]:
    """I/Os per second that one stream's `rate_iops` adds up to over its jobs, by direction; empty for a closed loop."""
    return {name: rate for name, rate in rates_of(cell).items() if name in cell.directions}


def offered_iops(cell: Cell) -> float:
    """I/Os per second that all streams of a cell are offered; 0 for a closed loop."""
    return sum(rate for member in cell.members for rate in offered_by_direction(member).values())


def is_poisson(cell: Cell) -> bool:
    return any(member.option.get("rate_process") == "poisson" for member in cell.members)


def stream_backlog(cell: Cell, parts: tuple[Part, ...], seconds: float) -> Backlog | None:
    """Backlog of a cell (all of its streams, or one) from its parts; None for a closed loop."""
    offered = offered_iops(cell)
    if not offered or seconds <= 0:
        return None
    done = sum(part.total_ios for part in parts)
    latency = sum(part.total_ios * (part.lat_mean_ns or 0.0) for part in parts) / done if done else None
    return backlog(
        done,
        offered,
        seconds,
        poisson=is_poisson(cell),
        lat_mean_ns=latency,
        jobs=sum(len(m.directions) * m.numjobs for m in cell.members),
    )


def judge_streams(
    visit: Visit, cell: Cell, *, asked_ms: float | None = None, waiting: float | None = None
) -> GateReport:
    """All gates on one visit of `cell`, whose streams are judged one by one; reasons begin with the stream's name.

    Overload is judged for all streams together and for each, with the chance that Poisson arrivals bring. Little's law
    bounds each stream from below only where it runs freely: `flow` makes it wait for others.
    waiting: as of `little_gate`.
    """
    discards: list[Reason] = []
    labels: list[Verdict] = []
    runtime_ms = max((part.runtime_ms for part in visit.parts), default=0)
    if not visit.parts:
        discards.append(Reason(ReasonCode.NO_IO, ReasonCode.NO_IO))
    overloads: list[Verdict] = []
    cpu = generator_cpu_gate(visit.cpu_percent)
    for (name, _), member in zip(cell.streams, cell.members, strict=True):
        parts = tuple(part for part in visit.parts if part.stream == name)
        behind = stream_backlog(member, parts, runtime_ms / 1000)
        if behind is not None and behind.reason:
            overloads.append(Verdict(VerdictCode.OVERLOADED, f"{behind.reason} ({name})"))
        if not parts:
            continue
        report = judge_visit(replace(visit, parts=parts), member, waiting=waiting)
        discards += [_of_stream(reason, name) for reason in report.discards]
        # The pace of all streams is judged here, with the chance that it brings, and their processor time below.
        labels += [
            replace(label, detail=f"{label.detail} ({name})")
            for label in report.labels
            if label.code is not VerdictCode.OVERLOADED and label.detail != cpu
        ]
    whole = stream_backlog(cell, visit.parts, runtime_ms / 1000)
    if whole is not None and whole.reason:
        labels.insert(0, Verdict(VerdictCode.OVERLOADED, whole.reason))
    labels += overloads
    labels += [Verdict(VerdictCode.CLIENT_LIMITED, cpu)] if cpu else []
    short = runtime_gate(runtime_ms, asked_ms)
    discards += [Reason(ReasonCode.RUNTIME, short)] if short else []
    return GateReport(tuple(dict.fromkeys(discards)), tuple(dict.fromkeys(labels)))


def _of_stream(reason: Reason, name: str) -> Reason:
    """The reason with its stream in front; an error is the whole visit's."""
    return reason if reason.code is ReasonCode.ERROR else replace(reason, sentence=f"{name}: {reason.sentence}")
