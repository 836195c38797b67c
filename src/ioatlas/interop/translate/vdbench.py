# SPDX-License-Identifier: Apache-2.0
"""vdbench: what raw workloads (sd, wd, rd) and file workloads (fsd, fwd) mean in fio.

Facts (manual 5.04 and its behaviour): a run lasts 30 s unless `elapsed` says otherwise; an sd has 8 threads, which are
its I/Os in flight, shared by all its workloads and one sequential position; 4 KiB random reads are the default; offered
rates have exponential gaps unless `distribution` says otherwise; the first `forxx` written is the outermost loop; a
curve runs at the maximum, then at 10, 50, 70, 80, 90 and 100% of what that gave.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ioatlas.errors import UsageError
from ioatlas.interop.command import Source, command_lines
from ioatlas.interop.fidelity import Fidelity, approximate, exact, not_expressible
from ioatlas.interop.translate import vdbench_data as data
from ioatlas.interop.translate.vdbench_files import file_workload
from ioatlas.interop.translate.vdbench_parm import (
    Definition,
    ParameterFile,
    expanded,
    matching,
    number,
    numbers,
    parse,
    seconds,
)
from ioatlas.interop.translation import SECTIONS_MAX, Translation, from_workloads, safe_name
from ioatlas.model.workload import Address, Arrival, Stream, Workload

_LOOPS = (
    "xfersize",
    "threads",
    "rdpct",
    "rhpct",
    "whpct",
    "seekpct",
    "hitarea",
    "compratio",
    "compression",
    "depth",
    "width",
    "files",
    "sizes",
    "totalsize",
    "wss",
    "workingsetsize",
)
_SEEK_WORDS = {"seq": "0", "sequential": "0", "seqnz": "0", "rand": "100", "random": "100"}
_CURVE = (10, 50, 70, 80, 90, 100)
# Parameters that are carried over, judged elsewhere, or only say how vdbench itself is started.
_USED: dict[str, tuple[str, ...]] = {
    "hd": ("system", "host", "vdbench", "shell", "user", "jvms", "clients", "client", "master"),
    "sd": (
        "host",
        "hd",
        "lun",
        "count",
        "size",
        "threads",
        "hitarea",
        "offset",
        "align",
        "openflags",
        "range",
        "streams",
        "dedupratio",
        "dedupunit",
        "dedupsets",
        "deduphotsets",
        "dedupflipflop",
        "compratio",
        "compression",
        "kstat",
        "instance",
    ),
    "fsd": (
        "anchor",
        "host",
        "hd",
        "width",
        "depth",
        "sizes",
        "shared",
        "wss",
        "workingsetsize",
        "total_size",
        "totalsize",
        "files",
        "distribution",
        "openflags",
        "cleanup",
        "count",
        "dedupratio",
        "dedupunit",
        "compratio",
        "compression",
    ),
    "wd": (
        "sd",
        "skew",
        "xfersize",
        "readpct",
        "rdpct",
        "writepct",
        "wrpct",
        "range",
        "hotband",
        "seekpct",
        "stride",
        "priority",
        "iorate",
        "rhpct",
        "whpct",
        "host",
        "hd",
        "openflags",
        "user",
        "streams",
    ),
    "fwd": (
        "fsd",
        "readpct",
        "rdpct",
        "stopafter",
        "operation",
        "fileselect",
        "fileio",
        "xfersizes",
        "skew",
        "threads",
        "host",
        "hd",
        "openflags",
    ),
    "rd": (
        "wd",
        "sd",
        "fwd",
        "fsd",
        "iorate",
        "fwdrate",
        "maxdata",
        "maxdataread",
        "maxdatawritten",
        "curve",
        "stopcurve",
        "elapsed",
        "interval",
        "warmup",
        "replay",
        "pause",
        "distribution",
        "startcmd",
        "start_cmd",
        "endcmd",
        "end_cmd",
        "operations",
        "foroperations",
        "format",
        "openflags",
        "mount",
        *_LOOPS,
        *(f"for{name}" for name in _LOOPS),
    ),
    "rg": ("host", "iorate", "devices"),
}


@dataclass
class Run:
    """One point of a run definition: its loop values, its rate and its times."""

    rd: Definition
    point: dict[str, float]
    name: str
    rate: float | None
    elapsed: float
    warmup: float
    gaps: str
    operation: str = ""
    notes: list[Fidelity] = field(default_factory=list)


def _loops(rd: Definition) -> list[tuple[str, list[float]]]:
    found = []
    for keyword, values in rd.values.items():
        base = keyword.removeprefix("for") if keyword.startswith("for") and keyword != "format" else keyword
        if base in _LOOPS:
            found.append(
                (base, numbers([_SEEK_WORDS.get(value.lower(), value) for value in values], keyword, rd.where))
            )
    return found


def _rates(rd: Definition, notes: list[Fidelity]) -> list[float | None]:
    values = rd.all("iorate", "fwdrate")
    if not values:
        notes.append(exact("arrival", "no rate is given: taken as max"))
        return [None]
    if values[0].lower() == "curve":
        points = [f"{p:g}" for p in (numbers(rd.all("curve"), "curve", rd.where) or _CURVE)]
        notes.append(
            not_expressible(
                "curve",
                f"points at {', '.join(points)}% of what the first run reaches: the "
                "rates are known after it has run; the run at the maximum is translated, "
                "the points need its result",
            )
        )
        return [None]
    # In a list too: as fast as it goes stands beside given rates.
    return [
        rate or None
        for rate in numbers(["0" if value.lower() == "max" else value for value in values], "iorate", rd.where)
    ]


_WITHOUT_COUNTERPART = {
    **dict.fromkeys(("maxdata", "maxdataread"), "ends a run after an amount of data"),
    "replay": "replays a trace",
    "maxdatawritten": "ends a run after an amount of data",
    **dict.fromkeys(("startcmd", "start_cmd", "endcmd", "end_cmd"), "a command is never taken from a file"),
    "mount": "mount options for the run",
    "stopcurve": "ends a curve by response time",
    "pause": "rest before the run; the load is the same without it",
}


def _gaps(rd: Definition, notes: list[Fidelity]) -> str:
    gaps = "poisson"
    for word in rd.all("distribution"):
        if "deterministic".startswith(word.lower()):
            gaps = "constant"
        elif "uniform".startswith(word.lower()):
            gaps = "constant"
            error = "spread of the gaps: 0 instead of 58% of their mean"
            notes.append(approximate("arrival", "uniformly distributed gaps become even gaps", error))
        elif not "exponential".startswith(word.lower()):
            notes.append(not_expressible("arrival", f"distribution={word}: bursts of varying rate"))
    return gaps


def _runs(rd: Definition, overrides: dict[str, str]) -> Iterator[Run]:
    notes: list[Fidelity] = []
    elapsed = seconds(overrides.get("elapsed") or rd.first("elapsed") or "30", "elapsed", rd.where)
    if elapsed <= 0:
        raise UsageError("elapsed= must be more than 0", where=rd.where, remedy="write for example elapsed=60")
    interval = seconds(overrides.get("interval") or rd.first("interval") or "1", "interval", rd.where)
    given_warmup = overrides.get("warmup") or rd.first("warmup")
    warmup = seconds(given_warmup, "warmup", rd.where) if given_warmup else 0.0
    if not given_warmup:
        notes.append(
            approximate(
                "averages",
                "without warmup= vdbench leaves the first interval out of its averages; fio counts the whole run",
                f"{min(100.0, 100 * interval / elapsed):.3g}% of the run",
            )
        )
    gaps = _gaps(rd, notes)
    notes += [
        not_expressible(f"{keyword}=", why) for keyword, why in _WITHOUT_COUNTERPART.items() if keyword in rd.values
    ]
    rates = _rates(rd, notes)
    loops = _loops(rd)
    operations = rd.all("foroperations", "operations") or [""]
    for op in operations:
        for values in itertools.product(*(vs for _, vs in loops)):
            for rate in rates:
                point = dict(zip((name for name, _ in loops), values, strict=True))
                varied = [f"{name}{value:g}" for (name, vs), value in zip(loops, values, strict=True) if len(vs) > 1]
                varied += [op] if len(operations) > 1 else []
                varied += [f"rate{rate:g}"] if len(rates) > 1 and rate else []
                name = safe_name("-".join([rd.name, *varied]))
                yield Run(rd, point, name, rate, elapsed, warmup, gaps, op, list(notes))


def _flags(*definitions: Definition) -> tuple[bool, str, list[Fidelity]]:
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


def _sizes(
    values: list[str], where: str, options: dict[str, str | int | float], notes: list[Fidelity]
) -> tuple[tuple[int, float], ...]:
    if not values:
        return ((4096, 100.0),)
    found = numbers(values, "xfersize", where)
    if len(found) == 1:
        return ((int(found[0]), 100.0),)
    if len(found) == 3:
        low, high, align = (int(v) for v in found)
        options["bsrange"] = f"{low}-{high}"
        if align == low and high % low == 0:
            notes.append(exact("block size", f"uniform over multiples of {align} from {low} to {high} bytes"))
        else:
            options["bs_unaligned"] = 1
            notes.append(
                approximate(
                    "block size",
                    f"uniform from {low} to {high} bytes in steps of {align}; fio "
                    "steps by 1 byte or by the smallest size",
                    "the step",
                )
            )
        return ((low, 100.0),)
    if len(found) % 2 or abs(sum(found[1::2]) - 100) > 0.5:
        raise UsageError(
            "xfersize= takes one size, size and per cent pairs that sum to 100, or (min,max,align)",
            where=where,
            remedy="correct the list",
        )
    return tuple((int(size), percent) for size, percent in zip(found[::2], found[1::2], strict=True))


def _region(
    sd: Definition, wd: Definition, block: int, notes: list[Fidelity]
) -> tuple[int, int | None, tuple[float, float] | None]:
    """offset, size, per cent region of a workload on an sd."""
    text = sd.first("size")
    size = int(number(text, "size", sd.where)) if text else None
    base = int(number(sd.first("offset") or "0", "offset", sd.where))
    limits = wd.all("hotband") or wd.all("range") or sd.all("range")
    if not limits:
        return base, None if size is None else size - base, None
    low, high = (number(v, "range", wd.where) for v in limits[:2]) if len(limits) >= 2 else (0.0, 0.0)
    if high <= low:
        raise UsageError(
            "range= takes a start and a larger end, as in (10,20)", where=wd.where, remedy="correct the range"
        )
    if high <= 200 and high > 100:
        notes.append(
            approximate(
                "region",
                "a range beyond 100% wraps to the start of the sd; fio's region does not",
                f"{high - 100:g}% of the sd left out",
            )
        )
        high = 100
    if high > 200:
        return base + int(low) // block * block, int(high - low) // block * block, None
    if size is None:
        return 0, None, (low, high)
    start = int(size * low / 100) // block * block
    return base + start, max(block, int(size * (high - low) / 100) // block * block), None


def _address(run: Run, wd: Definition, notes: list[Fidelity]) -> Address:
    text = (wd.first("seekpct") or "100").lower()
    if "seekpct" in run.point:
        seek = run.point["seekpct"]
    elif "random".startswith(text) and len(text) >= 3:
        seek = 100.0
    elif text in ("seqnz", "sequential", "seq", "eof", "-1"):
        seek = 0.0
        if text in ("eof", "-1"):
            notes.append(
                not_expressible("end of run", "seekpct=eof ends the run at the end of the sd; fio's run ends by time")
            )
        if text == "seqnz":
            notes.append(approximate("start", "seqnz does not begin at block 0; fio does", "position of the first I/O"))
    else:
        seek = number(text, "seekpct", wd.where)
    stride = [int(v) for v in numbers(wd.all("stride"), "stride", wd.where)]
    if stride:
        low, high = stride[0], stride[-1]
        skip = (low + high) // 2 // 512 * 512
        if low != high:
            notes.append(
                approximate(
                    "stride", f"gaps uniform from {low} to {high} bytes become {skip}", "the spread of the gaps"
                )
            )
        return Address("strided", skip_bytes=skip) if skip else Address("sequential")
    if seek >= 100:
        return Address("random")
    return Address("part-random", random_percent=seek) if seek > 0 else Address("sequential")


def _stream(run: Run, wd: Definition, sd: Definition, index: int, general: Definition) -> tuple[Stream, list[Fidelity]]:
    notes: list[Fidelity] = []
    options: dict[str, str | int | float] = {}
    values = [str(int(run.point["xfersize"]))] if "xfersize" in run.point else wd.all("xfersize")
    sizes = _sizes(values, wd.where, options, notes)
    block = sizes[0][0]
    if block < 512 or any(size % 512 for size, _ in sizes):
        raise UsageError("vdbench's transfers are multiples of 512 bytes", where=wd.where, remedy="correct xfersize=")
    read = wd.first("rdpct", "readpct")
    percent = float(read) if read else 100 - float(wd.first("wrpct", "writepct") or 0)
    percent = run.point.get("rdpct", percent)
    offset, size, region = _region(sd, wd, block, notes)
    address = _address(run, wd, notes)
    align = sd.first("align")
    if align:
        address = replace(address, align_bytes=int(number(align, "align", sd.where)))
    direct, sync, more = _flags(sd, wd, run.rd)
    notes += more
    if wd.all("hotband"):
        address, note = data.hot_band(size, block, percent)
        notes.append(note)
    hits = data.hit_area(run.point, wd, sd, size, percent)
    if hits is not None:
        options |= hits[0]
        notes.append(hits[1])
    if percent < 100:
        more_options, more = data.content(run.point, general, sd, block)
        options |= more_options
        notes += more
    jobs, increment = 1, 0
    streams = wd.first("streams") or sd.first("streams")
    if streams:
        count = int(number(streams, "streams", wd.where))
        if address.law == "sequential" and size:
            jobs, increment = count, size // count // block * block
            size = increment
            notes.append(exact("streams", f"{count} sequential streams, each in its own part of the sd"))
        else:
            notes.append(not_expressible("streams", "streams= divides the sd, whose size is not given"))
    stream = Stream(
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
    return stream, notes


def _skews(run: Run, wds: list[Definition], notes: list[Fidelity]) -> dict[str, float]:
    """Per cents of the I/O by workload; those that state none share what is left. Raises UsageError when nothing is."""
    skews = {wd.name: float(number(wd.first("skew") or "0", "skew", wd.where)) for wd in wds}
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
        reason = f"the skews of this run sum to {given:g}; they are taken relative to their sum"
        notes.append(approximate("share of streams", reason, f"{100 - given:g} points"))
    return skews


def _raw_workload(run: Run, parm: ParameterFile) -> tuple[Workload, list[Fidelity]]:
    notes = list(run.notes)
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
    skews = _skews(run, wds, notes)
    skewed, given = any(wd.first("skew") for wd in wds), sum(skews.values())
    per_wd = {wd.name: sum(1 for w, _ in pairs if w is wd) for wd in wds}
    own_rates = {wd.name: float(number(wd.first("iorate") or "0", "iorate", wd.where)) for wd in wds}
    streams = []
    for wd, sd in pairs:
        stream, entries = _stream(run, wd, sd, sds.index(sd) + 1, parm.general)
        share = skews[wd.name] / given / per_wd[wd.name]
        threads = int(run.point.get("threads", number(sd.first("threads") or "8", "threads", sd.where)))
        siblings = [w for w, s in pairs if s is sd]
        depth = (
            threads
            if len(siblings) == 1
            else max(1, round(threads * skews[wd.name] / sum(skews[w.name] for w in siblings)))
        )
        if len(siblings) > 1:
            notes.append(
                approximate(
                    "outstanding I/O",
                    "vdbench's workloads on one sd share its threads; here each has a part of them by its share",
                    f"{threads} threads for {len(siblings)} workloads",
                )
            )
        rate = own_rates[wd.name] / per_wd[wd.name] or (run.rate * share if run.rate else 0.0)
        arrival = Arrival(run.gaps if rate else "closed", rate_iops=rate or None)  # type: ignore[arg-type]
        controlled = skewed and not rate
        per_job = max(1, depth // stream.jobs)
        streams.append(replace(stream, arrival=arrival, depth=per_job, share=share if controlled else None))
        notes += entries
        for keyword in ("priority", "user"):
            if keyword in wd.values:
                notes.append(not_expressible(f"{keyword}=", f"wd={wd.name}: no fio option for it"))
    if run.rate and len(pairs) > 1:
        notes.append(exact("share of streams", "each workload's rate is its share of the total"))
    return Workload(run.name, tuple(streams), runtime_seconds=run.elapsed, warmup_seconds=run.warmup), notes


def _general_notes(parm: ParameterFile) -> Iterator[Fidelity]:
    hosts = [h for h in parm.definitions["hd"] if h.name != "localhost"]
    if len(hosts) > 1 or any(h.first("system") not in (None, "localhost", "127.0.0.1") for h in hosts):
        yield not_expressible(
            "hosts",
            f"{len(hosts)} hosts named in the file: one job file is one client's load; hosts are named when it is run",
        )
    for keyword in parm.general.values:
        if keyword in ("compratio", "compression", "dedupratio", "dedupunit"):
            continue
        if keyword in (
            "report",
            "report_run_totals",
            "histogram",
            "auxreport",
            "monitor",
            "messagescan",
            "showlba",
            "port",
            "debug",
            "misc",
            "swat",
        ):
            yield exact("reporting", f"{keyword}=: not part of the load")
        else:
            yield not_expressible(f"{keyword}=", "a general parameter without counterpart in fio")
    for kind, definitions in parm.definitions.items():
        for keyword in dict.fromkeys(
            word for definition in definitions for word in definition.values if word not in _USED.get(kind, ())
        ):
            yield not_expressible(f"{kind}: {keyword}=", "a parameter without counterpart in a fio job")
    if parm.passed_over:
        count = len(parm.passed_over)
        yield not_expressible(
            "text",
            f"{count} line{'s' if count > 1 else ''} without keyword=value passed over: "
            f"{'; '.join(parm.passed_over[:3])}",
        )
    if parm.definitions["rg"]:
        yield not_expressible("replay groups", "rg= replays a trace")


def _parameter_source(source: Source) -> tuple[Source, dict[str, str]]:
    """The parameter file itself, out of a command line when the source is one; and the options that override it."""
    text = (
        re.sub(r"(?s)<title>.*?</title>|</?\w+[^>]*>", "", source.text)
        if source.text.lstrip().startswith("<")
        else source.text
    )
    if re.search(r"(?m)^\s*(sd|fsd|wd|fwd|rd|hd)\s*=", text):
        return replace(source, text=text), {}
    where, words = command_lines(source, ("vdbench",))[0]
    name, settings, i = "", {}, 0
    takes = {
        "-f": "file",
        "-o": "output",
        "-e": "elapsed",
        "-i": "interval",
        "-w": "warmup",
        "-m": "jvms",
        "-r": "restart",
        "-l": "loop",
        "-p": "port",
    }
    while i < len(words):
        word = words[i]
        i += 1
        option = word[:2]
        if "=" in word and not word.startswith("-"):
            key, _, value = word.partition("=")
            settings[f"${key}"] = value
        elif option in takes and word.startswith("-") and word != "-rerun":
            value = word[2:] or (
                words[i] if i < len(words) and not (option == "-l" and words[i].startswith("-")) else ""
            )
            i += 0 if word[2:] or not value else 1
            if option == "-f":
                name = name or value
            else:
                settings[takes[option]] = value
        elif word.startswith("-"):
            settings[f"option {word}"] = ""
        else:
            name = name or word
    if not name:
        raise UsageError(
            "the command names no parameter file", where=where, remedy="add -f FILE, or translate the file itself"
        )
    return source.include(name, depth=1), settings


def translate(source: Source, tool: str) -> Translation:
    """A parameter file, its text, or a command line that names one."""
    parameters, settings = _parameter_source(source)
    parm = parse(parameters, {key[1:]: value for key, value in settings.items() if key.startswith("$")})
    notes = list(_general_notes(parm))
    for key in settings:
        if key.startswith("option "):
            notes.append(
                not_expressible(
                    key, "an execution option of vdbench (validation, simulation, journal) without counterpart"
                )
            )
    workloads: list[Workload] = []
    metadata_only = ""  # where the first run stands that moves no data
    if not parm.definitions["rd"]:
        raise UsageError(
            "there is no run definition (rd=)",
            where=parameters.where,
            remedy="add one, for example rd=rd1,wd=wd1,iorate=max,elapsed=60",
        )
    for rd in parm.definitions["rd"]:
        if "only" in (word.lower() for word in rd.all("format")):
            notes.append(
                not_expressible(
                    "format=only",
                    f"rd={rd.name}: it only makes or removes files; fio lays its files out before the load",
                )
            )
            continue
        for run in _runs(rd, settings):
            workload: Workload | None
            if parm.definitions["fwd"] and (rd.all("fwd") or not parm.definitions["wd"]):
                workload, entries = file_workload(run, parm)
                metadata_only = metadata_only or (rd.where if workload is None else "")
            else:
                workload, entries = _raw_workload(run, parm)
            workloads += [workload] if workload is not None else []
            notes += entries
            if len(workloads) > SECTIONS_MAX:
                raise UsageError(
                    "the loops expand into too many runs", where=rd.where, remedy="narrow the forxx= lists"
                )
    if metadata_only and not workloads:
        raise UsageError(
            "this file only does metadata operations, which fio's jobs do not have",
            where=metadata_only,
            remedy="translate its read and write runs",
        )
    return from_workloads(tool, source.where, workloads, notes)
