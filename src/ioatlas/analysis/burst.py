# SPDX-License-Identifier: Apache-2.0
"""Burst credit: a target that answers faster until a number of bytes has gone through, then at its sustained rate.

Token buckets, volumes with credits and write caches of drives do that. The credit comes back at the sustained rate
while nothing runs, so a window after a pause reads too high unless what came back is used up before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.outcomes import KeptRecord
from ioatlas.model.units import format_rate, format_size_rounded
from ioatlas.model.visit import Part, Visit

LEAST_SECONDS = 0.25
"""Least credit that matters, in seconds of the sustained rate: half of a short window."""
LEAST_IOS = 3
FASTER = 1.5
"""How many times the sustained rate a burst reaches at least."""
SETTLED = 0.25
"""Share by which the rate may still fall in the second half of a load whose end is taken for sustained."""
SERIES_POINTS = 50
"""Intervals in a window."""
LEAD_TIMES = 2.0
SHORTEST_LEAD_MS, LONGEST_LEAD_MS = 50, 2000


@dataclass(frozen=True)
class Burst:
    """credit_bytes: what came above the sustained rate. peak: fastest rate while it lasted."""

    target: str
    direction: str
    credit_bytes: float
    sustained_bytes_per_s: float
    peak_bytes_per_s: float

    def lead_ms(self, idle_seconds: float) -> int:
        """How long a load has to run after a pause until the credit that came back is used up; it comes at the
        sustained rate, and goes at what the target does above that.
        """
        back = min(self.credit_bytes, idle_seconds * self.sustained_bytes_per_s)
        above = self.peak_bytes_per_s - self.sustained_bytes_per_s
        return round(min(LONGEST_LEAD_MS, max(SHORTEST_LEAD_MS, LEAD_TIMES * 1000 * back / above)))


def find_burst(target: str, direction: str, block_bytes: int, visits: Iterable[Visit]) -> Burst | None:
    """What probes of one target and direction, in the order of their making, tell of a burst; None where there is none.

    A load shows it by itself: more at its start than its own end would have given. What others moved above that rate
    adds to the credit.
    """
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
    sustained = _sustained(max(shown, key=lambda part: part.runtime_ms))
    ends = [start + part.runtime_ms / 1000 for start, part in made]
    # From each load on: what was moved, less what came back meanwhile.
    ahead = [
        sum(part.io_bytes for part in parts[first : last + 1]) - sustained * (ends[last] - made[first][0])
        for last in range(len(made))
        for first in range(last + 1)
    ]
    credit = max(*ahead, *(_excess(part, sustained) for part in shown))
    return Burst(target, direction, credit, sustained, max(_peak(part) for part in parts))


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


@dataclass(frozen=True)
class Bursts(KeptRecord):
    """The burst credits that the probes found."""

    NAME, CONTENT = "bursts", "bursts"
    bursts: tuple[Burst, ...] = ()

    def content(self) -> Any:
        return [asdict(one) for one in self.bursts]

    @classmethod
    def of_content(cls, content: Any) -> Self:
        return cls(tuple(Burst(**one) for one in content))

    def lead_ms(self, target: str, directions: Iterable[str], idle_seconds: float) -> int:
        """The longest lead that a load on a target needs after a pause; 0 where no burst is known."""
        wanted = set(directions)
        mine = [one for one in self.bursts if one.target == target and one.direction in wanted]
        return max((one.lead_ms(idle_seconds) for one in mine), default=0)


def burst_findings(bursts: Iterable[Burst], *, several: bool) -> list[Finding]:
    """One sentence for each. several: whether targets have to be told apart."""
    found = []
    for one in bursts:
        on = f" on {one.target}" if several else ""
        seconds = one.credit_bytes / one.sustained_bytes_per_s
        sentence = (
            f"Burst credit: the first {format_size_rounded(one.credit_bytes)} of {one.direction}s{on} come at up to "
            f"{format_rate(one.peak_bytes_per_s)}, then {format_rate(one.sustained_bytes_per_s)}. "
            f"The credit is worth {seconds:.1f} s of that, and comes back while nothing runs. "
            "Values are sustained rates: what came back is used up before each window."
        )
        title = f"Burst credit of {one.direction}s{on}"
        found.append(Finding(FindingCode.BURST, sentence, title=title, target=one.target, direction=one.direction))
    return found
