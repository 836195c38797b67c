# SPDX-License-Identifier: Apache-2.0
"""IOR 2 to 4 (text table, summary, JSON) and mdtest summaries, alone or inside IO500 results.

bw(MiB/s) is 1048576 bytes. Every iteration is a reading; a summary over more than one iteration is one more, a mean
with its deviation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate.read.kit import (
    KIB,
    MIB,
    Found,
    cells_of,
    num,
    objects,
    part,
    reading,
    size_bytes,
    times,
    whole,
    word_of,
)
from ioatlas_translate.read.source import Source

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
    """One run of IOR or mdtest, as far as its lines were read."""

    source: Source
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

    def take(self, number: int, line: str) -> Iterator[ImportedReading]:
        text = line.strip()
        if text.startswith("access") and "bw(MiB/s)" in text:
            self.columns, self.summary = cells_of(text, ","), []
        elif _SUMMARY.match(text):
            self.columns, self.summary = [], re.sub(r"\s?\(", "(", text).split()
        elif match := re.match(r"^SUMMARY\s*(rate|time)?\s*(?:\(in ([\w/]+)\))?:?\s*\(of (\d+) iterations\)", text):
            self.per, self.iterations, self.deviation = match[1] or "rate", whole(match[3]) or 1, True
        elif match := _PER_ITERATION.match(text):
            self.deviation = match[1] is not None
        elif match := _MDTEST.match(line):
            self._mdtest(number, match[1].lower(), match[2].split())
        elif self.columns and re.match(r"^(write|read)[\s,]", text):
            if "," not in text or not self.source.cut(number):
                yield from self._row(number, cells_of(text, ","))
        elif self.summary and re.match(r"^(write|read)\s", text):
            yield from self._mean(number, text.split())
        elif match := _MAX.match(text):
            self.largest.append((number, match[1].lower(), match[2]))
        elif (match := _OPTION.match(line)) and len(self.options) < 100:
            self.options.setdefault(match[1].strip().lower(), match[2][:500])

    def reading(
        self, line: int, direction: str, block: float | None, transfer: float | None, *notes: str, **fields: Any
    ) -> ImportedReading:
        """Of IOR. block, transfer: bytes, as the table rounds them; None where it does not say."""
        options = self.options
        tasks = whole(options.get("tasks")) or whole((options.get("clients") or "").split(" ")[0])
        counted = re.search(r"\((\d+) segment", options.get("pattern", ""))
        segments = whole(options.get("segments")) or (whole(counted[1]) if counted else None)
        own_file = options.get("access", "").startswith("file-per-process")
        block, transfer = _exact(block, options.get("blocksize")), _exact(transfer, options.get("xfersize"))
        size = None
        if block is not None and segments and (own_file or tasks):
            size = int(block) * segments * (1 if own_file else tasks or 1)
        order = options.get("ordering in a file", "")
        told: dict[str, Any] = {
            "label": options.get("test filename") or None,
            "bs_bytes": int(transfer) if transfer else None,
            "size_bytes": size if size is not None and size < 1 << 63 else None,
            "numjobs": tasks,
            "iodepth": 1 if options.get("api", "").upper() in _ONE_AT_A_TIME else None,
            "rw": f"rand{direction}" if "random" in order else direction if "sequential" in order else None,
        }
        told |= {"tool_version": self.version, "direction": direction, "notes": notes}
        return reading(self.source, line, "ior", **{**told, **fields})

    def one(self, line: int, direction: str, row: Mapping[str, str], *notes: str, **details: Any) -> ImportedReading:
        """One iteration, by the columns of the table."""
        latency = num(row.get("Latency(s)", row.get("Latency")))
        block, transfer = (times(num(row.get(name)), KIB) for name in ("block(KiB)", "xfer(KiB)"))
        return self.reading(
            line,
            direction,
            block,
            transfer,
            *notes,
            iops=num(row.get("IOPS")),
            bw_bytes_per_s=times(num(row.get("bw(MiB/s)")), MIB),
            mean=times(latency, 1e9) if latency else None,
            runtime_seconds=num(row.get("total(s)")),
            details=details,
        )

    def _row(self, number: int, cells: list[str]) -> Iterator[ImportedReading]:
        row = dict(zip(self.columns, cells, strict=False))
        if len(cells) < len(self.columns):
            self.source.problem(number, "a result row with fewer figures than its header")
        elif num(row.get("bw(MiB/s)")) is None:
            self.source.problem(number, "a result row without a bandwidth")
        else:
            self.rows += 1
            if "numTasks" in row:
                self.options["tasks"] = row["numTasks"]
            told = {"iteration": whole(row.get("iter")), **{name: self.options.get(name) for name in ("access", "api")}}
            yield self.one(number, cells[0], row, "IOR MiB/s; bandwidth includes opening and closing", **told)

    def _mean(self, number: int, cells: list[str]) -> Iterator[ImportedReading]:
        """A row of the summary over all iterations."""
        # StdDev stands twice: of MiB and of OPs, of which the first counts.
        row = dict(list(zip(self.summary, cells, strict=False))[::-1])
        n = whole(row.get("reps")) or whole(self.options.get("repetitions"))
        mean, spread = num(row.get("Mean(MiB)")), num(row.get("StdDev"))
        if mean is None or (n in (None, 1) and self.rows):
            return
        several, tasks = n is not None and n > 1, whole(row.get("#Tasks"))
        yield self.reading(
            number,
            cells[0],
            num(row.get("blksiz", row.get("blksize"))),
            num(row.get("xsize")),
            "IOR MiB/s",
            **({"numjobs": tasks} if tasks else {}),
            iops=num(row.get("Mean(OPs)")),
            bw_bytes_per_s=times(mean, MIB),
            statistic="unknown" if n is None else "single" if n == 1 else f"mean of {n}",
            n=n,
            spread=times(spread, MIB) if several else None,
            spread_of="bw_bytes_per_s, standard deviation over iterations" if several else None,
            runtime_seconds=num(row.get("Mean(s)")),
            details={
                "bw_max_bytes_per_s": times(num(row.get("Max(MiB)")), MIB),
                "bw_min_bytes_per_s": times(num(row.get("Min(MiB)")), MIB),
            },
        )

    def ended(self) -> Iterator[ImportedReading]:
        """What is known only when a run has ended: mdtest's operations, `Max Write:` without a table."""
        yield from self.names.values()
        n = whole(self.options.get("repetitions"))
        for number, direction, text in self.largest if not self.rows else ():
            yield self.reading(
                number,
                direction,
                None,
                None,
                "IOR MiB/s, the largest of the iterations",
                bw_bytes_per_s=times(num(text), MIB),
                statistic="single" if n == 1 else "unknown" if n is None else f"best of {n}",
                n=n,
            )

    def _mdtest(self, number: int, name: str, cells: list[str]) -> None:
        """A row of either table. That of times holds seconds of a whole phase, whatever unit its head names: mdtest
        prints there what it also divides the items by (mdtest.c, summarize_results_rank0).
        """
        figures = [num(cell) for cell in cells]
        if len(figures) < 4:
            self.source.problem(number, "an mdtest row with fewer than four figures")
            return
        # with per-rank statistics the figures over iterations stand last; versions of 2020 have no deviation there
        high, low, mean, spread = figures[-4:] if self.deviation else [*figures[-3:], None]
        rate, n, known = self.per == "rate", self.iterations, self.names.get(name)
        if not mean:
            return
        if known is not None and not rate:
            self.names[name] = replace(known, runtime_seconds=mean)
            return
        several = n > 1 and rate
        self.names[name] = reading(
            self.source,
            number,
            "mdtest",
            tool_version=self.version,
            operation=name,
            numjobs=whole(self.options.get("tasks")),
            iops=mean if rate else None,
            statistic="single" if n == 1 else f"mean of {n}",
            n=n,
            spread=spread if several else None,
            spread_of="iops, standard deviation over iterations" if several and spread is not None else None,
            runtime_seconds=None if rate else mean,
            notes=("operations per second" if rate else "seconds of the whole phase; how many operations is not told",),
            details={"max": high, "min": low},
        )


def _exact(rounded: float | None, option: str | None) -> float | None:
    """A size as the options tell it, where the table's KiB of two decimals are the same, rounded."""
    told = size_bytes(option)
    return told if told is not None and (rounded is None or abs(told - rounded) <= KIB / 100) else rounded


def read(source: Source) -> Iterator[ImportedReading]:
    run = _Run(source)
    for number, raw in source.lines():
        line = _LEAD.sub("", raw) if raw[:1] in "#>" else raw
        if '"bwMiB"' in line:
            yield from _json(source)
            return
        if match := re.match(r"^(?:IOR|mdtest)-(\d[\w.+-]*)", line.strip()):
            yield from run.ended()
            run = _Run(source, match[1].rstrip(":"))
            if tasks := re.search(r"launched with (\d+) total task", line):
                run.options["tasks"] = tasks[1]
        else:
            yield from run.take(number, line)
    yield from run.ended()


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
        run = _Run(source, word_of(found.value, "Version"))
        tests = found.value.get("tests")
        for test in tests if isinstance(tests, list) else []:
            given = {**part(test, "Parameters"), **part(test, "Options")}
            run.options = {key.lower(): str(item) for key, item in given.items() if not isinstance(item, dict | list)}
            results = test.get("Results") if isinstance(test, dict) else None
            for item in results[:100_000] if isinstance(results, list) else []:
                for row in item if isinstance(item, list) else [item]:
                    yield from _json_row(run, found, row)


def _json_row(run: _Run, found: Found, row: Any) -> Iterator[ImportedReading]:
    if not isinstance(row, dict) or row.get("access") not in ("write", "read") or num(str(row.get("bwMiB"))) is None:
        return
    text = found.text
    place = text.find(f'"bwMiB": {row["bwMiB"]}')
    line = text.count("\n", 0, place) + 1 if place >= 0 and len(text) < 1 << 20 else 1
    told = {name: str(row[key]) for key, name in _JSON_COLUMNS.items() if isinstance(row.get(key), str | int | float)}
    yield run.one(line, row["access"], told, "IOR MiB/s")
