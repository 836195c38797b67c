# SPDX-License-Identifier: Apache-2.0
"""What clients of one target and targets loaded together have in common: what each got, how evenly, and the lines over
their number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ioatlas.analysis.wording import Namer, per_cent, plural
from ioatlas.model.cell import CLIENTS, Cell
from ioatlas.model.estimate import Estimate, Share, Shares
from ioatlas.model.finding import Finding, FindingCode, common
from ioatlas.model.panel import Table
from ioatlas.model.units import format_latency, format_rate
from ioatlas.model.visit import Visit, VisitShare

FAIR = 0.8
"""Share of an even part that the one with the least gets at least, where sharing is called even."""
STARVES = 0.5
"""Share of an even part below which one is said to starve."""
GAIN = 0.1
"""Share by which more of them give more, where what they share is not yet the limit."""
MOST_ROWS = 400


def lines_over(
    measured: Iterable[Estimate], option: str, level: Callable[[Cell], int]
) -> dict[tuple[Cell, str], list[Estimate]]:
    """Lines over an option, from few to many: cells that differ in nothing else. By what they have in common."""
    lines: dict[tuple[Cell, str], list[Estimate]] = defaultdict(list)
    for e in measured:
        options = tuple((name, value) for name, value in e.cell.options if name != option)
        lines[replace(e.cell, options=options), e.direction].append(e)
    return {place: sorted(line, key=lambda e: level(e.cell)) for place, line in lines.items() if len(line) > 1}


def highest_lines(measured: Iterable[Estimate], option: str, level: Callable[[Cell], int]) -> Iterator[list[Estimate]]:
    """Of each target and direction, the line over an option with the highest sum."""
    best: dict[tuple[str, str], list[Estimate]] = {}
    for (cell, direction), line in lines_over(measured, option, level).items():
        place = (cell.target, direction)
        if place not in best or _top(line) > _top(best[place]):
            best[place] = line
    yield from best.values()


def _top(line: Iterable[Estimate]) -> float:
    return max(e.bw_bytes_per_s or 0.0 for e in line)


def enough_of(line: Sequence[Estimate]) -> Estimate:
    """The first of a line that more of them hardly exceed."""
    return next(e for e in line if (e.bw_bytes_per_s or 0.0) >= _top(line) / (1 + GAIN))


def shares_of(direction: str, visits: Sequence[tuple[Visit, Sequence[VisitShare]]], wanted: int) -> Shares | None:
    """What each had of visits of one cell, which come with what each had of them; None where nobody shared them.
    wanted: how many were to take part at once.
    """
    visits = [(visit, parts) for visit, parts in visits if parts]
    made: dict[str, list[_Made]] = defaultdict(list)
    for visit, every in visits:
        mine = [part for part in every if part.direction == direction]
        first = min((part.ended_at for part in mine), default=0.0)
        whole = sum(part.rate(visit.window_start_ms) for part in mine)
        for name in dict.fromkeys(part.name for part in mine):
            own = [part for part in mine if part.name == name]
            rate = sum(part.rate(visit.window_start_ms) for part in own)
            done = max(part.ended_at for part in own) - first
            made[name].append(_Made(own, rate, whole, 1000 * done))
    if not made:
        return None
    return Shares(
        tuple(_share(name, of) for name, of in sorted(made.items(), key=_in_order)),
        max(visit.skew_ms for visit, _ in visits),
        max(visit.finish_spread_ms for visit, _ in visits),
        wanted,
        min(len({part.name for part in every}) for _, every in visits),
    )


class _Made(NamedTuple):
    """One of several in one visit. rate: in the window that is kept; whole: of all; done_ms: after the first one."""

    parts: Sequence[VisitShare]
    rate: float
    whole: float
    done_ms: float


def _share(name: str, made: Sequence[_Made]) -> Share:
    n, rate, whole = len(made), sum(one.rate for one in made), sum(one.whole for one in made)
    per_io, mean, p99 = _of_parts([part for one in made for part in one.parts])
    return Share(
        name,
        n,
        rate / n,
        rate / n / per_io if per_io else 0.0,
        rate / whole if whole else 0.0,
        mean,
        p99,
        sum(one.done_ms for one in made) / n,
    )


def _in_order(item: tuple[str, object]) -> tuple[str, int]:
    """By name, with c2 before c10."""
    name = item[0].rstrip("0123456789")
    return name, int(item[0][len(name) :] or 0)


def _of_parts(parts: Sequence[VisitShare]) -> tuple[float, float | None, float | None]:
    """(bytes of an I/O, mean latency over all I/Os, largest p99) of parts of several visits; None where not told."""
    ios = sum(part.total_ios for part in parts)
    means = [(part.lat_mean_ns, part.total_ios) for part in parts if part.lat_mean_ns is not None]
    weight = sum(count for _, count in means)
    return (
        sum(part.io_bytes for part in parts) / ios if ios else 0.0,
        sum(mean * count for mean, count in means) / weight if weight else None,
        max((part.lat_p99_ns for part in parts if part.lat_p99_ns is not None), default=None),
    )


def fairness(several: Sequence[tuple[Estimate, Shares]], word: str, namer: Namer) -> tuple[Finding, ...]:
    """How evenly they share. word: what they are: 'client' or 'target'."""
    several = [(e, shares) for e, shares in several if len(shares.parts) > 1]
    if not several:
        return ()
    worst, shares = min(several, key=lambda pair: pair[1].least)
    uneven = [e for e, each in several if each.least < FAIR]
    if not uneven:
        told = f"All {word}s get nearly the same: at least {per_cent(shares.least)} of an even part, in all cells."
        return (Finding(FindingCode.FAIRNESS, told, title=f"{word.capitalize()}s share evenly", in_order=True),)
    last = min(shares.parts, key=lambda one: one.bw_bytes_per_s)
    first = max(shares.parts, key=lambda one: one.bw_bytes_per_s)
    told = (
        f"{last.name} gets {format_rate(last.bw_bytes_per_s)}, {first.name} {format_rate(first.bw_bytes_per_s)} "
        f"({namer.short(worst.cell)}, {worst.direction}). "
        f"Sharing is uneven in {len(uneven)} of {plural(len(several), 'value')}; Jain's index is at worst "
        f"{min(each.jain_index for _, each in several):.2f}."
    )
    return (
        Finding(
            FindingCode.FAIRNESS,
            told,
            tuple(e.cell.key for e in uneven[:20]),
            title=f"{last.name} starves" if shares.least < STARVES else f"{word.capitalize()}s share unevenly",
            target=common(e.cell.target for e in uneven),
            direction=common(e.direction for e in uneven),
        ),
    )


def table(
    several: Sequence[tuple[Estimate, Shares]], word: str, namer: Namer, *, note: str, done: bool = False
) -> tuple[Table, ...]:
    """What each got of every cell, the fastest cells first. done: with how long after the first one it was done."""
    rows = [
        (
            f"{namer.short(e.cell)}, {e.direction}",
            one.name,
            format_rate(one.bw_bytes_per_s),
            per_cent(one.share),
            "" if one.lat_mean_ns is None else format_latency(one.lat_mean_ns),
            "" if one.lat_p99_ns is None else format_latency(one.lat_p99_ns),
            *((f"+{one.done_ms:.0f} ms",) if done else ()),
            str(one.n_visits),
        )
        for e, shares in sorted(several, key=lambda pair: -(pair[0].bw_bytes_per_s or 0.0))
        for one in shares.parts
    ]
    more = len(rows) - MOST_ROWS
    left = f" The fastest cells; {more} more rows stand in the export." if more > 0 else ""
    columns = (
        "cell",
        word,
        "throughput",
        "share",
        "mean latency",
        "p99 latency",
        *(("done",) if done else ()),
        "visits",
    )
    return (Table(f"What each {word} got", columns, tuple(rows[:MOST_ROWS]), note=note + left),) if rows else ()


GOAL_SKEW_MS = 10.0


def client_shares_of(cell: Cell, direction: str, visits: Sequence[Visit]) -> Shares | None:
    """What each client got of the visits of one cell; None where one client alone made them."""
    return shares_of(direction, [(visit, visit.clients) for visit in visits], cell.clients)


def fewer_note(shares: Shares | None) -> str:
    """What is to be said of a cell that fewer clients made than were to."""
    if shares is None or shares.fewest >= shares.wanted:
        return ""
    return f"made by {shares.fewest} of {plural(shares.wanted, 'client')} in some visits: others were lost"


def client_findings(estimates: Iterable[Estimate], axes: Sequence[str], targets: Sequence[str]) -> tuple[Finding, ...]:
    """How even the clients are, and how many of them it takes; nothing of a campaign that one client made."""
    measured = [e for e in estimates if e.kind == "measured" and e.shares is not None and e.bw_bytes_per_s]
    if not measured:
        return ()
    namer = Namer([e.cell for e in measured], targets, tuple(axes))
    return (*_scaling(measured, namer), *fairness(_shares(measured), "client", namer), _starts(measured))


def _starts(measured: Sequence[Estimate]) -> Finding:
    skews = [e.shares.skew_ms for e in measured if e.shares is not None]
    last = max(skews)
    told = f"Clients started at most {last:.0f} ms apart; only the time in which all of them ran counts."
    return Finding(FindingCode.CLIENTS, told, title="Clients started together", in_order=last <= GOAL_SKEW_MS)


def _scaling(measured: Sequence[Estimate], namer: Namer) -> tuple[Finding, ...]:
    """How many clients it takes until more of them give no more, for the line with the highest sum of each target and
    direction.
    """
    lines = highest_lines(measured, CLIENTS, lambda cell: cell.clients)
    return tuple(_line(line, namer) for line in lines)


def _line(line: Sequence[Estimate], namer: Namer) -> Finding:
    enough = enough_of(line)
    title, why = "More clients are needed", "Each further client still adds. The clients are the limit: add more."
    if enough is not line[-1]:
        title = f"{plural(enough.cell.clients, 'client')} reach the limit"
        why = f"More of them add at most {per_cent(GAIN)}. The target, or what all share, is the limit."
    return line_finding(FindingCode.CLIENTS, line, lambda cell: cell.clients, title, why, namer)


def line_finding(
    code: FindingCode, line: Sequence[Estimate], count: Callable[[Cell], int], title: str, why: str, namer: Namer
) -> Finding:
    """What a line says, with its sums. count: of clients or targets of a cell."""
    last = line[-1]
    values = ", ".join(f"{count(e.cell)}: {format_rate(e.bw_bytes_per_s or 0.0)}" for e in line)
    return Finding(
        code,
        f"{why} Sums: {values}.",
        tuple(e.cell.key for e in line),
        title=f"{title}, {last.direction}{namer.on(last.cell.target)}",
        target=last.cell.target,
        direction=last.direction,
    )


def client_tables(estimates: Iterable[Estimate], axes: Sequence[str], targets: Sequence[str]) -> tuple[Table, ...]:
    """What each client got of every cell."""
    several = _shares(e for e in estimates if e.kind == "measured")
    several = [(e, shares) for e, shares in several if len(shares.parts) > 1]
    namer = Namer([e.cell for e, _ in several], targets, tuple(axes))
    note = "Throughput while all clients ran; latencies over the whole of each client's time."
    return table(several, "client", namer, note=note)


def _shares(estimates: Iterable[Estimate]) -> list[tuple[Estimate, Shares]]:
    return [(e, e.shares) for e in estimates if e.shares is not None]
