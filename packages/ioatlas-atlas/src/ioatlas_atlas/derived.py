# SPDX-License-Identifier: Apache-2.0
"""What pages show of bundles, kept on disk beside them and made anew where it is missing.

It is a cache: nothing of it has to be in a backup. What belongs to a bundle that was deleted goes with it.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ioatlas import __version__
from ioatlas_atlas.admission import Limits, Turns, confined
from ioatlas_atlas.blobs import Blobs, full
from ioatlas_atlas.database import Database
from ioatlas_atlas.derive import DOUBTS, EXPLORER, EXPORT
from ioatlas_atlas.extract import DISK_FULL
from ioatlas_atlas.queries import doubts_of

MOST_KEPT_BYTES = 64 << 20
"""Of exports, as texts, that are kept in memory: the pages of one result ask for the same."""
MOST_WAITING = 7


class Derived:
    """Made by one process at a time: who asks for a new one meanwhile waits; when many do, the next comes again."""

    def __init__(self, blobs: Blobs, limits: Limits, database: Database) -> None:
        self._blobs, self._limits, self._database = blobs, limits, database
        self._memory, self._turn = threading.Lock(), Turns(1, MOST_WAITING, "many pages are being made")
        self._unfit: set[str] = set()
        self._documents: OrderedDict[str, tuple[Mapping[str, Any], int]] = OrderedDict()

    def document(self, sha256: str) -> Mapping[str, Any] | None:
        """The export of a bundle; None for one that is not there, or cannot be read within the limits."""
        with self._memory:
            if sha256 in self._documents and self._blobs.path(sha256).exists():
                self._documents.move_to_end(sha256)
                return self._documents[sha256][0]
        text = self._read(sha256, EXPORT)
        if text is None:
            return None
        document: Mapping[str, Any] = json.loads(text)
        with self._memory:
            self._documents[sha256] = document, len(text)
            while len(self._documents) > 1 and sum(size for _, size in self._documents.values()) > MOST_KEPT_BYTES:
                self._documents.popitem(last=False)
        return document

    def explorer(self, sha256: str) -> str | None:
        """The report's page."""
        text = self._read(sha256, EXPLORER)
        return None if text is None else text.decode()

    def _read(self, sha256: str, name: str) -> bytes | None:
        # An older folder goes when the newer one is there: it is looked for again.
        for place in map(self.made, (sha256, sha256)):
            if place is None:
                return None
            with suppress(FileNotFoundError), gzip.open(place / name) as opened:
                return opened.read()
        return None

    def made(self, sha256: str) -> Path | None:
        """The folder with both files, made where it is missing."""
        bundle = self._blobs.path(sha256)
        place = self._blobs.derived(sha256) / __version__
        if not bundle.exists():  # deleted: its values go with it
            shutil.rmtree(place.parent, ignore_errors=True)
            return None
        if place.is_dir():
            return place
        older = [one for one in place.parent.glob("[!.]*") if one.is_dir()]
        if older and sha256 not in self._unfit:  # of an earlier version: shown until the newer one is there
            threading.Thread(target=self._renewed, args=(sha256, bundle, place, older), daemon=True).start()
            return older[0]
        return self._renewed(sha256, bundle, place, older)

    def _renewed(self, sha256: str, bundle: Path, place: Path, older: Sequence[Path]) -> Path | None:
        """The folder is made by whoever comes first. What it replaces goes."""
        with self._turn:
            if place.is_dir():
                return place
            if sha256 in self._unfit:
                return None
            try:
                made = self._make(sha256, bundle, place)
            except OSError as error:
                raise full(error, place) from error
        with self._memory:
            self._documents.pop(sha256, None)
        for one in older if made else ():
            shutil.rmtree(one, ignore_errors=True)
        return made

    def _make(self, sha256: str, bundle: Path, place: Path) -> Path | None:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=place.parent) as new:
            made = Path(new)
            doubts = [(*load, why) for load, why in doubts_of(self._database, sha256).items()]
            (made / DOUBTS).write_text(json.dumps(doubts), encoding="utf-8")
            code = confined("ioatlas_atlas.derive", bundle, self._limits, made)
            if code == DISK_FULL:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if code != 0:
                self._unfit.add(sha256)  # not tried again by each reader
                return None
            done = made / "done"
            done.mkdir()
            for name in (EXPORT, EXPLORER):
                (made / name).rename(done / name)
            try:
                done.rename(place)
            except OSError:  # another process of this service was faster
                if not place.is_dir():
                    raise
        return place
