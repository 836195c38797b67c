# SPDX-License-Identifier: Apache-2.0
"""The one file of a fixed-work sequence on each target: made new by its first operation, removed last."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping

from ioatlas.errors import IoAtlasError
from ioatlas.fio.jobfile import JobValue
from ioatlas.model.cell import Cell
from ioatlas.procedures.fixed_work.plan import FILE
from ioatlas.target.preparation import TargetUse
from ioatlas.target.sites import Sites

FIRST = "write"
"""The operation that makes the file; all others need it."""


class WorkFile:
    """Where the operations of a sequence work: the first one makes the file, nothing is laid out before."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def location(self, cell: Cell) -> tuple[tuple[str, JobValue], ...]:
        """The options that bind an operation to the file."""
        place = ("filename", self.path(cell))
        return (place, ("allow_file_create", 1)) if cell.option["operation"] == FIRST else (place,)

    def path(self, cell: Cell) -> str:
        return self._sites.file_path(cell.target, FILE)

    def open(self, targets: Iterable[str], files: Mapping[str, Mapping[str, int]], use: TargetUse) -> None:
        """Clean what an earlier session left, check space and direct I/O, open each directory.

        Raises as `Sites.open`.
        """
        for name in targets:
            self._sites.open(name, {FILE: int(files.get(name, {}).get(FILE, 0))}, use)

    def make_new(self, cell: Cell) -> None:
        """Remove the file of an earlier sequence: the next operation makes a new one.

        Raises RefusedError when it is not ours.
        """
        self._sites.remove(cell.target, FILE)

    def calls_around(self, cell: Cell) -> tuple[float, float]:
        """Seconds of one opening of the file, and of what the study's clock holds after the last I/O and fio's lacks.

        That is the close, of a read the flush too. fio's clock holds the opening, of a write the flush (end_fsync), and
        never the close (measured: bench/iozone). All are done once more here, right after fio, on the same file, which
        is clean by then as it was for fio.
        """
        path = self._sites.through(self.path(cell))
        flags = (os.O_RDWR if cell.writes else os.O_RDONLY) | (os.O_DIRECT if cell.integer("direct", 1) else 0)
        begin = time.perf_counter()
        try:
            file = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise IoAtlasError(f"the file of the sequence cannot be opened: {error.strerror}", where=path) from error
        opened = time.perf_counter()
        if not cell.writes:
            os.fsync(file)
        os.close(file)
        return opened - begin, time.perf_counter() - opened
