# SPDX-License-Identifier: Apache-2.0
"""One fio on a job file of its own, away from the batches: a preparation, a check, a ceiling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ioatlas import beneath
from ioatlas.fio.collect import JOB_FILE, OUTPUT, complete_output
from ioatlas.fio.executor import Executor, LoadProcess, limit_seconds
from ioatlas.fio.process import ProcessOutcome
from ioatlas.fio.records import FioOutput


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
