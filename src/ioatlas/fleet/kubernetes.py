# SPDX-License-Identifier: Apache-2.0
"""Clients in the pods of a Kubernetes cluster: the manifest that makes them, and each of them through `kubectl`.

In each pod fio's server listens on the pod's own loopback. `kubectl port-forward` reaches it with the user's rights to
the cluster; nothing in the cluster's network can.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.fleet.client import Address, ClientFacts, ClockOffset, LostClientError
from ioatlas.fleet.clock import ROUND_TRIPS, Exchange, offset_of
from ioatlas.fleet.hosts import FIO_PORT, Host
from ioatlas.fleet.shell import Shell, start_lasting

LABEL = "app.kubernetes.io/instance"
FORWARD_SECONDS = 20.0
ASK_SECONDS = 60.0
_NEAR = ipaddress.ip_address("127.83.0.1")
"""The first of the loopback addresses that clients get here: logs come back under the address, so each has its own."""
_numbers = iter(range(1 << 16))
_STOP = """
for place in /proc/[0-9]*; do
  pid=${place#/proc/}
  { read -r comm < "$place/comm"; } 2>/dev/null || continue
  [ "$pid" != 1 ] && [ "$comm" = fio ] && kill -KILL "$pid"
done; true
"""


@dataclass(frozen=True)
class Pods:
    """What is asked of the cluster.

    storage_class: '' for the cluster's default. claim: an existing claim that all pods share, in the place of one each.
    everywhere: a pod on each node that the selector takes (DaemonSet), in the place of `count` pods.
    hours: after which a Job ends by itself.
    """

    name: str
    count: int = 1
    namespace: str = "default"
    image: str = "ioatlas:latest"
    storage_class: str = ""
    claim: str = ""
    size: str = "100Gi"
    path: str = "/data"
    selector: Mapping[str, str] = field(default_factory=dict)
    cpu: str = ""
    memory: str = ""
    everywhere: bool = False
    hours: float = 24.0


def manifest(pods: Pods) -> dict[str, Any]:
    """A Job or DaemonSet for `kubectl apply`."""
    labels = {"app.kubernetes.io/name": "ioatlas", LABEL: pods.name}
    meta = {"name": pods.name, "namespace": pods.namespace, "labels": labels}
    template: dict[str, Any] = {"metadata": {"labels": labels}, "spec": _pod(pods, labels)}
    if pods.everywhere:
        spec: dict[str, Any] = {"selector": {"matchLabels": labels}, "template": template}
        return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta, "spec": spec}
    template["spec"]["restartPolicy"] = "Never"
    spec = {
        "completions": pods.count,
        "parallelism": pods.count,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "activeDeadlineSeconds": max(60, round(pods.hours * 3600)),
        "ttlSecondsAfterFinished": 60,
        "template": template,
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def _pod(pods: Pods, labels: Mapping[str, str]) -> dict[str, Any]:
    limits = {name: value for name, value in (("cpu", pods.cpu), ("memory", pods.memory)) if value}
    container: dict[str, Any] = {
        "name": "fio",
        "image": pods.image,
        "command": ["fio", f"--server=127.0.0.1,{FIO_PORT}"],
        "workingDir": "/tmp",  # noqa: S108 - of the pod
        "volumeMounts": [{"name": "data", "mountPath": pods.path}, {"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    if limits:
        container["resources"] = {"requests": limits, "limits": limits}
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65534,
            "runAsGroup": 65534,
            "fsGroup": 65534,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **({"nodeSelector": dict(pods.selector)} if pods.selector else {}),
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {LABEL: labels[LABEL]}},
            }
        ],
        "containers": [container],
        "volumes": [{"name": "data", **_volume(pods, labels)}, {"name": "tmp", "emptyDir": {}}],
    }


def _volume(pods: Pods, labels: Mapping[str, str]) -> dict[str, Any]:
    """One claim for each pod, which goes with the pod; or the one that is there."""
    if pods.claim:
        return {"persistentVolumeClaim": {"claimName": pods.claim}}
    spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": pods.size}}}
    if pods.storage_class:
        spec["storageClassName"] = pods.storage_class
    return {"ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": dict(labels)}, "spec": spec}}}


def as_yaml(value: Any, indent: int = 0) -> str:
    """Plain data as YAML; texts are quoted as JSON, which YAML reads alike."""
    pad = "  " * indent
    if isinstance(value, Mapping) and value:
        return "".join(f"{pad}{key}:{_nested(one, indent)}" for key, one in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{pad}-{_nested(one, indent)}" for one in value)
    return f"{pad}{json.dumps(value)}\n"


def _nested(value: Any, indent: int) -> str:
    if isinstance(value, (Mapping, list)) and value:
        return "\n" + as_yaml(value, indent + 1)
    return f" {json.dumps(value)}\n"


# -- the cluster -------------------------------------------------------------------------------------------------------


def kubectl(*words: str, seconds: float = ASK_SECONDS) -> str:
    """What kubectl prints. Raises IoAtlasError with what it said."""
    if shutil.which("kubectl") is None:
        raise UsageError("kubectl is not installed", remedy="install it, and log in to the cluster")
    try:
        done = subprocess.run(
            ["kubectl", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            errors="replace",
        )
    except subprocess.TimeoutExpired as error:
        raise IoAtlasError(
            f"the cluster does not answer within {seconds:g} s", where="kubectl", remedy="see `kubectl get pods`"
        ) from error
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise IoAtlasError(said[0], where=f"kubectl {words[0]}", remedy="see whether `kubectl get pods` works")
    return done.stdout


def running(name: str, namespace: str) -> tuple[dict[str, str], int]:
    """{pod: its node} of the pods that are ready, and how many there are in all."""
    told = json.loads(kubectl("get", "pods", "-n", namespace, "-l", f"{LABEL}={name}", "-o", "json"))
    items = told.get("items", [])
    ready = {
        item["metadata"]["name"]: item.get("spec", {}).get("nodeName", "")
        for item in items
        if any(
            one.get("type") == "Ready" and one.get("status") == "True"
            for one in item.get("status", {}).get("conditions", [])
        )
    }
    return dict(sorted(ready.items())), len(items)


def ready_pods(name: str, namespace: str, *, seconds: float, count: int = 0) -> dict[str, str]:
    """The same, once all are ready. count: so many, when that is known. Raises IoAtlasError."""
    end = time.monotonic() + seconds
    while True:
        ready, there = running(name, namespace)
        if there and len(ready) == there and len(ready) >= count:
            return ready
        if time.monotonic() > end:
            raise IoAtlasError(
                f"{len(ready)} of {max(there, count)} pods are ready after {seconds:g} s",
                where=f"{namespace}/{name}",
                remedy=f"see `kubectl -n {namespace} describe pods -l {LABEL}={name}`",
            )
        time.sleep(1)


def remove(name: str, namespace: str) -> tuple[str, ...]:
    """Delete Job, DaemonSet, pods and claims of this name; what is still there afterwards."""
    chosen = ("-n", namespace, "-l", f"{LABEL}={name}")
    kinds = "jobs,daemonsets,pods,persistentvolumeclaims"
    kubectl("delete", kinds, *chosen, "--wait=true", f"--timeout={ASK_SECONDS:g}s", seconds=2 * ASK_SECONDS)
    left = kubectl("get", kinds, *chosen, "-o", "name")
    return tuple(left.split())


class KubernetesClient:
    """One pod; the host's destination is its namespace/name."""

    def __init__(self, host: Host) -> None:
        self.name = host.name
        namespace, _, self._pod = host.destination.rpartition("/")
        self._where = ["-n", namespace or "default"]
        self._tunnel: subprocess.Popen[str] | None = None
        self._address: Address | None = None
        if shutil.which("kubectl") is None:
            raise UsageError(
                "kubectl is not installed", where=host.name, remedy="install it, and log in to the cluster"
            )
        self.shell = Shell(self.name, lambda: ["kubectl", *self._where, "exec", "-i", self._pod, "--", "sh"])

    def facts(self) -> ClientFacts:
        return self.shell.facts("fio")

    def clock(self) -> ClockOffset | None:
        exchanges = []
        for _ in range(ROUND_TRIPS // 2):
            sent = time.time()
            said = self.run(["date", "+%s.%N"]) or ""
            whole, _, part = said.strip().partition(".")
            if whole.isdecimal() and part.isdecimal():
                exchanges.append(Exchange(sent, float(said), time.time()))
        return offset_of(exchanges)

    def serve(self) -> Address:
        if self._address is not None and not self.trouble():
            return self._address
        self._end_tunnel()
        near = str(_NEAR + next(_numbers))
        self._tunnel = tunnel = start_lasting(
            ["kubectl", *self._where, "port-forward", f"pod/{self._pod}", f":{FIO_PORT}", f"--address={near}"]
        )
        watchdog = threading.Timer(FORWARD_SECONDS, tunnel.kill)
        watchdog.start()
        assert tunnel.stdout is not None
        said = tunnel.stdout.readline()  # Forwarding from 127.83.0.1:40001 -> 8765
        watchdog.cancel()
        port = said.partition(" -> ")[0].rpartition(":")[2]
        if not port.isdecimal():
            tunnel.kill()
            assert tunnel.stderr is not None
            why = tunnel.stderr.read().strip().splitlines()[-1:] or ["it says nothing"]
            raise LostClientError(
                f"kubectl does not reach the pod: {why[0]}", where=self.name, remedy="see `kubectl get pods`"
            )
        for pipe in (tunnel.stdout, tunnel.stderr):  # it tells each connection; nobody may wait for us to read that
            threading.Thread(target=_drain, args=(pipe,), daemon=True).start()
        self._address = Address(host=near, port=int(port))
        return self._address

    def run(self, command: Sequence[str], *, seconds: float = 10.0) -> str | None:
        return self.shell.run(command, seconds=seconds)

    def hold(self, path: str) -> str | None:
        """Its name: the pod's fio is no root's, and whoever owns its volume can harm nothing else through it."""
        return path

    def trouble(self) -> str:
        return "kubectl lost its pod" if self._tunnel is not None and self._tunnel.poll() is not None else ""

    def stop_load(self) -> None:
        """The server is the pod's first process and stays; all others of fio end."""
        with contextlib.suppress(IoAtlasError):
            self.shell.answer(_STOP)

    def close(self) -> None:
        if self._tunnel is not None:
            self.stop_load()
        self._end_tunnel()

    def _end_tunnel(self) -> None:
        tunnel, self._tunnel, self._address = self._tunnel, None, None
        if tunnel is not None:
            tunnel.kill()
            tunnel.wait()


def _drain(pipe: Any) -> None:
    with contextlib.suppress(OSError, ValueError):
        for _ in pipe:
            pass
