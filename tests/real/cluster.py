# SPDX-License-Identifier: Apache-2.0
"""A cluster in small for the real kubectl: an API server that answers what it asks, and pods that are real processes.

Each pod is a root file system with fio and busybox in namespaces of its own: network, processes, mounts.
"""

import contextlib
import json
import os
import shutil
import stat
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.real.bare_host import BareHost
from tests.real.spdy import Session
from tests.real.ssh_hosts import APPLETS, BUSYBOX

KINDS = {
    "v1": {"pods": "Pod", "persistentvolumeclaims": "PersistentVolumeClaim"},
    "batch/v1": {"jobs": "Job"},
    "apps/v1": {"daemonsets": "DaemonSet"},
}
VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


class Pod(BareHost):
    """One pod. Its loopback is its own, so every pod has the same port there."""

    def __init__(self, place, command, path):
        self.command, self.path = command, path
        super().__init__(place)

    def start(self):
        for applet in APPLETS.split():
            (self.root / "bin").mkdir(exist_ok=True)
            link = self.root / "bin" / applet
            if not link.exists():
                shutil.copy(BUSYBOX, link) if applet == "sh" else link.symlink_to("sh")
        for folder in ("proc", "tmp", "dev", self.path.lstrip("/")):
            (self.root / folder).mkdir(exist_ok=True)
        os.mknod(self.root / "dev" / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        program = [self._program, *self.command[1:]] if self.command[0] == "fio" else self.command
        setup = f'ip link set lo up; mount -t proc proc {self.root}/proc; exec chroot {self.root} "$@"'
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", setup, "sh", *program],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        end = time.monotonic() + 300
        while time.monotonic() < end:
            if self._enter("sh", "-c", "cat /proc/1/comm", stdout=subprocess.PIPE).communicate()[0] == b"fio\n":
                return
            time.sleep(0.05)
        raise AssertionError("the pod does not start")

    @property
    def first(self):
        """The pid here of its first process."""
        return Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0]

    def _enter(self, *command, **pipes):
        try:
            namespaces = ["nsenter", "-t", self.first, "-m", "-p", "-n", "-r", "-w"]
        except IndexError:
            namespaces = ["false"]
        environment = {"PATH": f"/bin:{os.path.dirname(self._program)}"}
        return subprocess.Popen([*namespaces, *command], env={**os.environ, **environment}, **pipes)

    def exec(self, command):
        return self._enter(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def connect(self, port):
        return subprocess.Popen(
            ["nsenter", "-t", self.first, "-n", BUSYBOX, "nc", "127.0.0.1", str(port)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip


class Cluster:
    """The API server, with what was created in it. `kubeconfig` leads kubectl there."""

    def __init__(self, place):
        self.place = Path(place)
        self.objects, self.pods, self.processes = {}, {}, []
        cluster = self

        class Handler(_Handler):
            owner = cluster

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.server.server_port}"}}],
            "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {}}],
        }  # fmt: skip
        self.kubeconfig = self.place / "config"
        self.kubeconfig.write_text(json.dumps(config))

    def create(self, made):
        """What the controllers of a cluster would do with it: pods, and a claim for each."""
        name, namespace, kind = made["metadata"]["name"], made["metadata"]["namespace"], made["kind"].lower() + "s"
        made["metadata"]["uid"] = name
        self.objects[kind, name] = made
        template = made["spec"]["template"]
        container = template["spec"]["containers"][0]
        for number in range(made["spec"].get("completions", 1)):
            pod = f"{name}-{number}"
            place = self.place / pod
            place.mkdir()
            self.pods[pod] = Pod(place, container["command"], container["volumeMounts"][0]["mountPath"])
            meta = {"name": pod, "namespace": namespace, "uid": pod, **template["metadata"]}
            self.objects["pods", pod] = {
                "apiVersion": "v1", "kind": "Pod", "metadata": meta,
                "spec": {**template["spec"], "nodeName": f"node{number % 2}"},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
            }  # fmt: skip
            for volume in template["spec"]["volumes"]:
                if "ephemeral" in volume:
                    claim = volume["ephemeral"]["volumeClaimTemplate"]
                    meta = {**claim["metadata"], "name": f"{pod}-{volume['name']}", "namespace": namespace, "uid": pod}
                    self.objects["persistentvolumeclaims", meta["name"]] = {
                        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": claim["spec"],
                    }  # fmt: skip

    def delete(self, kind, name):
        gone = self.objects.pop((kind, name), None)
        if kind == "pods" and name in self.pods:
            self.pods.pop(name).stop()
        if kind in ("jobs", "daemonsets"):
            for owned, pod in list(self.objects):
                if pod.startswith(f"{name}-"):
                    self.delete(owned, pod)
        return gone

    def stop(self):
        for pod in self.pods.values():
            pod.stop()
        for process in self.processes:
            process.kill()
            process.wait()
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _json(self, value, code=200):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _missing(self):
        self._json({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}, 404)

    def _parts(self):
        path = urlsplit(self.path)
        return [part for part in path.path.split("/") if part], parse_qs(path.query)

    def do_GET(self):
        self._get(*self._parts())

    def _get(self, parts, query):
        if parts == ["api"]:
            return self._json({"kind": "APIVersions", "versions": ["v1"]})
        if parts == ["apis"]:
            groups = [one.split("/") for one in KINDS if "/" in one]
            told = [
                {"name": group, "versions": [{"groupVersion": f"{group}/{v}", "version": v}],
                 "preferredVersion": {"groupVersion": f"{group}/{v}", "version": v}} for group, v in groups
            ]  # fmt: skip
            return self._json({"kind": "APIGroupList", "apiVersion": "v1", "groups": told})
        group = "/".join(parts[1:])
        if group in KINDS:
            found = [
                {"name": name, "singularName": kind.lower(), "namespaced": True, "kind": kind, "verbs": VERBS}
                for name, kind in KINDS[group].items()
            ]
            return self._json({"kind": "APIResourceList", "groupVersion": group, "resources": found})
        if "namespaces" not in parts:
            return self._missing()
        kind, rest = parts[parts.index("namespaces") + 2], parts[parts.index("namespaces") + 3 :]
        if self.headers.get("Upgrade", "").startswith("SPDY") and rest[1:] in (["exec"], ["portforward"]):
            return self._upgrade(rest[0], rest[1], query)
        if rest:
            found = self.owner.objects.get((kind, rest[0]))
            return self._json(found) if found else self._missing()
        wanted = dict(one.split("=") for one in query.get("labelSelector", [""])[0].split(",") if one)
        field = dict(one.split("=") for one in query.get("fieldSelector", [""])[0].split(",") if one)
        items = [
            one for (of, name), one in self.owner.objects.items()
            if of == kind and wanted.items() <= one["metadata"].get("labels", {}).items()
            and field.get("metadata.name", name) == name
        ]  # fmt: skip
        group = "/".join(parts[1 : parts.index("namespaces")])
        return self._json({"kind": f"{KINDS[group][kind]}List", "apiVersion": group, "metadata": {}, "items": items})

    def do_POST(self):
        parts, query = self._parts()
        if parts[-1] in ("exec", "portforward"):
            self._upgrade(parts[-2], parts[-1], query)
            return
        made = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.owner.create(made)
        self._json(made, 201)

    def do_DELETE(self):
        parts, _ = self._parts()
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        gone = self.owner.delete(parts[-2], parts[-1])
        self._json(gone) if gone else self._missing()

    # -- streams -----------------------------------------------------------------------------------------------

    def _upgrade(self, pod, what, query):
        if pod not in self.owner.pods:
            self._missing()
            return
        self.send_response(101)
        self.send_header("Connection", "Upgrade")
        self.send_header("Upgrade", "SPDY/3.1")
        offered = [one.strip() for one in self.headers.get("X-Stream-Protocol-Version", "").split(",")]
        known = "portforward.k8s.io" if what == "portforward" else "v4.channel.k8s.io"
        self.send_header("X-Stream-Protocol-Version", known if known in offered else offered[0])
        self.end_headers()
        self.wfile.flush()
        streams = _Exec if what == "exec" else _Forward
        streams(self.owner, self.owner.pods[pod], self, query).session.run()
        self.close_connection = True


class _Exec:
    """One command in a pod: streams error, stdin, stdout, stderr."""

    def __init__(self, cluster, pod, handler, query):
        self.session = Session(handler.rfile, handler.wfile, self.opened, self.data)
        self._cluster, self._pod, self._command = cluster, pod, query["command"]
        self._wanted = {"error", *(name for name in ("stdin", "stdout", "stderr") if query.get(name) == ["true"])}
        self._streams, self._process = {}, None

    def opened(self, number, headers):
        self._streams[headers["streamtype"]] = number
        if self._streams.keys() >= self._wanted and self._process is None:
            self._process = self._pod.exec(self._command)
            self._cluster.processes.append(self._process)
            threading.Thread(target=self._finish, daemon=True).start()

    def data(self, number, data, end):
        if self._process is None or number != self._streams.get("stdin"):
            return
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
            if end:
                self._process.stdin.close()
        except (OSError, ValueError):
            pass

    def _finish(self):
        pumps = [
            threading.Thread(target=self._pump, args=(name, getattr(self._process, name)))
            for name in ("stdout", "stderr")
        ]
        for pump in pumps:
            pump.start()
        for pump in pumps:
            pump.join()
        code = self._process.wait()
        status = {"metadata": {}, "status": "Success"}
        if code:
            cause = {"reason": "ExitCode", "message": str(code)}
            status = {"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": [cause]}}
        with contextlib.suppress(ValueError, OSError):  # the client may have gone meanwhile
            self.session.write(self._streams["error"], json.dumps(status).encode(), end=True)

    def _pump(self, name, pipe):
        while piece := pipe.read1(1 << 16):
            self.session.write(self._streams[name], piece)
        self.session.write(self._streams[name], b"", end=True)


class _Forward:
    """Connections to ports of a pod: a stream for errors and one for data, each."""

    def __init__(self, cluster, pod, handler, query):
        self.session = Session(handler.rfile, handler.wfile, self.opened, self.data)
        self._cluster, self._pod, self._relays, self._errors = cluster, pod, {}, {}

    def opened(self, number, headers):
        if headers["streamtype"] == "error":
            self._errors[headers["requestid"]] = number
            return
        relay = self._pod.connect(headers["port"])
        self._cluster.processes.append(relay)
        self._relays[number] = relay
        threading.Thread(target=self._pump, args=(number, headers["requestid"], relay), daemon=True).start()

    def data(self, number, data, end):
        relay = self._relays.get(number)
        if relay is None:
            return
        try:
            relay.stdin.write(data)
            relay.stdin.flush()
            if end:
                relay.kill()
        except (OSError, ValueError):
            pass

    def _pump(self, number, request, relay):
        while piece := relay.stdout.read1(1 << 16):
            self.session.write(number, piece)
        self.session.write(number, b"", end=True)
        self.session.write(self._errors[request], b"", end=True)
