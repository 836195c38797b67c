# SPDX-License-Identifier: Apache-2.0
"""A batch: several visits as sections of one fio process, placed one after the other by `startdelay`.

fio starts sections from a loop that sleeps 100 ms a turn; a section starts at the first turn after its `startdelay`.
Turns take 100.1 ms, and every start of a section delays them by 0 to 13 ms more (1.4 to 3.5 on average, measured; more
on a busy machine). A section is due half a turn before the turn that it is meant for: turns may run 50 ms ahead of the
schedule or behind it before one is missed. Some slack a section makes that rather too late, which costs a turn, than
too early, which makes neighbours overlap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ioatlas.load.fio.jobfile import JobSection, render_job
from ioatlas.load.fio.replay import lane_sections
from ioatlas.load.fio.series import logs_each_io
from ioatlas.model.cell import NOT_OF_FIO, Cell
from ioatlas.model.options import JobValue
from ioatlas.model.visit import SLICE_MS

TURN_MS = 100.2
SLACK_MS = 3
MAX_SLACK_MS = 50
SERIES_POINTS = 50
"""Intervals of a log, about."""
INTERVALS_MS = (10, 20, 25, 50, SLICE_MS)
MAX_JOBS_IN_FLIGHT = 4000
"""fio 3.33 takes at most 4,096 jobs a process."""
Location = tuple[tuple[str, JobValue], ...]
"""Options that bind a cell to its place."""

WORK_CAP_SECONDS = 3600
"""Longest a work-bounded section may run."""


@dataclass(frozen=True)
class Section:
    """One visit to be made.

    visit_id:    the planned visit in the journal.
    runtime_ms:  how long the load runs (a cap for a work-bounded cell).
    gap_ms:      time after it for the work in flight to drain before the neighbour starts.
    location:    options that bind the cell to its place (filename, directory, uri ...).
    places:      of targets loaded together: (name, location) of each that is loaded. Then `location` is empty.
    only:        the place, from 1, whose part of the visit this is; 0 for all of them.
    rest_ms:     time before it without load.
    """

    visit_id: int
    cell: Cell
    seed: int
    runtime_ms: int
    gap_ms: int
    location: Location
    places: tuple[tuple[str, Location], ...] = ()
    only: int = 0
    rest_ms: int = 0

    @property
    def name(self) -> str:
        return f"v{self.visit_id}"

    @property
    def jobs(self) -> tuple[tuple[str, str, Cell], ...]:
        """(fio's name, stream, its cell) of every job that starts together: one, or one for each stream or target."""
        if self.places:
            numbers = (self.only,) if self.only else range(1, len(self.places) + 1)
            return tuple((f"{self.name}-{number}", "", self.cell) for number in numbers)
        if not self.cell.streams:
            return ((self.name, "", self.cell),)
        return tuple(
            (f"{self.name}-{number}", stream, member)
            for number, ((stream, _), member) in enumerate(zip(self.cell.streams, self.cell.members, strict=True), 1)
        )

    @property
    def locations(self) -> tuple[Location, ...]:
        """Where each of the jobs works."""
        return tuple(place for _, place in self.places) or (self.location,) * len(self.jobs)

    @property
    def turns(self) -> int:
        return math.ceil((self.rest_ms + self.runtime_ms + self.gap_ms) / 100)

    @property
    def logs_each_io(self) -> bool:
        """Whether its log has a row for each I/O, from which latencies since each was due follow."""
        return logs_each_io(self.cell, self.runtime_ms)

    @property
    def interval_ms(self) -> int:
        if self.cell.work_bounded:  # how long it runs is not known
            return SLICE_MS
        wanted = max(1, self.runtime_ms // SERIES_POINTS)
        nearest = min(INTERVALS_MS, key=lambda one: abs(math.log(one / wanted)))
        return max(nearest, wanted // SLICE_MS * SLICE_MS)


@dataclass(frozen=True)
class Batch:
    """One fio process. `directory` receives job.fio, fio.json, fio.err and the interval logs."""

    batch_id: int
    directory: Path
    sections: tuple[Section, ...]
    readonly: bool = False
    slack_ms: float = SLACK_MS

    @property
    def start_ms(self) -> tuple[int, ...]:
        """Startdelay of each section, ms."""
        time_ms, starts = 0.0, []
        for section in self.sections:
            starts.append(max(0, math.ceil(time_ms + section.rest_ms - TURN_MS / 2)))
            time_ms += section.turns * TURN_MS + self.slack_ms
        return tuple(starts)

    @property
    def seconds(self) -> float:
        """How long the sections take, fio's own start and end excluded."""
        return sum(section.turns * TURN_MS + self.slack_ms for section in self.sections) / 1000


GLOBAL: Mapping[str, JobValue] = {
    "thread": 1,
    "group_reporting": 1,
    "clocksource": "clock_gettime",
    "lat_percentiles": 1,
    "clat_percentiles": 0,
    "disable_clat": 1,
    "disable_slat": 1,
    "per_job_logs": 0,
    "log_unix_epoch": 1,
    "allow_file_create": 0,
}


TIMED_FLUSHES: Mapping[str, JobValue] = {"disable_clat": 0}
"""fio 3.33 times no flush where it does not count completion latencies (`account_io_completion` in its io_u.c)."""


def section_options(section: Section, cell: Cell | None = None, number: int = 0) -> dict[str, JobValue]:
    """Everything that fio needs to repeat the visit by hand, apart from its place in the batch and its logs.

    cell: of one of several streams, counted by `number` so that no two draw the same offsets; targets likewise.
    """
    cell = cell or section.cell
    seed = (section.seed + number * 7919) % (2**31)
    asked = {name: value for name, value in cell.option.items() if name not in NOT_OF_FIO}
    options: dict[str, JobValue] = {**dict(section.locations[number]), **asked, "randrepeat": 0, "randseed": seed}
    options["runtime"] = f"{section.runtime_ms}ms"
    if not cell.work_bounded:
        options["time_based"] = 1
        options |= _parts_of_a_file(cell)
    if cell.flushes:
        options |= TIMED_FLUSHES
    if cell.option.get("file_append"):
        options["create_serialize"] = 0  # else every section begins where the file ended when the batch began
    return options


def _parts_of_a_file(cell: Cell) -> dict[str, JobValue]:
    """Each of several jobs that go through one file in sequence works on a part of its own: side by side over the same
    bytes the first would fetch from the medium what the others then find in any small cache.
    """
    largest = max(cell.block_sizes)
    part = cell.size_bytes // cell.numjobs // largest * largest
    own_way = any(name in cell.option for name in ("offset_increment", "zonesize", "zonerange", "rw_sequencer"))
    scattered = cell.rw.startswith("rand") or cell.trace
    if cell.numjobs == 1 or cell.sharing != "shared" or scattered or own_way or not part:
        return {}
    return {"size": part, "offset_increment": part}


def job_text(batch: Batch) -> str:
    """The job file of a batch."""
    sections = []
    for section, start_ms in zip(batch.sections, batch.start_ms, strict=True):
        for number, (name, _, cell) in enumerate(section.jobs):
            options = section_options(section, cell, number)
            if cell.trace:
                sections += lane_sections(name, options, cell)
                continue
            options |= {"new_group": 1, "startdelay": f"{start_ms}ms", "write_lat_log": name}
            if not section.logs_each_io:
                options |= {"log_avg_msec": section.interval_ms, "write_bw_log": name}
            sections.append(JobSection(name, options))
    return render_job(sections, GLOBAL)


def take_sections(
    waiting: Sequence[Section], *, seconds: float, alone: Callable[[Section], bool]
) -> tuple[Section, ...]:
    """The next batch: as many waiting sections as fit `seconds` and fio's limit on jobs; a section that must run alone
    does.
    """
    taken: list[Section] = []
    spent, jobs = 0.0, 0
    for section in waiting:
        length = section.turns * TURN_MS / 1000
        jobs += section.cell.numjobs * section.cell.n_targets
        if taken and (spent + length > seconds or jobs > MAX_JOBS_IN_FLIGHT or alone(section)):
            break
        taken.append(section)
        spent += length
        if alone(section):
            break
    return tuple(taken)
