# SPDX-License-Identifier: Apache-2.0
"""What the visits of a sweep say about drift: the replicates to void and repeat, and how the level of a target that did
not stay went over the time; what moves from one set-up of a target to the next, and the doubt that this adds to every
figure.

Configurations that cannot exist side by side are set up several times. The level of a set-up is the mean over cells of
the mean logarithm of their visits. How far the levels of one target lie apart is pooled over all targets: few set-ups
of each still give a variance. It holds drift over hours as well as what setting up makes different.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, expm1, hypot, log, sqrt

import numpy as np

from ioatlas.answer.analysis.estimates import window_values
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, Value, common
from ioatlas.model.outcomes import VoidedReplicate
from ioatlas.model.panel import Table
from ioatlas.model.result import ReplicateRow, Wander, counted, ordinal
from ioatlas.model.verdict import ReasonCode
from ioatlas.model.visit import SWEPT, Purpose, Visit, set_up_of
from ioatlas.stats.distributions import t_quantile
from ioatlas.stats.drift import (
    RELEVANT_SHIFT,
    ReplicateFit,
    fit_replicates,
    lost_cells,
    replicate_shift,
    shift_within,
    wander,
)

MOST_TOLD = 3


def replicate_rows(
    cells: Mapping[str, Cell], visits: Iterable[Visit], voided: Sequence[VoidedReplicate] = ()
) -> tuple[ReplicateRow, ...]:
    """Every replicate of the sweep: those that stand, from the throughput of their visits, and those that were voided,
    as the journal keeps them. cells by key; visits: all of the campaign.

    Of targets with fewer than two replicates, or whose replicates share no cell, nothing can be said.
    """
    swept: dict[str, list[Visit]] = {}
    for visit in visits:
        if visit.cell_key in cells and visit.purpose in SWEPT and not _voided(visit):
            swept.setdefault(cells[visit.cell_key].target, []).append(visit)
    rows = [row for target, mine in swept.items() for row in _rows(target, mine)]
    for one in voided:
        again = f"voided and repeated as replicate {ordinal(one.again)}: {one.reason}"
        counts = (one.visits, one.discarded, one.effect, one.error)
        rows.append(ReplicateRow(one.target, one.replicate, *counts, again, voided=True))
    return tuple(sorted(rows, key=lambda row: (row.target, row.replicate)))


def to_repeat(rows: Sequence[ReplicateRow]) -> dict[str, list[ReplicateRow]]:
    """{target: replicates to void and repeat}: those out of line, as long as they are fewer than the others; else the
    target moves, not a replicate.
    """
    chosen: dict[str, list[ReplicateRow]] = {}
    for target in dict.fromkeys(row.target for row in rows):
        mine = [row for row in rows if row.target == target and not row.voided]
        bad = [row for row in mine if row.note]
        if bad and 2 * len(bad) < len(mine):
            chosen[target] = bad
    return chosen


def in_doubt(rows: Sequence[ReplicateRow]) -> dict[str, ReplicateRow]:
    """{target: one of its two replicates that differ}: a third replicate decides which of them moved."""
    return {row.target: row for row in rows if row.in_doubt}


def _voided(visit: Visit) -> bool:
    return any(reason.code is ReasonCode.VOIDED for reason in visit.discarded)


def _rows(target: str, visits: list[Visit]) -> list[ReplicateRow]:
    read = []
    for visit in sorted(_in_company(visits), key=lambda visit: visit.started_at):
        read += [(key, visit.replicate, value) for key, value in _values(visit) if not visit.discarded]
    if len({replicate for _, replicate, _ in read}) < 2:
        return []
    try:
        fit = fit_replicates([one[0] for one in read], [one[1] for one in read], [one[2] for one in read])
    except UsageError:
        return []  # the replicates share no cell
    rows = []
    lost = {replicate: _lost(visits, replicate) for replicate in fit.effects}
    for replicate in sorted(fit.effects):
        inside = [float(residual) for residual, one in zip(fit.residuals, read, strict=True) if one[1] == replicate]
        total = [visit for visit in visits if visit.replicate == replicate and visit.purpose is Purpose.SWEEP]
        others = [lost[other] for other in lost if other != replicate]
        shift = shift_within(inside)
        reasons = (
            replicate_shift(fit, replicate),
            lost_cells(*lost[replicate], sum(n for n, _ in others), sum(n for _, n in others)),
            shift[1] if shift else "",
        )
        counts = (len(total), sum(bool(visit.discarded) for visit in total))
        level = (expm1(fit.effects[replicate]), fit.errors[replicate])
        rows.append(ReplicateRow(target, replicate, *counts, *level, "; ".join(filter(None, reasons))))
    return _doubted(rows, fit)


def _values(visit: Visit) -> Iterator[tuple[str, float]]:
    """The throughput of each direction, by what it is of."""
    for part in visit.parts:
        value = window_values(part, visit.window_start_ms).bw_bytes_per_s
        if value > 0:
            yield f"{visit.cell_key}/{part.direction}", value


def _in_company(visits: list[Visit]) -> list[Visit]:
    """The visits without those that ran in a fio of their own, unless most did.

    What is made again runs by itself, after its replicate and after a pause in which a target may save credit: it would
    pass for a shift.
    """
    size = Counter(visit.batch_id for visit in visits)
    together = [visit for visit in visits if size[visit.batch_id] > 1]
    return together if 2 * len(together) > len(visits) else visits


def _lost(visits: Sequence[Visit], replicate: int) -> tuple[int, int]:
    """Cells of a replicate that no visit counts for, and its cells."""
    mine = [visit for visit in visits if visit.replicate == replicate and visit.purpose is Purpose.SWEEP]
    cells = {visit.cell_key for visit in mine}
    return len(cells - {visit.cell_key for visit in mine if not visit.discarded}), len(cells)


def _doubted(rows: list[ReplicateRow], fit: ReplicateFit) -> list[ReplicateRow]:
    """Of two replicates that differ by a relevant shift, four standard errors away, nobody knows which one moved."""
    if len(rows) != 2:
        return rows
    first, second = rows
    difference = fit.effects[second.replicate] - fit.effects[first.replicate]
    if abs(expm1(difference)) < RELEVANT_SHIFT or abs(difference) < 4 * float(fit.apart[0, 1]):
        return rows
    said = f"replicates {counted(first.replicate)} and {counted(second.replicate)} differ by {expm1(difference):+.0%}"
    return [replace(row, note="; ".join(filter(None, (row.note, said))), in_doubt=True) for row in rows]


def replicate_table(rows: Sequence[ReplicateRow]) -> tuple[Table, ...]:
    """The table of replicates, as a report draws it; none without replicates."""
    names = ("target", "replicate", "visits", "discarded", "level", "standard error", "what became of it")
    first = 0 if len({row.target for row in rows}) > 1 else 1
    texts = []
    for row in rows:
        level, error = (f"{row.effect:+.1%}", f"{row.error:.1%}") if row.effect is not None else ("", "")
        counts = (counted(row.replicate), str(row.n_visits), str(row.n_discarded))
        texts.append((row.target, *counts, level, error, row.note or "stands")[first:])
    note = "A replicate visits the cells once, in an order of its own. Levels are against the mean of the replicates."
    return (Table("Replicates of the sweep", names[first:], tuple(texts), note, after_map=True),) if texts else ()


def wanders(cells: Mapping[str, Cell], visits: Iterable[Visit]) -> tuple[Wander, ...]:
    """How each target's level went over the sweep, of those whose level did not stay. cells by key."""
    swept: dict[str, list[Visit]] = {}
    for visit in sorted(visits, key=lambda visit: visit.started_at):
        if visit.cell_key in cells and visit.purpose in SWEPT and not visit.discarded:
            swept.setdefault(cells[visit.cell_key].target, []).append(visit)
    found = []
    for target, mine in swept.items():
        read = [(key, visit.started_at, value) for visit in mine for key, value in _values(visit)]
        path = wander([one[0] for one in read], [one[2] for one in read])
        if path is not None:
            begin, end, change = path
            words = course_words(expm1(change), read[begin][1] - read[0][1], read[end][1] - read[0][1])
            found.append(Wander(target, expm1(change), words))
    return tuple(found)


def shifts(rows: Sequence[ReplicateRow], wandered: Sequence[Wander]) -> list[tuple[float, str, str]]:
    """(how far, in words, target) of what moved and stands: replicates out of line; of targets that have none, their
    whole course.
    """
    found = [
        (abs(row.effect), f"of replicate {ordinal(row.replicate)} was {_level_words(row.effect)}", row.target)
        for row in rows
        if row.note and not row.voided and row.effect is not None
    ]
    known = {target for _, _, target in found}
    return found + [(abs(one.change), one.words, one.target) for one in wandered if one.target not in known]


def drift_findings(rows: Sequence[ReplicateRow], wandered: Sequence[Wander] = ()) -> Iterator[Finding]:
    """Replicates that were voided and repeated, and what moved and stands."""
    again: list[dict[str, str]] = [
        {"target": row.target, "replicate": ordinal(row.replicate), "note": row.note} for row in rows if row.voided
    ]
    moved = [{"target": target, "shift": text} for _, text, target in shifts(rows, wandered)]
    for name, told in (("voided", again), ("moved", moved)):
        if told:
            values: dict[str, Value] = {name: told[:MOST_TOLD], f"n_{name}": len(told)}
            values["n_more"] = max(0, len(told) - MOST_TOLD) or None
            yield Finding(FindingCode.DRIFT, values, target=common(one["target"] for one in told))


def _level_words(effect: float) -> str:
    """'2.1 times as fast as the others', '21% slower than the others'."""
    if effect >= 0.8:
        return f"{1 + effect:.2g} times as fast as the others"
    return f"{abs(effect):.0%} {'faster' if effect > 0 else 'slower'} than the others"


def course_words(change: float, begin: float, end: float, now: str = "") -> str:
    """'fell by 17% from 0 s to 52 s of the run: the numbers are its mean; now reads 89.4 MiB/s, writes 88.9 MiB/s'."""
    told = f"{'fell' if change < 0 else 'rose'} by {abs(change):.0%} from {begin:.0f} s to {end:.0f} s of the run"
    return f"{told}: the numbers are its mean{'; now ' * bool(now)}{now}"


METHOD = "set-ups/1"
FEWEST = 2
_FIELDS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "bw_bytes_per_s": (("bw_bytes_per_s", "bw_low", "bw_high"), ("iops", "iops_low", "iops_high")),
    "lat_mean_ns": (("lat_mean_ns", "lat_mean_low_ns", "lat_mean_high_ns"),),
    "lat_p99_ns": (("lat_p99_ns", "lat_p99_low_ns", "lat_p99_high_ns"),),
}

Values = Mapping[tuple[Hashable, int], Sequence[float]]
"""Of one target: what its visits gave, by cell and set-up; all above zero."""


@dataclass(frozen=True)
class Between:
    """variance: of the logarithm of the level of one set-up. dof: its degrees of freedom."""

    variance: float
    dof: int

    def half_width(self, set_ups: int, confidence: float = 0.95) -> float:
        """Of the mean of so many set-ups, a logarithm."""
        return t_quantile(0.5 + confidence / 2, self.dof) * sqrt(self.variance / max(1, set_ups))

    def variance_of_difference(self, first: int, second: int, level: float = 0.05) -> float:
        """Of two means of so many set-ups each; larger by what Student's t is wider than the normal distribution."""
        wider = t_quantile(1 - level / 2, self.dof) / t_quantile(1 - level / 2, float("inf"))
        return self.variance * (1 / first + 1 / second) * wider**2


def levels(values: Values) -> list[float]:
    """The level of each set-up over the cells that all of them have; none with fewer than two."""
    known: dict[Hashable, dict[int, float]] = {}
    for (cell, number), each in values.items():
        if each and min(each) > 0:
            known.setdefault(cell, {})[number] = float(np.mean(np.log(each)))
    numbers = sorted({number for mine in known.values() for number in mine})
    common = [mine for mine in known.values() if len(mine) == len(numbers)]
    if len(numbers) < FEWEST or not common:
        return []
    return [float(np.mean([mine[number] for mine in common])) for number in numbers]


def between(targets: Iterable[Values]) -> Between | None:
    """The variance between set-ups, pooled over targets; None where none was set up twice."""
    every = [found for values in targets if (found := levels(values))]
    dof = sum(len(mine) - 1 for mine in every)
    if not dof:
        return None
    squares = sum(float(np.var(mine)) * len(mine) for mine in every)
    return Between(squares / dof, dof)


def with_set_ups(
    estimates: Sequence[Estimate], cells: Mapping[str, Cell], visits: Sequence[Visit]
) -> tuple[Estimate, ...]:
    """The estimates with intervals that hold what moved between set-ups of their target."""
    doubts = {
        (quantity, direction): found
        for quantity in _FIELDS
        for direction in dict.fromkeys(e.direction for e in estimates)
        if (found := between(_by_target(cells, visits, quantity, direction).values())) is not None
    }
    counts: dict[str, set[int]] = {}
    for visit in visits:
        if not visit.discarded and visit.purpose in (Purpose.SWEEP, Purpose.FRESH):
            counts.setdefault(visit.cell_key, set()).add(set_up_of(visit.replicate))
    return tuple(_widened(e, doubts, len(counts.get(e.cell.key, ()))) for e in estimates)


def _by_target(
    cells: Mapping[str, Cell], visits: Sequence[Visit], quantity: str, direction: str
) -> dict[str, dict[tuple[Hashable, int], list[float]]]:
    found: dict[str, dict[tuple[Hashable, int], list[float]]] = {}
    for visit in visits:
        if visit.discarded or visit.purpose is not Purpose.SWEEP or visit.cell_key not in cells:
            continue
        mine = found.setdefault(cells[visit.cell_key].target, {})
        for part in visit.parts:
            value = getattr(window_values(part, visit.window_start_ms), quantity)
            if part.direction == direction and value:
                mine.setdefault((visit.cell_key, set_up_of(visit.replicate)), []).append(float(value))
    return found


def _widened(e: Estimate, doubts: Mapping[tuple[str, str], Between], set_ups: int) -> Estimate:
    wider: dict[str, float | str] = {}
    for quantity, fields in _FIELDS.items():
        doubt = doubts.get((quantity, e.direction))
        for field, low, high in fields if doubt is not None else ():
            value, least, most = getattr(e, field), getattr(e, low), getattr(e, high)
            if doubt is not None and value and least and most and 0 < least <= value <= most:
                more = doubt.half_width(set_ups)
                wider[low] = value * exp(-hypot(log(value / least), more))
                wider[high] = value * exp(hypot(log(most / value), more))
    if not wider:
        return e
    return replace(e, **wider, method=f"{e.method} + {METHOD}")  # type: ignore[arg-type]
