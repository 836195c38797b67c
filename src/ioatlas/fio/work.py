# SPDX-License-Identifier: Apache-2.0
"""A work as a load: the request that the driver is given, and what it left."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ioatlas import beneath
from ioatlas.fio import work_driver
from ioatlas.fio.collect import ERRORS, OUTPUT
from ioatlas.fio.executor import LoadProcess

REQUEST, RESULT, SINK = "request.json", "result.json", "driver.err"
COMMAND_OUTPUT, COMMAND_ERRORS = "command.out", "command.err"
STOP_SECONDS = 60.0
"""How long the driver may take to end what runs and to clean up, before it is killed itself."""
CLEANUP_SECONDS = 40.0
MOST_READ_BYTES = 1 << 20
SETUP_TIMES = 4
"""Phases that have the limit of the command each, and a rest."""


@dataclass(frozen=True)
class WorkRequest:
    """What the driver does: shell commands as they are run, in the folder `target`. cell: the key of its cell."""

    cell: str
    target: str
    seed: int
    setup: str
    command: str
    verify: str
    cleanup: str
    limit_seconds: float
    cold: bool
    cleanup_seconds: float = CLEANUP_SECONDS
    only_cleanup: bool = False


@dataclass(frozen=True)
class Phase:
    """One command that was run."""

    started_at: float
    seconds: float
    exit_code: int
    cpu_seconds: float


@dataclass(frozen=True)
class WorkDone:
    """What a driver left. failed: the phase that failed, '' when none did; why: in words. cleaned: nothing of it runs
    any more.
    """

    phases: dict[str, Phase]
    failed: str
    why: str
    cleaned: bool


def write_request(request: WorkRequest, directory: Path) -> None:
    beneath.write_text(directory / REQUEST, json.dumps(asdict(request), indent=1))


def work_process(request: WorkRequest, directory: Path) -> LoadProcess:
    """The driver for a request, which is written into `directory`."""
    write_request(request, directory)
    arguments = ("-I", str(Path(work_driver.__file__)), ".", request.target)
    limit = SETUP_TIMES * request.limit_seconds + request.cleanup_seconds
    return LoadProcess("python", arguments, directory, SINK, limit, stop_seconds=STOP_SECONDS)


def read_request(directory: Path) -> dict[str, Any]:
    """What was asked for; empty where that cannot be read."""
    return _json(directory / REQUEST)


def read_done(directory: Path) -> WorkDone | None:
    """What the driver left; None when it left nothing that can be read."""
    record = _json(directory / RESULT)
    try:
        phases = {
            str(name): Phase(
                float(one["started_at"]),
                float(one["seconds"]),
                int(one["exit_code"]),
                float(one["user_seconds"]) + float(one["system_seconds"]),
            )
            for name, one in record["phases"].items()
        }
        if not all(math.isfinite(one.started_at) and 0 < one.seconds < math.inf for one in phases.values()):
            return None
        return WorkDone(phases, str(record["failed"]), str(record["why"])[:200], bool(record["cleaned"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def figure_in(directory: Path, pattern: str) -> float | None:
    """The last figure that the command printed and the pattern takes; None when there is none above zero."""
    found = None
    for name in (COMMAND_OUTPUT, COMMAND_ERRORS):
        for match in re.finditer(pattern, _tail(directory / name), re.MULTILINE):
            found = match[1]
    try:
        value = float(found.replace(",", "")) if found else 0.0
    except ValueError:
        return None
    return value if 0 < value < math.inf else None


def last_words(directory: Path, phase: str) -> str:
    """The last line that a phase said, for a message."""
    for name in (f"{phase}.err", f"{phase}.out"):
        lines = [line.strip() for line in _tail(directory / name).splitlines() if line.strip()]
        if lines:
            return "".join(letter if letter.isprintable() else "?" for letter in lines[-1][:200])
    return ""


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - MOST_READ_BYTES))
            return file.read(MOST_READ_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _json(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(_tail(path))
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


TOLD = "names.json"
SCRIPT = Path(__file__).with_name("names_load.py")


def names_process(told: Mapping[str, Any], directory: Path, *, limit_seconds: float) -> LoadProcess:
    """The process that does what `told` says.

    told: name, operation, direction, jobs, files, passes, top, folder, names, renamed; the last three lie below `top`
    and hold $jobnum and $filenum.
    """
    beneath.write_text(directory / TOLD, json.dumps(told, indent=1))
    return LoadProcess("names", ("-I", "-B", str(SCRIPT), TOLD, OUTPUT, told["top"]), directory, ERRORS, limit_seconds)
