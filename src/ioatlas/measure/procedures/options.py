# SPDX-License-Identifier: Apache-2.0
"""The campaign file of all procedures: the tables of their options. Large ones stand in their procedure's folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from ioatlas.measure.procedures.fixed_work.options import FixedWorkOptions
from ioatlas.measure.procedures.load_points.options import LoadPointsOptions
from ioatlas.measure.procedures.metadata.options import MetadataOptions
from ioatlas.model.cell import TRACE, TRACE_SECONDS
from ioatlas.model.errors import UsageError
from ioatlas.model.options import Preparation, Purge, SniaTest
from ioatlas.plan.campaign_file import CampaignFormat
from ioatlas.plan.options import FLAG, PATH, TEXT, Axes, Constants, Given, Option, choice, integer
from ioatlas.plan.spec import CampaignSpec, ProcedureTable

USUAL_BUDGET_SECONDS = 180.0
TRACE_FILE = "trace.iolog"
"""Name of the copy in the campaign's directory."""
TRACE_SUMMARY = frozenset({TRACE, TRACE_SECONDS, "rw", "bs", "size", "iodepth"})
"""What a trace settles of its cells."""


@dataclass(frozen=True)
class MapOptions(ProcedureTable):
    """What a map measures of its cells; None: all that its budget allows."""

    cells: Annotated[
        int | None,
        Option(
            integer(3),
            "Measure at most this many cells, those that teach most; the law of the target foretells the others.",
            flag=True,
        ),
    ] = None


@dataclass(frozen=True)
class FitOptions(ProcedureTable):
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


@dataclass(frozen=True)
class SniaOptions(ProcedureTable):
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

    def check_alone(self) -> None:
        if self.snia is None and self.purge != Purge.AUTO:
            raise UsageError("a purge is part of a SNIA test", where="purge", remedy="use --prepare fresh in a map")

    @classmethod
    def begin(cls, spec: CampaignSpec, given: Given) -> CampaignSpec:
        """The test as the specification has it, on the targets that are named already."""
        test = given.get("snia")
        if test is None or test == spec.of(cls).snia:
            return spec
        from ioatlas.plan.snia import CELL_SECONDS, PROCEDURES

        procedure = PROCEDURES[SniaTest(test)]
        return CampaignSpec(
            targets=spec.targets,
            axes=procedure.axes,
            constants=procedure.constants,
            visits=1,
            window_seconds=CELL_SECONDS,
            prepare=Preparation.FILLED_TWICE if procedure.fill_passes else Preparation.LAID_OUT,
        )


@dataclass(frozen=True)
class TraceOptions(ProcedureTable):
    """A timed trace instead of a sweep."""

    trace: Annotated[
        str,
        Option(
            PATH,
            "Replay a timed trace (fio's version 3 log) instead of a sweep. Latencies count from the time each I/O "
            "was due.",
            flag=True,
        ),
    ] = ""

    @property
    def brings_load(self) -> bool:
        return bool(self.trace)

    def entries(self) -> dict[str, Any]:
        return {"trace": TRACE_FILE} if self.trace else {}

    def swept(self, axes: Axes, constants: Constants) -> tuple[Axes, Constants]:
        if not self.trace:
            return axes, constants
        return axes, {option: value for option, value in constants.items() if option not in TRACE_SUMMARY}


CAMPAIGN = CampaignFormat(
    (FitOptions, FixedWorkOptions, LoadPointsOptions, MapOptions, MetadataOptions, SniaOptions, TraceOptions)
)

read_campaign, read_campaign_file, campaign_toml = CAMPAIGN.read, CAMPAIGN.read_file, CAMPAIGN.write
find_profile, campaign_schema = CAMPAIGN.profile, CAMPAIGN.schema
