# SPDX-License-Identifier: Apache-2.0
"""Batches: one fio process each, with everything it gave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ioatlas.model.verdict import sentences
from ioatlas.model.visit import BatchStatus, Visit, VisitStatus
from ioatlas.store import confined
from ioatlas.store import schema as t
from ioatlas.store.campaigns import Files
from ioatlas.store.database import MINE
from ioatlas.store.visits import NewVisit, PlannedVisit, Visits, flush_row, part_row, planned_visit, share_row


@dataclass(frozen=True)
class BatchRow:
    """A batch as the journal knows it; `directory` follows from its number."""

    batch_id: int
    directory: str
    status: BatchStatus
    pid: int | None
    pid_started: int | None
    note: str


@dataclass
class Intake:
    """What one batch gave.

    visits: finished ones, discarded ones with their reason. failed: {visit_id: reason}. again: visits to be planned.
    Sections in none of them stay planned. written: {(target, what): bytes} for the ledger.
    """

    visits: list[Visit] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    again: list[NewVisit] = field(default_factory=list)
    load_seconds: float = 0.0
    written: dict[tuple[str, str], int] = field(default_factory=dict)


def batch_directory(batch_id: int) -> str:
    """Below the campaign's directory: made from the number, never taken from the journal."""
    return f"batches/{batch_id:05d}"


class Batches(Visits, Files):
    """What ran, and the one door by which results come in."""

    def begin_batch(self, visits: Mapping[int, int]) -> tuple[int, Path]:
        """Open a batch of visits {visit_id: runtime_ms} in the order of its sections; returns its number and its
        new directory.
        """
        batch = {"directory": "", "status": BatchStatus.RUNNING, "started_at": self._now(), "note": ""}
        with self.together():
            batch_id = self.insert("batch", batch)
            name = batch_directory(batch_id)
            self._do("UPDATE batch SET directory = :name WHERE batch_id = :batch_id", name=name, batch_id=batch_id)
            self._do_each(
                "UPDATE visit SET batch_id = :batch, section = :section, runtime_ms = :ms WHERE visit_id = :visit_id",
                [
                    {"batch": batch_id, "section": section, "ms": runtime_ms, "visit_id": visit_id}
                    for section, (visit_id, runtime_ms) in enumerate(visits.items())
                ],
            )
        return batch_id, confined.make_directory(self.directory, name, fresh=True)

    def set_batch_process(self, batch_id: int, pid: int, pid_started: int) -> None:
        self._do(
            "UPDATE batch SET pid = :pid, pid_started = :pid_started WHERE batch_id = :batch_id",
            pid=pid,
            pid_started=pid_started,
            batch_id=batch_id,
        )

    def finish_batch(
        self,
        batch_id: int,
        gave: Intake,
        *,
        status: BatchStatus = BatchStatus.DONE,
        seconds: float | None = None,
        exit_code: int | None = None,
        note: str = "",
        usage: Mapping[str, Any] | None = None,
    ) -> None:
        """Write down what a batch gave, in one transaction. usage: what was counted meanwhile."""
        made = gave.visits
        parts = [(visit.visit_id, part) for visit in made for part in visit.parts]
        with self.together():
            self._do_each(_MADE, map(_made_row, made))
            self.insert("part", *({"visit_id": number, **part_row(part)} for number, part in parts))
            self.insert(
                "client_part",
                *(
                    {"visit_id": visit.visit_id, "clock_error_ms": visit.clock_error_ms, **share_row(share, "client")}
                    for visit in made
                    for share in visit.clients
                ),
            )
            self.insert(
                "target_part",
                *({"visit_id": one.visit_id, **share_row(share, "target")} for one in made for share in one.targets),
            )
            if self.format >= t.SINCE["flush_part"]:
                self.insert(
                    "flush_part",
                    *({"visit_id": number, **flush_row(part, part.flush)} for number, part in parts if part.flush),
                )
            self._do_each(
                "UPDATE visit SET status = 'failed', reason = :reason WHERE visit_id = :visit_id",
                [{"visit_id": visit_id, "reason": reason} for visit_id, reason in gave.failed.items()],
            )
            self._do(
                "UPDATE batch SET status = :status, seconds = :seconds, load_seconds = :load_seconds,"
                " exit_code = :exit_code, note = :note, usage_json = :usage WHERE batch_id = :batch_id",
                status=status,
                seconds=seconds,
                load_seconds=gave.load_seconds,
                exit_code=exit_code,
                note=note,
                usage=json.dumps(usage) if usage else None,
                batch_id=batch_id,
            )
            # Visits of the batch that did not run are planned again, in their old order.
            self._do(
                "UPDATE visit SET batch_id = NULL, section = NULL WHERE batch_id = :batch_id AND status = 'planned'",
                batch_id=batch_id,
            )
            for (target, what), count in gave.written.items():
                self.add_ledger(target, what, count)
            self.add_visits(gave.again)

    def running_batches(self) -> list[BatchRow]:
        """Batches that were running when an earlier session ended."""
        running = [row for row in self.batches() if row.status is BatchStatus.RUNNING]
        if not self.only and self.set_up is None:
            return running
        mine = {number for (number,) in self._rows(f"SELECT batch_id FROM visit WHERE {MINE}")}
        return [row for row in running if row.batch_id in mine]

    def batches(self) -> list[BatchRow]:
        return [
            BatchRow(r.batch_id, batch_directory(r.batch_id), BatchStatus(r.status), r.pid, r.pid_started, r.note)
            for r in self._rows("SELECT * FROM batch ORDER BY batch_id")
        ]

    def batch_spans(self) -> list[tuple[int, float, float | None]]:
        """(batch_id, when it was begun, seconds it took) of every batch."""
        rows = self._rows("SELECT batch_id, started_at, seconds FROM batch ORDER BY batch_id")
        return [(int(row.batch_id), float(row.started_at), row.seconds) for row in rows]

    def usages(self) -> dict[int, dict[str, Any]]:
        """What the client's resources did during each batch, as recorded."""
        rows = self._rows("SELECT batch_id, usage_json FROM batch WHERE usage_json IS NOT NULL")
        return {int(batch_id): self.row("batch", batch_id).json(text, "usage_json") for batch_id, text in rows}

    def batch_visits(self, batch_id: int) -> list[PlannedVisit]:
        """Visits of a batch in the order of its sections, whatever became of them."""
        rows = self._rows("SELECT * FROM visit WHERE batch_id = :batch_id ORDER BY section", batch_id=batch_id)
        return [planned_visit(row, self._first_replicate) for row in rows]


_MADE = (
    "UPDATE visit SET status = :status, reason = :reason, started_at = :started_at, error = :error,"
    " cpu_percent = :cpu_percent, window_start_ms = :window_start_ms, verdict = :verdict WHERE visit_id = :visit_id"
)


def _made_row(visit: Visit) -> dict[str, Any]:
    """What is written down of a visit that is finished."""
    return {
        "visit_id": visit.visit_id,
        "status": VisitStatus.DISCARDED if visit.discarded else VisitStatus.DONE,
        "reason": sentences(visit.discarded),
        "started_at": visit.started_at,
        "error": visit.error,
        "cpu_percent": visit.cpu_percent,
        "window_start_ms": visit.window_start_ms,
        "verdict": visit.verdict.text,
    }
