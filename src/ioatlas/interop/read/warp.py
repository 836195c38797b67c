# SPDX-License-Identifier: Apache-2.0
"""warp: the text it ends with, in the layouts of its versions, and `warp analyze --json`. MiB/s are 1024^2 bytes;
so are the MB/s of early 2020: its objects a second times their mean size give that.

An object is a file here: `size_bytes`. A throughput split into seconds and by host stays out; the average is the
result. Latency is of a request and in whole milliseconds in the text of older versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ioatlas.interop.read.numbers import MIB, num, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.interop.read.warp_json import direction_of, read_json
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^(?:Operation|Report): [A-Z]+\b.*\n(?:.*\n){0,40}? ?\*? *(?:\* Average:|\* Throughput:|\* [\d.]+ Mi?B/s,"
    r"|\* [\d.]+ obj/s)"
    r"|^\s*\"(?:by_op_type|mixed_server_stats|measure_duration_millis)\"\s*:"
    r"|^warp: Benchmark data written to |^idx\tthread\top\t|\"measure_duration_millis\":",
    re.MULTILINE,
)
_OPERATION = re.compile(r"^(?:Operation|Report): ([A-Z][A-Za-z_]*)(.*)$")
_AVERAGE = re.compile(r"^ ?\* (?:(?:Average|Throughput): )?(?:([\d.]+) Mi?B/s, )?([\d.]+) (obj|ops)/s\b(.*)$")
_REQUESTS = re.compile(
    r"^ \* (?:Reqs: )?Avg: (\S+), 50%: (\S+), 90%: (\S+), 99%: (\S+), Fastest: (\S+), Slowest: (\S+?)(?:,|$)"
)
_TTFB = re.compile(r"^ \* (?:TTFB|First Byte): (?:Avg|Average): (\S+), ")
_ERRORS = re.compile(r"^(?: \* )?(?:Total )?Errors: ?(\d+)")
_SKIPPED = re.compile(r"^Skipping (\S+) too few samples")
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)(ms|µs|us|ns|s))?$")
_UNITS = {"s": 1e9, "ms": 1e6, "µs": 1e3, "us": 1e3, "ns": 1.0}


@dataclass
class _Operation:
    line: int
    name: str
    words: str
    bandwidth: float | None = None
    rate: float | None = None
    unit: str = ""
    errors: int | None = None
    latency: dict[str, float] = field(default_factory=dict)
    average_line: int = 0


def read(source: Source) -> Iterator[ImportedReading]:
    now: _Operation | None = None
    for number, line in source.lines():
        if re.search(r'"(?:by_op_type|operations|measure_duration_millis|commandline)"\s*:', line):
            yield from read_json(source)
            return
        if line.startswith("idx\tthread\top\t"):
            source.problem(
                number, "warp's list of single requests, not a result; import what `warp analyze FILE` prints"
            )
            return
        if match := _OPERATION.match(line):
            yield from _reading(source, now)
            now = _Operation(number, match[1], match[2])
        elif line.startswith(("Cluster Total:", "Throughput by ", "Requests by host", "Report: Total")):
            yield from _reading(source, now)
            now = None
        elif (match := _SKIPPED.match(line)) is not None:
            source.problem(number, f"warp left out {match[1]}: too few samples", lost=False)
        elif now is not None:
            if source.unended(number) and line.strip():
                source.problem(number, "the file ends inside this line, which was not used")
            else:
                _take(now, number, line)
    yield from _reading(source, now)


def _take(now: _Operation, number: int, line: str) -> None:
    if now.rate is None and (match := _AVERAGE.match(line)):
        now.bandwidth = times(num(match[1]), MIB) if match[1] else None
        now.rate, now.unit, now.average_line = num(match[2]), match[3], number
        if found := re.match(r", (\d+) errors", match[4]):
            now.errors = whole(found[1])
        if found := re.search(r"\(((?:\d+h)?(?:\d+m)?[\d.]+s)[,)]", match[4]):
            now.words += f" Measured {found[1]},"
    elif "mean" not in now.latency and (match := _REQUESTS.match(line)):
        names = ("mean", "p50", "p90", "p99", "min", "max")
        for name, text in zip(names, match.groups(), strict=True):
            if (value := nanoseconds(text)) is not None:
                now.latency[name] = value
    elif "ttfb" not in now.latency and (match := _TTFB.match(line)):
        if (value := nanoseconds(match[1])) is not None:
            now.latency["ttfb"] = value
    elif match := _ERRORS.match(line):
        now.errors = whole(match[1])
    elif line.startswith(" * Objects per request:"):
        now.words += line


def nanoseconds(text: str) -> float | None:
    """A duration as Go prints it: 1m2.5s, 417ms, 1.3µs."""
    match = _DURATION.match(text.strip())
    if match is None or not text.strip():
        return None
    rest = num(match[3]) if match[3] else 0.0
    if rest is None:
        return None
    return times((int(match[1] or 0) * 3600 + int(match[2] or 0) * 60) * 1e9 + rest * _UNITS[match[4] or "s"], 1)


def _reading(source: Source, now: _Operation | None) -> Iterator[ImportedReading]:
    if now is None or now.name == "Total":
        return
    if now.rate is None:
        source.problem(now.line, f"warp's {now.name} has no average: too few samples, or the file was cut off")
        return
    size = re.search(r"Size: (\d+) bytes", now.words)
    concurrency = re.search(r"Concurrency: (\d+)", now.words)
    seconds = re.search(r"Measured (\S+?),", now.words) or re.search(
        r"(?:Duration:|Ran:?|in) (\S+?)[,.]?(?: |$)", now.words
    )
    runtime = nanoseconds(seconds[1]) if seconds else None
    p99, mean = now.latency.get("p99"), now.latency.get("mean")
    details: dict[str, Any] = {f"lat_{name}_ns": now.latency.get(name) for name in ("p50", "p90", "min", "max")}
    details["ttfb_mean_ns"] = now.latency.get("ttfb")
    yield ImportedReading(
        source.name,
        now.average_line,
        "warp",
        direction=direction_of(now.name) if now.bandwidth is not None else None,
        operation=now.name.lower(),
        size_bytes=whole(size[1]) if size else None,
        numjobs=whole(concurrency[1]) if concurrency else None,
        iops=now.rate,
        bw_bytes_per_s=now.bandwidth,
        lat_mean_ns=mean,
        lat_p99_ns=p99,
        lat_kind="total" if mean is not None else None,
        lat_p99_kind="total" if p99 is not None else None,
        errors=now.errors,
        n=1,
        runtime_seconds=None if runtime is None else runtime / 1e9,
        notes=(f"iops are {'objects' if now.unit == 'obj' else 'operations'} per second",),
        details={name: value for name, value in details.items() if value is not None},
    )
