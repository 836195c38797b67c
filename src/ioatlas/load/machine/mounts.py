# SPDX-License-Identifier: Apache-2.0
"""What is mounted: in this mount namespace, in every other one that can be seen, and what fstab promises."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ioatlas.load.fio.process import text_of
from ioatlas.model.errors import IoAtlasError

_NETWORK = """
    nfs nfs4 cifs smb3 smbfs ncpfs afs coda 9p ceph lustre gfs2 ocfs2 orangefs pvfs2 beegfs gpfs davfs glusterfs
    panfs vboxsf prl_fs vmhgfs virtiofs acfs
"""
NETWORK_TYPES = frozenset(_NETWORK.split())
"""File-system types whose data lives on another machine, or whose locks a SQLite journal cannot rely on."""

LOCAL_FUSE_TYPES = frozenset(
    {"fuseblk", "fuse.ntfs-3g", "fuse.exfat", "fuse.lxcfs", "fuse.mergerfs", "fuse.bindfs", "fuse.zfs", "fuse.encfs"}
)
"""FUSE types that keep their data on this machine.
Any other FUSE mount (sshfs, glusterfs, rclone, s3fs ...) counts as network."""

_PSEUDO = """
    proc sysfs devtmpfs devpts cgroup cgroup2 debugfs tracefs securityfs configfs efivarfs pstore bpf
    binfmt_misc mqueue fusectl rpc_pipefs nsfs selinuxfs smackfs hugetlbfs resctrl nfsd
"""
PSEUDO_TYPES = frozenset(_PSEUDO.split())
"""File systems that are interfaces to the kernel: writing there changes the machine, not storage."""

_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo (proc_pid_mountinfo(5))."""

    mount_id: int
    device_number: str
    root: str
    mount_point: str
    fs_type: str
    source: str
    options: str

    @property
    def is_network(self) -> bool:
        return self.fs_type in NETWORK_TYPES or (
            (self.fs_type == "fuse" or self.fs_type.startswith("fuse.")) and self.fs_type not in LOCAL_FUSE_TYPES
        )


def unescape(text: str) -> str:
    """mountinfo, swaps and fstab write blanks, tabs, line breaks and backslashes as octal."""
    return _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), text)


def read_mountinfo(path: str = "/proc/self/mountinfo") -> list[Mount]:
    """Every mount of one namespace, in mount order. Raises OSError when the file cannot be read."""
    return parse_mountinfo(Path(path).read_text(encoding="utf-8", errors="surrogateescape"))


def parse_mountinfo(text: str) -> list[Mount]:
    """The same from a file's content."""
    mounts = []
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        head, tail = left.split(" "), right.split(" ")
        if len(head) < 6 or len(tail) < 3:
            continue
        options = dict.fromkeys((*head[5].split(","), *tail[2].split(",")))
        mounts.append(
            Mount(
                int(head[0]),
                head[2],
                unescape(head[3]),
                unescape(head[4]),
                tail[0],
                unescape(tail[1]),
                ",".join(options),
            )
        )
    return mounts


def mount_of(path: str) -> Mount:
    """The mount that `path` lies on, found by the kernel's own mount id: right for bind mounts and for mounts on top of
    each other.

    Raises OSError when the path cannot be opened.
    """
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        lines = Path(f"/proc/self/fdinfo/{fd}").read_text(encoding="ascii").splitlines()
    finally:
        os.close(fd)
    mount_id = next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))
    for mount in read_mountinfo():
        if mount.mount_id == mount_id:
            return mount
    raise IoAtlasError(
        "the mount it lies on is not listed in /proc/self/mountinfo",
        where=path,
        remedy="name a path inside this mount namespace",
    )


def every_visible_mount() -> Iterator[Mount]:
    """Mounts of this mount namespace and of every other one we may look into (all of them for root)."""
    yield from read_mountinfo()
    seen = {os.readlink("/proc/self/ns/mnt")}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            namespace = os.readlink(f"/proc/{entry}/ns/mnt")
            if namespace in seen:
                continue
            seen.add(namespace)
            yield from read_mountinfo(f"/proc/{entry}/mountinfo")
        except OSError:  # the process has ended, or is not ours to look into
            continue


def unmounted_mount_point(path: str) -> str | None:
    """The mount point of fstab that `path` lies on or below and where nothing is mounted, or None.

    The innermost such entry counts; automount entries count too: after a visit they must be mounted.
    """
    lines = text_of("/etc/fstab", "surrogateescape").splitlines()
    mounted = {mount.mount_point for mount in read_mountinfo() if mount.fs_type != "autofs"}
    promised = []
    for line in lines:
        fields = line.split()
        if len(fields) >= 2 and not fields[0].startswith("#") and fields[1].startswith("/"):
            promised.append(os.path.normpath(unescape(fields[1])))
    for point in sorted(promised, key=len, reverse=True):
        if point == "/" or not (path == point or path.startswith(point + "/")):
            continue
        return None if point in mounted or os.path.realpath(point) in mounted else point
    return None
