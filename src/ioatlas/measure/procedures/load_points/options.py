# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says of several streams at once: `[streams]` and one `[[stream]]` for each."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Self

from ioatlas.model.cell import OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.options import check_option, read_option
from ioatlas.model.units import exact_duration, parse_duration_seconds, parse_size_bytes, words
from ioatlas.plan.options import (
    NAME_PATTERN,
    Axes,
    Constants,
    Given,
    Key,
    Kind,
    Option,
    Table,
    Where,
    declared,
    duration,
)
from ioatlas.plan.spec import CampaignSpec, ProcedureTable

FREE, HIGHEST = "free", "highest"
_OURS = frozenset(
    words("""
        io_size number_ios loops rate flow flow_id flow_sleep offset_increment nrfiles file_append
    """)
)
"""Options that would end a stream by its work, or that the campaign sets from shares."""


class Study(StrEnum):
    """Built-in studies of several streams."""

    SPC1 = "spc1-like"
    SPC1E = "spc1e-like"
    EMERALD = "emerald-like"


def _load(value: str | float, where: str) -> str | float:
    if value in (FREE, HIGHEST):
        return str(value)
    try:
        load = float(value)
    except ValueError:
        load = 0.0
    if not 1 <= load <= 1e8:
        raise UsageError(f"{value!r} is no load", where=where, remedy="write 'free', 'highest' or I/Os per second")
    return load


def _percents() -> Any:
    from pydantic import Field

    return list[Annotated[float, Field(gt=0, le=1000)]]


def _share() -> Any:
    from pydantic import Field

    return Annotated[float, Field(gt=0, le=100)]


def _region() -> Any:
    from pydantic import Field

    return Annotated[list[float], Field(min_length=2, max_length=2)]


NAME = Kind((str,), pattern=NAME_PATTERN)
LIMIT = duration(
    1e-9, 59.999_999_999, "a response time of {!r} is no limit", "write a time such as '30ms'; bare numbers are seconds"
)
IDLE = Kind(
    (str, float, int), read=lambda value, where: parse_duration_seconds(value, where=where), write=exact_duration
)
CAPACITY = Kind((str, int), read=lambda value, where: parse_size_bytes(value, where=where))


@dataclass(frozen=True)
class StreamSpec(Table):
    """One stream.

    options: fio's, normalised. share: per cent of its phase's I/Os. region: per cent of the footprint.
    """

    name: Annotated[str, Option(NAME, "Name of the stream.")]
    options: Mapping[str, OptionValue]
    phase: Annotated[
        str, Option(NAME, "Streams of the same phase run at once; phases follow one another in the order of the file.")
    ] = ""
    share: Annotated[float | None, Option(Kind((float,), file=_share), "Per cent of the I/Os of its phase.")] = None
    region: Annotated[
        tuple[float, float] | None,
        Option(
            Kind((list,), file=_region),
            "[FROM, TO] in per cent of the size: the part of the file or device it works on.",
        ),
    ] = None


@dataclass(frozen=True)
class StreamsSpec(Table):
    """Several streams at once.

    study:   a built-in study instead of `streams`. load: 'free', 'highest' or I/Os per second of all streams together.
    points:  per cent of the load, in order; no meaning for a free load.
    """

    study: Annotated[
        str,
        Option(
            Kind((str,), choices=Study),
            "Streams of a built-in study, laid over the size of the sweep, instead of [[stream]] tables.",
        ),
    ] = ""
    streams: tuple[StreamSpec, ...] = ()
    load: Annotated[
        str | float,
        Option(
            Kind((str, float, int), read=_load),
            "'free': no pace, shares kept. 'highest': search the most I/Os per second with the mean response time "
            "within `limit`. A number: I/Os per second of all streams together.",
            always=True,
        ),
    ] = FREE
    points: Annotated[
        tuple[float, ...],
        Option(
            Kind((list,), file=_percents, read=lambda value, _: tuple(value)),
            "Load points in per cent of the load, in the order in which they run.",
            always=True,
        ),
    ] = (100.0,)
    limit_seconds: Annotated[
        float, Option(LIMIT, "Mean response time that load = 'highest' keeps.", key="limit", always=True)
    ] = 0.030
    idle_seconds: Annotated[
        float, Option(IDLE, "How long power is measured with no load, where a meter is named.", key="idle", always=True)
    ] = 10.0
    capacity_bytes: Annotated[
        int | None, Option(CAPACITY, "Capacity of the product, for bytes per idle watt.", key="capacity")
    ] = None

    @property
    def wants_power(self) -> bool:
        """Whether the study's figures are per watt."""
        return self.study in (Study.SPC1E, Study.EMERALD)


def _streams_table() -> Any:
    from ioatlas.plan.models import table_model

    doc = "`[streams]`: how the streams of the campaign are loaded together."
    return table_model("StreamsTable", StreamsSpec, doc=doc)


def _stream_tables() -> Any:
    from ioatlas.plan.models import table_model

    doc = "`[[stream]]`: one of several streams that run at once; every further key is a fio option with one value."
    return list[table_model("StreamTable", StreamSpec, doc=doc, fio_options=True)]  # type: ignore[misc]


@dataclass(frozen=True)
class LoadPointsOptions(ProcedureTable):
    """Several streams at once, at load points in a given order; the sweep then holds for every stream."""

    streams: StreamsSpec | None = None

    @property
    def brings_load(self) -> bool:
        return self.streams is not None

    @classmethod
    def table_keys(cls) -> Mapping[str, Key]:
        return {
            "streams": Key(_streams_table, "Several streams at once, at given load points."),
            "stream": Key(_stream_tables, "One of several streams that run at once."),
        }

    def read(self, given: Given, where: Where) -> Self:
        if not given.keys() & {"streams", "stream"}:
            return self
        table = {key: value for key, value in given.get("streams", {}).items() if value != []}
        spec = (self.streams or StreamsSpec()).read(table, lambda key: where("streams", key))
        streams = given.get("stream", ())
        if streams and spec.study:
            raise UsageError(
                "[[stream]] tables stand beside a study that has its own",
                where=where("stream", 0),
                remedy="keep one of them",
            )
        read = tuple(_stream(number, entry, where) for number, entry in enumerate(streams)) or spec.streams
        if not read and not spec.study:
            raise UsageError(
                "[streams] has neither a study nor [[stream]] tables",
                where=where("streams"),
                remedy="add [[stream]] for each stream",
            )
        spec = replace(spec, streams=read)
        _check(spec, where)
        return replace(self, streams=spec)

    def check(self, where: Where) -> None:
        if self.streams is None:
            return
        self.streams.check(lambda key: where("streams", key))
        for number, stream in enumerate(self.streams.streams):
            stream.check(functools.partial(where, "stream", number))
            for name, value in stream.options.items():
                check_option(name, value, where=where("stream", number, name))

    def entries(self) -> dict[str, Any]:
        if self.streams is None:
            return {}
        tables = [stream.entries() | dict(stream.options) for stream in self.streams.streams]
        return {"streams": self.streams.entries(), "stream": tables}

    def swept(self, axes: Axes, constants: Constants) -> tuple[Axes, Constants]:
        if self.streams is None:
            return axes, constants
        return {option: values for option, values in axes.items() if option == "size"}, constants


def streams_of(spec: CampaignSpec) -> StreamsSpec:
    """The streams of a campaign that has some."""
    streams = spec.of(LoadPointsOptions).streams
    assert streams is not None
    return streams


def _stream(number: int, entry: Mapping[str, Any], where: Where) -> StreamSpec:
    options: dict[str, OptionValue] = {}
    ours = {one.key for one in declared(StreamSpec)}
    for written, value in entry.items():
        if written in ours:
            continue
        spot = where("stream", number, written)
        if isinstance(value, (list, dict)):
            raise UsageError("a stream holds single values", where=spot, remedy="write one [[stream]] for each")
        name, normal = read_option(written, value, where=spot)
        if name in _OURS:
            raise UsageError(
                f"option {name!r} has no place in a stream",
                where=spot,
                remedy="use `share`, `region` and [streams] load instead",
            )
        if name in options:
            raise UsageError(f"{name!r} is set twice", where=spot, remedy="keep one of them")
        options[name] = normal
    region = None
    if "region" in entry:
        low, high = entry["region"]
        if not 0 <= low < high <= 100:
            raise UsageError(
                "a region is [FROM, TO] in per cent of the size",
                where=where("stream", number, "region"),
                remedy="write region = [20, 60]",
            )
        if {"offset", "size"} & options.keys():
            raise UsageError(
                "`region` and offset or size say the same",
                where=where("stream", number, "region"),
                remedy="keep one of them",
            )
        region = (low, high)
    name = entry.get("name", f"stream{number + 1}")
    return StreamSpec(name, options, entry.get("phase", ""), entry.get("share"), region)


def _check(spec: StreamsSpec, where: Where) -> None:
    """What streams must have in common for one load to make sense."""
    if len(set(spec.points)) < len(spec.points):
        raise UsageError(
            "a load point stands twice", where=where("streams", "points"), remedy="repeat the whole curve with `visits`"
        )
    phases: dict[str, list[tuple[int, StreamSpec]]] = {}
    for number, stream in enumerate(spec.streams):
        known = phases.setdefault(stream.phase, [])
        if any(stream.name == other.name for _, other in known):
            raise UsageError(
                f"two streams are named {stream.name!r}",
                where=where("stream", number, "name"),
                remedy="name them apart",
            )
        known.append((number, stream))
    for members in phases.values():
        shares = [stream.share for _, stream in members]
        rates = ["rate_iops" in stream.options for _, stream in members]
        first = members[0][0]
        if any(shares) and not all(shares):
            raise UsageError(
                "some streams have a share and some have not",
                where=where("stream", first, "share"),
                remedy="give all of them one, or none",
            )
        if all(shares) and abs(sum(share or 0 for share in shares) - 100) > 0.5:
            total = sum(share or 0 for share in shares)
            raise UsageError(
                f"the shares of a phase add up to {total:g}%",
                where=where("stream", first, "share"),
                remedy="let them add up to 100",
            )
        if any(rates) and not all(rates):
            raise UsageError(
                "some streams have a rate and some have not",
                where=where("stream", first, "rate_iops"),
                remedy="give all of them one, or none",
            )
        if any(rates) and (any(shares) or spec.load != FREE):
            raise UsageError(
                "a stream's own rate_iops and a load for all exclude each other",
                where=where("stream", first, "rate_iops"),
                remedy="use `share` and [streams] load, or rates alone",
            )
        if spec.load != FREE and not any(shares) and len(members) > 1:
            raise UsageError(
                "a load for all streams needs their shares",
                where=where("stream", first),
                remedy="give every [[stream]] a share",
            )
