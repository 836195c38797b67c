# SPDX-License-Identifier: Apache-2.0
"""Hosts to reach by ssh: an sshd each, on loopback or in a network namespace, with keys and a port of its own. What
runs on such a "host" sees busybox alone where a test wants it poor.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from ioatlas.load.fleet.hosts import Host

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
BUSYBOX = shutil.which("busybox")
APPLETS = "sh sleep date grep cat rm mkdir tail uname getconf awk tar kill head df stat readlink sort echo ls dd test"


def free_port(address):
    with socket.socket() as one:
        one.bind((address, 0))
        return one.getsockname()[1]


class SshHost:
    """One sshd and what is needed to log in to it. prefix: put before the command that starts it."""

    def __init__(self, place, name, address="127.0.0.1", prefix=(), path=None, port=None):
        self.place, self.name, self.address = Path(place) / name, name, address
        self.place.mkdir()
        self.port = port or free_port(address)
        for key in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.place / key], check=True)
        shutil.copy(self.place / "user_key.pub", self.place / "authorized")
        self.trust()
        lines = [
            f"Port {self.port}", f"ListenAddress {address}", f"HostKey {self.place}/host_key",
            f"AuthorizedKeysFile {self.place}/authorized", f"PidFile {self.place}/sshd.pid", "StrictModes no",
            "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin yes",
            "MaxStartups 100", "MaxSessions 50",
        ]  # fmt: skip
        if path:
            lines.append(f"SetEnv PATH={path}")
        (self.place / "config").write_text("\n".join(lines) + "\n")
        Path("/run/sshd").mkdir(exist_ok=True)
        self._prefix = list(prefix)
        self.process = None
        self.start()

    def start(self):
        command = [*self._prefix, SSHD, "-D", "-f", self.place / "config", "-E", self.place / "log"]
        self.process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL)
        end = time.monotonic() + 300
        while time.monotonic() < end and "listening" not in self.log():
            time.sleep(0.02)
        assert "listening" in self.log(), self.log()

    def log(self):
        return (self.place / "log").read_text() if (self.place / "log").exists() else ""

    def trust(self, key=None):
        public = (key or (self.place / "host_key.pub").read_text()).split()
        (self.place / "known").write_text(f"[{self.address}]:{self.port} {public[0]} {public[1]}\n")

    def host(self, **others):
        """As a user would name it."""
        told = {"identity": str(self.place / "user_key")} | others
        options = ("-F", "none", "-o", f"UserKnownHostsFile={self.place}/known", "-o", "StrictHostKeyChecking=yes")
        return Host(self.name, "ssh", f"root@{self.address}", port=self.port, options=options, **told)

    def sessions(self):
        """Pids of the sshd processes that hold a connection."""
        return [pid for pid in descendants(self.process.pid) if name_of(pid) == "sshd"]

    def cut(self):
        """Kill the connections, as when the daemon crashes."""
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self):
        self.cut()
        self.process.kill()
        self.process.wait()


def descendants(pid):
    found, queue = [], [pid]
    while queue:
        for task in Path(f"/proc/{queue[0]}/task").glob("*/children"):  # each thread has its own
            with contextlib.suppress(OSError):
                children = [int(child) for child in task.read_text().split()]
                found += children
                queue += children
        queue.pop(0)
    return found


def name_of(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def left_by(token):
    """What a client left behind: living processes that carry its token, and directories of its name."""
    processes = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if token.encode() in environment.read_bytes():
                processes.append(environment.parent.name)
    places = [str(one) for root in ("/tmp", "/var/tmp", "/dev/shm") for one in Path(root).glob(f"*{token}*")]
    return processes + places


def gone(token, seconds=60):
    """Seconds until nothing of a client is left; fails when there still is something."""
    begin = time.monotonic()
    while left_by(token):
        assert time.monotonic() - begin < seconds, left_by(token)
        time.sleep(0.05)
    return time.monotonic() - begin


def poor_path(place):
    """A PATH with busybox's commands and nothing else: no fio, no Python."""
    there = Path(place) / f"bin-{secrets.token_hex(3)}"
    there.mkdir()
    for applet in APPLETS.split():
        (there / applet).symlink_to(BUSYBOX)
    return there
