# SPDX-License-Identifier: Apache-2.0
"""A normalised campaign: what every campaign may say, and what its procedure adds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Self

from ioatlas.config.options import (
    FLAG,
    PERCENT,
    TEXT,
    AnyTable,
    Axes,
    Constants,
    Option,
    Table,
    Where,
    choice,
    duration,
    integer,
)
from ioatlas.errors import UsageError
from ioatlas.model.cell import TRACE, TRACE_SECONDS, OptionValue
from ioatlas.model.choices import GradeName, Preparation, Sharing
from ioatlas.model.options import check_option

if TYPE_CHECKING:
    from ioatlas.analysis.grade import Grade

MAX_CELLS = 2_000_000
MAX_TARGETS, MAX_REMARKS = 256, 1000
LABELS = frozenset({"operation", "tool", "phase", "load", "load_iops", TRACE, TRACE_SECONDS})
"""Axes and constants that say which cell it is, and that fio never sees."""
LONGEST_LABEL = 100
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
    if name not in LABELS:
        check_option(name, value, where=where)
    elif isinstance(value, str) and len(value) > LONGEST_LABEL:
        raise UsageError("it is too long", where=where, remedy="use a short one")


@dataclass(frozen=True)
class CampaignSpec(Table):
    """A normalised campaign: what to measure, over what, how often.

    targets:  (name or '', location) in order.
    axes:     swept options, each with its values in order; constants: options every cell shares.
    patterns: sets of options that belong together; each is crossed with the axes.
    remarks:  what its profile notes in every map.
    own:      options of procedures, as their tables record them; `of` reads them.
    """

    name: Annotated[str, Option(TEXT, "Name of the campaign.")] = ""
    profile: str = ""
    targets: tuple[tuple[str, str], ...] = ()
    axes: Axes = field(default_factory=dict)
    constants: Constants = field(default_factory=dict)
    patterns: tuple[Constants, ...] = ()
    visits: Annotated[
        int,
        Option(integer(1, 1000), "Visits of every cell, each in another random order.", flag=True, always=True),
    ] = 2
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
    precision: Annotated[
        float | None,
        Option(
            PERCENT,
            "Visit each cell until its 95% interval is this narrow (half-width), such as 5%.",
            flag=True,
        ),
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
    verify: Annotated[
        bool,
        Option(FLAG, "Write blocks with checksums at the end, read them back and compare.", flag=True),
    ] = False
    sharing: Annotated[
        Sharing,
        Option(choice(Sharing), "'shared': all jobs on one file; 'private': a file for each job.", always=True),
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
    remarks: tuple[str, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict)

    def of(self, table: type[AnyTable]) -> AnyTable:
        """What a procedure adds to the campaign; its defaults where nothing was said."""
        return table.from_record(self.own)

    def having(self, *tables: Table) -> Self:
        """With these tables in the place of those of the same procedures."""
        own = dict(self.own)
        for table in tables:
            own |= table.to_record()
        return replace(self, own=own)

    @property
    def wanted(self) -> Grade:
        """The precision asked for, with its defaults."""
        from ioatlas.analysis.grade import DEFAULT_CAP, DEFAULT_PRECISION, Grade

        asked = self.precision is not None or self.grade is GradeName.CERTIFIED
        precision = self.precision if self.precision is not None else DEFAULT_PRECISION[self.grade]
        return Grade(self.grade, precision if asked else None, self.max_visits or DEFAULT_CAP[self.grade])

    @property
    def cell_count(self) -> int:
        return (
            math.prod(len(values) for values in self.axes.values())
            * max(1, len(self.targets))
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
        return record | own

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """As it was; options of procedures stay as they are written until one asks for them."""
        known = {field.name for field in fields(cls)}
        own = {name: value for name, value in record.items() if name not in known}
        return replace(super().from_record(record), own=own)
