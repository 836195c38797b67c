# SPDX-License-Identifier: Apache-2.0
"""Where the cells of a campaign live on its targets: laid out before, checked before every start of fio, cleaned after."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ioatlas.campaign.events import Emit, Event
from ioatlas.campaign.placing import Extent, Places, extents
from ioatlas.campaign.plan import Plan
from ioatlas.campaign.preparation import STEPS, WITHOUT_HOLES
from ioatlas.campaign.prepare import write_step
from ioatlas.campaign.spec import Purge
from ioatlas.dialect.jobfile import JobValue
from ioatlas.engine.nvme import format_namespace
from ioatlas.engine.process import Fio
from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.model.cell import Cell
from ioatlas.model.target import Target
from ioatlas.model.units import format_size_rounded
from ioatlas.store.journal import Journal
from ioatlas.target.direct import DirectIo, direct_io_alignment
from ioatlas.target.guard import check_before_start, check_extent
from ioatlas.target.holes import discard, hole_bytes, punch_file
from ioatlas.target.place import check_space
from ioatlas.target.workspace import Workspace, clean, directory_name, leftovers


class Sites:
    """The places of one campaign. Not opened before `prepare`, never left behind after `clean`."""

    def __init__(self, journal: Journal, plan: Plan, campaign_id: str) -> None:
        self._journal = journal
        self._plan = plan
        self._id = campaign_id
        self._targets: dict[str, Target] = {target.name: target for target in plan.targets}
        self._open: dict[str, Workspace] = {}
        self._places = Places(cell for cell, _ in plan.cells)

    def location(self, cell: Cell) -> tuple[tuple[str, JobValue], ...]:
        """The options that bind a cell to its place."""
        target = self._targets[cell.target]
        if target.kind != "directory":
            offset = self._places.offset_bytes(cell)
            bound: tuple[str, JobValue] = ("uri" if target.kind == "uri" else "filename", target.location)
            return (bound, ("offset", offset + cell.integer("offset", 0))) if offset else (bound,)
        place = self._place(target)
        if cell.sharing == "private":
            return (("directory", str(place)), ("filename_format", self._places.file_name(cell, "$jobnum")))
        return (("filename", str(place / self._places.file_name(cell))),)

    def _place(self, target: Target) -> Path:
        return Path(target.location) / directory_name(self._id)

    def check(self, cells: Iterable[Cell]) -> None:
        """All guards of the targets that the next fio touches. Raises what they raise."""
        cells = list(cells)
        for name in {cell.target for cell in cells}:
            mine = [cell for cell in cells if cell.target == name]
            target = self._targets[name]
            check_before_start(target, writes=any(cell.writes or cell.state == "fresh" for cell in mine))
            if name in self._open:
                self._open[name].check()
            else:
                check_extent(target, max(self._places.offset_bytes(cell) + cell.end_bytes for cell in mine))

    def prepare(self, fio: Fio, plan: Plan, stop_asked: Callable[[], bool], emit: Emit) -> None:
        """Clean what an earlier session left, check space, make every file of `plan` as its preparation says. Raises what the guards and fio raise."""
        self._plan = plan
        for name in self._targets:
            self.prepare_target(fio, name, stop_asked, emit)

    def prepare_target(self, fio: Fio, name: str, stop_asked: Callable[[], bool], emit: Emit, *, once: str = "") -> None:
        """Prepare one target. What is not a directory is prepared once for each value of `once`: what was written to it is still there."""
        target = self._targets[name]
        wanted = self._wanted(target)
        if target.kind == "directory":
            if name in self._open:
                self._open.pop(name).close()
            self._clean_one(target, emit)
            self._report_leftovers(target, emit)
            if wanted:
                self._prepare_directory(fio, target, wanted, stop_asked, emit)
            return
        self._check_direct(target)
        if wanted:
            self._prepare_range(fio, target, wanted, stop_asked, emit, once)

    def _wanted(self, target: Target) -> dict[str, Extent]:
        """What is to lie on a target, by name; empty where nothing is to be written."""
        if not self._plan.files.get(target.name):
            return {}
        cells = [cell for cell in self._plan.to_measure if cell.target == target.name]
        return extents(cells, self._places, directory=target.kind == "directory")

    def is_prepared(self, name: str, *, once: str) -> bool:
        """Whether what `prepare_target` would write is already there: never in a directory, whose files each session removes."""
        target = self._targets[name]
        known = self._journal.outcomes().get("prepared", {}).get(name)
        if target.kind == "directory" or known is None:
            return False
        return bool(known["state"] == self._plan.spec.prepare and known["once"] == once and known["end_bytes"] >= _end(self._wanted(target)))

    def purge(self, name: str, how: Purge, emit: Emit) -> str:
        """Take all data off a target before it is filled, where it can and may be done; what was done, or why it was not, in words.

        Only reached for targets whose destruction was confirmed. Raises what the guards raise, UsageError for a purge that was asked for
        and cannot be done.
        """
        target = self._targets[name]
        if how == "none":
            return "none, as asked"
        if how == "by-hand":
            return "done by hand before the test, as stated; not checked"
        if target.kind == "block":
            check_before_start(target, writes=True)
            if how == "nvme-format":
                emit(Event("remark", {"text": f"formatting {name}"}))
                return format_namespace(target.location, target.size_bytes or 0)
            emit(Event("remark", {"text": f"discarding all of {name}"}))
            if discard(target.location, target.size_bytes or 0):
                return "all blocks discarded (BLKDISCARD); whether the device erases them is up to it"
        elif how == "punch-hole":
            check_before_start(target, writes=True)
            if punch_file(target.location, target.size_bytes or 0):
                return "holes punched in the file: the file system's space is free, which is not a purge of the drive"
        elif how == "auto":
            offers = {"directory": "a directory", "file": "a file", "uri": "an export"}[target.kind]
            return f"not possible: {offers} offers none; the state before the fill is unknown"
        if how == "auto":
            return "not possible: the device takes no discards; the state before the fill is unknown"
        raise UsageError(f"purge = {how!r} cannot be done here", where=target.location, remedy="use purge = 'auto', which says so and goes on")

    def renew(self, cells: Iterable[Cell]) -> None:
        """Give cells that are to find no data such a place: a new file, or a discarded range. Nothing for other cells. Right after `check`."""
        fresh = [cell for cell in cells if cell.state == "fresh"]
        for name in dict.fromkeys(cell.target for cell in fresh):
            target = self._targets[name]
            mine = [cell for cell in fresh if cell.target == name]
            for file, extent in extents(mine, self._places, directory=target.kind == "directory").items():
                self._empty(target, file, extent)

    def _empty(self, target: Target, file: str, extent: Extent) -> None:
        end = extent.offset_bytes + extent.size_bytes
        if target.kind == "directory":
            self._open[target.name].make_sparse(file, extent.size_bytes)
        elif not (discard(target.location, end) if target.kind == "block" else punch_file(target.location, end)):
            raise UsageError(
                "its data cannot be taken off: " + ("the device takes no discards" if target.kind == "block" else "its file system punches no holes"),
                where=target.location,
                remedy="prepare it filled or preconditioned instead of fresh",
            )

    def _prepare_directory(self, fio: Fio, target: Target, wanted: dict[str, Extent], stop_asked: Callable[[], bool], emit: Emit) -> None:
        check_before_start(target, writes=True)
        check_space(target, sum(extent.size_bytes for extent in wanted.values()))
        workspace = Workspace(target, self._id, lambda name: self._register(target, name, wanted[name].size_bytes if name in wanted else 0))
        self._open[target.name] = workspace
        if self._needs_direct(target.name):
            self._judge_direct(target, workspace.direct_io())
        paths = {name: workspace.file_path(name) for name in wanted}
        self._write(fio, target, {name: {"filename": path} for name, path in paths.items()}, wanted, stop_asked, emit)
        for name, path in paths.items():
            if self._plan.spec.prepare == "fresh":
                workspace.make_sparse(name, wanted[name].size_bytes)
            self._journal.file_ready(path)
            self._check_holes(target, path, wanted[name].size_bytes)

    def _check_holes(self, target: Target, path: str, size_bytes: int) -> None:
        """Raises when a file that was filled still has holes."""
        if self._plan.spec.prepare not in WITHOUT_HOLES:
            return
        holes = hole_bytes(path, size_bytes)
        if holes:
            raise IoAtlasError(
                f"{holes} of {size_bytes} bytes are holes although all were written: what is stored there keeps no such data",
                where=target.location,
                remedy="sweep data that compress less, or prepare it laid-out",
            )

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
        if odd and self._plan.spec.snia is not None:
            # Such a grid begins at 512 B whatever the file system takes.
            reason = f"not admissible: direct I/O here moves whole blocks of {block} B"
            self._journal.leave_out({cell.key: reason for cell in self._plan.to_measure if cell.bs_bytes % block and cell.target == target.name})
        elif odd:
            raise UsageError(
                f"direct I/O here moves whole blocks of {block} B, the sweep has bs={odd[0]}",
                where=target.location,
                remedy=f"use multiples of {block}, or direct = 0",
            )

    def _prepare_range(
        self, fio: Fio, target: Target, wanted: dict[str, Extent], stop_asked: Callable[[], bool], emit: Emit, once: str
    ) -> None:
        """Write a file, device or URI over the whole range of the sweep: holes and unwritten blocks are answered without the drive."""
        if self.is_prepared(target.name, once=once):
            return
        end = _end(wanted)
        check_before_start(target, writes=True)
        check_extent(target, end)
        place: dict[str, JobValue] = {"uri": target.location} if target.kind == "uri" else {"filename": target.location}
        self._write(fio, target, dict.fromkeys(wanted, place), wanted, stop_asked, emit)
        if target.kind == "file":
            self._check_holes(target, target.location, end)
        known = self._journal.outcomes().get("prepared", {})
        self._journal.set_outcome("prepared", {**known, target.name: {"state": self._plan.spec.prepare, "end_bytes": end, "once": once}})

    def _write(
        self,
        fio: Fio,
        target: Target,
        places: Mapping[str, Mapping[str, JobValue]],
        wanted: Mapping[str, Extent],
        stop_asked: Callable[[], bool],
        emit: Emit,
    ) -> None:
        """The steps of the preparation, one fio after the other, each booked in the ledger."""
        steps = STEPS[self._plan.spec.prepare]
        size = sum(extent.size_bytes for extent in wanted.values())
        total, before = size * sum(step.passes for step in steps), 0
        begin = time.monotonic()

        def progress(done: int) -> None:
            spent, done = time.monotonic() - begin, before + done
            left = (total - done) * spent / done if done else None
            emit(Event("layout", {"target": target.name, "bytes": total, "bytes_done": done, "seconds_left": left and round(left, 1)}))

        for step in steps:
            progress(0)
            written = write_step(
                fio,
                target,
                step,
                places,
                wanted,
                direct=self._needs_direct(target.name),
                directory=self._journal.directory / "layout" / target.name / step.what.replace(" ", "-"),
                stop_asked=stop_asked,
                progress=progress,
                paths=tuple(Path(str(place["filename"])) for place in places.values()) if target.kind == "directory" else (),
            )
            before += written
            self._journal.add_ledger(target.name, step.what, written)

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


def _end(wanted: Mapping[str, Extent]) -> int:
    """Where the last range ends."""
    return max((extent.offset_bytes + extent.size_bytes for extent in wanted.values()), default=0)
