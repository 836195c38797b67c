# SPDX-License-Identifier: Apache-2.0
"""Is this good? A result against what its parts allow, and against other targets that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import Summary, Trust

Quantity = Literal["bw_bytes_per_s", "iops"]
Kind = Literal["read", "write", "random read", "random write"]
NEARLY_ALL, MOST, HALF = 0.9, 0.65, 0.35


class Band(StrEnum):
    """How much of the tightest bound was reached."""

    ALL = "nearly all that its parts allow"
    MOST = "most of what its parts allow"
    HALF = "about half of what its parts allow"
    LITTLE = "little of what its parts allow"
    OVER = "more than its parts allow: a cache answered, or a part is faster than stated"
    UNKNOWN = "no bound is known"


@dataclass(frozen=True)
class Figure:
    """One figure of a campaign: the best rate of a direction, or the most IOPS of small random I/O.

    low, high: its 95% interval, None where it has none. cell: its key. block: of random I/O, bytes; else 0.
    """

    kind: Kind
    quantity: Quantity
    value: float
    low: float | None
    high: float | None
    where: str
    cell: str
    direction: str
    target: str
    block: int = 0


@dataclass(frozen=True)
class Bound:
    """What a part allows at most, in the quantity of the figure."""

    name: str
    value: float


@dataclass(frozen=True)
class Peer:
    """The same figure of another target."""

    name: str
    figure: Figure


@dataclass(frozen=True)
class Standing:
    """bounds: the tightest first. share: of the tightest. beaten: how many of the peers this is faster than; peers
    whose interval touches this one's count as ties.
    """

    figure: Figure
    bounds: tuple[Bound, ...]
    share: float | None
    band: Band
    beaten: int
    ties: int
    peers: int
    best_peer: Peer | None


def figures(summary: Summary, result: CampaignResult) -> tuple[Figure, ...]:
    """The figures of a campaign's summary. Estimated values are none: what was not measured is not judged."""
    found: list[Figure] = []
    for headline in summary.headlines:
        if headline.quantity == "bw_bytes_per_s" and headline.direction in ("read", "write") and not headline.estimated:
            kind: Kind = "read" if headline.direction == "read" else "write"
            ends = (headline.low, headline.high)
            place = (headline.where, headline.cell, headline.direction, headline.target)
            found.append(Figure(kind, "bw_bytes_per_s", headline.value, *ends, *place))
    estimates = {(e.cell.key, e.direction): e for e in result.estimates if e.kind == "measured"}
    for small in summary.small:
        e = estimates.get((small.best.cell, small.direction))
        if e is None or not small.rw.startswith("rand") or small.direction not in ("read", "write"):
            continue
        kind = "random read" if small.direction == "read" else "random write"
        ends = (e.iops_low, e.iops_high)
        where = f"{small.label}, {small.best.in_flight} in flight"
        place = (where, small.best.cell, small.direction, small.target)
        found.append(Figure(kind, "iops", small.best.iops, *ends, *place, small.bs_bytes))
    return tuple(found)


def comparable(summary: Summary) -> bool:
    """Whether a campaign's figures may stand beside others: nothing that a cache answered, nothing of low trust."""
    return summary.trust is not Trust.LOW


def standing(figure: Figure, bounds: Sequence[Bound], peers: Sequence[Peer]) -> Standing:
    """Where a figure stands. Peers are of the same kind and block size."""
    ordered = tuple(sorted((bound for bound in bounds if bound.value > 0), key=lambda bound: bound.value))
    share = figure.value / ordered[0].value if ordered else None
    like = [peer for peer in peers if (peer.figure.kind, peer.figure.block) == (figure.kind, figure.block)]
    beaten = sum(_high(peer.figure) < _low(figure) for peer in like)
    lost = sum(_low(peer.figure) > _high(figure) for peer in like)
    best = max(like, key=lambda peer: peer.figure.value, default=None)
    return Standing(figure, ordered, share, _band(figure, ordered), beaten, len(like) - beaten - lost, len(like), best)


def _band(figure: Figure, bounds: Sequence[Bound]) -> Band:
    if not bounds:
        return Band.UNKNOWN
    top = bounds[0].value
    # Framing and clocks are known to a per cent or two: only what is surely above is told as such.
    if _low(figure) > 1.03 * top:
        return Band.OVER
    share = figure.value / top
    return next(
        (band for least, band in ((NEARLY_ALL, Band.ALL), (MOST, Band.MOST), (HALF, Band.HALF)) if share >= least),
        Band.LITTLE,
    )


def _low(figure: Figure) -> float:
    return figure.value if figure.low is None else figure.low


def _high(figure: Figure) -> float:
    return figure.value if figure.high is None else figure.high
