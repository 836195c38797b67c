# SPDX-License-Identifier: Apache-2.0
"""What a map says beside its answer, in words: the smallest load near the best, what was not measured."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from ioatlas.analysis.best import (
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
from ioatlas.analysis.wording import Namer, plural
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.reason import UnmeasuredCode, UnmeasuredReason
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import format_rate, per_cent

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
