# SPDX-License-Identifier: Apache-2.0
"""A zip of one form only: what lies in it decides every byte of it, and what is not of that form is refused.

Names are sorted; times, modes and flags are fixed; nothing stands before, between and after the members; there is no
comment and no extra field. A member is deflated where that makes it smaller, else stored. It is read member by
member, each within the size that its header tells, and never written to a path of its choosing.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import struct
import unicodedata
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn, Self

from ioatlas.model.errors import IoAtlasError, RefusedError, faults

MOST_MEMBERS = 65_000
MOST_PACKED = (4 << 30) - (64 << 20)
"""Bytes of a container: beyond them a zip needs another form."""
MOST_UNPACKED = 16 << 30
MOST_OF_MEMBER = 1 << 30
MOST_RATIO = 200
"""How many times its packed size a member may have; what packs better is stored."""
LONGEST_NAME = 240
LEVEL = 6
SEALED = "attestation.json"
"""The member that tells the hashes of all others is stored: a deflate stream has bits that mean nothing."""
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_DOS_DAY = 0x21
"""1 January 1980, the first day that a zip knows."""
_UTF8, _NEEDED, _MADE_BY, _MODE = 0x800, 20, 3 << 8 | 20, (stat.S_IFREG | 0o644) << 16
_STORED, _DEFLATED = 0, 8
REMEDY = "fetch it again; it was cut, changed, or made by another program"


@dataclass(frozen=True)
class Member:
    """offset: of its local header. packed_bytes, size_bytes: as it lies there, and as it is read."""

    name: str
    method: int
    crc: int
    packed_bytes: int
    size_bytes: int
    offset: int

    @property
    def local_header(self) -> bytes:
        name = self.name.encode()
        sizes = (self.crc, self.packed_bytes, self.size_bytes)
        return _LOCAL.pack(b"PK\3\4", _NEEDED, _UTF8, self.method, 0, _DOS_DAY, *sizes, len(name), 0) + name

    @property
    def central_header(self) -> bytes:
        name = self.name.encode()
        sizes = (self.crc, self.packed_bytes, self.size_bytes)
        fixed = (_MADE_BY, _NEEDED, _UTF8, self.method, 0, _DOS_DAY)
        return _CENTRAL.pack(b"PK\1\2", *fixed, *sizes, len(name), 0, 0, 0, 0, _MODE, self.offset) + name

    @property
    def data_offset(self) -> int:
        return self.offset + _LOCAL.size + len(self.name.encode())

    @property
    def end(self) -> int:
        return self.data_offset + self.packed_bytes


def packed(data: bytes, name: str = "") -> tuple[int, bytes]:
    """(method, bytes) of a member. What is packed already is stored."""
    if not name.endswith((".zip", SEALED)):
        packing = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS, 9)
        small = packing.compress(data) + packing.flush()
        if len(small) < len(data) <= MOST_RATIO * len(small):
            return _DEFLATED, small
    return _STORED, data


def fault_of_name(name: str) -> str:
    """What is wrong with the name of a member; '' when nothing is."""
    if not 1 <= len(name.encode(errors="replace")) <= LONGEST_NAME:
        return "it has no name, or a very long one"
    if name != unicodedata.normalize("NFC", name) or not name.isprintable() or "\\" in name or ":" in name:
        return "its name has characters that a name cannot have"
    if any(part in ("", ".", "..") or part != part.strip() for part in name.split("/")):
        return "its name leads elsewhere"
    return ""


def write(out: BinaryIO, members: Mapping[str, bytes]) -> None:
    """The container of these members. Raises IoAtlasError for more than it can hold."""
    offset = 0
    written: list[Member] = []
    for name in sorted(members, key=str.encode):
        if fault := fault_of_name(name):
            raise IoAtlasError(fault, where=name[:LONGEST_NAME], remedy="rename what is called so")
        data = members[name]
        method, small = packed(data, name)
        member = Member(name, method, zlib.crc32(data), len(small), len(data), offset)
        if len(written) >= MOST_MEMBERS or len(data) > MOST_OF_MEMBER or member.end > MOST_PACKED:
            raise IoAtlasError(
                f"more than {MOST_MEMBERS} files, or more than {MOST_PACKED >> 20} MiB: that is too much for one file",
                where=name,
                remedy="share the campaign's directory itself",
            )
        out.write(member.local_header)
        out.write(small)
        written.append(member)
        offset = member.end
    central = b"".join(member.central_header for member in written)
    out.write(central + _end(len(written), len(central), offset))


def _end(count: int, size: int, offset: int) -> bytes:
    return _END.pack(b"PK\5\6", 0, 0, count, count, size, offset, 0)


def as_bytes(members: Mapping[str, bytes]) -> bytes:
    """A container in memory."""
    out = io.BytesIO()
    write(out, members)
    return out.getvalue()


class Container:
    """An open container whose form was checked to the last byte; the bytes of a member are checked when it is read."""

    def __init__(self, file: BinaryIO, where: str) -> None:
        """Raises IoAtlasError for anything but a container of this form."""
        self._file = file
        self.where = where
        self.members = self._checked()

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _bad(self, what: str, name: str = "") -> NoReturn:
        raise IoAtlasError(what, where=f"{self.where}: {name[:80]!r}" if name else self.where, remedy=REMEDY)

    def _at(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(size)

    def _checked(self) -> dict[str, Member]:
        total = self._file.seek(0, os.SEEK_END)
        end = self._at(max(0, total - _END.size), _END.size)
        if len(end) != _END.size or total > MOST_PACKED + (64 << 20):
            self._bad("it has no end as a zip has")
        _, _, _, count, _, size, offset, _ = _END.unpack(end)
        if end != _end(count, size, offset) or offset + size + _END.size != total or count > MOST_MEMBERS:
            self._bad("its end is not that of a bundle")
        members: dict[str, Member] = {}
        central, place, expected, unpacked = self._at(offset, size), 0, 0, 0
        folded: set[str] = set()
        before = b""
        while place < len(central):
            member, place = self._member(central, place)
            name = member.name.encode()
            if name <= before or member.name.casefold() in folded or f"{before.decode()}/" in _parents(member.name):
                self._bad("names are not sorted, or stand there twice", member.name)
            if member.offset != expected or self._at(expected, len(member.local_header)) != member.local_header:
                self._bad("its header is not what its list says", member.name)
            before, expected = name, member.end
            folded.add(member.name.casefold())
            unpacked += member.size_bytes
            members[member.name] = member
        if expected != offset or len(members) != count or unpacked > MOST_UNPACKED:
            self._bad("its list of files does not fit its bytes")
        return members

    def _member(self, central: bytes, place: int) -> tuple[Member, int]:
        if len(central) - place < _CENTRAL.size:
            self._bad("its list of files is cut off")
        fields = _CENTRAL.unpack_from(central, place)
        length = fields[10]
        begin = place + _CENTRAL.size
        try:
            name = central[begin : begin + length].decode()
        except UnicodeDecodeError:
            self._bad("a name is no UTF-8")
        member = Member(name, fields[4], fields[7], fields[8], fields[9], fields[16])
        if fault := fault_of_name(name):
            self._bad(fault, name)
        methods = (_STORED,) if name.endswith((".zip", SEALED)) else (_STORED, _DEFLATED)
        if central[place : begin + length] != member.central_header or member.method not in methods:
            self._bad("it is no ordinary file of a bundle", name)
        if member.size_bytes > MOST_OF_MEMBER or member.size_bytes > max(1, member.packed_bytes) * MOST_RATIO:
            self._bad(f"it would unpack to {member.size_bytes} bytes", name)
        return member, begin + length

    def read(self, name: str, most_bytes: int = MOST_OF_MEMBER) -> bytes:
        """The bytes of a member. Raises IoAtlasError for one that is not there, is larger, or is not what its header
        says.
        """
        member = self.members.get(name)
        if member is None:
            self._bad("it is not there", name)
        if member.size_bytes > most_bytes:
            self._bad(f"it has {member.size_bytes} bytes, more than the {most_bytes} it may have", name)
        small = self._at(member.data_offset, member.packed_bytes)
        data = small
        if member.method == _DEFLATED:
            unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
            try:
                data = unpacking.decompress(small, member.size_bytes + 1)
            except zlib.error:
                self._bad("it cannot be unpacked", name)
            if not unpacking.eof or unpacking.unused_data or unpacking.unconsumed_tail:
                self._bad("it does not end where its header says", name)
        if len(data) != member.size_bytes or zlib.crc32(data) != member.crc:
            self._bad("its bytes are not those that were packed", name)
        return data

    def digest(self, without: str = "") -> str:
        """SHA-256 of every member with its header as they lie there, in their order, all but one of them."""
        found = hashlib.sha256()
        for member in self.members.values():
            if member.name == without:
                continue
            found.update(member.local_header)
            self._file.seek(member.data_offset)
            left = member.packed_bytes
            while left and (piece := self._file.read(min(left, 1 << 20))):
                found.update(piece)
                left -= len(piece)
        return found.hexdigest()


def _parents(name: str) -> Iterator[str]:
    parts = name.split("/")
    return ("/".join(parts[:count]) + "/" for count in range(1, len(parts)))


def open_file(path: Path) -> Container:
    """The container at `path`. Raises IoAtlasError, RefusedError for what is no ordinary file."""
    with faults(IoAtlasError, "it cannot be read", where=str(path), remedy="name a bundle"):
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    opened = os.fdopen(file, "rb")
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise RefusedError("this is not an ordinary file", where=str(path), remedy="name a bundle")
        return Container(opened, str(path))
    except BaseException:
        opened.close()
        raise


def of_bytes(data: bytes, where: str) -> Container:
    """A container that lies in memory. Raises as `Container`."""
    return Container(io.BytesIO(data), where)
