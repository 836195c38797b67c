# SPDX-License-Identifier: Apache-2.0
"""A new product.toml: what was given, and every other table as a comment to fill in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from string import Template

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
