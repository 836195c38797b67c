# SPDX-License-Identifier: Apache-2.0
"""A line for each load: what other tools measured once each makes no map, and not all of it moves data."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ioatlas.analysis.wording import Namer
from ioatlas.cli._fold import columns
from ioatlas.model.units import format_count, format_rate

if TYPE_CHECKING:
    from rich.text import Text

    from ioatlas.model.estimate import Estimate
    from ioatlas.model.result import CampaignResult

_FEWEST = 3
"""Up to so many loads that move data, the best values above the list tell all."""


def makes_no_map(result: CampaignResult) -> bool:
    """Whether these are imported loads of which hardly two are of one kind."""
    if any(e.kind != "imported" for e in result.estimates):
        return False
    cells = result.estimates
    kinds = Counter(_kind(e) for e in cells)
    told_above = len(cells) <= _FEWEST and all(e.bw_bytes_per_s for e in cells)
    return not told_above and len(kinds) * 2 > len(cells)


def _kind(e: Estimate) -> tuple[str, str, str]:
    return e.cell.target, e.direction, str(e.cell.option.get("operation", e.cell.rw))


def load_list(result: CampaignResult, *, width: int, lines: int, more: str) -> list[Text]:
    """At most `lines` lines of `width`; how many are left out is told. more: where all of it is."""
    from rich.text import Text

    namer = Namer([e.cell for e in result.estimates], [one.name for one in result.targets])
    rows = [
        (_rate(e), _kind(e)[2], namer.short(e.cell, without=("operation",)), e.cell.target) for e in result.estimates
    ]
    shown = rows if len(rows) <= lines else rows[: max(lines - 1, 0)]
    if not shown:
        return []
    several = len(result.targets) > 1
    told = columns([row if several else row[:3] for row in shown], right={0})
    drawn = [Text(line if len(line) <= width else f"{line[: width - 1]}…") for line in told]
    if len(shown) < len(rows):
        drawn.append(Text(f"... and {len(rows) - len(shown)} more ({more})"))
    return drawn


def _rate(e: Estimate) -> str:
    """Throughput, or operations where no data are moved."""
    if e.bw_bytes_per_s:
        return format_rate(e.bw_bytes_per_s)
    return f"{format_count(e.iops)} ops/s" if e.iops else "no rate"
