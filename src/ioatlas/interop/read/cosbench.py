# SPDX-License-Identifier: Apache-2.0
"""COSBench: the CSV of a workload, and the matrix of all of them. Times are milliseconds, Bandwidth bytes a second.

Percentiles are the upper edges of its histogram's bins. The time line of one stage is no result and is not read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from ioatlas.interop.read.kit import reading
from ioatlas.interop.read.numbers import num, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(
    r"^\W?(?:Stage|Id),(?:Op-Name,)?(?:Op-Type,)?Op-Count,Byte-Count,.{0,200}Throughput,Bandwidth,Succ-Ratio"
    r"|^\W?Timestamp,Op-Count,.{0,400}Throughput,|^\W?Op-Type,Sample-Type,Op-Count,",
    re.MULTILINE,
)
_HEADER = re.compile(r"^\W?(?:Stage|Id),(?:Op-Name,|Op-Type,|Op-Count,)")
_TIME_LINE = re.compile(r"^\W?Timestamp,Op-Count,")
_WORKERS = re.compile(r"^\W?Op-Type,Sample-Type,Op-Count,")
_RATIO = re.compile(r"^(?:[\d.]+ ?%|N/A|)$")
_DIRECTIONS = {
    "read": "read",
    "write": "write",
    "prepare": "write",
    "filewrite": "write",
    "mprepare": "write",
    "mwrite": "write",
}


def read(source: Source) -> Iterator[ImportedReading]:
    header: list[str] = []
    for number, line in source.lines():
        if _TIME_LINE.match(line):
            source.problem(number, "the time line of one COSBench stage; import the workload's own CSV (wN-NAME.csv)")
            header = []
        elif _WORKERS.match(line):
            source.problem(number, "the workers of one COSBench stage; import the workload's own CSV (wN-NAME.csv)")
            header = []
        elif _HEADER.match(line):
            header = [name.strip().lstrip("\ufeff") for name in line.split(",")]
        elif header and line.strip():
            if source.unended(number):
                source.problem(number, "the file ends inside this row, which was not used")
                continue
            yield from _row(source, number, header, line)


def _row(source: Source, number: int, header: list[str], line: str) -> Iterator[ImportedReading]:
    try:
        cells = next(csv.reader([line]), [])
    except csv.Error as error:
        source.problem(number, f"not a row of CSV: {error}")
        return
    if len(cells) < header.index("Succ-Ratio") + 1 if "Succ-Ratio" in header else len(header):
        source.problem(number, "a row with fewer cells than its header")
        return
    row = dict(zip(header, (cell.strip() for cell in cells), strict=False))
    if _RATIO.match(row.get("Succ-Ratio", "")) is None:
        source.problem(number, "decimal commas shift this row's cells: export it again with -Duser.language=en")
        return
    iops, bandwidth, count = num(row.get("Throughput")), num(row.get("Bandwidth")), whole(row.get("Op-Count"))
    if row.get("Op-Count", "N/A") == "N/A" or (not count and not iops):
        return  # a stage without operations (init, dispose, delay)
    if iops is None:
        source.problem(number, "a COSBench row without a figure under Throughput")
        return
    name = row.get("Op-Name") or row.get("Op-Type") or ""
    kind = row.get("Op-Type") or name
    ratio, state = row.get("Succ-Ratio", ""), row.get("Status", "")
    notes = ["times are of whole operations; percentiles are upper edges of histogram bins"]
    if num(ratio) is not None and num(ratio) != 100:
        notes.append(f"{ratio} of the operations succeeded")
    if state and state not in ("completed", "finished"):
        notes.append(f"the stage's state is {state[:40]}")
    details: dict[str, object] = {
        "operations": count,
        "processing_mean_ns": times(num(row.get("Avg-ProcTime")), 1e6),
        "success_percent": num(ratio),
    }
    details |= {f"lat_p{at}_ns": times(num(row.get(f"{at}%-ResTime")), 1e6) for at in ("60", "80", "90", "95", "100")}
    yield reading(
        source,
        number,
        "cosbench",
        label=row.get("Stage") or row.get("Id") or None,
        direction=_DIRECTIONS.get(kind.lower().split("-")[0]) if bandwidth else None,
        operation=name.lower() or None,
        numjobs=whole(row.get("Worker-Count")),
        iops=iops,
        bw_bytes_per_s=bandwidth or None,
        mean=times(num(row.get("Avg-ResTime")), 1e6),
        p99=times(num(row.get("99%-ResTime")), 1e6),
        io_bytes=whole(row.get("Byte-Count")) or None,
        notes=notes,
        details=details,
    )
