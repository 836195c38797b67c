# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says of works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from ioatlas.config.options import TEXT, Axes, Constants, Given, Key, Option, Table, Where
from ioatlas.config.spec import CampaignSpec
from ioatlas.errors import UsageError
from ioatlas.model.application import WORK
from ioatlas.model.units import exact_duration, parse_duration_seconds, parse_size_bytes
from ioatlas.procedures.application.work import LIMIT_SECONDS, MOST_WORKS, PHASES, USUAL_SECONDS, Better, Metric, Work

INSTALLED = "installed"


def _work_tables() -> Any:
    from ioatlas.procedures.application.file_model import WorkTable

    return list[WorkTable]


@dataclass(frozen=True)
class ApplicationOptions(Table):
    """Commands that are timed. work: those of the file. chosen: names of ready-made ones."""

    work: tuple[Work, ...] = ()
    chosen: Annotated[
        str,
        Option(
            TEXT,
            "Ready-made works to time, such as 'pgbench-s10,untar'; 'installed' for all whose programs are here.",
            key="works",
        ),
    ] = ""

    @property
    def brings_load(self) -> bool:
        return bool(self.work or self.chosen)

    @classmethod
    def table_keys(cls) -> Mapping[str, Key]:
        return {"work": Key(_work_tables, "A command of your own that is timed.")}

    def read(self, given: Given, where: Where) -> Self:
        read = super().read(given, where)
        if "work" not in given:
            return read
        works = read_works(given["work"], where)
        # A file that brings works has these, whatever its profile has.
        return replace(read, work=works, chosen=read.chosen if "works" in given else "")

    def check(self, where: Where) -> None:
        super().check(where)
        _check(self.work, where)

    def entries(self, spec: CampaignSpec | None = None) -> dict[str, Any]:
        entries = super().entries(spec)
        return entries | ({"work": [write_work(one) for one in self.work]} if self.work else {})

    def swept(self, axes: Axes, constants: Constants) -> tuple[Axes, Constants]:
        return {name: values for name, values in axes.items() if name != WORK}, constants


def read_works(tables: Sequence[Mapping[str, Any]], where: Where) -> tuple[Work, ...]:
    """What `[[work]]` tables say. Raises UsageError."""
    found = tuple(read_work(table, lambda *path, n=n: where("work", n, *path)) for n, table in enumerate(tables))
    _check(found, where)
    return found


def read_work(table: Mapping[str, Any], at: Where) -> Work:
    """One table. Raises UsageError for sizes and times that are none."""
    metric = table.get("metric")
    return Work(
        table["name"],
        **{phase: str(table.get(phase, "")) for phase in PHASES},
        metric=Metric(metric["regex"], metric["unit"], Better(metric.get("better", "more"))) if metric else None,
        limit_seconds=parse_duration_seconds(table.get("limit", LIMIT_SECONDS), where=at("limit")),
        cold=bool(table.get("cold", False)),
        space_bytes=parse_size_bytes(table.get("space", 0), where=at("space")),
        usual_seconds=parse_duration_seconds(table.get("takes", USUAL_SECONDS), where=at("takes")),
    )


def write_work(one: Work) -> dict[str, Any]:
    """A work as a campaign file says it."""
    entry: dict[str, Any] = {"name": one.name}
    entry |= {phase: text for phase in PHASES if (text := getattr(one, phase))}
    entry |= {"cold": True} if one.cold else {}
    entry |= {"space": one.space_bytes} if one.space_bytes else {}
    if one.limit_seconds != LIMIT_SECONDS:
        entry["limit"] = exact_duration(one.limit_seconds)
    if one.usual_seconds != USUAL_SECONDS:
        entry["takes"] = exact_duration(one.usual_seconds)
    if one.metric:
        entry["metric"] = {"regex": one.metric.regex, "unit": one.metric.unit, "better": str(one.metric.better)}
    return entry


def _check(works: Sequence[Work], where: Where) -> None:
    for number, one in enumerate(works):
        one.check(lambda *path, n=number: where("work", n, *path))
    names = [one.name for one in works]
    if len(names) > MOST_WORKS:
        raise UsageError(f"there are more than {MOST_WORKS} works", where=where("work"), remedy="use several campaigns")
    twice = next((number for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        raise UsageError(
            f"two works are called {names[twice]!r}", where=where("work", twice, "name"), remedy="name them apart"
        )
