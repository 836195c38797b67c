# SPDX-License-Identifier: Apache-2.0
"""What imported readings answer, which of them may stand for their set, and what was lost on the way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ioatlas.analysis.wording import Namer
from ioatlas.model.estimate import Estimate

CACHED_BY_DESIGN = "record rewrite"
"""An operation of IOzone: one record again and again, which the nearest cache takes."""
UNSOUND = ("contradiction", "the run failed")
"""A note with one of these says that the figures cannot all be right."""
SETS, LOADS = "Sets", "Loads"
"""Titles of the table with a line for each set, or for each load of a set that makes no map."""
TITLES = ("Sources", "Latency", "Remarks")
"""Of the findings that stand in the answer."""
_PLACE = re.compile(r"(.*?): ")
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\S*\d\S*(?: (?:[kMG]|[KMGT]?i?B(?:/s)?|[nµm]?s)\b)?")
_MOST_TEXT = 70
SMALL_BYTES = 4096


def operation_of(e: Estimate) -> str:
    return str(e.cell.option.get("operation") or e.cell.option.get("rw") or e.direction)


def _size(e: Estimate) -> int:
    size = e.cell.option.get("size")
    return size if isinstance(size, int) else 0


def unsound(e: Estimate) -> bool:
    """Whether its figures contradict each other, or its run failed: it ranks nowhere."""
    return any(word in note for note in e.notes for word in UNSOUND)


def rivals(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Those that may stand for their sets: no figures that contradict each other, nothing that a cache answers by
    design, and of each operation the largest file, which caches hold least of.
    """
    found = [e for e in estimates if e.kind == "imported"]
    sound = [e for e in found if operation_of(e) != CACHED_BY_DESIGN and not unsound(e)]
    largest: dict[tuple[str, str, str], int] = {}
    for e in sound:
        key = (e.cell.target, e.direction, operation_of(e))
        largest[key] = max(largest.get(key, 0), _size(e))
    return [e for e in sound if _size(e) in (0, largest[e.cell.target, e.direction, operation_of(e)])]


def small_ones(estimates: Iterable[Estimate]) -> list[Estimate]:
    """4 KiB random I/O with its rate of I/Os, which follows from bytes where it is not told."""
    return [
        e if e.iops else replace(e, iops=(e.bw_bytes_per_s or 0.0) / SMALL_BYTES)
        for e in rivals(estimates)
        if e.cell.option.get("bs") == SMALL_BYTES and str(e.cell.option.get("rw", "")).startswith("rand")
    ]


def named(e: Estimate, namer: Namer, *, everything: bool = False) -> str:
    """'strided read, 256 KiB, 1 job on iozone 3.489': what the direction and the block size do not tell, or all."""
    operation = operation_of(e)
    told = operation in (e.direction, e.cell.option.get("rw")) or operation.endswith("not told")
    first = f"{operation}, " if everything or not told else ""
    return f"{first}{namer.short(e.cell, without=('operation',))}{namer.on(e.cell.target)}"


def in_flight(e: Estimate) -> int:
    """I/Os in flight; 0 where another tool's file tells neither jobs nor depth."""
    return e.cell.outstanding if e.kind != "imported" or {"numjobs", "iodepth"} & e.cell.option.keys() else 0


def by_kind(remarks: Sequence[str]) -> list[str]:
    """Remarks of the form `FILE:LINE: what`, those alike but for names and numbers together: the most frequent first,
    each with where the first one stands.
    """
    kinds: Counter[str] = Counter()
    first: dict[str, str] = {}
    for remark in remarks:
        place = _PLACE.match(remark)
        what = remark[place.end() :] if place else remark
        kind = _VARYING.sub("#", what)
        kinds[kind] += 1
        short = what if len(what) <= _MOST_TEXT else f"{what[:_MOST_TEXT].rpartition(' ')[0]} …"
        first.setdefault(kind, f"{short} ({place[1].rpartition('/')[2]})" if place else short)
    return [f"{n:,} × {first[kind]}" if n > 1 else first[kind] for kind, n in kinds.most_common()]
