# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says of the uses that a target is to fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from ioatlas.config.options import FLAG, TEXT, Axes, Constants, Given, Option, Table
from ioatlas.config.spec import CampaignSpec

USUAL_BUDGET_SECONDS = 180.0


@dataclass(frozen=True)
class FitOptions(Table):
    """The uses; none: it is no such campaign. fit_share: of the sizes that they say, where writing the whole would take
    too much of the budget.
    """

    fit: Annotated[
        str, Option(TEXT, "Uses that the target is to fit, such as 'etcd,vm-host:20'; `ioatlas fit --list` shows them.")
    ] = ""

    fit_max: Annotated[
        bool, Option(FLAG, "Find how many of what the use counts the target carries, such as virtual machines.")
    ] = False
    fit_share: float = 1.0

    @property
    def brings_load(self) -> bool:
        return bool(self.fit)

    def settled(self, spec: CampaignSpec, given: Given) -> CampaignSpec:  # noqa: ARG002
        usual = self.fit and spec.budget_seconds is None
        return replace(spec, budget_seconds=USUAL_BUDGET_SECONDS) if usual else spec

    def swept(self, axes: Axes, constants: Constants) -> tuple[Axes, Constants]:
        return ({}, {}) if self.fit else (axes, constants)
