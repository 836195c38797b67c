# SPDX-License-Identifier: Apache-2.0
"""The campaign a journal is of: its plan, the cells of its sweeps and what their map's model says of those that were
not measured, its targets, its sessions, what was found out and remarked, which files it made on targets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ioatlas.model.cell import Cell
from ioatlas.model.outcomes import KeptRecord
from ioatlas.model.target import Target
from ioatlas.model.visit import RemarkKind
from ioatlas.store.database import MINE, Database, Record
from ioatlas.store.seal import Seals
from ioatlas.store.stored import CAMPAIGN_ID, read_cell, read_target, short

PART = "@"
"""In the name of a record between its kind and the target of which alone it tells."""
_OF_KIND = f"""
    FROM outcome
    WHERE name = :kind OR name = :kind || '{PART}' || :only OR (:only = '' AND name GLOB :kind || '{PART}*')
"""
"""A kind's row, and those of its parts; asked for all the time, so that no other is read."""

KindOfRecord = TypeVar("KindOfRecord", bound=KeptRecord)


class Campaigns(Seals):
    """The one campaign, its targets and sessions, its outcomes and remarks."""

    def begin_campaign(
        self, campaign_id: str, name: str, tool_version: str, plan: Mapping[str, Any], targets: Iterable[Target]
    ) -> None:
        with self.together():
            self.insert(
                "campaign",
                {
                    "campaign_id": campaign_id,
                    "name": name,
                    "created_at": self._now(),
                    "tool_version": tool_version,
                    "plan_json": json.dumps(plan),
                    "complete": 0,
                },
            )
            self._put_targets(targets)

    def set_targets(self, targets: Iterable[Target]) -> None:
        """Replace the targets by what they are now recognised as."""
        known = list(targets)
        with self.changing_plan():
            self._do("DELETE FROM target")
            self._put_targets(known)

    def _put_targets(self, targets: Iterable[Target]) -> None:
        for target in targets:
            self.insert(
                "target",
                {
                    "name": target.name,
                    "kind": target.kind,
                    "location": target.location,
                    "identity_json": json.dumps(target.identity.facts),
                    "size_bytes": target.size_bytes,
                    "logical_block_bytes": target.logical_block_bytes,
                    "ioengine": target.ioengine,
                },
            )

    def campaign(self) -> Record:
        rows = self._rows("SELECT * FROM campaign LIMIT 2")
        if len(rows) != 1:
            self.row("campaign").bad("there must be exactly one")
        row: Record = rows[0]
        if not CAMPAIGN_ID.fullmatch(row.campaign_id):
            self.row("campaign").bad(f"{short(row.campaign_id)} cannot name a campaign", "campaign_id")
        return row

    def plan(self) -> dict[str, Any]:
        """The plan's record; `run.record` reads it."""
        row = self.campaign()
        place = self.row("campaign", row.campaign_id)
        plan = place.json(row.plan_json, "plan_json")
        if not isinstance(plan, dict) or not isinstance(plan.get("spec"), dict):
            place.bad("this is no plan", "plan_json")
        return plan

    def set_plan(self, plan: Mapping[str, Any]) -> None:
        with self.changing_plan():
            self._do("UPDATE campaign SET plan_json = :plan", plan=json.dumps(plan))

    def set_complete(self) -> None:
        """Nothing is left to do. Who sees a part of the campaign cannot say so of the whole."""
        if not self.only:
            self._do("UPDATE campaign SET complete = 1")

    def targets(self) -> tuple[Target, ...]:
        rows = self._rows("SELECT * FROM target WHERE :only IN ('', name)")
        return tuple(read_target(self.row("target", row.name), row) for row in rows)

    def begin_session(self, testbed: Mapping[str, Any]) -> int:
        return self.insert("session", {"started_at": self._now(), "testbed_json": json.dumps(testbed)})

    def end_session(self, session_id: int) -> None:
        self._do("UPDATE session SET ended_at = :now WHERE session_id = :number", now=self._now(), number=session_id)

    def sessions(self) -> list[Record]:
        return self._rows("SELECT * FROM session ORDER BY session_id")

    def testbed(self, session: Record) -> dict[str, Any]:
        """The testbed that a session recorded."""
        place = self.row("session", session.session_id)
        record = place.json(session.testbed_json, "testbed_json")
        if not isinstance(record, dict) or not isinstance(record.get("targets"), dict):
            place.bad("this is no testbed", "testbed_json")
        return record

    def latest_testbed(self) -> dict[str, Any]:
        """The testbed of the last session, with every target as the last session saw it that had it: a configuration
        that is set up has a session of its own. Without a session there are no targets.
        """
        records = [self.testbed(one) for one in self.sessions()]
        return {
            **(records[-1] if records else {}),
            "targets": {name: bed for record in records for name, bed in record["targets"].items()},
        }

    def set_outcome(self, name: str, value: Any) -> None:
        """Write down what was found out about the campaign as a whole; `value` is JSON."""
        name = f"{name}{PART}{self.only}" if self.only else name
        self._replace("outcome", "name", {"name": name, "value_json": json.dumps(value)})

    def keep(self, record: KeptRecord) -> None:
        """Write down a record about the campaign as a whole, in the place of the one that was there."""
        self.set_outcome(record.NAME, record.to_json())

    def kept(self, kind: type[KindOfRecord]) -> KindOfRecord:
        """The record of a kind; an empty one when nothing of it was kept. Raises as `KeptRecord.from_json`."""
        told = self._whole(self._rows(f"SELECT * {_OF_KIND} ORDER BY name", kind=kind.NAME))
        return kind.from_json(told[kind.NAME]) if told else kind()

    def is_kept(self, kind: type[KindOfRecord]) -> bool:
        """Whether a record of a kind was written down."""
        return bool(self._rows(f"SELECT 1 {_OF_KIND}", kind=kind.NAME))

    def record_names(self) -> frozenset[str]:
        """Names of the records that are kept."""
        return frozenset(name.partition(PART)[0] for (name,) in self._rows("SELECT name FROM outcome"))

    def outcomes(self) -> dict[str, Any]:
        """The records as they stand in the journal: `kept` reads one of a kind. What parts of the campaign kept of
        themselves is put together; who sees one part is shown what that one kept.
        """
        return self._whole(self._rows("SELECT * FROM outcome ORDER BY name"))

    def _whole(self, rows: Iterable[Record]) -> dict[str, Any]:
        whole: dict[str, Any] = {}
        parts: dict[str, Any] = {}
        for row in rows:
            name, of_part, target = row.name.partition(PART)
            value = self.row("outcome", row.name).json(row.value_json, "value_json")
            if not of_part:
                whole[name] = value
            elif not self.only or target == self.only:
                parts[name] = _together(parts[name], value) if name in parts else value
        return whole | parts

    def add_remark(self, kind: RemarkKind, text: str) -> None:
        with self.together():
            if not self._rows("SELECT 1 FROM remark WHERE kind = :kind AND text = :text", kind=kind, text=text):
                self.insert("remark", {"at": self._now(), "kind": kind, "text": text})

    def remarks(self) -> list[tuple[RemarkKind, str]]:
        return [(RemarkKind(row.kind), row.text) for row in self._rows("SELECT * FROM remark ORDER BY entry")]


def _together(one: Any, other: Any) -> Any:
    """Two records of a kind as one: tables key by key, lists one after the other, of single values the later one."""
    if isinstance(one, dict) and isinstance(other, dict):
        shared = {key: _together(one[key], other[key]) for key in one.keys() & other.keys()}
        return {**one, **other, **shared}
    return [*one, *other] if isinstance(one, list) and isinstance(other, list) else other


class Files(Database):
    """What was put on targets."""

    def register_file(self, path: str, target: str, size_bytes: int) -> None:
        """Write down a file before it is created, so that a crash cannot leave one that nobody knows."""
        made = {"path": path, "target": target, "created_at": self._now(), "size_bytes": size_bytes, "ready": 0}
        self._replace("file_made", "path", made)

    def file_ready(self, path: str) -> None:
        self._do("UPDATE file_made SET ready = 1 WHERE path = :path", path=path)

    def files(self, target: str) -> dict[str, tuple[int, bool]]:
        """{path: (size_bytes, laid out in full)} of files on a target that are not removed yet."""
        rows = self._rows("SELECT * FROM file_made WHERE target = :target AND removed_at IS NULL", target=target)
        return {row.path: (row.size_bytes, bool(row.ready)) for row in rows}

    def file_removed(self, path: str) -> None:
        self._do("UPDATE file_made SET removed_at = :now WHERE path = :path", now=self._now(), path=path)

    def add_ledger(self, target: str, what: str, count_bytes: int) -> None:
        self.insert("ledger", {"at": self._now(), "target": target, "what": what, "bytes": count_bytes})

    def ledger(self) -> list[tuple[float, str, str, int]]:
        """(seconds since the epoch, target, what, bytes) in the order written."""
        return [tuple(row) for row in self._rows("SELECT at, target, what, bytes FROM ledger ORDER BY entry")]


class Cells(Seals):
    """The sweep."""

    def add_cells(self, cells: Sequence[tuple[Cell, str]], first: int = 0) -> None:
        """Cells in the order of the sweep from place `first` on, each with the reason why it is not measured (''
        when it is to be).
        """
        rows = [
            {
                "cell_key": cell.key,
                "position": position,
                "target": cell.target,
                "options_json": json.dumps(cell.options),
                "sharing": cell.sharing,
                "state": cell.state,
                "streams_json": json.dumps(cell.streams),
                "reason": reason,
            }
            for position, (cell, reason) in enumerate(cells, first)
        ]
        with self.changing_plan():
            self.insert("cell", *rows)

    def cells(self) -> list[tuple[Cell, str]]:
        """All cells in sweep order with the reason why they are not measured. Raises IoAtlasError as `read_cell`."""
        rows = self._rows("SELECT * FROM cell WHERE :only IN ('', target) ORDER BY position")
        return [(self._cell(row), row.reason) for row in rows]

    def _cell(self, row: Record) -> Cell:
        """The cell of a row, read once as long as it says the same."""
        said = (row.cell_key, row.target, row.options_json, row.streams_json, row.sharing, row.state)
        if said not in self._cells:
            self._cells[said] = read_cell(self.row("cell", row.cell_key), row)
        return self._cells[said]

    def count_cells(self) -> int:
        """How many there are in the campaign, measured or not."""
        return int(self._value("SELECT count(*) FROM cell"))

    def replace_cells(self, cells: Sequence[tuple[Cell, str]]) -> None:
        """Other cells in the place of all, before anything was measured; planned visits go with them."""
        with self.changing_plan():
            if self._rows("SELECT 1 FROM visit WHERE status != 'planned' LIMIT 1"):
                raise AssertionError("cells were measured already")
            self._do("DELETE FROM visit")
            self._do("DELETE FROM cell")
            self.add_cells(cells)

    def leave_out(self, reasons: Mapping[str, str]) -> None:
        """Mark cells as not measured, and drop their planned visits. What another set-up measured stays measured."""
        drop = "UPDATE visit SET status = 'dropped', reason = :reason WHERE cell_key = :key AND status = 'planned'"
        done = "SELECT 1 FROM visit WHERE cell_key = :key AND status = 'done' AND purpose = 'sweep' LIMIT 1"
        with self.changing_plan():
            for key, reason in reasons.items():
                if self.set_up and self._rows(done, key=key):
                    self._do(f"{drop} AND {MINE}", key=key, reason=reason)
                else:
                    self._do("UPDATE cell SET reason = :reason WHERE cell_key = :key", key=key, reason=reason)
                    self._do(drop, key=key, reason=reason)
