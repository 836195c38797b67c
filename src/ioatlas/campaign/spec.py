# SPDX-License-Identifier: Apache-2.0
"""The campaign file: TOML in, a checked and normalised specification out. Every error names line, key and remedy."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ioatlas.analysis.grade import DEFAULT_CAP, DEFAULT_PRECISION, Grade, GradeName
from ioatlas.campaign.faults import located, where_of
from ioatlas.campaign.preparation import Preparation
from ioatlas.campaign.streams_spec import StreamsSpec, StreamsTable, StreamTable, read_streams, streams_toml
from ioatlas.design.snia import CELL_SECONDS, PROCEDURES, Test
from ioatlas.errors import UsageError
from ioatlas.model.cell import TRACE, TRACE_SECONDS, OptionValue
from ioatlas.model.options import ALIASES, ALLOWED, read_option
from ioatlas.model.units import exact_duration, format_size, parse_duration_seconds, parse_percent

Sharing = Literal["shared", "private"]
Purge = Literal["auto", "discard", "nvme-format", "punch-hole", "by-hand", "none"]
_Scalar = int | float | str | bool
_Strict = ConfigDict(extra="forbid", strict=True)
ENGINES = {"fio": ("fio",), "iozone": ("iozone",), "both": ("fio", "iozone")}
TRACE_FILE = "trace.iolog"
TRACE_SUMMARY = frozenset({TRACE, TRACE_SECONDS, "rw", "bs", "size", "iodepth"})
"""What a trace settles of its cells."""
LABELS = frozenset({"operation", "tool"})
"""Axes of an ordered study that its profile makes."""
MAX_CELLS = 2_000_000
MIN_WINDOW_SECONDS = 0.1
MAX_WINDOW_SECONDS = 86_400.0
MAX_FILE_BYTES = 4 << 20


class TargetTable(BaseModel):
    """`[target]`, or one of several `[[target]]`: what is measured. Give `path` or `uri`."""

    model_config = _Strict
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,63}$")] | None = Field(
        None, description="Name in tables and figures; taken from the path when left out."
    )
    path: str | None = Field(None, description="Directory, file or block device.")
    uri: str | None = Field(None, description="Target that fio has an engine for, such as nbd+unix:///?socket=/run/nbd.sock.")


class CampaignFile(BaseModel):
    """A campaign file."""

    model_config = _Strict
    name: str | None = Field(None, description="Name of the campaign.")
    profile: str | None = Field(None, description="Built-in profile to start from; keys of this file override it.")
    target: TargetTable | list[TargetTable] = Field(default_factory=list, description="One target, or several.")
    sweep: dict[str, _Scalar | list[_Scalar]] = Field(
        default_factory=dict,
        description="fio options: a list is an axis, 'LOW..HIGH' a range that doubles, a single value holds for every cell.",
    )
    pattern: list[dict[str, _Scalar]] = Field(
        default_factory=list,
        description="fio options that belong together, such as {rw = 'randread', bs = '4k'}; each pattern is crossed with the sweep.",
    )
    streams: StreamsTable | None = Field(None, description="Several streams at once, at given load points.")
    stream: list[StreamTable] = Field(default_factory=list, description="One of several streams that run at once.")
    visits: Annotated[int, Field(ge=1, le=1000)] | None = Field(None, description="Visits of every cell, each in another random order.")
    budget: str | int | float | None = Field(None, description="Time the campaign may take, such as '10m'.")
    cells: Annotated[int, Field(ge=3)] | None = Field(
        None, description="Measure at most this many cells, chosen by the adaptive design; predict the rest."
    )
    error: str | float | None = Field(None, description="Stop when the adaptive map states this median error, such as '5%'.")
    order_seed: Annotated[int, Field(ge=0)] | None = Field(None, description="Seed of the random orders.")
    window: str | int | float | None = Field(None, description="Shortest time a visit's load runs, such as '500ms'.")
    precision: str | float | None = Field(None, description="Visit each cell until its interval's half-width is this small, such as '5%'.")
    grade: GradeName | None = Field(
        None, description="'map': t interval on logarithms; 'certified': order-statistic interval of the median."
    )
    max_visits: Annotated[int, Field(ge=2, le=1000)] | None = Field(
        None, description="Most visits of a cell when a precision is asked for."
    )
    verify: bool | None = Field(None, description="Write blocks with checksums at the end, read them back and compare.")
    engine: Literal["fio", "iozone", "both"] | None = Field(
        None, description="Program that makes the load of the profile iozone2017: 'iozone' or 'both' where IOzone is installed."
    )
    sharing: Sharing | None = Field(None, description="'shared': all jobs on one file; 'private': a file for each job.")
    prepare: Preparation | None = Field(
        None,
        description="State of files and devices before the load: 'laid-out', 'fresh' (no data), 'filled' (no holes), 'preconditioned', 'filled-twice'.",
    )
    purge: Purge | None = Field(None, description="What is done before the fill of a SNIA test; 'auto': discard where a block device can.")
    trace: str | None = Field(None, description="Timed trace in fio's version 3 format that is replayed; a path from where this file lies.")
    snia: Test | None = Field(None, description="Run a test of the SNIA performance test specification: rounds until steady state.")


@dataclass(frozen=True)
class CampaignSpec:
    """A normalised campaign: what to measure, over what, how often.

    targets:  (name or '', location) in order.
    precision, grade, max_visits: when a cell has been visited often enough; without a precision each cell gets `visits`.
    prepare:  state of the footprint before the load; purge, snia: of a test of the SNIA specification, which is made in rounds.
    ordered:  study whose cells are fixed work in order, made in rounds; engines: the programs that make its loads. '' for maps.
    cells:    most cells the adaptive design measures; error: stated median error at which it stops. None: not asked for.
    axes:     swept options, each with its values in order; constants: options every cell shares.
    patterns: sets of options that belong together; each is crossed with the axes.
    trace:    path of a timed trace that is replayed; its cells' options sum it up.
    streams:  several streams at once, at load points in a given order; `constants` then hold for every stream.
    """

    name: str = ""
    profile: str = ""
    targets: tuple[tuple[str, str], ...] = ()
    axes: Mapping[str, tuple[OptionValue, ...]] = field(default_factory=dict)
    constants: Mapping[str, OptionValue] = field(default_factory=dict)
    patterns: tuple[Mapping[str, OptionValue], ...] = ()
    visits: int = 2
    budget_seconds: float | None = None
    order_seed: int = 1
    window_seconds: float = 0.5
    sharing: Sharing = "shared"
    cells: int | None = None
    error: float | None = None
    precision: float | None = None
    grade: GradeName = "map"
    max_visits: int | None = None
    verify: bool = False
    prepare: Preparation = "laid-out"
    purge: Purge = "auto"
    snia: Test | None = None
    trace: str = ""
    ordered: str = ""
    engines: tuple[str, ...] = ("fio",)
    streams: StreamsSpec | None = None
    remarks: tuple[str, ...] = ()

    @property
    def wanted(self) -> Grade:
        """The precision asked for, with its defaults."""
        asked = self.precision is not None or self.grade == "certified"
        precision = self.precision if self.precision is not None else DEFAULT_PRECISION[self.grade]
        return Grade(self.grade, precision if asked else None, self.max_visits or DEFAULT_CAP[self.grade])

    @property
    def cell_count(self) -> int:
        return math.prod(len(values) for values in self.axes.values()) * max(1, len(self.targets)) * max(1, len(self.patterns))


def snia_campaign(name: str, test: Test) -> CampaignSpec:
    """A test of the SNIA specification as it stands there; it lacks only a target."""
    procedure = PROCEDURES[test]
    return CampaignSpec(
        name=name,
        profile=name,
        axes=procedure.axes,
        constants=procedure.constants,
        visits=1,
        window_seconds=CELL_SECONDS,
        prepare="filled-twice" if procedure.fill_passes else "laid-out",
        snia=test,
    )


def campaign_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the campaign file."""
    schema = CampaignFile.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ioatlas campaign",
        **{k: v for k, v in schema.items() if k != "title"},
    }


def _expand(name: str, value: _Scalar, where: str) -> list[OptionValue]:
    """One entry of a sweep: a value, or a range `LOW..HIGH` that doubles."""
    if isinstance(value, str) and ".." in value:
        low_text, _, high_text = value.partition("..")
        _, low = read_option(name, low_text, where=where)
        _, high = read_option(name, high_text, where=where)
        if not isinstance(low, int) or not isinstance(high, int) or low <= 0 or high < low:
            raise UsageError(
                f"{value!r} is not a doubling range", where=where, remedy="write LOW..HIGH with 0 < LOW <= HIGH, such as 4k..1m"
            )
        values: list[OptionValue] = []
        step = low
        while step <= high:
            values.append(step)
            step *= 2
        if values[-1] != high:
            raise UsageError(
                f"doubling from {low_text} does not reach {high_text}",
                where=where,
                remedy=f"end the range at {format_size(step // 2) if low_text.strip()[-1:].isalpha() else step // 2} or list the values",
            )
        return values
    return [read_option(name, value, where=where)[1]]


def read_sweep(sweep: Mapping[str, Any], where: Any = None) -> tuple[dict[str, tuple[OptionValue, ...]], dict[str, OptionValue]]:
    """Axes and constants of a `[sweep]` table. `where(name)` tells the place of a key for messages. Raises UsageError."""
    place = where or (lambda name: f"[sweep] {name}")
    axes: dict[str, tuple[OptionValue, ...]] = {}
    constants: dict[str, OptionValue] = {}
    for written, value in sweep.items():
        spot = place(written)
        is_range = isinstance(value, str) and ".." in value
        name = _name_of(written, spot)
        if name in axes or name in constants:
            raise UsageError(f"{name!r} is set twice", where=spot, remedy="keep one of them")
        entries = value if isinstance(value, list) else [value]
        if not entries:
            raise UsageError("the list is empty", where=spot, remedy="give at least one value")
        values: list[OptionValue] = []
        for entry in entries:
            for item in _expand(name, entry, spot):
                if item not in values:
                    values.append(item)
        if isinstance(value, list) or is_range:
            axes[name] = tuple(values)
        else:
            constants[name] = values[0]
    return axes, constants


def _name_of(written: str, where: str) -> str:
    name = ALIASES.get(written, written)
    if name not in ALLOWED:
        if written in CampaignFile.model_fields:
            raise UsageError(f"{written!r} is a key of the campaign, not a fio option", where=where, remedy="write it above the first table, before [sweep]")
        read_option(written, 1, where=where)  # raises with the reason
    return name


def read_campaign(text: str, *, source: str = "campaign", base: CampaignSpec | None = None, profiles: Any = None) -> CampaignSpec:
    """A specification from the text of a campaign file.

    base:     what the file's keys override; profiles: function from a profile's name to its CampaignSpec.
    Raises UsageError naming file, line, key and remedy.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"\(at line (\d+), column \d+\)", str(error))
        fault = str(error).split(" (at ")[0]
        raise UsageError(f"not TOML: {fault}", where=f"{source}:{match[1]}" if match else source, remedy="mend that line") from error
    try:
        parsed = CampaignFile.model_validate(document)
    except ValidationError as error:
        raise located(error, CampaignFile, source, text) from error
    spec = base or CampaignSpec()
    if parsed.profile is not None:
        if profiles is None:
            raise UsageError("a profile cannot name another profile", where=source, remedy="remove `profile`")
        spec = profiles(parsed.profile, where_of(source, text, ("profile",)))
    if parsed.snia is not None and parsed.snia != spec.snia:
        spec = replace(snia_campaign("", parsed.snia), targets=spec.targets)
    axes, constants = read_sweep(parsed.sweep, lambda name: where_of(source, text, ("sweep", name)))
    merged_axes = {name: values for name, values in spec.axes.items() if name not in constants}
    merged_axes |= axes
    merged_constants = {name: value for name, value in spec.constants.items() if name not in axes} | constants
    patterns = []
    for index, pattern in enumerate(parsed.pattern):
        swept, fixed = read_sweep(pattern, lambda name, index=index: where_of(source, text, ("pattern", index, name)))
        if swept:
            raise UsageError(
                "a pattern holds single values", where=where_of(source, text, ("pattern", index)), remedy="put lists into [sweep]"
            )
        patterns.append(fixed)
    twice = {name for pattern in patterns for name in pattern} & (axes.keys() | constants.keys())
    if twice:
        name = min(twice)
        raise UsageError(
            f"{name!r} stands in a pattern and in the sweep", where=where_of(source, text, ("sweep", name)), remedy="keep one of them"
        )
    tables = parsed.target if isinstance(parsed.target, list) else [parsed.target]
    targets = []
    for index, table in enumerate(tables):
        if (table.path is None) == (table.uri is None):
            raise UsageError(
                "a target needs `path` or `uri`, one of them", where=where_of(source, text, ("target", index)), remedy="write path = or uri ="
            )
        targets.append((table.name or "", table.path or table.uri or ""))
    return replace(
        spec,
        name=parsed.name if parsed.name is not None else spec.name,
        targets=tuple(targets) or spec.targets,
        axes=merged_axes,
        constants=merged_constants,
        patterns=tuple(patterns) or spec.patterns,
        streams=read_streams(parsed.streams, parsed.stream, spec.streams, lambda *path: where_of(source, text, path)),
        visits=parsed.visits if parsed.visits is not None else spec.visits,
        budget_seconds=read_budget(parsed.budget, where_of(source, text, ("budget",))) if parsed.budget is not None else spec.budget_seconds,
        order_seed=parsed.order_seed if parsed.order_seed is not None else spec.order_seed,
        window_seconds=read_window(parsed.window, where_of(source, text, ("window",))) if parsed.window is not None else spec.window_seconds,
        sharing=parsed.sharing or spec.sharing,
        engines=ENGINES[parsed.engine] if parsed.engine is not None else spec.engines,
        cells=parsed.cells if parsed.cells is not None else spec.cells,
        precision=read_error(parsed.precision, where_of(source, text, ("precision",))) if parsed.precision is not None else kept_precision(spec, parsed.visits),
        grade=parsed.grade or spec.grade,
        verify=parsed.verify if parsed.verify is not None else spec.verify,
        prepare=parsed.prepare or spec.prepare,
        purge=parsed.purge or spec.purge,
        snia=parsed.snia or spec.snia,
        trace=parsed.trace if parsed.trace is not None else spec.trace,
        max_visits=parsed.max_visits if parsed.max_visits is not None else spec.max_visits,
        error=read_error(parsed.error, where_of(source, text, ("error",))) if parsed.error is not None else spec.error,
    )


def kept_precision(spec: CampaignSpec, visits: int | None) -> float | None:
    """The precision a profile brings; a number of visits that was asked for takes the place of a study's stop rule."""
    return None if spec.ordered and visits is not None else spec.precision


def read_error(value: str | float, where: str) -> float:
    """An error or width to stop at, as a fraction. Raises UsageError."""
    error = parse_percent(value, where=where)
    if not 0 < error < 1:
        raise UsageError(f"{value!r} is not between 0% and 100%", where=where, remedy="write a percentage such as 5%")
    return error


def read_window(value: str | float, where: str) -> float:
    """The shortest time a visit's load runs, in seconds. Raises UsageError."""
    seconds = parse_duration_seconds(value, where=where)
    if not MIN_WINDOW_SECONDS <= seconds <= MAX_WINDOW_SECONDS:
        raise UsageError("a window is at least 100 ms, at most a day", where=where, remedy="write a time such as 500ms or 60s")
    return seconds


def read_budget(value: str | float, where: str) -> float:
    """The time a campaign may take, in seconds. Raises UsageError."""
    seconds = parse_duration_seconds(value, where=where)
    if seconds <= 0:
        raise UsageError("the budget is zero", where=where, remedy="write a time such as 10m")
    return seconds


def read_campaign_file(path: Path, **options: Any) -> CampaignSpec:
    """The specification in a file. Raises UsageError when it cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"the campaign file cannot be read: {error.strerror}", where=str(path), remedy="name a readable TOML file") from error
    if len(raw) > MAX_FILE_BYTES:
        raise UsageError(f"that is no campaign file: it is larger than {format_size(MAX_FILE_BYTES)}", where=str(path), remedy="name a TOML file")
    try:
        text = raw.decode("utf-8-sig")  # some editors put a byte order mark in front
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise UsageError(
            f"the campaign file is not UTF-8 text: byte 0x{raw[error.start]:02x}", where=f"{path}:{line}", remedy="save it as UTF-8"
        ) from error
    spec = read_campaign(text, source=str(path), **options)
    return replace(spec, trace=str(path.parent.absolute() / spec.trace)) if spec.trace else spec


def campaign_toml(spec: CampaignSpec) -> str:
    """The specification written out as a campaign file that reads back to the same."""
    lines = [f"name = {_toml(spec.name)}"] if spec.name and spec.name != spec.profile else []
    lines += [
        f"visits = {spec.visits}",
        f"order_seed = {spec.order_seed}",
        f"window = {_toml(exact_duration(spec.window_seconds))}",
        f"sharing = {_toml(spec.sharing)}",
    ]
    if spec.ordered:
        engine = next(name for name, engines in ENGINES.items() if engines == spec.engines)
        lines += [f"profile = {_toml(spec.profile)}", f"engine = {_toml(engine)}"]
    if spec.budget_seconds is not None:
        lines.append(f"budget = {_toml(exact_duration(spec.budget_seconds))}")
    lines += [f"cells = {spec.cells}"] if spec.cells is not None else []
    lines += [f"precision = {_toml(f'{spec.precision * 100:g}%')}"] if spec.precision is not None else []
    lines += [f"grade = {_toml(spec.grade)}"] if spec.grade != "map" else []
    lines += ["verify = true"] if spec.verify else []
    lines += [f"prepare = {_toml(spec.prepare)}"] if spec.prepare != "laid-out" else []
    lines += [f"purge = {_toml(spec.purge)}"] if spec.purge != "auto" else []
    lines += [f"snia = {_toml(spec.snia)}"] if spec.snia else []
    lines += [f"trace = {_toml(TRACE_FILE)}"] if spec.trace else []
    lines += [f"max_visits = {spec.max_visits}"] if spec.max_visits is not None else []
    lines += [f"error = {_toml(f'{spec.error * 100:g}%')}"] if spec.error is not None else []
    for name, location in spec.targets:
        lines += ["", "[[target]]"]
        lines += [f"name = {_toml(name)}"] if name else []
        lines.append(f"{'uri' if '://' in location else 'path'} = {_toml(location)}")
    for pattern in spec.patterns:
        lines += ["", "[[pattern]]", *(f"{option} = {_toml(value)}" for option, value in pattern.items())]
    lines += streams_toml(spec.streams) if spec.streams is not None else []
    lines += ["", "[sweep]"]
    axes = {option: values for option, values in spec.axes.items() if not (spec.ordered and option in LABELS)}
    axes = axes if spec.streams is None else {option: values for option, values in axes.items() if option == "size"}
    lines += [f"{option} = [{', '.join(_toml(value) for value in values)}]" for option, values in axes.items()]
    lines += [f"{option} = {_toml(value)}" for option, value in spec.constants.items() if not (spec.trace and option in TRACE_SUMMARY)]
    return "\n".join(lines) + "\n"


def _toml(value: OptionValue) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(value)
