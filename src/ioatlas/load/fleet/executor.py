# SPDX-License-Identifier: Apache-2.0
"""An executor that makes a batch on all clients of a fleet at once, through fio's own client mode.

One fio here controls all others: it connects to every client, hands each its job file, and starts them together when
all have taken it. Its "All clients" record is never read. What comes back is dealt out to a directory for each client.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ioatlas.load.fio.executor import Clock, Executor, LoadProcess, ProgramName
from ioatlas.load.fio.held import moved, moved_job, reached
from ioatlas.load.fio.loose_json import documents
from ioatlas.load.fio.process import NOBODY, Minder, ProcessOutcome, Program
from ioatlas.load.fleet.bare import BareClient
from ioatlas.load.fleet.client import (
    Address,
    Client,
    ClientFacts,
    ClockOffset,
    LostClientError,
    PrivateDirectory,
    sweep,
)
from ioatlas.load.fleet.connections import StartGate, Watch
from ioatlas.load.fleet.hosts import Fleet, Host
from ioatlas.load.fleet.local import LocalClient
from ioatlas.load.fleet.merge import BatchRecord, client_directory
from ioatlas.load.fleet.sharing import job_of, participants, span_seconds
from ioatlas.load.fleet.ssh import SshClient
from ioatlas.load.fleet.systems import job_for, path_of
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.units import grouped
from ioatlas.store import confined

OUTPUT, JOB_FILE = "fio.json", "job.fio"
OWN_MACHINE = ("local", "netns")
"""Clients of this machine see its mounts and devices: the guards here are theirs."""
CLOCK_SECONDS = 60.0
"""How old a look at a client's clock may be."""


class FleetExecutor:
    """Makes batches on the clients of a fleet, and all other loads on this machine.

    lost: {client: why} of all that were lost and did not come back; they take part in nothing more.
    """

    def __init__(
        self, fleet: Fleet, inner: Executor, opener: Callable[[Host, str], Client] | None = None, *, location: str = ""
    ) -> None:
        self.fleet = fleet
        self.lost: dict[str, str] = {}
        self.facts: dict[str, ClientFacts] = {}
        self._inner = inner
        self._opener = opener or open_client
        self._location = location
        self._clients: dict[str, Client] = {}
        self._clocks: dict[str, tuple[float, ClockOffset]] = {}
        self._latest: dict[str, str] = {}
        self._held: dict[tuple[str, str], tuple[str, str]] = {}

    # -- an executor -----------------------------------------------------------------------------------------

    @property
    def clock(self) -> Clock:
        return self._inner.clock

    def find(self, program: ProgramName) -> Program:
        return self._inner.find(program)

    def stop_orphan(self, pid: int, started_ticks: int) -> bool:
        return self._inner.stop_orphan(pid, started_ticks)

    def run(self, load: LoadProcess, minder: Minder = NOBODY) -> ProcessOutcome:
        """As of every executor. A client that is lost ends the batch; `news` tells which, and it has no result."""
        self._latest = {}
        if not load.spread:
            return self._inner.run(load, minder)
        names = [name for name in self.fleet.names if name not in self.lost]
        drawn = {spread.jobs: participants(names, spread) for spread in load.spread}
        at_work = [name for name in names if any(name in taking for taking in drawn.values())]
        taking = {job: clients for jobs, clients in drawn.items() for job in jobs}
        try:
            addresses = {name: self._clients[name].serve() for name in at_work}
            clocks = {name: self._clock_of(name) for name in at_work}
        except LostClientError as error:
            self._latest = {error.where: error.what}
            BatchRecord({}, {}, self._latest).write(load.directory)
            return ProcessOutcome(1, 0.0, "", f"{error.where}: {error.what}")
        self._write_jobs(load, at_work, drawn)
        with _scratch() as scratch:
            outcome, watch = self._controlled(load, scratch, addresses, minder)
            found = _deal_out(scratch, load.directory, at_work)
        if watch.lost or watch.ended_early or outcome.stopped:
            for name in at_work:
                self._clients[name].stop_load()
        gone = [name for name in watch.ended_early if name in addresses and name not in found]
        self._latest = watch.lost or dict.fromkeys(gone, "its fio ended without a result")
        BatchRecord(clocks, taking, self._latest).write(load.directory)
        if self._latest or watch.ended_early:
            said = "; ".join(f"{name}: {why}" for name, why in self._latest.items()) or outcome.stderr
            return replace(outcome, stopped="", exit_code=outcome.exit_code or 1, stderr=said)
        return outcome

    # -- a fleet ---------------------------------------------------------------------------------------------

    def open(self) -> dict[str, ClientFacts]:
        """Open all clients and see that each has our version of fio. Raises IoAtlasError that names the first that
        cannot take part; then none is left open.
        """
        sweep()
        ours = self.find("fio")
        try:
            for host in self.fleet.hosts:
                self._clients[host.name] = client = self._opener(host, ours.path)
                self.facts[host.name] = client.facts()
            check_versions(ours.version, self.facts)
            for client in self._clients.values():
                client.serve()
        except BaseException:
            self.close()
            raise
        return dict(self.facts)

    def news(self) -> dict[str, str]:
        """{client: why} of those that the latest batch lost and that do not come back when they are started anew."""
        gone = {}
        for name, why in self._latest.items():
            client = self._clients.get(name)
            try:
                if client is None:
                    raise LostClientError(why, where=name)
                client.stop_load()
                client.serve()
            except IoAtlasError as error:
                gone[name] = why if error.what == why else f"{why}; started anew: {error.what}"
        return gone

    @property
    def shares_paths(self) -> bool:
        """Whether all bytes of all clients pass this machine's own network and devices, where they are counted."""
        return all(host.kind == "local" for host in self.fleet.hosts)

    @property
    def is_elsewhere(self) -> bool:
        """Whether a client runs on another machine, whose processors are not ours."""
        return any(host.kind not in ("local", "netns") for host in self.fleet.hosts)

    @property
    def clients(self) -> dict[str, Client]:
        """Those that take part, by name."""
        return {name: client for name, client in self._clients.items() if name not in self.lost}

    @property
    def returned(self) -> dict[str, str]:
        """{client: why} of those that the latest batch lost, whether they came back or not."""
        return dict(self._latest)

    def give_up(self, names: Mapping[str, str]) -> None:
        """Go on without these clients."""
        self.lost |= names
        for name in names:
            self._clients[name].close()

    def close(self) -> None:
        """Leave nothing on any client."""
        for client in self._clients.values():
            client.close()
        self._clients, self._held = {}, {}

    # -- a batch ---------------------------------------------------------------------------------------------

    def _clock_of(self, name: str) -> ClockOffset:
        now = self.clock.monotonic()
        known = self._clocks.get(name)
        if known is None or now - known[0] > CLOCK_SECONDS:
            known = self._clocks[name] = (now, self._clients[name].clock() or ClockOffset())
        return known[1]

    def _write_jobs(
        self, load: LoadProcess, at_work: Sequence[str], drawn: Mapping[tuple[str, ...], tuple[str, ...]]
    ) -> None:
        text = confined.read_text(load.directory / JOB_FILE)
        hosts = {host.name: (number, host) for number, host in enumerate(self.fleet.hosts)}
        for name in at_work:
            number, host = hosts[name]
            taking = {spread: drawn[spread.jobs] for spread in load.spread}
            mine = {one: (names.index(name), len(names)) for one, names in taking.items() if name in names}
            place = confined.make_directory(load.directory, str(client_directory(Path(), name)))
            job = job_of(text, number, mine, readonly="--readonly" in load.arguments)
            job = moved_job(job, {self._location: path_of(host.path, host.os)} if host.path else {})
            confined.write_text(place / JOB_FILE, job_for(job, host.os))

    def path_on(self, host: Host, path: str) -> str:
        """What is called `path` here, as a host calls it."""
        return moved(path, {self._location: host.path}) if host.path and self._location else path

    def hold(self, name: str, path: str, which: str = "") -> str | None:
        """Where a client reaches what lies at `path` there, until it is closed: opened once for each `which` of it.

        None where nothing can be held there. Raises LostClientError.
        """
        known = self._held.get((name, path))
        if known is None or known[0] != which:
            there = self._clients[name].hold(path)
            if there is None:
                return None
            known = self._held[name, path] = (which, there)
        return known[1]

    def _held_by(self, name: str, held: Mapping[str, int]) -> dict[str, str]:
        """{path on a client: where it reaches what is held there}."""
        host = next(host for host in self.fleet.hosts if host.name == name)
        if host.kind in OWN_MACHINE:
            return {path: reached(descriptor, os.getpid()) for path, descriptor in held.items()}
        return {path: known[1] for (client, path), known in self._held.items() if client == name}

    def _controlled(
        self, load: LoadProcess, scratch: Path, addresses: Mapping[str, Address], minder: Minder
    ) -> tuple[ProcessOutcome, Watch]:
        """The controlling fio, watched."""
        arguments = ["--output-format=json+", f"--output={OUTPUT}", "--eta=never"]
        for name in addresses:
            text = confined.read_text(client_directory(load.directory, name) / JOB_FILE)
            job = scratch / f"{name}.fio"  # what is kept has the names of what is held
            job.write_text(moved_job(text, self._held_by(name, load.held)), encoding="utf-8")
            arguments += [f"--client=sock:{name}", str(job)]
        span = span_seconds(confined.read_text(load.directory / JOB_FILE))
        gate = StartGate(addresses, scratch)
        troubles = {name: partial(_trouble, name, self._clients[name], gate) for name in addresses}
        watch = Watch(troubles, span)
        pids: list[int] = []
        begin = self.clock.monotonic()

        def began(pid: int, ticks: int) -> None:
            pids.append(pid)
            minder.started(pid, ticks)

        def ended() -> bool:
            if minder.stop_asked():
                return True
            if not pids or not watch.look(pids[0], self.clock.monotonic() - begin):
                return False
            for name in addresses:  # or the controller waits for them
                self._clients[name].stop_load()
            return True

        process = replace(load, arguments=tuple(arguments), directory=scratch, spread=())
        with contextlib.closing(gate):
            outcome = self._inner.run(process, replace(minder, stop_asked=ended, started=began))
        shutil.copyfile(scratch / load.sink, load.directory / load.sink)
        return outcome, watch


def _trouble(name: str, client: Client, gate: StartGate) -> str:
    """Why a client is lost; '' when it is not."""
    return client.trouble() or gate.trouble(name)


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """Where the controller runs: sockets have no place in a campaign's directory."""
    with contextlib.closing(PrivateDirectory()) as place:
        yield place.path


def _deal_out(scratch: Path, directory: Path, names: Sequence[str]) -> frozenset[str]:
    """Output and logs of the controller as files of each client, named as a fio of its own would name them. Returns the
    clients that gave a result.
    """
    for log in sorted(scratch.glob("*.log.*")):
        own, _, name = log.name.partition(".log.")
        if name in names:
            shutil.copyfile(log, client_directory(directory, name) / f"{own}.log")
    output = scratch / OUTPUT
    if not output.exists():
        return frozenset()
    shutil.copyfile(output, directory / OUTPUT)
    found = frozenset[str]()
    for document in documents(output.read_text(errors="replace"), []):
        value = document.value
        if not document.complete or not isinstance(value, dict) or not isinstance(value.get("client_stats"), list):
            continue
        entries = [entry for entry in value["client_stats"] if isinstance(entry, dict)]
        for name in names:
            mine = [one for one in entries if one.get("hostname") == name and one.get("jobname") != "All clients"]
            if mine:
                kept = {key: value[key] for key in ("fio version", "timestamp", "global options") if key in value}
                text = json.dumps({**kept, "jobs": mine})
                confined.write_text(client_directory(directory, name) / OUTPUT, text)
                found |= {name}
    return found


def open_client(host: Host, fio: str) -> Client:
    """The client of a host; nothing runs on it yet.

    fio: ours, which a client of this machine runs. Raises IoAtlasError.
    """
    if host.kind in ("local", "netns"):
        return LocalClient(host, fio)
    if host.kind == "ssh":
        return SshClient(host)
    return BareClient(host, fio)


def check_versions(ours: str, found: Mapping[str, ClientFacts]) -> None:
    """Raises UsageError naming every host whose fio is missing or of another version than ours.

    A client that cannot tell (a fio server that its owner started) is left to the connection itself, which fails where
    the versions differ.
    """
    missing = [name for name, facts in found.items() if not facts.fio_version and facts.kernel]
    if missing:
        raise UsageError(
            f"fio is not installed on {', '.join(missing)}",
            where="--clients",
            remedy=f"install {ours} there, or name its path as `fio` in the hosts file",
        )
    others = grouped(
        (facts.fio_version, name) for name, facts in found.items() if facts.fio_version and facts.fio_version != ours
    )
    if others:
        told = "; ".join(f"{version} on {', '.join(names)}" for version, names in sorted(others.items()))
        raise UsageError(
            f"the clients do not all have our {ours}: {told}",
            where="--clients",
            remedy=f"install {ours} on all of them",
        )
