# SPDX-License-Identifier: Apache-2.0
"""A host that holds fio, its libraries and an empty directory, and nothing else: no shell, no Python, no /proc."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path


class BareHost:
    """Its root is `place`; its fio server is the first process of a namespace, and all others end with it."""

    def __init__(self, place, address="127.0.0.1", fio="fio"):
        self.root, self.address = Path(place) / "root", address
        program = shutil.which(fio)
        told = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for library in {program, *re.findall(r"(/\S+) \(0x", told)}:
            there = self.root / library.lstrip("/")
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(library), there)
        (self.root / "data").mkdir()
        self._program = program
        with socket.socket() as one:
            one.bind((address, 0))
            self.port = one.getsockname()[1]
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "chroot", self.root, self._program,
             f"--server={self.address},{self.port}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._until(listens=True)

    def _until(self, *, listens):
        end = time.monotonic() + 300
        while time.monotonic() < end:
            with socket.socket() as one:
                if (one.connect_ex((self.address, self.port)) == 0) is listens:
                    return
            time.sleep(0.05)
        raise AssertionError(f"its fio {'does not listen' if listens else 'still listens'}")

    def loads(self):
        """Pids of what runs there besides the server itself."""
        found = []
        for exe in Path("/proc").glob("[0-9]*/root"):
            try:
                if os.readlink(exe) == str(self.root):
                    found.append(int(exe.parent.name))
            except OSError:
                continue
        return sorted(found)[1:]

    def stop(self):
        """What is killed here takes its fio along, a moment later."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._until(listens=False)
