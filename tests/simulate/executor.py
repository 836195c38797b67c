# SPDX-License-Identifier: Apache-2.0
"""An executor over a simulated target: nothing is started, virtual time passes, and fio's files are written."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ioatlas.load.fio.collect import OUTPUT
from ioatlas.load.fio.executor import LoadProcess, ProgramName
from ioatlas.load.fio.process import NOBODY, POLL_SECONDS, Minder, ProcessOutcome, Program
from ioatlas.model.errors import IoAtlasError, UsageError
from tests.simulate.clock import VirtualClock
from tests.simulate.device import Device, Load
from tests.simulate.faults import OF_JOBS, STUCK, Fault, FaultKind, Faults
from tests.simulate.iozone import iozone_table
from tests.simulate.jobs import SimulatedJob, read_jobs
from tests.simulate.law import Law
from tests.simulate.output import VERSION, Entry, json_text, write_logs, write_rows
from tests.simulate.rows import paced_rows, replayed
from tests.simulate.trees import OF_NAMES, names_job, touch_names

START_SECONDS, END_SECONDS = 0.15, 0.1
TICK_SECONDS = 0.1002
FIRST_PID = 1 << 23
"""Above every pid of a real process."""
MOST_TICKS = 400
WRITTEN_BYTES = 8 << 20
"""Files up to this size hold data, larger ones are sparse."""
_KILLED, _INTERRUPTED = -9, 128
_MISSING = 2
_WORDS = {2: "No such file or directory", 5: "Input/output error", 28: "No space left on device"}


@dataclass(frozen=True)
class _Ran:
    """What a process that ended by itself left: files to write, how it ended and when."""

    entries: tuple[Entry, ...]
    seconds: float
    exit_code: int
    said: str


class SimulatedExecutor:
    """Loads on a simulated target.

    law:     what the target does. faults: what goes wrong, and when.
    moment:  called with a word at every step of a process; a test may end everything there.
    iozone:  whether there is an IOzone. start_seconds: what the start of a process takes.
    device:  another way to make loads of the law.
    """

    def __init__(
        self,
        law: Law | None = None,
        *,
        faults: Sequence[Fault] = (),
        moment: Callable[[str], None] = lambda _what: None,
        clock: VirtualClock | None = None,
        iozone: bool = True,
        start_seconds: float = START_SECONDS,
        device: Device | None = None,
    ) -> None:
        self.clock = clock or VirtualClock()
        self.runs = 0
        self._device = device or Device(law or Law())
        self.faults = Faults(faults)
        self._moment = moment
        self._iozone = iozone
        self._start_seconds = start_seconds
        self._pids = itertools.count(FIRST_PID)

    def change_law(self, law: Law) -> None:
        """What the target does from now on."""
        self._device.law = law

    def find(self, program: ProgramName) -> Program:
        self._moment("find")
        if program == "iozone" and not self._iozone:
            raise UsageError("iozone is not installed", where="--engine", remedy="use --engine fio")
        return Program(f"/simulated/{program}", VERSION if program == "fio" else "3.489")

    def stop_orphan(self, pid: int, started_ticks: int) -> bool:
        self._moment("stop_orphan")
        return False

    def run(self, load: LoadProcess, minder: Minder = NOBODY) -> ProcessOutcome:
        self._moment("run")
        self.runs += 1
        begin = self.clock.monotonic()
        (load.directory / load.sink).write_bytes(b"")
        minder.started(next(self._pids), 1)
        fio = load.program != "iozone"
        common, jobs = _jobs_of(load)
        fault = self.faults.of_process(jobs, begin)
        before = self._device.copy()
        ran = self._fio(load.directory, jobs, begin, math.inf) if fio else self._iozone_run(load, begin)
        fault = fault or self.faults.while_running(jobs, begin, begin + ran.seconds)
        lasts = math.inf if fault and fault.kind in STUCK else 0.0 if fault and fault.kind == "exit" else ran.seconds
        stopped = self._pass(lasts, load.limit_seconds, minder)
        seconds = self.clock.monotonic() - begin
        if fault and fault.kind in (*STUCK, FaultKind.EXIT):
            return self._ended_badly(load, fault, stopped, seconds)
        if stopped and fio:
            self._device = before
            ran = self._fio(load.directory, jobs, begin, seconds)
        self._moment("written in part")
        whole = not (fault and fault.kind is FaultKind.CUT_OUTPUT) and (fio or not stopped)
        self._write(load, common, ran, whole=whole, stopped=bool(stopped), began=self.clock.time() - seconds)
        self._moment("ended")
        return ProcessOutcome(_INTERRUPTED if stopped else ran.exit_code, seconds, stopped, ran.said.strip())

    def _pass(self, lasts: float, limit: float, minder: Minder) -> str:
        """Let a process of so many seconds run, looking as often as the real one does; why it ended early, or ''."""
        spent = 0.0
        step = max(POLL_SECONDS, min(lasts, limit) / MOST_TICKS)
        while spent < lasts:
            pause = min(step, lasts - spent)
            self.clock.sleep(pause)
            spent += pause
            if spent >= lasts:
                break
            self._moment("tick")
            if spent > limit:
                return "overdue"
            if minder.stop_asked():
                return "asked"
            minder.tick(spent)
        return ""

    def _ended_badly(self, load: LoadProcess, fault: Fault, stopped: str, seconds: float) -> ProcessOutcome:
        if fault.kind is FaultKind.UNKILLABLE:
            raise IoAtlasError(
                f"the load generator (pid {FIRST_PID}) does not end, even when killed",
                remedy="the target does not answer; bring it back, then use `ioatlas resume`",
            )
        said = fault.text if fault.kind is FaultKind.EXIT else ""
        (load.directory / load.sink).write_text(said + "\n")
        return ProcessOutcome(1 if fault.kind is FaultKind.EXIT else _KILLED, seconds, stopped, said)

    def _fio(self, directory: Path, jobs: Sequence[SimulatedJob], begin: float, until: float) -> _Ran:
        """Every job of a job file in its time. until: seconds after which the process is ended."""
        entries: list[Entry] = []
        said: list[str] = []
        end = self._start_seconds
        for start, together in _starts(jobs):
            at = (
                math.ceil(max(end if together[0].after else 0.0, self._start_seconds + start) / TICK_SECONDS)
                * TICK_SECONDS
            )
            for entry in self._together(directory, together, begin, at, until):
                entries.append(entry)
                if entry.load.error:
                    said.append(_message(entry))
                end = max(end, entry.load.end_seconds)
        failed = any(entry.load.error for entry in entries)
        return _Ran(tuple(entries), min(until, end + END_SECONDS), int(failed), "\n".join(said))

    def _together(
        self, directory: Path, jobs: Sequence[SimulatedJob], begin: float, at: float, until: float
    ) -> list[Entry]:
        """Jobs that start at the same time share the target."""
        left = max(0.0, until - at)
        errors = [self._trouble(directory, job, begin + at) for job in jobs]
        limits = [left if error is None else min(left, error[1]) for error in errors]
        if any(job.options.get("read_iolog") for job in jobs):
            return [self._replay(directory, jobs, at, left, errors[0][0] if errors[0] else 0)]
        loads = self._device.make(jobs, begin + at, limits)
        entries = []
        for job, load, error in zip(jobs, loads, errors, strict=True):
            load.start_seconds = at
            load.error = error[0] if error and load.ran_seconds < until - at else 0
            law = self._device.law
            flush = law.flush_seconds if job.flushes and "write" in job.directions else 0.0
            entry = Entry(job, load, law.spread, cpu_seconds=law.cpu_seconds, flush_seconds=flush)
            if job.paced and "write_lat_log" in job.options and "log_avg_msec" not in job.options:
                entry.rows = paced_rows(load, self._device.law.spread, job.options.get("randseed", job.name))
            entries.append(entry)
        return entries

    def _trouble(self, directory: Path, job: SimulatedJob, now: float) -> tuple[int, float] | None:
        """(error, seconds until it comes) of a job; its files are made here, where it may make them."""
        files = [directory / path for path in job.files()]
        if not all(path.exists() for path in files) and job.options.get("allow_file_create", "1") == "0":
            return _MISSING, 0.0
        fault = self.faults.of_job(job, now)
        share = fault.share if fault else 1.0
        if job.options.get("ioengine") in OF_NAMES:
            if not touch_names(job, files, share):
                return _MISSING, 0.0
        elif "write" in job.directions:
            for path in files:
                _grow(path, int((job.number("offset") + job.file_bytes) * share))
        if fault is None:
            return None
        whole = self._device.copy().make([job], now, [math.inf])[0].ran_seconds
        return OF_JOBS[fault.kind], whole * share

    def _replay(self, directory: Path, jobs: Sequence[SimulatedJob], at: float, left: float, error: int) -> Entry:
        rows = replayed(self._device, jobs, directory, left)
        last = max((float(lane[:, 0].max()) for lane in rows if len(lane)), default=0.0)
        load = Load(jobs[0], at, last, error=error)
        entry = Entry(jobs[0], load, self._device.law.spread, rows, self._device.law.cpu_seconds)
        entry.lanes = tuple(jobs)
        return entry

    def _iozone_run(self, load: LoadProcess, begin: float) -> _Ran:
        run = iozone_table(self._device, load.arguments, begin)
        return _Ran((), self._start_seconds + run.seconds, 0, run.text)

    def _write(
        self, load: LoadProcess, common: Mapping[str, str], ran: _Ran, *, whole: bool, stopped: bool, began: float
    ) -> None:
        """The files of a process that ended; half of them where its output is cut short."""
        if load.program == "iozone":
            said = ran.said if whole else ran.said[: len(ran.said) // 2]
            (load.directory / load.sink).write_text(said)
            return
        # As fio does: its JSON comes last, so what is there in full has its logs.
        for entry in ran.entries:
            start = began + entry.load.start_seconds
            if entry.lanes:
                for job, lane in zip(entry.lanes, entry.rows, strict=True):
                    write_rows(load.directory, job.options["write_lat_log"], [lane], began)
            elif entry.rows:
                write_rows(load.directory, entry.job.options["write_lat_log"], entry.rows, start)
            else:
                write_logs(load.directory, entry, start)
        text = json_text(common, ran.entries, now=self.clock.time(), elapsed=ran.seconds)
        text = b"\nfio: terminating on signal 2\n" + text if stopped else text
        output = next((word.partition("=")[2] for word in load.arguments if word.startswith("--output=")), OUTPUT)
        (load.directory / output).write_bytes(text if whole else text[: len(text) // 2])
        (load.directory / load.sink).write_text(f"{ran.said}\n" if ran.said else "")


def _jobs_of(load: LoadProcess) -> tuple[dict[str, str], list[SimulatedJob]]:
    """Global options and jobs of a process; none of one that has no jobs of fio's kind."""
    if load.program == "names":
        return {}, [names_job(load.directory)]
    return read_jobs(load.directory / "job.fio") if load.program == "fio" else ({}, [])


def _starts(jobs: Sequence[SimulatedJob]) -> Iterator[tuple[float, list[SimulatedJob]]]:
    """(startdelay in seconds, the jobs that start then) in the order of the job file."""
    for (delay, _), together in itertools.groupby(jobs, key=lambda job: (job.seconds("startdelay"), _stage(job))):
        yield delay, list(together)


def _stage(job: SimulatedJob) -> int:
    """Jobs that wait for those before them start by themselves."""
    return job.group if job.after else -1


def _grow(path: Path, size_bytes: int) -> None:
    """A file as long as what was written to it, holding data where it is small."""
    with path.open("ab") as file:
        missing = size_bytes - file.tell()
        if missing > 0 and size_bytes <= WRITTEN_BYTES:
            file.write(b"\xa5" * missing)
    if path.stat().st_size < size_bytes:
        with path.open("r+b") as file:
            file.truncate(size_bytes)


def _message(entry: Entry) -> str:
    """What fio says of a job that failed."""
    error, job = entry.load.error, entry.job
    words, way = _WORDS[error], job.directions[0]
    where = (job.files() or ["target"])[0]
    return (
        f"fio: io_u error on file {where}: {words}: {way} offset=0, buflen={int(job.block_bytes(way))}\n"
        f"fio: pid=1, err={error}/file:io_u.c:1845, func=io_u error, error={words}"
    )
