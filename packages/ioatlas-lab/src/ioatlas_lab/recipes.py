# SPDX-License-Identifier: Apache-2.0
"""What the recipes of scenarios are put together from: programs, settings, servers on a socket, the registry."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ioatlas.errors import UsageError
from ioatlas.model.words import words
from ioatlas_lab.scenario import Check, Recipe, Requirement, Scenario, Serve, Setting

NBDKIT = Requirement("nbdkit", "nbdkit")
PYTHON_PLUGIN = Requirement("nbdkit-python-plugin", "nbdkit-plugin-python")
STORAGE_DAEMON = Requirement("qemu-storage-daemon", "qemu-system-common")
FIO = Requirement("fio", "fio")

SOCKET = "{dir}/disk.sock"
URI = "nbd+unix:///?socket={dir}/disk.sock"
NAMED_URI = "nbd+unix:///disk?socket={dir}/disk.sock"
SIZE = 256 << 20
REST = "half of each block is zeros, which compress to a little more than nothing; random bytes grow by their codes"
PATH_NOTE = "the path over the socket adds 0.02 to 0.3 ms, measured on the same path without delay"

REGISTRY: dict[str, Scenario] = {}


Settings = Mapping[str, Setting]
Build = Callable[[Settings], Recipe]


def scenario(
    name: str, limit: str, requires: tuple[Requirement, ...], settings: Settings, *, needs_root: bool = False
) -> Callable[[Build], Build]:
    """Enter a function as a row of the registry. What it makes stands in its docstring."""

    def enter(build: Build) -> Build:
        summary = " ".join((build.__doc__ or "").split()).removesuffix(".")
        REGISTRY[name] = Scenario(name, limit, summary, requires, settings, build, needs_root)
        return build

    return enter


def whole(settings: Mapping[str, Setting], name: str) -> int:
    """An integer setting."""
    return int(settings[name])


def number(settings: Mapping[str, Setting], name: str) -> float:
    """A setting as a number."""
    return float(settings[name])


def choice(settings: Settings, name: str, *known: str) -> str:
    """The word that was chosen. Raises UsageError for another one."""
    if settings[name] not in known:
        raise UsageError(f"{name} cannot be {settings[name]!r}", remedy=f"use {' or '.join(known)}")
    return str(settings[name])


def per(amount: float, time: float) -> float:
    """Rate of something that takes this long; without end where it takes no time."""
    return amount / time if time else math.inf


def nbdkit(
    line: str, place: str = SOCKET, name: str = "disk", *, node: int = 0, environment: tuple[tuple[str, str], ...] = ()
) -> Serve:
    """Start nbdkit with 64 threads a connection unless `line` says otherwise. place: a socket's path, or HOST:PORT.

    As a daemon, because nbdkit 1.32 in the foreground ends with the program that started it (it asks for a signal at
    its parent's death).
    """
    on_socket = place.startswith("{dir}")
    host, _, port = place.rpartition(":")
    address = ("--unix", place) if on_socket else ("--ipaddr", host, "--port", port)
    argv = ("nbdkit", *address, "--pidfile", f"{{dir}}/{name}.pid", "--threads", "64", *words(line))
    inside = not node and not on_socket
    return Serve(name, argv, place, inside=inside, node=node, daemon=True, environment=environment)


def check(
    quantity: str, options: str, settle: float = 3.0, seconds: float = 3.0, near: float = 0.01, **more: Any
) -> Check:
    """How a quantity is measured. options: of fio, NAME=VALUE with blanks between. settle: seconds of load before the
    window; near: tolerance, relative; more: other fields of a `Check`, whose kind follows from the quantity's name
    unless it is given.
    """
    usual = {"iops": "iops", "ms": "latency"}.get(quantity.rpartition("_")[2], "bw")
    given = {"kind": usual, "settle_seconds": settle, "seconds": seconds, "tolerance": near, **more}
    return Check(quantity, words(options), first=words(given.pop("first", "")), **given)


def each_way(quantity: str, options: str, *more: float, **fields: Any) -> tuple[Check, ...]:
    """A check of sequential reads and one of writes. quantity: may hold {way}; more, fields: as of `check`."""
    return tuple(check(quantity.format(way=way), f"rw={way} {options}", *more, **fields) for way in ("read", "write"))


def read_latency(quantity: str, sleep_ms: float, options: str = "", *, without_delay: str = "") -> Check:
    """A check of small random reads, one in flight, that rest on a sleep."""
    rest = {"sleep_ms": sleep_ms, "without_delay": without_delay, "tolerance_absolute": 0.3}
    return check(quantity, f"rw=randread bs=4k iodepth=1 {options}", 0, 3, 0.02, **rest)


def delayed(size_bytes: Setting, milliseconds: int, filters: str = "--filter=delay") -> str:
    """Words for nbdkit: memory behind its delay filter, whose reads and writes wait as long."""
    return f"{filters} memory {size_bytes} rdelay={milliseconds}ms wdelay={milliseconds}ms"


def throttled_null(size_bytes: Setting, **limits: int) -> Serve:
    """QEMU's storage daemon throttling a device that keeps no data. limits: iops_total=2000 and so on, as its throttle
    group names them.
    """
    rules = "".join(f",x-{name.replace('_', '-')}={value}" for name, value in limits.items())
    group = ("--object", f"throttle-group,id=limit{rules}")
    raw = ("--blockdev", f"driver=null-co,node-name=raw,size={size_bytes}")
    disk = ("--blockdev", "driver=throttle,node-name=disk,throttle-group=limit,file=raw")
    return Serve("disk", ("qemu-storage-daemon", *group, *raw, *disk, *storage_export()), SOCKET)


def storage_export() -> tuple[str, ...]:
    """Words by which the storage daemon exports its node 'disk' on the scenario's socket."""
    export = "type=nbd,id=export,node-name=disk,name=disk,writable=on"
    return ("--nbd-server", f"addr.type=unix,addr.path={SOCKET},max-connections=256", "--export", export)
