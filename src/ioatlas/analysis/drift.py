# SPDX-License-Identifier: Apache-2.0
"""What the visits of a campaign say about drift: replicate effects, and the replicates to void and repeat. Targets that
moved inside replicates are told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import expm1

from ioatlas.analysis.windows import window_values
from ioatlas.analysis.wording import plural
from ioatlas.errors import UsageError
from ioatlas.model.cell import Cell
from ioatlas.model.drift import ReplicateRow, Wander, counted, ordinal
from ioatlas.model.finding import Finding, FindingCode, common
from ioatlas.model.outcomes import VoidedReplicate
from ioatlas.model.panel import Table
from ioatlas.model.reason import ReasonCode
from ioatlas.model.visit import SWEPT, Purpose, Visit
from ioatlas.stats.drift import (
    RELEVANT_SHIFT,
    Removal,
    ReplicateFit,
    fit_replicates,
    lost_cells,
    replicate_shift,
    shift_within,
    wander,
)


@dataclass(frozen=True)
class ReplicateState:
    """One replicate of one target.

    n_visits, n_discarded: of the sweep. effect, error: level against the mean of all replicates and its standard error,
    logarithms.
    voided: reasons to void it and run it again; shift: a change of level inside the replicate, or ''; doubt: one of two
    replicates that differ, or ''.
    """

    target: str
    replicate: int
    n_visits: int
    n_discarded: int
    effect: float
    error: float
    voided: tuple[str, ...] = ()
    shift: str = ""
    doubt: str = ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it should not stand by itself."""
        return (*self.voided, *([self.shift] if self.shift else []))

    @property
    def sentence(self) -> str:
        moved = f"level {expm1(self.effect):+.1%} (standard error {self.error:.1%})"
        return "; ".join(
            [f"replicate {ordinal(self.replicate)}: {moved}", *self.reasons, *([self.doubt] if self.doubt else [])]
        )


def replicate_states(cells: Mapping[str, Cell], visits: Iterable[Visit]) -> tuple[ReplicateState, ...]:
    """State of every replicate of the sweep, from the throughput of its visits; cells by key, all
    visits
    of the campaign.

    Targets with fewer than two replicates, or whose replicates share no cell, are left out: nothing can be said of
    their
    drift. Voided replicates are left out too.
    """
    swept: dict[str, list[Visit]] = {}
    for visit in visits:
        if visit.cell_key in cells and visit.purpose in SWEPT and not _voided(visit):
            swept.setdefault(cells[visit.cell_key].target, []).append(visit)
    return tuple(state for target, mine in swept.items() for state in _states(target, mine))


def to_repeat(states: Sequence[ReplicateState]) -> dict[str, list[ReplicateState]]:
    """{target: replicates to void and repeat}: those with a reason, as long as they are fewer than the others; else the
    target moves, not a replicate.
    """
    chosen: dict[str, list[ReplicateState]] = {}
    for target in dict.fromkeys(state.target for state in states):
        mine = [state for state in states if state.target == target]
        bad = [state for state in mine if state.reasons]
        if bad and 2 * len(bad) < len(mine):
            chosen[target] = bad
    return chosen


def in_doubt(states: Sequence[ReplicateState]) -> dict[str, ReplicateState]:
    """{target: one of its two replicates that differ}: a third replicate decides which of them moved."""
    return {state.target: state for state in states if state.doubt}


def _voided(visit: Visit) -> bool:
    return any(reason.code is ReasonCode.VOIDED for reason in visit.discarded)


def _states(target: str, visits: list[Visit]) -> list[ReplicateState]:
    rows = []
    for visit in sorted(_in_company(visits), key=lambda visit: visit.started_at):
        if visit.discarded:
            continue
        for part in visit.parts:
            value = window_values(part, visit.window_start_ms).bw_bytes_per_s
            if value > 0:
                rows.append((f"{visit.cell_key}/{part.direction}", visit.replicate, value))
    if len({replicate for _, replicate, _ in rows}) < 2:
        return []
    try:
        fit = fit_replicates([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])
    except UsageError:
        return []  # the replicates share no cell
    states = []
    lost = {replicate: _lost(visits, replicate) for replicate in fit.effects}
    for replicate in sorted(fit.effects):
        inside = [float(residual) for residual, row in zip(fit.residuals, rows, strict=True) if row[1] == replicate]
        total = [visit for visit in visits if visit.replicate == replicate and visit.purpose is Purpose.SWEEP]
        others = [lost[other] for other in lost if other != replicate]
        reasons = [
            replicate_shift(fit, replicate),
            lost_cells(*lost[replicate], sum(n for n, _ in others), sum(n for _, n in others)),
        ]
        shift = shift_within(inside)
        states.append(
            ReplicateState(
                target,
                replicate,
                len(total),
                sum(bool(visit.discarded) for visit in total),
                fit.effects[replicate],
                fit.errors[replicate],
                tuple(reason for reason in reasons if reason),
                shift[1] if shift else "",
            )
        )
    return _doubted(states, fit)


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


def _doubted(states: list[ReplicateState], fit: ReplicateFit) -> list[ReplicateState]:
    """Of two replicates that differ by a relevant shift, four standard errors away, nobody knows which one moved."""
    if len(states) != 2:
        return states
    first, second = states
    difference = second.effect - first.effect
    if abs(expm1(difference)) < RELEVANT_SHIFT or abs(difference) < 4 * float(fit.apart[0, 1]):
        return states
    said = f"replicates {counted(first.replicate)} and {counted(second.replicate)} differ by {expm1(difference):+.0%}"
    return [replace(state, doubt=said) for state in states]


def replicate_rows(states: Sequence[ReplicateState], voided: Sequence[VoidedReplicate]) -> tuple[ReplicateRow, ...]:
    """Every replicate for tables: those that stand, and those that were voided (as the journal keeps them)."""
    rows = [
        ReplicateRow(
            state.target,
            state.replicate,
            state.n_visits,
            state.n_discarded,
            expm1(state.effect),
            state.error,
            "; ".join(state.reasons),
        )
        for state in states
    ]
    for one in voided:
        again = f"voided and repeated as replicate {ordinal(one.again)}: {one.reason}"
        rows.append(
            ReplicateRow(
                one.target, one.replicate, one.visits, one.discarded, one.effect, one.error, again, voided=True
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.target, row.replicate)))


def replicate_table(rows: Sequence[ReplicateRow]) -> tuple[Table, ...]:
    """The table of replicates, as a report draws it; none without replicates."""
    several = len({row.target for row in rows}) > 1
    texts = [
        (
            *((row.target,) if several else ()),
            counted(row.replicate),
            str(row.n_visits),
            str(row.n_discarded),
            "" if row.effect is None else f"{row.effect:+.1%}",
            "" if row.error is None else f"{row.error:.1%}",
            row.note or "stands",
        )
        for row in rows
    ]
    columns = (
        *(("target",) if several else ()),
        "replicate",
        "visits",
        "discarded",
        "level",
        "standard error",
        "what became of it",
    )
    note = "A replicate visits the cells once, in an order of its own. Levels are against the mean of the replicates."
    return (Table("Replicates of the sweep", columns, tuple(texts), note, after_map=True),) if texts else ()


def drift_findings(
    states: Sequence[ReplicateState],
    voided: Sequence[VoidedReplicate],
    removed: Mapping[str, Removal] | None = None,
    wandered: Sequence[Wander] = (),
) -> Iterator[Finding]:
    """What is to be said of drift: replicates voided and repeated, replicates that stand although they moved, and
    targets that moved in neither way but did not stay.
    """
    targets = [*(one.target for one in states), *(one.target for one in wandered)]
    several = len(set(targets)) > 1
    if voided:
        told = "; ".join(
            (f"{one.target}: " if several else "") + f"replicate {ordinal(one.replicate)}, {one.reason}"
            for one in voided[:3]
        )
        sentence = f"{plural(len(voided), 'replicate')} of the sweep moved and was made again: {told}."
        if len(voided) > 1:
            sentence = sentence.replace("moved and was", "moved and were")
        sentence += " Its first try is in no value." if len(voided) == 1 else " Their first tries are in no value."
        yield Finding(FindingCode.DRIFT, sentence, target=common(one.target for one in voided))
    for target, removal in (removed or {}).items():
        on = f" of {target}" if several else ""
        levels = [expm1(effect) for effect in removal.effects.values() if effect]
        sentence = (
            f"The speed{on} shifted between replicates, {min(levels):+.0%} to {max(levels):+.0%}. "
            "The values are corrected for it."
        )
        yield Finding(FindingCode.DRIFT, sentence, target=target)
    moved = [state for state in states if state.reasons or state.doubt]
    if moved:
        told = "; ".join(
            (f"{state.target}, " if several else "")
            + f"replicate {ordinal(state.replicate)} was {level_words(expm1(state.effect))}"
            for state in moved[:3]
        )
        more = f", and {len(moved) - 3} more" if len(moved) > 3 else ""
        sentence = f"Speed shifted during the run: {told}{more}."
        yield Finding(FindingCode.DRIFT, sentence, target=common(state.target for state in moved))
    shifted = {*(state.target for state in moved), *(removed or {})}
    yield from wander_findings(wandered, shifted, several=several)


def level_words(effect: float) -> str:
    """'2.1 times as fast as the others', '21% slower than the others'."""
    if effect >= 0.8:
        return f"{1 + effect:.2g} times as fast as the others"
    return f"{abs(effect):.0%} {'faster' if effect > 0 else 'slower'} than the others"


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
