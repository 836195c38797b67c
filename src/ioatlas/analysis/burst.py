# SPDX-License-Identifier: Apache-2.0
"""Burst credit: a target that answers faster until a number of bytes has gone through, then at its sustained rate.

Token buckets, volumes with credits and write caches of drives do that. The credit comes back at the sustained rate
while nothing runs, so a window after a pause reads too high unless what came back is used up before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from math import sqrt
from typing import Any, Self

import numpy as np

from ioatlas.analysis.best import eligible, speed
from ioatlas.analysis.windows import WindowValues, window_values
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.outcomes import KeptRecord
from ioatlas.model.purpose import SWEPT, Purpose
from ioatlas.model.units import format_count, format_duration, format_rate, format_size_rounded
from ioatlas.model.visit import Part, Visit

LEAST_SECONDS = 0.25
"""Least credit that matters, in seconds of the sustained rate: half of a short window."""
LEAST_IOS = 3
REACHED = 1.25
"""Times the sustained rate that a later load may reach before it is told."""
FASTER = 1.5
"""How many times the sustained rate a burst reaches at least."""
SETTLED = 0.25
"""Share by which the rate may still fall in the second half of a load whose end is taken for sustained."""
RESOLVED_SECONDS = 0.1
"""How long credit lasts at least whose speed is told: what is gone within some lines of a log has none."""
SERIES_POINTS = 50
"""Intervals in a window."""
LEAD_TIMES = 1.25
"""A lead is so many times as long as the slowest load that was seen to burst takes to use up what came back."""
STILL_FAST = 1.2
"""How many times the sustained rate a window has that still holds credit."""
MORE_CREDIT = 1.5
"""How many times as much as the credit that was seen a load may have been ahead of the sustained rate."""
FEWEST_VISITS = 3
AWAY = 0.25
"""Share of a cell's visits far from the sustained rate from which that was none."""
LEAD_SHARE = 0.3
"""Most of the time that a budget has for each cell that its lead may take; what is then too fast is made again."""
SPENT = 0.9
"""Share of the most that a load was ahead at which its credit is taken for used up: the rest is noise."""
SHORTEST_LEAD_MS, LONGEST_LEAD_MS = 50, 2000


class BurstUnit(StrEnum):
    """What a credit counts. The texts stand in journals."""

    BYTES = "bytes"
    IOS = "ios"


@dataclass(frozen=True)
class Burst:
    """credit_bytes: what came above the sustained rate. peak: mean rate of the fastest load while it lasted.

    unit: where it is IOS, all of them count I/Os. fast_visits: visits of the sweep that were made while the credit
    lasted, 0 where a probe found it. fast_cells: cells whose value still is of that time, for want of time.
    most_lead_ms: what a budget allows a load to run first.
    slowest_per_s: rate of the slowest load that used credit up, of so many bytes a block; 0 where it was not told.
    """

    target: str
    direction: str
    credit_bytes: float
    sustained_bytes_per_s: float
    peak_bytes_per_s: float
    unit: BurstUnit = BurstUnit.BYTES
    fast_visits: int = 0
    fast_cells: int = 0
    slowest_per_s: float = 0.0
    slowest_block_bytes: int = 0
    most_lead_ms: int = LONGEST_LEAD_MS

    def lead_ms(self, idle_seconds: float, block_bytes: int = 0, *, whole: bool = False) -> int:
        """How long a load has to run after a pause until the credit that came back is used up; it comes at the
        sustained rate, and goes at what the target does above that with such blocks.

        whole: not only as long as a budget allows each load.

        An I/O of n times the bytes takes no less time and at most n times as long: their rate is taken to lie in the
        middle.
        """
        back = min(self.credit_bytes, idle_seconds * self.sustained_bytes_per_s)
        fast = self.peak_bytes_per_s
        if self.slowest_per_s and self.slowest_block_bytes:
            larger = max(1.0, block_bytes / self.slowest_block_bytes)
            fast = min(fast, self.slowest_per_s * (sqrt(larger) if self.unit is BurstUnit.BYTES else 1.0))
        above = fast - self.sustained_bytes_per_s
        most_ms = LONGEST_LEAD_MS if whole else self.most_lead_ms
        return round(min(most_ms, max(SHORTEST_LEAD_MS, LEAD_TIMES * 1000 * back / above)))


def find_burst(
    target: str, direction: str, block_bytes: int, visits: Iterable[Visit], asked_ms: Mapping[int, int] | None = None
) -> Burst | None:
    """What probes of one target and direction, in the order of their making, tell of a burst; None where there is none.
    asked_ms: how long each visit's load was asked to run; what drains after that shows that it got slower, no rate.

    A load shows it by itself: more at its start than its own end would have given. What others moved above that rate
    adds to the credit.
    """
    asked = asked_ms or {}
    loads = [(visit, part) for visit in visits for part in visit.parts if part.direction == direction]
    made = [(visit.started_at, part) for visit, part in loads]
    parts = [part for _, part in made]
    shown = [part for part in parts if _excess(part, _sustained(part)) >= _least(part, block_bytes)]
    shown = [part for part in shown if _peak(part) >= FASTER * _sustained(part)]
    # The same load again, longer and clearly slower, shows it too: the first time used the credit up.
    shown += [
        later
        for at, (visit, part) in enumerate(loads)
        for again, later in loads[at + 1 :]
        if again.cell_key == visit.cell_key
        and later.runtime_ms > part.runtime_ms
        and part.io_bytes * 1000 >= FASTER * _sustained(later) * part.runtime_ms
        and part.io_bytes - _sustained(later) * part.runtime_ms / 1000 >= _least(later, block_bytes)
    ]
    if not shown:
        return None
    # Earlier loads may have used the credit up, so that the longest shows none: its rate is the sustained one. One of
    # smaller blocks may be slow for their number, and tells no rate of bytes.
    block = max(_block(part) for part in shown)
    rates = [
        (part.runtime_ms, _sustained(_without_drain(visit, part, asked)))
        for visit, part in loads
        if 2 * _block(part) > block
    ]
    settled = [(ran_ms, rate) for ran_ms, rate in rates if rate < float("inf")]
    sustained = max(settled)[1] if settled else _sustained(max(shown, key=lambda part: part.runtime_ms))
    if max(_peak(part) for part in shown) < FASTER * sustained:
        return None
    ends = [start + part.runtime_ms / 1000 for start, part in made]
    # From each load on: what was moved, less what came back meanwhile.
    ahead = [
        sum(part.io_bytes for part in parts[first : last + 1]) - sustained * (ends[last] - made[first][0])
        for last in range(len(made))
        for first in range(last + 1)
    ]
    credit = max(*ahead, *(_excess(part, sustained) for part in shown))
    # Means while the credit lasts: an interval of a few milliseconds holds what a log wrote late, many times any rate.
    fast = [
        (_block(part), rate)
        for part in parts
        if (rate := rate_while_fed(_rates(part), sustained)) >= FASTER * sustained
    ]
    peak = max((rate for _, rate in fast), default=max(_peak(part) for part in parts))
    smallest, slowest = min(fast, default=(block_bytes, peak))  # of the smallest blocks: of large ones few tell a rate
    return Burst(target, direction, credit, sustained, peak, slowest_per_s=slowest, slowest_block_bytes=smallest)


def _block(part: Part) -> int:
    """Mean bytes of an I/O."""
    return part.io_bytes // max(1, part.total_ios)


def _without_drain(visit: Visit, part: Part, asked_ms: Mapping[int, int]) -> Part:
    """The part with the intervals of the time that its load was asked to run."""
    kept = asked_ms.get(visit.visit_id, 0) // max(1, part.series.interval_ms) or SERIES_POINTS
    return replace(part, series=replace(part.series, bw_bytes_per_s=part.series.bw_bytes_per_s[:kept]))


def rate_while_fed(rates: Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]], sustained: float) -> float:
    """Mean rate of a load until it was ahead of the sustained rate by nearly as much as it ever was: then the credit
    was used up, or the load ended.
    """
    if not len(rates):
        return 0.0
    moved = np.cumsum(np.asarray(rates, dtype=np.float64))
    count = np.arange(1, moved.size + 1)
    ahead = moved - sustained * count
    spent = int(np.argmax(ahead >= SPENT * ahead.max()))
    return float(moved[spent] / count[spent])


def _rates(part: Part) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """By interval; what drains after the window is left out."""
    return np.asarray(part.series.bw_bytes_per_s[:SERIES_POINTS], dtype=np.float64)


def _sustained(part: Part) -> float:
    """Rate of the second half of a load; without end where it has not settled, or cannot be told."""
    rates = _rates(part)
    if rates.size < 8:
        return float("inf")
    half = rates[rates.size // 2 :]
    # Means, for an interval may hold less than one I/O.
    first, second = float(half[: half.size // 2].mean()), float(half[half.size // 2 :].mean())
    settled = min(first, second) > 0 and abs(first - second) <= SETTLED * max(first, second)
    return float(half.mean()) if settled else float("inf")


def _excess(part: Part, sustained: float) -> float:
    """Most bytes that a load was ahead of the sustained rate."""
    rates = _rates(part)
    if not rates.size or not np.isfinite(sustained):
        return 0.0
    return float(np.max(np.cumsum(rates - sustained))) * part.series.interval_ms / 1000


def _least(part: Part, block_bytes: int) -> float:
    return max(LEAST_SECONDS * _sustained(part), LEAST_IOS * block_bytes)


def _peak(part: Part) -> float:
    return float(max(_rates(part), default=0.0))


def most_lead_ms(left_seconds: float | None, cells: int) -> int:
    """What a budget allows each load to run first."""
    if left_seconds is None:
        return LONGEST_LEAD_MS
    each = round(1000 * LEAD_SHARE * left_seconds / max(1, cells))
    return min(LONGEST_LEAD_MS, max(SHORTEST_LEAD_MS, each))


@dataclass(frozen=True)
class Bursts(KeptRecord):
    """The burst credits that the probes found."""

    NAME, CONTENT = "bursts", "bursts"
    bursts: tuple[Burst, ...] = ()

    def content(self) -> Any:
        return [asdict(one) for one in self.bursts]

    @classmethod
    def of_content(cls, content: Any) -> Self:
        return cls(tuple(Burst(**{**one, "unit": BurstUnit(one.get("unit", "bytes"))}) for one in content))

    def feeds(self, cell: Cell, visit: Visit) -> bool:
        """Whether a visit after a lead is still faster than can be sustained, by no more than credit could give. What
        is faster by more is not slowed down at all: a cache answers it.
        """
        for burst in self.of(cell.target, cell.directions):
            of_ios = burst.unit is BurstUnit.IOS
            parts = [part for part in visit.parts if part.direction == burst.direction]
            seconds = max((part.runtime_ms for part in parts), default=0) / 1000
            moved = sum(part.total_ios if of_ios else part.io_bytes for part in parts)
            rate = sum(_in_unit(burst, window_values(part, visit.window_start_ms)) for part in parts)
            ahead = moved - seconds * burst.sustained_bytes_per_s
            if rate > STILL_FAST * burst.sustained_bytes_per_s and ahead <= MORE_CREDIT * burst.credit_bytes:
                return True
        return False

    def outran(self, cell: Cell, visit: Visit) -> bool:
        """Whether a visit is faster than was sustained once the credit that the sweep used up was gone. Such visits are
        set aside when that is found; nothing in their own output shows it.
        """
        late = [one for one in self.of(cell.target, cell.directions) if one.fast_visits]
        values = [window_values(part, visit.window_start_ms) for part in visit.parts]
        return any(sum(_in_unit(one, of) for of in values) > STILL_FAST * one.sustained_bytes_per_s for one in late)

    def of(self, target: str, directions: Iterable[str]) -> list[Burst]:
        """Those that a load on a target meets."""
        wanted = set(directions)
        return [one for one in self.bursts if one.target == target and one.direction in wanted]

    def lead_ms(self, cell: Cell, idle_seconds: float, *, whole: bool = False) -> int:
        """The longest lead that a load needs after a pause; 0 where no burst is known."""
        met = self.of(cell.target, cell.directions)
        return max((one.lead_ms(idle_seconds, cell.bs_bytes, whole=whole) for one in met), default=0)


def standing(bursts: Iterable[Burst], cells: Mapping[str, Cell], visits: Iterable[Visit]) -> tuple[Burst, ...]:
    """The bursts that the sweep does not contradict: credit goes down once and stays there; a target that drifts does
    not.

    Judged by the cell whose probe ran longest, and what came back is used up before each of its visits: when a quarter
    of them are far above or below the sustained rate, it was none.
    """
    made = [
        (visit, part)
        for visit in visits
        for part in visit.parts
        if visit.cell_key in cells and (visit.purpose is Purpose.PROBE or not visit.discarded)
    ]
    return tuple(burst for burst in bursts if not _did_not_stay(burst, cells, made))


def _did_not_stay(burst: Burst, cells: Mapping[str, Cell], made: Iterable[tuple[Visit, Part]]) -> bool:
    mine = [
        (visit, part)
        for visit, part in made
        if part.direction == burst.direction and cells[visit.cell_key].target == burst.target
    ]
    probes = [(part.runtime_ms, visit.cell_key) for visit, part in mine if visit.purpose is Purpose.PROBE]
    if not probes or burst.fast_visits:  # what the sweep itself saw running out has visits set aside
        return False
    _, key = max(probes)
    rates = [
        _in_unit(burst, window_values(part, visit.window_start_ms))
        for visit, part in mine
        if visit.cell_key == key and visit.purpose in SWEPT
    ]
    far = [not 1 / FASTER < rate / burst.sustained_bytes_per_s < FASTER for rate in rates]
    return len(rates) >= FEWEST_VISITS and sum(far) >= AWAY * len(rates)


def _in_unit(burst: Burst, values: WindowValues) -> float:
    return values.iops if burst.unit is BurstUnit.IOS else values.bw_bytes_per_s


def burst_findings(bursts: Iterable[Burst], *, several: bool, estimates: Sequence[Estimate] = ()) -> list[Finding]:
    """One sentence for each. several: whether targets have to be told apart. estimates: as they are told."""
    found = []
    for one in bursts:
        on = f" on {one.target}" if several else ""
        seconds = one.credit_bytes / one.sustained_bytes_per_s
        size, peak, sustained = (
            _amount(one, one.credit_bytes),
            _rate(one, one.peak_bytes_per_s),
            _rate(one, one.sustained_bytes_per_s),
        )
        lasted = one.credit_bytes / max(1.0, one.peak_bytes_per_s - one.sustained_bytes_per_s)
        at = f"at up to {peak}" if lasted >= RESOLVED_SECONDS else "faster"
        sentence = (
            f"The first {size} of {one.direction}s{on} come {at}, then {sustained}{_exceeded(one, estimates)}. "
            f"{_credit(one, seconds)} {_measured(one)}"
        )
        title = f"Burst credit of {one.direction}s{on}"
        found.append(Finding(FindingCode.BURST, sentence, title=title, target=one.target, direction=one.direction))
    return found


def _exceeded(one: Burst, estimates: Iterable[Estimate]) -> str:
    """Where later loads were clearly faster than what came after the credit: no two sentences contradict each other."""
    if one.unit is not BurstUnit.BYTES or one.fast_cells:
        return ""
    mine = (e for e in estimates if (e.cell.target, e.direction, e.kind) == (one.target, one.direction, "measured"))
    best = max((speed(e) for e in eligible(mine)), default=0.0)
    return f" at first; later loads reached {format_rate(best)}" if best > REACHED * one.sustained_bytes_per_s else ""


def _amount(one: Burst, value: float) -> str:
    return format_size_rounded(value) if one.unit is BurstUnit.BYTES else f"{format_count(value)} I/Os"


def _rate(one: Burst, value: float) -> str:
    return format_rate(value) if one.unit is BurstUnit.BYTES else f"{format_count(value)} IOPS"


def _credit(one: Burst, seconds: float) -> str:
    """What the credit is. A fall in mid-sweep is all that was seen of one that ran out there."""
    if not one.fast_visits:
        return f"The credit is worth {seconds:.1f} s of that, and comes back while nothing runs."
    rest = format_duration(max(1.0, seconds))
    return f"A target that got slower looks the same: let it rest {rest}, then run again to tell."


def _measured(one: Burst) -> str:
    """How the values are to be taken."""
    usual = "Values are sustained rates: what came back is used up before each window."
    if not one.fast_visits:
        return usual
    seen = f"It ran out during the sweep: {one.fast_visits:,} earlier visits were set aside. "
    if not one.fast_cells:
        return seen + usual
    cells, values = ("1 cell was", "1 value is")
    if one.fast_cells > 1:
        cells, values = f"{one.fast_cells:,} cells were", f"{one.fast_cells:,} values are"
    return f"It ran out during the sweep: {cells} measured before and not again. {values} not sustained."
