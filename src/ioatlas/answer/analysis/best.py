# SPDX-License-Identifier: Apache-2.0
"""Which cell of a target and direction is the best one, and what ties with it; and how a value is marked wherever it
stands: in the terminal, on the page, in figures and tables.

Version 0.3 and before measured named cells again: there the value of such a cell is that of its fresh visits, wherever
it is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf, isfinite, sqrt

from ioatlas.answer.analysis.wording import Namer
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import VERY_LIKELY, Estimate, Limit
from ioatlas.model.summary import Trust
from ioatlas.model.units import format_rate_like
from ioatlas.model.verdict import LOWER_BOUND, WITHHELD, VerdictClass, VerdictCode, verdict_class

NEAR_PEAK = 0.9
"""Share of the peak, or of a line's best, that counts as reaching it."""
STEADY_WIDTH = 0.5
"""Half interval, a share of the value, up to which a cell may be called steady."""
NUMBER_WIDTH = 1.0
"""Half interval, a share of the value, beyond which no number is told: the runs disagree."""

SAID = 0.95
"""Probability of what the load generator says of itself."""
CLIENT = "client CPU"
"""The limit that makes a value a minimum of what the target does."""

SURE_EDGE = 0.95
"""The most that the edge of a window may count for: the interval stays positive."""

Group = tuple[str, str]
"""Target and direction."""


def speed(estimate: Estimate) -> float:
    """Throughput; 0 where there is no positive one."""
    value = estimate.bw_bytes_per_s
    return value if value is not None and 0 < value < inf else 0.0


def usable(estimate: Estimate) -> bool:
    """A value of the target, if only a lower bound of what it can do."""
    return speed(estimate) > 0 and (
        verdict_class(estimate.verdict) is not VerdictClass.SUSPECT or estimate.verdict in LOWER_BOUND
    )


def client_limited(estimate: Estimate) -> bool:
    """The client was the limit, very likely at least: what was measured is a minimum."""
    limit = estimate.limit
    if limit is not None and limit.determined:
        return limit.resource == CLIENT and (limit.probability is None or limit.probability >= VERY_LIKELY)
    return estimate.verdict in LOWER_BOUND


def edge_share(cell: Cell, ios: float, visits: int) -> float:
    """By how much, as a share, windows may be wrong that begin amid a load and hold few I/Os: what was in flight then
    belongs to both sides, and so does the I/O that the log books across the cut. ios: of one window.
    """
    return min(SURE_EDGE, (cell.outstanding + 1) / max(ios, 1.0) / sqrt(max(visits, 1)))


def found_unsteady(estimate: Estimate) -> bool:
    return verdict_class(estimate.verdict) is VerdictClass.UNSTABLE and estimate.verdict not in WITHHELD


def in_flight_bytes(cell: Cell) -> int:
    """Bytes a closed loop keeps in flight: the size of a load."""
    return cell.bs_bytes * cell.outstanding


def groups(estimates: Iterable[Estimate]) -> dict[Group, list[Estimate]]:
    """Measured estimates by target (in order of appearance) and direction (read, write, trim)."""
    found: dict[Group, list[Estimate]] = defaultdict(list)
    targets: dict[str, int] = {}
    for estimate in estimates:
        if estimate.kind == "measured":
            targets.setdefault(estimate.cell.target, len(targets))
            found[estimate.cell.target, estimate.direction].append(estimate)
    order = {"read": 0, "write": 1, "trim": 2}
    return dict(sorted(found.items(), key=lambda item: (targets[item[0][0]], order.get(item[0][1], 3))))


def eligible(members: Iterable[Estimate]) -> list[Estimate]:
    """Values that may be named: not suspect. One found unsteady, or whose runs disagree, gives way to those that are
    neither; but not where its whole interval lies above those, and not to smaller blocks where it lies clearly above:
    little is told of a target whose large blocks nobody knows.
    """
    found = [e for e in members if usable(e)]
    sound = [e for e in found if not found_unsteady(e) and not disagrees(e)]
    reached = max((max(speed(e), e.bw_high or 0.0) for e in sound), default=0.0)
    known = [e for e in found if e.verdict is VerdictCode.RUNS_DISAGREE or (found_unsteady(e) and e.grade is not None)]
    largest = max((e.cell.bs_bytes for e in sound), default=0)
    above = [e for e in known if (speed(e) * NEAR_PEAK if e.cell.bs_bytes > largest else e.bw_low or 0.0) > reached]
    return sound + above if sound else found


def with_fresh(estimates: Iterable[Estimate], fresh: Iterable[Estimate]) -> tuple[Estimate, ...]:
    """The estimates with the values of fresh visits where a cell has them, and what the sweep gave in `bw_first`.

    Limits, ceilings, caches and watts stay those of the sweep. Once replaced, an estimate stays as it is.
    """
    again = {(e.cell.key, e.direction): e for e in fresh if usable(e)}
    return tuple(
        _replaced(e, again[place])
        if (place := (e.cell.key, e.direction)) in again and e.kind == "measured" and e.bw_first is None and usable(e)
        else e
        for e in estimates
    )


def _replaced(swept: Estimate, fresh: Estimate) -> Estimate:
    runs = f"{fresh.n_visits:,} times" if fresh.n_visits > 1 else "once"
    note = f"re-measured {runs}; it was {format_rate_like(speed(swept), speed(fresh))}"
    verdict = swept.verdict if swept.verdict in LOWER_BOUND else fresh.verdict
    if verdict is VerdictCode.NONE:
        verdict = swept.verdict
    return replace(
        fresh,
        verdict=verdict,
        bw_first=swept.bw_bytes_per_s,
        n_discarded=swept.n_discarded + fresh.n_discarded,
        notes=(*dict.fromkeys((*swept.notes, *fresh.notes)), note),
        written_before_bytes=swept.written_before_bytes,
        limit=_limit(swept.limit, verdict),
        ceiling=swept.ceiling,
        watts=swept.watts,
    )


def _limit(limit: Limit | None, verdict: VerdictCode) -> Limit | None:
    """Of the sweep, unless fresh visits show that the client is the limit where nothing else was known."""
    if limit is not None and not limit.determined and verdict in LOWER_BOUND:
        return Limit(CLIENT, evidence=("the load generator did not keep its I/Os in flight",), probability=SAID)
    return limit


@dataclass(frozen=True)
class Best:
    """Of one target and direction.

    ties: other cells within 10% of the peak that cannot be told from it, those of the smallest load first.
    higher: cells that read higher and may not be named, because their values are suspect or unsteady.
    """

    peak: Estimate
    ties: tuple[Estimate, ...] = ()
    higher: tuple[Estimate, ...] = ()


def best_of(members: Sequence[Estimate]) -> Best | None:
    """None when no value may be named. A cell that was measured again goes before one that was not, unless that one is
    clearly faster.
    """
    able = eligible(members)
    if not able:
        return None
    peak = max([e for e in able if e.bw_first is not None] or able, key=speed)
    rival = max(able, key=speed)
    if clearly_faster(rival, peak):
        peak = rival
    if peak.grade is not None:
        peak = _plainest(able, peak)
    reaching = [e for e in able if speed(e) >= NEAR_PEAK * speed(peak)]
    ties = [e for e in reaching if e is not peak and not clearly_faster(peak, e)]
    higher = tuple(e for e in members if speed(e) > speed(peak) and not any(e is one for one in able))
    return Best(peak, tuple(sorted(ties, key=load_order)), higher)


def _plainest(able: Sequence[Estimate], peak: Estimate) -> Estimate:
    """Of cells that cannot be told from the fastest and are within 10% of it: the best known, with the largest blocks,
    in sequence, with the fewest in flight. A target that is capped gives as much with small blocks.
    """
    order = (Trust.LOW, Trust.FAIR, Trust.GOOD)
    alike = [
        e for e in able if e.grade is not None and speed(e) >= NEAR_PEAK * speed(peak) and not clearly_faster(peak, e)
    ]
    return max(
        alike or [peak],
        key=lambda e: (
            e.cell.bs_bytes,
            not e.cell.rw.startswith("rand"),
            order.index(e.grade or Trust.LOW),
            -e.cell.outstanding,
        ),
    )


def load_order(estimate: Estimate) -> tuple[float, float, float]:
    return in_flight_bytes(estimate.cell), estimate.cell.outstanding, -speed(estimate)


def clearly_faster(one: Estimate, other: Estimate) -> bool:
    """Beyond both intervals; where one has none, by more than a tenth."""
    if one.bw_low is not None and other.bw_high is not None:
        return one.bw_low > other.bw_high
    return NEAR_PEAK * speed(one) > speed(other)


def half_interval(estimate: Estimate) -> float | None:
    """Half of its 95% interval, a share of its value; None where it has none."""
    value = speed(estimate)
    low, high = estimate.bw_low, estimate.bw_high
    if not value or low is None or high is None:
        return None
    width = (high - low) / 2 / value
    return width if isfinite(width) else None


def disagrees(estimate: Estimate) -> bool:
    """Whether its runs lie too far apart for a number."""
    width = half_interval(estimate)
    return estimate.verdict is VerdictCode.RUNS_DISAGREE or (width is not None and width > NUMBER_WIDTH)


def tie_words(best: Best, namer: Namer) -> str:
    """'ties with 1 MiB, 1 job': the smallest load that ties, or one that reads higher; nothing when all ties are bigger
    and slower. A tie that reads much higher in the map goes first, for the peak fell when it was re-measured.
    """
    peak = best.peak
    highest = max(best.ties, key=speed, default=peak)
    if NEAR_PEAK * speed(highest) > speed(peak) and highest.bw_first is None:
        return f"{format_rate_like(speed(highest), speed(peak))} at {namer.short(highest.cell)} was not re-measured"
    if best.ties and load_order(best.ties[0])[:2] < load_order(peak)[:2]:
        chosen = best.ties[0]
    else:
        higher = [e for e in best.ties if speed(e) > speed(peak)]
        if not higher:
            return ""
        chosen = max(higher, key=speed)
    return f"ties with {namer.short(chosen.cell)}"


class Mark(StrEnum):
    """The one thing to know of a value, soundest first."""

    REMEASURED = "re-measured"
    STEADY = "steady"
    WIDE = "wide"
    MINIMUM = "minimum"
    PREDICTED = "predicted"
    IMPORTED = "imported"
    UNSTABLE = "unstable"
    DISAGREE = "disagree"
    SUSPECT = "suspect"


SIGNS = {
    Mark.REMEASURED: ("*", "re-measured"),
    Mark.UNSTABLE: ("!", "not steady"),
    Mark.MINIMUM: ("≥", "client-limited"),
    Mark.WIDE: ("±", "beyond ±50%"),
    Mark.SUSPECT: ("?", "suspect"),
    Mark.PREDICTED: ("~", "estimated"),
    Mark.IMPORTED: ("^", "imported"),
    Mark.DISAGREE: ("??", "beyond ±100%"),
    Mark.STEADY: ("", ""),
}
"""A sign for text, and its words, in the order of a legend."""


def mark_of(e: Estimate) -> Mark:
    """The gravest that holds."""
    if e.kind != "measured":
        return Mark(e.kind)
    if disagrees(e) and e.verdict is not VerdictCode.DOUBTED:
        return Mark.DISAGREE
    if verdict_class(e.verdict) is VerdictClass.SUSPECT and e.verdict not in LOWER_BOUND:
        return Mark.SUSPECT
    if found_unsteady(e):
        return Mark.UNSTABLE
    if client_limited(e):
        return Mark.MINIMUM
    if (half_interval(e) or 0.0) > STEADY_WIDTH:
        return Mark.WIDE
    return Mark.REMEASURED if e.bw_first is not None else Mark.STEADY


def as_shown(e: Estimate) -> Estimate:
    """Where runs disagree, with what they gave: the least and the most, in place of an interval that says nothing. Of
    one run its interval says more.
    """
    bw, iops, ns = e.bw_bytes_per_s, e.iops, e.lat_mean_ns
    seen = e.bw_seen if e.verdict is VerdictCode.RUNS_DISAGREE and e.n_visits > 1 else None
    if not (seen and seen[0] and bw and iops and ns):
        return e
    low, high = min(1.0, seen[0] / bw), max(1.0, seen[1] / bw)
    # The mean latency goes with the rate, by Little's law.
    e = replace(e, bw_low=bw * low, bw_high=bw * high, lat_mean_low_ns=ns / high, lat_mean_high_ns=ns / low)
    return replace(e, iops_low=iops * low, iops_high=iops * high)
