# SPDX-License-Identifier: Apache-2.0
"""The campaign a journal is of: its plan, its targets, its sessions, what was found out and remarked, which files
it made on targets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import sqlalchemy as sa

from ioatlas.model.outcomes import KeptRecord
from ioatlas.model.target import Target
from ioatlas.model.visit import RemarkKind
from ioatlas.store import schema as t
from ioatlas.store.database import Database
from ioatlas.store.seal import Seals
from ioatlas.store.stored import CAMPAIGN_ID, read_target, short

PART = "@"
"""In the name of a record between its kind and the target of which alone it tells."""
EARLY = "map of "
"""Begin of the names of records that early journals kept of each target."""
_OUTCOMES = sa.select(t.outcome).order_by(t.outcome.c.name)

KindOfRecord = TypeVar("KindOfRecord", bound=KeptRecord)


class Campaigns(Seals):
    """The one campaign, its targets and sessions, its outcomes and remarks."""

    def begin_campaign(
        self, campaign_id: str, name: str, tool_version: str, plan: Mapping[str, Any], targets: Iterable[Target]
    ) -> None:
        with self._engine.begin() as link:
            link.execute(
                t.campaign.insert().values(
                    campaign_id=campaign_id,
                    name=name,
                    created_at=self._now(),
                    tool_version=tool_version,
                    plan_json=json.dumps(plan),
                    complete=0,
                )
            )
            _put_targets(link, targets)

    def set_targets(self, targets: Iterable[Target]) -> None:
        """Replace the targets by what they are now recognised as."""
        known = list(targets)
        with self.changing_plan() as link:
            link.execute(t.target.delete())
            _put_targets(link, known)

    def campaign(self) -> sa.Row[Any]:
        rows = self._rows(sa.select(t.campaign).limit(2))
        if len(rows) != 1:
            self.row("campaign").bad("there must be exactly one")
        row: sa.Row[Any] = rows[0]
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
        with self.changing_plan() as link:
            link.execute(t.campaign.update().values(plan_json=json.dumps(plan)))

    def set_complete(self) -> None:
        """Nothing is left to do. Who sees a part of the campaign cannot say so of the whole."""
        if self.only:
            return
        self._do(t.campaign.update().values(complete=1))

    def targets(self) -> tuple[Target, ...]:
        mine = (t.target.c.name == self.only,) if self.only else ()
        rows = self._rows(sa.select(t.target).where(*mine))
        return tuple(read_target(self.row("target", row.name), row) for row in rows)

    def begin_session(self, testbed: Mapping[str, Any]) -> int:
        with self._engine.begin() as link:
            key = link.execute(
                t.session.insert().values(started_at=self._now(), testbed_json=json.dumps(testbed))
            ).inserted_primary_key
        assert key is not None
        return int(key[0])

    def end_session(self, session_id: int) -> None:
        self._do(t.session.update().where(t.session.c.session_id == session_id).values(ended_at=self._now()))

    def sessions(self) -> list[sa.Row[Any]]:
        return list(self._rows(sa.select(t.session).order_by(t.session.c.session_id)))

    def testbed(self, session: sa.Row[Any]) -> dict[str, Any]:
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
        self._do(
            t.outcome.delete().where(t.outcome.c.name == name),
            t.outcome.insert().values(name=name, value_json=json.dumps(value)),
        )

    def keep(self, record: KeptRecord) -> None:
        """Write down a record about the campaign as a whole, in the place of the one that was there."""
        self.set_outcome(record.NAME, record.to_json())

    def kept(self, kind: type[KindOfRecord]) -> KindOfRecord:
        """The record of a kind; an empty one when nothing of it was kept. Raises as `KeptRecord.from_json`."""
        return self._record(kind) or kind()

    def is_kept(self, kind: type[KindOfRecord]) -> bool:
        """Whether a record of a kind was written down."""
        return self._record(kind) is not None

    def _record(self, kind: type[KindOfRecord]) -> KindOfRecord | None:
        """Asked for all the time: only the rows of the kind are read, and an early journal's, which have others."""
        kept = self._rows(_OUTCOMES)
        early = any(row.name.startswith(EARLY) for row in kept)
        names: list[str] = []
        if early:
            mine = (t.target.c.name == self.only,) if self.only else ()
            names = [name for (name,) in self._rows(sa.select(t.target.c.name).where(*mine))]
        wanted = [row for row in kept if early or row.name.partition(PART)[0] == kind.NAME]
        return kind.of_outcomes(self._whole(wanted), names)

    def record_names(self) -> frozenset[str]:
        """Names of the records that are kept."""
        return frozenset(name.partition(PART)[0] for (name,) in self._rows(sa.select(t.outcome.c.name)))

    def outcomes(self) -> dict[str, Any]:
        """The records as they stand in the journal: `kept` reads one of a kind. What parts of the campaign kept of
        themselves is put together; who sees one part is shown what that one kept.
        """
        return self._whole(self._rows(_OUTCOMES))

    def _whole(self, rows: Iterable[sa.Row[Any]]) -> dict[str, Any]:
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
        with self._engine.begin() as link:
            known = link.execute(
                sa.select(sa.func.count()).where(t.remark.c.kind == kind, t.remark.c.text == text)
            ).scalar_one()
            if not known:
                link.execute(t.remark.insert().values(at=self._now(), kind=kind, text=text))

    def remarks(self) -> list[tuple[RemarkKind, str]]:
        return [(RemarkKind(row.kind), row.text) for row in self._rows(sa.select(t.remark).order_by(t.remark.c.entry))]


def _together(one: Any, other: Any) -> Any:
    """Two records of a kind as one: tables key by key, lists one after the other, of single values the later one."""
    if isinstance(one, dict) and isinstance(other, dict):
        shared = {key: _together(one[key], other[key]) for key in one.keys() & other.keys()}
        return {**one, **other, **shared}
    return [*one, *other] if isinstance(one, list) and isinstance(other, list) else other


def _put_targets(link: sa.Connection, targets: Iterable[Target]) -> None:
    for target in targets:
        link.execute(
            t.target.insert().values(
                name=target.name,
                kind=target.kind,
                location=target.location,
                identity_json=json.dumps(target.identity.facts),
                size_bytes=target.size_bytes,
                logical_block_bytes=target.logical_block_bytes,
                ioengine=target.ioengine,
            )
        )


class Files(Database):
    """What was put on targets."""

    def register_file(self, path: str, target: str, size_bytes: int) -> None:
        """Write down a file before it is created, so that a crash cannot leave one that nobody knows."""
        self._do(
            t.file_made.delete().where(t.file_made.c.path == path),
            t.file_made.insert().values(
                path=path, target=target, created_at=self._now(), size_bytes=size_bytes, ready=0
            ),
        )

    def file_ready(self, path: str) -> None:
        self._do(t.file_made.update().where(t.file_made.c.path == path).values(ready=1))

    def files(self, target: str) -> dict[str, tuple[int, bool]]:
        """{path: (size_bytes, laid out in full)} of files on a target that are not removed yet."""
        query = sa.select(t.file_made).where(t.file_made.c.target == target, t.file_made.c.removed_at.is_(None))
        return {row.path: (row.size_bytes, bool(row.ready)) for row in self._rows(query)}

    def file_removed(self, path: str) -> None:
        self._do(t.file_made.update().where(t.file_made.c.path == path).values(removed_at=self._now()))

    def add_ledger(self, target: str, what: str, count_bytes: int) -> None:
        self._do(t.ledger.insert().values(at=self._now(), target=target, what=what, bytes=count_bytes))

    def ledger(self) -> list[tuple[float, str, str, int]]:
        """(seconds since the epoch, target, what, bytes) in the order written."""
        rows = self._rows(sa.select(t.ledger).order_by(t.ledger.c.entry))
        return [(row.at, row.target, row.what, row.bytes) for row in rows]
