# SPDX-License-Identifier: Apache-2.0
"""A running lab target: its private directory, and a clean-up that finds everything again by itself.

What an instance leaves in the system can be found without any memory of it: processes carry its directory in
their environment, mounts and loop devices lie below it, its network namespaces carry its name, and the limits
it wrote into the block I/O controller are listed in a file. So `lab down` works after a kill -9 as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ioatlas.load.fio.process import start_time_ticks
from ioatlas.model.errors import IoAtlasError, UsageError

MARK = "IOATLAS_LAB_INSTANCE"
STATE = "instance.json"
RULES = "limits.json"
BLKIO = Path("/sys/fs/cgroup/blkio")
MEMORY = Path("/sys/fs/cgroup/memory")
PROGRAMS = "programs"
"""Directory of an instance with the programs that take the place of those of the same name."""
SHEET = "product.toml"
"""Product sheet of an instance whose drives and layout are known."""
_PATIENCE_SECONDS = 2.0
_DETACH_SECONDS = 15.0
"""A loop device stays while the mount namespace of a server that has just ended still holds its file system."""
_IDENT = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,29}")
"""Short: the paths of sockets below it end at 107 characters."""


def root_directory() -> Path:
    """The private directory (mode 0700) that holds this user's instances. Raises IoAtlasError when it is somebody
    else's.
    """
    named = os.environ.get("IOATLAS_LAB_DIR")
    # Unix socket paths end at 107 characters, so this stays short.
    directory = Path(named) if named else Path(f"/tmp/ioatlas-lab-{os.geteuid()}")  # noqa: S108
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise IoAtlasError(
            "the directory of the lab is not private to this user",
            where=str(directory),
            remedy="remove it, or name another directory in IOATLAS_LAB_DIR",
        )
    return directory


@dataclass(frozen=True)
class Instance:
    """One running target as its state file describes it."""

    directory: Path
    state: dict[str, Any]

    @property
    def ident(self) -> str:
        return self.directory.name

    @property
    def scenario(self) -> str:
        return str(self.state.get("scenario", "unknown"))

    @property
    def location(self) -> str:
        return str(self.state.get("location", ""))

    @property
    def owner_is_gone(self) -> bool:
        """True when the program that started it with a context manager has ended without taking it down."""
        pid, started = self.state.get("owner_pid"), self.state.get("owner_started")
        return isinstance(pid, int) and isinstance(started, int) and start_time_ticks(pid) != started


def named_directory(ident: str) -> Path:
    """Where the instance of this name lies, whether it runs or not. Raises UsageError for what cannot name one."""
    if not _IDENT.fullmatch(ident):
        raise UsageError(
            f"{ident!r} cannot name a lab target", where="--id", remedy="use letters, digits and -, at most 30"
        )
    return root_directory() / ident


def make_directory(scenario: str, ident: str = "") -> Path:
    """A new directory for an instance. One of the same ident is taken down before: it may be left of a killed start.

    Raises IoAtlasError when that cannot be undone.
    """
    if not ident:
        return Path(tempfile.mkdtemp(prefix=f"{scenario}-", dir=root_directory()))
    directory = named_directory(ident)
    if directory.exists() and (left := take_down(directory)):
        raise IoAtlasError(
            f"an earlier lab target {ident} could not be taken down: {', '.join(left)}",
            where=str(directory),
            remedy="end what uses it, then run `ioatlas lab down`",
        )
    directory.mkdir(mode=0o700)
    return directory


def namespace_of(directory: Path) -> str:
    """Name of the network namespace of an instance, and of its memory control group."""
    return f"ioatlas-{directory.name}"


def write_state(directory: Path, state: dict[str, Any]) -> None:
    """Replace the state file in one step."""
    beside = directory / f"{STATE}.new"
    beside.write_text(json.dumps(state, indent=1))
    beside.replace(directory / STATE)


def instances() -> list[Instance]:
    """All of this user's instances, the broken ones too, oldest first."""
    found = []
    for directory in sorted(root_directory().iterdir(), key=lambda path: path.lstat().st_ctime):
        if directory.is_symlink() or not directory.is_dir():
            continue
        state: dict[str, Any] = {}
        with contextlib.suppress(OSError, json.JSONDecodeError):
            state = json.loads((directory / STATE).read_text())
        found.append(Instance(directory, state))
    return found


def processes_of(directory: Path) -> Iterator[tuple[int, int]]:
    """(pid, start ticks) of each living process that carries the instance's mark or is named in its pid files."""
    mark = f"{MARK}={directory}".encode()
    seen = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    seen.add(int(entry.name))
    for pid_file in directory.glob("*.pid"):
        with contextlib.suppress(OSError, ValueError):
            pid, started = map(int, pid_file.read_text().split())
            if start_time_ticks(pid) == started:
                seen.add(pid)
    for pid in seen - {os.getpid()}:
        started_at = start_time_ticks(pid)
        if started_at is not None:
            yield pid, started_at


def take_down(directory: Path) -> list[str]:
    """Undo all that an instance left in the system, and remove its directory. Returns what could not be undone."""
    _end_processes(directory)
    # Limits first: what an unmount still has to write would wait for them.
    left = (
        _clear_limits(directory)
        + _unmount(directory)
        + _detach_loops(directory)
        + _delete_namespaces(directory)
        + _delete_memory(directory)
    )
    left += [f"process {pid}" for pid, _ in processes_of(directory)]
    if not left:
        shutil.rmtree(directory, ignore_errors=True)
        if directory.exists():
            left.append(f"directory {directory}")
    return left


def _end_processes(directory: Path) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        living = list(processes_of(directory))
        for pid, started in living:
            # Between finding and signalling the number could have been given to somebody else.
            if start_time_ticks(pid) == started:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, sign)
                    os.kill(pid, signal.SIGCONT)
        end = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < end and any(start_time_ticks(pid) == started for pid, started in living):
            _reap(living)
            time.sleep(0.02)
        if not any(True for _ in processes_of(directory)):
            return


def _reap(living: list[tuple[int, int]]) -> None:
    for pid, _ in living:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _mount_points(directory: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    below = [point for point in points if point == str(directory) or point.startswith(f"{directory}/")]
    return sorted(below, key=len, reverse=True)


def _unmount(directory: Path) -> list[str]:
    for point in _mount_points(directory):
        command = ["umount", point] if os.geteuid() == 0 else ["fusermount3", "-u", point]
        for arguments in (command, ["umount", "--lazy", point]):
            if subprocess.run(arguments, capture_output=True, check=False).returncode == 0:
                break
            time.sleep(0.2)
    return [f"mount {point}" for point in _mount_points(directory)]


def loops_below(directory: Path) -> list[str]:
    """Loop devices whose backing file lies below the directory, removed files included."""
    found = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if backing.read_text().startswith(f"{directory}/"):
                found.append(f"/dev/{backing.parent.parent.name}")
    return found


def _detach_loops(directory: Path) -> list[str]:
    for device in loops_below(directory):
        subprocess.run(["losetup", "--detach", device], capture_output=True, check=False)
    end = time.monotonic() + _DETACH_SECONDS
    while (left := loops_below(directory)) and time.monotonic() < end:
        time.sleep(0.05)
    return [f"loop device {device}" for device in left]


def _clear_limits(directory: Path) -> list[str]:
    """Limits outlive the loop device they were set on, so each is set back to 0."""
    left = []
    try:
        rules = json.loads((directory / RULES).read_text())
    except (OSError, json.JSONDecodeError):
        return []
    for name, device in rules:
        try:
            (BLKIO / name).write_text(f"{device} 0")
        except OSError as error:
            left.append(f"limit {name} of {device} ({error.strerror})")
    return left


def _delete_namespaces(directory: Path) -> list[str]:
    """The namespace of the instance and those of its nodes, which have a number behind a dot."""
    name, left = namespace_of(directory), []
    for path in [*Path("/run/netns").glob(f"{name}.*"), Path(f"/run/netns/{name}")]:
        if path.exists():
            done = subprocess.run(["ip", "netns", "delete", path.name], capture_output=True, text=True, check=False)
            left += [f"network namespace {path.name}"] if done.returncode else []
    return left


def _delete_memory(directory: Path) -> list[str]:
    group = MEMORY / namespace_of(directory)
    end = time.monotonic() + _PATIENCE_SECONDS
    while group.exists():
        try:
            group.rmdir()
        except OSError as error:  # a process that has just ended is still counted for a moment
            if time.monotonic() > end:
                return [f"memory control group {group} ({error.strerror})"]
            time.sleep(0.02)
    return []


def sweep() -> list[str]:
    """Take down the instances whose owner has ended without doing so; returns their names."""
    gone = [instance for instance in instances() if instance.owner_is_gone]
    for instance in gone:
        take_down(instance.directory)
    return [instance.ident for instance in gone]
