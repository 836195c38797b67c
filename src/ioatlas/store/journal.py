# SPDX-License-Identifier: Apache-2.0
"""The journal of a campaign: what was planned, what ran, what came of it."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.model.cell import Cell
from ioatlas.model.histogram import Histogram
from ioatlas.model.target import Identity, Target
from ioatlas.model.visit import Part, Series, Visit
from ioatlas.store import schema as t

if TYPE_CHECKING:
    pass

FILE_NAME = "journal.sqlite"


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


@dataclass(frozen=True)
class Prediction:
    """What the map's model says of a cell that was not measured; the interval is that of one reading, 90%."""

    cell_key: str
    iops: float
    iops_low: float
    iops_high: float
    lat_p99_ns: float | None
    lat_p99_low_ns: float | None
    lat_p99_high_ns: float | None
    method: str


@dataclass(frozen=True)
class BatchRow:
    """A batch as the journal knows it."""

    batch_id: int
    directory: str
    status: str
    pid: int | None
    pid_started: int | None
    note: str


def _pack(value: Any) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)


def _unpack(blob: bytes) -> Any:
    return json.loads(zlib.decompress(blob))


class Journal:
    """One open journal. Every public method is one transaction."""

    def __init__(self, engine: sa.Engine, directory: Path) -> None:
        self._engine = engine
        self.directory = directory

    @classmethod
    def create(cls, directory: Path) -> Journal:
        """A new journal in `directory`, which must not hold one. Raises UsageError when it does."""
        path = directory / FILE_NAME
        if path.exists():
            raise UsageError("a campaign is already here", where=str(directory), remedy=f"use `ioatlas resume {directory}` or another -o")
        directory.mkdir(parents=True, exist_ok=True)
        journal = cls(_connect(path), directory)
        with journal._engine.begin() as link:
            t.metadata.create_all(link)
            link.exec_driver_sql(f"PRAGMA user_version={t.VERSION}")
        return journal

    @classmethod
    def open(cls, directory: Path) -> Journal:
        """The journal of an existing campaign. Raises IoAtlasError when there is none or it is of a newer format."""
        path = directory / FILE_NAME
        if not path.is_file():
            raise UsageError(
                "this is not the directory of a campaign: it has no journal",
                where=str(directory),
                remedy="name the DIR that `ioatlas map -o` wrote",
            )
        engine = _connect(path)
        try:
            with engine.connect() as link:
                version = int(link.exec_driver_sql("PRAGMA user_version").scalar_one())
                inspector = sa.inspect(link)
                known = inspector.has_table("campaign")
                missing = _missing(inspector) if known and version <= t.VERSION else ""
        except sa.exc.DatabaseError as error:
            raise IoAtlasError(
                "the journal cannot be read", where=str(path), remedy="restore it from a copy; the raw output is in batches/"
            ) from error
        if not known:
            raise IoAtlasError("the journal is empty", where=str(path), remedy="start the campaign again with another -o")
        if version > t.VERSION:
            raise IoAtlasError(
                f"the journal has format {version}, this ioatlas reads up to {t.VERSION}", where=str(path), remedy="use a newer ioatlas"
            )
        if missing:
            raise IoAtlasError(
                f"the journal lacks {missing}: it was made by a version before the first release", where=str(path), remedy="measure again"
            )
        return cls(engine, directory)

    def close(self) -> None:
        self._engine.dispose()

    # -- campaign and sessions ------------------------------------------------------------------------------------

    def begin_campaign(self, campaign_id: str, name: str, tool_version: str, plan: Mapping[str, Any], targets: Iterable[Target]) -> None:
        with self._engine.begin() as link:
            link.execute(
                t.campaign.insert().values(
                    campaign_id=campaign_id,
                    name=name,
                    created_at=time.time(),
                    tool_version=tool_version,
                    plan_json=json.dumps(plan),
                    complete=0,
                )
            )
            _put_targets(link, targets)

    def set_targets(self, targets: Iterable[Target]) -> None:
        """Replace the targets by what they are now recognised as."""
        known = list(targets)
        with self._engine.begin() as link:
            link.execute(t.target.delete())
            _put_targets(link, known)

    def campaign(self) -> sa.Row[Any]:
        with self._engine.connect() as link:
            return link.execute(sa.select(t.campaign)).one()

    def plan(self) -> dict[str, Any]:
        return dict(json.loads(self.campaign().plan_json))

    def set_plan(self, plan: Mapping[str, Any]) -> None:
        with self._engine.begin() as link:
            link.execute(t.campaign.update().values(plan_json=json.dumps(plan)))

    def set_complete(self) -> None:
        with self._engine.begin() as link:
            link.execute(t.campaign.update().values(complete=1))

    def targets(self) -> tuple[Target, ...]:
        with self._engine.connect() as link:
            rows = link.execute(sa.select(t.target)).all()
        return tuple(
            Target(
                row.name,
                row.kind,
                row.location,
                Identity(tuple((str(name), str(value)) for name, value in json.loads(row.identity_json))),
                row.size_bytes,
                None,
                row.logical_block_bytes,
                row.ioengine,
            )
            for row in rows
        )

    def begin_session(self, testbed: Mapping[str, Any]) -> int:
        with self._engine.begin() as link:
            key = link.execute(t.session.insert().values(started_at=time.time(), testbed_json=json.dumps(testbed))).inserted_primary_key
        assert key is not None
        return int(key[0])

    def end_session(self, session_id: int) -> None:
        with self._engine.begin() as link:
            link.execute(t.session.update().where(t.session.c.session_id == session_id).values(ended_at=time.time()))

    def sessions(self) -> list[sa.Row[Any]]:
        with self._engine.connect() as link:
            return list(link.execute(sa.select(t.session).order_by(t.session.c.session_id)).all())

    # -- cells and planned visits -----------------------------------------------------------------------------------

    def add_cells(self, cells: Sequence[tuple[Cell, str]], first: int = 0) -> None:
        """Cells in the order of the sweep from place `first` on, each with the reason why it is not measured ('' when it is to be)."""
        rows = [
            {
                "cell_key": cell.key,
                "position": position,
                "target": cell.target,
                "options_json": json.dumps(cell.options),
                "sharing": cell.sharing,
                "state": cell.state,
                "reason": reason,
            }
            for position, (cell, reason) in enumerate(cells, first)
        ]
        with self._engine.begin() as link:
            if rows:
                link.execute(t.cell.insert(), rows)

    def cells(self) -> list[tuple[Cell, str]]:
        """All cells in sweep order with the reason why they are not measured."""
        with self._engine.connect() as link:
            rows = link.execute(sa.select(t.cell).order_by(t.cell.c.position)).all()
        return [
            (Cell(row.target, tuple((name, value) for name, value in json.loads(row.options_json)), row.sharing, row.state), row.reason)
            for row in rows
        ]

    def leave_out(self, reasons: Mapping[str, str]) -> None:
        """Mark cells as not measured, and drop their planned visits."""
        with self._engine.begin() as link:
            for key, reason in reasons.items():
                link.execute(t.cell.update().where(t.cell.c.cell_key == key).values(reason=reason))
                link.execute(
                    t.visit.update().where(t.visit.c.cell_key == key, t.visit.c.status == "planned").values(status="dropped", reason=reason)
                )

    def add_visits(self, visits: Iterable[NewVisit]) -> None:
        """Plan visits in the order in which they are to be made."""
        with self._engine.begin() as link:
            _plan_visits(link, visits)

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

    def set_predictions(self, rows: Iterable[Prediction]) -> None:
        """Replace the model's predictions."""
        with self._engine.begin() as link:
            link.execute(t.prediction.delete())
            values = [asdict(row) for row in rows]
            if values:
                link.execute(t.prediction.insert(), values)

    def predictions(self) -> list[Prediction]:
        with self._engine.connect() as link:
            return [Prediction(*row) for row in link.execute(sa.select(t.prediction))]

    def set_outcome(self, name: str, value: Any) -> None:
        """Write down what was found out about the campaign as a whole; `value` is JSON."""
        with self._engine.begin() as link:
            link.execute(t.outcome.delete().where(t.outcome.c.name == name))
            link.execute(t.outcome.insert().values(name=name, value_json=json.dumps(value)))

    def outcomes(self) -> dict[str, Any]:
        with self._engine.connect() as link:
            return {row.name: json.loads(row.value_json) for row in link.execute(sa.select(t.outcome))}

    # -- batches and results ----------------------------------------------------------------------------------------

    def begin_batch(self, visits: Mapping[int, int]) -> tuple[int, Path]:
        """Open a batch of visits {visit_id: runtime_ms} in the order of its sections; returns its number and its new directory."""
        with self._engine.begin() as link:
            key = link.execute(
                t.batch.insert().values(directory="", status="running", started_at=time.time(), note="")
            ).inserted_primary_key
            assert key is not None
            batch_id = int(key[0])
            name = f"batches/{batch_id:05d}"
            link.execute(t.batch.update().where(t.batch.c.batch_id == batch_id).values(directory=name))
            for section, (visit_id, runtime_ms) in enumerate(visits.items()):
                link.execute(
                    t.visit.update().where(t.visit.c.visit_id == visit_id).values(batch_id=batch_id, section=section, runtime_ms=runtime_ms)
                )
        directory = self.directory / name
        directory.mkdir(parents=True, exist_ok=True)
        return batch_id, directory

    def set_batch_process(self, batch_id: int, pid: int, pid_started: int) -> None:
        with self._engine.begin() as link:
            link.execute(t.batch.update().where(t.batch.c.batch_id == batch_id).values(pid=pid, pid_started=pid_started))

    def finish_batch(
        self,
        batch_id: int,
        visits: Iterable[Visit],
        *,
        failed: Mapping[int, str],
        status: str = "done",
        seconds: float | None = None,
        load_seconds: float | None = None,
        exit_code: int | None = None,
        note: str = "",
        written: Mapping[tuple[str, str], int] | None = None,
        again: Iterable[NewVisit] = (),
        usage: Mapping[str, Any] | None = None,
    ) -> None:
        """Everything a batch gave, in one transaction.

        visits: finished ones, `discarded` set on those that a gate refused. failed: {visit_id: reason}; visits of the batch in neither
        stay planned. written: {(target, what): bytes} for the ledger. again: visits to be planned.
        """
        with self._engine.begin() as link:
            for visit in visits:
                link.execute(
                    t.visit.update()
                    .where(t.visit.c.visit_id == visit.visit_id)
                    .values(
                        status="discarded" if visit.discarded else "done",
                        reason=visit.discarded,
                        started_at=visit.started_at,
                        error=visit.error,
                        cpu_percent=visit.cpu_percent,
                        window_start_ms=visit.window_start_ms,
                        verdict=visit.verdict,
                    )
                )
                for part in visit.parts:
                    link.execute(t.part.insert().values(visit_id=visit.visit_id, **_part_row(part)))
            for visit_id, reason in failed.items():
                link.execute(t.visit.update().where(t.visit.c.visit_id == visit_id).values(status="failed", reason=reason))
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
                t.visit.update().where(t.visit.c.batch_id == batch_id, t.visit.c.status == "planned").values(batch_id=None, section=None)
            )
            for (target, what), count in (written or {}).items():
                link.execute(t.ledger.insert().values(at=time.time(), target=target, what=what, bytes=count))
            _plan_visits(link, again)

    def running_batches(self) -> list[BatchRow]:
        """Batches that were running when an earlier session ended."""
        return [row for row in self.batches() if row.status == "running"]

    def batches(self) -> list[BatchRow]:
        with self._engine.connect() as link:
            rows = link.execute(sa.select(t.batch).order_by(t.batch.c.batch_id)).all()
        return [BatchRow(r.batch_id, r.directory, r.status, r.pid, r.pid_started, r.note) for r in rows]

    def batch_times(self) -> list[tuple[float, float, int]]:
        """(seconds, load_seconds, finished visits) of every batch that is done."""
        count = sa.func.count(t.visit.c.visit_id)
        query = (
            sa.select(t.batch.c.seconds, t.batch.c.load_seconds, count)
            .join(t.visit, t.visit.c.batch_id == t.batch.c.batch_id)
            .where(t.batch.c.seconds.is_not(None), t.batch.c.load_seconds.is_not(None))
            .group_by(t.batch.c.batch_id)
        )
        with self._engine.connect() as link:
            return [(float(a), float(b), int(n)) for a, b, n in link.execute(query).all()]

    def usages(self) -> dict[int, dict[str, Any]]:
        """What the client's resources did during each batch, as recorded."""
        with self._engine.connect() as link:
            rows = link.execute(sa.select(t.batch.c.batch_id, t.batch.c.usage_json).where(t.batch.c.usage_json.is_not(None))).all()
        return {int(batch_id): json.loads(text) for batch_id, text in rows}

    def batch_visits(self, batch_id: int) -> list[PlannedVisit]:
        """Visits of a batch in the order of its sections, whatever became of them."""
        query = sa.select(t.visit).where(t.visit.c.batch_id == batch_id).order_by(t.visit.c.section)
        with self._engine.connect() as link:
            rows = link.execute(query).all()
        return [PlannedVisit(r.visit_id, r.cell_key, r.block, r.seed, r.purpose, bool(r.alone), r.runtime_ms) for r in rows]

    def visits(self, *, with_series: bool = False) -> list[Visit]:
        """All finished visits, discarded ones included (`discarded` says why), in the order in which they were made."""
        parts: dict[int, list[Part]] = {}
        columns = [c for c in t.part.c if with_series or c.name != "series"]
        with self._engine.connect() as link:
            for row in link.execute(sa.select(*columns)):
                parts.setdefault(row.visit_id, []).append(_read_part(row, with_series=with_series))
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

    # -- files, ledger, remarks ---------------------------------------------------------------------------------------

    def register_file(self, path: str, target: str, size_bytes: int) -> None:
        """Write down a file before it is created, so that a crash cannot leave one that nobody knows."""
        with self._engine.begin() as link:
            link.execute(t.file_made.delete().where(t.file_made.c.path == path))
            link.execute(t.file_made.insert().values(path=path, target=target, created_at=time.time(), size_bytes=size_bytes, ready=0))

    def file_ready(self, path: str) -> None:
        with self._engine.begin() as link:
            link.execute(t.file_made.update().where(t.file_made.c.path == path).values(ready=1))

    def files(self, target: str) -> dict[str, tuple[int, bool]]:
        """{path: (size_bytes, laid out in full)} of files on a target that are not removed yet."""
        query = sa.select(t.file_made).where(t.file_made.c.target == target, t.file_made.c.removed_at.is_(None))
        with self._engine.connect() as link:
            return {row.path: (row.size_bytes, bool(row.ready)) for row in link.execute(query)}

    def file_removed(self, path: str) -> None:
        with self._engine.begin() as link:
            link.execute(t.file_made.update().where(t.file_made.c.path == path).values(removed_at=time.time()))

    def add_ledger(self, target: str, what: str, count_bytes: int) -> None:
        with self._engine.begin() as link:
            link.execute(t.ledger.insert().values(at=time.time(), target=target, what=what, bytes=count_bytes))

    def ledger(self) -> list[tuple[str, str, int]]:
        """(target, what, bytes) in the order written."""
        with self._engine.connect() as link:
            rows = link.execute(sa.select(t.ledger).order_by(t.ledger.c.entry)).all()
        return [(row.target, row.what, row.bytes) for row in rows]

    def add_remark(self, kind: str, text: str) -> None:
        with self._engine.begin() as link:
            known = link.execute(sa.select(sa.func.count()).where(t.remark.c.kind == kind, t.remark.c.text == text)).scalar_one()
            if not known:
                link.execute(t.remark.insert().values(at=time.time(), kind=kind, text=text))

    def remarks(self) -> list[tuple[str, str]]:
        with self._engine.connect() as link:
            return [(row.kind, row.text) for row in link.execute(sa.select(t.remark).order_by(t.remark.c.entry))]


def _missing(inspector: sa.Inspector) -> str:
    """The first table or column of the format that a journal does not have; '' when it has all."""
    for table in t.metadata.sorted_tables:
        if not inspector.has_table(table.name):
            return f"table {table.name}"
        have = {column["name"] for column in inspector.get_columns(table.name)}
        for column in table.columns:
            if column.name not in have:
                return f"column {table.name}.{column.name}"
    return ""


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


def _plan_visits(link: sa.Connection, visits: Iterable[NewVisit]) -> None:
    rows = [{**asdict(visit), "alone": int(visit.alone), "status": "planned"} for visit in visits]
    if rows:
        link.execute(t.visit.insert(), rows)


def _part_row(part: Part) -> dict[str, Any]:
    return {
        "direction": part.direction,
        "io_bytes": part.io_bytes,
        "total_ios": part.total_ios,
        "runtime_ms": part.runtime_ms,
        "lat_mean_ns": part.lat_mean_ns,
        "lat_kind": part.lat_kind,
        "short_ios": part.short_ios,
        "drop_ios": part.drop_ios,
        "histogram": _pack(part.histogram.bins),
        "series": _pack(asdict(part.series)),
    }


def _read_part(row: sa.Row[Any], *, with_series: bool) -> Part:
    series = Series(0)
    if with_series:
        stored = _unpack(row.series)
        series = Series(stored["interval_ms"], tuple(stored["end_ms"]), tuple(stored["bw_bytes_per_s"]), tuple(stored["lat_mean_ns"]))
    return Part(
        row.direction,
        row.io_bytes,
        row.total_ios,
        row.runtime_ms,
        row.lat_mean_ns,
        Histogram(tuple((ns, n) for ns, n in _unpack(row.histogram))),
        series,
        row.lat_kind,
        row.short_ios,
        row.drop_ios,
    )


def _connect(path: Path) -> sa.Engine:
    engine = sa.create_engine(f"sqlite:///{path}")

    @sa.event.listens_for(engine, "connect")
    def _durable(connection: Any, _record: object) -> None:
        # A finished batch must survive a crash of the machine, not only of the process.
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")

    return engine
