# SPDX-License-Identifier: Apache-2.0
"""The best that a result can do, by kind of load: what a search for performance reads instead of all cells."""

from __future__ import annotations

import sqlalchemy as sa

ANY_RW, ANY_SIZE = "", 0
BITS = {"read": 1, "write": 2, "trim": 4}
"""Of `directions`."""
_SUMMARY = """
INSERT INTO best (result_id, rw, bs_bytes, uploaded_at, price_per_tib, directions,
  iops, bw_bytes_per_s, p99_ns, mean_ns)
SELECT result.id, {rw}, {size}, result.uploaded_at, result.price_per_tib,
  max(CASE WHEN direction = 'read' THEN 1 ELSE 0 END) + max(CASE WHEN direction = 'write' THEN 2 ELSE 0 END)
    + max(CASE WHEN direction = 'trim' THEN 4 ELSE 0 END),
  max(iops_low), max(bw_low), min(lat_p99_high_ns), min(lat_mean_high_ns)
FROM cell JOIN result ON result.id = cell.result_id
WHERE usable{only}
GROUP BY result.id, result.uploaded_at, result.price_per_tib{also}"""


def summarise(link: sa.Connection, first: str = "", last: str = "") -> None:
    """Of the result `first`, of those up to `last`, or of all: for each kind of load and size, and for any of both."""
    only = " AND result.id BETWEEN :first AND :last" if first else ""
    for rw in ("rw", f"'{ANY_RW}'"):
        for size in ("bs_bytes", str(ANY_SIZE)):
            also = "".join(f", {column}" for column in (rw, size) if column in ("rw", "bs_bytes"))
            order = sa.text(_SUMMARY.format(rw=rw, size=size, also=also, only=only))
            link.execute(order, {"first": first, "last": last or first} if first else {})
