# SPDX-License-Identifier: Apache-2.0
"""What products give for their price: the points of the charts, from the usable cells of public results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ioatlas.atlas import queries
from ioatlas.atlas.database import Database
from ioatlas.atlas.pareto import Chart, Offered, chart
from ioatlas.atlas.records import Cell, Hit, Viewer, Wanted


@dataclass(frozen=True)
class Kind:
    """One chart: the load that it is of, and which value of a cell it shows."""

    title: str
    wanted: Wanted
    rate: bool
    values: Callable[[Cell], tuple[float | None, float | None, float | None]]


KINDS = (
    Kind(
        "4 KiB random reads against price per TiB",
        Wanted(rw="randread", bs_bytes=4096, direction="read"),
        rate=False,
        values=lambda cell: (cell.iops, cell.iops_low, cell.iops_high),
    ),
    Kind(
        "Read throughput against price per TiB",
        Wanted(direction="read", min_bw_bytes_per_s=0.0),
        rate=True,
        values=lambda cell: (cell.bw_bytes_per_s, cell.bw_low, cell.bw_high),
    ),
)


def charts_of(database: Database, viewer: Viewer) -> list[Chart]:
    """Those with two products or more, of the newest results; a price in another currency is left out."""
    made = []
    for kind in KINDS:
        hits = queries.search(database, kind.wanted, viewer, limit=queries.MOST_ENTRIES).entries
        currency, offers = _offers(hits, kind)
        drawn = chart(kind.title, offers, currency, rate=kind.rate)
        if drawn is not None:
            made.append(drawn)
    return made


def _offers(hits: Sequence[Hit], kind: Kind) -> tuple[str, list[Offered]]:
    """(currency, the best of each product): the one whose interval begins highest."""
    priced = [
        hit
        for hit in hits
        if hit.cell is not None and hit.result.product_id and hit.result.price_per_tib and hit.result.currency
    ]
    if not priced:
        return "", []
    currency = Counter(hit.result.currency for hit in priced).most_common(1)[0][0]
    best: dict[str, tuple[float, Offered]] = {}
    for hit in priced:
        one, cell = hit.result, hit.cell
        assert cell is not None
        value, low, high = kind.values(cell)
        if one.currency != currency or value is None or low is None or not one.price_per_tib:
            continue
        offered = Offered(one.product, f"/r/{one.id}", one.price_per_tib, value, low, high)
        key = one.product_id or ""
        if key not in best or low > best[key][0]:
            best[key] = (low, offered)
    return currency, [offered for _, offered in best.values()]
