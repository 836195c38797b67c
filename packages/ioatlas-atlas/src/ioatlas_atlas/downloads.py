# SPDX-License-Identifier: Apache-2.0
"""A result's rows as files: CSV and Parquet, made from the export that admission kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from ioatlas.model.errors import IoAtlasError
from ioatlas.report.export import to_parquet
from ioatlas.report.table import Value, csv_text, meaning, plain

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With what a cell begins that spreadsheets compute."""


def table(document: Mapping[str, Any]) -> tuple[tuple[str, ...], list[dict[str, Value]]]:
    """(columns, rows) of an export; lists become text."""
    rows = document.get("rows", [])
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    found = [{name: plain(row.get(name)) for name in names} for row in rows]
    return names, found


def as_csv(document: Mapping[str, Any]) -> str:
    """A stranger's text that a spreadsheet would compute has a mark before it, which makes it text."""
    names, rows = table(document)
    return csv_text(names, [{name: _no_formula(value) for name, value in row.items()} for row in rows])


def _no_formula(value: Value) -> Value:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def as_parquet(document: Mapping[str, Any]) -> bytes:
    """Raises IoAtlasError where pyarrow is not installed (the extra `parquet`)."""
    if not to_parquet.can():
        raise IoAtlasError("Parquet is not installed here", remedy="take CSV or JSON")
    names, rows = table(document)
    return to_parquet.parquet({name: meaning(name, rows) for name in names}, rows)


def as_json(document: Mapping[str, Any]) -> bytes:
    """As the export is."""
    return orjson.dumps(document)
