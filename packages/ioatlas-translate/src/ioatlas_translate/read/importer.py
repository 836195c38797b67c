# SPDX-License-Identifier: Apache-2.0
"""Result files of any known tool as imported readings. Formats are recognised by content, never by name.

A file may hold several formats (a log of a whole evening): each reader whose signature is found gets all its lines and
ignores what is not its own.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from itertools import chain
from operator import mul
from typing import Any

from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.units import words
from ioatlas_translate.read import fio_json
from ioatlas_translate.read.formats import FORMATS, LOGS, TOOLS, Format, told_of
from ioatlas_translate.read.kit import noted
from ioatlas_translate.read.source import Source

SCAN_BYTES = 4 << 20
"""How much of a file is searched for signatures at a time."""
SCAN_LIMIT = 512 << 20
_MOST_TOLD = 4
_DAY_FORMS = ("%a %b %d %Y", "%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y")
_DATES = re.compile(
    r"\b([A-Z][a-z]{2} [A-Z][a-z]{2} {1,2}\d{1,2}) \d\d:\d\d:\d\d (\d{4})\b"
    r"|\b(\d{4}[-/]\d\d[-/]\d\d|\d\d/\d\d/\d{4})[ T]\d\d:\d\d:\d\d"
)
_TOO_SMALL = "{} printed as 0: less than the tool has digits for"
_PASTED_LIMIT = 1 << 20
"""Characters of a text that is searched for results with a margin."""
_WORKBOOKS = (b"\x09\x00\x04\x00", b"\x09\x02\x06\x00", b"\x09\x04\x06\x00", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
_CODE = (b"\x7fELF", b"MZ\x90", b"!<arch>", b"\xca\xfe\xba\xbe", b"PK\x03\x04", b"%PDF", b"\x89PNG", b"SQLite format 3")
_NOT_TEXT = (*_CODE, *_WORKBOOKS)
_PACKERS = {b"\x28\xb5\x2f\xfd": "zstd", b"7z\xbc\xaf\x27\x1c": "7-Zip", b"Rar!": "RAR", b"\x04\x22\x4d\x18": "lz4"}
_FAILURES = (
    ValueError,
    LookupError,
    ArithmeticError,
    RecursionError,
    TypeError,
    AttributeError,
    AssertionError,
    MemoryError,
)
_FIO_LAYOUTS = frozenset({"fio JSON", "fio terse", "fio text"})


def formats_of(source: Source) -> list[Format]:
    """Every format whose signature is found; the search stops at the first stretch of the file in which one is."""
    head = source.head(16)
    if head.startswith(_NOT_TEXT):  # a benchmark's own program holds the words of its results
        return []
    text, complete = source.text(SCAN_BYTES)
    found = _matches(text)
    for log in LOGS:
        if not found and log.found_in(text):
            return [log]
    return found if found or complete else _search_on(source)


def _matches(text: str) -> list[Format]:
    pasted = len(text) <= _PASTED_LIMIT
    margins = {item.name: item.margin_in(text) if pasted else None for item in FORMATS}
    found = [
        replace(item, margin=margins[item.name])
        for item in FORMATS
        if margins[item.name] is not None or item.found_in(text)
    ]
    names = {item.name for item in found}
    # a vdbench summary names its histogram only by a link; the histogram file repeats the run definitions
    return [
        item
        for item in found
        if not (item.name == "vdbench" and "vdbench histogram" in names and not _has_vdbench_rows(text))
    ]


def _has_vdbench_rows(text: str) -> bool:
    return re.search(r"^.{0,80}?\b\d\d:\d\d:\d\d[.,]\d{3}\s+avg_", text, re.MULTILINE) is not None


def _search_on(source: Source) -> list[Format]:
    """The rest of a large file, a stretch of lines at a time."""
    lines: list[str] = []
    size = total = 0
    for _, line in source.lines():
        lines.append(line)
        size += len(line) + 1
        if size >= SCAN_BYTES:
            total += size
            if found := _matches("\n".join(lines)):
                return found
            lines, size = lines[-20:], 0
            if total > SCAN_LIMIT:
                source.problem(0, f"no known format in the first {SCAN_LIMIT >> 20} MiB; the rest was not searched")
                return []
    return _matches("\n".join(lines))


def read_source(source: Source) -> Iterator[ImportedReading]:
    """All readings of one file. What could not be read is in `source.problems`; nothing is raised for bad content."""
    with noted() as no_figures:
        source.small()  # reads a small file once, for its head too
        day = _day_in(source.head(4 << 10).decode("latin-1"))
        yield from (_finished(one, {"measured": day} if day else {}) for one in _whole_jobs(_readings(source)))
    if no_figures:
        told = ", ".join(list(dict.fromkeys(no_figures))[:_MOST_TOLD])
        source.problem(0, f"not taken as figures ({len(no_figures)}): {told}; not a number, without bound, or negative")


def _day_in(text: str) -> str | None:
    """The first day with a time of day in a text, as tools write when they began."""
    match = _DATES.search(text)
    return _day(" ".join(filter(None, match.groups()))) if match else None


@lru_cache(maxsize=1024)
def _day(text: str) -> str | None:
    for form in _DAY_FORMS:
        with suppress(ValueError):
            return datetime.strptime(text, form).date().isoformat()  # noqa: DTZ007 - the zone is not told
    return None


def _whole_jobs(readings: Iterable[ImportedReading]) -> Iterator[ImportedReading]:
    """The readings, those of the processes of one fio job (`numjobs` without `group_reporting`) as one of the job."""
    shares: dict[tuple[object, ...], list[ImportedReading]] = {}
    for one in readings:
        if "entries" not in one.details:
            yield one
            continue
        parts = shares.setdefault((one.label, one.direction, one.host, one.details.get("groupid")), [])
        parts.append(one)
        if len(parts) == one.numjobs == one.details["entries"]:
            yield _sum(parts)
            parts.clear()
    for one in chain.from_iterable(shares.values()):
        note = f"one of {one.details['entries']} entries of this job: the figures are this entry's share"
        yield replace(one, notes=(note, *one.notes))


def _sum(parts: Sequence[ImportedReading]) -> ImportedReading:
    """What processes that ran at once did together: latencies are weighted by I/Os, of percentiles the highest."""
    first = parts[0]

    def figures(name: str) -> list[Any]:
        found = [one.details.get(name) if name in _IN_DETAILS else getattr(one, name) for one in parts]
        return [] if None in found else found

    def mean(name: str) -> float | None:
        weights, values = figures("iops"), figures(name)
        return sum(map(mul, weights, values)) / sum(weights) if values and any(weights) else None

    details = {name: value for name, value in first.details.items() if not name.endswith(("_ns", "_stddev", "_per_s"))}
    details |= {"total_ios": sum(figures("total_ios")) or None, "clat_mean_ns": mean("clat_mean_ns")}
    return replace(
        first,
        iops=sum(figures("iops")) or None,
        bw_bytes_per_s=sum(figures("bw_bytes_per_s")) or None,
        io_bytes=sum(figures("io_bytes")) or None,
        lat_mean_ns=mean("lat_mean_ns"),
        lat_p99_ns=max(figures("lat_p99_ns"), default=None),
        errors=sum(figures("errors")),
        runtime_seconds=max(figures("runtime_seconds"), default=None),
        notes=(f"the {len(parts)} entries of this job together; p99 is the highest of them", *first.notes),
        details=details,
    )


_IN_DETAILS = frozenset({"total_ios", "clat_mean_ns"})
_UNITS = {tool.lower(): units for tool, units in TOOLS.items() if units}
_DIRECT = {
    "iozone": r"(?:^|\s)-I\b|O_DIRECT",
    "diskspd": r"(?:^|\s)[-/](?:Sh|Su\w*|h|S)(?=\s|$)",
    "elbencho": r"--direct\b",
    "ior": r"\s-B\b|--posix\.odirect",
}
"""What a tool's command line or its list of settings says where it passes the client's page cache by."""


def _finished(reading: ImportedReading, told: Mapping[str, Any]) -> ImportedReading:
    """A reading with what its file told, what its tool's units mean, and whether the page cache was passed by where
    that follows.
    """
    added = {**told, "units": _UNITS[reading.tool]} if reading.tool in _UNITS else dict(told)
    if reading.details.get("direct") is None and (direct := _direct(reading)) is not None:
        added["direct"] = direct
    reading = replace(reading, details={**reading.details, **added}) if added else reading
    return _without_zeros(reading)


def _direct(reading: ImportedReading) -> bool | None:
    details = reading.details
    if reading.tool == "fio":  # which prints every option that was given: without `direct` it was the default
        return False if "ioengine" in details or "filename" in details else None
    told = " ".join((str(details.get("command") or ""), *map(str, details.get("settings") or ())))
    return re.search(_DIRECT[reading.tool], told) is not None if told.strip() and reading.tool in _DIRECT else None


def _without_zeros(reading: ImportedReading) -> ImportedReading:
    """A rate printed as 0 beside one that is not is below the digits that the tool prints."""
    bw, iops = reading.bw_bytes_per_s, reading.iops
    if bw == 0 and iops:
        return replace(reading, bw_bytes_per_s=None, notes=(*reading.notes, _TOO_SMALL.format("bandwidth")))
    if iops == 0 and bw:
        return replace(reading, iops=None, notes=(*reading.notes, _TOO_SMALL.format("IOPS")))
    return reading


def _readings(source: Source) -> Iterator[ImportedReading]:
    found = fio_json.read_whole(source)
    if found is not None:
        yield from found
        return
    formats = formats_of(source)
    source.passed_over = next((item.passed_over for item in formats if item.is_told_beside(source)), "")
    if source.passed_over:
        return
    if not formats:
        if not source.problems:
            told = None if source.head(16).startswith(_NOT_TEXT) else told_of(source.text(SCAN_BYTES)[0])
            source.passed_over = "of no known format"
            source.problem(0, told or _unpacked_first(source) or "no known result format", lost=told is None)
        return
    layouts = [item for item in formats if item.name in _FIO_LAYOUTS]
    if len(layouts) > 1:
        yield from _one_of_each(source, layouts)
        formats = [item for item in formats if item not in layouts]
    for item in formats:
        yield from guarded(source, item)


def _unpacked_first(source: Source) -> str | None:
    head = source.head(8)
    if head.startswith(_WORKBOOKS):
        return "a workbook, which is not read: import what IOzone printed beside it"
    packer = next((name for magic, name in _PACKERS.items() if head.startswith(magic)), None)
    return packer and f"packed by {packer}, which is not read: unpack it first"


def guarded(source: Source, item: Format) -> Iterator[ImportedReading]:
    """A reader that meets something it was not made for keeps what it had read so far."""
    try:
        yield from item.read(source)
    except _FAILURES as error:
        source.problem(0, f"the {item.name} reader gave up: {type(error).__name__}: {error}")


def _one_of_each(source: Source, layouts: Iterable[Format]) -> Iterator[ImportedReading]:
    """Fio prints one run in several layouts when asked to: the most exact figure is kept, and what only another layout
    says is added.
    """
    kept: dict[tuple[object, ...], ImportedReading] = {}
    for item in layouts:
        again: dict[tuple[object, ...], int] = {}
        for reading in guarded(source, item):
            milliseconds = None if reading.runtime_seconds is None else round(reading.runtime_seconds * 1000)
            run: tuple[object, ...] = (reading.label, reading.direction, reading.host, milliseconds)
            again[run] = again.get(run, 0) + 1
            key = (*run, again[run])
            before = kept.get(key)
            if before is None:
                if len(kept) >= 100_000:
                    yield reading
                    continue
                kept[key] = reading
            else:
                added = {
                    name: getattr(reading, name)
                    for name in words(
                        "rw bs_bytes size_bytes numjobs iodepth rwmixread tool_version lat_mean_ns lat_p99_ns"
                    )
                    if getattr(before, name) is None and getattr(reading, name) is not None
                }
                note = f"the same run stands in line {reading.line} as {item.name}"
                kept[key] = replace(before, **added, notes=(*before.notes, note))
    yield from kept.values()


def walk(
    paths: Iterable[str], problems: list[str] | None = None, *, whole: Callable[[str], bool] = lambda _: False
) -> Iterator[tuple[str, str]]:
    """Files to read, in order; for each the folder that was named, empty where the file was itself. Symbolic links
    inside folders are not followed. Folders that cannot be read join `problems`. whole: folders that are one result,
    and not entered.
    """

    def unreadable(error: OSError) -> None:
        if problems is not None:
            problems.append(f"{error.filename}: cannot be read: {error.strerror}")

    for path in paths:
        if not os.path.isdir(path) or whole(path):  # noqa: PTH112 - a pathlib costs more than reading a small file
            yield path, ""
            continue
        for folder, folders, files in os.walk(path, onerror=unreadable, followlinks=False):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in list(folders):
                item = f"{folder.rstrip('/')}/{name}"
                if whole(item) and not os.path.islink(item):  # noqa: PTH114
                    folders.remove(name)
                    yield item, path
            for name in sorted(files):
                item = f"{folder.rstrip('/')}/{name}"
                if not name.startswith(".") and _is_regular(item, unreadable):
                    yield item, path


def _is_regular(path: str, unreadable: Callable[[OSError], None]) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError as error:  # the folder may be listed but not entered, or the file is gone
        unreadable(error)
        return False
