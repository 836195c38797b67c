# SPDX-License-Identifier: Apache-2.0
"""xdd 6 and 7: TARGET_PASS, TARGET_AVERAGE and COMBINED lines under the column header of the run.

xdd's MBytes/s are 10^6 bytes; a COMBINED line over several passes counts the bytes and seconds of all of them. Latency
is milliseconds in xdd 7 and seconds in xdd 6, which divides the elapsed time by the operations of all queue threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ioatlas.interop.read.kit import reading
from ioatlas.interop.read.numbers import figure, num, positive, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.words import words

SIGNATURE = re.compile(
    r"^IOIOIO\w* XDD version |^\s*What[\s,]+Pass[\s,]+Target[\s,]+Queue[\s,]+Bytes_Xfered|^\s*T\s+Q\s+Bytes\s+Ops"
    r"\s+Time\s+Rate\s+IOPS"
    r"|^,Target,Q,Bytes,Ops,Time,Avg Rate,IOPS",
    re.MULTILINE,
)
_MOST_ROWS = 20_000
_VERSION = re.compile(r"XDD version (\S+)")
_HEADER = re.compile(r"^\s*What[\s,]+Pass[\s,]+Target")
_OLD_HEADER = re.compile(r"^\s*T\s+Q\s+Bytes\s+Ops\s+Time\s+Rate\s+IOPS|^,Target,Q,Bytes,Ops,Time,Avg Rate,IOPS")
_OLD_COLUMNS = list(words("What Pass T Q Bytes Ops Time Rate IOPS Latency %CPU OP_Type ReqSize"))
_OLD_ROW = re.compile(r"^\s*(TARGET\s+(?:PASS(?P<pass>\d+)|Average)|COMBINED)[\s,]+(?P<cells>\d.*)$", re.IGNORECASE)
_KINDS = ("TARGET_PASS", "TARGET_AVERAGE", "COMBINED", "QUEUE_PASS", "QUEUE_AVERAGE", "TARGET_COMBINED")


_KEPT = {"Seek pattern": ("seek_pattern", 40), "Direct I/O": ("direct", 20)}
"""Settings that are kept as they are: under which name, and how much of them."""


@dataclass
class _Run:
    version: str | None = None
    passes: int | None = None
    targets: int | None = None
    settings: dict[str, str] = field(default_factory=dict)
    read_percent: float | None = None
    size: int | None = None
    depth: int | None = None
    requests: set[int] = field(default_factory=set)
    """Request sizes that its targets were given."""
    columns: list[str] = field(default_factory=list)
    commas: bool = False
    """Whether the columns stand between commas, as -csvout writes them."""
    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)


def read(source: Source) -> Iterator[ImportedReading]:
    run = _Run()
    for number, line in source.lines():
        text = line.strip()
        if match := _VERSION.search(line):
            yield from _finish(source, run)
            run = _Run(match[1])
        elif _HEADER.match(line):
            run.commas = "," in text
            run.columns = text.replace(",", " ").split()
        elif _OLD_HEADER.match(line):
            run.columns = _OLD_COLUMNS
        elif run.columns is _OLD_COLUMNS and (match := _OLD_ROW.match(line)):
            kind = "TARGET_PASS" if match["pass"] else "_".join(match[1].upper().split())
            cells = [
                kind,
                match["pass"] or "0",
                *match["cells"].replace(",", " ").split(),
            ]  # the times of opening, start and end may follow
            if len(cells) < len(run.columns) or (source.unended(number) and line[-1:].isdigit()):
                source.problem(number, "a result line with another number of figures than its header, or cut off")
                continue
            _add(source, run, number, cells[: len(run.columns)])
        elif run.columns and text.startswith(_KINDS):
            cells = (text.replace(",", " ") if run.commas else text).split()
            if len(cells) != len(run.columns) or (source.unended(number) and cells[-1][-1:].isdigit()):
                source.problem(number, "a result line with another number of figures than its header, or cut off")
                continue
            _add(source, run, number, cells)
        else:
            _setting(run, text)
    yield from _finish(source, run)


def _add(source: Source, run: _Run, number: int, cells: list[str]) -> None:
    """Lines wait for the end of their run: only there it shows whether a COMBINED line has their sum."""
    if len(run.rows) < _MOST_ROWS:
        run.rows.append((number, dict(zip(run.columns, cells, strict=True))))
    else:
        source.problem(0, f"an xdd run of more than {_MOST_ROWS} result lines; the rest was not read")


def _setting(run: _Run, text: str) -> None:
    name, _, value = text.partition(",")
    value = value.strip()
    if name in _KEPT:
        key, most = _KEPT[name]
        run.settings[key] = value[:most]
    elif name == "Passes":
        run.passes = whole(value)
    elif name == "Number of Targets":
        run.targets = whole(value)
    elif name == "Request size":
        run.requests |= {int(match[:18]) for match in re.findall(r"(\d+),\s*bytes", value)}
    elif name == "Queue Depth":
        run.depth = whole(value)
    elif name == "Pass seek randomization" and value != "disabled":
        run.settings["pass_seek_randomization"] = value[:40]
    elif name == "Read/write ratio":
        run.read_percent = num(value.split(",")[0].replace("READ", "").strip())
    elif text.startswith("ID for this run,"):
        run.settings["id"] = value.strip("'")[:100]
    elif text.startswith("Computer Name,"):
        run.settings["host"] = value.split(",")[0][:100]
    elif (match := re.match(r"Fully qualified target pathname,\s*'(.*)'", text)) or (
        match := re.match(r"Target\[\d+\] Q\[\d+\], (.*)", text)
    ):
        run.settings.setdefault("target", match[1][:300])
    elif "End-to-End ACTIVE" in text:
        run.settings["end_to_end"] = "source" if "SOURCE" in text else "destination"


def _finish(source: Source, run: _Run) -> Iterator[ImportedReading]:
    """COMBINED is the result; averages and passes of single targets come with it only for several targets."""
    combined = [(number, row) for number, row in run.rows if row["What"] == "COMBINED"]
    averages = [(number, row) for number, row in run.rows if row["What"] in ("TARGET_AVERAGE", "TARGET_COMBINED")]
    passes = [(number, row) for number, row in run.rows if row["What"] == "TARGET_PASS"]
    chosen = combined + (averages if len(averages) > 1 or not combined else [])
    if not chosen:
        chosen = passes
    elif run.passes and run.passes > 1:
        chosen = passes + chosen
    for number, row in sorted(chosen, key=lambda item: item[0]):
        yield from _row(source, run, number, row)
    if run.columns and not run.rows:
        source.problem(0, "an xdd run whose result lines are missing")


def _row(source: Source, run: _Run, number: int, row: dict[str, str]) -> Iterator[ImportedReading]:
    names = {
        "bytes": ("Bytes_Xfered", "Bytes"),
        "ops": ("Ops",),
        "seconds": ("Elapsed", "Time"),
        "bw": ("Bandwidth", "Rate"),
        "iops": ("IOPS",),
        "latency": ("Latency",),
        "size": ("Xfer_Size", "ReqSize"),
        "depth": ("Queue", "Q"),
        "pass": ("Pass",),
        "targets": ("Target", "T"),
    }
    values = {key: next((figure(row[name]) for name in options if name in row), None) for key, options in names.items()}
    op = next((row[name].lower() for name in ("Op_Type", "OP_Type", "OP") if name in row), "")
    direction = op if op in ("read", "write") else "mixed" if op == "mixed" else None
    seek = run.settings.get("seek_pattern", "")
    sequential = seek in ("sequential", "queued_interleaved", "none")
    random = seek == "random"
    rw = None
    if direction in ("read", "write"):
        rw = direction if sequential else f"rand{direction}" if random else None
    elif direction == "mixed":
        rw = "rw" if sequential else "randrw" if random else None
    notes = ["xdd MBytes/s are 10^6 bytes"]
    kind = row["What"]
    statistic, n = "single", 1
    if kind == "COMBINED" and run.passes and run.passes > 1:
        notes.append(f"bytes and seconds of {run.passes} passes together")
        statistic, n = f"mean of {run.passes}", run.passes
    elif kind in ("TARGET_AVERAGE", "TARGET_COMBINED") and run.passes and run.passes > 1:
        statistic, n = f"mean of {run.passes}", run.passes
    size = values["size"]
    if run.requests:
        told = min(run.requests) if len(run.requests) == 1 else None
        if told is None:
            notes.append("its targets have request sizes of their own")
        elif size and size != told:
            notes.append(f"the last request was {int(size)} bytes; the run was given {told}")
        size = told
    if "end_to_end" in run.settings:
        notes.append(f"end-to-end copy, {run.settings['end_to_end']} side")
    details: dict[str, Any] = {
        "row": kind,
        **{key: value for key, value in run.settings.items() if key not in ("host", "target", "id")},
    }
    details["pass"], details["total_ios"] = values["pass"], values["ops"]
    if kind.startswith("TARGET"):
        details["target_number"] = values["targets"]
    bw, iops, latency = values["bw"], values["iops"], positive(row.get("Latency"))
    if not bw and not iops:
        source.problem(number, "a result line without a rate", lost=False)
        return
    yield reading(
        source,
        number,
        "xdd",
        tool_version=run.version,
        label=run.settings.get("target") or run.settings.get("id"),
        direction=direction,
        rw=rw,
        bs_bytes=None if size is None else int(size),
        numjobs=int(values["targets"])
        if kind == "COMBINED" and values["targets"]
        else 1
        if kind.startswith("TARGET")
        else None,
        iodepth=run.depth if run.depth is not None else None if values["depth"] is None else int(values["depth"]),
        rwmixread=run.read_percent if run.read_percent is not None and 0 < run.read_percent < 100 else None,
        iops=iops,
        bw_bytes_per_s=times(bw, 1e6),
        mean=times(latency, 1e9 if "ReqSize" in row else 1e6),
        statistic=statistic,
        n=n,
        host=run.settings.get("host"),
        runtime_seconds=values["seconds"],
        io_bytes=None if values["bytes"] is None else int(values["bytes"]),
        notes=notes,
        details=details,
    )
