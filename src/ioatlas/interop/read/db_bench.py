# SPDX-License-Identifier: Apache-2.0
"""db_bench of RocksDB and LevelDB: one line for each benchmark, and its histogram where one was asked for.

MB are 1024^2 bytes of keys and values, by its source. micros/op is the mean time of one operation of one thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioatlas.interop.read.kit import Said, compiled, reading, runs
from ioatlas.interop.read.numbers import MIB, num, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(r"(?m)^.{0,4000}?[a-z]\w* +: +[\d.]+ micros/op\b")
_LINES = compiled(
    # without padding it is the mean so far; the median is of the same runs
    r"^(?P<bench>[A-Za-z][\w.]*) \[AVG  +(?P<runs>\d+) runs\] : (?P<ops>\d+) (?:\(± (?P<half>\d+)\) )?ops/sec;?"
    r" *(?:(?P<mib>[\d.]+) (?:\(± [\d.]+\) )?MB/sec)?",
    r"^[A-Za-z][\w.]* \[(?P<bench>AVG|MEDIAN) ",
    r"(?:^\x08*|.*\s)(?P<bench>[A-Za-z][\w.]*) +: +(?P<micros>[\d.]+) micros/op(?: (?P<ops>\d+) ops/sec)?"
    r"(?: (?P<seconds>[\d.]+) seconds (?P<operations>\d+) operations)?;(?P<rest>.*)$",
    r"^(?P<product>RocksDB|LevelDB): +version (?P<version>\d[\w.]*)",
    r"^(?P<name>Keys|Values): +(?P<value>\d+) bytes",
    r"^Entries: +(?P<entries>\d+)",
    r"^Count: \d+ +Average: (?P<average>[\d.]+) +StdDev: (?P<deviation>[\d.]+)",
    r"^Percentiles: .*?\bP99: (?P<p99>[\d.]+)(?:\s|$)",
)
_RATE = re.compile(r"^(\d+(?:[.,]\d+)?) MB/s")
_FOUND = re.compile(r"\((\d+) of (\d+) found")
_MANY = re.compile(
    r"^([A-Za-z][\w.]*) \[(AVG|MEDIAN) +(\d+) runs\] : (\d+) (?:\(± (\d+)\) )?ops/sec;?"
    r" *(?:([\d.]+) (?:\(± [\d.]+\) )?MB/sec)?"
)
_WRITES = ("fill", "overwrite", "update")
_READS = ("read", "seek", "multiread")


def read(source: Source) -> Iterator[ImportedReading]:
    keeps = ("product", "version", "Keys", "Values", "entries")
    for run in runs(source, _LINES, result="bench", begins="bench", keeps=keeps, cut=r": +[\d.]+ micros/"):
        if "ops" in run or "micros" in run:
            yield _reading(source, run)


def _direction(name: str) -> str | None:
    if "while" in name or name.endswith("randomwriterandom"):
        return "mixed" if name.startswith("readrandomwrite") else "read"
    return "write" if name.startswith(_WRITES) else "read" if name.startswith(_READS) else None


def _reading(source: Source, run: Said) -> ImportedReading:
    rest, n = run.get("rest", ""), run.whole("runs")
    rate, found = _RATE.match(rest), _FOUND.search(rest)
    notes = ["MB/s are 1024^2 bytes of keys and values; iops are operations on keys"]
    if "half" in run:
        notes.append("± of db_bench is the half width of its 95% interval")
    if "micros" in run and "ops" in run and "operations" not in run:
        # the layout of older versions, which divided the run's time by all operations
        notes.append("with several threads micros/op of this version is no operation's latency")
    return reading(
        source,
        run.at["bench"],
        "db_bench",
        tool_version=run.get("version"),
        label=run.get("product"),
        direction=_direction(run["bench"]),
        operation=run["bench"],
        iops=run.num("ops"),
        bw_bytes_per_s=times(num(rate[1].replace(",", ".")), MIB) if rate else run.num("mib", MIB),
        mean=run.num("micros", 1e3),
        p99=run.num("p99", 1e3),
        runtime_seconds=run.num("seconds"),
        statistic=f"mean of {n}" if "runs" in run else "single",
        n=n or None if "runs" in run else 1,
        notes=notes,
        details={
            "key_bytes": run.whole("Keys"),
            "value_bytes": run.whole("Values"),
            "entries": run.whole("entries"),
            "operations": run.whole("operations"),
            "found": whole(found[1]) if found else None,
            "looked_for": whole(found[2]) if found else None,
            "histogram_mean_ns": run.num("average", 1e3),
            "lat_stddev_ns": run.num("deviation", 1e3),
            "interval_half_width_iops": run.num("half"),
            "bw_half_digit_bytes_per_s": 0.05 * MIB if rate else None,
        },
    )
