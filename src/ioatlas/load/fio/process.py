# SPDX-License-Identifier: Apache-2.0
"""Starting, watching and stopping fio. A fio of ours dies with us, or is found again by pid and start time."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ioatlas.model.errors import IoAtlasError

MIN_VERSION = (3, 33)
POLL_SECONDS = 0.1
_STOP_SECONDS = 15.0


@dataclass(frozen=True)
class Program:
    """A load generator in use: where it lies and its version, as it says it."""

    path: str
    version: str


@dataclass(frozen=True)
class ProcessOutcome:
    """How one fio process ended. `stopped` says why we ended it early: '' (it ended itself), 'asked' or 'overdue'."""

    exit_code: int
    seconds: float
    stopped: str
    stderr: str


@dataclass(frozen=True)
class Minder:
    """What its caller does about a load that runs.

    stop_asked: whether it is to end. started: called with pid and start time as soon as it runs, so that a later start
    can find it. tick: called about ten times a second with the seconds since the start.
    """

    stop_asked: Callable[[], bool] = lambda: False
    started: Callable[[int, int], object] = lambda _pid, _ticks: None
    tick: Callable[[float], object] = lambda _seconds: None


NOBODY = Minder()


def asked(
    command: Sequence[str], seconds: float | None = None, *, text: str = "", **how: Any
) -> subprocess.CompletedProcess[str]:
    """A program that ends by itself: how it ended, and what it said. text: on its standard input. how: as of `Popen`.

    Raises OSError when it cannot be started, TimeoutExpired when it takes longer than so many seconds.
    """
    return subprocess.run(
        command, input=text, capture_output=True, text=True, errors="replace", check=False, timeout=seconds, **how
    )


def text_of(path: str | Path, errors: str = "replace") -> str:
    """What a small file of the system says; '' when it cannot be read. errors: what becomes of bytes that are none of
    UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8", errors=errors)
    except OSError:
        return ""


def find_fio() -> Program:
    """The fio on PATH; that of the package ioatlas-fio where there is none, or an older one.

    Raises IoAtlasError when there is none of either, or none that is new enough.
    """
    found = [_fio_at(path) for path in (shutil.which("fio"), _packaged()) if path]
    if not found:
        raise IoAtlasError(
            "fio is not installed", remedy="install it, for example `apt-get install fio`, and try again"
        )
    fio, version = max(found, key=lambda one: one[1])
    if version < MIN_VERSION:
        raise IoAtlasError(f"{fio.version} is too old", where=fio.path, remedy="install fio 3.33 or newer")
    return fio


def _packaged() -> str | None:
    try:
        place = importlib.import_module("ioatlas_fio")
    except ImportError:
        return None
    return str(place.PATH)


def _fio_at(path: str) -> tuple[Program, tuple[int, int]]:
    text = asked([path, "--version"]).stdout.strip()
    match = re.match(r"fio-(\d+)\.(\d+)", text)
    if match is None:
        raise IoAtlasError(
            f"{path} does not say which fio it is: {text!r}", remedy="put a fio of version 3.33 or newer first on PATH"
        )
    return Program(path, text), (int(match[1]), int(match[2]))


def start_time_ticks(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot; with the pid it names one process. None when there is no such
    process.
    """
    fields = text_of(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return int(fields[19]) if fields and fields[0] not in "ZX" else None


def stop_orphan(pid: int, started_ticks: int) -> bool:
    """Kill a fio left over by an earlier run, if that very process still lives. True when there was one.

    Raises IoAtlasError when it cannot be killed: nothing may be cleaned or started beside it.
    """
    if start_time_ticks(pid) != started_ticks:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _STOP_SECONDS
    while start_time_ticks(pid) == started_ticks:
        if time.monotonic() > deadline:
            raise IoAtlasError(
                f"fio of an earlier run (pid {pid}) does not end",
                remedy="its target does not answer; bring the target back or reboot, then try again",
            )
        time.sleep(0.05)
    return True


def run_process(
    command: list[str], minder: Minder, *, directory: Path, sink: str, limit_seconds: float, held: Collection[int] = ()
) -> ProcessOutcome:
    """Run a load generator in `directory` until it ends, we are asked to stop, or it is overdue. Nothing is read
    meanwhile: all it says goes to the file `sink`, and is the outcome's `stderr`.

    held: descriptors of ours that it has too.
    """
    said = directory / sink
    begin = time.monotonic()
    with said.open("wb") as out:
        process = subprocess.Popen(
            [*die_with_us(), *command],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            pass_fds=held,
        )
    minder.started(process.pid, start_time_ticks(process.pid) or 0)
    stopped = ""
    with _watching(process) as ended:
        while not ended(POLL_SECONDS):
            spent = time.monotonic() - begin
            if minder.stop_asked() or spent > limit_seconds:
                stopped = "asked" if spent <= limit_seconds else "overdue"
                _end(process)
                break
            minder.tick(spent)
    process.wait()
    text = said.read_text(errors="replace").strip()
    return ProcessOutcome(process.returncode, time.monotonic() - begin, stopped, text)


@contextlib.contextmanager
def _watching(process: subprocess.Popen[bytes]) -> Iterator[Callable[[float], bool]]:
    """Whether the process ends within so many seconds. Seen at once: Popen.wait with a timeout looks every 50 ms
    only.
    """

    def by_looking(seconds: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=seconds)
        return process.returncode is not None

    try:
        handle = os.pidfd_open(process.pid)
    except OSError:  # a kernel before 5.3, or a sandbox
        yield by_looking
        return
    ended = select.poll()
    ended.register(handle, select.POLLIN)
    try:
        yield lambda seconds: bool(ended.poll(seconds * 1000))
    finally:
        os.close(handle)


def die_with_us() -> list[str]:
    """What stands before a command so that it dies with us, however we die.

    setpriv asks the kernel to kill it at our death; the shell then looks whether we are still there, because a death
    before that request goes unnoticed. That of busybox cannot ask.
    """
    setpriv = shutil.which("setpriv")
    return (
        [setpriv, "--pdeathsig", "KILL", "--", "/bin/sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', str(os.getpid())]
        if setpriv and "busybox" not in os.path.realpath(setpriv)
        else []
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGINT lets fio write what it has; SIGKILL when it does not."""
    for signum in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signum)
        try:
            process.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        return
    raise IoAtlasError(
        f"the load generator (pid {process.pid}) does not end, even when killed",
        remedy="the target does not answer; bring it back, then use `ioatlas resume`",
    )
