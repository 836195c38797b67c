# SPDX-License-Identifier: Apache-2.0
"""sibench: its JSON report and its lines of text. Rates are of whole objects; the text's K, M, G are powers of 1024.

Its text says bits a second (b/s) or, when asked to, bytes (B/s). Response times are milliseconds in the text and
microseconds in the JSON, as its source has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ioatlas.interop.read.json_results import Found, figure_of, objects, part, word_of
from ioatlas.interop.read.kit import CUT, Said, compiled, reading, said
from ioatlas.interop.read.numbers import size_bytes, times
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^(?:Total|Target\[|Server\[).{0,80}? bandwidth: +[\d.]+ ?[KMGTPE]?[bB]/s, +(?:ok|successes): "
    r"|^\s*\"Arguments\"\s*:\s*\{[\s\S]{0,2000}?\"ObjectSize\"|\"Analyses\"\s*:|\"ResTimeAvg\"\s*:",
    re.MULTILINE,
)
_LINES = compiled(
    r"^(?P<label>(?:Total|Target\[|Server\[).*?) +bandwidth: +(?P<bandwidth>[\d.]+) ?(?P<scale>[KMGTPE]?)"
    r"(?P<unit>[bB])/s, +(?:ok|successes): +(?P<ok>\d+), +fail(?:ures)?: +(?P<failed>\d+), +res-min: +(?P<low>\d+) ms, "
    r"+res-max: +(?P<high>\d+) ms, +res-95: +(?P<p95>\d+) ms(?:, +res-avg: +(?P<mean>\d+) ms)?"
)
PART = "one part of the total"
_PHASES = {"write": "write", "read": "read"}


def read(source: Source) -> Iterator[ImportedReading]:
    """Totals come first: they are the answer, though the file tells them last."""
    parts = []
    for one in _readings(source):
        if PART in one.notes:
            parts.append(one)
        else:
            yield one
    yield from parts


def _readings(source: Source) -> Iterator[ImportedReading]:
    for number, line in source.lines():
        if re.search(r'"(?:Arguments|Analyses|ResTimeAvg)"\s*:', line):
            yield from _json(source)
            return
        run = Said()
        run.take(number, said(source, number, line, _LINES))
        if run:
            yield _line(source, number, run)
        elif source.unended(number) and " bandwidth: " in line:
            source.problem(number, CUT)


def _line(source: Source, number: int, run: Said) -> ImportedReading:
    scale = 1024 ** " KMGTPE".index(run["scale"] or " ") / (8 if run["unit"] == "b" else 1)
    details = {
        "operations": run.whole("ok"),
        "lat_min_ns": run.num("low", 1e6),
        "lat_max_ns": run.num("high", 1e6),
        "lat_p95_ns": run.num("p95", 1e6),
    }
    bandwidth, mean = run.num("bandwidth", scale), run.num("mean", 1e6)
    return _reading(source, number, run["label"], bandwidth, run.whole("failed"), mean, details, {})


def _json(source: Source) -> Iterator[ImportedReading]:
    for found in objects(source):
        analyses = found.value.get("Analyses")
        if not isinstance(analyses, list):
            if "Arguments" in found.value or "Stats" in found.value:
                source.problem(found.line, "a sibench report without its Analyses: not finished or cut off")
            continue
        arguments = part(found.value, "Arguments")
        line = found.line_of(r'"Analyses"\s*:')
        for analysis in analyses[:10_000]:
            name = word_of(analysis, "Name")
            if name is None:
                continue
            line = _line_of(found, name, line)
            yield from _analysis(source, line, name, analysis, arguments)


def _line_of(found: Found, name: str, before: int) -> int:
    return found.line_of(rf'"Name"\s*:\s*"{re.escape(name)}"', before)


def _analysis(
    source: Source, line: int, name: str, analysis: dict[str, Any], arguments: dict[str, Any]
) -> Iterator[ImportedReading]:
    bandwidth = figure_of(analysis, "BandwidthBytes")
    if bandwidth is None:  # versions before it have bits alone
        bandwidth = times(figure_of(analysis, "Bandwidth"), 1 / 8)
    if bandwidth is None:
        source.problem(line, f"{name[:60]}: no figure under Bandwidth")
        return
    successes, failures = figure_of(analysis, "Successes"), figure_of(analysis, "Failures")
    mean = times(figure_of(analysis, "ResTimeAvg"), 1e3)
    details = {
        "operations": successes,
        "lat_min_ns": times(figure_of(analysis, "ResTimeMin"), 1e3),
        "lat_max_ns": times(figure_of(analysis, "ResTimeMax"), 1e3),
        "lat_p95_ns": times(figure_of(analysis, "ResTime95"), 1e3),
    }
    failed = int(failures) if failures is not None else None
    yield _reading(source, line, name, bandwidth, failed, mean, details, arguments)


def _reading(
    source: Source,
    line: int,
    name: str,
    bandwidth: float | None,
    failures: int | None,
    mean: float | None,
    details: dict[str, Any],
    arguments: dict[str, Any],
) -> ImportedReading:
    phase = name.rsplit(" ", 1)[-1].lower()
    seconds = figure_of(arguments, "RunTime")
    operations = details.get("operations")
    size = word_of(arguments, "ObjectSize")
    workers = figure_of(arguments, "Workers")
    notes = ["rates are of whole objects"]
    if not name.startswith("Total"):
        notes.append(PART)
    if workers is not None:
        details["workers_per_core"] = workers
    if operations == 0:
        mean = None
    return reading(
        source,
        line,
        "sibench",
        label=name,
        direction=_PHASES.get(phase),
        operation=phase,
        size_bytes=size_bytes(size),
        iops=times(operations, 1 / seconds) if operations is not None and seconds else None,
        bw_bytes_per_s=bandwidth,
        mean=mean,
        errors=failures,
        runtime_seconds=seconds,
        notes=notes,
        details=details,
    )
