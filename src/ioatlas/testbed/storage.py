# SPDX-License-Identifier: Apache-2.0
"""The device stack below a target: every layer with its queue settings, arrays and their members, drives
and their links.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ioatlas.testbed.hardware import look_at_drive, look_at_slot
from ioatlas.testbed.path import Route, without_addresses
from ioatlas.testbed.sheet import Sheet, as_int, is_virtual

_COLUMNS = (
    "NAME,KNAME,PATH,MAJ:MIN,TYPE,SIZE,RO,ROTA,SCHED,RQ-SIZE,LOG-SEC,PHY-SEC,"
    "MIN-IO,OPT-IO,MODEL,SERIAL,WWN,TRAN,VENDOR,REV,HCTL"
)
QUEUE = {
    "scheduler": "",
    "nr_requests": "",
    "write_cache": "",
    "fua": "",
    "rotational": "",
    "read_ahead_kb": "KiB",
    "max_sectors_kb": "KiB",
    "max_hw_sectors_kb": "KiB",
    "nomerges": "",
    "rq_affinity": "",
    "wbt_lat_usec": "us",
    "logical_block_size": "B",
    "physical_block_size": "B",
    "minimum_io_size": "B",
    "optimal_io_size": "B",
    "io_poll": "",
    "zoned": "",
}
"""Queue settings that change a measurement, with the unit the kernel gives them in
(Documentation/ABI/stable/sysfs-block)."""
_MD_FACTS = {
    "level": "array.level",
    "raid_disks": "array.disks",
    "chunk_size": "array.chunk_bytes",
    "degraded": "array.degraded",
    "sync_action": "array.state",
    "array_state": "array.array_state",
}
_HARDWARE_WORDS = {"rotational", "write_cache", "fua", "physical_block_size", "optimal_io_size", "minimum_io_size"}


def look_at_stack(sheet: Sheet, route: Route) -> list[str]:
    """Enter the devices a target rests on, from the top to the drives; returns the names of the drives."""
    tops = _top_devices(sheet, route)
    if not tops:
        return []
    drives: list[str] = []
    layers: list[str] = []
    for top in tops:
        for name in _layers(top):
            if name not in layers:
                layers.append(name)
    sheet.known("device.stack", " > ".join(layers), "/sys/block/*/slaves")
    described = _lsblk(sheet, tops)
    for name in layers:
        doubt = _device(sheet, name, described.get(name, {}))
        below = _slaves(name)
        if len(below) > 1:
            sheet.known(f"device.{name}.slaves", " ".join(below), f"/sys/class/block/{name}/slaves")
        mapped = sheet.file(Path("/sys/class/block") / name / "dm" / "uuid")
        if mapped:
            sheet.known(f"device.{name}.dm_kind", mapped.split("-")[0], f"/sys/class/block/{name}/dm/uuid")
        if not below:
            drive = _whole_disk(name)
            drives.append(drive)
            look_at_drive(sheet, drive, doubt=doubt)
            look_at_slot(sheet, f"device.{drive}", Path("/sys/class/block") / drive / "device")
            _session(sheet, drive)
    return drives


def _top_devices(sheet: Sheet, route: Route) -> list[str]:
    """Kernel names of the devices directly below the target; more than one below a btrfs of several."""
    if route.kind == "uri" or route.protocol not in {"", "block"}:
        return []
    if route.fs_type == "btrfs":
        return _btrfs_members(sheet, route)
    if route.fs_type == "zfs":
        sheet.unknown("device.stack", "zfs", "ZFS names its devices only to its own tools: zpool status")
        return []
    name = _name_of_number(route.device)
    if name:
        return [name]
    # An overlay, a bind mount of a subvolume and some FUSE file systems have a device number of their own.
    source = Path(os.path.realpath(route.source.split("[")[0])) if route.source.startswith("/dev/") else None
    if source is not None and Path("/sys/class/block", source.name).exists():
        return [source.name]
    sheet.unknown("device.stack", "/sys/dev/block", f"{route.fs_type or 'this place'} names no block device")
    return []


def _btrfs_members(sheet: Sheet, route: Route) -> list[str]:
    for places in Path("/sys/fs/btrfs").glob("*/devices"):
        members = sorted(entry.name for entry in places.iterdir())
        numbers = {sheet.file(Path("/sys/class/block") / name / "dev") for name in members}
        if Path(route.source.split("[")[0]).name in members or route.device in numbers:
            sheet.known("array.kind", "btrfs", str(places))
            sheet.known("array.members", " ".join(members), str(places))
            for level in sorted(places.parent.glob("allocation/data/*/")):
                sheet.known("array.level", level.name, str(level))
            return members
    sheet.unknown("array.members", "/sys/fs/btrfs")
    return []


def _name_of_number(number: str) -> str:
    link = Path("/sys/dev/block") / number
    return link.resolve().name if number and not number.startswith("0:") and os.path.exists(link) else ""  # noqa: PTH110 - a container may forbid the look


def _slaves(name: str) -> list[str]:
    place = Path("/sys/class/block") / name
    slaves = place / "slaves"
    below = sorted(entry.name for entry in slaves.iterdir()) if slaves.is_dir() else []
    backing = place / "loop" / "backing_file"
    if not below and backing.exists():
        try:
            number = Path(backing.read_text().strip()).stat().st_dev
        except OSError:
            return below
        under = _name_of_number(f"{os.major(number)}:{os.minor(number)}")
        return [under] if under else below
    return below


def _layers(name: str) -> list[str]:
    """The device and all below it, each once, top first."""
    found = [name]
    for below in _slaves(name):
        found += [layer for layer in _layers(below) if layer not in found]
    return found


def _whole_disk(name: str) -> str:
    place = Path(os.path.realpath(Path("/sys/class/block") / name))
    return place.parent.name if (place / "partition").exists() else name


def _lsblk(sheet: Sheet, tops: list[str]) -> dict[str, dict[str, Any]]:
    """Lsblk's rows by kernel name, parents and children alike."""
    data = sheet.tool_json(
        "lsblk", "-J", "-b", "-s", "-o", _COLUMNS, *(f"/dev/{_node(name)}" for name in tops), accept_failure=True
    )
    rows: dict[str, dict[str, Any]] = {}
    pending = list(data.get("blockdevices", [])) if isinstance(data, dict) else []
    while pending:
        row = pending.pop()
        rows[str(row.get("kname"))] = row
        pending += row.get("children", [])
    return rows


def _node(name: str) -> str:
    # The kernel writes '!' where a device node has '/', as in cciss!c0d0.
    return name.replace("!", "/")


def _device(sheet: Sheet, name: str, row: dict[str, Any]) -> str:
    """Enter one layer; returns why its word about its hardware is doubtful, or ''."""
    place = Path("/sys/class/block") / name
    disk = Path("/sys/class/block") / _whole_disk(name)
    doubt = is_virtual(place)
    prefix = f"device.{name}"
    source = "lsblk -J"
    sheet.known(
        f"{prefix}.type", row.get("type") or ("part" if disk.name != name else "disk"), source if row else str(place)
    )
    sectors = as_int(sheet.file(place / "size"))
    sheet.known(f"{prefix}.size_bytes", None if sectors is None else sectors * 512, str(place / "size"), unit="B")
    if disk.name != name:
        start = as_int(sheet.file(place / "start"))
        sheet.known(f"{prefix}.start_bytes", None if start is None else start * 512, str(place / "start"), unit="B")
    for key in ("vendor", "model", "rev", "tran", "hctl"):
        if row.get(key):
            sheet.told(
                f"{prefix}.{key}", str(row[key]).strip(), source, doubt=doubt if key in {"model", "vendor"} else ""
            )
    for key in ("serial", "wwn"):
        if row.get(key):
            sheet.known(f"{prefix}.{key}", str(row[key]).strip(), source, private=True)
    for key, unit in QUEUE.items():
        text = sheet.file(disk / "queue" / key)
        if text is None:
            continue
        if key == "scheduler":
            text = text[text.find("[") + 1 : text.find("]")] if "[" in text else text
        number = as_int(text)
        value = number if number is not None else text
        sheet.told(
            f"{prefix}.{key}",
            value,
            str(disk / "queue" / key),
            doubt=doubt if key in _HARDWARE_WORDS else "",
            unit=unit,
        )
    # virtio has it at the device itself, SCSI below; what is written to queue/write_cache changes neither
    for own in [disk / "cache_type", *disk.glob("device/scsi_disk/*/cache_type")]:
        if (text := sheet.file(own)) is not None:
            sheet.told(f"{prefix}.cache_type", text, str(own), doubt=doubt)
    _layer_kind(sheet, name, place)
    return doubt


def _layer_kind(sheet: Sheet, name: str, place: Path) -> None:
    prefix = f"device.{name}"
    if (place / "md").is_dir():
        sheet.known("array.kind", "md", str(place / "md"))
        for key, fact in _MD_FACTS.items():
            text = sheet.file(place / "md" / key)
            if text is not None:
                sheet.known(
                    fact,
                    as_int(text) if as_int(text) is not None else text,
                    str(place / "md" / key),
                    unit="B" if key == "chunk_size" else "",
                )
    if (place / "dm").is_dir():
        sheet.known(f"{prefix}.dm_name", sheet.file(place / "dm" / "name"), str(place / "dm" / "name"))
        kind = (sheet.file(place / "dm" / "uuid") or "").split("-")[0]
        sheet.known(f"{prefix}.dm_kind", kind or None, str(place / "dm" / "uuid"))
        table = sheet.tool("dmsetup", "table", sheet.file(place / "dm" / "name") or name)
        if table:
            words = table.split()
            sheet.known(f"{prefix}.dm_target", words[2] if len(words) > 2 else None, "dmsetup table")
    backing = sheet.file(place / "loop" / "backing_file")
    if backing:
        sheet.known(f"{prefix}.backing_file", backing, str(place / "loop" / "backing_file"), private=True)
        under = sheet.tool("findmnt", "-n", "-o", "FSTYPE,OPTIONS", "-T", backing)
        sheet.known(f"{prefix}.backing_fs", without_addresses(" ".join((under or "").split())) or None, "findmnt")
        sheet.known(f"{prefix}.direct_io", sheet.file(place / "loop" / "dio") == "1", str(place / "loop" / "dio"))


def _session(sheet: Sheet, drive: str) -> None:
    """The iSCSI session or NVMe fabric connection a drive comes through, from /sys (kernel:
    Documentation/ABI/testing/sysfs-class-iscsi).
    """
    place = os.path.realpath(Path("/sys/class/block") / drive)
    session = next((part for part in place.split("/") if part.startswith("session")), "")
    if session:
        _iscsi(sheet, session)
    controller = next((part for part in place.split("/") if part.startswith("nvme") and part[4:].isdigit()), "")
    transport = sheet.file(f"/sys/class/nvme/{controller}/transport") if controller else None
    if transport and transport != "pcie":
        sheet.known("protocol.name", "NVMe over Fabrics", f"/sys/class/nvme/{controller}/transport")
        sheet.known("protocol.transport", transport, f"/sys/class/nvme/{controller}/transport")
        address = sheet.file(f"/sys/class/nvme/{controller}/address") or ""
        values = dict(word.partition("=")[::2] for word in address.split(","))
        sheet.known("server.address", values.get("traddr"), f"/sys/class/nvme/{controller}/address", private=True)


def _iscsi(sheet: Sheet, session: str) -> None:
    base = Path("/sys/class/iscsi_session") / session
    sheet.known("protocol.name", "iSCSI", str(base))
    sheet.known("protocol.target_name", sheet.file(base / "targetname"), str(base / "targetname"), private=True)
    for key in ("first_burst_len", "max_burst_len", "immediate_data", "initial_r2t", "max_outstanding_r2t"):
        text = sheet.file(base / key)
        if text is not None:
            sheet.known(f"protocol.{key}", as_int(text) if as_int(text) is not None else text, str(base / key))
    connections = sorted(Path("/sys/class/iscsi_connection").glob(f"connection{session.removeprefix('session')}:*"))
    sheet.known("protocol.connections", len(connections), "/sys/class/iscsi_connection")
    for connection in connections[:1]:
        sheet.known(
            "server.address",
            sheet.file(connection / "persistent_address"),
            str(connection / "persistent_address"),
            private=True,
        )
        sheet.known(
            "protocol.port", as_int(sheet.file(connection / "persistent_port")), str(connection / "persistent_port")
        )
        for key in ("header_digest", "data_digest", "max_recv_dlength", "max_xmit_dlength"):
            text = sheet.file(connection / key)
            if text is not None:
                sheet.known(
                    f"protocol.{key}", as_int(text) if as_int(text) is not None else text, str(connection / key)
                )
