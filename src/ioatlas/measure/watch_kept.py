# SPDX-License-Identifier: Apache-2.0
"""What a watch keeps in its directory: what it does each round, in `watch.json`, so that every round is like the first;
and a line for each round in `rounds.jsonl`, made from the round's campaign and made anew where it is missing. Lines
stay when the campaigns of old rounds are removed.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from math import ceil, exp, isfinite, log
from pathlib import Path
from typing import Any

from ioatlas.answer.results.sides import read_sides
from ioatlas.measure.procedures.fit.fits import Fit, load_fits
from ioatlas.measure.run.plan import Plan
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.outcomes import of_plain
from ioatlas.model.units import format_duration, format_size
from ioatlas.plan.spec import CampaignSpec
from ioatlas.store import confined
from ioatlas.store.journal import Journal

SETTINGS = "watch.json"
FORMAT = 1
LONGEST_ROUND_SECONDS = 60.0
SHORTEST_ROUND_SECONDS = 5.0
MOST_SHARE = 0.5
KEPT_FREE = 0.8
"""Part of the share that a round plans to take: the rest is for what takes longer."""
DEFAULT_PATTERNS: tuple[Mapping[str, str | int], ...] = (
    {"rw": "randread", "bs": 4096, "numjobs": 4},
    {"rw": "randwrite", "bs": 4096, "numjobs": 4},
    {"rw": "read", "bs": 1 << 20, "numjobs": 1},
    {"rw": "write", "bs": 1 << 20, "numjobs": 1},
)
DEFAULT_SIZE = 256 << 20
FIT = "fit"
"""What is watched where it is whether the target fits its uses."""


@dataclass(frozen=True)
class Settings:
    """spec: of each round, with its budget. quantity: what is watched, as `compare` names it, or FIT. charts: cells and
    directions of a round.
    """

    spec: CampaignSpec
    quantity: str
    charts: int
    read_only: bool = False

    @property
    def target(self) -> str:
        return self.spec.targets[0][1]

    def as_json(self) -> dict[str, Any]:
        record = json.loads(json.dumps(self.spec.to_record(), default=str))
        return {
            "format": FORMAT,
            "quantity": self.quantity,
            "charts": self.charts,
            "read_only": self.read_only,
            "spec": record,
        }

    @property
    def compared(self) -> dict[str, Any]:
        """What may not change between rounds: all but how long one takes."""
        told = self.as_json() | {"charts": 0}
        for name in ("budget_seconds", "order_seed", "patterns", "constants", "axes"):
            told["spec"].pop(name, None)
        return told


def settings_of(spec: CampaignSpec, plan: Plan, quantity: str, *, read_only: bool) -> Settings:
    """What a watch does that begins with this plan. With the targets' full paths, so that a later call knows the target
    again.
    """
    located = tuple((name, one.location) for (name, _), one in zip(spec.targets, plan.targets, strict=True))
    charts = 0 if quantity == FIT else sum(len(cell.directions) for cell in plan.to_measure)
    return Settings(replace(spec, targets=located), quantity, charts, read_only)


def default_spec(spec: CampaignSpec, *, read_only: bool) -> CampaignSpec:
    """The default few cells."""
    patterns = tuple(dict(one) for one in DEFAULT_PATTERNS if not read_only or "write" not in str(one["rw"]))
    constants = {"size": DEFAULT_SIZE, **spec.constants}
    return replace(spec, axes={}, constants=constants, patterns=patterns)


def round_seconds(every_seconds: float, share: float) -> float:
    """What a round may take of the target's time. Raises UsageError where that is too little to measure anything."""
    seconds = min(LONGEST_ROUND_SECONDS, KEPT_FREE * share * every_seconds)
    if seconds < SHORTEST_ROUND_SECONDS:
        least = SHORTEST_ROUND_SECONDS / KEPT_FREE
        needed = least / every_seconds
        or_more = f" or give it more (--share {100 * needed:.2g}%)" if needed <= MOST_SHARE else ""
        raise UsageError(
            f"{share:.2%} of {format_duration(every_seconds)} is too little for a round",
            where="--share",
            remedy=f"measure less often (--every {ceil(least / share)}s){or_more}",
        )
    return seconds


def of_one_size(spec: CampaignSpec) -> CampaignSpec:
    """An axis of one size as a constant."""
    sizes = spec.axes.get("size", ())
    if len(sizes) != 1:
        return spec
    axes = {name: values for name, values in spec.axes.items() if name != "size"}
    return replace(spec, axes=axes, constants={**spec.constants, "size": sizes[0]})


def pinned(spec: CampaignSpec, cells: list[Cell]) -> CampaignSpec:
    """With the size that the first round used: a later one may not choose a smaller one, which would be another
    cell. A size that a pattern names stays as it is.
    """
    sizes = {cell.size_bytes for cell in cells}
    if len(sizes) != 1 or "size" not in spec.constants:
        return spec
    (size,) = sizes
    constants = {**spec.constants, "size": size}
    patterns = tuple({**one, "size": size} for one in spec.patterns or ({},))
    return replace(spec, constants=constants, patterns=patterns)


def keep(directory: Path, settings: Settings) -> None:
    confined.write_text(directory / SETTINGS, json.dumps(settings.as_json(), indent=1) + "\n", in_root=True)


def read_kept(directory: Path, budget_seconds: float | None) -> Settings | None:
    """What a directory's watch does in rounds that take so long; None where there is none yet. Raises UsageError for a
    file that is none.
    """
    path = directory / SETTINGS
    try:
        told = json.loads(confined.read_text(path))
        if told["format"] != FORMAT:
            raise ValueError
        spec = replace(CampaignSpec.from_record(told["spec"]), budget_seconds=budget_seconds)
        return Settings(spec, str(told["quantity"]), int(told["charts"]), bool(told["read_only"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError("this is not what a watch keeps", where=str(path), remedy="choose another -o") from error


def kept_of(directory: Path, spec: CampaignSpec) -> Settings | None:
    """The settings of a watch that was begun when its target was there; None where there is none."""
    found, named = read_kept(directory, spec.budget_seconds), spec.targets[0][1]
    return found if found is not None and found.target in (named, os.path.realpath(named)) else None


def kept(directory: Path, wanted: Settings, *, chosen: bool) -> Settings:
    """The settings of a directory's watch, with this call's budget; `wanted` where there is none yet.

    chosen: whether the cells were named in this call. Raises UsageError where they are others.
    """
    found = read_kept(directory, wanted.spec.budget_seconds)
    if found is None:
        return wanted
    if found.compared != wanted.compared or (chosen and not _same_cells(found.spec, wanted.spec)):
        raise UsageError(
            "another target or other cells are watched there",
            where=str(directory),
            remedy="choose another -o, or ask for what it was begun with",
        )
    return found


def _same_cells(found: CampaignSpec, wanted: CampaignSpec) -> bool:
    """But for a size that the first round made smaller."""

    def loads(spec: CampaignSpec) -> object:
        merged = [{**spec.constants, **one} for one in spec.patterns or ({},)]
        plain = [{name: value for name, value in one.items() if name != "size"} for one in merged]
        return [plain, {name: list(values) for name, values in spec.axes.items()}]

    return json.dumps(loads(found), sort_keys=True) == json.dumps(loads(wanted), sort_keys=True)


ROUNDS = "rounds.jsonl"
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
        text = confined.read_text(directory / ROUNDS, most_bytes=MOST_BYTES)
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
        return {
            fit.use.name: {**fit.as_json(), "requirements": [], "sentence": _said(fit)} for fit in load_fits(journal)
        }


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
        line: Line = of_plain(Line, record)
    except (TypeError, ValueError, AttributeError, OverflowError):
        return None
    return line if all(map(isfinite, (line.began, line.ended, *line.levels.values()))) else None


def _append(directory: Path, record: Mapping[str, Any]) -> None:
    """On the disk when this returns. A line that was cut off by a kill is ended first."""
    path = directory / ROUNDS
    confined.is_ordinary(path, linked=False)
    with path.open("a+b") as file:
        file.seek(0, os.SEEK_END)
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _said(fit: Fit) -> str:
    """'FAIL: nas does not fit an etcd member.'."""
    fits = {"pass": "fits", "fail": "does not fit"}.get(fit.answer, "may or may not fit")
    return f"{fit.answer.upper()}: {fit.target} {fits} {fit.use.title}."
