# SPDX-License-Identifier: Apache-2.0
"""What the drives of a product allow together: layout arithmetic over what one drive does at most.

After Chen, Lee, Gibson, Katz and Patterson 1994 (ACM Computing Surveys 26(2), table 2): reads are spread over all
drives; large writes over the data drives of full stripes; a small write to a parity stripe costs 2 (p + 1) I/Os, or
those of the whole stripe where it has fewer drives. No cache, no log: what merges small writes can pass the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ioatlas.errors import UsageError
from ioatlas.product.capacity import grouped
from ioatlas.product.layout import DRAID, STRIPED, Layout, LayoutKind
from ioatlas.product.sheet import DriveRole, DriveSet, Sheet

Work = Literal["read", "write", "random read", "random write"]
_COPIED = frozenset({LayoutKind.RAID1, LayoutKind.RAID10, LayoutKind.MIRROR, LayoutKind.REPLICA})


@dataclass(frozen=True)
class Allowed:
    """At most `value`: bytes a second of reads and writes in order, I/Os a second of small random ones."""

    work: Work
    value: float
    why: str


def allowed(sheet: Sheet) -> tuple[Allowed, ...]:
    """What the data drives allow, of what the sheet tells of one drive. Nothing without a layout."""
    drives = [one for one in sheet.drives if one.role is DriveRole.DATA]
    if sheet.layout is None or not drives:
        return ()
    count = sum(one.count for one in drives) - sheet.layout.hot_spares
    rates: tuple[tuple[Work, Callable[[DriveSet], float | None]], ...] = (
        ("read", lambda one: one.read_bytes_per_s),
        ("write", lambda one: one.write_bytes_per_s),
        ("random read", lambda one: one.read_iops),
        ("random write", lambda one: one.write_iops),
    )
    found = []
    for work, rate in rates:
        known = [value for one in drives if (value := rate(one)) is not None]
        if len(known) < len(drives):
            continue
        share = _share(work, sheet.layout, count)
        if share is None:
            continue
        worth, why = share
        # Of drives of several models the slowest paces a stripe.
        found.append(Allowed(work, worth * min(known), why))
    return tuple(found)


def _share(work: Work, layout: Layout, count: int) -> tuple[float, str] | None:
    """(drives' worth of work, in words); None where the layout does not say."""
    if layout.kind in _COPIED:
        copies = count if layout.kind is LayoutKind.RAID1 else max(2, layout.copies)
        if work in ("read", "random read"):
            return _all_read(count)
        return count / copies, f"{layout.name}: each write goes to {copies} drives"
    if layout.kind is LayoutKind.ERASURE:
        width = layout.data + layout.parity
        if work in ("read", "random read"):
            return _all_read(count)
        return count * layout.data / width, f"{layout.name}: {layout.data} of {width} chunks are data"
    try:
        groups = [len(group) for group in grouped(tuple([1] * count), layout, "layout")]
    except UsageError:
        return None
    if work in ("read", "random read"):
        return _all_read(sum(groups))
    if layout.kind in DRAID:
        return None
    parity = layout.rule.parity
    if work == "write" or layout.kind not in STRIPED:
        worth = float(sum(size - parity for size in groups))
        return worth, f"{layout.name}: {worth:g} data drives" if parity else f"{worth:g} drives write at once"
    # Of a narrow stripe the rest is read instead of the old parity: never more I/Os than the stripe has drives.
    costs = [min(2 * (parity + 1), size) for size in groups]
    told = f"{min(costs)}" if len(set(costs)) == 1 else f"{min(costs)} to {max(costs)}"
    return sum(size / cost for size, cost in zip(groups, costs, strict=True)), (
        f"{layout.name}: a small write costs {told} I/Os"
    )


def _all_read(count: int) -> tuple[float, str]:
    return float(count), f"{count} drives read at once"
