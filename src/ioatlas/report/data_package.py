# SPDX-License-Identifier: Apache-2.0
"""All rows of all campaigns as one table, and what its columns mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ioatlas.model.result import CampaignResult
from ioatlas.report.export import markup
from ioatlas.report.redact import redactor
from ioatlas.report.table import columns, rows

Kind = Literal["string", "integer", "number"]


@dataclass(frozen=True)
class Meaning:
    """text: in words, with Markdown. unit: SI, '' where it has none. kind: as Frictionless Table Schema names it."""

    text: str
    unit: str = ""
    kind: Kind = "string"


def _told(line: str) -> tuple[str, Meaning]:
    name, kind, unit, text = (part.strip() for part in line.split(" | ", 3))
    return name, Meaning(text, unit, kind)  # type: ignore[arg-type]


MEANINGS = dict(map(_told, Path(__file__).with_name("columns.txt").read_text(encoding="utf-8").splitlines()))
"""By column. Columns of other options that differ between cells are in fio's names."""


NAME = "name of the campaign"

Value = str | int | float | None


def table(results: Sequence[CampaignResult]) -> tuple[tuple[str, ...], list[dict[str, Value]]]:
    """(columns, rows); a column that one campaign lacks is None there. The first column names the campaign."""
    names = list(dict.fromkeys(name for result in results for name in columns(result)))
    found = []
    for result in results:
        clean = redactor(result.targets)
        for row in rows(result):
            values = {name: _plain(row.get(name)) for name in names}
            found.append({"campaign": clean(result.name), **values})
    return ("campaign", *names), found


def _plain(value: object) -> Value:
    if isinstance(value, (tuple, list)):
        return "; ".join(map(str, value))
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def meaning(name: str, found: Sequence[Mapping[str, Value]]) -> Meaning:
    """What a column means. Of an option that is not in the dictionary the type is that of its values."""
    if name == "campaign":
        return Meaning(NAME)
    if name in MEANINGS:
        return MEANINGS[name]
    values = [row[name] for row in found if row[name] is not None]
    kinds = {type(value) for value in values}
    kind = "integer" if kinds == {int} else "number" if kinds and kinds <= {int, float} else "string"
    return Meaning(f"fio's `{name}`", "", kind)  # type: ignore[arg-type]


def csv_text(names: Sequence[str], found: Sequence[Mapping[str, Value]]) -> str:
    return markup.csv_text(names, ([row[name] for name in names] for row in found))
