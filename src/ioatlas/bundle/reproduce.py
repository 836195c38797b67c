# SPDX-License-Identifier: Apache-2.0
"""The campaign of a bundle on a target of one's own, and whether it came to the same."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from ioatlas.answer.analysis.compare import CellComparison
from ioatlas.answer.analysis.wording import plural
from ioatlas.answer.results.comparison import SidesComparison, compare_sides
from ioatlas.answer.results.library import shown
from ioatlas.measure.procedures.options import CAMPAIGN, TRACE_FILE, TraceOptions
from ioatlas.measure.procedures.registry import procedure_of
from ioatlas.measure.procedures.tune.procedure import Tune
from ioatlas.measure.procedures.tune.result import TuneGoal
from ioatlas.measure.run.procedure import Procedure
from ioatlas.model.errors import RefusedError, UsageError
from ioatlas.model.result import SHEET
from ioatlas.model.units import per_cent
from ioatlas.plan.spec import CampaignSpec, recorded_spec
from ioatlas.store.journal import Journal

MOST_NAMED = 8


class Outcome(StrEnum):
    """What came of a reproduction."""

    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class Reproduction:
    """reasons: where it differs, or which condition forbids to compare; what was held against it otherwise."""

    outcome: Outcome
    reasons: tuple[str, ...]
    conditions: tuple[str, ...] = ()


def specification(directory: Path, target: str, product: str = "") -> tuple[CampaignSpec, Procedure | None]:
    """What the bundle's campaign asked for, on another target: plan, order seed and windows are as they were. And the
    procedure, where no specification names it.

    directory: of the opened bundle. product: a sheet; the bundle's own where none is named. Nothing that the bundle
    brings is run: no command, no typed confirmation, no meter.
    Raises RefusedError for a campaign that needs them, UsageError for one of several targets.
    """
    with closing(Journal.open(directory)) as journal:
        spec = recorded_spec(journal, CAMPAIGN.tables)
        procedure = procedure_of(spec, journal.record_names())
        goal = journal.kept(TuneGoal).goal
    if any(one.before or one.after or one.ask for one in spec.configurations):
        raise RefusedError(
            "its configurations bring commands: these are run from your own campaign file only",
            where=shown(directory),
            remedy="`unzip -p BUNDLE campaign/campaign.toml` shows them; then `ioatlas map --campaign YOUR-COPY.toml`",
        )
    if len(spec.targets) > 1 or spec.configurations:
        raise UsageError(
            f"it measured {plural(len(spec.targets), 'target')}, and one can be reproduced",
            where=shown(directory),
            remedy="write a campaign file with your targets: `ioatlas map --campaign FILE.toml`",
        )
    sheet = directory / SHEET
    product = product or (str(sheet) if sheet.is_file() else "")
    changes: dict[str, Any] = {"targets": (("", target),), "product": product, "confirmations": {}}
    spec = replace(spec, **changes)
    trace = directory / TRACE_FILE
    if trace.exists():
        spec = spec.having(replace(spec.of(TraceOptions), trace=str(trace)))
    return spec, Tune(goal) if procedure.name == Tune.name else None


def judge(bundle: Path, mine: Path, quantity: str, tolerance: float) -> Reproduction:
    """Whether a campaign came to what a bundle says. Both are directories; tolerance: a share that does not matter."""
    try:
        found = compare_sides((bundle, mine), quantity, tolerance=tolerance)
    except UsageError as error:
        return Reproduction(Outcome.NOT_COMPARABLE, (error.what,))
    names = ("the bundle", "yours")
    told = tuple(apart.sentence(names) for apart in found.apart if apart.group != "method")
    method = tuple(apart.sentence(names) for apart in found.apart if apart.group == "method")
    if method:
        return Reproduction(Outcome.NOT_COMPARABLE, method, told)
    (pair,) = found.result.pairs
    whole = pair.whole
    differing = [cell for cell in pair.cells if cell.outcome in ("higher", "lower")]
    reasons = [_sentence(found, one) for one in differing[:MOST_NAMED]]
    if len(differing) > MOST_NAMED:
        reasons.append(f"and {len(differing) - MOST_NAMED} more cells")
    ends = f"{_change(whole.low)} to {_change(whole.high)}" if whole else ""
    text = f"the map as a whole is {_change(whole.ratio)} ({ends})" if whole else ""
    if whole is not None and whole.outcome in ("higher", "lower"):
        reasons.insert(0, text)
    if reasons:
        return Reproduction(Outcome.DIFFERS, tuple(reasons), told)
    if whole is None or (whole.detectable > found.result.effect and whole.outcome != "same"):
        least = "no difference" if whole is None else f"only a map that is {per_cent(whole.detectable)} slower"
        why = f"too few visits, or too much noise: {least} would surely be noticed"
        return Reproduction(Outcome.NOT_COMPARABLE, (why,), told)
    cells = plural(len(pair.cells), "cell")
    return Reproduction(Outcome.REPRODUCED, (text, f"none of {cells} differs by more than {per_cent(tolerance)}"), told)


def _change(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f}%"


def _sentence(found: SidesComparison, one: CellComparison) -> str:
    row = found.loads.rows[one.cell]
    change = _change(one.ratio) if one.ratio is not None else one.reason
    return f"{row.label}: {change}"
