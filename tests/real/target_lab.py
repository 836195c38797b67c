# SPDX-License-Identifier: Apache-2.0
"""Bad targets for the guards' tests: loop devices, mounts and NBD servers, each taken down by its own name or pid."""

import contextlib
import fcntl
import itertools
import os
import subprocess
import time
from pathlib import Path

LOOP_CTL_REMOVE = 0x4C81  # <linux/loop.h>
_NUMBERS = itertools.count(1000 + os.getpid() % 10_000 * 64)
"""Of loop devices, of each process that runs tests its own."""


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout.strip()


def _unmount(point, seconds=60):
    """A mount namespace that was made meanwhile by another test holds what was mounted then, until it ends."""
    latest = time.monotonic() + seconds
    while True:
        try:
            return run("umount", str(point))
        except subprocess.CalledProcessError as error:
            if "busy" not in error.stderr or time.monotonic() > latest:
                raise
        time.sleep(0.2)


class Bench:
    """Makes loop devices, mounts, swap and processes below one directory and undoes them in reverse order."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self._undo = []
        self._count = 0

    def image(self, size_bytes=64 << 20):
        self._count += 1
        path = self.directory / f"image{self._count}"
        with path.open("wb") as file:
            file.truncate(size_bytes)
        return path

    def loop(self, image=None, *options):
        """A loop device of a high number. Nobody who looks for a free one is given it: he would have one that was free
        a moment before open for writing, or take one that is detached for a moment.
        """
        number = next(_NUMBERS)
        device = f"/dev/loop{number}"
        run("losetup", *options, device, str(image or self.image()))

        def remove():
            if Path(f"/sys/block/loop{number}/loop/backing_file").exists():  # unless a test detached it
                run("losetup", "--detach", device)
            with open("/dev/loop-control", "rb") as control, contextlib.suppress(OSError):  # held by a mount namespace
                fcntl.ioctl(control, LOOP_CTL_REMOVE, number)

        self._undo.append(remove)
        return device

    def mount(self, source, *options):
        self._count += 1
        point = self.directory / f"mnt{self._count}"
        point.mkdir()
        run("mount", *options, str(source), str(point))
        self._undo.append(lambda: _unmount(point))
        return point

    def swap(self, area):
        run("swapon", str(area))
        self._undo.append(lambda: run("swapoff", str(area)))

    def start(self, *command, **options):
        process = subprocess.Popen(command, **options)
        self._undo.append(lambda: _end(process))
        return process

    def undo_later(self, call):
        self._undo.append(call)

    def clear(self):
        for undo in reversed(self._undo):
            try:
                undo()
            except subprocess.CalledProcessError as error:
                raise AssertionError(f"{error.cmd} left something behind: {error.stderr}") from error
        self._undo.clear()


def _end(process):
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def wait_for(condition, seconds=300.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come up"
        time.sleep(0.02)
