# SPDX-License-Identifier: Apache-2.0
"""Several clients as one load: what each got, who starves, and how many it takes until the target is the limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioatlas.analysis.shares import GAIN, enough_of, fairness, highest_lines, shares_of, table
from ioatlas.analysis.wording import Namer, per_cent, plural
from ioatlas.model.cell import CLIENTS, Cell
from ioatlas.model.estimate import Estimate, Shares
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.panel import Table
from ioatlas.model.units import format_rate
from ioatlas.model.visit import Visit

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
    several = _shares(e for e in estimates if e.kind == "measured")
    several = [(e, shares) for e, shares in several if len(shares.parts) > 1]
    namer = Namer([e.cell for e, _ in several], targets, tuple(axes))
    note = "Throughput while all clients ran; latencies over the whole of each client's time."
    return table(several, "client", namer, note=note)


def _shares(estimates: Iterable[Estimate]) -> list[tuple[Estimate, Shares]]:
    return [(e, e.shares) for e in estimates if e.shares is not None]
