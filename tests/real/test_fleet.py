# SPDX-License-Identifier: Apache-2.0
"""Batches of several clients in network namespaces on a link of known rate: their sum, and clients that go away."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from ioatlas.load.fio.batch import Batch, Section
from ioatlas.load.fio.collect import fio_process
from ioatlas.load.fio.executor import SystemExecutor
from ioatlas.load.fleet import connections
from ioatlas.load.fleet.executor import FleetExecutor
from ioatlas.load.fleet.hosts import read_clients
from ioatlas.load.fleet.merge import read_batch_of
from ioatlas.model.cell import Cell
from ioatlas.model.visit import Purpose, SectionState
from tests.real.fleet_net import fleet_net
from tests.real.pauses import Pauses
from tests.real.target_lab import wait_for

pytestmark = pytest.mark.needs("root", "nbdkit", "tc")
DEPTH, BLOCK = 4, 16 << 10


class Fleet:
    """Three clients, opened, and one batch of theirs."""

    def __init__(self, net, place) -> None:
        self.net = net
        self.executor = FleetExecutor(read_clients(net.clients), SystemExecutor())
        self.executor.open()
        self.place = place

    def run(self, seconds, meanwhile=None):
        """(result of one read section on all clients, outcome, how long it took)."""
        options = {"rw": "randread", "bs": BLOCK, "iodepth": DEPTH, "size": 32 << 20, "ioengine": "nbd", "clients": 3}
        cell = Cell.of("nbd", {**options, "norandommap": 1})
        section = Section(1, cell, 7, int(1000 * seconds), 100, (("uri", self.net.uri),))
        self.place.mkdir(exist_ok=True)
        batch = Batch(1, self.place, (section,), readonly=True)
        begin = time.monotonic()
        disturb = threading.Thread(target=self._disturb, args=(meanwhile,))
        if meanwhile is not None:
            disturb.start()
        outcome = self.executor.run(fio_process(batch, {"nbd": 0}))
        took = time.monotonic() - begin
        if meanwhile is not None:
            disturb.join()
        (result,) = read_batch_of(self.place, (section,), 1, {}, {1: Purpose.SWEEP}) or (None,)
        return result, outcome, took

    def _disturb(self, how):
        """Once all clients are at work."""
        begun = self.net.carried()
        wait_for(lambda: all(now - then > 1 << 16 for now, then in zip(self.net.carried(), begun, strict=True)))
        how()


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    with fleet_net(3, tmp_path_factory.mktemp("net"), rate_bits_per_s=10**8) as found:  # any processor fills it
        yield found


@pytest.fixture
def fleet(net, tmp_path):
    one = Fleet(net, tmp_path / "batch")
    yield one
    one.executor.close()
    assert not _servers(net), "nothing is left running"


def _servers(net):
    said = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if "--server=sock:/tmp/ioatlas-fleet" in line and net.prefix in line]


@pytest.mark.long("fleet")
def test_the_sum_is_what_passes_the_link(fleet):
    with Pauses() as pauses:
        result, _, _ = fleet.run(3)
    assert result.state is SectionState.FINISHED, result.reason
    visit = result.visit
    (part,) = visit.parts
    rate = part.io_bytes * 1000 / part.runtime_ms
    # What is in flight at either end counts or not, and a log's interval is what starts are known to.
    in_flight = 3 * DEPTH * BLOCK / part.io_bytes
    assert rate == pytest.approx(fleet.net.truth, rel=0.01 + in_flight + 2 * pauses.seconds / 3)
    assert sum(one.bw_bytes_per_s for one in visit.clients) == pytest.approx(rate, rel=1e-6)
    assert len(visit.clients) == 3
    assert part.histogram.count >= part.total_ios, "all of the time of all clients"
    jobs = [(fleet.place / "clients" / name / "job.fio").read_text() for name in fleet.net.names]
    assert len(set(jobs)) == 3, "seeds of their own"


@pytest.mark.unmeasured
def test_a_client_whose_fio_is_killed_is_named_within_seconds(fleet):
    victim = fleet.net.names[1]

    def kill():
        for pid in _children(fleet.executor._clients[victim]._server.pid):
            os.kill(pid, signal.SIGKILL)

    result, outcome, took = fleet.run(60, kill)
    assert took < 50, "long before the load would have ended"
    assert list(fleet.executor.returned) == [victim]
    assert victim in outcome.stderr
    assert result is None or result.visit is None
    assert not fleet.executor.news(), "it can be started again"
    assert fleet.run(2)[0].state is SectionState.FINISHED


def _children(pid):
    """Loads that a client's fio server has forked: what stands below the first process of its namespace."""
    found, waiting = [], [pid]
    while waiting:
        for child in Path(f"/proc/{waiting[0]}/task/{waiting[0]}/children").read_text().split():
            waiting.append(int(child))
            found.append(int(child))
        waiting.pop(0)
    return found[1:]


@pytest.mark.unmeasured
def test_a_client_cut_off_from_the_target_is_named(fleet, monkeypatch):
    monkeypatch.setattr(connections, "LATE_SECONDS", 8.0)  # others of a busy machine are late by less
    victim = fleet.net.names[2]
    try:
        result, _, took = fleet.run(4, lambda: fleet.net.link(victim, "down"))
    finally:
        fleet.net.link(victim, "up")
    assert took < 100, "fio itself would have waited longer"
    assert list(fleet.executor.returned) == [victim]
    assert result is None or result.visit is None


@pytest.mark.unmeasured
def test_a_namespace_that_does_not_exist_is_refused(net):
    fleet = FleetExecutor(read_clients(f"{net.clients},nowhere"), SystemExecutor())
    with pytest.raises(Exception, match="no network namespace 'nowhere'"):
        fleet.open()
    assert not _servers(net)
