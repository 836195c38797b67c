# SPDX-License-Identifier: Apache-2.0
"""From a batch's directory to visits: fio's JSON and interval logs read back, at once or after a crash; and loads away
from the batches: one fio on a job file of its own (a preparation, a check, a ceiling), and a load of names, which fio
has not.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ioatlas.load.fio.batch import Batch, Section, job_text
from ioatlas.load.fio.executor import Executor, LoadProcess, Spread, limit_seconds, read_clock
from ioatlas.load.fio.figures import FioJob, FioOutput, LatencyStats, buckets
from ioatlas.load.fio.output import parse_fio_json
from ioatlas.load.fio.process import NOBODY, Minder, ProcessOutcome
from ioatlas.load.fio.replay import read_replay
from ioatlas.load.fio.series import DIRECTIONS, IoLog, Moved, SectionSeries, read_io_log, read_series
from ioatlas.model.cell import Cell
from ioatlas.model.visit import Flush, Histogram, Part, Purpose, SectionState, Series, Visit
from ioatlas.store import confined

OUTPUT = "fio.json"
JOB_FILE = "job.fio"
ERRORS = "fio.err"
RUNTIME_SHORTFALL = 0.98
"""A section whose load ran for less than this share of the time asked was cut short."""
APART = 1.5
"""Times what the longest job of a load took, from which its jobs did not work at the same time."""
TELLING_MS = 1000
"""Of a fixed amount of work: jobs that end sooner need not meet, for they start one after another."""
NOT_TOGETHER = "its jobs did not work at the same time"


@dataclass(frozen=True)
class SectionResult:
    """What became of one section.

    reason: why it is not finished. overlap_ms: how long it shared the target with a neighbour.
    overloaded: why the generator of a paced load fell behind, as far as its log of each I/O tells.
    """

    section: Section
    state: SectionState
    visit: Visit | None
    reason: str = ""
    overlap_ms: int = 0
    overloaded: str = ""


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


def _entries(output: FioOutput, section: Section) -> list[tuple[str, str, FioJob]]:
    """(fio's name, stream, figures) of every job of a section; empty when fio left one of them out."""
    by_name = {job.name: job for job in output.jobs}
    found = [(name, stream, by_name[name]) for name, stream, _ in section.jobs if name in by_name]
    return found if len(found) == len(section.jobs) else []


def _ran_ms(job: FioJob) -> int:
    return max((figures.runtime_ms or 0 for figures in job.directions.values()), default=0)


def _parts(job: FioJob, series: dict[str, Series], stream: str, cell: Cell) -> tuple[Part, ...]:
    parts = []
    for direction in DIRECTIONS:
        figures = job.directions.get(direction)
        if figures is None or not figures.total_ios:
            continue
        latency = figures.lat if figures.lat is not None and figures.lat.mean_ns else figures.clat
        kind = "total" if latency is figures.lat else "completion"
        part = Part(
            direction,
            figures.io_bytes or 0,
            figures.total_ios,
            figures.runtime_ms or 0,
            latency.mean_ns if latency is not None else None,
            latency.histogram if latency is not None else Histogram(),
            series.get(direction, Series(0)),
            kind,
            figures.short_ios or 0,
            figures.drop_ios or 0,
            stream,
        )
        parts.append(with_flush(part, job.flush, cell) if direction == "write" else part)
    return tuple(parts)


def _cores(section: Section, jobs: Sequence[FioJob]) -> tuple[float, float] | None:
    """Cores' worth of user and system time of all jobs: fio tells per cent of a core, the mean of the jobs that it
    reports together. None of a load of names, which counts none.
    """
    if section.cell.option.get("ioengine") == "names":
        return None
    shares = [
        (cell.numjobs * (job.usr_cpu_percent or 0.0) / 100, cell.numjobs * (job.sys_cpu_percent or 0.0) / 100)
        for (_, _, cell), job in zip(section.jobs, jobs, strict=True)
    ]
    return sum(user for user, _ in shares), sum(system for _, system in shares)


def _interval_logs(directory: Path, name: str, section: Section, job: FioJob) -> SectionSeries:
    moved = {
        direction: Moved(figures.io_bytes or 0, figures.total_ios or 0) for direction, figures in job.directions.items()
    }
    return read_series(directory, name, interval_ms=section.interval_ms, runtime_ms=_ran_ms(job), moved=moved)


def complete_output(directory: Path) -> FioOutput | None:
    """Fio's JSON of a batch when it is there in full, else None."""
    try:
        text = confined.read_text(directory / OUTPUT)
    except OSError:
        return None
    reading = parse_fio_json(text)
    if not reading.outputs or not reading.outputs[-1].complete:
        return None
    return reading.outputs[-1]


def read_batch(
    directory: Path,
    sections: tuple[Section, ...],
    batch_id: int,
    blocks: dict[int, int],
    purposes: dict[int, Purpose],
    output: FioOutput | None = None,
) -> list[SectionResult]:
    """Results of the sections of a batch whose output is on disk, in their order; an empty list when there is no
    output.

    blocks, purposes: by visit_id, from the journal. output: fio's JSON, where it was read before.
    """
    output = output or complete_output(directory)
    if output is None:
        return []
    results: list[SectionResult] = []
    clock = read_clock(directory)
    previous_end_ms: int | None = None
    for index, section in enumerate(sections):
        jobs = _entries(output, section)
        if not jobs:
            results.append(SectionResult(section, SectionState.FAILED, None, "fio reported nothing for it"))
            continue
        ran_ms = max(_ran_ms(job) for _, _, job in jobs)
        parts: list[Part] = []
        starts: list[int] = []
        ends: list[int] = []
        overloaded = ""
        replayed, unlike = SectionState.FINISHED, ""
        for (name, stream, job), (_, _, cell) in zip(jobs, section.jobs, strict=True):
            log: IoLog | None = None
            if section.cell.trace:
                log, replayed, unlike = read_replay(directory, name, section.cell)
            elif section.logs_each_io:
                log = read_io_log(
                    directory, name, section.cell, interval_ms=section.interval_ms, runtime_ms=_ran_ms(job)
                )
            logs = log.series if log is not None else _interval_logs(directory, name, section, job)
            made = _parts(job, logs.by_direction, stream, cell)
            parts += made if log is None else (log.intended(part) for part in made)
            starts += [logs.start_ms] if logs.start_ms is not None else []
            ends += [logs.end_ms] if logs.end_ms is not None else []
            overloaded = log.overloaded if log is not None else overloaded
        start_ms = round(1000 * clock.session(min(starts) / 1000)) if starts else None
        visit = Visit(
            section.visit_id,
            section.cell.key,
            batch_id,
            index,
            blocks.get(section.visit_id, 0),
            section.seed,
            (start_ms or 0) / 1000,
            tuple(parts),
            next((job.error for _, _, job in jobs if job.error), 0) or 0,
            max((job.usr_cpu_percent or 0.0) + (job.sys_cpu_percent or 0.0) for _, _, job in jobs),
            purposes.get(section.visit_id, Purpose.SWEEP),
            load_cores=_cores(section, [job for _, _, job in jobs]),
        )
        overlap_ms = 0
        state, reason = _state(section, visit, ran_ms, max(ends, default=0) - min(starts, default=0))
        if unlike and not visit.error and ran_ms < section.runtime_ms:
            state, reason = replayed, unlike
        if state in (SectionState.FINISHED, SectionState.OVER_RUN) and start_ms is not None:
            end_ms = start_ms + ran_ms
            tolerance_ms = max(2 * section.interval_ms, ran_ms // 50)
            if previous_end_ms is not None and start_ms < previous_end_ms - tolerance_ms:
                overlap_ms = previous_end_ms - start_ms
                state, reason = SectionState.OVER_RUN, f"overlapped its neighbour by {overlap_ms} ms"
                before = results[-1]
                if before.state is SectionState.FINISHED:
                    results[-1] = replace(before, state=state, reason=reason, overlap_ms=overlap_ms)
            previous_end_ms = end_ms
        results.append(SectionResult(section, state, visit, reason, overlap_ms, overloaded))
    return results


def _named(error: int) -> str:
    """What fio's number means; of a server that was killed under its client it makes one that is no errno."""
    if error == errno.EILSEQ:
        return "data is not what was written"
    return os.strerror(error) if error in errno.errorcode else "unknown"


def _state(section: Section, visit: Visit, ran_ms: int, spent_ms: int) -> tuple[SectionState, str]:
    """spent_ms: from the first start of a job to the last completion of any; ran_ms: of the longest job."""
    if visit.error:
        return SectionState.FAILED, f"fio reported error {visit.error} ({_named(visit.error)})"
    brief = section.cell.work_bounded and ran_ms < TELLING_MS
    if section.cell.numjobs > 1 and spent_ms > APART * ran_ms and not brief:
        why = f"{NOT_TOGETHER}: the target serves fewer than {section.cell.numjobs} at a time"
        return SectionState.FAILED, f"{why}; use --numjobs 1 and a larger --iodepth"
    if section.cell.work_bounded:
        return (
            (SectionState.FINISHED, "")
            if visit.parts and ran_ms < section.runtime_ms
            else (SectionState.FAILED, "the work was not done within its time cap")
        )
    # What appends ends with its size, however soon: fio has nowhere to begin anew.
    left = section.cell.size_bytes - sum(part.io_bytes for part in visit.parts)
    appended = section.cell.option.get("file_append") and left < section.cell.bs_bytes
    if ran_ms < section.runtime_ms * RUNTIME_SHORTFALL and not appended:
        return SectionState.CUT_SHORT, f"its load ran {ran_ms} of {section.runtime_ms} ms"
    if not visit.parts:
        return SectionState.FAILED, "no I/O completed"
    if ran_ms > section.runtime_ms + section.gap_ms + 100:
        return SectionState.OVER_RUN, f"ran longer than asked: {ran_ms} ms instead of {section.runtime_ms}"
    return SectionState.FINISHED, ""


FLUSHED = "flushed"


def with_flush(part: Part, told: LatencyStats | None, cell: Cell) -> Part:
    """The part of a job's writes with what fio told of its flushes.

    Latencies become those of a write with its flush, where fio's times can be taken: means add up; percentiles are
    those of a sum of two times that do not depend on each other.
    """
    if told is None or not told.samples or told.mean_ns is None or part.lat_mean_ns is None or cell.flush_holds_queue:
        return part
    flush = Flush(told.samples, told.mean_ns, told.histogram, part.lat_mean_ns, part.histogram)
    part = replace(part, flush=flush)
    if part.lat_kind != "total":
        return part
    share = flush.of_a_write
    return replace(
        part,
        lat_mean_ns=flush.write_mean_ns + share * flush.mean_ns,
        histogram=_sum(part.histogram, flush.histogram, share),
        series=_later(part.series, share * flush.mean_ns),
        lat_kind=FLUSHED,
    )


def _sum(first: Histogram, second: Histogram, share: float) -> Histogram:
    """Times of `first`, a share of them with a time of `second` behind each; as many as `first` has."""
    if not first.bins or not second.bins:
        return first
    (ns, counts), (more_ns, more) = (_bucketed(one) for one in (first, second))
    sums = buckets((ns[:, None] + more_ns[None, :]).ravel())
    weights = share * np.outer(counts, more / more.sum()).ravel()
    places, where = np.unique(np.concatenate((ns, sums)), return_inverse=True)
    exact = np.bincount(where, np.concatenate(((1 - share) * counts, weights)))
    # Rounded where they add up, so that no percentile moves and none is lost.
    upto = np.rint(np.cumsum(exact)).astype(np.int64)
    whole = np.diff(upto, prepend=0)
    return Histogram.from_counts(dict(zip(places.tolist(), whole.tolist(), strict=True)))


def _bucketed(histogram: Histogram) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Latencies in fio's buckets, of which there are few however many values were told, and their counts."""
    values, counts = np.asarray(histogram.bins, dtype=np.int64).T
    places, where = np.unique(buckets(values), return_inverse=True)
    return places, np.bincount(where, counts).astype(np.int64)


def _later(series: Series, by_ns: float) -> Series:
    """The series with each interval's latency so much longer: flushes are not told apart over time."""
    return replace(series, lat_mean_ns=tuple(ns + by_ns if ns else ns for ns in series.lat_mean_ns))


def run_job(
    executor: Executor,
    job: str,
    directory: Path,
    *,
    expected_seconds: float,
    options: tuple[str, ...] = (),
    held: Mapping[str, int] | None = None,
    minder: Minder = NOBODY,
) -> tuple[ProcessOutcome, FioOutput | None]:
    """How it ended, and its output where that is there in full. job: a job file's text. Raises as `Executor.run`.

    directory: made if need be; keeps the job file, the output and what fio says. held: as of a `LoadProcess`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for old in (directory / OUTPUT, *directory.glob("*.log")):  # of a run before: fio appends to logs that are there
        old.unlink(missing_ok=True)
    confined.write_text(directory / JOB_FILE, job)
    arguments = (*options, "--output-format=json", f"--output={OUTPUT}", "--eta=never", JOB_FILE)
    load = LoadProcess("fio", arguments, directory, "fio.err", limit_seconds(expected_seconds), held=held or {})
    return executor.run(load, minder), complete_output(directory)


def fio_process(batch: Batch, strides: Mapping[str, int] | None = None) -> LoadProcess:
    """The job file of a batch, written, and the fio that runs it.

    strides: of a batch that several clients make: {target: how far apart the ranges of two clients begin, 0 for files}.
    """
    confined.write_text(batch.directory / JOB_FILE, job_text(batch))
    arguments: tuple[str, ...] = ("--output-format=json+", f"--output={OUTPUT}", "--eta=never", JOB_FILE)
    if batch.readonly:
        arguments = ("--readonly", *arguments)
    spread = () if strides is None else tuple(one for section in batch.sections for one in _spreads(section, strides))
    return LoadProcess("fio", arguments, batch.directory, ERRORS, limit_seconds(batch.seconds), spread)


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


TOLD = "names.json"
SCRIPT = Path(__file__).with_name("names_load.py")


def names_process(told: Mapping[str, Any], directory: Path, *, limit_seconds: float) -> LoadProcess:
    """The process that does what `told` says.

    told: name, operation, direction, jobs, files, passes, top, folder, names, renamed; the last three lie below `top`
    and hold $jobnum and $filenum.
    """
    confined.write_text(directory / TOLD, json.dumps(told, indent=1))
    return LoadProcess("names", ("-I", "-B", str(SCRIPT), TOLD, OUTPUT, told["top"]), directory, ERRORS, limit_seconds)
