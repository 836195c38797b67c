# SPDX-License-Identifier: Apache-2.0
"""pgbench: the summary of a run, and of each script where there are several. Its rate is transactions a second.

The rate without connecting is taken; older versions print both. The latency of a transaction is in milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ioatlas.interop.read.kit import Said, compiled, reading, runs
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^transaction type: |^tps = [\d.]+ \(|^pgbench \(\S+ |^progress: [\d.]+ s, [\d.]+ tps, lat ", re.MULTILINE
)
_LINES = compiled(
    r"^pgbench \((?:PostgreSQL\) )?(?P<version>\d[\w.]*?)\.?[ )]",
    r"^transaction type: (?P<heading>.*)$",
    r"^scaling factor: (?P<scale>\d+)",
    r"^query mode: (?P<mode>.*)$",
    r"^number of clients: (?P<clients>\d+)",
    r"^number of threads: (?P<threads>\d+)",
    r"^number of transactions actually processed: (?P<done>\d+)(?:/(?P<wanted>\d+))?(?:\s|$)",
    r"^(?: - )?number of failed transactions: (?P<failed>\d+)",
    r"^duration: (?P<duration>\d+) s\s*$",
    r"^tps = (?P<tps>[\d.]+) \((?:excluding|without|(?P<again>including re))[^)]*\)",
    r"^tps = (?P<connecting>[\d.]+) \(including[^)]*\)",
    r"^number of transactions above the (?P<limit>[\d.]+) ms latency limit: (?P<above>\d+)",
    r"^(?: - )?latency average(?: =|:) (?P<mean>[\d.]+) ms\b",
    r"^(?: - )?latency stddev(?: =|:) (?P<deviation>[\d.]+) ms\b",
    r"^rate limit schedule lag: avg (?P<lag>[\d.]+) \(max (?P<lag_max>[\d.]+)\) ms",
    r"^SQL script (?P<script>\d+: .*)$",
    r"^ - \d+ transactions \([\d.]+% of total, tps = (?P<tps>[\d.]+)\)",
    r"(?i)^(?:pgbench: (?:error: )?)?(?:client \d+ (?:script \d+ )?aborted|Run was (?=aborted))(?P<aborted>.*)",
    r"^(?P<progress>progress): ",
)


def read(source: Source) -> Iterator[ImportedReading]:
    keeps = ("version", "heading", "scale", "mode", "clients", "threads", "duration")
    for run in runs(source, _LINES, result="tps", begins="heading", part="script", keeps=keeps):
        yield from _readings(source, run)


def _readings(source: Source, run: Said) -> Iterator[ImportedReading]:
    if "tps" not in run and "connecting" not in run:
        if run.at.keys() - {"version"}:
            what = "a pgbench run without its final `tps =` line: not finished or cut off; nothing of it was used"
            source.problem(run.at.get("progress", 0), what)
        return
    done, wanted = run.whole("done"), run.whole("wanted")
    notes = ["iops are transactions per second"]
    if "again" in run:
        notes.append("a new connection for each transaction is in the rate")
    if "aborted" in run or (done is not None and wanted is not None and done < wanted):
        notes.append("pgbench says that the run was aborted or did not do all its transactions")
    details = {
        "scaling_factor": run.num("scale"),
        "query_mode": run.get("mode"),
        "threads": run.whole("threads"),
        "transactions": done,
        "tps_with_connecting": run.num("connecting"),
        "latency_limit_ns": run.num("limit", 1e6),
        "above_latency_limit": run.num("above"),
        "lag_mean_ns": run.num("lag", 1e6),
        "lag_max_ns": run.num("lag_max", 1e6),
    }
    yield _reading(source, run, run, run.get("heading"), notes, details)
    for part in run.parts:
        number, _, name = part["script"].partition(": ")
        if "tps" in part:
            notes = ["iops are transactions per second", "one script's part of the run"]
            yield _reading(source, run, part, name, notes, {}, label=f"script {number}", line=part.at["script"])


def _reading(
    source: Source,
    run: Said,
    part: Said,
    operation: str | None,
    notes: list[str],
    details: Mapping[str, object],
    line: int = 0,
    label: str | None = None,
) -> ImportedReading:
    rate = "tps" if "tps" in part else "connecting"
    return reading(
        source,
        line or part.at[rate],
        "pgbench",
        tool_version=run.get("version"),
        label=label,
        operation=operation.strip("<>").removeprefix("builtin: ") if operation else None,
        numjobs=run.whole("clients"),
        iops=part.num(rate),
        mean=part.num("mean", 1e6),
        errors=part.whole("failed"),
        runtime_seconds=run.num("duration"),
        notes=notes,
        details={**details, "lat_stddev_ns": part.num("deviation", 1e6)},
    )
