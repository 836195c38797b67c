# SPDX-License-Identifier: Apache-2.0
"""In which conditions sides differ: what has to be known before their figures are held against each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.units import format_size_rounded
from ioatlas.results.sides import Side

Group = Literal["method", "unknown", "version", "testbed"]
_METHOD = (
    "method",
    "tool",
    "page cache",
    "preparation",
    "files",
    "engine",
    "statistic",
    "mean latency",
    "p99 latency",
    "running time",
    "units",
)
_VERSIONS = ("ioatlas", "fio", "tool.", "fio.", "host.kernel", "host.os")
_DEVICE = "device."
MOST_LETTERS = 60
MOST_VALUES = 4


@dataclass(frozen=True)
class Apart:
    """One condition that is not the same on all sides.

    group: 'method': another way to measure, so that figures are not comparable as they are; 'unknown': the same, where
    some side does not tell; 'version' of ioatlas, fio, system or firmware; 'testbed': another client, path or device.
    values: of each side, '' where it does not tell.
    """

    group: Group
    name: str
    values: tuple[str, ...]

    def sentence(self, names: Sequence[str]) -> str:
        """`page cache: direct (a, b), buffered (c)`."""
        sides: dict[str, list[str]] = {}
        for name, value in zip(names, self.values, strict=True):
            sides.setdefault(value or "not told", []).append(name)
        told = ", ".join(f"{_short(value)} ({', '.join(who)})" for value, who in sides.items())
        return f"{self.name}: {told}"


def conditions_apart(sides: Sequence[Side]) -> tuple[Apart, ...]:
    """What differs, the weightiest first. A fact of the testbed counts only where all sides tell it: what one client
    cannot read is no difference.
    """
    facts = [_common_names(side) for side in sides]
    found = []
    for name in dict.fromkeys(name for told in facts for name in told):
        values = tuple(told.get(name, "") for told in facts)
        group = _group(name)
        if len(set(filter(None, values))) > 1 and (group == "method" or all(values)):
            found.append(Apart(group, name, values))
        elif group == "method" and not all(values):
            found.append(Apart("unknown", name, values))
    order: dict[Group, int] = {"method": 0, "unknown": 1, "version": 2, "testbed": 3}
    return tuple(sorted(found, key=lambda apart: order[apart.group]))


def options_apart(first: Sequence[Cell], second: Sequence[Cell]) -> list[str]:
    """Options of which two sets of cells have no value in common, with the values: 'size 64 MiB and 1 GiB'."""
    ours, theirs = (_values(cells) for cells in (first, second))
    return [
        f"{name} {_listed(name, ours[name])} and {_listed(name, theirs[name])}"
        for name in ours
        if name in theirs and not set(ours[name]) & set(theirs[name])
    ]


def _values(cells: Sequence[Cell]) -> dict[str, dict[OptionValue, None]]:
    found: dict[str, dict[OptionValue, None]] = {}
    for cell in cells:
        for name, value in cell.options:
            found.setdefault(name, {})[value] = None
    return found


def _listed(name: str, values: Iterable[OptionValue]) -> str:
    sizes = name in ("bs", "size")
    told = [format_size_rounded(value) if sizes and isinstance(value, int) else str(value) for value in values]
    return ", ".join(told[:MOST_VALUES]) + (", ..." if len(told) > MOST_VALUES else "")


def _group(name: str) -> Group:
    plain = name.rsplit(": ", 1)[-1]
    if plain in _METHOD:
        return "method"
    return "version" if plain.startswith(_VERSIONS) or "firmware" in plain else "testbed"


def _common_names(side: Side) -> dict[str, str]:
    """Facts by names that do not hold the device's own, where a side has but one device."""
    devices = {name.split(".")[1] for name in side.facts if name.startswith(_DEVICE) and name.count(".") >= 2}
    if len(devices) != 1:
        return dict(side.facts)
    (device,) = devices
    prefix = f"{_DEVICE}{device}."
    return {
        f"{_DEVICE}{name.removeprefix(prefix)}" if name.startswith(prefix) else name: value
        for name, value in side.facts.items()
    }


def _short(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
