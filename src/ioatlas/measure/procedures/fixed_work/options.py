# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says of a fixed-work sequence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any

from ioatlas.model.errors import UsageError
from ioatlas.plan.options import TEXT, Axes, Constants, Given, Kind, Option
from ioatlas.plan.spec import CampaignSpec, ProcedureTable

LABELS = frozenset({"operation", "tool"})
"""Axes that the study makes."""


class Engine(StrEnum):
    """Who makes the loads of a study."""

    FIO = "fio"
    IOZONE = "iozone"
    BOTH = "both"


ENGINES: dict[str, tuple[str, ...]] = {Engine.FIO: ("fio",), Engine.IOZONE: ("iozone",), Engine.BOTH: ("fio", "iozone")}
ENGINE = Kind(
    (str,),
    choices=Engine,
    read=lambda word, _: ENGINES[word],
    write=lambda engines: next(str(word) for word, programs in ENGINES.items() if programs == engines),
)


@dataclass(frozen=True)
class FixedWorkOptions(ProcedureTable):
    """A study whose cells are fixed work in order. engines: the programs that make its loads."""

    ordered: Annotated[str, Option(TEXT, "Study whose sequence is made.", key="study", shipped=True)] = ""
    engines: Annotated[
        tuple[str, ...],
        Option(
            ENGINE,
            "Program that makes the load of the profile iozone2017; 'iozone' and 'both' need IOzone.",
            key="engine",
            flag=True,
        ),
    ] = ("fio",)

    def check_alone(self) -> None:
        if not self.ordered and self.engines != ("fio",):
            raise UsageError(
                "only the profile iozone2017 has a second engine",
                where="engine",
                remedy="leave it out, or name that profile",
            )

    def settled(self, spec: CampaignSpec, given: Given) -> CampaignSpec:
        """A number of visits that was asked for takes the place of the study's stop rule."""
        asked = self.ordered and "visits" in given and "precision" not in given
        return replace(spec, precision=None) if asked else spec

    def written(self, spec: CampaignSpec) -> dict[str, Any]:
        # The profile brings what has no key.
        brought = {"profile": spec.profile, "engine": ENGINE.write(self.engines)} if self.ordered else {}
        return self.entries() | brought

    def swept(self, axes: Axes, constants: Constants) -> tuple[Axes, Constants]:
        kept = {option: values for option, values in axes.items() if not (self.ordered and option in LABELS)}
        return kept, constants
