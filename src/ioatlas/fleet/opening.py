# SPDX-License-Identifier: Apache-2.0
"""From a host to its client, by the way in which it is reached."""

from __future__ import annotations

from ioatlas.errors import UsageError
from ioatlas.fleet.bare import BareClient
from ioatlas.fleet.client import Client
from ioatlas.fleet.hosts import Host
from ioatlas.fleet.local import LocalClient
from ioatlas.fleet.ssh import SshClient


def open_client(host: Host, fio: str, *, bring_fio: bool = False) -> Client:
    """The client of a host; nothing runs on it yet.

    fio: ours, which a client of this machine runs. bring_fio: put it on a host that has none. Raises IoAtlasError.
    """
    if host.kind in ("local", "netns"):
        return LocalClient(host, fio)
    if host.kind == "ssh":
        return SshClient(host, fio, bring=bring_fio)
    if host.kind == "fio":
        return BareClient(host, fio)
    raise UsageError("pods are no longer reached from outside", where=host.name, remedy="start ioatlas in a pod")
