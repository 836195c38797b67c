# SPDX-License-Identifier: Apache-2.0
"""IOzone itself as a load: found on PATH, run on one file, its table read back by the importer's reader."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ioatlas.dialect.read.importer import read_source
from ioatlas.dialect.read.source import Source
from ioatlas.engine.process import Outcome, run_process
from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.model.foreign import ForeignReading

OUTPUT = "iozone.txt"
COMMAND_FILE = "iozone.command"


@dataclass(frozen=True)
class Iozone:
    """The iozone binary in use."""

    path: str
    version: str


def find_iozone() -> Iozone:
    """The iozone on PATH. Raises UsageError when there is none."""
    path = shutil.which("iozone")
    if path is None:
        raise UsageError(
            "iozone is not installed",
            where="--engine",
            remedy="install it (Debian: iozone3 in non-free), or use --engine fio, which runs the same operations",
        )
    said = subprocess.run([path, "-v"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL).stdout
    match = re.search(r"Version \$Revision: ([\d.]+)", said)
    if match is None:
        raise IoAtlasError(f"{path} does not say which IOzone it is", remedy="put IOzone 3 first on PATH")
    return Iozone(path, match[1])


def run_iozone(
    iozone: Iozone,
    arguments: list[str],
    file: str,
    *,
    directory: Path,
    limit_seconds: float,
    stop_asked: Callable[[], bool],
    started: Callable[[int, int], None],
    tick: Callable[[float], None] | None = None,
) -> Outcome:
    """Run IOzone on `file`, which it makes and removes. Its output goes to iozone.txt in `directory`."""
    command = [iozone.path, *arguments, "-f", file]
    (directory / COMMAND_FILE).write_text(" ".join(command) + "\n")
    return run_process(
        command, directory=directory, sink=OUTPUT, limit_seconds=limit_seconds, stop_asked=stop_asked, started=started, tick=tick
    )


def read_iozone(directory: Path) -> list[ForeignReading]:
    """What IOzone's table in `directory` says; empty when it is not there in full."""
    path = directory / OUTPUT
    try:
        complete = "iozone test complete" in path.read_text(errors="replace")
    except OSError:
        return []
    return list(read_source(Source.of(path, OUTPUT))) if complete else []
