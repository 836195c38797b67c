# SPDX-License-Identifier: Apache-2.0
"""Where the cells of a campaign live on its targets: laid out before, checked before every start of a load,
cleaned after.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from ioatlas.load.fio.executor import Executor
from ioatlas.load.fio.held import moved, reached
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas.model.options import JobValue, Purge
from ioatlas.model.outcomes import Emit, Event, LaidOuts, PreparedTarget, PreparedTargets
from ioatlas.model.target import Group, Target, on_members, place_options
from ioatlas.model.units import format_size_rounded, grouped
from ioatlas.model.visit import RemarkKind
from ioatlas.store import confined
from ioatlas.store.journal import Journal
from ioatlas.target.direct import DirectIo, direct_io_alignment
from ioatlas.target.guard import check_before_start, check_extent
from ioatlas.target.holes import discard, hole_bytes, punch_file
from ioatlas.target.layout import Layout
from ioatlas.target.place import check_space
from ioatlas.target.placing import ALIGNMENT, Extent, Places, extents, joined
from ioatlas.target.preparation import STEPS, WITHOUT_HOLES, TargetUse, purge
from ioatlas.target.trouble import answer_within
from ioatlas.target.workspace import Workspace, clean, directory_name, leftovers, open_file


def place_of(target: Target) -> tuple[tuple[str, JobValue], ...]:
    """The options of a job that bind it to a file, a device or a URI."""
    return place_options(target.location) if target.kind == "uri" else (("filename", target.location),)


class Sites:
    """The places of one campaign. Not opened before `prepare` or `open`, never left behind after `clean`."""

    def __init__(
        self,
        journal: Journal,
        campaign_id: str,
        targets: Iterable[Target],
        cells: Iterable[Cell],
        *,
        executor: Executor,
        stop_asked: Callable[[], bool],
        emit: Emit,
        groups: Iterable[Group] = (),
    ) -> None:
        """cells: all of the campaign, measured or not, so that places never change. groups: targets that are loaded
        together.
        """
        self._journal = journal
        self._id = campaign_id
        self._targets = {target.name: target for target in targets}
        self._groups = tuple(groups)
        self._places = Places(on_members(cells, self._groups))
        self._executor = executor
        self._stop_asked = stop_asked
        self._emit = emit
        self._open: dict[str, Workspace] = {}
        self._files: dict[str, int] = {}
        self._made_for: TargetUse | None = None
        self._begun: dict[str, dict[str, int]] = {}

    @property
    def campaign_id(self) -> str:
        """Whose places they are."""
        return self._id

    # -- where a cell is -----------------------------------------------------------------------------------------------

    def places(self, cell: Cell, seed: int) -> tuple[tuple[str, tuple[tuple[str, JobValue], ...]], ...]:
        """(target, options that bind the cell to its place there) of the targets that a visit loads together; none of
        a cell that is of one target. seed: of the visit, by which they are drawn where not all of them are loaded.
        """
        group = next((one for one in self._groups if one.name == cell.target), None)
        if group is None or not cell.of_group:
            return ()
        drawn = set(random.Random(f"targets {seed}").sample(group.members, cell.n_targets))  # noqa: S311
        names = [name for name in group.members if name in drawn]
        return tuple((name, self.location(replace(cell, target=name))) for name in names)

    def location(self, cell: Cell) -> tuple[tuple[str, JobValue], ...]:
        """The options that bind a cell of one target to its place."""
        target = self._targets[cell.target]
        if target.kind != "directory":
            offset = self._places.offset_bytes(cell)
            bound = place_of(target)
            # Clients with ranges of their own count on from this option, so it stands there also where it is 0.
            return (*bound, ("offset", offset + cell.integer("offset", 0))) if offset or cell.own_ranges else bound
        if cell.sharing == "private":
            directory = str(self._directory(target))
            return (("directory", directory), ("filename_format", self._places.file_name(cell, "$jobnum")))
        return (("filename", self.file_path(target.name, self._places.file_name(cell))),)

    def strides(self) -> dict[str, int]:
        """{target: how far apart the ranges of two clients begin}; 0 where each has files, or all work on the same."""
        return {
            name: 0 if target.kind == "directory" else self._places.client_stride_bytes(name)
            for name, target in self._targets.items()
        }

    def file_path(self, name: str, file: str) -> str:
        """The path of a file in a directory target."""
        return str(self._directory(self._targets[name]) / file)

    def _directory(self, target: Target) -> Path:
        return Path(target.location) / directory_name(self._id)

    @property
    def held(self) -> dict[str, int]:
        """{path: descriptor} by which loads reach directories and files, whoever exchanges what lies under the names.

        Block devices have their names: only root changes `/dev`, and fio looks for mounts by name.
        """
        found = {self._targets[name].location: descriptor for name, descriptor in self._files.items()}
        for workspace in self._open.values():
            found |= workspace.held
        return found

    def through(self, path: str) -> str:
        """A path on a target as this process reaches it by what is held."""
        return moved(path, {name: reached(descriptor) for name, descriptor in self.held.items()})

    # -- before every start of a load ----------------------------------------------------------------------------------

    def check(self, cells: Iterable[Cell]) -> None:
        """All guards of the targets that the next load touches. Raises what they raise."""
        for name, mine in _by_target(on_members(cells, self._groups)).items():
            target = self._targets[name]
            self._hold(target)
            check_before_start(target, writes=any(cell.writes or cell.state == "fresh" for cell in mine))
            if name in self._open:
                self._open[name].check()
            else:
                clients = (self._places.clients(name) - 1) * self._places.client_stride_bytes(name)
                check_extent(target, max(self._places.offset_bytes(cell) + cell.end_bytes for cell in mine) + clients)

    def _hold(self, target: Target) -> None:
        """Before its guards: they judge what its name leads to, and the load goes to what is held."""
        if target.kind == "file" and target.name not in self._files:
            self._files[target.name] = open_file(target)

    def renew(self, cells: Iterable[Cell]) -> None:
        """Right after `check`: cells that are to find no data get such a place, a new file or a discarded range."""
        empty = on_members((cell for cell in cells if cell.state == "fresh"), self._groups)
        for name, mine in _by_target(empty).items():
            target = self._targets[name]
            for file, extent in extents(mine, self._places, directory=target.kind == "directory").items():
                self._empty(target, file, extent)

    def _empty(self, target: Target, file: str, extent: Extent) -> None:
        if target.kind == "directory":
            self._open[target.name].make_sparse(file, extent.size_bytes)
        elif not (discard if target.kind == "block" else punch_file)(self.through(target.location), extent.end_bytes):
            raise UsageError(
                "its data cannot be taken off: "
                + ("the device takes no discards" if target.kind == "block" else "its file system punches no holes"),
                where=target.location,
                remedy="prepare it filled or preconditioned instead of fresh",
            )

    # -- preparation ---------------------------------------------------------------------------------------------------

    def prepare(self, use: TargetUse, most_seconds: float | None = None) -> bool:
        """Clean what an earlier session left, check space, make every place as the preparation says. Nothing is made
        again where the very same was made before.

        most_seconds: of writing; None for as long as it takes. Returns whether all is there. Raises what the guards and
        the load raise.
        """
        if self._made_for != use:
            each = None if most_seconds is None else most_seconds / len(self._targets)
            if not all(self.prepare_target(name, use, most_seconds=each) for name in self._targets):
                return False
            self._made_for = use
        return True

    def begun_bytes(self) -> int:
        """How much of the one place of every target was written from its begin where the time was over: the least of
        them, in whole MiB; 0 where there are more places, or where the preparation is more than one writing.
        """
        found = [self._begun.get(name, {}) for name in self._targets]
        return min(sum(sizes.values()) if len(sizes) == 1 else 0 for sizes in found) // ALIGNMENT * ALIGNMENT

    def shrink(self, cells: Iterable[Cell]) -> None:
        """Cells that need no more than `begun_bytes` take the place of all others: `prepare` keeps what was written."""
        self._places = Places(on_members(cells, self._groups))

    def _is_begun(self, name: str, wanted: Mapping[str, Extent]) -> bool:
        """Whether all that is wanted was written before the time was over."""
        begun = self._begun.pop(name, {})
        return bool(wanted) and all(begun.get(one, 0) >= extent.size_bytes for one, extent in wanted.items())

    def prepare_target(self, name: str, use: TargetUse, *, once: str = "", most_seconds: float | None = None) -> bool:
        """Prepare one target; whether all is there.

        What is no directory is prepared once for each value of `once`: it holds what was written.
        """
        target, wanted = self._targets[name], self._wanted(name, use)
        if target.kind == "directory":
            return self._prepare_directory(target, use, wanted, most_seconds)
        if target.kind != "uri" and use.needs_direct(name):  # a URI's engine decides for itself
            self._judge_direct(target, use, direct_io_alignment(target.location))
        if wanted and not self.is_prepared(name, use, once=once):
            return self._prepare_range(target, use, wanted, once, most_seconds)
        return True

    def _wanted(self, name: str, use: TargetUse) -> dict[str, Extent]:
        """What is to lie on a target, by name; empty where nothing is to be written."""
        if name not in use.laid_out:
            return {}
        return extents(use.on(name), self._places, directory=self._targets[name].kind == "directory")

    def is_prepared(self, name: str, use: TargetUse, *, once: str) -> bool:
        """Whether what `prepare_target` would write is there already: never in a directory,
        whose files each session removes.
        """
        known = self._prepared().get(name)
        if self._targets[name].kind == "directory" or known is None:
            return False
        asked = (use.preparation, once)
        return (known.state, known.once) == asked and known.end_bytes >= _end(self._wanted(name, use))

    def _prepared(self) -> Mapping[str, PreparedTarget]:
        return self._journal.kept(PreparedTargets).targets

    def purge(self, name: str, how: Purge) -> str:
        """As `ioatlas.target.preparation.purge`."""
        self._hold(self._targets[name])
        return purge(self._targets[name], how, self._emit, self.through)

    def open(self, name: str, files: Mapping[str, int], use: TargetUse, *, inodes: int = 1) -> None:
        """Clean a directory of what an earlier session left and, when `files` {name: bytes} are to lie there, open it
        for them.

        Nothing is laid out. Raises what the guards raise, and UsageError where direct I/O cannot move the cells'
        blocks.
        """
        target = self._targets[name]
        self._clean_one(target)
        self._close(name)
        self._report_leftovers(target)
        if not files:
            return
        check_before_start(target, writes=True)
        check_space(target, sum(files.values()), needed_files=inodes)
        workspace = Workspace(
            target,
            self._id,
            lambda file: self._journal.register_file(self.file_path(name, file), name, files.get(file, 0)),
        )
        self._open[name] = workspace
        if use.needs_direct(name):
            self._judge_direct(target, use, workspace.direct_io())
        for file in files:
            workspace.file_path(file)

    def remove(self, name: str, file: str) -> None:
        """Remove a file of an open directory, so that the next load makes a new one.

        Raises RefusedError when it is not ours.
        """
        self._open[name].unlink(file)

    def cut(self, name: str, files: Mapping[str, int]) -> None:
        """Take off what loads appended to files {name: bytes} of an open directory."""
        for file, size in files.items():
            self._open[name].cut(file, size)

    def make_tree(self, name: str, folders: Iterable[str]) -> None:
        """A tree with these folders in an open directory."""
        self._open[name].make_tree(folders)

    def remove_tree(self, name: str) -> int:
        """Remove the tree of an open directory; how many files it held. Raises RefusedError for what is not ours."""
        return self._open[name].remove_tree(self._removing(name))

    def _removing(self, name: str) -> Callable[[int], None]:
        """Tells of a removal that takes long."""

        def tick(count: int) -> None:
            self._emit(Event("removing", {"target": name, "files": count}))

        return tick

    def _prepare_directory(
        self, target: Target, use: TargetUse, wanted: Mapping[str, Extent], most_seconds: float | None
    ) -> bool:
        paths = {file: self.file_path(target.name, file) for file in wanted}
        if self._is_begun(target.name, wanted):
            self.cut(target.name, {file: extent.size_bytes for file, extent in wanted.items()})
        else:
            self.open(target.name, {file: extent.size_bytes for file, extent in wanted.items()}, use)
            places = {file: {"filename": path} for file, path in paths.items()}
            if not self._write(target, use, places, wanted, most_seconds):
                return False
        for file, path in paths.items():
            if use.preparation == "fresh":
                self._open[target.name].make_sparse(file, wanted[file].size_bytes)
            self._journal.file_ready(path)
            _check_holes(target, use, self.through(path), wanted[file].size_bytes)
        return True

    def _prepare_range(
        self, target: Target, use: TargetUse, wanted: Mapping[str, Extent], once: str, most_seconds: float | None
    ) -> bool:
        """Write a file, device or URI over the whole range of the sweep: holes are answered without the drive."""
        end = _end(wanted)
        self._hold(target)
        check_before_start(target, writes=True)
        check_extent(target, end)
        wanted = joined(wanted)
        if not self._is_begun(target.name, wanted):
            places = {name: dict(place_of(target)) for name in wanted}
            if not self._write(target, use, places, wanted, most_seconds):
                return False
        if target.kind == "file":
            _check_holes(target, use, self.through(target.location), end)
        held = PreparedTarget(use.preparation, end, once)
        self._journal.keep(PreparedTargets({**self._prepared(), target.name: held}))
        return True

    def _write(
        self,
        target: Target,
        use: TargetUse,
        places: Mapping[str, Mapping[str, JobValue]],
        wanted: Mapping[str, Extent],
        most_seconds: float | None,
    ) -> bool:
        """Every step of the preparation, booked in the ledger; whether all was written. Nothing where nothing is
        wanted.
        """
        complete = True
        if wanted:
            place = confined.make_directory(self._journal.directory, f"layout/{confined.plain_name(target.name)}")
            direct = use.needs_direct(target.name)
            layout = Layout(target, places, wanted, place, direct, self._executor, self._stop_asked, self.held)
            book = partial(self._journal.add_ledger, target.name)
            seen, complete = layout.write(STEPS[use.preparation], self._emit, book, most_seconds)
            self._journal.keep(LaidOuts((*self._journal.kept(LaidOuts).files, *seen)))
            if not complete and len(wanted) == len(seen) == sum(step.passes for step in STEPS[use.preparation]) == 1:
                self._begun[target.name] = dict.fromkeys(wanted, seen[0].moved_bytes)
        return complete

    def _judge_direct(self, target: Target, use: TargetUse, answer: DirectIo) -> None:
        """Whether the target takes the cells' direct I/O. Raises UsageError, or leaves out cells, as `use` says."""
        if not answer.supported:
            raise UsageError(
                f"direct I/O does not work here: {answer.why_not}",
                where=target.location,
                remedy="set direct = 0 in [sweep] to measure through the page cache, or choose another target",
            )
        block = answer.offset_alignment_bytes
        odd = [
            (cell, size)
            for cell in use.on(target.name)
            for one in cell.members
            for size in one.block_sizes
            if block and one.integer("direct", 1) and size % block
        ]
        if not odd:
            return
        if use.odd_sizes == "refuse":
            raise UsageError(
                f"direct I/O here moves whole blocks of {block} B, the sweep has bs={odd[0][1]}",
                where=target.location,
                remedy=f"use multiples of {block}, or direct = 0",
            )
        reason = f"not admissible: direct I/O here moves whole blocks of {block} B"
        self._journal.leave_out({cell.key: reason for cell, _ in odd})

    # -- the end -------------------------------------------------------------------------------------------------------

    def clean(self) -> None:
        """Remove what was made on directory targets.

        What cannot be removed now is removed by the next start, and said. Where the journal cannot be written, all
        targets are cleaned nevertheless, and its error is raised at the end.
        """
        self._made_for = None
        self._begun.clear()
        with ExitStack() as all_of_them:
            for name, target in reversed(self._targets.items()):
                if target.kind == "directory":
                    all_of_them.callback(self._clean_or_say, name, target)
            while self._files:
                os.close(self._files.popitem()[1])

    def _clean_or_say(self, name: str, target: Target) -> None:
        try:
            if name in self._open:
                self._tell_elsewhere(name, target)
            self._clean_one(target)
        except IoAtlasError as error:
            self._warn(f"The files on {name} could not be removed now ({error.what}); `ioatlas resume` removes them.")
        finally:
            self._close(name)

    def _tell_elsewhere(self, name: str, target: Target) -> None:
        """Say that another place lies under the name now: what was measured last was held, and is not seen by it."""
        try:
            answer_within(self._open[name].check_place, target.location)
        except RefusedError as error:
            self._warn(f"{error.where}: {error.what} while {name} was measured.")

    def _close(self, name: str) -> None:
        if name in self._open:
            self._open.pop(name).close()

    def _clean_one(self, target: Target) -> None:
        known = self._journal.files(target.name)
        names, tick = [Path(path).name for path in known], self._removing(target.name)
        workspace = self._open.get(target.name)
        removal = workspace.remove(names, tick) if workspace else clean(target, self._id, names, tick)
        for path in known:
            if removal.directory_gone or Path(path).name in removal.removed:
                self._journal.file_removed(path)
        if removal.left:
            self._warn(f"Left on {target.name}: {'; '.join(removal.left)}.")
        if count := len(removal.removed) + removal.in_tree:
            self._emit(Event("cleaned", {"target": target.name, "files": count}))

    def _report_leftovers(self, target: Target) -> None:
        """Directories of other campaigns are told of, never touched: a share has other clients."""
        for leftover in leftovers(target.location, self._id):
            marker, size = leftover.marker, format_size_rounded(leftover.size_bytes)
            owner = f"campaign {marker.campaign_id} of {marker.host}" if marker else "a campaign without a marker"
            self._warn(f"{leftover.path} ({size}) belongs to {owner}; it was left alone.")

    def _warn(self, text: str) -> None:
        self._journal.add_remark(RemarkKind.WARNING, text)
        self._emit(Event("remark", {"text": text}))


def _by_target(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    return grouped((cell.target, cell) for cell in cells)


def _check_holes(target: Target, use: TargetUse, path: str, size_bytes: int) -> None:
    """Raises IoAtlasError when a file that was filled still has holes."""
    holes = hole_bytes(path, size_bytes) if use.preparation in WITHOUT_HOLES else 0
    if holes:
        raise IoAtlasError(
            f"{holes} of {size_bytes} bytes are holes although all were written: "
            "what is stored there keeps no such data",
            where=target.location,
            remedy="sweep data that compress less, or prepare it laid-out",
        )


def _end(wanted: Mapping[str, Extent]) -> int:
    """Where the last range ends."""
    return max((extent.end_bytes for extent in wanted.values()), default=0)
