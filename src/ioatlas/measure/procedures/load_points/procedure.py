# SPDX-License-Identifier: Apache-2.0
"""Several streams at once and their steps: idle power, the highest load by search, then the load points in their
order, as often as asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ioatlas.answer.analysis.load_curve import OFFERED, PHASE, mean_latency_ns, together
from ioatlas.load.fio.batch import TURN_MS, Section
from ioatlas.measure.procedures.load_points.options import StreamsSpec, streams_of
from ioatlas.measure.procedures.load_points.plan import (
    TRIAL_SECONDS,
    Phase,
    build_streams_plan,
    describe_rounding,
    footprint_of,
    gap_seconds,
    phases_of,
    ramp_cells,
    trial_seconds,
)
from ioatlas.measure.run.conditions import note_power
from ioatlas.measure.run.gates import Gates
from ioatlas.measure.run.intake import judged
from ioatlas.measure.run.plan import PLANNING_WRITE_BYTES_PER_S, Plan
from ioatlas.measure.run.procedure import PlanText, Procedure
from ioatlas.measure.run.session import Session
from ioatlas.measure.run.steps import Making, Steps
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.outcomes import Event, HighestLoad, HighestLoads, IdleWatts
from ioatlas.model.target import Target
from ioatlas.model.units import format_count, format_duration
from ioatlas.model.verdict import BUDGET_ENDED, UnmeasuredCode
from ioatlas.model.visit import Purpose, RemarkKind, Visit
from ioatlas.plan.load_search import LoadTrial, search_load
from ioatlas.plan.spec import CampaignSpec
from ioatlas.stats.gates import CPU_LIMIT_PERCENT, offered_iops, stream_backlog
from ioatlas.store.journal import NewVisit, PlannedVisit

SHORTEST_WINDOW_SECONDS = 0.5
LONG = 0.95
FRUITLESS_TRIALS = 3
CORES_BUSY = 0.9


class LoadPointSteps(Steps):
    """One session."""

    counted = frozenset({Purpose.SWEEP})

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        spec = session.plan.spec
        self._streams: StreamsSpec = streams_of(spec)
        self._window_ms = round(spec.window_seconds * 1000)

    def make(self) -> Making[bool]:
        """Raises PartialResultError when it ends early, IoAtlasError when no load is carried at all."""
        spec = self.session.plan.spec
        if self.journal.has_visits(Purpose.SWEEP) and not self.journal.planned(Purpose.SWEEP):
            return True  # nothing is left to be made, so no file is written
        self.session.prepare()
        self._idle()
        loads = []
        for target in self.session.plan.targets:
            for phase in phases_of(spec, target, self._footprint(target)):
                loads.append((phase, target, (yield from self._load_of(phase, target))))
        self._plan_points(loads)
        yield from self.make_planned(Purpose.SWEEP)
        return True

    # -- the parts -------------------------------------------------------------------------------------------

    def _footprint(self, target: Target) -> int:
        """As it was planned: free space is another one now."""
        return (
            next(iter(self.session.plan.files.get(target.name, {}).values()), 0)
            or footprint_of(self.session.plan.spec, target)[0]
        )

    def _idle(self) -> None:
        """Power with no load, once, and whose power it is."""
        meters, seconds = self.session.meters, self._streams.idle_seconds
        if meters and not self.journal.is_kept(IdleWatts):
            text = f"measuring power with no load, {seconds:.0f} s"
            self.session.emit(Event("phase", {"phase": "idle", "text": text, "seconds_left": seconds}))
        note_power(self.journal, meters, self.session.stop_asked, seconds)
        if self.session.stop_asked():
            raise self.session.stopped()

    def _load_of(self, phase: Phase, target: Target) -> Making[float]:
        """100% of a phase in I/Os per second: as asked for, or the highest that the target carries; 0 for a load that
        runs freely.
        """
        if phase.load_iops is not None:
            return phase.load_iops
        known = self.journal.kept(HighestLoads).of(target.name, phase.name)
        if known is None:
            told = {"phase": "search", "text": "searching the highest load", "seconds_left": self._search_seconds()}
            self.session.emit(Event("phase", told))
            known = yield from self._highest(phase, target)
            self.journal.keep(self.journal.kept(HighestLoads).with_load(target.name, phase.name, known))
        return known.iops

    def _search_seconds(self) -> float:
        return round(
            10 * (trial_seconds(self.session.plan.spec) + self.budget.start_seconds) + 2 * self._window_ms / 1000, 1
        )

    def _highest(self, phase: Phase, target: Target) -> Making[HighestLoad]:
        """The highest load that the target carries within the limit on the response time, by trials."""
        limit_ns = self._streams.limit_seconds * 1e9
        yield from self.make_asked(Purpose.SEARCH, lambda _visits: self._next_trial(phase, target, limit_ns))
        made = self._trials(phase, target)
        answer = search_load([trial for trial, _ in made], limit_ns)
        limit = format_duration(self._streams.limit_seconds)
        highest = answer.highest
        if highest is None:
            carried = [trial.offered_iops for trial, _ in made if trial.carried(limit_ns)]
            highest = max((load for load in carried if answer.refused is None or load < answer.refused), default=None)
            if highest is not None:
                self.session.remark(
                    RemarkKind.WARNING,
                    "The budget ended before the highest load was confirmed by a visit as long as those of the load "
                    "points.",
                )
        if highest is None:
            raise IoAtlasError(
                f"the target carries no load with a mean response time within {limit}: {self._lowest_told(made)}",
                where=target.location,
                remedy="set a longer limit: [streams] limit, or give a load in I/Os per second",
            )
        refused = [
            visit for trial, visit in made if trial.offered_iops == answer.refused and not trial.carried(limit_ns)
        ]
        limited_by = answer.limited_by
        if refused and all(self._client_busy(visit) for visit in refused):
            limited_by = "client"
        return HighestLoad(highest, limited_by, answer.refused, len(made))

    def _next_trial(self, phase: Phase, target: Target, limit_ns: float) -> list[NewVisit]:
        made = self._trials(phase, target)
        answer = search_load([trial for trial, _ in made], limit_ns)
        if answer.next is None:
            return []
        load, long = answer.next
        cell = self.session.know(phase.cell(target.name, load_iops=load), UnmeasuredCode.TRIAL)
        length = self._window_ms if long else round(trial_seconds(self.session.plan.spec) * 1000)
        seed = self.seed(len(made), load)
        return [NewVisit(cell.key, len(made), seed, Purpose.SEARCH, alone=True, runtime_ms=length)]

    def _client_busy(self, visit: Visit) -> bool:
        """Whether the client's processors had nothing left while a load was made: it is then theirs, not the
        target's.
        """
        entry = self.journal.usages().get(visit.batch_id, {}).get("visits", {}).get(str(visit.visit_id), {})
        cores = entry.get("core_busy", [])
        return (visit.cpu_percent or 0.0) >= CPU_LIMIT_PERCENT or (
            bool(cores) and sum(cores) / len(cores) >= CORES_BUSY
        )

    @staticmethod
    def _lowest_told(made: Sequence[tuple[LoadTrial, Visit]]) -> str:
        if not made:
            return "no trial could be made"
        lowest = min((trial for trial, _ in made), key=lambda trial: trial.offered_iops)
        told = f"{(lowest.lat_mean_ns or 0) / 1e6:.3g} ms" if lowest.lat_mean_ns else "no I/O completed"
        return f"{told} at {format_count(lowest.offered_iops)} I/Os per second"

    def _trials(self, phase: Phase, target: Target) -> list[tuple[LoadTrial, Visit]]:
        """Trials of one search so far. One that is discarded again and again counts as a load that was not carried."""
        found: list[tuple[LoadTrial, Visit]] = []
        bad: dict[float, int] = {}
        for visit in self.journal.visits(with_series=True):
            cell = self.cells[visit.cell_key]
            if (
                visit.purpose != Purpose.SEARCH
                or cell.target != target.name
                or str(cell.option.get(PHASE, "")) != phase.name
            ):
                continue
            load = float(cell.option[OFFERED])
            seconds = max((part.runtime_ms for part in visit.parts), default=0) / 1000
            if visit.discarded or not seconds:
                bad[load] = bad.get(load, 0) + 1
                if bad[load] >= FRUITLESS_TRIALS:
                    found.append((LoadTrial(load, 0.0, None, True), visit))
                continue
            behind = stream_backlog(cell, visit.parts, seconds)
            done = sum(part.total_ios for part in visit.parts) / seconds
            long = seconds * 1000 >= LONG * self._window_ms
            # The rates fio was told are whole numbers: what was offered may be a little more than what was asked for.
            achieved = done * load / offered_iops(cell)
            found.append(
                (
                    LoadTrial(load, achieved, mean_latency_ns(visit), behind is not None and behind.overloaded, long),
                    visit,
                )
            )
        return found

    def _plan_points(self, loads: Sequence[tuple[Phase, Target, float]]) -> None:
        """All load points in their order, replicate after replicate; once, and shorter where the budget asks for it."""
        if self.journal.has_visits(Purpose.SWEEP):
            return
        cells = []
        for phase, target, load in loads:
            cells += [self.session.know(cell, "") for cell in ramp_cells(phase, target.name, self._streams, load)]
            if load and (text := describe_rounding(phase, load, min(self._streams.points))):
                self.session.remark(RemarkKind.NOTE, text)
        window_ms, visits = self._fitted(len(cells))
        rows = [
            NewVisit(cell.key, replicate, self.seed(replicate, cell.key), Purpose.SWEEP, runtime_ms=window_ms)
            for replicate in range(visits)
            for cell in cells
        ]
        self.journal.add_visits(rows)

    def _fitted(self, n_cells: int) -> tuple[int, int]:
        """Window and visits that the rest of the budget allows: shorter windows first, then fewer visits. Says what was
        cut.
        """
        spec = self.session.plan.spec
        left = self.budget.left
        overhead = self.budget.start_seconds + gap_seconds(self._streams)
        if left is None or n_cells * spec.visits * (spec.window_seconds + overhead) <= left - self.reserve_seconds():
            return self._window_ms, spec.visits
        left = max(0.0, left - self.reserve_seconds())
        for visits in range(spec.visits, 0, -1):
            window = left / (n_cells * visits) - overhead
            if (
                window >= min(SHORTEST_WINDOW_SECONDS if visits == 1 else TRIAL_SECONDS, spec.window_seconds)
                or visits == 1
            ):
                break
        window = max(SHORTEST_WINDOW_SECONDS, min(spec.window_seconds, window))
        self.session.remark(
            RemarkKind.LEFT_OUT,
            f"The budget leaves {format_duration(left)} for {n_cells} load points: {visits} of {spec.visits} visits "
            "each, "
            f"{window:.2g} s instead of {spec.window_seconds:g} s long.",
        )
        return round(window * 1000), visits

    # -- helpers ---------------------------------------------------------------------------------------------

    def section(self, visit: PlannedVisit) -> Section:
        return self.bound(visit, visit.runtime_ms or self._window_ms, round(1000 * gap_seconds(self._streams)))

    def drains_long(self, section: Section) -> bool:  # noqa: ARG002
        """The gap is many times the response time that is allowed, so that all visits may share a process."""
        return False

    def learn(self, visit: Visit, asked_ms: int | None = None) -> None:
        """Windows are given here, not found."""

    def for_event(self, visit: Visit) -> Visit:
        """One event a direction, all streams together."""
        return visit if visit.discarded else replace(visit, parts=tuple(together(visit.parts)))

    def judge(self, section: Section, visit: Visit, gates: Gates | None) -> tuple[Visit, bool]:
        """Streams are judged together. Nothing is made longer: the window is what the load point says."""
        return judged(section, visit, gates)[0], False

    def out_of_time(self, purpose: Purpose, taken: Sequence[Section]) -> bool:
        """The search leaves time for the load points, and each of these is made once however small the budget is."""
        left = self.budget.left
        if left is None:
            return False
        if purpose == Purpose.SWEEP:
            rows = {row.visit_id: row for row in self.journal.planned(Purpose.SWEEP)}
            first = any(rows[section.visit_id].replicate == 0 for section in taken)
            return not first and super().out_of_time(purpose, taken)
        need = self.budget.process_seconds(sum(section.turns for section in taken) * TURN_MS / 1000)
        return (
            left - need < self._points_seconds()
            and bool(self.journal.has_visits(Purpose.SEARCH))
            and self.budget.visits_made > 0
        )

    def budget_ended(self, purpose: Purpose) -> None:
        """That the search ended early is told with its result."""
        if purpose == Purpose.SEARCH:
            self.journal.drop_planned(BUDGET_ENDED, purpose=purpose)
        else:
            super().budget_ended(purpose)

    def _points_seconds(self) -> float:
        """What the load points need at least: each once, half as long as asked for where that is seconds; never more
        than half of the budget.
        """
        spec = self.session.plan.spec
        window = min(spec.window_seconds, max(SHORTEST_WINDOW_SECONDS, spec.window_seconds / 2))
        need = (
            len(self._streams.points)
            * len(self.session.plan.targets)
            * (window + gap_seconds(self._streams) + self.budget.start_seconds)
            + self.reserve_seconds()
        )
        return min(need, (spec.budget_seconds or need) / 2)


class LoadPoints(Procedure):
    name = "load_points"

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_streams_plan(spec, targets, read_only=read_only)

    def seconds(self, plan: Plan) -> float:
        # Visits last as long as the window says. A plan read back from a journal has no outline.
        return float(plan.outline.get("seconds", plan.seconds()))

    def summary(self, plan: Plan) -> dict[str, Any]:
        told = super().summary(plan)
        written = int(told["write_load_seconds"] * PLANNING_WRITE_BYTES_PER_S)
        return {**told, "bytes_written": plan.layout_bytes + written}

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:  # noqa: ARG002
        times = summary.get("searches", 0)
        search = f"search       for the highest load, {times} time{'s' if times > 1 else ''}, before the load points"
        return PlanText(order="in their order, the whole of it repeated", extra=(search,) if times else ())

    def steps(self, session: Session) -> Steps:
        return LoadPointSteps(session)
