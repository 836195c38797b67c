# SPDX-License-Identifier: Apache-2.0
"""A campaign's result as a table: one row for each cell and direction, measured or not. The names are the same in
CSV and JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TextIO

from ioatlas.answer.analysis.best import as_shown
from ioatlas.answer.analysis.factors import PRICE, PRICE_PER_TIB
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.estimate import Estimate
from ioatlas.model.factors import FACTOR, Factor, factor_names
from ioatlas.model.result import CampaignResult
from ioatlas.report.export import texts
from ioatlas.report.redact import redactor

Value = OptionValue | None
Row = dict[str, Value | tuple[int, ...] | tuple[str, ...]]

PRICES = frozenset({f"{FACTOR}{PRICE}", f"{FACTOR}{PRICE_PER_TIB}"})
"""Columns of factors that follow from others: an axis only where they are asked for."""
_IN_FIXED = frozenset({"target", "rw", "bs", "size", "numjobs", "iodepth", "direction"})
Kind = Literal["string", "integer", "number"]


@dataclass(frozen=True)
class Meaning:
    """text: in words, with Markdown. unit: SI, '' where it has none. kind: as Frictionless Table Schema names it. path:
    where it stands in an estimate; () for what does not.
    """

    text: str
    unit: str = ""
    kind: Kind = "string"
    path: tuple[str, ...] = ()


def _column(line: str) -> tuple[str, Meaning]:
    """A line of `columns.txt`; a dot is the path of a field of the column's own name."""
    name, kind, unit, path, text = (part.strip() for part in line.split("|", 4))
    return name, Meaning(text, unit, kind, (name,) if path == "." else tuple(filter(None, path.split("."))))  # type: ignore[arg-type]


def meanings(path: Path) -> dict[str, Meaning]:
    """Of a file with a line for each column."""
    return dict(map(_column, path.read_text(encoding="utf-8").splitlines()))


MEANINGS = meanings(Path(__file__).with_name("columns.txt"))
"""Every column by its name, which never changes, in their order. Options of fio that differ between cells have columns
of their own, between the fixed ones and the rest.
"""
_NAMES = tuple(MEANINGS)
FIXED, REST = _NAMES[: _NAMES.index("method") + 1], _NAMES[_NAMES.index("method") + 1 :]
_COUNTED = ("n_visits", "n_discarded")
_LISTED = ("seeds", "notes", "limit_evidence")
_UNTOLD = ("limit_next", "n_repeats", "grade_reason")
"""Columns in which nothing is no value."""


@dataclass(frozen=True)
class Entry:
    """One row before it is spelled out. `estimate` is None for a cell that has none; `reason` then says why."""

    cell: Cell
    direction: str
    estimate: Estimate | None
    reason: str = ""
    factors: Mapping[str, Factor] = field(default_factory=dict)
    """Of its configuration, by the names of their columns."""


def factors_of(result: CampaignResult) -> dict[str, dict[str, Factor]]:
    """{target: {column: factor}} of the factors that tell configurations apart."""
    told = {
        name
        for name in factor_names(result.configurations)
        if len({one.factors.get(name) for one in result.configurations}) > 1
    }
    return {
        one.name: {f"{FACTOR}{name}": factor for name, factor in one.factors.items() if name in told}
        for one in result.configurations
    }


def entries(result: CampaignResult) -> list[Entry]:
    """Every cell of the sweep in the order of its axes, each direction on its own; a cell has a row even when it
    has no estimate.
    """
    factors = factors_of(result)
    found = [Entry(e.cell, e.direction, as_shown(e), "", factors.get(e.cell.target, {})) for e in result.estimates]
    known = {(entry.cell.key, entry.direction) for entry in found}
    for missing in result.unmeasured:
        found += [
            Entry(missing.cell, d, None, missing.reason.text, factors.get(missing.cell.target, {}))
            for d in missing.cell.directions
            if (missing.cell.key, d) not in known
        ]
    targets = {target.name: place for place, target in enumerate(result.targets)}
    places = {name: {value: place for place, value in enumerate(values)} for name, values in result.axes.items()}

    def position(entry: Entry) -> tuple[tuple[int, ...], str, str]:
        option = entry.cell.option
        along = tuple(place.get(option[name], len(place)) if name in option else -1 for name, place in places.items())
        return (
            (targets.get(entry.cell.target, len(targets)), *along),
            entry.cell.key if not places else "",
            entry.direction,
        )

    return sorted(found, key=position)


def swept_options(result: CampaignResult) -> tuple[str, ...]:
    """Options with a column of their own: the campaign's axes, and any other option that differs between cells, in
    fio's names.

    `bs` is among them only where one number cannot hold it (`4k,8k`: reads, writes).
    """
    cells = [*(e.cell for e in result.estimates), *(u.cell for u in result.unmeasured)]
    declared = (name for name in result.axes if name not in ("sharing", "state"))
    varied = dict.fromkeys(name for name in (*declared, *varied_options(cells)) if name not in _IN_FIXED)
    composite = any(isinstance(cell.option.get("bs"), str) for cell in cells)
    return (*(("bs",) if composite else ()), *varied)


def varied_options(cells: Sequence[Cell]) -> list[str]:
    """Names of options that differ between cells, in the order first seen."""
    first = cells[0].option if cells else {}
    varied: dict[str, None] = {}
    for cell in cells:
        if cell.option.keys() != first.keys():
            varied |= dict.fromkeys(name for name in first if name not in cell.option)
        for name, value in cell.options:
            if name not in varied and (name not in first or first[name] != value):
                varied[name] = None
    return list(varied)


def columns(result: CampaignResult) -> tuple[str, ...]:
    return (*FIXED, *(name for name in swept_options(result) if name not in FIXED), *REST, *_of_configurations(result))


def _of_configurations(result: CampaignResult) -> tuple[str, ...]:
    """The last columns, where a campaign has configurations: their name, and each of their factors."""
    named = (f"{FACTOR}{name}" for name in factor_names(result.configurations))
    return ("configuration", *named) if result.configurations else ()


def _configured(result: CampaignResult, target: str) -> Row:
    """What the last columns say of a target."""
    one = result.configuration(target)
    factors = one.factors if one is not None else {}
    names = factor_names(result.configurations)
    found: Row = {"configuration": one.name if one is not None else None} if result.configurations else {}
    return found | {f"{FACTOR}{name}": factors[name].value if name in factors else None for name in names}


def rows(result: CampaignResult) -> Iterator[Row]:
    """One mapping for each entry, with exactly the keys of `columns`; None where there is nothing to say."""
    options = tuple(name for name in swept_options(result) if name not in FIXED)
    clean = redactor(result.targets)
    for entry in entries(result):
        found = row(entry, options)
        found["verdict"] = clean(str(found["verdict"]))
        found |= {name: tuple(clean(str(text)) for text in _items(found[name])) for name in ("notes", "limit_evidence")}
        yield {**found, **_configured(result, entry.cell.target)}


def row(entry: Entry, options: tuple[str, ...]) -> Row:
    cell, estimate = entry.cell, entry.estimate
    imported = estimate is not None and estimate.kind == "imported"
    found: Row = {name: at_path(estimate, one.path) for name, one in MEANINGS.items() if one.path}
    found |= {name: found[name] or 0 for name in _COUNTED} | {name: found[name] or () for name in _LISTED}
    found |= {name: found[name] or None for name in _UNTOLD}
    found |= _told(cell) if imported else _run(cell, entry.direction)
    written = estimate.written_before_bytes if estimate else None
    found |= {
        "target": cell.target,
        "direction": entry.direction,
        "lat_kind": estimate.lat_kind if estimate and estimate.lat_kind != "unknown" else None,
        "verdict": estimate.verdict_text if estimate else entry.reason,
        "loop": None if imported else cell.loop,
        "sharing": cell.sharing,
        "state": cell.state,
        "footprint_bytes": None if imported else cell.footprint_bytes or None,
        "written_before_bytes": None if written is None else round(written),
        "cell": cell.key,
        **_shares(estimate),
        **{name: cell.option.get(name) for name in options},
    }
    return {name: found[name] for name in (*FIXED, *options, *REST)}


def at_path(record: Any, path: Iterable[str]) -> Any:
    """What stands at the end of a path of attributes; None where a part of it is not there."""
    for name in path:
        record = getattr(record, name, None)
    return record


def _shares(estimate: Estimate | None) -> Row:
    """What each of several clients got, and each of several targets that are loaded together."""
    clients, targets = (estimate.shares, estimate.targets) if estimate else (None, None)
    found: Row = {name: at_path(clients or targets, (name,)) for name in ("skew_ms", "finish_spread_ms")}
    found["n_clients"] = len(clients.rates) or None if clients else None
    for what, shares in (("client", clients), ("target", targets)):
        rates, parts = (shares.rates, shares.parts) if shares else ([], ())
        found[f"{what}_bw_bytes_per_s"] = tuple(f"{one.name}={one.bw_bytes_per_s:.0f}" for one in parts)
        found[f"{what}_low_bytes_per_s"] = min(rates, default=None)
        found[f"{what}_high_bytes_per_s"] = max(rates, default=None)
    return found


def _run(cell: Cell, direction: str) -> dict[str, Value]:
    """The load of a cell that we run: fio's defaults where an option is not set."""
    return {
        "rw": cell.rw,
        "bs_bytes": block_bytes(cell, direction),
        "size_bytes": cell.size_bytes or None,
        "numjobs": cell.numjobs,
        "iodepth": cell.iodepth,
    }


def _told(cell: Cell) -> dict[str, Value]:
    """The load of an imported cell: what its source says, and nothing else."""
    names = {"rw": "rw", "bs_bytes": "bs", "size_bytes": "size", "numjobs": "numjobs", "iodepth": "iodepth"}
    return {column: cell.option.get(name) for column, name in names.items()}


def block_bytes(cell: Cell, direction: str) -> int | None:
    """Block size of one direction. fio's `bs=READ,WRITE,TRIM`: a value without a comma after it holds for the rest
    too; empty is fio's default.

    None where the cell mixes sizes (`bssplit`).
    """
    if "bssplit" in cell.option:
        return None
    parts = str(cell.option.get("bs", "")).split(",")
    place = {"read": 0, "write": 1, "trim": 2}[direction]
    text = parts[min(place, len(parts) - 1)].strip()
    return int(text) if text else 4096


def write_csv(result: CampaignResult, out: TextIO) -> None:
    names, found = joint_table([result])
    out.write(csv_text(names[1:], found))


def _items(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()


# -- all rows of all campaigns --------------------------------------------------------------------------------


def joint_table(results: Sequence[CampaignResult]) -> tuple[tuple[str, ...], list[dict[str, Value]]]:
    """(columns, rows); a column that one campaign lacks is None there. The first column names the campaign."""
    names = list(dict.fromkeys(name for result in results for name in columns(result)))
    found: list[dict[str, Value]] = []
    for result in results:
        clean = redactor(result.targets)
        told = {"campaign": clean(result.name)}
        found += [{**told, **{name: plain(row.get(name)) for name in names}} for row in rows(result)]
    return ("campaign", *names), found


def plain(value: object) -> Value:
    """Lists as one text."""
    if isinstance(value, (tuple, list)):
        return "; ".join(map(str, value))
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def meaning(name: str, found: Sequence[Mapping[str, Value]]) -> Meaning:
    """What a column means. Of an option that is not in the dictionary the type is that of its values."""
    if name == "campaign":
        return Meaning("name of the campaign")
    if name in MEANINGS:
        return MEANINGS[name]
    values = [row[name] for row in found if row[name] is not None]
    kinds = {type(value) for value in values}
    kind = "integer" if kinds == {int} else "number" if kinds and kinds <= {int, float} else "string"
    return Meaning(f"fio's `{name}`", "", kind)  # type: ignore[arg-type]


def csv_text(names: Sequence[str], found: Sequence[Mapping[str, Value]]) -> str:
    return texts.csv_text(names, ([row[name] for name in names] for row in found))
