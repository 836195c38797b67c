# SPDX-License-Identifier: Apache-2.0
"""DiskSpd's text output, 2.0.9 to 2.2: one reading for each time span and direction, from its `total:` rows.

MB and MiB are both 1048576 bytes (older versions print MB for it); latencies are milliseconds from issue to completion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate.read.kit import MIB, figure, num, reading, rw_of, settings, settle, size_bytes, times, whole
from ioatlas_translate.read.source import Source

_COMMAND = re.compile(r"^\s*Command Line: (.*)$")
_TIMESPAN = re.compile(r"^\s*timespan:\s+(\d+)\s*$")
_PATH = re.compile(r"^\s*path: (?:template target )?'(.*)'")
_FILE_SIZE = re.compile(r"\((\d+(?:[.,]\d+)?\s?[KMGTP]?i?B?)\)\s*$")
_PERCENTILE = re.compile(r"^\s*(min|max|[\d.]+(?:th|st|nd|rd)|\d-nines)\s*\|")


@dataclass
class Target:
    """One target of a time span, as the input parameters say it."""

    path: str
    bs_bytes: int | None = None
    rw: str | None = None
    read_percent: float | None = None
    iodepth: int | None = None
    note: str = ""


@dataclass
class _Span:
    targets: list[Target] = field(default_factory=list)
    measures_latency: bool = False


@dataclass
class _Result:
    number: int
    seconds: float | None = None
    threads: int | None = None
    rows: dict[str, tuple[int, list[str], dict[str, float | None]]] = field(default_factory=dict)
    sizes: set[int | None] = field(default_factory=set)
    percentiles: dict[str, dict[str, float]] = field(default_factory=dict)


def reading_of(
    source: Source, line: int, targets: list[Target], sizes: set[int | None], own: str, **figures: Any
) -> ImportedReading:
    """Of a time span: what all its targets have in common, None where they differ, and its figures."""

    def same(name: str) -> Any:
        values = {getattr(target, name) for target in targets}
        return values.pop() if len(values) == 1 else None

    rw, percent = same("rw"), same("read_percent")
    fields: dict[str, Any] = {"bs_bytes": same("bs_bytes"), "iodepth": same("iodepth")}
    if rw is not None and percent is not None:
        way = "read" if percent == 100 else "write" if percent == 0 else "mixed"
        fields["rw"] = rw_of(way, random=rw == "random")
        fields["rwmixread"] = percent if 0 < percent < 100 else None
    notes = [f"sum over {len(targets)} targets"] if len(targets) > 1 else []
    return reading(
        source,
        line,
        "diskspd",
        label="; ".join(target.path for target in targets)[:300] or None,
        size_bytes=next(iter(sizes)) if len(sizes) == 1 else None,
        notes=(*notes, *sorted({target.note for target in targets if target.note}), own),
        **fields,
        **figures,
    )


def read(source: Source) -> Iterator[ImportedReading]:
    text = _Text(source)
    for number, line in source.lines():
        yield from text.take(number, line)
    yield from text.close()


@dataclass
class _Text:
    """Where in DiskSpd's text the next line stands."""

    source: Source
    command: str | None = None
    spans: dict[int, _Span] = field(default_factory=dict)
    span: _Span = field(default_factory=_Span)
    result: _Result | None = None
    section: str = ""
    """The table whose `total:` row comes: total, read or write."""
    columns: list[str] = field(default_factory=list)
    percentiles: bool = False
    """Whether the rows are of latency percentiles."""

    def take(self, number: int, line: str) -> Iterator[ImportedReading]:
        text = line.strip()
        if match := _COMMAND.match(line):
            yield from self.close()
            self.command, self.spans, self.span = match[1][:1000], {}, _Span()
        elif text == "Input parameters:":
            if self.result is not None:
                yield from self.close()
                self.command = None
            self.spans, self.span = {}, _Span()
        elif match := _TIMESPAN.match(line):
            self.span = self.spans.setdefault(int(match[1][:6]), _Span())
        elif match := re.match(r"Results for timespan (\d{1,6}):", text):
            yield from self.close()
            self.result, self.section, self.percentiles = _Result(int(match[1])), "", False
        elif text in ("Totals:", "Overall totals:"):
            self.section = ""
        elif text == "Total IO" and (self.result is None or "total" in self.result.rows):
            yield from self.close()  # an excerpt without the lines above it
            self.result, self.section, self.percentiles = _Result(1), "total", False
        elif self.result is None:
            _parameter(self.span, line, text)
        else:
            self._figures(self.result, number, line, text)

    def _figures(self, result: _Result, number: int, line: str, text: str) -> None:
        """A line inside the results of a time span."""
        if settle(result, text, _MEASURED):
            return
        if text in ("Total IO", "Read IO", "Write IO"):
            self.section, self.percentiles = text.split(maxsplit=1)[0].lower(), False
        elif text.startswith("thread |"):
            self.columns = [cell.strip() for cell in text.split("|")]
        elif text.startswith("%-ile"):
            self.section, self.percentiles = "", True
        elif self.percentiles and (match := _PERCENTILE.match(line)):
            if match[1] == "max" or not self.source.cut(number):
                for kind, cell in zip(("read", "write", "total"), line.split("|")[1:], strict=False):
                    if (value := figure(cell)) is not None:
                        result.percentiles.setdefault(kind, {})[match[1]] = value * 1e6
        elif self.section and text.startswith("total:"):
            self._total(result, number, line)
            self.section = ""
        elif self.section and re.match(r"^\d+ \|", text) and (match := _FILE_SIZE.search(text)):
            result.sizes.add(size_bytes(match[1]))

    def _total(self, result: _Result, number: int, line: str) -> None:
        cells = line.split(":", 1)[1].split("|")
        values = {name: figure(cell) for name, cell in zip(self.columns[1:], cells, strict=False)}
        if None in (values.get(name) for name in ("bytes", "I/Os", "I/O per s")):
            self.source.problem(number, f"a {self.section} total that cannot be read")
        elif self.source.unended(number) and len(cells) < len(self.columns) - 2:
            self.source.problem(number, "the file ends inside this row")
        else:
            result.rows[self.section] = (number, self.columns, values)

    def close(self) -> Iterator[ImportedReading]:
        if self.result is not None:
            yield from _finish(self.source, self.result, self.spans, self.command)
        self.result = None


def _parameter(span: _Span, line: str, text: str) -> None:
    """One line of the input parameters: of the time span, or of the last target named."""
    if match := _PATH.match(line):
        span.targets.append(Target(match[1]))
    elif text == "measuring latency":
        span.measures_latency = True
    elif span.targets:
        settle(span.targets[-1], text, _PARAMETERS)


def _read_share(match: re.Match[str]) -> dict[str, float]:
    """2.0.12 and older print "write/read ratio: 30/100", later ones "30/70", then "read/write ratio: 70/30"."""
    first = num(match[2]) or 0.0
    return {"read_percent": first if match[1] == "read/write" else 100 - first}


_PARAMETERS = settings(
    (r"^block size:\s*(\S+)", lambda match: {"bs_bytes": size_bytes(match[1])}),
    (r"^using (mixed random/sequential.*)", lambda match: {"note": match[1][:80]}),
    (r"^using random I/O", lambda _: {"rw": "random"}),
    (r"^using (?:interlocked )?sequential I/O", lambda _: {"rw": "sequential"}),
    (r"^performing read test", lambda _: {"read_percent": 100}),
    (r"^performing write test", lambda _: {"read_percent": 0}),
    (r"^performing mix test \((read/write|write/read) ratio: (\d+)/(\d+)\)", _read_share),
    (r"^number of outstanding I/O operations(?: per thread)?: (\d+)", lambda match: {"iodepth": whole(match[1])}),
)
"""What a line of the input parameters sets of its target."""
_MEASURED = settings(
    (r"^actual test time:(.*)", lambda match: {"seconds": figure(match[1].strip().rstrip("s"))}),
    (r"^thread count:(.*)", lambda match: {"threads": whole(match[1])}),
)


def _direction(targets: list[Target], name: str) -> str:
    """The total of a test that only reads or only writes is that direction."""
    if name != "total":
        return name
    percents = {target.read_percent for target in targets}
    return "read" if percents == {100} else "write" if percents == {0} else "mixed"


def _commanded(command: str) -> list[Target]:
    """The targets of a command line, for a result whose input parameters were left out; DiskSpd's documented defaults
    where it has no option.
    """
    words = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', command)][1:]
    options = {word[1]: word[2:] for word in words if re.match(r"[-/][a-zA-Z]", word)}
    if "X" in options:  # a profile in a file that is not here
        return []
    one = Target(
        "",
        size_bytes(options.get("b", "64K")),
        None if options.get("r", "").startswith("s") else "random" if "r" in options else "sequential",
        100 - share if (share := num(options.get("w", "0"))) is not None and share <= 100 else None,
        whole(options.get("o", "2")),
        note="load from the command line: the input parameters are not in the file",
    )
    return [replace(one, path=word) for word in words if not re.match(r"[-/][a-zA-Z#]", word)]


def _finish(source: Source, result: _Result, spans: dict[int, _Span], command: str | None) -> Iterator[ImportedReading]:
    span = spans.get(result.number) or _Span(_commanded(command) if command and not spans else [])
    if not result.rows:
        source.problem(0, f"time span {result.number} has no totals")
        return
    if span.measures_latency and not result.percentiles:
        source.problem(0, f"time span {result.number} has no latency distribution: cut off")
    moved = {name: row[2].get("bytes") or 0 for name, row in result.rows.items()}
    directions = [name for name in ("read", "write") if moved.get(name, 0) > 0]
    if not directions and "total" in moved:
        at = result.rows["total"][0]
        if not moved["total"] > 0:
            source.problem(at, f"time span {result.number} moved no data", lost=False)
            return
        source.problem(at, f"time span {result.number} is cut off before its read and write totals")
        directions = ["total"]
    for name in directions:
        number, columns, values = result.rows[name]
        unit = next((column for column in columns if column in ("MB/s", "MiB/s")), None)
        seconds = result.seconds
        io_bytes = values.get("bytes")
        bw = times(values.get(unit or ""), MIB)
        own = "MiB/s as printed" if unit == "MiB/s" else "DiskSpd's MB is 1048576 bytes"
        if io_bytes and seconds and bw is not None and abs(io_bytes / seconds - bw) <= max(0.02 * bw, 0.02 * MIB):
            bw = io_bytes / seconds
            own = "bandwidth is bytes over actual test time; the printed one is rounded"
        listed = {point.removesuffix("th"): value for point, value in result.percentiles.get(name, {}).items()}
        yield reading_of(
            source,
            number,
            span.targets,
            result.sizes,
            own,
            direction=_direction(span.targets, name),
            numjobs=result.threads,
            iops=values.get("I/O per s"),
            bw_bytes_per_s=bw,
            mean=times(values.get("AvgLat") or None, 1e6),
            p99=listed.get("99"),
            runtime_seconds=seconds,
            io_bytes=int(io_bytes) if io_bytes is not None else None,
            details={
                "latency_points_ns": listed or None,
                "iops_stddev": values.get("IopsStdDev"),
                "lat_stddev_ns": times(values.get("LatStdDev"), 1e6),
                "total_ios": values.get("I/Os"),
                "command": command,
            },
        )
