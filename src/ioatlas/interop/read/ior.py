# SPDX-License-Identifier: Apache-2.0
"""IOR 2 to 4 (text table, summary, JSON) and mdtest summaries, alone or inside IO500 results.

bw(MiB/s) is 1048576 bytes. Every iteration is a reading; a summary over more than one iteration is one more, a mean
with its deviation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ioatlas.interop.read.kit import Found, cells_of, objects, part, reading, word_of
from ioatlas.interop.read.numbers import KIB, MIB, num, size_bytes, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^[#> ]{0,4}IOR-\d[\w.+-]*: MPI Coordinated|^[#> ]{0,4}access(?:\s+|,)bw\(MiB/s\)"
    r"|^[#> \t]{0,8}SUMMARY (?:rate|time|:)|^mdtest-\d|\"bwMiB\"\s*:"
    r"|^[#> ]{0,4}Max (?:Write|Read):\s+[\d.]+ MiB/sec",
    re.MULTILINE,
)
_LEAD = re.compile(r"^[#>][#> ]*")
_OPTION = re.compile(r"^\s*([A-Za-z][\w ]{2,24}?)\s*[:=]\s*(.*?)\s*$")
_MDTEST = re.compile(
    r"^\s*((?:File|Directory|Tree) (?:creation|stat|read|removal|rename))\s*:?\s+([\d.]+(?:\s+[\d.]+)*)\s*$"
)
_PER_ITERATION = re.compile(r"^Operation\s+per Rank:.*\bper Iteration:\s+Max\s+Min\s+Mean(\s+Std Dev)?\s*$")
_MAX = re.compile(r"^Max (Write|Read):\s+([\d.]+) MiB/sec")
_ONE_AT_A_TIME = frozenset({"POSIX", "MPIIO", "MMAP"})
"""Interfaces by which a task has one transfer in flight."""
_SUMMARY = re.compile(r"^Operation\s+Max\s?\(MiB\)")


@dataclass
class _Run:
    version: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    summary: list[str] = field(default_factory=list)
    rows: int = 0
    per: str = "rate"
    iterations: int = 1
    largest: list[tuple[int, str, str]] = field(default_factory=list)
    """Line, direction and figure of each `Max Write:` and `Max Read:`."""
    deviation: bool = True
    """Whether mdtest's columns over iterations end with their deviation."""
    names: dict[str, ImportedReading] = field(default_factory=dict)
    """mdtest's readings by operation: what its table of times says belongs to that of its table of rates."""


def read(source: Source) -> Iterator[ImportedReading]:
    run = _Run()
    for number, raw in source.lines():
        line = _LEAD.sub("", raw) if raw[:1] in "#>" else raw
        if '"bwMiB"' in line:
            yield from _json(source)
            return
        if match := re.match(r"^(?:IOR|mdtest)-(\d[\w.+-]*)", line.strip()):
            yield from _ended(source, run)
            run = _Run(match[1].rstrip(":"))
            if tasks := re.search(r"launched with (\d+) total task", line):
                run.options["tasks"] = tasks[1]
        else:
            yield from _line(source, run, number, line)
    yield from _ended(source, run)


def _line(source: Source, run: _Run, number: int, line: str) -> Iterator[ImportedReading]:
    text = line.strip()
    if text.startswith("access") and "bw(MiB/s)" in text:
        run.columns, run.summary = cells_of(text, ","), []
    elif _SUMMARY.match(text):
        run.columns, run.summary = [], re.sub(r"\s?\(", "(", text).split()
    elif match := re.match(r"^SUMMARY\s*(rate|time)?\s*(?:\(in ([\w/]+)\))?:?\s*\(of (\d+) iterations\)", text):
        run.per = match[1] or "rate"
        run.iterations = whole(match[3]) or 1
        run.deviation = True
    elif match := _PER_ITERATION.match(text):
        run.deviation = match[1] is not None
    elif match := _MDTEST.match(line):
        _mdtest(source, run, number, match[1].lower(), match[2].split())
    elif run.columns and re.match(r"^(write|read)[\s,]", text):
        if source.unended(number) and "," in text:
            source.problem(number, "the file ends inside this row, which was not used")
        else:
            yield from _row(source, run, number, cells_of(text, ","))
    elif run.summary and re.match(r"^(write|read)\s", text):
        yield from _summary(source, run, number, text.split())
    elif match := _MAX.match(text):
        run.largest.append((number, match[1].lower(), match[2]))
    elif (match := _OPTION.match(line)) and len(run.options) < 100:
        run.options.setdefault(match[1].strip().lower(), match[2][:500])


def _workload(run: _Run, direction: str, block: float | None, transfer: float | None) -> dict[str, Any]:
    options = run.options
    tasks = whole(options.get("tasks")) or whole((options.get("clients") or "").split(" ")[0])
    segments = whole(options.get("segments")) or (
        whole(found[1]) if (found := re.search(r"\((\d+) segment", options.get("pattern", ""))) else None
    )
    own_file = options.get("access", "").startswith("file-per-process")
    block, transfer = _exact(block, options.get("blocksize")), _exact(transfer, options.get("xfersize"))
    size = None
    if block is not None and segments and (own_file or tasks):
        size = int(block) * segments * (1 if own_file else tasks or 1)
    order = options.get("ordering in a file", "")
    rw = None
    if order:
        rw = f"rand{direction}" if "random" in order else direction if "sequential" in order else None
    return {
        "bs_bytes": int(transfer) if transfer else None,
        "size_bytes": size if size is not None and size < 1 << 63 else None,
        "numjobs": tasks,
        "iodepth": 1 if options.get("api", "").upper() in _ONE_AT_A_TIME else None,
        "rw": rw,
        "direction": direction,
    }


def _exact(rounded: float | None, option: str | None) -> float | None:
    """A size as the options tell it, where the table's KiB of two decimals are the same, rounded."""
    told = size_bytes(option)
    return told if told is not None and (rounded is None or abs(told - rounded) <= KIB / 100) else rounded


def _row(source: Source, run: _Run, number: int, cells: list[str]) -> Iterator[ImportedReading]:
    if len(cells) < len(run.columns):
        source.problem(number, "a result row with fewer figures than its header")
        return
    row = dict(zip(run.columns, cells, strict=False))
    if num(row.get("bw(MiB/s)")) is None:
        source.problem(number, "a result row without a bandwidth")
        return
    run.rows += 1
    if "numTasks" in row:
        run.options["tasks"] = row["numTasks"]
    details = {"iteration": whole(row.get("iter")), "access": run.options.get("access"), "api": run.options.get("api")}
    yield _one(source, run, number, cells[0], row, ("IOR MiB/s; bandwidth includes opening and closing",), details)


def _one(
    source: Source,
    run: _Run,
    line: int,
    direction: str,
    row: Mapping[str, str],
    notes: Sequence[str],
    details: Mapping[str, Any],
) -> ImportedReading:
    """One iteration, by the columns of the table."""
    latency = num(row.get("Latency(s)", row.get("Latency")))
    return reading(
        source,
        line,
        "ior",
        tool_version=run.version,
        label=run.options.get("test filename") or None,
        **_workload(run, direction, times(num(row.get("block(KiB)")), KIB), times(num(row.get("xfer(KiB)")), KIB)),
        iops=num(row.get("IOPS")),
        bw_bytes_per_s=times(num(row.get("bw(MiB/s)")), MIB),
        mean=times(latency, 1e9) if latency else None,
        runtime_seconds=num(row.get("total(s)")),
        notes=notes,
        details=details,
    )


def _summary(source: Source, run: _Run, number: int, cells: list[str]) -> Iterator[ImportedReading]:
    names = run.summary
    seen: dict[str, int] = {}
    keys = []
    for name in names:  # StdDev stands twice: of MiB and of OPs
        seen[name] = seen.get(name, 0) + 1
        keys.append(name if seen[name] == 1 else f"{name}{seen[name]}")
    row = dict(zip(keys, cells, strict=False))
    n = whole(row.get("reps")) or whole(run.options.get("repetitions"))
    mean, spread = num(row.get("Mean(MiB)")), num(row.get("StdDev"))
    if mean is None or (n == 1 and run.rows):
        return
    if n is None and run.rows:
        return
    workload = _workload(run, cells[0], num(row.get("blksiz", row.get("blksize"))), num(row.get("xsize")))
    workload["numjobs"] = whole(row.get("#Tasks")) or workload["numjobs"]
    yield reading(
        source,
        number,
        "ior",
        tool_version=run.version,
        label=run.options.get("test filename") or None,
        **workload,
        iops=num(row.get("Mean(OPs)")),
        bw_bytes_per_s=times(mean, MIB),
        statistic="unknown" if n is None else "single" if n == 1 else f"mean of {n}",
        n=n,
        spread=times(spread, MIB) if n and n > 1 else None,
        spread_of="bw_bytes_per_s, standard deviation over iterations" if n and n > 1 else None,
        runtime_seconds=num(row.get("Mean(s)")),
        notes=("IOR MiB/s",),
        details={
            "bw_max_bytes_per_s": times(num(row.get("Max(MiB)")), MIB),
            "bw_min_bytes_per_s": times(num(row.get("Min(MiB)")), MIB),
        },
    )


def _ended(source: Source, run: _Run) -> Iterator[ImportedReading]:
    """What is known only when a run has ended: mdtest's operations, `Max Write:` lines where the table is missing."""
    yield from run.names.values()
    if run.rows:
        return
    n = whole(run.options.get("repetitions"))
    for number, direction, text in run.largest:
        yield reading(
            source,
            number,
            "ior",
            tool_version=run.version,
            **_workload(run, direction, None, None),
            bw_bytes_per_s=times(num(text), MIB),
            statistic="single" if n == 1 else "unknown" if n is None else f"best of {n}",
            n=n,
            notes=("IOR MiB/s, the largest of the iterations",),
        )


def _mdtest(source: Source, run: _Run, number: int, name: str, cells: list[str]) -> None:
    """A row of either table. That of times holds seconds of a whole phase, whatever unit its head names: mdtest prints
    there what it also divides the items by (mdtest.c, summarize_results_rank0).
    """
    figures = [num(cell) for cell in cells]
    if len(figures) < 4:
        source.problem(number, "an mdtest row with fewer than four figures")
        return
    # with per-rank statistics the figures over iterations stand last; versions of 2020 have no deviation there
    high, low, mean, spread = figures[-4:] if run.deviation else [*figures[-3:], None]
    if not mean:
        return
    n = run.iterations
    rate = run.per == "rate"
    known = run.names.get(name)
    if known is not None and not rate:
        run.names[name] = replace(known, runtime_seconds=mean)
        return
    run.names[name] = reading(
        source,
        number,
        "mdtest",
        tool_version=run.version,
        operation=name,
        numjobs=whole(run.options.get("tasks")),
        iops=mean if rate else None,
        statistic="single" if n == 1 else f"mean of {n}",
        n=n,
        spread=spread if n > 1 and rate else None,
        spread_of="iops, standard deviation over iterations" if n > 1 and rate and spread is not None else None,
        runtime_seconds=None if rate else mean,
        notes=("operations per second" if rate else "seconds of the whole phase; how many operations is not told",),
        details={"max": high, "min": low},
    )


_JSON_COLUMNS = {
    "bwMiB": "bw(MiB/s)",
    "blockKiB": "block(KiB)",
    "xferKiB": "xfer(KiB)",
    "iops": "IOPS",
    "latency": "Latency(s)",
    "totalTime": "total(s)",
}


def _json(source: Source) -> Iterator[ImportedReading]:
    """IOR's JSON: tests with Parameters, Options and Results."""
    for found in objects(source):
        run = _Run(word_of(found.value, "Version"))
        tests = found.value.get("tests")
        for test in tests if isinstance(tests, list) else []:
            given = {**part(test, "Parameters"), **part(test, "Options")}
            run.options = {key.lower(): str(item) for key, item in given.items() if not isinstance(item, dict | list)}
            results = test.get("Results") if isinstance(test, dict) else None
            for item in results[:100_000] if isinstance(results, list) else []:
                for row in item if isinstance(item, list) else [item]:
                    yield from _json_row(source, run, found, row)


def _json_row(source: Source, run: _Run, found: Found, row: Any) -> Iterator[ImportedReading]:
    if not isinstance(row, dict) or row.get("access") not in ("write", "read") or num(str(row.get("bwMiB"))) is None:
        return
    text = found.text
    place = text.find(f'"bwMiB": {row["bwMiB"]}')
    line = text.count("\n", 0, place) + 1 if place >= 0 and len(text) < 1 << 20 else 1
    told = {name: str(row[key]) for key, name in _JSON_COLUMNS.items() if isinstance(row.get(key), str | int | float)}
    yield _one(source, run, line, row["access"], told, ("IOR MiB/s",), {})
