# SPDX-License-Identifier: Apache-2.0
"""The result of any campaign, whatever its procedure. What shows one imports nothing that measures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ioatlas.model.cost import SHEET, SHEETS
from ioatlas.procedures.registry import parts_of
from ioatlas.results.prices import with_prices
from ioatlas.results.result import load_result as load

if TYPE_CHECKING:
    from ioatlas.model.result import CampaignResult


def load_result(directory: Path) -> CampaignResult:
    """The result of the campaign in `directory`, with what was imported there. Raises UsageError when there is none."""
    result = load(directory, parts_of)
    if any(os.path.lexists(directory / name) for name in (SHEET, SHEETS)):
        from ioatlas.product.kept import with_costs

        result = with_costs(result, directory)
    return with_prices(result)
