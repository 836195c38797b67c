# SPDX-License-Identifier: Apache-2.0
"""What a procedure has to say: how it is planned, what it makes next, how it judges.

A procedure is what a user chooses: a map, a fixed-work sequence, SNIA rounds, load points, a search, a trace. Each is a
folder of `ioatlas.measure.procedures` with one `Procedure`; its registry says which campaigns are of this kind, and
what of their results is not as in a map. The runner and everything above it ask the methods here, never which procedure
it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ioatlas.load.fio.executor import Executor
from ioatlas.measure.run.plan import Plan
from ioatlas.model.target import Target
from ioatlas.plan.spec import CampaignSpec
from ioatlas.target.preparation import OddSizes

if TYPE_CHECKING:  # what runs is imported when it runs: planning starts fast
    from ioatlas.measure.run.session import Session
    from ioatlas.measure.run.steps import Steps
    from ioatlas.store.journal import Journal


@dataclass(frozen=True)
class PlanText:
    """A plan in words, where procedures differ.

    order, visits, prepare, files: ends of these lines. extra: lines after the one of the cells. cost: lines in
    the place of those on bytes written and time; None for the usual ones. budget: what happens at its end.
    """

    order: str = "in different random orders"
    visits: str = ""
    prepare: str = ""
    files: str = ""
    extra: tuple[str, ...] = ()
    cost: tuple[str, ...] | None = None
    budget: str = "the plan is coarsened if it does not fit"


@dataclass(frozen=True)
class Procedure:
    """One kind of campaign. Without state: what a campaign has come to stands in its journal."""

    name: ClassVar[str]
    shown_first: ClassVar[bool] = False
    """Whether its plan is shown before it runs, whoever reads it: it can take a day."""

    in_set_ups: ClassVar[bool] = False
    """Whether it can measure a configuration each time that it is set up, and take all its visits together."""

    odd_sizes: ClassVar[OddSizes] = "refuse"
    """What becomes of cells whose blocks direct I/O cannot move."""

    def informed(self, facts: Path | None) -> Procedure:  # noqa: ARG002
        """The procedure that plans with what a person typed in. facts: a file of typed-in facts; None without one.

        Raises UsageError for a file that cannot be read.
        """
        return self

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:
        """All cells on all targets. Writes nothing. Raises UsageError for what can be seen to be wrong before anything
        runs.
        """
        raise NotImplementedError

    def seconds(self, plan: Plan) -> float:
        """Expected time of a whole campaign at the planning rates."""
        return plan.seconds()

    def summary(self, plan: Plan) -> dict[str, Any]:
        """What `ioatlas plan --json` prints."""
        return plan.summary(self.seconds(plan))

    def text(self, plan: Plan, summary: Mapping[str, Any]) -> PlanText:  # noqa: ARG002
        """How the plan is told to people."""
        return PlanText()

    def check_start(self, plan: Plan, executor: Executor) -> None:
        """Raises UsageError for a plan that cannot be begun, IoAtlasError for a load generator that is missing."""

    def shrinks_to_fit(self, plan: Plan) -> bool:
        """Whether files that do not fit the free space are looked at later, because the procedure may do with less."""
        return plan.spec.budget_seconds is not None and len({cell.size_bytes for cell in plan.to_measure}) > 1

    def may_shrink(self, plan: Plan) -> bool:  # noqa: ARG002
        """Whether less may be laid out than planned, where a target is slow."""
        return False

    def with_less_to_write(self, plan: Plan, able_bytes: float, bytes_per_s: float) -> Plan:  # noqa: ARG002
        """The plan that lays out no more than so many bytes, as far as that goes; the same where it does not. A remark
        says why. bytes_per_s: how fast the targets are written.
        """
        return plan

    def keep(self, plan: Plan, directory: Path) -> None:
        """Put into a new campaign's directory what its plan refers to."""

    def restore(self, plan: Plan, directory: Path) -> None:
        """Look at what `keep` put there before a session goes on with it. Raises IoAtlasError when it is another."""

    def begin(self, journal: Journal, plan: Plan) -> None:
        """Write into a new journal what the first session needs besides plan and cells: visits that are known
        beforehand.
        """

    def steps(self, session: Session) -> Steps:
        """What one session makes."""
        raise NotImplementedError
