# SPDX-License-Identifier: Apache-2.0
"""Visits: planned, made, dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import sqlalchemy as sa

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
    block: int
    seed: int
    purpose: str = "sweep"
    alone: bool = False
    runtime_ms: int | None = None
    design_json: str | None = None


@dataclass(frozen=True)
class PlannedVisit:
    """A visit that has yet to be made."""

    visit_id: int
    cell_key: str
    block: int
    seed: int
    purpose: str
    alone: bool
    runtime_ms: int | None


class Visits(Database):
    """Every start of a load, before and after it was made."""

    def add_visits(self, visits: Iterable[NewVisit]) -> None:
        """Plan visits in the order in which they are to be made."""
        with self._engine.begin() as link:
            plan_visits(link, visits)

    def has_visits(self, purpose: str) -> bool:
        """Whether visits of that purpose were ever planned."""
        with self._engine.connect() as link:
            return link.execute(sa.select(t.visit.c.visit_id).where(t.visit.c.purpose == purpose).limit(1)).first() is not None

    def planned(self, purpose: str, limit: int | None = None) -> list[PlannedVisit]:
        """Visits that have yet to be made, in their order."""
        query = sa.select(t.visit).where(t.visit.c.status == "planned", t.visit.c.purpose == purpose).order_by(t.visit.c.visit_id)
        with self._engine.connect() as link:
            rows = link.execute(query.limit(limit) if limit else query).all()
        return [PlannedVisit(r.visit_id, r.cell_key, r.block, r.seed, r.purpose, bool(r.alone), r.runtime_ms) for r in rows]

    def drop_planned(self, reason: str, *, block: int | None = None, purpose: str | None = None) -> int:
        """Give up planned visits; returns how many."""
        query = t.visit.update().where(t.visit.c.status == "planned").values(status="dropped", reason=reason)
        if block is not None:
            query = query.where(t.visit.c.block >= block)
        if purpose is not None:
            query = query.where(t.visit.c.purpose == purpose)
        with self._engine.begin() as link:
            return int(link.execute(query).rowcount)

    def discard_visits(self, visit_ids: Iterable[int], reason: str) -> None:
        """Take finished visits out of every figure; they stay in the journal with the reason."""
        with self._engine.begin() as link:
            query = t.visit.update().where(t.visit.c.visit_id.in_(list(visit_ids)), t.visit.c.status == "done")
            link.execute(query.values(status="discarded", reason=reason))

    def discarded(self, reason: str) -> list[tuple[int, str, int, str]]:
        """(visit_id, cell_key, block, verdict) of the visits whose reason begins so."""
        query = sa.select(t.visit).where(t.visit.c.status == "discarded", t.visit.c.reason.startswith(reason, autoescape=True))
        with self._engine.connect() as link:
            return [(row.visit_id, row.cell_key, row.block, row.verdict or "") for row in link.execute(query)]

    def take_back(self, visit_id: int, verdict: str) -> None:
        """A discarded visit counts after all, the whole of its window: no warm-up was found in it."""
        with self._engine.begin() as link:
            query = t.visit.update().where(t.visit.c.visit_id == visit_id, t.visit.c.status == "discarded")
            link.execute(query.values(status="done", reason="", verdict=verdict, window_start_ms=0))

    def tries(self, cell_key: str, block: int) -> int:
        """Visits of a cell in a block that were discarded or failed."""
        query = (
            sa.select(sa.func.count())
            .select_from(t.visit)
            .where(t.visit.c.cell_key == cell_key, t.visit.c.block == block, t.visit.c.status.in_(("discarded", "failed")))
        )
        with self._engine.connect() as link:
            return int(link.execute(query).scalar_one())

    def count_visits(self) -> dict[str, int]:
        """Number of visits by status, probes left out."""
        query = sa.select(t.visit.c.status, sa.func.count()).where(t.visit.c.purpose != "probe").group_by(t.visit.c.status)
        with self._engine.connect() as link:
            rows = link.execute(query).all()
        return {str(status): int(count) for status, count in rows}

    def designed(self) -> list[tuple[str, int, str]]:
        """(cell_key, block, design_json) of every visit that the adaptive design asked for, in its order."""
        query = sa.select(t.visit).where(t.visit.c.design_json.is_not(None)).order_by(t.visit.c.visit_id)
        with self._engine.connect() as link:
            return [(row.cell_key, row.block, row.design_json) for row in link.execute(query)]

    def visits(self, *, with_series: bool = False) -> list[Visit]:
        """All finished visits, discarded ones included (`discarded` says why), in the order in which they were made."""
        parts: dict[int, list[Part]] = {}
        columns = [c for c in t.part.c if with_series or c.name != "series"]
        with self._engine.connect() as link:
            for row in link.execute(sa.select(*columns)):
                parts.setdefault(row.visit_id, []).append(read_part(row, with_series=with_series))
            rows = link.execute(
                sa.select(t.visit).where(t.visit.c.status.in_(("done", "discarded"))).order_by(t.visit.c.started_at, t.visit.c.visit_id)
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
                row.purpose,
                row.window_start_ms or 0,
                row.verdict or "",
                row.reason,
            )
            for row in rows
        ]

    def failures(self) -> list[tuple[str, str]]:
        """(cell_key, reason) of visits that failed."""
        with self._engine.connect() as link:
            rows = link.execute(sa.select(t.visit.c.cell_key, t.visit.c.reason).where(t.visit.c.status == "failed")).all()
        return [(key, reason) for key, reason in rows]


def plan_visits(link: sa.Connection, visits: Iterable[NewVisit]) -> None:
    """Within a transaction: rows of visits that have yet to be made."""
    rows = [{**asdict(visit), "alone": int(visit.alone), "status": "planned"} for visit in visits]
    if rows:
        link.execute(t.visit.insert(), rows)
