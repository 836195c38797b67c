# SPDX-License-Identifier: Apache-2.0
"""What the kernel tells of an NFS mount in /proc/self/mountstats (nfs-utils, mountstats(8))."""

from __future__ import annotations

import re

from ioatlas.testbed.path import Route
from ioatlas.testbed.sheet import Sheet

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
    sheet.known("nfs.connections", connections(section), MOUNTSTATS)
