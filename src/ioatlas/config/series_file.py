# SPDX-License-Identifier: Apache-2.0
"""A series: campaigns and imported results measured apart, joined by their factors. Its file, read and written."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas.config.configurations import read_factors, write_factors
from ioatlas.errors import UsageError, faults, written
from ioatlas.model.factors import Factor

if TYPE_CHECKING:
    from pydantic import BaseModel

FORMAT = 1
MOST_BYTES = 1 << 20
_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?:\s+(\S.*))?")


@dataclass(frozen=True)
class SeriesMember:
    """One member. place: `DIR` or `DIR:TARGET`, from where the file lies. name: '' for that of its directory."""

    place: Path
    factors: Mapping[str, Factor] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True)
class Series:
    """All members in the order of the file."""

    name: str
    members: tuple[SeriesMember, ...] = ()


def parse_factors(texts: Iterable[str]) -> dict[str, Factor]:
    """Factors as they are typed: 'drives=3', 'link=10 Gbit/s', 'raid=raid5'. Raises UsageError."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, told = text.partition("=")
        if not equals or not told.strip():
            raise UsageError(f"{text!r} is no factor", where="--factor", remedy="write NAME=VALUE, such as drives=3")
        if name.strip() in found:
            raise UsageError(f"the factor {name.strip()!r} is given twice", where="--factor", remedy="keep one of them")
        number = _NUMBER.fullmatch(told.strip())
        value: Any = told.strip()
        if number:
            value = float(number[1]) if any(letter in number[1] for letter in ".eE") else int(number[1])
            value = {"value": value, "unit": number[2]} if number[2] else value
        found[name.strip()] = value
    return read_factors(found, lambda *_: "--factor")


def read_series(path: Path) -> Series:
    """The series in a file. Raises UsageError naming line, key and remedy."""
    text = _text(path)
    with faults(UsageError, "not TOML", where=str(path), remedy="mend that line", of=tomllib.TOMLDecodeError):
        parsed = tomllib.loads(text)
    from pydantic import ValidationError

    from ioatlas.config.faults import located, where_of

    model = _model()
    try:
        given = model.model_validate(parsed).model_dump(exclude_none=True)
    except ValidationError as error:
        raise located(error, model, str(path), text) from error
    if given.get("series", FORMAT) > FORMAT:
        raise UsageError(
            f"it has format {given['series']}, this ioatlas reads up to {FORMAT}",
            where=str(path),
            remedy="use a newer ioatlas",
        )
    members = tuple(
        SeriesMember(
            path.parent / one["path"],
            read_factors(
                one.get("factors", {}), lambda *key, at=at: where_of(str(path), text, ("member", at, "factors", *key))
            ),
            one.get("name", ""),
        )
        for at, one in enumerate(given.get("member", ()))
    )
    return Series(given.get("name", "") or path.stem, members)


def _model() -> type[BaseModel]:
    from pydantic import BaseModel, Field, create_model

    from ioatlas.config.models import STRICT, FactorTable, Scalar

    class MemberTable(BaseModel):
        """`[[member]]`: a campaign or imported results."""

        model_config = STRICT
        path: str = Field(description="DIR or DIR:TARGET, from where this file lies.")
        name: str | None = Field(None, description="Name in tables and figures; that of the directory when left out.")
        factors: dict[str, Scalar | FactorTable] = Field(default_factory=dict, description="What tells it apart.")

    class Base(BaseModel):
        model_config = STRICT

    return create_model(
        "SeriesFile",
        __base__=Base,
        series=(int, Field(FORMAT, description="Format of this file.")),
        name=(str | None, Field(None, description="Name of the series.")),
        member=(list[MemberTable], Field(default_factory=list, description="What belongs to it.")),
    )


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        remedy = f"make it: `ioatlas history series new {path}`"
        raise UsageError("there is no such series", where=str(path), remedy=remedy) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"it cannot be read: {error}", where=str(path), remedy="name a series file") from error


def new_series(path: Path, name: str) -> None:
    """An empty series. Raises UsageError where a file is."""
    import tomlkit

    document = tomlkit.document()
    document.add(tomlkit.comment("Campaigns measured apart: `ioatlas history series add` writes members."))
    document.update({"series": FORMAT, "name": name or path.stem})
    with written(path, "name a file in a folder that exists"), path.open("x", encoding="utf-8") as file:
        file.write(tomlkit.dumps(document))


def add_member(path: Path, member: SeriesMember) -> None:
    """Write one more member into the file; what else stands there stays as it is. Raises UsageError."""
    import tomlkit

    known = read_series(path)
    relative = os.path.relpath(member.place.absolute(), path.parent.absolute())
    if any(os.path.relpath(one.place.absolute(), path.parent.absolute()) == relative for one in known.members):
        raise UsageError("it is in the series already", where=str(member.place), remedy=f"change it in {path}")
    document = tomlkit.parse(_text(path))
    entry = tomlkit.table()
    entry.update({"path": relative} | ({"name": member.name} if member.name else {}))
    if member.factors:
        factors = tomlkit.inline_table()
        factors.update(write_factors(member.factors))
        entry.add("factors", factors)
    members = document.get("member")
    if members is None:
        members = tomlkit.aot()
        document.append("member", members)
    members.append(entry)
    new = path.with_name(f".{path.name}.new")
    new.write_text(tomlkit.dumps(document), encoding="utf-8")
    new.replace(path)
