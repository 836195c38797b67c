# SPDX-License-Identifier: Apache-2.0
"""xdd 6 and 7: TARGET_PASS, TARGET_AVERAGE and COMBINED lines under the column header of the run.

xdd's MBytes/s are 10^6 bytes; a COMBINED line over several passes counts the bytes and seconds of all of them. Latency
is milliseconds in xdd 7 and seconds in xdd 6, which divides the elapsed time by the operations of all queue threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioatlas.model.imported_reading import ImportedReading
from ioatlas.model.units import words
from ioatlas_translate.read.formats import NAMES
from ioatlas_translate.read.kit import Said, compiled, figure, num, positive, reading, runs, rw_of, times
from ioatlas_translate.read.source import Source

_OLD_COLUMNS = words("What Pass T Q Bytes Ops Time Rate IOPS Latency %CPU OP_Type ReqSize")
_OLD_ROW = re.compile(r"(TARGET\s+(?:PASS(?P<pass>\d+)|Average)|COMBINED)[\s,]+(?P<cells>\d.*)$", re.IGNORECASE)
_LINES = compiled(
    r".*?XDD version (?P<version>\S+)",
    r"^\s*(?P<columns>What[\s,]+Pass[\s,]+Target.*)$",
    r"^(?P<old>\s*T\s+Q\s+Bytes\s+Ops\s+Time\s+Rate\s+IOPS|,Target,Q,Bytes,Ops,Time,Avg Rate,IOPS)",
    r"^\s*(?P<row>(?:TARGET[ _]|COMBINED|QUEUE_)(?!.*\[).*)$",
    r"^\s*(?P<name>Seek pattern|Direct I/O|Passes|Queue Depth|Pass seek randomization|Read/write ratio|Request size"
    r"|ID for this run|Computer Name),(?P<value>.*)$",
    r"^\s*Fully qualified target pathname,\s*'(?P<target>.*)'",
    r"^\s*Target\[\d+\] Q\[\d+\], (?P<target>.*)",
    r".*?(?P<copy>End-to-End ACTIVE.*)$",
)
_SEEKS = {"sequential": False, "queued_interleaved": False, "none": False, "random": True}
_Rows = list[tuple[int, dict[str, str]]]


def read(source: Source) -> Iterator[ImportedReading]:
    for run in runs(source, _LINES, result="", begins="version", row="row"):
        rows = [found for row in run.rows if (found := _cells(source, row)) is not None]
        yield from _finish(source, run, rows)
        if not rows and ("columns" in run or "old" in run):
            source.problem(0, "an xdd run whose result lines are missing")


def _settings(run: Said) -> dict[str, str | None]:
    """Those that are kept as they are."""
    seek, ends = run.get("Pass seek randomization", "disabled"), run.get("copy")
    return {
        "seek_pattern": run.get("Seek pattern", "")[:40] or None,
        "direct": run.get("Direct I/O", "")[:20] or None,
        "pass_seek_randomization": None if seek == "disabled" else seek[:40] or None,
        "end_to_end": ("source" if "SOURCE" in ends else "destination") if ends else None,
    }


def _cells(source: Source, row: Said) -> tuple[int, dict[str, str]] | None:
    number, text, head = row.at["row"], row["row"], row.get("columns", "")
    columns, cells = head.replace(",", " ").split(), (text.replace(",", " ") if "," in head else text).split()
    if "old" in row and not head and (match := _OLD_ROW.match(text)):
        kind = "TARGET_PASS" if match["pass"] else "_".join(match[1].upper().split())
        cells = [kind, match["pass"] or "0", *match["cells"].replace(",", " ").split()]
        columns, cells = list(_OLD_COLUMNS), cells[: len(_OLD_COLUMNS)]  # times of opening, start and end may follow
    if not columns:
        return None
    if len(cells) != len(columns):
        source.problem(number, "a result line with another number of figures than its header, or cut off")
        return None
    return number, dict(zip(columns, cells, strict=True))


def _finish(source: Source, run: Said, rows: _Rows) -> Iterator[ImportedReading]:
    """COMBINED is the result; averages and passes of single targets come with it only for several targets."""
    combined = [(number, row) for number, row in rows if row["What"] == "COMBINED"]
    averages = [(number, row) for number, row in rows if row["What"] in ("TARGET_AVERAGE", "TARGET_COMBINED")]
    passes = [(number, row) for number, row in rows if row["What"] == "TARGET_PASS"]
    chosen = combined + (averages if len(averages) > 1 or not combined else [])
    if not chosen:
        chosen = passes
    elif (run.whole("Passes") or 1) > 1:
        chosen = passes + chosen
    for number, row in sorted(chosen, key=lambda item: item[0]):
        yield from _row(source, run, number, row)


def _row(source: Source, run: Said, number: int, row: dict[str, str]) -> Iterator[ImportedReading]:
    values = {
        key: next((figure(row[name]) for name in options.split() if name in row), None)
        for key, options in NAMES["xdd"].items()
    }
    op = next((row[name].lower() for name in ("Op_Type", "OP_Type", "OP") if name in row), "")
    direction = op if op in ("read", "write", "mixed") else None
    kept, requests = _settings(run), run.every.get("Request size", ())
    random = _SEEKS.get(kept["seek_pattern"] or "")
    notes = ["xdd MBytes/s are 10^6 bytes"]
    kind = row["What"]
    n = (run.whole("Passes") or 1) if kind in ("COMBINED", "TARGET_AVERAGE", "TARGET_COMBINED") else 1
    if kind == "COMBINED" and n > 1:
        notes.append(f"bytes and seconds of {n} passes together")
    size = values["size"]
    if sizes := {int(one[:18]) for text in requests for one in re.findall(r"(\d+),\s*bytes", text)}:
        told = min(sizes) if len(sizes) == 1 else None
        if told is None:
            notes.append("its targets have request sizes of their own")
        elif size and size != told:
            notes.append(f"the last request was {int(size)} bytes; the run was given {told}")
        size = told
    if kept["end_to_end"]:
        notes.append(f"end-to-end copy, {kept['end_to_end']} side")
    target = kind.startswith("TARGET")
    details = {
        **kept,
        "row": kind,
        "pass": values["pass"],
        "total_ios": values["ops"],
        "target_number": values["targets"] if target else None,
    }
    bw, iops, latency = values["bw"], values["iops"], positive(row.get("Latency"))
    if not bw and not iops:
        source.problem(number, "a result line without a rate", lost=False)
        return
    label = next(iter(run.every.get("target", ())), "")
    depth, mix = run.whole("Queue Depth"), num(run.get("Read/write ratio", "").split(",")[0].replace("READ", ""))
    yield reading(
        source,
        number,
        "xdd",
        tool_version=run.get("version"),
        label=label[:300] or run.get("ID for this run", "").strip("'")[:100] or None,
        direction=direction,
        rw=rw_of(direction, random=random),
        bs_bytes=None if size is None else int(size),
        numjobs=1 if target else int(values["targets"]) if kind == "COMBINED" and values["targets"] else None,
        iodepth=depth if depth is not None else None if values["depth"] is None else int(values["depth"]),
        rwmixread=mix if mix is not None and 0 < mix < 100 else None,
        iops=iops,
        bw_bytes_per_s=times(bw, 1e6),
        mean=times(latency, 1e9 if "ReqSize" in row else 1e6),
        statistic=f"mean of {n}" if n > 1 else "single",
        n=n,
        host=run.get("Computer Name", "").split(",")[0][:100] or None,
        runtime_seconds=values["seconds"],
        io_bytes=None if values["bytes"] is None else int(values["bytes"]),
        notes=notes,
        details=details,
    )
