# SPDX-License-Identifier: Apache-2.0
"""vdbench: what raw workloads (sd, wd, rd) and file workloads (fsd, fwd) mean in fio.

Facts (manual 5.04 and its behaviour): a run lasts 30 s unless `elapsed` says otherwise; an sd has 8 threads, which are
its I/Os in flight, shared by all its workloads and one sequential position; 4 KiB random reads are the default; offered
rates have exponential gaps unless `distribution` says otherwise; the first `forxx` written is the outermost loop; a
curve runs at the maximum, then at 10, 50, 70, 80, 90 and 100% of what that gave.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace

from ioatlas.answer.analysis.wording import plural
from ioatlas.load.streams.fidelity import Notes
from ioatlas.model.errors import UsageError
from ioatlas.model.units import pairs
from ioatlas.model.workload import Address, Arrival, Stream, Workload
from ioatlas_translate.command import Source, command_line
from ioatlas_translate.translation import SECTIONS_MAX, Translation, from_workloads, safe_name
from ioatlas_translate.vdbench_parm import (
    TOLD,
    WORDS,
    Definition,
    ParameterFile,
    Run,
    expanded,
    matching,
    number,
    numbers,
    parse,
    runs_of,
)
from ioatlas_translate.vdbench_raw import Options, open_flags, raw_workload

_FILES_MAX = 1_000_000


def _mix(values: list[float], keyword: str, where: str) -> tuple[tuple[int, float], ...]:
    """Sizes with their per cents: one size, or pairs that sum to 100. Raises UsageError for anything else, as vdbench
    does.
    """
    pairs = ((values[0], 100.0),) if len(values) == 1 else tuple(zip(values[::2], values[1::2], strict=False))
    if len(values) > 1 and (len(values) % 2 or abs(sum(share for _, share in pairs) - 100) > 0.5):
        raise UsageError(
            f"{keyword}= takes one size, or sizes each with its share, which sum to 100 per cent",
            where=where,
            remedy=f"write for example {keyword}=(4k,50,8k,50), or a loop in the rd for one size a run",
        )
    return tuple((int(size), share) for size, share in pairs if share)


def _tree(run: Run, fsd: Definition) -> tuple[int, tuple[tuple[int, float], ...]]:
    """Number of files, and their sizes (with per cents when several)."""
    notes = run.notes
    depth, width, each = (int(run.number(name, fsd, "1")) for name in ("depth", "width", "files"))
    if not (1 <= depth <= 32 and 1 <= width <= 1_000_000 and each >= 1):
        raise UsageError("depth, width and files must be at least 1", where=fsd.where, remedy="correct the fsd")
    where = fsd.first("distribution") or "bottom"
    if where not in ("bottom", "all"):
        raise UsageError(f"distribution={where} is neither bottom nor all", where=fsd.where, remedy="write one of them")
    directories = sum(width**k for k in range(1, depth + 1)) if where == "all" else width**depth
    count = directories * each
    if count > _FILES_MAX:
        raise UsageError(
            f"the tree has {count:,} files",
            where=fsd.where,
            remedy="translate a smaller tree (at most a million files)",
        )
    given = [run.point["sizes"]] if "sizes" in run.point else numbers(fsd.all("sizes"), "sizes", fsd.where)
    total = run.point.get("totalsize") or fsd.number("totalsize", "total_size")
    if not given:
        raise UsageError("the fsd gives no size= for its files", where=fsd.where, remedy="add sizes=")
    if len(given) == 2 and not given[1]:
        notes.nearly("file sizes", "sizes around a mean become this one size", "the spread of the sizes")
        del given[1]
    sizes = _mix(given, "sizes", fsd.where)
    mean = sum(size * share for size, share in sizes) / 100
    if total and mean:
        count = max(1, min(count, int(total // mean)))
        notes.same("files", f"totalsize= makes it {count} files")
    wss = run.point.get("wss") or run.point.get("workingsetsize") or fsd.number("wss", "workingsetsize")
    if wss and mean:
        count = max(1, min(count, int(wss // mean)))
        notes.same("files", f"the working set is {count} files")
    if directories > 1 or depth > 1:
        notes.tell(TOLD["directories"], directories=directories, depth=depth, files=count)
    return count, sizes


def _selection(run: Run, fwd: Definition, per_file: int) -> str:
    """How the next file is chosen, as fio's file_service_type."""
    notes, select = run.notes, (fwd.first("fileselect") or "sequential").lower()
    if select == "once":
        notes.lost("fileselect=once", "each file once, then the run ends; fio goes on until the time is up")
    if select.startswith("r"):
        notes.same("file selection", f"a file drawn at random every {per_file} I/Os")
        return f"random:{per_file}"
    if select in ("skewed", "poisson"):
        notes.nearly("file selection", "skewed selection becomes zipf with theta 1.1", "vdbench's constant differs")
        return f"zipf:1.1:{per_file}"
    notes.same("file selection", f"the next file every {per_file} I/Os")
    return f"roundrobin:{per_file}"


def _read_percent(run: Run, fwd: Definition, operation: str) -> float:
    """Of the I/O; what the operation says where no share is given."""
    given = fwd.number("rdpct", "readpct") if fwd.first("rdpct", "readpct") else None
    percent: float | None = run.point.get("rdpct", given)
    if percent is None:
        return 0.0 if operation == "write" else 100.0
    if run.operation or fwd.first("operation"):
        run.notes.lost("operation=", "rdpct= says how much is read, and the operation nothing else")
    return percent


def _stream(run: Run, fwd: Definition, fsd: Definition, index: int, operation: str) -> Stream | None:
    notes, (count, sizes) = run.notes, _tree(run, fsd)
    own = numbers(fwd.all("xfersizes") or ["4096"], "xfersize", fwd.where)
    mix = _mix([run.point["xfersize"]] if "xfersize" in run.point else own, "xfersizes", fwd.where)
    block = mix[0][0] if mix else 0
    threads = int(run.number("threads", fwd, "1"))
    if block < 1 or threads < 1:
        raise UsageError("a transfer has at least 1 byte, a load 1 thread", where=fwd.where, remedy="correct the fwd")
    percent = _read_percent(run, fwd, operation)
    if operation in WORDS["metadata"]:
        notes.lost(f"operation={operation}", "a metadata operation: fio's read and write jobs move data only")
        return None
    if operation not in ("read", "write", ""):
        raise UsageError(
            f"operation={operation} is not one of vdbench's",
            where=fwd.where,
            remedy="use read, write, create, delete, ...",
        )
    fileio = [word.lower() for word in fwd.all("fileio")] or ["sequential"]
    random = "random".startswith(fileio[0])
    options: Options = {}
    if len(sizes) == 1:
        size = sizes[0][0]
        options["filesize"] = size
    else:
        low, high = min(one for one, _ in sizes), max(one for one, _ in sizes)
        size = int(sum(one * share for one, share in sizes) / 100)
        options["filesize"] = f"{low}-{high}"
        notes.tell(TOLD["file-sizes"], mean=(low + high) / 2, size=size)
    per_file = blocks = max(1, size // block)
    if stop := fwd.first("stopafter"):
        after = number(stop.rstrip("%"), "stopafter", fwd.where)
        per_file = max(1, int(after / 100 * blocks if stop.endswith("%") else after))
        notes.same("stopafter", f"{per_file} I/Os on a file before the next is chosen")
    options["file_service_type"] = _selection(run, fwd, per_file)
    if count > 512:
        options["openfiles"] = 512
        notes.nearly("open files", "fio keeps at most 512 of the files open", "which files stay open between I/Os")
    shared = len(fileio) > 1 and "shared".startswith(fileio[1])
    if threads > 1 and not shared:
        notes.tell(TOLD["file-sharing"], jobs=threads, files=count)
    if percent < 100:
        notes.append(TOLD["data-of-files"])
    direct, sync = open_flags(run, fsd, fwd)
    return Stream(
        name=safe_name(f"{run.name}.{fwd.name}.{fsd.name}"),
        operation=operation if operation not in ("read", "write") else "",
        read_percent=percent,
        address=Address("random") if random else Address("sequential"),
        sizes=mix,
        jobs=threads,
        size_bytes=size * count,
        files=count,
        target=index,
        origin=fsd.first("anchor") or fsd.name,
        direct=direct,
        sync=sync if percent < 100 else "",
        options=options,
    )


def file_workload(run: Run, parm: ParameterFile) -> Workload | None:
    """All file workloads of one run; no workload when none of them moves data."""
    loads = [fwd for fwd in parm.definitions["fwd"] if fwd.name != "format"]  # fwd=format says how files are laid out
    fwds = matching(run.rd.all("fwd") or ["*"], loads, run.rd.where)
    fsds = expanded(parm.definitions["fsd"])
    pairs = [
        (fwd, fsd) for fwd in fwds for fsd in matching(run.rd.all("fsd") or fwd.all("fsd") or ["*"], fsds, fwd.where)
    ]
    skews = {fwd.name: fwd.number("skew") for fwd in fwds}
    skewed = any(skews.values())
    if skewed and len(pairs) == 1:
        run.notes.same("share of streams", "there is one")
    streams = []
    for fwd, fsd in pairs:
        share = (skews[fwd.name] / 100 if skewed else 1 / len(fwds)) / sum(1 for f, _ in pairs if f is fwd)
        own = fwd.first("operation") or "read"
        run.rd.first("foroperations", "operations")
        stream = _stream(run, fwd, fsd, fsds.index(fsd) + 1, run.operation or own)
        if stream is None:
            continue
        rate = run.rate * share if run.rate and share else 0.0
        arrival = Arrival(run.gaps if rate else "closed", rate_iops=rate or None)  # type: ignore[arg-type]
        streams.append(replace(stream, arrival=arrival, share=share if skewed and not rate else None))
    if run.rd.all("format"):
        run.notes.same("format=", "fio lays its files out before the load, where they are not there")
    if not streams:
        return None
    return Workload(run.name, tuple(streams), runtime_seconds=run.elapsed, warmup_seconds=run.warmup)


def _general_notes(parm: ParameterFile, notes: Notes) -> None:
    hosts = [h for h in parm.definitions["hd"] if h.name != "localhost"]
    if len(hosts) > 1 or any(h.first("system") not in (None, "localhost", "127.0.0.1") for h in hosts):
        notes.tell(TOLD["hosts"], count=len(hosts))
    notes.missing(parm.missing)
    for keyword in parm.general.values:
        if keyword in ("compratio", "compression", "dedupratio", "dedupunit"):
            continue
        if keyword in WORDS["reporting"]:
            notes.same("reporting", f"{keyword}=: not part of the load")
        else:
            notes.lost(f"{keyword}=", "a general parameter without counterpart in fio")
    if parm.passed_over:
        lines = plural(len(parm.passed_over), "line")
        notes.lost("text", f"{lines} without keyword=value passed over: {'; '.join(parm.passed_over[:3])}")
    if parm.definitions["rg"]:
        notes.lost("replay groups", "rg= replays a trace")


def _unused(parm: ParameterFile, notes: Notes) -> None:
    """Parameters that nothing was made of, of the definitions that a run uses. Read after all runs."""
    for kind, definitions in parm.definitions.items():
        taken = [definition for definition in definitions if definition.used or kind == "hd"]
        for keyword in dict.fromkeys(word for one in taken for word in one.values if word not in one.used):
            if keyword in WORDS["of_vdbench"] and kind != "wd":
                notes.same("reporting", f"{kind}: {keyword}=: not part of the load")
            else:
                notes.lost(f"{kind}: {keyword}=", "nothing of this load in fio follows from it")


def _parameter_source(source: Source) -> tuple[Source, dict[str, str]]:
    """The parameter file itself, out of a command line when the source is one; and the options that override it."""
    text = (
        re.sub(r"(?s)<title>.*?</title>|</?\w+[^>]*>", "", source.text)
        if source.text.lstrip().startswith("<")
        else source.text
    )
    if re.search(r"(?m)^\s*(sd|fsd|wd|fwd|rd|hd)\s*=", text):
        return replace(source, text=text), {}
    words = command_line(source, ("vdbench",))
    name, settings, left = "", {}, deque(words)
    takes = pairs("-f=file -o=output -e=elapsed -i=interval -w=warmup -m=jvms -r=restart -l=loop -p=port")
    while left:
        word = left.popleft()
        option = takes.get(word[:2], "") if word != "-rerun" else ""
        if "=" in word and not word.startswith("-"):
            key, _, value = word.partition("=")
            settings[f"${key}"] = value
        elif option:
            value = word[2:]
            if not value and left and not (option == "loop" and left[0].startswith("-")):
                value = left.popleft()
            if option == "file":
                name = name or value
            else:
                settings[option] = value
        elif word.startswith("-"):
            settings[f"option {word}"] = ""
        else:
            name = name or word
    if not name:
        raise UsageError("the command names no parameter file", remedy="add -f FILE, or translate the file itself")
    return source.include(name, depth=1), settings


def translate(source: Source, tool: str) -> Translation:
    """A parameter file, its text, or a command line that names one."""
    parameters, settings = _parameter_source(source)
    parm = parse(parameters, {key[1:]: value for key, value in settings.items() if key.startswith("$")})
    notes = Notes()
    _general_notes(parm, notes)
    for key in settings:
        if key.startswith("option "):
            notes.lost(key, "an execution option of vdbench (validation, simulation, journal) without counterpart")
    workloads: list[Workload] = []
    metadata_only = ""  # where the first run stands that moves no data
    if not parm.definitions["rd"]:
        raise UsageError(
            "there is no run definition (rd=)",
            where=parameters.where,
            remedy="add one, for example rd=rd1,wd=wd1,iorate=max,elapsed=60",
        )
    for rd in parm.definitions["rd"]:
        if "only" in (word.lower() for word in rd.values.get("format", ())):
            notes.tell(TOLD["format-only"], name=rd.name)
            continue
        for run in runs_of(rd, settings):
            workload: Workload | None
            if parm.definitions["fwd"] and (rd.all("fwd") or not parm.definitions["wd"]):
                workload = file_workload(run, parm)
                metadata_only = metadata_only or (rd.where if workload is None else "")
            else:
                workload = raw_workload(run, parm)
            workloads += [workload] if workload is not None else []
            notes += run.notes
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
    _unused(parm, notes)
    return from_workloads(tool, source.where, workloads, notes)
