# SPDX-License-Identifier: Apache-2.0
"""Results side by side: what differs in how they were measured, and who is ahead in which cell. Pure.

Only results that were measured alike are ranked. Cells that a cache served are left out, and so is what has no number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ioatlas.answer.analysis.best import SIGNS, Mark
from ioatlas.model.units import format_size
from ioatlas_atlas.extracted import link_speed
from ioatlas_atlas.views import LOADS, told_of

METHOD = ("ioengine", "direct", "preparation", "files", "fio", "check")
"""Conditions that have to be the same before one result may stand above another."""
MOST_CELLS = 200
_UNFIT = frozenset({Mark.SUSPECT, Mark.DISAGREE, Mark.UNSTABLE, Mark.MINIMUM})
_KEY = ("rw", "direction", "bs_bytes", "size_bytes", "numjobs", "iodepth")


@dataclass(frozen=True)
class Side:
    """One result as it is compared. of: its product. document: its export. by: who measured it."""

    id: str
    title: str
    of: str
    document: Mapping[str, Any]
    verified: bool = True
    by: str = ""

    @property
    def doubted(self) -> int:
        """Loads that something speaks against."""
        return sum(bool(row.get("doubt")) for row in self.document.get("rows", ()))


@dataclass(frozen=True)
class Difference:
    """A condition with the value on each side."""

    name: str
    values: tuple[str, ...]
    of_method: bool


@dataclass(frozen=True)
class Entry:
    """What one side does in a cell. place: 1 is best, the same for sides that cannot be told apart; 0 unranked.

    share: of the fastest side.
    """

    text: str
    interval: str
    latency: str
    place: int
    why: str
    share: float


@dataclass(frozen=True)
class Line:
    """One cell that two sides or more have measured."""

    head: str
    entries: tuple[Entry | None, ...]

    @property
    def decided(self) -> bool:
        """Whether one stands above another."""
        return any(one is not None and one.place > 1 for one in self.entries)


@dataclass(frozen=True)
class Table:
    """ranked: whether the sides were measured alike. lines: cells; left_out: those beyond the first ones."""

    sides: tuple[Side, ...]
    differences: tuple[Difference, ...]
    ranked: bool
    lines: tuple[Line, ...]
    left_out: int


def compared(sides: Sequence[Side]) -> Table:
    """All cells that two sides or more have."""
    facts = [{"check": "recomputed" if side.verified else "unchecked", **conditions(side.document)} for side in sides]
    names = dict.fromkeys(name for told in facts for name in told)
    apart = tuple(
        Difference(name, tuple(told.get(name, "") or "not told" for told in facts), name in METHOD)
        for name in names
        if len({told.get(name, "") for told in facts}) > 1
    )
    ranked = all(side.verified for side in sides) and not any(one.of_method for one in apart)
    cells: dict[tuple[Any, ...], list[Mapping[str, Any] | None]] = defaultdict(lambda: [None] * len(sides))
    for place, side in enumerate(sides):
        for row in side.document.get("rows", ()):
            if row.get("kind") == "measured" and row.get("bw_bytes_per_s"):
                cells[tuple(row.get(name) for name in _KEY)][place] = row
    shared = {key: rows for key, rows in cells.items() if sum(row is not None for row in rows) > 1}
    ordered = sorted(shared, key=lambda key: tuple((isinstance(part, str), part is None, part or 0) for part in key))
    return Table(
        tuple(sides),
        apart,
        ranked,
        tuple(_line(key, shared[key], ranked=ranked) for key in ordered[:MOST_CELLS]),
        max(0, len(ordered) - MOST_CELLS),
    )


def conditions(document: Mapping[str, Any]) -> dict[str, str]:
    """How a result was measured, and where, in a few words each."""
    constants, settings = document.get("constants", {}), document.get("settings", {})
    session: Mapping[str, Any] = next(iter(document.get("sessions", ())), {})
    told = {
        "ioengine": constants.get("ioengine", ""),
        "direct": {1: "direct", 0: "through the page cache"}.get(constants.get("direct"), ""),
        "preparation": settings.get("preparation", ""),
        "files": settings.get("sharing", ""),
        "fio": session.get("fio", ""),
        "ioatlas": document.get("tool_version", ""),
        "visits": settings.get("visits", ""),
        "window": settings.get("window", ""),
        "client's processor": session.get("cpu.model", ""),
        "client's threads": session.get("cpu.threads", ""),
        "link": link_speed(session),
        "file system": session.get("fs.type", ""),
    }
    return {name: str(value) for name, value in told.items()}


def _line(key: Sequence[Any], rows: Sequence[Mapping[str, Any] | None], *, ranked: bool) -> Line:
    # Cached cells are left out.
    fit = {place: row for place, row in enumerate(rows) if row is not None and not _unfit(row)}
    places = _places(fit) if ranked and len(fit) > 1 else {}
    top = max(row["bw_bytes_per_s"] for row in rows if row is not None)
    entries = (None if row is None else _entry(row, places.get(at, 0), top) for at, row in enumerate(rows))
    return Line(_head(key), tuple(entries))


def _unfit(row: Mapping[str, Any]) -> str:
    if row.get("doubt"):
        return f"doubted: {row['doubt']}"
    mark = Mark(row.get("mark") or Mark.STEADY)
    if mark in _UNFIT:
        return str(row.get("verdict")) if mark is Mark.SUSPECT else SIGNS[mark][1]
    return "no interval to rank by" if row.get("bw_low") is None or row.get("bw_high") is None else ""


def _places(rows: Mapping[int, Mapping[str, Any]]) -> dict[int, int]:
    """A side stands behind each one whose whole interval lies above its own."""
    return {
        place: 1 + sum(other["bw_low"] > row["bw_high"] for at, other in rows.items() if at != place)
        for place, row in rows.items()
    }


def _entry(row: Mapping[str, Any], place: int, top: float) -> Entry:
    return Entry(*told_of(row), place, _unfit(row), row["bw_bytes_per_s"] / top)


def _head(key: Sequence[Any]) -> str:
    rw, direction, bs, size, jobs, depth = key
    name = f"{format_size(int(bs)) if bs else ''} {LOADS.get(rw, rw or 'load')}".strip()
    parts = [name if direction in str(rw) else f"{name} ({direction})"]
    parts += [f"{jobs or 1} job{'' if (jobs or 1) == 1 else 's'}", f"depth {depth or 1}"]
    parts += [f"in {format_size(int(size))}"] if size else []
    return ", ".join(parts)
