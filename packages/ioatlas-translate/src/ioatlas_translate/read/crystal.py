# SPDX-License-Identifier: Apache-2.0
"""CrystalDiskMark (2 to 9) and KDiskMark text results. MB/s are 10^6 bytes, as the text itself says; KB and MB of test
sizes are binary.

CrystalDiskMark shows the best of its test count; KDiskMark the mean in its default profile and the best in the others
(as its `Benchmark::startTest` has it); `(x5)` says how many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate.read.kit import Said, compiled, figure, reading, runs, rw_of, size_bytes, times, whole
from ioatlas_translate.read.source import Source

_LINES = compiled(
    r".*?(?P<title>CrystalDiskMark) (?P<version>\d[\w.]*)",
    r".*?(?P<title>KDiskMark) \((?P<version>[\w.+-]+)\)",
    r"(?i)^\s*\[(?P<section>Read|Write|Mix)\](?:\s*Read\s+(?P<mix>\d+)%)?",
    r"(?i)^\s*(?P<order>SEQ|RND|Sequential|Random)\w*\s+(?P<bs>\d+\s?[KM])iB \((?P<depth>Q=\s*\d+, ?T=\s*\d+)\)\s*:"
    r"\s*(?P<rate>[\d.,]+) MB/s(?P<rest>.*)$",
    r"(?i)^\s*(?P<order>Sequential|Random)\s+(?P<way>Read|Write)\s*(?:(?P<bs>\d+\s?[KM])i?B)?\s*(?:\((?P<depth>[^)]*)\))?"
    r"\s*:\s*(?P<rate>[\d.,]+) MB/s(?P<rest>.*)$",
    r".*?\* MB/s = (?P<megabyte>[\d,]+) bytes?/s",
    r"^\s*Test(?: Size)?\s*:\s*(?P<test>(?P<size>\d+(?:[.,]\d+)?\s*[KMGT])i?B\s*(?P<times>.*))$",
    r"^\s*(?P<name>Profile|Mode|Time|Date|OS|Comment|Target)\s*:\s*(?P<value>.*)$",
)
_FOOTER = ("test", "Profile", "Mode", "Time", "Date", "OS", "Comment", "Target")
_IOPS = re.compile(r"\[\s*([\d.,]+)\s*IOPS\]")
_LATENCY = re.compile(r"<\s*([\d.,]+)\s*(us|µs|μs|ms)\s*>")
_COUNT = re.compile(r"\(x(\d+)\)")
_DIRECTIONS = {"read": "read", "write": "write", "mix": "mixed"}


def read(source: Source) -> Iterator[ImportedReading]:
    for run in runs(source, _LINES, result="", begins="title", row="rate"):
        kdiskmark = run.get("title") == "KDiskMark"
        found = [one for row in run.rows if (one := _reading(source, run, row, kdiskmark)) is not None]
        if "title" in run and not found:
            source.problem(0, "a disk mark text without a result")
        yield from found


def _depth(text: str) -> tuple[int | None, int | None]:
    """`Q= 32,T= 1`, `T= 1`, `QD=32` or nothing."""
    queues = re.search(r"QD?=\s*(\d+)", text)
    threads = re.search(r"T=\s*(\d+)", text)
    return (whole(queues[1]) if queues else None), (whole(threads[1]) if threads else None)


def _reading(source: Source, run: Said, row: Said, kdiskmark: bool) -> ImportedReading | None:
    number, value = row.at["rate"], figure(row["rate"])
    direction = _DIRECTIONS.get((row["way"] if "way" in row.at else row.get("section", "")).lower())
    if direction is None:
        source.problem(number, "a result before any [Read] or [Write] heading")
        return None
    if not value:
        source.problem(number, "a test that was not run: 0 MB/s", lost=False)
        return None
    mixed, random = direction == "mixed", row["order"][0].upper() == "R"
    iops, latency = _IOPS.search(row["rest"]), _LATENCY.search(row["rest"])
    rate, block = figure(iops[1]) if iops else None, size_bytes(f"{row['bs']}iB") if "bs" in row.at else None
    megabyte = run.num("megabyte") or 1e6
    bw = times(value, megabyte)
    notes = [f"MB/s are {megabyte:.0f} bytes"]
    if mixed:
        how = "weighted by their share, as KDiskMark does" if kdiskmark else "together"
        notes.append(f"reads and writes {how}")
    if kdiskmark and rate and block and bw and 1.02 < rate * block / bw < 1.028:
        notes.append("I/Os times block size are 1.024 times this: KDiskMark divides fio's KiB/s by 1000")
    if "size" in run:
        notes.append("test size is binary")
    queues, threads = _depth(row["depth"] if "depth" in row.at else "")
    count = _COUNT.search(run.get("times", ""))
    n = whole(count[1]) if count else None
    footer = {name.lower(): run[name][:200] for name in _FOOTER if name in run}
    return reading(
        source,
        number,
        "kdiskmark" if kdiskmark else "crystaldiskmark",
        tool_version=run.get("version"),
        label=footer.get("comment") or footer.get("target") or footer.get("profile"),
        direction=direction,
        rw=rw_of(direction, random=random),
        rwmixread=row.num("mix") if mixed else None,
        bs_bytes=block,
        size_bytes=size_bytes(f"{run['size']}iB") if "size" in run else None,
        iodepth=queues,
        numjobs=threads,
        iops=rate,
        bw_bytes_per_s=bw,
        mean=times(figure(latency[1]), 1e6 if latency[2] == "ms" else 1e3) if latency else None,
        latency="completion" if kdiskmark else "total",
        statistic=_statistic(n, footer.get("profile", ""), kdiskmark),
        n=n,
        notes=notes,
        details=footer,
    )


def _statistic(n: int | None, profile: str, kdiskmark: bool) -> str:
    if n is None or (kdiskmark and n > 1 and not profile):
        return "unknown"
    if n == 1:
        return "single"
    return f"mean of {n}" if kdiskmark and profile.startswith("Default") else f"best of {n}"
