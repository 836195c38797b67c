# SPDX-License-Identifier: Apache-2.0
"""Before the first visit: files and devices written over their whole length, step by step as the preparation says."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ioatlas.load.fio.collect import OUTPUT, run_job
from ioatlas.load.fio.executor import Executor, SystemExecutor
from ioatlas.load.fio.figures import FioJob
from ioatlas.load.fio.jobfile import JobSection, render_job
from ioatlas.load.fio.process import Minder, text_of
from ioatlas.load.fio.series import Moved, read_series
from ioatlas.model.errors import IoAtlasError, PartialResultError
from ioatlas.model.options import JobValue
from ioatlas.model.outcomes import Emit, Event, LaidOut
from ioatlas.model.target import Target
from ioatlas.model.units import format_size
from ioatlas.store import confined
from ioatlas.target.placing import Extent
from ioatlas.target.preparation import Step

LOG_MS = 50
WAVES = 4
"""Times that all I/Os in flight come back, at least: while the last do, the target is not as busy."""
SLOWEST_BYTES_PER_S = 1e6
"""A preparation slower than this is taken to hang."""


def _block_bytes(size_bytes: int) -> int:
    """Largest power of two up to 1 MiB that divides the size."""
    return min(1 << 20, size_bytes & -size_bytes)


GLOBAL: Mapping[str, JobValue] = {
    "thread": 1,
    "clocksource": "clock_gettime",
    "per_job_logs": 0,
    "log_unix_epoch": 1,
    "disable_clat": 1,
    "disable_slat": 1,
}


@dataclass(frozen=True)
class Layout:
    """Files of a target, or the target itself, that are written over their whole length.

    places: {name: options that bind it to its place}; extents: {name: what is to lie there}. directory: of the job
    files and what fio says of them. held: as of a `LoadProcess`.
    """

    target: Target
    places: Mapping[str, Mapping[str, JobValue]]
    extents: Mapping[str, Extent]
    directory: Path
    direct: bool
    executor: Executor = field(default_factory=SystemExecutor)
    stop_asked: Callable[[], bool] = lambda: False
    held: Mapping[str, int] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return sum(extent.size_bytes for extent in self.extents.values())

    def job(self, step: Step, most_seconds: float | None = None) -> str:
        """A job file that writes every file over its whole length, as one step of a preparation.

        Files are written one after the other. The data neither compress nor repeat unless the cells' own do. Random
        steps keep fio's map of blocks, so that each pass writes every block once. most_seconds: after which it ends,
        whatever is missing.
        """
        sections = []
        ioengine = self.target.ioengine
        for index, (place, location) in enumerate(self.places.items()):
            extent = self.extents[place]
            data = dict(extent.data)
            # Repeated data repeat block by block: in blocks larger than the cells' they would repeat differently.
            largest = min(step.bs_bytes, extent.smallest_block_bytes) if "dedupe_percentage" in data else step.bs_bytes
            options: dict[str, JobValue] = {
                **location,
                **data,
                "rw": step.rw,
                "bs": min(largest, _block_bytes(extent.size_bytes)),
                "size": extent.size_bytes,
                "ioengine": ioengine or "libaio",
                "iodepth": step.iodepth,
                "direct": int(self.direct),
                "refill_buffers": 1,
                "randrepeat": 0,
                "randseed": 1 + index,
                "end_fsync": int(self.target.takes_flushes),
                "fallocate": "none",
            }
            if extent.offset_bytes:
                options["offset"] = extent.offset_bytes
            if step.passes > 1:
                options["loops"] = step.passes
            if most_seconds is not None:
                options["runtime"] = f"{max(1, round(1000 * most_seconds / len(self.places)))}ms"
            if ioengine is None:
                options["allow_file_create"] = 1
            if index:
                options["stonewall"] = None
            name = f"layout{index}"
            logs: dict[str, JobValue] = {"log_avg_msec": LOG_MS, "write_bw_log": name, "write_lat_log": name}
            sections.append(JobSection(name, options | logs))
        return render_job(sections, GLOBAL)

    def write(
        self, steps: Sequence[Step], emit: Emit, book: Callable[[str, int], None], most_seconds: float | None = None
    ) -> tuple[tuple[LaidOut, ...], bool]:
        """The steps of a preparation, one fio after the other: what was seen of each file, and whether all was written.

        book: called with a step's word and the bytes it wrote. most_seconds: for all of them together; None for as long
        as it takes. Raises as `write_step`.
        """
        clock, passes = self.executor.clock, sum(step.passes for step in steps)
        begin, total, before = clock.monotonic(), self.bytes * passes, 0

        def progress(done: int) -> None:
            spent, done = clock.monotonic() - begin, before + done
            left = (total - done) * spent / done if done else None
            left = left and round(left, 1)
            told = {"target": self.target.name, "bytes": total, "bytes_done": done, "seconds_left": left}
            emit(Event("layout", told))

        seen: list[LaidOut] = []
        for step in steps:
            progress(0)
            most = None if most_seconds is None else most_seconds * step.passes / passes
            mine = confined.make_directory(self.directory, step.what.replace(" ", "-"))
            made = replace(self, directory=mine).write_step(step, progress, most)
            written = sum(one.moved_bytes for one in made)
            before += written
            book(step.what, written)
            seen += made if step.rw == "write" else ()
            if written < step.passes * self.bytes:
                return tuple(seen), False
        return tuple(seen), True

    def write_step(
        self, step: Step, progress: Callable[[int], None] = lambda _: None, most_seconds: float | None = None
    ) -> tuple[LaidOut, ...]:
        """Make one step of a preparation. Returns what was written to each file, and when.

        progress: called with the bytes of this step so far, where that can be seen. most_seconds: after which it ends,
        whatever is missing. Raises PartialResultError when stopped, IoAtlasError when fio fails, or wrote less than it
        should though it had the time.
        """
        total, target = step.passes * self.bytes, self.target
        if most_seconds is not None:
            able = int(min(most_seconds * SLOWEST_BYTES_PER_S, total / WAVES) / step.bs_bytes)
            step = replace(step, iodepth=max(1, min(step.iodepth, able)))  # a slow target ends in time
        known = [0]
        # Only a directory's files grow as they are written.
        paths = [str(place["filename"]) for place in self.places.values()] if target.kind == "directory" else []

        def tick(_seconds: float) -> None:
            grown = sum(_size(path) for path in paths) if step.passes == 1 and step.rw == "write" else 0
            progress(min(total, max(grown, _written_by(known[0]))))

        def started(pid: int, _ticks: int) -> None:
            known[0] = pid

        outcome, output = run_job(
            self.executor,
            self.job(step, most_seconds),
            self.directory,
            expected_seconds=total / SLOWEST_BYTES_PER_S,
            minder=Minder(self.stop_asked, started, tick),
            held=self.held,
        )
        if outcome.stopped == "asked":
            raise PartialResultError("stopped while the target was prepared", remedy="go on with `ioatlas resume`")
        if outcome.exit_code:
            said = last_line(outcome.stderr) or f"fio ended with {outcome.exit_code}"
            raise IoAtlasError(
                f"writing {format_size(total)} ({step.what}) failed: {said}",
                where=target.location,
                remedy=remedy_for(outcome.stderr),
            )
        jobs = output.jobs if output else ()
        made = tuple(_laid_out(target, step, job, self.directory) for job in jobs if "write" in job.directions)
        written = sum(one.moved_bytes for one in made)
        if written < total and most_seconds is None:
            raise IoAtlasError(
                f"the {step.what} wrote {written} of {total} bytes",
                where=target.location,
                remedy=f"see {self.directory / OUTPUT} for what fio says",
            )
        return made


def _laid_out(target: Target, step: Step, job: FioJob, directory: Path) -> LaidOut:
    """What was seen of one file's writing: nothing of when, where its logs are missing."""
    figures = job.directions["write"]
    moved, ran_ms = figures.io_bytes or 0, figures.runtime_ms or 0
    totals = {"write": Moved(moved, figures.total_ios or 0)}
    logs = read_series(directory, job.name, interval_ms=LOG_MS, runtime_ms=ran_ms, moved=totals)
    series = logs.by_direction.get("write")
    block = moved // figures.total_ios if figures.total_ios else step.bs_bytes
    return LaidOut(
        target.name,
        (logs.start_ms or 0) / 1000,
        ran_ms,
        block,
        step.iodepth,
        moved,
        tuple(round(rate * LOG_MS / 1000) for rate in series.bw_bytes_per_s) if series else (),
        LOG_MS,
    )


def _written_by(pid: int) -> int:
    """Bytes that a process has had written to storage; 0 where the kernel does not count them (exports,
    some network file systems).
    """
    lines = text_of(f"/proc/{pid}/io").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("write_bytes:")), 0)


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def last_line(text: str) -> str:
    """The last line of fio's messages that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wanted = [line for line in lines if "error" in line.lower() or "fio:" in line]
    return (wanted or lines or [""])[-1]


def remedy_for(text: str) -> str:
    """What to do about fio's message."""
    lowered = text.lower()
    if "no space" in lowered or "error=28" in lowered or "err=28" in lowered:
        return "free some space or choose smaller sizes"
    if "quota exceeded" in lowered or "error=122" in lowered or "err=122" in lowered:
        return "the quota there is used up: free some space, choose smaller sizes, or have it raised"
    if ("invalid argument" in lowered and "direct" in lowered) or "o_direct" in lowered:
        return "the target takes no direct I/O with this block size: sweep larger blocks, or set direct = 0"
    if "read-only" in lowered or "error=30" in lowered:
        return "the target is read-only: mount it for writing, or use --read-only"
    if "input/output error" in lowered or "err= 5" in lowered or "error=5" in lowered:
        return "it answers with I/O errors: look at `dmesg` for a device of this machine, else at its server's log"
    return "see fio.err in the batch's directory; the job file beside it repeats it by hand"
