# SPDX-License-Identifier: Apache-2.0
"""Pods as clients: the real kubectl against an API server in small, whose pods are real processes with a real fio."""

import json
import os
import shutil
import subprocess
import tomllib

import pytest

from ioatlas.errors import IoAtlasError
from ioatlas.fio.process import find_fio
from ioatlas.fleet.client import LostClientError
from ioatlas.fleet.hosts import read_hosts
from ioatlas.fleet.opening import open_client
from tests.real.cluster import Cluster
from tests.real.conftest import ioatlas
from tests.real.ssh_hosts import BUSYBOX

pytestmark = [
    pytest.mark.long("fleet"),
    pytest.mark.skipif(os.geteuid() != 0, reason="pods need namespaces, and those need root"),
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl"),
    pytest.mark.skipif(BUSYBOX is None, reason="there is no busybox"),
    pytest.mark.unmeasured,
]


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    one = Cluster(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(one.kubeconfig))
    monkeypatch.setenv("HOME", str(tmp_path))  # kubectl keeps what it found out about a server
    # SPDY itself; newer clients wrap the same frames into a websocket first.
    monkeypatch.setenv("KUBECTL_PORT_FORWARD_WEBSOCKETS", "false")
    monkeypatch.setenv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false")
    yield one
    one.stop()


def test_pods_are_clients_and_leave_nothing(cluster, tmp_path):
    made, hosts = tmp_path / "bench.yaml", tmp_path / "hosts.toml"
    told = ioatlas("k8s", "manifest", "bench", "--pods", "2", "--storage-class", "fast", "--size", "5Gi", "-o", made)
    assert told.returncode == 0, told.stderr
    subprocess.run(["kubectl", "create", "--validate=false", "-f", made], check=True, capture_output=True)
    claims = [one["spec"] for (kind, _), one in cluster.objects.items() if kind == "persistentvolumeclaims"]
    assert [(one["storageClassName"], one["resources"]["requests"]["storage"]) for one in claims] == [
        ("fast", "5Gi")
    ] * 2
    told = ioatlas("k8s", "hosts", "bench", "--pods", "2", "-o", hosts)
    assert "2 clients on 2 nodes" in told.stdout, told.stderr
    assert [one["pod"] for one in tomllib.loads(hosts.read_text())["host"]] == ["default/bench-0", "default/bench-1"]

    clients = [open_client(host, find_fio().path) for host in read_hosts(hosts).hosts]
    try:
        assert [client.name for client in clients] == ["bench-0", "bench-1"]
        arguments = []
        for client in clients:
            facts = client.facts()
            assert (facts.fio_version, facts.os) == (find_fio().version, "linux")
            assert client.run(["false"]) is None
            address = client.serve()
            assert client.serve() == address
            arguments += [f"--client={address.host},{address.port}", "job.fio"]
        job = "[j]\nthread=1\nfilename=/data/x\nsize=1m\nrw=write\nwrite_bw_log=j\n"
        (tmp_path / "job.fio").write_text(job)
        command = [find_fio().path, "--output-format=json", "--output=out.json", *arguments]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=300)
        text = (tmp_path / "out.json").read_text()
        entries = json.loads(text[text.index("{") :])["client_stats"]
        assert [one["write"]["io_bytes"] for one in entries if one["jobname"] == "j"] == [1 << 20] * 2
        assert len(list(tmp_path.glob("j_bw*"))) == 2, "logs of both, each under its own address"
        for pod in cluster.pods.values():
            assert (pod.root / "data" / "x").stat().st_size == 1 << 20
        tunnels = [client._tunnel.pid for client in clients]
        cluster.delete("pods", "bench-1")
        with pytest.raises(IoAtlasError):
            clients[1].facts()
    finally:
        for client in clients:
            client.close()
    assert not [pid for pid in tunnels if os.path.exists(f"/proc/{pid}")]
    with pytest.raises(LostClientError, match="kubectl does not reach the pod"):
        clients[1].serve()

    told = ioatlas("k8s", "remove", "bench")
    assert "nothing is left" in told.stdout, told.stderr
    assert not cluster.objects
    assert not cluster.pods


def test_pods_that_do_not_start_are_told_of(cluster, tmp_path):
    told = ioatlas("k8s", "hosts", "bench", "--pods", "2", "--wait", "0", "-o", tmp_path / "hosts.toml")
    assert told.returncode == 1
    assert "0 of 2 pods are ready" in told.stderr
    assert "describe pods" in told.stderr
