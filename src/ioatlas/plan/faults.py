# SPDX-License-Identifier: Apache-2.0
"""Faults of a campaign file as one message: file, line, key, what it takes. What a key is for: the docstring below the
field of its model, read when somebody asks.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ioatlas.model.errors import UsageError


def meanings(model: type[BaseModel]) -> dict[str, str]:
    """By key, as a file has it: the description of the field, or the docstring below it; '' without."""
    below = {name: text for each in reversed(model.__mro__) for name, text in _docstrings(each).items()}
    return {one.alias or name: one.description or below.get(name, "") for name, one in model.model_fields.items()}


def describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """The same in a JSON Schema: `json_schema_extra` of a model."""
    told = meanings(model)
    for name, part in schema.get("properties", {}).items():
        if told.get(name):
            part["description"] = told[name]


@cache
def _docstrings(model: type) -> dict[str, str]:
    if model.__module__.partition(".")[0] not in ("ioatlas", "__main__"):
        return {}
    try:
        source = inspect.getsource(model)
    except OSError:  # made by a call, or of an installation without its sources
        return {}
    (made,) = ast.parse(textwrap.dedent(source)).body
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in itertools.pairwise(getattr(made, "body", ()))
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def _line_of(text: str, path: tuple[str | int, ...]) -> int:
    """Line (from 1) on which the key at `path` stands, as near as the text shows it; 0 when it does not."""
    names = [part for part in path if isinstance(part, str)]
    wanted = next((part for part in path if isinstance(part, int)), 0)
    table, seen, best = "", -1, 0
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?", line)
        if header and "=" not in line.split("]")[0]:
            table = header[1].strip("\"'")
            seen = seen + 1 if names and table == names[0] else seen
            if [table] == names and seen >= wanted:
                best = best or number
            continue
        key = re.match(r"\s*([A-Za-z0-9_\-\"'.]+)\s*=", line)
        if key is None:
            continue
        full = [*([table] if table else []), *(part.strip("\"'") for part in key[1].split("."))]
        if (
            full == names[: len(full)]
            and (len(full) == len(names) or len(full) > 1 or not table)
            and (not table or seen >= wanted or table != names[0])
        ):
            best = number
            if full == names:
                return number
    return best


def where_of(source: str, text: str, path: tuple[str | int, ...]) -> str:
    """File, line and key of the key at `path`, for messages."""
    line = _line_of(text, path) or _line_of(text, path[:-1])  # of a key that is missing: its table
    key = ".".join(str(part) for part in path if isinstance(part, str))
    return f"{source}:{line}, key {key!r}" if line else f"{source}, key {key!r}"


GONE = {
    "error": "`cells` says how many cells are measured, `precision` how well each of them is known",
    "verify": "leave it out; `fio --verify=crc32c --do_verify=1` reads back what it wrote",
    "bring_fio": "leave it out, and install the same version of fio on the clients",
    "work": "time a program itself; `ioatlas fit` says whether a target suits a use",
}
"""Keys of earlier versions."""


def located(error: ValidationError, model: type[BaseModel], source: str, text: str) -> UsageError:
    """The first fault of a validation as one message with line, key and remedy; the others are counted."""
    return fault_of(error.errors(), model, source, text)


def fault_of(details: Sequence[Mapping[str, Any]], model: type[BaseModel], source: str, text: str) -> UsageError:
    """As `located`, of the details of a validation's faults."""
    # Of the alternatives of a union, the fault that lies deepest belongs to the one that was meant.
    first = max(details, key=lambda detail: len(detail["loc"]))
    # An unknown key is the last part, whatever it is called.
    unknown = first["type"] == "extra_forbidden"
    path = tuple(
        part
        for place, part in enumerate(first["loc"], 1)
        if (unknown and place == len(first["loc"]))
        or not (
            isinstance(part, str)
            and (
                part.startswith(("list[", "function", "Target", "constrained"))
                or part in ("str", "int", "float", "bool")
            )
        )
    )
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    if first["type"] == "told":
        what, remedy = first["ctx"]["what"].replace("{key}", repr(key)), first["ctx"]["remedy"]
    elif unknown:
        known = list(_fields(model, path[:-1]))
        close = difflib.get_close_matches(key, known, n=1)
        remedy = GONE.get(key) or (f"did you mean {close[0]!r}?" if close else f"known keys are {', '.join(known)}")
        what = f"unknown key {key!r}"
    else:
        wanted = _wanted(first, path)
        what = (
            f"{key} = {_shown(first['input'])} is not {wanted}" if first["type"] != "missing" else f"{key!r} is missing"
        )
        remedy = f"write {wanted}" + _meaning(model, path)
    others = len({detail["loc"][0] for detail in details} - {first["loc"][0]})
    what += f" (and {others} more key{'s' if others > 1 else ''} with a fault)" if others else ""
    return UsageError(what, where=where_of(source, text, path), remedy=remedy)


_TYPES = {
    "int": "a whole number",
    "bool": "true or false",
    "string": "a text in quotes",
    "list": "a list",
    "dict": "a table",
    "model": "a table",
    "float": "a number",
    "finite": "a finite number",
}
_BOUNDS = {"ge": "of at least", "le": "of at most", "gt": "above", "lt": "below"}
_PATTERNS = {
    r"^\d{4}(-\d{2}){0,2}$": "a date: 2020-06-18, '2020-06' or '2020'",
    r"^[A-Z]{3}$": "the three letters of a currency, such as USD",
}


def _wanted(fault: Mapping[str, Any], path: tuple[str | int, ...]) -> str:
    """What the place of a fault takes, in words."""
    bounds = fault.get("ctx", {})
    if (path[0] == "sweep" and len(path) > 1) or (path[0] == "target" and len(path) == 1):
        return "a number, a text or a list of them" if path[0] == "sweep" else "a table: [target] with path = or uri ="
    if path[0] == "pattern":
        return "a number or a text" if len(path) > 1 else "a table: [[pattern]] with fio options"
    if fault["type"] in ("literal_error", "enum"):
        return f"one of {str(bounds['expected']).replace(' or ', ', ')}"
    if fault["type"] == "string_pattern_mismatch" and bounds["pattern"] in _PATTERNS:
        return _PATTERNS[bounds["pattern"]]
    if fault["type"] == "string_too_short":
        return "a non-empty text"
    if fault["type"] == "string_pattern_mismatch":
        return "a name of up to 64 letters, digits, blanks, dots, - _ and +, with a letter or digit first"
    if bound := next((name for name in _BOUNDS if name in bounds), ""):
        number = "a number" if isinstance(bounds[bound], float) else "a whole number"
        return f"{number} {_BOUNDS[bound]} {bounds[bound]:g}"
    return _TYPES.get(fault["type"].split("_")[0], "what belongs there")


def _meaning(model: type[BaseModel], path: tuple[str | int, ...]) -> str:
    """What the key at `path` is for, where the schema says so."""
    told = _fields(model, path[:-1]).get(str(path[-1]))
    return f". {told.rstrip('.')}" if told else ""


def _fields(model: type[BaseModel], path: tuple[str | int, ...]) -> dict[str, str]:
    """The keys of the table at `path` with what they are for, following lists and alternatives to the table they can
    hold.
    """
    named = False
    for part in path:
        if isinstance(part, int) or named:  # a place in a list, or a name of the user's own
            named = False
            continue
        field = next((one for name, one in model.model_fields.items() if part == (one.alias or name)), None)
        named = field is not None and get_origin(field.annotation) is dict
        inner = (
            next((each for each in _classes(field.annotation) if issubclass(each, BaseModel)), None)
            if field is not None
            else None
        )
        if inner is None:
            return {}
        model = inner
    return meanings(model)


def _classes(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type) and not get_args(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from _classes(part)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
