# SPDX-License-Identifier: Apache-2.0
"""A plan: the cells of a campaign, those that cannot be measured with the reason, what is laid out, what it writes and
how long it takes. Its record in the journal is read back here alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ioatlas.load.fio.batch import TURN_MS, Section
from ioatlas.load.fio.replay import LEAD_MS
from ioatlas.measure.run.budget import USUAL_START_SECONDS
from ioatlas.model.cell import TRACE_SECONDS, Cell, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.target import Group, Target, on_members
from ioatlas.model.verdict import UnmeasuredCode, read_unmeasured
from ioatlas.plan.options import Table
from ioatlas.plan.pace import FLEET_OWN_PROCESS_GAP_MS, OWN_PROCESS_GAP_MS, Pace
from ioatlas.plan.spec import CampaignSpec, place_of_plan, recorded_spec
from ioatlas.store.journal import Journal
from ioatlas.store.stored import check_files, check_on_target
from ioatlas.target.placing import Places, extents
from ioatlas.target.preparation import BY_WRITING, OddSizes, TargetUse, passes_of

if TYPE_CHECKING:
    from ioatlas.measure.run.procedure import Procedure

PLANNING_WRITE_BYTES_PER_S = 500e6
"""Rate at which a plan reckons before anything is measured; the plan says so."""

FIO_SECONDS = USUAL_START_SECONDS
"""Start and end of one fio process, as a plan reckons."""

CELLS_PER_BATCH = 30
PLANNING_RANDOM_WRITE_BYTES_PER_S = 100e6
"""Rate of 4 KiB random overwrites at which a plan reckons."""


def only_directories(targets: Sequence[Target], what: str) -> None:
    """Raises UsageError for a target that has no place for files of its own."""
    for target in targets:
        if target.kind != "directory":
            raise UsageError(
                f"{what} a directory, not a {target.kind}",
                where=target.location,
                remedy="name a directory on a file system of it",
            )


def check_whole_blocks(target: Target, sizes: Iterable[int], where: str) -> None:
    """Raises UsageError for a block size, in bytes, that direct I/O cannot move on a target."""
    block = target.logical_block_bytes
    odd = next((size for size in sizes if size % block), 0)
    if odd and target.kind != "uri":
        meant = f"; if {odd} means KiB, write {odd}k" if odd < 4096 else ""
        raise UsageError(
            f"bs={odd} with direct=1: direct I/O moves whole blocks of {block} B on {target.location}",
            where=where,
            remedy=f"use multiples of {block}, or direct=0 to measure through the page cache{meant}",
        )


def complete_options(given: Mapping[str, OptionValue], target: Target, size_bytes: int = 0) -> dict[str, OptionValue]:
    """Everything set that affects the I/O, whether asked for or ours. size_bytes: where `given` has no size."""
    options: dict[str, OptionValue] = {"rw": "read", "numjobs": 1, "iodepth": 1, "direct": 1}
    # Without meaning for some modes, but set for all: what every cell shares need not be told of each.
    options |= {"norandommap": 1, "refill_buffers": 1, **given}
    if "bssplit" not in options:
        options.setdefault("bs", 4096)
    options.setdefault("size", size_bytes - int(options.get("offset", 0)))
    if target.ioengine:
        options["ioengine"] = target.ioengine
    else:
        options.setdefault("ioengine", "psync" if int(options["iodepth"]) == 1 else "libaio")
    return options


@dataclass(frozen=True)
class Plan:
    """A campaign's cells in sweep order, each with the reason why it is not measured ('' when it is)."""

    spec: CampaignSpec
    targets: tuple[Target, ...]
    cells: tuple[tuple[Cell, str], ...]
    remarks: tuple[str, ...] = ()
    files: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Files to lay out: {target: {file name: bytes}}; for a file, device or URI the name is ''."""
    outline: Mapping[str, Any] = field(default_factory=dict)
    """What of the summary the cells at hand do not tell, because some follow from what is measured first."""
    procedure: Procedure | None = None
    """What a command brings; None where the specification says which it is."""

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Targets that are loaded together."""
        return self.spec.groups([target.name for target in self.targets])

    @property
    def names(self) -> tuple[str, ...]:
        """What cells go by: targets that are loaded alone, and groups."""
        grouped = {name for group in self.groups for name in group.members}
        alone = [target.name for target in self.targets if target.name not in grouped]
        return (*alone, *(group.name for group in self.groups))

    @property
    def by_target(self) -> tuple[Cell, ...]:
        """What is measured, as each target sees it."""
        return on_members(self.to_measure, self.groups)

    @property
    def to_measure(self) -> tuple[Cell, ...]:
        return tuple(cell for cell, reason in self.cells if not reason)

    def _count(self, code: UnmeasuredCode) -> int:
        return sum(read_unmeasured(reason).code is code for _, reason in self.cells)

    @property
    def layout_bytes(self) -> int:
        return sum(size for files in self.files.values() for size in files.values())

    @property
    def prepared_bytes(self) -> int:
        """Bytes that the preparation writes."""
        return sum(passes_of(self.spec.prepare)) * self.layout_bytes

    @property
    def preparation_seconds(self) -> float:
        """At the planning rates."""
        once, random = passes_of(self.spec.prepare)
        return self.layout_bytes * (once / PLANNING_WRITE_BYTES_PER_S + random / PLANNING_RANDOM_WRITE_BYTES_PER_S)

    def target_use(self, odd_sizes: OddSizes) -> TargetUse:
        """What the targets have to be prepared for."""
        laid_out = frozenset(name for name, files in self.files.items() if files)
        return TargetUse(self.by_target, laid_out, self.spec.prepare, odd_sizes)

    def writes(self, target: str) -> bool:
        """Whether what is on the target will be changed: by a cell, or by a preparation that was asked for."""
        return any(cell.writes or cell.state in BY_WRITING for cell in self.by_target if cell.target == target)

    def seconds(self, pace: Pace | None = None) -> float:
        """Expected time of all visits of a map: windows, gaps, fio's starts; the preparation at the planning rates."""
        cells = self.to_measure
        visits = len(cells) * self.spec.visits
        turns = sum(visit_turns(cell, pace or default_pace(self.spec)) for cell in cells) * self.spec.visits
        rests = visits * self.spec.rest_seconds
        return rests + turns * TURN_MS / 1000 + (visits / CELLS_PER_BATCH + 1) * FIO_SECONDS + self.preparation_seconds

    def summary(self, seconds: float) -> dict[str, Any]:
        """What every plan tells as JSON. seconds: expected for the whole."""
        cells = self.to_measure
        written = [cell for cell in cells if cell.writes]
        write_seconds = self.spec.visits * sum(work_seconds(cell) or self.spec.window_seconds for cell in written)
        return {
            "targets": [{"target": t.name, "kind": t.kind, "location": t.location} for t in self.targets],
            **self._configurations(),
            **({"together": {one.name: list(one.members) for one in self.groups}} if self.groups else {}),
            "axes": {name: list(values) for name, values in self.spec.axes.items()},
            "constants": dict(self.spec.constants),
            "sharing": self.spec.sharing,
            "prepare": self.spec.prepare,
            "cells": len(cells),
            "cells_not_admissible": self._count(UnmeasuredCode.NOT_ADMISSIBLE),
            "cells_left_out": self._count(UnmeasuredCode.LEFT_OUT),
            "visits_per_cell": self.spec.visits,
            "visits": len(cells) * self.spec.visits,
            "space_needed_bytes": self.layout_bytes,
            "layout_bytes": self.layout_bytes,
            "write_load_seconds": round(write_seconds, 1),
            "prepared_bytes": self.prepared_bytes,
            "bytes_written": self.prepared_bytes + int(write_seconds * PLANNING_WRITE_BYTES_PER_S),
            "bytes_written_assumes_bw_bytes_per_s": int(PLANNING_WRITE_BYTES_PER_S),
            "seconds": round(seconds, 1),
            "budget_seconds": self.spec.budget_seconds,
            "remarks": list(self.remarks),
            **self.outline,
        }

    def _configurations(self) -> dict[str, Any]:
        """Where there are some: their factors and commands, and whether they are measured one after another."""
        told = [
            {
                "configuration": one.name,
                "factors": {name: factor.value for name, factor in one.factors.items()},
                **{key: value for key in ("before", "after", "ask") if (value := getattr(one, key))},
            }
            for one in self.spec.configurations
        ]
        order = {"order": "blocked", "blocks": self.spec.set_ups} if self.spec.blocked else {"order": "in turns"}
        return {"configurations": told, **order} if told else {}


def order_remarks(spec: CampaignSpec) -> tuple[str, ...]:
    """How configurations share the time, which says what can be told apart."""
    if not spec.blocked:
        return ("Configurations are measured in turns: what drifts, drifts for all of them.",)
    set_up = [one.name for one in spec.configurations if one.set_up]
    why = f"{set_up[0]} has to be set up first" if set_up else "two of them share one place"
    order = f"Configurations are measured one after another, because {why}."
    count = len(spec.configurations)
    if spec.set_ups == 1:
        told = (
            "Each is set up once: drift between them is not told apart from what they do. "
            f"`blocks = 2` tells them apart, with {2 * count} set-ups in all."
        )
    else:
        told = (
            f"Each is set up {spec.set_ups} times, {spec.set_ups * count} set-ups in all. "
            "Every second pass goes back through the order of the one before. "
            "What moves from one set-up of a configuration to the next widens all intervals. "
            "`blocks = 1` sets each up once."
        )
    return order, told


def default_pace(spec: CampaignSpec) -> Pace:
    own = FLEET_OWN_PROCESS_GAP_MS if spec.clients else OWN_PROCESS_GAP_MS
    return Pace(slots_ms=max(100, round(spec.window_seconds * 10) * 100), own_process_gap_ms=own)


def work_seconds(cell: Cell) -> float:
    """Of a load that ends with its file, at the planning rate; 0 of any other."""
    each = float(cell.option.get("loops", 0)) * cell.numjobs * float(cell.option.get("size", 0))
    return each / PLANNING_WRITE_BYTES_PER_S


def visit_turns(cell: Cell, pace: Pace) -> int:
    if cell.trace:  # in a fio of its own: what is in flight at its end is waited for, no gap is kept
        return -(-(round(1000 * float(cell.option[TRACE_SECONDS])) + LEAD_MS) // 100)
    runtime_ms, gap_ms = pace.runtime_and_gap_ms(cell)
    return -(-((round(1000 * work_seconds(cell)) or runtime_ms) + gap_ms) // 100)


def expected_seconds(sections: Iterable[Section], pace: Pace) -> float:
    """What their loads take: a trace its own time, though it may run far longer where the target cannot follow."""
    return sum(visit_turns(one.cell, pace) if one.cell.trace else one.turns for one in sections) * TURN_MS / 1000


def files_of(plan: Plan) -> dict[str, dict[str, int]]:
    """What has to be laid out before the first visit."""
    wanted: dict[str, dict[str, int]] = {}
    places, measured = Places(on_members((cell for cell, _ in plan.cells), plan.groups)), plan.by_target
    for target in plan.targets:
        cells = [cell for cell in measured if cell.target == target.name]
        if target.kind != "directory" and not plan.writes(target.name):
            cells = []  # what must not be written is not laid out either
        files = extents(cells, places, directory=target.kind == "directory")
        wanted[target.name] = {name: extent.size_bytes for name, extent in files.items()}
    return wanted


def leave_out(plan: Plan, axes: Mapping[str, tuple[OptionValue, ...]], reason: str) -> Plan:
    """The plan with every cell outside `axes` marked as left out."""

    def judged(cell: Cell, why: str) -> str:
        inside = all(cell.option.get(name) in values for name, values in axes.items())
        return why or ("" if inside else reason)

    reduced = replace(plan, cells=tuple((cell, judged(cell, why)) for cell, why in plan.cells))
    return replace(reduced, files=files_of(reduced))


def plan_record(plan: Plan) -> dict[str, Any]:
    """JSON of what a resumed session needs besides cells and targets."""
    return {"spec": plan.spec.to_record(), "files": plan.files, "remarks": list(plan.remarks)}


def recorded_plan(journal: Journal, tables: Iterable[type[Table]]) -> Plan:
    """The plan of a campaign that was begun. Raises as `recorded_spec`."""
    place, record = place_of_plan(journal), journal.plan()
    spec, targets, cells = recorded_spec(journal, tables), journal.targets(), tuple(journal.cells())
    by_name = {target.name: target for target in targets}
    if not targets:
        place.bad("it has no target")
    groups = {group.name: group.members for group in spec.groups([*by_name])}
    for cell, reason in cells:
        row, names = journal.row("cell", cell.key), groups.get(cell.target, (cell.target,))
        if cell.of_group and not reason and not 1 <= cell.n_targets <= len(groups.get(cell.target, ())):
            row.bad(f"it loads {cell.n_targets} targets, and its group has not so many", "options_json")
        for name in names:
            check_on_target(row, cell, by_name[name])
    files = check_files(place, record.get("files"), [*by_name])
    remarks = record.get("remarks")
    if not isinstance(remarks, list) or not all(isinstance(one, str) for one in remarks):
        place.bad("these are no remarks", "plan_json, remarks")
    return Plan(spec, targets, cells, tuple(remarks), files)
