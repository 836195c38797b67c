# SPDX-License-Identifier: Apache-2.0
"""A client that is nothing but a `fio --server` of its owner: no shell, no Python, any system that fio runs on.

All that is known of it comes from fio itself: when fio connects, the server tells name, system and version; and a job
of one I/O tells its clock. Nothing can be started or stopped there but loads.
"""

from __future__ import annotations

import re
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ioatlas.load.fio.process import die_with_us
from ioatlas.load.fleet.client import Address, ClientFacts, ClockOffset, Exchange, LostClientError, offset_of
from ioatlas.load.fleet.hosts import Host
from ioatlas.model.errors import UsageError

CONNECT_SECONDS = 5.0
ASK_SECONDS = 20.0
LOOKS_AT_CLOCK = 2
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 3), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 3))
"""A host that is gone without a word is noticed after 6 seconds."""
_HELLO = re.compile(
    r"^hostname=(?P<name>.*), be=\d, \d+-bit, os=(?P<os>[^,]*), arch=(?P<arch>[^,]*), fio=(?P<fio>[^,]*)"
)
_SYSTEMS = {"Linux": "linux", "Windows": "windows", "OSX": "macos"}
_JOB = "[clock]\nioengine=null\nthread=1\nsize=4k\nwrite_lat_log=clock\nlog_unix_epoch=1\n"


@dataclass(frozen=True)
class Told:
    """What one connection told: the server's words about itself, and a reading of its clock."""

    system: str
    machine: str
    version: str
    exchange: Exchange


class BareClient:
    """A client by address alone. fio: ours, which asks it."""

    def __init__(self, host: Host, fio: str) -> None:
        self.name = host.name
        self._host = host
        self._fio = fio
        self._line: socket.socket | None = None
        self._told: Told | None = None
        self._connect()

    def facts(self) -> ClientFacts:
        told = self._ask()
        system = _SYSTEMS.get(told.system, told.system.lower())
        if system != self._host.os:
            self.close()
            raise UsageError(
                f"its fio says that it runs {told.system}, and the hosts say {self._host.os}",
                where=self.name,
                remedy=f'write os = "{system}" in the hosts file'
                if system in _SYSTEMS.values()
                else "name another host",
            )
        return ClientFacts(told.version, system, "", told.machine)

    def clock(self) -> ClockOffset | None:
        return offset_of(self._ask().exchange for _ in range(LOOKS_AT_CLOCK))

    def serve(self) -> Address:
        if self._line is None or self.trouble():
            self._connect()
        return Address(host=self._host.destination, port=self._host.port)

    def run(self, command: Sequence[str], *, seconds: float = 10.0) -> str | None:  # noqa: ARG002
        """Nothing can be run there."""
        return None

    def hold(self, path: str) -> str | None:  # noqa: ARG002
        """Nothing can be opened there but by a load."""
        return None

    def trouble(self) -> str:
        """By a connection that carries nothing: the host holds it open for as long as it lives and is reached."""
        if self._line is None:
            return ""
        try:
            return "" if self._line.recv(1) else "its fio server ended"
        except BlockingIOError:
            return ""
        except OSError as error:
            return f"its host does not answer any more ({error.strerror})"

    def stop_load(self) -> None:
        """Nothing can be done from here: a controlling fio that is asked to end takes its load along; of one that was
        killed the load goes on until its time is over, a batch at most.
        """

    def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.close()

    def _connect(self) -> None:
        self.close()
        place = (self._host.destination, self._host.port)
        try:
            line = socket.create_connection(place, timeout=CONNECT_SECONDS)
        except OSError as error:
            raise LostClientError(
                f"no fio server answers at {place[0]}:{place[1]} ({error.strerror or error})",
                where=self.name,
                remedy=f"start it there: fio --server={place[0]},{place[1]}",
            ) from error
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEPALIVE:
            line.setsockopt(socket.IPPROTO_TCP, option, value)
        line.setblocking(False)
        self._line = line

    def _ask(self) -> Told:
        """Our fio runs a job of one I/O there. Raises LostClientError."""
        with tempfile.TemporaryDirectory(prefix="ioatlas-bare-") as place:
            (Path(place) / "clock.fio").write_text(_JOB, encoding="utf-8")
            address = self._host.destination
            told = f"{'ip6:' if ':' in address else ''}{address},{self._host.port}"
            process = subprocess.Popen(
                [*die_with_us(), self._fio, "--eta=never", f"--client={told}", "clock.fio"],
                cwd=place,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            lines: list[tuple[float, str]] = []
            try:
                lines = _lines(process)
            finally:
                process.kill()
                process.wait()
                assert process.stdout is not None
                process.stdout.close()
            hello = next(((at, found) for at, line in lines if (found := _HELLO.match(line))), None)
            log = next(Path(place).glob("clock_clat*"), None)
            if hello is None or log is None:
                raise LostClientError(
                    "its server does not take a job from our fio: it is another version, or no fio",
                    where=self.name,
                    remedy="see there with `fio --version`: it must be the same as here",
                )
            at, found = hello
            theirs = int(log.read_text(encoding="utf-8").split(",")[0]) / 1000
            done = next((when for when, line in lines if when > at and "groupid=" in line), lines[-1][0])
            return Told(found["os"], found["arch"], found["fio"].strip(), Exchange(at, theirs, done, 0.001))


def _lines(process: subprocess.Popen[str]) -> list[tuple[float, str]]:
    """What it prints, each line with its time; as much as comes in time."""
    assert process.stdout is not None
    watchdog = threading.Timer(ASK_SECONDS, process.kill)
    watchdog.start()
    try:
        return [(time.time(), line.rstrip("\n")) for line in process.stdout]
    finally:
        watchdog.cancel()


def warnings_of(hosts: Sequence[Host]) -> tuple[str, ...]:
    """What a user is told of hosts whose fio server stands open. Nothing that can be helped is repeated."""
    open_ = [host for host in hosts if host.kind == "fio" or host.listen]
    if not open_:
        return ()
    names = ", ".join(host.name for host in open_)
    return (
        f"Whoever reaches the fio port of {names} can run commands there.",
        "Let a firewall pass this machine alone, run fio there without rights, and stop it afterwards.",
    )
