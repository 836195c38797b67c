# SPDX-License-Identifier: Apache-2.0
"""What holds a client while we are connected: a script (`keeper.sh`) with a private directory and the fio server there;
and the POSIX shell on the client, at the end of a command of this machine (`ssh c1 sh`), that it is started through.

The script reads from the connection. When that ends, however it ends, it stops the server with all loads and removes
the directory. When the link is down nobody tells it: then it does so `LEASE_SECONDS` after our last word.

Scripts go over standard input, so that no quoting depends on the login shell there. What counts of the answer stands
between marks: a login may print a greeting first.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import re
import secrets
import shlex
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ioatlas.load.fio.process import asked, die_with_us
from ioatlas.load.fleet.client import ROUND_TRIPS, ClientFacts, ClockOffset, Exchange, LostClientError, offset_of
from ioatlas.model.errors import IoAtlasError

SCRIPT_SECONDS = 20.0
SAID_MOST = 400
"""Of what a failing command said, so much is told."""
_PRELUDE = "LC_ALL=C; export LC_ALL; PATH=$PATH:/usr/local/bin:/usr/sbin:/sbin; export PATH\n"
_FACTS = """
uname -s; uname -r; uname -m
getconf _NPROCESSORS_ONLN 2>/dev/null || grep -c ^processor /proc/cpuinfo 2>/dev/null || echo
awk '/^MemTotal:/ { print $2 }' /proc/meminfo 2>/dev/null || echo
"$fio" --version 2>/dev/null || echo
"""

_STARTER = ThreadPoolExecutor(1, thread_name_prefix="starter")


@dataclass(frozen=True)
class Answer:
    """What a script printed, its exit code, and what it said on standard error."""

    text: str
    code: int
    said: str = ""


class Shell:
    """Runs scripts on one client.

    name:    the client's. prefix: the command whose standard input a POSIX shell there reads.
    explain: the clear error for a command that failed, from what it said; None where it has no clue.
    """

    def __init__(
        self,
        name: str,
        prefix: Callable[[], Sequence[str]],
        explain: Callable[[str], IoAtlasError | None] = lambda _said: None,
    ) -> None:
        self.name = name
        self._prefix = prefix
        self._explain = explain

    def answer(self, script: str, *, seconds: float = SCRIPT_SECONDS, **values: str) -> Answer:
        """Run a script whose variables `values` are set. Raises LostClientError when it was not run to its end."""
        mark = secrets.token_hex(8)
        text = f"{assignments(values)}{_PRELUDE}ioatlas_script() {{\n:\n{script}\n}}\necho {mark}\n"
        text += f"ioatlas_script </dev/null\necho {mark} $?\nexit\n"
        try:
            done = asked(self._prefix(), seconds, text=text, start_new_session=True)
        except subprocess.TimeoutExpired as error:
            raise LostClientError(
                f"it does not answer within {seconds:g} s", where=self.name, remedy="see whether the host is well"
            ) from error
        except OSError as error:
            raise LostClientError(
                f"{self._prefix()[0]} cannot be started: {error.strerror}", where=self.name, remedy="install it"
            ) from error
        _, begun, rest = done.stdout.partition(f"{mark}\n")
        body, ended, code = rest.rpartition(f"{mark} ")
        if not begun or not ended:
            raise self._lost(done.stderr, done.returncode)
        return Answer(body, int(code.split()[0]), done.stderr.strip()[-SAID_MOST:])

    def _lost(self, said: str, code: int) -> IoAtlasError:
        explained = self._explain(said)
        if explained is not None:
            return explained
        last = said.strip().splitlines()[-1:] or [f"exit code {code}"]
        return LostClientError(
            f"no POSIX shell answers there ({last[0][-SAID_MOST:]})",
            where=self.name,
            remedy="see whether `sh` runs there, over the same connection",
        )

    def run(self, command: Sequence[str], *, seconds: float = 10.0) -> str | None:
        """As `Client.run`: what a command prints, None where it fails."""
        found = self.answer(shlex.join(command), seconds=seconds)
        return found.text if found.code == 0 else None

    def facts(self, fio: str) -> ClientFacts:
        """What the client says of itself. fio: its program there."""
        lines = self.answer(_FACTS, fio=fio).text.splitlines()
        lines += [""] * (6 - len(lines))
        system, kernel, machine, cores, kilobytes, version = (line.strip() for line in lines[:6])
        return ClientFacts(
            version if version.startswith("fio-") else "",
            {"Linux": "linux", "Darwin": "macos"}.get(system, system.lower()),
            kernel,
            machine,
            int(cores) if cores.isdecimal() else None,
            int(kilobytes) * 1024 if kilobytes.isdecimal() else None,
        )

    def start(self, script: str, **values: str) -> subprocess.Popen[str]:
        """A script that goes on and reads more from us. It dies with us."""
        process = start_lasting(self._prefix())
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(f"{assignments(values)}{_PRELUDE}{script}\n")
            process.stdin.flush()
        return process


def start_lasting(command: Sequence[str]) -> subprocess.Popen[str]:
    """A process that dies with us, with pipes to it, whatever thread asks for it.

    The kernel ends it with the thread that started it, not with the process: so one thread that lasts starts them all.
    """
    return _STARTER.submit(
        subprocess.Popen[str],
        [*die_with_us(), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        bufsize=1,
        start_new_session=True,
    ).result()


def assignments(values: Mapping[str, str]) -> str:
    """Shell variables, quoted."""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())


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
