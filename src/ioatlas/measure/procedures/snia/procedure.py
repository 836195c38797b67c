# SPDX-License-Identifier: Apache-2.0
"""A test in rounds and its steps: purge, fill, then round after round in a fixed order until the tracked value is
steady.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from ioatlas.answer.analysis.rounds import Rounds, format_value, rounds_of, words
from ioatlas.load.fio.batch import Batch, Section
from ioatlas.measure.procedures.options import SniaOptions
from ioatlas.measure.procedures.snia.plan import build_rounds_plan, pass_name, passes_of, rounds_lines, rounds_plan
from ioatlas.measure.run.plan import FIO_SECONDS, Plan
from ioatlas.measure.run.procedure import PlanText, Procedure
from ioatlas.measure.run.session import Session
from ioatlas.measure.run.steps import REPORT_SECONDS, Making, Steps
from ioatlas.model.cell import Cell
from ioatlas.model.errors import PartialResultError
from ioatlas.model.outcomes import Event, SniaPass, SniaPasses
from ioatlas.model.target import Target
from ioatlas.model.visit import Purpose, RemarkKind, Visit
from ioatlas.plan.snia import PROCEDURES, Test
from ioatlas.plan.spec import CampaignSpec
from ioatlas.stats.steadystate import MOST_ROUNDS, WINDOW
from ioatlas.store.journal import NewVisit, PlannedVisit

TRIES = 3
"""Times that a cell of a round is made before the round is given up."""
GAP_MS = 10


class RoundsSteps(Steps):
    """One session of a test in rounds."""

    counted = frozenset({Purpose.SWEEP})

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        spec = session.plan.spec
        self._test: Test = spec.of(SniaOptions).test
        self._procedure = PROCEDURES[spec.of(SniaOptions).test]
        self._window_ms = round(spec.window_seconds * 1000)
        self._pass_name = ""
        self._pass_cells: tuple[Cell, ...] = ()
        self._visits: list[Visit] = []

    def make(self) -> Making[bool]:
        """Make all passes."""
        self._visits = self.journal.visits()
        for cells in passes_of(self.journal, self._test):
            if not (yield from self._make_pass(cells)):
                break
        begun = self.journal.kept(SniaPasses).passes.values()
        return bool(begun) and all(one.ended for one in begun)

    # -- one pass --------------------------------------------------------------------------------------------

    def _make_pass(self, cells: tuple[Cell, ...]) -> Making[bool]:
        """True when it has come to its end, False when the budget has."""
        name = pass_name(self._procedure, cells[0].target, cells)
        if self._known(name).ended:
            return True
        self._prepare(name, cells)
        # What direct I/O on this file system cannot move was left out while it was prepared.
        left = {cell.key for cell, reason in self.journal.cells() if not reason}
        cells = tuple(cell for cell in cells if cell.key in left)
        self._pass_name, self._pass_cells = name, cells
        while True:
            rounds = self._rounds(name, cells)
            ended = rounds.ended(self.session.plan.spec.window_seconds)
            if ended:
                self._note(name, replace(self._known(name), ended=ended))
                return True
            if self._over_budget(rounds):
                return False
            yield from self._make_round(rounds, rounds.complete)
            self._tell_round(self._rounds(name, cells))

    def _known(self, name: str) -> SniaPass:
        return self.journal.kept(SniaPasses).passes.get(name, SniaPass())

    def _note(self, name: str, known: SniaPass) -> None:
        self.journal.keep(SniaPasses({**self.journal.kept(SniaPasses).passes, name: known}))

    def _rounds(self, name: str, cells: Sequence[Cell]) -> Rounds:
        return rounds_of(self._test, cells, self._visits, self._known(name).first)

    def _prepare(self, name: str, cells: tuple[Cell, ...]) -> None:
        """Purge and fill. What was filled stays filled on a device; files in a directory were removed and are made
        again, and the window begins anew.
        """
        known, target = self._known(name), cells[0].target
        kept = self.session.sites.is_prepared(target, self.session.target_use, once=name)
        if not kept:
            done = self._rounds(name, cells).complete
            purge = self.session.sites.purge(target, self.session.plan.spec.of(SniaOptions).purge)
            self._note(name, replace(known, purge=purge, first=done))
            if done > known.first:
                self.session.remark(
                    RemarkKind.WARNING,
                    f"The test on {target} was interrupted after round {done} and its files were removed: it was "
                    "filled again, and no "
                    "measurement window spans the interruption.",
                )
        elif name in self.journal.kept(SniaPasses).passes:
            self.session.remark(
                RemarkKind.WARNING, f"The test on {target} was interrupted and went on without a new purge and fill."
            )
        self.session.sites.prepare_target(target, self.session.target_use, once=name)

    # -- one round -------------------------------------------------------------------------------------------

    def _make_round(self, rounds: Rounds, number: int) -> Making[None]:
        """Every cell once, in the order of the specification, each in a fio of its own."""
        for attempt in range(TRIES):
            missing = self._rounds(self._pass_name, rounds.cells).missing(number)
            if not missing:
                return
            if not self.journal.planned(Purpose.SWEEP):
                generator = random.Random(f"{self.session.plan.spec.order_seed} {number} {attempt}")  # noqa: S311 - offsets, not secrets
                seeds = [(cell, generator.randrange(1, 2**31)) for cell in missing]
                self.journal.add_visits(
                    NewVisit(cell.key, number, seed, alone=True, runtime_ms=self._window_ms) for cell, seed in seeds
                )
            while waiting := self.journal.planned(Purpose.SWEEP, limit=1):
                self._visits += yield from self.make_batch(waiting)
        missing = self._rounds(self._pass_name, rounds.cells).missing(number)
        if missing:
            raise PartialResultError(
                f"round {number + 1} lacks a valid reading of {words(missing[0])} after {TRIES} tries; finished "
                "rounds are kept",
                where=rounds.tracked.target,
                remedy=f"see the discarded visits with `ioatlas show {self.journal.directory} --cells`, then `ioatlas "
                "resume`",
            )

    def section(self, visit: PlannedVisit) -> Section:
        return self.bound(visit, self._window_ms, GAP_MS)

    def _over_budget(self, rounds: Rounds) -> bool:
        left = self.budget.left
        if left is None or rounds.complete == 0 or left >= self._round_seconds() + REPORT_SECONDS:
            return False
        text = (
            f"The budget ended after round {rounds.complete} of the {self._procedure.title}: no steady state is "
            "claimed."
        )
        self.session.remark(RemarkKind.LEFT_OUT, text)
        return True

    def _tell_round(self, rounds: Rounds) -> None:
        values, state = rounds.values(), rounds.state()
        count = rounds.complete - rounds.first
        text = f"round {rounds.complete}: {words(rounds.tracked)} {format_value(values[-1], self._procedure.quantity)}"
        text += f"; {state.reason}" if count >= WINDOW else f"; {count} of {WINDOW} rounds of the first window"
        told = {
            "target": rounds.tracked.target,
            "test": self._test,
            "round": rounds.complete,
            "value": values[-1],
            "quantity": self._procedure.quantity,
            "met": state.met and self._test != "saturation",
            "range_share": state.range_share,
            "slope_share": state.slope_share,
            "text": text,
        }
        self.session.emit(Event("round", told))

    # -- time to come ----------------------------------------------------------------------------------------

    def _round_seconds(self) -> float:
        each = self.budget.seconds_per_visit(self._window_ms / 1000 + FIO_SECONDS)
        return len(self._pass_cells) * each

    def progress(self, batch: Batch) -> dict[str, float]:
        """Visits and seconds to the earliest round in which the test can end, and to the last one."""
        rounds = self._rounds(self._pass_name, self._pass_cells)
        made = rounds.complete - rounds.first
        here = len(self._pass_cells) - len(rounds.missing(rounds.complete))
        count = len(self._pass_cells)
        if self._test == "saturation":
            least = most = self._saturation_rounds(rounds)
        else:
            least, most = max(WINDOW - made, 1), MOST_ROUNDS - made
        each = self._round_seconds() / count
        planned = least * count - here
        return {
            **self.told_progress(planned, max(batch.seconds, planned * each)),
            "round": rounds.complete + 1,
            "seconds_left_most": round(max(batch.seconds, (most * count - here) * each), 1),
        }

    def _saturation_rounds(self, rounds: Rounds) -> int:
        """Rounds to come at the rate of those made so far."""
        written = rounds.written_bytes()
        made = rounds.complete - rounds.first
        if not made or not written or not written[-1]:
            return 1
        goal = 4 * max(cell.footprint_bytes for cell in rounds.cells)
        return max(1, -(-(goal - written[-1]) * made // written[-1]))


class SniaRounds(Procedure):
    name = "snia"
    shown_first = True
    odd_sizes = "leave out"  # the grid begins at 512 B whatever the file system takes

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        return build_rounds_plan(spec, targets, read_only=read_only)

    def seconds(self, plan: Plan) -> float:
        """The shortest time that the test can take."""
        tests = [test for target in plan.targets if (test := rounds_plan(plan, target.name))]
        return sum(test.least_seconds for test in tests)

    def summary(self, plan: Plan) -> dict[str, Any]:
        tests = {target.name: test for target in plan.targets if (test := rounds_plan(plan, target.name))}
        spec = plan.spec
        rounds = [
            {"target": name, "purge": spec.of(SniaOptions).purge, "window_seconds": spec.window_seconds, **asdict(test)}
            for name, test in tests.items()
        ]
        return {**super().summary(plan), "snia": rounds}

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:  # noqa: ARG002
        return PlanText(
            order="in a fixed order",
            visits="one visit a round",
            cost=tuple(line for target in plan.targets for line in rounds_lines(plan, target)),
            budget="the test ends with it, met or not",
        )

    def steps(self, session: Session) -> Steps:
        return RoundsSteps(session)
