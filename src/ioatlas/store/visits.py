# SPDX-License-Identifier: Apache-2.0
"""Visits: planned, made, dropped. Their parts are rows: totals in columns, histogram and series packed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, TypeVar

import orjson

from ioatlas.model.units import words
from ioatlas.model.verdict import ASIDE, Reason, ReasonCode, Verdict, read_reasons, read_verdict
from ioatlas.model.visit import Flush, Histogram, Part, Purpose, Series, Visit, VisitShare, VisitStatus
from ioatlas.store import schema as t
from ioatlas.store.database import MINE, Database, Record
from ioatlas.store.stored import LARGEST, Row

MOST_BINS, MOST_POINTS = 100_000, 100_000
LARGEST_UNPACKED = 8 << 20
_COLUMNS = ("end_ms", "bw_bytes_per_s", "lat_mean_ns")
_OF_PARTS = words("stream direction io_bytes total_ios runtime_ms lat_mean_ns lat_kind short_ios drop_ios")
_OF_SHARES = words("direction started_at runtime_ms io_bytes total_ios bw_bytes_per_s lat_mean_ns lat_p99_ns stream")


def part_row(part: Part) -> dict[str, Any]:
    """The columns of a part, without its visit."""
    told = {name: getattr(part, name) for name in _OF_PARTS}
    return {**told, "histogram": _pack(part.histogram.bins), "series": _packed(part.series)}


def read_part(place: Row, row: Record, *, with_series: bool) -> Part:
    """The part of a row; without `with_series` its series is empty. place: the row, for messages."""
    series = _series(place, _unpack(place, row.series, "series")) if with_series else Series(0)
    histogram = _histogram(place, _unpack(place, row.histogram, "histogram"))
    return Part(**{name: getattr(row, name) for name in _OF_PARTS}, histogram=histogram, series=series)


def flush_row(part: Part, flush: Flush) -> dict[str, Any]:
    """The columns of the flushes of a part, without its visit."""
    return {
        "stream": part.stream,
        "direction": part.direction,
        "flushes": flush.count,
        "mean_ns": flush.mean_ns,
        "histogram": _pack(flush.histogram.bins),
        "write_mean_ns": flush.write_mean_ns,
        "write_histogram": _pack(flush.write_histogram.bins),
    }


def read_flush(place: Row, row: Record, *, with_series: bool) -> tuple[str, str, Flush]:  # noqa: ARG001
    """(stream, direction, flushes) of a row."""
    first, second = (
        _histogram(place, _unpack(place, getattr(row, name), name)) for name in ("histogram", "write_histogram")
    )
    return row.stream, row.direction, Flush(row.flushes, row.mean_ns, first, row.write_mean_ns, second)


def share_row(part: VisitShare, whose: str) -> dict[str, Any]:
    """The columns of a share of a part, without its visit. whose: the column of its name, 'client' or 'target'."""
    told = {one.name: getattr(part, one.name) for one in fields(part) if one.name != "name"}
    return {**told, whose: part.name, "series": _packed(part.series)}


def read_share(whose: str, place: Row, row: Record, *, with_series: bool) -> VisitShare:
    """The share of a client or target, as `read_part`."""
    series = _series(place, _unpack(place, row.series, "series")) if with_series else Series(0)
    return VisitShare(**{name: getattr(row, name) for name in _OF_SHARES}, series=series, name=getattr(row, whose))


def _histogram(place: Row, stored: Any) -> Histogram:
    if not isinstance(stored, list) or len(stored) > MOST_BINS:
        place.bad(f"it has more than {MOST_BINS} bins, or none", "histogram")
    try:
        bins = tuple([(ns, n) for ns, n in stored])
    except (TypeError, ValueError):
        place.bad("this is no histogram", "histogram")
    numbers = [number for pair in bins for number in pair]
    if numbers and (set(map(type, numbers)) != {int} or min(numbers) < 0 or max(numbers) > LARGEST):
        place.bad("these are no latencies with their counts", "histogram")
    return Histogram(bins)


def _series(place: Row, stored: Any) -> Series:
    values: list[Any] = [stored.get(name) for name in _COLUMNS] if isinstance(stored, dict) else []
    lists = bool(values) and all(isinstance(one, list) for one in values)
    if not lists or {len(one) for one in values} != {min(len(values[0]), MOST_POINTS)}:
        place.bad(f"this is no series of at most {MOST_POINTS} points", "series")
    interval_ms = stored.get("interval_ms")
    if type(interval_ms) is not int or not 0 <= interval_ms <= LARGEST:
        place.bad("it has no interval", "series")
    if not all(type(value) in (int, float) and 0 <= value <= LARGEST for one in values for value in one):
        place.bad("these are no times and rates", "series")
    end_ms, rates, latencies = values
    return Series(interval_ms, tuple(end_ms), tuple(rates), tuple(latencies))


def _packed(series: Series) -> bytes:
    return _pack({"interval_ms": series.interval_ms, **{name: getattr(series, name) for name in _COLUMNS}})


def _pack(value: Any) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)


def _unpack(place: Row, blob: bytes, column: str) -> Any:
    """The JSON in a packed column; a small blob that unpacks to a large one is refused."""
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(blob, LARGEST_UNPACKED)
        if unpacking.unconsumed_tail or not unpacking.eof:
            place.bad(f"it unpacks to more than {LARGEST_UNPACKED} bytes, or is cut off", column)
        return orjson.loads(text)
    except (zlib.error, ValueError):
        place.bad("it cannot be unpacked", column)


Kept = TypeVar("Kept")
_PLANNED_IN_VAIN = """
SELECT cell.reason FROM cell JOIN visit USING (cell_key)
WHERE visit_id > :last AND cell.reason NOT IN (SELECT value FROM json_each(:aside)) LIMIT 1
"""


@dataclass(frozen=True)
class NewVisit:
    """A visit to be planned. runtime_ms: how long its load must run at least, None when the pace decides."""

    cell_key: str
    replicate: int
    seed: int
    purpose: Purpose = Purpose.SWEEP
    alone: bool = False
    runtime_ms: int | None = None


@dataclass(frozen=True)
class PlannedVisit(NewVisit):
    """A visit that has yet to be made, under its number."""

    visit_id: int = field(kw_only=True)


class Visits(Database):
    """Every start of a load, before and after it was made."""

    def add_visits(self, visits: Iterable[NewVisit]) -> None:
        """Plan visits in the order in which they are to be made."""
        rows = [
            {
                "cell_key": visit.cell_key,
                "block": visit.replicate + self._first_replicate,
                "seed": visit.seed,
                "purpose": visit.purpose,
                "alone": int(visit.alone),
                "runtime_ms": visit.runtime_ms,
                "status": VisitStatus.PLANNED,
                "reason": "",
            }
            for visit in visits
        ]
        with self.together():
            last = self._value("SELECT coalesce(max(visit_id), 0) FROM visit")
            self.insert("visit", *rows)
            wrong = self._value(_PLANNED_IN_VAIN, last=last, aside=json.dumps(["", *ASIDE]))
            if wrong is not None:  # no command would read the journal any more
                raise AssertionError(f"a visit is planned for a cell that is not measured: {wrong}")

    def has_visits(self, purpose: Purpose) -> bool:
        """Whether visits of that purpose were ever planned."""
        return bool(self._rows(f"SELECT 1 FROM visit WHERE purpose = :purpose AND {MINE} LIMIT 1", purpose=purpose))

    def planned(self, *purposes: Purpose, limit: int = -1) -> list[PlannedVisit]:
        """Visits that have yet to be made, in their order. limit: how many at the most; all where it is negative."""
        rows = self._rows(
            "SELECT * FROM visit WHERE status = 'planned' AND purpose IN (SELECT value FROM json_each(:purposes))"
            f" AND {MINE} ORDER BY visit_id LIMIT :limit",
            purposes=json.dumps(purposes),
            limit=limit,
        )
        return [planned_visit(row, self._first_replicate) for row in rows]

    def drop_planned(self, reason: str, *, purpose: Purpose) -> int:
        """Give up the planned visits of a purpose; returns how many."""
        return self._do(
            "UPDATE visit SET status = 'dropped', reason = :reason"
            f" WHERE status = 'planned' AND purpose = :purpose AND {MINE}",
            reason=reason,
            purpose=purpose,
        )

    def failed_for_good(self, purpose: Purpose) -> list[PlannedVisit]:
        """The latest failed visit of every cell and replicate that no other visit made up for, nor is planned to."""
        made_up = (VisitStatus.DONE, VisitStatus.PLANNED)
        query = f"SELECT * FROM visit WHERE purpose = :purpose AND {MINE} ORDER BY visit_id"
        rows = self._rows(query, purpose=purpose)
        settled = {(row.cell_key, row.block) for row in rows if row.status in made_up}
        failed = {(row.cell_key, row.block): row for row in rows if row.status == VisitStatus.FAILED}
        return [planned_visit(row, self._first_replicate) for key, row in failed.items() if key not in settled]

    def count_dropped(self, reason: str, purpose: Purpose) -> int:
        """Visits that were given up before they were made, for this reason."""
        dropped = "status = 'dropped' AND reason = :reason AND purpose = :purpose"
        query = f"SELECT count(*) FROM visit WHERE {dropped} AND {MINE}"
        return int(self._value(query, reason=reason, purpose=purpose))

    def discard_visits(self, visit_ids: Iterable[int], reason: Reason) -> None:
        """Take finished visits out of every figure; they stay in the journal with the reason."""
        self._do_each(
            "UPDATE visit SET status = 'discarded', reason = :reason WHERE visit_id = :visit_id AND status = 'done'",
            [{"visit_id": visit_id, "reason": reason.sentence} for visit_id in visit_ids],
        )

    def discarded(self, reason: ReasonCode) -> list[tuple[int, str, int, Verdict]]:
        """(visit_id, cell_key, replicate, verdict) of the visits that were discarded for that reason first."""
        begins = "status = 'discarded' AND substr(reason, 1, length(:reason)) = :reason"
        return [
            (row.visit_id, row.cell_key, row.block - self._first_replicate, read_verdict(row.verdict or ""))
            for row in self._rows(f"SELECT * FROM visit WHERE {begins} AND {MINE}", reason=reason)
        ]

    def reinstate(self, visit_id: int, verdict: Verdict) -> None:
        """A discarded visit counts after all, the whole of its window: no warm-up was found in it."""
        self._do(
            "UPDATE visit SET status = 'done', reason = '', verdict = :verdict, window_start_ms = 0"
            " WHERE visit_id = :visit_id AND status = 'discarded'",
            visit_id=visit_id,
            verdict=verdict.text,
        )

    def tries(self, cell_key: str, replicate: int) -> int:
        """Visits of a cell in a replicate that were discarded or failed."""
        failed = "cell_key = :key AND block = :block AND status IN ('discarded', 'failed')"
        block = replicate + self._first_replicate
        return int(self._value(f"SELECT count(*) FROM visit WHERE {failed}", key=cell_key, block=block))

    def count_visits(self) -> dict[VisitStatus, int]:
        """Number of visits by status, probes left out."""
        query = f"SELECT status, count(*) FROM visit WHERE purpose != 'probe' AND {MINE} GROUP BY status"
        return {VisitStatus(status): int(count) for status, count in self._rows(query)}

    def statuses(self) -> dict[int, VisitStatus]:
        """What became of every visit."""
        rows = self._rows(f"SELECT visit_id, status FROM visit WHERE {MINE}")
        return {int(visit_id): VisitStatus(status) for visit_id, status in rows}

    def visits(self, *, with_series: bool = False) -> list[Visit]:
        """All finished visits, discarded ones included (`discarded` says why), in the order in which they were made.

        Not by their time: a clock may be set back between two sessions.
        """
        parts = self._of_visits("part", read_part, with_series=with_series)
        clients = self._of_visits("client_part", _with_clock, with_series=with_series)
        targets = self._of_visits("target_part", partial(read_share, "target"), with_series=with_series)
        flushes = self._of_visits("flush_part", read_flush, with_series=with_series)
        rows = self._rows(
            f"SELECT * FROM visit WHERE status IN ('done', 'discarded') AND {MINE} ORDER BY batch_id, section"
        )
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

    def _of_visits(self, table: str, read: Callable[..., Kept], *, with_series: bool) -> dict[int, list[Kept]]:
        """What the rows of a table of finished visits tell, by visit. Such rows are never changed, so those that were
        read before are not read again: a campaign asks for its visits at every batch.
        """
        if table not in t.tables_of(self.format):
            return {}
        last, found = self._kept.get((table, with_series), (-1, {}))
        names = t.TABLES[table].listed(*(() if with_series else ("series",)))
        query = f"SELECT rowid AS number, {names} FROM {table} WHERE rowid > :last ORDER BY rowid"
        for row in self._rows(query, last=last):
            place = self.row(table, row.visit_id)
            found.setdefault(row.visit_id, []).append(read(place, row, with_series=with_series))
            last = row.number
        self._kept[table, with_series] = last, found
        return found

    def asked_ms(self) -> dict[int, int]:
        """{visit_id: how long its load was asked to run} of every visit that was begun."""
        begun = "batch_id IS NOT NULL AND runtime_ms IS NOT NULL"
        return dict(map(tuple, self._rows(f"SELECT visit_id, runtime_ms FROM visit WHERE {begun} AND {MINE}")))

    def failures(self) -> list[tuple[str, str]]:
        """(cell_key, reason) of visits that failed."""
        rows = self._rows(f"SELECT cell_key, reason FROM visit WHERE status = 'failed' AND {MINE}")
        return [(key, reason) for key, reason in rows]


def _with_clock(place: Row, row: Record, *, with_series: bool) -> tuple[VisitShare, float]:
    """The share of a client, and the doubt about the clients' clocks."""
    return read_share("client", place, row, with_series=with_series), row.clock_error_ms


def _flushed(parts: Iterable[Part], flushes: Iterable[tuple[str, str, Flush]]) -> tuple[Part, ...]:
    """The parts with their flushes."""
    known = {(stream, direction): flush for stream, direction, flush in flushes}
    return tuple(replace(part, flush=known.get((part.stream, part.direction))) if known else part for part in parts)


def planned_visit(row: Record, first_replicate: int = 0) -> PlannedVisit:
    """The visit of a row of the journal, whatever became of it. first_replicate: what its replicate is counted from."""
    purpose, alone = Purpose(row.purpose), bool(row.alone)
    replicate = row.block - first_replicate
    return PlannedVisit(row.cell_key, replicate, row.seed, purpose, alone, row.runtime_ms, visit_id=row.visit_id)
