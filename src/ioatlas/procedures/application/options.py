# SPDX-License-Identifier: Apache-2.0
"""What the journals of earlier versions say of works: as much of it as their results need."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from ioatlas.config.options import NAME_PATTERN, Axes, Constants, Table, Where
from ioatlas.config.spec import CampaignSpec
from ioatlas.errors import UsageError
from ioatlas.model.application import WORK

LONGEST_UNIT = 40
SECONDS = "s"
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}


class Better(StrEnum):
    """Which way a figure is good."""

    MORE = "more"
    LESS = "less"


@dataclass(frozen=True)
class Metric:
    """A figure that a command printed."""

    unit: str
    better: Better = Better.MORE


@dataclass(frozen=True)
class Work:
    """A command that was timed."""

    name: str
    metric: Metric | None = None

    @property
    def figure(self) -> Metric:
        """What it gave; without a metric its time."""
        return self.metric or Metric(SECONDS, Better.LESS)

    @property
    def unit_seconds(self) -> float:
        """How many seconds one unit of a figure of which less is better stands for; 1 where it is no time."""
        return _TIMES.get(self.figure.unit, 1.0)


@dataclass(frozen=True)
class ApplicationOptions(Table):
    """Commands that earlier versions timed. No campaign file has them any more."""

    work: tuple[Work, ...] = ()

    @property
    def brings_load(self) -> bool:
        return bool(self.work)

    def check(self, where: Where) -> None:
        for number, one in enumerate(self.work):
            unit = one.figure.unit
            if not (re.fullmatch(NAME_PATTERN, one.name) and 0 < len(unit) <= LONGEST_UNIT and unit.isprintable()):
                raise UsageError("no work has such a name or unit", where=where("work", number), remedy="remove it")

    def swept(self, axes: Axes, constants: Constants) -> tuple[Axes, Constants]:
        return {name: values for name, values in axes.items() if name != WORK}, constants


def works_of(spec: CampaignSpec) -> dict[str, Work]:
    """The works of a campaign, by name."""
    return {one.name: one for one in spec.of(ApplicationOptions).work}
