# SPDX-License-Identifier: Apache-2.0
"""The answer that a report holds: for lists of many campaigns, of which none is computed again."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

from ioatlas.model.summary import Trust
from ioatlas.model.units import format_count, format_rate
from ioatlas.report.small_map import WRITTEN
from ioatlas.results.library import REPORT

DATA_ELEMENT_ID = "ioatlas-data"
"""Of the element of a page that holds its data."""
_MOST_BYTES = 4 << 20
"""Of a report that is read for this: one of many thousand cells is opened for itself."""
MOST_LETTERS = 200
_LABELS = {"Best read": "read", "Best write": "write"}


def answer_of(directory: Path, since: float) -> dict[str, str]:
    """What the report in a campaign's directory says, as `answer_in` has it. Empty where there is none that is as new
    as `since`, seconds since the epoch.
    """
    path = directory / REPORT
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_mtime < since or status.st_size > _MOST_BYTES:
            return {}
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return {}
    return answer_in(text.partition(f'id="{DATA_ELEMENT_ID}">')[2].partition("</script>")[0])


def answer_in(data: str) -> dict[str, str]:
    """`read`, `write`, `small` (IOPS of 4 KiB random reads), `trust`, `why` it is no better and `map` (of
    `report.small_map`) as the data of a report have them, JSON that anybody may have written; what they do not have is
    left out. Empty of anything else.
    """
    try:
        told = json.loads(data)
        summary, drawn = told["summary"], told.get("thumbnail")
        found = {
            _LABELS.get(one["label"]): _number(format_rate, one["value"], **one)
            for one in reversed(summary["headlines"])
        }
        for one in summary.get("small", ()):
            if (one["bs_bytes"], one["direction"]) == (4096, "read"):
                found.setdefault("small", _number(format_count, one["best"]["iops"], **one["best"]))
        found |= {"map": drawn} if drawn is not None and WRITTEN.fullmatch(drawn) else {}
        why = [str(one["sentence"])[:MOST_LETTERS] for one in summary.get("doubts", ())]
        found |= {"trust": str(Trust(summary["trust"])), "why": next(iter(why), "")}
        return {name: text for name, text in found.items() if name}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _number(
    form: Callable[[float], str], number: float, /, *, estimated: bool, lower_bound: bool = False, **_: object
) -> str:
    if not 0 <= number < 1e15:
        raise ValueError("no number of a target")
    return f"{'~' if estimated else '≥' if lower_bound else ''}{form(number)}"
