# SPDX-License-Identifier: Apache-2.0
"""Campaign files: TOML in, a checked and normalised specification out, and back.

Every fault names file, line, key and remedy.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas.model.errors import UsageError
from ioatlas.plan import profiles
from ioatlas.plan.configurations import (
    read_configurations,
    read_confirmations,
    read_place,
    write_configuration,
    write_place,
)
from ioatlas.plan.options import Constants, Declared, Given, Table, Where, declared, plain
from ioatlas.plan.spec import CampaignSpec, ProcedureTable
from ioatlas.plan.sweep import read_sweep
from ioatlas.store import toml

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True)
class CampaignFormat:
    """What a campaign file may say: the campaign's own options, and those in the tables of procedures."""

    tables: tuple[type[ProcedureTable], ...]

    @functools.cached_property
    def options(self) -> tuple[Declared, ...]:
        """Every option, the campaign's own first."""
        every: tuple[type[Table], ...] = (CampaignSpec, *self.tables)
        return tuple(one for table in every for one in declared(table))

    def option(self, key: str) -> Declared:
        """The option of that key."""
        return next(one for one in self.options if one.key == key)

    @functools.cached_property
    def model(self) -> type[BaseModel]:
        """What a file is checked against."""
        from ioatlas.plan.models import file_model

        return file_model(self.tables, shipped=False)

    @functools.cached_property
    def _shipped_model(self) -> type[BaseModel]:
        from ioatlas.plan.models import file_model

        return file_model(self.tables, shipped=True)

    def schema(self) -> dict[str, Any]:
        """JSON Schema (2020-12) of the campaign file."""
        schema = self.model.model_json_schema()
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "ioatlas campaign",
            **{key: value for key, value in schema.items() if key != "title"},
        }

    def apply(self, spec: CampaignSpec, given: Given, where: Where, folder: Path | None = None) -> CampaignSpec:
        """The campaign with options as a file or a command line gives them, by key. Raises UsageError.

        folder: where paths lead from; None leaves them as they are.
        """
        if folder is not None:
            paths = {one.key for one in self.options if one.option.kind.path} & given.keys()
            given = {**given, **{key: str(folder.absolute() / given[key]) for key in paths}}
        spec = spec.read(given, where)
        spec = spec.having(*(spec.of(table).read(given, where) for table in self.tables))
        for table in self.tables:
            spec = spec.of(table).settled(spec, given)
        return spec

    def brings_load(self, spec: CampaignSpec) -> bool:
        """Whether a procedure's table says what the load is."""
        return any(spec.of(table).brings_load for table in self.tables)

    def profile(self, name: str, where: str = "--profile") -> CampaignSpec:
        """The built-in profile of that name. Raises UsageError naming those there are."""
        profiles.check(name, where)
        return self._profile(name)

    @functools.cache  # noqa: B019 - one format lives as long as the program
    def _profile(self, name: str) -> CampaignSpec:
        text = profiles.text_of(name)
        document = _Document(text, f"{name}{profiles.ENDING}", self._shipped_model)
        given = document.given()
        spec = self._read(document, given, CampaignSpec())
        return replace(spec, name=name, profile=name, remarks=tuple(given.get("remarks", ())))

    def read(
        self, text: str, *, source: str = "campaign", base: CampaignSpec | None = None, folder: Path | None = None
    ) -> CampaignSpec:
        """A specification from the text of a campaign file.

        base: what the file's keys override. folder: where the paths in it lead from.
        Raises UsageError naming file, line, key and remedy.
        """
        document = _Document(text, source, self.model)
        given = document.given()
        spec = base or CampaignSpec()
        if "profile" in given:
            spec = self.profile(given["profile"], document.where("profile"))
        return self._read(document, given, spec, folder)

    def _read(self, document: _Document, given: Given, spec: CampaignSpec, folder: Path | None = None) -> CampaignSpec:
        for table in self.tables:
            spec = table.begin(spec, given)
        where = document.where
        axes, constants = read_sweep(given.get("sweep", {}), functools.partial(where, "sweep"), self.model.model_fields)
        patterns = _patterns(given.get("pattern", ()), where, self.model.model_fields)
        if twice := {name for pattern in patterns for name in pattern} & {*axes, *constants}:
            name = min(twice)
            raise UsageError(
                f"{name!r} stands in a pattern and in the sweep", where=where("sweep", name), remedy="keep one of them"
            )
        configurations = read_configurations(given.get("configuration", ()), where, folder)
        if configurations and given.get("target"):
            raise UsageError(
                "there is a target beside the configurations",
                where=where("target"),
                remedy="name the target of each configuration in its own table",
            )
        places = tuple(place for one in configurations for place in one.places)
        spec = replace(
            spec,
            targets=places or _targets(given.get("target", []), where) or spec.targets,
            configurations=configurations,
            confirmations=read_confirmations(given.get("configuration", ())),
            axes={name: values for name, values in spec.axes.items() if name not in constants} | axes,
            constants={name: value for name, value in spec.constants.items() if name not in axes} | constants,
            patterns=patterns or spec.patterns,
        )
        return self.apply(spec, given, where, folder)

    def read_file(self, path: Path, base: CampaignSpec | None = None) -> CampaignSpec:
        """The specification in a file. Raises UsageError when it cannot be read."""
        return self.read(toml.text_of(path, "the campaign file"), source=str(path), base=base, folder=path.parent)

    def write(self, spec: CampaignSpec) -> str:
        """The specification written out as a campaign file that reads back to the same."""
        import tomlkit

        document = spec.entries()
        if spec.name == spec.profile:
            document.pop("name", None)
        axes, constants = spec.axes, spec.constants
        for table in map(spec.of, self.tables):
            document |= table.written(spec)
            axes, constants = table.swept(axes, constants)
        document["target"] = [
            ({"name": name} if name else {}) | write_place(location)
            for name, location in spec.targets
            if not spec.configurations
        ]
        document["configuration"] = [write_configuration(one) for one in spec.configurations]
        document["pattern"] = list(spec.patterns)
        document["sweep"] = {**axes, **constants}
        # Single values first: whatever follows the head of a table belongs to it.
        rank = {key: 2 if isinstance(value, Mapping) else _is_tables(value) for key, value in document.items()}
        return tomlkit.dumps(
            {key: _plain(document[key]) for key in sorted(document, key=rank.__getitem__) if document[key] != []}
        )


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if _is_tables(value) else plain(value)


class _Document:
    """A parsed file whose keys know their lines."""

    def __init__(self, text: str, source: str, model: type[BaseModel]) -> None:
        self._text, self._source, self._model = text, source, model

    def where(self, *path: str | int) -> str:
        """File, line and key, for messages."""
        from ioatlas.plan.faults import where_of

        return where_of(self._source, self._text, path)

    def given(self) -> dict[str, Any]:
        """What the file says, by key, checked for types and unknown keys. Raises UsageError."""
        from pydantic import ValidationError

        from ioatlas.plan.faults import located

        table = toml.parsed(self._text, self._source)
        try:
            made = self._model.model_validate(table)
        except ValidationError as error:
            raise located(error, self._model, self._source, self._text) from error
        return made.model_dump(exclude_none=True, exclude_unset=True)


def _patterns(tables: Iterable[Mapping[str, Any]], where: Where, keys: Collection[str]) -> tuple[Constants, ...]:
    patterns = []
    for index, pattern in enumerate(tables):
        swept, fixed = read_sweep(pattern, functools.partial(where, "pattern", index), keys)
        if swept:
            raise UsageError("a pattern has single values", where=where("pattern", index), remedy="lists go to [sweep]")
        patterns.append(fixed)
    return tuple(patterns)


def _targets(tables: Any, where: Where) -> tuple[tuple[str, str], ...]:
    tables = tables if isinstance(tables, list) else [tables]
    return tuple(
        (table.get("name", ""), read_place(table, where("target", index))) for index, table in enumerate(tables)
    )
