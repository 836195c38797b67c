# SPDX-License-Identifier: Apache-2.0
"""Everything outside the program that a session touches, each behind one seam: loads and time, counters, meters, the
testbed; and what it does on the hosts of its fleet besides the load: guards of the targets there, counters meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.executor import Executor, SystemExecutor
from ioatlas.load.fleet.client import Client, LostClientError
from ioatlas.load.fleet.executor import OWN_MACHINE, FleetExecutor
from ioatlas.load.fleet.hosts import Host
from ioatlas.load.fleet.merge import client_directory
from ioatlas.load.machine.far import FarSampler, look_at_client
from ioatlas.load.machine.measured import background
from ioatlas.load.machine.power import Meter
from ioatlas.load.machine.telemetry import Sample, Watched, usage_between, watched_of
from ioatlas.load.machine.typed_in import meters_of
from ioatlas.load.machine.visit_usage import inside, usage_record
from ioatlas.measure.run.conditions import conditions
from ioatlas.measure.run.plan import Plan
from ioatlas.measure.run.telemetry import RAW, BatchTelemetry, Seen, keep_raw
from ioatlas.model.cell import Cell
from ioatlas.model.errors import RefusedError
from ioatlas.model.outcomes import Emit
from ioatlas.model.target import Target
from ioatlas.model.testbed import Usage
from ioatlas.model.visit import Visit
from ioatlas.store import confined
from ioatlas.store.journal import Journal
from ioatlas.target.far import check_far
from ioatlas.target.opening import MARKER
from ioatlas.target.sites import Sites
from ioatlas.target.workspace import directory_name

LOOKS_AT_ONCE = 16
BETWEEN_SECONDS = 0.5
"""Between two readings of a client: the shortest visit of a fleet holds several."""


def check_hosts(fleet: FleetExecutor, targets: Mapping[str, Target], sites: Sites, cells: Iterable[Cell]) -> None:
    """Before every start of a load: the guards of its targets on every host. Raises what they raise.

    sites: of the campaign, checked before. A host that is lost meanwhile is left to the load itself, which tells.
    """
    writing: dict[str, bool] = {}
    for cell in cells:
        writing[cell.target] = writing.get(cell.target, False) or cell.writes or cell.state == "fresh"
    hosts = {host.name: host for host in fleet.fleet.hosts if host.kind not in OWN_MACHINE}
    clients = [client for name, client in fleet.clients.items() if name in hosts]
    if not clients:
        return

    def look(client: Client) -> None:
        for name, writes in writing.items():
            _check_host(fleet, client, hosts[client.name], targets[name], sites, writes=writes)

    with ThreadPoolExecutor(LOOKS_AT_ONCE) as pool:
        list(pool.map(look, clients))


def _check_host(
    fleet: FleetExecutor, client: Client, host: Host, target: Target, sites: Sites, *, writes: bool
) -> None:
    if target.kind == "uri":  # it names the server; there is nothing on the host to harm
        return
    if host.kind == "fio":
        if writes and target.kind != "directory":
            raise RefusedError(
                f"nobody can see what the {target.kind} is there: its fio is all that answers",
                where=f"{client.name}: {host.path or target.location}",
                remedy="add --read-only, measure a directory, or reach that host by ssh",
            )
        return  # fio makes no file there, and this campaign's directory has a name that is drawn
    path, marker, held = fleet.path_on(host, target.location), ("", ""), ""
    # By what is held here: the owner of the target may exchange what its path leads to, and write a marker of his own.
    own = Path(sites.through(f"{target.location}/{directory_name(sites.campaign_id)}/{MARKER}"))
    try:
        if target.kind == "directory" and confined.is_ordinary(own):
            text = confined.read_text(own)
            there = fleet.hold(client.name, f"{path}/{directory_name(sites.campaign_id)}", text)
            marker = (f"{there or ''}/{MARKER}", text)
        elif target.kind == "file":
            held = fleet.hold(client.name, path) or ""
        check_far(client, target, path, writes=writes, marker=marker, held=held)
    except LostClientError:
        return


class HostTelemetry(BatchTelemetry):
    """Counters of the clients, in the place of this machine's; meters of power stay."""

    def __init__(self, fleet: FleetExecutor, meters: Sequence[Meter] = ()) -> None:
        super().__init__(Watched(), meters)
        self._fleet = fleet
        self._watched_of: dict[str, Watched | None] = {}
        self._samplers: dict[str, FarSampler] = {}

    def start(self, sections: Iterable[Section]) -> None:
        super().start(sections)
        for name, client in self._fleet.clients.items():
            watched = self._watch(name, client)
            if watched is not None:
                self._samplers[name] = FarSampler(client, watched, BETWEEN_SECONDS)
                self._samplers[name].start()

    def _watch(self, name: str, client: Client) -> Watched | None:
        if name not in self._watched_of:
            try:
                self._watched_of[name] = look_at_client(client)[1]
            except LostClientError:
                return None
        return self._watched_of[name]

    def stop(self, directory: Path | None = None) -> Seen:
        samplers, self._samplers = self._samplers, {}
        for sampler in samplers.values():
            sampler.end()
        here = super().stop(directory)
        samples = {name: sampler.stop().samples for name, sampler in samplers.items()}
        for name, read in samples.items():
            place = None if directory is None else client_directory(directory, name)
            if place is not None and place.is_dir():
                keep_raw(place / RAW, read)
        return HostsSeen(here.samples, here.watts, here.cost_seconds, here.log, clients=samples)


@dataclass(frozen=True)
class HostsSeen(Seen):
    """What was read on the clients. A visit's usage is that of the client with the busiest processors."""

    clients: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)

    @property
    def usage(self) -> Usage:
        """Of the busiest client; of this machine where none could be read."""
        told = {name: usage_between(read[0], read[-1]) for name, read in self.clients.items() if len(read) > 1}
        return told[max(told, key=lambda name: _busy(told[name]))] if told else super().usage

    def record(self, visits: Iterable[Visit]) -> dict[str, Any]:
        made = list(visits)
        record = super().record(made)
        shares: dict[str, dict[str, Any]] = {}
        for visit in made:
            runtime = max((part.runtime_ms for part in visit.parts), default=0) / 1000
            begin = visit.started_at + visit.window_start_ms / 1000
            seen = {
                name: usage
                for name, read in self.clients.items()
                if (usage := inside(read, begin, visit.started_at + runtime)) is not None
            }
            watts = record["visits"].get(str(visit.visit_id), {}).get("watts")
            entry: dict[str, Any] = {"watts": watts} if watts else {}
            if seen:
                busiest = max(seen, key=lambda name: _busy(seen[name]))
                entry = {**usage_record(seen[busiest]), "client": busiest, **entry}
                shares[str(visit.visit_id)] = {name: usage_record(usage) for name, usage in seen.items()}
            record["visits"][str(visit.visit_id)] = entry
        return {**record, "clients": shares}


def _busy(usage: Usage) -> float:
    return sum(usage.core_busy) / len(usage.core_busy) if usage.core_busy else 0.0


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
    emit: Emit = lambda _event: None
    """Is told what happens."""
    stop_asked: Callable[[], bool] = lambda: False

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


def sites_of(journal: Journal, plan: Plan, environment: Environment) -> Sites:
    """The places that a plan works on."""
    cells, campaign_id = [cell for cell, _ in plan.cells], journal.campaign().campaign_id
    return Sites(
        journal,
        campaign_id,
        plan.targets,
        cells,
        executor=environment.executor,
        stop_asked=environment.stop_asked,
        emit=environment.emit,
        groups=plan.groups,
    )
