# SPDX-License-Identifier: Apache-2.0
"""From a specification and opened targets to cells: what will run, what cannot and why, what it writes and how long it takes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ioatlas.campaign.placing import ALIGNMENT, DATA_OPTIONS, Places, extents
from ioatlas.campaign.preparation import BY_WRITING, passes_of
from ioatlas.campaign.spec import MAX_CELLS, CampaignSpec
from ioatlas.design.pace import Pace
from ioatlas.design.snia import PROCEDURES, SniaPlan, deviations, plan_snia
from ioatlas.engine.batch import TURN_MS
from ioatlas.engine.replay import LEAD_MS
from ioatlas.errors import UsageError
from ioatlas.model.cell import TRACE_SECONDS, Cell, OptionValue, directions_of
from ioatlas.model.options import SYNCHRONOUS_ENGINES
from ioatlas.model.target import Target
from ioatlas.model.units import format_size

DEFAULT_SIZE_BYTES = 1 << 30
PLANNING_WRITE_BYTES_PER_S = 500e6
"""Rate at which a plan reckons before anything is measured; the plan says so."""

FIO_SECONDS = 0.3
"""Start and end of one fio process (measured 0.2 to 0.3 s)."""

_GROWING = ("file_append", "nrfiles", "zonerange")
"""Options with which fio leaves the range of the one file it was given."""

CELLS_PER_BATCH = 30
PLANNING_RANDOM_WRITE_BYTES_PER_S = 100e6
"""Rate of 4 KiB random overwrites at which a plan reckons."""


@dataclass(frozen=True)
class Plan:
    """A campaign's cells in sweep order, each with the reason why it is not measured ('' when it is)."""

    spec: CampaignSpec
    targets: tuple[Target, ...]
    cells: tuple[tuple[Cell, str], ...]
    remarks: tuple[str, ...] = ()
    files: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Files to lay out: {target: {file name: bytes}}; for a file, device or URI the name is ''."""

    @property
    def to_measure(self) -> tuple[Cell, ...]:
        return tuple(cell for cell, reason in self.cells if not reason)

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

    def writes(self, target: str) -> bool:
        """Whether what is on the target will be changed: by a cell, or by a preparation that was asked for."""
        return any(cell.writes or cell.state in BY_WRITING for cell in self.to_measure if cell.target == target)

    def rounds(self, target: str) -> SniaPlan | None:
        """The rounds of a SNIA test on one target; None for a map."""
        cells = [cell for cell in self.to_measure if cell.target == target]
        if self.spec.snia is None or not cells:
            return None
        return plan_snia(
            self.spec.snia,
            cells,
            window_seconds=self.spec.window_seconds,
            start_seconds=FIO_SECONDS,
            sequential_write_bytes_per_s=PLANNING_WRITE_BYTES_PER_S,
            random_write_bytes_per_s=PLANNING_RANDOM_WRITE_BYTES_PER_S,
        )

    def seconds(self, pace: Pace | None = None) -> float:
        """Expected time of all visits: windows, gaps, fio's starts; the preparation at the planning rates. Of a SNIA test the shortest."""
        tests = [test for target in self.targets if (test := self.rounds(target.name))]
        if tests:
            return sum(test.least_seconds for test in tests)
        cells = self.to_measure
        visits = len(cells) * self.spec.visits
        turns = sum(visit_turns(cell, pace or default_pace(self.spec)) for cell in cells) * self.spec.visits
        return turns * TURN_MS / 1000 + (visits / CELLS_PER_BATCH + 1) * FIO_SECONDS + self.preparation_seconds

    def summary(self) -> dict[str, Any]:
        """What `ioatlas plan --json` prints."""
        cells = self.to_measure
        written = [cell for cell in cells if cell.writes]
        write_seconds = len(written) * self.spec.visits * self.spec.window_seconds
        return {
            "targets": [{"target": t.name, "kind": t.kind, "location": t.location} for t in self.targets],
            "axes": {name: list(values) for name, values in self.spec.axes.items()},
            "constants": dict(self.spec.constants),
            "sharing": self.spec.sharing,
            "prepare": self.spec.prepare,
            "cells": len(cells),
            "cells_not_admissible": sum(reason.startswith("not admissible") for _, reason in self.cells),
            "cells_left_out": sum(reason.startswith("left out") for _, reason in self.cells),
            "visits_per_cell": self.spec.visits,
            "visits": len(cells) * self.spec.visits,
            "space_needed_bytes": self.layout_bytes,
            "layout_bytes": self.layout_bytes,
            "write_load_seconds": round(write_seconds, 1),
            "prepared_bytes": self.prepared_bytes,
            "bytes_written": self.prepared_bytes + int(write_seconds * PLANNING_WRITE_BYTES_PER_S),
            "bytes_written_assumes_bw_bytes_per_s": int(PLANNING_WRITE_BYTES_PER_S),
            "seconds": round(self.seconds(), 1),
            "budget_seconds": self.spec.budget_seconds,
            "remarks": list(self.remarks),
            **({"snia": self._snia_summary()} if self.spec.snia else {}),
        }

    def _snia_summary(self) -> list[dict[str, Any]]:
        return [
            {"target": target.name, "purge": self.spec.purge, "window_seconds": self.spec.window_seconds, **asdict(test)}
            for target in self.targets
            if (test := self.rounds(target.name))
        ]


def default_pace(spec: CampaignSpec) -> Pace:
    return Pace(slots_ms=max(100, round(spec.window_seconds * 10) * 100))


def visit_turns(cell: Cell, pace: Pace) -> int:
    if cell.trace:  # in a fio of its own: what is in flight at its end is waited for, no gap is kept
        return -(-(round(1000 * float(cell.option[TRACE_SECONDS])) + LEAD_MS) // 100)
    runtime_ms, gap_ms = pace.runtime_and_gap_ms(cell)
    return -(-(runtime_ms + gap_ms) // 100)


def build_plan(spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool = False) -> Plan:
    """All cells of the sweep on all targets. Raises UsageError for what can be seen to be wrong before anything runs."""
    if not targets:
        raise UsageError("no target is named", remedy="name one: `ioatlas map DIRECTORY`, or [target] path = in the campaign file")
    axes = dict(spec.axes)
    remarks = list(spec.remarks)
    named = axes.keys() | spec.constants.keys() | {name for pattern in spec.patterns for name in pattern}
    if "rw" not in named:
        axes = {"rw": ("read", "write"), **axes}
    if read_only:
        spec, axes, remarks = _reads_only(spec, axes, remarks)
    if spec.snia is not None:
        axes, dropped = _whole_blocks(axes, targets)
        remarks += dropped
    spec = replace(spec, axes=axes)
    _check(spec, axes, targets)
    _check_preparation(spec, targets, read_only=read_only)
    count = len(targets) * max(1, len(spec.patterns))
    for values in axes.values():
        count *= len(values)
    if count > MAX_CELLS:
        raise UsageError(f"the sweep has {count:,} cells, more than {MAX_CELLS:,}", where="[sweep]", remedy="use fewer values")
    cells: list[tuple[Cell, str]] = []
    for target in targets:
        local_axes, remark = _fitting_sizes(axes, spec, target)
        remarks += [remark] if remark else []
        names = list(local_axes)
        for pattern in spec.patterns or ({},):
            for values in itertools.product(*local_axes.values()):
                cell = _cell(spec, target, {**pattern, **dict(zip(names, values, strict=True))})
                cells.append((cell, _inadmissible(cell, target)))
    cells = _with_states(cells, spec, targets)
    _check_ranges(cells, targets)
    plan = Plan(spec, targets, tuple(cells), tuple(dict.fromkeys(remarks)))
    plan = replace(plan, files=_files(plan))
    if spec.snia is None:
        return plan
    told = [text for target in targets for text in _deviations(plan, target)]
    return replace(plan, remarks=tuple(dict.fromkeys([*plan.remarks, *told])))


def _deviations(plan: Plan, target: Target) -> list[str]:
    """What of a SNIA test is not as the specification says, on one target."""
    spec = plan.spec
    assert spec.snia is not None
    cells = [cell for cell in plan.to_measure if cell.target == target.name]
    if not cells:
        return []
    plan.rounds(target.name)  # raises when the cell that is tracked is not in the sweep
    told = list(deviations(spec.snia, cells, window_seconds=spec.window_seconds, capacity_bytes=target.size_bytes))
    wanted = "filled-twice" if PROCEDURES[spec.snia].fill_passes else "laid-out"
    if spec.prepare != wanted:
        told.append(f"The preparation is {spec.prepare!r}, not the one of the specification.")
    return told


def _whole_blocks(
    axes: dict[str, tuple[OptionValue, ...]], targets: tuple[Target, ...]
) -> tuple[dict[str, tuple[OptionValue, ...]], list[str]]:
    """The axes without block sizes that direct I/O cannot move, and what was dropped: a SNIA grid begins at 512 B."""
    block = max((target.logical_block_bytes for target in targets if target.kind != "uri"), default=1)
    odd = [size for size in axes.get("bs", ()) if isinstance(size, int) and size % block]
    if not odd:
        return axes, []
    told = ", ".join(format_size(int(size)) for size in odd)
    kept = {**axes, "bs": tuple(size for size in axes["bs"] if size not in odd)}
    return kept, [f"Blocks of {told} left out: the target moves whole blocks of {format_size(block)}."]


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
        if spec.purge == "punch-hole" and target.kind != "file":
            raise UsageError("holes are punched in files only", where="purge", remedy="use purge = 'auto'")
        if spec.purge in ("discard", "nvme-format") and target.kind != "block":
            what = "discarded" if spec.purge == "discard" else "formatted"
            raise UsageError(f"only a block device can be {what}", where="purge", remedy="use purge = 'auto'")
    if spec.snia is None:
        if spec.purge != "auto":
            raise UsageError("a purge is part of a SNIA test", where="purge", remedy="use --prepare fresh in a map")
        return
    varied = [name for name, values in spec.axes.items() if len(values) > 1 and name not in ("rw", "rwmixread", "bs")]
    if varied or spec.patterns:
        raise UsageError(
            f"a SNIA test varies rwmixread, rw and bs; {varied[0] if varied else 'patterns'} cannot vary",
            where="[sweep]",
            remedy="give it one value, or run one campaign for each",
        )
    for name, asked in (("cells", spec.cells), ("error", spec.error), ("precision", spec.precision), ("visits", spec.visits - 1 or None)):
        if asked is not None:
            raise UsageError("a SNIA test repeats its round until the steady state, nothing else decides", where=name, remedy=f"leave out {name}")
    if spec.verify or spec.sharing == "private":
        what = "verify" if spec.verify else "sharing"
        raise UsageError("a SNIA test is rounds on one range and nothing beside", where=what, remedy=f"leave out {what}, or run a map for it")
    if spec.prepare == "fresh":
        raise UsageError("a SNIA test works on one range from its fill to its end", where="prepare", remedy="leave out `prepare`")


def _with_states(cells: list[tuple[Cell, str]], spec: CampaignSpec, targets: tuple[Target, ...]) -> list[tuple[Cell, str]]:
    """The cells with the state they find: what was prepared, or what was there when nothing may be written."""
    written = {cell.target for cell, reason in cells if cell.writes and not reason}
    found = {
        target.name: spec.prepare
        if spec.prepare != "laid-out" or target.kind == "directory" or target.name in written
        else "as-found"
        for target in targets
    }
    return [(replace(cell, state=found[cell.target]), reason) for cell, reason in cells]


def _check_ranges(cells: list[tuple[Cell, str]], targets: tuple[Target, ...]) -> None:
    """Data of several kinds lie side by side on a device: there must be room for all of them."""
    places = Places(cell for cell, _ in cells)
    for target in targets:
        kinds = places.kinds(target.name)
        if kinds < 2 or target.size_bytes is None:
            continue
        end = max((places.offset_bytes(cell) + cell.end_bytes for cell, reason in cells if cell.target == target.name and not reason), default=0)
        if end > target.size_bytes:
            most = target.size_bytes // kinds // ALIGNMENT * ALIGNMENT
            raise UsageError(
                f"{kinds} kinds of data lie side by side and need {format_size(end)}, the target has {format_size(target.size_bytes)}",
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
        raise UsageError("nothing is left to measure read-only", where="rw", remedy="sweep read or randread, or leave out --read-only")
    if reads != modes:
        remarks = [*remarks, "Read-only: " + ", ".join(str(mode) for mode in modes if mode not in reads) + " left out."]
        if "rw" in axes:
            axes = {**axes, "rw": tuple(reads)}
        spec = replace(spec, patterns=tuple(pattern for pattern in spec.patterns if pattern.get("rw", reads[0]) in reads))
    return spec, axes, remarks


def _values(spec: CampaignSpec, axes: Mapping[str, tuple[OptionValue, ...]], name: str, default: OptionValue) -> tuple[OptionValue, ...]:
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
        for value in _values(spec, axes, "bs", 4096):
            sizes = [int(part) for part in str(value).split(",") if part]
            odd = [size for size in sizes if size % target.logical_block_bytes]
            if direct and odd and target.kind != "uri":
                raise UsageError(
                    f"bs={odd[0]} with direct=1: direct I/O moves whole blocks of {target.logical_block_bytes} B on {target.location}",
                    where="[sweep] bs",
                    remedy=f"use multiples of {target.logical_block_bytes}, or direct=0 to measure through the page cache"
                    + (f"; if {odd[0]} means KiB, write {odd[0]}k" if odd[0] < 4096 else ""),
                )
        growing = [name for name in _GROWING if any(_values(spec, axes, name, 0))]
        if growing and target.kind != "directory":
            raise UsageError(
                f"{growing[0]} makes fio work beside or beyond the {target.kind} that was named",
                where=f"[sweep] {growing[0]}",
                remedy="remove it, or measure a directory",
            )
        if spec.sharing == "private" and target.kind != "directory":
            raise UsageError(
                "private files need a directory", where=target.location, remedy="use sharing = 'shared' on a file, device or URI"
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
        return local, f"{target.name} is smaller than every size of the sweep: its whole {format_size(target.size_bytes)} are used."
    if "size" not in local and "size" not in spec.constants:
        local["size"] = (target.size_bytes,)
    return local, ""


def _cell(spec: CampaignSpec, target: Target, chosen: Mapping[str, OptionValue]) -> Cell:
    """A cell with everything set that affects the I/O, whether asked for or ours."""
    options: dict[str, OptionValue] = {**spec.constants, **chosen}
    options.setdefault("rw", "read")
    options.setdefault("bs", 4096)
    options.setdefault("numjobs", 1)
    options.setdefault("iodepth", 1)
    options.setdefault("direct", 1)
    if target.ioengine:
        options["ioengine"] = target.ioengine
    else:
        options.setdefault("ioengine", "psync" if int(options["iodepth"]) == 1 else "libaio")
    # Without meaning for some modes, but set for all: what every cell shares need not be told of each.
    options.setdefault("norandommap", 1)
    options.setdefault("refill_buffers", 1)
    return Cell.of(target.name, options, sharing=spec.sharing)


def _inadmissible(cell: Cell, target: Target) -> str:
    if cell.bs_bytes > cell.size_bytes:
        return f"not admissible: the block ({format_size(cell.bs_bytes)}) is larger than the file ({format_size(cell.size_bytes)})"
    if target.size_bytes is not None and cell.end_bytes > target.size_bytes:
        return f"not admissible: larger than the target ({format_size(target.size_bytes)})"
    if "trim" in cell.directions and target.kind in ("directory", "file"):
        return "not admissible: trim needs a block device"
    return ""


def _files(plan: Plan) -> dict[str, dict[str, int]]:
    """What has to be laid out before the first visit."""
    wanted: dict[str, dict[str, int]] = {}
    places = Places(cell for cell, _ in plan.cells)
    for target in plan.targets:
        cells = [cell for cell in plan.to_measure if cell.target == target.name]
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
    return replace(reduced, files=_files(reduced))
