# SPDX-License-Identifier: Apache-2.0
"""Where cells stand in the page's table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ioatlas.model.estimate import Estimate


class Rows:
    """at: rows by cell key and direction; of several values the measured one."""

    def __init__(self, estimates: Sequence[Estimate]) -> None:
        """estimates: in the order of the table."""
        self._estimates = estimates
        order = sorted(range(len(estimates)), key=lambda row: (estimates[row].kind == "measured", -row))
        self.at = {(estimates[row].cell.key, estimates[row].direction): row for row in order}
        self._of: dict[str, list[int]] = defaultdict(list)
        for row, estimate in enumerate(estimates):
            self._of[estimate.cell.key].append(row)

    def all(self, keys: Iterable[str], direction: str = "") -> list[int]:
        """Of all values of cells; of a mix only those of one direction, where one is named."""
        found = (row for key in keys for row in self._of.get(key, ()))
        return [row for row in found if not direction or self._estimates[row].direction == direction]
