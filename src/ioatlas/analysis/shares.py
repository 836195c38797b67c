# SPDX-License-Identifier: Apache-2.0
"""What clients of one target and targets loaded together have in common: their order, their lines, their rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ioatlas.analysis.wording import per_cent
from ioatlas.model.cell import Cell
from ioatlas.model.clients import ClientShare
from ioatlas.model.estimate import Estimate
from ioatlas.model.together import TargetShare
from ioatlas.model.units import format_latency, format_rate
from ioatlas.model.visit import ClientPart, TargetPart

GAIN = 0.1
"""Share by which more of them give more, where what they share is not yet the limit."""
MOST_ROWS = 400


def in_order(item: tuple[str, object]) -> tuple[str, int]:
    """By name, with c2 before c10."""
    name = item[0].rstrip("0123456789")
    return name, int(item[0][len(name) :] or 0)


def lines_over(
    measured: Iterable[Estimate], option: str, level: Callable[[Cell], int]
) -> dict[tuple[Cell, str], list[Estimate]]:
    """Lines over an option, from few to many: cells that differ in nothing else. By what they have in common."""
    lines: dict[tuple[Cell, str], list[Estimate]] = defaultdict(list)
    for e in measured:
        options = tuple((name, value) for name, value in e.cell.options if name != option)
        lines[replace(e.cell, options=options), e.direction].append(e)
    return {place: sorted(line, key=lambda e: level(e.cell)) for place, line in lines.items() if len(line) > 1}


def highest_lines(measured: Iterable[Estimate], option: str, level: Callable[[Cell], int]) -> Iterator[list[Estimate]]:
    """Of each target and direction, the line over an option with the highest sum."""
    best: dict[tuple[str, str], list[Estimate]] = {}
    for (cell, direction), line in lines_over(measured, option, level).items():
        place = (cell.target, direction)
        if place not in best or _top(line) > _top(best[place]):
            best[place] = line
    yield from best.values()


def _top(line: Iterable[Estimate]) -> float:
    return max(e.bw_bytes_per_s or 0.0 for e in line)


def enough_of(line: Sequence[Estimate]) -> Estimate:
    """The first of a line that more of them hardly exceed."""
    return next(e for e in line if (e.bw_bytes_per_s or 0.0) >= _top(line) / (1 + GAIN))


def of_parts(parts: Sequence[ClientPart | TargetPart]) -> tuple[float, float | None, float | None]:
    """(bytes of an I/O, mean latency over all I/Os, largest p99) of parts of several visits; None where not told."""
    ios = sum(part.total_ios for part in parts)
    means = [(part.lat_mean_ns, part.total_ios) for part in parts if part.lat_mean_ns is not None]
    weight = sum(count for _, count in means)
    return (
        sum(part.io_bytes for part in parts) / ios if ios else 0.0,
        sum(mean * count for mean, count in means) / weight if weight else None,
        max((part.lat_p99_ns for part in parts if part.lat_p99_ns is not None), default=None),
    )


def figures(one: ClientShare | TargetShare) -> tuple[str, str, str, str]:
    """Throughput, share, mean and p99 latency, as a table shows them."""
    return (
        format_rate(one.bw_bytes_per_s),
        per_cent(one.share),
        "" if one.lat_mean_ns is None else format_latency(one.lat_mean_ns),
        "" if one.lat_p99_ns is None else format_latency(one.lat_p99_ns),
    )


def left_out(rows: Sequence[object]) -> str:
    """Where the rows of a table are that it has no room for; '' when it has."""
    more = len(rows) - MOST_ROWS
    return f" The fastest cells; {more} more rows stand in the export." if more > 0 else ""
