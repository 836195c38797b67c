# SPDX-License-Identifier: Apache-2.0
"""What a lab scenario is: the existing software it starts, and the truth that follows from how it is configured; and
what the recipes of scenarios are put together from: programs, settings, servers on a socket, the registry.
"""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ioatlas.model.errors import UsageError
from ioatlas.model.units import pairs, parse_size_bytes, words
from ioatlas.store.toml import shipped

Setting = int | float | str


_UNITS = pairs("""
    bytes_per_s=B/s bits_per_s=bit/s bytes=B mtu=B ms=ms seconds=s percent=% iops=1/s iops_per_job=1/s
    bytes_per_s2=B/s²
""")
"""By the end of a quantity's name; others are counts and shares."""


@dataclass(frozen=True)
class Truth:
    """One number that is known before anything is measured.

    note:   what a reader must know to compare: burst credit, fixed cost of the path, when it holds.
    source: 'configured' (it is set), 'arithmetic' (it follows from what is set), 'documented' (the software's manual
            says so).
    unit:   follows from its name in a recipe.
    """

    value: float
    note: str = ""
    source: str = "configured"
    unit: str = ""


def follows(value: float, note: str) -> Truth:
    """A number that follows from what is set."""
    return Truth(value, note, "arithmetic")


@dataclass(frozen=True)
class Requirement:
    """A program, or a file, and the Debian package that brings it."""

    program: str
    package: str


@dataclass(frozen=True)
class Serve:
    """A process that stays: started in the foreground, ready when `ready` says so.

    argv may hold {dir}, {python}, {server}, {loop0} ...; `ready` is a unix socket, 'host:port' or a path that must
    exist.
    inside: run in the network namespace of the scenario's server; node: in that of this node, counted from 1.
    daemon: it puts itself into the background and writes {dir}/NAME.pid.
    """

    name: str
    argv: tuple[str, ...]
    ready: str = ""
    inside: bool = False
    node: int = 0
    daemon: bool = False
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class MakeFile:
    """A file of `size_bytes` with random content (no holes: holes are answered without reading by many servers), or
    sparse.
    """

    path: str
    size_bytes: int
    random: bool = True


@dataclass(frozen=True)
class Link:
    """A server namespace joined to this one by a veth pair; a token bucket limits both directions.

    in_bits_per_s: of what the server takes; as much as it gives without it. queue_ms: what waits longer is dropped.
    """

    rate_bits_per_s: int
    mtu: int
    burst_bytes: int = 256 << 10
    in_bits_per_s: int = 0
    queue_ms: int = 50


@dataclass(frozen=True)
class Nodes:
    """Servers in a namespace each, on one switch with this machine: {node1}, {node2} ... are their addresses.

    rate_bits_per_s:        of each node's port and of this machine's, both directions, by a token bucket at both ends.
    in_bits_per_s:          of what a node takes; as much as it gives without it.
    client_bits_per_s:      of this machine's port; as the nodes' without it.
    queue_ms:               what waits longer at a port is dropped.
    beside_bits_per_s:      of one more link, between the first two nodes alone, at {beside1} and {beside2}; 0 is none.
    """

    count: int
    rate_bits_per_s: int
    mtu: int
    burst_bytes: int = 256 << 10
    beside_bits_per_s: int = 0
    in_bits_per_s: int = 0
    client_bits_per_s: int = 0
    queue_ms: int = 50


@dataclass(frozen=True)
class Loop:
    """A loop device over a file, with direct I/O; the n-th one is {loopN}."""

    path: str


@dataclass(frozen=True)
class Limit:
    """Rates of a block device, reads and writes apart, limited by the block I/O controller (cgroup v1, root group); 0
    is no limit.
    """

    device: str
    bytes_per_s: int = 0
    iops: int = 0


@dataclass(frozen=True)
class Run:
    """A command that ends, such as mkfs or mount; mounts and devices below {dir} are undone by the clean-up."""

    argv: tuple[str, ...]
    inside: bool = False
    node: int = 0


@dataclass(frozen=True)
class Text:
    """A file of these words, for its owner alone; the directories above it are made."""

    path: str
    text: str


@dataclass(frozen=True)
class Memory:
    """A fio at {dir}/programs in a memory control group of this size (cgroup v1): its page cache counts too."""

    size_bytes: int


@dataclass(frozen=True)
class FarLink:
    """A server namespace at the end of a long link, without a limit of its rate."""

    round_trip_ms: float
    mtu: int


Step = Serve | MakeFile | Link | Nodes | Loop | Limit | Run | Text | Memory | FarLink


@dataclass(frozen=True)
class Check:
    """How the truth of one quantity is measured with plain fio.

    quantity:  key of the recipe's truth.
    options:   fio options, as name=value.
    kind:      what of the run is compared with the truth (`tests/lab_check.py`).
    tolerance:  relative; what lies within `tolerance_absolute` in the truth's unit is right as well.
    wider:      why the tolerance is more than 1% of a rate, or more than 2% and 0.3 ms of a latency.
    first:      options that take the place of these in a run to its end that is made before.
    without_delay: the setting that is 0 on the same path without delay. What that path costs is measured in turn with
                the target and belongs to the truth: of a latency it is taken off, of a rate it is added to the time of
                each I/O.
    sleep_ms:  the quantity rests on a sleep of this length in the server: how long such a sleep really takes here
               explains part of what is left.
    """

    quantity: str
    options: tuple[str, ...]
    kind: Literal[
        "bw",
        "mean_bw",
        "iops",
        "latency",
        "error_percent",
        "writes_per_error",
        "safe_iodepth",
        "refused",
        "longest",
        "slope",
        "edge",
        "device_reads",
        "path_bytes",
    ] = "bw"
    settle_seconds: float = 3.0
    seconds: float = 3.0
    tolerance: float = 0.01
    tolerance_absolute: float = 0.0
    sleep_ms: float = 0.0
    without_delay: str = ""
    wider: str = ""
    first: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """A scenario with its settings filled in."""

    steps: tuple[Step, ...]
    location: str
    truth: Mapping[str, Truth]
    kind: Literal["uri", "file", "directory", "block"] = "uri"
    checks: tuple[Check, ...] = ()
    options: Mapping[str, Setting] = field(default_factory=dict)
    """fio options without which the truth does not hold, such as direct=0."""
    exports: tuple[tuple[str, str], ...] = ()
    """(name, location) of each of several disks that may be loaded together; `location` is the first of them."""

    def __post_init__(self) -> None:
        ends = {name: next((end for end in _UNITS if name.endswith(end)), "") for name in self.truth}
        named = {name: replace(one, unit=_UNITS.get(ends[name], "1")) for name, one in self.truth.items()}
        object.__setattr__(self, "truth", named)


@dataclass(frozen=True)
class Scenario:
    """One row of the registry.

    limit:    the resource that limits it, in the words of an attribution: 'drive bandwidth', 'link', 'client page
              cache', ...
    settings: names with units and defaults; every one may be set when the target is started.
    """

    name: str
    limit: str
    summary: str
    requires: tuple[Requirement, ...]
    settings: Mapping[str, Setting]
    build: Callable[[Mapping[str, Setting]], Recipe]
    needs_root: bool = False


SOCKET = "{dir}/disk.sock"
URI = "nbd+unix:///?socket={dir}/disk.sock"
NAMED_URI = "nbd+unix:///disk?socket={dir}/disk.sock"
REST = "half of each block is zeros, which compress to a little more than nothing; random bytes grow by their codes"
PATH_NOTE = "the path over the socket adds 0.02 to 0.3 ms, measured on the same path without delay"

REGISTRY: dict[str, Scenario] = {}


Settings = Mapping[str, Setting]
Build = Callable[[Settings], Recipe]


_SHIPPED = shipped("ioatlas_lab", "scenarios.toml")


def _row(name: str) -> dict[str, Any]:
    row = _SHIPPED["scenario"][name]
    base = _row(row["like"]) if "like" in row else {"root": False, "set": {}}
    return {**base, **row, "set": base["set"] | row.get("set", {})}


def settings_of(name: str) -> dict[str, Setting]:
    """What a scenario can be set to, with its defaults."""
    given = _row(name)["set"].items()
    return {key: parse_size_bytes(value, where=key) if key.endswith("_bytes") else value for key, value in given}


def scenario(*names: str) -> Callable[[Build], Build]:
    """Enter a function as the scenarios of these names in scenarios.toml."""

    def enter(build: Build) -> Build:
        for name in names:
            row = _row(name)
            summary = " ".join((build.__doc__ or row["summary"]).split()).removesuffix(".")
            needs = tuple(Requirement(program, _SHIPPED["packages"][program]) for program in words(row["needs"]))
            REGISTRY[name] = Scenario(name, row["limit"], summary, needs, settings_of(name), build, row["root"])
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


def text_of(name: str) -> str:
    """A file beside the servers; words in braces are filled in where it is used."""
    return (pkgutil.get_data("ioatlas_lab", f"servers/{name}") or b"").decode()


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
