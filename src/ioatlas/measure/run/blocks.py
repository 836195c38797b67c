# SPDX-License-Identifier: Apache-2.0
"""Configurations that cannot exist side by side: each is set up, measured as a campaign of its own, and taken down.

They are measured one after another in a random order, as many times as the campaign asks for: every second pass goes
back through the order of the one before, so that a steady drift moves all alike. Each set-up has its share of visits.
Nothing is taken for granted between two sessions: what was not finished is set up again. One that cannot be set up is
given up with a sentence, and the others go on.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ioatlas.answer.results.factors import load_of
from ioatlas.measure.run.budget import Budget
from ioatlas.measure.run.environment import Environment, sites_of
from ioatlas.measure.run.live import Summary
from ioatlas.measure.run.plan import Plan
from ioatlas.measure.run.procedure import Procedure
from ioatlas.measure.run.runner import Runner
from ioatlas.measure.run.session import Session
from ioatlas.measure.run.set_up import Consent, StopAskedError, ask_for, opened, run_command, stopped
from ioatlas.model.errors import IoAtlasError, PartialResultError
from ioatlas.model.factors import Configuration
from ioatlas.model.outcomes import Blocks, Event
from ioatlas.model.verdict import UnmeasuredCode, read_unmeasured
from ioatlas.model.visit import RemarkKind
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.journal import Journal
from ioatlas.target.marker import claimed

LEAST_BUDGET_SECONDS = 1.0
"""Share of a configuration of a budget that is spent."""


@dataclass(frozen=True)
class _Block:
    """A configuration, set up for the n-th time, from 0."""

    configuration: Configuration
    number: int

    @property
    def key(self) -> str:
        return Blocks.name_of(self.configuration.name, self.number)


def passes(configurations: Sequence[Configuration], spec: CampaignSpec) -> list[list[Configuration]]:
    """The order of the configurations each time that they are set up: random, then back, then random anew."""
    generator = random.Random(spec.order_seed)  # noqa: S311 - an order, not a secret
    found: list[list[Configuration]] = []
    for number in range(spec.set_ups):
        if number % 2:
            found.append(found[-1][::-1])
            continue
        order = list(configurations)
        generator.shuffle(order)
        found.append(order)
    return found


@dataclass
class BlockedRun:
    """One session of a campaign whose configurations are measured one after another."""

    journal: Journal
    plan: Plan
    procedure: Procedure
    environment: Environment
    consent: Consent

    def __post_init__(self) -> None:
        clock = self.environment.executor.clock
        self._budget = Budget(clock.monotonic, self.plan.spec.budget_seconds, clock.monotonic())
        self._set_up_seconds: list[float] = []

    def run(self) -> Summary:
        """Measure all that are not done. Raises PartialResultError when a person asks to stop, or when one of them
        could not be measured; what was finished is kept.
        """
        journal = self.journal
        for row in journal.running_batches():
            if row.pid is not None and row.pid_started is not None:
                self.environment.executor.stop_orphan(row.pid, row.pid_started)
        ended = journal.kept(Blocks).ended
        waiting = [block for block in self._in_order() if ended.get(block.key) != ""]
        for place, block in enumerate(waiting):
            self._tell(
                block.configuration, f"Configuration {self._words(block)} ({place + 1} of {len(waiting)})", "begun"
            )
            why = self._measure(block, left=len(waiting) - place)
            ended = {**journal.kept(Blocks).ended, block.key: why}
            journal.keep(Blocks(ended))
            if why:
                told = f"Configuration {self._words(block)} was not measured to its end: {why}."
                journal.add_remark(RemarkKind.WARNING, told)
        failed = [block for block in self._in_order() if ended.get(block.key)]
        if failed:
            what = "configurations" if self.plan.spec.set_ups == 1 else "set-ups"
            raise PartialResultError(
                f"{len(failed)} of {len(ended)} {what} were not measured to their end; {self._words(failed[0])}: "
                f"{ended[failed[0].key]}",
                where=str(journal.directory),
                remedy=f"mend that, then `ioatlas resume {journal.directory}`: the others are kept",
            )
        journal.set_complete()
        return Summary.of(journal, self._budget, complete=True)

    def _in_order(self) -> list[_Block]:
        return [
            _Block(one, number)
            for number, each in enumerate(passes(self.plan.spec.configurations, self.plan.spec))
            for one in each
        ]

    def _words(self, block: _Block) -> str:
        count = self.plan.spec.set_ups
        return block.configuration.name + (f", set-up {block.number + 1} of {count}" if count > 1 else "")

    def _measure(self, block: _Block, *, left: int) -> str:
        """Set it up, measure it, take it down. Why it could not be measured to its end; '' when it was."""
        directory, one = self.journal.directory, block.configuration
        made, why = False, ""
        begin = self._budget.elapsed
        try:
            ask_for(one, self.consent, self.environment.stop_asked)
            run_command(one, "before", directory, self.environment.stop_asked, number=block.number)
            made = True
            opened(one, self.plan, self.journal, self.consent)
            self._set_up_seconds.append(self._budget.elapsed - begin)
            self._session(block, left)
        except StopAskedError:
            raise stopped(directory) from None
        except IoAtlasError as error:
            if self.environment.stop_asked():
                raise
            why = error.what.rstrip(".")
            self._tell(one, f"Configuration {self._words(block)} ended: {_told(error)}.", "failed")
        finally:
            if made:
                self._take_down(block)
        return why

    def _take_down(self, block: _Block) -> None:
        """Run the command after it. A failure is told, and does not spoil what was measured."""
        one = block.configuration
        try:
            run_command(one, "after", self.journal.directory, lambda: False, number=block.number)
        except (IoAtlasError, StopAskedError) as error:
            what = error.what if isinstance(error, IoAtlasError) else "its command `after` was stopped"
            text = f"Configuration {one.name}: {what}. What it left may disturb those after it."
            self.journal.add_remark(RemarkKind.WARNING, text)
            self._tell(one, text, "after-failed")

    def _session(self, block: _Block, left: int) -> None:
        """One session of the part of the campaign that is this configuration, set up this time."""
        whole, environment = self.journal, self.environment
        journal, plan = self._seen(block), self._part(block, left)
        sites = sites_of(journal, plan, environment)
        session = Session(journal, plan, sites, environment, self.procedure.odd_sizes)
        runner = Runner(session, self.procedure.steps(session), environment)
        runner.recover()
        with claimed(plan.targets):
            runner.run(whole)

    def _seen(self, block: _Block) -> Journal:
        """What of the journal a session of this set-up sees."""
        mine = self.journal.of_target(block.configuration.name)
        return mine.of_set_up(block.number) if self.plan.spec.set_ups > 1 else mine

    def _part(self, block: _Block, left: int) -> Plan:
        """The plan of one configuration, with its share of the time that is left. Cells that the budget kept from an
        earlier one are left out of it too: what is to be compared has to be measured on both.
        """
        spec, one = self.plan.spec.of_set_up(block.number), block.configuration
        if spec.budget_seconds is not None:
            self._seen(block).leave_out(self._left_out_before(one))
            each = sum(self._set_up_seconds) / max(1, len(self._set_up_seconds))
            share = ((self._budget.left or 0.0) - each * (left - 1)) / left
            spec = replace(spec, budget_seconds=max(LEAST_BUDGET_SECONDS, share))
        journal = self._seen(block)
        files = {name: files for name, files in self.plan.files.items() if name == one.name}
        return Plan(spec, journal.targets(), tuple(journal.cells()), self.plan.remarks, files)

    def _left_out_before(self, one: Configuration) -> dict[str, str]:
        """{cell key: reason} of its cells that were left out of one that is done."""
        done = [name for name, why in self.journal.kept(Blocks).ended.items() if not why]
        cells = self.journal.cells()
        gone = {
            load_of(cell): reason
            for cell, reason in cells
            if cell.target in done and read_unmeasured(reason).code is UnmeasuredCode.LEFT_OUT
        }
        return {
            cell.key: gone[load_of(cell)]
            for cell, reason in cells
            if cell.target == one.name and not reason and load_of(cell) in gone
        }

    def _tell(self, one: Configuration, text: str, state: str) -> None:
        factors = {name: factor.value for name, factor in one.factors.items()}
        told = {"configuration": one.name, "factors": factors, "state": state, "text": text}
        self.environment.emit(Event("configuration", told))


def _told(error: IoAtlasError) -> str:
    """What went wrong and where, for the person at the terminal."""
    return f"{error.what} ({error.where})" if error.where else error.what.rstrip(".")
