# SPDX-License-Identifier: Apache-2.0
"""Whether the precision that was asked for was reached; if not, which bound stopped it and what would reach it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ioatlas.answer.analysis.best import half_interval
from ioatlas.answer.analysis.wording import plural
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.units import format_duration
from ioatlas.plan.stopping import Grade

AROUND_SECONDS = 0.3
"""What a visit costs besides its window."""


def half_width(estimate: Estimate) -> float:
    """Half of the throughput's interval as a share of its value; without end where there is none."""
    width = half_interval(estimate)
    return math.inf if width is None else width


def precision_findings(estimates: Iterable[Estimate], grade: Grade, budget_seconds: float | None) -> list[Finding]:
    """One sentence where a precision was asked for."""
    wanted = grade.precision
    measured = [estimate for estimate in estimates if estimate.kind == "measured" and estimate.n_visits]
    if wanted is None or not measured:
        return []
    missed = [estimate for estimate in measured if half_width(estimate) > wanted]
    title = "Precision"
    if not missed:
        sentence = f"The precision of {wanted:.1%} that was asked for was reached in {plural(len(measured), 'value')}."
        return [Finding(FindingCode.PRECISION, sentence, title=title, in_order=True)]
    worst = max(half_width(estimate) for estimate in missed)
    reached = f"±{worst:.1%} at worst" if worst < math.inf else "one value has no interval"
    sentence = (
        f"The precision of {wanted:.1%} that was asked for was missed in {len(missed)} of "
        f"{plural(len(measured), 'value')}: {reached}."
    )
    capped = [estimate for estimate in missed if estimate.n_visits >= grade.cap]
    if len(capped) == len(missed) or budget_seconds is None:
        sentence += f" What stopped it: at most {plural(grade.cap, 'visit')} of a cell."
    else:
        sentence += f" What stopped it: the budget of {format_duration(budget_seconds)}."
    needed = {estimate.cell.key: _needed(estimate, wanted) for estimate in missed}
    if all(count is not None for count in needed.values()):
        most = max(count for count in needed.values() if count is not None)
        more = sum(
            max(0, (needed[estimate.cell.key] or 0) - estimate.n_visits)
            * ((estimate.window_seconds or 0.0) + AROUND_SECONDS)
            for estimate in missed
        )
        sentence += f" About {most:,} visits, or {format_duration(more)} more, would reach it: --max-visits {most}"
        sentence += ", and a longer --budget." if budget_seconds is not None else "."
    keys = tuple(dict.fromkeys(estimate.cell.key for estimate in missed))
    return [Finding(FindingCode.PRECISION, sentence, keys, title=title)]


def _needed(estimate: Estimate, wanted: float) -> int | None:
    """Visits at which the interval would be narrow enough; None where there is no interval to tell."""
    width = half_width(estimate)
    return math.ceil(estimate.n_visits * (width / wanted) ** 2) if width < math.inf else None
