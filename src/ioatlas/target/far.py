# SPDX-License-Identifier: Apache-2.0
"""A target as a client of a fleet sees it: whether it is the one named here, and whether it may be written there.

The same refusals as on this machine (`guard.py`), from what a shell can see. Where that is not enough, it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ioatlas.load.fleet.client import Client
from ioatlas.load.machine.devices import SECTOR_BYTES, device_number, device_of, reached
from ioatlas.load.machine.mounts import PSEUDO_TYPES, Mount, parse_mountinfo, unescape
from ioatlas.model.errors import RefusedError
from ioatlas.model.target import Target
from ioatlas.model.units import format_size
from ioatlas.target.guard import refuse
from ioatlas.target.signatures import FRONT_BYTES, own_signatures

LOOK_SECONDS = 30.0
_SCRIPT = Path(__file__).with_name("far.sh")
_SIGNATURES = 'found=$(wipefs -p "$1") && printf "%s\\n" "$found"'
"""Tells only; without an option that says so, wipefs wipes nothing."""
_FRONT = 'od -An -v -tx1 -N "$2" "$1"'
_CKSUM = 0x04C11DB7


@dataclass(frozen=True)
class FarBlock:
    """A block device of a client. disk: of a partition, the whole device it is cut from."""

    name: str
    number: str
    size_bytes: int
    read_only: bool
    disk: str
    holders: tuple[str, ...]
    slaves: tuple[str, ...]
    wwn: str
    serial: str
    backing: str

    @property
    def node(self) -> str:
        return f"/dev/{self.name.replace('!', '/')}"


@dataclass(frozen=True)
class FarTarget:
    """What a client says about a path. kind: directory, file, block, other or missing."""

    client: str
    path: str
    kind: str
    root: bool = False
    link: bool = False
    writable: bool = False
    real: str = ""
    free_bytes: int | None = None
    size_bytes: int | None = None
    front: str = ""
    names: int = 1
    marker: str = ""
    mount: Mount | None = None
    writers: tuple[tuple[str, str], ...] = ()
    swaps: tuple[str, ...] = ()
    number: str = ""
    blocks: Mapping[str, FarBlock] = field(default_factory=dict)
    btrfs: frozenset[str] = frozenset()
    mounts: tuple[Mount, ...] = ()

    @cached_property
    def block(self) -> FarBlock | None:
        return next((one for one in self.blocks.values() if one.number == self.number), None)

    @property
    def facts(self) -> dict[str, str]:
        """What is kept of it."""
        told = {"kind": self.kind, "path": self.path}
        if self.mount is not None and self.kind in ("directory", "file"):
            told |= {"fs_type": self.mount.fs_type, "source": self.mount.source}
        if self.free_bytes is not None:
            told["free_bytes"] = str(self.free_bytes)
        size = self.block.size_bytes if self.block else self.size_bytes
        if size is not None:
            told["size_bytes"] = str(size)
        return told


def look(client: Client, path: str, marker: str = "", held: str = "") -> FarTarget | None:
    """What a client says about `path`; None where nothing can be run on it. held: where it reaches what it holds."""
    words = ["sh", "-c", _SCRIPT.read_text(encoding="utf-8"), "sh", path, marker, held or path]
    said = client.run(words, seconds=LOOK_SECONDS)
    if said is None:
        return None
    rows: dict[str, list[list[str]]] = {}
    for line in said.splitlines():
        word, *values = line.split("\t")
        rows.setdefault(word, []).append(values)

    def one(word: str, place: int = 0) -> str:
        found = rows.get(word, [[]])[0]
        return found[place] if len(found) > place else ""

    kind = one("kind") or "missing"
    here = parse_mountinfo("\n".join(row[0] for row in rows.get("mount", []) if row))
    major, _, minor = one("node").partition(" ")
    return FarTarget(
        client.name,
        path,
        kind,
        root=one("user") == "0",
        link="link" in rows,
        writable="writable" in rows,
        real=one("device", 1),
        free_bytes=int(one("free")) * 1024 if one("free").isdecimal() else None,
        size_bytes=int(one("size")) if one("size").isdecimal() else None,
        front=one("size", 1),
        names=int(one("names")) if one("names").isdecimal() else 1,
        marker=one("marker"),
        mount=_mount_of(here, one("device"), one("device", 1)),
        writers=tuple((row[0], unescape(row[1])) for row in rows.get("writer", []) if len(row) == 2),
        swaps=tuple(unescape(row[0]) for row in rows.get("swap", [])[1:] if row),
        number=f"{int(major, 16)}:{int(minor, 16)}" if major and minor else "",
        blocks={block.name: block for row in rows.get("block", []) if (block := _block(row)) is not None},
        btrfs=frozenset(row[0] for row in rows.get("btrfs", []) if row),
        mounts=tuple(parse_mountinfo("\n".join(row[0] for row in rows.get("mounted", []) if row))),
    )


def _block(row: list[str]) -> FarBlock | None:
    if len(row) != 10 or not row[2].isdecimal():
        return None
    name, number, sectors, ro, disk, holders, slaves, wwn, serial, backing = row
    return FarBlock(
        name,
        number,
        int(sectors) * SECTOR_BYTES,
        ro == "1",
        disk,
        tuple(holders.split()),
        tuple(slaves.split()),
        wwn.strip(),
        serial.strip(),
        unescape(backing),
    )


def _mount_of(mounts: list[Mount], device: str, real: str) -> Mount | None:
    """The mount a path lies on: the innermost whose point it lies below, of its device number where that is told."""
    below = [one for one in mounts if real == one.mount_point or real.startswith(one.mount_point.rstrip("/") + "/")]
    number = device_number(int(device)) if device.isdecimal() else ""
    same = [one for one in below if one.device_number == number] or below
    return max(enumerate(same), key=lambda one: (len(one[1].mount_point), one[0]), default=(0, None))[1]


def check_far(
    client: Client, target: Target, path: str, *, writes: bool, marker: tuple[str, str] = ("", ""), held: str = ""
) -> FarTarget:
    """The target as the client sees it, when it is the one that was named here and may be loaded there.

    path: of the target on the client. marker: of a directory, a file below it that the campaign made, and its content;
    it is reached by what the client holds. held: of a file, where the client reaches what it holds of it.
    Raises RefusedError or IoAtlasError naming the client and every reason.
    """
    seen = look(client, path, marker[0], held)
    where = f"{client.name}: {path}"
    if seen is None:
        raise RefusedError(
            "nothing can be run there, so nobody can tell what the target is",
            where=where,
            remedy="log in there and look, or leave that host out",
        )
    if seen.kind != target.kind:
        raise RefusedError(
            f"here it is a {target.kind}, there it is {_spoken(seen.kind)}",
            where=where,
            remedy="mount or attach it there, or say its path in the hosts file",
        )
    if seen.kind == "block":
        _check_same_device(seen, target, where)
    else:
        _check_same_place(seen, target, where, marker)
    if writes:
        by_name = ["it cannot be opened there for reading"] if seen.kind == "file" and not held else []
        refuse(where, [*by_name, *_reasons(client, seen)], "free it there, or leave that host out")
    return seen


def _spoken(kind: str) -> str:
    return {"missing": "not there", "other": "something else", "block": "a block device"}.get(kind, f"a {kind}")


def _check_same_place(seen: FarTarget, target: Target, where: str, marker: tuple[str, str]) -> None:
    if seen.link and seen.kind == "file":
        raise RefusedError("it is a symbolic link", where=where, remedy="name the file that it leads to")
    if seen.mount is not None and seen.mount.fs_type in PSEUDO_TYPES:
        raise RefusedError(f"{seen.mount.fs_type} holds no data", where=where, remedy="name a place on storage")
    if marker[0] and seen.marker != marker[1].replace("\n", "").replace("\t", ""):
        raise RefusedError(
            "what this campaign wrote into the directory is not seen there: it is another one",
            where=where,
            remedy="mount the same share there; `findmnt` tells what lies at that path",
        )
    if seen.kind == "file" and (seen.size_bytes, seen.front) != _file_here(target.location):
        raise RefusedError(
            "it is not the same file as here: size or content differs",
            where=where,
            remedy="mount the same share there, or say its path in the hosts file",
        )


def _file_here(path: str) -> tuple[int, str]:
    with Path(path).open("rb") as file:
        front = file.read(4096)
    return Path(path).stat().st_size, cksum(front)


def cksum(data: bytes) -> str:
    """What POSIX' `cksum` prints of standard input: a CRC of the bytes and of their number, and that number."""
    length = len(data).to_bytes((len(data).bit_length() + 7) // 8, "little")
    value = 0
    for byte in data + length:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (_CKSUM if value >> 31 else 0)) & 0xFFFFFFFF
    return f"{value ^ 0xFFFFFFFF} {len(data)}"


def _check_same_device(seen: FarTarget, target: Target, where: str) -> None:
    there, here = seen.block, device_of(target.location)
    if there is None:
        raise RefusedError("/sys there does not know it", where=where, remedy="mount /sys on that host")
    if there.size_bytes != here.size_bytes:
        raise RefusedError(
            f"it has {format_size(there.size_bytes)}, and the one here {format_size(here.size_bytes)}",
            where=where,
            remedy="say its path there in the hosts file",
        )
    ours, theirs = {here.wwn, here.serial} - {None, ""}, {there.wwn, there.serial} - {""}
    if not ours & theirs:
        raise RefusedError(
            "no serial number or WWN says that it is the same device as here",
            where=where,
            remedy="say its path there in the hosts file; a device without a number cannot be shared by clients",
        )


# -- why it must not be written there ----------------------------------------------------------------------------------


def _reasons(client: Client, seen: FarTarget) -> Iterator[str]:
    if not seen.writable:
        yield f"no right to write there{'' if seen.root else ', for the user we log in as'}"
    if seen.kind == "directory":
        return
    if seen.kind == "file":
        if seen.names > 1:
            yield f"it has {seen.names} names (hard links)"
        yield from (f"{area} is active swap" for area in seen.swaps if area == seen.real)
        yield from (f"process {pid} has it open for writing" for pid, name in seen.writers if name == seen.real)
        yield from (f"it is the file behind {one.node}" for one in seen.blocks.values() if one.backing == seen.real)
        return
    if not seen.root:
        yield "only root can see there who uses it"
    yield from _block_reasons(client, seen)


def _block_reasons(client: Client, seen: FarTarget) -> Iterator[str]:
    device = seen.block
    assert device is not None
    if device.read_only:
        yield "it is read-only"
    if device.disk:
        yield f"it is a partition of /dev/{device.disk}, which has a partition table"
    chain = [device, *_reach(seen, device, _below)]
    related = list(dict.fromkeys([*chain, *_reach(seen, device, _above), *_same_bytes(seen, device)]))
    for each in related:
        label = "it" if each == device else f"{each.node}, which leads to the same bytes,"
        yield from (f"{label} is mounted on {point}" for point in _mount_points(seen, each))
        if each.node in seen.swaps:
            yield f"{label} is active swap"
        partitions = [one.node for one in seen.blocks.values() if one.disk == each.name and one != device]
        if partitions:
            yield f"{label} has partitions ({', '.join(partitions)})"
        holders = [name for name in each.holders if name not in {one.name for one in chain}]
        if holders:
            yield f"{label} is held by {', '.join(holders)}"
        if each.name in seen.btrfs:
            yield f"{label} belongs to a mounted btrfs"
        yield from (
            f"process {pid} has {each.node} open for writing" for pid, name in seen.writers if name == each.node
        )
        yield from _signatures(client, each, label)


def _signatures(client: Client, device: FarBlock, label: str) -> Iterator[str]:
    said = client.run(["sh", "-c", _SIGNATURES, "sh", device.node], seconds=LOOK_SECONDS)
    front = client.run(["sh", "-c", _FRONT, "sh", device.node, str(FRONT_BYTES)], seconds=LOOK_SECONDS)
    if said is None or not front:
        yield f"{label} cannot be searched for signatures there (wipefs of util-linux and od are needed)"
        return
    yield from (
        f"{label} holds {line.rpartition(',')[2] or line}" for line in said.splitlines() if line[:1] not in ("", "#")
    )
    yield from (f"{label} holds {one}" for one in own_signatures(bytes.fromhex(front)))


def _mount_points(seen: FarTarget, device: FarBlock) -> list[str]:
    return [
        mount.mount_point
        for mount in seen.mounts
        if mount.device_number == device.number or mount.source == device.node
    ]


def _below(seen: FarTarget, device: FarBlock) -> list[str]:
    return [name for name in (device.disk, *device.slaves, device.backing.removeprefix("/dev/")) if name in seen.blocks]


def _above(seen: FarTarget, device: FarBlock) -> list[str]:
    return [
        one.name
        for one in seen.blocks.values()
        if one.disk == device.name or one.name in device.holders or one.backing == device.node
    ]


def _same_bytes(seen: FarTarget, device: FarBlock) -> list[FarBlock]:
    """Another path to the same LUN, another loop device of the same file, and what is built on them."""
    same = [
        one
        for one in seen.blocks.values()
        if one != device
        and ((one.wwn and one.wwn == device.wwn) or (one.backing and one.backing == device.backing))
        and one.disk != device.name
    ]
    return [*same, *(found for one in same for found in _reach(seen, one, _above))]


def _reach(seen: FarTarget, start: FarBlock, step: Callable[[FarTarget, FarBlock], list[str]]) -> list[FarBlock]:
    return reached(start, lambda one: [seen.blocks[name] for name in step(seen, one)])
