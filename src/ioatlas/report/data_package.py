# SPDX-License-Identifier: Apache-2.0
"""All rows of all campaigns as one table, and what its columns mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ioatlas.model.result import CampaignResult
from ioatlas.report.dictionary import MEANINGS, Meaning
from ioatlas.report.export import markup
from ioatlas.report.redact import redactor
from ioatlas.report.table import columns, rows

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
