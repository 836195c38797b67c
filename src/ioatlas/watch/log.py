# SPDX-License-Identifier: Apache-2.0
"""The rounds of a watch: a line for each in `rounds.jsonl`, made from the round's campaign and made anew where it is
missing. Lines stay when the campaigns of old rounds are removed.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from math import exp, isfinite, log
from pathlib import Path
from typing import Any

from ioatlas import beneath
from ioatlas.model.cell import Cell
from ioatlas.model.units import format_size
from ioatlas.procedures.fit.fits import load_fits
from ioatlas.results.sides import read_sides
from ioatlas.store.journal import Journal

FILE = "rounds.jsonl"
PREFIX = "round-"
MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class Line:
    """One round. name: of its directory. began, ended: seconds since the epoch. levels: by label of cell.

    failed: why nothing was measured. fits: of each use that is watched its answer, as `ioatlas fit --json` has it.
    """

    name: str
    began: float
    ended: float
    levels: Mapping[str, float] = field(default_factory=dict)
    failed: str = ""
    fits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Log:
    """lines: in the order of time. told: rounds after which the alarm was delivered."""

    lines: tuple[Line, ...]
    told: frozenset[str]


def read_log(directory: Path) -> Log:
    """What is known of the rounds; a line that cannot be read is left out, as after a kill. Raises RefusedError."""
    try:
        text = beneath.read_text(directory / FILE, most_bytes=MOST_BYTES)
    except FileNotFoundError:
        return Log((), frozenset())
    lines: dict[str, Line] = {}
    told = set()
    for record in _records(text):
        if "told" in record:
            told.add(str(record["told"]))
        elif (line := _line(record)) is not None:
            lines[line.name] = line
    return Log(tuple(sorted(lines.values(), key=lambda one: one.began)), frozenset(told))


def add_line(directory: Path, line: Line) -> None:
    _append(directory, asdict(line))


def add_told(directory: Path, name: str) -> None:
    _append(directory, {"told": name})


def unfinished(directory: Path, log: Log) -> list[Path]:
    """Rounds that have a directory and no line: of a session that was killed. The oldest first."""
    known = {line.name for line in log.lines}
    found = (path for path in directory.glob(f"{PREFIX}*") if path.is_dir() and not path.is_symlink())
    return sorted(path for path in found if path.name not in known and (path / "journal.sqlite").exists())


def levels_of(campaign: Path, quantity: str) -> dict[str, float]:
    """The level of each cell and direction of a campaign: the geometric mean of its visits. Raises IoAtlasError."""
    (side,) = read_sides([campaign], quantity)
    values: dict[str, list[float]] = defaultdict(list)
    owners: dict[str, str] = {}
    for place, readings in side.readings.items():
        row = side.rows[place]
        name = label_of(row.cell, row.direction)
        if owners.setdefault(name, place[0]) != place[0]:
            name = f"{name} [{place[0][:6]}]"
        values[name] += [reading.value for reading in readings if reading.value > 0]
    return {name: exp(sum(map(log, found)) / len(found)) for name, found in sorted(values.items()) if found}


def fits_of(campaign: Path) -> dict[str, Mapping[str, Any]]:
    """The answer on each use of a campaign, without its requirements. Raises IoAtlasError."""
    with closing(Journal.open(campaign)) as journal:
        return {fit.use.name: {**fit.as_json(), "requirements": []} for fit in load_fits(journal)}


def label_of(cell: Cell, direction: str) -> str:
    """'randread 4 KiB x16': I/Os in flight after the x; the direction where the load has both."""
    label = f"{cell.rw} {format_size(cell.bs_bytes)} x{cell.numjobs * cell.iodepth}"
    return label if direction in cell.rw else f"{label} {direction}"


def _records(text: str) -> Iterator[Mapping[str, Any]]:
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _line(record: Mapping[str, Any]) -> Line | None:
    try:
        levels = {str(name): float(value) for name, value in record["levels"].items()}
        began, ended = float(record["began"]), float(record["ended"])
        fits = {str(use): dict(one) for use, one in record.get("fits", {}).items()}
        line = Line(str(record["name"]), began, ended, levels, str(record.get("failed", "")), fits)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    numbers = (line.began, line.ended, *levels.values())
    return line if all(map(isfinite, numbers)) else None


def _append(directory: Path, record: Mapping[str, Any]) -> None:
    """On the disk when this returns. A line that was cut off by a kill is ended first."""
    path = directory / FILE
    beneath.is_ordinary(path, linked=False)
    with path.open("a+b") as file:
        file.seek(0, os.SEEK_END)
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
