# SPDX-License-Identifier: Apache-2.0
"""elbencho: result text, result CSV and result JSON.

The LAST DONE column is the result (all threads finished); FIRST DONE is what had been done when the first thread ran
dry. MiB/s are 1048576 bytes, MB/s (--base10) 10^6. WRITE and READ move data; the other phases are operations on
entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate.read.formats import NAMES
from ioatlas_translate.read.kit import (
    MIB,
    agreed,
    nanoseconds,
    num,
    objects,
    per_second,
    printed,
    reading,
    rw_of,
    size_bytes,
    times,
    whole,
    word_of,
)
from ioatlas_translate.read.source import Source

_FIRST = re.compile(r"^[A-Z][A-Z_0-9]{2,15}\s+Elapsed \w+\s+:\s")
"""The first row of a phase, with which a text may begin whose heading was cut off."""
_PHASE = re.compile(r"^(?:([A-Z][A-Z_0-9]{2,15})\s+|\s*)([A-Za-z].*?)\s*:\s+(\S+)(?:\s+(\S+))?\s*$")
_LATENCIES = ("io lat", "io rd lat", "io wr lat", "files lat", "dirs lat")
_CSV_HEADER = re.compile(r"iso date[,;]|label[,;]path type", re.IGNORECASE)
_LIVE_HEADER = re.compile(r"(?:iso date[,;])?label[,;]phase[,;]runtimems", re.IGNORECASE)
_DATA = {"WRITE": "write", "READ": "read", "RWMIX": "write"}


def read(source: Source) -> Iterator[ImportedReading]:
    lines = source.lines()
    table = _Table(source)
    header = ""
    for number, line in lines:
        if _LIVE_HEADER.match(line[:400]):
            source.problem(number, "live statistics, which are of moments inside a run: import its result", lost=True)
            return
        if _CSV_HEADER.match(line[:400]):
            header = line
        elif header:
            if line.strip():
                yield from _csv_row(source, number, header, line)
        elif '"phase_type"' in line:
            for found in objects(source):
                if (phase := word_of(found.value, "phase_type")) is not None:
                    yield from _json_phase(source, found.line_of(r'"phase_type"'), phase, found.value)
            return
        else:
            yield from table.take(number, line)
    yield from table.flush()


@dataclass
class _Table:
    """The result text: a phase's lines wait for its end."""

    source: Source
    command: str = ""
    begun: bool = False
    name: str = ""
    phase: dict[str, tuple[int, str | None, str]] = field(default_factory=dict)
    """Line, FIRST DONE and LAST DONE by the figure's name."""

    def take(self, number: int, line: str) -> Iterator[ImportedReading]:
        if line.startswith("COMMAND LINE:"):
            self.command = line.split(":", 1)[1]
        elif "LAST DONE" in line and re.search(r"(?:^|\s)OPERATION\s+RESULT TYPE\s", line[:400]):
            self.begun = True
            yield from self.flush()
        elif (self.begun or _FIRST.match(line)) and (match := _PHASE.match(line)):
            self.begun = True
            if self.source.cut(number):
                return
            if match[1]:
                yield from self.flush()
                self.name = match[1]
            if self.name and match[4] is not None:
                self.phase[match[2]] = (number, match[3], match[4])
            elif self.name and match[2].lower().startswith(_LATENCIES):
                self.phase[match[2]] = (number, None, match[3])
        elif self.begun and re.match(r"^\s*\S.* lat\w*.*:\s*\[", line):
            key, _, value = line.strip().partition(":")
            self.phase[key.strip()] = (number, None, value.strip())
        elif line.startswith("---"):
            yield from self.flush()

    def flush(self) -> Iterator[ImportedReading]:
        if self.name and self.phase:
            yield from _phase(self.source, self.name, self.phase, self.command)
        self.name, self.phase = "", {}


def _options(command: str) -> dict[str, str]:
    found: dict[str, str] = {}
    words = re.findall(r'"([^"]*)"|(\S+)', command[:20_000])
    texts = [quoted or bare for quoted, bare in words]
    for place, word in enumerate(texts):
        if not word.startswith("-") or word == "-":
            continue
        name, given, value = word.lstrip("-").partition("=")
        after = texts[place + 1] if place + 1 < len(texts) else ""
        if not word.startswith("--") and (glued := re.match(r"([a-z])(\d\S*)$", name)):
            found[glued[1]] = glued[2]
        else:
            found[name] = value if given else "" if after.startswith("-") else after
    return found


def _milliseconds(text: str) -> float | None:
    """`94917`, `1m34.917s`, `4ms`, `1h:2m:3s`."""
    return plain if (plain := num(text)) is not None else times(nanoseconds(re.sub("(?<=[hm]):", "", text)), 1e-6)


def _latency(text: str) -> float | None:
    """Average of `[ min=434us avg=5989us max=44.1ms ]`, in ns."""
    match = re.search(r"avg=\s*([\d.]+)\s*(ns|us|ms|s)?", text)
    return None if match is None else nanoseconds(match[1] + (match[2] or "us"))


def _percentile(key: str, text: str) -> float | None:
    """The 99th of `IO lat % us : [ 1%<=2896 50%<=4096 99%<=6889 ]`, in ns."""
    match = re.search(r"(?<![\d.])99%<=([\d.]+)", text)
    unit = re.search(r"%\s*(ns|us|ms|s)\b", key)
    return nanoseconds(match[1] + (unit[1] if unit else "us")) if match else None


def _phase(
    source: Source, name: str, phase: dict[str, tuple[int, str | None, str]], command: str
) -> Iterator[ImportedReading]:
    """One phase of the result text, as a row of the result CSV."""
    options = _options(command)

    def option(*names: str) -> str:
        return next((options[name] for name in names if options.get(name)), "")

    row = {
        "threads": option("threads", "t"),
        "hosts": str(len([host for host in re.split(r"[,\s]+", options.get("hosts", "")) if host])),
        "block size": str(size_bytes(option("block", "b")) or ""),
        "file size": str(size_bytes(option("size", "s")) or ""),
        "IO depth": option("iodepth"),
        "random": "1" if "rand" in options else "0" if options else "",
        "command": command.strip(),
    }
    for key, (_, first, last) in phase.items():
        of = "rwmix read " if key.endswith(" read") or key.startswith("IO rd") else ""
        if " lat" in key:
            word = "IO lat us" if key.startswith("IO") else "Ent lat us"
            latency, end = (_percentile(key, last), "p99") if " lat %" in key else (_latency(last), "avg")
            if latency is not None:
                row.setdefault(f"{of}{word} [{end}]", str(latency / 1e3))
            continue
        word = re.sub(r"^(?:Throughput|Total) | (?:write|read)$", "", key)
        if key.startswith("Elapsed"):
            row["time ms [last]"], row["time ms [first]"] = (str(_milliseconds(text or "")) for text in (last, first))
            continue
        if word.endswith("/s") and word not in ("MiB/s", "MB/s"):
            word = "entries/s"
        row.setdefault(f"{of}{word} [last]", last)
        row.setdefault(f"{of}{word} [first]", first or "")
    line = min(number for number, _, _ in phase.values())
    yield from _result_row(source, line, row, name)


def _csv_row(source: Source, number: int, header: str, line: str) -> Iterator[ImportedReading]:
    """One row of a result CSV. The last column (the command) holds unescaped quotes: it is cut off by count."""
    separator = ";" if ";" in header else ","
    names = [name.strip().strip('"') for name in header.split(separator)]
    cells = line.split(separator, len(names) - 1)
    row = {name: cell.strip() for name, cell in zip(names, cells, strict=False)}
    if len(cells) < len(names):
        source.problem(number, "a CSV row with fewer cells than its header")
        if len(cells) < 3 or source.unended(number):
            row = dict(list(row.items())[:-1])
    if operation := row.get("operation", ""):
        yield from _result_row(source, number, row, operation)


def _result_row(source: Source, number: int, row: Mapping[str, str], operation: str) -> Iterator[ImportedReading]:
    direction = _DATA.get(re.sub(r"\d+$", "", operation))
    hosts, threads = whole(row.get("hosts")), whole(row.get("threads"))
    elapsed = num(row.get("time ms [last]"))
    mb, factor = ("MB", 1e6) if any("MB/s [last]" in name for name in row) else ("MiB", MIB)
    notes = [
        "until the slowest thread finished (LAST DONE)",
        "elbencho MB/s are 10^6 bytes" if mb == "MB" else "elbencho MiB/s",
    ]
    if hosts and hosts > 1:
        notes.append(f"{hosts} hosts with {threads} threads each")
    common: dict[str, Any] = {
        "tool_version": row.get("version") or None,
        "label": row.get("label") or None,
        "bs_bytes": whole(row.get("block size")) or None,
        "size_bytes": whole(row.get("file size")) or None,
        "numjobs": threads * hosts if threads is not None and hosts else threads,
        "iodepth": whole(row.get("IO depth")) or None,
        "runtime_seconds": None if elapsed is None else elapsed / 1000,
    }
    details: dict[str, Any] = {
        "phase": operation,
        "path_type": row.get("path type"),
        "direct": row.get("direct IO"),
        "command": row.get("command", "")[:1000] or None,
    }
    for key in ("time ms", "IOPS", f"{mb}/s", "entries/s"):
        details[f"first_done {key}"] = num(row.get(f"{key} [first]"))
    mixed = bool(num(row.get("rwmix read IOPS [last]")) or num(row.get(f"rwmix read {mb}/s [last]")))
    random = None if row.get("random") == "" else row.get("random") == "1"
    found = False
    for prefix, way in (("", direction), ("rwmix read ", "read")):
        iops, bw = num(row.get(f"{prefix}IOPS [last]")), num(row.get(f"{prefix}{mb}/s [last]"))
        entries = num(row.get(f"{prefix}entries/s [last]"))
        if iops is None and bw is None and entries is None:
            continue
        found = True
        data = way is not None and (iops is not None or bw is not None)
        lat = f"{prefix}IO lat us" if data else f"{prefix}Ent lat us"
        amount = printed(row.get(f"{prefix}{mb} [last]"), factor, cut=True)
        whole_rate = printed(row.get(f"{prefix}{mb}/s [last]"), factor, cut=True)
        rate, alike = agreed(whole_rate, per_second(amount, common["runtime_seconds"], 5e-4))
        p99 = times(num(row.get(f"{lat} [p99]")), 1e3)
        edge = ["p99 is the upper edge of the histogram step that elbencho prints"] if p99 is not None else []
        yield reading(
            source,
            number,
            "elbencho",
            **common if data else {**common, "bs_bytes": None},
            direction=way if data else None,
            rw=rw_of("mixed" if mixed else way, random=random) if data else None,
            operation=None if data else operation.lower(),
            iops=iops if data else entries,
            bw_bytes_per_s=round(rate.value, 3) if rate and alike and bw is not None else times(bw, factor),
            mean=times(num(row.get(f"{lat} [avg]")), 1e3),
            p99=p99,
            io_bytes=int(amount[0].value) if amount else None,
            notes=(*notes, *edge),
            details={
                **details,
                "entries_per_s": entries if data else None,
                "bw_half_digit_bytes_per_s": rate.half if rate and alike else None,
            },
        )
    if not found and operation not in ("SYNC", "DROPCACHE") and elapsed is None:
        source.problem(number, f"phase {operation[:30]!r} has no figures")


_DONE = {"elapsed_time_ms": "time ms", "iops": "IOPS", "entries/s": "entries/s"}
_LAST = {"rwmix_read.iops": "rwmix read IOPS", "rwmix_read.entries/s": "rwmix read entries/s"}
_BYTES = {"bytes/s": "MiB/s", "rwmix_read.bytes/s": "rwmix read MiB/s", "bytes": "MiB"}
"""Columns of the CSV by their place in the JSON: those of both times, of the last, and those in bytes."""


def _flatten(value: Any, prefix: str = "") -> dict[str, str]:
    if not isinstance(value, dict):
        return {prefix: str(value)}
    found: dict[str, str] = {}
    for key, inner in list(value.items())[:500]:
        found |= _flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    return found


def _json_phase(source: Source, number: int, phase: str, value: dict[str, Any]) -> Iterator[ImportedReading]:
    """The JSON file has bytes/s where the CSV has MiB/s; boost writes every number as a string."""
    flat, columns = _flatten(value), dict(NAMES["elbencho"])
    columns |= {f"{when}_done.{key}": f"{name} [{when}]" for when in ("first", "last") for key, name in _DONE.items()}
    columns |= {f"last_done.{key}": f"{name} [last]" for key, name in _LAST.items()}
    row = {name: flat[key] for key, name in columns.items() if key in flat}
    row["random"] = "1" if flat.get("config.random_offsets", "").lower() in ("1", "true") else "0"
    for key, name in _BYTES.items():
        if (amount := num(flat.get(f"last_done.{key}"))) is not None:
            row[f"{name} [last]"] = repr(amount / MIB)
    yield from _result_row(source, number, row, phase)
