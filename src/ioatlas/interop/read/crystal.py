# SPDX-License-Identifier: Apache-2.0
"""CrystalDiskMark (2 to 9) and KDiskMark text results. MB/s are 10^6 bytes, as the text itself says; KB and MB of test
sizes are binary.

CrystalDiskMark shows the best of its test count; KDiskMark the mean in its default profile and the best in the others
(as its `Benchmark::startTest` has it); `(x5)` says how many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ioatlas.interop.read.numbers import KIB, figure, num, size_bytes, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^.{0,40}\bCrystalDiskMark \d|^.{0,60}\bKDiskMark \([\w.+-]+\)|^\s*(?:SEQ|RND)\s+\d+\s?[KM]iB \(Q="
    r"|^\s*(?:Sequential|Random)\s+\d+ [KM]iB \(Q=",
    re.MULTILINE,
)
_MOST_ROWS = 10_000
_TITLE = re.compile(r"(CrystalDiskMark) (\d[\w.]*)|(KDiskMark) \(([\w.+-]+)\)")
_SECTION = re.compile(r"^\s*\[(Read|Write|Mix)\](?:\s*Read\s+(\d+)%)?", re.IGNORECASE)
_NEW = re.compile(
    r"^\s*(SEQ|RND|Sequential|Random)\w*\s+(\d+)\s?([KM])iB \(Q=\s*(\d+), ?T=\s*(\d+)\)\s*:\s*([\d.,]+) MB/s(.*)$",
    re.IGNORECASE,
)
_OLD = re.compile(
    r"^\s*(Sequential|Random)\s+(Read|Write)\s*(?:(\d+)\s?([KM])i?B)?\s*(?:\(([^)]*)\))?\s*:\s*([\d.,]+) MB/s(.*)$",
    re.IGNORECASE,
)
_IOPS = re.compile(r"\[\s*([\d.,]+)\s*IOPS\]")
_LATENCY = re.compile(r"<\s*([\d.,]+)\s*(us|µs|μs|ms)\s*>")
_UNIT = re.compile(r"\* MB/s = ([\d,]+) bytes?/s")
_TEST = re.compile(r"^\s*Test(?: Size)?\s*:\s*(\d+(?:[.,]\d+)?)\s*([KMGT])(i?)B\s*(.*)$")
_COUNT = re.compile(r"\(x(\d+)\)")
_FOOTER = re.compile(r"^\s*(Profile|Mode|Time|Date|OS|Comment|Target)\s*:\s*(.*)$")


@dataclass
class _Run:
    tool: str = "crystaldiskmark"
    version: str | None = None
    title: bool = False
    megabyte: float = 1e6
    direction: str | None = None
    mix: float | None = None
    size: int | None = None
    count: int | None = None
    footer: dict[str, str] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)


def read(source: Source) -> Iterator[ImportedReading]:
    run = _Run()
    for number, line in source.lines():
        if match := _TITLE.search(line):
            if run.rows:
                yield from _finish(source, run)
            run = _Run("crystaldiskmark" if match[1] else "kdiskmark", match[2] or match[4], title=True)
        elif match := _SECTION.match(line):
            run.direction = {"read": "read", "write": "write", "mix": "mixed"}[match[1].lower()]
            run.mix = num(match[2]) if run.direction == "mixed" else None
        elif match := _NEW.match(line):
            block = int(match[2][:9]) * KIB * (KIB if match[3].upper() == "M" else 1)
            random = match[1].upper().startswith("R")
            _add(
                source, run, number, random, run.direction, block, whole(match[4]), whole(match[5]), match[6], match[7]
            )
        elif match := _OLD.match(line):
            random = match[1].lower() == "random"
            queues, threads = _depth(match[5] or "")
            size: int | None = (
                None if match[3] is None else int(match[3][:9]) * KIB * (KIB if match[4].upper() == "M" else 1)
            )
            _add(source, run, number, random, match[2].lower(), size, queues, threads, match[6], match[7])
        elif match := _UNIT.search(line):
            run.megabyte = num(match[1]) or 1e6
        elif match := _TEST.match(line):
            run.size = size_bytes(f"{match[1]}{match[2]}iB")
            count = _COUNT.search(match[4])
            run.count = whole(count[1]) if count else None
            run.footer["test"] = line.split(":", 1)[1].strip()[:120]
        elif match := _FOOTER.match(line):
            run.footer[match[1].lower()] = match[2].strip()[:200]
    yield from _finish(source, run)


def _depth(text: str) -> tuple[int | None, int | None]:
    """`Q= 32,T= 1`, `T= 1`, `QD=32` or nothing."""
    queues = re.search(r"QD?=\s*(\d+)", text)
    threads = re.search(r"T=\s*(\d+)", text)
    return (whole(queues[1]) if queues else None), (whole(threads[1]) if threads else None)


def _add(
    source: Source,
    run: _Run,
    number: int,
    random: bool,
    direction: str | None,
    size: int | None,
    queues: int | None,
    threads: int | None,
    rate: str,
    rest: str,
) -> None:
    iops, latency = _IOPS.search(rest), _LATENCY.search(rest)
    if direction is None:
        source.problem(number, "a result before any [Read] or [Write] heading")
        return
    mixed = direction == "mixed"
    value = figure(rate)
    if not value:
        source.problem(number, "a test that was not run: 0 MB/s", lost=False)
        return
    if len(run.rows) >= _MOST_ROWS:  # they wait for what stands below them: version, comment, profile
        source.problem(0, f"a disk mark text of more than {_MOST_ROWS} results; the rest was not read")
        return
    run.rows.append(
        {
            "line": number,
            "direction": direction,
            "rw": ("randrw" if random else "rw") if mixed else f"rand{direction}" if random else direction,
            "rwmixread": run.mix,
            "bs_bytes": size,
            "iodepth": queues,
            "numjobs": threads,
            "bw_bytes_per_s": times(value, run.megabyte),
            "iops": figure(iops[1]) if iops else None,
            "lat_mean_ns": times(figure(latency[1]), 1e6 if latency[2] == "ms" else 1e3) if latency else None,
        }
    )


def _finish(source: Source, run: _Run) -> Iterator[ImportedReading]:
    if run.title and not run.rows:
        source.problem(0, "a disk mark text without a result")
    for row in run.rows:
        fields = dict(row)
        line = fields.pop("line")
        notes = [f"MB/s are {run.megabyte:.0f} bytes"]
        kind = None
        if fields["lat_mean_ns"] is not None:
            kind = "completion" if run.tool == "kdiskmark" else "total"
        if fields["direction"] == "mixed":
            notes.append(
                "reads and writes weighted by their share, as KDiskMark does"
                if run.tool == "kdiskmark"
                else "reads and writes together"
            )
        if (
            run.tool == "kdiskmark"
            and fields["iops"]
            and fields["bs_bytes"]
            and 1.02 < fields["iops"] * fields["bs_bytes"] / fields["bw_bytes_per_s"] < 1.028
        ):
            notes.append("I/Os times block size are 1.024 times this: KDiskMark divides fio's KiB/s by 1000")
        if run.size is not None:
            notes.append("test size is binary")
        yield ImportedReading(
            source.name,
            line,
            run.tool,
            tool_version=run.version,
            label=run.footer.get("comment") or run.footer.get("target") or run.footer.get("profile"),
            **fields,
            size_bytes=run.size,
            lat_kind=kind,
            statistic=_statistic(run),
            n=run.count,
            notes=tuple(notes),
            details=dict(run.footer),
        )


def _statistic(run: _Run) -> str:
    if run.count is None:
        return "unknown"
    if run.count == 1:
        return "single"
    if run.tool == "kdiskmark":
        profile = run.footer.get("profile", "")
        return (
            f"mean of {run.count}"
            if profile.startswith("Default")
            else f"best of {run.count}"
            if profile
            else "unknown"
        )
    return f"best of {run.count}"
