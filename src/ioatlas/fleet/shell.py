# SPDX-License-Identifier: Apache-2.0
"""A POSIX shell on a client, at the end of a command of this machine (`ssh c1 sh`), and what a client says through it.

Scripts go over standard input, so that no quoting depends on the login shell there. What counts of the answer stands
between marks: a login may print a greeting first.
"""

from __future__ import annotations

import contextlib
import secrets
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ioatlas.errors import IoAtlasError
from ioatlas.fio.process import die_with_us
from ioatlas.fleet.client import ClientFacts, LostClientError

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
            done = subprocess.run(
                self._prefix(),
                input=text,
                capture_output=True,
                text=True,
                check=False,
                timeout=seconds,
                errors="replace",
                start_new_session=True,
            )
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
