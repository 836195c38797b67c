# SPDX-License-Identifier: Apache-2.0
"""The device stack below a target: every layer with its queue settings, arrays and their members, drives
and their links.
"""

from __future__ import annotations

from pathlib import Path

from ioatlas.load.machine.devices import BlockDevice, directly_below, filesystem_devices, under
from ioatlas.load.machine.hardware import look_at_drive, look_at_slot
from ioatlas.load.machine.mounts import mount_of
from ioatlas.load.machine.path import Route, without_addresses
from ioatlas.load.machine.sheet import Sheet, as_int, as_value, is_virtual
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.units import pairs

QUEUE = pairs("""
    scheduler= nr_requests= write_cache= fua= rotational= read_ahead_kb=KiB max_sectors_kb=KiB max_hw_sectors_kb=KiB
    nomerges= rq_affinity= wbt_lat_usec=us logical_block_size=B physical_block_size=B minimum_io_size=B
    optimal_io_size=B io_poll= zoned=
""")
"""Queue settings that change a measurement, with the unit the kernel gives them in
(Documentation/ABI/stable/sysfs-block)."""
_MD_FACTS = pairs("""
    level=array.level raid_disks=array.disks chunk_size=array.chunk_bytes degraded=array.degraded
    sync_action=array.state array_state=array.array_state
""")
_HARDWARE_WORDS = {"rotational", "write_cache", "fua", "physical_block_size", "optimal_io_size", "minimum_io_size"}


def look_at_stack(sheet: Sheet, route: Route) -> tuple[str, ...]:
    """Enter the devices a target rests on, from the top to the drives; returns the names of those directly below it."""
    tops = _tops(sheet, route)
    try:
        layers = under(tops)
    except (OSError, IoAtlasError):  # the file of a loop device lies where we may not look
        layers = tops
    if layers:
        sheet.known("device.stack", " > ".join(one.name for one in layers), "/sys/block/*/slaves")
    for device in layers:
        doubt = _device(sheet, device)
        _kind(sheet, device)
        if not directly_below(device):
            look_at_drive(sheet, device.name, doubt=doubt)
            look_at_slot(sheet, f"device.{device.name}", Path(device.sysfs) / "device")
            _session(sheet, device)
    return tuple(one.name for one in tops)


def _tops(sheet: Sheet, route: Route) -> list[BlockDevice]:
    """The devices directly below the target; more than one below a btrfs of several."""
    if route.kind == "uri" or route.protocol not in {"", "block"}:
        return []
    if route.fs_type == "zfs":
        sheet.unknown("device.stack", "zfs", "ZFS names its devices only to its own tools: zpool status")
        return []
    try:
        own = BlockDevice.of_path(route.location)
        found = [own] if own is not None else filesystem_devices(route.location)
    except (OSError, IoAtlasError):
        found = []
    if not found:
        sheet.unknown("device.stack", "/sys/dev/block", f"{route.fs_type or 'this place'} names no block device")
    if route.fs_type == "btrfs":
        _btrfs(sheet, [one.name for one in found])
    return found


def _btrfs(sheet: Sheet, members: list[str]) -> None:
    for place in Path("/sys/fs/btrfs").glob("*/devices"):
        if {entry.name for entry in place.iterdir()} == set(members):
            sheet.known("array.kind", "btrfs", str(place))
            sheet.known("array.members", " ".join(members), str(place))
            for level in sorted(place.parent.glob("allocation/data/*/")):
                sheet.known("array.level", level.name, str(level))
            return
    sheet.unknown("array.members", "/sys/fs/btrfs")


def _device(sheet: Sheet, device: BlockDevice) -> str:
    """Enter one layer; returns why its word about its hardware is doubtful, or ''."""
    prefix, place, disk = f"device.{device.name}", f"/sys/class/block/{device.name}", device.disk
    doubt = is_virtual(device.sysfs)
    sheet.known(f"{prefix}.type", "part" if device.is_partition else device.built_as or "disk", place)
    sheet.known(f"{prefix}.size_bytes", device.size_bytes, f"{place}/size", unit="B")
    if device.is_partition:
        start = device.number_of("start")
        sheet.known(f"{prefix}.start_bytes", None if start is None else start * 512, f"{place}/start", unit="B")
    for key in ("vendor", "model", "rev"):
        if text := disk.read(f"device/{key}"):
            sheet.stated(f"{prefix}.{key}", text, f"{place}/device/{key}", doubt=doubt if key != "rev" else "")
    for key, told in (("serial", device.serial), ("wwn", device.wwn)):
        if told:
            sheet.known(f"{prefix}.{key}", told, place, private=True)
    for key, unit in QUEUE.items():
        if text := disk.read(f"queue/{key}"):
            if key == "scheduler" and "[" in text:
                text = text[text.find("[") + 1 : text.find("]")]
            own = doubt if key in _HARDWARE_WORDS else ""
            sheet.stated(f"{prefix}.{key}", as_value(text), f"{place}/queue/{key}", doubt=own, unit=unit)
    # virtio has it at the device itself, SCSI below; what is written to queue/write_cache changes neither
    for file in [Path(disk.sysfs, "cache_type"), *Path(disk.sysfs).glob("device/scsi_disk/*/cache_type")]:
        if (said := sheet.file(file)) is not None:
            sheet.stated(f"{prefix}.cache_type", said, str(file), doubt=doubt)
    return doubt


def _kind(sheet: Sheet, device: BlockDevice) -> None:
    """What an array, a mapped device and a loop device are made of."""
    prefix, place = f"device.{device.name}", f"/sys/class/block/{device.name}"
    below = [one.name for one in device.slaves()]
    if len(below) > 1:
        sheet.known(f"{prefix}.slaves", " ".join(below), f"{place}/slaves")
    if device.read("md/level"):
        sheet.known("array.kind", "md", f"{place}/md")
        for key, fact in _MD_FACTS.items():
            if text := device.read(f"md/{key}"):
                sheet.known(fact, as_value(text), f"{place}/md/{key}", unit="B" if key == "chunk_size" else "")
    if name := device.read("dm/name"):
        sheet.known(f"{prefix}.dm_name", name, f"{place}/dm/name")
        sheet.known(f"{prefix}.dm_kind", device.read("dm/uuid").split("-")[0], f"{place}/dm/uuid")
    if not device.is_partition and (backing := device.loop_backing_file):
        sheet.known(f"{prefix}.backing_file", backing, f"{place}/loop/backing_file", private=True)
        try:
            mount = mount_of(backing)
            text = f"{mount.fs_type} {without_addresses(mount.options)}"
        except (OSError, IoAtlasError):
            text = ""
        sheet.known(f"{prefix}.backing_fs", text, "/proc/self/mountinfo")
        sheet.known(f"{prefix}.direct_io", device.read("loop/dio") == "1", f"{place}/loop/dio")


def _session(sheet: Sheet, drive: BlockDevice) -> None:
    """The iSCSI session or NVMe fabric connection a drive comes through, from /sys (kernel:
    Documentation/ABI/testing/sysfs-class-iscsi).
    """
    parts = drive.sysfs.split("/")
    session = next((part for part in parts if part.startswith("session")), "")
    if session:
        _iscsi(sheet, session)
    controller = next((part for part in parts if part.startswith("nvme") and part[4:].isdigit()), "")
    place = f"/sys/class/nvme/{controller}"
    transport = sheet.file(f"{place}/transport") if controller else None
    if transport and transport != "pcie":
        sheet.known("protocol.name", "NVMe over Fabrics", f"{place}/transport")
        sheet.known("protocol.transport", transport, f"{place}/transport")
        values = dict(word.partition("=")[::2] for word in (sheet.file(f"{place}/address") or "").split(","))
        sheet.known("server.address", values.get("traddr"), f"{place}/address", private=True)


def _iscsi(sheet: Sheet, session: str) -> None:
    base = Path("/sys/class/iscsi_session") / session
    sheet.known("protocol.name", "iSCSI", str(base))
    sheet.known("protocol.target_name", sheet.file(base / "targetname"), str(base / "targetname"), private=True)
    connections = sorted(Path("/sys/class/iscsi_connection").glob(f"connection{session.removeprefix('session')}:*"))
    sheet.known("protocol.connections", len(connections), "/sys/class/iscsi_connection")
    lengths = ("first_burst_len", "max_burst_len", "immediate_data", "initial_r2t", "max_outstanding_r2t")
    told = [base / key for key in lengths]
    for one in connections[:1]:
        address, port = one / "persistent_address", one / "persistent_port"
        sheet.known("server.address", sheet.file(address), str(address), private=True)
        sheet.known("protocol.port", as_int(sheet.file(port)), str(port))
        told += [one / key for key in ("header_digest", "data_digest", "max_recv_dlength", "max_xmit_dlength")]
    for file in told:
        sheet.says(f"protocol.{file.name}", file, as_value)
