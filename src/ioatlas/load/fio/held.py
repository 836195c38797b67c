# SPDX-License-Identifier: Apache-2.0
"""Files and directories that a load reaches by descriptor: whoever renames them, it stays where it was sent.

A load generator opens its files anew for every section, by the names it was given. Another user who owns the directory
above may exchange what lies under a name at any moment, and a link put there would lead root's writes wherever it
points. `/proc/PID/fd/N` (proc_pid_fd(5)) leads to the very file or directory that is open there, and opening it again
takes the flags of an ordinary opening, O_DIRECT too. What is kept of a load has the names all the same.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ioatlas.model.options import escape_path
from ioatlas.store import confined

JOB_ENDING = ".fio"
_BETWEEN = re.compile(r"(?<!\\):")
_MINE = re.compile(r"/proc/self/fd/(\d+)(?:/\.)?(?![0-9])")


def reached(descriptor: int, process: int | str = "self") -> str:
    """The path by which a process reaches what is open as `descriptor` in `process`.

    Of a directory it ends in `/.`: fio wants a directory, and looks at a link itself.
    """
    path = f"/proc/{process}/fd/{descriptor}"
    return f"{path}/." if stat.S_ISDIR(os.fstat(descriptor).st_mode) else path


def moved(path: str, places: Mapping[str, str]) -> str:
    """A path by what stands for it, or for the innermost directory above it. places: {path: what stands for it}."""
    above = [known for known in places if path == known or path.startswith(f"{known.rstrip('/')}/")]
    if not above:
        return path
    known = max(above, key=len)
    return places[known] + path[len(known.rstrip("/")) :]


def moved_job(text: str, places: Mapping[str, str]) -> str:
    """A job file whose files and directories are reached through `places`, paths as they are without fio's escapes."""
    escaped = {escape_path(path): escape_path(there) for path, there in places.items()}
    return "\n".join(_moved_line(line, places, escaped) for line in text.split("\n"))


def _moved_line(line: str, places: Mapping[str, str], escaped: Mapping[str, str]) -> str:
    key, _, value = line.partition("=")
    if key in ("filename", "directory"):
        return f"{key}=" + ":".join(moved(path, escaped) for path in _BETWEEN.split(value))
    return f"{key}={moved(value, places)}" if key == "replay_redirect" else line


@contextlib.contextmanager
def by_descriptor(
    arguments: Sequence[str], directory: Path, held: Mapping[str, int]
) -> Iterator[tuple[list[str], list[int]]]:
    """The arguments of a load with descriptors in the place of names, and the descriptors that it has to inherit.

    directory: where its job file lies; what it is given instead is there until the end. held: {path: descriptor}.
    """
    places = {path: reached(descriptor) for path, descriptor in held.items()}
    with contextlib.ExitStack() as opened:
        changed, inherited = [], list(held.values())
        for argument in arguments:
            if places and argument.endswith(JOB_ENDING):
                text = confined.read_text(directory / argument)
                job = os.memfd_create(argument)
                opened.callback(os.close, job)
                with os.fdopen(job, "w", encoding="utf-8", closefd=False) as file:
                    file.write(moved_job(text, places))
                inherited.append(job)
                changed.append(f"/proc/self/fd/{job}")
            else:
                changed.append(moved(argument, places))
        yield changed, inherited


def with_names(said: str, held: Mapping[str, int]) -> str:
    """What a load said, with the names of what it held."""
    names = {str(descriptor): path for path, descriptor in held.items()}
    return _MINE.sub(lambda found: names.get(found[1], found[0]), said)
