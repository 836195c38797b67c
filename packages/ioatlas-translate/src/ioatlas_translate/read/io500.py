# SPDX-License-Identifier: Apache-2.0
"""IO500: result_summary.txt and result.txt. IOR phases are GiB/s, metadata phases thousands of operations a second."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate.read.kit import GIB, MIB, Said, compiled, reading, runs, size_bytes, times
from ioatlas_translate.read.source import Source

_LINES = compiled(
    r"^IO-?500 version (?P<version>\S+)",
    r"^\[(?P<result>RESULT[^\]]{0,20})\]\s+(?:(?:BW|IOPS)\s+phase\s+\d+\s+)?(?P<section>[\w-]+)\s+(?P<score>[\d.,]+)\s+"
    r"(?P<unit>GiB/s|GB/s|MiB/s|MB/s|kIOPS|kiops|IOPS|iops)\s*:\s*time\s+(?P<t_delta>[\d.,]+)\s*seconds(?P<valid>.*)$",
    r"^\[(?P<section>[\w-]+)\]\s*$",
    r"^\s*(?P<name>[\w-]+)\s*=\s*(?P<value>.*?)\s*$",
)
_UNITS = {"gib/s": GIB, "gb/s": GIB, "mib/s": MIB, "mb/s": MIB}
_NO_PHASES = ("", "run", "score", "timestamp")


def read(source: Source) -> Iterator[ImportedReading]:
    for run in runs(source, _LINES, result="", begins="section", row="result", keeps=("version", "procs")):
        name = run.get("section", "")
        if name.lower() not in _NO_PHASES:
            if "score" in run:
                yield from _phase(source, run, "gib/s" if name.lower().startswith("ior") else "kiops")
            elif "t_start" in run and "exe" in run:
                source.problem(run.at["section"], f"phase {name[:40]} has no score: not finished")
        for row in run.rows:
            yield from _phase(source, row, row["unit"].lower())


def _phase(source: Source, run: Said, unit: str) -> Iterator[ImportedReading]:
    """A section of result.txt, or a line of the summary."""
    name, value, number = run["section"], run.num("score"), run.at["section"]
    if name.lower() == "timestamp":
        return
    if not value:
        source.problem(number, f"phase {name[:40]} has no score", lost=value is None)
        return
    phase = name.replace("_", "-").lower()
    direction = next((word for word in ("write", "read") if phase.startswith("ior") and phase.endswith(word)), None)
    rw = f"rand{direction}" if direction and "rnd" in phase else direction if "easy" in phase else None
    data, command = unit in _UNITS, run.get("exe", "")
    options = dict(re.findall(r"(?<!\S)-([tb])[ =](\S+)", command))
    valid = run.get("valid", "").lower()
    invalid = "invalid" in valid + run["score"].lower() + run.get("result", "").lower() or valid in ("false", "0")
    notes = ["IO500 GB/s are GiB/s"] if unit == "gb/s" else []
    notes += ["marked invalid by IO500"] if invalid else []
    yield reading(
        source,
        number,
        "io500",
        tool_version=run.get("version", "").removeprefix("io500-") or None,
        label=name,
        direction=direction if data else None,
        rw=rw if data else None,
        operation=None if rw and data else phase,
        bs_bytes=size_bytes(options.get("t")) if data else None,
        size_bytes=size_bytes(options.get("b")) if data and rw else None,
        numjobs=run.whole("procs"),
        iops=None if data else value * (1000 if unit == "kiops" else 1),
        bw_bytes_per_s=times(value, _UNITS[unit]) if data else None,
        runtime_seconds=run.num("t_delta"),
        notes=(*notes, "score of the phase, GiB/s" if data else "score of the phase, operations per second"),
        details={"phase": name, "command": command[:1000] or None},
    )
