# SPDX-License-Identifier: Apache-2.0
"""A published evaluation as data: lab targets to set up, one campaign over them, figures, and what was claimed."""

from __future__ import annotations

import functools
import itertools
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ioatlas.model.errors import UsageError

Value = int | float | str
Place = dict[str, Value | list[Value]]
"""Where to look: values by name of an option or factor, and `direction`."""
NAMES = ("nii2021", "starwind2016", "osaka2017", "testbed2008", "coregrid2008")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Setup(_Strict):
    """Lab targets of one scenario, one for each combination of `cross`.

    name, settings: may hold {NAME} of a crossed factor. factors: what all of them have besides.
    quick: fewer levels of crossed factors, by name. left_out: not set up in the quick form.
    folder: of a target that is a file, measure new files beside it. together: load all of its disks at once.
    """

    scenario: str
    name: str
    settings: dict[str, Value] = Field(default_factory=dict)
    factors: dict[str, Value] = Field(default_factory=dict)
    cross: dict[str, list[Value]] = Field(default_factory=dict)
    quick: dict[str, list[Value]] = Field(default_factory=dict)
    left_out: bool = False
    folder: bool = False
    together: bool = False


class Claim(_Strict):
    """One thing that was published, or asked, as a comparison of what a campaign measures.

    says:      what was claimed. published: the figure that was printed for it; 'not answered' of an open question.
    kind:      ratio: `of` over `over`, in all loads that both have. best: `of` against each value in `over`.
               ceiling: the best of `of` against `truth` of its lab target. spread: of repeats, `of` against `over`.
               limit: what is named to limit `of`.
    expected:  higher, lower or same; of a limit the resource; '' of an open question.
    tolerance: what is called the same. note: what is otherwise here, and what it may do.
    """

    id: str
    says: str
    published: str
    kind: Literal["ratio", "best", "ceiling", "spread", "limit"] = "ratio"
    of: Place
    over: Place = Field(default_factory=dict)
    expected: str = ""
    quantity: Literal["bw", "iops", "lat_mean", "lat_p99"] = "bw"
    tolerance: float = Field(default=0.02, ge=0, lt=1)
    truth: str = ""
    note: str = ""

    @model_validator(mode="after")
    def _whole(self) -> Claim:
        if self.kind in ("ratio", "best", "spread") and not self.over:
            raise ValueError("`over` says what it is held against")
        if self.kind == "ceiling" and not self.truth:
            raise ValueError("`truth` names the known limit")
        if self.kind != "limit" and self.expected not in ("", "higher", "lower", "same"):
            raise ValueError("expected is higher, lower, same or empty")
        return self


class FigureAsked(_Strict):
    """One drawing. kind: map: tiled heat maps. lines: values over `x`. bars: loads as groups, configurations as bars.
    series: over each factor. charts: of fixed work. Of bars `quantity` and `where` choose; of the others x, y, tiles.
    """

    name: str
    kind: Literal["map", "lines", "bars", "series"]
    title: str = ""
    x: str = ""
    y: str = ""
    tiles: list[str] = Field(default_factory=list)
    where: list[str] = Field(default_factory=list)
    quantity: Literal["bw", "iops", "lat_mean", "lat_p99"] = "bw"


class Study(_Strict):
    """together: its lab targets exist side by side, so that configurations are measured in turns.

    campaign: as a campaign file, without configurations; quick: what the quick form has otherwise; installed: by name
    of a program, what it has otherwise where that is installed.
    otherwise: what is done otherwise than in the source, a sentence each.
    """

    name: str
    title: str
    source: str
    otherwise: list[str]
    together: bool = False
    campaign: dict[str, Any]
    quick: dict[str, Any] = Field(default_factory=dict)
    installed: dict[str, dict[str, Any]] = Field(default_factory=dict)
    setup: list[Setup]
    claim: list[Claim]
    figure: list[FigureAsked]

    def campaign_of(self, *, quick: bool) -> dict[str, Any]:
        """The campaign file's tables; the quick form and programs that are there replace single values."""
        found = _merged(self.campaign, self.quick) if quick else dict(self.campaign)
        for program, part in self.installed.items():
            found = _merged(found, part) if shutil.which(program) else found
        return found


class Made(_Strict):
    """One lab target of a study, with its configuration's name and factors."""

    name: str
    scenario: str
    settings: dict[str, Value]
    factors: dict[str, Value]
    folder: bool = False
    together: bool = False


def targets_of(study: Study, *, quick: bool) -> list[Made]:
    """Every lab target that is set up, in the order of the file."""
    return [made for setup in study.setup if not (quick and setup.left_out) for made in _crossed(setup, quick=quick)]


def _crossed(setup: Setup, *, quick: bool) -> Iterator[Made]:
    cross = setup.cross | (setup.quick if quick else {})
    for values in itertools.product(*cross.values()):
        level: dict[str, Value] = dict(zip(cross, values, strict=True))
        settings = {name: _filled(value, level) for name, value in setup.settings.items()}
        name = str(_filled(setup.name, level))
        factors = setup.factors | level
        yield Made(
            name=name,
            scenario=setup.scenario,
            settings=settings,
            factors=factors,
            folder=setup.folder,
            together=setup.together,
        )


def _filled(value: Value, level: Mapping[str, Value]) -> Value:
    """`value` with {NAME} replaced; a text that is one {NAME} alone becomes its value."""
    if not isinstance(value, str):
        return value
    if value[:1] == "{" and value[-1:] == "}" and value[1:-1] in level:
        return level[value[1:-1]]
    for name, one in level.items():
        value = value.replace(f"{{{name}}}", str(one))
    return value


def _merged(whole: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    """`whole` with the values of `part`; an empty list takes one away."""
    found = dict(whole)
    for name, value in part.items():
        nested = isinstance(value, Mapping) and isinstance(found.get(name), Mapping)
        found[name] = _merged(found[name], value) if nested else value
    return {name: value for name, value in found.items() if value != []}


@functools.cache
def find_study(name: str) -> Study:
    """The study of this name. Raises UsageError with the names there are."""
    if name not in NAMES:
        raise UsageError(f"there is no study {name!r}", remedy=f"choose one of: {', '.join(NAMES)}")
    text = resources.files(__package__).joinpath("data", f"{name}.toml").read_text(encoding="utf-8")
    return read_study(text, f"{name}.toml")


def read_study(text: str, source: str) -> Study:
    """A study from its file. Raises UsageError naming the key."""
    try:
        return Study.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"it is no TOML: {error}", where=source) from error
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(first["msg"], where=f"{source}: {'.'.join(str(part) for part in first['loc'])}") from error
