# SPDX-License-Identifier: Apache-2.0
"""What the counters of each target's path carried during each batch, beside what fio claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ioatlas.answer.analysis.counters import (
    BatchCount,
    CountedPath,
    CountedPaths,
    counter_findings,
    dropped_flushes,
    early_findings,
    flush_findings,
    other_traffic,
)
from ioatlas.model.cell import Cell
from ioatlas.model.finding import Finding, FindingCode, common
from ioatlas.model.result import OtherTraffic
from ioatlas.model.testbed import Testbed
from ioatlas.model.visit import Flush, Histogram, Purpose, Visit
from ioatlas.store.journal import Journal

Counts = Mapping[tuple[str, int], Sequence[BatchCount]]
"""By target and batch; targets on one path have the same counts."""
Telemetry = Mapping[int, Mapping[str, Any]]
"""What was read while a visit or a batch ran, by its number."""


def counted_paths(journal: Journal) -> Mapping[str, CountedPath]:
    """Where the bytes of each target are counted."""
    return journal.kept(CountedPaths).paths


def counted_in_windows(
    visits: Sequence[Visit],
    targets: Mapping[str, str],
    paths: Mapping[str, CountedPath],
    telemetry: Telemetry,
) -> dict[int, float]:
    """{visit_id: bytes that its path carried while it ran}, from counters read inside its window and stretched over the
    whole of it.

    targets: by cell key. At most what was claimed: what is over was frame headers, or another load.
    """
    found: dict[int, float] = {}
    for visit in visits:
        path, record = paths.get(targets.get(visit.cell_key, "")), telemetry.get(visit.visit_id, {})
        if path is None or not record.get("seconds"):
            continue
        total = 0.0
        for part in visit.parts:
            counted = path.counted_bytes(record, part.direction)
            if counted is None:
                break
            total += min(float(part.io_bytes), counted * part.runtime_ms / 1000 / record["seconds"])
        else:
            found[visit.visit_id] = total
    return found


def batch_counts(journal: Journal, visits: Sequence[Visit]) -> Counts:
    """Claims against counters of every batch whose path is known. visits: all that were made, whatever their
    purpose.
    """
    paths = counted_paths(journal)
    beside = {visit.batch_id for visit in visits if visit.purpose is Purpose.BESIDE}  # a flush makes more be written
    targets = {cell.key: cell.target for cell, _ in journal.cells()}
    claimed: Counter[tuple[CountedPath, int, str]] = Counter()
    ios: Counter[tuple[CountedPath, int, str]] = Counter()
    makers: Counter[tuple[CountedPath, int]] = Counter()
    for visit in visits:
        path = paths.get(targets.get(visit.cell_key, ""))
        if path is None:
            continue
        makers[path, visit.batch_id] += 1
        for part in visit.parts:
            claimed[path, visit.batch_id, part.direction] += part.io_bytes
            ios[path, visit.batch_id, part.direction] += part.total_ios
    counts: dict[tuple[str, int], list[BatchCount]] = {}
    for batch_id, usage in journal.usages().items():
        for name, path in paths.items() if batch_id not in beside else ():
            for direction in ("read", "write"):
                counted = path.counted_bytes(usage, direction)
                if counted is not None:
                    place = (path, batch_id, direction)
                    moved = claimed[place]
                    if makers[path, batch_id]:  # what a load moves and reports nothing of
                        moved += usage.get("also_moved", {}).get(direction, 0)
                    count = BatchCount(
                        direction,
                        moved,
                        counted,
                        usage["seconds"],
                        path.name,
                        makers[path, batch_id],
                        path.most_bytes(moved, ios[place]),
                    )
                    counts.setdefault((name, batch_id), []).append(count)
    return counts


def counted_findings(counts: Counts) -> tuple[Finding, ...]:
    """What the counters say of each path."""
    users: dict[str, set[str]] = {}
    for (target, _), several in counts.items():
        for count in several:
            users.setdefault(count.path, set()).add(target)
    return tuple(
        finding
        for name, mine in _by_path(counts).items()
        for finding in counter_findings(name, mine, common(users[name]))
    )


def flushed_findings(journal: Journal, visits: Sequence[Visit], beds: Mapping[str, Testbed]) -> tuple[Finding, ...]:
    """Of each target that is written, by the first that tells: its testbed or server, its times, or the counters of its
    drives, which are read of few targets.
    """
    cells = {cell.key: cell for cell, _ in journal.cells()}
    written = {cell.target for cell in cells.values() if cell.writes}
    paths, usages = counted_paths(journal), cache(journal.usages)
    found: list[Finding] = []
    for target in (one for one in journal.targets() if one.name in written):
        name, bed, path = target.name, beds.get(target.name), paths.get(target.name)
        if why := dropped_flushes(target, bed):
            found.append(Finding(FindingCode.FLUSHES, {"why": why}, target=name))
            continue
        mine = [visit for visit in visits if cells[visit.cell_key].target == name]
        parts = [part for visit in mine for part in visit.parts if part.flush]
        whole = Histogram.merge(part.histogram for part in parts if part.lat_kind == "flushed")
        alone = Histogram.merge(part.flush.histogram for part in parts if part.flush)
        if early := early_findings(name, bed, path, whole, alone):
            found += early
        elif path is not None and (path.caches or path.nfs):
            found += _sent_flushes(name, path, mine, usages(), cells)
    return tuple(found)


def _sent_flushes(
    name: str, path: CountedPath, visits: Sequence[Visit], usages: Telemetry, cells: Mapping[str, Cell]
) -> tuple[Finding, ...]:
    """By the flushes that the drives counted, against those that were waited for."""
    known = [(one, Flush.joined(part.flush for part in one.parts)) for one in visits if one.batch_id in usages]
    made = [(visit, flush.count) for visit, flush in known if flush is not None]
    sent = [path.counted_flushes(usages[batch]) for batch in {visit.batch_id for visit, _ in made}]
    if not sent or None in sent:
        return ()
    apart = sum(count / cells[visit.cell_key].outstanding for visit, count in made)
    waited, keys = sum(count for _, count in made), tuple(dict.fromkeys(visit.cell_key for visit, _ in made))
    return flush_findings(name, path, waited, apart, sum(one or 0 for one in sent), keys)


def foreign_traffic(counts: Counts) -> tuple[OtherTraffic, ...]:
    """What else was on each path."""
    return tuple(one for name, mine in _by_path(counts).items() for one in other_traffic(name, mine))


def _by_path(counts: Counts) -> dict[str, list[BatchCount]]:
    """Counts of each path, those that several targets share once."""
    by_path: dict[str, dict[tuple[int, str], BatchCount]] = {}
    for (_, batch_id), several in counts.items():
        for count in several:
            by_path.setdefault(count.path, {})[batch_id, count.direction] = count
    return {name: list(mine.values()) for name, mine in by_path.items()}
