# SPDX-License-Identifier: Apache-2.0
"""Documents (JSON) that `ioatlas export` wrote, as which campaigns and bundles are read too. Each measured cell is a
reading: the mean of its visits. Predictions are left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.units import format_rate
from ioatlas_translate.read.kit import num, objects, reading, whole, word_of
from ioatlas_translate.read.source import Source

FORMAT = "ioatlas-export/1"
_OWN = frozenset({"rw", "bs", "size", "numjobs", "iodepth", "rwmixread", "rate_iops"})
"""Options that a reading has a place for."""
_DIRECTIONS = frozenset({"read", "write", "trim", "mixed"})
_VERSION = "tool_version"


@dataclass(frozen=True)
class _Export:
    """line: of a row. constants: options of all rows."""

    rows: Sequence[tuple[int, Mapping[str, Any]]]
    options: Sequence[str]
    constants: Mapping[str, Any]
    version: str | None = None


def read(source: Source) -> Iterator[ImportedReading]:
    for found in objects(source):
        record = found.value
        if record.get("format") != FORMAT or not isinstance(record.get("rows"), list):
            continue
        constants, swept, version = record.get("constants"), record.get("swept_options"), record.get(_VERSION)
        export = _Export(
            [(found.line, row) for row in record["rows"] if isinstance(row, dict)],
            [str(name) for name in swept] if isinstance(swept, list) else [],
            constants if isinstance(constants, dict) else {},
            version[:80] if isinstance(version, str) and version else None,
        )
        yield from _readings(source, export)


def _readings(source: Source, export: _Export) -> Iterator[ImportedReading]:
    measured = [(line, row) for line, row in export.rows if row.get("kind") in ("measured", "imported")]
    predicted = sum(row.get("kind") == "predicted" for _, row in export.rows)
    if predicted:
        source.problem(0, f"{predicted} predicted values were left out: they were not measured", lost=False)
    apart = _told_apart([row for _, row in measured], export.options)
    for line, row in measured:
        if row.get("direction") in _DIRECTIONS:
            yield _reading(source, line, row, export, apart)
        else:
            source.problem(line, f"{str(row.get('direction'))[:40]!r} is no direction")


def _told_apart(rows: Iterable[Mapping[str, Any]], options: Sequence[str]) -> list[str]:
    """Columns without a place in a reading, where loads could not be told apart without them."""
    own = ("target", "rw", "bs_bytes", "size_bytes", "numjobs", "iodepth", "direction", *_OWN)
    kept = list(rows)
    loads = Counter(tuple(str(row.get(name)) for name in own) for row in kept)
    if not any(count > 1 for count in loads.values()):
        return []
    further = (*(name for name in options if name not in _OWN), "sharing", "state")
    return [name for name in further if len({str(row.get(name)) for row in kept}) > 1]


def _reading(
    source: Source, line: int, row: Mapping[str, Any], export: _Export, apart: Sequence[str]
) -> ImportedReading:
    told = {**export.constants, **{name: row[name] for name in export.options if row.get(name) is not None}}
    visits = _whole(row.get("n_visits"))
    label = ", ".join([str(row.get("target") or ""), *(f"{name} {row.get(name)}" for name in apart)])
    kind = row.get("lat_kind")
    sizes: dict[str, Any] = {name: _whole(row.get(name)) for name in ("bs_bytes", "size_bytes", "numjobs", "iodepth")}
    details: dict[str, Any] = {name: told[name] for name in ("ioengine", "direct") if name in told}
    return reading(
        source,
        line,
        "ioatlas",
        tool_version=export.version,
        label=label or None,
        direction=str(row["direction"]),
        rw=word_of(row, "rw"),
        operation=word_of(told, "operation"),
        **sizes,
        rwmixread=_figure(told.get("rwmixread")),
        iops=_figure(row.get("iops")),
        bw_bytes_per_s=_figure(row.get("bw_bytes_per_s")),
        mean=_figure(row.get("lat_mean_ns")),
        p99=_figure(row.get("lat_p99_ns")),
        latency=kind if kind in ("total", "completion") else None,
        statistic="mean" if visits and visits > 1 else "single" if visits else "unknown",
        n=visits or None,
        notes=tuple(_notes(row)),
        details={**details, "requested_rate": _figure(told.get("rate_iops"))},
    )


def _notes(row: Mapping[str, Any]) -> Iterator[str]:
    low, high = _figure(row.get("bw_low")), _figure(row.get("bw_high"))
    if low is not None and high is not None:
        yield f"its own 95% interval: {format_rate(low)} to {format_rate(high)}"
    if verdict := word_of(row, "verdict"):
        yield f"verdict: {verdict}"


def _text(value: Any) -> str | None:
    return None if value is None or isinstance(value, bool | list | dict) else json.dumps(value).strip('"')


def _figure(value: Any) -> float | None:
    return num(_text(value), comma=False)


def _whole(value: Any) -> int | None:
    return whole(_text(value))
