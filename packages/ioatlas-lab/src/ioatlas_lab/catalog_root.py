# SPDX-License-Identifier: Apache-2.0
"""The scenarios that need root: links in network namespaces, and drives behind the block I/O controller."""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas.errors import UsageError
from ioatlas.model.words import words
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.recipes import (
    FIO,
    NAMED_URI,
    NBDKIT,
    REGISTRY,
    SIZE,
    SOCKET,
    STORAGE_DAEMON,
    each_way,
    nbdkit,
    number,
    scenario,
    storage_export,
    whole,
)
from ioatlas_lab.scenario import (
    Check,
    FarLink,
    Limit,
    Link,
    Loop,
    MakeFile,
    Memory,
    Recipe,
    Requirement,
    Run,
    Scenario,
    Serve,
    Setting,
    Step,
    Text,
    Truth,
)

IPROUTE = (Requirement("ip", "iproute2"), Requirement("tc", "iproute2"), Requirement("nsenter", "util-linux"))
IPERF = Requirement("iperf3", "iperf3")
LOSETUP = Requirement("losetup", "util-linux")
ISCSI_BLOCK = Requirement("qemu/block-iscsi.so", "qemu-block-extra")
PORT = 10809
IPERF_PORT = 5201
OWN_BYTES = 24 << 20
"""What fio itself takes of a memory control group, at most."""

SHARES = "a read leaves out one drive's parity in turn, so now and then a drive waits for the others"


IPERF_SERVER = Serve(
    "iperf",
    ("iperf3", "--server", "--bind", "{server}", "--port", f"{IPERF_PORT}"),
    f"{{server}}:{IPERF_PORT}",
    inside=True,
)


def _link(s: Mapping[str, Setting]) -> Recipe:
    rate, mtu = whole(s, "rate_bits_per_s"), whole(s, "mtu")
    goodput = goodput_bytes_per_s(rate, mtu)
    burst = 256 << 10 if rate <= 5_000_000_000 else 1 << 20
    steps = (
        Link(rate, mtu, burst),
        nbdkit("memory", f"{s['size_bytes']}", place=f"{{server}}:{PORT}"),
        IPERF_SERVER,
    )
    truth = {
        "bw_bytes_per_s": Truth(
            goodput,
            "B/s",
            "arithmetic",
            "TCP payload: rate/8 x (MTU-52)/(MTU+14); the token bucket counts the frame header but not preamble, "
            "FCS and gap; each direction apart",
        ),
        "rate_bits_per_s": Truth(rate, "bit/s", note="of the token bucket at each end"),
        "mtu": Truth(mtu, "B"),
        "burst_bytes": Truth(burst, "B", note="what the bucket lets through at once after an idle time"),
    }
    depth = "iodepth=16" if rate >= 5 * 10**8 else "iodepth=4"
    checks = each_way("bw_bytes_per_s", "bs=64k", depth, settle_seconds=1, tolerance=0.005)
    return Recipe(steps, f"nbd://{{server}}:{PORT}", truth, checks=checks)


for _name, _rate, _mtu, _words in (
    ("link-1g", 10**9, 1500, "1 Gb/s at MTU 1500"),
    ("link-1g-jumbo", 10**9, 9000, "1 Gb/s at MTU 9000"),
    ("link-100m", 10**8, 1500, "100 Mb/s at MTU 1500"),
    ("link-100m-jumbo", 10**8, 9000, "100 Mb/s at MTU 9000"),
):
    REGISTRY[_name] = Scenario(
        _name,
        "link",
        f"memory served over TCP through a link of {_words}; iperf3 answers on the same address",
        (NBDKIT, IPERF, *IPROUTE),
        {"rate_bits_per_s": _rate, "mtu": _mtu, "size_bytes": SIZE},
        _link,
        needs_root=True,
    )


@scenario(
    "drive",
    "drive bandwidth",
    (LOSETUP,),
    {"bw_bytes_per_s": 50_000_000, "iops": 1000, "size_bytes": SIZE},
    needs_root=True,
)
def _drive(s: Mapping[str, Setting]) -> Recipe:
    """A real block device (loop) with limits on bytes and I/Os a second by the kernel's block I/O controller."""
    rate, iops = whole(s, "bw_bytes_per_s"), whole(s, "iops")
    steps = (MakeFile("{dir}/drive.img", whole(s, "size_bytes")), Loop("{dir}/drive.img"), Limit("{loop0}", rate, iops))
    truth = {
        "bw_bytes_per_s": Truth(rate, "B/s", note="large blocks; reads and writes apart"),
        "iops": Truth(
            iops,
            "1/s",
            note="small blocks; reads and writes apart; given out in slices of about 0.1 s, so latency is an artefact",
        ),
    }
    common = ("ioengine=libaio", "direct=1")
    checks = (
        Check("bw_bytes_per_s", (*common, "rw=read", "bs=256k", "iodepth=4"), settle_seconds=1),
        Check("iops", (*common, "rw=randread", "bs=4k", "iodepth=16"), "iops", settle_seconds=1),
    )
    return Recipe(steps, "{loop0}", truth, kind="block", checks=checks, options={"direct": 1})


@scenario(
    "page-cache-drive",
    "client page cache",
    (LOSETUP, Requirement("mkfs.ext4", "e2fsprogs")),
    {"bw_bytes_per_s": 50_000_000, "size_bytes": SIZE},
    needs_root=True,
)
def _cached_drive(s: Mapping[str, Setting]) -> Recipe:
    """A file system of its own on a loop drive of known rate, read through this machine's page cache: the drive's
    counters stand still.
    """
    rate = whole(s, "bw_bytes_per_s")
    steps = (
        MakeFile("{dir}/drive.img", whole(s, "size_bytes"), random=False),
        Loop("{dir}/drive.img"),
        Run(("mkfs.ext4", "-q", "-F", "{loop0}")),
        Run(("mkdir", "{dir}/mount")),
        Run(("mount", "-o", "noatime", "{loop0}", "{dir}/mount")),
        Limit("{loop0}", rate),
    )
    truth = {
        "device_read_bytes": Truth(0, "B", "arithmetic", "of a file that was just written and fits into free memory"),
        "bw_bytes_per_s": Truth(
            rate, "B/s", note="of the drive, which such a read never meets; reads and writes apart"
        ),
    }
    common = ("ioengine=psync", "direct=0", "invalidate=0", "filename={dir}/mount/data", "size=64m", "bs=64k")
    checks = (Check("device_read_bytes", (*common, "rw=read"), "device_reads", 0, 0),)
    return Recipe(
        steps,
        "{dir}/mount",
        truth,
        kind="directory",
        checks=checks,
        options={"direct": 0, "invalidate": 0, "ioengine": "psync"},
    )


@scenario(
    "page-cache-limited",
    "client page cache",
    (FIO, LOSETUP, Requirement("mkfs.ext4", "e2fsprogs")),
    {"cache_bytes": 96 << 20, "bw_bytes_per_s": 200_000_000, "size_bytes": 2 * SIZE},
    needs_root=True,
)
def _small_cache(s: Mapping[str, Setting]) -> Recipe:
    """Such a file system, read by a fio whose memory control group holds a page cache of known size: larger files
    come from the drive.
    """
    plain, cache = _cached_drive(s), whole(s, "cache_bytes")
    truth = {
        "device_read_bytes": Truth(
            0,
            "B",
            "arithmetic",
            f"of a file just read, smaller than the cache by the program's own memory, some {OWN_BYTES >> 20} MiB",
        ),
        "cache_bytes": Truth(cache, "B", note="memory of fio and all that it keeps in the page cache"),
        "bw_bytes_per_s": Truth(
            whole(s, "bw_bytes_per_s"),
            "B/s",
            note="sequential reads of a file that is larger than the cache, whatever the pass",
        ),
    }
    common = ("ioengine=psync", "direct=0", "invalidate=0", "filename={dir}/mount/data", "rw=read")
    checks = (
        Check("device_read_bytes", (*common, "bs=64k", f"size={cache // 2}"), "device_reads", 0, 0),
        Check(
            "bw_bytes_per_s",
            (*common, "bs=256k", f"size={2 * cache}"),
            settle_seconds=1,
            tolerance=0.03,
            wider="some blocks of the last pass are still in the cache",
        ),
    )
    return Recipe(
        (*plain.steps, Memory(cache)), plain.location, truth, kind="directory", checks=checks, options=plain.options
    )


SMB_PORT = 445
SMB_SHARE = "{dir}/mount/{server}/disk"
SMB_FILE = f"{SMB_SHARE}/data"
SMB_PACKAGES = (
    IPERF,
    Requirement("smbd", "samba"),
    Requirement("smbnetfs", "smbnetfs"),
    Requirement("/dev/fuse", "a kernel with FUSE"),
)
FAR_PACKAGES = (
    Requirement("ip", "iproute2"),
    Requirement("nsenter", "util-linux"),
    Requirement("/dev/net/tun", "a kernel with TUN"),
)
SMB_FAR_PACKAGES = (*FAR_PACKAGES, *SMB_PACKAGES)
SMB = """[global]
server role = standalone server
map to guest = bad user
guest account = root
interfaces = {server}/24
bind interfaces only = yes
smb ports = 445
disable netbios = yes
lock directory = {dir}/state
state directory = {dir}/state
cache directory = {dir}/state
private dir = {dir}/state
pid directory = {dir}/state
ncalrpc dir = {dir}/state/ncalrpc
log file = {dir}/smbd.log
[disk]
path = {dir}/share
guest ok = yes
read only = no
"""


def smb_steps(link: Link | FarLink, size_bytes: int) -> tuple[Step, ...]:
    """A server behind the link and its file at {dir}/mount/{server}/disk/data."""
    return (
        link,
        Text("{dir}/smb.conf", SMB),
        Text("{dir}/state/.keep", ""),
        MakeFile("{dir}/share/data", size_bytes),
        Serve(
            "server",
            ("smbd", "--foreground", "--no-process-group", "--configfile={dir}/smb.conf"),
            f"{{server}}:{SMB_PORT}",
            inside=True,
        ),
        IPERF_SERVER,
        # smbnetfs wants both files of its own user alone.
        Text("{dir}/home/.smb/smb.conf", "[global]\nclient min protocol = SMB2\n"),
        Text("{dir}/home/.smb/smbnetfs.conf", 'auth "guest" ""\n'),
        Run(("mkdir", "{dir}/mount")),
        Serve("client", ("smbnetfs", "-f", "{dir}/mount"), SMB_FILE, environment=(("HOME", "{dir}/home"),)),
    )


@scenario(
    "nas-smb",
    "link",
    (*IPROUTE, *SMB_PACKAGES),
    {"rate_bits_per_s": 10**8, "mtu": 1500, "size_bytes": 64 << 20},
    needs_root=True,
)
def _smb(s: Mapping[str, Setting]) -> Recipe:
    """A file on an SMB server (samba) behind a 100 Mb/s link, mounted by smbnetfs: also where the kernel has no SMB
    client of its own.
    """
    rate, mtu = whole(s, "rate_bits_per_s"), whole(s, "mtu")
    steps = smb_steps(Link(rate, mtu), whole(s, "size_bytes"))
    truth = {
        "bw_bytes_per_s": Truth(
            goodput_bytes_per_s(rate, mtu),
            "B/s",
            "arithmetic",
            "TCP payload, an upper bound: SMB headers take 0.1% of 64 KiB, and smbnetfs asks for one block at a "
            "time; of reads",
        ),
        "rate_bits_per_s": Truth(rate, "bit/s", note="of the token bucket at each end"),
    }
    checks = (
        Check(
            "bw_bytes_per_s",
            ("ioengine=psync", "direct=1", "rw=read", "bs=256k", f"size={s['size_bytes']}"),
            settle_seconds=1,
            tolerance=0.05,
            wider="replies carry the protocol's own headers, and a FUSE client asks for one block at a time",
        ),
    )
    return Recipe(steps, SMB_FILE, truth, kind="file", checks=checks)


@scenario("nas-far", "single queue", SMB_FAR_PACKAGES, {"round_trip_ms": 4.0, "size_bytes": 16 << 20}, needs_root=True)
def _far(s: Mapping[str, Setting]) -> Recipe:
    """The same SMB server at the end of a long link: one request at a time, none answered before a packet is back,
    unless a cache answers it.
    """
    trip = number(s, "round_trip_ms")
    truth = {
        "lat_mean_ms": Truth(
            trip,
            "ms",
            note="of small direct reads, at least: an SMB request is one packet there and one back; server, client "
            "and the relay add 0.2 to 1 ms",
        ),
    }
    checks = (
        Check(
            "lat_mean_ms",
            ("ioengine=psync", "direct=1", "rw=randread", "bs=4k", f"size={s['size_bytes']}"),
            "latency",
            0,
            2,
            0.1,
            1.0,
            wider="the FUSE client and the server take a time of their own on top of the round trip",
        ),
    )
    return Recipe(smb_steps(FarLink(trip, 1500), whole(s, "size_bytes")), SMB_FILE, truth, kind="file", checks=checks)


@scenario(
    "array",
    "drive bandwidth",
    (LOSETUP, Requirement("mkfs.btrfs", "btrfs-progs")),
    {"drives": 5, "level": "raid5", "bw_bytes_per_s": 10_000_000, "size_bytes": 512 << 20},
    needs_root=True,
)
def _array(s: Mapping[str, Setting]) -> Recipe:
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
    steps = (
        *(
            step
            for index in range(drives)
            for step in (
                MakeFile(f"{{dir}}/{index}.img", whole(s, "size_bytes"), random=False),
                Loop(f"{{dir}}/{index}.img"),
            )
        ),
        Run(("mkfs.btrfs", "-q", "-f", "-K", "-d", level, "-m", level, *loops)),
        Run(("mkdir", "{dir}/mount")),
        Run(("mount", "-o", "nodatasum,noatime", "{loop0}", "{dir}/mount")),
        *(Limit(loop, rate) for loop in loops),
    )
    truth = {
        "write_bytes_per_s": Truth(
            (drives - parity) * rate,
            "B/s",
            "arithmetic",
            "large sequential direct writes: data drives x rate; a few per cent more with short runs",
        ),
        "read_bytes_per_s": Truth(
            drives * rate, "B/s", "arithmetic", "large sequential direct reads: all drives x rate"
        ),
        "drive_bytes_per_s": Truth(rate, "B/s", note="of every drive, reads and writes apart"),
    }
    common = ("ioengine=libaio", "direct=1", "filename={dir}/mount/data", "size=256m", "bs=1m", "fallocate=none")
    checks = (
        Check("write_bytes_per_s", (*common, "rw=write", "iodepth=4"), settle_seconds=4, seconds=12),
        Check(
            "read_bytes_per_s",
            (*common, "rw=read", "iodepth=8"),
            settle_seconds=2,
            seconds=17,
            tolerance=0.03,
            wider=SHARES,
        ),
    )
    return Recipe(steps, "{dir}/mount", truth, kind="directory", checks=checks, options={"direct": 1})


def _san(s: Mapping[str, Setting]) -> Recipe:
    rate, mtu, drive = whole(s, "rate_bits_per_s"), whole(s, "mtu"), whole(s, "bw_bytes_per_s")
    admin = ("tgtadm", "--control-port", "{octet}", "--lld", "iscsi")
    name = "iqn.2026-01.lab.ioatlas:disk"
    link, iscsi_port = goodput_bytes_per_s(rate, mtu), 3260
    steps = (
        Link(rate, mtu),
        MakeFile("{dir}/drive.img", whole(s, "size_bytes")),
        Loop("{dir}/drive.img"),
        Run(("mkdir", "-p", "/run/tgtd")),
        Serve(
            "target",
            ("tgtd", "--foreground", "--control-port", "{octet}", "--iscsi", f"portal={{server}}:{iscsi_port}"),
            f"{{server}}:{iscsi_port}",
            inside=True,
        ),
        Run((*admin, *words(f"--op new --mode target --tid 1 --targetname {name}"))),
        Run((*admin, *words("--op new --mode logicalunit --tid 1 --lun 1 --bstype aio --backing-store {loop0}"))),
        Run((*admin, *words("--op bind --mode target --tid 1 --initiator-address ALL"))),
        Limit("{loop0}", drive),
        Serve(
            "disk",
            (
                "qemu-storage-daemon",
                "--blockdev",
                f"driver=iscsi,node-name=disk,transport=tcp,portal={{server}}:{iscsi_port},target={name},lun=1",
                *storage_export(),
            ),
            SOCKET,
        ),
    )
    truth = {
        "bw_bytes_per_s": Truth(
            min(link, drive), "B/s", "arithmetic", "large blocks: the lesser of link and drive; each direction apart"
        ),
        "link_bytes_per_s": Truth(
            link, "B/s", "arithmetic", "TCP payload; iSCSI headers take another 0.1% of 64 KiB blocks"
        ),
        "drive_bytes_per_s": Truth(drive, "B/s", note="of the drive behind the target, direct I/O"),
    }
    checks = (
        Check("bw_bytes_per_s", ("rw=read", "bs=64k", "iodepth=16" if drive > link else "iodepth=4"), settle_seconds=1),
    )
    return Recipe(steps, NAMED_URI, truth, checks=checks)


for _name, _drive_rate, _limit in (("san-link", 400_000_000, "link"), ("san-drive", 20_000_000, "drive bandwidth")):
    REGISTRY[_name] = Scenario(
        _name,
        _limit,
        f"an iSCSI LUN (tgt, libiscsi) behind a 1 Gb/s link on a drive of {_drive_rate // 10**6} MB/s: the {_limit} "
        "limits it",
        (*IPROUTE, LOSETUP, STORAGE_DAEMON, Requirement("tgtd", "tgt"), ISCSI_BLOCK),
        {"rate_bits_per_s": 10**9, "mtu": 1500, "bw_bytes_per_s": _drive_rate, "size_bytes": SIZE},
        _san,
        needs_root=True,
    )
