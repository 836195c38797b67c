# SPDX-License-Identifier: Apache-2.0
"""File servers: SMB by samba, NFS by Ganesha, and a distributed store by GlusterFS whose nodes have a namespace each;
for large blocks, and for names: what a look-up, a new file or a removal costs over a network.

The last two keep state at fixed places of the system. Here each server has a mount namespace of its own with empty
directories there, so that several can run and nothing of theirs stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas.model.errors import UsageError
from ioatlas.model.units import words
from ioatlas_lab.catalog_root import BUFFERED, OWN_BYTES, iperf_server, mounted
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.scenario import (
    NAMED_URI,
    SOCKET,
    FarLink,
    Link,
    MakeFile,
    Memory,
    Nodes,
    Recipe,
    Run,
    Serve,
    Settings,
    Step,
    Text,
    Truth,
    check,
    choice,
    each_way,
    follows,
    number,
    scenario,
    storage_export,
    text_of,
    whole,
)

BUCKETS = "of the token bucket at each end"


# -- SMB -------------------------------------------------------------------------------------------------------------

SMB_PORT = 445
SMB_SHARE = "{dir}/mount/{server}/disk"
SMB_FILE = f"{SMB_SHARE}/data"


def smb_steps(link: Link | FarLink, size_bytes: int) -> tuple[Step, ...]:
    """A server behind the link and its file at {dir}/mount/{server}/disk/data."""
    server = words("smbd --foreground --no-process-group --configfile={dir}/smb.conf")
    return (
        link,
        Text("{dir}/smb.conf", text_of("smb.conf")),
        Text("{dir}/state/.keep", ""),
        MakeFile("{dir}/share/data", size_bytes),
        Serve("server", server, f"{{server}}:{SMB_PORT}", inside=True),
        iperf_server(),
        # smbnetfs wants both files of its own user alone.
        Text("{dir}/home/.smb/smb.conf", "[global]\nclient min protocol = SMB2\n"),
        Text("{dir}/home/.smb/smbnetfs.conf", 'auth "guest" ""\n'),
        Run(("mkdir", "{dir}/mount")),
        Serve("client", ("smbnetfs", "-f", "{dir}/mount"), SMB_FILE, environment=(("HOME", "{dir}/home"),)),
    )


@scenario("nas-smb")
def _smb(s: Settings) -> Recipe:
    """A file on an SMB server (samba) behind a 100 Mb/s link, mounted by smbnetfs: also where the kernel has no SMB
    client of its own.
    """
    rate, mtu = whole(s, "rate_bits_per_s"), whole(s, "mtu")
    bound = (
        "TCP payload, an upper bound: SMB headers take 0.1% of 64 KiB, and smbnetfs asks for one block at a time; of "
        "reads"
    )
    truth = {
        "bw_bytes_per_s": follows(goodput_bytes_per_s(rate, mtu), bound),
        "rate_bits_per_s": Truth(rate, BUCKETS),
    }
    wider = "replies carry the protocol's own headers, and a FUSE client asks for one block at a time"
    whole_file = f"ioengine=psync direct=1 rw=read bs=256k size={s['size_bytes']}"
    checks = (check("bw_bytes_per_s", whole_file, 1, near=0.05, wider=wider),)
    return Recipe(smb_steps(Link(rate, mtu), whole(s, "size_bytes")), SMB_FILE, truth, kind="file", checks=checks)


@scenario("nas-far")
def _far(s: Settings) -> Recipe:
    """The same SMB server at the end of a long link: one request at a time, none answered before a packet is back,
    unless a cache answers it.
    """
    trip = number(s, "round_trip_ms")
    least = (
        "of small direct reads, at least: an SMB request is one packet there and one back; server, client and the "
        "relay add 0.2 to 1 ms"
    )
    wider = "the FUSE client and the server take a time of their own on top of the round trip"
    small = f"ioengine=psync direct=1 rw=randread bs=4k size={s['size_bytes']}"
    checks = (check("lat_mean_ms", small, 0, 2, 0.1, tolerance_absolute=1.0, wider=wider),)
    steps = smb_steps(FarLink(trip, 1500), whole(s, "size_bytes"))
    return Recipe(steps, SMB_FILE, {"lat_mean_ms": Truth(trip, least)}, kind="file", checks=checks)


@scenario("small-ram")
def _small_ram(s: Settings) -> Recipe:
    """A client of little memory (fio in a memory control group) before an SMB server behind a link: files that fit
    come once, others in every pass.
    """
    rate, mtu, memory, size = (whole(s, key) for key in ("rate_bits_per_s", "mtu", "ram_bytes", "size_bytes"))
    larger = "of a file larger than the memory, at most and in every pass: it comes over the link again"
    fits = "of a file half as large as the memory, read again and again while it is open: each byte comes once"
    truth = {
        "bw_bytes_per_s": follows(goodput_bytes_per_s(rate, mtu), larger),
        "link_read_bytes": follows(memory // 2, fits),
        "ram_bytes": Truth(memory, f"of fio: its own, some {OWN_BYTES >> 20} MiB, and its page cache"),
    }
    common, headers = "ioengine=psync direct=0 invalidate=0 rw=read bs=256k", "headers of TCP and SMB, 1.3%"
    wider = "SMB has headers of its own, and some blocks of the last pass are still there"
    checks = (
        check("bw_bytes_per_s", f"{common} size={min(size, 2 * memory)}", 1, 8, 0.05, wider=wider),
        check("link_read_bytes", f"{common} size={memory // 2}", 0, 4, 0.03, kind="path_bytes", wider=headers),
    )
    steps = (*smb_steps(Link(rate, mtu), size), Memory(memory))
    return Recipe(steps, SMB_FILE, truth, kind="file", checks=checks, options=BUFFERED)


@scenario("names-smb")
def _names_smb(s: Settings) -> Recipe:
    """A directory on an SMB server (samba) at the end of a link of known round trip, mounted by smbnetfs."""
    trip = number(s, "round_trip_ms")
    truth = {"round_trip_ms": Truth(trip, "of each request: a call takes at least one, and several on SMB")}
    return Recipe(smb_steps(FarLink(trip, 1500), 4096), SMB_SHARE, truth, kind="directory")


# -- NFS -------------------------------------------------------------------------------------------------------------

NFS_PORT, GLUSTER_PORT = 2049, 24007
LET_GO = text_of("let_go.sh")
NFS_REGISTERED = (
    "until rpcinfo -T tcp {server} 100005 3 && rpcinfo -T tcp {server} 100003 3; do sleep 0.1; done >/dev/null 2>&1"
)


def nfs_steps(link: Link | FarLink, drive_bytes: int, size_bytes: int) -> tuple[Step, ...]:
    """A server behind the link, whose export {dir}/export holds a file `data`."""
    return (
        link,
        *mounted(drive_bytes, "{dir}/export", "{dir}/recovery"),
        MakeFile("{dir}/export/data", size_bytes),
        Text("{dir}/ganesha.conf", text_of("ganesha.conf")),
        Text("{dir}/nfs.sh", text_of("nfs.sh").replace("{let_go}", LET_GO)),
        Serve("server", words("unshare --mount -- sh {dir}/nfs.sh"), f"{{server}}:{NFS_PORT}", inside=True),
        Run(("timeout", "15", "sh", "-c", NFS_REGISTERED)),
        iperf_server(),
    )


@scenario("nas-nfs")
def _nfs(s: Settings) -> Recipe:
    """A file on an NFS server (Ganesha) behind a 100 Mb/s link, by libnfs; or by the kernel (client=kernel)."""
    rate, mtu, size = whole(s, "rate_bits_per_s"), whole(s, "mtu"), whole(s, "size_bytes")
    payload = "TCP payload, each direction apart; RPC headers take another 0.2% of 64 KiB"
    truth = {
        "bw_bytes_per_s": follows(goodput_bytes_per_s(rate, mtu), payload),
        "rate_bits_per_s": Truth(rate, BUCKETS),
    }
    steps, options = nfs_steps(Link(rate, mtu), size + (64 << 20), size), f"bs=64k iodepth=4 size={size}"
    if choice(s, "client", "libnfs", "kernel") == "kernel":
        mount = words("mount -t nfs4 -o vers=4.1,proto=tcp,soft {server}:/disk {dir}/mount")
        checks = each_way("bw_bytes_per_s", f"ioengine=libaio direct=1 {options}", 1)
        steps = (*steps, Run(("mkdir", "{dir}/mount")), Run(mount))
        return Recipe(steps, "{dir}/mount/data", truth, kind="file", checks=checks)
    file = "driver=nfs,node-name=disk,server.type=inet,server.host={server},path={dir}/export/data"
    disk = Serve("disk", ("qemu-storage-daemon", "--blockdev", file, *storage_export()), SOCKET)
    return Recipe((*steps, disk), NAMED_URI, truth, checks=each_way("bw_bytes_per_s", options, 1))


# It puts itself into the background and writes no number: the shell stays as long as the mount does.
FUSE_NFS = (
    "fuse-nfs -n nfs://{server}{dir}/export -m {dir}/mount -E 0 -N 0 -T 0 && "
    "while mountpoint -q {dir}/mount; do sleep 1; done"
)


@scenario("names-nfs")
def _names_nfs(s: Settings) -> Recipe:
    """A directory on an NFS server (Ganesha) at the end of a link of known round trip, mounted by fuse-nfs."""
    trip = number(s, "round_trip_ms")
    client = Serve("client", ("sh", "-c", FUSE_NFS), "{dir}/mount/data")
    steps = (*nfs_steps(FarLink(trip, 1500), 1 << 30, 4096), Run(("mkdir", "{dir}/mount")), client)
    truth = {"round_trip_ms": Truth(trip, "of each request: a call takes at least one")}
    return Recipe(steps, "{dir}/mount", truth, kind="directory")


# -- GlusterFS -------------------------------------------------------------------------------------------------------

# /tmp is empty as well: a process that is killed while it writes a backtrace leaves a file there.
# A start asks gsyncd two dozen times what it can do, half a second each: geo-replication is not there.
NO_GEO_REPLICATION = "#!/bin/sh\necho gsyncd\n"
CACHES_OFF = {f"performance.{cache}": "off" for cache in words("io-cache quick-read read-ahead stat-prefetch")}
# The client asks the server for each name and each stat: its kernel keeps neither.
NOTHING_KEPT = words("--entry-timeout=0 --negative-timeout=0 --attribute-timeout=0")


def gluster_steps(
    nodes: Nodes, layout: str, set_up: Mapping[str, str], mount: tuple[str, ...] = ()
) -> tuple[Step, ...]:
    """A volume `lab` over all of the nodes, mounted at {dir}/mount.

    layout: words of the volume's lay-out; set_up: options of the volume; mount: options of its FUSE client.
    """
    numbers = range(1, nodes.count + 1)
    gluster = words("nsenter --target {gluster1_pid} --mount --net gluster --mode=script")
    bricks = [f"{{node{number}}}:{{dir}}/brick{number}" for number in numbers]
    hosts = "".join(f"{{node{number}}} node{number}\n" for number in numbers)
    create = " ".join((*gluster, "volume", "create", "lab", *words(layout), *bricks, "force"))
    client = ("glusterfs", "-N", "-s", "{server}", "--volfile-id=lab", *mount, "-l", "{dir}/client.txt", "{dir}/mount")

    def daemon(number: int) -> Serve:
        started = words(f"unshare --mount -- sh {{dir}}/node.sh {number}")
        return Serve(f"gluster{number}", started, f"{{node{number}}}:{GLUSTER_PORT}", node=number)

    return (
        nodes,
        Text("{dir}/hosts", f"127.0.0.1 localhost\n{hosts}"),
        Text("{dir}/gsyncd", NO_GEO_REPLICATION),
        Run(("chmod", "700", "{dir}/gsyncd")),
        Text("{dir}/node.sh", text_of("gluster_node.sh").replace("{let_go}", LET_GO)),
        *map(daemon, numbers),
        *(Run((*gluster, "peer", "probe", f"{{node{number}}}")) for number in numbers[1:]),
        # Peers that have just met do not know one another for a moment.
        Run(("timeout", "20", "sh", "-c", f"until {create} >/dev/null 2>{{dir}}/create.txt; do sleep 0.2; done")),
        *(Run((*gluster, "volume", "set", "lab", option, value)) for option, value in set_up.items()),
        Run((*gluster, "volume", "start", "lab")),
        Run(("mkdir", "{dir}/mount")),
        Serve("client", client),
        Run(("timeout", "20", "sh", "-c", "until mountpoint -q {dir}/mount; do sleep 0.05; done")),
        iperf_server(1),
    )


def _layout(s: Settings) -> tuple[str, float, str]:
    """(words for the volume, bytes sent for each byte written, what the truth rests on)."""
    nodes = whole(s, "nodes")
    kind = choice(s, "kind", "distributed", "replicated", "dispersed")
    if kind == "distributed":
        return "", 1.0, "a file lies on one node"
    if kind == "replicated":
        copies = whole(s, "replicas")
        if copies not in (2, 3) or nodes % copies:
            remedy = "use 2 or 3 replicas, and a multiple of that"
            raise UsageError(f"{nodes} nodes cannot keep {copies} replicas", remedy=remedy)
        return f"replica {copies}", float(copies), f"the client sends each byte {copies} times"
    redundancy = whole(s, "redundancy")
    if not 0 < 2 * redundancy < nodes:
        remedy = "redundancy is less than half of the nodes"
        raise UsageError(f"{nodes} nodes cannot be dispersed with redundancy {redundancy}", remedy=remedy)
    data = nodes - redundancy
    why = f"the client sends {nodes} fragments for {data} of data"
    return f"disperse {nodes} redundancy {redundancy}", nodes / data, why


@scenario("cluster")
def _cluster(s: Settings) -> Recipe:
    """GlusterFS over nodes with a link each, distributed, replicated or dispersed, mounted as a directory."""
    count, rate, mtu = whole(s, "nodes"), whole(s, "rate_bits_per_s"), whole(s, "mtu")
    layout, sent, why = _layout(s)
    healing = {"replica": "cluster.self-heal-daemon", "disperse": "cluster.disperse-self-heal-daemon"}
    set_up = CACHES_OFF | {healing[kind]: "off" for kind in words(layout)[:1]}
    link = goodput_bytes_per_s(rate, mtu)
    truth = {
        "write_bytes_per_s": follows(link / sent, f"TCP payload of the client's port: {why}"),
        "read_bytes_per_s": follows(link, "TCP payload of the client's port: each byte comes once"),
        "rate_bits_per_s": Truth(rate, "of the client's port and of every node's, each direction apart"),
        "nodes": Truth(count),
    }
    common = "ioengine=libaio direct=1 filename={dir}/mount/data size=64m bs=128k iodepth=8"
    wider = "headers of the RPC, and writes that the client has taken but not yet sent"
    # What is read was written before.
    checks = each_way("{way}_bytes_per_s", common, 3, 8, 0.03, kind="mean_bw", wider=wider)[::-1]
    steps = gluster_steps(Nodes(count, rate, mtu), layout, set_up)
    return Recipe(steps, "{dir}/mount", truth, kind="directory", checks=checks, options={"direct": 1})


@scenario("names")
def _names(s: Settings) -> Recipe:
    """A mounted GlusterFS directory whose client asks for every name; its server may take longer to look up each."""
    lookup_ms = number(s, "lookup_ms")
    if not 0 <= lookup_ms <= 1000:
        raise UsageError(f"a look-up cannot take {lookup_ms:g} ms more", remedy="use 0 to 1000")
    delay = {
        "debug.delay-gen": "posix",
        "delay-gen.enable": "lookup",
        "delay-gen.delay-percentage": "100",
        "delay-gen.delay-duration": f"{round(lookup_ms * 1000)}",
    }
    set_up = CACHES_OFF | (delay if lookup_ms else {})
    steps = gluster_steps(Nodes(1, whole(s, "rate_bits_per_s"), whole(s, "mtu")), "", set_up, NOTHING_KEPT)
    waits = "that the server waits before it looks up a name: of each name of a path, the mounted directory's too"
    truth = {"lookup_ms": Truth(lookup_ms, waits)}
    return Recipe(steps, "{dir}/mount", truth, kind="directory", options={"direct": 1})
