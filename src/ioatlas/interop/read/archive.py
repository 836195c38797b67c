# SPDX-License-Identifier: Apache-2.0
"""Archives of result files: tar (plain, or packed by gzip, bzip2 or xz) and zip. Each member is a file of its own: read
as one text, the runs of several would be taken for one another's.
"""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

MOST_MEMBERS = 200_000
MOST_BYTES = 8 << 30
_PIECE = 1 << 20
_TAR_WORD, _TAR_AT = b"ustar", 257
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")
_ZIP = b"PK\x03\x04"
_DOCUMENTS = frozenset({"[Content_Types].xml", "mimetype", "META-INF/MANIFEST.MF"})
"""Members that make a zip a workbook, a text document or a program."""
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)
_REFUSED = (NotImplementedError, RuntimeError, ValueError)
"""What zipfile raises for a method it does not know, a password, or a name that is none."""


def is_archive(path: str) -> bool:
    """Whether a file holds files. By its content; one that cannot be read is none."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            head = file.read(_TAR_AT + len(_TAR_WORD))
        if head.startswith(_ZIP):
            with zipfile.ZipFile(path) as pack:
                return not _DOCUMENTS.intersection(pack.namelist())
        if head.startswith(_PACKED):
            with tarfile.open(path) as tar:
                return tar.next() is not None
    except (*_BROKEN, *_REFUSED):
        return False
    return head[_TAR_AT:] == _TAR_WORD


def unpack(path: str, folder: Path, problems: list[str]) -> None:
    """The regular files of an archive, laid out in `folder`. Links and devices are left out; what cannot be read, and
    what is beyond the limits, joins `problems`.
    """
    left = MOST_BYTES
    try:
        for number, (name, file) in enumerate(_members(path), 1):
            if number > MOST_MEMBERS or left <= 0:
                problems.append(f"{path}: too large; the rest of it was not unpacked")
                return
            place = _place(folder, name)
            if place is not None:
                left -= _copied(file, place, left)
    except (*_BROKEN, *_REFUSED) as error:
        problems.append(f"{path}: cannot be unpacked whole: {error}")


def _members(path: str) -> Iterator[tuple[str, BinaryIO]]:
    if zipfile.is_zipfile(path) and not tarfile.is_tarfile(path):
        with zipfile.ZipFile(path) as pack:
            for entry in pack.infolist():
                if not entry.is_dir():
                    with pack.open(entry) as file:
                        yield entry.filename, file  # type: ignore[misc]
        return
    with tarfile.open(path) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None:
                yield member.name, content  # type: ignore[misc]


def _place(folder: Path, name: str) -> Path | None:
    """Where a member is laid, inside `folder` whatever it is called."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    return folder.joinpath(*parts) if parts else None


def _copied(file: BinaryIO, place: Path, most: int) -> int:
    place.parent.mkdir(parents=True, exist_ok=True)
    copied = 0
    with place.open("wb") as out:
        while copied < most and (piece := file.read(min(_PIECE, most - copied))):
            out.write(piece)
            copied += len(piece)
    return copied
