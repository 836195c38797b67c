# SPDX-License-Identifier: Apache-2.0
"""What fio is called upon differently on Windows and macOS: engines, paths, threads, and what direct I/O means there.

From fio's manual (HOWTO, 3.33) and its sources (`os/windows`, `os/os-mac.h`, `engines`).
"""

from __future__ import annotations

import re

from ioatlas.load.fleet.hosts import Os
from ioatlas.model.errors import UsageError

_ASYNC = ("libaio", "io_uring", "posixaio", "windowsaio")
ENGINES: dict[Os, dict[str, str]] = {
    "linux": {},
    # Windows has neither pread nor readv; one engine serves every queue depth.
    "windows": dict.fromkeys((*_ASYNC, "psync", "sync", "vsync", "pvsync", "pvsync2"), "windowsaio"),
    "macos": {**dict.fromkeys(_ASYNC, "posixaio"), "pvsync": "psync", "pvsync2": "psync"},
}
"""{system: {engine asked for: the one that does the same there}}."""
ANYWHERE = frozenset({"null", "mmap", "sync", "psync", "vsync", "cpuio"})
"""Engines that need no translation where `ENGINES` has none."""
_OF_LINUX = frozenset(
    """
    hipri hipri_percentage fixedbufs registerfiles sqthread_poll sqthread_poll_cpu nonvectored uncached nowait
    userspace_reap cmdprio cmdprio_percentage cmdprio_class force_async cpus_allowed cpus_allowed_policy
    numa_cpu_nodes numa_mem_policy ioprio prio prioclass ioscheduler cgroup cgroup_weight sync_file_range
    """.split()  # noqa: SIM905
)
_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")
_RAW = re.compile(r"^(\\\\[.]\\PhysicalDrive[0-9]+|\\\\[^\\:]+\\[^:]+)$")
_REMARKS: dict[Os, tuple[str, ...]] = {
    "linux": (),
    "windows": (
        "Windows: fio uses windowsaio and threads. Direct I/O needs blocks and offsets in whole sectors.",
        "Windows: kernel, load of the processors and the file system are not known.",
    ),
    "macos": (
        "macOS: fio uses posixaio or psync, and threads.",
        "macOS: direct I/O keeps new data out of the cache. What the cache holds already is read from it.",
        "macOS: kernel, load of the processors and the file system are not known.",
    ),
}


def remarks_of(system: Os) -> tuple[str, ...]:
    """What a reader of the results has to know of such a client."""
    return _REMARKS[system]


def path_of(path: str, system: Os) -> str:
    """A path of a client as fio takes it there, without escapes. Raises UsageError for what is no path there."""
    if system != "windows":
        if not path.startswith("/"):
            raise UsageError(f"{path!r} is no path of {system}", where="path", remedy="write it like /mnt/nas")
        return path
    if _RAW.match(path):
        return path
    if not _DRIVE.match(path) or ":" in path[2:]:
        raise UsageError(
            f"{path!r} is no path of Windows",
            where="path",
            remedy=r"write it with its drive, 'C:\data', or a share, '\\server\share'",
        )
    return path[:2] + path[2:].replace("/", "\\")


def job_for(text: str, system: Os) -> str:
    """A job file for a client's system, from one for Linux whose paths are those of the client already.

    Raises UsageError for what that system has not.
    """
    if system == "linux":
        return text
    lines = [_line(line, system) for line in text.split("\n")]
    sections = [place for place, line in enumerate(lines) if re.match(r"^\[(?!global\])", line)]
    for place in reversed(sections):  # fio has no processes there, and would say so for each job
        end = next((n for n in range(place + 1, len(lines)) if not lines[n].strip()), len(lines))
        own = [line.partition("=")[0] for line in lines[place + 1 : end]]
        if "thread" not in own:
            lines.insert(place + 1, "thread=1")
        if "ioengine" not in own:
            lines.insert(place + 1, f"ioengine={'windowsaio' if system == 'windows' else 'psync'}")
    return "\n".join(lines)


def _line(line: str, system: Os) -> str:
    key, equals, value = line.partition("=")
    if key in _OF_LINUX:
        raise UsageError(
            f"{key} is an option of Linux, and a client runs {_spoken(system)}",
            where=key,
            remedy="leave it out, or leave that client out",
        )
    if key == "ioengine":
        return f"{key}={engine_of(value, system)}"
    if key in ("filename", "directory") and system == "windows":
        return f"{key}{equals}{value.replace('/', chr(92))}"
    return line


def engine_of(engine: str, system: Os) -> str:
    """The engine that does there what `engine` does on Linux. Raises UsageError where there is none."""
    found = ENGINES[system].get(engine, engine)
    if system != "linux" and found not in {*ENGINES[system].values(), *ANYWHERE}:
        raise UsageError(
            f"{engine} is not in fio for {_spoken(system)}",
            where="ioengine",
            remedy="use psync or libaio, which are translated, or leave that client out",
        )
    return found


def _spoken(system: Os) -> str:
    return {"linux": "Linux", "windows": "Windows", "macos": "macOS"}[system]
