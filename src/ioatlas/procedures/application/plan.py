# SPDX-License-Identifier: Apache-2.0
"""Planning works: a cell for each work on each target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ioatlas.config.spec import CampaignSpec
from ioatlas.errors import UsageError
from ioatlas.model.application import WORK, work_cell
from ioatlas.model.cell import Cell
from ioatlas.model.target import Target
from ioatlas.model.units import format_size_rounded
from ioatlas.procedures.application.options import INSTALLED, ApplicationOptions
from ioatlas.procedures.application.ready import ReadyWork, choose, ready_works
from ioatlas.procedures.application.work import Work
from ioatlas.run.plan import Plan, only_directories
from ioatlas.target.opening import NOT_YET
from ioatlas.target.place import usable_bytes

FOLDER = "folder.work"
"""The directory in the target's marked subdirectory that a work finds empty."""


def build_work_plan(spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
    """All works on all targets; ready-made ones stand in the plan with their commands. Raises UsageError."""
    _check(spec, targets, read_only=read_only)
    asked = spec.of(ApplicationOptions)
    ready, remarks = _chosen(asked)
    own = {one.name for one in asked.work}
    works = (*(one.work for one in ready if one.work.name not in own), *asked.work)
    if not works:
        raise UsageError(
            "no ready-made work can run here: none of their programs is installed",
            where="works",
            remedy="; ".join(remarks) or "write [[work]] into a campaign file",
        )
    cells: list[tuple[Cell, str]] = []
    for target in targets:
        room = usable_bytes(target) if target.identity != NOT_YET else None
        for work in works:
            cells.append((work_cell(target.name, work.name, work.digest), _no_room(work, room)))
    space = {
        target.name: max((one.space_bytes for one in works if not _no_room_on(target, one)), default=0)
        for target in targets
    }
    planned = replace(spec, axes={WORK: tuple(one.name for one in works)}, constants={})
    planned = planned.having(ApplicationOptions(works))
    files = {name: {FOLDER: size} for name, size in space.items()}
    return Plan(planned, targets, tuple(cells), (*spec.remarks, *remarks), files)


def works_of(spec: CampaignSpec) -> dict[str, Work]:
    """The works of a planned campaign, by name."""
    return {one.name: one for one in spec.of(ApplicationOptions).work}


def _chosen(asked: ApplicationOptions) -> tuple[list[ReadyWork], list[str]]:
    """Ready-made works that were chosen, and what is to be said of those that are not here."""
    if not asked.chosen:
        return [], []
    if asked.chosen != INSTALLED:
        return choose([name.strip() for name in asked.chosen.split(",") if name.strip()], "works"), []
    every = list(ready_works().values())
    lost = [f"{one.work.name} is left out: {', '.join(one.missing)} is not installed." for one in every if one.missing]
    return [one for one in every if not one.missing], lost


def _no_room_on(target: Target, work: Work) -> bool:
    return bool(_no_room(work, usable_bytes(target) if target.identity != NOT_YET else None))


def _no_room(work: Work, room: int | None) -> str:
    """Why a work does not fit; '' when it does, or where that is seen later."""
    if room is None or work.space_bytes <= room:
        return ""
    need = format_size_rounded(work.space_bytes)
    return f"not admissible: it needs {need}, and {format_size_rounded(room)} are usable"


def _check(spec: CampaignSpec, targets: Sequence[Target], *, read_only: bool) -> None:
    swept = sorted(name for name in (*spec.axes, *spec.constants) if name != WORK)
    if swept or spec.patterns:
        raise UsageError(
            f"{swept[0] if swept else 'pattern'} has no place beside works: their commands say what is done",
            where="[sweep]",
            remedy="leave it out, or measure a map in a campaign of its own",
        )
    if read_only:
        raise UsageError("works are commands, which may write", where="--read-only", remedy="leave it out")
    spec.leaves_out("cells error clients prepare", "works, which are commands")
    if spec.wanted.precision is not None and spec.wanted.cap < 3:
        raise UsageError("an interval takes three visits", where="max_visits", remedy="allow 3 or more")
    only_directories(targets, "works take")
