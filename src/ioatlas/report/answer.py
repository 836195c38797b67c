# SPDX-License-Identifier: Apache-2.0
"""The answer that a report holds: for lists of many campaigns, of which none is computed again."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from ioatlas.model.summary import Trust
from ioatlas.model.units import format_rate
from ioatlas.results.library import REPORT

DATA_ELEMENT_ID = "ioatlas-data"
"""Of the element of a page that holds its data."""
_MOST_BYTES = 4 << 20
"""Of a report that is read for this: one of many thousand cells is opened for itself."""
_LABELS = {"Best read": "read", "Best write": "write"}


def answer_of(directory: Path, since: float) -> dict[str, str]:
    """`read`, `write` and `trust` as the report in a campaign's directory has them, which anybody may have written.
    Empty where there is none that is as new as `since`, seconds since the epoch.
    """
    path = directory / REPORT
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_mtime < since or status.st_size > _MOST_BYTES:
            return {}
        data = path.read_text(encoding="utf-8").partition(f'id="{DATA_ELEMENT_ID}">')[2].partition("</script>")[0]
        summary = json.loads(data)["summary"]
        best = {_LABELS.get(one["label"]): _rate(**one) for one in reversed(summary["headlines"])}
        return {name: text for name, text in best.items() if name} | {"trust": str(Trust(summary["trust"]))}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _rate(*, value: float, estimated: bool, lower_bound: bool, **_: object) -> str:
    if not 0 <= value < 1e15:
        raise ValueError("no rate of a target")
    return f"{'~' if estimated else '≥' if lower_bound else ''}{format_rate(value)}"
