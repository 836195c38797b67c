# SPDX-License-Identifier: Apache-2.0
"""The gates that need more than one visit's own figures: kernel counters over a batch, and the ceilings of the path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from ioatlas.answer.analysis.ceilings import Ceiling, CeilingsOf
from ioatlas.answer.analysis.counters import CountedPath, excess, shortage
from ioatlas.answer.results.evidence import ceilings_by_cell
from ioatlas.load.fio.collect import SectionResult
from ioatlas.load.machine.telemetry import Watched, flushed_drives
from ioatlas.load.machine.typed_in import testbeds
from ioatlas.model.cell import Cell
from ioatlas.store.journal import Journal, PlannedVisit

REDUCED = ("buffer_compress_percentage", "dedupe_percentage", "zero_buffers", "scramble_buffers")
"""Options with which fewer bytes may rightly reach a device than are written."""
AMPLIFIED = 3
"""Visits by themselves with more counted than claimed, after which that is taken for a property of the target."""


def counted_path(watched: Watched) -> CountedPath:
    """Where the bytes of a target are counted: at its NFS mount, its block devices, or its network interfaces."""
    if watched.mount_point:
        return CountedPath(nfs=True)
    if watched.tops:
        return CountedPath(devices=watched.tops, caches=flushed_drives(watched.devices))
    return CountedPath(interfaces=watched.interfaces[:1] if watched.one_way else ())


class Gates:
    """One session's gates. `contradictions` judges a batch, `ceiling` bounds a cell."""

    def __init__(
        self, journal: Journal, watched: Mapping[str, Watched], paths: Mapping[str, CountedPath] | None = None
    ) -> None:
        """paths: where bytes were counted, for a session of before; found from `watched` when left out."""
        self._journal = journal
        self._paths = dict(paths or {name: counted_path(one) for name, one in watched.items()})
        self._over: Counter[tuple[CountedPath, str]] = Counter()

    @property
    def paths(self) -> dict[str, CountedPath]:
        return dict(self._paths)

    def contradictions(
        self, results: Iterable[SectionResult], planned: Mapping[int, PlannedVisit], usage: Mapping[str, Any] | None
    ) -> dict[int, str]:
        """{visit_id: reason} of the visits whose batch the counters contradict; usage as the journal keeps it, None
        when it is not known.

        Targets on one path are judged together. Too few bytes void direct I/O only: buffered I/O is meant to be
        answered by the cache, and reducible data to be reduced. Far too many bytes void visits of a batch, which are
        then made again by themselves; what stays too much there is amplification, and stands.
        """
        made = [result for result in results if result.visit is not None]
        if usage is None or not made:
            return {}
        reasons: dict[int, str] = {}
        for path in dict.fromkeys(self._paths.values()):
            mine = [result for result in made if self._paths.get(result.section.cell.target) == path]
            for direction in ("read", "write"):
                reasons = {**self._contradicted(path, direction, mine, planned, usage), **reasons}
        return reasons

    def _contradicted(
        self,
        path: CountedPath,
        direction: str,
        mine: list[SectionResult],
        planned: Mapping[int, PlannedVisit],
        usage: Mapping[str, Any],
    ) -> dict[int, str]:
        moved = [
            (result.section, part)
            for result in mine
            for part in (result.visit.parts if result.visit else ())
            if part.direction == direction
        ]
        strict = [(section, part) for section, part in moved if not _may_be_short(section.cell)]
        counted = path.counted_bytes(usage, direction)
        short = shortage(path, direction, sum(part.io_bytes for _, part in strict), counted)
        if short:
            return {section.visit_id: short for section, _ in strict}
        over = excess(
            path, direction, sum(part.io_bytes for _, part in moved), sum(part.total_ios for _, part in moved), counted
        )
        if not over or self._over[path, direction] >= AMPLIFIED:
            return {}
        if all(planned[section.visit_id].alone for section, _ in moved):
            self._over[path, direction] += 1
            return {}
        return {section.visit_id: over for section, _ in moved}

    def ceiling(self, cell: Cell, direction: str) -> Ceiling | None:
        """The tightest bound by arithmetic of the path to the cell's target; None when there is none, the cell asks
        the page cache, or several clients make the load: the path is not this machine's.
        """
        if not cell.integer("direct", 1):
            return None
        bounds = self._ceilings(cell, direction)
        return next((one for one in bounds if one.kind != "measured" and one.bw_bytes_per_s), None)

    @cached_property
    def _ceilings(self) -> CeilingsOf:
        """By the testbeds as the last session saw them. A token bucket lets its burst through at once: a short window
        rightly exceeds its rate.
        """
        sessions = self._journal.sessions()
        beds = testbeds(self._journal.testbed(sessions[-1]), self._journal.directory) if sessions else {}
        return ceilings_by_cell(
            {
                name: replace(bed, facts=tuple(fact for fact in bed.facts if fact.name != "nic.shaped_rate"))
                for name, bed in beds.items()
            }
        )


def _may_be_short(cell: Cell) -> bool:
    return any(not one.integer("direct", 1) or any(one.option.get(name) for name in REDUCED) for one in cell.members)
