# SPDX-License-Identifier: Apache-2.0
"""Usable capacity of drives in a layout, step by step, each step with its reason and source. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ioatlas.answer.product.layout import (
    DRAID,
    ONE_GROUP,
    RAIDZ,
    SOURCES,
    LayoutKind,
    draid_allocated,
    raidz_allocated,
    slop_bytes,
)
from ioatlas.answer.product.sheet import Layout
from ioatlas.model.errors import UsageError
from ioatlas.model.units import format_size

Sizes = Sequence[int]
"""Bytes of each drive of a group, largest first."""


@dataclass(frozen=True)
class Step:
    """What is left after one thing was taken off, and why."""

    name: str
    left_bytes: int
    why: str
    source: str


@dataclass(frozen=True)
class Capacity:
    """raw_bytes: of all data drives. survives: failures of `domain`s ('drive' or 'node') that lose nothing, wherever
    they strike. groups: drives of each group. unused: data drives that are in no group.
    """

    raw_bytes: int
    usable_bytes: int
    steps: tuple[Step, ...]
    survives: int
    domain: str
    groups: tuple[int, ...]
    unused: int


def usable_capacity(drives: Sequence[int], layout: Layout, *, where: str = "layout") -> Capacity:
    """Of data drives (bytes each, hot spares among them). Raises UsageError for what cannot be laid out so."""
    sizes = sorted(drives, reverse=True)
    raw = sum(sizes)
    steps = [Step("raw", raw, drives_text(sizes), SOURCES["arithmetic"])]
    # Distributed spares of dRAID lie in every drive; other spares are drives, as large as the largest they may replace.
    spares = 0 if layout.kind in DRAID else layout.hot_spares
    if spares >= len(sizes) and spares:
        raise UsageError(
            f"{spares} hot spares of {len(sizes)} drives leave nothing", where=where, remedy="lower hot_spares"
        )
    sizes = sizes[spares:]
    if spares:
        word = "drive is a hot spare" if spares == 1 else "drives are hot spares"
        steps.append(Step("without hot spares", sum(sizes), f"{spares} {word}", SOURCES["arithmetic"]))
    if layout.kind in ONE_GROUP:
        steps.append(_spread(_domains(sizes, layout, where), layout, where))
        groups: tuple[int, ...] = (len(sizes),)
        unused = 0
    else:
        members = grouped(sizes, layout, where)
        groups = tuple(len(group) for group in members)
        unused = len(sizes) - sum(groups)
        if unused:
            used = sum(sum(group) for group in members)
            steps.append(Step("in groups", used, f"{unused} of {len(sizes)} drives are in no group", "the sheet"))
        steps += _redundant(members, layout, where)
    steps += _kept_back(steps[-1].left_bytes, layout)
    survives, domain = failures_survived(layout, groups)
    return Capacity(raw, steps[-1].left_bytes, tuple(steps), survives, domain, groups, unused)


def drives_text(sizes: Sequence[int]) -> str:
    """'8 drives', with how many sizes where they differ."""
    kinds = len(set(sizes))
    return f"{len(sizes)} drive{'' if len(sizes) == 1 else 's'}" + (f" of {kinds} sizes" if kinds > 1 else "")


def failures_survived(layout: Layout, groups: Sequence[int] = ()) -> tuple[int, str]:
    """How many failures lose nothing wherever they strike, and of what: drives, or nodes."""
    domain = "node" if layout.nodes else "drive"
    kind = layout.kind
    if kind is LayoutKind.RAID1:
        return max(0, min(groups, default=1) - 1), domain
    if kind in (LayoutKind.RAID10, LayoutKind.MIRROR, LayoutKind.REPLICA):
        return layout.copies - 1, domain
    if kind is LayoutKind.ERASURE:
        return layout.parity, domain
    if kind is LayoutKind.SHR1 and tuple(groups) == (1,):
        return 0, domain
    return layout.rule.parity, domain


# -- groups ----------------------------------------------------------------------------------------------------


def grouped(sizes: Sizes, layout: Layout, where: str) -> list[Sizes]:
    """The drives of each group; large ones together, so that little is cut off."""
    counts = tuple(layout.groups) if isinstance(layout.groups, list) else ()
    if not counts:
        n_groups = layout.groups if isinstance(layout.groups, int) else 1
        if layout.kind is LayoutKind.MIRROR:
            n_groups = len(sizes) // layout.copies
        if n_groups < 1 or len(sizes) % n_groups or (layout.kind is LayoutKind.MIRROR and len(sizes) % layout.copies):
            raise UsageError(
                f"{len(sizes)} drives do not divide into groups of equal size for {layout.name}",
                where=where,
                remedy="write groups = [6, 6, 5] with the drives of each, or other hot_spares",
            )
        counts = (len(sizes) // n_groups,) * n_groups
    if sum(counts) > len(sizes):
        raise UsageError(
            f"groups take {sum(counts)} drives and there are {len(sizes)}", where=where, remedy="correct groups"
        )
    least = _fewest(layout)
    for count in counts:
        if count < least:
            raise UsageError(
                f"{layout.name} needs at least {least} drives in a group, not {count}",
                where=where,
                remedy="correct drives, hot_spares or groups",
            )
        if layout.kind is LayoutKind.RAID10 and count % layout.copies:
            raise UsageError(
                f"RAID 10 with {layout.copies} copies cannot use {count} drives",
                where=where,
                remedy=f"use a multiple of {layout.copies}",
            )
    members, first = [], 0
    for count in counts:
        members.append(sizes[first : first + count])
        first += count
    return members


def _fewest(layout: Layout) -> int:
    kind = layout.kind
    if kind in DRAID:
        return layout.data + layout.rule.parity + layout.hot_spares
    if kind in (LayoutKind.MIRROR, LayoutKind.RAID10):
        return max(layout.rule.fewest if kind is LayoutKind.RAID10 else 1, layout.copies)
    # Synology makes SHR of one drive, without protection.
    return 1 if kind is LayoutKind.SHR1 else layout.rule.fewest


def _redundant(members: list[Sizes], layout: Layout, where: str) -> list[Step]:
    """What the layout keeps of its groups; padding of ZFS is a step of its own."""
    each = [_KEPT.get(layout.kind, _smallest)(group, layout) for group in members]
    striped = layout.kind in (LayoutKind.RAID50, LayoutKind.RAID60)
    nominal = min(each) * len(each) if striped else sum(each)
    steps = [Step(f"after {layout.name}", nominal, _why(members, layout), SOURCES[layout.rule.source])]
    if layout.kind in RAIDZ or layout.kind in DRAID:
        padded = sum(_padded(group, layout, where) for group in members)
        steps.append(
            Step(
                "after padding",
                min(padded, nominal),
                f"blocks of {format_size(layout.recordsize_bytes)} in sectors of {format_size(1 << layout.ashift)}",
                SOURCES[layout.rule.source],
            )
        )
    return steps


def _why(members: list[Sizes], layout: Layout) -> str:
    kind, first = layout.kind, members[0]
    many = f"{len(members)} groups: " if len(members) > 1 else ""
    mixed = any(len(set(group)) > 1 for group in members)
    cut = "; every drive counts as the smallest of its group" if mixed and kind not in _EVERY_BYTE else ""
    if kind in (LayoutKind.SINGLE, LayoutKind.RAID0):
        return f"{many}no redundancy{cut}"
    if kind in (LayoutKind.RAID1, LayoutKind.RAID10, LayoutKind.MIRROR):
        copies = len(first) if kind is LayoutKind.RAID1 else layout.copies
        return f"{many}everything is there {copies} times{cut}"
    if kind in DRAID:
        spares = f", {layout.hot_spares} distributed spares" if layout.hot_spares else ""
        return f"{many}{layout.data} of {layout.data + layout.rule.parity} drives' worth is data{spares}{cut}"
    counts = sorted({len(group) for group in members})
    of = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    word = "drive's" if layout.rule.parity == 1 else "drives'"
    if len(members) > 1:
        return f"{len(members)} groups of {of}: {layout.rule.parity} {word} worth of each is redundancy{cut}"
    return f"{layout.rule.parity} {word} worth of {of} is redundancy{cut}"


_EVERY_BYTE = frozenset({LayoutKind.SINGLE, LayoutKind.SHR1, LayoutKind.SHR2})
"""Those that use all of drives of different sizes, as far as redundancy goes."""


def _smallest(group: Sizes, layout: Layout) -> int:
    return (len(group) - layout.rule.parity) * min(group)


def _tiers(group: Sizes, layout: Layout) -> int:
    """SHR: in every tier of sizes the drives that reach it keep all but the redundancy."""
    if len(group) == 1:
        return group[0]
    kept, below = 0, 0
    for smaller, size in enumerate(sorted(group)):
        kept += (size - below) * max(0, len(group) - smaller - layout.rule.parity)
        below = size
    return kept


def _padded(group: Sizes, layout: Layout, where: str) -> int:
    """What blocks of one record size leave of a RAIDZ or dRAID group."""
    if layout.recordsize_bytes < 512:
        raise UsageError("ZFS has no such recordsize", where=where, remedy="write recordsize = '128k'")
    space = (len(group) - (layout.hot_spares if layout.kind in DRAID else 0)) * min(group)
    taken = (
        draid_allocated(layout.recordsize_bytes, data=layout.data, parity=layout.rule.parity, ashift=layout.ashift)
        if layout.kind in DRAID
        else raidz_allocated(layout.recordsize_bytes, width=len(group), parity=layout.rule.parity, ashift=layout.ashift)
    )
    return space * layout.recordsize_bytes // taken


_KEPT: dict[LayoutKind, Callable[[Sizes, Layout], int]] = {
    LayoutKind.SINGLE: lambda group, _: sum(group),
    **dict.fromkeys((LayoutKind.RAID1, LayoutKind.MIRROR), lambda group, _: min(group)),
    LayoutKind.RAID10: lambda group, layout: len(group) // layout.copies * min(group),
    **dict.fromkeys((LayoutKind.SHR1, LayoutKind.SHR2), _tiers),
    **dict.fromkeys(
        DRAID,
        lambda group, layout: (
            (len(group) - layout.hot_spares) * min(group) * layout.data // (layout.data + layout.rule.parity)
        ),
    ),
}
"""Bytes that a group keeps where that is not what all but its parity have, each as much as the smallest."""


# -- chunks in failure domains -----------------------------------------------------------------------------------


def _domains(sizes: Sizes, layout: Layout, where: str) -> list[int]:
    """Bytes of each failure domain: of a node, or of a drive."""
    if not layout.nodes:
        return list(sizes)
    if len(sizes) % layout.nodes:
        raise UsageError(
            f"{len(sizes)} drives do not divide into {layout.nodes} nodes", where=where, remedy="correct nodes"
        )
    return [sum(sizes[node :: layout.nodes]) for node in range(layout.nodes)]


def _spread(domains: Sequence[int], layout: Layout, where: str) -> Step:
    """Chunks in as many different domains: the most stripes T for which the domains, each cut to T, hold `width` x T.

    That is McNaughton's wrap-around rule: the chunks of a stripe can be placed freely, one in a domain.
    """
    erasure = layout.kind is LayoutKind.ERASURE
    data, width = (layout.data, layout.data + layout.parity) if erasure else (1, layout.copies)
    if len(domains) < width:
        what = "nodes" if layout.nodes else "drives"
        raise UsageError(
            f"{layout.name} needs {width} {what}, and there are {len(domains)}",
            where=where,
            remedy="correct the layout",
        )
    chunk = _longest(domains, width)
    why = f"{data} of {width} chunks are data" if erasure else f"everything is there {layout.copies} times"
    if chunk * width < sum(domains) - width:
        why += "; a large domain cannot be filled, each chunk needs another domain"
    return Step(f"after {layout.name}", chunk * data, why, SOURCES[layout.rule.source])


def _longest(domains: Sequence[int], width: int) -> int:
    """Largest T with sum(min(domain, T)) >= width * T: the r largest domains can hold T each at most, for every r."""
    left, longest = sum(domains), None
    for r, largest in enumerate(sorted(domains, reverse=True)[:width]):
        bound = left // (width - r)
        longest = bound if longest is None else min(longest, bound)
        left -= largest
    return longest or 0


# -- what is kept back ---------------------------------------------------------------------------------------------


def _kept_back(left: int, layout: Layout) -> list[Step]:
    steps = []
    if layout.kind in RAIDZ or layout.kind in DRAID or layout.kind is LayoutKind.MIRROR:
        left -= slop_bytes(left)
        steps.append(Step("without slop space", left, "ZFS keeps 1/32, at most 128 GiB", SOURCES["slop"]))
    if layout.file_system_overhead:
        left -= int(left * layout.file_system_overhead)
        text = f"{layout.file_system_overhead * 100:.3g}% for its own data"
        steps.append(Step("after the file system", left, text, "the sheet"))
    if layout.reserve:
        share, size = layout.reserve
        left = max(0, left - int(left * share) - size)
        text = f"{share * 100:.3g}%" if share else f"{size:,} bytes"
        steps.append(Step("without reserve", left, f"{text} kept free", "the sheet"))
    return steps
