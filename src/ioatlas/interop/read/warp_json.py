# SPDX-License-Identifier: Apache-2.0
"""warp's JSON: of `warp analyze --json` up to version 1.0, and the aggregate that newer versions write and print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ioatlas.interop.read.kit import Found, figure_of, objects, part, reading, word_of
from ioatlas.interop.read.numbers import times
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

_DIRECTIONS = {
    "GET": "read",
    "PUT": "write",
    "POST": "write",
    "APPEND": "write",
    "PUTPART": "write",
    "MULTIPART": "write",
}
_REQUEST = ("dur_avg_millis", "dur_median_millis", "dur_90_millis", "dur_99_millis")


def direction_of(operation: str) -> str | None:
    return _DIRECTIONS.get(operation.upper())


def read_json(source: Source) -> Iterator[ImportedReading]:
    for found in objects(source):
        by_type = part(found.value, "by_op_type")
        for name, item in by_type.items():
            line = found.line_of(rf'"{name}"\s*:\s*{{') if name.isidentifier() else found.line
            yield from _aggregate(source, found, name, item, line)
        operations = found.value.get("operations")
        line = found.line
        for item in operations[:1000] if isinstance(operations, list) else []:
            name = word_of(item, "type") or "operation"
            line = found.line_of(rf'"type"\s*:\s*"{name}"', line) if name.isidentifier() else found.line
            yield from _operation(source, name, item, line)
        if not by_type and not isinstance(operations, list):
            source.problem(found.line, "a JSON object without warp's operations")


def _aggregate(source: Source, found: Found, name: str, item: Any, line: int) -> Iterator[ImportedReading]:
    """One of `by_op_type`: requests are told by client and stretch of time, as sums of `merged_entries` means."""
    requests = part(item, "requests_by_client")
    parts = [
        part(stretch, "single_sized_requests")
        for stretches in requests.values()
        for stretch in (stretches if isinstance(stretches, list) else [])
    ]
    merged = sum(figure_of(one, "merged_entries") or 0 for one in parts)
    latency = {key: times(sum(figure_of(one, key) or 0 for one in parts), 1e6 / merged) for key in _REQUEST if merged}
    total, count = figure_of(item, "total_bytes"), figure_of(item, "total_objects")
    notes = ["of `p99` and mean: the mean over one-second stretches"] if merged else []
    yield from _reading(
        source,
        name,
        line,
        part(item, "throughput"),
        version=word_of(found.value, "warp_version"),
        size=total / count if total and count else None,
        concurrency=figure_of(item, "concurrency"),
        errors=figure_of(item, "total_errors"),
        latency=latency,
        notes=notes,
    )


def _operation(source: Source, name: str, item: Any, line: int) -> Iterator[ImportedReading]:
    single = part(item, "single_sized_requests")
    if isinstance(item, dict) and item.get("skipped") is True:
        source.problem(line, f"warp left out {name}: too few samples", lost=False)
        return
    multi = part(item, "multi_sized_requests")
    yield from _reading(
        source,
        name,
        line,
        part(item, "throughput"),
        version=None,
        size=figure_of(single, "obj_size"),
        concurrency=figure_of(item, "concurrency"),
        errors=figure_of(item, "errors"),
        latency={} if single.get("skipped") is True else {key: times(figure_of(single, key), 1e6) for key in _REQUEST},
        notes=["objects of several sizes"] if multi else [],
    )


def _reading(
    source: Source,
    name: str,
    line: int,
    throughput: dict[str, Any],
    *,
    version: str | None,
    size: float | None,
    concurrency: float | None,
    errors: float | None,
    latency: dict[str, float | None],
    notes: list[str],
) -> Iterator[ImportedReading]:
    millis, moved = figure_of(throughput, "measure_duration_millis"), figure_of(throughput, "bytes")
    done = figure_of(throughput, "objects")
    unit = "objects"
    if not done:
        done, unit = figure_of(throughput, "ops"), "operations"
    if not millis or done is None:
        source.problem(line, f"warp's {name}: no figures under throughput")
        return
    yield reading(
        source,
        line,
        "warp",
        tool_version=version,
        direction=direction_of(name) if moved else None,
        operation=name.lower(),
        size_bytes=int(size) if size else None,
        numjobs=int(concurrency) if concurrency else None,
        iops=times(done, 1000 / millis),
        bw_bytes_per_s=times(moved, 1000 / millis) if moved else None,
        mean=latency.get("dur_avg_millis"),
        p99=latency.get("dur_99_millis"),
        errors=int(errors) if errors is not None else None,
        runtime_seconds=millis / 1000,
        io_bytes=int(moved) if moved else None,
        notes=(f"iops are {unit} per second", *notes),
        details={"lat_p50_ns": latency.get("dur_median_millis"), "lat_p90_ns": latency.get("dur_90_millis")},
    )
