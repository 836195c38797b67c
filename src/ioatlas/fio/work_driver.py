# SPDX-License-Identifier: Apache-2.0
"""Runs one work: setup, command, verify, cleanup. A program of its own, without the rest of ioatlas.

Started as `python -I work_driver.py FOLDER TARGET`; FOLDER holds request.json and takes result.json. Each phase is a
shell in TARGET, in a process group of its own; it does not run once the target's name leads elsewhere. What it starts
in the background lives until the end of the work, then it is killed: orphans come to this process, which is their
subreaper. SIGINT and SIGTERM end what runs; cleanup is run all the same.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NoReturn

_PR_SET_CHILD_SUBREAPER = 36
_LOOK_SECONDS = 0.1
_END_SECONDS = 2.0
MOST_OUTPUT_BYTES = 64 << 20
OUTPUT, ERRORS = "{}.out", "{}.err"


class StoppedError(Exception):
    """A signal asked to end."""


class Driver:
    """One work in one folder of the target, which is held open: `target` may be a descriptor's path."""

    def __init__(self, folder: Path, target: str) -> None:
        self.folder = folder
        self.held = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.request: dict[str, Any] = json.loads((folder / "request.json").read_text(encoding="utf-8"))
        self.result: dict[str, Any] = {"phases": {}, "failed": "", "why": "", "cleaned": False, "run": ""}
        self.stopping = False
        with contextlib.suppress(OSError, ValueError):
            known = json.loads((folder / "result.json").read_text(encoding="utf-8"))
            self.result["run"] = str(known.get("run", ""))

    def all(self) -> int:
        """Every phase in its order. cleanup always; the others until one fails."""
        only_cleanup = bool(self.request.get("only_cleanup"))
        if not self.result["run"] or not Path(self.result["run"]).is_dir():
            self.result["run"] = tempfile.mkdtemp(prefix="ioatlas-run-")
        self._note()
        try:
            if only_cleanup:
                end_left_over(self.result["run"])
            else:
                self._phases()
        except StoppedError:
            self.result |= {"failed": "stopped", "why": "it was stopped"}
        finally:
            self.stopping = True
            self._clean_up()
        return 1 if self.result["failed"] else 0

    def _phases(self) -> None:
        for name in ("setup", "command", "verify"):
            if not self.request[name]:
                continue
            if name == "command":
                self._settle()
            why = self._phase(name, float(self.request["limit_seconds"]))
            if why:
                self.result |= {"failed": name, "why": why}
                return

    def _clean_up(self) -> None:
        with contextlib.suppress(StoppedError):
            if self.request["cleanup"]:
                why = self._phase("cleanup", float(self.request["cleanup_seconds"]))
                if why and not self.result["failed"]:
                    self.result |= {"failed": "cleanup", "why": why}
        end_children()
        shutil.rmtree(self.result["run"], ignore_errors=True)
        self.result["cleaned"] = True
        self._note()

    def _settle(self) -> None:
        """What setup wrote reaches the target before the clock starts; where it is asked for, it leaves the cache."""
        ctypes.CDLL(None).syncfs(self.held)
        if not self.request["cold"]:
            return
        for _, _, files, place in os.fwalk(dir_fd=self.held):
            for name in files:
                with contextlib.suppress(OSError):
                    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
                    try:
                        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                    finally:
                        os.close(file)

    def _phase(self, name: str, limit_seconds: float) -> str:
        """Run one of the commands. Why it failed; '' when it did not."""
        target = str(self.request["target"])
        if not self._leads_here(target):
            return "another directory lies under its name"
        known = {"IOATLAS_TARGET": target, "IOATLAS_RUN": self.result["run"], "IOATLAS_SEED": self.request["seed"]}
        variables = {**os.environ, **{key: str(value) for key, value in known.items()}, "TMPDIR": self.result["run"]}
        out, err = (self.folder / form.format(name) for form in (OUTPUT, ERRORS))
        with out.open("wb") as said, err.open("wb") as told:
            started_at, begin = time.time(), time.perf_counter()
            process = subprocess.Popen(
                ["/bin/sh", "-c", self.request[name]],
                cwd=f"/proc/self/fd/{self.held}",
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=told,
                process_group=0,
            )
        why, status, used = self._wait(process.pid, begin + limit_seconds, (out, err))
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        self.result["phases"][name] = {
            "started_at": started_at,
            "seconds": seconds,
            "exit_code": process.returncode,
            "user_seconds": used.ru_utime,
            "system_seconds": used.ru_stime,
        }
        self._note()
        if why == "stopped":
            raise StoppedError
        if why:
            return why
        return f"it ended with {process.returncode}" if process.returncode else ""

    def _leads_here(self, target: str) -> bool:
        """Whether the name that the commands are given still leads to what is held."""
        try:
            return os.path.samestat(Path(target).lstat(), os.fstat(self.held))
        except OSError:
            return False

    def _wait(self, pid: int, until: float, outputs: tuple[Path, ...]) -> tuple[str, int, Any]:
        """Until it ends, is asked to, is overdue or prints without end: (why it was ended, status, what it used)."""
        ended = select.poll()
        handle = os.pidfd_open(pid)
        ended.register(handle, select.POLLIN)
        why = ""
        try:
            while not ended.poll(1000 * min(_LOOK_SECONDS, max(0.0, until - time.perf_counter()))):
                why = self._why_to_end(until, outputs)
                if why:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
                    break
        finally:
            os.close(handle)
        _, status, used = os.wait4(pid, 0)
        if why:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        return why, status, used

    def _why_to_end(self, until: float, outputs: tuple[Path, ...]) -> str:
        if asked and not self.stopping:
            return "stopped"
        if time.perf_counter() > until:
            return "it took longer than its limit"
        return "it printed without end" if any(one.stat().st_size > MOST_OUTPUT_BYTES for one in outputs) else ""

    def _note(self) -> None:
        new = self.folder / "result.new"
        new.write_text(json.dumps(self.result), encoding="utf-8")
        new.rename(self.folder / "result.json")


asked: list[int] = []
"""Signals that asked to end."""


def children() -> list[int]:
    """Processes whose parent this one is; orphans of the work come here."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
                if int(stat[stat.rindex(")") + 2 :].split()[1]) == os.getpid():
                    found.append(int(entry.name))
    return found


def end_children() -> None:
    """Kill all that is left, generation by generation: whose parent dies comes to this process."""
    until = time.monotonic() + _END_SECONDS
    while (left := children()) and time.monotonic() < until:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)


def end_left_over(run: str) -> None:
    """Kill what a driver that was killed left: its processes carry the name of its private folder."""
    mine = f"IOATLAS_RUN={run}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if mine in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)


def main() -> NoReturn:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: asked.append(number))
    sys.exit(Driver(Path(sys.argv[1]), sys.argv[2]).all())


if __name__ == "__main__":
    main()
