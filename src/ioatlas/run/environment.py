# SPDX-License-Identifier: Apache-2.0
"""Everything outside the program that a session touches, each behind one seam: loads and time, counters, meters, the
testbed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ioatlas.fio.executor import Executor, SystemExecutor
from ioatlas.model.target import Target
from ioatlas.run.conditions import conditions
from ioatlas.run.telemetry import BatchTelemetry
from ioatlas.testbed.facts_file import meters_of
from ioatlas.testbed.power import Meter
from ioatlas.testbed.telemetry import Watched, watched_of


@dataclass(frozen=True)
class Environment:
    """The real machine; tests put a simulated target and no counters in the places."""

    executor: Executor
    telemetry: Callable[[Watched, Sequence[Meter]], BatchTelemetry] = BatchTelemetry
    watched: Callable[[str], Watched] = watched_of
    meters: Callable[[Path], list[Meter]] = meters_of
    conditions: Callable[[Executor, Sequence[Target], Path], dict[str, Any]] = conditions


def system_environment() -> Environment:
    """The machine itself. Raises IoAtlasError when there is no fio or it is too old."""
    executor = SystemExecutor()
    executor.find("fio")
    return Environment(executor)
