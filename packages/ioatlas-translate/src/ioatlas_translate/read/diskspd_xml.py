# SPDX-License-Identifier: Apache-2.0
"""DiskSpd's XML results (-Rxml): one reading for each time span and direction, summed over threads and targets.

What is read begins with `<Results>`, so that no document type stands before it: there are no entities to expand. A time
span that is cut off is left out: its sums over threads would be too small.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.parsers import expat

from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.units import words
from ioatlas_translate.read.diskspd import Target, reading_of
from ioatlas_translate.read.kit import num, times, whole
from ioatlas_translate.read.source import TEXT_LIMIT, Source

_DOCUMENT = re.compile(r"<Results>")
_DEPTH_LIMIT = 64
_POINTS = words("0 1 5 25 50 75 90 95 99 99.9 99.99 99.999 100")
"""Percentiles that are kept."""


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
    for place, (number, root, span) in enumerate(_spans(source, text, line)):
        profile = [list(one.iterfind(".//Target")) for one in root.iterfind("Profile//TimeSpan")]
        targets = [_target(_texts(one)) for one in (profile[place] if place < len(profile) else [])]
        yield from _span(source, root, span, targets, number)


def _spans(source: Source, text: str, line: int) -> Iterator[tuple[int, Element, Element]]:
    """(line, document so far, time span) of each that is whole."""
    parser: Any = XMLPullParser(("start", "end"))
    within, begun = list[Element](), line
    try:
        for number, row in enumerate(io.StringIO(text), line):
            parser.feed(row)
            for event, element in parser.read_events():
                if event == "start":
                    within.append(element)
                    begun = number if len(within) == 2 else begun
                elif within.pop().tag == "TimeSpan" and len(within) == 1:
                    yield begun, within[0], element
                if len(within) > _DEPTH_LIMIT:
                    source.problem(number, "elements nested too deeply")
                    return
        parser.close()
    except ParseError as error:
        why = expat.errors.messages.get(error.code, "?")
        source.problem(line + error.position[0] - 1, f"the XML is cut off or broken here: {why}")


def _texts(*elements: Element) -> dict[str, str]:
    """What stands in elements and all inside them, by name; the first where there are several of one."""
    found: dict[str, str] = {}
    for element in elements:
        for leaf in element.iter():
            found.setdefault(leaf.tag, (leaf.text or "").strip()[:4096])
    return found


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


def _span(source: Source, root: Element, span: Element, targets: list[Target], line: int) -> Iterator[ImportedReading]:
    system, values = _texts(*root.iterfind("System")), _texts(*(part for part in span if part.tag != "Thread"))
    sizes = {whole(one.text) for one in span.iterfind("Thread//FileSize")}
    seconds = num(values.get("TestTimeSeconds"))
    if "Error" in values:
        source.problem(line, f"DiskSpd reports: {values['Error'][:120]}")
        return
    if not seconds:
        source.problem(line, "a time span without a test time")
        return
    for name, word in (("read", "Read"), ("write", "Write")):
        io_bytes, count = (
            sum(whole(one.text) or 0 for one in span.iterfind(f"Thread//{word}{what}")) for what in ("Bytes", "Count")
        )
        if not io_bytes and not count:
            continue
        points = _points(span, f"{word}Milliseconds")
        yield reading_of(
            source,
            line,
            targets,
            sizes,
            "rates are bytes and I/Os of all threads over the test time",
            tool_version=system.get("Version"),
            direction=name,
            numjobs=whole(values.get("ThreadCount")),
            iops=count / seconds,
            bw_bytes_per_s=io_bytes / seconds,
            mean=times(num(values.get(f"Average{word}Milliseconds")), 1e6),
            p99=points.get("99"),
            host=system.get("ComputerName"),
            runtime_seconds=seconds,
            io_bytes=io_bytes,
            details={
                "total_ios": count,
                "latency_percentiles_ns": {at: value for at, value in points.items() if at in _POINTS} or None,
                "lat_stddev_ns": times(num(values.get(f"{word}LatencyStdev")), 1e6),
                "iops_stddev": num(values.get(f"{word}IopsStdDev")),
            },
        )


def _points(span: Element, name: str) -> dict[str, float]:
    """Nanoseconds by percentile."""
    told = ((num(one.findtext("Percentile")), num(one.findtext(name))) for one in span.iterfind("Latency/Bucket"))
    return {f"{at:.10g}": value * 1e6 for at, value in told if at is not None and value is not None}
