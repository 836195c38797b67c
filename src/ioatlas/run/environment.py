# SPDX-License-Identifier: Apache-2.0
"""Everything outside the program that a session touches, each behind one seam: loads and time, counters, meters, the
testbed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ioatlas.fio.executor import Executor, SystemExecutor
from ioatlas.fleet.executor import FleetExecutor
from ioatlas.model.cell import Cell
from ioatlas.model.events import Emit
from ioatlas.model.target import Target
from ioatlas.model.testbed import Usage
from ioatlas.run.conditions import conditions
from ioatlas.run.hosts import HostTelemetry, check_hosts
from ioatlas.run.plan import Plan
from ioatlas.run.telemetry import BatchTelemetry
from ioatlas.store.journal import Journal
from ioatlas.target.sites import Sites
from ioatlas.testbed.measured import background
from ioatlas.testbed.power import Meter
from ioatlas.testbed.telemetry import Watched, watched_of
from ioatlas.testbed.typed_in import meters_of


@dataclass(frozen=True)
class Environment:
    """The real machine; tests put a simulated target and no counters in the places."""

    executor: Executor
    telemetry: Callable[[Watched, Sequence[Meter]], BatchTelemetry] = BatchTelemetry
    watched: Callable[[str], Watched] = watched_of
    meters: Callable[[Path], list[Meter]] = meters_of
    conditions: Callable[..., dict[str, Any]] = conditions
    background: Callable[[Watched, float], Usage | None] = background
    """What this machine does while we do nothing."""
    check_hosts: Callable[[FleetExecutor, Mapping[str, Target], Sites, Iterable[Cell]], None] = check_hosts
    fleet: FleetExecutor | None = None
    """Of a campaign that several clients make: the executor once more, by what only a fleet has."""

    def of_fleet(self, fleet: FleetExecutor) -> Environment:
        """The same with loads of several clients: what passes by them is counted, not what passes by this machine."""
        watched = self.watched if fleet.shares_paths else lambda _location: Watched()
        made = replace(self, executor=fleet, fleet=fleet, watched=watched)
        if not fleet.is_elsewhere or self.telemetry is not BatchTelemetry:
            return made
        return replace(made, telemetry=lambda _watched, meters: HostTelemetry(fleet, meters))


def system_environment() -> Environment:
    """The machine itself. Raises IoAtlasError when there is no fio or it is too old."""
    executor = SystemExecutor()
    executor.find("fio")
    return Environment(executor)


def sites_of(
    journal: Journal,
    plan: Plan,
    executor: Executor,
    *,
    emit: Emit = lambda _: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> Sites:
    """The places that a plan works on."""
    cells, campaign_id = [cell for cell, _ in plan.cells], journal.campaign().campaign_id
    return Sites(
        journal,
        campaign_id,
        plan.targets,
        cells,
        executor=executor,
        stop_asked=stop_asked,
        emit=emit,
        groups=plan.groups,
    )
