# SPDX-License-Identifier: Apache-2.0
"""Why IOzone and its fio translation differ: one habit of one tool is changed at a time, in rounds that alternate in a
random order.

`python bench/iozone/why.py DIRECTORY writes|reads [RECORD [SECONDS]]`: needs IOzone, a C compiler and a directory on a
real disk. Prints a table of RESULT.md. Every program's calls on the file are timed by the same few lines (calls.c),
which also lend one tool the habit of the other.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from statistics import fmean

from ioatlas.load.streams.fixed_work import iozone_arguments, iozone_table
from ioatlas.measure.procedures.fixed_work.options import FixedWorkOptions
from ioatlas.measure.procedures.fixed_work.plan import sequence_cells
from ioatlas.model.cell import Cell
from ioatlas.model.fixed_work import WorkSequence
from ioatlas.model.units import parse_size_bytes
from ioatlas.plan.spec import CampaignSpec
from ioatlas.stats.intervals import log_t_interval

SIZE = 128 << 20
CALLS = Path(__file__).with_name("calls.c")
FIO_OPTIONS = {"thread": 1, "randrepeat": 0, "clat_percentiles": 0, "disable_clat": 1, "disable_slat": 1}
IOZONE_ORDER = (
    "write",
    "rewrite",
    "read",
    "reread",
    "random read",
    "random write",
    "backward read",
    "once more",
    "record rewrite",
    "strided read",
)
"""The openings of the file by IOzone that do I/O, in their order: it reads backward twice and reports the first."""


@dataclass(frozen=True)
class Variant:
    """A tool with one thing changed: fio options (None takes one away), or a habit lent by calls.c."""

    name: str
    tool: str = "fio"
    options: Mapping[str, object] = field(default_factory=dict)
    lent: str = ""


VARIANTS = {
    "writes": (
        ("rewrite", "random write", "record rewrite"),
        (
            Variant("IOzone", "iozone"),
            Variant("IOzone, its buffer altered before each write", "iozone", lent="CALLS_ALTER"),
            Variant("fio's default: random data, altered before each write", options={"buffer_pattern": None}),
            Variant("random data, never altered", options={"buffer_pattern": None, "scramble_buffers": 0}),
            Variant("as translated: IOzone's pattern, never altered"),
        ),
    ),
    "reads": (
        ("read", "random read", "backward read", "strided read"),
        (
            Variant("IOzone", "iozone"),
            Variant("as translated"),
            Variant("as translated, a word of each page looked at after each read", lent="CALLS_TOUCH"),
        ),
    ),
}


@dataclass(frozen=True)
class Pass:
    """One pass over the file, milliseconds: by the tool's own clock, and within it in read or write and in fsync."""

    total: float
    io: float
    sync: float

    @property
    def rest(self) -> float:
        """Not in these calls: the tool's own work between two I/Os (and seeks, opening and closing)."""
        return self.total - self.io - self.sync


class Rounds:
    def __init__(self, target: Path, scratch: Path, record: int) -> None:
        self._file, self._scratch, self._record = target / "why.dat", scratch, record
        self._library = scratch / "calls.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", self._library, CALLS, "-ldl"], check=True)
        self._calls = scratch / "calls"

    def make(self, variant: Variant, operations: tuple[str, ...]) -> dict[str, Pass]:
        self._file.unlink(missing_ok=True)
        made = self._iozone(variant) if variant.tool == "iozone" else self._fio(variant, operations)
        return {operation: made[operation] for operation in operations}

    def _run(self, variant: Variant, command: list[str]) -> str:
        self._calls.unlink(missing_ok=True)
        lent = {variant.lent: "1"} if variant.lent else {}
        env = {
            **os.environ,
            "LD_PRELOAD": str(self._library),
            "CALLS_FILE": str(self._file),
            "CALLS_LOG": str(self._calls),
            **lent,
        }
        return subprocess.run(command, cwd=self._scratch, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout

    def _logged(self) -> list[tuple[float, float]]:
        """(ms in reads and writes, ms in fsync) of each descriptor that did I/O."""
        return [
            (int(io) / 1e6, int(sync) / 1e6)
            for _, io, sync, *_ in (line.split() for line in self._calls.read_text().splitlines())
        ]

    def _iozone(self, variant: Variant) -> dict[str, Pass]:
        said = self._run(variant, ["iozone", *iozone_arguments(SIZE, [self._record]), "-f", str(self._file)])
        table = iozone_table(said)
        if table is None:
            sys.exit(f"IOzone printed no table:\n{said}")
        calls = dict(zip(IOZONE_ORDER, self._logged(), strict=True))
        return {name: Pass(1000 * SIZE / rate, *calls[name]) for name, rate in table.bytes_per_s.items()}

    def _fio(self, variant: Variant, operations: tuple[str, ...]) -> dict[str, Pass]:
        spec = CampaignSpec().having(FixedWorkOptions(ordered="iozone2017"))
        made = sequence_cells(spec, WorkSequence("x", "fio", SIZE, self._record))
        cells = {str(cell.option["operation"]): cell for cell in made}
        return {name: self._one(variant, cells[name]) for name in ("write", *operations)}

    def _one(self, variant: Variant, cell: Cell) -> Pass:
        options: dict[str, object] = {
            **FIO_OPTIONS,
            **cell.members[0].option,
            **variant.options,
            "randseed": random.randrange(1 << 30),
        }
        job = self._scratch / "job.fio"
        lines = [f"{name}={value}" for name, value in options.items() if value is not None]
        job.write_text("\n".join(["[why]", f"filename={self._file}", *lines, ""]))
        said = self._run(variant, ["fio", "--output-format=json", str(job)])
        part = json.loads(said[said.index("{") :])["jobs"][0][cell.directions[0]]
        io, sync = (sum(values) for values in zip(*self._logged(), strict=True))
        calls_ms = part["lat_ns"]["mean"] * part["total_ios"] / 1e6
        # As in a campaign: whole milliseconds, rounded up, unless the sum of the I/Os lies within the last.
        return Pass(calls_ms if calls_ms > part["runtime"] - 1 else part["runtime"] - 0.5, io, sync)


def main() -> None:
    where, kind = sys.argv[1], sys.argv[2]
    record = parse_size_bytes(sys.argv[3] if len(sys.argv) > 3 else "1m")
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 200.0
    operations, variants = VARIANTS[kind]
    found: dict[tuple[str, str], list[Pass]] = {}
    with tempfile.TemporaryDirectory(dir=where) as target, tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        rounds = Rounds(Path(target), Path(scratch), record)
        end = time.monotonic() + seconds
        count = 0
        while time.monotonic() < end or count < 3:
            count += 1
            for variant in random.sample(variants, len(variants)):
                for operation, made in rounds.make(variant, operations).items():
                    found.setdefault((operation, variant.name), []).append(made)
    print(f"File of {SIZE >> 20} MiB, records of {record >> 10} KiB, {count} rounds of each.\n")
    print(
        "| Operation | Tool | MB/s | IOzone's rate over it, 95% | read or write, µs an I/O | flush, ms | rest, µs an "
        "I/O |"
    )
    print("|---|---|---|---|---|---|---|")
    ios = SIZE // record
    for operation in operations:
        base = found[operation, variants[0].name]
        for variant in variants:
            mine = found[operation, variant.name]
            ratios = [one.total / other.total for one, other in zip(mine, base, strict=True)]
            interval = log_t_interval(ratios)
            ratio = (
                ""
                if variant is variants[0]
                else f"{exp(fmean(map(log, ratios))):.2f} ({interval.low:.2f} to {interval.high:.2f})"
            )
            columns = [
                operation,
                variant.name,
                f"{fmean(SIZE / one.total / 1000 for one in mine):.0f}",
                ratio,
                f"{1000 * fmean(one.io for one in mine) / ios:.1f}",
                f"{fmean(one.sync for one in mine):.2f}",
                f"{1000 * fmean(one.rest for one in mine) / ios:.1f}",
            ]
            print("| " + " | ".join(columns) + " |")


if __name__ == "__main__":
    main()
