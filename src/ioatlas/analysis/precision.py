# SPDX-License-Identifier: Apache-2.0
"""Whether the precision that was asked for was reached; if not, which bound stopped it and what would reach it.
A grade says how precise cells are to be, and which interval that gives them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ioatlas.analysis.best import half_interval
from ioatlas.analysis.wording import plural
from ioatlas.design.stopping import CERTIFIED_LOOKS, Decision, certified_grade, map_grade
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.options import GradeName
from ioatlas.model.units import format_duration
from ioatlas.stats.intervals import (
    Interval,
    PooledVariance,
    log_t_interval,
    moderated_log_interval,
    pooled_log_interval,
)

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


DEFAULT_CAP = {GradeName.MAP: 5, GradeName.CERTIFIED: 30}
DEFAULT_PRECISION = {GradeName.MAP: 0.05, GradeName.CERTIFIED: 0.02}


@dataclass(frozen=True)
class Grade:
    """name: 'map' (Student's t on logarithms) or 'certified' (order statistics of the median).

    precision: half-width to reach, as a share; None: a fixed number of visits, nothing to reach. cap: most visits
    of a cell.
    """

    name: GradeName = GradeName.MAP
    precision: float | None = None
    cap: int = 5

    def decide(self, values: Sequence[float], pooled: PooledVariance | None) -> Decision:
        """Whether a cell with these visits is done."""
        if self.precision is None:
            return Decision("precise", self.interval(values, pooled), 0)
        if self.name == "certified":
            return certified_grade(values, precision=self.precision, cap=self.cap)
        return map_grade(values, precision=self.precision, cap=self.cap, pooled=pooled)

    def interval(self, values: Sequence[float], pooled: PooledVariance | None) -> Interval:
        """The interval of a cell's visits; under a rule that looks, the one that keeps its coverage under looking."""
        if self.precision is not None and (self.name == "map" or len(values) >= CERTIFIED_LOOKS[0]):
            found = self.decide(values, pooled).interval
            if not found.withheld:
                return found
        if pooled is None:
            return log_t_interval(values)
        if len(values) == 1:
            return pooled_log_interval(values, pooled.variance_log, pooled.dof)
        return moderated_log_interval(values, pooled)
