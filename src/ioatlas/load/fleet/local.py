# SPDX-License-Identifier: Apache-2.0
"""Clients that are this machine several times: each with processes and a host name of its own, or in a network
namespace that somebody made.

The fio server of each is the first process of a process namespace: when that one ends, the kernel ends every load that
it started. It listens on a socket that only this user reaches, and dies with us.
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from ioatlas.load.fio.process import asked, die_with_us
from ioatlas.load.fleet.client import Address, ClientFacts, ClockOffset, LostClientError, PrivateDirectory
from ioatlas.load.fleet.hosts import Host
from ioatlas.model.errors import RefusedError, UsageError

NAMESPACES = Path("/run/netns")
START_SECONDS = 30.0
"""How long a server may take until it listens."""
_END_SECONDS = 5.0
_NAMED = 'echo "$0" > /proc/sys/kernel/hostname; exec "$@"'


class LocalClient:
    """A client in namespaces of this machine. fio: its path."""

    def __init__(self, host: Host, fio: str) -> None:
        self.name = host.name
        self._netns = host.destination if host.kind == "netns" else ""
        self._fio = host.fio or fio
        self._server: subprocess.Popen[bytes] | None = None
        self._place: PrivateDirectory | None = None
        _check_here(host)

    def facts(self) -> ClientFacts:
        said = self.run([self._fio, "--version"]) or ""
        return ClientFacts(
            said.strip(),
            "linux",
            platform.release(),
            platform.machine(),
            os.cpu_count(),
            os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        )

    def clock(self) -> ClockOffset:
        """It is ours."""
        return ClockOffset()

    def serve(self) -> Address:
        if self._place is None:
            self._place = PrivateDirectory()
        there = self._place.path
        listening = there / "fio.sock"
        if not self.trouble() and self._server is not None:
            return Address(listening)
        self.stop_load()
        listening.unlink(missing_ok=True)
        private = ("unshare", "--uts", "--pid", "--fork", "--kill-child", "--", "/bin/sh", "-c", _NAMED, self.name)
        command = [*die_with_us(), *self._entering(), *private, self._fio, f"--server=sock:{listening}"]
        with (there / "fio.err").open("wb") as said:
            self._server = subprocess.Popen(
                command, cwd=there, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
            )
        self._wait_until(listening)
        return Address(listening)

    def run(self, command: Sequence[str], *, seconds: float = 10.0) -> str | None:
        try:
            done = asked([*self._entering(), *command], seconds)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout if done.returncode == 0 else None

    def hold(self, path: str) -> str | None:  # noqa: ARG002
        """What we hold, it reaches through us: it is of this machine and ends with us."""
        return None

    def trouble(self) -> str:
        if self._netns and not (NAMESPACES / self._netns).exists():
            return f"there is no network namespace {self._netns!r} any more"
        if self._server is not None and self._server.poll() is not None:
            return "its fio server ended"
        return ""

    def stop_load(self) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        server.kill()  # unshare takes the namespace's first process with it, and the kernel all others
        try:
            server.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:  # a load that the target does not let go; it ends when that answers
            return

    def close(self) -> None:
        self.stop_load()
        place, self._place = self._place, None
        if place is not None:
            place.close()

    def _entering(self) -> list[str]:
        return ["nsenter", f"--net={NAMESPACES / self._netns}", "--"] if self._netns else []

    def _wait_until(self, listening: Path) -> None:
        """Until its server takes connections. Raises LostClientError with what it said."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and not self.trouble():
            with socket.socket(socket.AF_UNIX) as near:
                if near.connect_ex(str(listening)) == 0:
                    return
            time.sleep(0.02)
        assert self._place is not None
        said = (self._place.path / "fio.err").read_text(errors="replace").strip().splitlines()
        why = self.trouble() or f"its fio server does not listen after {START_SECONDS:g} s"
        self.stop_load()
        raise LostClientError(
            f"{why}{': ' + said[-1] if said else ''}", where=self.name, remedy="mend what it says, or try again"
        )


def _check_here(host: Host) -> None:
    """Raises where this machine cannot be such a client."""
    if host.kind == "netns" and not (NAMESPACES / host.destination).exists():
        raise UsageError(
            f"there is no network namespace {host.destination!r}",
            where="--clients",
            remedy="`ip netns` lists them; make one with `ip netns add`",
        )
    if os.geteuid() != 0:
        raise RefusedError(
            "clients on this machine need root, for namespaces of their own",
            where="--clients",
            remedy="run as root, or name other hosts",
        )
    lacking = [tool for tool in ("unshare", "nsenter") if shutil.which(tool) is None]
    if lacking:
        raise UsageError(f"{lacking[0]} is not installed", where="--clients", remedy="install util-linux")
