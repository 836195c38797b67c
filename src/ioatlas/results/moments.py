# SPDX-License-Identifier: Apache-2.0
"""Campaigns and imports of one target as moments of its history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ioatlas.analysis.compare import Reading
from ioatlas.analysis.timeline import Moment, Part
from ioatlas.errors import IoAtlasError
from ioatlas.results.library import Entry, entry
from ioatlas.results.sides import Aligned, Side, align, of_target, read_sides


@dataclass(frozen=True)
class Past:
    """moments: one for each campaign, by the directory as it was named. skipped: what is no part of it, and why."""

    moments: tuple[Moment, ...]
    skipped: tuple[str, ...]


def past_of(entries: Sequence[Entry], target: str, quantity: str) -> Past:
    """What the entries hold of a target ('' for all they hold)."""
    sides: list[tuple[Side, Entry]] = []
    skipped = []
    for each in entries:
        try:
            sides.append((_side(each, target, quantity), each))
        except IoAtlasError as error:
            skipped.append(f"{each.directory}: {error.what}")
    if not sides:
        return Past((), tuple(skipped))
    aligned = align([side for side, _ in sides])
    moments = tuple(_moment(aligned, number, each) for number, (_, each) in enumerate(sides))
    return Past(moments, tuple(skipped))


def entries_of(places: Iterable[Path]) -> list[Entry]:
    """What directories hold. Raises IoAtlasError for one that cannot be read."""
    found = [entry(place) for place in places]
    for each in found:
        if not each.readable:
            raise IoAtlasError(each.state, where=str(each.directory))
    return found


def _side(each: Entry, target: str, quantity: str) -> Side:
    (whole,) = read_sides([each.directory], quantity)
    if not target or len(whole.targets) <= 1:
        return whole
    named = [known.name for known in each.targets if replace(each, targets=(known,)).is_of(target)]
    return of_target(whole, named[0]) if named else whole


def _moment(aligned: Aligned, number: int, each: Entry) -> Moment:
    parts: dict[Part, list[Reading]] = {"all": [], "read": [], "write": []}
    for name, readings in aligned.readings[number].items():
        parts["all"] += readings
        direction = aligned.rows[name].direction
        if direction == "read":
            parts["read"] += readings
        elif direction == "write":
            parts["write"] += readings
    facts = {name: value for name, value in aligned.sides[number].facts.items() if value}
    return Moment(str(each.directory), each.created or 0.0, parts, facts)
