# SPDX-License-Identifier: Apache-2.0
"""A campaign's result, computed anew from its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ioatlas.answer.analysis.attribution import limit_findings
from ioatlas.answer.analysis.best import with_fresh
from ioatlas.answer.analysis.drift import drift_findings, replicate_rows, replicate_table, wanders, with_set_ups
from ioatlas.answer.analysis.estimates import estimate_cells
from ioatlas.answer.analysis.findings import clock_findings, in_reading_order, law_findings, precision_findings
from ioatlas.answer.analysis.footprints import Written, with_history, written_before
from ioatlas.answer.analysis.latencies import latency_curves, time_courses
from ioatlas.answer.analysis.reduction import reduction_findings
from ioatlas.answer.analysis.shares import AMONG_CLIENTS, AMONG_TARGETS, start_findings
from ioatlas.answer.results.by_law import are_chosen, are_foretold, law_tables, laws_of, wanders_of
from ioatlas.answer.results.counts import (
    Counts,
    batch_counts,
    counted_findings,
    counted_paths,
    flushed_findings,
    foreign_traffic,
)
from ioatlas.answer.results.evidence import is_served_here, judge
from ioatlas.answer.results.factors import with_factors
from ioatlas.answer.results.parts import ResultParts, Row
from ioatlas.load.machine.typed_in import testbeds
from ioatlas.load.machine.visit_usage import cpu_shares_of, records_by_visit
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.outcomes import (
    Blocks,
    ClocksParted,
    HoleCheck,
    IdleWatts,
    Integrity,
    IntegrityCheck,
    KeptLaw,
    Meters,
    Voided,
)
from ioatlas.model.result import CampaignResult, Unmeasured
from ioatlas.model.target import Target
from ioatlas.model.testbed import Testbed, value_text
from ioatlas.model.units import format_duration, grouped
from ioatlas.model.verdict import ASIDE, BUDGET_ENDED, UnmeasuredCode, UnmeasuredReason, read_unmeasured
from ioatlas.model.visit import Purpose, Visit
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store.imported import is_imported
from ioatlas.store.journal import FILE_NAME, Journal
from ioatlas.target.placing import Places
from ioatlas.target.preparation import STEPS, WORDS

if TYPE_CHECKING:
    from ioatlas.answer.law.fit import Fit

PATH_FACTS = frozenset(
    {"mount", "device", "drive", "nic", "server", "path", "nfs", "cifs", "smb", "iscsi", "fs", "target"}
)
"""First parts of the names of facts about the path to a target, not the client."""


PartsOf = Callable[[Journal], ResultParts]


def load_result(directory: Path, parts_of: PartsOf) -> CampaignResult:
    """The result of the campaign in `directory`, with what was imported there.

    parts_of: what the campaign's procedure says otherwise than a map. Raises UsageError when there is no campaign,
    IoAtlasError when it cannot be read.
    """
    imported = is_imported(directory)
    if imported:
        from ioatlas.answer.results.imported import load_imported, with_imported
    if imported and not (directory / FILE_NAME).exists():
        result = load_imported(directory)
    else:
        with closing(Journal.open(directory)) as journal:
            result = _result(parts_of(journal))
        result = with_imported(result, directory) if imported else result
    result = with_factors(result)
    return replace(result, findings=in_reading_order(result.findings))


@dataclass(frozen=True)
class _Read:
    """What of a journal a result is made from. made: every finished visit; visits: those of the result; told: as the
    map shows them.
    """

    parts: ResultParts
    rows: list[Row]
    made: list[Visit]
    visits: list[Visit]
    told: list[Visit]
    cells: Mapping[str, Cell]
    beds: Mapping[str, Testbed]
    counts: Counts

    @classmethod
    def of(cls, parts: ResultParts) -> _Read:
        journal = parts.journal
        made = journal.visits(with_series=True)
        visits = [visit for visit in made if visit.purpose not in parts.hidden_purposes]
        rows, told = parts.rows([row for row in journal.cells() if row[1] not in ASIDE], visits)
        return cls(
            parts,
            rows,
            made,
            visits,
            told,
            {cell.key: cell for cell, _ in rows},
            testbeds(journal.latest_testbed(), journal.directory),
            batch_counts(journal, made) if parts.claims_bytes else {},
        )


def _result(parts: ResultParts) -> CampaignResult:
    read = _Read.of(parts)
    estimates, predicted, judged, fits = _estimates(read)
    if parts.spec.set_ups > 1:
        estimates = with_set_ups(estimates, read.cells, read.visits)
    axes = parts.axes(read.cells)
    afresh = {(e.cell.key, e.direction) for e in estimates if e.bw_first is not None}
    row, sessions = parts.journal.campaign(), parts.journal.sessions()
    discarded = [visit for visit in read.visits if visit.discarded]
    result = CampaignResult(
        row.campaign_id,
        row.name,
        row.created_at,
        row.tool_version,
        loaded_targets(parts.journal.targets(), parts.spec),
        axes,
        {name: value for name, value in _shared(read.cells.values()) if name not in axes},
        (*estimates, *predicted),
        tuple(_unmeasured(read, {estimate.cell.key for estimate in (*estimates, *predicted)})),
        (),
        {name: value for name, value in _settings(read).items() if value},
        tuple(session_facts(parts.journal.testbed(one)) for one in sessions),
        len(read.visits) - len(discarded),
        len(discarded),
        dict(Counter(visit.discarded[0].code.text for visit in discarded)),
        sum((one.ended_at or one.started_at) - one.started_at for one in sessions),
        bool(row.complete),
        ledger_bytes=_ledger(parts.journal),
        configurations=parts.spec.configurations,
        set_ups=parts.spec.set_ups if parts.spec.set_ups > 1 else 0,
        n_not_reached=parts.journal.count_dropped(BUDGET_ENDED, Purpose.SWEEP),
        beside=_beside(read),
        wanders=tuple(wanders_of(fits, estimates, records_by_visit(parts.journal.usages()))),
        page_tables=law_tables(fits),
        latency_curves=latency_curves(read.cells, read.told, afresh) if parts.in_replicates else (),
        time_courses=time_courses(read.cells, read.told) if parts.in_replicates else (),
    )
    return parts.finish(_with_drift(read, result, judged), read.visits)


_Estimates = tuple[Estimate, ...]


def _estimates(read: _Read) -> tuple[_Estimates, _Estimates, tuple[Finding, ...], Mapping[str, Fit]]:
    """Estimates of the cells, what the law foretells where nothing was measured, what counters, ceilings and history
    say of them, and the laws of the targets.
    """
    parts = read.parts
    fits = laws_of(parts.journal, read.cells, read.made) if parts.attributed and parts.in_replicates else {}
    estimates = parts.estimates(read.cells, read.told)
    # What a precision was asked for is told as its rule tells it, and so are campaigns of before there was a law.
    by_law = bool(fits) and parts.journal.is_kept(KeptLaw) and parts.spec.wanted.precision is None
    if by_law:
        from ioatlas.answer.law.cells import told_estimates

        able = [cell for cell, reason in read.rows if not reason.startswith(UnmeasuredCode.NOT_ADMISSIBLE)]
        estimates = told_estimates(estimates, fits, able)
    measured = {estimate.cell.key for estimate in estimates}
    predicted: _Estimates = ()
    if fits and are_foretold(parts.journal, parts.spec):
        from ioatlas.answer.law.cells import foretold

        known = measured | {key for key, _ in parts.journal.failures()}
        predicted = foretold([cell for cell, reason in read.rows if not reason and cell.key not in known], fits)
    reduced = reduction_findings(estimates)
    judged: tuple[Finding, ...] = ()
    if parts.attributed:
        estimates, judged = judge(
            estimates,
            read.told,
            read.beds,
            read.counts,
            telemetry=records_by_visit(parts.journal.usages()),
            holes=parts.journal.kept(HoleCheck).targets,
            paths=counted_paths(parts.journal),
            meters=parts.journal.kept(Meters).meters,
            idle_watts=parts.journal.kept(IdleWatts).watts,
            fits=fits,
        )
        if fits:
            from ioatlas.answer.law.limits import burst_findings

            judged = (*judged, *burst_findings(fits))
    history = load_history(parts.journal, read.cells, read.made)
    fresh = estimate_cells(read.cells, read.told, Purpose.FRESH)
    estimates = with_fresh(with_history(estimates, read.told, history), fresh)
    found = (*reduced, *judged, *limit_findings(estimates))
    return estimates, predicted, found, fits


def _unmeasured(read: _Read, have: set[str]) -> list[Unmeasured]:
    failures = dict(read.parts.journal.failures())
    ended = read.parts.journal.kept(Blocks).ended
    return [
        Unmeasured(cell, _why(reason, failures.get(cell.key), ended.get(cell.target, "")))
        for cell, reason in read.rows
        if cell.key not in have
    ]


def _why(reason: str, failure: str | None, ended: str) -> UnmeasuredReason:
    """ended: why the configuration was given up."""
    if reason or failure is None:
        return read_unmeasured(reason) if reason else UnmeasuredReason(UnmeasuredCode.NOT_REACHED, ended)
    return UnmeasuredReason(UnmeasuredCode.FAILED, failure)


def _beside(read: _Read) -> tuple[Estimate, ...]:
    """Of the loads that were made for what is told beside the map."""
    cells = {cell.key: cell for cell, reason in read.parts.journal.cells() if reason == UnmeasuredCode.BESIDE}
    return estimate_cells(cells, read.made, Purpose.BESIDE)


def _shared(cells: Iterable[Cell]) -> list[tuple[str, Any]]:
    """Options with their values that every cell has."""
    each = [set(cell.options) for cell in cells]
    return sorted(set.intersection(*each)) if each else []


def _settings(read: _Read) -> dict[str, str]:
    spec, journal = read.parts.spec, read.parts.journal
    state = next((cell.state for cell in read.cells.values()), "")
    wanted = spec.wanted
    settings = {
        "profile": spec.profile,
        "preparation": WORDS.get(state, state),
        "sharing": "all jobs share one file" if spec.sharing == "shared" else "a file for each job",
        "window": f"{spec.window_seconds:g} s and more",
        "visits": str(spec.visits),
        "set-ups": f"{spec.set_ups} of each configuration" if spec.set_ups > 1 else "",
        "precision": f"{wanted.precision:.1%} ({wanted.name} grade, at most {wanted.cap} visits)"
        if wanted.precision
        else "",
        "order seed": str(spec.order_seed),
        "budget": format_duration(spec.budget_seconds) if spec.budget_seconds else "none",
    }
    return settings | {f"{kind} {number}": text for number, (kind, text) in enumerate(journal.remarks(), start=1)}


def _ledger(journal: Journal) -> Counter[str]:
    """Bytes written to all targets together, by what they were written for."""
    ledger: Counter[str] = Counter()
    for _, _, what, count in journal.ledger():
        ledger[what] += count
    return ledger


def _with_drift(read: _Read, result: CampaignResult, judged: Sequence[Finding]) -> CampaignResult:
    """The result with how the target was over time, and with all findings in their order."""
    told = read.told if read.parts.in_replicates and not are_chosen(read.parts.journal) else []
    replicates = replicate_rows(read.cells, told, read.parts.journal.kept(Voided).replicates)
    wandered = (*wanders(read.cells, told), *result.wanders)
    return replace(
        result,
        replicates=replicates,
        wanders=wandered,
        tables=(*AMONG_TARGETS.tables(result), *AMONG_CLIENTS.tables(result), *replicate_table(replicates)),
        other_traffic=foreign_traffic(read.counts),
        others_cpu=_others_cpu(read),
        findings=(
            *integrity_findings(read.parts.journal.kept(Integrity).checks),
            *read.parts.findings(result),
            *AMONG_TARGETS.findings(result),
            *AMONG_CLIENTS.findings(result),
            *start_findings(result.estimates),
            *judged,
            *drift_findings(replicates, wandered),
            *counted_findings(read.counts),
            *flushed_findings(read.parts.journal, read.made, read.beds),
            *law_findings(read.cells, read.visits),
            *clock_findings(read.parts.journal.kept(ClocksParted).seconds),
            *precision_findings(result.estimates, read.parts.spec.wanted, read.parts.spec.budget_seconds),
        ),
    )


def _others_cpu(read: _Read) -> float | None:
    """The middle one of the visits that count. None of a server on this machine: it is one of the other programs."""
    if any(map(is_served_here, read.beds.values())):
        return None
    records = records_by_visit(read.parts.journal.usages())
    told = [cpu_shares_of(records.get(visit.visit_id, {})) for visit in read.visits if not visit.discarded]
    shares = [one.others for one in told if one is not None]
    return median(shares) if shares else None


def session_facts(record: Mapping[str, Any]) -> dict[str, str]:
    """A testbed snapshot as names and values to read; what names a person's machine stays in the journal."""
    facts = {"ioatlas": str(record["ioatlas"]), "fio": str(record["fio"])}
    several = len(record["targets"]) > 1
    for target, testbed in record["targets"].items():
        for fact in testbed["facts"]:
            if fact.get("private") or fact["value"] is None:
                continue
            doubt = f" ({fact['kind']})" if fact["kind"] in ("doubtful", "typed in") else ""
            # Facts of the client are the same for every target.
            name = f"{target}: {fact['name']}" if several and fact["name"].split(".")[0] in PATH_FACTS else fact["name"]
            facts[name] = value_text(fact["value"], fact.get("unit", "")) + doubt
    return facts


def load_history(journal: Journal, cells: Mapping[str, Cell], visits: Sequence[Visit]) -> dict[int, Written]:
    """What had been written to the footprint of each visit when it began, by visit_id."""
    places = Places(cell for cell, _ in journal.cells())
    steps = {step.what for each in STEPS.values() for step in each}
    prepared = grouped((target, at) for at, target, what, _ in journal.ledger() if what in steps)
    return written_before(cells, visits, places.footprint, prepared)


def integrity_findings(checks: Sequence[IntegrityCheck]) -> Iterator[Finding]:
    """What the checks found, mismatches first."""
    for check in sorted(checks, key=lambda check: not check.error):
        values: dict[str, Value] = {
            "bs_bytes": check.bs_bytes,
            "iodepth": check.iodepth,
            "read_bytes": check.read_bytes,
        }
        if check.error or check.mismatches:
            values |= {"mismatches": max(1, check.mismatches), "error": check.message or f"fio error {check.error}"}
            yield Finding(FindingCode.CORRUPTION, values, target=check.target)
        else:
            values["written_bytes"] = check.written_bytes
            yield Finding(FindingCode.INTEGRITY, values, target=check.target)


def loaded_targets(targets: Sequence[Target], spec: CampaignSpec) -> tuple[Target, ...]:
    """The targets that cells go by: those that are loaded alone, and a target for each group. The latter is where all
    of its members are, a line each.
    """
    by_name = {target.name: target for target in targets}
    groups = spec.groups([*by_name])
    grouped = {name for group in groups for name in group.members if name in by_name}
    found = [target for target in targets if target.name not in grouped]
    for group in groups:
        members = [by_name[name] for name in group.members if name in by_name]
        sizes = [one.size_bytes for one in members if one.size_bytes is not None]
        found.append(
            Target(
                group.name,
                "together",
                "\n".join(one.location for one in members),
                size_bytes=min(sizes, default=None),
                logical_block_bytes=max((one.logical_block_bytes for one in members), default=512),
                ioengine=members[0].ioengine if members else None,
            )
        )
    return tuple(found)
