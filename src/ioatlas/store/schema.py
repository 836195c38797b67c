# SPDX-License-Identifier: Apache-2.0
"""Tables of the journal, one SQLite file in the campaign's directory: what `schema.sql` defines.

Format history (the file's `PRAGMA user_version`):
  1  first version.
  2  the plan may hold configurations, which are set up before they are measured; records of one of them have its name
     behind an @.
  3  visits may be made by several clients; their shares stand in the table client_part, which other journals lack.
  4  visits may load several targets together; their shares stand in the table target_part, which other journals lack.
  5  configurations may be set up several times; replicates of the second time count from 100,000, and so on.
  6  writes may wait for flushes, whose times stand in the table flush_part, which other journals lack.
A new journal has the newest format. Before version 0.4 it had the first one that its plan needed.
"""

from __future__ import annotations

import pkgutil
import re
from dataclasses import dataclass

from ioatlas.model.errors import IoAtlasError

VERSION = 6
FIRST_VERSION = 1
SINCE = {"client_part": 3, "target_part": 4, "flush_part": 6}
"""Formats since which tables are there; the others have always been."""


_TABLE = re.compile(r"CREATE TABLE (\w+) \(\n(.*?)\n    PRIMARY KEY \((.*?)\).*?\);\n", re.DOTALL)
_COLUMN = re.compile(r"^    (\w+) (\w+)( NOT NULL)?,(?:  -- (.*))?$", re.MULTILINE)
_COMMENT = re.compile(r"  -- .*")


@dataclass(frozen=True)
class Column:
    """kind: TEXT, INTEGER, FLOAT or BLOB."""

    name: str
    kind: str
    needed: bool
    comment: str


@dataclass(frozen=True)
class Table:
    """made: the statement that makes it. keys: the columns of its primary key."""

    name: str
    made: str
    columns: tuple[Column, ...]
    keys: tuple[str, ...]

    def listed(self, *left_out: str) -> str:
        """Its columns but these as a statement names them, in the order of theirs here."""
        return ", ".join(one.name for one in self.columns if one.name not in left_out)


def _table(found: re.Match[str]) -> Table:
    name, columns, keys = found.groups()
    known = [Column(name, kind, bool(needed), comment) for name, kind, needed, comment in _COLUMN.findall(columns)]
    made = _COMMENT.sub("", found[0]).replace("TABLE", "TABLE IF NOT EXISTS", 1)
    return Table(name, made, tuple(known), tuple(keys.split(", ")))


_TEXT = (pkgutil.get_data(__package__, "schema.sql") or b"").decode()
TABLES = {table.name: table for table in map(_table, _TABLE.finditer(_TEXT))}
"""All tables of the newest format, each behind those it refers to."""


def tables_of(version: int) -> dict[str, Table]:
    """All tables of a journal of a format."""
    return {name: table for name, table in TABLES.items() if version >= SINCE.get(name, version)}


def check_version(version: int, where: str) -> None:
    """Raises IoAtlasError for a journal of a format that this version does not know."""
    if not FIRST_VERSION <= version <= VERSION:
        raise IoAtlasError(
            f"the journal has format {version}, this ioatlas reads up to {VERSION}",
            where=where,
            remedy="use a newer ioatlas",
        )
