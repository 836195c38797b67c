# SPDX-License-Identifier: Apache-2.0
"""Applications: commands that earlier versions timed. Their campaigns are read, and no more are made."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ioatlas.config.spec import CampaignSpec
from ioatlas.errors import UsageError
from ioatlas.model.target import Target
from ioatlas.procedures.application.options import ApplicationOptions
from ioatlas.run.plan import Plan
from ioatlas.run.procedure import Procedure

if TYPE_CHECKING:
    from ioatlas.results.parts import ResultParts
    from ioatlas.store.journal import Journal


class Application(Procedure):
    """Works on directories."""

    name = "application"
    past = "commands are no longer timed"

    def claims(self, spec: CampaignSpec, records: Collection[str]) -> bool:  # noqa: ARG002
        return spec.of(ApplicationOptions).brings_load

    def plan(self, spec: CampaignSpec, targets: tuple[Target, ...], *, read_only: bool) -> Plan:  # noqa: ARG002
        raise _no_more(spec.name)

    def restore(self, plan: Plan, directory: Path) -> None:  # noqa: ARG002
        raise _no_more(str(directory))

    def result(self, journal: Journal, spec: CampaignSpec) -> ResultParts:
        from ioatlas.procedures.application.result import WorkParts

        return WorkParts(journal, spec)


def _no_more(where: str) -> UsageError:
    return UsageError(Application.past, where=where, remedy="read what it has with `ioatlas show`")
