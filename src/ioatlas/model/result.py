# SPDX-License-Identifier: Apache-2.0
"""A campaign's result: everything a report, an export or a comparison needs, computed from the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.chart import Chart, Table
from ioatlas.model.checks import BlindCheck, OtherTraffic
from ioatlas.model.configuration import Configuration
from ioatlas.model.cost import ProductCost
from ioatlas.model.drift import BaselineChart, ReplicateRow, Wander
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding
from ioatlas.model.latency import LatencyCurve, TimeCourse
from ioatlas.model.load_curve import LoadCurve
from ioatlas.model.reason import UnmeasuredReason
from ioatlas.model.rounds import RoundsResult
from ioatlas.model.target import Target
from ioatlas.model.works import WorkFigure


@dataclass(frozen=True)
class Change:
    """The cell of one side over that of the side it is held against. ratio, low, high: with its 95% interval.

    outcome: 'higher' or 'lower' where the difference is told, 'same' where the whole interval lies within the
    tolerance, 'not different' where neither can be said, 'not comparable' where nothing was tested, 'predicted' where a
    model's prediction stands for a measurement.
    """

    cell_key: str
    direction: str
    ratio: float
    low: float | None
    high: float | None
    outcome: str


@dataclass(frozen=True)
class Unmeasured:
    """A cell of the sweep that has no estimate, and why."""

    cell: Cell
    reason: UnmeasuredReason


@dataclass(frozen=True)
class CampaignResult:
    """The whole of one campaign.

    axes:      swept options in the order of the campaign, each with its values in axis order.
    constants: options that every cell shares.
    fresh:     estimates of the cells named because they are extreme, from the visits made after they were named.
    settings:  what else the reader must know: sharing, window, visits, order seed, profile, remarks of the profile.
    sessions:  testbed snapshots, one for each time the campaign was run or resumed.
    """

    campaign_id: str
    name: str
    created_at: float
    tool_version: str
    targets: tuple[Target, ...]
    axes: Mapping[str, tuple[OptionValue, ...]]
    constants: Mapping[str, OptionValue]
    estimates: tuple[Estimate, ...]
    unmeasured: tuple[Unmeasured, ...] = ()
    fresh: tuple[Estimate, ...] = ()
    findings: tuple[Finding, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    sessions: tuple[Mapping[str, str], ...] = ()
    n_visits: int = 0
    n_discarded: int = 0
    discard_reasons: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    complete: bool = True
    methods: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Of imported targets, by name: how their figures came about, as far as the sources tell."""
    load_curves: tuple[LoadCurve, ...] = ()
    """Of several streams at once: response time against load, one curve for each target."""
    charts: tuple[Chart, ...] = ()
    """Line charts beside the map, in the order to show them; tables likewise."""
    tables: tuple[Table, ...] = ()
    rounds: tuple[RoundsResult, ...] = ()
    """Of a test in rounds: one for each target and pass."""
    baselines: tuple[BaselineChart, ...] = ()
    replicates: tuple[ReplicateRow, ...] = ()
    wanders: tuple[Wander, ...] = ()
    """Random orders of the sweep, those that were voided included."""
    latency_curves: tuple[LatencyCurve, ...] = ()
    """Percentiles of every cell and direction that has latencies."""
    time_courses: tuple[TimeCourse, ...] = ()
    changes: tuple[Change, ...] = ()
    """Of two campaigns side by side: at the cells of the second one."""
    """Of the visits of the sweep and of those made afresh, in the order in which they ran."""
    ledger_bytes: Mapping[str, int] = field(default_factory=dict)
    """Bytes written to the targets, by what they were written for."""
    other_traffic: tuple[OtherTraffic, ...] = ()
    """What else was on the paths while they were measured, where it was too much."""
    others_cpu: float | None = None
    """Share of the client's processors that other programs took in the middle one of the visits; None if not known."""
    blind_checks: tuple[BlindCheck, ...] = ()
    """Of an adaptive map: one for each target."""
    n_not_reached: int = 0
    """Visits of the sweep that were planned and not made: the budget ended."""
    needed_seconds: float | None = None
    """Of a budget in which the cells fit that were left out, as the campaign itself reckoned."""
    costs: tuple[ProductCost, ...] = ()
    """What the products of its targets cost; empty where the campaign names none."""
    works: tuple[WorkFigure, ...] = ()
    """Of commands that were timed: what each gave on each target, in its own unit."""
    configurations: tuple[Configuration, ...] = ()
    """Of a campaign that compares some: each goes by the name of its target."""

    set_ups: int = 0
    """How often each of these was set up, where they were measured one after another and several times."""

    def configuration(self, target: str) -> Configuration | None:
        """The configuration that a target belongs to."""
        return next((one for one in self.configurations if one.name == target), None)
