# SPDX-License-Identifier: Apache-2.0
"""What a campaign file says of a map from a few cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ioatlas.config.options import PERCENT, Option, Table, integer


@dataclass(frozen=True)
class AdaptiveOptions(Table):
    """When a map stops to measure and predicts the rest; neither: every cell is measured."""

    cells: Annotated[
        int | None,
        Option(
            integer(3), "Measure at most this many cells, chosen by the adaptive design; predict the rest.", flag=True
        ),
    ] = None
    error: Annotated[
        float | None, Option(PERCENT, "Measure until the adaptive map states this median error, such as 5%.", flag=True)
    ] = None
