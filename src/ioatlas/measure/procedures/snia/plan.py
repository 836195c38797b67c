# SPDX-License-Identifier: Apache-2.0
"""SNIA rounds: purge, fill, then rounds in a fixed order until the tracked value is steady. The plan says what the test
may vary, its rounds, and what is not as the specification says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ioatlas.measure.procedures.dense_map.plan import build_plan
from ioatlas.measure.procedures.options import SniaOptions
from ioatlas.measure.run.plan import FIO_SECONDS, PLANNING_RANDOM_WRITE_BYTES_PER_S, PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.target import Target
from ioatlas.model.units import format_duration, format_rate, format_size, format_size_rounded
from ioatlas.plan.snia import PROCEDURES, SniaPlan, Test, deviations, passes, plan_snia
from ioatlas.plan.snia import Procedure as SniaProcedure
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.journal import Journal

Axes = Mapping[str, tuple[OptionValue, ...]]


def build_rounds_plan(spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
    """All cells of the test on all targets. Raises UsageError for what the test leaves no room for."""
    axes, dropped = _whole_blocks(spec.axes, targets)
    _check(replace(spec, axes=axes), targets)
    plan = build_plan(replace(spec, axes=axes, remarks=(*spec.remarks, *dropped)), targets, read_only=read_only)
    told = [text for target in targets for text in _deviations(plan, target)]
    plan = replace(plan, spec=replace(plan.spec, remarks=spec.remarks))
    return replace(plan, remarks=tuple(dict.fromkeys([*plan.remarks, *told])))


def rounds_plan(plan: Plan, target: str) -> SniaPlan | None:
    """The rounds of the test on one target; None where it has no cell. Raises UsageError when the cell that is tracked
    is not in the sweep.
    """
    cells = [cell for cell in plan.to_measure if cell.target == target]
    if not cells:
        return None
    return plan_snia(
        plan.spec.of(SniaOptions).test,
        cells,
        window_seconds=plan.spec.window_seconds,
        start_seconds=FIO_SECONDS,
        sequential_write_bytes_per_s=PLANNING_WRITE_BYTES_PER_S,
        random_write_bytes_per_s=PLANNING_RANDOM_WRITE_BYTES_PER_S,
    )


def _deviations(plan: Plan, target: Target) -> list[str]:
    """What of the test is not as the specification says, on one target."""
    spec = plan.spec
    cells = [cell for cell in plan.to_measure if cell.target == target.name]
    if rounds_plan(plan, target.name) is None:
        return []
    told = list(
        deviations(
            spec.of(SniaOptions).test, cells, window_seconds=spec.window_seconds, capacity_bytes=target.size_bytes
        )
    )
    wanted = "filled-twice" if PROCEDURES[spec.of(SniaOptions).test].fill_passes else "laid-out"
    if spec.prepare != wanted:
        told.append(f"The preparation is {spec.prepare!r}, not the one of the specification.")
    return told


def _whole_blocks(axes: Axes, targets: tuple[Target, ...]) -> tuple[Axes, list[str]]:
    """The axes without block sizes that direct I/O cannot move, and what was dropped: the grid begins at 512 B."""
    block = max((target.logical_block_bytes for target in targets if target.kind != "uri"), default=1)
    odd = [size for size in axes.get("bs", ()) if isinstance(size, int) and size % block]
    if not odd:
        return axes, []
    told = ", ".join(format_size(int(size)) for size in odd)
    kept = {**axes, "bs": tuple(size for size in axes["bs"] if size not in odd)}
    return kept, [f"Blocks of {told} left out: the target moves whole blocks of {format_size(block)}."]


def _check(spec: CampaignSpec, targets: tuple[Target, ...]) -> None:
    for target in targets:
        if spec.of(SniaOptions).purge == "punch-hole" and target.kind != "file":
            raise UsageError("holes are punched in files only", where="purge", remedy="use purge = 'auto'")
        if spec.of(SniaOptions).purge in ("discard", "nvme-format") and target.kind != "block":
            what = "discarded" if spec.of(SniaOptions).purge == "discard" else "formatted"
            raise UsageError(f"only a block device can be {what}", where="purge", remedy="use purge = 'auto'")
    varied = [name for name, values in spec.axes.items() if len(values) > 1 and name not in ("rw", "rwmixread", "bs")]
    if varied or spec.patterns:
        raise UsageError(
            f"a SNIA test varies rwmixread, rw and bs; {varied[0] if varied else 'patterns'} cannot vary",
            where="[sweep]",
            remedy="give it one value, or run one campaign for each",
        )
    spec.leaves_out("cells error precision sharing", "a SNIA test, which repeats its round until it is steady")
    if spec.visits > 1:
        raise UsageError("a SNIA test repeats its round until it is steady", where="visits", remedy="leave out visits")
    if spec.prepare == "fresh":
        raise UsageError(
            "a SNIA test works on one range from its fill to its end", where="prepare", remedy="leave out `prepare`"
        )


def pass_name(procedure: SniaProcedure, target: str, cells: Sequence[Cell]) -> str:
    """What a pass is called in the journal: the target, and what has a purge and fill of its own."""
    return f"{target}/{part_of(procedure, cells)}"


def part_of(procedure: SniaProcedure, cells: Sequence[Cell]) -> str:
    if not procedure.apart:
        return ""
    value = cells[0].option[procedure.apart]
    return f"{procedure.apart} {format_size(value) if isinstance(value, int) else value}"


def passes_of(journal: Journal, test: Test) -> list[tuple[Cell, ...]]:
    """Every pass of the campaign in the order in which they run: target by target."""
    cells = [cell for cell, reason in journal.cells() if not reason]
    return [
        group
        for target in journal.targets()
        for group in passes(test, [cell for cell in cells if cell.target == target.name])
    ]


def rounds_lines(plan: Plan, target: Target) -> tuple[str, ...]:
    """What happens before the first round, and how long the test can take."""
    test = rounds_plan(plan, target.name)
    if test is None:
        return ()
    purge = str(plan.spec.of(SniaOptions).purge)
    if purge == "auto":
        purge = "discard" if target.kind == "block" else "not possible here, and recorded as such"
    fill = f", fill of {format_size_rounded(test.fill_bytes)}" if test.fill_bytes else ""
    first = f"purge ({purge}){fill}"
    first = f"{test.passes} times: {first}" if test.passes > 1 else first
    rate, random = (format_rate(value) for value in (PLANNING_WRITE_BYTES_PER_S, PLANNING_RANDOM_WRITE_BYTES_PER_S))
    least, most = format_size_rounded(test.least_bytes), format_size_rounded(test.most_bytes)
    shortest, longest = format_duration(test.least_seconds), format_duration(test.most_seconds)
    rounds = f"{test.least_rounds} to {test.most_rounds} of {format_duration(test.round_seconds)}"
    each = f"{test.cells_per_round} cells, {plan.spec.window_seconds:g} s each"
    return (
        f"test         SNIA {PROCEDURES[plan.spec.of(SniaOptions).test].title} on {target.name}; {first}",
        f"rounds       {rounds}: {each}",
        f"written      {least} to {most}, assuming {rate}, at random {random}",
        f"time         {shortest} to {longest}: it ends when the steady state is met",
    )
