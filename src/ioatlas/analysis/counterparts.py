# SPDX-License-Identifier: Apache-2.0
"""Loads of different tools that are the same load, as far as their sources tell."""

from __future__ import annotations

from collections.abc import Iterable

from ioatlas.analysis.imported import NOT_TOLD
from ioatlas.model.cell import MIXED, Cell

AXES = ("bs", "size", "numjobs", "iodepth", "rwmixread", "rate_iops")

Load = tuple[str, str, tuple[tuple[str, str | int | float], ...]]
"""Operation, direction and the other options of a load, as far as its source tells them."""


def load_of(cell: Cell, direction: str) -> Load:
    """A load by what any tool may tell of it."""
    option = cell.option
    operation = str(option.get("operation") or option.get("rw") or "")
    operation = "" if operation.endswith(NOT_TOLD) else {"readwrite": "rw"}.get(operation, operation)
    load = tuple(
        (name, option[name]) for name in AXES if name in option and (name != "rwmixread" or operation in MIXED)
    )
    return operation, direction, load


def told_by_one(first: Load, second: Load) -> tuple[str, ...]:
    """Options that only one of two counterparts tells, taken as equal."""
    a, b = dict(first[2]), dict(second[2])
    return tuple(name for name in AXES if (name in a) != (name in b))


def counterparts(first: Iterable[Load], second: Iterable[Load]) -> tuple[list[tuple[Load, Load]], int]:
    """Each load with its one counterpart, and how many have several.

    Loads match by operation, direction and options; an option that one source does not tell fits any value, if that
    leaves one counterpart.
    """
    theirs = dict.fromkeys(second)
    by_operation: dict[tuple[str, str], list[Load]] = {}
    for load in theirs:
        by_operation.setdefault(load[:2], []).append(load)
    fits: dict[Load, list[Load]] = {}
    back: dict[Load, list[Load]] = {}
    for load in dict.fromkeys(first):
        alike = by_operation.get(load[:2], ())
        for other in [load] if load in theirs else [one for one in alike if _fit(load, one)]:
            fits.setdefault(load, []).append(other)
            back.setdefault(other, []).append(load)
    pairs = [(load, others[0]) for load, others in fits.items() if len(others) == 1 and len(back[others[0]]) == 1]
    return pairs, len(fits) - len(pairs)


def _fit(one: Load, other: Load) -> bool:
    """Whether what both tell is equal, and at least the block size is told by both or by neither."""
    a, b = dict(one[2]), dict(other[2])
    return ("bs" in a) == ("bs" in b) and all(a[name] == b[name] for name in a.keys() & b.keys())
