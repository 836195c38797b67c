# SPDX-License-Identifier: Apache-2.0
"""How precise a campaign wants its cells, and which interval that gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ioatlas.design.stopping import CERTIFIED_LOOKS, Decision, certified_grade, map_grade
from ioatlas.model.choices import GradeName
from ioatlas.stats.intervals import Interval, log_t_interval, moderated_log_interval, pooled_log_interval
from ioatlas.stats.variance import PooledVariance

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
            return Decision("precise", self.interval(values, pooled), 0, None)
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
