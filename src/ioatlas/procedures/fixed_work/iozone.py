# SPDX-License-Identifier: Apache-2.0
"""IOzone itself as a load: found on PATH, run on one file, its table read back by the importer's reader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ioatlas.fio.executor import LoadProcess
from ioatlas.interop.read.importer import read_source
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

OUTPUT = "iozone.txt"
COMMAND_FILE = "iozone.command"


def iozone_process(arguments: Sequence[str], file: str, directory: Path, *, limit_seconds: float) -> LoadProcess:
    """IOzone on `file`, which it makes and removes. Its output goes to iozone.txt in `directory`."""
    told = (*arguments, "-f", file)
    (directory / COMMAND_FILE).write_text(" ".join(("iozone", *told)) + "\n")
    return LoadProcess("iozone", told, directory, OUTPUT, limit_seconds)


def read_iozone(directory: Path) -> list[ImportedReading]:
    """What IOzone's table in `directory` says; empty when it is not there in full."""
    path = directory / OUTPUT
    try:
        complete = "iozone test complete" in path.read_text(errors="replace")
    except OSError:
        return []
    return list(read_source(Source.of(path, OUTPUT))) if complete else []
