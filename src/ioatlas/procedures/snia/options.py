# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says of a SNIA test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ioatlas.config.options import Given, Option, Table, choice
from ioatlas.config.spec import CampaignSpec
from ioatlas.model.choices import Preparation, Purge, SniaTest


@dataclass(frozen=True)
class SniaOptions(Table):
    """A test of the SNIA specification, made in rounds."""

    snia: Annotated[
        SniaTest | None,
        Option(choice(SniaTest), "Run a test of the SNIA performance test specification: rounds until steady state."),
    ] = None
    purge: Annotated[
        Purge,
        Option(choice(Purge), "What is done before the fill of a SNIA test; 'auto': discard where a block device can."),
    ] = Purge.AUTO

    @property
    def test(self) -> SniaTest:
        """Of a campaign that is such a test."""
        assert self.snia is not None
        return self.snia

    @classmethod
    def begin(cls, spec: CampaignSpec, given: Given) -> CampaignSpec:
        """The test as the specification has it, on the targets that are named already."""
        test = given.get("snia")
        if test is None or test == spec.of(cls).snia:
            return spec
        from ioatlas.design.snia import CELL_SECONDS, PROCEDURES

        procedure = PROCEDURES[SniaTest(test)]
        return CampaignSpec(
            targets=spec.targets,
            axes=procedure.axes,
            constants=procedure.constants,
            visits=1,
            window_seconds=CELL_SECONDS,
            prepare=Preparation.FILLED_TWICE if procedure.fill_passes else Preparation.LAID_OUT,
        )
