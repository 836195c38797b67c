# SPDX-License-Identifier: Apache-2.0
"""Several clients as one load: what each got, who starves, and how many it takes until the target is the limit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ioatlas.analysis.shares import GAIN, MOST_ROWS, enough_of, figures, highest_lines, in_order, left_out, of_parts
from ioatlas.analysis.wording import Namer, per_cent, plural
from ioatlas.model.cell import CLIENTS, Cell
from ioatlas.model.chart import Table
from ioatlas.model.clients import ClientShare, ClientShares
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode, common
from ioatlas.model.units import format_rate
from ioatlas.model.visit import ClientPart, Visit

FAIR = 0.8
"""Share of an even part that the client with the least gets at least, where sharing is called even."""
GOAL_SKEW_MS = 10.0
_Rated = tuple[ClientPart, float]
"""A part with its throughput in the window that is kept."""


def shares_of(cell: Cell, direction: str, visits: Sequence[Visit]) -> ClientShares | None:
    """What each client got of the visits of one cell; None where one client alone made them."""
    made = [visit for visit in visits if visit.clients]
    by_client: dict[str, list[_Rated]] = defaultdict(list)
    sums: dict[str, float] = defaultdict(float)
    for visit in made:
        parts = [part for part in visit.clients if part.direction == direction]
        rated = [(part, part.rate(visit.window_start_ms)) for part in parts]
        whole = sum(rate for _, rate in rated)
        for part, rate in rated:
            by_client[part.client].append((part, rate))
        for client in {part.client for part in parts}:
            sums[client] += whole
    if not by_client:
        return None
    return ClientShares(
        tuple(_share(client, parts, sums[client]) for client, parts in sorted(by_client.items(), key=in_order)),
        max(visit.skew_ms for visit in made),
        max(visit.finish_spread_ms for visit in made),
        cell.clients,
        min(len({part.client for part in visit.clients}) for visit in made),
    )


def _share(client: str, rated: Sequence[_Rated], whole: float) -> ClientShare:
    parts = [part for part, _ in rated]
    visits = len({part.started_at for part in parts})
    rate = sum(rate for _, rate in rated)
    per_io, mean, p99 = of_parts(parts)
    return ClientShare(
        client,
        visits,
        rate / visits,
        rate / visits / per_io if per_io else 0.0,
        rate / whole if whole else 0.0,
        mean,
        p99,
    )


def fewer_note(shares: ClientShares | None) -> str:
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
    return (*_scaling(measured, namer), *_fairness(measured, namer), _starts(measured))


def _fairness(measured: Sequence[Estimate], namer: Namer) -> tuple[Finding, ...]:
    several = [e for e in measured if e.shares is not None and len(e.shares.clients) > 1]
    if not several:
        return ()

    def least(e: Estimate) -> float:
        assert e.shares is not None
        rates = [one.bw_bytes_per_s for one in e.shares.clients]
        return min(rates) * len(rates) / sum(rates)

    worst = min(several, key=least)
    shares = worst.shares
    assert shares is not None
    last = min(shares.clients, key=lambda one: one.bw_bytes_per_s)
    first = max(shares.clients, key=lambda one: one.bw_bytes_per_s)
    uneven = [e for e in several if least(e) < FAIR]
    if not uneven:
        told = f"All clients get nearly the same: at least {per_cent(least(worst))} of an even part, in all cells."
        return (Finding(FindingCode.FAIRNESS, told, title="Clients share evenly", in_order=True),)
    told = (
        f"{last.client} gets {format_rate(last.bw_bytes_per_s)}, {first.client} {format_rate(first.bw_bytes_per_s)} "
        f"({namer.short(worst.cell)}, {worst.direction}). "
        f"Sharing is uneven in {len(uneven)} of {plural(len(several), 'value')}; Jain's index is at worst "
        f"{min(e.shares.jain_index for e in several if e.shares):.2f}."
    )
    return (
        Finding(
            FindingCode.FAIRNESS,
            told,
            tuple(e.cell.key for e in uneven[:20]),
            title=f"{last.client} starves" if least(worst) < 0.5 else "Clients share unevenly",
            target=common(e.cell.target for e in uneven),
            direction=common(e.direction for e in uneven),
        ),
    )


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
    first, last, enough = line[0], line[-1], enough_of(line)
    values = ", ".join(f"{e.cell.clients}: {format_rate(e.bw_bytes_per_s or 0.0)}" for e in line)
    what = f"{last.direction}{namer.on(last.cell.target)}"
    if enough is last:
        told = (
            f"Each further client still adds to the {what} throughput ({values}). The clients are the limit: add more."
        )
        title = "More clients are needed"
    elif enough is first:
        count = plural(first.cell.clients, "client")
        told = (
            f"{count} already get the full {what} throughput ({values}). The target, or the path to it, is the limit."
        )
        title = f"{count} reach the limit"
    else:
        told = (
            f"{enough.cell.clients} clients reach the full {what} throughput; more add at most {per_cent(GAIN)} "
            f"({values}). From there on the target, or what all share, is the limit."
        )
        title = f"{enough.cell.clients} clients reach the limit"
    cells = tuple(e.cell.key for e in line)
    return Finding(
        FindingCode.CLIENTS,
        told,
        cells,
        title=f"{title}, {what}",
        target=last.cell.target,
        direction=last.direction,
    )


def client_tables(estimates: Iterable[Estimate], axes: Sequence[str], targets: Sequence[str]) -> tuple[Table, ...]:
    """What each client got of every cell."""
    measured = [e for e in estimates if e.kind == "measured" and e.shares is not None and len(e.shares.clients) > 1]
    if not measured:
        return ()
    namer = Namer([e.cell for e in measured], targets, tuple(axes))
    rows = []
    for e in sorted(measured, key=lambda one: -(one.bw_bytes_per_s or 0.0)):
        assert e.shares is not None
        for one in e.shares.clients:
            rows.append(
                (
                    f"{namer.short(e.cell)}, {e.direction}",
                    one.client,
                    *figures(one),
                    str(one.n_visits),
                )
            )
    return (
        Table(
            "What each client got",
            ("cell", "client", "throughput", "share", "mean latency", "p99 latency", "visits"),
            tuple(rows[:MOST_ROWS]),
            note=f"Throughput while all clients ran; latencies over the whole of each client's time.{left_out(rows)}",
        ),
    )
