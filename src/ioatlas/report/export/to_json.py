# SPDX-License-Identifier: Apache-2.0
"""JSON: the rows of the table under the same names as in CSV, and what else a reader must know of the campaign.

Where the targets are and who measured them is left out, as in the report: exports are passed around.
Sizes in bytes, rates in bytes per second, latencies in nanoseconds; null where nothing is known; no NaN.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TextIO

from ioatlas.answer.analysis.summary import summarise
from ioatlas.model.result import CampaignResult, ReplicateRow
from ioatlas.model.target import Target
from ioatlas.model.units import utc_text
from ioatlas.report.findings import next_step, told_doubts, worded
from ioatlas.report.redact import PUBLIC_FACTS, names_site, redactor
from ioatlas.report.table import rows, swept_options

FORMAT = "ioatlas-export/1"


def document(result: CampaignResult) -> dict[str, Any]:
    """The whole export as JSON values."""
    clean = redactor(result.targets)
    return {
        "format": FORMAT,
        "campaign_id": result.campaign_id,
        "name": clean(result.name),
        "created": utc_text(result.created_at) if result.created_at else None,
        "tool_version": result.tool_version,
        "complete": result.complete,
        "seconds": result.seconds,
        "n_visits": result.n_visits,
        "n_discarded": result.n_discarded,
        "discard_reasons": {clean(reason): count for reason, count in result.discard_reasons.items()},
        "summary": _cleaned(_summary(result), clean),
        "targets": [_target(target) for target in result.targets],
        "configurations": [
            {"name": one.name, "factors": {name: {"value": f.value, "unit": f.unit} for name, f in one.factors.items()}}
            for one in result.configurations
        ],
        "axes": {name: list(values) for name, values in result.axes.items()},
        "constants": dict(result.constants),
        "swept_options": list(swept_options(result)),
        "settings": {
            **{name: clean(value) for name, value in result.settings.items() if not names_site(name)},
            **{f"bytes of {what}": str(count) for what, count in result.ledger_bytes.items()},
        },
        "sessions": [
            {name: clean(str(value)) for name, value in session.items() if not names_site(name)}
            for session in result.sessions
        ],
        "findings": [_cleaned(asdict(finding), clean) for finding in worded(result)],
        "load_curves": _cleaned(list(result.records.get("load_curves", ())), clean),
        "charts": _cleaned([asdict(chart) for chart in result.charts], clean),
        "tables": _cleaned([asdict(table) for table in result.tables], clean),
        "imported_methods": {name: dict(facts) for name, facts in result.methods.items()},
        "costs": [asdict(cost) for cost in result.costs],
        "rounds": _cleaned(list(result.records.get("rounds", ())), clean),
        "blocks": [_in_old_words(row) for row in result.replicates],
        "rows": [{name: _plain(value) for name, value in row.items()} for row in rows(result)],
    }


def write_json(result: CampaignResult, out: TextIO) -> None:
    json.dump(document(result), out, indent=1, allow_nan=False, ensure_ascii=False)
    out.write("\n")


def _summary(result: CampaignResult) -> dict[str, Any]:
    """A headline has a unit only where its quantity does not say it: bundles of earlier versions have none."""
    summary = summarise(result)
    told = asdict(summary) | {"next_step": next_step(summary.next_step)}
    told["doubts"] = [asdict(one) for one in told_doubts(summary.doubts)]
    told["headlines"] = [{k: v for k, v in one.items() if k != "unit" or v} for one in told["headlines"]]
    return told


def _in_old_words(row: ReplicateRow) -> dict[str, Any]:
    """Its fields as JSON values. A replicate is called a block in this format."""
    told = {"block" if name == "replicate" else name: value for name, value in asdict(row).items()}
    return {name: value for name, value in told.items() if name != "in_doubt"}


def _target(target: Target) -> dict[str, Any]:
    return {
        "name": target.name,
        "kind": target.kind,
        "facts": {name: value for name, value in target.identity.facts if name in PUBLIC_FACTS},
        "size_bytes": target.size_bytes,
        "free_bytes": target.free_bytes,
        "logical_block_bytes": target.logical_block_bytes,
        "ioengine": target.ioengine,
    }


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """JSON values, texts among them without places."""
    if isinstance(value, dict):
        return {name: _cleaned(each, clean) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(each, clean) for each in value]
    return clean(value) if isinstance(value, str) else _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return list(value) if isinstance(value, tuple) else value
