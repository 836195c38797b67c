# SPDX-License-Identifier: Apache-2.0
"""A campaign's result, computed anew from its journal."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from ioatlas.analysis.estimates import estimate_cells
from ioatlas.analysis.overview import findings
from ioatlas.campaign.predicted import map_findings, predicted_estimates
from ioatlas.campaign.record import spec_from_plan
from ioatlas.model.cell import OptionValue
from ioatlas.model.result import CampaignResult, Unmeasured
from ioatlas.model.units import format_duration
from ioatlas.store.journal import Journal


def load_result(directory: Path) -> CampaignResult:
    """The result of the campaign in `directory`. Raises UsageError when there is none, IoAtlasError when it cannot be read."""
    journal = Journal.open(directory)
    try:
        return _result(journal)
    finally:
        journal.close()


def _result(journal: Journal) -> CampaignResult:
    row = journal.campaign()
    plan = journal.plan()
    spec = spec_from_plan(plan)
    rows = journal.cells()
    cells = {cell.key: cell for cell, _ in rows}
    visits = [visit for visit in journal.visits(with_series=True) if visit.purpose != "probe"]
    estimates = estimate_cells(cells, visits, grade=spec.wanted)
    fresh = estimate_cells(cells, visits, frozenset({"fresh"}))
    measured = {estimate.cell.key for estimate in estimates}
    predicted = predicted_estimates(cells, [row for row in journal.predictions() if row.cell_key not in measured])
    have = measured | {estimate.cell.key for estimate in predicted}
    outcomes = journal.outcomes()
    failures = dict(journal.failures())
    unmeasured = []
    for cell, reason in rows:
        if cell.key in have:
            continue
        why = reason or (f"failed: {failures[cell.key]}" if cell.key in failures else "not reached")
        unmeasured.append(Unmeasured(cell, why))
    axes: dict[str, tuple[OptionValue, ...]] = dict(spec.axes)
    if "size" not in axes and len({cell.size_bytes for cell in cells.values()}) > 1:
        axes["size"] = tuple(sorted({cell.size_bytes for cell in cells.values()}))
    elif "size" in axes:
        # A target smaller than every size of the sweep is measured over its whole.
        axes["size"] = tuple(dict.fromkeys([*axes["size"], *(cell.size_bytes for cell in cells.values())]))
        axes["size"] = tuple(value for value in axes["size"] if any(cell.size_bytes == value for cell in cells.values()))
    shared = set.intersection(*(set(cell.options) for cell in cells.values())) if cells else set()
    sessions = journal.sessions()
    ended = [(s.ended_at or s.started_at) - s.started_at for s in sessions]
    ledger: Counter[str] = Counter()
    for _, what, count in journal.ledger():
        ledger[what] += count
    discarded = [visit for visit in visits if visit.discarded]
    remarks = journal.remarks()
    settings = {
        "profile": spec.profile,
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
        tuple({str(k): str(v) for k, v in json.loads(s.testbed_json).items()} for s in sessions),
        len(visits) - len(discarded),
        len(discarded),
        dict(Counter(re.split(r":| by | \(", visit.discarded)[0] for visit in discarded)),
        sum(ended),
        bool(row.complete),
    )
    return replace(result, findings=(*map_findings(outcomes), *findings(result)))
