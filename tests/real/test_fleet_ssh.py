# SPDX-License-Identifier: Apache-2.0
"""Clients over ssh, against real servers: served, measured, cut off, refused, and gone without a trace."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from ioatlas.load.fio.process import find_fio
from ioatlas.load.fleet import keeper
from ioatlas.load.fleet.client import LostClientError, sweep
from ioatlas.load.fleet.executor import check_versions, open_client
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from tests.real.ssh_hosts import BUSYBOX, SSHD, SshHost, descendants, gone, left_by, name_of, poor_path
from tests.real.target_lab import wait_for

pytestmark = [
    pytest.mark.needs("root"),
    pytest.mark.skipif(SSHD is None, reason="there is no sshd (openssh-server)"),
    pytest.mark.unmeasured,
]
FIO = find_fio().path


@pytest.fixture(scope="module")
def sshd(tmp_path_factory):
    one = SshHost(tmp_path_factory.mktemp("ssh"), "alpha")
    yield one
    one.stop()


@pytest.fixture
def opened():
    """Opens clients and closes them."""
    clients = []

    def open_(host):
        clients.append(open_client(host, FIO))
        return clients[-1]

    yield open_
    for one in clients:
        one.close()


def token_of(client):
    return client._keeper.token


def test_a_client_serves_and_leaves_nothing(sshd, opened):
    client = opened(sshd.host())
    facts = client.facts()
    assert facts.fio_version == find_fio().version
    assert (facts.os, facts.cores) == ("linux", os.sysconf("SC_NPROCESSORS_ONLN"))
    assert facts.ram_bytes == pytest.approx(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), rel=0.01)
    clock = client.clock()
    assert abs(clock.offset_ms) <= clock.error_ms, "it is the same clock"
    address = client.serve()
    assert client.serve() == address, "it runs already"
    assert address.socket.stat().st_mode & 0o77 == 0, "nobody else of this machine gets through"
    assert client.run(["echo", "it's", "$HOME `x`"]) == "it's $HOME `x`\n"
    assert client.run(["false"]) is None
    assert not client.trouble()
    near, token = address.socket.parent, token_of(client)
    ours = [pid for pid in descendants(os.getpid()) if name_of(pid) == "ssh"]
    assert left_by(token)
    assert ours
    client.close()
    client.close()
    assert not near.exists()
    assert not [pid for pid in ours if Path(f"/proc/{pid}").exists()]
    gone(token)


def test_a_server_that_died_is_seen_and_started_again(sshd, opened):
    client = opened(sshd.host())
    client.serve()
    os.kill(client._keeper.server.pid, signal.SIGKILL)
    begin = time.monotonic()
    while client.trouble() != "its fio server ended":
        assert time.monotonic() - begin < 60
        time.sleep(0.05)
    assert client.serve().socket.exists()
    assert not client.trouble()


def test_loads_on_two_hosts_end_with_their_connection(sshd, opened, tmp_path):
    """One fio of ours drives both servers through their tunnels; then one is cut off in the middle of a second load."""
    other = SshHost(tmp_path, "beta")
    try:
        clients = [opened(one.host()) for one in (sshd, other)]
        arguments = []
        for number, client in enumerate(clients):
            (tmp_path / f"c{number}").symlink_to(client.serve().socket)
            arguments += [f"--client=sock:c{number}", "job.fio"]
        job = "[j]\nioengine=null\nsize=1g\nrate_iops=50\ntime_based=1\nwrite_bw_log=j\nlog_avg_msec=100\nruntime="
        command = [FIO, "--output-format=json", "--output=out.json", *arguments]
        (tmp_path / "job.fio").write_text(f"{job}1\n")
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=300)
        text = (tmp_path / "out.json").read_text()
        told = json.loads(text[text.index("{") :])["client_stats"]
        assert [one["error"] for one in told if one["jobname"] == "j"] == [0, 0]
        assert {path.name for path in tmp_path.glob("j_bw*")} == {"j_bw.1.log.c0", "j_bw.1.log.c1"}

        (tmp_path / "job.fio").write_text(f"{job}60\n")
        load = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: len(left_by(token_of(clients[1]))) >= 3)  # server, its connection and its job
        other.cut()
        begin = time.monotonic()
        while not clients[1].trouble():
            assert time.monotonic() - begin < 60
            time.sleep(0.02)
        gone(token_of(clients[1]))
        assert not clients[0].trouble()
        clients[0].stop_load()
        load.wait(timeout=300)
        assert len(left_by(token_of(clients[0]))) <= 2, "its keeper's directory, and its lease at most"
        assert clients[0].serve().socket.exists(), "it can serve again"
        with pytest.raises(LostClientError):
            clients[1].serve()
    finally:
        other.stop()


def test_a_controller_that_is_killed_leaves_nothing_running(sshd, tmp_path):
    script = (
        "import sys; from ioatlas.load.fleet.executor import open_client; from ioatlas.load.fleet.hosts import Host\n"
        "import concurrent.futures, json, time; told = json.loads(sys.argv[1])\n"
        "told['options'] = tuple(told['options']); host = Host(**told)\n"
        "with concurrent.futures.ThreadPoolExecutor(1) as pool:\n"
        "    client = pool.submit(open_client, host, 'fio').result()\n"
        "print(client._keeper.token, client.serve(), flush=True); time.sleep(600)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, json.dumps(asdict(sshd.host()))], stdout=subprocess.PIPE, text=True
    )
    try:
        token, address = process.stdout.readline().split()
        time.sleep(0.5)
        assert Path(address).is_socket(), "it outlived the thread that made it"
        assert len(left_by(token)) >= 2
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    gone(token)
    assert Path(address).parent.exists(), "what a kill leaves here is a socket's name"
    sweep()
    assert not Path(address).parent.exists()


def test_a_link_that_is_down_ends_the_lease(sshd, opened, monkeypatch):
    """Both ends live and hear nothing of each other: as with a cable pulled."""
    monkeypatch.setattr(keeper, "LEASE_SECONDS", 4)
    monkeypatch.setattr(keeper, "SILENT_SECONDS", 2.0)
    client = opened(sshd.host())
    client.serve()
    token = token_of(client)
    for pid in sshd.sessions():
        os.kill(pid, signal.SIGSTOP)
    try:
        begin = time.monotonic()
        while not client.trouble():
            assert time.monotonic() - begin < 60
            time.sleep(0.05)
        assert "has not answered" in client.trouble()
        gone(token)
    finally:
        for pid in sshd.sessions():
            os.kill(pid, signal.SIGCONT)


@pytest.mark.long("fleet")
@pytest.mark.parametrize(
    ("fault", "said", "remedy"),
    [
        ("wrong key", "does not let us in", "ssh root@127.0.0.1 true"),
        ("changed host key", "host key has changed", "ssh-keygen -R"),
        ("unknown host key", "host key is not known", "by hand"),
        ("no server", "no ssh server answers", "start sshd"),
        ("no name", "cannot be resolved", "check it"),
    ],
)
def test_what_keeps_us_out_is_named(sshd, tmp_path, own_temporary, fault, said, remedy):
    told = {}
    if fault in ("wrong key", "changed host key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    if fault == "wrong key":
        told["identity"] = str(tmp_path / "key")
    host = sshd.host(**told)
    record = asdict(host)
    if fault == "changed host key":
        sshd.trust((tmp_path / "key.pub").read_text())
    elif fault == "unknown host key":
        (sshd.place / "known").write_text("")
    elif fault == "no server":
        record["port"] = 1
    elif fault == "no name":
        record["destination"] = "root@no-such-host.invalid"
    try:
        with pytest.raises(LostClientError) as caught:
            open_client(type(host)(**{**record, "options": tuple(record["options"])}), FIO)
    finally:
        sshd.trust()
    assert said in caught.value.what
    assert remedy in caught.value.remedy
    assert caught.value.where == "alpha"
    assert not list(own_temporary.iterdir())


def test_a_public_address_is_refused(sshd):
    with pytest.raises(RefusedError, match="no private address"):
        open_client(sshd.host(listen="8.8.8.8"), FIO)


@pytest.fixture
def poor(tmp_path):
    """A host with busybox and nothing else."""
    if BUSYBOX is None:
        pytest.skip("there is no busybox")
    path = poor_path(tmp_path)
    one = SshHost(tmp_path, "poor", path=path)
    yield one, path
    one.stop()


@pytest.mark.long("fleet")
def test_a_missing_fio_is_named(poor, opened):
    host, _ = poor
    bare = opened(host.host())
    facts = bare.facts()
    assert (facts.fio_version, facts.os) == ("", "linux")
    assert bare.clock().error_ms < 1000
    with pytest.raises(UsageError, match="fio is not installed on poor"):
        check_versions(find_fio().version, {"poor": facts})
    with pytest.raises(IoAtlasError, match="did not start"):
        bare.serve()


@pytest.mark.long("fleet")
def test_another_version_is_named(poor, opened):
    host, path = poor
    (path / "fio").write_text("#!/bin/sh\necho fio-3.28\n")
    (path / "fio").chmod(0o755)
    facts = opened(host.host()).facts()
    with pytest.raises(UsageError, match=r"fio-3\.28 on poor"):
        check_versions(find_fio().version, {"poor": facts})


@pytest.mark.long("fleet")
def test_a_full_disk_is_named(tmp_path, opened):
    fill = "for d in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o size=4k none $d; cat /dev/zero >$d/x; done; "
    place = Path("/run") / f"ioatlas-test-{os.getpid()}"
    place.mkdir()
    try:
        host = SshHost(place, "full", prefix=["unshare", "-m", "sh", "-c", fill + 'exec "$0" "$@"'])
        try:
            with pytest.raises(LostClientError, match="no room for a private directory"):
                opened(host.host())
        finally:
            host.stop()
    finally:
        subprocess.run(["rm", "-rf", place], check=True)
