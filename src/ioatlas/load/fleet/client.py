# SPDX-License-Identifier: Apache-2.0
"""One client of a fleet, whatever carries us to it: this machine, ssh, or a fio server that its owner started.

A client is opened once a session, serves many batches, and is closed. What it starts it stops; it leaves nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ioatlas.model.errors import IoAtlasError


class LostClientError(IoAtlasError):
    """A client that does not answer, or not any more. `where` is its name."""


@dataclass(frozen=True)
class Address:
    """Where a client's fio server is reached: a unix socket here, or a host and a port. Sockets are safe from other
    users of this machine: prefer one, also as the near end of a tunnel.
    """

    socket: Path | None = None
    host: str = ""
    port: int = 0

    def __str__(self) -> str:
        return str(self.socket) if self.socket is not None else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class ClientFacts:
    """What a client says of itself; empty or None where it cannot tell.

    fio_version: as `fio --version` says it, such as fio-3.33. os: linux, windows or macos.
    """

    fio_version: str = ""
    os: str = "linux"
    kernel: str = ""
    machine: str = ""
    cores: int | None = None
    ram_bytes: int | None = None

    def to_record(self) -> dict[str, str]:
        """As facts to be kept: names and values, unknown ones left out."""
        known = {
            "fio": self.fio_version,
            "os": self.os,
            "kernel": self.kernel,
            "machine": self.machine,
            "cores": "" if self.cores is None else str(self.cores),
            "ram_bytes": "" if self.ram_bytes is None else str(self.ram_bytes),
        }
        return {name: value for name, value in known.items() if value}


@dataclass(frozen=True)
class ClockOffset:
    """A client's clock against ours: what its clock shows more than ours, and how far off that may be."""

    offset_ms: float = 0.0
    error_ms: float = 0.0


class Client(Protocol):
    """One client, opened.

    name: that of its host, the same in all that is shown and kept.
    """

    name: str

    def facts(self) -> ClientFacts:
        """What it says of itself. Raises LostClientError."""
        ...

    def clock(self) -> ClockOffset | None:
        """Its clock against ours; None where that cannot be told. Raises LostClientError."""
        ...

    def serve(self) -> Address:
        """Its fio server runs and takes connections: started when it does not run, anew when it died.

        It listens on a socket, on loopback or on the private address that was named, never on all addresses. Raises
        LostClientError.
        """
        ...

    def run(self, command: Sequence[str], *, seconds: float = 10.0) -> str | None:
        """What a small command prints there; None where it fails or none can be run. Raises LostClientError."""
        ...

    def hold(self, path: str) -> str | None:
        """Open a directory or file there, and keep it open until `close`: a path that leads to this very one, whoever
        renames it. None where that cannot be done. Raises LostClientError.

        The path itself where the load has no rights that anybody else could make use of.
        """
        ...

    def trouble(self) -> str:
        """Why it is lost by all that is known here and now, such as 'its ssh connection ended'; '' when it is not.

        Asked about once a second while a load runs: it looks and never waits.
        """
        ...

    def stop_load(self) -> None:
        """End every load it still runs, its server too; `serve` may follow. Never raises."""
        ...

    def close(self) -> None:
        """End all that was started for it and remove what was brought. Never raises; twice is once."""
        ...


ROUND_TRIPS = 8


@dataclass(frozen=True)
class Exchange:
    """One question after the time, in seconds since the epoch: sent and received by our clock, `theirs` by the
    client's. resolution_seconds: of the reading.
    """

    sent: float
    theirs: float
    received: float
    resolution_seconds: float = 0.0


def offset_of(exchanges: Iterable[Exchange]) -> ClockOffset | None:
    """The offset by the shortest round trip; None without any."""
    best = min(exchanges, key=lambda one: one.received - one.sent + one.resolution_seconds, default=None)
    if best is None:
        return None
    offset = best.theirs - (best.sent + best.received) / 2
    error = (best.received - best.sent) / 2 + best.resolution_seconds
    return ClockOffset(offset * 1000, error * 1000)


_PREFIX = "ioatlas-fleet-"
_HELD = "held"


class PrivateDirectory:
    """A new directory that only this user reads, until `close`."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        made = self.path / "new"
        self._lock = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        made.rename(self.path / _HELD)  # locked before it has its name, or `sweep` would take it

    def close(self) -> None:
        """Remove it; twice is once."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def sweep() -> list[Path]:
    """Remove the directories of sessions that were killed; which they were."""
    gone = []
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another one's, held, or gone by now
            found = place.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            lock = os.open(place / _HELD, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(place, ignore_errors=True)
                gone.append(place)
            finally:
                os.close(lock)
    return gone
