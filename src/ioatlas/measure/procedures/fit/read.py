# SPDX-License-Identifier: Apache-2.0
"""Uses as files: those beside this module, and a user's own by their path. Their parameters stand behind the name."""

from __future__ import annotations

import ast
import difflib
import functools
import operator
import re
import tomllib
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from ioatlas.load.machine.typed_in import quantity
from ioatlas.measure.procedures.fit.use import KEPT_SHARE, Load, Quantity, Requirement, Source, Use
from ioatlas.model.cell import Cell, OptionValue, directions_of
from ioatlas.model.errors import UsageError
from ioatlas.model.options import read_option
from ioatlas.model.units import parse_duration_seconds, parse_size_bytes
from ioatlas.stats.gates import rates_of
from ioatlas.store import toml

ENDING = ".toml"
FILLERS = frozenset({"in", "every", "of", "at"})
"""Words between parameters that say nothing: `backup:2TB in 8h`."""
TOP = frozenset({"title", "note", "window", "parameters", "case", "load", "require", "sources"})
_LATENCY = re.compile(r"(read|write|flush)_(mean|p(\d{1,2}(?:\.\d+)?))")
_SHARE = re.compile(r"(\d+(?:\.\d+)?)%")
_HOLE = re.compile(r"\{([^{}]*)\}")
_OPERATORS: Mapping[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"min": min, "max": max, "round": round}
Values = Mapping[str, Any]


@functools.cache
def ready() -> dict[str, dict[str, Any]]:
    """The uses that come with this program, as their files say them, by name."""
    places = sorted((files(__package__) / "uses").iterdir(), key=lambda place: place.name)
    found = {one.name.removesuffix(ENDING): tomllib.loads(one.read_text("utf-8")) for one in places}
    return {name: data for name, data in found.items() if not name.startswith("_")}


def example() -> str:
    """A use with a comment on each key, to begin one's own with."""
    return (files(__package__) / "uses" / f"_example{ENDING}").read_text("utf-8")


def read_uses(text: str, where: str = "--for") -> tuple[Use, ...]:
    """Uses with commas between them. Raises UsageError."""
    asked = [part.strip() for part in text.split(",") if part.strip()]
    found = tuple(_read(one, where) for one in asked)
    if not found or len({one.name for one in found}) < len(found):
        raise UsageError(
            "no use is named" if not found else "a use is named twice",
            where=where,
            remedy="name what the target is for: `ioatlas fit --list` shows the uses",
        )
    return found


def in_full(text: str) -> str:
    """Uses with the full paths of their files, for another day's working directory."""
    parts = [part.strip() for part in text.split(",")]
    return ",".join(str(Path(one).absolute()) if one.partition(":")[0].endswith(ENDING) else one for one in parts)


LADDER = range(1, 513)
"""Numbers that may be tried to find how many a target carries."""


def read_ladder(text: str, where: str = "--for") -> tuple[Use, ...]:
    """A use with every number of the ladder as its first parameter. Raises UsageError for one that counts nothing."""
    head, _, words = text.strip().partition(":")
    data = _data(head, where)
    name = next((key for key, one in data.get("parameters", {}).items() if one.get("kind", "count") == "count"), "")
    if not name or "," in text or any(word.startswith(f"{name}=") for word in words.split()):
        raise UsageError(
            "how many it carries is asked of one use that counts something, without the number",
            where=where,
            remedy="write for example --for vm-host --max",
        )
    return tuple(_read(f"{head}:{words} {name}={count}".replace(": ", ":"), where) for count in LADDER)


def _read(text: str, where: str) -> Use:
    """One use, such as `etcd`, `vm-host:20`, `backup:2TB in 8h` or `mine.toml:users=5`."""
    head, colon, words = text.partition(":")
    data = _data(head, where)
    try:
        name = Path(head).stem if head.endswith(ENDING) else head  # a path is no name, and nobody else's business
        return _made(f"{name}{colon}{words}", data, _values(data, words.split(), text))
    except UsageError as error:
        error.where = error.where if error.where.startswith(head) else f"{head}: {error.where}"
        raise
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        why = f"there is no {error}" if isinstance(error, KeyError) else error
        raise UsageError(f"it is no use: {why}", where=head, remedy="compare it with `ioatlas fit --new`") from error


def _data(head: str, where: str) -> dict[str, Any]:
    """What the file of a use says."""
    if head.endswith(ENDING):
        return toml.read(Path(head), "the use", remedy="`ioatlas fit --new` writes one")
    if head not in ready():
        close = difflib.get_close_matches(head, ready(), n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(f"there is no use {head!r}", where=where, remedy=f"{hint}`ioatlas fit --list` shows them")
    return ready()[head]


# -- parameters ----------------------------------------------------------------------------------------------


def _values(data: Values, words: list[str], where: str) -> dict[str, Any]:
    """What the parameters come to, with the numbers of the case that they make."""
    declared: Mapping[str, Values] = data.get("parameters", {})
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            if word in FILLERS:
                continue
            name, value = next((one for one in declared if one not in given), ""), word
        if name not in declared or name in given:
            known = ", ".join(declared) or "none"
            raise UsageError(f"{word!r} is no parameter of it", where=where, remedy=f"its parameters are: {known}")
        given[name] = value
    values = {name: _value(one, given.get(name, one["default"]), f"{where}: {name}") for name, one in declared.items()}
    for case in data.get("case", ()):
        if all(values.get(name) == value for name, value in case["when"].items()):
            return {**values, **{name: value for name, value in case.items() if name != "when"}}
    if data.get("case"):
        told = ", ".join(" ".join(map(str, case["when"].values())) for case in data["case"])
        raise UsageError("nothing is known of this one", where=where, remedy=f"there are: {told}")
    return values


def _value(declared: Values, text: Any, where: str) -> Any:
    kind = declared.get("kind", "count")
    if kind in ("size", "time"):
        amount = _Amount((parse_size_bytes if kind == "size" else parse_duration_seconds)(text, where=where))
        amount.words = str(text)
        return amount
    if kind == "word":
        return str(text)
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise UsageError(f"{text!r} is no number", where=where, remedy=f"it is: {declared['help']}")
    return int(value) if value.is_integer() else value


def _filled(value: Any, values: Values) -> Any:
    """A value of the file with its parameters in it: '{12 * n}' is a number, '{frames / fps}s' a text."""
    if not isinstance(value, str):
        return value
    if (whole := _HOLE.fullmatch(value)) is not None:
        return _number(ast.parse(whole[1].strip(), mode="eval").body, values)
    return _HOLE.sub(lambda hole: _told(_number(ast.parse(hole[1].strip(), mode="eval").body, values)), value)


class _Amount(float):
    """Bytes or seconds, told in the words in which they were given."""

    words = ""


def _told(value: Any) -> str:
    return getattr(value, "words", "") or (f"{value:.12g}" if isinstance(value, float) else str(value))


def _number(node: ast.expr, values: Values) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name) and node.id in values:
        return values[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_number(node.left, values), _number(node.right, values))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        return _FUNCTIONS[node.func.id](*(_number(one, values) for one in node.args))
    raise ValueError(f"{ast.unparse(node)!r} is no parameter, number, sum, min, max or round")


# -- a file --------------------------------------------------------------------------------------------------


def _made(name: str, data: Values, values: Values) -> Use:
    unknown = data.keys() - TOP
    if unknown:
        raise UsageError(f"{min(unknown)!r} is no key", where=name, remedy=f"there are {', '.join(sorted(TOP))}")
    phases: dict[str, list[Load]] = {}
    sources = {key: Source(**{k: str(v) for k, v in one.items()}) for key, one in data.get("sources", {}).items()}
    for table in data["load"]:
        filled = {key: _filled(value, values) for key, value in table.items()}
        phases.setdefault(str(filled.pop("phase", "")), []).append(_load(filled, sources))
    loads = {load.name: load for several in phases.values() for load in several}
    requires = [
        _requirement({key: _filled(value, values) for key, value in table.items()}, loads, sources)
        for table in data.get("require", ())
    ]
    lost = next((one.load for one in requires if one.load not in loads), None)
    if lost is not None:
        raise UsageError(f"there is no load {lost!r}", where="require", remedy=f"loads are {', '.join(loads)}")
    kept = [_kept(load, requires) for load in loads.values() if _asked(load)]
    if not (requires or kept):
        raise UsageError("it requires nothing", where="require", remedy="see `ioatlas fit --new`")
    return Use(
        name,
        str(_filled(data["title"], values)),
        tuple(tuple(one) for one in phases.values()),
        (*requires, *kept),
        parse_duration_seconds(_filled(data.get("window", 0.0), values), where="window"),
        str(_filled(data.get("note", ""), values)),
    )


def _load(table: dict[str, Any], sources: Mapping[str, Source]) -> Load:
    name = str(table.pop("name", "load"))
    source = sources[table.pop("source")] if "source" in table else Source()
    options: dict[str, OptionValue] = {}
    for key, value in table.items():
        whole = int(value) if isinstance(value, float) else value
        option, normal = read_option(key, whole, where=f"load {name}, {key}")
        options[option] = normal
    size = int(options.pop("size", 1 << 30))
    return Load(name, options, size, source)


def _requirement(table: dict[str, Any], loads: Mapping[str, Load], sources: Mapping[str, Source]) -> Requirement:
    first = next(iter(loads))
    load, change = str(table.pop("of", first)), str(table.pop("change", ""))
    source = sources[table.pop("source")] if "source" in table else Source()
    moved = parse_size_bytes(table.pop("bytes", 0), where="bytes")
    deadline = table.pop("deadline", None)
    if len(table) != 1:
        raise UsageError(
            f"one of them says {', '.join(table) or 'nothing'}", where="require", remedy="write a [[require]] for each"
        )
    ((key, value),) = table.items()
    if key == "misses":
        share = _SHARE.fullmatch(str(value))
        if share is None or deadline is None or not 0 < float(share[1]) < 100:
            raise UsageError("that is no share", where=key, remedy='write misses = "1%", deadline = "40ms"')
        of, late = loads.get(load, loads[first]), parse_duration_seconds(deadline, where="deadline")
        way = Quantity(directions_of(str(of.options.get("rw", "read")))[0])
        return Requirement(load, way, 1e9 * late, 100 - float(share[1]), source, change, bytes=moved, misses=True)
    latency = _LATENCY.fullmatch(key)
    if latency is not None:
        seconds = parse_duration_seconds(value, where=key)
        percentile = float(latency[3]) if latency[3] else None
        if seconds <= 0 or percentile == 0:
            raise UsageError("that is no limit", where=key, remedy="write for example flush_p99 = '10ms'")
        return Requirement(load, Quantity(latency[1]), seconds * 1e9, percentile, source, change, bytes=moved)
    if key not in ("rate", "iops"):
        raise UsageError(f"{key!r} is no requirement", where="require", remedy="such as rate, iops, flush_p99")
    known = quantity(value) if isinstance(value, str) else (value, "")
    if known is None or known[1] not in ("", "B/s" if key == "rate" else "1/s") or known[0] <= 0:
        raise UsageError(f"{value!r} is no rate", where=key, remedy="write 250MB/s, or a number")
    return Requirement(load, Quantity(key), float(known[0]), None, source, change, bytes=moved)


def _asked(load: Load) -> float:
    """I/Os a second that a load asks for in all directions; 0 where it runs freely."""
    cell = Cell.of("", load.options)
    rates = rates_of(cell)
    return sum(rates.get(direction, 0.0) for direction in cell.directions)


def _kept(load: Load, requires: list[Requirement]) -> Requirement:
    """A load with a rate has to be carried."""
    change = next((one.change for one in requires if one.load == load.name and one.change), "")
    return Requirement(load.name, Quantity.KEPT, KEPT_SHARE, None, load.source, change, _asked(load))
