# SPDX-License-Identifier: Apache-2.0
"""vdbench's raw workloads: what a wd on an sd does in one run, as a stream; what parameters say about the data: hit
areas, compressible and repeated contents, open flags.
"""

from __future__ import annotations

from dataclasses import replace

from ioatlas.load.streams.standards import hot_band
from ioatlas.model.cell import OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.workload import Address, Arrival, Stream, Workload
from ioatlas_translate.translation import SECTIONS_MAX, safe_name
from ioatlas_translate.vdbench_parm import TOLD, Definition, ParameterFile, Run, expanded, matching, number, numbers

Options = dict[str, OptionValue]


def hit_area(run: Run, wd: Definition, sd: Definition, size: int | None, read_percent: float) -> Options:
    """Rhpct and whpct: per cents of reads and writes that go to the first `hitarea` bytes (1 MB unless given)."""
    read, write = run.number("rhpct", wd), run.number("whpct", wd)
    if not read and not write:
        return {}
    area = int(run.number("hitarea", sd, "1m"))
    if size is None or size <= area:
        run.notes.append(TOLD["cache-hits-unsized"])
        return {}

    def zones(percent: float) -> str:
        whole = round(percent)
        return f"{whole}/{area}" + (f":{100 - whole}/{size - area}" if whole < 100 else "")

    ways = [read] if read_percent >= 100 else [write] if read_percent <= 0 else [read, write]
    off = max(abs(percent - round(percent)) for percent in (read, write))
    run.notes.rounded(TOLD, "cache-hits", off, read=read, write=write, area=area)
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
        notes.tell(TOLD["compression"], ratio=ratio, percent=percent, off=round(percent) - percent)
    elif ratio:
        options["refill_buffers"] = 1
        notes.same("compression", "ratio 1: incompressible data")
    if (dedup := given("dedupratio")) > 1:
        percent = 100 * (1 - 1 / dedup)
        options["dedupe_percentage"] = round(percent)
        unit, units = given("dedupunit", "128k"), ""
        if unit != block:
            units = f"; fio repeats blocks of {block} bytes, the file asks for units of {unit:g}"
        notes.tell(TOLD["deduplication"], ratio=dedup, percent=percent, off=round(percent) - percent, units=units)
    for keyword in ("dedupsets", "deduphotsets", "dedupflipflop", "dedupacross"):
        if sd.first(keyword) or general.first(keyword):
            notes.lost("deduplication", f"{keyword}=: which sets of blocks repeat, and how they change")
    if len(notes) == before:
        notes.append(TOLD["data"])
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


def _sizes(run: Run, wd: Definition, options: Options) -> tuple[tuple[int, float], ...]:
    own = numbers(wd.all("xfersize") or ["4096"], "xfersize", wd.where)
    found = [run.point["xfersize"]] if "xfersize" in run.point else own
    if len(found) == 1:
        return ((int(found[0]), 100.0),)
    if len(found) == 3:
        low, high, align = (int(v) for v in found)
        options["bsrange"] = f"{low}-{high}"
        if align == low and high % low == 0:
            run.notes.same("block size", f"uniform over multiples of {align} from {low} to {high} bytes")
        else:
            options["bs_unaligned"] = 1
            run.notes.tell(TOLD["sizes"], low=low, high=high, align=align)
        return ((low, 100.0),)
    if len(found) % 2 or abs(sum(found[1::2]) - 100) > 0.5:
        raise UsageError(
            "xfersize= takes one size, size and per cent pairs that sum to 100, or (min,max,align)",
            where=wd.where,
            remedy="correct the list",
        )
    return tuple((int(size), percent) for size, percent in zip(found[::2], found[1::2], strict=True))


def _region(run: Run, sd: Definition, wd: Definition, block: int) -> tuple[int, int | None, tuple[float, float] | None]:
    """offset, size, per cent region of a workload on an sd."""
    size = int(sd.number("size")) if sd.first("size") else None
    base = int(sd.number("offset"))
    limits = wd.all("hotband") or wd.all("range") or sd.all("range")
    if not limits:
        return base, None if size is None else size - base, None
    low, high = (number(v, "range", wd.where) for v in limits[:2]) if len(limits) >= 2 else (0.0, 0.0)
    if high <= low:
        raise UsageError(
            "range= takes a start and a larger end, as in (10,20)", where=wd.where, remedy="correct the range"
        )
    if high <= 200 and high > 100:
        run.notes.tell(TOLD["wrapping-range"], over=high - 100)
        high = 100
    if high > 200:
        return base + int(low) // block * block, int(high - low) // block * block, None
    if size is None:
        return 0, None, (low, high)
    start = int(size * low / 100) // block * block
    return base + start, max(block, int(size * (high - low) / 100) // block * block), None


def _address(run: Run, wd: Definition) -> Address:
    notes, text = run.notes, (wd.first("seekpct") or "100").lower()
    if "seekpct" in run.point:
        seek = run.point["seekpct"]
    elif "random".startswith(text) and len(text) >= 3:
        seek = 100.0
    elif text in ("seqnz", "sequential", "seq", "eof", "-1"):
        seek = 0.0
        if text in ("eof", "-1"):
            notes.lost("end of run", "seekpct=eof ends the run at the end of the sd; fio's run ends by time")
        if text == "seqnz":
            notes.nearly("start", "seqnz does not begin at block 0; fio does", "position of the first I/O")
    else:
        seek = number(text, "seekpct", wd.where)
    stride = [int(v) for v in numbers(wd.all("stride"), "stride", wd.where)]
    if stride:
        low, high = stride[0], stride[-1]
        skip = (low + high) // 2 // 512 * 512
        if low != high:
            notes.nearly("stride", f"gaps uniform from {low} to {high} bytes become {skip}", "the spread of the gaps")
        return Address("strided", skip_bytes=skip) if skip else Address("sequential")
    if seek >= 100:
        return Address("random")
    return Address("part-random", random_percent=seek) if seek > 0 else Address("sequential")


def _aligned(run: Run, address: Address, sd: Definition, block: int) -> Address:
    """The addresses with the boundary that the sd asks for. Sequential blocks have theirs from the ones before."""
    align = int(sd.number("align"))
    if not align:
        return address
    if address.law in ("sequential", "strided"):
        if (block + address.skip_bytes) % align:
            run.notes.tell(TOLD["unaligned"], block=block, align=align)
        else:
            run.notes.same("align=", f"blocks that follow each other begin at multiples of {align} by themselves")
        return address
    return replace(address, align_bytes=align)


def _stream(run: Run, wd: Definition, sd: Definition, index: int, general: Definition) -> Stream:
    options: Options = {}
    sizes = _sizes(run, wd, options)
    block = sizes[0][0]
    if block < 512 or any(size % 512 for size, _ in sizes):
        raise UsageError("vdbench's transfers are multiples of 512 bytes", where=wd.where, remedy="correct xfersize=")
    by_reads = wd.first("rdpct", "readpct")
    percent = wd.number("rdpct", "readpct") if by_reads else 100 - wd.number("wrpct", "writepct")
    percent = run.point.get("rdpct", percent)
    offset, size, region = _region(run, sd, wd, block)
    address = _address(run, wd)
    direct, sync = open_flags(run, sd, wd)
    if wd.all("hotband"):
        address, note = hot_band(size, block, percent)
        run.notes.append(note)
    address = _aligned(run, address, sd, block)
    options |= hit_area(run, wd, sd, size, percent)
    if percent < 100:
        options |= content(run, general, sd, block)
    jobs, increment = 1, 0
    streams = wd.first("streams") or sd.first("streams")
    if streams:
        count = int(number(streams, "streams", wd.where))
        if count < 1:
            raise UsageError("streams= takes a number of at least 1", where=wd.where, remedy="correct it")
        if address.law == "sequential" and size:
            jobs, increment = count, size // count // block * block
            size = increment
            run.notes.same("streams", f"{count} sequential streams, each in its own part of the sd")
        else:
            run.notes.lost("streams", "streams= divides the sd, whose size is not given")
    return Stream(
        name=safe_name(f"{run.name}.{wd.name}.{sd.name}"),
        read_percent=percent,
        address=address,
        sizes=sizes,
        jobs=jobs,
        size_bytes=size,
        offset_bytes=offset,
        offset_increment_bytes=increment,
        region_percent=region,
        target=index,
        origin=sd.first("lun") or sd.name,
        direct=direct,
        sync=sync if percent < 100 else "",
        options=options,
    )


def _skews(run: Run, wds: list[Definition]) -> dict[str, float]:
    """Per cents of the I/O by workload; those that state none share what is left. Raises UsageError when nothing is."""
    skews = {wd.name: wd.number("skew") for wd in wds}
    given = sum(skews.values())
    open_shares = [name for name, skew in skews.items() if not skew]
    if open_shares and given >= 100:
        raise UsageError(
            "the skews leave nothing for " + ", ".join(open_shares),
            where=run.rd.where,
            remedy="let all skews sum to 100",
        )
    skews |= dict.fromkeys(open_shares, (100 - given) / max(1, len(open_shares)))
    if not open_shares and any(wd.first("skew") for wd in wds) and abs(given - 100) > 0.01:
        run.notes.tell(TOLD["skews"], sum=given, off=100 - given)
    return skews


def raw_workload(run: Run, parm: ParameterFile) -> Workload:
    """All raw workloads of one run. Raises UsageError."""
    notes = run.notes
    sds = expanded(parm.definitions["sd"])
    # Without any wd the rd gives the workload itself: xfersize, rdpct and seekpct stand among its loops.
    defined = parm.definitions["wd"] or ([] if run.rd.all("wd") else [Definition("wd", "default", {}, run.rd.where)])
    wds = matching(run.rd.all("wd") or ["*"], defined, run.rd.where)
    pairs = []
    for wd in wds:
        names = run.rd.all("sd") or wd.all("sd") or ["*"]
        pairs += [(wd, sd) for sd in matching(["*"] if "single" in names else names, sds, wd.where)]
    if len(pairs) > SECTIONS_MAX:
        raise UsageError("too many workloads times sds", where=run.rd.where, remedy="narrow the patterns")
    skews = _skews(run, wds)
    skewed, given = any(wd.first("skew") for wd in wds), sum(skews.values())
    per_wd = {wd.name: sum(1 for w, _ in pairs if w is wd) for wd in wds}
    own_rates = {wd.name: wd.number("iorate") for wd in wds}
    streams = []
    for wd, sd in pairs:
        stream = _stream(run, wd, sd, sds.index(sd) + 1, parm.general)
        share = skews[wd.name] / given / per_wd[wd.name]
        threads = int(run.number("threads", sd, "8"))
        siblings = [w for w, s in pairs if s is sd]
        depth = (
            threads
            if len(siblings) == 1
            else max(1, round(threads * skews[wd.name] / sum(skews[w.name] for w in siblings)))
        )
        if len(siblings) > 1:
            notes.tell(TOLD["shared-threads"], threads=threads, workloads=len(siblings))
        rate = own_rates[wd.name] / per_wd[wd.name] or (run.rate * share if run.rate else 0.0)
        arrival = Arrival(run.gaps if rate else "closed", rate_iops=rate or None)  # type: ignore[arg-type]
        controlled = skewed and not rate
        per_job = max(1, depth // stream.jobs)
        streams.append(replace(stream, arrival=arrival, depth=per_job, share=share if controlled else None))
        for keyword in ("priority", "user"):
            if wd.has(keyword):
                notes.lost(f"{keyword}=", f"wd={wd.name}: no fio option for it")
    if run.rate and len(pairs) > 1:
        notes.same("share of streams", "each workload's rate is its share of the total")
    return Workload(run.name, tuple(streams), runtime_seconds=run.elapsed, warmup_seconds=run.warmup)
