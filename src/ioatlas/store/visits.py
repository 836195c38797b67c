# SPDX-License-Identifier: Apache-2.0
"""Visits: planned, made, dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa

from ioatlas.model.reason import ASIDE, Reason, ReasonCode, read_reasons
from ioatlas.model.verdict import Verdict, read_verdict
from ioatlas.model.visit import Flush, Part, Purpose, Visit, VisitShare, VisitStatus
from ioatlas.store import schema as t
from ioatlas.store.database import Database
from ioatlas.store.parts import read_flush, read_part, read_share
from ioatlas.store.stored import Row

Kept = TypeVar("Kept")
_SINCE = {
    "client_part": t.FORMAT_OF_CLIENTS,
    "target_part": t.FORMAT_OF_GROUPS,
    "flush_part": t.FORMAT_OF_FLUSHES,
}
"""Formats of the journal since which tables are there."""


@dataclass(frozen=True)
class NewVisit:
    """A visit to be planned. runtime_ms: how long its load must run at least, None when the pace decides.

    design_json: what the adaptive design said when it asked for it.
    """

    cell_key: str
    replicate: int
    seed: int
    purpose: Purpose = Purpose.SWEEP
    alone: bool = False
    runtime_ms: int | None = None
    design_json: str | None = None


@dataclass(frozen=True)
class PlannedVisit:
    """A visit that has yet to be made."""

    visit_id: int
    cell_key: str
    replicate: int
    seed: int
    purpose: Purpose
    alone: bool
    runtime_ms: int | None


class Visits(Database):
    """Every start of a load, before and after it was made."""

    def add_visits(self, visits: Iterable[NewVisit]) -> None:
        """Plan visits in the order in which they are to be made."""
        with self._engine.begin() as link:
            plan_visits(link, visits, self._first_replicate)

    def has_visits(self, purpose: Purpose) -> bool:
        """Whether visits of that purpose were ever planned."""
        query = sa.select(t.visit.c.visit_id).where(t.visit.c.purpose == purpose, *self._mine())
        return self._value(query.limit(1)) is not None

    def planned(self, *purposes: Purpose, limit: int | None = None) -> list[PlannedVisit]:
        """Visits that have yet to be made, in their order."""
        query = (
            sa.select(t.visit)
            .where(t.visit.c.status == VisitStatus.PLANNED, t.visit.c.purpose.in_(purposes), *self._mine())
            .order_by(t.visit.c.visit_id)
        )
        rows = self._rows(query.limit(limit) if limit else query)
        return [planned_visit(row, self._first_replicate) for row in rows]

    def drop_planned(self, reason: str, *, replicate: int | None = None, purpose: Purpose | None = None) -> int:
        """Give up planned visits; returns how many."""
        query = (
            t.visit.update()
            .where(t.visit.c.status == VisitStatus.PLANNED, *self._mine())
            .values(status=VisitStatus.DROPPED, reason=reason)
        )
        if replicate is not None:
            query = query.where(t.visit.c.block >= replicate + self._first_replicate)
        if purpose is not None:
            query = query.where(t.visit.c.purpose == purpose)
        with self._engine.begin() as link:
            return int(link.execute(query).rowcount)

    def failed_for_good(self, purpose: Purpose) -> list[PlannedVisit]:
        """The latest failed visit of every cell and replicate that no other visit made up for, nor is planned to."""
        made_up = (VisitStatus.DONE, VisitStatus.PLANNED)
        query = sa.select(t.visit).where(t.visit.c.purpose == purpose, *self._mine()).order_by(t.visit.c.visit_id)
        rows = self._rows(query)
        settled = {(row.cell_key, row.block) for row in rows if row.status in made_up}
        failed = {(row.cell_key, row.block): row for row in rows if row.status == VisitStatus.FAILED}
        return [planned_visit(row, self._first_replicate) for key, row in failed.items() if key not in settled]

    def count_dropped(self, reason: str, purpose: Purpose) -> int:
        """Visits that were given up before they were made, for this reason."""
        dropped = (t.visit.c.status == VisitStatus.DROPPED, t.visit.c.reason == reason, t.visit.c.purpose == purpose)
        return int(self._value(sa.select(sa.func.count()).where(*dropped, *self._mine())))

    def discard_visits(self, visit_ids: Iterable[int], reason: Reason) -> None:
        """Take finished visits out of every figure; they stay in the journal with the reason."""
        with self._engine.begin() as link:
            query = t.visit.update().where(
                t.visit.c.visit_id.in_(list(visit_ids)), t.visit.c.status == VisitStatus.DONE
            )
            link.execute(query.values(status=VisitStatus.DISCARDED, reason=reason.sentence))

    def discarded(self, reason: ReasonCode) -> list[tuple[int, str, int, Verdict]]:
        """(visit_id, cell_key, replicate, verdict) of the visits that were discarded for that reason first."""
        query = sa.select(t.visit).where(
            t.visit.c.status == VisitStatus.DISCARDED,
            t.visit.c.reason.startswith(reason, autoescape=True),
            *self._mine(),
        )
        return [
            (row.visit_id, row.cell_key, row.block - self._first_replicate, read_verdict(row.verdict or ""))
            for row in self._rows(query)
        ]

    def reinstate(self, visit_id: int, verdict: Verdict) -> None:
        """A discarded visit counts after all, the whole of its window: no warm-up was found in it."""
        with self._engine.begin() as link:
            query = t.visit.update().where(t.visit.c.visit_id == visit_id, t.visit.c.status == VisitStatus.DISCARDED)
            link.execute(query.values(status=VisitStatus.DONE, reason="", verdict=verdict.text, window_start_ms=0))

    def tries(self, cell_key: str, replicate: int) -> int:
        """Visits of a cell in a replicate that were discarded or failed."""
        query = (
            sa.select(sa.func.count())
            .select_from(t.visit)
            .where(
                t.visit.c.cell_key == cell_key,
                t.visit.c.block == replicate + self._first_replicate,
                t.visit.c.status.in_((VisitStatus.DISCARDED, VisitStatus.FAILED)),
            )
        )
        return int(self._value(query))

    def count_visits(self) -> dict[VisitStatus, int]:
        """Number of visits by status, probes left out."""
        query = (
            sa.select(t.visit.c.status, sa.func.count())
            .where(t.visit.c.purpose != Purpose.PROBE, *self._mine())
            .group_by(t.visit.c.status)
        )
        rows = self._rows(query)
        return {VisitStatus(status): int(count) for status, count in rows}

    def statuses(self) -> dict[int, VisitStatus]:
        """What became of every visit."""
        with self._engine.connect() as link:
            rows = link.execute(sa.select(t.visit.c.visit_id, t.visit.c.status).where(*self._mine()))
            return {int(visit_id): VisitStatus(status) for visit_id, status in rows}

    def designed(self) -> list[tuple[str, int, str]]:
        """(cell_key, replicate, design_json) of every visit that the adaptive design asked for, in its order."""
        query = sa.select(t.visit).where(t.visit.c.design_json.is_not(None), *self._mine())
        query = query.order_by(t.visit.c.visit_id)
        return [(row.cell_key, row.block - self._first_replicate, row.design_json) for row in self._rows(query)]

    def visits(self, *, with_series: bool = False) -> list[Visit]:
        """All finished visits, discarded ones included (`discarded` says why), in the order in which they were made.

        Not by their time: a clock may be set back between two sessions.
        """
        with self._engine.connect() as link:
            parts = self._of_visits(link, t.part, read_part, with_series=with_series)
            clients = self._of_visits(link, t.client_part, _with_clock, with_series=with_series)
            targets = self._of_visits(link, t.target_part, partial(read_share, "target"), with_series=with_series)
            flushes = self._of_visits(link, t.flush_part, read_flush, with_series=with_series)
            rows = link.execute(
                sa.select(t.visit)
                .where(t.visit.c.status.in_((VisitStatus.DONE, VisitStatus.DISCARDED)), *self._mine())
                .order_by(t.visit.c.batch_id, t.visit.c.section)
            ).all()
        return [
            Visit(
                row.visit_id,
                row.cell_key,
                row.batch_id,
                row.section,
                row.block - self._first_replicate,
                row.seed,
                row.started_at,
                _flushed(parts.get(row.visit_id, ()), flushes.get(row.visit_id, ())),
                row.error or 0,
                row.cpu_percent,
                Purpose(row.purpose),
                row.window_start_ms or 0,
                read_verdict(row.verdict or ""),
                read_reasons(row.reason),
                tuple(share for share, _ in clients.get(row.visit_id, ())),
                next((error for _, error in reversed(clients.get(row.visit_id, ()))), 0.0),
                tuple(targets.get(row.visit_id, ())),
            )
            for row in rows
        ]

    def _of_visits(
        self, link: sa.Connection, table: sa.Table, read: Callable[..., Kept], *, with_series: bool
    ) -> dict[int, list[Kept]]:
        """What the rows of a table of finished visits tell, by visit. Such rows are never changed, so those that were
        read before are not read again: a campaign asks for its visits at every batch.
        """
        if self.format < _SINCE.get(table.name, 0):
            return {}
        last, found = self._kept.get((table.name, with_series), (None, {}))
        number = sa.literal_column("rowid", sa.Integer)
        query = sa.select(number.label("number"), *(c for c in table.c if with_series or c.name != "series"))
        query = query.order_by(number)
        for row in link.execute(query if last is None else query.where(number > last)).all():
            place = self.row(table.name, row.visit_id)
            found.setdefault(row.visit_id, []).append(read(place, row, with_series=with_series))
            last = row.number
        self._kept[table.name, with_series] = last, found
        return found

    def asked_ms(self) -> dict[int, int]:
        """{visit_id: how long its load was asked to run} of every visit that was begun."""
        query = sa.select(t.visit.c.visit_id, t.visit.c.runtime_ms).where(
            t.visit.c.batch_id.is_not(None), *self._mine()
        )
        return {row.visit_id: row.runtime_ms for row in self._rows(query) if row.runtime_ms is not None}

    def failures(self) -> list[tuple[str, str]]:
        """(cell_key, reason) of visits that failed."""
        rows = self._rows(
            sa.select(t.visit.c.cell_key, t.visit.c.reason).where(t.visit.c.status == VisitStatus.FAILED, *self._mine())
        )
        return [(key, reason) for key, reason in rows]


def _with_clock(place: Row, row: sa.Row[Any], *, with_series: bool) -> tuple[VisitShare, float]:
    """The share of a client, and the doubt about the clients' clocks."""
    return read_share("client", place, row, with_series=with_series), row.clock_error_ms


def _flushed(parts: Iterable[Part], flushes: Iterable[tuple[str, str, Flush]]) -> tuple[Part, ...]:
    """The parts with their flushes."""
    known = {(stream, direction): flush for stream, direction, flush in flushes}
    return tuple(replace(part, flush=known.get((part.stream, part.direction))) if known else part for part in parts)


def planned_visit(row: sa.Row[Any], first_replicate: int = 0) -> PlannedVisit:
    """The visit of a row of the journal, whatever became of it. first_replicate: what its replicate is counted from."""
    purpose, alone = Purpose(row.purpose), bool(row.alone)
    replicate = row.block - first_replicate
    return PlannedVisit(row.visit_id, row.cell_key, replicate, row.seed, purpose, alone, row.runtime_ms)


def plan_visits(link: sa.Connection, visits: Iterable[NewVisit], first_replicate: int = 0) -> None:
    """Within a transaction: rows of visits that have yet to be made. first_replicate: as of a planned visit."""
    rows = [
        {
            **{name: value for name, value in asdict(visit).items() if name != "replicate"},
            "block": visit.replicate + first_replicate,
            "alone": int(visit.alone),
            "status": VisitStatus.PLANNED,
        }
        for visit in visits
    ]
    if not rows:
        return
    last = link.execute(sa.select(sa.func.coalesce(sa.func.max(t.visit.c.visit_id), 0))).scalar_one()
    link.execute(t.visit.insert(), rows)
    unmeasured = t.cell.c.reason.not_in(("", *ASIDE))
    wrong = sa.select(t.cell.c.reason).join(t.visit).where(t.visit.c.visit_id > last, unmeasured).limit(1)
    if (reason := link.execute(wrong).scalar()) is not None:  # no command would read the journal any more
        raise AssertionError(f"a visit is planned for a cell that is not measured: {reason}")
