# SPDX-License-Identifier: Apache-2.0
"""Several streams at once: what a campaign says of each stream beside what fio does with it, in units of sampling
error.

    python bench/streams/run.py

Each load is written out by the campaign's own job writer and run once by fio on a file in a temporary folder, with a
log of every I/O; about 40 s in all.
"""

import math
import subprocess
import tempfile
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from ioatlas.load.fio.batch import Batch, Section, job_text
from ioatlas.measure.procedures.load_points.plan import build_streams_plan, phases_of
from ioatlas.measure.procedures.options import find_profile, read_campaign
from ioatlas.model.cell import Cell
from ioatlas.model.target import Target
from ioatlas.stats.gates import offered_by_direction, offered_iops
from ioatlas_translate import translate
from ioatlas_translate.campaign_text import render_campaigns

MIB = 1 << 20
SECONDS = 4
SD = "sd=s,lun=x,size=64m,threads=8\n"
VDBENCH = SD + (
    "wd=oltp,sd=s,skew=60,rdpct=70,xfersize=8k\nwd=log,sd=s,skew=30,rdpct=0,seekpct=0,xfersize=(4k,40,16k,60)\nwd=scan,sd=s,skew=10,rdpct=100,seekpct=0,xfersize=64k\n"
)
FIO = """[global]
time_based
runtime=9
size=32m
norandommap
[mixed]
rw=randrw
rwmixread=35
bssplit=4k/25:8k/75
[backup]
rw=read
bs=128k
rate_iops=150
rate_process=poisson
"""
MINE = """
[sweep]
size = "64m"
[streams]
load = 1500
[[stream]]
name = "hot"
share = 80
rw = "randrw"
rwmixread = 60
bs = "4k"
random_distribution = "zoned:60/10:30/20:10/70"
region = [0, 50]
[[stream]]
name = "log"
share = 20
rw = "write"
bs = "16k"
region = [50, 100]
rate_process = "linear"
"""


class Table:
    """Rows of described against done; z: difference in standard errors of sampling."""

    def __init__(self):
        self.rows = []

    def share(self, what, wanted, hits, total):
        """A share of `total` I/Os, each drawn by itself."""
        if not total:
            self.rows.append((what, f"{100 * wanted:.2f}", "no I/O", 0, math.inf))
            return
        error = math.sqrt(wanted * (1 - wanted) / total) or 1 / total
        self.rows.append(
            (what, f"{100 * wanted:.2f} %", f"{100 * hits / total:.2f} %", total, (hits / total - wanted) / error)
        )

    def rate(self, what, wanted, count, *, poisson):
        due = wanted * SECONDS
        # Constant gaps vary by an I/O at either end; fio's own start takes up to 50 ms.
        error = math.sqrt(due) if poisson else 2 + 0.05 * wanted / 4
        self.rows.append((what, f"{wanted:g}/s", f"{count / SECONDS:.1f}/s", count, (count - due) / error))

    def near(self, what, wanted, got, total, tolerance):
        """A share that fio keeps by counting, within `tolerance` of itself."""
        self.rows.append((what, f"{100 * wanted:.2f} %", f"{100 * got:.2f} %", total, (got - wanted) / tolerance))


def run(cell: Cell, folder: Path) -> dict[str, list[tuple[str, int, int]]]:
    """(operation, offset, length) of every I/O of each stream, as fio logged them."""
    place = folder / "file"
    if not place.exists() or place.stat().st_size < cell.end_bytes:
        place.write_bytes(b"\x5a" * cell.end_bytes)
    plain = tuple(
        (name, tuple({**dict(options), "direct": 0, "ioengine": "libaio"}.items())) for name, options in cell.streams
    )
    section = Section(1, replace(cell, streams=plain), 17, SECONDS * 1000, 300, (("filename", str(place)),))
    lines = []
    for line in job_text(Batch(1, folder, (section,))).splitlines():
        lines.append(line)
        if line.startswith("[v1-"):
            (folder / f"{line[1:-1]}.log").unlink(missing_ok=True)
            lines.append(f"write_iolog={line[1:-1]}.log")
    (folder / "job.fio").write_text("\n".join(lines) + "\n")
    subprocess.run(["fio", "--output=out", "job.fio"], cwd=folder, check=True)
    found = {}
    for name, stream, _ in section.jobs:
        words = [line.split() for line in (folder / f"{name}.log").read_text().splitlines()]
        found[stream] = [(w[2], int(w[3]), int(w[4])) for w in words if len(w) == 5 and w[2] in ("read", "write")]
    return found


def compare(table: Table, label: str, cell: Cell, done: dict[str, list[tuple[str, int, int]]]) -> None:
    total = sum(len(log) for log in done.values())
    paced = offered_iops(cell)
    weights = {
        name: float(dict(options).get("flow", 0)) * member.numjobs
        for (name, options), member in zip(cell.streams, cell.members, strict=True)
    }
    for (name, options), member in zip(cell.streams, cell.members, strict=True):
        log, option = done[name], dict(options)
        what = f"{label}, {name}:"
        for direction, rate in offered_by_direction(member).items():
            table.rate(
                f"{what} {direction}s",
                rate,
                sum(op == direction for op, _, _ in log),
                poisson=option.get("rate_process") == "poisson",
            )
        if sum(weights.values()):
            wanted = weights[name] / sum(weights.values())
            # flow stops a stream that is ahead by what it has in flight.
            table.near(f"{what} share of all I/Os", wanted, len(log) / total, total, 0.01 * wanted + 64 / total)
        if len(member.directions) > 1 and not paced:
            table.share(
                f"{what} reads", int(option["rwmixread"]) / 100, sum(op == "read" for op, _, _ in log), len(log)
            )
        sizes = Counter(length for _, _, length in log)
        mix = [entry.partition("/") for entry in str(option.get("bssplit", "")).split(":") if entry]
        for size, _, percent in mix or [(str(option.get("bs")), "", "100")]:
            table.share(f"{what} I/Os of {size} bytes", int(percent) / 100, sizes[int(size)], len(log))
        inside = sum(
            int(option.get("offset", 0)) <= at and at + length <= int(option.get("offset", 0)) + int(option["size"])
            for _, at, length in log
        )
        table.share(f"{what} I/Os inside its region", 1.0, inside, len(log))
        if not str(option["rw"]).startswith("rand"):
            steps = [
                (a, b)
                for direction in member.directions
                for a, b in pairwise([one for one in log if one[0] == direction])
            ]
            end = int(option.get("offset", 0)) + int(option["size"])
            wraps = sum(b[1] < a[1] for a, b in steps)
            joined = sum(b[1] == a[1] + a[2] or (b[1] < a[1] and a[1] + a[2] + max(sizes) >= end) for a, b in steps)
            table.share(f"{what} I/Os that follow the one before ({wraps} passes)", 1.0, joined, len(steps))
        if str(option.get("random_distribution", "")).startswith("zoned:"):
            begin, edge = int(option.get("offset", 0)), 0.0
            for zone in str(option["random_distribution"]).removeprefix("zoned:").split(":")[:3]:
                access, extent = (float(part) / 100 for part in zone.split("/"))
                low, high = begin + edge * int(option["size"]), begin + (edge + extent) * int(option["size"])
                table.share(f"{what} I/Os in zone {zone}", access, sum(low <= at < high for _, at, _ in log), len(log))
                edge += extent


def main():
    target = Target("t", "directory", "/nowhere", free_bytes=1 << 40)
    table = Table()
    exact = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = (
            ("vdbench skew", "vdbench", VDBENCH + "rd=r,wd=*,iorate=max,elapsed=30"),
            ("vdbench rates", "vdbench", VDBENCH + "rd=r,wd=*,iorate=800,elapsed=30"),
            ("fio jobs", "fio", FIO.replace("rw=randrw\n", "rw=randrw\nrate_iops=100,300\nrate_process=poisson\n")),
        )
        for label, tool, source in sources:
            path = folder / "source"
            path.write_text(source)
            translation = translate(tool, str(path))
            exact.append(f"{label} {'exactly' if translation.is_exact else 'with approximations'}")
            for cell in build_streams_plan(read_campaign(render_campaigns(translation)[0]), (target,)).to_measure:
                compare(table, label, cell, run(cell, folder))
        for cell in build_streams_plan(read_campaign(MINE), (target,)).to_measure:
            compare(table, "[[stream]]", cell, run(cell, folder))
        spec = find_profile("spc1-like")
        (phase,) = phases_of(spec, target, 256 * MIB)
        cell = phase.cell("t", percent=100, load_iops=3000)
        compare(table, "spc1-like", cell, run(cell, folder))
        hotband, *_ = phases_of(find_profile("emerald-like"), target, 256 * MIB)
        cell = hotband.cell("t")
        compare(table, "emerald-like", cell, run(cell, folder))
    print(f"Translated: {', '.join(exact)}.\n")
    print("| described | value | fio 3.33 did | over I/Os | standard errors |\n|---|---|---|---|---|")
    for what, wanted, got, total, z in table.rows:
        print(f"| {what} | {wanted} | {got} | {total} | {z:+.1f} |")
    far = [row for row in table.rows if abs(row[-1]) > 4]
    print(
        f"\n{len(table.rows)} figures, {len(far)} more than 4 standard errors off"
        + (": " + "; ".join(row[0] for row in far) if far else ".")
    )


if __name__ == "__main__":
    main()
