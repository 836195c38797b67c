# SPDX-License-Identifier: Apache-2.0
"""Burst credit that ran out during the sweep: what was read while it lasted is set aside and made again."""

from __future__ import annotations

from dataclasses import replace

from ioatlas.analysis.burst import Bursts, most_lead_ms
from ioatlas.analysis.late_burst import LateBurst, find_late_burst
from ioatlas.design.exhaustive import random_replicates
from ioatlas.model.purpose import Purpose
from ioatlas.model.reason import Reason, ReasonCode
from ioatlas.model.verdict import Verdict, VerdictCode
from ioatlas.procedures.dense_map.fitting import seconds_for
from ioatlas.run.runner import Runner
from ioatlas.store.journal import NewVisit

SET_ASIDE = Reason(ReasonCode.BURST, f"{ReasonCode.BURST}: faster than the target can sustain")


def set_bursts_aside(runner: Runner, left_seconds: float | None) -> bool:
    """Whether visits were planned anew. Without time for that, cells that were visited later keep those visits, and
    the others what they have, as unstable; the finding tells how many.
    """
    found = _found(runner)
    if not found:
        return False
    early = {visit.visit_id: visit for one in found for visit in one.before if visit.purpose is Purpose.SWEEP}
    keys = sorted({visit.cell_key for visit in early.values()})
    again = left_seconds is None or seconds_for(runner, [runner.cells[key] for key in keys], 1) <= left_seconds
    swept = [visit for visit in runner.journal.visits() if visit.purpose is Purpose.SWEEP and not visit.discarded]
    later = {visit.cell_key for visit in swept if visit.visit_id not in early}
    kept = frozenset() if again else frozenset(keys) - later
    bursts = tuple(
        replace(
            one.burst,
            most_lead_ms=most_lead_ms(left_seconds, len(keys)),
            fast_visits=sum(visit.visit_id in early for visit in one.before),
            fast_cells=len({visit.cell_key for visit in one.before if visit.visit_id in early} & kept),
        )
        for one in found
    )
    runner.journal.keep(Bursts((*runner.journal.kept(Bursts).bursts, *bursts)))
    gone = [visit_id for visit_id, visit in early.items() if visit.cell_key not in kept]
    runner.journal.discard_visits(early, SET_ASIDE)
    for visit_id in early.keys() - set(gone):
        runner.journal.reinstate(visit_id, Verdict(VerdictCode.UNSTABLE, SET_ASIDE.sentence))
    runner.forget_bursts()
    if again and early:
        number = 1 + max(visit.replicate for visit in swept)
        order = random_replicates(keys, 1, runner.plan.spec.order_seed + number)
        runner.journal.add_visits(NewVisit(key, number, seed) for key, _, seed in order)
    return again and bool(early)


def _found(runner: Runner) -> list[LateBurst]:
    """Of each target and direction that no burst is known of yet; probes may have used the credit up."""
    known = {(one.target, one.direction) for one in runner.journal.kept(Bursts).bursts}
    visits = [
        visit for visit in runner.journal.visits(with_series=True) if visit.purpose in (Purpose.PROBE, Purpose.SWEEP)
    ]
    places = {(cell.target, direction) for cell in runner.plan.to_measure for direction in cell.directions} - known
    found = [find_late_burst(target, direction, runner.cells, visits) for target, direction in sorted(places)]
    return [one for one in found if one is not None]
