# SPDX-License-Identifier: Apache-2.0
"""What vdbench's parameters say about the data: hit areas, compressible and repeated contents, open flags.

Each as fio options with their errors.
"""

from __future__ import annotations

from ioatlas.interop.fidelity import Fidelity, approximate, exact, not_expressible
from ioatlas_translate.vdbench_parm import Definition, Run, number


def hit_area(
    run: Run, wd: Definition, sd: Definition, size: int | None, read_percent: float
) -> tuple[dict[str, str | int | float], Fidelity] | None:
    """Rhpct and whpct: per cents of reads and writes that go to the first `hitarea` bytes (1 MB unless given)."""
    read, write = run.number("rhpct", wd), run.number("whpct", wd)
    if not read and not write:
        return None
    area = int(run.number("hitarea", sd, "1m"))
    if size is None or size <= area:
        return {}, not_expressible(
            "cache hits", "rhpct/whpct need the size of the sd (size=) to place the hit area; all I/O is a miss"
        )

    def zones(percent: float) -> str:
        whole = round(percent)
        inside = f"{whole}/{area}" if whole else ""
        outside = f"{100 - whole}/{size - area}" if whole < 100 else ""
        if not whole:
            return f"zoned_abs:0/{area}:100/{size - area}"
        return "zoned_abs:" + ":".join(filter(None, (inside, outside)))

    text = (
        zones(read)
        if read_percent >= 100
        else zones(write)
        if read_percent <= 0
        else f"{zones(read)},{zones(write)[len('zoned_abs:') :]}"
    )
    reason = f"{read:g}% of reads and {write:g}% of writes in the first {area} bytes, the rest behind them"
    options: dict[str, str | int | float] = {"random_distribution": text, "norandommap": 1}
    if read == round(read) and write == round(write):
        return options, exact("cache hits", reason)
    return options, approximate("cache hits", reason, "rounded to whole per cents")


def _given(sd: Definition, general: Definition, name: str, default: str = "0") -> float:
    """What the sd says, else the file in general."""
    return number(sd.first(name) or general.first(name) or default, name, sd.where)


def content(
    run: Run, general: Definition, sd: Definition, block: int
) -> tuple[dict[str, str | int | float], list[Fidelity]]:
    """Compression and deduplication of written data."""
    options: dict[str, str | int | float] = {}
    notes: list[Fidelity] = []
    ratio = run.point.get("compratio") or _given(sd, general, "compratio")
    compression = run.point.get("compression") or _given(sd, general, "compression")
    if compression:  # per cent of its size that a block compresses to
        ratio = 100 / compression
    if ratio > 1:
        percent = 100 * (1 - 1 / ratio)
        options |= {"buffer_compress_percentage": round(percent), "refill_buffers": 1}
        notes.append(
            approximate(
                "compression",
                f"ratio {ratio:g}: {percent:.4g}% of each block is compressible; "
                "fio takes whole per cents and its own pattern",
                f"{round(percent) - percent:+.2g} points, and the compressor's view of another pattern",
            )
        )
    elif ratio:
        options["refill_buffers"] = 1
        notes.append(exact("compression", "ratio 1: incompressible data"))
    dedup = _given(sd, general, "dedupratio")
    if dedup > 1:
        percent = 100 * (1 - 1 / dedup)
        options["dedupe_percentage"] = round(percent)
        unit = _given(sd, general, "dedupunit", "128k")
        error = f"{round(percent) - percent:+.2g} points"
        if unit != block:
            error += f"; fio repeats blocks of {block} bytes, the file asks for units of {unit:g}"
        notes.append(
            approximate(
                "deduplication", f"ratio {dedup:g}: {percent:.4g}% of the written blocks repeat earlier ones", error
            )
        )
    for keyword in ("dedupsets", "deduphotsets", "dedupflipflop", "dedupacross"):
        if sd.first(keyword) or general.first(keyword):
            notes.append(
                not_expressible("deduplication", f"{keyword}=: which sets of blocks repeat, and how they change")
            )
    if not notes:
        notes.append(
            approximate(
                "write data",
                "vdbench reuses one random pattern, fio random data that it scrambles",
                "incompressible in both; repetition may differ",
            )
        )
    return options, notes


def open_flags(*definitions: Definition) -> tuple[bool, str, list[Fidelity]]:
    """direct, sync and notes of all openflags=."""
    direct, sync, notes = False, "", []
    for definition in definitions:
        for flag in definition.all("openflags"):
            word = flag.lower()
            if word in ("o_direct", "directio", "direct"):
                direct = True
            elif word in ("o_sync", "o_rsync"):
                sync = "sync"
            elif word == "o_dsync":
                sync = sync or "dsync"
            elif word in ("none", "directio_off"):
                continue
            else:
                notes.append(not_expressible("openflags", f"openflags={flag}: no fio option opens files so"))
    notes.append(exact("caching", "openflags: direct" if direct else "the client's page cache is in use"))
    return direct, sync, notes
