# SPDX-License-Identifier: Apache-2.0
"""IO500: result_summary.txt and result.txt. IOR phases are GiB/s, metadata phases thousands of operations a second."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ioatlas.interop.read.numbers import GIB, MIB, num, size_bytes, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^IO-?500 version |^\[RESULT[^\]\n]{0,20}\]\s+\S|^\[(?:ior|mdtest)[-_](?:easy|hard)[-_]\w+\]"
    r"\s*$(?=[\s\S]{0,4000}?^score\s*=)",
    re.MULTILINE,
)
_RESULT = re.compile(
    r"^\[(RESULT[^\]]{0,20})\]\s+(?:(BW|IOPS)\s+phase\s+\d+\s+)?([\w-]+)\s+([\d.,]+)\s+(GiB/s|GB/s|MiB/s|MB/s|kIOPS"
    r"|kiops|IOPS|iops)\s*:\s*time\s+([\d.,]+)\s*seconds(.*)$"
)
_SECTION = re.compile(r"^\[([\w-]+)\]\s*$")
_PAIR = re.compile(r"^\s*([\w-]+)\s*=\s*(.*?)\s*$")
_UNITS = {"gib/s": GIB, "gb/s": GIB, "mib/s": MIB, "mb/s": MIB}


def read(source: Source) -> Iterator[ImportedReading]:
    version: str | None = None
    section = ""
    start = 0
    values: dict[str, str] = {}
    processes: int | None = None
    for number, line in source.lines():
        if match := re.match(r"^IO-?500 version (\S+)", line):
            version = match[1]
        elif match := _RESULT.match(line):
            unit = match[5].lower()
            notes = ["IO500 GB/s are GiB/s"] if unit == "gb/s" else []
            yield from _phase(
                source,
                number,
                match[3],
                num(match[4]),
                unit,
                num(match[6]),
                version,
                processes,
                None,
                "invalid" in (match[1] + match[7]).lower(),
                notes,
            )
        elif match := _SECTION.match(line):
            yield from _section(source, section, start, values, version, processes)
            section, start, values = match[1], number, {}
        elif section and source.unended(number) and _PAIR.match(line):
            source.problem(number, "the file ends inside this line, which was not used")
        elif section and (match := _PAIR.match(line)):
            if len(values) < 200:
                values[match[1]] = match[2][:2000]
            if section == "run":
                processes = whole(values.get("procs")) or processes
                version = values.get("version") or version
    yield from _section(source, section, start, values, version, processes)


def _section(
    source: Source, name: str, start: int, values: dict[str, str], version: str | None, processes: int | None
) -> Iterator[ImportedReading]:
    """A phase of result.txt."""
    if not name or name.lower() in ("run", "score", "timestamp") or not values:
        return
    score = num(values.get("score"))
    if "score" not in values:
        if "t_start" in values and "exe" in values:
            source.problem(start, f"phase {name[:40]} has no score: not finished")
        return
    unit = "gib/s" if name.lower().startswith("ior") else "kiops"
    invalid = values.get("valid", "").lower() in ("false", "0") or "invalid" in values.get("score", "").lower()
    yield from _phase(
        source, start, name, score, unit, num(values.get("t_delta")), version, processes, values.get("exe"), invalid, []
    )


def _phase(
    source: Source,
    number: int,
    name: str,
    value: float | None,
    unit: str,
    seconds: float | None,
    version: str | None,
    processes: int | None,
    command: str | None,
    invalid: bool,
    notes: list[str],
) -> Iterator[ImportedReading]:
    if name.lower() == "timestamp":
        return
    if not value:
        source.problem(number, f"phase {name[:40]} has no score", lost=value is None)
        return
    phase = name.replace("_", "-").lower()
    direction = (
        next((word for word in ("write", "read") if phase.endswith(word)), None) if phase.startswith("ior") else None
    )
    rw = None
    if direction and "easy" in phase:
        rw = direction
    elif direction and "rnd" in phase:
        rw = f"rand{direction}"
    options = dict(re.findall(r"(?<!\S)-([tb]) (\S+)", command or ""))
    details: dict[str, Any] = {"phase": name}
    if command:
        details["command"] = command[:1000]
    data = unit in _UNITS
    if invalid:
        notes = [*notes, "marked invalid by IO500"]
    yield ImportedReading(
        source.name,
        number,
        "io500",
        tool_version=version,
        label=name,
        direction=direction if data else None,
        rw=rw if data else None,
        operation=None if rw and data else phase,
        bs_bytes=size_bytes(options.get("t")) if data else None,
        size_bytes=size_bytes(options.get("b")) if data and rw else None,
        numjobs=processes,
        iops=None if data else value * (1000 if unit == "kiops" else 1),
        bw_bytes_per_s=times(value, _UNITS[unit]) if data else None,
        n=1,
        runtime_seconds=seconds,
        notes=(*notes, "score of the phase, GiB/s" if data else "score of the phase, operations per second"),
        details=details,
    )
