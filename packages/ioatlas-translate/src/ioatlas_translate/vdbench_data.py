# SPDX-License-Identifier: Apache-2.0
"""What vdbench's parameters say about the data: hit areas, compressible and repeated contents, open flags.

Each as fio options with their errors.
"""

from __future__ import annotations

from ioatlas.model.cell import OptionValue
from ioatlas_translate.vdbench_parm import Definition, Run, number

Options = dict[str, OptionValue]


def hit_area(run: Run, wd: Definition, sd: Definition, size: int | None, read_percent: float) -> Options:
    """Rhpct and whpct: per cents of reads and writes that go to the first `hitarea` bytes (1 MB unless given)."""
    read, write = run.number("rhpct", wd), run.number("whpct", wd)
    if not read and not write:
        return {}
    area = int(run.number("hitarea", sd, "1m"))
    if size is None or size <= area:
        why = "rhpct/whpct need the size of the sd (size=) to place the hit area; all I/O is a miss"
        run.notes.lost("cache hits", why)
        return {}

    def zones(percent: float) -> str:
        whole = round(percent)
        return f"{whole}/{area}" + (f":{100 - whole}/{size - area}" if whole < 100 else "")

    ways = [read] if read_percent >= 100 else [write] if read_percent <= 0 else [read, write]
    reason = f"{read:g}% of reads and {write:g}% of writes in the first {area} bytes, the rest behind them"
    off = max(abs(percent - round(percent)) for percent in (read, write))
    run.notes.rounded("cache hits", reason, reason, off, "rounded to whole per cents")
    return {"random_distribution": f"zoned_abs:{','.join(map(zones, ways))}", "norandommap": 1}


def content(run: Run, general: Definition, sd: Definition, block: int) -> Options:
    """Compression and deduplication of written data."""

    def given(name: str, default: str = "0") -> float:
        """What the sd says, else the file in general."""
        return number(sd.first(name) or general.first(name) or default, name, sd.where)

    options: Options = {}
    notes, before = run.notes, len(run.notes)
    ratio = run.point.get("compratio") or given("compratio")
    compression = run.point.get("compression") or given("compression")
    if compression:  # per cent of its size that a block compresses to
        ratio = 100 / compression
    if ratio > 1:
        percent = 100 * (1 - 1 / ratio)
        options |= {"buffer_compress_percentage": round(percent), "refill_buffers": 1}
        notes.nearly(
            "compression",
            f"ratio {ratio:g}: {percent:.4g}% of each block is compressible; "
            "fio takes whole per cents and its own pattern",
            f"{round(percent) - percent:+.2g} points, and the compressor's view of another pattern",
        )
    elif ratio:
        options["refill_buffers"] = 1
        notes.same("compression", "ratio 1: incompressible data")
    if (dedup := given("dedupratio")) > 1:
        percent = 100 * (1 - 1 / dedup)
        options["dedupe_percentage"] = round(percent)
        error = f"{round(percent) - percent:+.2g} points"
        if (unit := given("dedupunit", "128k")) != block:
            error += f"; fio repeats blocks of {block} bytes, the file asks for units of {unit:g}"
        told = f"ratio {dedup:g}: {percent:.4g}% of the written blocks repeat earlier ones"
        notes.nearly("deduplication", told, error)
    for keyword in ("dedupsets", "deduphotsets", "dedupflipflop", "dedupacross"):
        if sd.first(keyword) or general.first(keyword):
            notes.lost("deduplication", f"{keyword}=: which sets of blocks repeat, and how they change")
    if len(notes) == before:
        notes.nearly(
            "write data",
            "vdbench reuses one random pattern, fio random data that it scrambles",
            "incompressible in both; repetition may differ",
        )
    return options


def open_flags(run: Run, *definitions: Definition) -> tuple[bool, str]:
    """Direct and sync of all openflags=."""
    direct, sync = False, ""
    for flag in (flag for one in (*definitions, run.rd) for flag in one.all("openflags")):
        word = flag.lower()
        if word in ("o_direct", "directio", "direct"):
            direct = True
        elif word in ("o_sync", "o_rsync"):
            sync = "sync"
        elif word == "o_dsync":
            sync = sync or "dsync"
        elif word not in ("none", "directio_off"):
            run.notes.lost("openflags", f"openflags={flag}: no fio option opens files so")
    run.notes.same("caching", "openflags: direct" if direct else "the client's page cache is in use")
    return direct, sync
