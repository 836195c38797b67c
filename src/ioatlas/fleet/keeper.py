# SPDX-License-Identifier: Apache-2.0
"""What holds a client while we are connected: a script (`keeper.sh`) with a private directory and the fio server there.

It reads from the connection. When that ends, however it ends, it stops the server with all loads and removes the
directory. When the link is down nobody tells it: then it does so `LEASE_SECONDS` after our last word.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import re
import secrets
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ioatlas.errors import IoAtlasError
from ioatlas.fleet.client import ROUND_TRIPS, ClockOffset, Exchange, LostClientError, offset_of
from ioatlas.fleet.shell import Shell

LEASE_SECONDS = 20
BEAT_SECONDS = 1.0
SILENT_SECONDS = 5.0
"""So long without an answer, a client is lost."""
_START_SECONDS = 20.0
_SERVE_SECONDS = 15.0
_STOP_SECONDS = _HOLD_SECONDS = 10.0
_EDGES = 2
"""Readings of a clock that tells whole seconds only; each takes up to one."""
_SCRIPT = Path(__file__).with_name("keeper.sh")


@dataclass(frozen=True)
class Server:
    """The fio server of a client: with its start time (ticks since boot) the pid names one process."""

    pid: int
    started_ticks: int


class Keeper:
    """The near end of the script. explain: the clear error for what the connection said as it ended."""

    def __init__(self, shell: Shell, explain: Callable[[str], IoAtlasError | None] = lambda _said: None) -> None:
        self.name = shell.name
        self.token = secrets.token_hex(16)
        self.server: Server | None = None
        self._mark = f"@{secrets.token_hex(8)}"
        self._explain = explain
        self._numbers = itertools.count(1)
        self._answers: dict[str, queue.Queue[tuple[float, str]]] = {}
        self._said: deque[str] = deque(maxlen=20)
        self._heard = time.monotonic()
        self._closing = False
        self._server_down = False
        self._lock = threading.Lock()
        self._hello: queue.Queue[str] = queue.Queue()
        self._process = shell.start(
            _SCRIPT.read_text(encoding="utf-8"), mark=self._mark, token=self.token, lease=str(LEASE_SECONDS)
        )
        self._ears = [threading.Thread(target=target, daemon=True) for target in (self._listen, self._overhear)]
        for ear in self._ears:
            ear.start()
        self.place = self._begin()
        self._quiet = threading.Event()
        self._pulse = threading.Thread(target=self._beat, daemon=True)
        self._pulse.start()

    def _begin(self) -> PurePosixPath:
        """Wait for its first word: the private directory."""
        try:
            said = self._hello.get(timeout=_START_SECONDS)
        except queue.Empty:
            said = ""
        word, _, rest = said.partition(" ")
        if word == "ready":
            return PurePosixPath(rest.split(" ", 1)[1])
        self._process.kill()
        self._process.wait()
        self._join()
        if word == "failed":
            raise LostClientError(rest, where=self.name, remedy="make room there, or name another host")
        raise self._ended("its connection ended at once" if self._process.returncode else "it does not answer")

    def _ended(self, what: str) -> IoAtlasError:
        said = "\n".join(self._said)
        last = f" ({self._said[-1]})" if self._said else ""
        return self._explain(said) or LostClientError(
            f"{what}{last}", where=self.name, remedy="see whether `ssh` or `kubectl` reaches it, then try again"
        )

    # -- what comes back ---------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            at = time.time()
            mark, _, rest = line.rstrip("\n").partition(" ")
            if mark != self._mark:  # a greeting
                continue
            self._heard = time.monotonic()
            number, _, text = rest.partition(" ")
            waiting = self._answers.pop(number, None)
            if waiting is not None:
                waiting.put((at, text))
            elif number in ("ready", "failed", "finished"):
                self._hello.put(rest)
        self._hello.put("")
        for waiting in list(self._answers.values()):
            waiting.put((0.0, ""))

    def _overhear(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if line.strip():
                self._said.append(line.strip())

    def _ask(self, word: str, rest: str = "", *, seconds: float) -> tuple[float, str, float]:
        """Time of the question, answer, time of the answer. Raises LostClientError."""
        number = str(next(self._numbers))
        waiting: queue.Queue[tuple[float, str]] = queue.Queue()
        self._answers[number] = waiting
        assert self._process.stdin is not None
        try:
            with self._lock:
                sent = time.time()
                self._process.stdin.write(f"{word} {number} {rest}\n")
                self._process.stdin.flush()
            at, text = waiting.get(timeout=seconds)
        except (OSError, ValueError):
            at, text = 0.0, ""
        except queue.Empty:
            raise LostClientError(
                f"it does not answer within {seconds:g} s", where=self.name, remedy="see whether host and link are well"
            ) from None
        finally:
            self._answers.pop(number, None)
        if not at:
            raise self._ended("its connection ended")
        return sent, text, at

    def _beat(self) -> None:
        while not self._quiet.wait(BEAT_SECONDS):
            with contextlib.suppress(IoAtlasError):
                _, state, _ = self._ask("beat", seconds=SILENT_SECONDS)
                self._server_down = self.server is not None and state == "down"

    # -- what is asked for -------------------------------------------------------------------------------------------

    def trouble(self) -> str:
        """Why the client is lost, by all that is known here and now; '' when it is not."""
        if self._process.poll() is not None:
            return "its connection ended" + (f": {self._said[-1]}" if self._said else "")
        silent = time.monotonic() - self._heard
        if silent > SILENT_SECONDS:
            return f"it has not answered for {silent:.0f} s"
        return "its fio server ended" if self._server_down else ""

    def clock(self) -> ClockOffset | None:
        """Its clock against ours. Raises LostClientError."""
        first = self._exchange("clock", 1e-9)
        if first is not None:
            rest = [self._exchange("clock", 1e-9) for _ in range(ROUND_TRIPS - 1)]
        else:  # a `date` without fractions of a second
            rest = [self._exchange("edge", 0.0) for _ in range(_EDGES)]
        return offset_of(one for one in (first, *rest) if one is not None)

    def _exchange(self, word: str, resolution_seconds: float) -> Exchange | None:
        sent, text, received = self._ask(word, seconds=SILENT_SECONDS)
        if word == "edge":
            # What counts is when the second began: the answer left then, and took at most one round trip of a beat.
            before, _, after = self._ask("beat", seconds=SILENT_SECONDS)
            return Exchange(received - (after - before), float(text), received) if text.isdecimal() else None
        fine = re.fullmatch(r"\d+\.\d+", text) is not None
        return Exchange(sent, float(text), received, resolution_seconds) if fine else None

    def serve(self, fio: str, listen: str) -> Server:
        """Its fio server runs. listen: what follows `--server=`. Raises LostClientError with what it said."""
        _, text, _ = self._ask("serve", f"{listen} {fio}", seconds=_SERVE_SECONDS)
        state, _, rest = text.partition(" ")
        if state != "up":
            raise LostClientError(
                f"its fio server did not start: {rest or 'it says nothing'}",
                where=self.name,
                remedy="see whether `fio --server` runs there",
            )
        pid, ticks = rest.split()
        self.server, self._server_down = Server(int(pid), int(ticks)), False
        return self.server

    def hold(self, path: str) -> str | None:
        """As `Client.hold`. Raises LostClientError."""
        _, there, _ = self._ask("hold", path, seconds=_HOLD_SECONDS)
        return there if there.startswith("/proc/") else None

    def stop_load(self) -> int:
        """End server and loads; how many do not end. Raises LostClientError."""
        self.server = None
        _, left, _ = self._ask("stop", seconds=_STOP_SECONDS)
        return int(left or 0)

    def close(self) -> int | None:
        """End it all and wait; how many processes were left there, None where nobody could tell."""
        if self._closing:
            return None
        self._closing = True
        self._quiet.set()
        left = None
        with contextlib.suppress(OSError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.write("quit\n")
            self._process.stdin.close()
        with contextlib.suppress(queue.Empty):
            word, _, count = self._hello.get(timeout=_STOP_SECONDS).partition(" ")
            left = int(count) if word == "finished" and count.isdecimal() else None
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._pulse.join(timeout=SILENT_SECONDS + BEAT_SECONDS)
        self._join()
        return left

    def _join(self) -> None:
        for ear in self._ears:
            ear.join(timeout=1)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(OSError, ValueError):
                if pipe is not None:
                    pipe.close()
