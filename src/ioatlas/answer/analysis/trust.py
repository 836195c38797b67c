# SPDX-License-Identifier: Apache-2.0
"""Whether a campaign is to be believed: fixed rules, each with the limit from which it makes the badge fair or low.

docs/method/trust.md has the same table for readers. The badge is the worst of what the rules say; without a doubt it
is good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ioatlas.answer.analysis.best import client_limited, disagrees, half_interval, usable
from ioatlas.answer.analysis.drift import shifts
from ioatlas.answer.analysis.imported_answer import MIDDLE, UNKNOWN, unsound
from ioatlas.answer.analysis.wording import plural
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import FindingCode
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import Doubt, DoubtCode, Headline, SmallIo, Trust
from ioatlas.model.units import format_size_rounded, parse_duration_seconds, per_cent, round_budget
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
IDLE = "re-run when idle"

_PAGE_CACHE = {
    "buffered": "The client's page cache took part",
    UNKNOWN: "Nothing says whether the client's page cache took part",
}
_UNSTEADY_WORDS = {
    VerdictCode.DRIFTING: "still changing speed when its runs ended",
    VerdictCode.BISTABLE: "switching between two speeds",
    VerdictCode.UNSTABLE: "not steady",
    VerdictCode.NO_STEADY_STATE: "not steady",
    VerdictCode.OVERLOADED: "offered more than it could carry",
}


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


def grade_of(e: Estimate) -> tuple[Trust, str]:
    """How far a value is to be believed, and why no further: as the law of its target says, else by its runs."""
    if e.grade is not None:
        return e.grade, e.grade_reason
    width = half_interval(e)
    if disagrees(e):
        return Trust.LOW, "its runs disagree" if e.n_visits > 1 else "one run tells too little"
    if e.verdict in _UNSTEADY_WORDS:
        return Trust.LOW, f"it was {_UNSTEADY_WORDS[e.verdict]}"
    if width is None:
        return Trust.FAIR, "it was measured once" if e.n_visits < FEWEST_VISITS else "its uncertainty is unknown"
    if width > FAIR_WIDTH:
        return Trust.LOW, f"known only to ±{per_cent(width)}"
    return (Trust.FAIR, f"known to ±{per_cent(width)}") if width > GOOD_WIDTH else (Trust.GOOD, "")


def _numbers(
    result: CampaignResult, estimates: Sequence[Estimate], headlines: Sequence[Headline], small: Sequence[SmallIo]
) -> Iterator[Doubt]:
    """The main numbers that are less than good by themselves."""
    named = [(one.label, one.cell, one.direction) for one in headlines]
    for io in small:
        ends = (io.lightest, io.best)
        named += [(f"{io.label}, {one.in_flight} in flight", one.cell, io.direction) for one in ends]
    graded = {(e.cell.key, e.direction): e for e in estimates if usable(e) and not e.cell.trace}
    for label, cell, direction in named:
        if (e := graded.pop((cell, direction), None)) is None:  # each is told once
            continue
        grade, why = grade_of(e)
        if grade is not Trust.GOOD:
            yield Doubt(DoubtCode.NUMBER, grade, f"{label}: {why}.", _longer(result), (cell,))
    if result.shown_as != "tables" and not {one.direction for one in headlines} >= {e.direction for e in estimates}:
        yield Doubt(DoubtCode.NUMBER, Trust.LOW, "One direction has no usable value.", _longer(result))


def _longer(result: CampaignResult) -> str:
    """Four times the time halves what noise leaves of an interval; of a sweep without a budget, windows so long, and of
    loads that end when their work is done, so many visits.
    """
    had = result.settings.get("budget", "none")
    if had != "none":
        return f"re-run with --budget {round_budget(4 * parse_duration_seconds(had))}"
    measured = [e for e in result.estimates if e.kind == "measured"]
    if measured and all(e.cell.work_bounded for e in measured):
        return f"re-run with --visits {4 * max(e.n_visits for e in measured)}"
    window = result.settings.get("window", "").partition(" ")[0]
    return f"re-run with --window {4 * float(window):g}s" if window else "re-run with a longer --window"


_Rule = Callable[[CampaignResult, Sequence[Estimate]], Iterator[Doubt]]


def _corrupted(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    if any(finding.code is FindingCode.CORRUPTION for finding in result.findings):
        text = "Data that were read back differ from what was written."
        yield Doubt(DoubtCode.CORRUPTION, Trust.LOW, text, "stop using this target until that is explained")


def _nothing(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    if not any(e.bw_bytes_per_s or e.iops for e in result.estimates):
        yield Doubt(DoubtCode.NOTHING, Trust.LOW, "Nothing was measured.", "look at `ioatlas show DIR -v` for why")


def _cached(_result: CampaignResult, measured: Sequence[Estimate]) -> Iterator[Doubt]:
    flagged = [e for e in measured if e.verdict in (VerdictCode.CACHED, VerdictCode.SUSPECT)]
    share = len(flagged) / len(measured) if measured else 0.0
    if CELLS.level(share) is Trust.GOOD:
        return
    sure = sum(e.verdict is VerdictCode.CACHED for e in flagged)
    text = f"A cache {'answered' if sure else 'may have answered'} {_of(len(flagged), measured)}; not ranked."
    buffered = all(not e.cell.integer("direct", 1) for e in flagged)
    advice = "use direct=1" if buffered else "use a larger --size than any cache"
    yield Doubt(DoubtCode.CACHED, CELLS.level(share), text, advice, _keys(flagged))


def _holes(_result: CampaignResult, measured: Sequence[Estimate]) -> Iterator[Doubt]:
    """Reads of a file that was made without data are asked for, and no doubt."""
    flagged = [e for e in measured if e.verdict is VerdictCode.HOLE and e.cell.state != "fresh"]
    share = len(flagged) / len(measured) if measured else 0.0
    if CELLS.level(share) is not Trust.GOOD:
        text = f"The file has holes: {_of(len(flagged), measured)} may have read no drive; not ranked."
        yield Doubt(DoubtCode.HOLES, CELLS.level(share), text, "use a file that was written in full", _keys(flagged))


def _other_load(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    level = max((OTHER_LOAD.level(one.share) for one in result.other_traffic), key=_rank, default=Trust.GOOD)
    if level is Trust.GOOD:
        return
    told = " and ".join(
        f"{format_size_rounded(one.excess_bytes)} more {'read' if one.direction == 'read' else 'written'}"
        for one in result.other_traffic[:2]
    )
    yield Doubt(DoubtCode.OTHER_LOAD, level, f"Other disk activity: {told} than asked for.", IDLE)


def _other_programs(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    level = OTHER_PROGRAMS.level(result.others_cpu or 0.0)
    if level is not Trust.GOOD:
        text = f"Other programs took {result.others_cpu or 0.0:.0%} of this client's processors."
        yield Doubt(DoubtCode.OTHER_PROGRAMS, level, text, IDLE)


def _drifted(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    """Replicates that were voided and repeated are out of every value, so they are no doubt."""
    share, text, _ = max(shifts(result.replicates, result.wanders), default=(0.0, "", ""))
    if SHIFT.level(share) is not Trust.GOOD:
        yield Doubt(DoubtCode.DRIFT, SHIFT.level(share), f"Speed shifted during the run: {text}.", IDLE)


def _reduced(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    if any(finding.code is FindingCode.DATA_REDUCTION for finding in result.findings):
        text = "The target compresses or deduplicates: other data would give other values."
        yield Doubt(DoubtCode.DATA_REDUCTION, Trust.FAIR, text)


def _failed(result: CampaignResult, measured: Sequence[Estimate]) -> Iterator[Doubt]:
    """Cells that have no value because their load failed: each reason once."""
    have = {e.cell.key for e in result.estimates}
    failed = [u for u in result.unmeasured if u.reason.code is UnmeasuredCode.FAILED and u.cell.key not in have]
    if not failed:
        return
    by_reason: dict[str, list[Cell]] = {}
    for one in failed:
        by_reason.setdefault(one.reason.detail, []).append(one.cell)
    share = len(failed) / (len(failed) + len({e.cell.key for e in measured}))
    level = Trust.LOW if CELLS.level(share) is Trust.LOW else Trust.FAIR
    for reason, cells in list(by_reason.items())[:MOST_REASONS]:
        told = f"{plural(len(cells), 'cell')} failed: {reason}."
        yield Doubt(DoubtCode.FAILED, level, told, cells=tuple(cell.key for cell in cells[:20]))
    if (more := len(by_reason) - MOST_REASONS) > 0:
        yield Doubt(DoubtCode.FAILED, level, f"More failed, for {plural(more, 'other reason')}.")


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
        text = f"{len(lost):,} of {plural(total, 'cell')} were left out: time was up."
        advice = f"re-run with {_more_time(result, total, n_measured)}"
        yield Doubt(DoubtCode.SKIPPED, LEFT_OUT.level(share), text, advice)
    skipped = result.n_not_reached
    if skipped and not lost and skipped >= CELLS.fair * max(1, result.n_visits):
        advice = f"re-run with {_more_time(result, result.n_visits + skipped, result.n_visits)}"
        yield Doubt(DoubtCode.SKIPPED, Trust.FAIR, f"{skipped} planned runs were skipped: time was up.", advice)


def _client(_result: CampaignResult, measured: Sequence[Estimate]) -> Iterator[Doubt]:
    limited = [e for e in measured if client_limited(e)]
    if measured and len(limited) >= CLIENT_SHARE * len(measured):
        told = (
            "were client-limited: read them as minimums."
            if len(limited) > 1
            else "was client-limited: read it as a minimum."
        )
        text = f"{_of(len(limited), measured)} {told}"
        yield Doubt(
            DoubtCode.CLIENT_LIMITED,
            Trust.FAIR,
            f"{text[0].upper()}{text[1:]}",
            "use a faster client, or several",
            _keys(limited),
        )


def _unfinished(result: CampaignResult, _measured: Sequence[Estimate]) -> Iterator[Doubt]:
    if not result.complete:
        text = "The campaign is not finished."
        yield Doubt(DoubtCode.UNFINISHED, Trust.FAIR, text, "`ioatlas resume DIR` goes on with it")


def _imported(result: CampaignResult, measured: Sequence[Estimate]) -> Iterator[Doubt]:
    if not measured and any(e.kind == "imported" for e in result.estimates):
        text = "Another tool's values, without raw logs: steady state, warm-up and caches could not be checked."
        yield Doubt(DoubtCode.IMPORTED, Trust.FAIR, text, "measure the same loads with `ioatlas map`, then `compare`")
        cached = [facts.get("page cache") for facts in result.methods.values()]
        several = " in {}" if len(cached) > 1 else ""
        counts = [(cached.count(word), said) for word, said in _PAGE_CACHE.items()]
        told = [said + several.format(plural(count, "set")) for count, said in counts if count]
        if told:
            yield Doubt(DoubtCode.IMPORTED, Trust.FAIR, f"{'. '.join(told)}.")
        doubted = [e for e in result.estimates if unsound(e)]
        if doubted:
            text = f"{plural(len(doubted), 'reading')} left out of the best: figures that contradict, or a failed run."
            yield Doubt(DoubtCode.IMPORTED, Trust.FAIR, text, "", _keys(doubted))
        if clashing := [e for e in result.estimates if e.statistic.startswith(MIDDLE)]:
            text = f"Nothing tells the readings of {plural(len(clashing), 'load')} apart: the middle one is shown."
            yield Doubt(DoubtCode.IMPORTED, Trust.FAIR, text, "import each set with its own `--label`", _keys(clashing))


_RULES: tuple[_Rule, ...] = (
    *(_corrupted, _nothing, _cached, _holes, _other_load, _other_programs, _drifted, _reduced),
    *(_failed, _skipped, _client, _unfinished, _imported),
)


def _rank(level: Trust) -> int:
    return (Trust.GOOD, Trust.FAIR, Trust.LOW).index(level)


def _of(count: int, measured: Sequence[Estimate]) -> str:
    """'3 of 24 cells', 'the only cell'; of a load with two directions each value counts."""
    noun = "cell" if len({e.cell.key for e in measured}) == len(measured) else "value"
    return f"{count:,} of {plural(len(measured), noun)}" if len(measured) > 1 else f"the only {noun}"


def _keys(estimates: Sequence[Estimate]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(e.cell.key for e in estimates))[:20]


def _more_time(result: CampaignResult, wanted: int, made: int) -> str:
    """'--budget 5m': the first round time in which all of it fits, longer than the budget there was. What was not made
    takes as long as what was.
    """
    seconds = result.seconds * wanted / made * 1.1 if made else 0.0
    if seconds and (had := result.settings.get("budget", "none")) != "none":
        seconds = max(seconds, LEAST_MORE * parse_duration_seconds(had))
    return f"--budget {round_budget(seconds)}" if seconds else "--budget with more time"
