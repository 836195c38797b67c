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

from ioatlas.interop.read.fio_options import fio_size
from ioatlas.interop.read.numbers import num, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^(?:<[^>\n]{1,200}> ?)?[^\n]{0,400}\(groupid=\d+, jobs=\d+\): err="
    r"|^[ \t]*(?:READ|WRITE|TRIM|MIXED): (?:bw=[\d.]+\s?[kKMGT]?i?(?:B|bit)/s|io=[\d.]+\w+, aggrb=)",
    re.MULTILINE,
)
_GROUP = re.compile(
    r"^\s*(READ|WRITE|TRIM|MIXED): (?:bw=([\d.]+\s?[kKMGTP]?i?(?:B|bit)/s)"
    r"(?:.*?\bio=([\d.]+\s?[kKMGTP]?i?B)\b)?(?:.*?\brun=\d+-(\d+)msec)?"
    r"|io=([\d.]+\s?\w+), aggrb=([\d.]+\s?[\w/]+)(?:.*?\bmaxt=(\d+)msec)?)"
)
"""The sum over a group of jobs in fio's last lines."""
_HOST = re.compile(r"^<([^>]{1,200})> ?")
_SETUP = re.compile(
    r"^\s*(.{1,300}?): \(g=(\d+)\): rw=(\w+), (?:odir=\d+, )?bs=(.*?), ioengine=([\w.+-]+), iodepth=(\d+)"
)
_JOB = re.compile(r"^(.{0,400}): \(groupid=(\d+), jobs=(\d+)\): err=\s*(\d+)(?:[^\n]{0,200}?\bpid=(\d+))?")
_OLD = re.compile(
    r"^\s*(read|write|trim|mixed)\s*: io=\s*([\d.]+\s?\w*), bw=\s*([\d.]+\s?[\w/]*), iops=\s*([\d.]+[kKMG]?)\s*,"
    r"\s*runt=\s*(\d+)\s*msec"
)
_NEW = re.compile(
    r"^\s*(read|write|trim|mixed): IOPS=\s*([\d.]+[kKMGT]?), BW=\s*([\d.]+\s?[kKMGTP]?i?(?:B|bit)/s)"
    r"(?: \([\d.]+\s?[kKMGTP]?i?(?:B|bit)/s\))?\s*\(([\d.]+\s?[kKMGTP]?i?B)/(\d+)(msec|sec)\)"
)
_LAT = re.compile(
    r"^\s*(slat|clat|lat)\s*\((nsec|usec|msec|sec)\s*\): min=\s*([\d.]+)\s*([kKMG]?)\s*, max=\s*([\d.]+)\s*([kKMG]?)"
    r"\s*, avg=\s*([\d.]+)\s*, stdev=\s*([\d.]+)"
)
_PERCENTILES = re.compile(r"^\s*(clat|lat|slat)?\s*percentiles \((nsec|usec|msec|sec)\)")
_POINT = re.compile(r"([\d.]+)th=\[\s*(\d+)\s*\]")
_ISSUED = re.compile(r"issued\s+(?:rwtsz?|rwt)?\s*: total=(?:r=)?(\d+)[,/](?:w=)?(\d+)[,/](?:d=)?(\d+)")
_VERSION = re.compile(r"^\s*(fio[ -]\d[\w.+-]*)\s*$")
_NS = {"nsec": 1, "usec": 1_000, "msec": 1_000_000, "sec": 1_000_000_000}
_SI = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_QUANTITY = re.compile(r"^([\d.]+)\s?([kKMGTP]?)(i?)(B|bit)(?:/s)?$")
_RW = {"readwrite": "rw"}
_MOST_JOBS = 10_000
_FEW = 100
"""I/Os a second below which a cut fraction is over a hundredth."""
_KINDS = {"lat": "total", "clat": "completion"}
_UNITS = ("figures rounded as printed", "KB and MB of this fio version are binary (1024)")
"""Of newer and older versions."""


def _bytes(text: str, *, old: bool) -> float | None:
    """Bytes (or bytes a second), also where fio was told to print bits. `old`: KB is 1024."""
    match = _QUANTITY.match(text.strip())
    if match is None:
        return None
    value = num(match[1])
    base = 1024 if old or match[3] else 1000
    if value is None:
        return None
    factor: int = base ** " KMGTP".index(match[2].upper() or " ")
    return value * factor / (8 if match[4] == "bit" else 1)


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
        # the set-up line is printed by fio, not read by it: KiB means 1024 there; sizes are multiples of 512, so
        # `16.0KiB` and `4.5KiB` are not rounded
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
        """The same for the reports that --status-interval prints of one job; its own where no process number is
        printed.
        """
        return (self.host, self.name, self.group, self.jobs, self.pid or f"line {self.line}")

    def goes_on(self, before: _Job) -> bool:
        """Whether this report counts from the same start as `before`, which then says nothing more."""
        earlier = {part.direction: part for part in before.parts}
        return all(
            part.direction in earlier and (part.runtime or 0) >= (earlier[part.direction].runtime or 0)
            for part in self.parts
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


def read(source: Source) -> Iterator[ImportedReading]:
    text = _Text(source)
    for number, line in source.lines():
        yield from text.take(number, line)
    yield from text.end()


@dataclass
class _Text:
    """What of a text still has to be said when its next line is read."""

    source: Source
    setups: dict[str, _Setup] = field(default_factory=dict)
    version: str | None = None
    job: _Job | None = None
    jobs: _Jobs = field(default_factory=_Jobs)
    groups: list[tuple[int, re.Match[str]]] = field(default_factory=list)
    kind: str = ""
    """Of the percentiles that follow, in nanoseconds times `unit`."""
    unit: int = 1

    def take(self, number: int, line: str) -> Iterator[ImportedReading]:
        host = None
        if match := _HOST.match(line):
            host, line = match[1], line[match.end() :]
        if match := _VERSION.match(line):
            self.version = match[1].replace("fio ", "").removeprefix("fio-")
        elif match := _SETUP.match(line):
            rw = _RW.get(match[3], match[3])
            self.setups[match[1]] = _Setup(rw, _block_sizes(match[4]), match[5], whole(match[6]))
            if len(self.setups) > _MOST_JOBS:
                self.setups.clear()
        elif match := _JOB.match(line):
            yield from self.close()
            name, group, error = match[1].strip(), int(match[2][:9]), int(match[4][:9])
            setup = self.setups.get(name)
            self.job = _Job(name, group, whole(match[3]), error, host, number, setup, self.version, pid=match[5])
        elif self.job is not None:
            if line.lstrip().startswith(("Run status group", "All clients:")):
                yield from self.close()
            else:
                self._figures(self.job, number, line)
        elif not self.jobs.any and len(self.groups) < _MOST_JOBS and (match := _GROUP.match(line)):
            self.groups.append((number, match))

    def _figures(self, job: _Job, number: int, line: str) -> None:
        """A line inside a job."""
        if part := _direction(line, number):
            job.parts.append(part)
        elif job.parts and (match := _LAT.match(line)):
            factor = _NS[match[2]]
            low, high, mean, dev = (num(match[place]) for place in (3, 5, 7, 8))
            if low is not None and high is not None and mean is not None and dev is not None:
                low, high = low * _SI[match[4]], high * _SI[match[6]]
                job.parts[-1].lat[match[1]] = (low * factor, high * factor, mean * factor, dev * factor)
        elif job.parts and (match := _PERCENTILES.match(line)):
            self.kind, self.unit = match[1] or "clat", _NS[match[2]]
        elif job.parts and self.kind and line.lstrip().startswith("|"):
            for percent, value in _POINT.findall(line):
                if (at := num(percent)) is not None and (latency := num(value)) is not None:
                    job.parts[-1].percentiles.setdefault(self.kind, {})[f"{at:g}"] = latency * self.unit
        elif line.lstrip().startswith("issued"):
            job.ended = True
            if match := _ISSUED.search(line):
                job.issued = (int(match[1][:18]), int(match[2][:18]), int(match[3][:18]))

    def close(self) -> Iterator[ImportedReading]:
        """The job, if there is one, has no further line."""
        for job in self.jobs.add(self.job) if self.job is not None else ():
            yield from _finish(self.source, job)
        self.job = None

    def end(self) -> Iterator[ImportedReading]:
        if self.job is not None and self.job.parts and not self.job.ended:
            self.source.problem(self.job.line, f"the text of job {self.job.name[:60]!r} is cut off")
        yield from self.close()
        for job in self.jobs.rest(self.source):
            yield from _finish(self.source, job)
        for number, match in self.groups if not self.jobs.any else ():
            yield _group(self.source, number, match, self.version)


def _group(source: Source, number: int, match: re.Match[str], version: str | None) -> ImportedReading:
    """Fio's sum over a group, where somebody kept only these lines of its output."""
    old = match[5] is not None
    seconds = num(match[7] if old else match[4])
    moved = _bytes(match[5] if old else match[3], old=old) if old or match[3] else None
    return ImportedReading(
        source.name,
        number,
        "fio",
        tool_version=version,
        direction=match[1].lower(),
        bw_bytes_per_s=_bytes(match[6] if old else match[2], old=old),
        n=1,
        runtime_seconds=None if seconds is None else seconds / 1000,
        io_bytes=None if moved is None else round(moved),
        notes=(
            "sum over all jobs of a group: only fio's last lines are in the file",
            _UNITS[old],
        ),
    )


def _direction(line: str, number: int) -> _Part | None:
    if match := _NEW.match(line):
        old, second, (iops, rate, moved, spent) = False, 1.0 if match[6] == "sec" else 1e-3, match.group(2, 3, 4, 5)
    elif match := _OLD.match(line):
        # 2.2x already wrote KiB/s in the old layout; a unit without i is binary here
        old, second, (moved, rate, iops, spent) = True, 1e-3, match.group(2, 3, 4, 5)
    else:
        return None
    runtime = num(spent)
    seconds = None if runtime is None else runtime / 1000 if old else runtime * second
    return _Part(number, match[1], _count(iops), _bytes(rate, old=old), _bytes(moved, old=old), seconds, old)


def _uncut(iops: float | None, issued: int, seconds: float | None) -> float | None:
    """I/Os a second from the counts that fio cut to a whole number: `IOPS=3` are 3.98 where 80 took 20.1 s."""
    if iops is None or iops >= _FEW or not seconds or not float(iops).is_integer():
        return iops
    exact = issued / seconds
    return exact if iops <= exact < iops + 1 else iops


def _finish(source: Source, job: _Job) -> Iterator[ImportedReading]:
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
            yield ImportedReading(source.name, job.line, **common, notes=(*notes, "no I/O was measured"))
        else:
            source.problem(job.line, f"job {job.name[:60]!r} has no figures")
        return
    for part in job.parts:
        lat = next((kind for kind in _KINDS if kind in part.lat), None)
        p99 = next((kind for kind in _KINDS if "99" in part.percentiles.get(kind, {})), None)
        details: dict[str, Any] = {"groupid": job.group}
        for kind, figures in part.lat.items():
            names = (f"{kind}_{name}_ns" for name in ("min", "max", "mean", "stddev"))
            details |= dict(zip(names, figures, strict=True))
        for kind, listed in part.percentiles.items():
            details[f"{kind}_percentiles_ns"] = listed
        if job.setup:
            details["ioengine"] = job.setup.engine
        iops = part.iops
        if job.issued and part.direction in ("read", "write", "trim"):
            details["total_ios"] = job.issued[("read", "write", "trim").index(part.direction)]
            iops = _uncut(part.iops, details["total_ios"], part.runtime)
        yield ImportedReading(
            source.name,
            part.line,
            **common,
            direction=part.direction,
            bs_bytes=job.setup.bs.get(part.direction) if job.setup else None,
            iops=iops,
            bw_bytes_per_s=part.bw,
            lat_mean_ns=part.lat[lat][2] if lat else None,
            lat_p99_ns=part.percentiles[p99]["99"] if p99 else None,
            lat_kind=_KINDS[lat] if lat else None,
            lat_p99_kind=_KINDS[p99] if p99 else None,
            runtime_seconds=part.runtime,
            io_bytes=None if part.io_bytes is None else round(part.io_bytes),
            notes=(*notes, _UNITS[part.old]),
            details=details,
        )
