# SPDX-License-Identifier: Apache-2.0
"""A client over the system's ssh: its keys, jump hosts, users and options are those of the user's own configuration.

One connection carries all: scripts, the keeper, and the tunnel to the fio server, which listens on a socket in a
private directory there. Nothing is asked; nothing but a POSIX shell and fio is needed on the host.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from ioatlas.load.fio.process import asked
from ioatlas.load.fleet.client import Address, ClientFacts, ClockOffset, LostClientError, PrivateDirectory
from ioatlas.load.fleet.hosts import FIO_PORT, Host
from ioatlas.load.fleet.keeper import Keeper, Shell, start_lasting
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas.model.units import words
from ioatlas.store.toml import shipped

CONNECT_SECONDS = 10
_OURS = words(f"""
    BatchMode=yes RemoteCommand=none RequestTTY=no PermitLocalCommand=no ForwardAgent=no ForwardX11=no LogLevel=ERROR
    ConnectTimeout={CONNECT_SECONDS} ServerAliveInterval=5 ServerAliveCountMax=3 StreamLocalBindMask=0177
""")
"""What must hold whatever the user's configuration says; all else is left to it."""
_SAID = shipped("ioatlas.load.fleet", "ssh.toml")["said"]


class SshClient:
    """A client reached by ssh."""

    def __init__(self, host: Host) -> None:
        self.name = host.name
        self._host = host
        self._fio = host.fio or "fio"
        self._tunnel: Path | None = None
        self._closed = False
        _check_host(host)
        self._private = PrivateDirectory()
        self._place = self._private.path
        try:
            self._master = self._connect()
            self.shell = Shell(self.name, lambda: self._mux("sh"), self._explained)
            self._keeper = self._keep()
        except BaseException:
            self.close()
            raise

    # -- the connection ----------------------------------------------------------------------------------------------

    def _ssh(self, *words: str) -> list[str]:
        """A command of ssh with what the host's table says. Our own options come first: the first one counts."""
        host = self._host
        command = ["ssh", "-a", "-x", "-T"]
        for option in _OURS:
            command += ["-o", option]
        command += ["-o", f"ControlPath={self._place / 'control'}", *words]
        command += ["-p", str(host.port)] if host.port else []
        command += ["-J", host.via] if host.via else []
        command += ["-i", host.identity] if host.identity else []
        return [*command, *host.options, "--", host.destination]

    def _mux(self, *command: str) -> list[str]:
        """A command over the connection that stands; without it, none: ssh would make another by itself."""
        return [*self._ssh("-o", "ControlMaster=no", "-o", "ProxyCommand=false"), *command]

    def _connect(self) -> subprocess.Popen[str]:
        master = start_lasting(self._ssh("-M", "-N", "-o", "ControlPersist=no"))
        self._master = master
        end = time.monotonic() + 2 * CONNECT_SECONDS
        while time.monotonic() < end and master.poll() is None:
            if (self._place / "control").exists():
                return master
            time.sleep(0.02)
        said = self._master_said() if master.poll() is not None else "Connection timed out"
        raise self._explained(said) or LostClientError(
            f"ssh cannot reach it: {said.strip().splitlines()[-1] if said.strip() else 'it says nothing'}",
            where=self.name,
            remedy="see whether `ssh HOST true` works by hand",
        )

    def _master_said(self) -> str:
        assert self._master.stderr is not None
        return self._master.stderr.read() if self._master.poll() is not None else ""

    def _explained(self, said: str) -> IoAtlasError | None:
        found = next((one for one in _SAID if re.search(one["pattern"], said)), None)
        if found is None:
            return None
        remedy = found["remedy"].replace("HOST", self._host.destination)
        return LostClientError(found["why"], where=self.name, remedy=remedy)

    def _keep(self) -> Keeper:
        system = self.shell.answer("uname -s").text.strip()
        if system != "Linux":
            raise UsageError(
                f"it runs {system or 'an unknown system'}, and over ssh only Linux can be watched and cleaned",
                where=self.name,
                remedy='start `fio --server` there yourself, and name it as fio_server = "ADDRESS" with its os',
            )
        return Keeper(self.shell, self._explained)

    # -- the client ----------------------------------------------------------------------------------------------------

    def facts(self) -> ClientFacts:
        return self.shell.facts(self._fio)

    def clock(self) -> ClockOffset | None:
        return self._keeper.clock()

    def serve(self) -> Address:
        if self._host.listen:
            self._keeper.serve(self._fio, f"{self._host.listen},{FIO_PORT}")
            return Address(host=self._host.listen, port=FIO_PORT)
        there = self._keeper.place / "fio.sock"
        self._keeper.serve(self._fio, f"sock:{there}")
        near = self._place / "fio.sock"
        if self._tunnel is None:
            self._forward(near, str(there))
        return Address(near)

    def _forward(self, near: Path, there: str) -> None:
        """The tunnel, and a look whether the host's sshd lets it through."""
        done = asked(self._ssh("-O", "forward", "-L", f"{near}:{there}"), CONNECT_SECONDS)
        open_ = done.returncode == 0 and near.exists()
        if open_:
            with socket.socket(socket.AF_UNIX) as trial:
                trial.settimeout(0.5)
                trial.connect(str(near))
                with contextlib.suppress(TimeoutError):  # a server waits for us to speak; sshd's refusal ends it
                    open_ = bool(trial.recv(1))
        if not open_:
            raise LostClientError(
                f"its sshd carries no tunnel to a socket ({done.stderr.strip() or 'it was refused'})",
                where=self.name,
                remedy='allow AllowStreamLocalForwarding there, or name a private address with listen = "10.0.0.5"',
            )
        self._tunnel = near

    def run(self, command: Sequence[str], *, seconds: float = 10.0) -> str | None:
        return self.shell.run(command, seconds=seconds)

    def hold(self, path: str) -> str | None:
        return self._keeper.hold(path)

    def trouble(self) -> str:
        if self._master.poll() is not None:
            return "its ssh connection ended"
        return self._keeper.trouble()

    def stop_load(self) -> None:
        with contextlib.suppress(IoAtlasError):
            self._keeper.stop_load()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if hasattr(self, "_keeper"):
            self._keeper.close()
        if hasattr(self, "_master"):
            _end(self._master)
        self._private.close()


def _end(master: subprocess.Popen[str]) -> None:
    master.terminate()
    try:
        master.wait(timeout=5)
    except subprocess.TimeoutExpired:
        master.kill()
        master.wait()
    for pipe in (master.stdin, master.stdout, master.stderr):
        if pipe is not None:
            pipe.close()


def _check_host(host: Host) -> None:
    if shutil.which("ssh") is None:
        raise UsageError("ssh is not installed", where=host.name, remedy="install it (Debian: openssh-client)")
    if host.listen:
        try:
            private = ipaddress.ip_address(host.listen).is_private
        except ValueError:
            private = False
        if not private:
            raise RefusedError(
                f"{host.listen!r} is no private address, and fio's server protects nothing",
                where=host.name,
                remedy="leave `listen` out: then a tunnel is used",
            )
