# SPDX-License-Identifier: Apache-2.0
"""Whether a campaign is to be believed: fixed rules, each with the limit from which it makes the badge fair or low.

docs/method/trust.md has the same table for readers. The badge is the worst of what the rules say; without a doubt it
is good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ioatlas.answer.analysis.best import client_limited, disagrees, half_interval, usable
from ioatlas.answer.analysis.drift import shifts
from ioatlas.answer.analysis.imported_answer import MIDDLE, UNKNOWN, unsound
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import FindingCode, Value
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import Advice, Doubt, DoubtCode, Headline, SmallIo, Trust
from ioatlas.model.units import grouped, parse_duration_seconds, round_budget
from ioatlas.model.verdict import UnmeasuredCode, VerdictCode


@dataclass(frozen=True)
class Limit:
    """Shares from which a rule makes the badge fair, and low."""

    fair: float
    low: float

    def level(self, share: float) -> Trust:
        return Trust.LOW if share >= self.low else Trust.FAIR if share >= self.fair else Trust.GOOD


GOOD_WIDTH, FAIR_WIDTH = 0.05, 0.15
"""Half-widths of an interval up to which a number may be good, and fair; as for those that the law tells."""
FEWEST_VISITS = 2
OTHER_LOAD = Limit(0.02, 0.10)
"""Bytes on the path that the load did not move, of those it moved."""
OTHER_PROGRAMS = Limit(0.15, 0.40)
"""Share of the client's processors that other programs took."""
SHIFT = Limit(0.10, 0.50)
"""Level of a pass against the others."""
CELLS = Limit(0.05, 0.25)
"""Cells that are cached or have no data, of those measured."""
LEFT_OUT = Limit(0.10, 0.50)
"""Cells that the time did not suffice for."""
CLIENT_SHARE = 0.5
LEAST_MORE = 1.1
"""Times a budget that was too short, of which a longer one is named."""
MOST_REASONS = 5
"""Reasons of failures that are told one by one."""
IDLE = Advice("idle")
_V = VerdictCode
_UNSTEADY = frozenset((_V.DRIFTING, _V.BISTABLE, _V.UNSTABLE, _V.NO_STEADY_STATE, _V.OVERLOADED))


def again(options: str) -> Advice:
    """To run it again with options as they are typed."""
    return Advice("again", {"options": options})


def doubts_of(
    result: CampaignResult, headlines: Sequence[Headline], small: Sequence[SmallIo] = ()
) -> tuple[Doubt, ...]:
    """Every doubt, those that make the badge low first; within a level in the order of the rules.

    Numbers have grades of their own: the badge is that of the main ones, and a cell that nobody asked for lowers
    nothing. What is doubtful of the machine or the run stands beside them.
    """
    measured = [e for e in result.estimates if e.kind == "measured"]
    found = [doubt for rule in _RULES for doubt in rule(result, measured)] + [*result.doubts]
    graded = [e for e in result.estimates if e.kind == "measured" or e.grade is not None]
    found += _numbers(result, graded, headlines, small)
    return tuple(sorted(found, key=lambda doubt: doubt.level is not Trust.LOW))


def badge(doubts: Sequence[Doubt]) -> Trust:
    """The worst that the doubts say."""
    levels = {doubt.level for doubt in doubts}
    return Trust.LOW if Trust.LOW in levels else Trust.FAIR if levels else Trust.GOOD


def _grade_of(e: Estimate) -> tuple[Trust, Mapping[str, Value]]:
    """How far a value is to be believed, and why no further: as the law of its target says, else by its runs."""
    if e.grade is not None:
        return e.grade, {"reason": e.grade_reason}
    width = half_interval(e)
    if disagrees(e):
        return Trust.LOW, {"why": "runs-disagree" if e.n_visits > 1 else "one-run"}
    if e.verdict in _UNSTEADY:
        return Trust.LOW, {"why": e.verdict}
    if width is None:
        return Trust.FAIR, {"why": "measured-once" if e.n_visits < FEWEST_VISITS else "no-interval"}
    level = Trust.LOW if width > FAIR_WIDTH else Trust.FAIR if width > GOOD_WIDTH else Trust.GOOD
    return level, {"width": width, "wide": level is Trust.LOW}


def _numbers(
    result: CampaignResult, estimates: Sequence[Estimate], headlines: Sequence[Headline], small: Sequence[SmallIo]
) -> Iterator[Doubt]:
    """The main numbers that are less than good by themselves."""
    named = [(one.label, one.cell, one.direction) for one in headlines]
    for io in small:
        ends = (io.lightest, io.best)
        named += [(f"{io.label}, {one.in_flight} in flight", one.cell, io.direction) for one in ends]
        row = [e for e in estimates if (e.cell.target, e.direction) == (io.target, io.direction) and disagrees(e)]
        row = [e for e in row if (e.cell.rw, e.cell.bs_bytes) == (io.rw, io.bs_bytes)]  # a load that has no number
        named += [(f"{io.label}, {e.cell.outstanding} in flight", e.cell.key, e.direction) for e in row]
    graded = {(e.cell.key, e.direction): e for e in estimates if usable(e) and not e.cell.trace}
    for label, cell, direction in named:
        if (e := graded.pop((cell, direction), None)) is None:  # each is told once
            continue
        grade, why = _grade_of(e)
        if grade is not Trust.GOOD:
            yield Doubt(DoubtCode.NUMBER, grade, {"label": label, **why}, _longer(result), (cell,))
    if result.shown_as != "tables" and not {one.direction for one in headlines} >= {e.direction for e in estimates}:
        yield Doubt(DoubtCode.NUMBER, Trust.LOW, advice=_longer(result))


def _longer(result: CampaignResult) -> Advice:
    """Four times the time halves what noise leaves of an interval; of a sweep without a budget, windows so long, and of
    loads that end when their work is done, so many visits.
    """
    had = result.settings.get("budget", "none")
    if had != "none":
        return again(f"--budget {round_budget(4 * parse_duration_seconds(had))}")
    measured = [e for e in result.estimates if e.kind == "measured"]
    if measured and all(e.cell.work_bounded for e in measured):
        return again(f"--visits {4 * max(e.n_visits for e in measured)}")
    window = result.settings.get("window", "").partition(" ")[0]
    return again(f"--window {4 * float(window):g}s") if window else Advice("again", {"longer": "--window"})


_Rule = Callable[[CampaignResult, Sequence[Estimate]], Iterator[Doubt]]


_FOUND: dict[FindingCode, tuple[DoubtCode, Trust, Advice | None]] = {
    FindingCode.CORRUPTION: (DoubtCode.CORRUPTION, Trust.LOW, Advice("stop-using")),
    FindingCode.LITTLES_LAW: (DoubtCode.CONTRADICTION, Trust.LOW, Advice("look")),
    FindingCode.DATA_REDUCTION: (DoubtCode.DATA_REDUCTION, Trust.FAIR, None),
}


def _found(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    for code, (doubt, level, advice) in _FOUND.items():
        if any(finding.code is code for finding in result.findings):
            yield Doubt(doubt, level, advice=advice)


def _nothing(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    if not any(e.bw_bytes_per_s or e.iops for e in result.estimates):
        yield Doubt(DoubtCode.NOTHING, Trust.LOW, advice=Advice("look"))


def _not_the_drive(_result: CampaignResult, measured: Sequence[Estimate]) -> Iterator[Doubt]:
    """Answered by a cache, or out of a hole; reads of a file that was made without data are asked for, and no doubt."""
    cached = [e for e in measured if e.verdict in (VerdictCode.CACHED, VerdictCode.SUSPECT)]
    holes = [e for e in measured if e.verdict is VerdictCode.HOLE and e.cell.state != "fresh"]
    instead = Advice("larger" if any(e.cell.integer("direct", 1) for e in cached) else "direct")
    for code, flagged, advice in ((DoubtCode.CACHED, cached, instead), (DoubtCode.HOLES, holes, Advice("written"))):
        level = CELLS.level(len(flagged) / max(1, len(measured)))
        if level is not Trust.GOOD:
            values = {"sure": any(e.verdict is VerdictCode.CACHED for e in flagged), **_of(flagged, measured)}
            yield Doubt(code, level, values, advice, _keys(flagged))


def _other_load(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    level = max((OTHER_LOAD.level(one.share) for one in result.other_traffic), key=_rank, default=Trust.GOOD)
    if level is not Trust.GOOD:
        traffic: list[Value] = [{"way": one.direction, "bytes": one.excess_bytes} for one in result.other_traffic[:2]]
        yield Doubt(DoubtCode.OTHER_LOAD, level, {"traffic": traffic}, IDLE)


def _other_programs(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    level = OTHER_PROGRAMS.level(result.others_cpu or 0.0)
    if level is not Trust.GOOD:
        yield Doubt(DoubtCode.OTHER_PROGRAMS, level, {"share": result.others_cpu}, IDLE)


def _drifted(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    """Replicates that were voided and repeated are out of every value, so they are no doubt."""
    share, text, _ = max(shifts(result.replicates, result.wanders), default=(0.0, "", ""))
    if SHIFT.level(share) is not Trust.GOOD:
        yield Doubt(DoubtCode.DRIFT, SHIFT.level(share), {"shift": text}, IDLE)


def _failed(result: CampaignResult, measured: Sequence[Estimate]) -> Iterator[Doubt]:
    """Cells that have no value because their load failed: each reason once."""
    have = {e.cell.key for e in result.estimates}
    failed = [u for u in result.unmeasured if u.reason.code is UnmeasuredCode.FAILED and u.cell.key not in have]
    if not failed:
        return
    by_reason = grouped((one.reason.detail, one.cell) for one in failed)
    share = len(failed) / (len(failed) + len({e.cell.key for e in measured}))
    level = Trust.LOW if CELLS.level(share) is Trust.LOW else Trust.FAIR
    for reason, cells in list(by_reason.items())[:MOST_REASONS]:
        values: dict[str, Value] = {"n_cells": len(cells), "reason": reason}
        yield Doubt(DoubtCode.FAILED, level, values, cells=tuple(cell.key for cell in cells[:20]))
    if (more := len(by_reason) - MOST_REASONS) > 0:
        yield Doubt(DoubtCode.FAILED, level, {"n_more": more})


def _skipped(result: CampaignResult, measured: Sequence[Estimate]) -> Iterator[Doubt]:
    if any(e.grade is not None for e in measured):
        return  # the law chose what was worth its time
    have = {e.cell.key for e in result.estimates}
    lost = [
        u
        for u in result.unmeasured
        if u.cell.key not in have and (u.reason.code is UnmeasuredCode.NOT_REACHED or "budget" in u.reason.text)
    ]
    n_measured = len({e.cell.key for e in measured})
    total = n_measured + len(lost)
    share = len(lost) / total if total else 0.0
    if LEFT_OUT.level(share) is not Trust.GOOD:
        advice = _more_time(result, total, n_measured)
        yield Doubt(DoubtCode.SKIPPED, LEFT_OUT.level(share), {"n_lost": len(lost), "n_cells": total}, advice)
    skipped = result.n_not_reached
    if skipped and not lost and skipped >= CELLS.fair * max(1, result.n_visits):
        advice = _more_time(result, result.n_visits + skipped, result.n_visits)
        yield Doubt(DoubtCode.SKIPPED, Trust.FAIR, {"n_runs": skipped}, advice)


def _client(_result: CampaignResult, measured: Sequence[Estimate]) -> Iterator[Doubt]:
    limited = [e for e in measured if client_limited(e)]
    if measured and len(limited) >= CLIENT_SHARE * len(measured):
        advice, values = Advice("faster-client"), _of(limited, measured)
        yield Doubt(DoubtCode.CLIENT_LIMITED, Trust.FAIR, values, advice, _keys(limited))


def _unfinished(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    if not result.complete:
        yield Doubt(DoubtCode.UNFINISHED, Trust.FAIR, advice=Advice("resume"))


def _imported(result: CampaignResult, measured: Sequence[Estimate]) -> Iterator[Doubt]:
    if not measured and any(e.kind == "imported" for e in result.estimates):
        yield Doubt(DoubtCode.IMPORTED, Trust.FAIR, advice=Advice("measure-alike"))
        cached = [facts.get("page cache") for facts in result.methods.values()]
        values = {"n_buffered": cached.count("buffered") or None, "n_unknown": cached.count(UNKNOWN) or None}
        if any(values.values()):
            yield Doubt(DoubtCode.IMPORTED, Trust.FAIR, values | {"n_sets": len(cached)})
        if doubted := [e for e in result.estimates if unsound(e)]:
            yield Doubt(DoubtCode.IMPORTED, Trust.FAIR, {"n_doubted": len(doubted)}, cells=_keys(doubted))
        if clashing := [e for e in result.estimates if e.statistic.startswith(MIDDLE)]:
            values, advice = {"n_clashing": len(clashing)}, Advice("label")
            yield Doubt(DoubtCode.IMPORTED, Trust.FAIR, values, advice, _keys(clashing))


_RULES: tuple[_Rule, ...] = (
    *(_found, _nothing, _not_the_drive, _other_load, _other_programs, _drifted),
    *(_failed, _skipped, _client, _unfinished, _imported),
)


def _rank(level: Trust) -> int:
    return (Trust.GOOD, Trust.FAIR, Trust.LOW).index(level)


def _of(some: Sequence[Estimate], measured: Sequence[Estimate]) -> dict[str, Value]:
    """How many of the cells; of a load with two directions each value counts."""
    return {"n": len(some), "n_all": len(measured), "values": len({e.cell.key for e in measured}) < len(measured)}


def _keys(estimates: Sequence[Estimate]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(e.cell.key for e in estimates))[:20]


def _more_time(result: CampaignResult, wanted: int, made: int) -> Advice:
    """A budget: the first round time in which all of it fits, longer than the budget there was. What was not made
    takes as long as what was.
    """
    seconds = result.seconds * wanted / made * 1.1 if made else 0.0
    if seconds and (had := result.settings.get("budget", "none")) != "none":
        seconds = max(seconds, LEAST_MORE * parse_duration_seconds(had))
    return again(f"--budget {round_budget(seconds)}") if seconds else Advice("again", {"longer": "--budget"})
