# SPDX-License-Identifier: Apache-2.0
"""Bundles on disk, by their SHA-256. A file has its name only once all of it is on disk.

DIR/incoming/RANDOM/    one upload: the file as it comes, and a place for the process that reads it
DIR/kept/ab/abcd....zip
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError

STALE_SECONDS = 3600.0
"""After which what an upload left is nobody's: no upload may take as long."""
MARKER = "ioatlas-atlas"
"""A folder without it is not ours, and nothing in it is removed."""
_NAME = "bundle.ioatlas.zip"


class TooLargeError(UsageError):
    """More bytes came than one upload may have."""


class NoRoomError(IoAtlasError):
    """The disk took no more."""


@dataclass
class Incoming:
    """An upload that comes in. place: a folder of its own, gone with the upload."""

    place: Path
    most_bytes: int
    file: BinaryIO
    size_bytes: int = 0
    _hash: hashlib._Hash = field(default_factory=hashlib.sha256)

    @property
    def path(self) -> Path:
        return self.place / _NAME

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def write(self, data: bytes) -> None:
        """One more piece. Raises TooLargeError, IoAtlasError for a full disk."""
        self.size_bytes += len(data)
        if self.size_bytes > self.most_bytes:
            raise TooLargeError(
                f"it has more than {self.most_bytes >> 20} MiB", where="bundle", remedy="bundle a smaller campaign"
            )
        try:
            self.file.write(data)
        except OSError as error:
            raise full(error, self.place) from error
        self._hash.update(data)

    def finish(self) -> None:
        """All of it is on disk afterwards."""
        try:
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            raise full(error, self.place) from error


def full(error: OSError, where: Path) -> NoRoomError:
    """What a disk is told for that takes no more."""
    return NoRoomError(f"it cannot be written: {error.strerror}", where=str(where), remedy="free space, then again")


class Blobs:
    """The folder."""

    def __init__(self, folder: Path) -> None:
        """Raises RefusedError for a folder that holds something else."""
        self.folder = folder = folder.absolute()
        folder.mkdir(parents=True, exist_ok=True)
        marker = folder / MARKER
        if not marker.exists():
            if any(folder.iterdir()):
                raise RefusedError("the folder holds other things", where=str(folder), remedy="name an empty folder")
            marker.write_text("bundles of an atlas; `ioatlas atlas serve` keeps them\n", encoding="utf-8")
        self._incoming, self._kept = folder / "incoming", folder / "kept"
        for one in (self._incoming, self._kept):
            one.mkdir(exist_ok=True, mode=0o700)

    def path(self, sha256: str) -> Path:
        """Where a bundle lies, or would. Raises UsageError for what is no SHA-256."""
        if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
            raise UsageError("this is no SHA-256", where=sha256[:80], remedy="take it from a result")
        return self._kept / sha256[:2] / f"{sha256}.zip"

    @contextmanager
    def incoming(self, most_bytes: int) -> Iterator[Incoming]:
        """A place for an upload; whatever is left there goes at the end."""
        place = self._incoming / secrets.token_hex(12)
        try:
            place.mkdir(mode=0o700)
            file = (place / _NAME).open("xb")
        except OSError as error:
            shutil.rmtree(place, ignore_errors=True)
            raise full(error, place) from error
        try:
            yield Incoming(place, most_bytes, file)
        finally:
            with contextlib.suppress(OSError):  # what a full disk did not take was told when it was written
                file.close()
            shutil.rmtree(place, ignore_errors=True)

    def keep(self, upload: Incoming) -> None:
        """The upload gets its name, and both are on disk. The same bundle again is the same file."""
        upload.finish()
        path = self.path(upload.sha256)
        try:
            path.parent.mkdir(exist_ok=True, mode=0o700)
            upload.path.replace(path)
            os.utime(path)
            for folder in (path.parent, self._kept):
                _sync(folder)
        except OSError as error:
            raise full(error, path) from error

    def remove(self, sha256: str) -> None:
        """The file is gone, and stays so. One that is not there is no fault."""
        path = self.path(sha256)
        path.unlink(missing_ok=True)
        shutil.rmtree(self.derived(sha256), ignore_errors=True)
        if path.parent.is_dir():
            _sync(path.parent)

    def derived(self, sha256: str) -> Path:
        """Where lies what was made of a bundle for its pages; it goes with the bundle."""
        return self.folder / "derived" / self.path(sha256).parent.name / sha256

    def kept(self) -> Iterator[tuple[str, Path]]:
        """Every bundle with its SHA-256, in order."""
        for path in sorted(self._kept.glob("??/*.zip")):
            yield path.stem, path

    def sweep(self, wanted: frozenset[str | None] | None = None, now: float | None = None) -> int:
        """Remove what uploads left that died, and is old: places, and bundles that are not among the wanted ones."""
        oldest = (time.time() if now is None else now) - STALE_SECONDS
        swept = 0
        for place in self._incoming.iterdir():
            if place.is_dir() and not place.is_symlink() and place.stat().st_mtime < oldest:
                shutil.rmtree(place, ignore_errors=True)
                swept += 1
        if wanted is None:
            return swept
        for sha256, path in self.kept():
            if sha256 not in wanted and path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)
                swept += 1
        return swept


def _sync(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
