# SPDX-License-Identifier: Apache-2.0
"""Targets that moved inside replicates as much as between them: what is found, and how it is told."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import expm1

from ioatlas.analysis.windows import window_values
from ioatlas.model.cell import Cell
from ioatlas.model.drift import Wander
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.purpose import SWEPT
from ioatlas.model.visit import Visit
from ioatlas.stats.wander import wander


def wanders(cells: Mapping[str, Cell], visits: Iterable[Visit]) -> tuple[Wander, ...]:
    """How each target's level went over the sweep, of those whose level did not stay. cells by key."""
    swept: dict[str, list[Visit]] = {}
    for visit in sorted(visits, key=lambda visit: visit.started_at):
        if visit.cell_key in cells and visit.purpose in SWEPT and not visit.discarded:
            swept.setdefault(cells[visit.cell_key].target, []).append(visit)
    found = []
    for target, mine in swept.items():
        rows = [
            (f"{visit.cell_key}/{part.direction}", visit.started_at, value)
            for visit in mine
            for part in visit.parts
            if (value := window_values(part, visit.window_start_ms).bw_bytes_per_s) > 0
        ]
        path = wander([row[0] for row in rows], [row[2] for row in rows])
        if path is not None:
            begin = rows[0][1]
            low_at, high_at = (rows[place][1] - begin for place in (path.low_at, path.high_at))
            found.append(Wander(target, expm1(path.low), expm1(path.high), low_at, high_at, path.method))
    return tuple(found)


def wander_findings(found: Sequence[Wander], told: Collection[str], *, several: bool) -> tuple[Finding, ...]:
    """One for each target of which nothing else said that it moved. several: whether targets have to be told apart."""
    return tuple(
        Finding(
            FindingCode.DRIFT,
            f"{one.target if several else 'The target'} drifted during the sweep: {wander_words(one)}.",
            target=one.target,
        )
        for one in found
        if one.target not in told
    )


def wander_words(one: Wander) -> str:
    """'-78% from its middle after 12 s, +110% after 31 s'."""
    ends = sorted(((one.low_seconds, one.low), (one.high_seconds, one.high)))
    (first_seconds, first), (last_seconds, last) = ends
    return f"{first:+.0%} from its middle after {first_seconds:.0f} s, {last:+.0%} after {last_seconds:.0f} s"
