# SPDX-License-Identifier: Apache-2.0
"""What a fixed-work sequence says: lines of mean and standard deviation for each operation, and two tools beside each
other. How long work takes is foretold from other records of the same operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean, median, stdev

from ioatlas.answer.analysis.charts import chart, mean_dots
from ioatlas.answer.analysis.estimates import window_values
from ioatlas.model.cell import Cell
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.fixed_work import FIO, IOZONE, operation_of, tool_of
from ioatlas.model.panel import Line, Panel, Series, Table
from ioatlas.model.units import format_size, grouped, rate_units
from ioatlas.model.visit import Purpose, Visit
from ioatlas.stats.intervals import few_visits_interval

TOOL_NAMES = {IOZONE: "IOzone"}
AGREE = 0.05
"""Two tools whose ratio surely lies this near to 1 agree for every use."""


@dataclass(frozen=True)
class Reading:
    """One visit of one operation: its rate in bytes per second."""

    cell: Cell
    block: int
    bw_bytes_per_s: float

    @property
    def place(self) -> tuple[str, int, int]:
        """(target, file, record)."""
        return self.cell.target, int(self.cell.option["size"]), int(self.cell.option["bs"])


def readings(cells: Mapping[str, Cell], visits: Iterable[Visit]) -> list[Reading]:
    """What every kept visit says."""
    found = []
    for visit in visits:
        cell = cells.get(visit.cell_key)
        if cell is None or visit.discarded or visit.purpose is not Purpose.SWEEP:
            continue
        for part in visit.parts:
            values = window_values(part)
            if values.bw_bytes_per_s and part.total_ios:
                found.append(Reading(cell, visit.replicate, values.bw_bytes_per_s))
    return found


def charts(
    found: Sequence[Reading],
    *,
    by_operation: bool,
    limits: Mapping[str, Sequence[Line]] | None = None,
    marks: Sequence[Line] = (),
) -> Iterator[Panel]:
    """A chart for each operation over record size, or one for each target over file size.

    limits, marks: limits of throughput by target, and sizes of memory (drawn over file size only).
    """
    several_targets = len({reading.cell.target for reading in found}) > 1
    along = "bs" if by_operation and len({reading.place[2] for reading in found}) > 1 else "size"
    panels = grouped(
        ((reading.cell.target, operation_of(reading.cell) if by_operation else ""), reading) for reading in found
    )
    for (target, operation), mine in panels.items():
        title = operation or "throughput against file size"
        yield chart(
            f"{title[0].upper()}{title[1:]}" + (f", {target}" if several_targets else ""),
            "Record size" if along == "bs" else "File size",
            "Throughput",
            "B/s",
            _lines(mine, along, by_operation=by_operation),
            sizes=True,
            limits=(limits or {}).get(target, ()),
            marks=marks if along == "size" else (),
            note=_note(mine),
        )


def _lines(mine: Sequence[Reading], along: str, *, by_operation: bool) -> tuple[Series, ...]:
    several_tools = len({tool_of(reading.cell) for reading in mine}) > 1
    several_sizes = along == "bs" and len({reading.place[1] for reading in mine}) > 1
    lines: dict[str, dict[float, list[float]]] = {}
    for reading in sorted(mine, key=lambda one: tool_of(one.cell)):  # fio before IOzone, whichever ran first
        words = [] if by_operation else [operation_of(reading.cell)]
        words += [tool_of(reading.cell)] if several_tools or (by_operation and not several_sizes) else []
        words += [f"file {format_size(reading.place[1])}"] if several_sizes else []
        points = lines.setdefault(", ".join(words), {})
        points.setdefault(float(reading.cell.option[along]), []).append(reading.bw_bytes_per_s)
    return tuple(Series(name, mean_dots(points)) for name, points in lines.items())


def _note(mine: Sequence[Reading]) -> str:
    counts = Counter(reading.cell.key for reading in mine)
    low, high = min(counts.values()), max(counts.values())
    return f"Work-bounded; mean and standard deviation of {low if low == high else f'{low} to {high}'} visits."


@dataclass(frozen=True)
class Agreement:
    """Two tools at one operation, from pairs of visits of the same file and record in the same block.

    ratio, low, high: IOzone's rate over fio's, geometric mean over the pairs, 95%.
    """

    operation: str
    pairs: int
    fio: float
    iozone: float
    ratio: float
    low: float | None
    high: float | None

    @property
    def differs(self) -> bool:
        """Whether they surely differ."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high

    @property
    def apart(self) -> bool:
        """Whether they surely differ, and by enough to matter."""
        return self.differs and abs(self.ratio - 1) > AGREE


def agreements(found: Sequence[Reading]) -> list[Agreement]:
    """Each operation that both tools made, in the order of the round."""
    sides: dict[str, dict[tuple[object, ...], dict[str, list[Reading]]]] = {}
    for reading in found:
        pair = sides.setdefault(operation_of(reading.cell), {}).setdefault((*reading.place, reading.block), {})
        pair.setdefault(tool_of(reading.cell), []).append(reading)
    made = []
    for operation, pairs in sides.items():
        both = [(sides[FIO][-1], sides[IOZONE][-1]) for sides in pairs.values() if FIO in sides and IOZONE in sides]
        if not both:
            continue
        ratios = [other.bw_bytes_per_s / one.bw_bytes_per_s for one, other in both]
        interval = few_visits_interval(ratios) if len(ratios) > 1 else None
        made.append(
            Agreement(
                operation,
                len(both),
                fmean(one.bw_bytes_per_s for one, _ in both),
                fmean(other.bw_bytes_per_s for _, other in both),
                exp(fmean(log(ratio) for ratio in ratios)),
                interval.low if interval else None,
                interval.high if interval else None,
            )
        )
    return made


def agreement_table(found: Sequence[Agreement]) -> Table:
    """The two tools side by side."""
    rows, (unit, factor) = [], rate_units()[2]
    for each in found:
        rows.append(
            (
                each.operation,
                f"{each.fio / factor:.4g}",
                f"{each.iozone / factor:.4g}",
                f"{each.ratio:.3f}",
                f"{each.low:.3f} to {each.high:.3f}" if each.low is not None and each.high is not None else "one pair",
                str(each.pairs),
            )
        )
    return Table(
        "IOzone and its fio translation side by side",
        ("Operation", f"fio, {unit}", f"IOzone, {unit}", "IOzone/fio", "95%", "Pairs"),
        tuple(rows),
        "Ratios are geometric means over pairs of visits of the same file and record, one after the other. The "
        "interval is Student's t on their logarithms. The tools' visits are never put into one estimate. IOzone "
        "runs its operations in one process without a pause. Each of fio's has a process of its own, about 0.3 s "
        "after the one before. So runs of milliseconds may begin warm in IOzone and cold in fio, which favours "
        "IOzone on small files.",
    )


def sequence_findings(found: Sequence[Reading], *, by_operation: bool) -> list[Finding]:
    """What to know: means of each operation over the records, how the tools agree, and what kind of values these
    are.
    """
    made, (unit, factor) = [], rate_units()[2]
    groups: dict[tuple[str, str], dict[str, dict[tuple[int, int], list[Reading]]]] = {}
    for reading in found:
        operations = groups.setdefault((reading.cell.target, tool_of(reading.cell)), {})
        operations.setdefault(operation_of(reading.cell), {}).setdefault(reading.place[1:], []).append(reading)
    if by_operation:
        for (target, tool), operations in sorted(groups.items()):
            means: list[Value] = []
            for operation, places in operations.items():
                rates = [fmean(reading.bw_bytes_per_s for reading in mine) / factor for mine in places.values()]
                deviation = stdev(rates) if len(rates) > 1 else None
                means.append({"operation": operation, "mean": fmean(rates), "deviation": deviation})
            values: dict[str, Value] = {
                "tool": TOOL_NAMES.get(tool, tool),
                "unit": unit,
                "n_records": max(len(places) for places in operations.values()),
                "means": means,
            }
            made.append(Finding(FindingCode.OPERATIONS, values, _keys(found, target, tool), target=target))
    compared = agreements(found)
    if compared:
        apart: list[Value] = [{"operation": each.operation, "ratio": each.ratio} for each in compared if each.apart]
        counts = {"n_operations": len(compared), "n_alike": len(compared) - len(apart), "limit": AGREE}
        made.append(Finding(FindingCode.ENGINES, {**counts, "apart": apart}, place="charts"))
    made.append(Finding(FindingCode.WORK_BOUNDED, {"each_file": False}))
    return made


def _keys(found: Sequence[Reading], target: str, tool: str) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            reading.cell.key for reading in found if reading.cell.target == target and tool_of(reading.cell) == tool
        )
    )[:20]


class Speeds:
    """Time of one I/O by kind of load and size of the record."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, dict[int, list[float]]] = {}
        self._spent: list[float] = []

    def add(self, kind: Hashable, record_bytes: int, seconds_per_io: float) -> None:
        self._seen.setdefault(kind, {}).setdefault(record_bytes, []).append(seconds_per_io)

    def add_overhead(self, starts: int, seconds: float) -> None:
        """A round's wall time with so many starts of a load generator."""
        self._spent.append(seconds / max(1, starts))

    def overhead(self, default: float) -> float:
        """Least wall time that one start took, or the default: what a start costs besides its work."""
        return min([default, *self._spent])

    def per_io(self, kind: Hashable, record_bytes: int) -> float | None:
        """Seconds of one I/O: linear in the record between those seen, proportional above the largest, constant
        below the smallest.

        None when the kind was never seen.
        """
        points = sorted((record, median(times)) for record, times in self._seen.get(kind, {}).items())
        if not points:
            return None
        below = [point for point in points if point[0] <= record_bytes]
        above = [point for point in points if point[0] >= record_bytes]
        if not below:
            return above[0][1]
        if not above:
            record, seconds = below[-1]
            return seconds * record_bytes / record
        (low, slow), (high, fast) = below[-1], above[0]
        return slow if high == low else slow + (fast - slow) * (record_bytes - low) / (high - low)
