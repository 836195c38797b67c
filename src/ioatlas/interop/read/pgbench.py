# SPDX-License-Identifier: Apache-2.0
"""pgbench: the summary of a run, and of each script where there are several. Its rate is transactions a second.

The rate without connecting is taken; older versions print both. The latency of a transaction is in milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ioatlas.interop.read.numbers import num, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^transaction type: |^tps = [\d.]+ \(|^pgbench \(\S+ |^progress: [\d.]+ s, [\d.]+ tps, lat ", re.MULTILINE
)
_VERSION = re.compile(r"^pgbench \((?:PostgreSQL\) )?(\d[\w.]*)")
_PAIR = re.compile(
    r"^(transaction type|scaling factor|query mode|number of [a-z ]+|duration|maximum number of tries): (.*)$"
)
_TPS = re.compile(r"^tps = ([\d.]+) \((including|excluding|without|including re)[^)]*\)")
_LATENCY = re.compile(r"^(?: - )?latency (average|stddev)(?: =|:) ([\d.]+) ms\b")
_LAG = re.compile(r"^rate limit schedule lag: avg ([\d.]+) \(max ([\d.]+)\) ms")
_LIMIT = re.compile(r"^number of transactions above the ([\d.]+) ms latency limit: (\d+)")
_SCRIPT = re.compile(r"^SQL script (\d+): (.*)$")
_SHARE = re.compile(r"^ - (\d+) transactions \([\d.]+% of total, tps = ([\d.]+)\)")
_FAILED = re.compile(r"^ - number of failed transactions: (\d+) \(")
_ABORTED = re.compile(
    r"^(?:pgbench: (?:error: )?)?(?:client \d+ (?:script \d+ )?aborted|Run was aborted)", re.IGNORECASE
)
_OF_A_RUN = ("number of transactions actually processed", "number of failed transactions")
_COUNT = re.compile(r"^(\d+)(?:/(\d+))?(?:\s|$)")


@dataclass
class _Run:
    version: str | None = None
    words: dict[str, str] = field(default_factory=dict)
    figures: dict[str, float | None] = field(default_factory=dict)
    line: int = 0
    """Of the rate that is taken."""
    tps: float | None = None
    connecting: float | None = None
    again: bool = False
    """Whether the rate has each transaction's new connection in it (--connect)."""
    aborted: bool = False
    progress: int = 0
    kinds: set[str] = field(default_factory=set)
    """Of the rates that were printed: with connecting, and without."""
    scripts: list[dict[str, Any]] = field(default_factory=list)

    def count(self, name: str) -> tuple[int | None, int | None]:
        match = _COUNT.match(self.words.get(name, ""))
        return (whole(match[1]), whole(match[2]) if match[2] else None) if match else (None, None)

    def ended_before(self, line: str) -> bool:
        """Whether `line` is of another run below the same heading."""
        match = _TPS.match(line)
        return self.tps is not None and (
            match[2] in self.kinds if match else bool(_PAIR.match(line) or (line[:1] == "l" and _LATENCY.match(line)))
        )

    def next(self) -> _Run:
        """A run with what the heading said."""
        return _Run(self.version, {name: value for name, value in self.words.items() if name not in _OF_A_RUN})


def read(source: Source) -> Iterator[ImportedReading]:
    run = _Run()
    for number, line in source.lines():
        if match := _VERSION.match(line):
            yield from _readings(source, run)
            run = _Run(match[1].rstrip("."))
        elif line.startswith("transaction type: "):
            if "transaction type" in run.words:
                yield from _readings(source, run)
                run = _Run(run.version)
            run.words["transaction type"] = line.partition(": ")[2].strip()
        elif source.unended(number) and not line.rstrip().endswith(")"):
            if run.tps is None and run.words:
                source.problem(number, "the file ends inside this line, which was not used")
        else:
            if run.ended_before(line):
                yield from _readings(source, run)
                run = run.next()
            _take(run, number, line)
    yield from _readings(source, run)


def _take(run: _Run, number: int, line: str) -> None:
    if run.scripts and line.startswith(" - "):
        _script_line(run.scripts[-1], line)
    elif match := _SCRIPT.match(line):
        run.scripts.append({"line": number, "name": match[2].strip(), "number": int(match[1][:9])})
    elif match := _TPS.match(line):
        run.kinds.add(match[2])
        if match[2] == "including" and "reconnection" not in line:
            run.connecting = num(match[1])
        if run.tps is None or match[2] != "including":
            run.tps, run.line = num(match[1]), number
            run.again = "reconnection" in line
    elif match := _LIMIT.match(line):
        run.figures |= {"latency_limit_ns": times(num(match[1]), 1e6), "above_latency_limit": num(match[2])}
    elif match := _PAIR.match(line):
        run.words[match[1]] = match[2][:500]
    elif match := _LATENCY.match(line):
        run.figures[match[1]] = times(num(match[2]), 1e6)
    elif match := _LAG.match(line):
        run.figures |= {"lag_mean_ns": times(num(match[1]), 1e6), "lag_max_ns": times(num(match[2]), 1e6)}
    elif _ABORTED.match(line):
        run.aborted = True
    elif line.startswith("progress: "):
        run.progress = number


def _script_line(script: dict[str, Any], line: str) -> None:
    if match := _SHARE.match(line):
        script["tps"] = num(match[2])
    elif match := _LATENCY.match(line):
        script[match[1]] = times(num(match[2]), 1e6)
    elif match := _FAILED.match(line):
        script["failed"] = whole(match[1])


def _readings(source: Source, run: _Run) -> Iterator[ImportedReading]:
    if run.tps is None:
        if run.words or run.progress:
            what = "a pgbench run without its final `tps =` line: not finished or cut off; nothing of it was used"
            source.problem(run.progress, what)
        return
    done, wanted = run.count("number of transactions actually processed")
    failed, _ = run.count("number of failed transactions")
    notes = ["iops are transactions per second"]
    if run.again:
        notes.append("a new connection for each transaction is in the rate")
    if run.aborted or (done is not None and wanted is not None and done < wanted):
        notes.append("pgbench says that the run was aborted or did not do all its transactions")
    details = {
        "scaling_factor": num(run.words.get("scaling factor")),
        "query_mode": run.words.get("query mode"),
        "threads": whole(run.words.get("number of threads")),
        "transactions": done,
        "tps_with_connecting": run.connecting,
        "lat_stddev_ns": run.figures.get("stddev"),
        **{name: value for name, value in run.figures.items() if name not in ("average", "stddev")},
    }
    yield _reading(
        source,
        run,
        run.line,
        label=None,
        operation=run.words.get("transaction type"),
        iops=run.tps,
        mean=run.figures.get("average"),
        errors=failed,
        notes=tuple(notes),
        details={name: value for name, value in details.items() if value is not None},
    )
    for script in run.scripts:
        if script.get("tps") is None:
            continue
        yield _reading(
            source,
            run,
            script["line"],
            label=f"script {script['number']}",
            operation=script["name"],
            iops=script["tps"],
            mean=script.get("average"),
            errors=script.get("failed"),
            notes=("iops are transactions per second", "one script's part of the run"),
            details={"lat_stddev_ns": script["stddev"]} if script.get("stddev") is not None else {},
        )


def _reading(
    source: Source,
    run: _Run,
    line: int,
    *,
    label: str | None,
    operation: str | None,
    iops: float,
    mean: float | None,
    errors: int | None,
    notes: tuple[str, ...],
    details: dict[str, Any],
) -> ImportedReading:
    duration = re.match(r"^(\d+) s\s*$", run.words.get("duration", ""))
    return ImportedReading(
        source.name,
        line,
        "pgbench",
        tool_version=run.version,
        label=label,
        operation=operation.strip("<>").removeprefix("builtin: ") if operation else None,
        numjobs=whole(run.words.get("number of clients")),
        iops=iops,
        lat_mean_ns=mean,
        lat_kind="total" if mean is not None else None,
        errors=errors,
        n=1,
        runtime_seconds=num(duration[1]) if duration else None,
        notes=notes,
        details=details,
    )
