# SPDX-License-Identifier: Apache-2.0
"""The loads of a batch: the process that makes them, how long they take, and what drains burst credit before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ioatlas import beneath
from ioatlas.analysis.burst import Bursts
from ioatlas.design.pace import OWN_PROCESS_GAP_MS
from ioatlas.fio.batch import TURN_MS, Batch, Section, job_text
from ioatlas.fio.collect import ERRORS, JOB_FILE, OUTPUT, SectionResult
from ioatlas.fio.executor import LoadProcess, Spread, limit_seconds
from ioatlas.model.purpose import Purpose
from ioatlas.run.plan import FIO_SECONDS, visit_turns
from ioatlas.store.journal import PlannedVisit

PROCESS_IDLE_SECONDS, TICK_SECONDS = 5.0, 0.1
"""For how long a target stands still before the first section of a process, and before each other one, at most."""
USUAL_IDLE_SECONDS = 1.0
"""For how long loads of the other direction usually run between two of one."""
DRAIN_SECONDS = OWN_PROCESS_GAP_MS / 1000
"""What a section that shares a process takes to drain, at most."""


def fio_process(batch: Batch, strides: Mapping[str, int] | None = None) -> LoadProcess:
    """The job file of a batch, written, and the fio that runs it.

    strides: of a batch that several clients make: {target: how far apart the ranges of two clients begin, 0 for files}.
    """
    beneath.write_text(batch.directory / JOB_FILE, job_text(batch))
    arguments: tuple[str, ...] = ("--output-format=json+", f"--output={OUTPUT}", "--eta=never", JOB_FILE)
    if batch.readonly:
        arguments = ("--readonly", *arguments)
    spread = () if strides is None else tuple(one for section in batch.sections for one in _spreads(section, strides))
    return LoadProcess("fio", arguments, batch.directory, ERRORS, limit_seconds(batch.seconds + FIO_SECONDS), spread)


def _spreads(section: Section, strides: Mapping[str, int]) -> Iterator[Spread]:
    """How a section is dealt out to clients: the same ones for every target that it loads."""
    cell, names = section.cell, tuple(name for name, _, _ in section.jobs)
    if section.places:
        jobs: list[tuple[tuple[str, ...], str]] = [
            ((name,), target) for name, (target, _) in zip(names, section.places, strict=True)
        ]
    else:
        jobs = [(names, cell.target)]
    for mine, target in jobs:
        stride = strides.get(target, 0) if cell.own_ranges else 0
        own_files = cell.own_ranges and not stride
        yield Spread(mine, section.seed, cell.clients, own_files=own_files, stride_bytes=stride)


def with_leads(sections: Sequence[Section], planned: Mapping[int, PlannedVisit], bursts: Bursts) -> tuple[Section, ...]:
    """The sections, longer by what each has to run first on targets with burst credit. The journal's runtime is
    without it. Sections that have leads get them anew.

    Credit of one direction comes back while loads of the other run. Only what the journal knows goes in: a batch that
    is read back after a crash has the same leads.
    """
    if not bursts.bursts:
        return tuple(sections)
    led = []
    ended_seconds: dict[tuple[str, str], float] = {}
    now = 0.0
    for section in sections:
        cell = section.cell
        mine = [(cell.target, direction) for direction in cell.directions]
        idle = max((now - ended_seconds.get(one, -PROCESS_IDLE_SECONDS) for one in mine), default=0.0)
        lead_ms = bursts.lead_ms(cell, max(TICK_SECONDS, idle), whole=planned[section.visit_id].alone)
        if planned[section.visit_id].purpose is Purpose.PROBE or cell.work_bounded:
            lead_ms = 0
        runtime_ms = section.runtime_ms - section.lead_ms + lead_ms
        led.append(replace(section, lead_ms=lead_ms, runtime_ms=runtime_ms))
        now += runtime_ms / 1000 + DRAIN_SECONDS
        ended_seconds |= dict.fromkeys(mine, now)
        now += TICK_SECONDS
    return tuple(led)


def expected_seconds(sections: Iterable[Section], pace: Any) -> float:
    """What their loads take: a trace its own time, though it may run far longer where the target cannot follow."""
    return sum(visit_turns(one.cell, pace) if one.cell.trace else one.turns for one in sections) * TURN_MS / 1000


def load_seconds(results: Iterable[SectionResult]) -> float | None:
    """From the start of a process's first load to the end of its last; None where one of them left nothing."""
    spans = []
    for result in results:
        visit = result.visit
        if visit is None or not visit.started_at:
            return None
        spans.append(
            (visit.started_at, visit.started_at + max((part.runtime_ms for part in visit.parts), default=0) / 1000)
        )
    return max(end for _, end in spans) - min(begin for begin, _ in spans) if spans else None
