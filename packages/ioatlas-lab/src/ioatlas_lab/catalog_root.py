# SPDX-License-Identifier: Apache-2.0
"""The scenarios that need root: links in network namespaces, and drives behind the block I/O controller."""

from __future__ import annotations

from ioatlas.model.errors import UsageError
from ioatlas.model.units import words
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.scenario import (
    NAMED_URI,
    SOCKET,
    Limit,
    Link,
    Loop,
    MakeFile,
    Memory,
    Recipe,
    Run,
    Serve,
    Setting,
    Settings,
    Step,
    Truth,
    check,
    each_way,
    follows,
    nbdkit,
    scenario,
    storage_export,
    whole,
)

PORT = 10809
IPERF_PORT = 5201
OWN_BYTES = 24 << 20
"""What fio itself takes of a memory control group, at most."""
SHARES = "a read leaves out one drive's parity in turn, so now and then a drive waits for the others"
BUFFERED: dict[str, Setting] = {"direct": 0, "invalidate": 0, "ioengine": "psync"}
"""Options of loads through the page cache."""


def iperf_server(node: int = 0) -> Serve:
    """iperf3 answering at the server, or at a node, for who measures the path first."""
    host = f"{{node{node}}}" if node else "{server}"
    line = f"iperf3 --server --bind {host} --port {IPERF_PORT}"
    return Serve(f"iperf{node or ''}", words(line), f"{host}:{IPERF_PORT}", inside=not node, node=node)


def bucket_bytes(rate_bits_per_s: int) -> int:
    """How much a token bucket of this rate lets through at once."""
    return 256 << 10 if rate_bits_per_s <= 5_000_000_000 else 1 << 20


@scenario("link-1g", "link-1g-jumbo", "link-100m", "link-100m-jumbo")
def _link(s: Settings) -> Recipe:
    rate, mtu = whole(s, "rate_bits_per_s"), whole(s, "mtu")
    burst, place = bucket_bytes(rate), f"{{server}}:{PORT}"
    payload = (
        "TCP payload: rate/8 x (MTU-52)/(MTU+14); the token bucket counts the frame header but not preamble, FCS and "
        "gap; each direction apart"
    )
    truth = {
        "bw_bytes_per_s": follows(goodput_bytes_per_s(rate, mtu), payload),
        "rate_bits_per_s": Truth(rate, "of the token bucket at each end"),
        "mtu": Truth(mtu),
        "burst_bytes": Truth(burst, "what the bucket lets through at once after an idle time"),
    }
    checks = each_way("bw_bytes_per_s", f"bs=64k iodepth={16 if rate >= 5 * 10**8 else 4}", 1, near=0.005)
    steps = (Link(rate, mtu, burst), nbdkit(f"memory {s['size_bytes']}", place), iperf_server())
    return Recipe(steps, f"nbd://{place}", truth, checks=checks)


@scenario("slow-nic")
def _slow_nic(s: Settings) -> Recipe:
    """A client whose network card (67 MB/s) is slower than the target behind it (113 MB/s)."""
    card, mtu, rate = whole(s, "nic_bits_per_s"), whole(s, "mtu"), whole(s, "bw_bytes_per_s")
    goodput, place = goodput_bytes_per_s(card, mtu), f"{{server}}:{PORT}"
    server = nbdkit(f"--filter=rate memory {s['size_bytes']} rate={rate * 8} burstiness=0.1", place)
    truth = {
        "bw_bytes_per_s": follows(min(goodput, rate), "the lesser of card and target; each direction apart"),
        "nic_bytes_per_s": follows(goodput, "TCP payload that passes the client's card"),
        "nic_bits_per_s": Truth(card, "of the token bucket that stands for the card"),
        "target_bytes_per_s": Truth(rate, "what the target gives, after a burst of 0.1 s"),
    }
    checks = each_way("bw_bytes_per_s", "bs=64k iodepth=16", 1, near=0.005)
    return Recipe((Link(card, mtu), server, iperf_server()), f"nbd://{place}", truth, checks=checks)


def looped(size_bytes: int) -> tuple[Step, ...]:
    """A loop device over a file."""
    return MakeFile("{dir}/drive.img", size_bytes), Loop("{dir}/drive.img")


def mounted(size_bytes: int, place: str, *folders: str) -> tuple[Step, ...]:
    """A file system on such a device, mounted at `place`. folders: made beside that."""
    return (
        MakeFile("{dir}/drive.img", size_bytes, random=False),
        Loop("{dir}/drive.img"),
        Run(words("mkfs.ext4 -q -F {loop0}")),
        Run(("mkdir", place, *folders)),
        Run(("mount", "-o", "noatime", "{loop0}", place)),
    )


@scenario("drive")
def _drive(s: Settings) -> Recipe:
    """A real block device (loop) with limits on bytes and I/Os a second by the kernel's block I/O controller."""
    rate, iops = whole(s, "bw_bytes_per_s"), whole(s, "iops")
    slices = "small blocks; reads and writes apart; given out in slices of about 0.1 s, so latency is an artefact"
    truth = {
        "bw_bytes_per_s": Truth(rate, "large blocks; reads and writes apart"),
        "iops": Truth(iops, slices),
    }
    checks = (
        check("bw_bytes_per_s", "ioengine=libaio direct=1 rw=read bs=256k iodepth=4", 1),
        check("iops", "ioengine=libaio direct=1 rw=randread bs=4k iodepth=16", 1),
    )
    steps = (*looped(whole(s, "size_bytes")), Limit("{loop0}", rate, iops))
    return Recipe(steps, "{loop0}", truth, kind="block", checks=checks, options={"direct": 1})


_CACHED = "ioengine=psync direct=0 invalidate=0 filename={dir}/mount/data rw=read"


@scenario("page-cache-drive")
def _cached_drive(s: Settings) -> Recipe:
    """A file system of its own on a loop drive of known rate, read through this machine's page cache: the drive's
    counters stand still.
    """
    rate = whole(s, "bw_bytes_per_s")
    truth = {
        "device_read_bytes": follows(0, "of a file that was just written and fits into free memory"),
        "bw_bytes_per_s": Truth(rate, "of the drive, which such a read never meets; reads and writes apart"),
    }
    steps = (*mounted(whole(s, "size_bytes"), "{dir}/mount"), Limit("{loop0}", rate))
    checks = (check("device_read_bytes", f"{_CACHED} size=64m bs=64k", 0, 0, kind="device_reads"),)
    return Recipe(steps, "{dir}/mount", truth, kind="directory", checks=checks, options=BUFFERED)


@scenario("page-cache-limited")
def _small_cache(s: Settings) -> Recipe:
    """Such a file system, read by a fio whose memory control group holds a page cache of known size: larger files
    come from the drive.
    """
    plain, cache = _cached_drive(s), whole(s, "cache_bytes")
    held = f"of a file just read, smaller than the cache by the program's own memory, some {OWN_BYTES >> 20} MiB"
    larger = "sequential reads of a file that is larger than the cache, whatever the pass"
    truth = {
        "device_read_bytes": follows(0, held),
        "cache_bytes": Truth(cache, "memory of fio and all that it keeps in the page cache"),
        "bw_bytes_per_s": Truth(whole(s, "bw_bytes_per_s"), larger),
    }
    kept = "some blocks of the last pass are still in the cache"
    checks = (
        check("device_read_bytes", f"{_CACHED} bs=64k size={cache // 2}", 0, 0, kind="device_reads"),
        check("bw_bytes_per_s", f"{_CACHED} bs=256k size={2 * cache}", 1, near=0.03, wider=kept),
    )
    steps = (*plain.steps, Memory(cache))
    return Recipe(steps, plain.location, truth, kind="directory", checks=checks, options=plain.options)


@scenario("array")
def _array(s: Settings) -> Recipe:
    """Btrfs raid0, raid5 or raid6 over loop drives of a known rate each, mounted as a directory."""
    drives, rate, level = whole(s, "drives"), whole(s, "bw_bytes_per_s"), str(s["level"])
    parity = {"raid0": 0, "raid5": 1, "raid6": 2}.get(level)
    if parity is None:
        raise UsageError(
            f"the array cannot be {level!r}", remedy="use raid0, raid5 or raid6, or the scenario array-model"
        )
    if drives < parity + 2:
        raise UsageError(f"{level} needs at least {parity + 2} drives, not {drives}")
    loops = [f"{{loop{index}}}" for index in range(drives)]
    images = [f"{{dir}}/{index}.img" for index in range(drives)]
    steps = (
        *(step for path in images for step in (MakeFile(path, whole(s, "size_bytes"), random=False), Loop(path))),
        Run(("mkfs.btrfs", "-q", "-f", "-K", "-d", level, "-m", level, *loops)),
        Run(("mkdir", "{dir}/mount")),
        Run(("mount", "-o", "nodatasum,noatime", "{loop0}", "{dir}/mount")),
        *(Limit(loop, rate) for loop in loops),
    )
    written = "large sequential direct writes: data drives x rate; a few per cent more with short runs"
    truth = {
        "write_bytes_per_s": follows((drives - parity) * rate, written),
        "read_bytes_per_s": follows(drives * rate, "large sequential direct reads: all drives x rate"),
        "drive_bytes_per_s": Truth(rate, "of every drive, reads and writes apart"),
    }
    common = "ioengine=libaio direct=1 filename={dir}/mount/data size=256m bs=1m fallocate=none"
    checks = (
        check("write_bytes_per_s", f"{common} rw=write iodepth=4", 4, 12),
        check("read_bytes_per_s", f"{common} rw=read iodepth=8", 2, 17, 0.03, wider=SHARES),
    )
    return Recipe(steps, "{dir}/mount", truth, kind="directory", checks=checks, options={"direct": 1})


@scenario("san-link", "san-drive")
def _san(s: Settings) -> Recipe:
    rate, mtu, drive = whole(s, "rate_bits_per_s"), whole(s, "mtu"), whole(s, "bw_bytes_per_s")
    name, portal = "iqn.2026-01.lab.ioatlas:disk", "{server}:3260"
    link = goodput_bytes_per_s(rate, mtu)
    target = f"tgtd --foreground --control-port {{octet}} --iscsi portal={portal}"
    set_up = (
        f"--op new --mode target --tid 1 --targetname {name}",
        "--op new --mode logicalunit --tid 1 --lun 1 --bstype aio --backing-store {loop0}",
        "--op bind --mode target --tid 1 --initiator-address ALL",
    )
    disk = f"driver=iscsi,node-name=disk,transport=tcp,portal={portal},target={name},lun=1"
    steps = (
        Link(rate, mtu),
        *looped(whole(s, "size_bytes")),
        Run(("mkdir", "-p", "/run/tgtd")),
        Serve("target", words(target), portal, inside=True),
        *(Run(words(f"tgtadm --control-port {{octet}} --lld iscsi {line}")) for line in set_up),
        Limit("{loop0}", drive),
        Serve("disk", ("qemu-storage-daemon", "--blockdev", disk, *storage_export()), SOCKET),
    )
    truth = {
        "bw_bytes_per_s": follows(min(link, drive), "large blocks: the lesser of link and drive; each direction apart"),
        "link_bytes_per_s": follows(link, "TCP payload; iSCSI headers take another 0.1% of 64 KiB blocks"),
        "drive_bytes_per_s": Truth(drive, "of the drive behind the target, direct I/O"),
    }
    checks = (check("bw_bytes_per_s", f"rw=read bs=64k iodepth={16 if drive > link else 4}", 1),)
    return Recipe(steps, NAMED_URI, truth, checks=checks)
