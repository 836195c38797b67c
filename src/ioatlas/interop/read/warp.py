# SPDX-License-Identifier: Apache-2.0
"""warp: the text it ends with, in the layouts of its versions, and `warp analyze --json`. MiB/s are 1024^2 bytes;
so are the MB/s of early 2020: its objects a second times their mean size give that.

An object is a file here: `size_bytes`. A throughput split into seconds and by host stays out; the average is the
result. Latency is of a request and in whole milliseconds in the text of older versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ioatlas.interop.read.kit import CUT, Found, Said, compiled, figure_of, objects, part, reading, said, word_of
from ioatlas.interop.read.numbers import MIB, nanoseconds, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^(?:Operation|Report): [A-Z]+\b.*\n(?:.*\n){0,40}? ?\*? *(?:\* Average:|\* Throughput:|\* [\d.]+ Mi?B/s,"
    r"|\* [\d.]+ obj/s)"
    r"|^\s*\"(?:by_op_type|mixed_server_stats|measure_duration_millis)\"\s*:"
    r"|^warp: Benchmark data written to |^idx\tthread\top\t|\"measure_duration_millis\":",
    re.MULTILINE,
)
_JSON = re.compile(r'"(?:by_op_type|operations|measure_duration_millis|commandline)"\s*:')
_LINES = compiled(
    r"^Report: Total(?P<over>)",
    r"^(?:Operation|Report): (?P<operation>[A-Z][A-Za-z_]*)(?P<words>.*)$",
    r"^(?:Cluster Total:|Throughput by |Requests by host)(?P<over>)",
    r"^Skipping (?P<skipped>\S+) too few samples",
    r"^ ?\* (?:(?:Average|Throughput): )?(?:(?P<bandwidth>[\d.]+) Mi?B/s, )?(?P<rate>[\d.]+) (?P<unit>obj|ops)/s\b"
    r"(?:, (?P<errors>\d+) errors)?(?:.*?\((?P<measured>(?:\d+h)?(?:\d+m)?[\d.]+s)[,)])?",
    r"^ \* (?:Reqs: )?Avg: (?P<mean>\S+), 50%: (?P<p50>\S+), 90%: (?P<p90>\S+), 99%: (?P<p99>\S+), "
    r"Fastest: (?P<min>\S+), Slowest: (?P<max>\S+?)(?:,|$)",
    r"^ \* (?:TTFB|First Byte): (?:Avg|Average): (?P<ttfb>\S+), ",
    r"^(?: \* )?(?:Total )?Errors: ?(?P<errors>\d+)",
    r"^ \* Objects per request:(?P<more>.*)",
)


def read(source: Source) -> Iterator[ImportedReading]:
    now = Said()
    for number, line in source.lines():
        if _JSON.search(line):
            yield from _read_json(source)
            return
        if line.startswith("idx\tthread\top\t"):
            source.problem(
                number, "warp's list of single requests, not a result; import what `warp analyze FILE` prints"
            )
            return
        found = said(source, number, line, _LINES)
        if "operation" in found or "over" in found:
            yield from _reading(source, now)
            now = Said()
        if "skipped" in found:
            source.problem(number, f"warp left out {found['skipped']}: too few samples", lost=False)
        elif "operation" in found or now:
            if source.unended(number) and line.strip() and "operation" not in found:
                source.problem(number, CUT)
            else:
                now.take(number, {name: text for name, text in found.items() if name == "errors" or name not in now})
    yield from _reading(source, now)


def _reading(source: Source, now: Said) -> Iterator[ImportedReading]:
    if "operation" not in now:
        return
    if "rate" not in now:
        what = f"warp's {now['operation']} has no average: too few samples, or the file was cut off"
        source.problem(now.at["operation"], what)
        return
    words = f"{now['words']} {now.get('more', '')}"
    size, concurrency = (re.search(pattern, words) for pattern in (r"Size: (\d+) bytes", r"Concurrency: (\d+)"))
    seconds = re.search(r"(?:Duration:|Ran:?|in) (\S+?)[,.]?(?: |$)", words)
    text = now.get("measured") or (seconds[1] if seconds else "")
    runtime = nanoseconds(text)
    latency = {name: nanoseconds(now.get(name, "")) for name in ("mean", "p50", "p90", "p99", "min", "max", "ttfb")}
    yield reading(
        source,
        now.at["rate"],
        "warp",
        direction=_direction_of(now["operation"]) if "bandwidth" in now else None,
        operation=now["operation"].lower(),
        size_bytes=whole(size[1]) if size else None,
        numjobs=whole(concurrency[1]) if concurrency else None,
        iops=now.num("rate"),
        bw_bytes_per_s=now.num("bandwidth", MIB),
        mean=latency["mean"],
        p99=latency["p99"],
        errors=now.whole("errors"),
        runtime_seconds=None if runtime is None else runtime / 1e9,
        notes=(f"iops are {'objects' if now['unit'] == 'obj' else 'operations'} per second",),
        details={f"lat_{name}_ns": latency[name] for name in ("p50", "p90", "min", "max")}
        | {"ttfb_mean_ns": latency["ttfb"]},
    )


_DIRECTIONS = {
    "GET": "read",
    "PUT": "write",
    "POST": "write",
    "APPEND": "write",
    "PUTPART": "write",
    "MULTIPART": "write",
}
_REQUEST = ("dur_avg_millis", "dur_median_millis", "dur_90_millis", "dur_99_millis")


def _direction_of(operation: str) -> str | None:
    return _DIRECTIONS.get(operation.upper())


def _read_json(source: Source) -> Iterator[ImportedReading]:
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
    yield from _json_reading(
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
    yield from _json_reading(
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


def _json_reading(
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
        direction=_direction_of(name) if moved else None,
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
