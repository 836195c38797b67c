# SPDX-License-Identifier: Apache-2.0
"""The replay of a timed trace: a map whose load is the trace's own. What it settles of its cells, and its copy in the
campaign's directory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ioatlas.load.fio.replay import Trace, read_trace, write_trace
from ioatlas.measure.procedures.dense_map.plan import build_plan
from ioatlas.measure.procedures.dense_map.procedure import plan_replicates
from ioatlas.measure.procedures.dense_map.steps import MapSteps
from ioatlas.measure.procedures.options import TRACE_FILE, TraceOptions
from ioatlas.measure.run.plan import Plan
from ioatlas.measure.run.procedure import Procedure
from ioatlas.model.cell import TRACE, TRACE_SECONDS, OptionValue
from ioatlas.model.errors import IoAtlasError, UsageError, faults
from ioatlas.model.target import Target
from ioatlas.model.units import format_size, format_size_rounded
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store import confined

if TYPE_CHECKING:
    from ioatlas.measure.run.session import Session
    from ioatlas.measure.run.steps import Steps
    from ioatlas.store.journal import Journal


MOST_BYTES = 1 << 30
MOST_LANES = 64
"""I/Os in flight, each in a job of its own, unless `numjobs` says otherwise."""
_ALIGNMENT = 4096
_OTHERS = {
    *("numjobs", "direct", "ioengine", "buffer_compress_percentage", "buffer_compress_chunk", "dedupe_percentage"),
    "refill_buffers",
}
"""What may be set beside a trace."""


class TraceReplay(Procedure):
    name = "trace"

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_plan(summed_up(spec, targets), targets, read_only=read_only)

    def keep(self, plan: Plan, directory: Path) -> None:
        """The trace and its lanes. Raises UsageError when it has changed since it was planned."""
        trace = _read(plan.spec.of(TraceOptions).trace)
        if not _write(trace, plan, directory):
            where = plan.spec.of(TraceOptions).trace
            raise UsageError("the trace has changed while this was planned", where=where, remedy="start again")

    def restore(self, plan: Plan, directory: Path) -> None:
        """Make the lanes anew from the copy: fio opens the files that a lane names. Raises IoAtlasError when the copy
        is not the trace of the plan's cells.
        """
        where = str(directory / TRACE_FILE)
        with faults(IoAtlasError, "the trace of this campaign cannot be read", where=where, remedy="start a new one"):
            trace = read_trace(confined.read_text(directory / TRACE_FILE, most_bytes=MOST_BYTES), where)
        if not _write(trace, plan, directory):
            raise IoAtlasError("this is not the trace that was planned", where=where, remedy="start a new campaign")

    def begin(self, journal: Journal, plan: Plan) -> None:
        plan_replicates(journal, plan)

    def steps(self, session: Session) -> Steps:

        return MapSteps(session)


def summed_up(spec: CampaignSpec, targets: Sequence[Target]) -> CampaignSpec:
    """The specification with the options by which its trace's cells are known. Raises UsageError for what a trace
    leaves no room for.
    """
    trace = _read(spec.of(TraceOptions).trace)
    settled = sorted((spec.axes.keys() | spec.constants.keys()) - _OTHERS)
    if settled and spec.constants.get(TRACE) != trace.digest:
        raise UsageError(
            f"{settled[0]!r} is settled by the trace",
            where="[sweep]",
            remedy="leave it out; numjobs says how many I/Os may be in flight",
        )
    spec.leaves_out("profile patterns streams snia ordered cells error sharing", "a trace on one range")
    most = max(int(value) for value in spec.axes.get("numjobs", (spec.constants.get("numjobs", 1),)))
    if most > len(trace.ios):
        raise UsageError(
            f"{most} I/Os in flight are more than the {len(trace.ios)} of the whole trace",
            where="numjobs",
            remedy="use fewer, or leave it out",
        )
    size = -(-trace.end_bytes // _ALIGNMENT) * _ALIGNMENT
    for target in targets:
        if target.size_bytes is not None and trace.end_bytes > target.size_bytes:
            raise UsageError(
                f"the trace reaches to {format_size_rounded(trace.end_bytes)}, the target ends at "
                f"{format_size(target.size_bytes)}",
                where=target.location,
                remedy="use a larger target, or a trace of a smaller one",
            )
        odd = [
            one
            for one in trace.ios
            if one.offset_bytes % target.logical_block_bytes or one.length_bytes % target.logical_block_bytes
        ]
        if odd and target.kind != "uri" and int(spec.constants.get("direct", 1)):
            raise UsageError(
                f"the trace has {odd[0].length_bytes} B at {odd[0].offset_bytes}: direct I/O moves whole blocks of "
                f"{target.logical_block_bytes} B",
                where=target.location,
                remedy="set direct = 0, or use a trace of whole blocks",
            )
    summary: dict[str, OptionValue] = {
        TRACE: trace.digest,
        TRACE_SECONDS: round(trace.seconds, 6),
        "rw": f"rand{trace.directions[0]}" if len(trace.directions) == 1 else "randrw",
        "bs": trace.block_sizes[-1],
        "size": max(size, _ALIGNMENT),
    }
    lanes: dict[str, OptionValue] = {} if "numjobs" in spec.axes else {"numjobs": min(MOST_LANES, len(trace.ios))}
    told = [
        f"Replays {len(trace.ios):,} I/Os of {trace.seconds:.3g} s at their own times, in whole milliseconds.",
        *trace.left_out,
    ]
    return replace(
        spec, constants={**lanes, **spec.constants, **summary}, remarks=tuple(dict.fromkeys([*spec.remarks, *told]))
    )


def _write(trace: Trace, plan: Plan, directory: Path) -> bool:
    """Write it with its lanes, where it is the trace of the plan's cells; whether it is."""
    cells = [cell for cell, _ in plan.cells]
    if {cell.trace for cell in cells} != {trace.digest}:
        return False
    write_trace(directory, trace, {cell.numjobs for cell in cells})
    return True


def _read(path: str) -> Trace:
    no_text = (OSError, UnicodeDecodeError)
    with faults(
        UsageError, "the trace cannot be read", where=path, remedy="name a log of fio's write_iolog", of=no_text
    ):
        text = Path(path).read_text(encoding="utf-8")
    return read_trace(text, path)
