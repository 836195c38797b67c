# SPDX-License-Identifier: Apache-2.0
"""A load away from the batches: one fio on a job file of its own (a preparation, a check, a ceiling), and a load of
names, which fio has not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ioatlas import beneath
from ioatlas.fio.collect import ERRORS, JOB_FILE, OUTPUT, complete_output
from ioatlas.fio.executor import Executor, LoadProcess, limit_seconds
from ioatlas.fio.figures import FioOutput
from ioatlas.fio.process import ProcessOutcome


def run_job(
    executor: Executor,
    job: str,
    directory: Path,
    *,
    expected_seconds: float,
    options: tuple[str, ...] = (),
    held: Mapping[str, int] | None = None,
    stop_asked: Callable[[], bool] = lambda: False,
    started: Callable[[int, int], None] = lambda _pid, _ticks: None,
    tick: Callable[[float], None] | None = None,
) -> tuple[ProcessOutcome, FioOutput | None]:
    """How it ended, and its output where that is there in full. job: a job file's text. Raises as `Executor.run`.

    directory: made if need be; keeps the job file, the output and what fio says. held: as of a `LoadProcess`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for old in (directory / OUTPUT, *directory.glob("*.log")):  # of a run before: fio appends to logs that are there
        old.unlink(missing_ok=True)
    beneath.write_text(directory / JOB_FILE, job)
    arguments = (*options, "--output-format=json", f"--output={OUTPUT}", "--eta=never", JOB_FILE)
    load = LoadProcess("fio", arguments, directory, "fio.err", limit_seconds(expected_seconds), held=held or {})
    outcome = executor.run(load, stop_asked=stop_asked, started=started, tick=tick)
    return outcome, complete_output(directory)


TOLD = "names.json"
SCRIPT = Path(__file__).with_name("names_load.py")


def names_process(told: Mapping[str, Any], directory: Path, *, limit_seconds: float) -> LoadProcess:
    """The process that does what `told` says.

    told: name, operation, direction, jobs, files, passes, top, folder, names, renamed; the last three lie below `top`
    and hold $jobnum and $filenum.
    """
    beneath.write_text(directory / TOLD, json.dumps(told, indent=1))
    return LoadProcess("names", ("-I", "-B", str(SCRIPT), TOLD, OUTPUT, told["top"]), directory, ERRORS, limit_seconds)
