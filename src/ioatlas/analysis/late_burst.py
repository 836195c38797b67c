# SPDX-License-Identifier: Apache-2.0
"""Burst credit that the probe did not show: told from the sweep, where loads fall to one common rate.

Cloud volumes and caches of drives hold credit for minutes of load: cells that were visited before and after fall once,
to a rate that all that fell have in common, in bytes or in I/Os a second. Smaller credit comes back between visits:
then loads fall again and again within their windows, to one rate too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, median_low

from ioatlas.analysis.burst import FASTER, MORE_CREDIT, SERIES_POINTS, STILL_FAST, Burst, BurstUnit, rate_while_fed
from ioatlas.analysis.windows import window_values
from ioatlas.model.cell import Cell
from ioatlas.model.purpose import Purpose
from ioatlas.model.reason import ReasonCode
from ioatlas.model.visit import Visit

FEWEST_FALLEN = 2
"""Cells that fell: one alone may have been struck by something else."""
COMMON = 0.25
"""How far from their median the rates that loads fell to may lie, as a share."""
FEWEST_FALLING = 3
"""Visits that fell within their windows."""
MOST_UNCOMMON = 0.34
"""Share of visits that fell within their windows, but to another rate."""
MOST_EXCEPTIONS = 0.1
"""Share of the visits of fallen cells that may be on the other side of the change."""


@dataclass(frozen=True)
class LateBurst:
    """burst: its size and rates. before: visits that credit made faster than can be sustained."""

    burst: Burst
    before: tuple[Visit, ...]


@dataclass(frozen=True)
class _Load:
    """rate: of its second half, before which what came back in a pause is used up. counted: what it is worth in the
    map, its warm-up cut.
    """

    visit: Visit
    amount: float
    rate: float
    counted: float
    seconds: float

    @property
    def end(self) -> float:
        return self.visit.started_at + self.seconds

    def ahead(self, sustained: float) -> float:
        """What it moved above that rate."""
        return self.amount - sustained * self.seconds

    @property
    def block_bytes(self) -> int:
        ios = sum(part.total_ios for part in self.visit.parts)
        return sum(part.io_bytes for part in self.visit.parts) // max(1, ios)

    def while_fed(self, sustained: float) -> float:
        """Its rate while the credit lasted."""
        rates = _series(self.visit)
        mean = self.amount / self.seconds
        if not sum(rates):
            return mean
        scale = mean * len(rates) / sum(rates)
        return rate_while_fed([rate * scale for rate in rates], sustained)


def find_late_burst(
    target: str, direction: str, cells: Mapping[str, Cell], visits: Sequence[Visit]
) -> LateBurst | None:
    """What finished visits tell of one target and direction; None where rates did not fall to one rate.

    Visits that seemed to settle late tell as much as others, those that were discarded for anything else nothing.
    """
    mine = [visit for visit in visits if cells[visit.cell_key].target == target and _tells(visit)]
    mine = [visit for visit in mine if _is_plain(cells[visit.cell_key], direction) and visit.started_at]
    for unit in BurstUnit:
        loads = sorted(_loads(mine, unit), key=lambda one: one.visit.started_at)
        for look in (_fallen, _falling):
            found = look(target, direction, unit, loads)
            if found is not None:
                return found
    return None


def _tells(visit: Visit) -> bool:
    return all(reason.code is ReasonCode.LATE for reason in visit.discarded)


def _is_plain(cell: Cell, direction: str) -> bool:
    return cell.directions == (direction,) and cell.loop == "closed" and not cell.work_bounded


def _loads(visits: Sequence[Visit], unit: BurstUnit) -> list[_Load]:
    loads = []
    for visit in visits:
        seconds = max((part.runtime_ms for part in visit.parts), default=0) / 1000
        amount = sum(part.io_bytes if unit is BurstUnit.BYTES else part.total_ios for part in visit.parts)
        if seconds and amount:
            rate = amount / seconds * _second_half(visit)
            values = [window_values(part, visit.window_start_ms) for part in visit.parts]
            counted = sum(one.bw_bytes_per_s if unit is BurstUnit.BYTES else one.iops for one in values)
            loads.append(_Load(visit, float(amount), rate, counted, seconds))
    return loads


def _series(visit: Visit) -> list[float]:
    """Bytes a second by interval, of all its parts; what drains after the window is left out."""
    series = [part.series.bw_bytes_per_s for part in visit.parts]
    return [sum(values) for values in zip(*series, strict=False)][:SERIES_POINTS]


def _second_half(visit: Visit) -> float:
    """Rate of the second half of a visit over that of its whole; 1 where the intervals do not tell."""
    rates = _series(visit)
    half = rates[len(rates) // 2 :]
    return sum(half) / len(half) / (sum(rates) / len(rates)) if half and sum(half) else 1.0


def _fallen(target: str, direction: str, unit: BurstUnit, loads: Sequence[_Load]) -> LateBurst | None:
    by_cell: dict[str, list[_Load]] = defaultdict(list)
    for load in loads:
        by_cell[load.visit.cell_key].append(load)
    fell = {key: mine for key, mine in by_cell.items() if mine[0].rate >= FASTER * mine[-1].rate}
    if len(fell) < FEWEST_FALLEN:
        return None
    sustained = median(mine[-1].rate for mine in fell.values())
    if any(abs(mine[-1].rate - sustained) > COMMON * sustained for mine in fell.values()):
        return None
    changed = _change(loads, set(fell), STILL_FAST * sustained)
    if changed is None:
        return None
    early = loads[:changed]
    before = tuple(load.visit for load in early if _too_fast(load, sustained))
    peak = max(load.rate for load in early)
    return LateBurst(_burst(target, direction, unit, early, sustained, peak), before)


def _falling(target: str, direction: str, unit: BurstUnit, loads: Sequence[_Load]) -> LateBurst | None:
    """Credit that comes back between visits and is used up in each."""
    swept = [load for load in loads if load.visit.purpose is not Purpose.PROBE]
    falling = [load for load in swept if load.amount >= FASTER * load.rate * load.seconds]
    if len(falling) < FEWEST_FALLING or len({load.visit.cell_key for load in falling}) < FEWEST_FALLEN:
        return None
    sustained = median_low(load.rate for load in falling)
    uncommon = sum(abs(load.rate - sustained) > COMMON * sustained for load in falling)
    most = MORE_CREDIT * max(load.ahead(sustained) for load in falling)
    faster = sum(load.ahead(sustained) > most for load in swept)
    if uncommon > MOST_UNCOMMON * len(falling) or faster > MOST_EXCEPTIONS * len(swept):
        return None
    before = tuple(load.visit for load in swept if _too_fast(load, sustained))
    peak = max(load.amount / load.seconds for load in loads)
    return LateBurst(_burst(target, direction, unit, loads, sustained, peak), before)


def _burst(
    target: str, direction: str, unit: BurstUnit, loads: Sequence[_Load], sustained: float, peak: float
) -> Burst:
    """What these loads, made while there was credit, tell of it."""
    fed = ((load.block_bytes, load.while_fed(sustained)) for load in loads)
    block, slowest = min(((block, rate) for block, rate in fed if rate >= FASTER * sustained), default=(0, peak))
    credit = _credit(loads, sustained)
    return Burst(target, direction, credit, sustained, peak, unit, slowest_per_s=slowest, slowest_block_bytes=block)


def _too_fast(load: _Load, sustained: float) -> bool:
    return not load.visit.discarded and load.counted > STILL_FAST * sustained


def _change(loads: Sequence[_Load], fallen: set[str], limit: float) -> int | None:
    """Place of the first visit after the change; None where visits of fallen cells are fast before and slow after by
    no single change.
    """
    fast = [load.rate > limit for load in loads]
    counted = [load.visit.cell_key in fallen for load in loads]
    wrong = sum(one for one, counts in zip(fast, counted, strict=True) if counts)  # if all came after the change
    best, place = wrong, 0
    for index, (one, counts) in enumerate(zip(fast, counted, strict=True), 1):
        wrong += (not one) - one if counts else 0
        if wrong <= best:
            best, place = wrong, index
    after_others = [one for one, counts in zip(fast[place:], counted[place:], strict=True) if not counts]
    if best > MOST_EXCEPTIONS * sum(counted) or sum(after_others) > MOST_EXCEPTIONS * len(loads):
        return None
    return place


def _credit(loads: Sequence[_Load], sustained: float) -> float:
    """Most that a run of loads was ahead of the sustained rate."""
    most = 0.0
    for first, load in enumerate(loads):
        moved = 0.0
        for later in loads[first:]:
            moved += later.amount
            most = max(most, moved - sustained * (later.end - load.visit.started_at))
    return most
