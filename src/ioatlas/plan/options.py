# SPDX-License-Identifier: Apache-2.0
"""One declaration of an option, from which everything else follows.

An option is a field of a frozen dataclass, a `Table`. Its name, type and default are the field's; all else stands in
an `Option` in the field's annotation. Reading and writing campaign files, their JSON Schema, the command line, the
table in the docs and the journal's record are made from it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum
from typing import Any, Self, TypeVar, cast, get_type_hints

from ioatlas.model.cell import OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.outcomes import hints_of, of_plain
from ioatlas.model.outcomes import plain as as_json
from ioatlas.model.units import exact_duration, parse_duration_seconds, parse_percent

Axes = Mapping[str, tuple[OptionValue, ...]]
Constants = Mapping[str, OptionValue]
Given = Mapping[str, Any]
"""Values by their keys, as a file or a command line says them."""
Where = Callable[..., str]
"""From the path of a key to its place, for messages."""

Made = TypeVar("Made")

LONGEST_TEXT = 4096
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


def _same(value: Any, where: str) -> Any:  # noqa: ARG001
    return value


def plain(value: Any) -> Any:
    """A value as TOML and JSON have it: no enumerations, no tuples, whole numbers without a point."""
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class Kind:
    """What an option takes.

    types:   of the value in a file. least, most: its bounds, of a whole number. choices: its words. pattern: of a text.
    file:    makes the type in the file where `types` cannot say it; pydantic is loaded only then.
    metavar: on the command line. path: it names a file, from where the campaign file lies.
    read:    from a file's or command line's value and its place to the specification's. Raises UsageError.
    write:   from the specification's value to a file's.
    """

    types: tuple[type, ...]
    metavar: str = ""
    least: int | None = None
    most: int | None = None
    choices: type[StrEnum] | None = None
    pattern: str = ""
    file: Callable[[], Any] | None = None
    path: bool = False
    read: Callable[[Any, str], Any] = _same
    write: Callable[[Any], Any] = plain

    def check(self, value: Any, where: str) -> None:
        """Raises UsageError for a value of a specification that nobody could have written into a file."""
        try:
            written = self.write(value)
            inside = self.least is None or self.least <= written
            inside = inside and (self.most is None or written <= self.most)
            inside = inside and (not self.pattern or bool(re.fullmatch(self.pattern, written)))
            inside = inside and (not isinstance(written, str) or len(written) <= LONGEST_TEXT)
        except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError):
            inside = False
        if not inside:
            raise UsageError(f"{value!r:.80} is out of range", where=where, remedy="see `plan --schema`")
        try:
            self.read(written, where)
        except (KeyError, ValueError) as error:
            raise UsageError(f"{value!r:.80} is not allowed", where=where, remedy="see `plan --schema`") from error


TEXT = Kind((str,), "TEXT")
FLAG = Kind((bool,))
PATH = Kind((str,), "FILE", path=True)


def integer(least: int, most: int | None = None) -> Kind:
    return Kind((int,), least=least, most=most)


def choice(words: type[StrEnum]) -> Kind:
    return Kind((str,), choices=words, read=lambda value, _: words(value))


def duration(least: float, most: float, fault: str, remedy: str) -> Kind:
    """A time, in seconds in the specification. fault: what is said of one out of bounds; {!r} stands for it."""

    def read(value: str | float, where: str) -> float:
        seconds = parse_duration_seconds(value, where=where)
        if not least <= seconds <= most:
            raise UsageError(fault.format(value), where=where, remedy=remedy)
        return seconds

    return Kind((str, int, float), "TIME", read=read, write=exact_duration)


def _read_share(value: str | float, where: str) -> float:
    share = parse_percent(value, where=where)
    if not 0 < share < 1:
        raise UsageError(f"{value!r} is not between 0% and 100%", where=where, remedy="write a percentage such as 5%")
    return share


def _written_share(share: float) -> str | float:
    text = f"{share * 100:g}%"
    return text if parse_percent(text) == share else share


PERCENT = Kind((str, float), "PERCENT", read=_read_share, write=_written_share)
"""A share, as a fraction in the specification."""


@dataclass(frozen=True)
class Option:
    """What is said of an option besides name, type and default of its field.

    help:   one or two sentences for the schema, the docs, `--help` and the remedy of a fault.
    key:    its name in files, where that is not the field's. flag: it is an option of `map` and `plan` too.
    always: it is written to files even when it has its default. shipped: only built-in profiles may say it.
    """

    kind: Kind
    help: str
    key: str = ""
    flag: bool = False
    always: bool = False
    shipped: bool = False


@dataclass(frozen=True)
class Declared:
    """An option with what its field says of it."""

    field: str
    key: str
    option: Option
    default: Any

    @property
    def written_default(self) -> Any:
        """Its default as a file would say it; None where it has none."""
        return None if self.default in (None, "") else self.option.kind.write(self.default)


@dataclass(frozen=True)
class Key:
    """A key of a campaign file that holds a table or a list of tables. file: makes its type; help: as of an option."""

    file: Callable[[], Any]
    help: str


def _once_each(make: Callable[[type[Any]], Made]) -> Callable[[type[Any]], Made]:
    return cast("Callable[[type[Any]], Made]", functools.cache(make))  # types of dataclasses hash, mypy thinks not


@_once_each
def declared(table: type[Any]) -> tuple[Declared, ...]:
    """The options of a table, in the order of its fields."""
    hints = get_type_hints(table, include_extras=True)
    found = []
    for field in fields(table):
        option = next(
            (note for note in getattr(hints[field.name], "__metadata__", ()) if isinstance(note, Option)), None
        )
        if option is not None:
            default = None if field.default is MISSING else field.default
            found.append(Declared(field.name, option.key or field.name, option, default))
    return tuple(found)


@dataclass(frozen=True)
class Table:
    """Options that belong together: the campaign's own, or what one procedure adds (`plan.spec.ProcedureTable`).

    A table overrides what is not one value under one key.
    """

    def check_alone(self) -> None:
        """Raises UsageError for an option that means nothing without another one of its table."""

    @classmethod
    def table_keys(cls) -> Mapping[str, Key]:
        """Its keys that hold tables."""
        return {}

    def read(self, given: Given, where: Where) -> Self:
        """With what was given in the place of what stands here. Raises UsageError."""
        read = {
            one.field: one.option.kind.read(given[one.key], where(one.key))
            for one in declared(type(self))
            if one.key in given
        }
        return replace(self, **read)

    def check(self, where: Where) -> None:
        """Raises UsageError for what was kept and nobody could have asked for; the types are right already."""
        for one in declared(type(self)):
            value = getattr(self, one.field)
            if value != one.default and value not in (None, ""):
                one.option.kind.check(value, where(one.key))

    def entries(self) -> dict[str, Any]:
        """What a campaign file says of it."""
        return {
            one.key: one.option.kind.write(value)
            for one in declared(type(self))
            if ((value := getattr(self, one.field)) != one.default or one.option.always) and not one.option.shipped
        }

    def to_record(self) -> dict[str, Any]:
        """What the journal keeps, as its JSON has it."""
        record: dict[str, Any] = as_json(self)
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The table again, from the journal's JSON; keys of others are left alone, missing ones have their default.

        Raises ValueError with the name of one that has another type.
        """
        types, made = hints_of(cls), {}
        for name in types.keys() & record.keys():
            try:
                made[name] = of_plain(types[name], record[name])
            except (AttributeError, OverflowError, TypeError, ValueError) as error:
                raise ValueError(name) from error
        return cls(**made)


AnyTable = TypeVar("AnyTable", bound=Table)
