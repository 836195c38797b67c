# SPDX-License-Identifier: Apache-2.0
"""Random complete block designs: every replicate visits every cell once, in an order of its own (Abedi and Brecht,
ICPE 2017). Baseline visits of one cell come back at regular places between, so that drift shows apart from the cells.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from math import ceil, log2
from statistics import median

from ioatlas.model.cell import Cell


def random_replicates(keys: Sequence[str], replicates: int, seed: int) -> list[tuple[str, int, int]]:
    """(cell key, replicate, seed of the visit) in the order in which the visits are to be made; equal seeds give equal
    orders.
    """
    generator = random.Random(seed)  # noqa: S311 - an order, not a secret
    order: list[tuple[str, int, int]] = []
    for replicate in range(replicates):
        shuffled = list(keys)
        generator.shuffle(shuffled)
        order += [(key, replicate, generator.randrange(1, 2**31)) for key in shuffled]
    return order


SHARE = 0.05
"""Of the visits of a sweep that may be baseline visits."""
FEWEST = 4
"""Fewer readings draw no chart: the sweep goes without."""
USUAL_SPACING = 25
"""Visits from one baseline visit to the next where the number of visits is not known beforehand."""


def choose_baseline_cell(cells: Iterable[Cell]) -> Cell | None:
    """The cell of one target that stands for it: bounded by time, reading where any reads, in the middle of block
    size, load and footprint.

    A cell at the edge of the map may sit in a cache or be limited by the client, and would not see the target move.
    """
    able = [cell for cell in cells if not cell.work_bounded and cell.loop == "closed"]
    able = [cell for cell in able if not cell.writes] or able
    if not able:
        return None
    places = {
        cell.key: (log2(max(1, cell.bs_bytes)), log2(cell.outstanding), log2(max(1, cell.footprint_bytes)))
        for cell in able
    }
    middle = [median(place[axis] for place in places.values()) for axis in range(3)]
    spread = [max(1.0, *(abs(place[axis] - middle[axis]) for place in places.values())) for axis in range(3)]

    def distance(cell: Cell) -> tuple[float, str]:
        return sum(
            ((place - at) / wide) ** 2 for place, at, wide in zip(places[cell.key], middle, spread, strict=True)
        ), cell.key

    return min(able, key=distance)


def spacing(visits: int | None) -> int | None:
    """Visits from one baseline visit to the next, so that one stands at the start and one at the end; None for a
    sweep that
    is too short.

    visits: of the whole sweep; None when it is not known.
    """
    if visits is None:
        return USUAL_SPACING
    allowed = int(SHARE * visits)
    return ceil(visits / (allowed - 1)) if allowed >= FEWEST else None


def places_for(done: int, made: int, waiting: Sequence[object], step: int, *, first: int = 0) -> list[int]:
    """Indices into the waiting visits before which a baseline visit is due.

    done: visits of the sweep begun so far; made: baseline visits so far; first: visits before the first one.
    """
    return list(range(max(0, first + made * step - done), len(waiting), step))
