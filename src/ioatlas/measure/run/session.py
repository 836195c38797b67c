# SPDX-License-Identifier: Apache-2.0
"""What one session of a campaign knows: its plan, its places, the time that it has, the pace of its targets.

Its steps read it, and say by it what they find and leave out. It makes no load: that is the runner's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ioatlas.answer.analysis.estimates import window_values
from ioatlas.measure.run.budget import Budget
from ioatlas.measure.run.environment import Environment
from ioatlas.measure.run.intake import was_stalled
from ioatlas.measure.run.plan import Plan, default_pace, plan_record
from ioatlas.measure.run.set_up import stopped
from ioatlas.model.cell import Cell
from ioatlas.model.errors import PartialResultError
from ioatlas.model.outcomes import Event
from ioatlas.model.visit import BatchStatus, RemarkKind, Visit
from ioatlas.plan.pace import Pace
from ioatlas.store.journal import Intake, Journal
from ioatlas.target.preparation import OddSizes, TargetUse
from ioatlas.target.sites import Sites

SKEWS_KEPT = 20
"""Visits of several clients whose start skew tells of the next ones."""


class Session:
    """What steps may reach."""

    def __init__(
        self,
        journal: Journal,
        plan: Plan,
        sites: Sites,
        environment: Environment,
        odd_sizes: OddSizes,
        began: float | None = None,
    ) -> None:
        self.journal = journal
        self.plan = plan
        self.sites = sites
        self.emit, self.stop_asked = environment.emit, environment.stop_asked
        self.find = environment.executor.find
        self.meters = environment.meters(journal.directory)
        self.of_fleet = environment.fleet is not None
        self.cells: dict[str, Cell] = {cell.key: cell for cell, _ in journal.cells()}
        self.pace = default_pace(plan.spec)
        now = environment.executor.clock.monotonic
        self.budget = Budget(now, plan.spec.budget_seconds, began if began is not None else now())
        self.finished = 0
        """Visits of the sweep that count, of this session and those before."""
        self._odd_sizes = odd_sizes
        self._skews: deque[float] = deque(maxlen=SKEWS_KEPT)

    @property
    def target_use(self) -> TargetUse:
        """What the targets are prepared for."""
        return self.plan.target_use(self._odd_sizes)

    def prepare(self) -> None:
        """Lay out what the plan asks for on every target."""
        self.sites.prepare(self.target_use)

    def know(self, cell: Cell, reason: str = "") -> Cell:
        """The cell, known to the journal from now on."""
        if cell.key not in self.cells:
            self.journal.add_cells([(cell, reason)], first=self.journal.count_cells())
            self.cells[cell.key] = cell
        return cell

    def remark(self, kind: RemarkKind, text: str) -> None:
        """Write a remark down and tell it."""
        self.journal.add_remark(kind, text)
        self.emit(Event("remark", {"text": text}))

    def go_on_with(self, plan: Plan, text: str) -> None:
        """Go on with a reduced plan, and say what was left out."""
        before = {cell.key for cell in self.plan.to_measure}
        self.journal.leave_out({cell.key: reason for cell, reason in plan.cells if reason and cell.key in before})
        self.plan = plan
        self.remark(RemarkKind.LEFT_OUT, text)

    def go_on_with_others(self, plan: Plan, text: str) -> None:
        """Go on with a reduced plan that has new cells, and stands in the place of the one that was made."""
        with self.journal.together():
            for cell, reason in plan.cells:
                self.know(cell, reason)
            self.journal.set_plan(plan_record(plan))
            self.go_on_with(plan, text)

    def fail(self, visits: Sequence[int], reason: str) -> None:
        """Planned visits can no longer be made."""
        batch_id, _ = self.journal.begin_batch(dict.fromkeys(visits, 0))
        failed = Intake(failed=dict.fromkeys(visits, reason))
        self.journal.finish_batch(batch_id, failed, status=BatchStatus.FAILED, note=reason)

    def show_over(self, axes: Mapping[str, Sequence[Any]]) -> None:
        """Reports show the cells as a map over these axes."""
        record = self.journal.plan()
        record["spec"]["axes"] = axes
        self.journal.set_plan(record)

    def stopped(self) -> PartialResultError:
        """What is raised when a person asks to stop."""
        return stopped(self.journal.directory)

    def given_up(self, what: str, remedy: str, where: str = "") -> PartialResultError:
        """What is raised when nothing more can be measured now."""
        targets = self.plan.targets
        return PartialResultError(
            what,
            where=where or (targets[0].location if len(targets) == 1 else ""),
            remedy=f"{remedy}; then `ioatlas resume {self.journal.directory}`: finished visits are kept",
        )

    # -- pace ------------------------------------------------------------------------------------------------

    @property
    def skew_ms(self) -> float:
        """The start skew that nine in ten visits of several clients lately stayed below: windows are to outweigh it.
        One start that took long is no reason to make all windows long: such a visit is made again, which costs more
        than a few tenths of a second for each.
        """
        return sorted(self._skews)[9 * (len(self._skews) - 1) // 10] if self._skews else 0.0

    def pace_before(self, batch_id: int) -> Pace:
        """What the journal told of the target before a batch, whenever that batch is read."""
        known = default_pace(self.plan.spec)
        for visit in self.journal.visits(with_series=True):
            if visit.batch_id < batch_id:
                self.learn_pace(visit, pace=known)
        return known

    def learn_pace(self, visit: Visit, asked_ms: int | None = None, *, pace: Pace | None = None) -> None:
        """What a visit tells of a cell's latency, and of how long its load drains. pace: what learns it, if not the
        session's.
        """
        if pace is None and visit.clients:
            self._skews.append(visit.skew_ms)
        if was_stalled(visit):
            return
        cell = self.cells[visit.cell_key]
        # After the cut: what a warm-up made of the start is not what the next window holds.
        iops = sum(window_values(part, visit.window_start_ms).iops for part in visit.parts)
        seconds = max((part.runtime_ms for part in visit.parts), default=0) / 1000
        if iops and seconds:
            # Little's law; of a paced load it gives the time between I/Os, which is what the window must hold many of.
            latency = cell.outstanding / iops
            drained = None if asked_ms is None else max(0.0, visit.ran_ms - asked_ms) / 1000 / latency
            (pace or self.pace).learn(cell, latency, drained)
