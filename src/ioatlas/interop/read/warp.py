# SPDX-License-Identifier: Apache-2.0
"""warp: the text it ends with, in the layouts of its versions, and `warp analyze --json`. MiB/s are 1024^2 bytes;
so are the MB/s of early 2020: its objects a second times their mean size give that.

An object is a file here: `size_bytes`. A throughput split into seconds and by host stays out; the average is the
result. Latency is of a request and in whole milliseconds in the text of older versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioatlas.interop.read.kit import CUT, Said, compiled, reading, said
from ioatlas.interop.read.numbers import MIB, nanoseconds, whole
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
            yield from read_json(source)
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
        direction=direction_of(now["operation"]) if "bandwidth" in now else None,
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
