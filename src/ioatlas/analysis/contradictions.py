# SPDX-License-Identifier: Apache-2.0
"""What cannot be true together: readings by Little's law, and two clocks. Neither says anything of the target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ioatlas.analysis.wording import plural
from ioatlas.model.cell import Cell
from ioatlas.model.finding import Finding, FindingCode, common
from ioatlas.model.reason import ReasonCode
from ioatlas.model.units import format_duration
from ioatlas.model.verdict import VerdictCode
from ioatlas.model.visit import Visit


def law_findings(cells: Mapping[str, Cell], visits: Iterable[Visit]) -> list[Finding]:
    """One finding on all visits in which throughput, latency and the number in flight do not agree."""
    found: dict[str, str] = {}
    count = 0
    for visit in visits:
        beyond = [one.sentence for one in visit.discarded if one.code is ReasonCode.LITTLES_LAW]
        short = [visit.verdict.detail] if visit.verdict.code is VerdictCode.UNACCOUNTED else []
        if visit.cell_key in cells and (beyond or short):
            count += 1
            found.setdefault(visit.cell_key, (beyond or short)[0])
    if not found:
        return []
    sentence = (
        f"In {plural(count, 'visit')} of {plural(len(found), 'cell')} throughput and latency contradict each other, "
        "and nothing that was measured explains it. This is a fault of I/O Atlas or of its load generator, not of the "
        f"target: do not use these latencies, and report it. The first: {next(iter(found.values()))}."
    )
    targets = (cells[key].target for key in found)
    return [Finding(FindingCode.LITTLES_LAW, sentence, tuple(found)[:20], target=common(targets))]


def clock_findings(seconds: float) -> list[Finding]:
    """One finding where the wall clock was set in mid-run. seconds: how far it was ahead of what had passed."""
    if not seconds:
        return []
    way = "ahead" if seconds > 0 else "back"
    sentence = (
        f"The wall clock of this machine went {format_duration(abs(seconds))} {way} while it was measured: it was set, "
        "or the machine slept. Times are told by the clock that nobody sets, from when the session began. "
        "The values do not depend on it; find out who sets the clock before logs are compared."
    )
    return [Finding(FindingCode.CLOCK, sentence)]
