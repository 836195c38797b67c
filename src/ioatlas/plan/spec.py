# SPDX-License-Identifier: Apache-2.0
"""A normalised campaign: what every campaign may say, and what its procedure adds; and how it is read back from the
journal of a campaign that was begun.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Self

from ioatlas.model.cell import TRACE, TRACE_SECONDS, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.factors import Configuration, is_blocked
from ioatlas.model.options import ClientRange, GradeName, OnLostClient, Preparation, Sharing, check_option
from ioatlas.model.target import Group, group_name
from ioatlas.plan.configurations import check_configurations
from ioatlas.plan.options import (
    FLAG,
    PATH,
    PERCENT,
    TEXT,
    AnyTable,
    Axes,
    Constants,
    Given,
    Kind,
    Option,
    Table,
    Where,
    choice,
    duration,
    integer,
)

if TYPE_CHECKING:
    from ioatlas.plan.stopping import Grade
    from ioatlas.store.journal import Journal  # what only reads a campaign file opens no database
    from ioatlas.store.stored import Row


MAX_CELLS = 2_000_000
MAX_TARGETS, MAX_REMARKS = 256, 1000
LABELS = frozenset({"operation", "tool", "depth", "phase", "load", "load_iops", TRACE, TRACE_SECONDS})
"""Axes and constants that say which cell it is, and that fio never sees."""
LONGEST_LABEL = 100
MOST_SET_UPS = 50
USUAL_SET_UPS = 2
SEEDS_OF_A_SET_UP = 1_000_003
MIN_WINDOW_SECONDS = 0.1
MAX_WINDOW_SECONDS = 86_400.0

BUDGET = duration(1e-9, math.inf, "the budget is zero", "write a time such as 10m")
WINDOW = duration(
    MIN_WINDOW_SECONDS,
    MAX_WINDOW_SECONDS,
    "a window is at least 100 ms, at most a day",
    "write a time such as 500ms or 60s",
)


def check_kept_option(name: str, value: OptionValue, where: str) -> None:
    """An option of fio, or a label of cells, as a record has it. Raises UsageError."""
    if (name, value) == ("size", 0):
        return  # empty files of a tree
    if name not in LABELS:
        check_option(name, value, where=where)
    elif isinstance(value, str) and len(value) > LONGEST_LABEL:
        raise UsageError("it is too long", where=where, remedy="use a short one")


@dataclass(frozen=True)
class CampaignSpec(Table):
    """A normalised campaign: what to measure, over what, how often.

    targets:  (name or '', location) in order; of configurations those of each, under its name.
    configurations: the ways in which targets are set up; none where targets are just targets.
    confirmations: what the file says in the place of --destroy and --overwrite, by configuration. Never kept.
    axes:     swept options, each with its values in order; constants: options every cell shares.
    patterns: sets of options that belong together; each is crossed with the axes.
    remarks:  what its profile notes in every map.
    own:      options of procedures, as their tables record them; `of` reads them.
    """

    name: Annotated[str, Option(TEXT, "Name of the campaign.")] = ""
    profile: str = ""
    targets: tuple[tuple[str, str], ...] = ()
    configurations: tuple[Configuration, ...] = ()
    confirmations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    axes: Axes = field(default_factory=dict)
    constants: Constants = field(default_factory=dict)
    patterns: tuple[Constants, ...] = ()
    visits: Annotated[
        int, Option(integer(1, 1000), "Visits of every cell, each in another random order.", flag=True, always=True)
    ] = 2
    blocks: Annotated[
        int | None,
        Option(
            integer(1, MOST_SET_UPS),
            "Times that each configuration is set up and measured, where they cannot exist side by side; "
            "2 where nothing is said, 1 where a person is asked.",
            flag=True,
        ),
    ] = None
    budget_seconds: Annotated[
        float | None,
        Option(
            BUDGET,
            "Time the campaign may take, such as 10m; a plan that is too large is coarsened.",
            key="budget",
            flag=True,
        ),
    ] = None
    order_seed: Annotated[int, Option(integer(0), "Seed of the random orders.", always=True)] = 1
    window_seconds: Annotated[
        float,
        Option(
            WINDOW,
            "Shortest time a visit's load runs, such as 2s; 60s in a SNIA test.",
            key="window",
            flag=True,
            always=True,
        ),
    ] = 0.5
    rest_seconds: Annotated[
        float,
        Option(
            duration(0.0, MAX_WINDOW_SECONDS, "a rest is at most a day", "write a time such as 60s"),
            "Time without load before every visit, in which caches empty and credit comes back.",
            key="rest",
            flag=True,
        ),
    ] = 0.0
    precision: Annotated[
        float | None,
        Option(PERCENT, "Visit each cell until its 95% interval is this narrow (half-width), such as 5%.", flag=True),
    ] = None
    grade: Annotated[
        GradeName,
        Option(
            choice(GradeName),
            "Rule behind the precision. 'map': t interval on logarithms; 'certified': order-statistic interval of "
            "the median.",
            flag=True,
        ),
    ] = GradeName.MAP
    max_visits: Annotated[
        int | None,
        Option(
            integer(2, 1000),
            "Most visits of a cell when a precision is asked for; 5 where nothing is said, certified 30.",
            flag=True,
        ),
    ] = None
    sharing: Annotated[
        Sharing, Option(choice(Sharing), "'shared': all jobs on one file; 'private': a file for each job.", always=True)
    ] = Sharing.SHARED
    prepare: Annotated[
        Preparation,
        Option(
            choice(Preparation),
            "State of files and devices before the load. 'laid-out': written once; 'fresh': no data yet; 'filled': "
            "random data, no holes; 'preconditioned': and overwritten twice at random; 'filled-twice': written "
            "twice in sequence.",
            flag=True,
        ),
    ] = Preparation.LAID_OUT
    product: Annotated[str, Option(PATH, "Product sheet of what is measured.", flag=True)] = ""
    together: Annotated[
        bool, Option(FLAG, "Load all targets at the same time: the sum, and what each gets.", flag=True)
    ] = False
    clients: Annotated[
        str, Option(Kind((str,), "HOSTS"), "Several clients: hosts.toml, a,b,c, or local:4.", flag=True)
    ] = ""
    client_range: Annotated[
        ClientRange,
        Option(
            choice(ClientRange),
            "What each client works on. 'own': a file or range of its own; 'same': all on the same one; 'auto': own "
            "files in a directory, else the same range.",
            flag=True,
        ),
    ] = ClientRange.AUTO
    on_lost_client: Annotated[
        OnLostClient,
        Option(
            choice(OnLostClient),
            "When a client is lost and does not come back: stop, to be resumed; or continue without it.",
            flag=True,
        ),
    ] = OnLostClient.STOP
    remarks: tuple[str, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict)

    def of(self, table: type[AnyTable]) -> AnyTable:
        """What a procedure adds to the campaign; its defaults where nothing was said."""
        usual = table()
        if all(self.own.get(name, value) == value for name, value in usual.to_record().items()):
            return usual
        return table.from_record(self.own)

    def leaves_out(self, keys: str, of: str) -> None:
        """Raises UsageError where it says one of these keys, which mean nothing for loads of that kind."""
        usual = type(self)()
        for key in keys.split():
            if getattr(self, key, self.own.get(key)) not in (None, "", (), getattr(usual, key, None)):
                raise UsageError(f"`{key}` has no meaning for {of}", where=key, remedy="leave it out")

    def having(self, *tables: Table) -> Self:
        """With these tables in the place of those of the same procedures."""
        own = dict(self.own)
        for table in tables:
            own |= table.to_record()
        return replace(self, own=own)

    def groups(self, names: Sequence[str]) -> tuple[Group, ...]:
        """Which targets are loaded together. names: of all targets, as they were opened."""
        if self.together:
            return (Group(group_name(names), tuple(names)),)
        if not any(one.members for one in self.configurations):
            return ()
        # One that stands alone beside groups is a group of one: its loads are to be told in the same words.
        return tuple(Group(one.name, tuple(name for name, _ in one.places)) for one in self.configurations)

    @property
    def blocked(self) -> bool:
        """Whether its configurations are measured one after another, each set up first."""
        return is_blocked(self.configurations)

    @property
    def set_ups(self) -> int:
        """How often each configuration is set up. What was not settled when the campaign began is one time."""
        return self.blocks or 1

    def with_set_ups(self, *, several: bool) -> Self:
        """With the number of set-ups settled. several: whether its procedure can go on with a target that was set up
        again. Raises UsageError where a number was asked for that cannot be had.
        """
        if not self.blocked or not several:
            if self.blocks is not None and self.blocks > 1:
                raise UsageError(
                    "only maps measure a configuration in several blocks"
                    if self.blocked
                    else "`blocks` is for configurations that are set up, or share one place; these are measured in "
                    "turns",
                    where="blocks",
                    remedy="leave it out",
                )
            return self
        once = len(self.configurations) < 2 or any(one.ask for one in self.configurations)
        usual = 1 if once else min(USUAL_SET_UPS, self.visits)
        blocks = self.blocks or usual
        return replace(self, blocks=blocks, visits=max(self.visits, blocks))

    def of_set_up(self, number: int) -> Self:
        """What one set-up measures, from 0: its part of the visits, in random orders of its own."""
        visits, more = divmod(self.visits, self.set_ups)
        seed = self.order_seed + number * SEEDS_OF_A_SET_UP
        return replace(self, visits=visits + (number < more), order_seed=seed)

    @property
    def wanted(self) -> Grade:
        """The precision asked for, with its defaults."""
        from ioatlas.plan.stopping import DEFAULT_CAP, DEFAULT_PRECISION, Grade

        asked = self.precision is not None or self.grade is GradeName.CERTIFIED
        precision = self.precision if self.precision is not None else DEFAULT_PRECISION[self.grade]
        return Grade(self.grade, precision if asked else None, self.max_visits or DEFAULT_CAP[self.grade])

    @property
    def cell_count(self) -> int:
        return (
            math.prod(len(values) for values in self.axes.values())
            * max(1, 1 if self.together else len(self.configurations or self.targets))
            * max(1, len(self.patterns))
        )

    def check(self, where: Where) -> None:
        """As of every table; axes and options too. Labels of cells may stand among them."""
        super().check(where)
        if self.cell_count > MAX_CELLS or len(self.targets) > MAX_TARGETS or len(self.remarks) > MAX_REMARKS:
            raise UsageError(
                f"it has more than {MAX_CELLS} cells, {MAX_TARGETS} targets or {MAX_REMARKS} remarks",
                where=where("axes"),
                remedy="use fewer",
            )
        check_configurations(self.configurations, where)
        for name, values in self.axes.items():
            for value in values:
                check_kept_option(name, value, where("axes", name))
        for options in (self.constants, *self.patterns):
            for name, value in options.items():
                check_kept_option(name, value, where("constants", name))

    def to_record(self) -> dict[str, Any]:
        """What the journal keeps: one flat table, the procedures' options among the others."""
        record = super().to_record()
        own: dict[str, Any] = record.pop("own")
        record.pop("confirmations")
        if not self.configurations:
            record.pop("configurations")
        for one in record.get("configurations", ()):
            if not one["members"]:
                one.pop("members")
        return record | own

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """As it was; options of procedures stay as they are written until one asks for them."""
        known = {field.name for field in fields(cls)}
        own = {name: value for name, value in record.items() if name not in known}
        return replace(super().from_record(record), own=own)


@dataclass(frozen=True)
class ProcedureTable(Table):
    """What one procedure adds to a campaign."""

    @property
    def brings_load(self) -> bool:
        """Whether it says what the load is, so that no sweep is needed."""
        return False

    @classmethod
    def begin(cls, spec: CampaignSpec, given: Given) -> CampaignSpec:  # noqa: ARG003
        """The campaign that what was given starts from, before anything else is read."""
        return spec

    def settled(self, spec: CampaignSpec, given: Given) -> CampaignSpec:  # noqa: ARG002
        """The campaign once all is read: what follows from what was given together with this table."""
        return spec

    def written(self, spec: CampaignSpec) -> dict[str, Any]:  # noqa: ARG002
        """What the file of a whole campaign says of it."""
        return self.entries()

    def swept(self, axes: Axes, constants: Constants) -> tuple[Axes, Constants]:
        """What of the sweep a campaign file says; the rest is the procedure's own and made again from the file."""
        return axes, constants


SPARE_PLACES, PLACES_PER_CELL = 1000, 20
"""Combinations of values of the axes: a search tries few of its own."""


def recorded_spec(journal: Journal, tables: Iterable[type[Table]]) -> CampaignSpec:
    """The specification of a campaign that was begun. tables: those of its procedures.

    Raises IoAtlasError for what nobody could have asked for, on the command line or in a campaign file.
    """
    place = place_of_plan(journal)
    try:
        spec = CampaignSpec.from_record(journal.plan()["spec"])
        spec.check(_key)
        for table in tables:
            spec.of(table).check(_key)
        # A figure is drawn for every combination of values: of a sweep each is a cell.
        if math.prod(map(len, spec.axes.values())) > SPARE_PLACES + PLACES_PER_CELL * journal.count_cells():
            place.bad("its axes have far more combinations than there are cells", "plan_json, axes")
    except UsageError as error:
        place.bad(error.what, f"plan_json, {error.where}")
    except ValueError as error:
        place.bad(f"the plan has values of another type: {error}", "plan_json")
    return spec


def _key(*path: str | int) -> str:
    return ".".join(map(str, path))


def place_of_plan(journal: Journal) -> Row:
    """Where what is wrong with it is said to stand."""
    return journal.row("campaign", journal.campaign().campaign_id)
