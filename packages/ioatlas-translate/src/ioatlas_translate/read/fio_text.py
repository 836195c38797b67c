# SPDX-License-Identifier: Apache-2.0
"""fio's normal text output, versions 1.x to 3.x.

Units follow the version's own habit: up to 2.1x `KB/s` and `MB` are binary (kb_base=1024); since 2.2x fio prints
`MiB/s` for binary and `MB/s` for decimal. Of rates, bytes and time in one line the most precise is taken: figures are
rounded, and many versions lose the carry of a rounded fraction (17.96 is printed as 17.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate.read.fio_json import fio_size
from ioatlas_translate.read.kit import Meaning, agreed, latencies, num, per_second, printed, reading, whole
from ioatlas_translate.read.source import Source

_HOST = re.compile(r"^<([^>]{1,200})> ?")
_SETUP = re.compile(
    r"^\s*(.{1,300}?): \(g=(\d+)\): rw=(\w+), (?:odir=\d+, )?bs=(.*?), ioengine=([\w.+-]+), iodepth=(\d+)"
)
_JOB = re.compile(
    r"^(.{0,400}): \(groupid=(\d+), jobs=(\d+)\): err=\s*(\d+)"
    r"(?:[^\n]{0,200}?\bpid=(\d+)(?:: (\w{3} .{5,20}\d{4})\s*$)?)?"
)
_DIRECTION = re.compile(r"^\s*(read|write|trim|mixed|READ|WRITE|TRIM|MIXED)\s*: (.*)$")
"""A job's figures of one direction; in capitals the sum over a group of jobs, in fio's last lines."""
_AMOUNT = r"([\d.]+\s?[kKMGTP]?i?(?:B|bit)?)"
_NAMED = re.compile(rf"\b(iops|bw|aggrb|io)=\s*{_AMOUNT}(?:/s)?(?: \({_AMOUNT}(?:/s)?\))?(?=[\s,;(]|$)", re.IGNORECASE)
_TIMED = re.compile(rf"\({_AMOUNT}/(\d+)(msec|sec)\)")
_TIME = re.compile(r"\b(?:runt|maxt|run)=\s*(?:\d+-)?(\d+)\s*msec")
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
_QUANTITY = re.compile(r"^([\d.]+)\s?([kKMGTP]?)(i?)(B|bit)?$")
_RW = {"readwrite": "rw"}
_MOST_JOBS = 10_000
_CLOCK_SECONDS = 1.0
"""Of the times that fio prints."""
_KINDS = {"lat": "total", "clat": "completion"}
_UNITS = ("figures rounded as printed", "KB and MB of this fio version are binary (1024)")
"""Of newer and older versions."""


def _bytes(text: str | None, *, old: bool) -> list[Meaning]:
    """Bytes (or bytes a second), also where fio was told to print bits. `old`: KB is 1024."""
    match = _QUANTITY.match((text or "").strip())
    if match is None:
        return []
    base = 1024 if old or match[3] else 1000
    factor = base ** " KMGTP".index(match[2].upper() or " ") / (8 if match[4] == "bit" else 1)
    return printed(match[1], factor, lost_carry=True, cut=old and match[1].isdigit())


def _count(text: str) -> list[Meaning]:
    """I/Os a second, of which fio drops the fraction: `IOPS=3` are up to 3.99."""
    digits = text.rstrip("kKMGT")
    return printed(digits, _SI.get(text[len(digits) :], 1), lost_carry=True, cut=digits == text)


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
    """One direction of a job, or the sum over a group."""

    line: int
    direction: str
    iops: list[Meaning]
    bw: Meaning | None
    io_bytes: Meaning | None
    runtime: float | None
    old: bool
    alike: bool
    """Whether all figures of its line can be true."""
    lat: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    percentiles: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, Any]:
        """Of the reading."""
        return {
            "bw_bytes_per_s": self.bw.value if self.bw else None,
            "io_bytes": round(self.io_bytes.value) if self.io_bytes else None,
            "runtime_seconds": self.runtime,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        return (_UNITS[self.old], *(() if self.alike else (_UNLIKE,)))


_UNLIKE = "the figures of its line contradict each other"


@dataclass
class _Job:
    name: str | None = None
    group: int | None = None
    jobs: int | None = None
    error: int | None = None
    host: str | None = None
    line: int = 0
    setup: _Setup | None = None
    version: str | None = None
    parts: list[_Part] = field(default_factory=list)
    issued: tuple[int, int, int] | None = None
    ended: bool = False
    pid: str | None = None
    printed_at: float | None = None
    """When the report was printed, in seconds of the clock."""
    kind: str = ""
    """Of the percentiles that follow, in nanoseconds times `unit`."""
    unit: int = 1

    @property
    def key(self) -> tuple[object, ...]:
        """The same for the reports that --status-interval prints of one job; its own where no process number is
        printed.
        """
        return (self.host, self.name, self.group, self.jobs, self.pid or f"line {self.line}")

    @property
    def seconds(self) -> float:
        return max((part.runtime or 0 for part in self.parts), default=0)

    @property
    def began(self) -> float | None:
        return None if self.printed_at is None else self.printed_at - self.seconds

    @property
    def figures(self) -> list[tuple[object, ...]]:
        return [(part.direction, part.bw, part.runtime) for part in self.parts]

    def goes_on(self, before: _Job) -> bool:
        """Whether this report counts from the same start as `before`, which then says nothing more. Processes of one
        number may be of two containers: a run that began when the other had ended is another one.
        """
        earlier = {part.direction: part for part in before.parts}
        if len(self.parts) < len(before.parts) or self.setup is not before.setup:
            return False
        if self.began is not None and before.began is not None and self.figures != before.figures:
            later = self.began - before.began
            if later >= max(before.seconds / 2, _CLOCK_SECONDS):
                return False
        return all(
            part.direction in earlier and (part.runtime or 0) >= (earlier[part.direction].runtime or 0)
            for part in self.parts
        )


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
    open: dict[str | None, _Job] = field(default_factory=dict)
    """The job whose lines come, of each host: the hosts of a client may print at the same time."""
    waiting: dict[tuple[object, ...], _Job] = field(default_factory=dict)
    """Jobs in the order of their last reports; of several reports of one run only the last is a result."""
    interim: _Job | None = None
    """The first report that a later one holds; `left_out`: how many there are."""
    left_out: int = 0
    any: bool = False
    groups: list[_Part] = field(default_factory=list)

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
            yield from self.close(host)
            name, group, error = match[1].strip(), int(match[2][:9]), int(match[4][:9])
            job = _Job(name, group, whole(match[3]), error, host, number, self.setups.get(name), self.version)
            job.pid, job.printed_at = match[5] if match[5] != "0" else None, _clock(match[6])
            self.open[host] = job
        elif line.lstrip().startswith(("Run status group", "All clients:")):
            yield from self.close()
        elif match := _DIRECTION.match(line):
            self._direction(number, match, host)
        elif (inside := self.open.get(host) or self.open.get(None)) is not None:
            _figures(inside, line)

    def _direction(self, number: int, match: re.Match[str], host: str | None) -> None:
        part = _part(number, match[1].lower(), match[2])
        if self.source.unended(number) and (part is None or not part.runtime):
            self.source.problem(number, "the file ends inside this line, which was not used")
            return
        if part is None:
            return
        if not part.alike:
            self.source.problem(number, f"{_UNLIKE}; the most precise of most was taken", lost=False)
        if not match[1].isupper():
            # Somebody may have kept only these lines, without the job's own.
            self.open.setdefault(host, _Job(host=host, line=number, version=self.version, ended=True)).parts.append(
                part
            )
        elif not self.any and len(self.groups) < _MOST_JOBS:
            self.groups.append(part)

    def close(self, *hosts: str | None) -> Iterator[ImportedReading]:
        """The open jobs (those of `hosts`, where some are named) have no further line: what cannot be continued, or is
        too much to keep, is given back.
        """
        for job in [self.open.pop(host) for host in hosts or tuple(self.open) if host in self.open]:
            self.any = True
            before = self.waiting.pop(job.key, None)
            if before is not None and job.goes_on(before):
                self.interim = self.interim or before
                self.left_out += 1
            elif before is not None:
                yield from _finish(self.source, before)
            self.waiting[job.key] = job
            if len(self.waiting) > _MOST_JOBS:
                yield from _finish(self.source, self.waiting.pop(next(iter(self.waiting))))

    def end(self) -> Iterator[ImportedReading]:
        for job in self.open.values():
            if job.parts and not job.ended:
                self.source.problem(job.line, f"the text of job {(job.name or '')[:60]!r} is cut off")
        yield from self.close()
        for job in self.waiting.values():
            yield from _finish(self.source, job)
        if self.interim is not None:
            what = f"{self.left_out} interim status reports of jobs left out; the last one of each holds all"
            self.source.problem(self.interim.line, what, lost=False)
        for part in self.groups if not self.any else ():
            notes = ("sum over all jobs of a group: only fio's last lines are in the file", *part.notes)
            yield ImportedReading(
                self.source.name,
                part.line,
                "fio",
                tool_version=self.version,
                direction=part.direction,
                n=1,
                notes=notes,
                **part.fields,
            )


def _clock(text: str | None) -> float | None:
    try:
        return datetime.strptime(" ".join((text or "").split()), "%a %b %d %H:%M:%S %Y").timestamp()  # noqa: DTZ007
    except (ValueError, OverflowError, OSError):
        return None


def _figures(job: _Job, line: str) -> None:
    """A line inside a job that is of no direction itself."""
    text = line.lstrip()
    if text.startswith("issued"):
        job.ended = True
        if match := _ISSUED.search(line):
            job.issued = (int(match[1][:18]), int(match[2][:18]), int(match[3][:18]))
    elif not job.parts:
        return
    elif match := _LAT.match(line):
        factor = _NS[match[2]]
        low, high, mean, dev = (num(match[place]) for place in (3, 5, 7, 8))
        if low is not None and high is not None and mean is not None and dev is not None:
            low, high = low * _SI[match[4]], high * _SI[match[6]]
            job.parts[-1].lat[match[1]] = (low * factor, high * factor, mean * factor, dev * factor)
    elif match := _PERCENTILES.match(line):
        job.kind, job.unit = match[1] or "clat", _NS[match[2]]
    elif job.kind and text.startswith("|"):
        for percent, value in _POINT.findall(line):
            if (at := num(percent)) is not None and (latency := num(value)) is not None:
                job.parts[-1].percentiles.setdefault(job.kind, {})[f"{at:g}"] = latency * job.unit


def _part(number: int, direction: str, text: str) -> _Part | None:
    """The figures of a direction's line, or of a group's; None where it has no rate."""
    named = {match[1].lower(): match for match in _NAMED.finditer(text)}
    rate, timed, spent = named.get("bw") or named.get("aggrb"), _TIMED.search(text), _TIME.search(text)
    if rate is None:
        return None
    old = text.lstrip().startswith("io=")  # 2.2x already wrote KiB/s in this layout; a unit without i is binary there
    moved = [_bytes(timed[1], old=False)] if timed else []
    if "io" in named:
        moved = [_bytes(named["io"][2], old=old), _bytes(named["io"][3], old=False)]
    seconds = num(timed[2] if timed else spent[1] if spent else None)
    millis = timed is None or timed[3] == "msec"
    if seconds is not None and millis:
        seconds /= 1000
    rates = [_bytes(rate[2], old=old), _bytes(rate[3], old=False)]
    bw, alike = agreed(*rates, *(per_second(amount, seconds, 5e-4 if millis else 0.5) for amount in moved))
    io_bytes, _ = agreed(*moved)
    iops = _count(named["iops"][2].strip()) if "iops" in named else []
    return _Part(number, direction, iops, bw, io_bytes, seconds, old, alike)


def _iops(part: _Part, issued: int | None) -> float | None:
    """I/Os a second; by the count of I/Os where that is what the rounded rate says."""
    if not part.iops:
        return None
    counted = [] if issued is None or not part.runtime else per_second([Meaning(issued, 0)], part.runtime, 5e-4)
    best, alike = agreed(part.iops, counted)
    return best.value if best is not None and alike else part.iops[0].value


def _finish(source: Source, job: _Job) -> Iterator[ImportedReading]:
    if job.name == "All clients":
        return
    notes = (f"errors is fio's error code {job.error}, not a count",) if job.error else ()
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
            yield reading(source, job.line, **common, notes=(*notes, "no I/O was measured"))
        else:
            source.problem(job.line, f"job {(job.name or '')[:60]!r} has no figures")
        return
    for part in job.parts:
        lat = next((kind for kind in _KINDS if kind in part.lat), None)
        p99 = next((kind for kind in _KINDS if "99" in part.percentiles.get(kind, {})), None)
        details: dict[str, Any] = {} if job.group is None else {"groupid": job.group}
        for kind, figures in part.lat.items():
            details |= latencies(kind, figures)
        for kind, listed in part.percentiles.items():
            details[f"{kind}_percentiles_ns"] = listed
        if job.setup:
            details["ioengine"] = job.setup.engine
        if part.bw:
            details["bw_half_digit_bytes_per_s"] = part.bw.half
        issued = None
        if job.issued and part.direction in ("read", "write", "trim"):
            issued = details["total_ios"] = job.issued[("read", "write", "trim").index(part.direction)]
        yield reading(
            source,
            part.line,
            **common,
            **part.fields,
            direction=part.direction,
            bs_bytes=job.setup.bs.get(part.direction) if job.setup else None,
            iops=_iops(part, issued),
            mean=part.lat[lat][2] if lat else None,
            latency=_KINDS.get(lat or "", ""),
            p99=part.percentiles[p99]["99"] if p99 else None,
            p99_latency=_KINDS.get(p99 or "", ""),
            notes=(*notes, *part.notes),
            details=details,
        )
