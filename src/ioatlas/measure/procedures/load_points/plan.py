# SPDX-License-Identifier: Apache-2.0
"""Several streams at once, at load points in a given order; the highest load is searched for first where it was asked
for. From streams to a plan: phases, the cell of each load point, the size they cover, and the time all of it takes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ioatlas.answer.analysis.load_curve import LOAD, OFFERED, PHASE
from ioatlas.load.streams.compile import compile_workload, share_weights
from ioatlas.load.streams.standards import study
from ioatlas.measure.procedures.load_points.options import FREE, HIGHEST, StreamSpec, StreamsSpec, streams_of
from ioatlas.measure.run.plan import FIO_SECONDS, PLANNING_WRITE_BYTES_PER_S, Plan, check_whole_blocks, complete_options
from ioatlas.model.cell import MIXED, Cell, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.load_curve import load_name
from ioatlas.model.options import read_option
from ioatlas.model.target import Target
from ioatlas.model.units import format_size, format_size_rounded
from ioatlas.model.workload import Arrival, Workload
from ioatlas.plan.load_search import START_IOPS
from ioatlas.plan.spec import CampaignSpec
from ioatlas.stats.gates import offered_by_direction, offered_iops
from ioatlas.target.placing import SHARED_FILE

GIB = 1 << 30
DEFAULT_FOOTPRINT = 4 * GIB
SMALLEST_FOOTPRINT = 1 << 20
LAYOUT_SHARE, LEAST_FOOTPRINT = 0.25, 1 << 28
"""Of a budget that writing the file may take where nobody set its size, and what is written however small the budget
is.
"""
ALIGN = 4096
OPEN_DEPTH = 64
"""I/Os that one job of an open loop may have in flight: with fewer it waits for the target as a closed loop does."""
TRIAL_SECONDS, SHORTEST_TRIAL_SECONDS = 1.5, 0.5
USUAL_TRIALS = 12
_BOUND = frozenset(
    {"filename", "filename_format", "time_based", "runtime", "ramp_time", "rate_iops", "rate_process", "io_size"}
)


@dataclass(frozen=True)
class Template:
    """One stream of a phase.

    options: fio's without a rate. share: of the phase's offered load, 0 to 1; None in a closed loop. reads: of a mixed
    stream's offered load, 0 to 1.
    """

    name: str
    options: Mapping[str, OptionValue]
    share: float | None = None
    process: str = "poisson"
    reads: float = 0.5


@dataclass(frozen=True)
class Phase:
    """Streams that run at once. load_iops: what 100% is; None when it is searched for, 0 for a load that runs
    freely.
    """

    name: str
    templates: tuple[Template, ...]
    load_iops: float | None

    def cell(self, target: str, *, percent: float | None = None, load_iops: float | None = None) -> Cell:
        """The cell of one load point (percent of load_iops), of one trial (no percent), or of the free load
        (neither).
        """
        labels: dict[str, OptionValue] = {PHASE: self.name} if self.name else {}
        if percent is not None:
            labels[LOAD] = int(percent) if percent == int(percent) else percent
        offered = load_iops * (percent / 100 if percent is not None else 1.0) if load_iops else None
        if offered is not None:
            labels[OFFERED] = round(offered, 3)
        streams = tuple((one.name, tuple(sorted(_paced(one, offered).items()))) for one in self.templates)
        return Cell(target, tuple(sorted(labels.items())), "shared", "laid-out", streams)


def _paced(template: Template, offered: float | None) -> dict[str, OptionValue]:
    """A stream's options at a load; fio takes whole I/Os per second for each job and direction, at least one."""
    options = dict(template.options)
    if offered is None or template.share is None:
        return options
    rate = offered * template.share / int(options.get("numjobs", 1))
    if str(options["rw"]).split(":", 1)[0] in MIXED:
        options["rate_iops"] = f"{max(1, round(rate * template.reads))},{max(1, round(rate * (1 - template.reads)))}"
    else:
        options["rate_iops"] = max(1, round(rate))
    options["rate_process"] = template.process
    return options


def phases_of(spec: CampaignSpec, target: Target, footprint: int) -> tuple[Phase, ...]:
    """What runs on one target, in order. Raises UsageError for streams that do not fit the footprint."""
    streams = streams_of(spec)
    if streams.study:
        return tuple(
            _study_phase(spec, streams, target, workload, footprint) for workload in _study(streams, footprint)
        )
    names = dict.fromkeys(stream.phase for stream in streams.streams)
    return tuple(
        _phase(spec, streams, target, name, [stream for stream in streams.streams if stream.phase == name], footprint)
        for name in names
    )


def _study(streams: StreamsSpec, footprint: int) -> Sequence[Workload]:
    workloads = study(streams.study, footprint).workloads
    # The SPC-1-like study lists its own ramp; here the points are the campaign's.
    return workloads if streams.study == "emerald-like" else workloads[:1]


def _study_phase(spec: CampaignSpec, streams: StreamsSpec, target: Target, workload: Workload, footprint: int) -> Phase:
    rates = [stream.arrival.rate_iops or 0.0 for stream in workload.streams]
    free = replace(workload, streams=tuple(replace(stream, arrival=Arrival()) for stream in workload.streams))
    templates = []
    for section, rate in zip(compile_workload(free).sections, rates, strict=True):
        options: dict[str, OptionValue] = {}
        for name, value in section.options.items():
            if name not in _BOUND and value is not None and not isinstance(value, tuple):
                option, normal = read_option(name, value, where=workload.name)
                options[option] = normal
        options |= _whole_blocks(options, target)
        options |= {name: value for name, value in spec.constants.items() if name != "size"}
        share = rate / sum(rates) if any(rates) else None
        templates.append(Template(section.name, complete_options(options, target, footprint), share))
    load: float | None = 0.0
    if any(rates):
        load = None if streams.load == HIGHEST else sum(rates) if isinstance(streams.load, str) else streams.load
    return Phase(workload.name if not any(rates) else "", tuple(templates), load)


def _whole_blocks(options: Mapping[str, OptionValue], target: Target) -> dict[str, OptionValue]:
    """Block sizes of a study that are smaller than what the target moves at once, lifted to that."""
    least = target.logical_block_bytes
    mix = str(options.get("bssplit", ""))
    if not mix or least <= 512:
        return {}
    directions = []
    for direction in mix.split(","):
        shares: dict[int, int] = {}
        entries = [entry.partition("/") for entry in direction.split(":") if entry]
        for size, _, percent in entries:
            lifted = -(-int(size) // least) * least
            shares[lifted] = shares.get(lifted, 0) + int(percent or 100 // len(entries))
        directions.append(":".join(f"{size}/{percent}" for size, percent in shares.items()))
    return {"bssplit": ",".join(directions)}


def _phase(
    spec: CampaignSpec, streams: StreamsSpec, target: Target, name: str, members: Sequence[StreamSpec], footprint: int
) -> Phase:
    paced = {stream.name: offered_iops(Cell.of("", stream.options)) for stream in members}
    total = sum(paced.values())
    shared = {stream.name: stream.share / 100 for stream in members if stream.share is not None}
    closed = streams.load == FREE and not total
    weights = (
        share_weights(shared, {stream.name: int(stream.options.get("numjobs", 1)) for stream in members})
        if closed
        else {}
    )
    templates = []
    for stream in members:
        options: dict[str, OptionValue] = {**{n: v for n, v in spec.constants.items() if n != "size"}, **stream.options}
        process = str(options.pop("rate_process", "poisson"))
        options.pop("rate_iops", None)
        if stream.region is not None:
            low, high = (int(footprint * percent / 100) // ALIGN * ALIGN for percent in stream.region)
            options |= {"offset": low, "size": high - low}
        if not closed:
            options.setdefault("iodepth", OPEN_DEPTH)
        if stream.name in weights:
            options |= {"flow": weights[stream.name], "flow_id": 1, "flow_sleep": 10}
        share = None if closed else paced[stream.name] / total if total else shared.get(stream.name, 1.0)
        whole = complete_options(options, target, footprint)
        _fits(stream, whole, footprint)
        rates = offered_by_direction(Cell.of("", stream.options))
        reads = rates.get("read", 0.0) / sum(rates.values()) if rates else int(whole.get("rwmixread", 50)) / 100
        templates.append(Template(stream.name, whole, share, process, reads))
    load = 0.0 if closed else total or (None if streams.load == HIGHEST else float(streams.load))
    return Phase(name, tuple(templates), load)


def _fits(stream: StreamSpec, options: Mapping[str, OptionValue], footprint: int) -> None:
    cell = Cell.of("", options)
    if cell.bs_bytes > cell.size_bytes:
        raise UsageError(
            f"stream {stream.name!r}: its block ({format_size(cell.bs_bytes)}) is larger than what it works on "
            f"({format_size_rounded(cell.size_bytes)})",
            where="[[stream]]",
            remedy="use a smaller block or a larger size",
        )
    if cell.end_bytes > footprint:
        raise UsageError(
            f"stream {stream.name!r} ends at {format_size_rounded(cell.end_bytes)}, beyond the "
            f"{format_size_rounded(footprint)} of the campaign",
            where="[[stream]]",
            remedy="set [sweep] size or --size to what all streams need together",
        )


# -- the plan ------------------------------------------------------------------------------------------------


def build_streams_plan(spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool = False) -> Plan:
    """The plan of a campaign of streams. Raises UsageError for what can be seen to be wrong before anything runs."""
    streams = streams_of(spec)
    swept = [name for name in spec.axes if name not in (PHASE, LOAD, "size")]
    if swept or spec.patterns or len(spec.axes.get("size", (1,))) > 1:
        raise UsageError(
            f"{swept[0] if swept else 'a pattern' if spec.patterns else 'size'} is swept beside streams",
            where="[sweep]",
            remedy="a campaign of streams has load points instead of axes: give single values, they hold for every "
            "stream",
        )
    spec.leaves_out("prepare sharing cells error precision", "streams on one range at given load points")
    cells: list[tuple[Cell, str]] = []
    remarks = list(spec.remarks)
    files: dict[str, dict[str, int]] = {}
    points: list[str] = []
    phases: tuple[Phase, ...] = ()
    for target in targets:
        footprint, remark = footprint_of(spec, target)
        remarks += remark
        phases = phases_of(spec, target, footprint)
        first = [first_cells(phase, target.name, streams) for phase in phases]
        cells += [(cell, "") for group in first for cell in group]
        writes = any(cell.writes for group in first for cell in group)
        members = [m for group in first for cell in group for m in cell.members if m.integer("direct", 1)]
        check_whole_blocks(target, sorted({size for m in members for size in m.block_sizes}), "[[stream]]")
        if read_only and writes:
            raise UsageError(
                "the streams write", where="--read-only", remedy="leave it out, or use streams that only read"
            )
        if any(
            direction == "trim" for group in first for cell in group for direction in cell.directions
        ) and target.kind in ("directory", "file"):
            raise UsageError("trim needs a block device", where=target.location, remedy="leave trimming streams out")
        files[target.name] = (
            {SHARED_FILE: footprint} if target.kind == "directory" else {"": footprint} if writes else {}
        )
        points = [load_name(phase.name, percent) for phase in phases for percent in _percents(phase, streams)]
    if streams.study:
        remarks += study(streams.study, max(SMALLEST_FOOTPRINT, footprint)).remarks
    axes = _axes(phases, streams)
    search = sum(phase.load_iops is None for phase in phases) * len(targets)
    visit = spec.window_seconds + FIO_SECONDS + gap_seconds(streams)
    n_points = len(points) * len(targets)
    more_seconds = search * (USUAL_TRIALS * (trial_seconds(spec) + FIO_SECONDS + 0.3) + visit) + (
        streams.idle_seconds if streams.wants_power else 0.0
    )
    seconds = (
        n_points * spec.visits * visit
        + more_seconds
        + sum(sum(sizes.values()) for sizes in files.values()) / PLANNING_WRITE_BYTES_PER_S
    )
    outline = {
        "cells": n_points,
        "visits": n_points * spec.visits,
        "load_points": points,
        "searches": search,
        "write_load_seconds": round(n_points * spec.visits * spec.window_seconds, 1)
        if any(cell.writes for cell, _ in cells)
        else 0.0,
        "seconds": round(seconds, 1),
    }
    return Plan(replace(spec, axes=axes), targets, tuple(cells), tuple(dict.fromkeys(remarks)), files, outline)


def _percents(phase: Phase, streams: StreamsSpec) -> tuple[float | None, ...]:
    return (None,) if phase.load_iops == 0 else streams.points


def first_cells(phase: Phase, target: str, streams: StreamsSpec) -> list[Cell]:
    """The cells of a phase that are known before anything ran: its load points, or the load at which the search
    begins.
    """
    if phase.load_iops is None:
        return [phase.cell(target, load_iops=START_IOPS)]
    return ramp_cells(phase, target, streams, phase.load_iops)


def ramp_cells(phase: Phase, target: str, streams: StreamsSpec, load_iops: float) -> list[Cell]:
    """The cells of the load points, in their order."""
    return [phase.cell(target, percent=percent, load_iops=load_iops or None) for percent in _percents(phase, streams)]


def _axes(phases: Sequence[Phase], streams: StreamsSpec) -> dict[str, tuple[OptionValue, ...]]:
    axes: dict[str, tuple[OptionValue, ...]] = {}
    if any(phase.name for phase in phases):
        axes[PHASE] = tuple(phase.name for phase in phases)
    if any(phase.load_iops != 0 for phase in phases):
        axes[LOAD] = tuple(int(p) if p == int(p) else p for p in streams.points)
    return axes


def trial_seconds(spec: CampaignSpec) -> float:
    """How long one trial of the search lasts; a small budget shortens it."""
    budget = spec.budget_seconds
    seconds = min(TRIAL_SECONDS, spec.window_seconds)
    return seconds if budget is None else min(seconds, max(SHORTEST_TRIAL_SECONDS, 0.25 * budget / USUAL_TRIALS))


def gap_seconds(streams: StreamsSpec) -> float:
    """Time for what is in flight to drain before the next load point: many times the response time that is allowed."""
    return min(2.0, max(0.3, 10 * streams.limit_seconds))


def footprint_of(spec: CampaignSpec, target: Target) -> tuple[int, list[str]]:
    """Bytes that the streams cover together, and what that means for caches. Raises UsageError when the target is too
    small.
    """
    streams = streams_of(spec)
    given = spec.constants.get("size") or next(iter(spec.axes.get("size", ())), None)
    remarks = []
    if given is not None:
        size = int(given)
    elif target.size_bytes is not None:
        size = min(target.size_bytes, DEFAULT_FOOTPRINT)
    else:
        free = target.free_bytes if target.free_bytes is not None else DEFAULT_FOOTPRINT
        size = min(DEFAULT_FOOTPRINT, free // 4)
        if spec.budget_seconds is not None:
            size = min(size, max(LEAST_FOOTPRINT, int(LAYOUT_SHARE * spec.budget_seconds * PLANNING_WRITE_BYTES_PER_S)))
        size -= size % (1 << 26) if size >= 1 << 26 else size % (1 << 20)
    if target.size_bytes is not None and size > target.size_bytes:
        if given is not None and streams.streams:
            raise UsageError(
                f"size {format_size(size)} is larger than the target ({format_size(target.size_bytes)})",
                where="size",
                remedy="use a smaller size",
            )
        remarks.append(f"{target.name} is smaller than asked for: its whole {format_size(target.size_bytes)} are used.")
        size = target.size_bytes
    size -= size % ALIGN
    if size < SMALLEST_FOOTPRINT:
        raise UsageError(
            f"{format_size_rounded(size)} are too little for streams",
            where=target.location,
            remedy="free some space, or set a size of at least 1 MiB",
        )
    if streams.study.startswith("spc1") and size < 100 << 20:
        raise UsageError(
            "the streams' hot regions need a size of at least 100 MiB",
            where="size",
            remedy="set a larger size, or use a larger target",
        )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    text = f"The streams cover {format_size_rounded(size)} of {target.name}" + (
        "" if given is not None else ", chosen from what is there (set --size)"
    )
    if size < 2 * memory:
        text += (
            f"; this client has {format_size_rounded(memory)} of memory and a storage system its own. Caches answer "
            "what fits them: for figures of the drives use a multiple of the largest cache"
        )
    return size, [*remarks, text + "."]


def describe_rounding(phase: Phase, load_iops: float, percent: float) -> str:
    """What rounding to whole I/Os per second does to the mix at a load point; '' when it is below one point."""
    cell = phase.cell("", percent=percent, load_iops=load_iops)
    offered = offered_iops(cell)
    wanted = [template.share or 0.0 for template in phase.templates]
    got = [offered_iops(member) / offered for member in cell.members]
    worst = max(abs(a - b) for a, b in zip(wanted, got, strict=True))
    asked = load_iops * percent / 100
    if worst < 0.01 and math.isclose(offered, asked, rel_tol=0.01):
        return ""
    return (
        f"At {percent:g}% fio is told {offered:g} instead of {asked:g} I/Os per second. A stream's share is off by "
        f"up to {100 * worst:.1f} points, for fio takes whole numbers for each stream and direction."
    )
