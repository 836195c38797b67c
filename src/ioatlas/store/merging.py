# SPDX-License-Identifier: Apache-2.0
"""The rows of one journal put behind those of another: sessions, batches, visits and what belongs to them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from ioatlas.model.visit import REPLICATES_OF_A_SET_UP, set_up_of
from ioatlas.store.database import FILE_NAME

_BATCHES = "batches"


def add_rows(into: Path, other: Path) -> dict[str, str]:
    """Put the rows of the journal in `other` behind those in `into`, with new numbers.

    Returns {folder below `other`: its new name} of the batches' output. Visits that were planned and not made are left
    out. Both journals were checked when they were opened, and hold the same cells.
    """
    link = sqlite3.connect((into / FILE_NAME).resolve().as_uri(), isolation_level=None, uri=True)
    try:
        link.execute("ATTACH ? AS other", (f"{(other / FILE_NAME).resolve().as_uri()}?mode=ro",))
        link.execute("BEGIN IMMEDIATE")
        after = {
            name: int(link.execute(f"SELECT coalesce(max({key}), 0) FROM main.{name}").fetchone()[0])  # noqa: S608
            for name, key in (("session", "session_id"), ("batch", "batch_id"), ("visit", "visit_id"))
        }
        replicates = int(link.execute("SELECT coalesce(max(block), -1) + 1 FROM main.visit").fetchone()[0])
        if replicates > REPLICATES_OF_A_SET_UP:  # set up several times: the other campaign's are further ones
            replicates = (set_up_of(replicates - 1) + 1) * REPLICATES_OF_A_SET_UP
        _copy(link, "session", {"session_id": f"session_id + {after['session']}"})
        folders = _batches(link, after["batch"])
        _copy(
            link,
            "visit",
            {
                "visit_id": f"visit_id + {after['visit']}",
                "batch_id": f"batch_id + {after['batch']}",
                "block": f"block + {replicates}",
            },
            "status != 'planned'",
        )
        made = "visit_id IN (SELECT visit_id FROM other.visit WHERE status != 'planned')"
        _copy(link, "part", {"visit_id": f"visit_id + {after['visit']}"}, made)
        for name in ("client_part", "target_part", "flush_part"):
            if link.execute("SELECT 1 FROM main.sqlite_master WHERE name = ?", (name,)).fetchone():
                _copy(link, name, {"visit_id": f"visit_id + {after['visit']}"}, made)
        for name in ("ledger", "remark"):
            last = link.execute(f"SELECT coalesce(max(entry), 0) FROM main.{name}").fetchone()[0]  # noqa: S608
            _copy(link, name, {"entry": f"entry + {int(last)}"})
        _copy(link, "file_made", {}, "path NOT IN (SELECT path FROM main.file_made)")
        _voided(link, replicates)
        link.execute("COMMIT")
    finally:
        link.close()
    return folders


def finish_merged(into: Path, *, campaign_id: str, name: str, complete: bool) -> None:
    """Give the journal a name of its own. It is sealed by nobody: what is in it was measured elsewhere."""
    link = sqlite3.connect(into / FILE_NAME, isolation_level=None)
    try:
        link.execute("BEGIN IMMEDIATE")
        link.execute("UPDATE campaign SET campaign_id = ?, name = ?, complete = ?", (campaign_id, name, int(complete)))
        link.execute("DELETE FROM visit WHERE status = 'planned'")
        link.execute("DELETE FROM outcome WHERE name = 'seal'")
        link.execute("COMMIT")
    finally:
        link.close()


def _copy(link: sqlite3.Connection, table: str, new: dict[str, str], where: str = "1") -> None:
    """Rows of a table of the other journal, some columns computed anew."""
    names = [row[1] for row in link.execute(f"PRAGMA main.table_info({table})")]
    chosen = ", ".join(new.get(name, name) for name in names)
    link.execute(
        f"INSERT INTO main.{table} ({', '.join(names)}) SELECT {chosen} FROM other.{table} WHERE {where}"  # noqa: S608
    )


def _batches(link: sqlite3.Connection, after: int) -> dict[str, str]:
    """Copies batches; returns the new name of the folder of each."""
    rows = link.execute("SELECT batch_id, directory FROM other.batch").fetchall()
    folders = {directory: f"{_BATCHES}/{number + after:05}" for number, directory in rows}
    # all at once: one after another, a new name would be taken for an old one
    number = f"batch_id + {after}"
    _copy(link, "batch", {"batch_id": number, "directory": f"printf('{_BATCHES}/%05d', {number})"})
    return folders


def _voided(link: sqlite3.Connection, replicates: int) -> None:
    """Replicates that were voided keep being so, under their new numbers."""
    rows = link.execute("SELECT value_json FROM other.outcome WHERE name = 'voided'").fetchall()
    if not rows:
        return
    kept = link.execute("SELECT value_json FROM main.outcome WHERE name = 'voided'").fetchall()
    theirs = json.loads(rows[0][0])
    for one in theirs["replicates"]:
        one["block"] += replicates
        one["again"] += replicates
    record = json.loads(kept[0][0]) if kept else {**theirs, "replicates": []}
    record["replicates"] += theirs["replicates"]
    link.execute("INSERT OR REPLACE INTO main.outcome (name, value_json) VALUES ('voided', ?)", (json.dumps(record),))
