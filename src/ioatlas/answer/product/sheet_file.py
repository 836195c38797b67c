# SPDX-License-Identifier: Apache-2.0
"""Product sheets: TOML in, a checked sheet out, and a new one to fill in. Faults name file, line, key and remedy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from pydantic import ValidationError

from ioatlas.answer.product.sheet import FORMAT, Sheet
from ioatlas.model.errors import UsageError
from ioatlas.model.result import SHEET
from ioatlas.plan.faults import fault_of
from ioatlas.store import toml

FILE_NAME = SHEET
"""The sheet's copy in a campaign's directory."""


def read_sheet_file(path: Path) -> Sheet:
    """The sheet in a file. Raises UsageError."""
    return read_sheet(text_of(path), str(path))


def text_of(path: Path) -> str:
    """The text of a sheet's file. Raises UsageError."""
    remedy = "name a readable product.toml; `ioatlas product new FILE.toml` writes one"
    return toml.text_of(path, "the product sheet", remedy)


def read_sheet(text: str, source: str = "product.toml") -> Sheet:
    """The sheet in a text; `source` is its name in messages. Raises UsageError."""
    table = toml.parsed(text, source)
    newest = table.get("format")
    if isinstance(newest, int) and not isinstance(newest, bool) and newest > FORMAT:
        raise UsageError(f"its format is {newest}, ioatlas reads up to {FORMAT}", where=source, remedy="update ioatlas")
    given = table.get("source")
    try:
        return Sheet.model_validate(table, context={**(given if isinstance(given, dict) else {}), "place": source})
    except ValidationError as error:
        raise _fault(error, table, text, source) from error


class SheetError(UsageError):
    """A sheet with faults: the one that is told, and each for itself."""

    def __init__(self, told: UsageError, faults: Sequence[UsageError]) -> None:
        super().__init__(told.what, where=told.where, remedy=told.remedy)
        self.faults = tuple(faults)


def _fault(error: ValidationError, table: Mapping[str, Any], text: str, source: str) -> SheetError:
    """Of a plain fact the key itself is at fault, not the `value` that nobody wrote."""
    details: list[dict[str, Any]] = []
    for each in error.errors():
        loc = tuple(part for part in each["loc"] if not (isinstance(part, str) and "[" in part))
        if each["loc"][0] in ("product", "facts") and "value" in loc and each["type"] != "missing":
            place = loc.index("value")
            plain = not _is_table(table, loc[:place])
            loc = loc[:place] if plain else loc[: place + 1]
        details.append({**each, "loc": loc})
    # An unknown key explains the one that is missing.
    unknown = [each for each in details if each["type"] == "extra_forbidden"]
    tables = {each["loc"][:-1] for each in unknown}
    groups: dict[tuple[str | int, ...], list[dict[str, Any]]] = {}
    for one in details:
        if one["type"] != "missing" or one["loc"][:-1] not in tables:
            loc = one["loc"]
            # The alternatives of one key are one fault.
            groups.setdefault(loc[: 3 if len(loc) > 1 and isinstance(loc[1], int) else 2], []).append(one)
    faults = [fault_of(group, Sheet, source, text) for group in groups.values()]
    return SheetError(fault_of(unknown or details, Sheet, source, text), faults)


def _is_table(table: Mapping[str, Any], path: Sequence[str | int]) -> bool:
    at: Any = table
    for part in path:
        at = at[part]
    return isinstance(at, dict)


TEMPLATE = Path(__file__).with_name("template.toml")
NEEDS = {"[[drives]]": ("drives", "capacity"), "[layout]": ("layout",), "[[price]]": ("price",)}
"""Tables that are a comment unless these are given."""
USUAL = {
    "vendor": "Vendor",
    "model": "Model",
    "source": "typed in",
    "drives": 8,
    "capacity": "8 TB",
    "layout": "raid6",
    "price": 1000,
    "currency": "USD",
}


def new_sheet(name: str, given: Mapping[str, str | int | float | None], today: str) -> str:
    """The text of a new sheet. given: what `USUAL` has a word for, by its names."""
    values = {key: json.dumps(given.get(key) or usual, ensure_ascii=False) for key, usual in USUAL.items()}
    tables = TEMPLATE.read_text(encoding="utf-8").split("\n\n")
    for place, table in enumerate(tables):
        if any(given.get(key) is None for key in NEEDS.get(table.partition("\n")[0], ())):
            tables[place] = "\n".join(line if line.startswith("#") else f"# {line}" for line in table.splitlines())
    return Template("\n\n".join(tables)).substitute(values, name=name, date=today)
