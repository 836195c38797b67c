# SPDX-License-Identifier: Apache-2.0
"""From a sweep and opened targets to cells: what will run, and what cannot and why; of targets that are loaded
together, what can be seen to be wrong before anything runs; and what of the plan is likely to run within its budget, or
with a limit on cells, reckoned at the planning rates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ioatlas.answer.analysis.wording import plural
from ioatlas.measure.run.plan import (
    PLANNING_WRITE_BYTES_PER_S,
    Plan,
    check_whole_blocks,
    complete_options,
    files_of,
    leave_out,
)
from ioatlas.measure.run.procedure import PlanText
from ioatlas.model.cell import TARGETS, Cell, OptionValue, directions_of
from ioatlas.model.errors import UsageError
from ioatlas.model.options import GROWING, SYNCHRONOUS_ENGINES
from ioatlas.model.target import Group, Target, on_members
from ioatlas.model.units import format_duration, format_rate, format_size
from ioatlas.plan.spec import MAX_CELLS, CampaignSpec
from ioatlas.target.placing import ALIGNMENT, DATA_OPTIONS, Places
from ioatlas.target.preparation import BY_WRITING

OF_ONE_TARGET = ("rate", "rate_iops", "io_size", "number_ios", "loops")
"""Options that pace a load or bound its work: with them targets are not loaded all the time."""


def check_together(
    spec: CampaignSpec,
    axes: Mapping[str, tuple[OptionValue, ...]],
    targets: tuple[Target, ...],
    groups: tuple[Group, ...],
) -> None:
    """Raises UsageError for targets that cannot be loaded at the same time, or a number of them without any."""
    asked = {**spec.constants, **axes} | {name: value for pattern in spec.patterns for name, value in pattern.items()}
    if not groups:
        if TARGETS in asked:
            raise UsageError(
                "it says how many targets are loaded at once, and none are loaded together",
                where=f"[sweep] {TARGETS}",
                remedy="add together = true, or --together",
            )
        return
    if paced := [name for name in OF_ONE_TARGET if name in asked]:
        raise UsageError(
            f"{paced[0]} with targets that are loaded together",
            where=f"[sweep] {paced[0]}",
            remedy="leave it out: each target is loaded as fast as it goes, for the same time",
        )
    counts = [*axes.get(TARGETS, ()), *(one[TARGETS] for one in (spec.constants, *spec.patterns) if TARGETS in one)]
    most = max(len(group.members) for group in groups)
    if counts and max(int(count) for count in counts) > most:
        raise UsageError(
            f"{max(int(count) for count in counts)} targets are to be loaded at once, and {most} stand together",
            where=f"[sweep] {TARGETS}",
            remedy="name more targets, or use fewer",
        )
    by_name = {target.name: target for target in targets}
    for group in groups:
        engines = {by_name[name].ioengine: name for name in group.members}
        if len(engines) > 1:
            told = ", ".join(f"{name} ({engine or 'a path'})" for engine, name in engines.items())
            raise UsageError(
                f"targets of several engines are not loaded together: {told}",
                where=group.name,
                remedy="name targets of one kind",
            )


LAYOUT_SHARE = 0.25
"""Share of a budget that writing the files may take, at the planning rate."""
KEPT_SHARE = 0.8
"""Of a budget, what probes, fresh visits and the report leave for the sweep."""
SHRUNK_SHARE = 0.6
"""Time of a visit with the shortest window over that of a usual one."""


def sizes_within(plan: Plan, budget_seconds: float) -> list[int]:
    """The sizes whose files leave enough of a budget, the smallest at least."""
    kept = sorted({cell.size_bytes for cell in plan.to_measure})
    part = plan
    while len(kept) > 1 and part.preparation_seconds > budget_seconds * LAYOUT_SHARE:
        kept.pop()
        part = leave_out(plan, {"size": tuple(kept)}, "left out")
    return kept


def expected_summary(plan: Plan, chosen: tuple[float, int, float] | None = None) -> dict[str, Any]:
    """The summary of a plan with what is likely to run of it; `cells_expected` where that is less than all.

    chosen: where loads are chosen one after another, seconds that they may take, how many cells of each target they may
    measure, and what most of them take each.
    """
    full = plan.summary(plan.seconds())
    budget, cells = plan.spec.budget_seconds, len(plan.to_measure)
    part = plan
    if budget is not None:
        kept = sizes_within(plan, budget)
        part = leave_out(plan, {"size": tuple(kept)}, "left out")
    load = part.seconds() - part.preparation_seconds
    each = load / max(1, len(part.to_measure) * plan.spec.visits)
    count, visits = len(part.to_measure), len(part.to_measure) * plan.spec.visits
    room = math.inf if budget is None else max(each, KEPT_SHARE * budget - part.preparation_seconds)
    if chosen is not None:
        seconds, most, each = chosen
        visits = max(1, int(min(room, seconds) / each))
        count = min(count, visits, most * len({cell.target for cell in part.to_measure}))
    elif each * visits > room:
        visits = max(1, int(room / (SHRUNK_SHARE * each)))
        count = min(count, visits)
    if count >= cells and visits >= full["visits"]:
        return full
    took = part.preparation_seconds + each * visits
    return (
        full
        | _written(part, visits)
        | {
            "cells_expected": count,
            "visits": visits,
            "space_needed_bytes": part.layout_bytes,
            "layout_bytes": part.layout_bytes,
            "prepared_bytes": part.prepared_bytes,
            "seconds": round(min(took, budget) if budget is not None else took, 1),
        }
    )


def expected_text(summary: Mapping[str, Any]) -> PlanText:
    """The lines of a plan that a budget or a limit on cells changes."""
    budget = "windows shrink first, then cells are left out"
    if "cells_expected" not in summary:
        return PlanText(budget=budget)
    visits = f"of which about {summary['cells_expected']:,} are measured, in about {summary['visits']:,} visits"
    return PlanText(visits=visits, order="", budget=budget)


def _written(plan: Plan, visits: int) -> dict[str, Any]:
    """Write load of so many visits, spread evenly over the cells."""
    cells = plan.to_measure
    share = sum(cell.writes for cell in cells) / max(1, len(cells))
    seconds = share * visits * plan.spec.window_seconds
    return {
        "write_load_seconds": round(seconds, 1),
        "bytes_written": plan.prepared_bytes + int(seconds * PLANNING_WRITE_BYTES_PER_S),
    }


DEFAULT_SIZE_BYTES = 1 << 30


def build_plan(spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool = False) -> Plan:
    """The plan of a map. Raises UsageError for what can be seen to be wrong before anything runs."""
    axes = dict(spec.axes)
    remarks = list(spec.remarks)
    named = axes.keys() | spec.constants.keys() | {name for pattern in spec.patterns for name in pattern}
    if "rw" not in named:
        axes = {"rw": ("read", "write"), **axes}
    if read_only:
        spec, axes, remarks = _reads_only(spec, axes, remarks)
    spec = replace(spec, axes=axes)
    groups = spec.groups([target.name for target in targets])
    check_together(spec, axes, targets, groups)
    _check(spec, axes, targets)
    _check_preparation(spec, targets, read_only=read_only)
    planned = _planned(targets, groups)
    count = len(planned) * max(1, len(spec.patterns))
    for values in axes.values():
        count *= len(values)
    if count > MAX_CELLS:
        raise UsageError(
            f"the sweep has {count:,} cells, more than {MAX_CELLS:,}", where="[sweep]", remedy="use fewer values"
        )
    cells: list[tuple[Cell, str]] = []
    for name, members in planned:
        smallest = min(members, key=lambda one: math.inf if one.size_bytes is None else one.size_bytes)
        local_axes, remark = _fitting_sizes(axes, spec, smallest)
        remarks += [remark] if remark else []
        names = list(local_axes)
        for pattern in spec.patterns or ({},):
            for values in itertools.product(*local_axes.values()):
                # What a pattern sets goes before the size that is taken where none was named.
                chosen = {**dict(zip(names, values, strict=True)), **pattern}
                if groups:
                    chosen = {TARGETS: len(members), **spec.constants, **chosen}
                cell = _cell(spec, replace(smallest, name=name), chosen)
                cells.append((cell, _why_not(cell, members)))
    cells = _with_states(cells, spec, targets, groups)
    _check_ranges([(one, reason) for cell, reason in cells for one in on_members([cell], groups)], targets)
    plan = Plan(spec, targets, tuple(cells), tuple(dict.fromkeys(remarks)))
    return replace(plan, files=files_of(plan))


def _check_preparation(spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> None:
    for target in targets:
        if read_only and spec.prepare in BY_WRITING and target.kind != "directory":
            raise UsageError(
                f"{spec.prepare!r} is made by writing to {target.location}, and --read-only forbids that",
                where="--prepare",
                remedy="leave one of them out",
            )
        if spec.prepare == "fresh" and target.kind == "uri":
            raise UsageError(
                "nothing takes the data off an export from outside",
                where=f"--prepare fresh, {target.location}",
                remedy="make a new export on the server, or prepare it filled or preconditioned",
            )


def _planned(targets: tuple[Target, ...], groups: tuple[Group, ...]) -> list[tuple[str, tuple[Target, ...]]]:
    """(name, targets) of what cells are made for: targets alone, and groups."""
    by_name = {target.name: target for target in targets}
    grouped = {name for group in groups for name in group.members}
    alone = [(target.name, (target,)) for target in targets if target.name not in grouped]
    return [*alone, *((group.name, tuple(by_name[name] for name in group.members)) for group in groups)]


def _why_not(cell: Cell, members: tuple[Target, ...]) -> str:
    """Why a cell cannot be measured on these targets, or ''."""
    if cell.n_targets > len(members):
        return f"not admissible: {plural(len(members), 'target')} stand together there"
    return next((why for one in members if (why := _inadmissible(cell, one))), "")


def _with_states(
    cells: list[tuple[Cell, str]], spec: CampaignSpec, targets: tuple[Target, ...], groups: tuple[Group, ...]
) -> list[tuple[Cell, str]]:
    """The cells with the state they find: what was prepared, or what was there when nothing may be written."""
    written = {one.target for cell, reason in cells if cell.writes and not reason for one in on_members([cell], groups)}
    prepared = {
        target.name: spec.prepare != "laid-out" or target.kind == "directory" or target.name in written
        for target in targets
    }
    prepared |= {group.name: all(prepared[name] for name in group.members) for group in groups}
    return [
        (replace(cell, state=spec.prepare if prepared[cell.target] else "as-found"), reason) for cell, reason in cells
    ]


def _check_ranges(cells: list[tuple[Cell, str]], targets: tuple[Target, ...]) -> None:
    """Data of several kinds lie side by side on a device: there must be room for all of them."""
    places = Places(cell for cell, _ in cells)
    for target in targets:
        kinds = places.kinds(target.name)
        if kinds < 2 or target.size_bytes is None:
            continue
        end = max(
            (
                places.offset_bytes(cell) + cell.end_bytes
                for cell, reason in cells
                if cell.target == target.name and not reason
            ),
            default=0,
        )
        if end > target.size_bytes:
            most = target.size_bytes // kinds // ALIGNMENT * ALIGNMENT
            raise UsageError(
                f"{kinds} kinds of data lie side by side and need {format_size(end)}, the target has "
                f"{format_size(target.size_bytes)}",
                where="[sweep] size",
                remedy=f"use sizes up to {format_size(most)}" if most else "use a larger target",
            )


def _reads_only(
    spec: CampaignSpec, axes: dict[str, tuple[OptionValue, ...]], remarks: list[str]
) -> tuple[CampaignSpec, dict[str, tuple[OptionValue, ...]], list[str]]:
    """Axes, patterns and remarks with only the modes that read."""
    modes = list(dict.fromkeys(_values(spec, axes, "rw", "read")))
    reads = [mode for mode in modes if directions_of(str(mode)) == ("read",)]
    if not reads:
        raise UsageError(
            "nothing is left to measure read-only",
            where="rw",
            remedy="sweep read or randread, or leave out --read-only",
        )
    if reads != modes:
        remarks = [*remarks, "Read-only: " + ", ".join(str(mode) for mode in modes if mode not in reads) + " left out."]
        if "rw" in axes:
            axes = {**axes, "rw": tuple(reads)}
        spec = replace(
            spec, patterns=tuple(pattern for pattern in spec.patterns if pattern.get("rw", reads[0]) in reads)
        )
    return spec, axes, remarks


def _values(
    spec: CampaignSpec, axes: Mapping[str, tuple[OptionValue, ...]], name: str, default: OptionValue
) -> tuple[OptionValue, ...]:
    """Every value an option takes in the campaign."""
    if name in axes:
        return axes[name]
    in_patterns = tuple(pattern[name] for pattern in spec.patterns if name in pattern)
    return in_patterns or (spec.constants.get(name, default),)


def _check(spec: CampaignSpec, axes: Mapping[str, tuple[OptionValue, ...]], targets: tuple[Target, ...]) -> None:
    depths = [int(value) for value in _values(spec, axes, "iodepth", 1)]
    engines = [str(value) for value in _values(spec, axes, "ioengine", "")]
    blind = [engine for engine in engines if engine in SYNCHRONOUS_ENGINES]
    if max(depths) > 1 and blind:
        raise UsageError(
            f"iodepth {max(depths)} with the synchronous engine {blind[0]}: fio would ignore the depth without a word",
            where="[sweep] ioengine",
            remedy="use libaio or io_uring, or leave ioengine out",
        )
    direct = any(int(value) for value in _values(spec, axes, "direct", 1))
    for target in targets:
        if direct:
            values = _values(spec, axes, "bs", 4096)
            sizes = [int(part) for value in values for part in str(value).split(",") if part]
            check_whole_blocks(target, sizes, "[sweep] bs")
        growing = [name for name in GROWING if any(_values(spec, axes, name, 0))]
        if growing and target.kind != "directory":
            raise UsageError(
                f"{growing[0]} makes fio work beside or beyond the {target.kind} that was named",
                where=f"[sweep] {growing[0]}",
                remedy="remove it, or measure a directory",
            )
        if spec.sharing == "private" and target.kind != "directory":
            raise UsageError(
                "private files need a directory",
                where=target.location,
                remedy="use sharing = 'shared' on a file, device or URI",
            )


def _fitting_sizes(
    axes: Mapping[str, tuple[OptionValue, ...]], spec: CampaignSpec, target: Target
) -> tuple[dict[str, tuple[OptionValue, ...]], str]:
    """The axes for one target; a target smaller than every size asked for is measured over its whole."""
    local = dict(axes)
    kinds = math.prod(len(values) for name, values in axes.items() if name in DATA_OPTIONS)
    if target.size_bytes is not None and kinds > 1 and "size" not in local and "size" not in spec.constants:
        local["size"] = (max(ALIGNMENT, target.size_bytes // kinds // ALIGNMENT * ALIGNMENT),)
    if target.size_bytes is None:
        if "size" not in local and "size" not in spec.constants:
            local["size"] = (DEFAULT_SIZE_BYTES,)
        return local, ""
    sizes = [int(value) for value in _values(spec, local, "size", target.size_bytes)]
    if min(sizes) > target.size_bytes:
        local["size"] = (target.size_bytes,)
        return (
            local,
            (
                f"{target.name} is smaller than every size of the sweep: its whole {format_size(target.size_bytes)} "
                "are "
                "used."
            ),
        )
    if "size" not in local and "size" not in spec.constants:
        local["size"] = (target.size_bytes,)
    return local, ""


def _cell(spec: CampaignSpec, target: Target, chosen: Mapping[str, OptionValue]) -> Cell:
    """A cell with everything set that affects the I/O, whether asked for or ours."""
    options = complete_options({"bs": 4096, **spec.constants, **chosen}, target)
    return Cell.of(target.name, options, sharing=spec.sharing)


def _inadmissible(cell: Cell, target: Target) -> str:
    if cell.bs_bytes > cell.size_bytes:
        return (
            f"not admissible: the block ({format_size(cell.bs_bytes)}) is larger than the file "
            f"({format_size(cell.size_bytes)})"
        )
    if target.size_bytes is not None and cell.end_bytes > target.size_bytes:
        return f"not admissible: larger than the target ({format_size(target.size_bytes)})"
    if "trim" in cell.directions and target.kind in ("directory", "file"):
        return "not admissible: trim needs a block device"
    return ""


MIB = 1 << 20
FEWEST_BLOCKS = 2
"""Of the largest size in a file."""


def may_shrink(plan: Plan) -> bool:
    """Whether less may be laid out: files, or ranges that are only to hold data, whose size nobody named for one load
    apart, and no fixed amount of work.
    """
    cells = plan.to_measure
    shrinks = all(target.kind == "directory" for target in plan.targets) or plan.spec.prepare == "laid-out"
    named_apart = any("size" in pattern for pattern in plan.spec.patterns)
    return shrinks and not named_apart and not any(cell.work_bounded or cell.streams for cell in cells)


def with_less_to_write(plan: Plan, able_bytes: float, bytes_per_s: float) -> Plan:
    """The plan with no more to write than `able_bytes`, as far as its blocks allow. A remark says why: the target is
    written at `bytes_per_s`.
    """
    sizes = sorted({cell.size_bytes for cell in plan.to_measure})
    part, kept = plan, list(sizes)
    while len(kept) > 1 and part.prepared_bytes > able_bytes:
        kept.pop()
        part = leave_out(plan, {"size": tuple(kept)}, "left out: writing its file would take too much of the budget")
    slow = f"at {format_rate(bytes_per_s)} writing more takes too much of the budget"
    if plan.spec.budget_seconds is not None:
        slow += f" of {format_duration(plan.spec.budget_seconds)}"
    if len(kept) < len(sizes):
        gone = ", ".join(format_size(size) for size in sizes if size not in kept)
        return replace(part, remarks=(*plan.remarks, f"Sizes {gone} are left out: {slow}."))
    least = FEWEST_BLOCKS * max(cell.bs_bytes for cell in plan.to_measure)
    share = able_bytes / max(1, plan.prepared_bytes)
    smaller = max(MIB, -(-least // MIB) * MIB, int(sizes[0] * share) // MIB * MIB)
    if smaller >= sizes[0]:
        return plan
    what = "Files" if all(target.kind == "directory" for target in plan.targets) else "A range"
    remark = (
        f"{what} of {format_size(smaller)} instead of {format_size(sizes[0])}: {slow}. "
        "A cache of the target may hold that; a longer --budget has more."
    )
    return replace(_of_size(plan, smaller), remarks=(*plan.remarks, remark))


def _of_size(plan: Plan, size_bytes: int) -> Plan:
    spec: CampaignSpec = replace(
        plan.spec,
        axes={name: values for name, values in plan.spec.axes.items() if name != "size"},
        constants={**plan.spec.constants, "size": size_bytes},
    )
    return build_plan(spec, plan.targets)
