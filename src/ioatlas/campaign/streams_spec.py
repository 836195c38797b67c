# SPDX-License-Identifier: Apache-2.0
"""What a campaign says of several streams at once: `[streams]` and one `[[stream]]` for each, read and written out again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ioatlas.errors import UsageError
from ioatlas.model.cell import OptionValue
from ioatlas.model.options import read_option
from ioatlas.model.units import exact_duration, parse_duration_seconds, parse_size_bytes

FREE, HIGHEST = "free", "highest"
STUDIES = ("spc1-like", "spc1e-like", "emerald-like")
DEFAULT_LIMIT_SECONDS = 0.030
_OURS = frozenset({"io_size", "number_ios", "loops", "rate", "flow", "flow_id", "flow_sleep", "offset_increment", "nrfiles", "file_append"})
"""Options that would end a stream by its work, or that the campaign sets from shares."""

Where = Callable[..., str]


class StreamsTable(BaseModel):
    """`[streams]`: how the streams of the campaign are loaded together."""

    model_config = ConfigDict(extra="forbid")
    study: Literal["spc1-like", "spc1e-like", "emerald-like"] | None = Field(
        None, description="Streams of a built-in study, laid over the size of the sweep, instead of [[stream]] tables."
    )
    load: str | float | int | None = Field(
        None,
        description="'free': no pace, shares kept; 'highest': the most I/Os per second with the mean response time within `limit`, searched for; "
        "or I/Os per second of all streams together.",
    )
    limit: str | float | int | None = Field(None, description="Mean response time that load = 'highest' keeps. Default: 30ms.")
    points: list[Annotated[float, Field(gt=0, le=1000)]] | None = Field(
        None, description="Load points in per cent of the load, in the order in which they run."
    )
    idle: str | float | int | None = Field(None, description="How long power is measured with no load, where a meter is named.")
    capacity: str | int | None = Field(None, description="Capacity of the product, for bytes per idle watt.")


class StreamTable(BaseModel):
    """`[[stream]]`: one of several streams that run at once; every further key is a fio option with one value."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int | float | str | bool]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] | None = Field(None, description="Name of the stream.")
    phase: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] | None = Field(
        None, description="Streams of the same phase run at once; phases follow one another in the order of the file."
    )
    share: Annotated[float, Field(gt=0, le=100)] | None = Field(None, description="Per cent of the I/Os of its phase.")
    region: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[FROM, TO] in per cent of the size: the part of the file or device it works on."
    )


@dataclass(frozen=True)
class StreamSpec:
    """One stream. options: fio's, normalised. share: per cent of its phase's I/Os. region: per cent of the footprint."""

    name: str
    options: Mapping[str, OptionValue]
    phase: str = ""
    share: float | None = None
    region: tuple[float, float] | None = None


@dataclass(frozen=True)
class StreamsSpec:
    """Several streams at once.

    study:   a built-in study instead of `streams`. load: 'free', 'highest' or I/Os per second of all streams together.
    points:  per cent of the load, in order; no meaning for a free load.
    """

    study: str = ""
    streams: tuple[StreamSpec, ...] = ()
    load: str | float = FREE
    points: tuple[float, ...] = (100.0,)
    limit_seconds: float = DEFAULT_LIMIT_SECONDS
    idle_seconds: float = 10.0
    capacity_bytes: int | None = None

    @property
    def wants_power(self) -> bool:
        """Whether the study's figures are per watt."""
        return self.study in ("spc1e-like", "emerald-like")


def read_streams(table: StreamsTable | None, streams: list[StreamTable], base: StreamsSpec | None, where: Where) -> StreamsSpec | None:
    """The streams of a campaign file over those of its profile; None when there are none. Raises UsageError.

    where(*path): the place of a key for messages.
    """
    if table is None and not streams:
        return base
    given = table or StreamsTable.model_validate({})
    base = base or StreamsSpec()
    study = given.study or base.study
    if streams and study:
        raise UsageError("[[stream]] tables stand beside a study that has its own", where=where("stream", 0), remedy="keep one of them")
    read = tuple(_stream(number, entry, where) for number, entry in enumerate(streams)) or base.streams
    if not read and not study:
        raise UsageError(
            "[streams] has neither a study nor [[stream]] tables", where=where("streams"), remedy="add [[stream]] for each stream"
        )
    seconds = _limit(given.limit, base.limit_seconds, where("streams", "limit"))
    idle = base.idle_seconds if given.idle is None else parse_duration_seconds(given.idle, where=where("streams", "idle"))
    spec = StreamsSpec(
        study,
        read,
        _load(given.load, base.load, where("streams", "load")),
        tuple(given.points) if given.points else base.points,
        seconds,
        idle,
        base.capacity_bytes if given.capacity is None else parse_size_bytes(given.capacity, where=where("streams", "capacity")),
    )
    _check(spec, where)
    return spec


def _limit(value: str | float | None, default: float, where: str) -> float:
    seconds = default if value is None else parse_duration_seconds(value, where=where)
    if not 0 < seconds < 60:
        raise UsageError(
            f"a response time of {value!r} is no limit", where=where, remedy="write a time such as '30ms'; bare numbers are seconds"
        )
    return seconds


def _load(value: str | float | None, default: str | float, where: str) -> str | float:
    if value is None:
        return default
    if value in (FREE, HIGHEST):
        return str(value)
    try:
        load = float(value)
    except ValueError:
        load = 0.0
    if not 1 <= load <= 1e8:
        raise UsageError(f"{value!r} is no load", where=where, remedy="write 'free', 'highest' or I/Os per second")
    return load


def _stream(number: int, entry: StreamTable, where: Where) -> StreamSpec:
    options: dict[str, OptionValue] = {}
    for written, value in (entry.__pydantic_extra__ or {}).items():
        spot = where("stream", number, written)
        if isinstance(value, (list, dict)):
            raise UsageError("a stream holds single values", where=spot, remedy="write one [[stream]] for each")
        name, normal = read_option(written, value, where=spot)
        if name in _OURS:
            raise UsageError(
                f"option {name!r} has no place in a stream", where=spot, remedy="use `share`, `region` and [streams] load instead"
            )
        if name in options:
            raise UsageError(f"{name!r} is set twice", where=spot, remedy="keep one of them")
        options[name] = normal
    region = None
    if entry.region is not None:
        low, high = entry.region
        if not 0 <= low < high <= 100:
            raise UsageError(
                "a region is [FROM, TO] in per cent of the size", where=where("stream", number, "region"), remedy="write region = [20, 60]"
            )
        if {"offset", "size"} & options.keys():
            raise UsageError("`region` and offset or size say the same", where=where("stream", number, "region"), remedy="keep one of them")
        region = (low, high)
    return StreamSpec(entry.name or f"stream{number + 1}", options, entry.phase or "", entry.share, region)


def _check(spec: StreamsSpec, where: Where) -> None:
    """What streams must have in common for one load to make sense."""
    if len(set(spec.points)) < len(spec.points):
        raise UsageError("a load point stands twice", where=where("streams", "points"), remedy="repeat the whole curve with `visits`")
    phases: dict[str, list[tuple[int, StreamSpec]]] = {}
    for number, stream in enumerate(spec.streams):
        known = phases.setdefault(stream.phase, [])
        if any(stream.name == other.name for _, other in known):
            raise UsageError(f"two streams are named {stream.name!r}", where=where("stream", number, "name"), remedy="name them apart")
        known.append((number, stream))
    for members in phases.values():
        shares = [stream.share for _, stream in members]
        rates = ["rate_iops" in stream.options for _, stream in members]
        first = members[0][0]
        if any(shares) and not all(shares):
            raise UsageError(
                "some streams have a share and some have not", where=where("stream", first, "share"), remedy="give all of them one, or none"
            )
        if all(shares) and abs(sum(share or 0 for share in shares) - 100) > 0.5:
            total = sum(share or 0 for share in shares)
            raise UsageError(
                f"the shares of a phase add up to {total:g}%", where=where("stream", first, "share"), remedy="let them add up to 100"
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
                "a load for all streams needs their shares", where=where("stream", first), remedy="give every [[stream]] a share"
            )


def streams_toml(spec: StreamsSpec) -> list[str]:
    """Lines of a campaign file that read back to the same."""
    lines = ["", "[streams]"]
    lines += [f'study = "{spec.study}"'] if spec.study else []
    lines.append(f'load = "{spec.load}"' if isinstance(spec.load, str) else f"load = {spec.load:g}")
    lines.append(f"points = [{', '.join(f'{point:g}' for point in spec.points)}]")
    lines += [f'limit = "{exact_duration(spec.limit_seconds)}"', f'idle = "{exact_duration(spec.idle_seconds)}"']
    lines += [f"capacity = {spec.capacity_bytes}"] if spec.capacity_bytes is not None else []
    for stream in spec.streams:
        lines += ["", "[[stream]]", f'name = "{stream.name}"']
        lines += [f'phase = "{stream.phase}"'] if stream.phase else []
        lines += [f"share = {stream.share:g}"] if stream.share is not None else []
        lines += [f"region = [{stream.region[0]:g}, {stream.region[1]:g}]"] if stream.region else []
        lines += [f"{name} = {_value(value)}" for name, value in stream.options.items()]
    return lines


def _value(value: OptionValue) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else str(value)


def streams_from_record(record: Mapping[str, Any] | None) -> StreamsSpec | None:
    """The specification that `dataclasses.asdict` made of it, by way of JSON."""
    if record is None:
        return None
    streams = tuple(StreamSpec(**{**one, "region": tuple(one["region"]) if one["region"] else None}) for one in record["streams"])
    return StreamsSpec(**{**record, "streams": streams, "points": tuple(record["points"])})
