# SPDX-License-Identifier: Apache-2.0
"""vdbench's file workloads: fsd gives a tree of files, fwd what is done to them."""

from __future__ import annotations

from ioatlas.errors import UsageError
from ioatlas.interop.fidelity import Fidelity, approximate, exact, not_expressible
from ioatlas.model.workload import Address, Arrival, Stream, Workload
from ioatlas_translate.translation import safe_name
from ioatlas_translate.vdbench_data import open_flags
from ioatlas_translate.vdbench_parm import Definition, ParameterFile, Run, expanded, matching, number, numbers

_METADATA = frozenset(
    {"mkdir", "rmdir", "create", "open", "close", "getattr", "setattr", "access", "delete", "copy", "move"}
)
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


def _tree(run: Run, fsd: Definition) -> tuple[int, tuple[tuple[int, float], ...], list[Fidelity]]:
    """Number of files, their sizes (with per cents when several), and what is lost."""
    notes: list[Fidelity] = []
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
        notes.append(approximate("file sizes", "sizes around a mean become this one size", "the spread of the sizes"))
        del given[1]
    sizes = _mix(given, "sizes", fsd.where)
    mean = sum(size * share for size, share in sizes) / 100
    if total and mean:
        count = max(1, min(count, int(total // mean)))
        notes.append(exact("files", f"totalsize= makes it {count} files"))
    wss = run.point.get("wss") or run.point.get("workingsetsize") or fsd.number("wss", "workingsetsize")
    if wss and mean:
        count = max(1, min(count, int(wss // mean)))
        notes.append(exact("files", f"the working set is {count} files"))
    if directories > 1 or depth > 1:
        notes.append(
            approximate(
                "directories",
                f"{directories} directories at depth {depth}; fio keeps all {count} files in one",
                "depth and width of the tree",
            )
        )
    return count, sizes, notes


def _selection(fwd: Definition, per_file: int, notes: list[Fidelity]) -> str:
    """How the next file is chosen, as fio's file_service_type."""
    select = (fwd.first("fileselect") or "sequential").lower()
    if select == "once":
        reason = "each file once, then the run ends; fio goes on until the time is up"
        notes.append(not_expressible("fileselect=once", reason))
    if select.startswith("r"):
        notes.append(exact("file selection", f"a file drawn at random every {per_file} I/Os"))
        return f"random:{per_file}"
    if select in ("skewed", "poisson"):
        reason = "skewed selection becomes zipf with theta 1.1"
        notes.append(approximate("file selection", reason, "vdbench's constant differs"))
        return f"zipf:1.1:{per_file}"
    notes.append(exact("file selection", f"the next file every {per_file} I/Os"))
    return f"roundrobin:{per_file}"


def _read_percent(run: Run, fwd: Definition, operation: str, notes: list[Fidelity]) -> float:
    """Of the I/O; what the operation says where no share is given."""
    given = fwd.number("rdpct", "readpct") if fwd.first("rdpct", "readpct") else None
    percent: float | None = run.point.get("rdpct", given)
    if percent is None:
        return 0.0 if operation == "write" else 100.0
    if run.operation or fwd.first("operation"):
        notes.append(not_expressible("operation=", "rdpct= says how much is read, and the operation nothing else"))
    return percent


def _stream(
    run: Run, fwd: Definition, fsd: Definition, index: int, operation: str
) -> tuple[Stream | None, list[Fidelity]]:
    count, sizes, notes = _tree(run, fsd)
    values = fwd.all("xfersizes") or ["4096"]
    if "xfersize" in run.point:
        values = [str(int(run.point["xfersize"]))]
    found = numbers(values, "xfersize", fwd.where)
    mix = _mix(found, "xfersizes", fwd.where)
    block = mix[0][0] if mix else 0
    threads = int(run.number("threads", fwd, "1"))
    if block < 1 or threads < 1:
        raise UsageError("a transfer has at least 1 byte, a load 1 thread", where=fwd.where, remedy="correct the fwd")
    percent = _read_percent(run, fwd, operation, notes)
    if operation in _METADATA:
        notes.append(
            not_expressible(f"operation={operation}", "a metadata operation: fio's read and write jobs move data only")
        )
        return None, notes
    if operation not in ("read", "write", ""):
        raise UsageError(
            f"operation={operation} is not one of vdbench's",
            where=fwd.where,
            remedy="use read, write, create, delete, ...",
        )
    fileio = [word.lower() for word in fwd.all("fileio")] or ["sequential"]
    random = "random".startswith(fileio[0])
    options: dict[str, str | int | float] = {}
    if len(sizes) == 1:
        size = sizes[0][0]
        options["filesize"] = size
    else:
        low, high = min(one for one, _ in sizes), max(one for one, _ in sizes)
        size = int(sum(one * share for one, share in sizes) / 100)
        options["filesize"] = f"{low}-{high}"
        notes.append(
            approximate(
                "file sizes",
                "sizes with their shares become sizes uniform between the smallest and the largest",
                f"mean {(low + high) / 2:.4g} instead of {size} bytes",
            )
        )
    blocks = max(1, size // block)
    per_file = 1 if random else blocks
    stop = fwd.first("stopafter")
    if stop:
        per_file = max(
            1,
            int(number(stop.rstrip("%"), "stopafter", fwd.where) / 100 * blocks)
            if stop.endswith("%")
            else int(number(stop, "stopafter", fwd.where)),
        )
        notes.append(exact("stopafter", f"{per_file} I/Os on a file before the next is chosen"))
    elif random:
        per_file = blocks
    options["file_service_type"] = _selection(fwd, per_file, notes)
    if count > 512:
        options["openfiles"] = 512
        notes.append(
            approximate("open files", "fio keeps at most 512 of the files open", "which files stay open between I/Os")
        )
    shared = len(fileio) > 1 and "shared".startswith(fileio[1])
    if threads > 1 and not shared:
        notes.append(
            approximate(
                "file sharing",
                "vdbench gives a file to one thread at a time; fio's jobs choose on their own",
                f"two of {threads} jobs are on one of {count} files for part of the time",
            )
        )
    if percent < 100:
        notes.append(
            approximate(
                "write data",
                "vdbench's pattern or content options become fio's random data",
                "how far the data can be compressed",
            )
        )
    direct, sync, more = open_flags(fsd, fwd, run.rd)
    notes += more
    stream = Stream(
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
    return stream, notes


def file_workload(run: Run, parm: ParameterFile) -> tuple[Workload | None, list[Fidelity]]:
    """All file workloads of one run; no workload when none of them moves data."""
    notes = list(run.notes)
    loads = [fwd for fwd in parm.definitions["fwd"] if fwd.name != "format"]  # fwd=format says how files are laid out
    fwds = matching(run.rd.all("fwd") or ["*"], loads, run.rd.where)
    fsds = expanded(parm.definitions["fsd"])
    pairs = [
        (fwd, fsd) for fwd in fwds for fsd in matching(run.rd.all("fsd") or fwd.all("fsd") or ["*"], fsds, fwd.where)
    ]
    skews = {fwd.name: fwd.number("skew") for fwd in fwds}
    skewed = any(skews.values())
    if skewed and len(pairs) == 1:
        notes.append(exact("share of streams", "there is one"))
    streams = []
    for fwd, fsd in pairs:
        share = (skews[fwd.name] / 100 if skewed else 1 / len(fwds)) / sum(1 for f, _ in pairs if f is fwd)
        own = fwd.first("operation") or "read"
        operation = run.operation or own
        run.rd.first("foroperations", "operations")
        stream, entries = _stream(run, fwd, fsd, fsds.index(fsd) + 1, operation)
        notes += entries
        if stream is None:
            continue
        rate = run.rate * share if run.rate and share else 0.0
        arrival = Arrival(run.gaps if rate else "closed", rate_iops=rate or None)  # type: ignore[arg-type]
        streams.append(
            Stream(**{**stream.__dict__, "arrival": arrival, "share": share if skewed and not rate else None})
        )
    formats = [word.lower() for word in run.rd.all("format")]
    if formats:
        notes.append(exact("format=", "fio lays its files out before the load, where they are not there"))
    if not streams:
        return None, notes
    return Workload(run.name, tuple(streams), runtime_seconds=run.elapsed, warmup_seconds=run.warmup), notes
