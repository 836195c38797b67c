# SPDX-License-Identifier: Apache-2.0
"""A map from two hosts over ssh, from the command line: what is seen on them, what is refused, what is left."""

import gzip
import json
import os

import pytest

from ioatlas.load.fleet.keeper import Keeper
from tests.real.conftest import disk_directory, ioatlas
from tests.real.ssh_hosts import SSHD, SshHost, left_by
from tests.real.target_lab import Bench

pytestmark = [
    pytest.mark.needs("root"),
    pytest.mark.skipif(SSHD is None, reason="there is no sshd (openssh-server)"),
    pytest.mark.unmeasured,
    pytest.mark.long("fleet", "target"),
]
SWEEP = 'visits = 1\n[sweep]\nrw = "write"\nbs = "64k"\nsize = "8m"\ndirect = 0\n'


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    """Two hosts that see the same directory, and the file that names them. Writes the file anew with other keys."""
    place = tmp_path_factory.mktemp("hosts")
    made = [SshHost(place, name) for name in ("alpha", "beta")]

    def write(**others):
        blocks = []
        for one in made:
            host = one.host()
            told = {"name": host.name, "ssh": host.destination, "port": host.port, "identity": host.identity}
            told |= {"options": list(host.options), **others.get(host.name, {})}
            blocks.append("[[host]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in told.items()))
        (place / "hosts.toml").write_text("\n".join(blocks))
        return place / "hosts.toml"

    yield write
    for one in made:
        one.stop()


def campaign(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(SWEEP)
    return "--campaign", file, "--yes", "-o", tmp_path / "c"


@pytest.fixture
def left(own_temporary, monkeypatch):
    """What this test's campaigns left on hosts and here, whoever measures beside."""
    tokens = []

    def remembered(keeper, *told, **how):
        made(keeper, *told, **how)
        tokens.append(keeper.token)

    made = Keeper.__init__
    monkeypatch.setattr(Keeper, "__init__", remembered)

    def found():
        assert len(tokens) >= 2, "both hosts had a client"
        return [one for token in tokens for one in left_by(token)] + list(own_temporary.iterdir())

    return found


def test_a_map_from_two_hosts(hosts, tmp_path, left):
    with disk_directory() as place:
        done = ioatlas("map", place, "--clients", hosts(), *campaign(tmp_path))
        assert done.returncode == 0, done.stderr
        assert not list(place.iterdir())
    assert not left()
    for name in ("alpha", "beta"):
        raw = [path for path in (tmp_path / "c").rglob("telemetry.jsonl.gz") if path.parent.name == name]
        with gzip.open(raw[-1], "rt") as file:
            lines = [json.loads(line) for line in file]
        assert all(line["raw"]["/proc/stat"].startswith("cpu") for line in lines), "counters of the client"
        assert len(lines) >= 2


def test_a_host_that_sees_another_place_is_refused(hosts, tmp_path, left):
    with disk_directory() as place, disk_directory() as other:
        done = ioatlas("map", place, "--clients", hosts(beta={"path": str(other)}), *campaign(tmp_path))
        assert done.returncode == 2
        assert f"beta: {other}" in done.stderr
        assert "it is another one" in done.stderr
        assert not list(other.iterdir())
    assert not left()


@pytest.mark.needs("losetup")
def test_a_device_that_is_not_known_to_be_the_same_is_refused(hosts, tmp_path, left):
    with disk_directory() as place:
        file = place / "disk"
        file.write_bytes(os.urandom(1 << 20))
        os.truncate(file, 64 << 20)
        bench = Bench(place)
        device = bench.loop(file)
        try:
            typed = ("--destroy", str(64 << 20))
            done = ioatlas("map", device, "--clients", hosts(), *typed, *campaign(tmp_path))
            assert done.returncode == 2
            assert "no serial number or WWN" in done.stderr, done.stderr
        finally:
            bench.clear()
    assert not left()
