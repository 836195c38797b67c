# SPDX-License-Identifier: Apache-2.0
"""What loads on small files do to a directory: the files that they make and take away."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ioatlas.load.fio.collect import TOLD
from ioatlas.load.fio.names_load import paths_of
from tests.simulate.jobs import SimulatedJob

NAMES = "names"
OF_NAMES = frozenset({"filecreate", "filestat", "filedelete", NAMES})
"""Engines that move no data."""
_CREATES = frozenset({"filecreate"})
_TAKES_AWAY = frozenset({"filedelete"})


def names_job(directory: Path) -> SimulatedJob:
    """The load of names that a directory asks for, as a job of fio."""
    told = json.loads((directory / TOLD).read_text())
    each = told["passes"] if told["operation"] == "list" else told["files"]
    options = {
        "ioengine": NAMES,
        "rw": told["direction"],
        "bs": "1",
        "size": str(each),
        "io_size": str(each),
        "numjobs": str(told["jobs"]),
        "told": str(directory / TOLD),
    }
    return SimulatedJob(told["name"], options, options, 0)


def touch_names(job: SimulatedJob, files: Sequence[Path], share: float) -> bool:
    """Do to the first `share` of the files what the job does; whether all that it needs was there."""
    engine = job.options["ioengine"]
    if engine == NAMES:
        return _by_names(json.loads(Path(job.options["told"]).read_text()), share)
    mine = files[: round(len(files) * share)]
    if engine in _CREATES:
        for path in mine:
            path.touch()
        return True
    there = all(path.exists() for path in files)
    if engine in _TAKES_AWAY:
        for path in mine:
            path.unlink(missing_ok=True)
    return there


def _by_names(told: dict[str, Any], share: float) -> bool:
    pairs = [pair for number in range(told["jobs"]) for pair in paths_of(told, number)]
    if not all(os.path.lexists(path) for path, _ in pairs):
        return False
    if told["operation"] == "rename":
        for old, new in pairs[: round(len(pairs) * share)]:
            Path(old).rename(new)
    return True
