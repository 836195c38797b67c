# SPDX-License-Identifier: Apache-2.0
"""The preparations a campaign may choose, as steps: what is written where before the first visit. A purge comes before
them where it is asked for.

`nvme format` of one namespace is a purge: everything that could reach beyond it is refused first. The guards have come
before. Bits after the NVM Express base specification 2.0: identify controller OACS bit 1 (format is supported), FNA
bits 0 and 1 (format, erase reach all namespaces); identify namespace FLBAS bits 0 to 3 and 5 to 6 (index of the LBA
format in use), bit 4 (metadata beside the data), DPS bits 0 to 2 (protection).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ioatlas.load.fio.process import asked
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError, UsageError, faults
from ioatlas.model.options import Preparation, Purge
from ioatlas.model.outcomes import Emit, Event
from ioatlas.model.target import Target
from ioatlas.plan.snia import FILL_BLOCK_BYTES, FILL_PASSES
from ioatlas.target.guard import check_before_start
from ioatlas.target.holes import discard, punch_file

LAYOUT = "lay-out"
OVERWRITE_BLOCK_BYTES = 4096


@dataclass(frozen=True)
class Step:
    """One pass, or several, over the whole footprint. what: its word in the ledger. bs_bytes: largest block."""

    what: str
    rw: Literal["write", "randwrite"]
    bs_bytes: int
    passes: int
    iodepth: int


_ONCE = Step(LAYOUT, "write", 1 << 20, 1, 8)

STEPS: dict[Preparation, tuple[Step, ...]] = {
    Preparation.LAID_OUT: (_ONCE,),
    Preparation.FRESH: (),
    Preparation.FILLED: (_ONCE,),
    Preparation.PRECONDITIONED: (_ONCE, Step("random overwrite", "randwrite", OVERWRITE_BLOCK_BYTES, 2, 32)),
    Preparation.FILLED_TWICE: (Step("sequential fill", "write", FILL_BLOCK_BYTES, FILL_PASSES, 32),),
}
"""'laid-out': written once; 'filled': and then looked through for holes; 'preconditioned': filled, and every block
overwritten twice in random order; 'filled-twice': what a SNIA test begins with; 'fresh': a new file without data for
every visit."""

WITHOUT_HOLES = frozenset({"filled", "preconditioned", "filled-twice"})
BY_WRITING = frozenset({"fresh", "filled", "preconditioned", "filled-twice"})
"""Preparations that somebody asked for; what is merely laid out is not, where no cell writes."""

# Bundles hold these words, and are checked against them: a change of one makes every bundle before it "not verified".
WORDS: dict[str, str] = {
    "laid-out": "files written once with data that neither compress nor repeat, unless the sweep says so",
    "fresh": "a new file without data for every visit: first writes allocate, reads find holes and are never ranked",
    "filled": "written over the whole length; no holes, looked for",
    "preconditioned": "filled, then every 4 KiB block overwritten twice in random order",
    "filled-twice": "the whole range written twice in sequence with 128 KiB blocks",
    "as-found": "nothing was written: the target as it was found",
}


def passes_of(preparation: Preparation) -> tuple[int, int]:
    """How often it writes the footprint in sequence, and at random."""
    steps = STEPS[preparation]
    return sum(step.passes for step in steps if step.rw == "write"), sum(
        step.passes for step in steps if step.rw == "randwrite"
    )


OddSizes = Literal["refuse", "leave out"]
"""What becomes of cells whose blocks direct I/O cannot move."""


@dataclass(frozen=True)
class TargetUse:
    """What a campaign does with its targets.

    cells: those to be measured. laid_out: names of the targets on which something is to lie before the first of them.
    odd_sizes: what becomes of cells whose blocks direct I/O cannot move.
    """

    cells: tuple[Cell, ...]
    laid_out: frozenset[str]
    preparation: Preparation
    odd_sizes: OddSizes = "refuse"

    def on(self, target: str) -> list[Cell]:
        return [cell for cell in self.cells if cell.target == target]

    def needs_direct(self, target: str) -> bool:
        return any(one.integer("direct", 1) for cell in self.on(target) for one in cell.members)


_OFFERS_NONE = {"directory": "a directory", "file": "a file", "uri": "an export"}


def purge(target: Target, how: Purge, emit: Emit, through: Callable[[str], str] = str) -> str:
    """Purge a target; what was done, or why it was not, in words.

    through: the path by which what is held under a name is reached.

    Only for targets whose destruction was confirmed. Raises what the guards raise, UsageError for a purge that was
    asked for and cannot be done.
    """
    if how == "none":
        return "none, as asked"
    if how == "by-hand":
        return "done by hand before the test, as stated; not checked"
    if target.kind == "block":
        check_before_start(target, writes=True)
        if how == "nvme-format":
            emit(Event("remark", {"text": f"formatting {target.name}"}))
            return format_namespace(target.location, target.size_bytes or 0)
        emit(Event("remark", {"text": f"discarding all of {target.name}"}))
        if discard(target.location, target.size_bytes or 0):
            return "all blocks discarded (BLKDISCARD); whether the device erases them is up to it"
    elif how == "punch-hole":
        check_before_start(target, writes=True)
        if punch_file(through(target.location), target.size_bytes or 0):
            return "holes punched in the file: the file system's space is free, which is not a purge of the drive"
    if how == "auto":
        offers = _OFFERS_NONE.get(target.kind)
        why = f"{offers} offers none" if offers else "the device takes no discards"
        return f"not possible: {why}; the state before the fill is unknown"
    raise UsageError(
        f"purge = {how!r} cannot be done here",
        where=target.location,
        remedy="use purge = 'auto', which says so and goes on",
    )


LONGEST_SECONDS = 3600
_NAMESPACE = re.compile(r"^/dev/nvme\d+n\d+$")
_FORMAT_SUPPORTED = 0b10
_REACHES_ALL = 0b11
_EXTENDED, _PROTECTED = 0b10000, 0b111


def format_namespace(path: str, size_bytes: int) -> str:
    """Erase the user data of the namespace at `path` by the drive's own format, its LBA format kept; what was done, in
    words.

    Raises UsageError, before anything was started, for what is no whole namespace or whose format would reach further;
    IoAtlasError when it fails.
    """
    path = os.path.realpath(path)
    if not _NAMESPACE.match(path):
        raise UsageError(
            "only whole NVMe namespaces can be formatted", where=path, remedy="use purge = 'auto', or name /dev/nvmeXnY"
        )
    if shutil.which("nvme") is None:
        raise UsageError("nvme is not installed", where="purge", remedy="install nvme-cli, or use purge = 'auto'")
    controller, namespace = _told(path, "id-ctrl"), _told(path, "id-ns")
    if not _number(controller, "oacs", path) & _FORMAT_SUPPORTED:
        raise UsageError("the controller does not support format", where=path, remedy="use purge = 'auto'")
    if _number(controller, "fna", path) & _REACHES_ALL:
        listed = _told(path, "list-ns", "--all").get("nsid_list")
        if not isinstance(listed, list) or len(listed) != 1:
            count = f"{len(listed)} namespaces" if isinstance(listed, list) else "an unknown number of namespaces"
            raise UsageError(
                f"format would erase every namespace of this controller, and it has {count}",
                where=path,
                remedy="use purge = 'auto'",
            )
    flbas = _number(namespace, "flbas", path)
    if flbas & _EXTENDED or _number(namespace, "dps", path) & _PROTECTED:
        raise UsageError(
            "the namespace keeps metadata or protection information, which a format would change",
            where=path,
            remedy="use purge = 'auto'",
        )
    lba_format = (flbas & 0xF) | (flbas >> 5 & 0b11) << 4
    # Without --force nvme opens the device exclusively, and waits 10 s: it refuses when anyone took the device into use
    # since the guards looked.
    _run(path, "format", "--ses=1", f"--lbaf={lba_format}")
    with (
        faults(
            IoAtlasError,
            "the namespace cannot be opened after its format",
            where=path,
            remedy="check it with `nvme list`",
        ),
        Path(path).open("rb") as device,
    ):
        after = device.seek(0, os.SEEK_END)
    if after != size_bytes:
        raise IoAtlasError(
            f"the namespace has {after} B after its format, {size_bytes} B before",
            where=path,
            remedy="check it with `nvme id-ns`",
        )
    return "namespace formatted (nvme format --ses=1, erase of user data)"


def _told(path: str, *words: str) -> dict[str, Any]:
    text = _run(path, *words, "--output-format=json")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise IoAtlasError(
            f"`nvme {words[0]}` gave no answer that can be read", where=path, remedy="use purge = 'auto'"
        ) from error
    return found if isinstance(found, dict) else {}


def _number(told: dict[str, Any], name: str, path: str) -> int:
    if not isinstance(told.get(name), int):
        raise IoAtlasError(f"nvme does not tell {name} of this device", where=path, remedy="use purge = 'auto'")
    return int(told[name])


def _run(path: str, *words: str) -> str:
    command = ["nvme", words[0], path, *words[1:]]
    try:
        done = asked(command, LONGEST_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise IoAtlasError(f"`nvme {words[0]}` did not end in an hour", where=path, remedy="check the drive") from error
    if done.returncode != 0:
        said = [line for line in (done.stderr or done.stdout).strip().splitlines() if "--force" not in line]
        raise IoAtlasError(
            f"`nvme {words[0]}` failed: {said[-1] if said else done.returncode}",
            where=path,
            remedy="use purge = 'auto'",
        )
    return done.stdout
