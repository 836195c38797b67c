# SPDX-License-Identifier: Apache-2.0
"""The session of several streams at once: idle power, the highest load by search, then the load points in their order, as often as asked."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace

from ioatlas.analysis.load_curve import mean_latency_ns, together
from ioatlas.campaign.conditions import idle_watts, meters_of
from ioatlas.campaign.events import Event
from ioatlas.campaign.plan import FIO_SECONDS, Plan
from ioatlas.campaign.session import Session, Summary
from ioatlas.campaign.streams_plan import (
    OFFERED,
    PHASE,
    TRIAL_SECONDS,
    Phase,
    describe_rounding,
    footprint_of,
    gap_seconds,
    phases_of,
    ramp_cells,
    trial_seconds,
)
from ioatlas.campaign.streams_spec import StreamsSpec
from ioatlas.design.load_search import LoadTrial, search_load
from ioatlas.engine.batch import TURN_MS, Section
from ioatlas.errors import IoAtlasError
from ioatlas.model.cell import Cell
from ioatlas.model.target import Target
from ioatlas.model.units import format_count, format_duration
from ioatlas.model.visit import Visit
from ioatlas.probe.power import TypedMeter
from ioatlas.stats.gates import CPU_LIMIT_PERCENT
from ioatlas.stats.stream_gates import offered_iops, stream_backlog
from ioatlas.store.journal import NewVisit, PlannedVisit

SEARCH, SWEEP = "search", "sweep"
"""Purposes of visits: trials of the search, and load points."""
TRIAL = "a trial of the search for the highest load"
"""Why a cell of the search is no load point."""
LOADS, IDLE, METERS = "stream_loads", "idle_watts", "meters"
"""Names of outcomes in the journal."""
SHORTEST_WINDOW_SECONDS = 0.5
LONG = 0.95
FRUITLESS_TRIALS = 3
CORES_BUSY = 0.9


def is_streams(plan: Plan) -> bool:
    """Whether a campaign is several streams at once."""
    return plan.spec.streams is not None


def load_key(target: str, phase: str) -> str:
    return f"{target}\t{phase}"


class Streams(Session):
    """One session. Everything it decides is derived from the journal, so a stopped one goes on where it was."""

    def run(self) -> Summary:
        """Raises PartialResultError when it ends early, IoAtlasError when no load is carried at all."""
        spec = self._plan.spec
        assert spec.streams is not None
        self._streams: StreamsSpec = spec.streams
        self._window_ms = round(spec.window_seconds * 1000)
        self._learn_from_journal()
        if self._journal.has_visits(SWEEP) and not self._journal.planned(SWEEP):
            self._clean()  # nothing is left to be made, so no file is written; one that a crash left goes
            return self._finish()
        try:
            self._sites.prepare(self._fio, self._plan, self._stop_asked, self._emit)
            self._idle()
            loads = [
                (phase, target, self._load_of(phase, target))
                for target in self._plan.targets
                for phase in phases_of(spec, target, self._footprint(target))
            ]
            self._plan_points(loads)
            self._make_planned(SWEEP)
        finally:
            self._clean()
        return self._finish()

    def _finish(self) -> Summary:
        self._journal.set_complete()
        kept = [visit for visit in self._journal.visits() if not visit.discarded and visit.purpose == SWEEP]
        seconds = time.monotonic() - self._began
        return Summary(self._journal.directory, len({visit.cell_key for visit in kept}), len(kept), seconds, complete=True)

    # -- the parts ------------------------------------------------------------------------------------------------------------

    def _footprint(self, target: Target) -> int:
        """As it was planned: free space is another one now."""
        return next(iter(self._plan.files.get(target.name, {}).values()), 0) or footprint_of(self._plan.spec, target)[0]

    def _idle(self) -> None:
        """Power with no load, once, and whose power it is."""
        meters = meters_of(self._journal.directory)
        loaded = {meter.name: meter.loaded_watts for meter in meters if isinstance(meter, TypedMeter)}
        told = [{"name": meter.name, "of": meter.of, "source": meter.source, "loaded_watts": loaded.get(meter.name)} for meter in meters]
        self._journal.set_outcome(METERS, told)
        if not meters or IDLE in self._journal.outcomes():
            return
        seconds = self._streams.idle_seconds
        self._emit(Event("phase", {"phase": "idle", "text": "measuring power with no load", "seconds_left": seconds}))
        watts = idle_watts(meters, self._stop_asked, seconds)
        if self._stop_asked():
            raise self._stopped()
        self._journal.set_outcome(IDLE, watts)

    def _load_of(self, phase: Phase, target: Target) -> float:
        """100% of a phase in I/Os per second: as asked for, or the highest that the target carries; 0 for a load that runs freely."""
        if phase.load_iops is not None:
            return phase.load_iops
        key = load_key(target.name, phase.name)
        known = self._journal.outcomes().get(LOADS, {})
        if key not in known:
            self._emit(Event("phase", {"phase": SEARCH, "text": "searching the highest load", "seconds_left": self._search_seconds()}))
            self._journal.set_outcome(LOADS, {**self._journal.outcomes().get(LOADS, {}), key: self._search(phase, target)})
            known = self._journal.outcomes()[LOADS]
        return float(known[key]["iops"])

    def _search_seconds(self) -> float:
        return round(10 * (trial_seconds(self._plan.spec) + FIO_SECONDS) + 2 * self._window_ms / 1000, 1)

    def _search(self, phase: Phase, target: Target) -> dict[str, object]:
        limit_ns = self._streams.limit_seconds * 1e9
        going = True
        while True:
            made = self._trials(phase, target)
            answer = search_load([trial for trial, _ in made], limit_ns)
            if answer.next is None or not going:
                break
            if not self._journal.planned(SEARCH):
                load, long = answer.next
                cell = self._known(phase.cell(target.name, load_iops=load), TRIAL)
                length = self._window_ms if long else round(trial_seconds(self._plan.spec) * 1000)
                self._journal.add_visits(
                    [NewVisit(cell.key, len(made), self._seed(len(made), load), SEARCH, alone=True, runtime_ms=length)]
                )
            going = self._make_planned(SEARCH)
        self._journal.drop_planned("not reached: the budget ended", purpose=SEARCH)
        limit = format_duration(self._streams.limit_seconds)
        highest = answer.highest
        if highest is None:
            carried = [trial.offered_iops for trial, _ in made if trial.carried(limit_ns)]
            highest = max((load for load in carried if answer.refused is None or load < answer.refused), default=None)
            if highest is not None:
                self._remark(
                    "warning", "The budget ended before the highest load was confirmed by a visit as long as those of the load points."
                )
        if highest is None:
            raise IoAtlasError(
                f"the target carries no load with a mean response time within {limit}: {self._lowest_told(made)}",
                where=target.location,
                remedy="set a longer limit: [streams] limit, or give a load in I/Os per second",
            )
        refused = [visit for trial, visit in made if trial.offered_iops == answer.refused and not trial.carried(limit_ns)]
        limited_by = answer.limited_by
        if refused and all(self._client_busy(visit) for visit in refused):
            limited_by = "client"
        return {"iops": highest, "limited_by": limited_by, "refused": answer.refused, "trials": len(made)}

    def _client_busy(self, visit: Visit) -> bool:
        """Whether the client's processors had nothing left while a load was made: it is then theirs, not the target's."""
        entry = self._journal.usages().get(visit.batch_id, {}).get("visits", {}).get(str(visit.visit_id), {})
        cores = entry.get("core_busy", [])
        return (visit.cpu_percent or 0.0) >= CPU_LIMIT_PERCENT or (bool(cores) and sum(cores) / len(cores) >= CORES_BUSY)

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
        for visit in self._journal.visits(with_series=True):
            cell = self._cells[visit.cell_key]
            if visit.purpose != SEARCH or cell.target != target.name or str(cell.option.get(PHASE, "")) != phase.name:
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
            found.append((LoadTrial(load, achieved, mean_latency_ns(visit), behind is not None and behind.overloaded, long), visit))
        return found

    def _plan_points(self, loads: Sequence[tuple[Phase, Target, float]]) -> None:
        """All load points in their order, block after block; once, and shorter where the budget asks for it."""
        if self._journal.has_visits(SWEEP):
            return
        cells = []
        for phase, target, load in loads:
            cells += [self._known(cell, "") for cell in ramp_cells(phase, target.name, self._streams, load)]
            if load:
                self._tell_rounding(phase, load)
        window_ms, visits = self._fitted(len(cells))
        rows = [
            NewVisit(cell.key, block, self._seed(block, cell.key), SWEEP, runtime_ms=window_ms) for block in range(visits) for cell in cells
        ]
        self._journal.add_visits(rows)

    def _tell_rounding(self, phase: Phase, load: float) -> None:
        worst = min(self._streams.points)
        text = describe_rounding(phase, load, worst)
        if text:
            self._remark("note", text)

    def _fitted(self, n_cells: int) -> tuple[int, int]:
        """Window and visits that the rest of the budget allows: shorter windows first, then fewer visits. Says what was cut."""
        spec = self._plan.spec
        left = self._left_seconds()
        beside = FIO_SECONDS + gap_seconds(self._streams)
        if left is None or n_cells * spec.visits * (spec.window_seconds + beside) <= left - self._reserve_seconds():
            return self._window_ms, spec.visits
        left = max(0.0, left - self._reserve_seconds())
        for visits in range(spec.visits, 0, -1):
            window = left / (n_cells * visits) - beside
            if window >= min(SHORTEST_WINDOW_SECONDS if visits == 1 else TRIAL_SECONDS, spec.window_seconds) or visits == 1:
                break
        window = max(SHORTEST_WINDOW_SECONDS, min(spec.window_seconds, window))
        self._remark(
            "left-out",
            f"The budget leaves {format_duration(left)} for {n_cells} load points: {visits} of {spec.visits} visits each, "
            f"{window:.2g} s instead of {spec.window_seconds:g} s long.",
        )
        return round(window * 1000), visits

    # -- helpers --------------------------------------------------------------------------------------------------------------

    def _remark(self, kind: str, text: str) -> None:
        self._journal.add_remark(kind, text)
        self._emit(Event("remark", {"text": text}))

    def _known(self, cell: Cell, reason: str) -> Cell:
        """The cell, known to the journal from now on."""
        if cell.key not in self._cells:
            self._journal.add_cells([(cell, reason)], first=len(self._cells))
            self._cells[cell.key] = cell
        return cell

    def _seed(self, *numbers: object) -> int:
        return random.Random(f"{self._plan.spec.order_seed} {numbers}").randrange(1, 2**31)  # noqa: S311 - offsets, not secrets

    def _paced(self, visit: PlannedVisit) -> Section:
        return self._section(visit, visit.runtime_ms or self._window_ms, round(1000 * gap_seconds(self._streams)))

    def _learn(self, visit: Visit, asked_ms: int | None = None) -> None:
        """Windows are given here, not found."""

    def _tell(self, visit: Visit) -> None:
        """One event a direction, all streams together."""
        if visit.discarded:
            super()._tell(visit)
            return
        super()._tell(replace(visit, parts=together(visit.parts)))

    def _out_of_time(self, purpose: str, taken: tuple[Section, ...]) -> bool:
        """The search leaves time for the load points, and each of these is made once however small the budget is."""
        left = self._left_seconds()
        if left is None:
            return False
        if purpose == SWEEP:
            rows = {row.visit_id: row for row in self._journal.planned(SWEEP)}
            return not any(rows[section.visit_id].block == 0 for section in taken) and super()._out_of_time(purpose, taken)
        need = sum(section.turns for section in taken) * TURN_MS / 1000 * self._slowdown() + FIO_SECONDS
        return left - need < self._points_seconds() and bool(self._journal.has_visits(SEARCH)) and self._made > 0

    def _points_seconds(self) -> float:
        """What the load points need at least: each once, half as long as asked for where that is seconds; never more than half of the budget."""
        spec = self._plan.spec
        window = min(spec.window_seconds, max(SHORTEST_WINDOW_SECONDS, spec.window_seconds / 2))
        need = (
            len(self._streams.points) * len(self._plan.targets) * (window + gap_seconds(self._streams) + FIO_SECONDS)
            + self._reserve_seconds()
        )
        return min(need, (spec.budget_seconds or need) / 2)
