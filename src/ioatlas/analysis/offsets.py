# SPDX-License-Identifier: Apache-2.0
"""Throughput over the place on a device: disks are faster on their outer tracks; of a file the place is not known,
and that is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from ioatlas.analysis.wording import Namer
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.units import format_rate, format_size
from ioatlas.model.verdict import VerdictClass, verdict_class

BARELY = 0.05


def offset_findings(estimates: Iterable[Estimate], placed: Mapping[str, bool]) -> tuple[Finding, ...]:
    """For each target and direction whose sweep has offsets: the fastest of the lines that differ in the offset only.

    placed: by target, whether an offset is a place on a device.
    """
    lines: dict[tuple[object, ...], dict[int, Estimate]] = defaultdict(dict)
    cells = []
    for e in estimates:
        if (
            e.kind != "measured"
            or not e.bw_bytes_per_s
            or "offset" not in e.cell.option
            or verdict_class(e.verdict) is VerdictClass.SUSPECT
        ):
            continue
        cells.append(e.cell)
        rest = tuple(pair for pair in e.cell.options if pair[0] != "offset")
        lines[e.cell.target, e.direction, e.cell.sharing, e.cell.state, rest][e.cell.integer("offset", 0)] = e
    namer = Namer(cells, sorted({cell.target for cell in cells}))
    best: dict[tuple[object, object], dict[int, Estimate]] = {}
    for (target, direction, *_), line in lines.items():
        before = best.get((target, direction))
        if len(line) > 1 and (before is None or _highest(line) > _highest(before)):
            best[target, direction] = line
    return tuple(
        _finding(line, namer, placed=placed.get(next(iter(line.values())).cell.target, False)) for line in best.values()
    )


def _highest(line: Mapping[int, Estimate]) -> float:
    return max(e.bw_bytes_per_s or 0.0 for e in line.values())


def _finding(line: Mapping[int, Estimate], namer: Namer, *, placed: bool) -> Finding:
    points = sorted(line.items())
    (first, start), (last, end) = points[0], points[-1]
    low, high = (
        min(points, key=lambda p: p[1].bw_bytes_per_s or 0.0),
        max(points, key=lambda p: p[1].bw_bytes_per_s or 0.0),
    )
    ratio = (high[1].bw_bytes_per_s or 0.0) / (low[1].bw_bytes_per_s or 1.0)
    where = f"{namer.cell(start.cell, without=('offset',), with_target=True)}, {start.direction}s"
    head = (
        f"Along the offset ({where}): {format_rate(start.bw_bytes_per_s or 0)} at {format_size(first)}, "
        f"{format_rate(end.bw_bytes_per_s or 0)} at {format_size(last)}"
    )
    clear = all(None not in (e.bw_low, e.bw_high) for e in (low[1], high[1])) and (low[1].bw_high or 0) < (
        high[1].bw_low or 0
    )
    if ratio <= 1 + BARELY or not clear:
        told = "no clear difference over the places that were measured"
    else:
        told = f"{ratio:.2g} times as fast at {format_size(high[0])} as at {format_size(low[0])}"
    place = (
        ""
        if placed
        else " A file's place on its device is not known: these are offsets in the file, not on the device."
    )
    return Finding(
        FindingCode.OFFSET,
        f"{head}; {told}.{place}",
        tuple(e.cell.key for _, e in points),
        target=start.cell.target,
        direction=start.direction,
    )
