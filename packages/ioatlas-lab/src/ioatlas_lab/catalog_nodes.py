# SPDX-License-Identifier: Apache-2.0
"""The scenarios of several servers, each in a namespace of its own behind its own port of a switch."""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas.errors import UsageError
from ioatlas_lab.catalog_root import IPERF, IPERF_PORT, IPROUTE, PORT
from ioatlas_lab.catalog_spindle import DRIVE, Spindle, chance, drive_words, log_drive, spindle
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.recipes import (
    NBDKIT,
    PYTHON_PLUGIN,
    SOCKET,
    STORAGE_DAEMON,
    URI,
    nbdkit,
    number,
    scenario,
    whole,
)
from ioatlas_lab.scenario import Check, Nodes, Recipe, Serve, Setting, Step, Truth
from ioatlas_lab.spindle_disk import BLOCK

BESIDE_PORT = 10810


def iperf_server(node: int) -> Serve:
    """iperf3 answering at a node, for who measures the path first."""
    words = ("iperf3", "--server", "--bind", f"{{node{node}}}", "--port", f"{IPERF_PORT}")
    return Serve(f"iperf{node}", words, f"{{node{node}}}:{IPERF_PORT}", node=node)


def choice(s: Mapping[str, Setting], name: str, *words: str) -> str:
    """The word that was chosen. Raises UsageError for another one."""
    if s[name] not in words:
        raise UsageError(f"{name} cannot be {s[name]!r}", remedy=f"use {' or '.join(words)}")
    return str(s[name])


def _pair_steps(s: Mapping[str, Setting], *, log: bool, both: bool, away: bool) -> tuple[Step, ...]:
    rate, mtu = whole(s, "rate_bits_per_s"), whole(s, "mtu")
    local = "{dir}/disk1.sock"
    disks = [nbdkit(*drive_words(s, log=log), place=local, name="disk1", node=1)]
    nodes = ["--blockdev", f"driver=nbd,node-name=here,server.type=unix,server.path={local}"]
    top = "here"
    if not away:
        # On all addresses of its namespace: for the other box, and for a client that reads from both.
        words = drive_words(s, log=log, number=2)
        disks.append(nbdkit(*words, place=f"0.0.0.0:{BESIDE_PORT}", name="disk2", node=2))
        there = f"server.type=inet,server.host={{beside2}},server.port={BESIDE_PORT}"
        pair = "driver=quorum,node-name=pair,children.0=here,children.1=there,vote-threshold=1,read-pattern=fifo"
        nodes += ["--blockdev", f"driver=nbd,node-name=there,{there}", "--blockdev", pair]
        top = "pair"
    export = ("--export", f"type=nbd,id=export,node-name={top},name=disk,writable=on")
    address = f"addr.type=inet,addr.host={{node1}},addr.port={PORT},max-connections=256"
    controller = ("qemu-storage-daemon", *nodes, "--nbd-server", address, *export)
    steps: list[Step] = [
        Nodes(2, rate, mtu, beside_bits_per_s=whole(s, "replication_bits_per_s")),
        *disks,
        Serve("box1", controller, f"{{node1}}:{PORT}", node=1),
        iperf_server(1),
    ]
    if both:
        places = (f"{{node1}}:{PORT}/disk", f"{{node2}}:{BESIDE_PORT}/")
        words = ("{python}", "-m", "ioatlas_lab.spread_server", f"unix:{SOCKET}", "0", *places)
        steps.append(Serve("paths", words, SOCKET))
    after = number(s, "away_after_seconds")
    if after and not away:
        words = ("{python}", "{plugins}/mover.py", "away", "{dir}/disk2.pid", f"{after:g}")
        steps.append(Serve("away", words))
    return tuple(steps)


@scenario(
    "pair",
    "link",
    (NBDKIT, PYTHON_PLUGIN, STORAGE_DAEMON, IPERF, *IPROUTE),
    {
        "store": "in-place",
        "reads": "one",
        "one_away": 0,
        "away_after_seconds": 0.0,
        "rate_bits_per_s": 10**8,
        "replication_bits_per_s": 5 * 10**7,
        "mtu": 1500,
        **DRIVE,
    },
    needs_root=True,
)
def _pair(s: Mapping[str, Setting]) -> Recipe:
    """Two boxes that replicate synchronously, each with a drive and a link; one can be taken away."""
    log = choice(s, "store", "in-place", "log-structured") == "log-structured"
    away = bool(s["one_away"])
    both = choice(s, "reads", "one", "both") == "both" and not away
    drive = log_drive(s) if log else spindle(s)
    mtu = whole(s, "mtu")
    link, beside = (goodput_bytes_per_s(whole(s, name), mtu) for name in ("rate_bits_per_s", "replication_bits_per_s"))
    slowest = min(link, drive.bw_bytes_per_s, *(() if away else (beside,)))
    once, deviation = drive.access_s(BLOCK, drive.size_bytes)
    truth = {
        "write_bytes_per_s": Truth(
            slowest,
            "B/s",
            "arithmetic",
            "sequential: the least of link, replication link and drive" if not away else "the lesser of link and drive",
        ),
        "read_bytes_per_s": Truth(
            min(link, drive.bw_bytes_per_s),
            "B/s",
            "arithmetic",
            "sequential, from one box: the lesser of link and drive"
            + ("; from both in turn it lies between that and twice as much" if both else ""),
        ),
        "random_read_iops": Truth(
            (2 if both else 1) / once,
            "1/s",
            "arithmetic",
            "of 4 KiB over the whole size, deep enough that no drive waits; each serves in order of arrival",
        ),
        "link_bytes_per_s": Truth(link, "B/s", "arithmetic", "TCP payload of each box's port, each direction apart"),
        "replication_bytes_per_s": Truth(beside, "B/s", "arithmetic", "TCP payload of the link between the boxes"),
        "drive_bytes_per_s": Truth(drive.bw_bytes_per_s, "B/s", note="of each box"),
    }
    if not log:
        later, _ = drive.access_s(BLOCK, drive.size_bytes, 1 if away else 2)
        truth["write_lat_mean_ms"] = Truth(
            later * 1000,
            "ms",
            "arithmetic",
            "of random 4 KiB, one in flight, at least: drives seek alike, the later turn counts; the ways add to it",
        )
    checks = _pair_checks(drive, log=log, both=both, reads=(once, deviation))
    return Recipe(
        _pair_steps(s, log=log, both=both, away=away),
        URI if both else f"nbd://{{server}}:{PORT}/disk",
        truth,
        checks=checks,
    )


def _pair_checks(drive: Spindle, *, log: bool, both: bool, reads: tuple[float, float]) -> tuple[Check, ...]:
    stream = ("bs=64k", "iodepth=8", f"size={drive.size_bytes}")
    small = ("bs=4k", f"size={drive.size_bytes}")
    count = 2 if both else 1
    tolerance, why = chance(drive, *reads, 6.0 * count)
    deep = ("rw=randread", "iodepth=16", *small)
    checks = [Check("random_read_iops", deep, "iops", 0.5, 6, tolerance, wider=why)]
    if not both:
        checks.append(Check("read_bytes_per_s", ("rw=read", *stream), settle_seconds=1))
    # The log has room for a quarter of this.
    ways = ("write", "randwrite") if log else ("write",)
    checks += [Check("write_bytes_per_s", (f"rw={way}", *stream), settle_seconds=1) for way in ways]
    return tuple(checks)
