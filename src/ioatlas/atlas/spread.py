# SPDX-License-Identifier: Apache-2.0
"""Whether an upload lies among like systems: robust z of each load's rate, on a log scale, against others' results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

import sqlalchemy as sa

from ioatlas.analysis.wording import plural
from ioatlas.atlas.database import Database
from ioatlas.atlas.extracted import CheckFound, Found
from ioatlas.atlas.queries import public
from ioatlas.atlas.records import LIKENESS, NOT_CHECKED
from ioatlas.atlas.tables import cell, product, result

ENOUGH = 5
"""Results of others that have the same load; below, nothing is said."""
OF_ONE_ACCOUNT, MOST_PEERS, MOST_LOADS = 3, 60, 100
BEYOND = 5.0
"""Robust standard deviations from the median; a load beyond is doubted."""
DOUBTED_SHARE = 0.25
LEAST_SPREAD = math.log(1.25)
"""Like systems differ by this much anyway: peers that agree by chance do not condemn a result."""
Load = tuple[str, str, int, int, int, str, str]
_LOAD = (cell.c.rw, cell.c.direction, cell.c.bs_bytes, cell.c.iodepth, cell.c.numjobs, cell.c.streams, cell.c.loop)


def judged(rates: Mapping[Load, float], peers: Mapping[Load, Sequence[float]], who: str) -> CheckFound:
    """Pure. who: what makes the peers alike, in words. State 'failed': it is doubted; 'note': too few."""
    known = plural(max((len(rated) for rated in peers.values()), default=0), "peer")
    scores = {load: _score(rates[load], peers[load]) for load in rates if len(peers.get(load, ())) >= ENOUGH}
    if not scores:
        return CheckFound(name=LIKENESS, state="note", text=f"{NOT_CHECKED}: {known}")
    beyond = [load for load, score in scores.items() if abs(score) > BEYOND]
    if len(beyond) <= DOUBTED_SHARE * len(scores):
        text = f"{len(scores) - len(beyond)} of {len(scores)} loads lie among those of {known}, {who}"
        return CheckFound(name=LIKENESS, state="passed", text=text)
    worst = max(beyond, key=lambda load: abs(scores[load]))
    middle = median(peers[worst])
    times = rates[worst] / middle
    said = f"{times:,.1f} times" if times >= 1 else f"one part in {1 / times:,.1f} of"
    text = (
        f"{len(beyond)} of {len(scores)} loads lie far from others' results of {who}: {worst[0]} of {worst[2]:,} bytes "
        f"at {worst[4]} x {worst[3]} is {said} their median, {middle:,.0f} IOPS: {abs(scores[worst]):.0f} spreads away"
    )
    return CheckFound(name=LIKENESS, state="failed", text=text)


def _score(rate: float, peers: Sequence[float]) -> float:
    logs = [math.log(one) for one in peers]
    middle = median(logs)
    spread = 1.4826 * median(abs(one - middle) for one in logs)
    return (math.log(rate) - middle) / max(spread, LEAST_SPREAD)


def check(database: Database, found: Found, owner_id: str) -> CheckFound:
    """An upload held against others' public results: of the same product, or of the same drives, link and protocol."""
    rates: dict[Load, float] = {}
    for one in found.cells:
        load = (one.rw, one.direction, one.bs_bytes, one.iodepth, one.numjobs, one.streams, one.loop)
        if one.usable and one.iops and load not in rates:
            rates[load] = one.iops
    step = max(1, -(-len(rates) // MOST_LOADS))
    rates = dict(sorted(rates.items())[::step])
    same_path = [result.c.protocol == found.protocol, result.c.link == found.link]
    same_product = [product.c.vendor == found.vendor, product.c.model == found.model, *same_path]
    asked = [(f"{found.vendor} {found.model}".strip(), same_product)] if found.has_sheet else []
    if found.drive:
        asked.append((f"the same drives over {found.protocol}", [result.c.drive == found.drive, *same_path]))
    said = CheckFound(name=LIKENESS, state="note", text=f"{NOT_CHECKED}: no product or drives named")
    for who, alike in asked:
        said = judged(rates, _peers(database, alike, owner_id, rates), who)
        if said.state != "note":
            break
    return said


def _peers(
    database: Database, alike: Sequence[sa.ColumnElement[bool]], owner_id: str, rates: Mapping[Load, float]
) -> dict[Load, list[float]]:
    """Rates of others by load; of each account its newest results only, so that none of them speaks for all."""
    place = sa.func.row_number().over(partition_by=result.c.owner_id, order_by=result.c.uploaded_at.desc())
    ranked = (
        sa.select(result.c.id, result.c.uploaded_at, place.label("place"))
        .outerjoin(product, product.c.id == result.c.product_id)
        .where(*alike, public(), result.c.verified, result.c.owner_id != owner_id)
        .subquery()
    )
    newest = sa.select(ranked.c.id).where(ranked.c.place <= OF_ONE_ACCOUNT).order_by(ranked.c.uploaded_at.desc())
    found: dict[Load, list[float]] = {}
    with database.reading() as link:
        numbers = link.execute(newest.limit(MOST_PEERS)).scalars().all()
        if not numbers or not rates:
            return {}
        sizes = sorted({load[2] for load in rates})
        rows = link.execute(
            sa.select(cell.c.result_id, *_LOAD, cell.c.iops).where(
                cell.c.result_id.in_(numbers), cell.c.usable, cell.c.iops > 0, cell.c.bs_bytes.in_(sizes)
            )
        )
        seen = set()
        for number, *load, iops in rows:
            key = (load[0], load[1], load[2], load[3], load[4], load[5], load[6])
            if key in rates and (number, key) not in seen:
                seen.add((number, key))
                found.setdefault(key, []).append(iops)
    return found
