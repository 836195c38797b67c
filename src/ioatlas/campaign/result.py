# SPDX-License-Identifier: Apache-2.0
"""A campaign's result, computed anew from its journal."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ioatlas.analysis.drift import block_rows, block_states, drift_findings, drift_pictures, sentinel_charts
from ioatlas.analysis.estimates import estimate_cells, removed_blocks
from ioatlas.analysis.footprints import before_after_findings, with_history
from ioatlas.analysis.headlines import headlines
from ioatlas.analysis.overview import findings
from ioatlas.analysis.reduction import reduction_findings
from ioatlas.campaign.beside import beside_visits
from ioatlas.campaign.conditions import with_typed
from ioatlas.campaign.counts import batch_counts, counted_findings, counted_paths
from ioatlas.campaign.evidence import judge, meter_facts, testbeds
from ioatlas.campaign.imported import is_imported, load_imported, with_imported
from ioatlas.campaign.integrity import integrity_findings
from ioatlas.campaign.ordered_result import LOOK, with_order
from ioatlas.campaign.predicted import map_findings, predicted_estimates
from ioatlas.campaign.preparation import WORDS
from ioatlas.campaign.record import spec_from_plan
from ioatlas.campaign.rounds_result import load_history, load_rounds
from ioatlas.campaign.streams_result import curve_findings, load_curves, stream_axes, stream_rows
from ioatlas.campaign.tuned import CURVE, NOT_OF_THE_MAP
from ioatlas.model.cell import OptionValue
from ioatlas.model.estimate import Estimate
from ioatlas.model.result import CampaignResult, Finding, Unmeasured
from ioatlas.model.testbed import value_text
from ioatlas.model.units import format_duration
from ioatlas.store.journal import FILE_NAME, Journal

PATH_FACTS = frozenset({"mount", "device", "drive", "nic", "server", "path", "nfs", "cifs", "smb", "iscsi", "fs", "target"})
"""First parts of the names of facts about the path to a target, not the client."""


def load_result(directory: Path) -> CampaignResult:
    """The result of the campaign in `directory`, with what was imported there. Raises UsageError when there is none, IoAtlasError when it cannot be read."""
    result = _loaded(directory)
    return replace(result, findings=headlines(result.findings))


def estimates_so_far(journal: Journal) -> tuple[Estimate, ...]:
    """The estimates of a campaign that may still run, judged by all that is known now."""
    return _result(journal).estimates


def _loaded(directory: Path) -> CampaignResult:
    imported = is_imported(directory)
    if imported and not (directory / FILE_NAME).exists():
        return load_imported(directory)
    journal = Journal.open(directory)
    try:
        result = _result(journal)
    finally:
        journal.close()
    return with_imported(result, directory) if imported else result


def _result(journal: Journal) -> CampaignResult:
    row = journal.campaign()
    plan = journal.plan()
    spec = spec_from_plan(plan)
    rows = [row for row in journal.cells() if row[1] not in (NOT_OF_THE_MAP, LOOK)]
    made = journal.visits(with_series=True)
    visits = [visit for visit in made if visit.purpose not in {"probe", CURVE}]
    told = visits
    if spec.streams is not None:
        rows, told = stream_rows(journal, visits)
    cells = {cell.key: cell for cell, _ in rows}
    rounds = load_rounds(journal, spec, visits) if spec.snia is not None else None
    estimates = rounds.estimates if rounds else estimate_cells(cells, told, grade=spec.wanted)
    fresh = estimate_cells(cells, told, frozenset({"fresh"}))
    reduced = reduction_findings(estimates)
    sessions = journal.sessions()
    last = json.loads(sessions[-1].testbed_json) if sessions else {"targets": {}}
    counts = batch_counts(journal, made)
    outcomes = journal.outcomes()
    beside = beside_visits(journal.usages())
    beds = with_typed(testbeds(last), journal.directory)
    judged: tuple[Finding, ...] = ()
    if spec.streams is None:  # what ran at once cannot be told apart by counters and ceilings; the visits passed those gates whole
        estimates, judged = judge(
            estimates,
            fresh,
            told,
            beds,
            counts,
            beside=beside,
            hollow=outcomes.get("hollow", []),
            paths=counted_paths(journal),
            meters=meter_facts(outcomes),
        )
    history = load_history(journal, cells, made)
    estimates = with_history(estimates, told, history)
    judged = (*reduced, *before_after_findings(cells, told, history), *judged)
    measured = {estimate.cell.key for estimate in estimates}
    predicted = predicted_estimates(cells, [row for row in journal.predictions() if row.cell_key not in measured])
    have = measured | {estimate.cell.key for estimate in predicted}
    failures = dict(journal.failures())
    unmeasured = []
    for cell, reason in rows:
        if cell.key in have:
            continue
        why = reason or (f"failed: {failures[cell.key]}" if cell.key in failures else "not reached")
        unmeasured.append(Unmeasured(cell, why))
    axes: dict[str, tuple[OptionValue, ...]] = dict(spec.axes)
    for name in dict.fromkeys(name for pattern in spec.patterns for name in pattern):
        values = tuple(dict.fromkeys(pattern[name] for pattern in spec.patterns if name in pattern))
        if len(values) > 1:
            axes = {name: values, **axes}
    if spec.streams is not None:
        axes = stream_axes(cells.values())
    elif "size" not in axes and len({cell.size_bytes for cell in cells.values()}) > 1:
        axes["size"] = tuple(sorted({cell.size_bytes for cell in cells.values()}))
    elif "size" in axes:
        # A target smaller than every size of the sweep is measured over its whole.
        axes["size"] = tuple(dict.fromkeys([*axes["size"], *(cell.size_bytes for cell in cells.values())]))
        axes["size"] = tuple(value for value in axes["size"] if any(cell.size_bytes == value for cell in cells.values()))
    shared = set.intersection(*(set(cell.options) for cell in cells.values())) if cells else set()
    ended = [(s.ended_at or s.started_at) - s.started_at for s in sessions]
    ledger: Counter[str] = Counter()
    for _, what, count in journal.ledger():
        ledger[what] += count
    discarded = [visit for visit in visits if visit.discarded]
    remarks = journal.remarks()
    settings = {
        "profile": spec.profile,
        "preparation": WORDS.get(state := next((cell.state for cell in cells.values()), ""), state),
        "sharing": "all jobs share one file" if spec.sharing == "shared" else "a file for each job",
        "window": f"{spec.window_seconds:g} s and more",
        "visits": str(spec.visits),
        "precision": f"{spec.wanted.precision:.1%} ({spec.wanted.name} grade, at most {spec.wanted.cap} visits)"
        if spec.wanted.precision
        else "",
        "order seed": str(spec.order_seed),
        "budget": format_duration(spec.budget_seconds) if spec.budget_seconds else "none",
        **({"seconds of own computing": str(outcomes["compute_seconds"])} if "compute_seconds" in outcomes else {}),
        **{f"bytes of {what}": str(count) for what, count in ledger.items()},
        **{f"{kind} {number}": text for number, (kind, text) in enumerate(remarks, start=1)},
    }
    result = CampaignResult(
        row.campaign_id,
        row.name,
        row.created_at,
        row.tool_version,
        journal.targets(),
        axes,
        {name: value for name, value in sorted(shared) if name not in axes},
        (*estimates, *predicted),
        tuple(unmeasured),
        fresh,
        (),
        {name: value for name, value in settings.items() if value},
        tuple(session_facts(json.loads(s.testbed_json)) for s in sessions),
        len(visits) - len(discarded),
        len(discarded),
        dict(Counter(re.split(r":| by | \(", visit.discarded)[0] for visit in discarded)),
        sum(ended),
        bool(row.complete),
    )
    states = block_states(cells, told if spec.streams is None and rounds is None else [])
    sentinels, voided = sentinel_charts(cells, visits), outcomes.get("voided", [])
    blocks = block_rows(states, voided)
    charts, tables = drift_pictures(sentinels, blocks)
    curves = load_curves(journal, spec, plan["files"]) if spec.streams is not None else ()
    whole = replace(
        result,
        load_curves=curves,
        rounds=rounds.results if rounds else (),
        sentinels=sentinels,
        blocks=blocks,
        charts=charts,
        tables=tables,
        findings=(
            *integrity_findings(outcomes.get("integrity", [])),
            *map_findings(outcomes),
            *(rounds.findings if rounds else ()),
            *(curve_findings(curves, spec.streams) if spec.streams is not None else () if rounds else findings(result)),
            *judged,
            *drift_findings(states, sentinels, voided, removed_blocks(cells, told if rounds is None else [])),
            *counted_findings(counts),
        ),
    )
    return with_order(whole, spec, visits, beds, outcomes.get("memory", {})) if spec.ordered else whole


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
