# SPDX-License-Identifier: Apache-2.0
"""The visits that clients made as one, on one target or several: the sum in the time in which all ran, and each share.

Only that common time counts: before it and after it fewer share the target, or the path to it, and each gets more. What
fio counted of a job is lessened by what its own series puts outside. Histograms are merged by count, over all of the
time: they cannot be cut.

What a batch's directory says of its clients: `clients.json`, and a directory for each client with the files that a fio
of its own would have left there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ioatlas.load.fio.batch import Section
from ioatlas.load.fio.collect import SectionResult, complete_output, read_batch
from ioatlas.load.fio.series import series_of
from ioatlas.load.fleet.client import ClockOffset
from ioatlas.load.fleet.sharing import RATES, rate_of
from ioatlas.model.cell import Options
from ioatlas.model.units import grouped
from ioatlas.model.verdict import Reason, ReasonCode
from ioatlas.model.visit import Flush, Histogram, Part, Purpose, SectionState, Series, Visit, VisitShare
from ioatlas.store import confined

RECORD = "clients.json"
CLIENTS = "clients"


@dataclass(frozen=True)
class BatchRecord:
    """The clients of one batch.

    clocks: {client: its clock against ours}. taking: {fio's name of a job: the clients that take part}.
    lost: {client: why}, of those that were lost while it ran.
    """

    clocks: Mapping[str, ClockOffset]
    taking: Mapping[str, tuple[str, ...]]
    lost: Mapping[str, str] = field(default_factory=dict)

    def write(self, directory: Path) -> None:
        record = {
            "clocks": {name: asdict(clock) for name, clock in self.clocks.items()},
            "taking": {name: list(clients) for name, clients in self.taking.items()},
            "lost": dict(self.lost),
        }
        confined.write_text(directory / RECORD, json.dumps(record, indent=1) + "\n")


def client_directory(directory: Path, name: str) -> Path:
    """Where the files of a client lie, below a batch's directory."""
    return directory / CLIENTS / confined.plain_name(name)


def read_record(directory: Path) -> BatchRecord | None:
    """The record of a batch; None where one client alone made it, or where it cannot be read."""
    path = directory / RECORD
    if not confined.is_ordinary(path):
        return None
    try:
        stored = json.loads(confined.read_text(path))
        clocks = {str(name): _clock(told) for name, told in stored["clocks"].items()}
        taking = {str(job): tuple(str(name) for name in names) for job, names in stored["taking"].items()}
        lost = {str(name): str(why) for name, why in stored["lost"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if not all(name in clocks for names in taking.values() for name in names):
        return None
    return BatchRecord(clocks, taking, lost)


def _clock(told: Mapping[str, Any]) -> ClockOffset:
    return ClockOffset(float(told["offset_ms"]), abs(float(told["error_ms"])))


def directories_of(directory: Path) -> tuple[Path, ...]:
    """A batch's directory, and those of its clients where it has some."""
    below = directory / CLIENTS
    known = sorted(one for one in below.iterdir() if one.is_dir()) if below.is_dir() and not below.is_symlink() else []
    return (directory, *(one for one in known if not one.is_symlink()))


SKEWS_IN_WINDOW = 10
"""How many times the start skew the common time is at least. 51 visits of 10 to 20 times gave what others of their load
did, to 0.2% ± 1.9% (`bench/studies`): what one client did before the others started is not counted.
"""
LEAST_MS = 10.0
"""Skews below this are those of fio's own turns and logs, which no window has to outweigh."""
_WORST_FIRST = (SectionState.FAILED, SectionState.CUT_SHORT, SectionState.OVER_RUN)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Source:
    """What makes one job of a section: a client, '' where it is this machine alone; on a target of those loaded
    together, '' where it is one alone.
    """

    client: str = ""
    target: str = ""

    def __str__(self) -> str:
        return f"{self.target} from {self.client}" if self.client and self.target else self.client or self.target


_Results = Mapping[_Source, Mapping[int, SectionResult]]
_ALONE = BatchRecord({"": ClockOffset()}, {})
"""Of a batch that this machine makes without others."""


def read_batch_of(
    directory: Path, sections: tuple[Section, ...], batch_id: int, blocks: dict[int, int], purposes: dict[int, Purpose]
) -> list[SectionResult]:
    """As `fio.collect.read_batch`, whether one client made the batch or several, on one target or several at once."""
    record = read_record(directory)
    if record is None and not any(section.places for section in sections):
        return read_batch(directory, sections, batch_id, blocks, purposes)
    found: dict[_Source, dict[int, SectionResult]] = {}
    for client in (record or _ALONE).clocks:
        place = client_directory(directory, client) if client else directory
        output = complete_output(place)
        if output is None:
            continue
        mine: dict[_Source, list[Section]] = {}
        for section in sections:
            if client in _taking(record, section):
                for source, part in _parts_of(section, client, _taking(record, section)):
                    mine.setdefault(source, []).append(part)
        for source, parts in mine.items():
            results = read_batch(place, tuple(parts), batch_id, blocks, purposes, output)
            found[source] = {result.section.visit_id: result for result in results}
    if not any(found.values()):
        return []
    return [_joined(place, section, record, found) for place, section in enumerate(sections)]


def _parts_of(section: Section, client: str, clients: Sequence[str]) -> list[tuple[_Source, Section]]:
    """What a client makes of a section: all of it, or the job of each target that is loaded."""
    own = _own(section, client, clients) if client else section
    if not section.places:
        return [(_Source(client), own)]
    return [
        (_Source(client, target), replace(own, only=number)) for number, (target, _) in enumerate(section.places, 1)
    ]


def _own(section: Section, name: str, names: Sequence[str]) -> Section:
    """A section as one of its clients made it: with its part of the offered rate, from which each I/O's due time
    follows.
    """
    if not section.logs_each_io:
        return section
    place, cell = names.index(name), section.cell

    def parts(options: Options) -> Options:
        return tuple((key, rate_of(value, place, len(names)) if key in RATES else value) for key, value in options)

    streams = tuple((stream, parts(options)) for stream, options in cell.streams)
    return replace(section, cell=replace(cell, options=parts(cell.options), streams=streams))


def outweighing_ms(skew_ms: float) -> int:
    """How long loads have to run that start so far apart, in whole tenths of a second."""
    return 100 * math.ceil((SKEWS_IN_WINDOW + 2) * skew_ms / 100)


def skew_reason(visit: Visit) -> Reason | None:
    """Why a visit of several clients or targets does not count: they did not run together for long enough. None when
    it does.
    """
    together_ms = max((part.runtime_ms for part in visit.parts), default=0.0)
    skew_ms = visit.skew_ms + visit.clock_error_ms
    clients, targets = {part.name for part in visit.clients}, {part.name for part in visit.targets}
    if max(len(clients), len(targets)) < 2 or skew_ms <= LEAST_MS:
        return None
    if together_ms >= SKEWS_IN_WINDOW * skew_ms:
        return None
    who = "clients" if len(clients) > 1 else "loads"
    told = f"the {who} started {skew_ms:.0f} ms apart and ran together for {together_ms:.0f} ms"
    return Reason(ReasonCode.SKEW, f"{ReasonCode.SKEW}: {told}")


def _taking(record: BatchRecord | None, section: Section) -> tuple[str, ...]:
    return ("",) if record is None else record.taking.get(section.jobs[0][0], ())


def _joined(place: int, section: Section, record: BatchRecord | None, results: _Results) -> SectionResult:
    """The results of one section on all its clients and targets as one."""
    clients = _taking(record, section)
    sources = [source for client in clients for source, _ in _parts_of(section, client, clients)]
    found = {one: results[one][section.visit_id] for one in sources if section.visit_id in results.get(one, {})}
    if sources == [_Source()]:
        return found[_Source()]
    record = record or _ALONE
    for state in _WORST_FIRST:
        bad = [(source, result) for source, result in found.items() if result.state is state]
        if bad and state is not SectionState.OVER_RUN:
            source, result = bad[0]
            tried = result.visit if state is SectionState.FAILED else None  # it ran, and is made again
            return SectionResult(section, state, tried, f"{source}: {result.reason}")
    missing = [source for source in sources if source not in found or found[source].visit is None]
    if missing or not sources:
        why = record.lost.get(missing[0].client, "it gave no result") if missing else "no client took part"
        return SectionResult(section, SectionState.CUT_SHORT, None, f"{missing[0] if missing else 'fleet'}: {why}")
    loads = [_Load.of(source, result, record) for source, result in found.items()]
    begin, end = max(one.begin for one in loads), min(one.end for one in loads)
    together_ms = int(1000 * (end - begin))
    if not all(one.visit.started_at for one in loads):
        who = "targets were not loaded" if clients == ("",) else "clients did not run"
        return SectionResult(section, SectionState.FAILED, None, f"the {who} at the same time")
    if together_ms < section.interval_ms:  # it does not count (`skew_reason`), and is made again longer
        together_ms, begin = section.interval_ms, end - section.interval_ms / 1000
    merged = replace(section, runtime_ms=together_ms)
    visit = _sum(place, merged, loads, begin)
    over = [one for one in found.values() if one.state is SectionState.OVER_RUN]
    return SectionResult(
        merged,
        over[0].state if over else SectionState.FINISHED,
        visit,
        over[0].reason if over else "",
        max(one.overlap_ms for one in found.values()),
        next((f"{source}: {one.overloaded}" for source, one in found.items() if one.overloaded), ""),
    )


@dataclass(frozen=True)
class _Load:
    """One job's visit, by our clock: seconds since the epoch. origin: where its series begin, at the first answer;
    begin: when it asked for that.
    """

    source: _Source
    visit: Visit
    origin: float
    begin: float
    end: float
    clock_error_ms: float

    @classmethod
    def of(cls, source: _Source, result: SectionResult, record: BatchRecord) -> _Load:
        assert result.visit is not None
        clock = record.clocks[source.client]
        origin = result.visit.started_at - clock.offset_ms / 1000
        begin = origin - max((_asked_before_ms(part.series) for part in result.visit.parts), default=0.0) / 1000
        ran_ms = max((part.runtime_ms for part in result.visit.parts), default=0.0)
        return cls(source, result.visit, origin, begin, begin + ran_ms / 1000, clock.error_ms)


def _asked_before_ms(series: Series) -> float:
    """How long before the series begin their first I/O was asked for: where I/Os take long, the first answer comes long
    after the start, and not to all at once.
    """
    first_ns = series.lat_mean_ns[0] if len(series.lat_mean_ns) else 0.0
    return max(0.0, first_ns / 1e6 - series.interval_ms)


_Piece = tuple[_Load, Part, "_Cut"]
"""What one job did of a stream and direction: over all of its time, and in the common time."""


def _sum(place: int, section: Section, loads: Sequence[_Load], begin: float) -> Visit:
    """The visit that all of them made together, over the common time that starts at `begin`."""
    kinds = dict.fromkeys((part.stream, part.direction) for one in loads for part in one.visit.parts)
    parts: list[Part] = []
    clients: list[VisitShare] = []
    targets: list[VisitShare] = []
    for kind in kinds:
        pieces = [
            (one, part, _cut(one, part, section, begin))
            for one in loads
            for part in one.visit.parts
            if (part.stream, part.direction) == kind
        ]
        parts.append(_part([part for _, part, _ in pieces], [cut for _, _, cut in pieces], section))
        for name, mine in _by(pieces, lambda source: source.client).items():
            clients.append(VisitShare(**_share(mine, section), name=name))
        for name, mine in _by(pieces, lambda source: source.target).items():
            targets.append(VisitShare(**_share(mine, section), name=name))
    first = loads[0].visit
    busy = [one.visit.cpu_percent for one in loads if one.visit.cpu_percent is not None]
    return replace(
        first,
        cell_key=section.cell.key,
        section=place,
        started_at=begin,
        parts=tuple(parts),
        cpu_percent=max(busy, default=None),
        load_cores=_cores([one.visit for one in loads]),
        clients=tuple(clients),
        clock_error_ms=max(one.clock_error_ms for one in loads) if len(loads) > 1 else 0.0,
        targets=tuple(targets),
    )


def _cores(visits: Sequence[Visit]) -> tuple[float, float] | None:
    """What all loads took of processors together; None where one does not tell."""
    told = [one.load_cores for one in visits if one.load_cores is not None]
    if len(told) < len(visits):
        return None
    return sum(user for user, _ in told), sum(system for _, system in told)


def _by(pieces: Sequence[_Piece], name_of: Callable[[_Source], str]) -> dict[str, list[_Piece]]:
    """The pieces of each client, or of each target; nothing where there are none to tell apart."""
    return grouped((name, piece) for piece in pieces if (name := name_of(piece[0].source)))


def _share(pieces: Sequence[_Piece], section: Section) -> dict[str, Any]:
    """What one client, or one target, has of a stream and direction."""
    whole = _part([part for _, part, _ in pieces], [cut for _, _, cut in pieces], section)
    begin = min(load.begin for load, _, _ in pieces)
    return {
        "direction": whole.direction,
        "started_at": begin,
        "runtime_ms": 1000 * (max(load.end for load, _, _ in pieces) - begin),
        "io_bytes": whole.io_bytes,
        "total_ios": whole.total_ios,
        "bw_bytes_per_s": whole.io_bytes * 1000 / section.runtime_ms,
        "lat_mean_ns": whole.lat_mean_ns,
        "lat_p99_ns": whole.histogram.percentile_ns(99),
        "stream": whole.stream,
        "series": whole.series,
    }


@dataclass(frozen=True)
class _Cut:
    """What of one job's part lies in the common time. moved: bytes in each interval; latency: of each interval."""

    io_bytes: int
    ios: int
    moved: Floats
    latency_ns: Floats


def _cut(load: _Load, part: Part, section: Section, begin: float) -> _Cut:
    """The part of one job in the common time, its own series telling what lies outside."""
    n = max(1, section.runtime_ms // section.interval_ms)
    shift_ms = 1000 * (begin - load.origin)
    edges = shift_ms + np.arange(n + 1, dtype=np.float64) * section.interval_ms
    series = part.series
    if not series.end_ms:
        share = min(1.0, section.runtime_ms / part.runtime_ms) if part.runtime_ms else 0.0
        return _counted(part, share, np.full(n, part.io_bytes * share / n), np.full(n, part.lat_mean_ns or 0.0))
    own_edges = np.concatenate(([0.0], np.asarray(series.end_ms, dtype=np.float64)))
    each = np.asarray(series.bw_bytes_per_s) * np.diff(own_edges) / 1000
    done = np.concatenate(([0.0], np.cumsum(each)))
    inside = float(np.diff(np.interp([shift_ms, shift_ms + section.runtime_ms], own_edges, done))[0])
    if done[-1] <= 0:
        return _counted(part, 0.0, np.zeros(n), np.zeros(n))
    slots = np.clip(np.searchsorted(own_edges, (edges[:-1] + edges[1:]) / 2) - 1, 0, len(each) - 1)
    latency = np.asarray(series.lat_mean_ns, dtype=np.float64)[slots]
    outside = done[-1] - inside
    share = max(0.0, 1 - outside / max(part.io_bytes, done[-1]))
    return _counted(part, share, np.diff(np.interp(edges, own_edges, done)), latency)


def _counted(part: Part, share: float, moved: Floats, latency_ns: Floats) -> _Cut:
    """I/Os are whole, and bytes follow from them."""
    ios = round(part.total_ios * share)
    io_bytes = round(part.io_bytes * ios / part.total_ios) if part.total_ios else 0
    return _Cut(io_bytes, ios, moved, latency_ns)


def _part(parts: Sequence[Part], cuts: Sequence[_Cut], section: Section) -> Part:
    """One stream and direction of several jobs."""
    moved = np.sum([cut.moved for cut in cuts], axis=0)
    weighted = np.sum([cut.moved * cut.latency_ns for cut in cuts], axis=0)
    latency = np.divide(weighted, moved, out=np.zeros(len(moved)), where=moved > 0)
    series = series_of(section.interval_ms, moved, latency)
    known = [(part.lat_mean_ns, part.total_ios) for part in parts if part.lat_mean_ns is not None]
    ios = sum(count for _, count in known)
    kinds = {part.lat_kind for part in parts}
    return Part(
        parts[0].direction,
        sum(cut.io_bytes for cut in cuts),
        sum(cut.ios for cut in cuts),
        section.runtime_ms,
        sum(mean * count for mean, count in known) / ios if ios else None,
        Histogram.merge(part.histogram for part in parts),
        series,
        "completion" if "completion" in kinds else parts[0].lat_kind,
        sum(part.short_ios for part in parts),
        sum(part.drop_ios for part in parts),
        parts[0].stream,
        Flush.joined(part.flush for part in parts),
    )
