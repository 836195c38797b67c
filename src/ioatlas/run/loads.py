# SPDX-License-Identifier: Apache-2.0
"""The loads of a batch: the process that makes them, and how long they take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ioatlas import beneath
from ioatlas.fio.batch import TURN_MS, Batch, Section, job_text
from ioatlas.fio.collect import ERRORS, JOB_FILE, OUTPUT, SectionResult
from ioatlas.fio.executor import LoadProcess, Spread, limit_seconds
from ioatlas.run.plan import FIO_SECONDS, visit_turns


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
