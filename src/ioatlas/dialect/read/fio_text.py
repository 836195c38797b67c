# SPDX-License-Identifier: Apache-2.0
"""fio's normal text output, versions 1.x to 3.x.

Units follow the version's own habit: up to 2.1x `KB/s` and `MB` are binary (kb_base=1024); since 2.2x fio prints
`MiB/s` for binary and `MB/s` for decimal. Rates and sizes are rounded as printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ioatlas.dialect.read.fio_options import fio_size
from ioatlas.dialect.read.numbers import num, whole
from ioatlas.dialect.read.source import Source
from ioatlas.model.foreign import ForeignReading

SIGNATURE = re.compile(
    r"^(?:<[^>\n]{1,200}> ?)?[^\n]{0,400}\(groupid=\d+, jobs=\d+\): err=|^[ \t]*(?:READ|WRITE|TRIM|MIXED): (?:bw=[\d.]+\s?[kKMGT]?i?B/s|io=[\d.]+\w+, aggrb=)",
    re.MULTILINE,
)
_GROUP = re.compile(
    r"^\s*(READ|WRITE|TRIM|MIXED): (?:bw=([\d.]+\s?[kKMGTP]?i?B/s)(?:.*?\bio=([\d.]+\s?[kKMGTP]?i?B)\b)?(?:.*?\brun=\d+-(\d+)msec)?"
    r"|io=([\d.]+\s?\w+), aggrb=([\d.]+\s?[\w/]+)(?:.*?\bmaxt=(\d+)msec)?)"
)
"""The sum over a group of jobs in fio's last lines."""
_HOST = re.compile(r"^<([^>]{1,200})> ?")
_SETUP = re.compile(r"^\s*(.{1,300}?): \(g=(\d+)\): rw=(\w+), (?:odir=\d+, )?bs=(.*?), ioengine=([\w.+-]+), iodepth=(\d+)")
_JOB = re.compile(r"^(.{0,400}): \(groupid=(\d+), jobs=(\d+)\): err=\s*(\d+)(?:[^\n]{0,200}?\bpid=(\d+))?")
_OLD = re.compile(
    r"^\s*(read|write|trim|mixed)\s*: io=\s*([\d.]+\s?\w*), bw=\s*([\d.]+\s?[\w/]*), iops=\s*([\d.]+[kKMG]?)\s*,\s*runt=\s*(\d+)\s*msec"
)
_NEW = re.compile(
    r"^\s*(read|write|trim|mixed): IOPS=\s*([\d.]+[kKMGT]?), BW=\s*([\d.]+\s?[kKMGTP]?i?B/s)"
    r"(?: \([\d.]+\s?[kKMGTP]?i?B/s\))?\s*\(([\d.]+\s?[kKMGTP]?i?B)/(\d+)(msec|sec)\)"
)
_LAT = re.compile(
    r"^\s*(slat|clat|lat)\s*\((nsec|usec|msec|sec)\s*\): min=\s*([\d.]+)\s*([kKMG]?)\s*, max=\s*([\d.]+)\s*([kKMG]?)\s*, avg=\s*([\d.]+)\s*, stdev=\s*([\d.]+)"
)
_PERCENTILES = re.compile(r"^\s*(clat|lat|slat)?\s*percentiles \((nsec|usec|msec|sec)\)")
_POINT = re.compile(r"([\d.]+)th=\[\s*(\d+)\s*\]")
_ISSUED = re.compile(r"issued\s+(?:rwtsz?|rwt)?\s*: total=(?:r=)?(\d+)[,/](?:w=)?(\d+)[,/](?:d=)?(\d+)")
_VERSION = re.compile(r"^\s*(fio[ -]\d[\w.+-]*)\s*$")
_NS = {"nsec": 1, "usec": 1_000, "msec": 1_000_000, "sec": 1_000_000_000}
_SI = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_QUANTITY = re.compile(r"^([\d.]+)\s?([kKMGTP]?)(i?)B(?:/s)?$")
_RW = {"readwrite": "rw"}
_MOST_JOBS = 10_000


def _bytes(text: str, *, old: bool) -> float | None:
    """Bytes (or bytes a second). `old`: KB is 1024."""
    match = _QUANTITY.match(text.strip())
    if match is None:
        return None
    value = num(match[1])
    base = 1024 if old or match[3] else 1000
    return None if value is None else value * base ** " KMGTP".index(match[2].upper() or " ")


def _count(text: str) -> float | None:
    value = num(text.rstrip("kKMGT"))
    return None if value is None else value * _SI[text[-1] if text[-1:] in _SI and text[-1:].isalpha() else ""]


def _block_sizes(text: str) -> dict[str, int | None]:
    """`bs=` of the set-up line: `4K-4K/4K-4K`, `4096B-4096B,...`, `(R) 4096B-4096B, (W) ...`; None for a range."""
    named = re.findall(r"\(([RWT])\)\s*([\d.]+\w*)-([\d.]+\w*)", text)
    parts = named or [(" RWT"[i + 1], *pair) for i, pair in enumerate(re.findall(r"([\d.]+\w*)-([\d.]+\w*)", text)[:3])]
    names = {"R": "read", "W": "write", "T": "trim"}
    found: dict[str, int | None] = {}
    for letter, low, high in parts:
        # the set-up line is printed by fio, not read by it: KiB means 1024 there; sizes are multiples of 512, so `16.0KiB` and `4.5KiB` are not rounded
        exact = re.fullmatch(r"(\d+)(\.[05])?([kKMG])(?:iB|B)?", low)
        if low == high and exact:
            found[names[letter]] = int(float(exact[1] + (exact[2] or "")) * 1024 ** (" KMG".index(exact[3].upper())))
        elif low == high and "." not in low:
            found[names[letter]] = fio_size(low.removesuffix("B"))
    if len(set(found.values())) == 1 and len(found) == len(parts) and parts:
        found["mixed"] = next(iter(found.values()))
    return found


@dataclass
class _Setup:
    rw: str
    bs: dict[str, int | None]
    engine: str
    iodepth: int | None


@dataclass
class _Part:
    line: int
    direction: str
    iops: float | None
    bw: float | None
    io_bytes: float | None
    runtime: float | None
    old: bool
    lat: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    percentiles: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass
class _Job:
    name: str
    group: int
    jobs: int | None
    error: int
    host: str | None
    line: int
    setup: _Setup | None
    version: str | None
    parts: list[_Part] = field(default_factory=list)
    issued: tuple[int, int, int] | None = None
    ended: bool = False
    pid: str | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """The same for the reports that --status-interval prints of one job; its own where no process number is printed."""
        return (self.host, self.name, self.group, self.jobs, self.pid or f"line {self.line}")

    def goes_on(self, before: _Job) -> bool:
        """Whether this report counts from the same start as `before`, which then says nothing more."""
        earlier = {part.direction: part for part in before.parts}
        return all(
            part.direction in earlier and (part.runtime or 0) >= (earlier[part.direction].runtime or 0) for part in self.parts
        ) and len(self.parts) >= len(before.parts)


class _Jobs:
    """Jobs in the order of their last reports; of several reports of one run only the last is a result."""

    def __init__(self) -> None:
        self.waiting: dict[tuple[object, ...], _Job] = {}
        self.interim: _Job | None = None
        self.left_out = 0
        self.any = False

    def add(self, job: _Job) -> Iterator[_Job]:
        """Takes one more, and gives back what cannot be continued or is too much to keep."""
        self.any = True
        before = self.waiting.pop(job.key, None)
        if before is not None and job.goes_on(before):
            self.interim = self.interim or before
            self.left_out += 1
        elif before is not None:
            yield before
        self.waiting[job.key] = job
        if len(self.waiting) > _MOST_JOBS:
            yield self.waiting.pop(next(iter(self.waiting)))

    def rest(self, source: Source) -> Iterator[_Job]:
        yield from self.waiting.values()
        if self.interim is not None:
            what = f"{self.left_out} interim status reports of jobs left out; the last one of each holds all"
            source.problem(self.interim.line, what, lost=False)


def read(source: Source) -> Iterator[ForeignReading]:
    setups: dict[str, _Setup] = {}
    version: str | None = None
    job: _Job | None = None
    jobs = _Jobs()
    groups: list[tuple[int, re.Match[str]]] = []
    kind, unit = "", 1
    for number, whole_line in source.lines():
        line, host = whole_line, None
        if match := _HOST.match(line):
            host, line = match[1], line[match.end() :]
        if match := _VERSION.match(line):
            version = match[1].replace("fio ", "").removeprefix("fio-")
        elif match := _SETUP.match(line):
            rw = _RW.get(match[3], match[3])
            setups[match[1]] = _Setup(rw, _block_sizes(match[4]), match[5], whole(match[6]))
            if len(setups) > 10_000:
                setups.clear()
        elif match := _JOB.match(line):
            for found in jobs.add(job) if job is not None else ():
                yield from _finish(source, found)
            name = match[1].strip()
            job = _Job(name, int(match[2][:9]), whole(match[3]), int(match[4][:9]), host, number, setups.get(name), version, pid=match[5])
        elif job is None:
            if not jobs.any and len(groups) < _MOST_JOBS and (match := _GROUP.match(line)):
                groups.append((number, match))
            continue
        elif line.lstrip().startswith(("Run status group", "All clients:")):
            for found in jobs.add(job):
                yield from _finish(source, found)
            job = None
        elif part := _direction(line, number):
            job.parts.append(part)
        elif job.parts and (match := _LAT.match(line)):
            factor = _NS[match[2]]
            low, high = num(match[3]), num(match[5])
            mean, dev = num(match[7]), num(match[8])
            if None not in (low, high, mean, dev):
                job.parts[-1].lat[match[1]] = (
                    (low or 0) * _SI[match[4]] * factor, (high or 0) * _SI[match[6]] * factor, (mean or 0) * factor, (dev or 0) * factor,
                )  # fmt: skip
        elif job.parts and (match := _PERCENTILES.match(line)):
            kind, unit = match[1] or "clat", _NS[match[2]]
        elif job.parts and kind and line.lstrip().startswith("|"):
            for percent, value in _POINT.findall(line):
                if (at := num(percent)) is not None and (latency := num(value)) is not None:
                    job.parts[-1].percentiles.setdefault(kind, {})[f"{at:g}"] = latency * unit
        elif line.lstrip().startswith("issued"):
            job.ended = True
            if match := _ISSUED.search(line):
                job.issued = (int(match[1][:18]), int(match[2][:18]), int(match[3][:18]))
    if job is not None:
        if job.parts and not job.ended:
            source.problem(job.line, f"the text of job {job.name[:60]!r} is cut off")
        for found in jobs.add(job):
            yield from _finish(source, found)
    for found in jobs.rest(source):
        yield from _finish(source, found)
    for number, match in groups if not jobs.any else ():
        yield _group(source, number, match, version)


def _group(source: Source, number: int, match: re.Match[str], version: str | None) -> ForeignReading:
    """Fio's sum over a group, where somebody kept only these lines of its output."""
    old = match[5] is not None
    seconds = num(match[7] if old else match[4])
    moved = _bytes(match[5] if old else match[3], old=old) if old or match[3] else None
    return ForeignReading(
        source.name, number, "fio", tool_version=version, direction=match[1].lower(), bw_bytes_per_s=_bytes(match[6] if old else match[2], old=old), n=1,
        runtime_seconds=None if seconds is None else seconds / 1000, io_bytes=None if moved is None else round(moved),
        notes=("sum over all jobs of a group: only fio's last lines are in the file", "KB and MB of this fio version are binary (1024)" if old else "figures rounded as printed"),
    )  # fmt: skip


def _direction(line: str, number: int) -> _Part | None:
    if match := _NEW.match(line):
        scale = 1.0 if match[6] == "sec" else 1e-3
        seconds = num(match[5])
        return _Part(
            number,
            match[1],
            _count(match[2]),
            _bytes(match[3], old=False),
            _bytes(match[4], old=False),
            None if seconds is None else seconds * scale,
            old=False,
        )
    if match := _OLD.match(line):
        # 2.2x already wrote KiB/s in the old layout; a unit without i is binary here
        milliseconds = num(match[5])
        return _Part(
            number,
            match[1],
            _count(match[4]),
            _bytes(match[3], old=True),
            _bytes(match[2], old=True),
            None if milliseconds is None else milliseconds / 1000,
            old=True,
        )
    return None


def _finish(source: Source, job: _Job) -> Iterator[ForeignReading]:
    if job.name == "All clients":
        return
    notes: list[str] = []
    if job.error:
        notes.append(f"errors is fio's error code {job.error}, not a count")
    common: dict[str, Any] = {
        "tool": "fio",
        "tool_version": job.version,
        "label": job.name,
        "rw": job.setup.rw if job.setup else None,
        "numjobs": job.jobs,
        "iodepth": job.setup.iodepth if job.setup else None,
        "errors": job.error,
        "n": 1,
        "host": job.host,
    }
    if not job.parts:
        if job.error:
            yield ForeignReading(source.name, job.line, **common, notes=(*notes, "no I/O was measured"))
        else:
            source.problem(job.line, f"job {job.name[:60]!r} has no figures")
        return
    for part in job.parts:
        kinds = [kind for kind in ("lat", "clat") if kind in part.lat]
        points = [(kind, part.percentiles[kind]["99"]) for kind in ("lat", "clat") if "99" in part.percentiles.get(kind, {})]
        names = {"lat": "total", "clat": "completion"}
        details: dict[str, Any] = {"groupid": job.group}
        for kind, (low, high, mean, dev) in part.lat.items():
            details |= {f"{kind}_min_ns": low, f"{kind}_max_ns": high, f"{kind}_mean_ns": mean, f"{kind}_stddev_ns": dev}
        for kind, listed in part.percentiles.items():
            details[f"{kind}_percentiles_ns"] = listed
        if job.setup:
            details["ioengine"] = job.setup.engine
        if job.issued and part.direction in ("read", "write", "trim"):
            details["total_ios"] = job.issued[("read", "write", "trim").index(part.direction)]
        units = "KB and MB of this fio version are binary (1024)" if part.old else "figures rounded as printed"
        yield ForeignReading(
            source.name,
            part.line,
            **common,
            direction=part.direction,
            bs_bytes=job.setup.bs.get(part.direction) if job.setup else None,
            iops=part.iops,
            bw_bytes_per_s=part.bw,
            lat_mean_ns=part.lat[kinds[0]][2] if kinds else None,
            lat_p99_ns=points[0][1] if points else None,
            lat_kind=names[kinds[0]] if kinds else None,
            lat_p99_kind=names[points[0][0]] if points else None,
            runtime_seconds=part.runtime,
            io_bytes=None if part.io_bytes is None else round(part.io_bytes),
            notes=(*notes, units),
            details=details,
        )
