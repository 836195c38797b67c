# SPDX-License-Identifier: Apache-2.0
"""`rados bench`: what it prints when a run has ended. MB are 1024^2 bytes, by its source; one I/O is one operation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioatlas.interop.read.kit import compiled, reading, runs
from ioatlas.interop.read.numbers import MIB, agreed, per_second, printed
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

SIGNATURE = re.compile(r"(?m)^Total time run: +[\d.]+|^ *sec Cur ops +started +finished ")
_LINES = compiled(
    r"^(?P<begun>Maintaining) (?P<depth>\d+) concurrent ",
    r"^ *(?P<begun>sec) Cur ops +started +finished ",
    r"^Total time run: +(?P<seconds>[\d.]+)",
    r"^Total (?P<direction>writes|reads) made: +(?P<ios>\d+)",
    r"^(?:Write|Read) size: +(?P<bs>\d+)",
    r"^Object size: +(?P<size>\d+)",
    r"^Bandwidth \(MB/sec\): +(?P<bandwidth>[\d.]+)",
    r"^Average IOPS: +(?P<iops>[\d.]+)",
    r"^Stddev IOPS: +(?P<spread>[\d.]+)",
    r"^Average Latency(?:\(s\))?: +(?P<mean>[\d.]+)",
    r"^Max latency(?:\(s\))?: +(?P<highest>[\d.]+)",
    r"^Min latency(?:\(s\))?: +(?P<lowest>[\d.]+)",
)


def read(source: Source) -> Iterator[ImportedReading]:
    for run in runs(source, _LINES, result="seconds", keeps=("depth",)):
        if "bandwidth" not in run:
            source.problem(run.at.get("begun", 0), "a run of rados bench without its result: not finished or cut off")
            continue
        seconds, size = run.num("seconds"), run.whole("bs")
        counted = per_second(printed(run.get("ios")), seconds)
        rate, _ = agreed(printed(run.get("iops"), cut=True), counted)
        yield reading(
            source,
            run.at["bandwidth"],
            "rados bench",
            direction=run.get("direction", "").removesuffix("s") or None,
            bs_bytes=size,
            size_bytes=run.whole("size"),
            numjobs=1,
            iodepth=run.whole("depth"),
            iops=rate.value if rate else None,
            bw_bytes_per_s=run.num("bandwidth", MIB),
            mean=run.num("mean", 1e9),
            runtime_seconds=seconds,
            io_bytes=(run.whole("ios") or 0) * (size or 0) or None,
            notes=("MB/sec are 1024^2 bytes; sequential or random is not told",),
            details={
                "total_ios": run.whole("ios"),
                "iops_stddev": run.num("spread"),
                "lat_min_ns": run.num("lowest", 1e9),
                "lat_max_ns": run.num("highest", 1e9),
            },
        )
