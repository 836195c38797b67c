# SPDX-License-Identifier: Apache-2.0
"""Gates: tests a window must pass before its numbers count. Each returns '' or the reason to discard, with the figures.

Plain numbers in, no clock, no I/O. A gate that lacks its numbers passes: what was not recorded is not held against a
window. A visit of several streams at once: each stream by what it was told to do, the visit by all of them together.

By Little's law throughput x latency is the number of I/Os in flight, which the load was told to keep. What a reading
says is wrong where the two differ, or something took time that nobody counted. Flushes, think time and a flush at the
end are counted; rates and fio's own depth search leave only the upper bound. What is missing then is the load
generator's where its processor time, and its waits for a processor, are long enough; else it is told as a fault of our
own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from ioatlas.model.cell import TRACE, Cell
from ioatlas.model.verdict import Reason, ReasonCode, Verdict, VerdictCode
from ioatlas.model.visit import Part, Visit
from ioatlas.stats.openloop import Backlog, backlog

LOW, HIGH = 0.90, 1.02
"""Shares of the number that was to be in flight between which a reading holds."""
_ONLY_BOUNDED = ("rate", "rate_iops", TRACE, "latency_target", "flow", "iodepth_low", "serialize_overlap")
"""Options with which fewer may be in flight than the depth says, and nobody knows how many."""
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d|)")
_US = {"": 1.0, "us": 1.0, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9, "d": 8.64e10}


@dataclass(frozen=True)
class InFlight:
    """I/Os in flight on average.

    low, high: as the reading counts them; a flush that holds up the queue may or may not be one. least, most: as many
    as the load may have kept. edge: share that the I/Os cut off at either end may make.
    """

    low: float
    high: float
    least: float
    most: float
    edge: float

    @property
    def missing(self) -> float:
        """Share of what was to be in flight that the reading does not hold, beyond what is allowed; 0 where it holds
        all.
        """
        short = 1 - self.high / self.least if self.least else 0.0
        return short if short > self.allowed else 0.0

    @property
    def allowed(self) -> float:
        """Share that may be missing."""
        return 1 - LOW + self.edge

    @property
    def beyond(self) -> bool:
        """Whether it holds more than there can have been: a broken clock or a wrong unit."""
        return self.low > self.most * (HIGH + self.edge)

    @property
    def sentence(self) -> str:
        of = self.most if self.beyond else self.least
        counted = self.low if self.beyond else self.high
        return (
            f"Little's law: IOPS x mean latency = {counted:.2f} in flight, {of:g} kept in flight "
            f"(ratio {counted / of:.2f})"
        )


def in_flight(parts: Sequence[Part], cell: Cell, *, asked_ms: float | None = None) -> InFlight | None:
    """What the parts of one load say of the number in flight; None where their latencies do not tell.

    asked_ms: how long the load was to run, where time bounds it. Every slot is busy all the time but for its last I/O,
    which was started and is not counted if the window ends first, and is counted in full if it is let finish. So one
    latency a slot is in doubt: a 1 s window of 100 ms I/Os is judged by 0.80 .. 1.12.
    """
    work = [part for part in parts if part.total_ios]
    total = sum(part.total_ios for part in work)
    seconds = _seconds(work, cell, asked_ms)
    if not work or seconds <= 0 or cell.outstanding < 1 or any(not _alone_ns(part) for part in work):
        return None
    if any(part.lat_kind == "intended" for part in work):
        return None  # from when an I/O was due: its wait for a free slot is in it
    held = sum(part.total_ios * _alone_ns(part) for part in work) / 1e9 / seconds
    flushes = [part.flush for part in work if part.flush is not None]
    flushed = sum(one.count * one.mean_ns for one in flushes) / 1e9 / seconds
    jobs = cell.outstanding // max(1, cell.iodepth)
    thought = _think_seconds(cell) * total / max(1, cell.integer("thinktime_blocks", 1)) / seconds
    least = float(jobs if thought else cell.outstanding)  # what is in flight comes back before a job thinks
    unknown = cell.flushes and not flushes and not cell.flush_holds_queue
    if unknown or any(cell.option.get(name) for name in _ONLY_BOUNDED):
        least = 0.0
    low, high = held + flushed, held + flushed + thought + (jobs if cell.flush_holds_queue else 0)
    longest = max((one.mean_ns for one in flushes), default=0.0) / 1e9 / seconds
    return InFlight(low, high, least, float(cell.outstanding), max(low / total, longest))


def _alone_ns(part: Part) -> float:
    """Mean latency without a flush; 0 where it is not known."""
    mean = part.flush.write_mean_ns if part.flush is not None else part.lat_mean_ns
    return mean if mean and isfinite(mean) else 0.0


def _seconds(parts: Sequence[Part], cell: Cell, asked_ms: float | None) -> float:
    """How long I/Os were issued: a flush at the end is part of the time of a load, and no I/O is in flight then."""
    ran_ms = max((part.runtime_ms for part in parts), default=0.0)
    if not cell.integer("end_fsync", 0) and not cell.integer("fsync_on_close", 0):
        return ran_ms / 1000
    seen_ms = [part.series.end_ms[-1] + part.series.interval_ms for part in parts if part.series.end_ms]
    until_ms = asked_ms or max(seen_ms, default=ran_ms)
    return min(ran_ms, until_ms) / 1000


def _think_seconds(cell: Cell) -> float:
    found = _TIME.fullmatch(str(cell.option.get("thinktime", "")).strip())
    return float(found[1]) * _US[found[2]] / 1e6 if found else 0.0


METHOD = "gates/1"

BYTES_TOLERANCE = 0.001
CEILING_LIMIT = 1.005
OFFERED_SHARE = 0.99
CPU_LIMIT_PERCENT = 80.0
_DIRECTIONS = ("read", "write", "trim")


def bytes_gate(io_bytes: int, total_ios: int, bs_bytes: int, *, short_ios: int = 0) -> str:
    """Bytes moved = I/Os x block size within 0.1%; one short I/O (end of file) each is allowed for when counted."""
    expected = total_ios * bs_bytes
    allowed = BYTES_TOLERANCE * expected + short_ios * bs_bytes
    if abs(io_bytes - expected) <= allowed:
        return ""
    return f"bytes: {io_bytes} moved, {total_ios} I/Os x {bs_bytes} = {expected} ({_percent(io_bytes, expected)})"


def little_gate(
    visit: Visit, cell: Cell, *, asked_ms: float | None = None, waiting: float | None = None
) -> tuple[str, Verdict | None] | None:
    """(why the visit is discarded or '', label or None) by Little's law; None where the number in flight is not known.

    waiting: share of the time in which the generator's threads stood ready and waited for a processor. Where what is
    missing is no more than that and its own processor time, the generator was slow between two I/Os: the figures are
    the client's. Nothing measured explains the rest: latency, time or the number in flight is wrong.
    """
    flight = in_flight(visit.parts, cell, asked_ms=asked_ms)
    if flight is None:
        return None
    if flight.beyond:
        return flight.sentence, None
    if not flight.missing:
        return "", None
    busy = (visit.cpu_percent or 0.0) / 100
    if flight.missing <= busy + (waiting or 0.0) + flight.allowed:
        return "", Verdict(VerdictCode.CLIENT_LIMITED, flight.sentence)
    waits = f"waited {waiting:.0%} for one" if waiting is not None else "how long it waited for one is not known"
    why = f"{flight.sentence}; the generator used {busy:.0%} of a processor, and {waits}"
    return "", Verdict(VerdictCode.UNACCOUNTED, why)


def generator_cpu_gate(cpu_percent: float | None) -> str:
    """The load generator's CPU, percent of one job's core (user + system): at the limit it measures itself."""
    if cpu_percent is None or cpu_percent < CPU_LIMIT_PERCENT:
        return ""
    return f"load generator: {cpu_percent:.0f}% CPU for each job, limit {CPU_LIMIT_PERCENT:.0f}%"


def ceiling_gate(value: float, ceiling: float | None, *, name: str = "the ceiling") -> str:
    """Value above 100.5% of a ceiling (same unit): a cache or an error of units, never a fast target."""
    if ceiling is None or ceiling <= 0 or value <= CEILING_LIMIT * ceiling:
        return ""
    return f"ceiling: {_percent(value, ceiling)} of {name}"


def overload_gate(achieved: float, offered: float | None) -> str:
    """Open loop: why the point is overloaded, less than 99% of the offered rate achieved (same unit). Its latencies
    are lower bounds.
    """
    if not offered or achieved >= OFFERED_SHARE * offered:
        return ""
    return f"{_percent(achieved, offered)} of the offered rate achieved"


@dataclass(frozen=True)
class GateReport:
    """discards: reasons to discard the visit. labels: verdicts that outweigh the shape of its series."""

    discards: tuple[Reason, ...]
    labels: tuple[Verdict, ...]


def judge_visit(
    visit: Visit,
    cell: Cell,
    *,
    asked_ms: float | None = None,
    ceilings: Mapping[str, tuple[float, str]] | None = None,
    waiting: float | None = None,
) -> GateReport:
    """All gates on one visit, its directions together.

    asked_ms: runtime asked for, for loads bounded by time.
    ceilings: by direction, an upper bound of its throughput in bytes per second and its name. The bytes gate is skipped
              for mixed block sizes (bssplit, bsrange, traces).
    waiting: as of `little_gate`.
    Open-loop visits are labelled, not discarded, when overloaded.
    """
    discards: list[Reason] = []
    limited: list[Verdict] = []

    def gate(code: ReasonCode, sentence: str) -> None:
        if sentence:
            discards.append(Reason(code, sentence))

    parts = visit.parts
    gate(ReasonCode.NO_IO, "" if any(part.total_ios for part in parts) else ReasonCode.NO_IO)
    for reason in _bytes_reasons(visit, cell):
        gate(ReasonCode.BYTES, reason)
    law = little_gate(visit, cell, asked_ms=asked_ms, waiting=waiting)
    if law is not None:
        gate(ReasonCode.LITTLES_LAW, law[0])
        limited += [law[1]] if law[1] is not None else []
    reason = generator_cpu_gate(visit.cpu_percent)
    limited += [Verdict(VerdictCode.CLIENT_LIMITED, reason)] if reason else []
    for part in parts:
        if ceilings and part.direction in ceilings and part.runtime_ms:
            bound, name = ceilings[part.direction]
            gate(ReasonCode.CEILING, ceiling_gate(part.io_bytes / part.runtime_ms * 1000, bound, name=name))
    return GateReport(tuple(dict.fromkeys(discards)), (*limited, *_overload(visit, cell)))


def _bytes_reasons(visit: Visit, cell: Cell) -> list[str]:
    """What the bytes gate says of each direction; nothing for mixed sizes and for traces, whose log has been compared
    I/O by I/O.
    """
    if any(cell.option.get(name) for name in ("bssplit", "bsrange", "bs_unaligned", TRACE)):
        return []
    sizes = _sizes(cell)
    return [
        bytes_gate(part.io_bytes, part.total_ios, sizes[part.direction], short_ios=part.short_ios)
        for part in visit.parts
        if part.direction in sizes and part.total_ios
    ]


def _sizes(cell: Cell) -> dict[str, int]:
    """Block size of each direction: fio's `bs` is one value, or read,write,trim, where a missing one repeats the last
    before it.
    """
    given = [int(part) for part in str(cell.option.get("bs", 4096)).split(",") if part]
    return {direction: given[min(index, len(given) - 1)] for index, direction in enumerate(_DIRECTIONS)}


def rates_of(cell: Cell, option: str = "rate_iops") -> dict[str, float]:
    """What `rate_iops` or `rate` asks for in each direction, all jobs together (fio's are for one job); empty without
    it.
    """
    given = cell.option.get(option)
    if not given:
        return {}
    rates = [float(part) if part else 0.0 for part in str(given).split(",")]
    return {name: rates[min(index, len(rates) - 1)] * cell.numjobs for index, name in enumerate(_DIRECTIONS)}


def offered_in(cell: Cell, direction: str) -> float | None:
    """I/Os a second that an open loop asks for in one direction, all jobs together; None without a rate or with blocks
    of several sizes.
    """
    if rate := rates_of(cell).get(direction):
        return rate
    several = cell.option.get("bssplit") or cell.option.get("bsrange")
    rate = rates_of(cell, "rate").get(direction)
    return rate / _sizes(cell)[direction] if rate and not several else None


def _overload(visit: Visit, cell: Cell) -> tuple[Verdict, ...]:
    labels = []
    for option, total in (("rate_iops", "total_ios"), ("rate", "io_bytes")):
        rates = rates_of(cell, option)
        for part in visit.parts if rates else ():
            if not part.runtime_ms:
                continue
            reason = overload_gate(getattr(part, total) / part.runtime_ms * 1000, rates[part.direction])
            arrivals = offered_in(cell, part.direction)
            if cell.option.get("rate_process") == "poisson" and arrivals:
                # The number of arrivals itself varies: less than 99% of it may be chance.
                reason = backlog(
                    part.total_ios,
                    arrivals,
                    part.runtime_ms / 1000,
                    poisson=True,
                    lat_mean_ns=part.lat_mean_ns,
                    jobs=cell.numjobs,
                ).reason
            labels += [Verdict(VerdictCode.OVERLOADED, reason)] if reason else []
    return tuple(dict.fromkeys(labels))


def _percent(value: float, of: float) -> str:
    return f"{value / of:.1%}" if of else "infinite"


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


def judge_streams(visit: Visit, cell: Cell, *, waiting: float | None = None) -> GateReport:
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
        discards += [replace(reason, sentence=f"{name}: {reason.sentence}") for reason in report.discards]
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
    return GateReport(tuple(dict.fromkeys(discards)), tuple(dict.fromkeys(labels)))
