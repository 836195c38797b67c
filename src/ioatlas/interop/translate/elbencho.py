# SPDX-License-Identifier: Apache-2.0
"""elbencho command lines and configuration files (facts: its help texts, version 3.1).

Phases run in the order write, read. On a file or block device the threads share the file: each passes over its own
contiguous part, or every n-th block with `--strided`; random offsets cover the whole file and each thread moves its
part of `--randamount`. On a directory each thread has `-n` directories of `-N` files of its own. A phase is bounded by
its work; `--timelimit` caps it, `--infloop` repeats it until then. The block is 1 MiB unless `-b` says otherwise, and
every written block is new random data unless `--blockvarpct` says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ioatlas.errors import UsageError
from ioatlas.interop.command import Source, command_line
from ioatlas.interop.fidelity import Fidelity, approximate, exact, not_expressible
from ioatlas.interop.translate.elbencho_command import Command, count_paths, read_command
from ioatlas.interop.translation import Translation, from_workloads
from ioatlas.model.cell import OptionValue
from ioatlas.model.words import words
from ioatlas.model.workload import Address, Arrival, Stream, Workload

_REPORTING = frozenset(
    words("""
    allelapsed cpu csvfile dirstats jsonfile label lat lathisto latpercent latpercent9s live1 live1n livecsv
    livecsvex livejson livejsonex liveint log no0usecerr nocsvlabels nolive opslog opsloglock resfile svcelapsed
    svcping svcupint base10 nodetach foreground port svcwait nodelerr nodiocheck blockvaralgo randalgo
    """)
)
_INEXPRESSIBLE = {
    "hosts": "several hosts: one job file is one client's load; hosts are named when it is run",
    "hostsfile": "several hosts named in a file",
    "numhosts": "part of the hosts",
    "rotatehosts": "another order of hosts for each phase",
    "nosvcshare": "a data set for each host",
    "nosvcpathshare": "a data set for each host",
    "rankoffset": "numbering of threads",
    "sync": "a sync of the whole system between phases; fio syncs its own files",
    "phasedelay": "rest between phases",
    "start": "a common start",
    "flock": "file locks around each I/O",
    "madv": "madvise flags",
    "gpuids": "buffers on a GPU",
    "gds": "GPUDirect storage",
    "cufile": "cuFile",
    "gdsbufreg": "GPU buffers",
    "cuhostbufreg": "CUDA",
    "cufiledriveropen": "cuFile",
    "gpuperservice": "GPUs",
    "zones": "NUMA zones; name them with numa_cpu_nodes",
    "verify": "checking contents; `ioatlas --verify` does it",
    "verifydirect": "checking contents after each write",
    "stat": "a phase of stat calls",
    "statinline": "stat calls after open",
    "mkdirs": "a phase that makes directories",
    "deldirs": "a phase that deletes directories",
    "readinline": "reading each file right after it was written",
    "trunc": "truncation when a file is opened",
    "treefile": "a tree of files out of a list",
    "treescan": "a tree of files out of a scan",
    "treerand": "order of a tree's files",
    "treeroundup": "sizes of a tree's files",
    "treeroundrob": "order of a tree's files",
    "sharesize": "which files of a tree are shared",
    "nofdsharing": "one file descriptor for each thread; fio's jobs have that",
    "rwmixthrpct": "a ratio between reading and writing threads",
    "dryrun": "only printing",
    "nopathexp": "brackets in paths taken literally",
}


def _is_directory(command: Command) -> tuple[bool, bool]:
    """Whether the path is a directory, and whether that is only supposed."""
    if any(
        name in command.options
        for name in ("dirs", "files", "mkdirs", "deldirs", "dirsharing", "treefile", "s3endpoints")
    ):
        return True, False  # a bucket is a directory of objects
    if not command.paths:
        return False, True
    path = command.paths[0].rstrip()
    if path.endswith("/"):
        return True, False
    return False, not (
        path.startswith("/dev/") or len(command.paths) > 1 or re.search(r"(\.\w+|file[^/]*|\])$", path) is not None
    )


def _notes(command: Command) -> Iterator[Fidelity]:
    """What is not told with a phase. After all phases: an option that none of them used is named here."""
    for name in command.unused:
        if name in _REPORTING:
            yield exact("reporting", f"--{name}: not part of the load")
        elif name.startswith("s3") or name == "hdfs":
            yield not_expressible(f"--{name}", "object storage is not read or written through files here")
        elif name == "delfiles":
            yield exact("--delfiles", "the files are deleted after the load; the deletion is not timed")
        elif name == "dropcache":
            yield exact("--dropcache", "direct I/O passes by the client's cache; nothing of it is left to drop")
        elif name != "iterations":
            yield not_expressible(f"--{name}", _INEXPRESSIBLE.get(name, "nothing of this load in fio follows from it"))
    count = command.number("iterations", 1)
    if count > 1:
        yield exact("--iterations", f"{count} repeats: ask for them by visits; each phase stands once in the job file")
    if command.given("direct"):
        yield exact("caching", "--direct")
    else:
        yield exact("caching", "the client's page cache is in use")


def _content(command: Command, notes: list[Fidelity]) -> dict[str, OptionValue]:
    percent = command.number("blockvarpct", 100, high=100)
    if percent == 100:
        notes.append(exact("write data", "every block is refilled with random data"))
        return {"refill_buffers": 1}
    if percent == 0:
        notes.append(exact("write data", "the same random block again and again"))
        return {"scramble_buffers": 0}
    notes.append(
        approximate(
            "write data",
            f"--blockvarpct {percent}: part of each block is new",
            "fio fills the rest with one pattern, not with the last block's data",
        )
    )
    return {"refill_buffers": 1, "buffer_compress_percentage": 100 - percent}


def _address(command: Command, phase: str, block: int, *, directory: bool, notes: list[Fidelity]) -> Address:
    if command.given("rand"):
        align = 1 if command.given("norandalign") else None
        if align and command.given("direct"):
            align = 512
            notes.append(
                approximate(
                    "alignment",
                    "--norandalign with direct I/O: offsets on 512 bytes",
                    "offsets between multiples of 512 are left out",
                )
            )
        once = phase == "write" and align is None and not command.text("randalgo")
        return Address("random", once=once, align_bytes=align)
    if command.given("backward"):
        return Address("backward")
    if not directory and command.given("strided") and command.number("threads", 1) > 1:
        return Address("strided", skip_bytes=(command.number("threads", 1) - 1) * block)
    return Address("sequential")


def _phase(command: Command, phase: str, *, directory: bool) -> tuple[Workload, list[Fidelity]]:
    notes: list[Fidelity] = []
    threads = command.number("threads", 1, high=1 << 16)
    block = command.size("block", 1 << 20)
    size = command.size("size", 0)
    if size and block > size:
        block = size
        notes.append(exact("block size", "a file smaller than the block is one I/O of its size"))
    if not block or not threads:
        raise UsageError(
            "the block and the number of threads must be at least 1", where=command.where, remedy="correct -b or -t"
        )
    address = _address(command, phase, block, directory=directory, notes=notes)
    mixed = command.number("rwmixpct", 0, high=100) if phase == "write" else 0
    options: dict[str, OptionValue] = _content(command, notes) if phase == "write" else {}
    options |= _file_options(command, phase, notes)
    limit = command.size("limitread" if phase == "read" else "limitwrite", 0)
    paths = sum(count_paths(p) for p in command.paths) or 1
    stream = Stream(
        name=f"elbencho-{phase}",
        read_percent=100.0 if phase == "read" else float(mixed),
        address=address,
        sizes=((block, 100.0),),
        jobs=threads,
        depth=command.number("iodepth", 1, high=65536) or 1,
        origin=" ".join(command.paths),
        direct=command.given("direct"),
        engine="mmap" if command.given("mmap") else "",
        options=options,
    )
    mixed_threads = command.number("rwmixthr", 0) if phase == "write" else 0
    if directory:
        parts = [_directory(command, stream, size, notes)]
    else:
        parts = _file(command, stream, size, paths, notes, dealt=not mixed_threads)
    limit_seconds = command.number("timelimit", 0)
    endless = command.given("infloop")
    if endless and not limit_seconds:
        reason = "--infloop without --timelimit runs until it is stopped; here the work is done once"
        notes.append(not_expressible("duration", reason))
    if limit_seconds and not endless:
        parts = [replace(part, options={**part.options, "runtime": limit_seconds}) for part in parts]
        notes.append(exact("time limit", f"a cap of {limit_seconds} s: the phase ends earlier when its work is done"))
    streams = tuple(replace(part, arrival=_arrival(limit, part.jobs)) for part in parts)
    if mixed_threads:
        streams = _with_readers(command, parts[0], limit, notes)
    runtime = limit_seconds if endless and limit_seconds else None
    return Workload(f"elbencho-{phase}", streams, runtime_seconds=runtime), notes


def _with_readers(command: Command, stream: Stream, limit: int, notes: list[Fidelity]) -> tuple[Stream, ...]:
    """The writers and readers of a write phase. Limits are for one thread; a reader has that of reads."""
    readers, threads = command.number("rwmixthr", 0), stream.jobs
    if readers >= threads:
        raise UsageError("--rwmixthr must be less than -t", where=command.where, remedy="correct one of them")
    written = ("refill_buffers", "scramble_buffers", "buffer_compress_percentage")
    part = stream.offset_increment_bytes if stream.address.law != "strided" else 0
    error = "both sections cover the whole data set; neither a part of its own"
    if part:
        error = "which of the threads read: here those of the first parts"
    elif stream.private:
        error = "readers are on files that others write, not on files of their own"
    notes.append(approximate("threads", f"--rwmixthr: {readers} of {threads} threads read", error))
    return (
        replace(
            stream,
            jobs=threads - readers,
            offset_bytes=readers * part,
            arrival=_arrival(limit, threads - readers),
        ),
        replace(
            stream,
            name="elbencho-readers",
            jobs=readers,
            read_percent=100.0,
            arrival=_arrival(command.size("limitread", 0), readers),
            options={name: value for name, value in stream.options.items() if name not in written},
        ),
    )


def _file_options(command: Command, phase: str, notes: list[Fidelity]) -> dict[str, OptionValue]:
    """How files are opened and laid out, and where the jobs run."""
    options: dict[str, OptionValue] = {}
    if not command.given("direct") and command.given("dropcache"):
        options["invalidate"] = 1
        notes.append(
            approximate(
                "--dropcache",
                "before each phase the cached pages of the load's own files are dropped",
                "the rest of the caches stays",
            )
        )
    for hint in filter(None, command.text("fadv").split(",")):
        if hint in ("seq", "rand"):
            options["fadvise_hint"] = "sequential" if hint == "seq" else "random"
        else:
            notes.append(not_expressible("--fadv", f"{hint}: no such fadvise_hint"))
    if phase == "write" and command.given("preallocfile"):
        options["fallocate"] = "posix"
    if phase == "write" and command.given("trunctosize"):
        options["fallocate"] = "truncate"
    if re.fullmatch(r"\d+(,\d+)*", command.options.get("cores", "")):
        options |= {"cpus_allowed": command.text("cores"), "cpus_allowed_policy": "split"}
    return options


def _arrival(limit: int, threads: int) -> Arrival:
    """`--limitread` and `--limitwrite` are bytes per second of one thread; 0 is no limit."""
    return Arrival("constant" if limit else "closed", rate_bytes_per_s=float(limit * threads) or None)


def _file(
    command: Command, stream: Stream, size: int, paths: int, notes: list[Fidelity], *, dealt: bool
) -> list[Stream]:
    """The load on files or devices. Random threads share all blocks; others each have a contiguous part of them, which
    several files take a section each for (`dealt`; False leaves every thread on all files).
    """
    block, threads = stream.sizes[0][0], stream.jobs
    shared = stream.address.law in ("random", "strided")
    if paths > 1 and (shared or not size or not dealt):
        reason = f"{paths} files or devices: elbencho spreads its threads over the blocks of all"
        notes.append(approximate("files", f"{reason}; fio's jobs change file after each I/O", "the order of the files"))
        stream = replace(stream, files=paths, options={**stream.options, "file_service_type": "roundrobin"})
    total = size * paths
    if not size:
        amount = command.size("randamount", 0) if stream.address.law == "random" else 0
        if amount:
            return [replace(stream, work_bytes=max(block, amount // threads // block * block))]
        if threads > 1:
            reason = "the threads share the blocks of a target whose size is not given (-s)"
            notes.append(not_expressible("partition", f"{reason}; here each makes a pass over all of it"))
        return [stream]
    if stream.address.law == "random":
        amount = command.size("randamount", total)
        return [replace(stream, size_bytes=total, work_bytes=max(block, amount // threads // block * block))]
    part = total // block // threads * block
    if not part:
        raise UsageError(
            "the file has fewer blocks than there are threads",
            where=command.where,
            remedy="use a larger -s, a smaller -b or fewer -t",
        )
    if stream.address.law == "strided":
        notes.append(exact("partition", f"--strided: thread k takes blocks k, k+{threads}, k+{2 * threads}, ..."))
        return [replace(stream, size_bytes=total, work_bytes=part, offset_increment_bytes=block)]
    if paths > 1 and dealt:
        return _dealt(stream, size, paths, notes)
    if paths > 1:
        return [replace(stream, size_bytes=total, work_bytes=part)]
    if threads == 1:
        return [replace(stream, size_bytes=total)]
    left = total - part * threads
    notes.append(
        approximate("partition", "blocks that do not divide by the threads are left out at the end", f"{left} bytes")
        if left
        else exact("partition", f"each of {threads} threads has its own contiguous {part} bytes")
    )
    return [replace(stream, size_bytes=part, offset_increment_bytes=part)]


def _dealt(stream: Stream, size: int, paths: int, notes: list[Fidelity]) -> list[Stream]:
    """Whole files for each thread, or several threads side by side in each file."""
    threads, block = stream.jobs, stream.sizes[0][0]
    sections = min(paths, threads)
    count, jobs = (
        ([whole * (k + 1) // sections - whole * k // sections for k in range(sections)]) for whole in (paths, threads)
    )
    parts, first = [], 0
    for files, side_by_side in zip(count, jobs, strict=True):
        each = size * files if side_by_side == 1 else size // block // side_by_side * block
        options = {**stream.options, "file_service_type": "sequential"} if files > 1 else stream.options
        parts.append(
            replace(
                stream,
                jobs=side_by_side,
                files=files,
                first_file=first,
                part_of=stream.name,
                size_bytes=each,
                offset_increment_bytes=each if side_by_side > 1 else 0,
                options=options,
            )
        )
        first += files
    moved = [part.size_bytes or 0 for part in parts for _ in range(part.jobs)]
    if len(set(moved)) == 1 and sum(moved) == size * paths:
        notes.append(exact("partition", f"each of {threads} threads has its own contiguous {moved[0]} bytes"))
    else:
        notes.append(
            approximate(
                "partition",
                f"{threads} threads do not divide {paths} files: each has whole files, or an even part of one",
                f"a thread moves {min(moved)} to {max(moved)} bytes; {size * paths - sum(moved)} bytes are left out",
            )
        )
    return parts


def _directory(command: Command, stream: Stream, size: int, notes: list[Fidelity]) -> Stream:
    block = stream.sizes[0][0]
    dirs, files = command.number("dirs", 1), command.number("files", 1)
    count = max(1, dirs) * files
    if not size or not files:
        raise UsageError(
            "no data is moved: files have size 0",
            where=command.where,
            remedy="add -s with the size of each file, or translate another phase",
        )
    if count > 1_000_000:
        raise UsageError(
            f"{count:,} files for each thread",
            where=command.where,
            remedy="translate a smaller set (at most a million files a thread)",
        )
    options = {**stream.options, "filesize": size}
    blocks = max(1, size // block)
    if count > 1:
        options |= {"file_service_type": f"roundrobin:{blocks}", "openfiles": min(count, 16)}
        notes.append(exact("files", f"{count} files of {size} bytes for each thread, one after another"))
    if dirs > 1 or (dirs == 1 and stream.jobs > 1):
        notes.append(
            approximate(
                "directories", f"{dirs} directories for each thread; fio keeps all files in one", "the directories"
            )
        )
    if command.given("dirsharing"):
        notes.append(exact("directories", "--dirsharing: threads share directories"))
    return replace(stream, size_bytes=size * count, files=count, private=True, options=options)


def translate(source: Source, tool: str) -> Translation:
    """A command line, or a configuration file of `OPTION=VALUE` lines."""
    lines = [line.strip() for line in source.text.split("\n") if line.strip() and not line.strip().startswith("#")]
    if source.from_file and lines and all(re.match(r"^(--)?[a-z0-9]+\s*(=.*)?$", line) for line in lines):
        where, words = source.where, [("--" + line.removeprefix("--")) for line in lines]
    else:
        where, words = command_line(source, ("elbencho",))
    command = read_command(words, where, source)
    if command.given("netbench"):
        raise UsageError("--netbench tests the network, not storage", where=where, remedy="translate another command")
    notes = list(command.notes)
    directory, supposed = _is_directory(command)
    if supposed and command.paths:
        notes.append(
            approximate(
                "target",
                f"{command.paths[0]!r} is taken for a file: nothing in the command says it is a directory",
                "none if it is a file or a device",
            )
        )
    workloads: list[Workload] = []
    for phase in ("write", "read"):
        if command.given(phase):
            workload, entries = _phase(command, phase, directory=directory)
            workloads.append(workload)
            notes += entries
    notes += _notes(command)
    if not workloads:
        raise UsageError(
            "it neither writes (-w) nor reads (-r) data", where=source.where, remedy="translate a command with -w or -r"
        )
    return from_workloads(tool, source.where, workloads, notes)
