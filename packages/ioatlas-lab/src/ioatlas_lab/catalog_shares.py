# SPDX-License-Identifier: Apache-2.0
"""File servers: NFS by Ganesha, and a distributed store by GlusterFS whose nodes have a namespace each.

Both keep state at fixed places of the system. Here each server has a mount namespace of its own with empty directories
there, so that several can run and nothing of theirs stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas.errors import UsageError
from ioatlas_lab.catalog_nodes import choice, iperf_server
from ioatlas_lab.catalog_root import IPERF, IPERF_SERVER, IPROUTE, LOSETUP
from ioatlas_lab.network import goodput_bytes_per_s
from ioatlas_lab.recipes import NAMED_URI, SOCKET, STORAGE_DAEMON, each_way, scenario, storage_export, whole
from ioatlas_lab.scenario import (
    FarLink,
    Link,
    Loop,
    MakeFile,
    Nodes,
    Recipe,
    Requirement,
    Run,
    Serve,
    Setting,
    Step,
    Text,
    Truth,
)

NFS_PORT, MOUNT_PORT, GLUSTER_PORT = 2049, 20048, 24007
GANESHA = f"""NFS_CORE_PARAM {{ Protocols = 3, 4; NFS_Port = {NFS_PORT}; MNT_Port = {MOUNT_PORT};
 Bind_addr = {{server}}; Enable_NLM = false; Enable_RQUOTA = false; }}
NFSV4 {{ Graceless = true; RecoveryBackend = fs; RecoveryRoot = {{dir}}/recovery; }}
EXPORT {{ Export_Id = 1; Path = {{dir}}/export; Pseudo = /disk; Access_Type = RW; Squash = No_Root_Squash;
 Protocols = 3, 4; Transports = TCP; SecType = sys; FSAL {{ Name = VFS; }} }}
"""
# A new mount namespace holds the file systems of other targets too: their loop devices would stay as long as it does.
LET_GO = (
    "while read -r device place rest; do case $device in /dev/loop*) "
    "[ $place = {dir}/export ] || umount -l $place;; esac; done < /proc/self/mounts"
)
# rpcbind has its socket and its lock in /run, whoever starts it.
NFS_SERVER = (
    f"{LET_GO}; "
    "mount -t tmpfs lab /run && { rpcbind -f -h {server} & } && "
    "exec ganesha.nfsd -F -f {dir}/ganesha.conf -L {dir}/ganesha.log -p {dir}/ganesha.number"
)
NFS_REGISTERED = (
    "until rpcinfo -T tcp {server} 100005 3 && rpcinfo -T tcp {server} 100003 3; do sleep 0.1; done >/dev/null 2>&1"
)


NFS_PACKAGES = (
    IPERF,
    LOSETUP,
    Requirement("ganesha.nfsd", "nfs-ganesha"),
    Requirement("ganesha/libfsalvfs.so", "nfs-ganesha-vfs"),
    Requirement("rpcbind", "rpcbind"),
    Requirement("mkfs.ext4", "e2fsprogs"),
)


def nfs_steps(link: Link | FarLink, drive_bytes: int, size_bytes: int) -> tuple[Step, ...]:
    """A server behind the link, whose export {dir}/export holds a file `data`."""
    return (
        link,
        MakeFile("{dir}/drive.img", drive_bytes, random=False),
        Loop("{dir}/drive.img"),
        Run(("mkfs.ext4", "-q", "-F", "{loop0}")),
        Run(("mkdir", "{dir}/export", "{dir}/recovery")),
        Run(("mount", "-o", "noatime", "{loop0}", "{dir}/export")),
        MakeFile("{dir}/export/data", size_bytes),
        Text("{dir}/ganesha.conf", GANESHA),
        Serve("server", ("unshare", "--mount", "--", "sh", "-c", NFS_SERVER), f"{{server}}:{NFS_PORT}", inside=True),
        Run(("timeout", "15", "sh", "-c", NFS_REGISTERED)),
        IPERF_SERVER,
    )


@scenario(
    "nas-nfs",
    "link",
    (*IPROUTE, STORAGE_DAEMON, Requirement("qemu/block-nfs.so", "qemu-block-extra"), *NFS_PACKAGES),
    {"client": "libnfs", "rate_bits_per_s": 10**8, "mtu": 1500, "size_bytes": 64 << 20},
    needs_root=True,
)
def _nfs(s: Mapping[str, Setting]) -> Recipe:
    """A file on an NFS server (Ganesha) behind a 100 Mb/s link, by libnfs; or by the kernel (client=kernel)."""
    rate, mtu, size = whole(s, "rate_bits_per_s"), whole(s, "mtu"), whole(s, "size_bytes")
    client = choice(s, "client", "libnfs", "kernel")
    steps = [*nfs_steps(Link(rate, mtu), size + (64 << 20), size)]
    if client == "kernel":
        mount = ("mount", "-t", "nfs4", "-o", "vers=4.1,proto=tcp,soft", "{server}:/disk", "{dir}/mount")
        steps += [Run(("mkdir", "{dir}/mount")), Run(mount)]
    else:
        file = "driver=nfs,node-name=disk,server.type=inet,server.host={server},path={dir}/export/data"
        steps.append(Serve("disk", ("qemu-storage-daemon", "--blockdev", file, *storage_export()), SOCKET))
    truth = {
        "bw_bytes_per_s": Truth(
            goodput_bytes_per_s(rate, mtu),
            "B/s",
            "arithmetic",
            "TCP payload, each direction apart; RPC headers take another 0.2% of 64 KiB",
        ),
        "rate_bits_per_s": Truth(rate, "bit/s", note="of the token bucket at each end"),
    }
    kernel = ("ioengine=libaio", "direct=1") if client == "kernel" else ()
    checks = each_way("bw_bytes_per_s", *kernel, "bs=64k", "iodepth=4", f"size={size}", settle_seconds=1)
    by_file = client == "kernel"
    return Recipe(
        tuple(steps),
        "{dir}/mount/data" if by_file else NAMED_URI,
        truth,
        kind="file" if by_file else "uri",
        checks=checks,
    )


# /tmp is empty as well: a process that is killed while it writes a backtrace leaves a file there.
# A start asks gsyncd two dozen times what it can do, half a second each: geo-replication is not there.
NO_GEO_REPLICATION = "#!/bin/sh\necho gsyncd\n"
GLUSTER_NODE = (
    f"""set -e
{LET_GO}
"""
    """mount -t tmpfs lab /run
mkdir -p /run/gluster
mount -t tmpfs lab /var/lib/glusterd
mount -t tmpfs lab /var/log/glusterfs
mount --bind {dir}/hosts /etc/hosts
mkdir /run/own
mount --bind {dir} /run/own
mount -t tmpfs lab /tmp
mkdir -p {dir}
mount --bind /run/own {dir}
for place in /usr/lib/*/glusterfs/gsyncd /usr/libexec/glusterfs/gsyncd; do
    if [ -e "$place" ]; then mount --bind {dir}/gsyncd "$place"; fi
done
exec glusterd -N -p /run/glusterd.pid -l {dir}/glusterd$1.txt
"""
)
GLUSTER_PACKAGES = (
    *IPROUTE,
    IPERF,
    Requirement("glusterd", "glusterfs-server"),
    Requirement("glusterfs", "glusterfs-client"),
    Requirement("/dev/fuse", "a kernel with FUSE"),
)
CACHES = ("io-cache", "quick-read", "read-ahead", "stat-prefetch")


def _layout(s: Mapping[str, Setting]) -> tuple[tuple[str, ...], float, str]:
    """(words for the volume, bytes sent for each byte written, what the truth rests on)."""
    nodes = whole(s, "nodes")
    match choice(s, "kind", "distributed", "replicated", "dispersed"):
        case "distributed":
            return (), 1.0, "a file lies on one node"
        case "replicated":
            copies = whole(s, "replicas")
            if copies not in (2, 3) or nodes % copies:
                raise UsageError(
                    f"{nodes} nodes cannot keep {copies} replicas",
                    remedy="use 2 or 3 replicas, and a multiple of that",
                )
            return ("replica", f"{copies}"), float(copies), f"the client sends each byte {copies} times"
        case _:
            redundancy = whole(s, "redundancy")
            if not 0 < 2 * redundancy < nodes:
                raise UsageError(
                    f"{nodes} nodes cannot be dispersed with redundancy {redundancy}",
                    remedy="redundancy is less than half of the nodes",
                )
            data = nodes - redundancy
            return (
                ("disperse", f"{nodes}", "redundancy", f"{redundancy}"),
                nodes / data,
                f"the client sends {nodes} fragments for {data} of data",
            )


def gluster_steps(
    nodes: Nodes, words: tuple[str, ...], set_up: Mapping[str, str], mount: tuple[str, ...] = ()
) -> tuple[Step, ...]:
    """A volume `lab` over all of the nodes, mounted at {dir}/mount.

    words: of the volume's lay-out; set_up: options of the volume; mount: options of its FUSE client.
    """
    numbers = range(1, nodes.count + 1)
    gluster = ("nsenter", "--target", "{gluster1_pid}", "--mount", "--net", "gluster", "--mode=script")
    bricks = [f"{{node{number}}}:{{dir}}/brick{number}" for number in numbers]
    hosts = "".join(f"{{node{number}}} node{number}\n" for number in numbers)
    create = " ".join((*gluster, "volume", "create", "lab", *words, *bricks, "force"))
    client = ("glusterfs", "-N", "-s", "{server}", "--volfile-id=lab", *mount, "-l", "{dir}/client.txt", "{dir}/mount")
    return (
        nodes,
        Text("{dir}/hosts", f"127.0.0.1 localhost\n{hosts}"),
        Text("{dir}/gsyncd", NO_GEO_REPLICATION),
        Run(("chmod", "700", "{dir}/gsyncd")),
        Text("{dir}/node.sh", GLUSTER_NODE),
        *(
            Serve(
                f"gluster{number}",
                ("unshare", "--mount", "--", "sh", "{dir}/node.sh", f"{number}"),
                f"{{node{number}}}:{GLUSTER_PORT}",
                node=number,
            )
            for number in numbers
        ),
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


@scenario(
    "cluster",
    "link",
    GLUSTER_PACKAGES,
    {"kind": "replicated", "nodes": 3, "replicas": 3, "redundancy": 1, "rate_bits_per_s": 10**8, "mtu": 1500},
    needs_root=True,
)
def _cluster(s: Mapping[str, Setting]) -> Recipe:
    """GlusterFS over nodes with a link each, distributed, replicated or dispersed, mounted as a directory."""
    count, rate, mtu = whole(s, "nodes"), whole(s, "rate_bits_per_s"), whole(s, "mtu")
    words, sent, why = _layout(s)
    set_up = {f"performance.{cache}": "off" for cache in CACHES}
    if words:
        set_up["cluster.self-heal-daemon" if words[0] == "replica" else "cluster.disperse-self-heal-daemon"] = "off"
    steps = gluster_steps(Nodes(count, rate, mtu), words, set_up)
    link = goodput_bytes_per_s(rate, mtu)
    truth = {
        "write_bytes_per_s": Truth(link / sent, "B/s", "arithmetic", f"TCP payload of the client's port: {why}"),
        "read_bytes_per_s": Truth(link, "B/s", "arithmetic", "TCP payload of the client's port: each byte comes once"),
        "rate_bits_per_s": Truth(rate, "bit/s", note="of the client's port and of every node's, each direction apart"),
        "nodes": Truth(count, "1"),
    }
    common = ("ioengine=libaio", "direct=1", "filename={dir}/mount/data", "size=64m", "bs=128k", "iodepth=8")
    wider = "headers of the RPC, and writes that the client has taken but not yet sent"
    of_both = {"kind": "mean_bw", "settle_seconds": 3, "seconds": 8, "tolerance": 0.03, "wider": wider}
    checks = each_way("{way}_bytes_per_s", *common, **of_both)[::-1]  # what is read was written before
    return Recipe(steps, "{dir}/mount", truth, kind="directory", checks=checks, options={"direct": 1})
