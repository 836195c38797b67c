# SPDX-License-Identifier: Apache-2.0
"""Several targets loaded together: what each got, who starves, and whether they share what limits them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from ioatlas.analysis.shares import GAIN, MOST_ROWS, enough_of, figures, highest_lines, in_order, left_out, of_parts
from ioatlas.analysis.wording import Namer, per_cent, plural
from ioatlas.model.cell import TARGETS, Cell
from ioatlas.model.chart import Table
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, common
from ioatlas.model.together import TargetShare, TargetShares
from ioatlas.model.units import format_rate
from ioatlas.model.visit import TargetPart, Visit

FAIR = 0.8
"""Share of an even part that the target with the least gets at least, where sharing is called even."""
STARVES = 0.5
"""Share of an even part below which a target is said to starve."""
_Rated = tuple[TargetPart, float, float]
"""A part with its throughput in the window that is kept, and how long after the first target it was done, in ms."""


def target_shares_of(cell: Cell, direction: str, visits: Sequence[Visit]) -> TargetShares | None:
    """What each target got of the visits of one cell; None where it is of one target."""
    made = [visit for visit in visits if visit.targets]
    by_target: dict[str, list[_Rated]] = defaultdict(list)
    sums: dict[str, float] = defaultdict(float)
    for visit in made:
        parts = [part for part in visit.targets if part.direction == direction]
        first = min((part.ended_at for part in parts), default=0.0)
        rated = [(part, part.rate(visit.window_start_ms), 1000 * (part.ended_at - first)) for part in parts]
        whole = sum(rate for _, rate, _ in rated)
        for one in rated:
            by_target[one[0].target].append(one)
            sums[one[0].target] += whole
    if not by_target:
        return None
    return TargetShares(
        tuple(_share(target, rated, sums[target]) for target, rated in sorted(by_target.items(), key=in_order)),
        max(visit.skew_ms for visit in made),
        max(visit.finish_spread_ms for visit in made),
        cell.n_targets,
    )


def _share(target: str, rated: Sequence[_Rated], whole: float) -> TargetShare:
    parts, n = [part for part, _, _ in rated], len(rated)
    rate = sum(each for _, each, _ in rated)
    per_io, mean, p99 = of_parts(parts)
    return TargetShare(
        target,
        n,
        rate / n,
        rate / n / per_io if per_io else 0.0,
        rate / whole if whole else 0.0,
        mean,
        p99,
        sum(done for _, _, done in rated) / n,
    )


def _measured(estimates: Iterable[Estimate]) -> list[Estimate]:
    return [e for e in estimates if e.kind == "measured" and e.targets is not None and e.bw_bytes_per_s]


def together_findings(
    estimates: Iterable[Estimate], axes: Sequence[str], targets: Sequence[str]
) -> tuple[Finding, ...]:
    """Whether targets share what limits them, and how even they are; nothing where none are loaded together."""
    measured = _measured(estimates)
    if not measured:
        return ()
    namer = Namer([e.cell for e in measured], targets, tuple(axes))
    return (*_scaling(measured, namer), *_fairness(measured, namer))


def _fairness(measured: Sequence[Estimate], namer: Namer) -> tuple[Finding, ...]:
    several = [(e, e.targets) for e in measured if e.targets is not None and e.targets.loaded == len(e.targets.targets)]
    several = [(e, shares) for e, shares in several if shares.loaded > 1]
    if not several:
        return ()
    worst, shares = min(several, key=lambda pair: pair[1].evenness[0])
    least, _ = shares.evenness
    uneven = [e for e, each in several if each.evenness[0] < FAIR]
    if not uneven:
        told = f"All targets get nearly the same: at least {per_cent(least)} of an even part, in all cells."
        return (Finding(FindingCode.FAIRNESS, told, title="Targets share evenly", in_order=True),)
    last = min(shares.targets, key=lambda one: one.bw_bytes_per_s)
    first = max(shares.targets, key=lambda one: one.bw_bytes_per_s)
    told = (
        f"{last.target} gets {format_rate(last.bw_bytes_per_s)}, {first.target} {format_rate(first.bw_bytes_per_s)} "
        f"({namer.short(worst.cell)}, {worst.direction}). "
        f"Sharing is uneven in {len(uneven)} of {plural(len(several), 'value')}; Jain's index is at worst "
        f"{min(each.evenness[1] for _, each in several):.2f}."
    )
    return (
        Finding(
            FindingCode.FAIRNESS,
            told,
            tuple(e.cell.key for e in uneven[:20]),
            title=f"{last.target} starves" if least < STARVES else "Targets share unevenly",
            target=common(e.cell.target for e in uneven),
            direction=common(e.direction for e in uneven),
        ),
    )


def _scaling(measured: Sequence[Estimate], namer: Namer) -> tuple[Finding, ...]:
    """What more targets add, for the line with the highest sum of each group and direction."""
    lines = highest_lines(measured, TARGETS, lambda cell: cell.n_targets)
    return tuple(_line(line, namer) for line in lines)


def ratio_of(e: Estimate, first: Estimate) -> tuple[float, float | None, float | None]:
    """(ratio, low, high) of two throughputs; the interval from those of both, None where one has none."""
    ratio = (e.bw_bytes_per_s or 0.0) / (first.bw_bytes_per_s or 1.0)
    bounds = [(one.bw_low, one.bw_high) for one in (e, first)]
    spreads = [math.log(high / low) / 2 for low, high in bounds if low and high]
    if len(spreads) < len(bounds):
        return ratio, None, None
    half = math.hypot(*spreads)
    return ratio, ratio * math.exp(-half), ratio * math.exp(half)


def gain_told(e: Estimate, first: Estimate) -> str:
    """'5 targets together give 1.02 times (0.99 to 1.05) what one gives'."""
    ratio, low, high = ratio_of(e, first)
    within = f" ({low:.2f} to {high:.2f})" if low is not None and high is not None else ""
    one = "one" if first.cell.n_targets == 1 else str(first.cell.n_targets)
    return f"{e.cell.n_targets} targets together give {ratio:.2f} times{within} what {one} gives"


def _line(line: Sequence[Estimate], namer: Namer) -> Finding:
    first, last = line[0], line[-1]
    ratio, _, _ = ratio_of(last, first)
    what = f"{last.direction}{namer.on(last.cell.target)}"
    times = last.cell.n_targets / first.cell.n_targets
    told = f"{gain_told(last, first)} ({what})."
    values = ", ".join(f"{e.cell.n_targets}: {format_rate(e.bw_bytes_per_s or 0.0)}" for e in line)
    enough = enough_of(line)
    if ratio <= 1 + GAIN:
        why, title = "What they share is the limit.", "What the targets share is the limit"
    elif ratio >= (1 - GAIN) * times:
        why, title = "Each adds its own: what they share is not the limit yet.", "Each target adds its own"
    elif enough is not last:
        why = f"From {enough.cell.n_targets} on, what they share is the limit."
        title = f"{enough.cell.n_targets} targets reach what they share"
    else:
        why = "Each further target adds less: what they share holds them back."
        title = "Each further target adds less"
    return Finding(
        FindingCode.TOGETHER,
        f"{told} {why} Sums: {values}.",
        tuple(e.cell.key for e in line),
        title=f"{title}, {what}",
        target=last.cell.target,
        direction=last.direction,
    )


def together_tables(estimates: Iterable[Estimate], axes: Sequence[str], targets: Sequence[str]) -> tuple[Table, ...]:
    """What each target got of every cell."""
    measured = _measured(estimates)
    if not measured:
        return ()
    namer = Namer([e.cell for e in measured], targets, tuple(axes))
    rows = []
    for e in sorted(measured, key=lambda one: -(one.bw_bytes_per_s or 0.0)):
        assert e.targets is not None
        for one in e.targets.targets:
            rows.append(
                (
                    f"{namer.short(e.cell)}, {e.direction}",
                    one.target,
                    *figures(one),
                    f"+{one.done_ms:.0f} ms",
                    str(one.n_visits),
                )
            )
    return (
        Table(
            "What each target got",
            ("cell", "target", "throughput", "share", "mean latency", "p99 latency", "done", "visits"),
            tuple(rows[:MOST_ROWS]),
            note="Throughput while all were loaded; latencies over the whole time of each. "
            f"Done: how long after the first one.{left_out(rows)}",
        ),
    )
