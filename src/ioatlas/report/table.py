# SPDX-License-Identifier: Apache-2.0
"""A campaign's result as a table: one row for each cell and direction, measured or not. The names are the same in
CSV and JSON.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from ioatlas.analysis.factor_findings import PRICE, PRICE_PER_TIB
from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.estimate import Estimate, Shares
from ioatlas.model.export_columns import FACTOR, FIXED, REST
from ioatlas.model.factors import Factor, factor_names
from ioatlas.model.result import CampaignResult
from ioatlas.model.words import words
from ioatlas.report.redact import redactor

Value = OptionValue | None
Row = dict[str, Value | tuple[int, ...] | tuple[str, ...]]

PRICES = frozenset({f"{FACTOR}{PRICE}", f"{FACTOR}{PRICE_PER_TIB}"})
"""Columns of factors that follow from others: an axis only where they are asked for."""
_IN_FIXED = frozenset({"target", "rw", "bs", "size", "numjobs", "iodepth", "direction"})
_ESTIMATE = words("""
    bw_bytes_per_s bw_low bw_high iops lat_mean_ns lat_p99_ns iops_low iops_high lat_mean_low_ns lat_mean_high_ns
    lat_p99_low_ns lat_p99_high_ns window_seconds cut_seconds bw_sd iops_sd lat_mean_sd_ns lat_p99_sd_ns
""")


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
    found = [Entry(e.cell, e.direction, e, "", factors.get(e.cell.target, {})) for e in result.estimates]
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
    if not result.configurations:
        return ()
    return ("configuration", *(f"{FACTOR}{name}" for name in factor_names(result.configurations)))


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
    fresh = {(e.cell.key, e.direction): e for e in result.fresh}
    clean = redactor(result.targets)
    for entry in entries(result):
        found = row(entry, options, fresh)
        yield {
            **found,
            "verdict": clean(str(found["verdict"])),
            "notes": tuple(clean(str(note)) for note in _notes(entry)),
            "limit_evidence": tuple(clean(text) for text in _evidence(entry)),
            **_configured(result, entry.cell.target),
        }


def _notes(entry: Entry) -> tuple[str, ...]:
    return entry.estimate.notes if entry.estimate else ()


def _evidence(entry: Entry) -> tuple[str, ...]:
    return entry.estimate.limit.evidence if entry.estimate and entry.estimate.limit else ()


def row(entry: Entry, options: tuple[str, ...], fresh: Mapping[tuple[str, str], Estimate]) -> Row:
    cell, estimate = entry.cell, entry.estimate
    again = fresh.get((cell.key, entry.direction))
    identity: dict[str, Value] = {
        "target": cell.target,
        **(_told(cell) if estimate and estimate.kind == "imported" else _run(cell, entry.direction)),
        "direction": entry.direction,
        "kind": estimate.kind if estimate else None,
        "n_visits": estimate.n_visits if estimate else 0,
    }
    values: dict[str, Value] = {name: getattr(estimate, name) if estimate else None for name in _ESTIMATE}
    words: dict[str, Value] = {
        "lat_kind": estimate.lat_kind if estimate and estimate.lat_kind != "unknown" else None,
        "verdict": estimate.verdict_text if estimate else entry.reason,
        "method": estimate.method if estimate else None,
        "n_discarded": estimate.n_discarded if estimate else 0,
        **_limit(estimate),
        "fresh_n_visits": again.n_visits if again else None,
        "fresh_bw_bytes_per_s": again.bw_bytes_per_s if again else None,
        "fresh_bw_low": again.bw_low if again else None,
        "fresh_bw_high": again.bw_high if again else None,
        "loop": None if estimate and estimate.kind == "imported" else cell.loop,
        "sharing": cell.sharing,
        "state": cell.state,
        "footprint_bytes": None if estimate and estimate.kind == "imported" else cell.footprint_bytes or None,
        "written_before_bytes": round(estimate.written_before_bytes)
        if estimate and estimate.written_before_bytes is not None
        else None,
        "cell": cell.key,
        "n_repeats": (estimate.n_repeats or None) if estimate else None,
        "grade": estimate.grade if estimate else None,
        "grade_reason": (estimate.grade_reason or None) if estimate else None,
    }
    found: Row = {
        "seeds": estimate.seeds if estimate else (),
        **_clients(estimate),
        **_targets(estimate),
        "notes": _notes(entry),
        "limit_evidence": _evidence(entry),
    }
    found |= {**identity, **values, **words, **{name: cell.option.get(name) for name in options}}
    return {name: found[name] for name in (*FIXED, *options, *REST)}


def _limit(estimate: Estimate | None) -> dict[str, Value]:
    """What limits a cell, its ceiling, and its power."""
    limit, bound = (estimate.limit, estimate.ceiling) if estimate else (None, None)
    return {
        "limit": limit.resource if limit else None,
        "limit_share": limit.share if limit else None,
        "limit_next": (limit.next_resource or None) if limit else None,
        "limit_next_share": limit.next_share if limit else None,
        "limit_probability": limit.probability if limit else None,
        "ceiling": bound.name if bound else None,
        "ceiling_bytes_per_s": bound.bw_bytes_per_s if bound else None,
        "watts": estimate.watts if estimate else None,
        "iops_per_watt": estimate.iops_per_watt if estimate else None,
        "bw_bytes_per_s_per_watt": estimate.bw_bytes_per_s_per_watt if estimate else None,
    }


def _clients(estimate: Estimate | None) -> Row:
    """What each of several clients got."""
    shares = estimate.shares if estimate else None
    several = estimate.shares or estimate.targets if estimate else None
    return {
        "n_clients": len(shares.rates) or None if shares else None,
        **_rates("client", shares),
        "jain_index": shares.jain_index if shares else None,
        "skew_ms": several.skew_ms if several else None,
        "finish_spread_ms": several.finish_spread_ms if several else None,
    }


def _targets(estimate: Estimate | None) -> Row:
    """What each of several targets got that are loaded together."""
    shares = estimate.targets if estimate else None
    return {
        "n_targets": shares.wanted if shares else None,
        **_rates("target", shares),
        "target_jain_index": shares.jain_index if shares else None,
        "target_first_done": shares.first_done if shares else None,
        "target_last_done": shares.last_done if shares else None,
    }


def _rates(what: str, shares: Shares | None) -> Row:
    rates = shares.rates if shares else []
    parts = shares.parts if shares else ()
    return {
        f"{what}_bw_bytes_per_s": tuple(f"{one.name}={one.bw_bytes_per_s:.0f}" for one in parts),
        f"{what}_low_bytes_per_s": min(rates, default=None),
        f"{what}_high_bytes_per_s": max(rates, default=None),
    }


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
    """Lists (seeds, notes, evidence) are joined by blanks and semicolons."""
    names = columns(result)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows(result):
        row["seeds"] = " ".join(str(seed) for seed in _items(row["seeds"]))
        for name in ("notes", "limit_evidence", "client_bw_bytes_per_s", "target_bw_bytes_per_s"):
            row[name] = "; ".join(str(sentence) for sentence in _items(row[name]))
        writer.writerow([row[name] for name in names])


def _items(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()
