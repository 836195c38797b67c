# SPDX-License-Identifier: Apache-2.0
"""Visits made again from the raw output of their batches, by the procedure that made them, and held against the
journal: their figures, their verdicts, and which of them were discarded.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ioatlas.answer.analysis.counters import CountedPaths
from ioatlas.answer.law.cells import METHOD as LAW
from ioatlas.load.fio.batch import TIMED_FLUSHES, Batch, job_text
from ioatlas.load.fio.collect import JOB_FILE
from ioatlas.load.fio.executor import SystemExecutor, read_clock
from ioatlas.load.fio.series import ARCHIVE
from ioatlas.load.machine.power import PowerLog
from ioatlas.load.machine.telemetry import Sample, Watched
from ioatlas.measure.procedures.options import CAMPAIGN
from ioatlas.measure.procedures.registry import procedure_of
from ioatlas.measure.run.environment import Environment, sites_of
from ioatlas.measure.run.gates import Gates
from ioatlas.measure.run.intake import reinstated, unconfirmed
from ioatlas.measure.run.plan import Plan, recorded_plan
from ioatlas.measure.run.procedure import Procedure
from ioatlas.measure.run.session import Session
from ioatlas.measure.run.telemetry import RAW, Seen
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.outcomes import Voided
from ioatlas.model.verdict import ReasonCode, Verdict
from ioatlas.model.visit import REPLICATES_OF_A_SET_UP, BatchStatus, Part, Purpose, Visit, VisitStatus
from ioatlas.store import archive
from ioatlas.store.journal import Intake, Journal, PlannedVisit

PAUSE = "startdelay="
_NOT_BEFORE = frozenset(f"{name}={value}" for name, value in TIMED_FLUSHES.items())
"""Lines that older versions did not write, and that change no I/O."""
TOLERANCE, FITTED_TOLERANCE = 1e-9, 1e-3
"""Relative. Sums round otherwise on other processors; a model that is fitted there ends elsewhere."""
FITTED = ("predicted", LAW)
"""Kind and method of values that such a model tells."""
EMPTY: tuple[Any, ...] = (None, "", [], {}, ())
"""What a name that one of two versions does not have holds where there is nothing to say."""
LINES = RAW.removesuffix(".gz")
NOT_RECORDED = "was not recorded"
"""Ends what is said of a name that a bundle lacks: an earlier version did not have it."""
NOT_FROM_LINES = frozenset({"telemetry_seconds", "meters_failed", "watts", "also_moved", "waiting", "cpu"})
OF_CLIENTS = "clients"


@dataclass
class Remade:
    """What came of making the visits again.

    visits: how many were made again from raw output. unlike: figures that are others. misjudged: visits that the rules
    judge otherwise. missing: what the journal tells of and no raw output shows. otherwise: job files that ask for
    something else than the journal, and counters that are not those of their lines.
    """

    visits: int = 0
    unlike: list[str] = field(default_factory=list)
    misjudged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    otherwise: list[str] = field(default_factory=list)


def remake(directory: Path) -> Remade:
    """Read every batch of the campaign in `directory` again. The directory is this process's own: logs are unpacked in
    it.
    """
    with closing(Journal.open(directory)) as journal:
        plan = recorded_plan(journal, CAMPAIGN.tables)
        procedure = procedure_of(plan.spec, journal.record_names())
        return _Reading(journal, plan, procedure).all()


class _Reading:
    def __init__(self, journal: Journal, plan: Plan, procedure: Procedure) -> None:
        self.journal = journal
        self.paths = journal.kept(CountedPaths)
        environment = Environment(
            SystemExecutor(),
            watched=lambda _location: Watched((), (), ""),
            telemetry=_no_telemetry,
            meters=lambda _directory: [],
            stop_asked=lambda: True,
        )
        session = Session(journal, plan, sites_of(journal, plan, environment), environment, procedure.odd_sizes)
        self.cells, self.steps = session.cells, procedure.steps(session)
        self.kept = {visit.visit_id: visit for visit in journal.visits(with_series=True)}
        self.statuses = journal.statuses()
        self.found = Remade()
        self.voided = self._voided()
        self.late: list[tuple[int, str, int, Any]] = []
        self.judged: dict[int, Visit] = {}

    def all(self) -> Remade:
        sessions = self.journal.sessions()
        usages = self.journal.usages()
        started = {batch_id: began for batch_id, began, _ in self.journal.batch_spans()}
        gates: dict[int, Gates] = {}
        for row in self.journal.batches():
            session = max(1, sum(one.started_at <= started[row.batch_id] for one in sessions))
            if session not in gates:
                gates[session] = _gates(self.journal, session, self.paths)
            batch, planned = self.steps.made_before(row.batch_id, row.directory)
            _unpack_logs(batch.directory)
            if row.status is not BatchStatus.RUNNING and planned:
                self._check_job(batch)
                self._read(batch, planned, gates[session], usages.get(row.batch_id), row.note)
        self._reinstate()
        made = {
            visit_id
            for visit_id, status in self.statuses.items()
            if status in (VisitStatus.DONE, VisitStatus.DISCARDED)
        }
        for visit_id in sorted(made - self.judged.keys()):
            self.found.missing.append(f"visit {visit_id} has no raw output")
        self.found.visits = len(self.judged)
        for visit_id in sorted(self.judged.keys() & made):
            self._compare(self.kept[visit_id], self.judged[visit_id])
        return self.found

    def _read(
        self, batch: Batch, planned: dict[int, PlannedVisit], gates: Gates, usage: Mapping[str, Any] | None, note: str
    ) -> None:
        results = self.steps.read(batch, planned)
        # What was counted did not judge a batch that was stopped, or read back after a crash.
        ways = [(gates, usage), (gates, None), (None, None)]
        if note == "read back after a crash":
            ways = [(None, None)]
        intakes = [self.steps.take_in(results, planned, *way) for way in ways]
        intake = next((one for one in intakes if self._agrees(one)), intakes[0])
        differing = unlike_lines(batch.directory, usage, intake.visits)
        counted = min(differing, key=lambda one: one.endswith(NOT_RECORDED), default="")
        if counted:
            self.found.otherwise.append(f"batch {batch.batch_id}: {counted}")
        for visit in intake.visits:
            self.judged[visit.visit_id] = visit
            if visit.discarded and visit.discarded[0].code is ReasonCode.LATE:
                self.late.append((visit.visit_id, visit.cell_key, visit.replicate, visit.verdict))

    def _check_job(self, batch: Batch) -> None:
        """What ran is what the journal says was to run. When its parts began depends on pauses that nobody keeps."""
        try:
            ran = (batch.directory / JOB_FILE).read_text().splitlines()
        except OSError:
            return
        told = (
            [line for line in lines if line[:1] not in ";#" and line not in _NOT_BEFORE]
            for lines in (ran, job_text(batch).splitlines())
        )
        for one, other in zip_longest(*told, fillvalue=""):  # comments and empty lines run nothing
            if one != other and not (one.startswith(PAUSE) and other.startswith(PAUSE)):
                self.found.otherwise.append(f"batch {batch.batch_id} ran {one[:60]!r}, by the journal {other[:60]!r}")
                return

    def _voided(self) -> frozenset[int]:
        """Visits of replicates that the journal tells to have moved, and that were voided as a whole. No visit's own
        output shows that; of a replicate of which one counts, none is voided.
        """
        told = {(one.target, one.replicate) for one in self.journal.kept(Voided).replicates}
        replicates: dict[tuple[str, int], list[Visit]] = {}
        for visit in self.kept.values():
            if visit.purpose is Purpose.SWEEP:
                target = self.cells[visit.cell_key].target
                replicates.setdefault((target, visit.replicate), []).append(visit)
        return frozenset(
            visit.visit_id
            for (target, replicate), mine in replicates.items()
            if (target, replicate % REPLICATES_OF_A_SET_UP) in told and all(visit.discarded for visit in mine)
            for visit in mine
        )

    def _agrees(self, intake: Intake) -> bool:
        """Whether a way to judge a batch gives the discards that the journal has."""
        return all(
            visit.visit_id in self.voided
            or bool(visit.discarded) == (self.statuses.get(visit.visit_id) is VisitStatus.DISCARDED)
            or (bool(visit.discarded) and visit.discarded[0].code is ReasonCode.LATE)
            for visit in intake.visits
        )

    def _reinstate(self) -> None:
        """Visits that seemed to settle late and count after all, by the longer ones that came later."""
        order = [self.judged[visit_id] for visit_id in self.kept if visit_id in self.judged]
        for visit_id, _, verdict in reinstated(self.late, order):
            self._count(visit_id, verdict)
        swept = {one.cell_key for one in self.judged.values() if one.purpose is Purpose.SWEEP and not one.discarded}
        for visit_id, cell_key, _, verdict in self.late:
            if cell_key not in swept and self.statuses.get(visit_id) is VisitStatus.DONE:
                self._count(visit_id, unconfirmed(verdict))
                swept.add(cell_key)

    def _count(self, visit_id: int, verdict: Verdict) -> None:
        self.judged[visit_id] = replace(self.judged[visit_id], discarded=(), verdict=verdict, window_start_ms=0)

    # -- one visit -------------------------------------------------------------------------------------------

    def _compare(self, kept: Visit, made: Visit) -> None:
        unlike = next(_differences(kept, made, timed=not self.cells[kept.cell_key].work_bounded), "")
        if unlike:
            self.found.unlike.append(f"visit {kept.visit_id}: {unlike}")
        elif over_time := next(_over_time(kept, made), ""):
            self.found.misjudged.append(f"visit {kept.visit_id}: {over_time}")
        if kept.purpose is Purpose.PROBE:
            return
        if bool(kept.discarded) != bool(made.discarded) and kept.visit_id not in self.voided:
            is_, was = ("discarded", "kept") if made.discarded else ("kept", "discarded")
            self.found.misjudged.append(f"visit {kept.visit_id} was {was}; by the rules it is {is_}")
        elif (kept.verdict.text, kept.window_start_ms) != (made.verdict.text, made.window_start_ms):
            was, is_ = (f"'{one.verdict.text}' from {one.window_start_ms} ms on" for one in (kept, made))
            self.found.misjudged.append(f"visit {kept.visit_id} is called {was}; by the rules it is {is_}")


def _no_telemetry(*_: object) -> Any:
    return None


def _gates(journal: Journal, sessions: int, paths: CountedPaths) -> Gates:
    """The gates as a session had them. sessions: how many there were by then."""
    then = copy.copy(journal)
    known = journal.sessions()[:sessions]
    then.sessions = lambda: known  # type: ignore[method-assign]
    return Gates(then, {}, paths.paths)


def _unpack_logs(directory: Path) -> None:
    """Beside the outputs that they are of: of each client in a folder of its own."""
    for packed in sorted(directory.rglob(ARCHIVE)):
        with archive.open_file(packed) as logs:
            for name in logs.members:
                place = packed.parent / name
                if "/" in name or not name.endswith(".log") or place.exists():
                    raise IoAtlasError("no batch has such a log", where=f"{packed}: {name[:80]!r}")
                place.write_bytes(logs.read(name))


def _differences(kept: Visit, made: Visit, *, timed: bool) -> Iterator[str]:
    """What is another figure. timed: whether raw output tells when the visit started."""
    if (kept.batch_id, kept.section, kept.replicate, kept.seed) != (
        made.batch_id,
        made.section,
        made.replicate,
        made.seed,
    ):
        yield "it stands in another place"
    figures: list[tuple[str, Callable[[Visit], float | None]]] = [
        ("error", lambda visit: visit.error),
        ("cpu_percent", lambda visit: visit.cpu_percent),
    ]
    if timed:
        figures.append(("started_at", lambda visit: visit.started_at))
    for name, of in figures:
        if not same(of(kept), of(made)):
            yield f"{name} is {of(kept)}, by its raw output {of(made)}"
    parts = {(part.stream, part.direction): part for part in made.parts}
    if parts.keys() != {(part.stream, part.direction) for part in kept.parts}:
        yield "its raw output has other directions"
        return
    for part in kept.parts:
        yield from _part_differences(part, parts[part.stream, part.direction])


def _part_differences(kept: Part, made: Part) -> Iterator[str]:
    for name in ("io_bytes", "total_ios", "runtime_ms", "lat_mean_ns", "lat_kind", "short_ios", "drop_ios"):
        one, other = getattr(kept, name), getattr(made, name)
        if not same(one, other):
            yield f"{kept.direction} {name} is {one}, by its raw output {other}"
    if kept.flush != made.flush:
        yield f"{kept.direction} flushes are not those of its raw output"
    if kept.histogram.bins != made.histogram.bins:
        yield f"{kept.direction} latencies are not those of its raw output"


def _over_time(kept: Visit, made: Visit) -> Iterator[str]:
    """Where rates and latencies over time are others. How logs become a series is a rule, and versions differ in it."""
    parts = {(part.stream, part.direction): part.series for part in made.parts}
    for part in kept.parts:
        one, other = part.series, parts[part.stream, part.direction]
        if one.interval_ms != other.interval_ms or one.end_ms != other.end_ms:
            yield f"{part.direction} series has another time grid than its logs"
        for name in ("bw_bytes_per_s", "lat_mean_ns"):
            values, others = getattr(one, name), getattr(other, name)
            if len(values) != len(others) or not all(map(same, values, others)):
                yield f"{part.direction} {name} over time is not that of its logs"


def unlike(kept: Any, made: Any, place: str, tolerance: float = TOLERANCE) -> Iterator[str]:
    """Where two documents differ by more than rounding."""
    if isinstance(kept, dict) and isinstance(made, dict):
        if made.get("kind") in FITTED or made.get("method") in FITTED:
            tolerance = FITTED_TOLERANCE
        for name in sorted(kept.keys() | made.keys()):
            if name in kept and name in made:
                yield from unlike(kept[name], made[name], f"{place}.{name}", tolerance)
            elif (kept | made)[name] not in EMPTY:
                yield f"{place}.{name} {'is not computed' if name in kept else NOT_RECORDED}".lstrip(".")
    elif isinstance(kept, list) and isinstance(made, list):
        if len(kept) != len(made):
            yield f"{place} has {len(kept)} entries, computed {len(made)}".lstrip(".")
        for number, (one, other) in enumerate(zip(kept, made, strict=False)):
            yield from unlike(one, other, f"{place}[{number}]", tolerance)
    elif not same(kept, made, tolerance):
        yield f"{place} is {str(kept)[:40]!r}, computed {str(made)[:40]!r}".lstrip(".")


def same(one: Any, other: Any, tolerance: float = TOLERANCE) -> bool:
    if bool not in (type(one), type(other)) and isinstance(one, int | float) and isinstance(other, int | float):
        return bool(abs(one - other) <= tolerance * max(abs(one), abs(other)))
    return type(one) is type(other) and bool(one == other)


def unlike_lines(directory: Path, kept: Mapping[str, Any] | None, visits: Sequence[Visit]) -> Iterator[str]:
    """Where what the journal tells of a batch's counters is not what its lines say. Several clients are left out."""
    path = directory / LINES
    if kept is None or OF_CLIENTS in kept or not path.exists() or len(samples := samples_of(path)) < 2:
        return
    seen = Seen(samples, (), 0.0, PowerLog(()))
    made = json.loads(json.dumps({**asdict(seen.usage), **seen.record(visits)}))
    told = kept.get("visits") or {}
    pairs = [(name, kept.get(name), made[name]) for name in made if name != "visits" and name in kept]
    pairs += [
        (f"{name} of visit {number}", told[number].get(name), entry[name])
        for number, entry in made["visits"].items()
        if number in told
        for name in entry
    ]
    for name, one, other in pairs:
        if name.split()[0] not in NOT_FROM_LINES:
            yield from unlike(one, other, name)


def samples_of(path: Path) -> tuple[Sample, ...]:
    """The readings of a batch's counters."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    clock = read_clock(path.parent)
    return tuple(Sample(clock.session(row["at"]), row["monotonic_seconds"], row["raw"]) for row in rows if "raw" in row)
