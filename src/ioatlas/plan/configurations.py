# SPDX-License-Identifier: Apache-2.0
"""The `[[configuration]]` tables of a campaign file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ioatlas.model.errors import UsageError
from ioatlas.model.factors import FACTOR_NAME, Configuration, Factor, FactorValue, factor_names
from ioatlas.plan.options import Where, plain

LONGEST_VALUE, LONGEST_COMMAND, MOST_FACTORS = 200, 4096, 40
CONFIRMATIONS = ("destroy", "overwrite")


def read_configurations(
    tables: Sequence[Mapping[str, Any]], where: Where, folder: Path | None = None
) -> tuple[Configuration, ...]:
    """What the tables say. folder: where the paths in them lead from. Raises UsageError."""
    found: list[Configuration] = []
    for index, table in enumerate(tables):

        def at(*path: str, index: int = index) -> str:
            return where("configuration", index, *path)

        one = _read(table, at, folder)
        if one.name in {other.name for other in found}:
            raise UsageError(
                f"two configurations are called {one.name!r}", where=at("name"), remedy="give each a name of its own"
            )
        found.append(one)
    check_configurations(found, where)
    return tuple(found)


def read_confirmations(tables: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """What was typed for a configuration, by its name: {'destroy': ..., 'overwrite': ...}. It is not kept."""
    named: dict[str, Mapping[str, Any]] = {table["name"]: table for table in tables}
    for table in tables:
        members = table.get("target", [])
        named |= {
            _member_name(table, one, number): one
            for number, one in enumerate(members if isinstance(members, list) else [members], 1)
        }
    return {
        name: {kind: str(table[kind]) for kind in CONFIRMATIONS if kind in table}
        for name, table in named.items()
        if any(kind in table for kind in CONFIRMATIONS)
    }


def _read(table: Mapping[str, Any], at: Where, folder: Path | None) -> Configuration:
    places = [table[key] for key in ("path", "uri") if key in table]
    several = _members(table, at) if "target" in table else ()
    if len(places) + bool(several) != 1:
        raise UsageError(
            "a configuration needs `path` or `uri`, one of them, or `target` tables that are loaded together",
            where=at("name"),
            remedy="write path = or uri =",
        )
    base = (folder or Path()).absolute()
    product = table.get("product", "")
    return Configuration(
        table["name"],
        "" if several else places[0],
        read_factors(table.get("factors", {}), lambda *path: at("factors", *path)),
        str(base / product) if product else "",
        table.get("before", ""),
        table.get("after", ""),
        table.get("ask", ""),
        table.get("folder", "") or (str(base) if "before" in table or "after" in table else ""),
        several,
    )


def _members(table: Mapping[str, Any], at: Where) -> tuple[tuple[str, str], ...]:
    """(name, location) of targets that are loaded together: by their own names, or numbered."""
    if set_up := [key for key in ("before", "after", "ask") if key in table]:
        raise UsageError(
            f"it has several targets and `{set_up[0]}`: what is set up first has one target",
            where=at(set_up[0]),
            remedy="leave one of them out",
        )
    tables = table["target"] if isinstance(table["target"], list) else [table["target"]]
    found = []
    for number, one in enumerate(tables, 1):
        found.append((_member_name(table, one, number), read_place(one, at("target"))))
    return tuple(found)


def read_place(table: Mapping[str, Any], where: str) -> str:
    """The `path` or `uri` of a target's table. Raises UsageError where it names none, or both."""
    places = [table[key] for key in ("path", "uri") if key in table]
    if len(places) != 1:
        raise UsageError("a target needs `path` or `uri`, one of them", where=where, remedy="write path = or uri =")
    return str(places[0])


def write_place(location: str) -> dict[str, str]:
    """As a target's table says it."""
    return {"uri" if "://" in location else "path": location}


def _member_name(table: Mapping[str, Any], member: Mapping[str, Any], number: int) -> str:
    return str(member.get("name") or f"{table['name']} {number}")


def read_factors(table: Mapping[str, Any], at: Where) -> dict[str, Factor]:
    """Factors as a file says them. Raises UsageError."""
    return {name: _factor(name, value, at) for name, value in table.items()}


def write_factors(factors: Mapping[str, Factor]) -> dict[str, Any]:
    """Factors as a file says them."""
    return {
        name: {"value": plain(factor.value), "unit": factor.unit} if factor.unit else plain(factor.value)
        for name, factor in factors.items()
    }


def _factor(name: str, given: Any, at: Where) -> Factor:
    unit = ""
    if isinstance(given, Mapping):
        given, unit = given["value"], given.get("unit", "")
    value: FactorValue = str(given).lower() if isinstance(given, bool) else given
    if not FACTOR_NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a factor", where=at(name), remedy="up to 40 letters, digits, - and _, a letter first"
        )
    return Factor(value, unit)


def check_configurations(found: Sequence[Configuration], where: Where) -> None:
    """Raises UsageError for what no campaign file can say; also of what a journal keeps."""
    for index, one in enumerate(found):
        texts = (one.before, one.after, one.ask, one.folder, one.product)
        values = [(factor.value, factor.unit) for factor in one.factors.values()]
        if (
            len(one.factors) > MOST_FACTORS
            or any(len(text) > LONGEST_COMMAND for text in texts)
            or any(len(str(value)) > LONGEST_VALUE or len(unit) > LONGEST_VALUE for value, unit in values)
            or not all(FACTOR_NAME.fullmatch(name) for name in one.factors)
        ):
            raise UsageError(
                f"it has more than {MOST_FACTORS} factors, or one that is too long",
                where=where("configuration", index, "factors"),
                remedy="say it shorter",
            )
    names = [name for one in found for name, _ in (*one.members, (one.name, ""))]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(
            f"two configurations or targets are called {twice!r}",
            where=where("configuration", 0, "name"),
            remedy="give each a name of its own",
        )
    for name in factor_names(found):
        units = dict.fromkeys(one.factors[name].unit for one in found if name in one.factors)
        if len(units) > 1:
            raise UsageError(
                f"the factor {name!r} has several units: {', '.join(repr(unit) for unit in units)}",
                where=where("configuration", 0, "factors", name),
                remedy="use one unit for a factor",
            )


def write_configuration(one: Configuration) -> dict[str, Any]:
    """A configuration as a campaign file says it, without what was typed to confirm it."""
    entry: dict[str, Any] = {"name": one.name}
    if one.members:
        entry["target"] = [{"name": name} | write_place(location) for name, location in one.members]
    else:
        entry |= write_place(one.location)
    entry |= {key: value for key in ("product", "before", "after", "ask", "folder") if (value := getattr(one, key))}
    factors = write_factors(one.factors)
    return entry | ({"factors": factors} if factors else {})
