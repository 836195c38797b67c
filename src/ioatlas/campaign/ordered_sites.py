# SPDX-License-Identifier: Apache-2.0
"""The one file of an ordered study on each target: made new by its first operation, checked before each, removed at the end."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ioatlas.campaign.events import Emit
from ioatlas.campaign.ordered_plan import FILE
from ioatlas.campaign.plan import Plan
from ioatlas.campaign.sites import Sites
from ioatlas.dialect.jobfile import JobValue
from ioatlas.errors import IoAtlasError
from ioatlas.model.cell import Cell
from ioatlas.target.guard import check_before_start
from ioatlas.target.place import check_space
from ioatlas.target.workspace import Workspace

FIRST = "write"
"""The operation that makes the file; all others need it."""


class OrderedSites(Sites):
    """As `Sites`, but nothing is laid out: the first operation of each round makes the file."""

    def location(self, cell: Cell) -> tuple[tuple[str, JobValue], ...]:
        place = ("filename", self.file_path(cell))
        return (place, ("allow_file_create", 1)) if cell.option["operation"] == FIRST else (place,)

    def file_path(self, cell: Cell) -> str:
        return str(self._place(self._targets[cell.target]) / FILE)

    def prepare_new(self, plan: Plan, emit: Emit) -> None:
        """Clean what an earlier session left, check space and direct I/O, open the directory. Raises what the guards raise."""
        self._plan = plan
        for name, target in self._targets.items():
            self._clean_one(target, emit)
            self._report_leftovers(target, emit)
            check_before_start(target, writes=True)
            size = int(plan.files.get(name, {}).get(FILE, 0))
            check_space(target, size)
            workspace = Workspace(target, self._id, lambda file, target=target, size=size: self._register(target, file, size))  # type: ignore[misc]
            self._open[name] = workspace
            if self._needs_direct(name):
                self._judge_direct(target, workspace.direct_io())
            workspace.file_path(FILE)

    def make_new(self, cell: Cell) -> None:
        """Remove the file that an earlier round left, so that the next operation makes a new one. Raises RefusedError when it is not ours."""
        self._open[cell.target].unlink(FILE)

    def calls_around(self, cell: Cell) -> tuple[float, float]:
        """Seconds of one opening of the file, and of what the study's clock holds after the last I/O and fio's does not: close, of a read the flush too.

        fio's clock holds the opening, of a write the flush (end_fsync), and never the close (measured: bench/iozone). All are done once more here,
        right after fio, on the same file, which is clean by then as it was for fio.
        """
        flags = (os.O_RDWR if cell.writes else os.O_RDONLY) | (os.O_DIRECT if cell.integer("direct", 1) else 0)
        begin = time.perf_counter()
        try:
            file = os.open(Path(self.file_path(cell)), flags | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise IoAtlasError(f"the file of the round cannot be opened: {error.strerror}", where=self.file_path(cell)) from error
        opened = time.perf_counter()
        if not cell.writes:
            os.fsync(file)
        os.close(file)
        return opened - begin, time.perf_counter() - opened
