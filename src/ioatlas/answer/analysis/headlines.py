# SPDX-License-Identifier: Apache-2.0
"""Findings in the order of what a reader should do next, each under a title of its own. What a map says beside its
answer: the smallest load near the best, what was not measured. What cannot be true together: readings by Little's law,
and two clocks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

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
from ioatlas.answer.analysis.wording import Namer, plural
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, common
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import format_duration, format_rate, per_cent
from ioatlas.model.verdict import ReasonCode, UnmeasuredCode, UnmeasuredReason, VerdictCode
from ioatlas.model.visit import Visit

_F = FindingCode
TITLES = {
    _F.ABOVE_CEILING: "Above a ceiling",
    _F.CACHE: "Caches",
    _F.CACHE_SIZE: "Size of a cache",
    _F.CORRUPTION: "Corrupted data",
    _F.COUNTERS: "Kernel counters",
    _F.ENGINES: "Two tools",
    _F.KNEE: "90 % of the peak",
    _F.LIMIT: "What limits",
    _F.LITTLES_LAW: "Little's law",
    _F.METHOD: "Methods differ",
    _F.NO_DATA_REDUCTION: "Data reduction",
    _F.UNDETERMINED: "What limits",
    _F.ROUNDS: "SNIA test",
}
"""Where a code made into words would not do."""


@dataclass(frozen=True)
class _Trouble:
    """The first finding of a code that reports trouble."""

    code: FindingCode


_OTHER = None
_ORDER: tuple[FindingCode | _Trouble | None, ...] = (
    # Is it to be believed at all?
    *(_F.CORRUPTION, _F.LITTLES_LAW, _F.ABOVE_CEILING, _Trouble(_F.CACHE), _Trouble(_F.COUNTERS), _F.DATA_REDUCTION),
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


def headlines(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings in reading order with titles, no two alike. Equal codes keep the order they came in."""
    given = _agreeing(list(findings))
    first = {one.code: index for index, one in reversed(list(enumerate(given))) if _troubled(one)}
    ordered = [
        one
        for _, one in sorted(
            enumerate(given), key=lambda item: _rank(item[1], first=first.get(item[1].code) == item[0])
        )
    ]
    named = [
        replace(
            one,
            title=one.title or _title(one.code),
            place=one.place or ("" if one.cells else _PLACES.get(one.code, "method")),
        )
        for one in ordered
    ]
    named = _told_apart(named, attrgetter("direction"), "{}, {}s")
    named = _told_apart(named, attrgetter("target"), "{}, on {}")
    count, seen = Counter(one.title for one in named), Counter[str]()
    numbered = []
    for one in named:
        seen[one.title] += 1
        numbered.append(replace(one, title=f"{one.title} ({seen[one.title]})") if count[one.title] > 1 else one)
    return tuple(numbered)


def _agreeing(findings: Sequence[Finding]) -> list[Finding]:
    """Without the checks that found nothing where another of the same kind found something."""
    troubled = {one.code for one in findings if not one.in_order}
    return [one for one in findings if not (one.in_order and one.code in troubled)]


def _told_apart(findings: Sequence[Finding], by: Callable[[Finding], str], words: str) -> list[Finding]:
    """Findings of one title that differ in something: it is added to their titles ('Peak, reads')."""
    values: dict[str, set[str]] = {}
    for one in findings:
        values.setdefault(one.title, set()).add(by(one))
    return [
        replace(one, title=words.format(one.title, by(one))) if by(one) and len(values[one.title]) > 1 else one
        for one in findings
    ]


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


def _title(code: FindingCode) -> str:
    return TITLES.get(code, code[:1].upper() + code[1:].replace("-", " "))


EVIDENCE = 20
"""Most cells listed as evidence of one finding."""
MOST_REASONS = 2
"""Reasons for discarded runs that one sentence names."""


def findings(result: CampaignResult) -> tuple[Finding, ...]:
    """The things to know, in the order to read them; for each target and direction where that makes sense."""
    cells = [*(e.cell for e in result.estimates), *(u.cell for u in result.unmeasured)]
    namer = Namer(cells, [target.name for target in result.targets], tuple(result.axes))
    named = ((group, best_of(members)) for group, members in groups(result.estimates).items())
    found = [_near(group, best, result.estimates, namer) for group, best in named if best is not None]
    missing = _not_measured(result)
    return (*found, *([missing] if missing.sentence else []))


def _near(group: Group, best: Best, estimates: Sequence[Estimate], namer: Namer) -> Finding:
    """The smallest load that reaches 90% of the best, measured or estimated: the map shows both."""
    target, direction = group
    mine = [e for e in estimates if (e.cell.target, e.direction) == group]
    able = [*eligible(e for e in mine if e.kind == "measured"), *(e for e in mine if e.kind == "predicted")]
    near = min((e for e in able if speed(e) >= NEAR_PEAK * speed(best.peak)), key=load_order)
    what = f"best {direction}{namer.on(target)}"
    share = speed(near) / speed(best.peak)
    if near is best.peak:
        sentence = f"Reaching 90% of the {what} takes {_load(near.cell, namer)}."
    else:
        part = "as much as" if share >= 1 else f"{share:.0%} of"
        load, estimated = _load(near.cell, namer), ", estimated" if near.kind == "predicted" else ""
        sentence = f"{load[:1].upper()}{load[1:]} already give {part} the {what}: {value_text(near)}{estimated}."
    keys = tuple(dict.fromkeys((near.cell.key, best.peak.cell.key)))
    title = f"90 % of the peak of {direction}s{namer.on(target)}"
    return Finding(FindingCode.KNEE, sentence, keys, title=title, target=target, direction=direction)


def _load(cell: Cell, namer: Namer) -> str:
    """'1 MiB blocks and 16 jobs', '4 KiB random blocks, 2 jobs and iodepth 8'."""
    size, *rest = namer.short(cell).split(", ")
    parts = [f"{size} blocks", *rest]
    return " and ".join([", ".join(parts[:-1]), parts[-1]])


def _not_measured(result: CampaignResult) -> Finding:
    """What is missing; without a sentence where nothing is."""
    measured = {e.cell.key for e in result.estimates if e.kind == "measured"}
    predicted = {e.cell.key for e in result.estimates if e.kind == "predicted"} - measured
    missing = {u.cell.key: u for u in result.unmeasured if u.cell.key not in measured}
    imported = {e.cell.key for e in result.estimates if e.kind == "imported"} - measured - predicted
    total = len(measured | predicted | imported | missing.keys())
    sentences = []
    if not total:
        sentences.append("Nothing was measured.")
    elif len(measured) < total:
        parts = [f"{len(predicted):,} estimated from the others"] if predicted else []
        parts += [f"{len(imported):,} from another tool"] if imported else []
        parts += _reasons([u.reason for key, u in missing.items() if key not in predicted | imported])
        lost = total - len(measured)
        was = "was" if lost == 1 else "were"
        sentences.append(f"{lost:,} of {plural(total, 'cell')} {was} not measured: {'; '.join(parts)}.")
    if result.n_discarded:
        # The sentence must stay short; the settings of the report have them all.
        often = sorted(result.discard_reasons.items(), key=lambda pair: -pair[1])
        most = "most: " if len(often) > MOST_REASONS else ""
        why = most + ", ".join(f"{count:,} {reason}" for reason, count in often[:MOST_REASONS])
        sentences.append(
            f"{plural(result.n_discarded, 'run')} {'was' if result.n_discarded == 1 else 'were'} "
            f"discarded{f' ({why})' if why else ''}."
        )
    return Finding(FindingCode.NOT_MEASURED, " ".join(sentences), tuple(missing)[:EVIDENCE])


def _reasons(reasons: Sequence[UnmeasuredReason]) -> Iterator[str]:
    """'16 not admissible: block larger than the file', one entry for each code."""
    kinds: dict[UnmeasuredCode, Counter[str]] = defaultdict(Counter)
    for reason in reasons:
        kinds[reason.code][reason.detail] += 1
    for kind, details in sorted(kinds.items(), key=lambda item: -item[1].total()):
        detail, _ = details.most_common(1)[0]
        most = f" ({'mostly ' if len(details) > 1 else ''}{detail})" if detail else ""
        yield f"{details.total():,} {kind}{most}"


def value_text(estimate: Estimate) -> str:
    """'744 MiB/s ±16%'; beyond ±100% without a number of uncertainty."""
    width = half_interval(estimate)
    told = "" if width is None else f" ±{per_cent(width)}" if width <= NUMBER_WIDTH else " (beyond ±100%)"
    return f"{format_rate(speed(estimate))}{told}"


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
