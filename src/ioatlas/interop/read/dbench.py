# SPDX-License-Identifier: Apache-2.0
"""dbench and tbench: the throughput of a run and the latency of each operation. MB are 10^6 bytes, by its source.

The table's counts say nothing of a rate: they hold the warm-up of some versions. They stay figures of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ioatlas.interop.read.kit import Said, compiled, reading, runs
from ioatlas.interop.read.numbers import whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^[dt]bench version \d|^Throughput [\d.e+]+ MB/sec .*\bprocs\b|^ {0,4}Operation +Count +AvgLat +MaxLat",
    re.MULTILINE,
)
_LINES = compiled(
    r"^(?P<tool>[dt]bench) version (?P<version>\d[\w.]*)",
    r"^Running for (?P<seconds>\d+) seconds with load '(?P<load>[^']*)' and minimum warmup (?P<warmup>\d+) secs",
    r"^Throughput (?P<rate>[\d.]+(?:e[+-]?\d+)?) MB/sec\s*(?:\(NB=[^)]*\))?(?P<how>.*?)\s(?P<procs>\d+) procs"
    r"(?:\s+max_latency=(?P<most>[\d.]+) ms)?\s*$",
    r"^(?P<progress> {0,4}\d+ +\d+) +[\d.]+ MB/sec +(?:warmup|execute|cleanup) ",
    r"^ {1,4}(?P<operation>[A-Za-z]\w*) +(?P<count>\d+) +(?P<mean>[\d.]+) +(?P<highest>[\d.]+)\s*$",
    r"^(?P<error>\[?\(?\d{1,12}\)? *[A-Za-z].{0,400} (?:failed|ERROR)\b|ERROR\b|.{0,80}\bstatus .{0,40}for line \d+)",
)


def read(source: Source) -> Iterator[ImportedReading]:
    for run in runs(source, _LINES, result="rate", begins="tool", row="operation", keeps=("tool", "version")):
        tool = run.get("tool", "dbench")
        if "rate" in run:
            yield from _readings(source, run, tool)
        elif found := [run.at[name] for name in ("progress", "load") if name in run] + [
            r.at["count"] for r in run.rows
        ]:
            what = f"a {tool} run without its final `Throughput` line: not finished or cut off; nothing of it was used"
            source.problem(found[0], what)


def _readings(source: Source, run: Said, tool: str) -> Iterator[ImportedReading]:
    clients = re.search(r"(\d+) clients", run["how"])
    numjobs = whole(clients[1]) if clients else run.whole("procs")
    errors = len(run.every.get("error", ())) or None
    notes = ["MB are 10^6 bytes; reads and writes together"]
    notes += [word.strip("()") for word in re.findall(r"\(sync \w+\)", run["how"])]
    if errors:
        notes.append("errors are the lines that report a failed operation")
    common: dict[str, Any] = {
        "tool_version": run.get("version"),
        "label": run.get("load", "")[-200:] or None,
        "numjobs": numjobs,
    }
    yield reading(
        source,
        run.at["rate"],
        tool,
        **common,
        direction="mixed",
        bw_bytes_per_s=run.num("rate", 1e6),
        errors=errors,
        runtime_seconds=run.num("seconds"),
        notes=notes,
        details={
            "processes": run.whole("procs"),
            "lat_max_ns": run.num("most", 1e6),
            "warmup_seconds": run.num("warmup"),
        },
    )
    for row in run.rows:
        yield reading(
            source,
            row.at["operation"],
            tool,
            **common,
            operation=row["operation"].lower(),
            mean=row.num("mean", 1e6),
            notes=("the operation's latency; the table has no rate",),
            details={"count": row.whole("count"), "lat_max_ns": row.num("highest", 1e6)},
        )
