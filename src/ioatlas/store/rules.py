# SPDX-License-Identifier: Apache-2.0
"""What every table and column of a journal may hold, and the check of a whole journal before anything is read from it.

SQLite itself checks no type, and a file that claims to be a database may be made to never end. So the file's form comes
first, then the number of rows, then types, bounds and references, each by one statement that stops at the first fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ioatlas.model.cell import TARGETS
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.units import words
from ioatlas.model.verdict import ASIDE
from ioatlas.model.visit import BatchStatus, Purpose, RemarkKind, VisitStatus
from ioatlas.store import confined
from ioatlas.store.schema import Column, Table
from ioatlas.store.stored import LARGEST, REMEDY, STATES, Row, short
from ioatlas.store.toml import shipped

LARGEST_FILE = 64 << 30
SMALLEST_ROW = 8
"""Bytes that a row takes in the file, at the least."""
MOST_ROWS = {
    "campaign": 1,
    "target": 256,
    "session": 100_000,
    "outcome": 10_000,
    "remark": 20_000,
    "batch": 1_000_000,
    "cell": 2_000_000,
    "prediction": 2_000_000,
    "file_made": 1_000_000,
    "ledger": 200_000,
    "visit": 10_000_000,
    "part": 40_000_000,
    "client_part": 400_000_000,
    "target_part": 400_000_000,
    "flush_part": 40_000_000,
}
LONGEST_TEXT, LONGEST_SENTENCE, LONGEST_JSON = 1024, 1 << 16, 16 << 20
LONGEST_RUNTIME_MS = 8 * 86_400_000
MOST_VISITS_OF_A_CELL = 100_000
LATEST = 4e9
"""Seconds since the epoch: in the year 2096."""
_STATEMENT = re.compile(r"[A-Za-z_]\w*")
_UNKNOWN_TO_US = frozenset(words("as check collate default generated on trigger using view virtual without"))


@dataclass(frozen=True)
class Whole:
    """A whole number within bounds."""

    low: int = 0
    high: int = LARGEST

    def wrong(self, column: str) -> str:
        """The condition under which a value that is not NULL is wrong, in SQL."""
        return f"typeof({column}) != 'integer' OR {column} NOT BETWEEN {self.low} AND {self.high}"


@dataclass(frozen=True)
class Number:
    """A finite number within bounds."""

    low: float = -1e18
    high: float = 1e18

    def wrong(self, column: str) -> str:
        return f"typeof({column}) NOT IN ('real', 'integer') OR {column} NOT BETWEEN {self.low!r} AND {self.high!r}"


@dataclass(frozen=True)
class Words:
    """One of some words."""

    words: tuple[str, ...]

    def wrong(self, column: str) -> str:
        return f"{column} NOT IN ({', '.join(repr(str(word)) for word in self.words)})"


@dataclass(frozen=True)
class Length:
    """A text, or bytes, of a length; a text has no control characters."""

    longest: int
    shortest: int = 0
    kind: str = "text"

    def wrong(self, column: str) -> str:
        size = f"length(CAST({column} AS BLOB))" if self.kind == "text" else f"length({column})"
        control = f" OR {column} GLOB {_CONTROL_GLOB} OR instr({column}, char(0))" if self.kind == "text" else ""
        return f"typeof({column}) != '{self.kind}' OR {size} NOT BETWEEN {self.shortest} AND {self.longest}{control}"


_CONTROL_GLOB = "'*[' || char(1) || '-' || char(8) || char(11) || '-' || char(31) || char(127) || ']*'"
Rule = Whole | Number | Words | Length
_FLAG, _SENTENCE, _JSON, _TIME = Whole(0, 1), Length(LONGEST_SENTENCE), Length(LONGEST_JSON), Number(0.0, LATEST)
_COUNT, _FLOAT = Whole(), Number()
_POSITIVE = Number(0.0)
_BLOB = Length(4 << 20, kind="blob")
RULES: dict[str, Rule] = {
    **dict.fromkeys(words("started_at ended_at created_at removed_at at"), _TIME),
    **dict.fromkeys(words("complete alone"), _FLAG),
    **dict.fromkeys(words("reason verdict note text"), _SENTENCE),
    **dict.fromkeys(words("lat_mean_ns lat_p99_ns bw_bytes_per_s mean_ns write_mean_ns"), _POSITIVE),
    **dict.fromkeys(words("histogram write_histogram series"), _BLOB),
    **dict.fromkeys(words("path location"), Length(4096, 1)),
    **dict.fromkeys(words("runtime_ms clock_error_ms"), Number(0.0, 1e12)),
    **dict.fromkeys(words("seconds load_seconds"), Number(0.0, 1e9)),
    **dict.fromkeys(words("position seed"), Whole(0, 2**32)),
    **dict.fromkeys(words("window_start_ms visit.runtime_ms"), Whole(0, LONGEST_RUNTIME_MS)),
    **dict.fromkeys(words("campaign_id cell.cell_key"), Length(64, 1)),
    **dict.fromkeys(words("target.name target_part.target"), Length(255, 1)),
    **dict.fromkeys(words("lat_kind directory"), Length(64)),
    "client": Length(63, 1),
    "stream": Length(255),
    "outcome.name": Length(300, 1),
    "direction": Words(("read", "write", "trim")),
    "sharing": Words(("shared", "private")),
    "state": Words(tuple(sorted(STATES))),
    "purpose": Words((*Purpose, "baseline")),
    "target.kind": Words(("directory", "file", "block", "uri")),
    "remark.kind": Words(tuple(RemarkKind)),
    "visit.status": Words(tuple(VisitStatus)),
    "batch.status": Words(tuple(BatchStatus)),
    "batch.batch_id": Whole(1, 10**9),
    "block": Whole(-2, 10_000_000),
    "section": Whole(0, 1_000_000),
    "pid": Whole(0, 2**31 - 1),
    "exit_code": Whole(-4096, 4096),
    "cpu_percent": Number(0.0, 1e7),
    "prediction.lat_p99_ns": _FLOAT,
}
"""Rules of columns, of one table where it is named, that are not the usual one of their type."""


_USUAL: dict[str, Rule] = {"INTEGER": _COUNT, "FLOAT": _FLOAT, "TEXT": Length(LONGEST_TEXT)}


def rule_of(table: Table, column: Column) -> Rule:
    """What a column may hold, where it is not empty."""
    known = RULES.get(f"{table.name}.{column.name}") or RULES.get(column.name)
    return known or (_JSON if column.name.endswith("_json") else _USUAL[column.kind])


_MEASURED = ", ".join(f"'{reason}'" for reason in ("", *sorted(ASIDE)))
_MADE = "status IN ('done', 'discarded')"
_NAMES = {"targets": TARGETS, "made": _MADE, "measured": _MEASURED, "most": MOST_VISITS_OF_A_CELL}
REFERENCES: tuple[tuple[str, str, str], ...] = tuple(
    (table, condition.format(**_NAMES), what)
    for table, condition, what in shipped("ioatlas.store", "references.toml")["references"]
)
"""(table, condition of a row that is wrong, what is wrong)."""


# -- the file ------------------------------------------------------------------------------------------------


def check_file(path: Path) -> None:
    """Before SQLite opens a file: it and what SQLite keeps beside it are ordinary files, and none sends it elsewhere.

    Raises RefusedError or IoAtlasError. A rollback journal that names another file would have SQLite delete that one.
    """
    confined.is_ordinary(path, most_bytes=LARGEST_FILE)
    for ending in ("-wal", "-shm"):
        if confined.is_ordinary(path.with_name(path.name + ending)):
            raise _refused(path, f"beside it lies {path.name}{ending}, which ioatlas never makes")
    rollback = path.with_name(f"{path.name}-journal")
    if confined.is_ordinary(rollback, most_bytes=LARGEST_FILE):
        with rollback.open("rb") as file:
            file.seek(max(0, rollback.stat().st_size - 8))
            if file.read(8) == bytes.fromhex("d9d505f920a163d7"):
                raise _refused(rollback, "it names another file, which would be deleted")
    with path.open("rb") as file:
        head = file.read(20)
    if head[:16] == b"SQLite format 3\0" and head[18:20] != b"\x01\x01":
        raise _refused(path, "its format has a log beside it, which ioatlas never makes")


def _refused(path: Path, what: str) -> IoAtlasError:
    return IoAtlasError(what, where=str(path), remedy=REMEDY)


OBJECTS = "SELECT type, name, sql FROM sqlite_master LIMIT 1000"


def check_objects(rows: Iterable[Sequence[Any]], file: Path, tables: Collection[str]) -> None:
    """Raises IoAtlasError for a view, a trigger, a rule or a table of another kind: they would run when rows are read
    or written.

    rows: of `OBJECTS`. tables: those of the format that have plain columns only.
    """
    for kind, name, sql in rows:
        row = Row(file, "sqlite_master", name)
        if kind == "index" and sql is None:
            continue
        if kind != "table":
            row.bad(f"it has a {kind}, which ioatlas never makes")
        said = {word.lower() for word in _STATEMENT.findall(str(sql).partition("(")[2])}
        if name in tables and said & _UNKNOWN_TO_US:
            row.bad(f"its columns have {min(said & _UNKNOWN_TO_US).upper()!r}, which ioatlas never makes")


# -- rows ----------------------------------------------------------------------------------------------------


def check_rows(rows: Callable[[str], Sequence[Any]], file: Path, tables: Sequence[Table]) -> None:
    """Number of rows, types, bounds and references of a whole journal. Raises IoAtlasError at the first fault.

    rows: runs a query. tables: all that the journal has.
    """
    for table in tables:
        check_count(lambda query: int(rows(query)[0][0]), file, table.name, MOST_ROWS[table.name])
    for table in tables:
        _check_columns(rows, file, table)
    by_name = {table.name: table for table in tables}
    for name, condition, what in REFERENCES:
        if name in by_name:
            for (key,) in rows(f"SELECT {by_name[name].keys[0]} FROM {name} WHERE {condition} LIMIT 1"):
                Row(file, name, key).bad(what)


def check_count(ask: Callable[[str], int], file: Path, table: str, most: int) -> None:
    """Raises IoAtlasError for more rows than there can be, or than the file has room for: its pages lead in circles
    then. ask: runs a query that gives one number.
    """
    most = min(most, file.stat().st_size // SMALLEST_ROW)
    query = f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT {most + 1})"
    if ask(query) > most:
        Row(file, table).bad(f"it has more than {most} rows")


@cache
def _wrong(table: Table) -> dict[str, str]:
    """{column: where it holds none of the values it may have}"""
    wrong = {}
    for column in table.columns:
        empty = f"{column.name} IS NULL OR " if column.needed else f"{column.name} IS NOT NULL AND "
        wrong[column.name] = f"({empty}({rule_of(table, column).wrong(column.name)}))"
    return wrong


def _check_columns(rows: Callable[[str], Sequence[Any]], file: Path, table: Table) -> None:
    wrong, key = _wrong(table), table.keys[0]
    if not rows(f"SELECT {key} FROM {table.name} WHERE {' OR '.join(wrong.values())} LIMIT 1"):
        return
    for name, condition in wrong.items():
        cut = f"CASE WHEN typeof({name}) IN ('text', 'blob') THEN substr({name}, 1, 80) ELSE {name} END"
        for number, value in rows(f"SELECT {key}, {cut} FROM {table.name} WHERE {condition} LIMIT 1"):
            Row(file, table.name, number).bad(f"this is none of the values it may have: {short(value)}", name)
