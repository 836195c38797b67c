# SPDX-License-Identifier: Apache-2.0
"""The things to know about a map, in words: peak, smallest load near it, noise, what was not measured.

Only measured values count.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import median

from ioatlas.analysis.best import (
    NUMBER_WIDTH,
    Best,
    Group,
    best_of,
    client_limited,
    disagrees,
    found_unsteady,
    groups,
    half_interval,
    speed,
    tie_words,
    usable,
    with_fresh,
)
from ioatlas.analysis.wording import Namer, per_cent, plural
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.estimate import Bound, Estimate
from ioatlas.model.finding import Finding, FindingCode, common
from ioatlas.model.reason import UnmeasuredCode, UnmeasuredReason
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import format_rate, format_rate_like
from ioatlas.model.verdict import LOWER_BOUND, VerdictClass, VerdictCode, verdict_class

NEAR_CEILING = 0.1
"""Share of a ceiling from which it is told in per cent."""
EVIDENCE = 20
"""Most cells listed as evidence of one finding."""
MOST_REASONS = 2
"""Reasons for discarded runs that one sentence names."""


def findings(result: CampaignResult) -> tuple[Finding, ...]:
    """The things to know, in the order to read them; for each target and direction where that makes sense."""
    cells = [*(e.cell for e in result.estimates), *(u.cell for u in result.unmeasured)]
    namer = Namer(cells, [target.name for target in result.targets], tuple(result.axes))
    estimates = with_fresh(result.estimates, result.fresh)
    found: list[Finding] = []
    for group, members in groups(estimates).items():
        best = best_of(members)
        if best is None:
            found.append(_no_peak(group, members, namer))
            continue
        found += [_peak(group, best, namer), _near(group, best, namer)]
    noise, missing = _noise(estimates, namer), _not_measured(replace(result, estimates=estimates))
    return (*found, noise, *([missing] if missing.sentence else []))


_OF_CELLS: dict[str, str] = {VerdictCode.RUNS_DISAGREE: "whose runs disagree"}
"""Verdicts that are no adjective, after a number of cells."""


def _no_peak(group: Group, members: Sequence[Estimate], namer: Namer) -> Finding:
    words: Counter[str] = Counter(e.verdict or "without throughput" for e in members)
    reasons = ", ".join(f"{count:,} {_OF_CELLS.get(word, word)}" for word, count in words.most_common())
    sentence = f"No {group[1]} value{namer.on(group[0])} can be named the best: {reasons}."
    return _finding(FindingCode.PEAK, sentence, _keys(members), group, namer)


def _peak(group: Group, best: Best, namer: Namer) -> Finding:
    target, direction = group
    e = best.peak
    sentences = [f"Best {direction}{namer.on(target)}: {value_text(e)}, {namer.short(e.cell)}."]
    if e.bw_first:
        times = f"{e.n_visits:,} times" if e.n_visits > 1 else "once"
        sentences.append(f"Re-measured {times}; it was {format_rate_like(e.bw_first, speed(e))}.")
    elif not e.cell.trace and e.grade is None:
        sentences.append("The best of many values is probably a little high.")
    if tie := tie_words(best, namer):
        sentences.append(f"{tie[:1].upper()}{tie[1:]}.")
    if e.ceiling is not None:
        sentences.append(_ceiling(e.ceiling, speed(e)))
    if found_unsteady(e):
        sentences.append(f"It was not steady ({e.verdict}).")
    if client_limited(e):
        sentences.append("The client was the bottleneck; treat this as a minimum.")
    if best.higher:
        words: Counter[str] = Counter("whose runs disagree" if disagrees(one) else one.verdict for one in best.higher)
        sentences.append(f"Higher readings are left out: {_count_words(words)}.")
    return _finding(FindingCode.PEAK, " ".join(sentences), (e.cell.key,), group, namer)


def _ceiling(bound: Bound, value: float) -> str:
    """Of the nearest ceiling known. A small share of a high bound says only that it is not near."""
    share = value / bound.bw_bytes_per_s
    used = f"{share:.0%} used" if share >= NEAR_CEILING else f"{_times(1 / share)} as much"
    rate = format_rate(bound.bw_bytes_per_s)
    if bound.name.startswith("path to a target in memory"):
        return f"The same test against RAM reaches {rate} on this client ({used})."
    return f"The {bound.name} allows {rate} ({used})."


_TITLES = {FindingCode.PEAK: "Peak of", FindingCode.KNEE: "90 % of the peak of"}


def _finding(code: FindingCode, sentence: str, keys: tuple[str, ...], group: Group, namer: Namer) -> Finding:
    target, direction = group
    title = f"{_TITLES[code]} {direction}s{namer.on(target)}"
    return Finding(code, sentence, keys, title=title, target=target, direction=direction)


def _near(group: Group, best: Best, namer: Namer) -> Finding:
    target, direction = group
    keys = tuple(dict.fromkeys((best.near.cell.key, best.peak.cell.key)))
    if best.near is best.peak:
        sentence = f"Reaching 90% of the best {direction}{namer.on(target)} takes {_load(best.peak.cell, namer)}."
        return _finding(FindingCode.KNEE, sentence, keys, group, namer)
    share = speed(best.near) / speed(best.peak)
    part = "as much as" if share >= 1 else f"{share:.0%} of"
    sentence = (
        f"{_capital(_load(best.near.cell, namer))} already give {part} the best {direction}{namer.on(target)}: "
        f"{value_text(best.near)}."
    )
    if best.checked and best.near.bw_first is None:
        sentence += " It was not re-measured."
    return _finding(FindingCode.KNEE, sentence, keys, group, namer)


def _load(cell: Cell, namer: Namer) -> str:
    """'1 MiB blocks and 16 jobs', '4 KiB random blocks, 2 jobs and iodepth 8'."""
    size, *rest = namer.short(cell).split(", ")
    parts = [f"{size} blocks", *rest]
    return " and ".join([", ".join(parts[:-1]), parts[-1]])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# -- how sure, and what is missing ---------------------------------------------------------------------------

_UNSTEADY = {
    VerdictCode.DRIFTING: "still changing speed when {its} ended",
    VerdictCode.BISTABLE: "switching between two speeds",
    VerdictCode.UNSTABLE: "not steady within {its}",
    VerdictCode.NO_STEADY_STATE: "not steady within {its}",
    VerdictCode.OVERLOADED: "offered more than the target carries",
}


def _noise(estimates: Sequence[Estimate], namer: Namer) -> Finding:
    measured = [e for e in estimates if e.kind == "measured" and usable(e)]
    if not measured:
        return Finding(FindingCode.NOISE, "Uncertainty is unknown: nothing was measured.")
    widths = [(width, e) for e in measured if (width := half_interval(e)) is not None]
    sentences: list[str] = []
    evidence: list[Estimate] = []
    apart = [e for e in measured if disagrees(e)]
    if widths:
        width, worst = max(widths, key=lambda pair: pair[0])
        middle = median(pair[0] for pair in widths)
        sentences.append(
            f"Typical uncertainty ±{per_cent(middle)}."
            if middle <= NUMBER_WIDTH
            else "The runs of most cells disagree."
        )
        if not apart and len(widths) > 1:
            evidence.append(worst)
            sentences.append(f"The widest is ±{per_cent(width)}: {_named(worst, namer)}.")
    if apart:
        evidence += apart
        which = _named(apart[0], namer) if len(apart) == 1 else f"{len(apart):,} cells"
        sentences.append(f"Ignore {which}: {'its' if len(apart) == 1 else 'their'} runs disagree.")
    bare = sum(half_interval(e) is None and not disagrees(e) for e in measured)
    if bare == len(measured):
        sentences.append("Uncertainty is unknown: no cell was measured often enough.")
    elif bare:
        was = "was" if bare == 1 else "were"
        sentences.append(f"{bare:,} of {plural(len(measured), 'value')} {was} measured too rarely to tell.")
    for code, text in _UNSTEADY.items():
        count = sum(e.verdict is code for e in measured)
        if count:
            was, its = ("was", "its run") if count == 1 else ("were", "their runs")
            sentences.append(f"{count:,} of {plural(len(measured), 'cell')} {was} {text.format(its=its)}.")
    unsure = sum(e.verdict is VerdictCode.UNCERTAIN for e in measured)
    if unsure:
        sentences.append(
            f"{plural(unsure, 'cell')} {'is' if unsure == 1 else 'are'} too uncertain to be called steady."
        )
    short = sum(e.verdict is VerdictCode.TOO_SHORT for e in measured)
    if short:
        sentences.append(f"The runs of {plural(short, 'cell')} were too short to tell whether they are steady.")
    return Finding(
        FindingCode.NOISE,
        " ".join(sentences),
        _keys(evidence),
        target=common(e.cell.target for e in evidence),
        direction=common(e.direction for e in evidence),
    )


def _named(e: Estimate, namer: Namer) -> str:
    """'write, 4 KiB random, 16 jobs', with its target where there are several."""
    return f"{e.direction}, {namer.short(e.cell)}{namer.on(e.cell.target)}"


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
    bare = _bare_levels(result, measured)
    if bare:
        sentences.append(f"Nothing was measured with {', '.join(bare)}.")
    limited = sum(e.kind == "measured" and client_limited(e) for e in result.estimates)
    if limited:
        were, them = ("was", "it as a minimum") if limited == 1 else ("were", "them as minimums")
        sentences.append(f"{plural(limited, 'value')} {were} client-limited: read {them}.")
    suspect: Counter[str] = Counter(
        e.verdict
        for e in result.estimates
        if e.kind == "measured" and verdict_class(e.verdict) is VerdictClass.SUSPECT and e.verdict not in LOWER_BOUND
    )
    if suspect:
        sentences.append(f"Measured, but not ranked: {_count_words(suspect)}.")
    if result.n_discarded:
        # The sentence must stay short; the settings of the report have them all.
        often = sorted(result.discard_reasons.items(), key=lambda pair: -pair[1])
        most = "most: " if len(often) > MOST_REASONS else ""
        why = most + ", ".join(f"{count:,} {reason}" for reason, count in often[:MOST_REASONS])
        sentences.append(
            f"{plural(result.n_discarded, 'run')} {'was' if result.n_discarded == 1 else 'were'} "
            f"discarded{f' ({why})' if why else ''}."
        )
    if not result.complete:
        sentences.append("The campaign is not finished.")
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


def _bare_levels(result: CampaignResult, measured: set[str]) -> list[str]:
    """Values of an axis that no measured cell has: 'bs 2 MiB'."""
    seen: dict[str, set[OptionValue]] = defaultdict(set)
    for estimate in result.estimates:
        if estimate.cell.key in measured:
            for name, value in estimate.cell.options:
                seen[name].add(value)
    return [
        Namer.option(name, value)
        for name, values in result.axes.items()
        if name in seen
        for value in values
        if value not in seen[name]
    ]


def value_text(estimate: Estimate) -> str:
    """'744 MiB/s ±16%'; without a number of uncertainty where its runs disagree."""
    width = half_interval(estimate)
    told = "" if width is None else f" ±{per_cent(width)}" if width <= NUMBER_WIDTH else " (runs disagree)"
    return f"{format_rate(speed(estimate))}{told}"


def _times(ratio: float) -> str:
    return f"{float(f'{ratio:.2g}'):,.0f} times"


def _count_words(words: Counter[str]) -> str:
    """'3 drifting and 1 cached'."""
    texts = [f"{count:,} {_OF_CELLS.get(word, word) or 'without a verdict'}" for word, count in words.most_common()]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _keys(estimates: Iterable[Estimate]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(e.cell.key for e in estimates))[:EVIDENCE]
