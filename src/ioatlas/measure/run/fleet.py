# SPDX-License-Identifier: Apache-2.0
"""Clients in a campaign: what they add to its cells, who takes part in a session, and what becomes of lost ones."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.executor import Executor
from ioatlas.load.fleet.bare import warnings_of
from ioatlas.load.fleet.executor import FleetExecutor
from ioatlas.load.fleet.hosts import Fleet, read_clients
from ioatlas.load.fleet.systems import remarks_of
from ioatlas.measure.run.plan import CELLS_PER_BATCH
from ioatlas.measure.run.session import Session
from ioatlas.model.cell import CLIENT_RANGE, CLIENTS
from ioatlas.model.errors import UsageError
from ioatlas.model.options import ClientRange, OnLostClient
from ioatlas.model.outcomes import KeptRecord
from ioatlas.model.target import Target
from ioatlas.model.visit import RemarkKind
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.journal import Journal

FLEET_WINDOW_SECONDS = 2.0
"""Shortest window of a fleet where nothing was asked for: clients start up to 100 ms apart, fio's turn."""
FLEET_JOBS = 16
"""Jobs of one client in a batch, where its sections have several. fio opens what each job works on before the first one
starts, and clients do so at different speeds: ten of 40 jobs each started 1.3 s apart, ten of 5 each 0.2 s.
"""
REMEDY = "name hosts: --clients a,b,c, --clients local:4, or a file hosts.toml"


@dataclass(frozen=True)
class KeptClients(KeptRecord):
    """Who takes part, as the latest session found it: {client: what it says of itself}."""

    NAME, CONTENT = "clients", "clients"
    clients: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def sections_of_clients(sections: Sequence[Section]) -> int:
    """How many of the first sections one batch of several clients holds at most."""
    jobs = itertools.accumulate(max(1, len(section.places)) for section in sections)
    return min(CELLS_PER_BATCH, max(1, sum(total <= FLEET_JOBS for total in jobs)))


def fleet_of(spec: CampaignSpec, clients: str = "") -> Fleet | None:
    """The hosts that a campaign names; None where it names none. clients: others, named for one session."""
    text = clients or spec.clients
    if not text:
        return None
    fleet = read_clients(text)
    wanted = _most_clients(spec)
    if wanted > len(fleet.hosts):
        raise UsageError(
            f"{wanted} clients are to take part, and {len(fleet.hosts)} are named",
            where="--clients",
            remedy="name more hosts, or fewer clients in [sweep]",
        )
    return replace(fleet, hosts=fleet.hosts[:wanted]) if wanted else fleet


def with_clients(spec: CampaignSpec, targets: Sequence[Target]) -> CampaignSpec:
    """The campaign with its number of clients in every cell. Raises UsageError."""
    if not spec.clients:
        if _most_clients(spec):
            raise UsageError("it varies the number of clients, and names none", where=CLIENTS, remedy=REMEDY)
        return spec
    fleet = fleet_of(spec)
    assert fleet is not None
    constants = dict(spec.constants)
    if not _most_clients(spec):
        constants[CLIENTS] = len(fleet.hosts)
    own = spec.client_range is ClientRange.OWN or (
        spec.client_range is ClientRange.AUTO and all(target.kind == "directory" for target in targets)
    )
    if own:
        constants[CLIENT_RANGE] = "own"
    return replace(spec, constants=constants, window_seconds=max(spec.window_seconds, FLEET_WINDOW_SECONDS))


def _most_clients(spec: CampaignSpec) -> int:
    """The most clients that a cell asks for; 0 where nothing says how many."""
    values = [
        *spec.axes.get(CLIENTS, ()),
        *(one[CLIENTS] for one in (spec.constants, *spec.patterns) if CLIENTS in one),
    ]
    return max((int(value) for value in values), default=0)


def opened(
    spec: CampaignSpec, executor: Executor, targets: Sequence[Target], clients: str = ""
) -> FleetExecutor | None:
    """The fleet of a campaign, every client opened and looked at; None where it has none. Raises IoAtlasError."""
    fleet = fleet_of(spec, clients)
    if fleet is None:
        return None
    made = FleetExecutor(fleet, executor, location=targets[0].location if len(targets) == 1 else "")
    made.open()
    return made


def client_remarks(journal: Journal, fleet: FleetExecutor) -> tuple[str, ...]:
    """Write down who takes part; what a reader has to know of them, and what differs from before."""
    hosts = fleet.fleet.hosts
    systems = [text for system in dict.fromkeys(host.os for host in hosts) for text in remarks_of(system)]
    changed = _changed(journal, fleet)
    known = {text for _, text in journal.remarks()}
    return tuple(text for text in (*warnings_of(hosts), *systems, changed) if text and text not in known)


def _changed(journal: Journal, fleet: FleetExecutor) -> str:
    before = dict(journal.kept(KeptClients).clients)
    now = {name: facts.to_record() for name, facts in fleet.facts.items()}
    journal.keep(KeptClients(now))
    if not before or before == now:
        return ""
    gone, new = [name for name in before if name not in now], [name for name in now if name not in before]
    told = [f"{', '.join(names)} {what}" for names, what in ((gone, "left"), (new, "joined")) if names]
    changed = [name for name in now if name in before and before[name] != now[name]]
    told += [f"{name} differs ({_difference(before[name], now[name])})" for name in changed]
    return f"The clients are others than before: {'; '.join(told)}."


def _difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return ", ".join(f"{name} {before.get(name, 'unknown')}, now {now.get(name, 'unknown')}" for name in names)


def after_batch(fleet: FleetExecutor, session: Session) -> None:
    """Tell who was lost in the latest batch, and who came back. Raises PartialResultError where the campaign is to stop
    or no client is left.
    """
    lost = fleet.returned
    if not lost:
        return
    gone = fleet.news()
    for name, why in lost.items():
        end = "" if name in gone else " It was started again, and the batch is made again."
        session.remark(RemarkKind.WARNING, f"Client {name} was lost: {gone.get(name, why)}.{end}")
    if not gone:
        return
    left = [name for name in fleet.fleet.names if name not in fleet.lost and name not in gone]
    if session.plan.spec.on_lost_client is OnLostClient.STOP or not left:
        name, why = next(iter(gone.items()))
        raise session.given_up(f"client {name} was lost: {why}", "bring it back")
    fleet.give_up(gone)
    text = f"The campaign goes on with {len(left)} of {len(fleet.fleet.names)} clients: {', '.join(left)}."
    session.remark(RemarkKind.WARNING, text)
