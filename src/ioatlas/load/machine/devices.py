# SPDX-License-Identifier: Apache-2.0
"""Block devices as the kernel shows them in /sys: what a device is, what lies below it and what is built on it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from ioatlas.load.fio.process import text_of
from ioatlas.load.machine.mounts import mount_of
from ioatlas.model.errors import IoAtlasError

SECTOR_BYTES = 512
"""The unit of every size in /sys/block, whatever the device's own block size."""


def device_number(rdev: int) -> str:
    return f"{os.major(rdev)}:{os.minor(rdev)}"


@dataclass(frozen=True)
class BlockDevice:
    """One whole disk, partition, logical volume, array or loop device, named by its directory in /sys."""

    sysfs: str

    @classmethod
    def of_number(cls, number: str) -> BlockDevice | None:
        """The device with this `major:minor`; None when the kernel has none."""
        path = os.path.realpath(f"/sys/dev/block/{number}")
        return cls(path) if os.path.isdir(path) else None

    @classmethod
    def of_path(cls, path: str) -> BlockDevice | None:
        """The device a node such as /dev/sda or a link to it stands for; None when it is not a block device."""
        try:
            status = os.stat(path)
        except OSError:
            return None
        return cls.of_number(device_number(status.st_rdev)) if stat.S_ISBLK(status.st_mode) else None

    @cached_property
    def name(self) -> str:
        return os.path.basename(self.sysfs).replace("!", "/")

    @cached_property
    def node(self) -> str:
        """The device node the kernel asks for (`DEVNAME`), e.g. /dev/sda1 or /dev/dm-0."""
        return f"/dev/{self.uevent.get('DEVNAME', self.name)}"

    @cached_property
    def uevent(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self._text("uevent").splitlines() if "=" in line)

    @cached_property
    def number(self) -> str:
        return self.read("dev")

    @cached_property
    def is_partition(self) -> bool:
        return os.path.exists(os.path.join(self.sysfs, "partition"))

    @property
    def disk(self) -> BlockDevice:
        """The whole disk a partition is cut from; itself otherwise."""
        return BlockDevice(os.path.dirname(self.sysfs)) if self.is_partition else self

    def _text(self, name: str) -> str:
        return text_of(Path(self.sysfs, name))

    def read(self, name: str) -> str:
        """One attribute without outer blanks; empty when the kernel does not give it."""
        return self._text(name).strip(" \t\n\0")

    def number_of(self, name: str) -> int | None:
        text = self.read(name)
        return int(text) if text.lstrip("-").isdigit() else None

    @property
    def size_bytes(self) -> int:
        return (self.number_of("size") or 0) * SECTOR_BYTES

    @property
    def read_only(self) -> bool:
        return self.read("ro") == "1" or self.disk.read("ro") == "1"

    def queue(self, name: str) -> int | None:
        return self.disk.number_of(f"queue/{name}")

    def partitions(self) -> list[BlockDevice]:
        if self.is_partition:
            return []
        return [
            BlockDevice(entry.path)
            for entry in _entries(self.sysfs)
            if os.path.exists(os.path.join(entry.path, "partition"))
        ]

    def holders(self) -> list[BlockDevice]:
        """Devices the kernel has built directly on this one: device mapper, md, bcache."""
        return self._linked("holders")

    def slaves(self) -> list[BlockDevice]:
        """Devices this one is built on."""
        return self._linked("slaves")

    def _linked(self, directory: str) -> list[BlockDevice]:
        return [BlockDevice(os.path.realpath(entry.path)) for entry in _entries(os.path.join(self.sysfs, directory))]

    @property
    def loop_backing_file(self) -> str | None:
        """The file behind a loop device; None for any other device and for an idle loop device."""
        return self.disk.read("loop/backing_file") or None

    @cached_property
    def serial(self) -> str | None:
        """The serial number the device reports, from the kernel or, where only udev asks for it,
        from udev's database.
        """
        disk = self.disk
        text = disk.read("serial") or disk.read("device/serial") or _printable(disk.read("device/vpd_pg80")[4:])
        return text or self._udev("ID_SERIAL_SHORT") or self._udev("ID_SERIAL") or None

    @cached_property
    def wwn(self) -> str | None:
        """The world-wide name (naa., eui., uuid., t10.) or the UUID of a device-mapper device or array."""
        disk = self.disk
        return (
            disk.read("wwid")
            or disk.read("device/wwid")
            or disk.read("dm/uuid")
            or disk.read("md/uuid")
            or self._udev("ID_WWN")
            or None
        )

    @property
    def built_as(self) -> str:
        """What the kernel made it as: 'loop', the level of an array, the kind of a mapped device; '' for a drive."""
        if os.path.isdir(os.path.join(self.sysfs, "loop")):
            return "loop"
        return self.read("md/level") or self.read("dm/uuid").split("-")[0].lower()

    def _udev(self, name: str) -> str:
        lines = text_of(f"/run/udev/data/b{self.disk.number}").splitlines()
        return next((line[len(name) + 3 :].strip() for line in lines if line.startswith(f"E:{name}=")), "")


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable()).strip()


def _entries(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return sorted((entry for entry in entries if entry.is_dir()), key=lambda entry: entry.name)
    except OSError:
        return []


def every_disk() -> Iterator[BlockDevice]:
    """Every whole block device of the machine that can be opened;
    the single paths of an NVMe multipath drive are hidden.
    """
    for entry in _entries("/sys/block"):
        disk = BlockDevice(os.path.realpath(entry.path))
        if disk.read("hidden") != "1":
            yield disk


def device_of(path: str) -> BlockDevice:
    """The block device at `path`. Raises IoAtlasError when /sys does not know it (in some containers)."""
    device = BlockDevice.of_path(path)
    if device is None:
        raise IoAtlasError(
            "/sys does not know this block device, so nothing about it can be checked", where=path, remedy="mount /sys"
        )
    return device


def same_storage(device: BlockDevice) -> list[BlockDevice]:
    """Other whole devices that lead to the same bytes: another path to the same LUN (equal WWN),
    another loop device of the same file.
    """
    disk = device.disk
    backing = _file_key(disk.loop_backing_file)
    # A dm or md UUID names the device built, never another path to it.
    wwn = disk.read("wwid") or disk.read("device/wwid")
    others = []
    for other in every_disk():
        if other == disk:
            continue
        same_file = backing is not None and _file_key(other.loop_backing_file) == backing
        if same_file or (wwn and wwn == (other.read("wwid") or other.read("device/wwid"))):
            others.append(other)
    return others


def loops_on(device: BlockDevice) -> list[BlockDevice]:
    """Loop devices whose backing file is this device itself."""
    return [
        other
        for other in every_disk()
        if (backing := other.loop_backing_file) is not None and BlockDevice.of_path(backing) == device
    ]


def loops_of_file(path: str) -> list[BlockDevice]:
    """Loop devices whose backing file is this file, under whatever name."""
    key = _file_key(path)
    return [other for other in every_disk() if key is not None and _file_key(other.loop_backing_file) == key]


def _file_key(path: str | None) -> tuple[int, int] | None:
    """(device, inode) of a file; None when there is no such file."""
    if path is None:
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


def below(device: BlockDevice) -> list[BlockDevice]:
    """Every device this one rests on: its disk, the members of its array, a device behind a loop device."""
    return reached(device, directly_below)


def above(device: BlockDevice) -> list[BlockDevice]:
    """Every device that rests on this one: partitions, holders, loop devices of it."""
    return reached(device, lambda one: [*one.partitions(), *one.holders(), *loops_on(one)])


def directly_below(device: BlockDevice) -> list[BlockDevice]:
    """The disk of a partition, the members of an array, the device behind a loop device."""
    found = [device.disk] if device.is_partition else []
    found += device.slaves()
    backing = device.loop_backing_file
    behind = BlockDevice.of_path(backing) if backing and not device.is_partition else None
    return found + ([behind] if behind is not None else [])


Device = TypeVar("Device")


def reached(start: Device, step: Callable[[Device], list[Device]]) -> list[Device]:
    """Every device that steps lead to from one, itself left out."""
    found: list[Device] = []
    queue = step(start)
    while queue:
        device = queue.pop(0)
        if device != start and device not in found:
            found.append(device)
            queue += step(device)
    return found


def devices_under_filesystem(path: str) -> list[BlockDevice]:
    """Every block device the file system of `path` rests on, down through partitions, volumes, arrays and loop files.

    Empty for file systems without a block device (tmpfs, network). Raises OSError when the path cannot be read.
    """
    return under(filesystem_devices(path))


def under(tops: Iterable[BlockDevice]) -> list[BlockDevice]:
    """These devices and every one that they rest on, each once, top first. Raises OSError for a loop device whose file
    cannot be read.
    """
    found: list[BlockDevice] = []
    queue = list(tops)
    while queue:
        device = queue.pop(0)
        if device in found:
            continue
        found.append(device)
        queue += directly_below(device)
        backing = device.loop_backing_file
        if backing is not None and os.path.isfile(backing):
            queue += filesystem_devices(backing)
    return found


def filesystem_devices(path: str) -> list[BlockDevice]:
    """The devices that the file system of `path` lies on: several of a btrfs. Raises OSError."""
    number = device_number(os.stat(path).st_dev)
    device = BlockDevice.of_number(number)
    if device is not None:
        return [device]
    mount = mount_of(path)  # btrfs and overlay have anonymous device numbers
    source = BlockDevice.of_path(mount.source)
    if source is None:
        return []
    return btrfs_siblings(source) or [source]


def btrfs_siblings(device: BlockDevice) -> list[BlockDevice]:
    """Every device of the mounted btrfs that `device` belongs to, itself included; empty when it belongs to none."""
    for filesystem in _entries("/sys/fs/btrfs"):
        members = [
            BlockDevice(os.path.realpath(entry.path)) for entry in _entries(os.path.join(filesystem.path, "devices"))
        ]
        if device in members:
            return members
    return []
