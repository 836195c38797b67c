# SPDX-License-Identifier: Apache-2.0
"""Visits: planned, made, dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from ioatlas.model.purpose import Purpose
from ioatlas.model.reason import Reason, ReasonCode, read_reasons
from ioatlas.model.status import VisitStatus
from ioatlas.model.verdict import Verdict, read_verdict
from ioatlas.model.visit import Part, Visit
from ioatlas.store import schema as t
from ioatlas.store.database import Database
from ioatlas.store.parts import read_part


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
            plan_visits(link, visits)

    def has_visits(self, purpose: Purpose) -> bool:
        """Whether visits of that purpose were ever planned."""
        with self._engine.connect() as link:
            return (
                link.execute(sa.select(t.visit.c.visit_id).where(t.visit.c.purpose == purpose).limit(1)).first()
                is not None
            )

    def planned(self, purpose: Purpose, limit: int | None = None) -> list[PlannedVisit]:
        """Visits that have yet to be made, in their order."""
        query = (
            sa.select(t.visit)
            .where(t.visit.c.status == VisitStatus.PLANNED, t.visit.c.purpose == purpose)
            .order_by(t.visit.c.visit_id)
        )
        with self._engine.connect() as link:
            rows = link.execute(query.limit(limit) if limit else query).all()
        return [planned_visit(row) for row in rows]

    def drop_planned(self, reason: str, *, replicate: int | None = None, purpose: Purpose | None = None) -> int:
        """Give up planned visits; returns how many."""
        query = (
            t.visit.update()
            .where(t.visit.c.status == VisitStatus.PLANNED)
            .values(status=VisitStatus.DROPPED, reason=reason)
        )
        if replicate is not None:
            query = query.where(t.visit.c.block >= replicate)
        if purpose is not None:
            query = query.where(t.visit.c.purpose == purpose)
        with self._engine.begin() as link:
            return int(link.execute(query).rowcount)

    def count_dropped(self, reason: str, purpose: Purpose) -> int:
        """Visits that were given up before they were made, for this reason."""
        dropped = (t.visit.c.status == VisitStatus.DROPPED, t.visit.c.reason == reason, t.visit.c.purpose == purpose)
        with self._engine.connect() as link:
            return int(link.execute(sa.select(sa.func.count()).where(*dropped)).scalar_one())

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
            t.visit.c.status == VisitStatus.DISCARDED, t.visit.c.reason.startswith(reason, autoescape=True)
        )
        with self._engine.connect() as link:
            return [
                (row.visit_id, row.cell_key, row.block, read_verdict(row.verdict or "")) for row in link.execute(query)
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
                t.visit.c.block == replicate,
                t.visit.c.status.in_((VisitStatus.DISCARDED, VisitStatus.FAILED)),
            )
        )
        with self._engine.connect() as link:
            return int(link.execute(query).scalar_one())

    def count_visits(self) -> dict[VisitStatus, int]:
        """Number of visits by status, probes left out."""
        query = (
            sa.select(t.visit.c.status, sa.func.count())
            .where(t.visit.c.purpose != Purpose.PROBE)
            .group_by(t.visit.c.status)
        )
        with self._engine.connect() as link:
            rows = link.execute(query).all()
        return {VisitStatus(status): int(count) for status, count in rows}

    def designed(self) -> list[tuple[str, int, str]]:
        """(cell_key, replicate, design_json) of every visit that the adaptive design asked for, in its order."""
        query = sa.select(t.visit).where(t.visit.c.design_json.is_not(None)).order_by(t.visit.c.visit_id)
        with self._engine.connect() as link:
            return [(row.cell_key, row.block, row.design_json) for row in link.execute(query)]

    def visits(self, *, with_series: bool = False) -> list[Visit]:
        """All finished visits, discarded ones included (`discarded` says why), in the order in which they were made.

        Not by their time: a clock may be set back between two sessions.
        """
        parts: dict[int, list[Part]] = {}
        columns = [c for c in t.part.c if with_series or c.name != "series"]
        with self._engine.connect() as link:
            for row in link.execute(sa.select(*columns)):
                part = read_part(self.row("part", row.visit_id), row, with_series=with_series)
                parts.setdefault(row.visit_id, []).append(part)
            rows = link.execute(
                sa.select(t.visit)
                .where(t.visit.c.status.in_((VisitStatus.DONE, VisitStatus.DISCARDED)))
                .order_by(t.visit.c.batch_id, t.visit.c.section)
            ).all()
        return [
            Visit(
                row.visit_id,
                row.cell_key,
                row.batch_id,
                row.section,
                row.block,
                row.seed,
                row.started_at,
                tuple(parts.get(row.visit_id, ())),
                row.error or 0,
                row.cpu_percent,
                Purpose(row.purpose),
                row.window_start_ms or 0,
                read_verdict(row.verdict or ""),
                read_reasons(row.reason),
            )
            for row in rows
        ]

    def asked_ms(self) -> dict[int, int]:
        """{visit_id: how long its load was asked to run} of every visit that was begun."""
        query = sa.select(t.visit.c.visit_id, t.visit.c.runtime_ms).where(t.visit.c.batch_id.is_not(None))
        with self._engine.connect() as link:
            return {row.visit_id: row.runtime_ms for row in link.execute(query) if row.runtime_ms is not None}

    def failures(self) -> list[tuple[str, str]]:
        """(cell_key, reason) of visits that failed."""
        with self._engine.connect() as link:
            rows = link.execute(
                sa.select(t.visit.c.cell_key, t.visit.c.reason).where(t.visit.c.status == VisitStatus.FAILED)
            ).all()
        return [(key, reason) for key, reason in rows]


def planned_visit(row: sa.Row[Any]) -> PlannedVisit:
    """The visit of a row of the journal, whatever became of it."""
    purpose, alone = Purpose(row.purpose), bool(row.alone)
    return PlannedVisit(row.visit_id, row.cell_key, row.block, row.seed, purpose, alone, row.runtime_ms)


def plan_visits(link: sa.Connection, visits: Iterable[NewVisit]) -> None:
    """Within a transaction: rows of visits that have yet to be made."""
    rows = [
        {
            **{"block" if name == "replicate" else name: value for name, value in asdict(visit).items()},
            "alone": int(visit.alone),
            "status": VisitStatus.PLANNED,
        }
        for visit in visits
    ]
    if rows:
        link.execute(t.visit.insert(), rows)
