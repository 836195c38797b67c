# SPDX-License-Identifier: Apache-2.0
"""Metadata and small files: trees that are made, looked at, renamed and deleted, each operation in a process. The plan
has every file size with every number of files, jobs, levels and way of flushing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from ioatlas.measure.procedures.metadata.options import OURS, MetadataOptions
from ioatlas.measure.run.plan import FIO_SECONDS, PLANNING_WRITE_BYTES_PER_S, Plan, only_directories
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.options import ALLOWED
from ioatlas.model.target import Target
from ioatlas.model.tree import BY_NAMES, FROM_CACHE, MOVES_DATA, Operation, Tree, tree_cell
from ioatlas.model.units import format_size_rounded
from ioatlas.plan.spec import CampaignSpec
from ioatlas.target.opening import NOT_YET
from ioatlas.target.place import usable_bytes
from ioatlas.target.tree import TREE

USUAL_FILES = 1000
MOST_FILES = 10_000_000
"""Of one tree: fio keeps a record of each."""
RECORD_BYTES = 500
"""What fio 3.33 takes of memory for each file: 490 at 1,000,000 files. The load of names takes less."""
PLANNING_CALLS_PER_S = 2000
"""Rate at which a plan reckons calls before anything is measured; the plan says so."""
INODE_BYTES = 4096
"""What a file takes at least, in words of a plan."""


def build_tree_plan(spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
    """All operations on all trees on all targets. Raises UsageError for what they leave no room for."""
    _check(spec, targets, read_only=read_only)
    cells: list[tuple[Cell, str]] = []
    files: dict[str, dict[str, int]] = {}
    for target in targets:
        trees = _trees(spec, target)
        room = math.inf if target.identity == NOT_YET else usable_bytes(target)
        for tree in trees:
            cells += [(tree_cell(tree, one), _reason(tree, room)) for one in tree.operations]
        fitting = [space_bytes(tree) for tree in trees if not _reason(tree, room)]
        if not fitting:
            least = format_size_rounded(min(map(space_bytes, trees)))
            raise UsageError(
                f"the smallest tree, {least}, does not fit: {format_size_rounded(int(room))} are usable",
                where=target.location,
                remedy="set smaller file sizes or fewer files, or free some space",
            )
        files[target.name] = {TREE: max(fitting)}
    every = [Tree.of(cell) for cell, _ in cells]
    axes: dict[str, tuple[OptionValue, ...]] = {
        "operation": tuple(str(one) for one in Operation if any(one in tree.operations for tree in every)),
        "size": _sorted({tree.size_bytes for tree in every}),
        "nrfiles": _sorted({tree.files for tree in every}),
        "numjobs": _sorted({tree.jobs for tree in every}),
        "depth": _sorted({tree.depth for tree in every}),
        "fsync_on_close": _sorted({int(tree.flushed) for tree in every}),
    }
    axes = {name: values for name, values in axes.items() if name in ("operation", "size") or len(values) > 1}
    shown = {name: value for name, value in spec.constants.items() if name in OURS and name not in axes}
    planned = replace(spec, axes=axes, constants=shown)
    return Plan(planned, targets, tuple(cells), tuple(dict.fromkeys([*spec.remarks, *_remarks(cells)])), files)


def space_bytes(tree: Tree) -> int:
    """What a tree takes at most: each file a block more than its bytes."""
    return tree.bytes + (tree.count + tree.directories) * INODE_BYTES


def inodes_at_once(trees: Sequence[Tree]) -> int:
    """The most inodes that are taken at a time."""
    return max((tree.count + tree.directories + 1 for tree in trees), default=1)


def expected_seconds(cells: Sequence[Cell]) -> float:
    """One visit of each at the planning rates: calls, bytes, starts of processes, and the removal of what is left."""
    seconds = 0.0
    for cell in cells:
        tree, operation = Tree.of(cell), Operation(str(cell.option["operation"]))
        moved = tree.bytes if operation in MOVES_DATA else 0
        seconds += tree.calls(operation) / PLANNING_CALLS_PER_S + moved / PLANNING_WRITE_BYTES_PER_S + FIO_SECONDS
    return seconds


def _sorted(values: set[int]) -> tuple[int, ...]:
    return tuple(sorted(values))


def _trees(spec: CampaignSpec, target: Target) -> list[Tree]:
    asked = spec.of(MetadataOptions)
    values = itertools.product(
        asked.file_sizes,
        _values(spec, "nrfiles", USUAL_FILES),
        _values(spec, "numjobs", 1),
        asked.depths,
        _values(spec, "fsync_on_close", 0),
    )
    shared = spec.sharing == "shared"
    every = (Tree(target.name, size, n, jobs, depth, bool(flushed), shared) for size, n, jobs, depth, flushed in values)
    # Empty files hold nothing that could be flushed.
    return list(dict.fromkeys(replace(tree, flushed=tree.flushed and tree.size_bytes > 0) for tree in every))


def _values(spec: CampaignSpec, name: str, usual: int) -> tuple[int, ...]:
    given = spec.axes.get(name) or ((spec.constants[name],) if name in spec.constants else (usual,))
    return tuple(int(value) for value in given)


def _reason(tree: Tree, room: float) -> str:
    """Why a tree is not made; '' when it is."""
    if tree.count > MOST_FILES:
        return f"not admissible: {tree.count:,} files are more than the {MOST_FILES:,} of one tree"
    if space_bytes(tree) > room:
        return f"not admissible: the files do not fit the free space ({format_size_rounded(int(room))} usable)"
    return ""


def _remarks(cells: Sequence[tuple[Cell, str]]) -> list[str]:
    """How it is measured, in words."""
    made = {Operation(str(cell.option["operation"])) for cell, _ in cells}
    cached, named = _listed(made & FROM_CACHE), _listed(made & BY_NAMES)
    told = [
        f"{cached} come right after the files were made, by the same client, and fio looks at each file beforehand.",
        "What the client remembers may answer them: they say how fast this client finds known files.",
        f"fio has no engine for {named}: a small program of ioatlas makes these calls, one process for each job.",
    ]
    if any(Tree.of(cell).flushed for cell, _ in cells):
        told.append("Files are flushed one by one as they are closed (fsync_on_close); their directory is not.")
    return told


def _listed(operations: set[Operation]) -> str:
    return ", ".join(one for one in Operation if one in operations)


def _check(spec: CampaignSpec, targets: Sequence[Target], *, read_only: bool) -> None:
    taken = sorted(name for name in {*spec.axes, *spec.constants} - OURS if name in ALLOWED and not _same(spec, name))
    if taken or spec.patterns:
        raise UsageError(
            f"{taken[0] if taken else 'pattern'} has no place here: what is done to small files is fixed",
            where="[sweep]",
            remedy="set nrfiles, numjobs, fsync_on_close, and file_sizes and directory_depth above [sweep]",
        )
    if read_only:
        raise UsageError("the files are made first", where="--read-only", remedy="leave it out, or run a map")
    spec.leaves_out("cells error prepare", "small files, whose trees are made new")
    only_directories(targets, "small files take")


def _same(spec: CampaignSpec, name: str) -> bool:
    """Whether it is what a plan wrote there itself: the sizes of the files."""
    return name == "size" and set(spec.axes.get(name, ())) <= set(spec.of(MetadataOptions).file_sizes)
