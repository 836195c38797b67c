# SPDX-License-Identifier: Apache-2.0
"""The five things to know about a map, in words: peak, smallest load near it, saturation with jobs, noise, what was
not measured.

Only measured values count. A cell is named extreme by the sweep and valued by the fresh visits made afterwards: the
largest of many noisy values is too high on average (selection bias), its repetition is not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ioatlas.analysis.wording import Namer, plural
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, common
from ioatlas.model.reason import UnmeasuredCode, UnmeasuredReason
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import format_rate, format_size
from ioatlas.model.verdict import LOWER_BOUND, WITHHELD, VerdictClass, verdict_class

NEAR_PEAK = 0.9
"""Share of the peak, or of a line's best, that counts as reaching it."""
NEAR_CEILING = 0.1
"""Share of a ceiling from which it is told in per cent."""
FEWEST_JOBS_VALUES = 3
"""Shortest line along numjobs that saturation is read from."""
EVIDENCE = 20
"""Most cells listed as evidence of one finding."""

Group = tuple[str, str]
"""Target and direction."""


@dataclass(frozen=True)
class Extreme:
    """What the sweep named in one group: the fastest cell, and the smallest load that comes within 10% of it (may
    be the same).
    """

    peak: Estimate
    near: Estimate


def extremes(estimates: Iterable[Estimate]) -> tuple[Cell, ...]:
    """Cells to measure again because they are named: peak and smallest cell near it, of each target and direction.
    No duplicates.
    """
    cells: dict[str, Cell] = {}
    for members in _groups(estimates).values():
        named = _extreme(members)
        # A replayed trace has the rate of its own times: no other visit would be a better one.
        if named is not None and not named.peak.cell.trace:
            cells |= {named.peak.cell.key: named.peak.cell, named.near.cell.key: named.near.cell}
    return tuple(cells.values())


def findings(result: CampaignResult) -> tuple[Finding, ...]:
    """The things to know, in the order to read them; for each target and direction where that makes sense."""
    cells = [*(e.cell for e in result.estimates), *(u.cell for u in result.unmeasured)]
    namer = Namer(cells, [target.name for target in result.targets], tuple(result.axes))
    fresh = {(e.cell.key, e.direction): e for e in result.fresh if _usable(e)}
    found: list[Finding] = []
    for group, members in _groups(result.estimates).items():
        named = _extreme(members)
        if named is None:
            found.append(_no_peak(group, members, namer))
            continue
        found += [
            _peak(group, named, members, fresh, namer),
            _near(group, named, fresh, namer),
            _saturation(group, named, members, namer),
        ]
    found += [_noise(result.estimates, namer), _not_measured(result)]
    return tuple(found)


def in_flight_bytes(cell: Cell) -> int:
    """Bytes a closed loop keeps in flight: the size of a load."""
    return cell.bs_bytes * cell.outstanding


def _value(estimate: Estimate) -> float | None:
    """Throughput, where there is a positive one."""
    value = estimate.bw_bytes_per_s
    return value if value is not None and value > 0 else None


def _speed(estimate: Estimate) -> float:
    return _value(estimate) or 0.0


def _usable(estimate: Estimate) -> bool:
    """A value of the target, if only a lower bound of what it can do."""
    return _value(estimate) is not None and (
        verdict_class(estimate.verdict) is not VerdictClass.SUSPECT or estimate.verdict in LOWER_BOUND
    )


def _found_unsteady(estimate: Estimate) -> bool:
    return verdict_class(estimate.verdict) is VerdictClass.UNSTABLE and estimate.verdict not in WITHHELD


def _groups(estimates: Iterable[Estimate]) -> dict[Group, list[Estimate]]:
    """Measured estimates by target (in order of appearance) and direction (read, write, trim)."""
    groups: dict[Group, list[Estimate]] = defaultdict(list)
    targets: dict[str, int] = {}
    for estimate in estimates:
        if estimate.kind == "measured":
            targets.setdefault(estimate.cell.target, len(targets))
            groups[estimate.cell.target, estimate.direction].append(estimate)
    order = {"read": 0, "write": 1, "trim": 2}
    return dict(sorted(groups.items(), key=lambda item: (targets[item[0][0]], order.get(item[0][1], 3))))


def _eligible(members: Iterable[Estimate]) -> list[Estimate]:
    """Values that may be named: not suspect; none found unsteady if there are others."""
    usable = [e for e in members if _usable(e)]
    return [e for e in usable if not _found_unsteady(e)] or usable


def _extreme(members: Sequence[Estimate]) -> Extreme | None:
    eligible = _eligible(members)
    if not eligible:
        return None
    peak = max(eligible, key=_speed)
    reaching = [e for e in eligible if _speed(e) >= NEAR_PEAK * _speed(peak)]
    near = min(reaching, key=lambda e: (in_flight_bytes(e.cell), e.cell.outstanding, -_speed(e)))
    return Extreme(peak, near)


def _no_peak(group: Group, members: Sequence[Estimate], namer: Namer) -> Finding:
    words: Counter[str] = Counter(e.verdict or "no throughput" for e in members)
    reasons = ", ".join(f"{count:,} {word}" for word, count in words.most_common())
    sentence = (
        f"No {group[1]} value{namer.on(group[0])} may be named as a peak: of {plural(len(members), 'value')}, "
        f"{reasons}."
    )
    return _finding(FindingCode.PEAK, sentence, _keys(members), group, namer)


def _peak(
    group: Group, named: Extreme, members: Sequence[Estimate], fresh: Mapping[tuple[str, str], Estimate], namer: Namer
) -> Finding:
    target, direction = group
    chosen = named.peak
    again = fresh.get((chosen.cell.key, direction))
    where = namer.cell(chosen.cell)
    head = f"Highest {direction} throughput{namer.on(target)}:"
    if again is not None:
        sentence = (
            f"{head} {_rate(again)} with {where}, from {plural(again.n_visits, 'fresh visit')} made after the sweep "
            "had named this cell"
            f" (the sweep itself gave {format_rate(_speed(chosen))})."
        )
    else:
        sentence = (
            f"{head} {_rate(chosen)} with {where}, from the "
            f"{f'same {chosen.n_visits:,} visits' if chosen.n_visits > 1 else 'only visit'} that named it,"
            " so it is probably a little high; it was not measured again."
        )
    if chosen.ceiling is not None:
        bound = chosen.ceiling.bw_bytes_per_s
        share = _speed(again or chosen) / bound
        ceiling = f"the nearest ceiling known, the {chosen.ceiling.name} ({format_rate(bound)})"
        # A small share of a high bound says only that it is not near.
        sentence += (
            f" That is {share:.0%} of {ceiling}."
            if share >= NEAR_CEILING
            else f" T{ceiling[1:]}, lies {_times(1 / share)} as high."
        )
    if _found_unsteady(again or chosen):
        sentence += f" The load found no steady state there ({(again or chosen).verdict})."
    if (again or chosen).verdict in LOWER_BOUND:
        sentence += " There the client was the limit: the target may do more."
    higher = [e for e in members if e is not chosen and _speed(e) > _speed(chosen)]
    if higher:
        words: Counter[str] = Counter(e.verdict for e in higher)
        sentence += f" Left out: {_count_words(words)} that read higher."
    return _finding(FindingCode.PEAK, sentence, (chosen.cell.key,), group, namer)


_TITLES = {
    FindingCode.PEAK: "Peak of",
    FindingCode.KNEE: "90 % of the peak of",
    FindingCode.SATURATION: "Saturation of",
}


def _finding(code: FindingCode, sentence: str, keys: tuple[str, ...], group: Group, namer: Namer) -> Finding:
    target, direction = group
    title = f"{_TITLES[code]} {direction}s{namer.on(target)}"
    return Finding(code, sentence, keys, title=title, target=target, direction=direction)


def _near(group: Group, named: Extreme, fresh: Mapping[tuple[str, str], Estimate], namer: Namer) -> Finding:
    target, direction = group
    keys = (named.near.cell.key, named.peak.cell.key)
    if named.near is named.peak:
        sentence = (
            f"No smaller {direction} load{namer.on(target)} comes within 10% of that peak: "
            f"{namer.load(named.peak.cell)} is needed."
        )
        return _finding(FindingCode.KNEE, sentence, keys[:1], group, namer)
    again = {key: fresh.get((key, direction)) for key in keys}
    both_fresh = all(again.values())
    near, peak = again[keys[0]] or named.near, again[keys[1]] or named.peak
    if not both_fresh:
        near, peak = named.near, named.peak  # a fresh value and a selected one are not compared
    share = _speed(near) / _speed(peak)
    head = (
        f"Smallest {direction} load{namer.on(target)} that the sweep found within 10% of its peak: "
        f"{namer.cell(named.near.cell)}"
    )
    source = f"in {plural(near.n_visits, 'fresh visit')}" if both_fresh else "by the sweep, not measured again"
    sentence = (
        f"{head}, {format_size(in_flight_bytes(named.near.cell))} in flight; {_rate(near)}, {share:.0%} of the "
        f"peak, {source}."
    )
    if share < NEAR_PEAK:
        sentence += " So the fresh visits do not confirm that it comes within 10%."
    return _finding(FindingCode.KNEE, sentence, keys, group, namer)


@dataclass(frozen=True)
class Line:
    """One line along numjobs, everything else fixed: (numjobs, estimate), ascending."""

    points: tuple[tuple[int, Estimate], ...]

    @property
    def best(self) -> tuple[int, Estimate]:
        return max(self.points, key=lambda point: _speed(point[1]))

    @property
    def knee(self) -> int:
        """Fewest jobs that come within 10% of the line's best."""
        return next(jobs for jobs, e in self.points if _speed(e) >= NEAR_PEAK * _speed(self.best[1]))

    @property
    def rising(self) -> bool:
        return self.knee == self.points[-1][0]


def job_lines(members: Iterable[Estimate]) -> list[Line]:
    """Lines along numjobs of at least two different values."""
    lines: dict[tuple[object, ...], dict[int, Estimate]] = defaultdict(dict)
    for e in members:
        if not _usable(e):
            continue
        rest = tuple(pair for pair in e.cell.options if pair[0] != "numjobs")
        lines[e.cell.target, e.direction, e.cell.sharing, e.cell.state, rest][e.cell.numjobs] = e
    return [Line(tuple(sorted(points.items()))) for points in lines.values() if len(points) > 1]


def _saturation(group: Group, named: Extreme, members: Sequence[Estimate], namer: Namer) -> Finding:
    target, direction = group
    lines = [line for line in job_lines(members) if len(line.points) >= FEWEST_JOBS_VALUES]
    if not lines:
        return _unknown_saturation(group, named, members, namer)
    peak_key = named.peak.cell.key
    line = next((line for line in lines if any(e.cell.key == peak_key for _, e in line.points)), None)
    sentences: list[str] = []
    if line is not None:
        at = namer.cell(named.peak.cell, without=("numjobs",))
        last_jobs, last = line.points[-1]
        best_jobs, best = line.best
        if line.rising:
            sentences.append(
                f"With {at} {direction}s{namer.on(target)} still gain more than 10% at the last step, "
                f"{plural(last_jobs, 'job')}:"
                " no saturation within the sweep."
            )
        else:
            sentences.append(
                f"With {at} {direction}s{namer.on(target)} saturate at {plural(line.knee, 'job')}:"
                f" more jobs, up to {last_jobs}, gain at most another 10%."
            )
        if (
            best_jobs != last_jobs
            and last.bw_high is not None
            and best.bw_low is not None
            and last.bw_high < best.bw_low
        ):
            fall = 1 - _speed(last) / _speed(best)
            sentences.append(
                f"At {plural(last_jobs, 'job')} throughput is {fall:.0%} below its best, at {plural(best_jobs, 'job')}."
            )
        limited = sum(e.verdict in LOWER_BOUND for _, e in line.points)
        if limited:
            sentences.append(
                f"The client was the limit at {limited} of these {len(line.points)} points, so the target may "
                "saturate later."
            )
    others = [other for other in lines if other is not line]
    if others:
        settled = sorted(other.knee for other in lines if not other.rising)
        rising = len(lines) - len(settled)
        if not settled:
            text = f"None of the {len(lines):,} lines along numjobs saturates"
        else:
            middle = settled[(len(settled) - 1) // 2]
            text = (
                f"Of all {len(lines):,} lines along numjobs, {len(settled):,} saturate, the middle one at "
                f"{plural(middle, 'job')}"
            )
            text += f" ({settled[0]} to {settled[-1]})"
            text += (
                f"; {rising:,} still {'gains' if rising == 1 else 'gain'} more than 10% at the last step"
                if rising
                else ""
            )
        sentences.append(text + ".")
    evidence = [e for _, e in line.points] if line is not None else [e for _, e in lines[0].points]
    return _finding(FindingCode.SATURATION, " ".join(sentences), _keys(evidence), group, namer)


def _unknown_saturation(group: Group, named: Extreme, members: Sequence[Estimate], namer: Namer) -> Finding:
    """Too few values of numjobs for a saturation point; what the two there are say of it."""
    target, direction = group
    jobs = sorted({e.cell.numjobs for e in members})
    too_few = len(jobs) < FEWEST_JOBS_VALUES
    tried = f"it was {' and '.join(str(n) for n in jobs)}" if too_few else "no line along them was measured that far"
    sentence = (
        f"Where {direction}s{namer.on(target)} saturate with jobs is not known: that takes {FEWEST_JOBS_VALUES} "
        "values of numjobs"
        f" with everything else equal, and here {tried}."
    )
    line = next(
        (line for line in job_lines(members) if any(e.cell.key == named.peak.cell.key for _, e in line.points)), None
    )
    if line is not None:
        (few, start), (many, end) = line.points[0], line.points[-1]
        at = namer.cell(named.peak.cell, without=("numjobs",))
        sentence += (
            f" With {at}, {plural(many, 'job')} reach {_speed(end) / _speed(start):.2g} times what "
            f"{plural(few, 'job')} {'reaches' if few == 1 else 'reach'}."
        )
    keys = _keys(e for _, e in line.points) if line is not None else _keys(members)
    return _finding(FindingCode.SATURATION, sentence, keys, group, namer)


def _noise(estimates: Sequence[Estimate], namer: Namer) -> Finding:
    measured = [e for e in estimates if e.kind == "measured" and _usable(e)]
    widths = [
        ((e.bw_high - e.bw_low) / 2 / _speed(e), e) for e in measured if e.bw_low is not None and e.bw_high is not None
    ]  # shape (values,), relative
    sentences: list[str] = []
    evidence: list[Estimate] = []
    if not measured:
        return Finding(FindingCode.NOISE, "Noise is not known: there is no measured value.")
    if widths:
        width, worst = max(widths, key=lambda pair: pair[0])
        middle = median(pair[0] for pair in widths)
        evidence.append(worst)
        side = f"{worst.direction} part of " if len(worst.cell.directions) > 1 else ""
        sentences.append(
            f"Noise between visits: the 95% interval is ±{_percent(middle)} of the value in the middle of "
            f"{plural(len(widths), 'value')}"
            f" and ±{_percent(width)} at worst ({side}{namer.cell(worst.cell, with_target=True)})."
        )
    bare = len(measured) - len(widths)
    if not widths:
        sentences.append(f"Noise between visits is not known: none of {plural(bare, 'value')} has an interval.")
    elif bare:
        sentences.append(f"{bare:,} of {plural(len(measured), 'value')} {'has' if bare == 1 else 'have'} no interval.")
    unsteady: Counter[str] = Counter(e.verdict for e in measured if _found_unsteady(e))
    if unsteady:
        sentences.append(f"No steady state within the window: {_count_words(unsteady)}, of {len(measured):,}.")
    withheld = sum(e.verdict in WITHHELD for e in measured)
    if withheld:
        sentences.append(
            f"A verdict on steadiness was withheld for {withheld:,} of {plural(len(measured), 'value')}: too few I/Os "
            "or too short a window."
        )
    return Finding(
        FindingCode.NOISE,
        " ".join(sentences),
        _keys(evidence),
        target=common(e.cell.target for e in evidence),
        direction=common(e.direction for e in evidence),
    )


def _not_measured(result: CampaignResult) -> Finding:
    measured = {e.cell.key for e in result.estimates if e.kind == "measured"}
    predicted = {e.cell.key for e in result.estimates if e.kind == "predicted"} - measured
    missing = {u.cell.key: u for u in result.unmeasured if u.cell.key not in measured}
    imported = {e.cell.key for e in result.estimates if e.kind == "imported"} - measured - predicted
    total = len(measured | predicted | imported | missing.keys())
    sentences = []
    if len(measured) == total:
        every = "The only cell" if total == 1 else f"Every one of the {total:,} cells"
        sentences.append(f"{every} of the sweep was measured." if total else "Nothing was measured.")
    else:
        parts = [f"{len(predicted):,} predicted from the others"] if predicted else []
        parts += [f"{len(imported):,} brought in from elsewhere"] if imported else []
        parts += _reasons([u.reason for key, u in missing.items() if key not in predicted | imported])
        sentences.append(f"Not measured: {total - len(measured):,} of {plural(total, 'cell')}: {'; '.join(parts)}.")
    bare = _bare_levels(result, measured)
    if bare:
        sentences.append(f"Nothing at all was measured with {', '.join(bare)}.")
    limited = sum(e.kind == "measured" and e.verdict in LOWER_BOUND for e in result.estimates)
    if limited:
        sentences.append(
            f"In {plural(limited, 'value')} the client was the limit, so {'it is' if limited == 1 else 'they are'} "
            "what the target does at least."
        )
    suspect: Counter[str] = Counter(
        e.verdict
        for e in result.estimates
        if e.kind == "measured" and verdict_class(e.verdict) is VerdictClass.SUSPECT and e.verdict not in LOWER_BOUND
    )
    if suspect:
        sentences.append(f"Measured, but not to be trusted: {_count_words(suspect)}.")
    if result.n_discarded:
        why = ", ".join(f"{count:,} {reason}" for reason, count in result.discard_reasons.items())
        sentences.append(
            f"{plural(result.n_discarded, 'window')} {'was' if result.n_discarded == 1 else 'were'} "
            f"discarded{f' ({why})' if why else ''}."
        )
    if not result.complete:
        sentences.append("The campaign is not finished.")
    return Finding(FindingCode.NOT_MEASURED, " ".join(sentences), tuple(missing)[:EVIDENCE])


def _reasons(reasons: Sequence[UnmeasuredReason]) -> list[str]:
    """'16 not admissible: block larger than the file', one entry for each code."""
    kinds: dict[UnmeasuredCode, Counter[str]] = defaultdict(Counter)
    for reason in reasons:
        kinds[reason.code][reason.detail] += 1
    texts = []
    for kind, details in sorted(kinds.items(), key=lambda item: -item[1].total()):
        detail, _ = details.most_common(1)[0]
        most = f" ({'mostly ' if len(details) > 1 else ''}{detail})" if detail else ""
        texts.append(f"{details.total():,} {kind}{most}")
    return texts


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


def _rate(estimate: Estimate) -> str:
    if estimate.bw_low is None or estimate.bw_high is None:
        return f"{format_rate(_speed(estimate))} (no interval)"
    return f"{format_rate(_speed(estimate))} (95%: {format_rate(estimate.bw_low)} to {format_rate(estimate.bw_high)})"


def _times(ratio: float) -> str:
    return f"{float(f'{ratio:.2g}'):,.0f} times"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share * 100:.2g}%"


def _count_words(words: Counter[str]) -> str:
    """'3 drifting and 1 cached'."""
    texts = [f"{count:,} {word or 'without a verdict'}" for word, count in words.most_common()]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _keys(estimates: Iterable[Estimate]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(e.cell.key for e in estimates))[:EVIDENCE]
