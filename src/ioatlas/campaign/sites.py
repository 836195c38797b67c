# SPDX-License-Identifier: Apache-2.0
"""Where the cells of a campaign live on its targets: laid out before, checked before every start of fio, cleaned after."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ioatlas.campaign.events import Emit, Event
from ioatlas.campaign.plan import PRIVATE_FILE, SHARED_FILE, Plan
from ioatlas.campaign.prepare import lay_out
from ioatlas.dialect.jobfile import JobValue
from ioatlas.engine.process import Fio
from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.model.cell import Cell
from ioatlas.model.target import Target
from ioatlas.model.units import format_size_rounded
from ioatlas.store.journal import Journal
from ioatlas.target.direct import DirectIo, direct_io_alignment
from ioatlas.target.guard import check_before_start, check_extent
from ioatlas.target.place import check_space
from ioatlas.target.workspace import Workspace, clean, directory_name, leftovers

LAYOUT = "lay-out"


class Sites:
    """The places of one campaign. Not opened before `prepare`, never left behind after `clean`."""

    def __init__(self, journal: Journal, plan: Plan, campaign_id: str) -> None:
        self._journal = journal
        self._plan = plan
        self._id = campaign_id
        self._targets: dict[str, Target] = {target.name: target for target in plan.targets}
        self._open: dict[str, Workspace] = {}

    def location(self, cell: Cell) -> tuple[tuple[str, JobValue], ...]:
        """The options that bind a cell to its place."""
        target = self._targets[cell.target]
        if target.kind == "uri":
            return (("uri", target.location),)
        if target.kind != "directory":
            return (("filename", target.location),)
        place = self._place(target)
        if cell.sharing == "private":
            return (("directory", str(place)), ("filename_format", PRIVATE_FILE.format(job="$jobnum")))
        return (("filename", str(place / SHARED_FILE)),)

    def _place(self, target: Target) -> Path:
        return Path(target.location) / directory_name(self._id)

    def check(self, cells: Iterable[Cell]) -> None:
        """All guards of the targets that the next fio touches. Raises what they raise."""
        cells = list(cells)
        for name in {cell.target for cell in cells}:
            mine = [cell for cell in cells if cell.target == name]
            target = self._targets[name]
            check_before_start(target, writes=any(cell.writes for cell in mine))
            if name in self._open:
                self._open[name].check()
            else:
                check_extent(target, max(cell.end_bytes for cell in mine))

    def prepare(self, fio: Fio, plan: Plan, stop_asked: Callable[[], bool], emit: Emit) -> None:
        """Clean what an earlier session left, check space, lay out every file of `plan`. Raises what the guards and fio raise."""
        self._plan = plan
        for name, target in self._targets.items():
            sizes = dict(self._plan.files.get(name, {}))
            if target.kind == "directory":
                self._clean_one(target, emit)
                self._report_leftovers(target, emit)
                if sizes:
                    self._prepare_directory(fio, target, sizes, stop_asked, emit)
                continue
            self._check_direct(target)
            if sizes:
                self._fill(fio, target, sizes[""], stop_asked, emit)

    def _prepare_directory(self, fio: Fio, target: Target, sizes: dict[str, int], stop_asked: Callable[[], bool], emit: Emit) -> None:
        check_before_start(target, writes=True)
        check_space(target, sum(sizes.values()))
        workspace = Workspace(target, self._id, lambda name: self._register(target, name, sizes.get(name, 0)))
        self._open[target.name] = workspace
        direct = self._needs_direct(target.name)
        if direct:
            self._judge_direct(target, workspace.direct_io())
        paths = {name: workspace.file_path(name) for name in sizes}
        self._lay_out(
            fio, target, {name: {"filename": path} for name, path in paths.items()}, sizes, direct, stop_asked, emit, tuple(paths.values())
        )
        for path in paths.values():
            self._journal.file_ready(path)

    def _check_direct(self, target: Target) -> None:
        """Whether a file or device takes the sweep's direct I/O; a URI's engine decides for itself."""
        if target.kind in ("file", "block") and self._needs_direct(target.name):
            self._judge_direct(target, direct_io_alignment(target.location))

    def _judge_direct(self, target: Target, answer: DirectIo) -> None:
        if not answer.supported:
            raise UsageError(
                f"direct I/O does not work here: {answer.why_not}",
                where=target.location,
                remedy="set direct = 0 in [sweep] to measure through the page cache, or choose another target",
            )
        block = answer.offset_alignment_bytes
        members = [one for cell in self._plan.to_measure if cell.target == target.name for one in cell.members]
        odd = [size for one in members if one.integer("direct", 1) for size in one.block_sizes if block and size % block]
        if odd:
            raise UsageError(
                f"direct I/O here moves whole blocks of {block} B, the sweep has bs={odd[0]}",
                where=target.location,
                remedy=f"use multiples of {block}, or direct = 0",
            )

    def _fill(self, fio: Fio, target: Target, size_bytes: int, stop_asked: Callable[[], bool], emit: Emit) -> None:
        """Write a file, device or URI over the whole range of the sweep: holes and unwritten blocks are answered without the drive."""
        if any(entry == (target.name, LAYOUT, size_bytes) for entry in self._journal.ledger()):
            return
        check_before_start(target, writes=True)
        check_extent(target, size_bytes)
        place: dict[str, JobValue] = {"uri": target.location} if target.kind == "uri" else {"filename": target.location}
        self._lay_out(fio, target, {"": place}, {"": size_bytes}, self._needs_direct(target.name), stop_asked, emit, ())

    def _lay_out(
        self,
        fio: Fio,
        target: Target,
        places: dict[str, dict[str, JobValue]],
        sizes: dict[str, int],
        direct: bool,
        stop_asked: Callable[[], bool],
        emit: Emit,
        paths: tuple[str, ...],
    ) -> None:
        total = sum(sizes.values())
        begin = time.monotonic()

        def progress(done: int) -> None:
            spent = time.monotonic() - begin
            left = (total - done) * spent / done if done else None
            emit(Event("layout", {"target": target.name, "bytes": total, "bytes_done": done, "seconds_left": left and round(left, 1)}))

        progress(0)
        written = lay_out(
            fio,
            target,
            places,
            sizes,
            direct=direct,
            directory=self._journal.directory / "layout" / target.name,
            stop_asked=stop_asked,
            progress=progress,
            paths=tuple(Path(path) for path in paths),
        )
        self._journal.add_ledger(target.name, LAYOUT, written)

    def _needs_direct(self, name: str) -> bool:
        return any(one.integer("direct", 1) for cell in self._plan.to_measure if cell.target == name for one in cell.members)

    def _register(self, target: Target, name: str, size_bytes: int) -> None:
        self._journal.register_file(str(self._place(target) / name), target.name, size_bytes)

    def clean(self, emit: Emit) -> None:
        """Remove what was made on directory targets. What cannot be removed now is removed by the next start, and said."""
        for name, target in self._targets.items():
            if target.kind != "directory":
                continue
            if name in self._open:
                self._open.pop(name).close()
            try:
                self._clean_one(target, emit)
            except IoAtlasError as error:
                text = f"The files on {name} could not be removed now ({error.what}); `ioatlas resume` removes them."
                self._journal.add_remark("warning", text)
                emit(Event("remark", {"text": text}))

    def _clean_one(self, target: Target, emit: Emit) -> None:
        known = self._journal.files(target.name)
        removal = clean(target, self._id, [Path(path).name for path in known])
        for path in known:
            if removal.directory_gone or Path(path).name in removal.removed:
                self._journal.file_removed(path)
        if removal.left:
            text = f"Left on {target.name}: {'; '.join(removal.left)}."
            self._journal.add_remark("warning", text)
            emit(Event("remark", {"text": text}))
        if removal.removed:
            emit(Event("cleaned", {"target": target.name, "files": len(removal.removed)}))

    def _report_leftovers(self, target: Target, emit: Emit) -> None:
        """Directories of other campaigns are told of, never touched: a share has other clients."""
        for leftover in leftovers(target.location, self._id):
            owner = (
                f"campaign {leftover.marker.campaign_id} of {leftover.marker.host}" if leftover.marker else "a campaign without a marker"
            )
            text = f"{leftover.path} ({format_size_rounded(leftover.size_bytes)}) belongs to {owner}; it was left alone."
            self._journal.add_remark("warning", text)
            emit(Event("remark", {"text": text}))
