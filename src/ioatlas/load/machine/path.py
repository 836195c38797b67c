# SPDX-License-Identifier: Apache-2.0
"""The path to the target: what kind of place it is, how it is mounted, by which protocol, from which server; what
the kernel tells of an NFS mount in /proc/self/mountstats (nfs-utils, mountstats(8)).
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import socket
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from ioatlas.load.machine.mounts import mount_of
from ioatlas.load.machine.sheet import Sheet, as_int
from ioatlas.model.errors import IoAtlasError, UsageError, faults
from ioatlas.model.units import pairs

_NETWORK_FILE_SYSTEMS = pairs("""
    nfs=NFS nfs4=NFS cifs=SMB smb3=SMB smbfs=SMB fuse.smbnetfs=SMB fuse.sshfs=SFTP fuse.glusterfs=GlusterFS ceph=CephFS
    fuse.ceph=CephFS fuse.ceph-fuse=CephFS lustre=Lustre beegfs=BeeGFS 9p=9P virtiofs=virtiofs fuse.rclone=rclone
    fuse.s3fs=S3 fuse.davfs=WebDAV davfs=WebDAV afs=AFS fuse.gvfsd-fuse=GVfs
""")
_PORTS = {"nbd": 10809, "nbds": 10809, "nfs": 2049, "http": 80, "https": 443, "s3": 443}
_DROPS_FLUSHES = re.compile(r"[\0,-](cache=unsafe|fuamode=discard|cache\.no-flush=on)[\0,]")
"""Options of nbdkit's filters and of QEMU's servers."""
_MOUNT_PORTS = {"NFS": 2049, "SMB": 445, "SFTP": 22, "GlusterFS": 24007}


@dataclass(frozen=True)
class Route:
    """Where a location leads.

    kind:    'directory', 'file', 'block' or 'uri'.
    server:  host at the other end; '' for a local target.
    """

    location: str
    kind: str
    protocol: str = ""
    server: str = ""
    fs_type: str = ""
    mount_point: str = ""


def look_at_path(sheet: Sheet, location: str) -> Route:
    """Enter mount, file system and protocol of a path or URI. Raises UsageError when there is nothing there."""
    if re.match(r"^[A-Za-z][A-Za-z0-9+.-]*:", location) and not os.path.lexists(location):
        return _uri(sheet, location)
    path = Path(location)
    with faults(
        UsageError,
        "cannot look at the target",
        where=location,
        remedy="name a directory, a file, a block device or a URI",
    ):
        status = path.stat()
    sheet.known("target.location", str(path.resolve()), "the command line", private=True)
    if stat.S_ISBLK(status.st_mode):
        sheet.known("target.kind", "block", "stat")
        return Route(location, "block", "block")
    kind = "directory" if stat.S_ISDIR(status.st_mode) else "file"
    sheet.known("target.kind", kind, "stat")
    if kind == "file":
        sheet.known("target.size_bytes", status.st_size, "stat", unit="B")
        # st_blocks counts 512-byte units whatever the file system's block is (stat(2)).
        allocated = status.st_blocks * 512
        sheet.known("target.allocated_bytes", allocated, "stat", unit="B")
        if allocated < status.st_size * 0.99:
            sheet.known("target.holes", True, "stat", note="(they are read without a device)")
    return _mounted(sheet, path, kind)


def _mounted(sheet: Sheet, path: Path, kind: str) -> Route:
    told_by = "/proc/self/mountinfo"
    try:
        mount = mount_of(str(path))
    except (OSError, IoAtlasError):
        sheet.unknown("mount.point", told_by)
        return Route(str(path), kind)
    server = server_of(mount.fs_type, mount.source) or _server_below(mount.fs_type, mount.mount_point, path)
    sheet.known("mount.point", mount.mount_point, told_by, private=True)
    sheet.known("mount.source", mount.source, told_by, private=bool(server))
    sheet.known("mount.options", without_addresses(mount.options), told_by)
    sheet.known("fs.type", mount.fs_type, told_by)
    space = os.statvfs(path)
    sheet.known("fs.size_bytes", space.f_blocks * space.f_frsize, "statvfs", unit="B")
    sheet.known("fs.free_bytes", space.f_bavail * space.f_frsize, "statvfs", unit="B")
    sheet.known("fs.block_bytes", space.f_bsize, "statvfs", unit="B")
    protocol = _NETWORK_FILE_SYSTEMS.get(mount.fs_type, "")
    if protocol:
        sheet.known("protocol.name", protocol, told_by)
        _protocol_options(sheet, protocol, mount.options, told_by)
        if server:
            sheet.known("server.address", server, told_by, private=True)
            mount_port(sheet, protocol, mount.options, told_by)
    elif mount.fs_type in {"tmpfs", "ramfs", "devtmpfs"}:
        sheet.known("protocol.name", "memory", told_by, note="what is written here stays in this machine's memory")
    return Route(str(path), kind, protocol, server, mount.fs_type, mount.mount_point)


def _server_below(fs_type: str, mount_point: str, path: Path) -> str:
    """Of smbnetfs, which mounts the whole network: the server is a directory, at the top or below its work group.

    Names are not looked up, only addresses are taken.
    """
    if fs_type != "fuse.smbnetfs" or not path.resolve().is_relative_to(mount_point):
        return ""
    for part in path.resolve().relative_to(mount_point).parts[:2]:
        with contextlib.suppress(ValueError):
            return str(ipaddress.ip_address(part))
    return ""


def server_of(fs_type: str, source: str) -> str:
    """Host name or address in a mount source: 'nas:/vol', '//nas/share', 'user@nas:/dir', '[fe80::1]:/vol',
    'mon1,mon2:/'; '' for a local one.
    """
    if fs_type not in _NETWORK_FILE_SYSTEMS or fs_type in {"9p", "virtiofs"}:
        return ""
    if source.startswith("//"):
        return source[2:].split("/", maxsplit=1)[0].rpartition("@")[2]
    bracket = re.match(r"^(?:[^@/]*@)?\[([^]]+)\]:", source)
    if bracket:
        return bracket[1]
    host, colon, _ = source.rpartition(":/")
    return host.rpartition("@")[2].split(",")[0].split(":")[0] if colon else ""


def without_addresses(options: str) -> str:
    """Mount options without those that name a site's hosts and users."""
    hidden = ("addr=", "clientaddr=", "mountaddr=", "username=", "user=", "password=", "domain=", "ip=", "credentials=")
    return ",".join(word for word in options.split(",") if not word.startswith(hidden))


def _protocol_options(sheet: Sheet, protocol: str, options: str, source: str) -> None:
    values = dict(word.partition("=")[::2] for word in options.split(","))
    if protocol == "NFS":
        sheet.known("protocol.version", values.get("vers"), source)
        sheet.known("protocol.transport", values.get("proto"), source)
    elif protocol == "SMB":
        sheet.known("protocol.version", values.get("vers"), source)
        sheet.known("protocol.cache", values.get("cache"), source)
    for key in ("rsize", "wsize"):
        if values.get(key):
            sheet.known(f"protocol.{key}_bytes", as_int(values[key]), source, unit="B")
    for key in ("nconnect", "sec", "actimeo", "multichannel", "max_channels", "seal", "sign"):
        if key in values:
            sheet.known(f"protocol.{key}", values[key] or True, source)


def mount_port(sheet: Sheet, protocol: str, options: str, source: str) -> None:
    """Enter the server's port: a round trip is measured to it where ping is not installed or not answered."""
    named = re.search(r"(?:^|,)port=(\d+)", options)
    if named and int(named[1]):
        sheet.known("protocol.port", int(named[1]), source)
    elif protocol in _MOUNT_PORTS:
        sheet.known("protocol.port", _MOUNT_PORTS[protocol], source, note="the default port; the mount names none")


def _uri(sheet: Sheet, location: str) -> Route:
    parts = urlsplit(location)
    scheme = parts.scheme.lower()
    sheet.known("target.location", location, "the command line", private=True)
    sheet.known("target.kind", "uri", "the command line")
    name, _, variant = scheme.partition("+")
    sheet.known("protocol.name", {"nbd": "NBD", "nbds": "NBD", "nfs": "NFS"}.get(name, name), "the URI")
    if variant == "unix" or "socket" in parse_qs(parts.query):
        sheet.known("protocol.transport", "unix socket", "the URI", note="no network is on the path")
        _nbd_export(sheet, location, name)
        _local_server(sheet, parse_qs(parts.query).get("socket", [""])[0])
        return Route(location, "uri", name.upper())
    host = parts.hostname or ""
    if host:
        sheet.known("server.address", host, "the URI", private=True)
        sheet.known("protocol.transport", "tcp", "the URI")
        sheet.known("protocol.port", parts.port or _PORTS.get(name), "the URI")
    else:
        sheet.unknown("server.address", "the URI", "the URI names no host")
    _nbd_export(sheet, location, name)
    return Route(location, "uri", name.upper(), host)


def _local_server(sheet: Sheet, path: str) -> None:
    """What of its command line says that the server at a socket drops flushes."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as to:
        to.connect(path)
        pid, *_ = struct.unpack("3i", to.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        words = f"{sheet.file(f'/proc/{pid}/cmdline')}\0"
        if (found := _DROPS_FLUSHES.search(words)) and words.count("blockdev") < 2:  # else it may be another export's
            sheet.known("server.drops_flushes", found[1], f"/proc/{pid}/cmdline")


def _nbd_export(sheet: Sheet, location: str, name: str) -> None:
    """What the server says of an NBD export, by libnbd's own tool."""
    if name not in {"nbd", "nbds"}:
        return
    data = sheet.tool_json("nbdinfo", "--json", location)
    exports = data.get("exports", []) if isinstance(data, dict) else []
    if not exports:
        return
    source, export = "nbdinfo --json", exports[0]
    sheet.known("protocol.variant", data.get("protocol"), source)
    sheet.known("protocol.tls", data.get("TLS"), source)
    sheet.known("target.size_bytes", export.get("export-size"), source, unit="B")
    for key, fact in (
        ("is_rotational", "rotational"),
        ("is_read_only", "read_only"),
        ("can_multi_conn", "can_multi_conn"),
        ("can_flush", "can_flush"),
        ("can_trim", "can_trim"),
    ):
        if key in export:
            sheet.stated(
                f"target.{fact}",
                export[key],
                source,
                doubt="the server says so about what it serves" if fact == "rotational" else "",
            )
    for key in ("block_minimum", "block_preferred", "block_maximum"):
        if export.get(key):
            sheet.known(f"target.{key}_bytes", export[key], source, unit="B")


MOUNTSTATS = "/proc/self/mountstats"


def section_of(text: str, mount_point: str) -> str:
    """The lines of one mount; empty when it is not an NFS mount."""
    escaped = mount_point.replace("\\", r"\134").replace(" ", r"\040").replace("\t", r"\011")
    wanted = re.compile(rf"^device .* mounted on {re.escape(escaped)} with fstype nfs")
    lines, inside = [], False
    for line in text.splitlines():
        if line.startswith("device "):
            inside = wanted.match(line) is not None
        if inside:
            lines.append(line)
    return "\n".join(lines)


def server_bytes(section: str) -> tuple[int, int] | None:
    """Bytes read of the server and written to it since the mount; None where a section does not tell them."""
    found = re.search(r"^\s*bytes:((?:\s+\d+){6,})", section, re.MULTILINE)
    return (int(found[1].split()[4]), int(found[1].split()[5])) if found else None


def server_flushes(section: str) -> int:
    """Writes and commits sent to the server since the mount, after each of which something lasts there."""
    return sum(int(count) for count in re.findall(r"^\s*(?:WRITE|COMMIT):\s+(\d+)", section, re.MULTILINE))


def connections(section: str) -> int:
    """How many there are to the server."""
    return len(re.findall(r"^\s*xprt:", section, re.MULTILINE))


def look_at_session(sheet: Sheet, route: Route) -> None:
    """Enter what the kernel knows of an NFS session beyond the mount options."""
    if route.protocol != "NFS" or not route.mount_point:
        return
    section = section_of(sheet.file(MOUNTSTATS) or "", route.mount_point)
    if not section:
        sheet.unknown("nfs.counters", MOUNTSTATS, "the mount is not listed")
        return
    sheet.raw[MOUNTSTATS] = section
    if own := re.search(r"^\s*impl_id:\s*name='([^']+)'", section, re.MULTILINE):  # of NFS 4.1 and later
        sheet.stated("nfs.implementation", own[1], MOUNTSTATS, doubt="the server says so")
    sheet.known("nfs.connections", connections(section), MOUNTSTATS)
