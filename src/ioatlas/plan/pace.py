# SPDX-License-Identifier: Apache-2.0
"""How long a visit must run and its work take to drain, from what is known of the target so far."""

from __future__ import annotations

import math
from bisect import insort
from dataclasses import dataclass, field

from ioatlas.model.cell import Cell

IN_FLIGHT_WINDOWS = 10
COMPLETIONS_PER_JOB = 20
DRAIN = 1.5
SHORTEST_DRAIN, LONGEST_DRAIN = 0.5, 5.0
SLOW_SECONDS = 0.003
"""Latency from which a drain can be told in mean latencies: fio tells run times in whole milliseconds."""
GAP_MS = 2
MAX_WINDOW_MS = 120_000
OWN_PROCESS_GAP_MS = 250
"""Gap from which a visit of one client has a process of its own: its start takes no longer, and what is in flight at
the end of the window is then waited for, however long it takes.
"""
FLEET_OWN_PROCESS_GAP_MS = 1000
"""Likewise of several clients, which all take orders once a second and open what they work on."""
UNSURE = 4
"""How far bounds lie apart from which a cell is looked at with the least window first, and how many usual windows such
a look takes at most: a bound may be fifty times the truth, and a visit that was too short is made again.
"""
SPARE_MS = 100
MOST_SPARE_MS = 300
SHRUNK_SPARE_MS = 50
"""Kept free where a budget leaves no time to make an overlap good."""
LEAST_SHARE = 0.1
"""Least of a usual window that a short budget leaves: once what is in flight, two I/Os a job."""
SHORTEST_MS = 300


@dataclass
class Pace:
    """Upper bounds of the time one I/O takes, learned from visits.

    An I/O takes no less when blocks are larger or more are in flight, and at most in proportion to both; so any
    reading of the same target and mode bounds the latency of every other cell. By Little's law the bytes in flight
    divided by the bandwidth are that latency, so one figure gives the window (10 times the bytes in flight, 20
    completions a job) and the gap.
    """

    slots_ms: int
    """Shortest time from one section's start to the next, a multiple of 100 ms."""
    share: float = 1.0
    """Share of a usual window that the budget leaves."""
    own_process_gap_ms: int = OWN_PROCESS_GAP_MS
    """Gap from which a visit has a process of its own: of several clients it takes longer to start one."""
    spare_ms: int = 0
    """Kept free after each section besides its drain, since sections were seen to start late."""
    _drained: dict[str, list[float]] = field(default_factory=dict)
    _readings: dict[tuple[str, str], list[tuple[int, int, float]]] = field(default_factory=dict)
    _bounds: dict[str, tuple[float, float] | None] = field(default_factory=dict, compare=False)
    """Of cells that were asked for since the last reading."""

    def learn(self, cell: Cell, latency_seconds: float, drained: float | None = None) -> None:
        """Add a reading: mean time of one I/O, from the start of its submission to its completion.

        drained: time from the end of the window to the last completion, in mean latencies; None when it is not known.
        Where streams share a link unfairly it is many; the upper quartile decides, so that a stall does not lengthen
        every gap. Not used of fast cells, where the smallest gap is long enough.
        """
        if drained is not None and latency_seconds >= SLOW_SECONDS:
            insort(self._drained.setdefault(cell.target, []), drained)
        self._bounds.clear()
        rows = self._readings.setdefault((cell.target, cell.rw.split(":")[0]), [])
        rows[:] = [row for row in rows if row[:2] != (cell.bs_bytes, cell.outstanding)]
        rows.append((cell.bs_bytes, cell.outstanding, latency_seconds))

    def latency_seconds(self, cell: Cell) -> float | None:
        """Upper bound of the time one I/O of the cell takes; None while nothing is known."""
        bs_bytes, in_flight = cell.bs_bytes, cell.outstanding
        bounds = [
            latency * max(1.0, bs_bytes / bs) * max(1.0, in_flight / outstanding)
            for bs, outstanding, latency in self._rows(cell)
        ]
        paced = cell.option.get("rate_iops")
        bound = min(bounds, default=None)
        if bound is not None and paced:
            rate = min(float(part) for part in str(paced).split(",") if part)
            bound = max(bound, 1 / rate)
        return bound

    def bounds_seconds(self, cell: Cell) -> tuple[float, float] | None:
        """Lower and upper bound of the time one I/O of the cell takes; None while nothing is known.

        From below: a target that is saturated answers in proportion to the bytes in flight, so a heavier reading
        bounds a lighter cell by that proportion. Both are equal where the cell or its like was read. Where readings
        contradict each other the longer time is the upper bound.
        """
        if cell.key not in self._bounds:
            self._bounds[cell.key] = self._bounds_seconds(cell)
        return self._bounds[cell.key]

    def _bounds_seconds(self, cell: Cell) -> tuple[float, float] | None:
        above = self.latency_seconds(cell)
        if above is None:
            return None
        rows = self._rows(cell)
        read = next((row[2] for row in rows if row[:2] == (cell.bs_bytes, cell.outstanding)), None)
        if read is not None and not cell.option.get("rate_iops"):
            return read, read
        below = max(
            latency * min(1.0, cell.bs_bytes / bs) * min(1.0, cell.outstanding / outstanding)
            for bs, outstanding, latency in rows
        )
        return min(above, below), max(above, below)

    def _rows(self, cell: Cell) -> list[tuple[int, int, float]]:
        """Readings of the cell's target and mode, or of its other modes while there are none."""
        return self._readings.get((cell.target, cell.rw.split(":")[0])) or [
            row for (target, _), known in self._readings.items() if target == cell.target for row in known
        ]

    def runtime_and_gap_ms(self, cell: Cell) -> tuple[int, int]:
        """Milliseconds that the load of one visit runs, and that its work in flight may take to drain."""
        below, above = self.bounds_seconds(cell) or (0.0, 0.0)
        drain_ms = math.ceil(1000 * above * self._drain(cell.target))
        spare_ms = self.spare_ms if self.share == 1 else max(self.spare_ms, SHRUNK_SPARE_MS)
        gap_ms = max(GAP_MS, drain_ms) + spare_ms
        if drain_ms >= self.own_process_gap_ms:
            # In a process of its own: nobody waits for longer than it takes, which is likely this.
            gap_ms = max(self.own_process_gap_ms, math.ceil(1000 * math.sqrt(below * above) * self._drain(cell.target)))
        latency_ms = 1000 * (above if above < UNSURE * below else below)
        needed_ms = self.share * latency_ms * max(IN_FLIGHT_WINDOWS, COMPLETIONS_PER_JOB / cell.iodepth)
        if below < above:
            needed_ms = min(needed_ms, self.share * UNSURE * self.slots_ms)
        shortest_ms = min(SHORTEST_MS, self.slots_ms)
        slots_ms = max(shortest_ms, self.share * self.slots_ms)
        runtime_ms = max(slots_ms - max(GAP_MS, drain_ms), shortest_ms - GAP_MS, needed_ms)
        runtime_ms = min(MAX_WINDOW_MS, runtime_ms)
        # Sections end on multiples of 100 ms: what is left of the last one is better measured than waited.
        runtime_ms = math.ceil((runtime_ms + gap_ms) / 100) * 100 - gap_ms
        return int(runtime_ms), gap_ms

    def widen(self) -> None:
        """Keep more time free after each section: some started later than they were due, into their neighbours."""
        self.spare_ms = min(MOST_SPARE_MS, self.spare_ms + SPARE_MS)

    def _drain(self, target: str) -> float:
        """Mean latencies to leave for the work in flight: half as long again as three in four took."""
        seen = self._drained.get(target)
        return min(LONGEST_DRAIN, max(SHORTEST_DRAIN, DRAIN * seen[3 * len(seen) // 4])) if seen else DRAIN
