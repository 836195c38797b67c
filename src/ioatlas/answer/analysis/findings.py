# SPDX-License-Identifier: Apache-2.0
"""Findings in the order of what a reader should do next. What a map says beside its answer: the smallest load near
the best, what was not measured, whether the values are as precise as was asked for. What cannot be true together:
readings by Little's law, and two clocks.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ioatlas.answer.analysis.best import (
    NEAR_PEAK,
    NUMBER_WIDTH,
    Best,
    Group,
    best_of,
    eligible,
    groups,
    half_interval,
    load_order,
    speed,
)
from ioatlas.answer.analysis.wording import Namer
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, Value, common
from ioatlas.model.result import CampaignResult
from ioatlas.model.verdict import ReasonCode, UnmeasuredCode, UnmeasuredReason, VerdictCode
from ioatlas.model.visit import Visit
from ioatlas.plan.stopping import Grade

_F = FindingCode


@dataclass(frozen=True)
class _Trouble:
    """The first finding of a code that reports trouble."""

    code: FindingCode


_OTHER = None
_ORDER: tuple[FindingCode | _Trouble | None, ...] = (
    # Is it to be believed at all?
    *(_F.CORRUPTION, _F.LITTLES_LAW, _Trouble(_F.CACHE), _Trouble(_F.COUNTERS), _F.DATA_REDUCTION),
    _Trouble(_F.DRIFT),
    # The answer: the best, the least that comes near it, where more gains nothing, how sure, what is missing.
    *(_F.FIT, _F.FACTOR),
    *(_F.ROUNDS, _F.HIGHEST_LOAD, _F.KNEE, _Trouble(_F.PRECISION)),
    *(_F.NOT_MEASURED, _F.BURST),
    # What to change for more, and where to look further.
    *(_F.LIMIT, _OTHER, _F.BALANCE, _F.CACHE_SIZE, _F.POWER),
    # What was in order or could not be told, and detail.
    *(_F.UNDETERMINED, _F.INTEGRITY, _F.CACHE, _F.COUNTERS, _F.DRIFT, _F.NO_DATA_REDUCTION),
    *(_F.IMPORTED, _F.METHOD),
)
"""Codes from the first to be read to the last; _OTHER is every other one."""
_RANK = {what: rank for rank, what in enumerate(_ORDER)}
_PLACES = {_F.NOT_MEASURED: "not-measured", _F.COUNTERS: "method", _F.DRIFT: "discards"}
"""Section of the report that holds the evidence where no cell does."""


def in_reading_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings in reading order. Equal codes keep the order they came in."""
    given = _agreeing(list(findings))
    first = {one.code: index for index, one in reversed(list(enumerate(given))) if _troubled(one)}
    ordered = [
        one
        for _, one in sorted(
            enumerate(given), key=lambda item: _rank(item[1], first=first.get(item[1].code) == item[0])
        )
    ]
    return tuple(
        replace(one, place=one.place or ("" if one.cells else _PLACES.get(one.code, "method"))) for one in ordered
    )


def _agreeing(findings: Sequence[Finding]) -> list[Finding]:
    """Without the checks that found nothing where another of the same kind found something."""
    troubled = {one.code for one in findings if not one.in_order}
    return [one for one in findings if not (one.in_order and one.code in troubled)]


def _rank(finding: Finding, *, first: bool) -> int:
    """first: it is the first of its code that reports trouble; further ones (the other direction, another target)
    would push the answer away.
    """
    trouble = _RANK.get(_Trouble(finding.code))
    if trouble is not None and first:
        return trouble
    return _RANK.get(finding.code, _RANK[_OTHER])


def _troubled(finding: Finding) -> bool:
    """Whether a check found something, rather than that all is well."""
    return not finding.in_order and (finding.code is not FindingCode.CACHE or bool(finding.cells))


EVIDENCE = 20
"""Most cells listed as evidence of one finding."""
MOST_REASONS = 2
"""Reasons for discarded runs that one sentence names."""


def map_findings(result: CampaignResult) -> tuple[Finding, ...]:
    """The things to know, in the order to read them; for each target and direction where that makes sense."""
    cells = [*(e.cell for e in result.estimates), *(u.cell for u in result.unmeasured)]
    namer = Namer(cells, [target.name for target in result.targets], tuple(result.axes))
    named = ((group, best_of(members)) for group, members in groups(result.estimates).items())
    found = [_near(group, best, result.estimates, namer) for group, best in named if best is not None]
    return (*found, *_not_measured(result))


def _near(group: Group, best: Best, estimates: Sequence[Estimate], namer: Namer) -> Finding:
    """The smallest load that reaches 90% of the best, measured or estimated: the map shows both."""
    mine = [e for e in estimates if (e.cell.target, e.direction) == group]
    able = [*eligible(e for e in mine if e.kind == "measured"), *(e for e in mine if e.kind == "predicted")]
    near = min((e for e in able if speed(e) >= NEAR_PEAK * speed(best.peak)), key=load_order)
    values: dict[str, Value] = {"load": _load(near.cell, namer)}
    if near is not best.peak:
        share, width = speed(near) / speed(best.peak), half_interval(near)
        known = width is not None and width <= NUMBER_WIDTH
        values |= {
            "share": share,
            "whole": share >= 1,
            "bw_bytes_per_s": speed(near),
            "half_width": width if known else None,
        }
        values |= {"disagree": width is not None and not known, "estimated": near.kind == "predicted"}
    keys = tuple(dict.fromkeys((near.cell.key, best.peak.cell.key)))
    return Finding(FindingCode.KNEE, values, keys, target=group[0], direction=group[1])


def _load(cell: Cell, namer: Namer) -> str:
    """'1 MiB blocks and 16 jobs', '4 KiB random blocks, 2 jobs and iodepth 8'."""
    size, *rest = namer.short(cell).split(", ")
    parts = [f"{size} blocks", *rest]
    return " and ".join([", ".join(parts[:-1]), parts[-1]])


def _not_measured(result: CampaignResult) -> Iterator[Finding]:
    """What is missing; of cells that have several reasons, the most frequent."""
    measured = {e.cell.key for e in result.estimates if e.kind == "measured"}
    predicted = {e.cell.key for e in result.estimates if e.kind == "predicted"} - measured
    missing = {u.cell.key: u for u in result.unmeasured if u.cell.key not in measured}
    imported = {e.cell.key for e in result.estimates if e.kind == "imported"} - measured - predicted
    total = len(measured | predicted | imported | missing.keys())
    if len(measured) == total > 0 and not result.n_discarded:
        return
    known = {"predicted": len(predicted), "imported": len(imported)}
    why: list[Value] = [{"kind": kind, "n_cells": count} for kind, count in known.items() if count]
    why += _reasons([u.reason for key, u in missing.items() if key not in predicted | imported])
    often = sorted(result.discard_reasons.items(), key=lambda pair: -pair[1])
    values: dict[str, Value] = {
        "n_cells": total,
        "n_lost": total - len(measured) or None,
        "why": why,
        "n_discarded": result.n_discarded or None,
        # The sentence must stay short; the settings of the report have them all.
        "reasons": [{"n_visits": count, "reason": reason} for reason, count in often[:MOST_REASONS]],
        "most": len(often) > MOST_REASONS,
    }
    yield Finding(FindingCode.NOT_MEASURED, values, tuple(missing)[:EVIDENCE])


def _reasons(reasons: Sequence[UnmeasuredReason]) -> Iterator[Value]:
    """One entry for each code."""
    kinds: dict[UnmeasuredCode, Counter[str]] = defaultdict(Counter)
    for reason in reasons:
        kinds[reason.code][reason.detail] += 1
    for kind, details in sorted(kinds.items(), key=lambda item: -item[1].total()):
        detail, _ = details.most_common(1)[0]
        yield {"kind": kind, "n_cells": details.total(), "detail": detail, "several": len(details) > 1}


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
    values: dict[str, Value] = {"n_visits": count, "n_cells": len(found), "first": next(iter(found.values()))}
    targets = (cells[key].target for key in found)
    return [Finding(FindingCode.LITTLES_LAW, values, tuple(found)[:20], target=common(targets))]


def clock_findings(seconds: float) -> list[Finding]:
    """One finding where the wall clock was set in mid-run. seconds: how far it was ahead of what had passed."""
    values = {"seconds": abs(seconds), "way": "ahead" if seconds > 0 else "back"}
    return [Finding(FindingCode.CLOCK, values)] if seconds else []


AROUND_SECONDS = 0.3
"""What a visit costs besides its window."""


def half_width(estimate: Estimate) -> float:
    """Half of the throughput's interval as a share of its value; without end where there is none."""
    width = half_interval(estimate)
    return math.inf if width is None else width


def precision_findings(estimates: Iterable[Estimate], grade: Grade, budget_seconds: float | None) -> list[Finding]:
    """Whether the precision that was asked for was reached; if not, what stopped it and what would reach it."""
    wanted = grade.precision
    measured = [estimate for estimate in estimates if estimate.kind == "measured" and estimate.n_visits]
    if wanted is None or not measured:
        return []
    missed = [estimate for estimate in measured if half_width(estimate) > wanted]
    values: dict[str, Value] = {"wanted": wanted, "n_values": len(measured)}
    if missed:
        worst = max(half_width(estimate) for estimate in missed)
        capped = budget_seconds is None or all(estimate.n_visits >= grade.cap for estimate in missed)
        values |= {
            "n_missed": len(missed),
            "worst": worst if worst < math.inf else None,
            "stopped_by_seconds": None if capped else budget_seconds,
            "stopped_by_visits": grade.cap if capped else None,
        }
        if worst < math.inf:
            needed = [math.ceil(one.n_visits * (half_width(one) / wanted) ** 2) for one in missed]
            more = (
                max(0, visits - one.n_visits) * ((one.window_seconds or 0.0) + AROUND_SECONDS)
                for visits, one in zip(needed, missed, strict=True)
            )
            values |= {"n_visits": max(needed), "more_seconds": sum(more), "budget": budget_seconds is not None}
    keys = tuple(dict.fromkeys(estimate.cell.key for estimate in missed))
    return [Finding(FindingCode.PRECISION, values, keys, in_order=not missed)]
