# SPDX-License-Identifier: Apache-2.0
"""DiskSpd's XML results (-Rxml): one reading for each time span and direction, summed over threads and targets.

Read by expat with every document type declaration refused, so there are no entities to expand. A time span that is cut
off is left out: its sums over threads would be too small.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from xml.parsers import expat

from ioatlas.interop.read.diskspd import Target, common_fields
from ioatlas.interop.read.kit import reading
from ioatlas.interop.read.numbers import num, times, whole
from ioatlas.interop.read.source import TEXT_LIMIT, Source
from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.words import words

SIGNATURE = re.compile(r"<Results>[\s\S]{0,20000}?<(?:TimeSpan|Profile|System)>")
_DOCUMENT = re.compile(r"<Results>")
_DEPTH_LIMIT = 64
_POINTS = words("0 1 5 25 50 75 90 95 99 99.9 99.99 99.999 100")
"""Percentiles that are kept."""
_LEAVES = frozenset(
    words(
        "Version Path BlockSize Random StrideSize InterlockedSequential RequestCount WriteRatio "
        "FileSize TestTimeSeconds ThreadCount Percentile ReadMilliseconds WriteMilliseconds TotalMilliseconds "
        "ReadBytes WriteBytes ReadCount WriteCount AverageReadMilliseconds AverageWriteMilliseconds ComputerName "
        "ReadLatencyStdev WriteLatencyStdev ReadIopsStdDev WriteIopsStdDev RandomRatio Duration Error RandomAccess"
    )
)


class _StopError(Exception):
    """The document asks for something that is refused."""


@dataclass
class _Span:
    line: int
    values: dict[str, str] = field(default_factory=dict)
    sums: dict[str, int] = field(default_factory=dict)
    sizes: set[int | None] = field(default_factory=set)
    points: dict[str, dict[str, float]] = field(default_factory=dict)


class _Reader:
    """Collects profile targets and finished time spans of one document."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.buffer_text = True
        self.path: list[str] = []
        self.text = ""
        self.profile: list[list[dict[str, str]]] = []
        self.system: dict[str, str] = {}
        self.span: _Span | None = None
        self.bucket: dict[str, str] = {}
        self.spans: list[_Span] = []

    def _doctype(self, *_: object) -> None:
        raise _StopError("a document type declaration is refused")

    def _start(self, name: str, _: dict[str, str]) -> None:
        self.path.append(name)
        if len(self.path) > _DEPTH_LIMIT:
            raise _StopError("elements nested too deeply")
        self.text = ""
        if self.path == ["Results", "TimeSpan"]:
            self.span = _Span(self.parser.CurrentLineNumber)
        elif name == "TimeSpan":
            self.profile.append([])
        elif name == "Target" and "Profile" in self.path and self.profile:
            self.profile[-1].append({})
        elif name == "Bucket":
            self.bucket = {}

    def _characters(self, text: str) -> None:
        if self.path and self.path[-1] in _LEAVES and len(self.text) < 4096:
            self.text += text

    def _end(self, name: str) -> None:
        inside = self.path[:-1]
        value = self.text.strip()
        if name in _LEAVES:
            if "Profile" in inside:
                if "Target" in inside and self.profile and self.profile[-1]:
                    self.profile[-1][-1].setdefault(name, value)
            elif self.span is None:
                self.system.setdefault(name, value)
            elif "Thread" in inside:
                if name in ("ReadBytes", "WriteBytes", "ReadCount", "WriteCount"):
                    self.span.sums[name] = self.span.sums.get(name, 0) + (whole(value) or 0)
                elif name == "FileSize":
                    self.span.sizes.add(whole(value))
            elif inside[-1:] == ["Bucket"]:
                self.bucket[name] = value
            else:
                self.span.values[name] = value
        elif name == "Bucket" and self.span is not None and inside[-1:] == ["Latency"]:
            self._point(self.span)
        elif name == "TimeSpan" and inside == ["Results"] and self.span is not None:
            self.spans.append(self.span)
            self.span = None
        self.path.pop()
        self.text = ""

    def _point(self, span: _Span) -> None:
        at = num(self.bucket.get("Percentile"))
        if at is None:
            return
        for kind, name in (("read", "ReadMilliseconds"), ("write", "WriteMilliseconds")):
            if (value := num(self.bucket.get(name))) is not None:
                span.points.setdefault(kind, {})[f"{at:.10g}"] = value * 1e6


def read(source: Source) -> Iterator[ImportedReading]:
    text, complete = source.text()
    if not complete:
        source.problem(0, f"only the first {TEXT_LIMIT >> 20} MiB of the XML were read")
    starts = [match.start() for match in _DOCUMENT.finditer(text)]
    line = 1
    position = 0
    for start, end in pairwise([*starts, len(text)]):
        line += text.count("\n", position, start)
        position = start
        finish = text.find("</Results>", start, end)
        yield from _document(source, text[start : finish + 10 if finish >= 0 else end], line)


def _document(source: Source, text: str, line: int) -> Iterator[ImportedReading]:
    reader = _Reader()
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        source.problem(
            line + error.lineno - 1, f"the XML is cut off or broken here: {expat.errors.messages.get(error.code, '?')}"
        )
    except _StopError as error:
        source.problem(line + reader.parser.CurrentLineNumber - 1, str(error))
    for place, span in enumerate(reader.spans):
        targets = [_target(record) for record in (reader.profile[place] if place < len(reader.profile) else [])]
        yield from _span(source, reader.system, span, targets, line)


def _target(record: dict[str, str]) -> Target:
    ratio = num(record.get("WriteRatio"))
    random = "Random" in record or record.get("RandomAccess") == "true"
    note = (
        f"{record['RandomRatio']}% random"
        if "RandomRatio" in record and record["RandomRatio"] not in ("0", "100")
        else ""
    )
    return Target(
        record.get("Path", ""),
        whole(record.get("BlockSize")),
        None if note else "random" if random else "sequential" if "StrideSize" in record else None,
        None if ratio is None else 100 - ratio,
        whole(record.get("RequestCount")),
        note,
    )


def _span(
    source: Source, system: dict[str, str], span: _Span, targets: list[Target], line: int
) -> Iterator[ImportedReading]:
    seconds = num(span.values.get("TestTimeSeconds"))
    if "Error" in span.values:
        source.problem(line + span.line - 1, f"DiskSpd reports: {span.values['Error'][:120]}")
        return
    if not seconds:
        source.problem(line + span.line - 1, "a time span without a test time")
        return
    fields, notes = common_fields(targets)
    for name, word in (("read", "Read"), ("write", "Write")):
        io_bytes, count = span.sums.get(f"{word}Bytes", 0), span.sums.get(f"{word}Count", 0)
        if not io_bytes and not count:
            continue
        mean = num(span.values.get(f"Average{word}Milliseconds"))
        points = span.points.get(name, {})
        listed = {at: value for at, value in points.items() if at in _POINTS}
        yield reading(
            source,
            line + span.line - 1,
            "diskspd",
            tool_version=system.get("Version"),
            label="; ".join(target.path for target in targets)[:300] or None,
            direction=name,
            **fields,
            size_bytes=next(iter(span.sizes)) if len(span.sizes) == 1 else None,
            numjobs=whole(span.values.get("ThreadCount")),
            iops=count / seconds,
            bw_bytes_per_s=io_bytes / seconds,
            mean=times(mean, 1e6),
            p99=points.get("99"),
            host=system.get("ComputerName"),
            runtime_seconds=seconds,
            io_bytes=io_bytes,
            notes=(*notes, "rates are bytes and I/Os of all threads over the test time"),
            details={
                "total_ios": count,
                "latency_percentiles_ns": listed or None,
                "lat_stddev_ns": times(num(span.values.get(f"{word}LatencyStdev")), 1e6),
                "iops_stddev": num(span.values.get(f"{word}IopsStdDev")),
            },
        )
