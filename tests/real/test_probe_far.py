# SPDX-License-Identifier: Apache-2.0
"""Facts and counters of a client through its shell, beside what this machine tells of itself."""

import os
import subprocess
from pathlib import Path

import pytest

from ioatlas.load.fio.process import find_fio
from ioatlas.load.fleet.executor import open_client
from ioatlas.load.machine.far import FarSampler, look_at_client
from ioatlas.load.machine.host import look_at_host
from ioatlas.load.machine.sheet import Sheet
from ioatlas.load.machine.telemetry import Sampler
from tests.real.ssh_hosts import BUSYBOX, SSHD, SshHost, poor_path
from tests.real.target_lab import wait_for

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0 or SSHD is None, reason="needs root and an sshd"),
    pytest.mark.unmeasured,
]


@pytest.fixture(scope="module", params=["full", "poor"])
def client(request, tmp_path_factory):
    """A host as it is, and one that has busybox alone."""
    place = tmp_path_factory.mktemp(request.param)
    if request.param == "poor" and BUSYBOX is None:
        pytest.skip("there is no busybox")
    host = SshHost(place, request.param, path=poor_path(place) if request.param == "poor" else None)
    one = open_client(host.host(), find_fio().path)
    yield one
    one.close()
    host.stop()


def parts():
    """Network interfaces and disks of this machine, with numbers that the kernel gives once: other tests make and
    remove some beside these, and give them the same names again.
    """
    return {
        (path.parent.name, path.read_text())
        for pattern in ("class/net/*/ifindex", "block/*/diskseq")
        for path in Path("/sys").glob(pattern)
        if path.exists()
    }


def names_of(found):
    return {name for name, _ in found}


def test_facts_are_those_of_the_machine(client):
    before = parts()
    facts, watched = look_at_client(client)
    there = {fact.name: fact for fact in facts}
    sheet = Sheet()
    look_at_host(sheet)
    here = {fact.name: fact for fact in sheet.facts}
    for name in ("host.kernel", "host.architecture", "host.os", "cpu.threads", "ram.size_bytes", "clock.source"):
        assert there[name].value == here[name].value, name
    assert there["cpu.model"].kind == here["cpu.model"].kind
    stayed = names_of(before & parts())
    assert set(watched.interfaces) & stayed == set(os.listdir("/sys/class/net")) & stayed - {"lo"}
    assert all(os.path.exists(f"/sys/block/{name}") for name in watched.devices)


def test_counters_are_those_of_the_machine(client):
    """A processor is kept busy meanwhile: both samplers must see the same use of it."""
    before = parts()
    _, watched = look_at_client(client)
    far, near = FarSampler(client, watched, 0.3), Sampler(watched, 0.3)
    burner = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        near.start()
        far.start()
        wait_for(lambda: min(len(far._samples), len(near._samples)) >= 3)
        recordings = far.stop(), near.stop()
    finally:
        burner.kill()
        burner.wait()
    assert len(recordings[0].samples) >= 3
    theirs, ours = (one.usage() for one in recordings)
    assert sum(theirs.core_busy) >= 0.5, "the burner alone keeps one busy"
    assert len(theirs.core_busy) == len(ours.core_busy)
    stayed = names_of(before & parts())
    assert stayed
    assert theirs.nics.keys() & stayed == ours.nics.keys() & stayed
    assert theirs.disks.keys() & stayed == ours.disks.keys() & stayed
