# SPDX-License-Identifier: Apache-2.0
"""What a map does with the time that is left after its sweep: cells that have no value yet, then longer windows where a
verdict was withheld, then further visits where the interval is wide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ioatlas.analysis.estimates import estimate_cells, judged_visits
from ioatlas.analysis.precision import half_width
from ioatlas.analysis.windows import window_values
from ioatlas.design.exhaustive import random_replicates
from ioatlas.design.pace import MAX_WINDOW_MS
from ioatlas.model.cell import Cell
from ioatlas.model.purpose import Purpose
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import Visit
from ioatlas.stats.verdict import FEWEST, FEWEST_IOS
from ioatlas.store.journal import NewVisit

MOST_TRIES = 2
"""Visits of a cell that may fail or be discarded before it is given up."""
AT_ONCE = 4
"""Cells without a value that are planned before their cost is reckoned anew."""
MOST_LENGTHENED = 3
"""Visits of a cell whose verdict was withheld, after which no longer one is made."""
LONGEST_UNASKED_MS = 20_000
"""Longest window that is made where nobody said how long the campaign may take."""
LONGER = 1.5
FEW_IOS = 50
"""I/Os that a window holds at least where there is time, if not enough for a verdict."""
FEW_WAVES = 4
"""Times what is in flight that it holds at least."""
MARGIN = 1.6
"""Windows that are to hold enough I/Os are this much longer: intervals are taken together in whole numbers."""
GOOD = 0.05
"""Half-width of an interval, as a share, below which a cell needs no further visit."""
MOST_VISITS = 6
LAST_RANK = 5
"""Of cells that no headline needs."""
DEAREST = 2.0
"""Times the cheapest cell of its kind that a telling one may cost."""
FIRST = 2
"""Visits with which a cell has an interval of its own."""


class Cost(Protocol):
    """Expected seconds of one visit of a cell, at its usual window or one of `runtime_ms`."""

    def __call__(self, cell: Cell, runtime_ms: int | None = None) -> float: ...


@dataclass(frozen=True)
class Known:
    """What a sweep has come to so far.

    cells: to be measured. visits: all that were finished. asked_ms: how long each was to run, by visit_id.
    gone: keys of cells that failed as often as they may. left_seconds: of the budget for the sweep, None without one.
    alone: keys of cells that have a process of their own.
    """

    cells: Sequence[Cell]
    visits: Sequence[Visit]
    asked_ms: Mapping[int, int]
    gone: frozenset[str]
    left_seconds: float | None
    visits_wanted: int
    seed: int
    alone: frozenset[str] = frozenset()

    @property
    def swept(self) -> dict[str, list[Visit]]:
        """Visits of the sweep that count, by cell."""
        found: dict[str, list[Visit]] = {}
        for visit in self.visits:
            if visit.purpose is Purpose.SWEEP and not visit.discarded:
                found.setdefault(visit.cell_key, []).append(visit)
        return found

    @property
    def next_replicate(self) -> int:
        return 1 + max((visit.replicate for visit in self.visits if visit.purpose is Purpose.SWEEP), default=-1)

    def affordable(self, wanted: Sequence[tuple[Cell, int | None]], cost: Cost) -> list[tuple[Cell, int | None]]:
        """Of (cell, runtime) in their order those that there is time for."""
        if self.left_seconds is None:
            return list(wanted)
        left, kept = self.left_seconds, []
        for cell, runtime_ms in wanted:
            seconds = cost(cell, runtime_ms)
            if seconds <= left:
                left -= seconds
                kept.append((cell, runtime_ms))
        return kept

    def rows(self, chosen: Sequence[tuple[Cell, int | None]], *, shuffled: bool = True) -> list[NewVisit]:
        """One visit of each, as a replicate of its own; in a random order, or in theirs."""
        number = self.next_replicate
        windows = {cell.key: runtime_ms for cell, runtime_ms in chosen}
        seeds = {key: seed for key, _, seed in random_replicates(sorted(windows), 1, self.seed + number)}
        return [NewVisit(key, number, seeds[key], runtime_ms=windows[key]) for key in (seeds if shuffled else windows)]


def without_value(known: Known, cost: Cost) -> list[NewVisit]:
    """Visits of the cells that have none yet, the most telling first, then the cheapest: those that share a process,
    else a few at a time, since they tell what others cost.
    """
    swept = known.swept
    ranks = {} if known.alone else telling(known.cells, cost)  # of a slow target the cheap ones tell what others cost
    cells = [cell for cell in known.cells if cell.key not in swept and cell.key not in known.gone]
    cells.sort(key=lambda cell: (ranks.get(cell.key, LAST_RANK), cost(cell), cell.bs_bytes * cell.outstanding))
    chosen = known.affordable([(cell, None) for cell in cells], cost)
    together = [one for one in chosen if one[0].key not in known.alone]
    return known.rows(together or chosen[:AT_ONCE], shuffled=False)


def telling(cells: Sequence[Cell], cost: Cost) -> dict[str, int]:
    """Ranks of the cells that a headline needs of each target and kind of load: most bytes where it is sequential and
    most I/Os where it is random, then the other way round, at last the least latency.

    Among cells that cost little more than the cheapest of their kind, so that a slow one keeps nobody waiting.
    """
    kinds: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        kinds.setdefault((cell.target, cell.rw), []).append(cell)
    ranks: dict[str, int] = {}
    for (_, rw), kind in kinds.items():
        least = min(cost(cell) for cell in kind)
        fair = [cell for cell in kind if cost(cell) <= DEAREST * least]
        large = max(fair, key=lambda cell: (cell.bs_bytes, cell.outstanding))
        many = max(fair, key=lambda cell: (-cell.bs_bytes, cell.outstanding))
        light = min(fair, key=lambda cell: (cell.bs_bytes, cell.outstanding))
        first, second = (many, large) if rw.startswith("rand") else (large, many)
        shift = int(first is many)
        for one, rank in ((first, shift), (second, 2 + shift), (light, 4)):
            ranks.setdefault(one.key, rank)
    return ranks


def too_short(known: Known, cost: Cost) -> list[NewVisit]:
    """Longer visits of the cells whose verdict is withheld because their windows hold too few I/Os."""
    wanted = []
    swept = known.swept
    longest_ms = MAX_WINDOW_MS if known.left_seconds is not None else LONGEST_UNASKED_MS
    for cell in known.cells:
        visits = judged_visits(swept.get(cell.key, []))
        withheld = [visit for visit in visits if visit.verdict.code is VerdictCode.TOO_SHORT]
        if not withheld or len(withheld) < len(visits) or cell.work_bounded:
            continue
        if len({visit.replicate for visit in swept[cell.key]}) >= max(known.visits_wanted, 1) + MOST_LENGTHENED:
            continue
        need_ms, had_ms = needed_ms(cell, withheld), max(known.asked_ms.get(visit.visit_id, 0) for visit in withheld)
        if LONGER * had_ms <= need_ms <= longest_ms:
            wanted.append((cell, need_ms))
    wanted.sort(key=lambda one: cost(*one))
    return known.rows(known.affordable(wanted, cost))


def fuller(known: Known, cost: Cost) -> list[NewVisit]:
    """Longer visits of the cells whose windows hold so few I/Os that their edges count, where time does not suffice
    for a verdict; the fastest first, for the best one is told.
    """
    if known.left_seconds is None:
        return []
    wanted: list[tuple[float, Cell, int]] = []
    swept = known.swept
    for cell in known.cells:
        visits = judged_visits(swept.get(cell.key, []))
        need_ms = fuller_ms(cell, visits, known.asked_ms)
        if need_ms is not None and len(swept[cell.key]) < max(known.visits_wanted, 1) + MOST_LENGTHENED:
            wanted.append((-max(bytes_per_s(visit) for visit in visits), cell, need_ms))
    wanted.sort(key=lambda one: (one[0], one[1].key))
    return known.rows(known.affordable([(cell, need_ms) for _, cell, need_ms in wanted], cost))


def fuller_ms(cell: Cell, visits: Sequence[Visit], asked_ms: Mapping[int, int]) -> int | None:
    """Window that holds enough I/Os for its edges not to count, at the speed of these visits; None where theirs do, or
    one of them has a verdict.
    """
    if not visits or cell.work_bounded or any(visit.verdict.code is not VerdictCode.TOO_SHORT for visit in visits):
        return None
    seconds = sum(_seconds(visit) for visit in visits)
    ios = sum(_iops(visit) * _seconds(visit) for visit in visits)
    need_ms = math.ceil(1000 * max(FEW_IOS, FEW_WAVES * cell.outstanding) * seconds / max(ios, 1.0))
    had_ms = max(asked_ms.get(visit.visit_id, 0) for visit in visits)
    return need_ms if LONGER * had_ms <= need_ms <= MAX_WINDOW_MS else None


def bytes_per_s(visit: Visit) -> float:
    return sum(window_values(part, visit.window_start_ms).bw_bytes_per_s for part in visit.parts)


def _iops(visit: Visit) -> float:
    return sum(window_values(part, visit.window_start_ms).iops for part in visit.parts)


def _seconds(visit: Visit) -> float:
    return max((window_values(part, visit.window_start_ms).seconds for part in visit.parts), default=0.0)


def wide(known: Known, cost: Cost) -> list[NewVisit]:
    """Further visits of cells with fewer than were asked for, or whose interval is wide; the widest first.

    Only with a budget: it says how much time may be used.
    """
    if known.left_seconds is None:
        return []
    swept = known.swept
    cells = {cell.key: cell for cell in known.cells if cell.key in swept and not cell.work_bounded}
    widths: dict[str, float] = {}
    for estimate in estimate_cells(cells, known.visits):
        least = max(FIRST, known.visits_wanted)
        few = estimate.n_visits < least
        width = math.inf if few else half_width(estimate)
        if few or (width > GOOD and estimate.n_visits < max(MOST_VISITS, least)):
            key = estimate.cell.key
            widths[key] = max(width, widths.get(key, 0.0))
    order = sorted(widths, key=lambda key: (-widths[key], cost(cells[key]), key))
    return known.rows(
        known.affordable([(cells[key], lengthened_ms(known.asked_ms, swept[key])) for key in order], cost)
    )


def needed_ms(cell: Cell, visits: Sequence[Visit]) -> int:
    """Window that holds as many I/Os as a verdict takes, at the speed of these visits."""
    seconds = sum(_seconds(visit) for visit in visits)
    ios = sum(_iops(visit) * _seconds(visit) for visit in visits)
    return math.ceil(1000 * MARGIN * FEWEST * max(FEWEST_IOS, cell.outstanding) * seconds / max(ios, 1))


def lengthened_ms(asked_ms: Mapping[int, int], visits: Sequence[Visit]) -> int | None:
    """How long further visits of a cell run whose windows had to be longer than usual; None where they had not."""
    judged = judged_visits(visits)
    return min(asked_ms.get(visit.visit_id, 0) for visit in judged) if len(judged) < len(visits) else None
