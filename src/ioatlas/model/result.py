# SPDX-License-Identifier: Apache-2.0
"""A campaign's result: everything a report, an export or a comparison needs, computed from the journal.

Its records of one kind each stand below it: checks, latencies, prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.estimate import Estimate
from ioatlas.model.factors import Configuration
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.load_curve import LoadPoint
from ioatlas.model.panel import Panel, Table
from ioatlas.model.summary import Advice, Doubt, Headline
from ioatlas.model.target import Target
from ioatlas.model.verdict import UnmeasuredReason, VerdictCode
from ioatlas.model.visit import REPLICATES_OF_A_SET_UP, set_up_of


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
    priced: tuple[PricedLoad, ...] = ()
    """What a price can be told of that no cell says."""
    charts: tuple[Panel, ...] = ()
    """Charts beside the map, in the order to show them; tables likewise."""
    tables: tuple[Table, ...] = ()
    page_tables: tuple[Table, ...] = ()
    """For the page alone: bundles are signed and verified with the other ones."""
    replicates: tuple[ReplicateRow, ...] = ()
    """Random orders of the sweep, those that were voided included."""
    wanders: tuple[Wander, ...] = ()
    latency_curves: tuple[LatencyCurve, ...] = ()
    """Percentiles of every cell and direction that has latencies."""
    time_courses: tuple[TimeCourse, ...] = ()
    """Of the visits of the sweep and of those made afresh, in the order in which they ran."""
    changes: tuple[Change, ...] = ()
    """Of two campaigns side by side: at the cells of the second one."""
    ledger_bytes: Mapping[str, int] = field(default_factory=dict)
    """Bytes written to the targets, by what they were written for."""
    other_traffic: tuple[OtherTraffic, ...] = ()
    """What else was on the paths while they were measured, where it was too much."""
    others_cpu: float | None = None
    """Share of the client's processors that other programs took in the middle one of the visits; None if not known."""
    n_not_reached: int = 0
    """Visits of the sweep that were planned and not made: the budget ended."""
    costs: tuple[ProductCost, ...] = ()
    """What the products of its targets cost; empty where the campaign names none. Their sheets may be corrected later,
    so no procedure knows it.
    """
    headlines: tuple[Headline, ...] | None = None
    """Main numbers, by its procedure; of several cells with one label the highest is told. None where they are the best
    of the map.
    """
    doubts: tuple[Doubt, ...] = ()
    """What only its procedure can tell against its numbers."""
    next_step: Advice | None = None
    """What to do next, where its procedure knows; else the doubts say."""
    shown_as: Literal["map", "charts", "tables"] = "map"
    """What says most: the best cells and a map; charts, beside such a map; or its tables, where they stand first."""
    is_map: bool = True
    """Whether the cells are shown as a map where tables of its own are."""
    has_small: bool = True
    """Whether the cells tell how long small I/Os take: those of a curve or under a rate do not."""
    records: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Lists that its procedure alone has in the exported document, by their names there."""
    configurations: tuple[Configuration, ...] = ()
    """Of a campaign that compares some: each goes by the name of its target."""
    beside: tuple[Estimate, ...] = ()
    """Of loads that are no cells of the map: writes that wait for a flush, reads under writes."""
    set_ups: int = 0
    """How often each of these was set up, where they were measured one after another and several times."""

    def configuration(self, target: str) -> Configuration | None:
        """The configuration that a target belongs to."""
        return next((one for one in self.configurations if one.name == target), None)

    def doubted(self, doubts: Mapping[tuple[str, str], str]) -> Self:
        """With a mark at values that something speaks against, {(cell's key, direction): what it is}, and without what
        rests on them: main numbers, findings and prices of these loads, and findings that name no load. Data that came
        back changed is told all the same.
        """
        told = ((e, doubts.get((e.cell.key, e.direction))) for e in self.estimates)
        as_told: dict[str, Any] = {"verdict": VerdictCode.DOUBTED, "grade": None}
        marked = (replace(e, **as_told, notes=(*e.notes, f"doubted: {why}")) if why else e for e, why in told)

        def stands(one: Finding | Headline | UnitPrice, *cells: str) -> bool:
            return not any(one.direction in ("", way) and (not cells or key in cells) for key, way in doubts)

        return replace(
            self,
            estimates=tuple(marked),
            findings=tuple(f for f in self.findings if f.code is FindingCode.CORRUPTION or stands(f, *f.cells)),
            headlines=self.headlines and tuple(one for one in self.headlines if stands(one, one.cell)),
            costs=tuple(replace(c, units=tuple(one for one in c.units if stands(one, one.cell))) for c in self.costs),
        )


def ordinal(replicate: int) -> str:
    """As people count: the first replicate is 1. Journals and tables count from 0."""
    return counted(replicate, 1)


def counted(replicate: int, first: int = 0) -> str:
    """Its number in its set-up, which is named where it is not the first."""
    number = set_up_of(replicate)
    within = str(replicate - number * REPLICATES_OF_A_SET_UP + first)
    return f"{within} of set-up {number + 1}" if number else within


@dataclass(frozen=True)
class ReplicateRow:
    """One random order of the sweep. effect, error: level against the mean of the replicates and its standard error,
    shares; note: what is to be said of it, or became of it; in_doubt: it is that of two nobody knows which one moved.
    voided: it was, and another one repeats it: it is out of every value.
    """

    target: str
    replicate: int
    n_visits: int
    n_discarded: int
    effect: float | None
    error: float | None
    note: str = ""
    voided: bool = False
    in_doubt: bool = False


@dataclass(frozen=True)
class Wander:
    """A target whose level did not stay, inside replicates or between them: by which share it changed, and how."""

    target: str
    change: float
    words: str


@dataclass(frozen=True)
class OtherTraffic:
    """Bytes that a path moved beyond what the load and its protocol take, in one direction.

    share: of the bytes that the load moved. batches: those with such bytes; judged: all that could be judged.
    """

    path: str
    direction: str
    excess_bytes: float
    share: float
    batches: int
    judged: int


PERCENTS = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99)


@dataclass(frozen=True)
class LatencyCurve:
    """Latency percentiles of one cell and direction, over all I/Os of the visits that its estimate is made from.

    latencies_ns: one for each of `PERCENTS`; None where fewer than `analysis.latencies.FEWEST_BEYOND` I/Os lie beyond.
    """

    cell_key: str
    direction: str
    n_ios: int
    latencies_ns: tuple[float | None, ...]


@dataclass(frozen=True)
class TimeCourse:
    """One visit and direction over time.

    started_seconds: since the first visit of the campaign. cut_ms: where the warm-up was cut; 0 when nothing was.
    end_ms: end of each interval since the load began. bw_bytes_per_s, lat_mean_ns: over that interval.
    discarded: why the visit does not count; '' when it does. purpose: what the visit was made for.
    """

    cell_key: str
    direction: str
    visit_id: int
    purpose: str
    started_seconds: float
    cut_ms: int
    verdict: str
    discarded: str
    end_ms: tuple[int, ...]
    bw_bytes_per_s: tuple[float, ...]
    lat_mean_ns: tuple[float, ...]


SHEET, SHEETS = "product.toml", "products"
"""In a campaign's directory: its product's sheet, and those of configurations that have one of their own."""


@dataclass(frozen=True)
class PricedLoad:
    """All streams of a target at once; with a `setting`, fio's options of the cells in whose place the load stands.

    watts: of the target under this load. note: what to know of it.
    """

    target: str
    point: LoadPoint
    watts: float | None = None
    setting: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def stands_for(self, cell: Cell) -> bool:
        """Not for a mix of directions: it was confirmed as one sum, which is no direction's value."""
        alike = all(str(cell.option.get(name, 1)) == value for name, value in self.setting.items())
        return bool(self.setting) and cell.target == self.target and len(cell.directions) == 1 and alike


@dataclass(frozen=True)
class UnitPrice:
    """Cost of one unit, such as 'MB/s read', with the interval of what was measured; None where there is none.

    amount: how many units the product gives. cell: key of the cell behind it; '' of capacity. where: it in words.
    lower_bound: the client was the limit, so it costs at most that.
    """

    unit: str
    cost: float | None
    low: float | None
    high: float | None
    amount: float
    per_watt: float | None
    where: str
    cell: str
    direction: str
    lower_bound: bool


@dataclass(frozen=True)
class ProductCost:
    """A product at one target. target: '' for all. total: of the purchase; None unknown. dates: of its prices."""

    target: str
    product: str
    currency: str
    total: float | None
    dates: str
    usable_bytes: int | None
    units: tuple[UnitPrice, ...]
    remarks: tuple[str, ...] = ()
