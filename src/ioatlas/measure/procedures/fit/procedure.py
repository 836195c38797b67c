# SPDX-License-Identifier: Apache-2.0
"""Does a target fit a use? Its loads in short windows, until an anytime-valid test has decided each requirement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from statistics import median
from typing import Any

from ioatlas.load.fio.batch import Batch, Section
from ioatlas.load.fio.collect import SectionResult
from ioatlas.measure.procedures.fit.fits import carried, fits_of
from ioatlas.measure.procedures.fit.plan import asked, build_fit_plan, scaled
from ioatlas.measure.procedures.fit.read import read_ladder, read_uses
from ioatlas.measure.procedures.fit.use import Use, Uses
from ioatlas.measure.procedures.fit.verdict import (
    GAP_MS,
    PACED_WINDOW_SECONDS,
    RATE_WINDOW_SECONDS,
    WINDOW_SECONDS,
    counts,
)
from ioatlas.measure.procedures.options import FitOptions
from ioatlas.measure.run.fleet import FLEET_WINDOW_SECONDS
from ioatlas.measure.run.gates import Gates
from ioatlas.measure.run.intake import judged
from ioatlas.measure.run.plan import FIO_SECONDS, PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.measure.run.procedure import PlanText, Procedure
from ioatlas.measure.run.session import Session
from ioatlas.measure.run.steps import Making, Steps
from ioatlas.model.target import Target
from ioatlas.model.units import format_rate, format_size_rounded
from ioatlas.model.verdict import UnmeasuredCode
from ioatlas.model.visit import Purpose, Visit
from ioatlas.plan.spec import CampaignSpec
from ioatlas.stats.windows import FEWEST
from ioatlas.store.journal import Intake, Journal, NewVisit, PlannedVisit

GROWTH = 3
"""Later a load gets one window more for so many that it has: each look costs a start of the load generator."""
USUAL_WINDOWS = 30
SURE_OF_IT = 0.6
"""Of what could be written in its time at the rate that was seen, what is: on a disk that others use too that rate
does not hold, and files that took too long are begun anew.
"""


class FitSteps(Steps):
    """One session."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._asked = self.journal.kept(Uses).asked
        self._most = session.plan.spec.of(FitOptions).fit_max
        self._late: dict[str, list[float]] = {}

    def make(self) -> Making[bool]:
        self.session.prepare()
        yield from self.make_asked(Purpose.SWEEP, self._next)
        if self._most:
            asked = {visit.cell_key for visit in self.journal.visits()}
            self.journal.leave_out(dict.fromkeys(self.cells.keys() - asked, UnmeasuredCode.TRIAL))
        return True

    def _next(self, visits: Sequence[Visit]) -> list[NewVisit]:
        """Windows in turns: what drifts, drifts for all loads. The first of a load is alone: it tells how long the
        next ones take to drain.
        """
        made = {visit.cell_key: visit.replicate + 1 for visit in sorted(visits, key=lambda one: one.replicate)}
        wanted: dict[str, int] = {}
        for key, more in self._open(visits).items():
            done = made.setdefault(key, 0)
            wanted[key] = 1 if not done else FEWEST - 1 if done == 1 else max(1, min(more, done // GROWTH))
        seed = self.session.plan.spec.order_seed
        return [
            NewVisit(key, made[key] + turn, seed + made[key] + turn, alone=not made[key])
            for turn in range(max(wanted.values(), default=0))
            for key, count in wanted.items()
            if turn < count
        ]

    def _open(self, visits: Sequence[Visit]) -> dict[str, int]:
        """Windows more that the loads take which are not decided, by cell."""
        fits = fits_of(self.journal, self._asked, visits)
        if self._most:
            number = carried(fits).next
            fits = [] if number is None else [fits[number]]
        wanted = sorted((one.more, key) for fit in fits for key, one in fit.judged if one.more)
        return {key: more for more, key in wanted}  # the most of each, which comes last

    def section(self, visit: PlannedVisit) -> Section:
        late = median(self._late.get(visit.cell_key, [0]))
        return self.bound(visit, self._window_ms(visit.cell_key), max(GAP_MS, ceil(late)))

    def _window_ms(self, key: str) -> int:
        here = [
            (one.use, requirement.quantity)
            for one in self._asked
            for requirement in one.use.requires
            if one.cells[requirement.load][0] == key
        ]
        usual = RATE_WINDOW_SECONDS if any(not quantity.is_latency for _, quantity in here) else WINDOW_SECONDS
        usual = PACED_WINDOW_SECONDS if self.cells[key].loop == "open" else usual
        least = FLEET_WINDOW_SECONDS if self.session.plan.spec.clients else 0.0
        return round(1000 * (max([least, *(use.window_seconds or usual for use, _ in here)]) or usual))

    def take_in(
        self,
        results: Sequence[SectionResult],
        planned: dict[int, PlannedVisit],
        gates: Gates | None,  # noqa: ARG002 - counters that do not agree with a use's flushes and caches are no doubt
        usage: Mapping[str, Any] | None,
    ) -> Intake:
        """What counts is not made again, one load after another, before anything is looked at."""
        intake = super().take_in(results, planned, None, usage)
        for target in {cell.target for cell in self.cells.values() if cell.option.get("file_append")}:
            self.session.sites.cut(target, self.session.plan.files[target])
        taken = {(visit.cell_key, visit.replicate) for visit in intake.visits if counts(visit)}
        intake.again = [one for one in intake.again if (one.cell_key, one.replicate) not in taken]
        intake.visits = [replace(visit, discarded=()) if counts(visit) else visit for visit in intake.visits]
        return intake

    def learn(self, visit: Visit, asked_ms: int | None = None) -> None:
        """Windows are given here, not found: how long after its own what was in flight came back."""
        if asked_ms is not None:
            self._late.setdefault(visit.cell_key, []).append(max(0.0, visit.ran_ms - asked_ms))

    def judge(self, section: Section, visit: Visit, gates: Gates | None) -> tuple[Visit, bool]:
        """Nothing is made longer, and a target that stands still is no reason to look away."""
        return judged(section, visit, gates)[0], False

    def progress(self, batch: Batch) -> dict[str, float]:
        told = super().progress(batch)
        more = sum(self._open(self.journal.visits(with_series=True)).values())
        left = max(told["seconds_left"], more * batch.seconds / len(batch.sections))
        return {**told, "seconds_left": round(min(left, max(0.0, self.budget.left or 0.0)), 1)}


def _uses(spec: CampaignSpec) -> tuple[Use, ...]:
    asked = spec.of(FitOptions)
    uses = (read_ladder if asked.fit_max else read_uses)(asked.fit, "--for")
    return uses if asked.fit_share == 1 else tuple(scaled(use, asked.fit_share) for use in uses)


class FitUses(Procedure):
    """Uses on targets."""

    name = "fit"

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_fit_plan(spec, _uses(spec), targets, read_only=read_only)

    def seconds(self, plan: Plan) -> float:
        each = USUAL_WINDOWS * len(plan.to_measure) * (WINDOW_SECONDS + FIO_SECONDS / 4) + plan.preparation_seconds
        return min(each, plan.spec.budget_seconds or each)

    def summary(self, plan: Plan) -> dict[str, Any]:
        told = super().summary(plan)
        seconds = min(USUAL_WINDOWS * sum(cell.writes for cell in plan.to_measure), told["seconds"])
        uses = _uses(plan.spec)
        return {
            **told,
            "uses": [
                {"use": use.name, "title": use.title, "requires": [one.words for one in use.requires]} for use in uses
            ],
            "visits": USUAL_WINDOWS * told["cells"],
            "write_load_seconds": seconds,
            "bytes_written": plan.layout_bytes + int(seconds * PLANNING_WRITE_BYTES_PER_S),
        }

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:
        first, *others = uses = summary["uses"]
        ladder = plan.spec.of(FitOptions).fit_max
        lines = [
            f"{'' if number else 'requires':<12} {use['use']}: {words}"
            for use in ([first] if ladder else uses)
            for number, words in enumerate(use["requires"])
        ]
        lines += [f"{'':<12} and so on, to {others[-1]['use']}"] if ladder and others else []
        return PlanText(
            order="in turns",
            visits="measured until every requirement is decided,",
            extra=tuple(lines),
            budget="what is open then is undecided",
        )

    def may_shrink(self, plan: Plan) -> bool:
        return bool(plan.layout_bytes)

    def with_less_to_write(self, plan: Plan, able_bytes: float, bytes_per_s: float) -> Plan:
        asked = plan.spec.of(FitOptions)
        share = asked.fit_share * SURE_OF_IT * able_bytes / max(1, plan.prepared_bytes)
        spec = plan.spec.having(replace(asked, fit_share=share))
        made = build_fit_plan(spec, _uses(spec), plan.targets, read_only=False)
        if made.prepared_bytes >= plan.prepared_bytes:
            return plan
        sizes = f"{format_size_rounded(made.layout_bytes)} instead of {format_size_rounded(plan.layout_bytes)}"
        remark = (
            f"The uses work on {sizes}: at {format_rate(bytes_per_s)} writing more takes too much of the budget. "
            "A cache of the target may hold that; a longer --budget has more."
        )
        return replace(made, remarks=(*plan.remarks, remark))

    def begin(self, journal: Journal, plan: Plan) -> None:
        uses = _uses(plan.spec)
        journal.keep(Uses(tuple(asked(use, target, plan.spec.constants) for target in plan.targets for use in uses)))

    def steps(self, session: Session) -> Steps:

        return FitSteps(session)
