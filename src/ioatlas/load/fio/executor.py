# SPDX-License-Identifier: Apache-2.0
"""The seam between what asks for a load and what makes it: a program found and run, and the time that passes meanwhile.

A campaign never starts a load generator or looks at the clock by itself: it has an Executor. `SystemExecutor` is the
real one; a simulated target is another.

Time inside a session follows the monotonic clock: the wall clock may be set by anybody at any moment. fio stamps its
logs by the wall clock. Where that parts from a session's time while a batch runs, the batch's directory holds how far
and since when, and its stamps are read by that.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal, Protocol

from ioatlas.load.fio.held import by_descriptor, with_names
from ioatlas.load.fio.process import NOBODY, Minder, ProcessOutcome, Program, asked, find_fio, run_process, stop_orphan
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.store import confined

ProgramName = Literal["fio", "iozone", "names"]

_GRACE_SECONDS = 30.0


def limit_seconds(expected_seconds: float) -> float:
    """How long a process that ought to take `expected_seconds` may run before it is long overdue."""
    return expected_seconds * 1.5 + _GRACE_SECONDS


@dataclass(frozen=True)
class Spread:
    """How one section of a batch is dealt out to the clients of a fleet.

    jobs:         fio's names of its jobs. seed: of the visit.
    clients:      how many take part.
    own_files:    whether each has files of its own; stride_bytes: how far apart the ranges of two clients begin on what
                  they share, 0 where all work on the same range.
    """

    jobs: tuple[str, ...]
    seed: int
    clients: int
    own_files: bool = False
    stride_bytes: int = 0


@dataclass(frozen=True)
class LoadProcess:
    """One process that makes load.

    program:       whose name `find` knows. arguments: without the program.
    directory:     where it runs and writes; its job file is there already.
    sink:          file in `directory` that takes what it says.
    limit_seconds: how long it may run before it is ended as overdue.
    spread:        of a batch that several clients make: a record for each section. Empty for one that is made here.
    held:          {path: descriptor of ours} of files and directories that it reaches by descriptor; `arguments` and
                   the job file have their names.
    """

    program: ProgramName
    arguments: tuple[str, ...]
    directory: Path
    sink: str
    limit_seconds: float
    spread: tuple[Spread, ...] = ()
    held: Mapping[str, int] = field(default_factory=dict)


class Clock(Protocol):
    """The time as a campaign sees it."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""
        ...

    def time(self) -> float:
        """Seconds since the epoch."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's own."""

    def monotonic(self) -> float:
        return time.monotonic()

    def time(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Executor(Protocol):
    """What runs load generators."""

    @property
    def clock(self) -> Clock:
        """The time in which the loads run."""
        ...

    def find(self, program: ProgramName) -> Program:
        """The program in use. Raises IoAtlasError when there is none or it is too old."""
        ...

    def run(self, load: LoadProcess, minder: Minder = NOBODY) -> ProcessOutcome:
        """Run it until it ends, its minder asks for that, or it is overdue. Raises IoAtlasError when it cannot be
        killed.
        """
        ...

    def stop_orphan(self, pid: int, started_ticks: int) -> bool:
        """Kill a process left over by an earlier session, if that very one still lives. True when there was one."""
        ...


class SystemExecutor:
    """Real programs found on PATH, run as processes of this machine."""

    def __init__(self) -> None:
        self.clock: Clock = SystemClock()
        self._found: dict[ProgramName, Program] = {}

    def find(self, program: ProgramName) -> Program:
        if program not in self._found:
            self._found[program] = _FINDERS[program]()
        return self._found[program]

    def run(self, load: LoadProcess, minder: Minder = NOBODY) -> ProcessOutcome:
        with by_descriptor(load.arguments, load.directory, load.held) as (arguments, inherited):
            command, limit = [self.find(load.program).path, *arguments], load.limit_seconds
            outcome = run_process(
                command, minder, directory=load.directory, sink=load.sink, limit_seconds=limit, held=inherited
            )
        return replace(outcome, stderr=with_names(outcome.stderr, load.held))

    def stop_orphan(self, pid: int, started_ticks: int) -> bool:
        return stop_orphan(pid, started_ticks)


def _iozone() -> Program:
    path = shutil.which("iozone")
    if path is None:
        raise UsageError(
            "iozone is not installed",
            where="--engine",
            remedy="install it (Debian: iozone3 in non-free), or use --engine fio, which runs the same operations",
        )
    match = re.search(r"Version \$Revision: ([\d.]+)", asked([path, "-v"]).stdout)
    if match is None:
        raise IoAtlasError(f"{path} does not say which IOzone it is", remedy="put IOzone 3 first on PATH")
    return Program(path, match[1])


_FINDERS: dict[ProgramName, Callable[[], Program]] = {
    "fio": find_fio,
    "iozone": _iozone,
    # What opens, renames and lists files is a program of ioatlas itself, run by the Python in use.
    "names": lambda: Program(sys.executable, "1"),
}


@cache
def lacks_engine(name: str) -> bool:
    """Whether the installed fio says that it has no such engine; False where there is no fio to ask."""
    try:
        said = asked([find_fio().path, f"--enghelp={name}"], _GRACE_SECONDS)
    except (IoAtlasError, OSError, subprocess.TimeoutExpired):
        return False
    return re.search(r"not (?:loadable|found)", said.stdout + said.stderr) is not None


FILE = "clock.json"
PARTED_SECONDS = 0.5
"""A wall clock that is further off was set; less is its usual correction."""


class SessionTime:
    """Seconds since the epoch by the wall clock as it was at the start, moved on by the monotonic clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.time() - clock.monotonic()

    def now(self) -> float:
        return self.at(self._clock.monotonic())

    def at(self, monotonic_seconds: float) -> float:
        """The session's time of a moment of the monotonic clock."""
        return self._began + monotonic_seconds


@dataclass(frozen=True)
class BatchClock:
    """How far the wall clock was ahead of the session's time while a batch ran.

    steps: (since when in the session's time, seconds ahead), the first one at the batch's begin. end: of the batch.
    """

    steps: tuple[tuple[float, float], ...] = ()
    end: float = 0.0

    @classmethod
    def of(cls, seen: Iterable[tuple[float, float]]) -> BatchClock:
        """Of (session's time, seconds ahead) as it was looked at again and again; no steps where it was never set."""
        told = sorted(seen)
        steps = [told[0]]
        for one in told[1:]:
            if abs(one[1] - steps[-1][1]) > PARTED_SECONDS:
                steps.append(one)
        parted = any(abs(ahead) > PARTED_SECONDS for _, ahead in steps)
        return cls(tuple(steps), told[-1][0]) if parted else cls()

    @property
    def furthest(self) -> float:
        """How far the wall clock was ahead (below 0: behind) where it was furthest off."""
        return max((ahead for _, ahead in self.steps), key=abs, default=0.0)

    def session(self, wall: float) -> float:
        """The session's time of a moment of the wall clock."""
        if not self.steps:
            return wall
        for place, (_, ahead) in enumerate(self.steps):
            # A step is seen a little after it was made: it lies between two looks at the clock.
            since = self.steps[max(0, place - 1)][0]
            until = self.steps[place + 1][0] if place + 1 < len(self.steps) else self.end
            if since - PARTED_SECONDS <= wall - ahead <= until + PARTED_SECONDS:
                return wall - ahead
        return wall - self.steps[-1][1]

    def write(self, directory: Path) -> None:
        confined.write_text(directory / FILE, json.dumps({"steps": self.steps, "end": self.end}) + "\n")


def read_clock(directory: Path) -> BatchClock:
    """The clock of a batch; one that was never set where nothing is told, or what is told cannot be read."""
    path = directory / FILE
    if not confined.is_ordinary(path):
        return BatchClock()
    try:
        stored = json.loads(confined.read_text(path))
        return BatchClock(tuple((float(since), float(ahead)) for since, ahead in stored["steps"]), float(stored["end"]))
    except (OSError, ValueError, KeyError, TypeError):
        return BatchClock()
