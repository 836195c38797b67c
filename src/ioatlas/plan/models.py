# SPDX-License-Identifier: Apache-2.0
"""What campaign files are checked against: pydantic models made from the declared options."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from ioatlas.plan.faults import describe
from ioatlas.plan.options import Declared, Kind, Table, declared
from ioatlas.plan.spec import CampaignSpec

Scalar = int | float | str | bool
STRICT = ConfigDict(extra="forbid", strict=True, json_schema_extra=describe)


class TargetTable(BaseModel):
    """`[target]`, or one of several `[[target]]`: what is measured. Give `path` or `uri`."""

    model_config = STRICT
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,63}$")] | None = None
    """Name in tables and figures; taken from the path when left out."""
    path: str | None = None
    """Directory, file or block device."""
    uri: str | None = None
    """Target that fio has an engine for, such as nbd+unix:///?socket=/run/nbd.sock."""


class MemberTable(TargetTable):
    """One of several targets of a configuration that are loaded together. Give `path` or `uri`."""

    destroy: str | None = None
    """As --destroy, for it alone. It is not kept."""
    overwrite: str | None = None
    """As --overwrite, for it alone. It is not kept."""


class FactorTable(BaseModel):
    """A factor with its unit."""

    model_config = STRICT
    value: Scalar
    unit: str = ""


class ConfigurationTable(MemberTable):
    """One of several `[[configuration]]`: a way in which a target is set up. Give `path` or `uri`."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,63}$")]
    """Name in tables and figures."""
    factors: dict[str, Scalar | FactorTable] = Field(default_factory=dict)
    """What tells it from the others, such as {drives = 7, raid = 'raid5', link = {value = 10, unit = 'Gbit/s'}}: any
    names, numbers or texts.
    """
    product: str | None = None
    """Its product sheet. A path leads from where this file lies."""
    before: str | None = None
    """Shell command that makes it so, run before it is measured."""
    after: str | None = None
    """Shell command that is run when it was measured."""
    ask: str | None = None
    """What a person has to do before it is measured, such as 'set the switch to MTU 9000'."""
    folder: str | None = None
    """Where its commands run; where this file lies when left out."""
    target: MemberTable | list[MemberTable] | None = None
    """Several targets in the place of `path`: they are loaded together."""


class _Frame(BaseModel):
    """What of a campaign file is not an option."""

    model_config = STRICT
    profile: str | None = None
    """Built-in profile to start from; keys of this file override it."""
    target: TargetTable | list[TargetTable] = Field(default_factory=list)
    """One target, or several."""
    configuration: list[ConfigurationTable] = Field(default_factory=list)
    """Configurations to compare, each with its target, in the place of [target]."""
    sweep: dict[str, Scalar | list[Scalar]] = Field(default_factory=dict)
    """fio options: a list is an axis, 'LOW..HIGH' a range that doubles, a single value holds for every cell."""
    pattern: list[dict[str, Scalar]] = Field(default_factory=list)
    """fio options that belong together, such as {rw = 'randread', bs = '4k'}; each pattern is crossed with the sweep.

    """


class _ShippedFrame(_Frame):
    """What only a built-in profile says besides."""

    rank: int
    summary: str
    n_cells: int | None = None
    time: str
    reader: str
    remarks: list[str] = Field(default_factory=list)


class _OpenTable(BaseModel):
    """A table whose further keys are fio options with one value."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Scalar]


class _ClosedTable(BaseModel):
    model_config = ConfigDict(extra="forbid")


def file_model(tables: tuple[type[Table], ...], *, shipped: bool) -> type[BaseModel]:
    """Of a campaign file, or of a built-in profile."""
    fields: dict[str, Any] = {}
    every: tuple[type[Table], ...] = (CampaignSpec, *tables)
    for table in every:
        fields |= _fields(one for one in declared(table) if shipped or not one.option.shipped)
        fields |= {
            key: (key_of.file() | None, Field(None, description=key_of.help))
            for key, key_of in table.table_keys().items()
        }
    model: type[BaseModel] = create_model(
        "CampaignFile", __base__=_ShippedFrame if shipped else _Frame, __doc__="A campaign file.", **fields
    )
    return model


def table_model(name: str, table: type[Table], *, doc: str, fio_options: bool = False) -> type[BaseModel]:
    """Of a table in a campaign file. fio_options: what is no option of the table is one of fio."""
    base = _OpenTable if fio_options else _ClosedTable
    model: type[BaseModel] = create_model(name, __base__=base, __doc__=doc, **_fields(declared(table)))
    return model


def _fields(options: Any) -> dict[str, Any]:
    return {one.key: (file_type(one.option.kind) | None, _described(one)) for one in options}


def _described(one: Declared) -> Any:
    text = one.option.help + (" A path leads from where this file lies." if one.option.kind.path else "")
    return Field(None, description=text, json_schema_extra={"default": one.written_default})


def file_type(kind: Kind) -> Any:
    """The type of a value in a file."""
    if kind.file is not None:
        return kind.file()
    if kind.choices is not None:
        return Literal[tuple(word.value for word in kind.choices)]
    if kind.pattern:
        return Annotated[str, Field(pattern=kind.pattern)]
    if kind.least is not None or kind.most is not None:
        return Annotated[int, Field(ge=kind.least, le=kind.most)]
    whole: Any = kind.types[0]
    for each in kind.types[1:]:
        whole = whole | each
    return whole
