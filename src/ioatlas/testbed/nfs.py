# SPDX-License-Identifier: Apache-2.0
"""What the kernel tells of an NFS mount in /proc/self/mountstats (nfs-utils, mountstats(8))
and of SMB in /proc/fs/cifs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ioatlas.testbed.path import Route
from ioatlas.testbed.sheet import Sheet, as_int

MOUNTSTATS = "/proc/self/mountstats"
CIFS = "/proc/fs/cifs/DebugData"


@dataclass(frozen=True)
class MountStats:
    """One NFS mount's section.

    bytes_: normal read, normal write, direct read, direct write, server read, server write, read pages, written pages.
    operations, retransmissions: of all kinds together, since the mount.
    """

    version: str
    options: dict[str, str]
    bytes_: tuple[int, ...] = ()
    transports: tuple[str, ...] = ()
    operations: int = 0
    retransmissions: int = 0


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


def parse_mountstats(section: str) -> MountStats:
    """Counters of one section; what it does not hold stays empty."""
    options: dict[str, str] = {}
    counts: tuple[int, ...] = ()
    transports: list[str] = []
    operations = again = 0
    for line in section.splitlines():
        key, _, rest = line.strip().partition(":")
        if key == "opts":
            options = dict(word.partition("=")[::2] for word in rest.strip().split(","))
        elif key == "bytes":
            counts = tuple(map(int, rest.split()))
        elif key == "xprt":
            transports.append(rest.strip())
        elif re.fullmatch(r"[A-Z0-9_]+", key):
            values = rest.split()
            if len(values) >= 8 and all(value.isdigit() for value in values[:8]):
                operations += int(values[0])
                again += max(0, int(values[1]) - int(values[0]))
    return MountStats(options.get("vers", ""), options, counts, tuple(transports), operations, again)


def look_at_session(sheet: Sheet, route: Route) -> None:
    """Enter what the kernel knows of an NFS or SMB session beyond the mount options."""
    if route.protocol == "NFS" and route.mount_point:
        text = sheet.file(MOUNTSTATS) or ""
        section = section_of(text, route.mount_point)
        if not section:
            sheet.unknown("nfs.counters", MOUNTSTATS, "the mount is not listed")
            return
        sheet.raw[MOUNTSTATS] = section
        stats = parse_mountstats(section)
        sheet.known("nfs.connections", len(stats.transports), MOUNTSTATS)
        sheet.known("nfs.retransmissions", stats.retransmissions, MOUNTSTATS)
        for key in ("rsize", "wsize", "timeo", "retrans", "acregmin", "acregmax", "hard", "local_lock"):
            if key in stats.options:
                sheet.known(
                    f"nfs.{key}",
                    as_int(stats.options[key])
                    if as_int(stats.options[key]) is not None
                    else stats.options[key] or True,
                    MOUNTSTATS,
                )
    elif route.fs_type in {"cifs", "smb3"}:
        text = sheet.file(CIFS) or ""
        if not text:
            sheet.absent("smb.session", CIFS, "the kernel's SMB client tells nothing (root may be needed)")
            return
        sheet.raw[CIFS] = text
        dialect = re.search(r"Dialect (0x[0-9a-f]+)", text)
        if dialect:
            names = {"0x202": "2.0.2", "0x210": "2.1", "0x300": "3.0", "0x302": "3.0.2", "0x311": "3.1.1"}
            sheet.known("smb.dialect", names.get(dialect[1], dialect[1]), CIFS)
        for word, name in (("signed", "smb.signed"), ("encrypted", "smb.encrypted")):
            sheet.known(name, re.search(rf"\b{word}\b", text) is not None, CIFS)
