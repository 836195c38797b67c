# SPDX-License-Identifier: Apache-2.0
"""Batches: one fio process each, with everything it gave."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ioatlas import beneath
from ioatlas.model.reason import sentences
from ioatlas.model.visit import BatchStatus, Visit, VisitStatus
from ioatlas.store import schema as t
from ioatlas.store.database import Database
from ioatlas.store.parts import flush_row, part_row, share_row
from ioatlas.store.visits import NewVisit, PlannedVisit, plan_visits, planned_visit


@dataclass(frozen=True)
class BatchRow:
    """A batch as the journal knows it; `directory` follows from its number."""

    batch_id: int
    directory: str
    status: BatchStatus
    pid: int | None
    pid_started: int | None
    note: str


def batch_directory(batch_id: int) -> str:
    """Below the campaign's directory: made from the number, never taken from the journal."""
    return f"batches/{batch_id:05d}"


class Batches(Database):
    """What ran, and the one door by which results come in."""

    def begin_batch(self, visits: Mapping[int, int]) -> tuple[int, Path]:
        """Open a batch of visits {visit_id: runtime_ms} in the order of its sections; returns its number and its
        new directory.
        """
        with self._engine.begin() as link:
            key = link.execute(
                t.batch.insert().values(directory="", status=BatchStatus.RUNNING, started_at=self._now(), note="")
            ).inserted_primary_key
            assert key is not None
            batch_id = int(key[0])
            name = batch_directory(batch_id)
            link.execute(t.batch.update().where(t.batch.c.batch_id == batch_id).values(directory=name))
            _update_visits(
                link,
                [
                    {"of_visit": visit_id, "batch_id": batch_id, "section": section, "runtime_ms": runtime_ms}
                    for section, (visit_id, runtime_ms) in enumerate(visits.items())
                ],
            )
        return batch_id, beneath.make_directory(self.directory, name, fresh=True)

    def set_batch_process(self, batch_id: int, pid: int, pid_started: int) -> None:
        self._do(t.batch.update().where(t.batch.c.batch_id == batch_id).values(pid=pid, pid_started=pid_started))

    def finish_batch(
        self,
        batch_id: int,
        visits: Iterable[Visit],
        *,
        failed: Mapping[int, str],
        status: BatchStatus = BatchStatus.DONE,
        seconds: float | None = None,
        load_seconds: float | None = None,
        exit_code: int | None = None,
        note: str = "",
        written: Mapping[tuple[str, str], int] | None = None,
        again: Iterable[NewVisit] = (),
        usage: Mapping[str, Any] | None = None,
    ) -> None:
        """Everything a batch gave, in one transaction.

        visits: finished ones, `discarded` set on those that a gate refused. failed: {visit_id: reason}; visits of
        the batch in neither stay planned. written: {(target, what): bytes} for the ledger. again: visits to be planned.
        """
        made = list(visits)
        with self._engine.begin() as link:
            _update_visits(link, [_made_row(visit) for visit in made])
            parts = [{"visit_id": visit.visit_id, **part_row(part)} for visit in made for part in visit.parts]
            shares = [
                {"visit_id": visit.visit_id, "clock_error_ms": visit.clock_error_ms, **share_row(share, "client")}
                for visit in made
                for share in visit.clients
            ]
            targets = [
                {"visit_id": visit.visit_id, **share_row(one, "target")} for visit in made for one in visit.targets
            ]
            flushes = [
                {"visit_id": visit.visit_id, **flush_row(part, part.flush)}
                for visit in made
                for part in visit.parts
                if part.flush is not None and self.format >= t.FORMAT_OF_FLUSHES
            ]
            more = ((t.client_part, shares), (t.target_part, targets), (t.flush_part, flushes))
            for table, rows in ((t.part, parts), *more):
                if rows:
                    link.execute(table.insert(), rows)
            _update_visits(
                link,
                [
                    {"of_visit": visit_id, "status": VisitStatus.FAILED, "reason": reason}
                    for visit_id, reason in failed.items()
                ],
            )
            link.execute(
                t.batch.update()
                .where(t.batch.c.batch_id == batch_id)
                .values(
                    status=status,
                    seconds=seconds,
                    load_seconds=load_seconds,
                    exit_code=exit_code,
                    note=note,
                    usage_json=json.dumps(usage) if usage else None,
                )
            )
            # Visits of the batch that did not run are planned again, in their old order.
            link.execute(
                t.visit.update()
                .where(t.visit.c.batch_id == batch_id, t.visit.c.status == VisitStatus.PLANNED)
                .values(batch_id=None, section=None)
            )
            for (target, what), count in (written or {}).items():
                link.execute(t.ledger.insert().values(at=self._now(), target=target, what=what, bytes=count))
            plan_visits(link, again, self._first_replicate)

    def running_batches(self) -> list[BatchRow]:
        """Batches that were running when an earlier session ended."""
        running = [row for row in self.batches() if row.status is BatchStatus.RUNNING]
        if not self._mine():
            return running
        mine = {number for (number,) in self._rows(sa.select(t.visit.c.batch_id).where(*self._mine()))}
        return [row for row in running if row.batch_id in mine]

    def batches(self) -> list[BatchRow]:
        rows = self._rows(sa.select(t.batch).order_by(t.batch.c.batch_id))
        return [
            BatchRow(r.batch_id, batch_directory(r.batch_id), BatchStatus(r.status), r.pid, r.pid_started, r.note)
            for r in rows
        ]

    def batch_spans(self) -> list[tuple[int, float, float | None]]:
        """(batch_id, when it was begun, seconds it took) of every batch."""
        query = sa.select(t.batch.c.batch_id, t.batch.c.started_at, t.batch.c.seconds).order_by(t.batch.c.batch_id)
        return [(int(row.batch_id), float(row.started_at), row.seconds) for row in self._rows(query)]

    def usages(self) -> dict[int, dict[str, Any]]:
        """What the client's resources did during each batch, as recorded."""
        rows = self._rows(sa.select(t.batch.c.batch_id, t.batch.c.usage_json).where(t.batch.c.usage_json.is_not(None)))
        return {int(batch_id): self.row("batch", batch_id).json(text, "usage_json") for batch_id, text in rows}

    def batch_visits(self, batch_id: int) -> list[PlannedVisit]:
        """Visits of a batch in the order of its sections, whatever became of them."""
        query = sa.select(t.visit).where(t.visit.c.batch_id == batch_id).order_by(t.visit.c.section)
        rows = self._rows(query)
        return [planned_visit(row, self._first_replicate) for row in rows]


def _made_row(visit: Visit) -> dict[str, Any]:
    """What is written down of a visit that is finished."""
    return {
        "of_visit": visit.visit_id,
        "status": VisitStatus.DISCARDED if visit.discarded else VisitStatus.DONE,
        "reason": sentences(visit.discarded),
        "started_at": visit.started_at,
        "error": visit.error,
        "cpu_percent": visit.cpu_percent,
        "window_start_ms": visit.window_start_ms,
        "verdict": visit.verdict.text,
    }


def _update_visits(link: sa.Connection, rows: list[dict[str, Any]]) -> None:
    """Columns of visits, the same ones of each, by one statement. of_visit: the number of the row."""
    if rows:
        link.execute(t.visit.update().where(t.visit.c.visit_id == sa.bindparam("of_visit")), rows)
