# SPDX-License-Identifier: Apache-2.0
"""What changed in a cell from one campaign to another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """The cell of one side over that of the side it is held against. ratio, low, high: with its 95% interval.

    outcome: 'higher' or 'lower' where the difference is told, 'same' where the whole interval lies within the
    tolerance, 'not different' where neither can be said, 'not comparable' where nothing was tested, 'predicted' where a
    model's prediction stands for a measurement.
    """

    cell_key: str
    direction: str
    ratio: float
    low: float | None
    high: float | None
    outcome: str
