# SPDX-License-Identifier: Apache-2.0
"""The published evaluations: IOzone 2017, DiskSpd 2016, xdd 2008, NAS charts 2008, and ORION's simple run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ioatlas.errors import UsageError
from ioatlas.interop.command import Source
from ioatlas.interop.studies import Study
from ioatlas.interop.translate import diskspd, iozone, orion
from ioatlas.model.workload import Address, Stream, Workload

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def _doubling(low: int, high: int) -> list[int]:
    values = [low]
    while values[-1] * 2 <= high:
        values.append(values[-1] * 2)
    return values


def _source(command: str) -> Source:
    return Source(command, "study", Path(), from_file=False)


IOZONE_SIZE, IOZONE_RECORDS = 4 * GIB, tuple(_doubling(4 * KIB, 16 * MIB))


def iozone_arguments(size_bytes: int, records: Sequence[int], *, direct: bool = True) -> list[str]:
    """The arguments with which IOzone itself runs the nine operations, as the study did. Raises UsageError for sizes it
    cannot state.
    """
    odd = [value for value in (size_bytes, *records) if value % KIB or value < 4 * KIB]
    if odd:
        raise UsageError(
            f"{odd[0]} bytes: IOzone takes files and records of at least 4 KiB, in whole KiB",
            where="size, bs",
            remedy="use another size",
        )
    if max(records) > IOZONE_RECORDS[-1]:
        raise UsageError("IOzone's largest record is 16 MiB", where="bs", remedy="use records up to 16m")
    tests = [word for test in range(6) for word in ("-i", str(test))]
    return [
        *tests,
        "-c",
        "-e",
        *(["-I"] if direct else []),
        "-s",
        f"{size_bytes // KIB}k",
        *(w for r in records for w in ("-r", f"{r // KIB}k")),
    ]


def iozone_round(size_bytes: int, record_bytes: int, *, direct: bool = True) -> tuple[Workload, ...]:
    """The nine operations on one new file, in the order in which each needs the one before."""
    command = " ".join(["iozone", *iozone_arguments(size_bytes, [record_bytes], direct=direct)])
    return iozone.translate(_source(command), "iozone").workloads


def iozone2017(size_bytes: int | None) -> Study:
    """The nine operations in IOzone's order for each record size, on one file, with -c -e -I."""
    size = size_bytes or IOZONE_SIZE
    command = " ".join(
        [
            "iozone",
            *iozone_arguments(size, [record for record in IOZONE_RECORDS if record <= max(size, IOZONE_RECORDS[0])]),
        ]
    )
    translation = iozone.translate(_source(command), "iozone")
    return Study(
        "iozone2017",
        "nine IOzone operations, records of 4 KB to 16 MB, a 4 GB file: a NAS in 2017",
        translation.workloads,
        ordered=True,
        repeats=40,
        remarks=(
            (
                "Each operation does a fixed amount of work in IOzone's order and is never bounded by time: write "
                "makes a new file, the others need it."
            ),
            "The study repeated everything 40 times; here the stop rule decides, and 40 visits are a choice.",
            (
                "The study left record rewrite out of its figures because it shows a cache; here it is measured and "
                "labelled."
            ),
            (
                "Reads are direct (-I), so that the client's memory does not answer them. The study's client had "
                "four times the file's size."
            ),
            "Backward reads differ from IOzone's in one position.",
            (
                "Strided reads take one record in 17 as IOzone's do. But fio begins each pass over the file with "
                "the same records where IOzone shifts by one. A cache of a 17th of the file answers all but the "
                "first pass."
            ),
            (
                "The data are IOzone's: one buffer of a few bytes of a pattern and zeros, written again and again. A "
                "target that compresses or deduplicates shows it."
            ),
        ),
    )


def diskspd2016(size_bytes: int | None) -> Study:
    """Four patterns over threads x outstanding I/Os, 60 s each."""
    size = size_bytes or 1000 * GIB
    workloads = []
    for pattern in ("-r -b4K -w0", "-r -b4K -w100", "-r -b8K -w33", "-si -b8K -w33"):
        for threads in (1, 2, 4, 8, 16):
            for depth in (1, 2, 4, 8, 16, 32):
                command = f"diskspd -t{threads} -o{depth} {pattern} -d60 -h -L -f{size} x"
                (workload,) = diskspd.translate(_source(command), "diskspd").workloads
                name = pattern.replace("-", "").replace(" ", "-")
                (stream,) = workload.streams
                workloads.append(
                    replace(
                        workload,
                        name=f"{name}-t{threads}-o{depth}",
                        streams=(replace(stream, name=f"{name}-t{threads}-o{depth}"),),
                    )
                )
    return Study(
        "diskspd2016",
        "4K random read and write, 8K random and sequential 67/33, over threads x outstanding I/Os: a virtual SAN "
        "review",
        tuple(workloads),
        remarks=(
            (
                "The review searched threads and outstanding I/Os by hand and reports 8 x 8 only. Here the search "
                "is part of the result."
            ),
            "-h means no software cache and write-through: writes are direct and O_DSYNC.",
            (
                "-si, one sequential position for all threads, is not exact in fio: threads take every n-th block in "
                "step instead."
            ),
            (
                "fio keeps one sequential position for reads and one for writes. So the mixed sequential pattern is "
                "two passes over the file."
            ),
            "The review used a 1 TB file; smaller targets fit caches that it did not fit.",
        ),
    )


def xdd2008(size_bytes: int | None) -> Study:
    """Sequential and random reads and writes, requests of 4 to 1,024 KB, 1 to 8 outstanding; direct."""
    size = size_bytes or 8 * GIB
    workloads = []
    for law, read in ((law, read) for law in ("sequential", "random") for read in (100.0, 0.0)):
        for block in _doubling(4 * KIB, MIB):
            for depth in (1, 2, 4, 8):
                name = f"{law}-{'read' if read else 'write'}-{block // KIB}k-qd{depth}"
                address = Address("sequential") if law == "sequential" else Address("random")
                stream = Stream(
                    name, read, address, ((block, 100.0),), depth=depth, size_bytes=size, direct=True, engine="libaio"
                )
                workloads.append(Workload(name, (stream,), runtime_seconds=30.0))
    return Study(
        "xdd2008",
        "sequential and random, 4 to 1,024 KB, 1 to 8 outstanding: the 2008 comparison of custom and commodity storage",
        tuple(workloads),
        remarks=(
            (
                "Ten client machines ran at once in the study, throughput summed over them; one job file is one "
                "client's part."
            ),
            "The study's amount of data per run is not published: each point runs 30 s here.",
            "xdd's queue is threads with one I/O each; fio keeps the same number in flight asynchronously.",
        ),
        unsure=("run length",),
    )


NAS_RECORD, NAS_SMALLEST, NAS_LARGEST = 64 * KIB, 64 * KIB, 4 * GIB


def nas_round(
    size_bytes: int, record_bytes: int = NAS_RECORD, *, direct: bool = False, number: int = 1
) -> tuple[Workload, ...]:
    """One file written and read over its whole length, buffered unless `direct`."""
    workloads = []
    for operation in ("write", "read"):
        name = f"{operation}-{size_bytes // KIB}k"
        options = {"invalidate": 0} | ({} if operation == "read" else {"fallocate": "none"})
        stream = Stream(
            name,
            100.0 if operation == "read" else 0.0,
            sizes=((record_bytes, 100.0),),
            size_bytes=size_bytes,
            target=number,
            operation=operation,
            engine="psync",
            direct=direct,
            options=options,
        )
        workloads.append(Workload(name, (stream,)))
    return tuple(workloads)


def nascharts2008(size_bytes: int | None) -> Study:
    """Write and read over file sizes that double beyond the memory of client and server."""
    sizes = _doubling(NAS_SMALLEST, size_bytes or NAS_LARGEST)
    return Study(
        "nascharts2008",
        "buffered write and read throughput against file size, 64 KB doubling, as in the 2008 NAS charts",
        tuple(workload for number, size in enumerate(sizes, 1) for workload in nas_round(size, number=number)),
        ordered=True,
        remarks=(
            (
                "The charts' sizes end at 1 GB or 4 GB. What matters is that the largest exceeds the memory of "
                "client and server, so the sizes follow from those."
            ),
            (
                "I/O is buffered on purpose and not flushed inside the time, as the charts were: small files show the "
                "client's memory, and the page marks where that ends."
            ),
            "Records are 64 KB throughout; the charts used one record size as well.",
            (
                "Each file is new, written once and read once. Rewrite and reread, which the charts did not draw, "
                "are left out."
            ),
            "Link limits are drawn from measurement and arithmetic, not from nominal figures alone.",
        ),
        unsure=("record size",),
    )


ROUNDS: dict[str, Callable[..., tuple[Workload, ...]]] = {"iozone2017": iozone_round, "nascharts2008": nas_round}


def orion_simple(size_bytes: int | None) -> Study:
    """ORION's simple run on one disk: small random load alone, then large random load alone."""
    translation = orion.translate(_source("orion -run simple -testname target -num_disks 1 -cache_size 0"), "orion")
    workloads = translation.workloads
    if size_bytes:
        workloads = tuple(
            replace(w, streams=tuple(replace(s, size_bytes=size_bytes) for s in w.streams)) for w in workloads
        )
    return Study(
        "orion",
        "8 KB random reads at 1 to 5 outstanding, 1 MB at 1 to 2: ORION's simple run on one disk",
        workloads,
        remarks=(
            "ORION scales its levels with -num_disks: translate the command with the number of disks for other levels.",
            "ORION's idle point moves no data and is left out.",
            (
                "ORION fills the array's cache before each point; here the warm-up is cut from the measured series "
                "instead."
            ),
        ),
    )


BUILDERS: dict[str, Callable[[int | None], Study]] = {
    "iozone2017": iozone2017,
    "diskspd2016": diskspd2016,
    "xdd2008": xdd2008,
    "nascharts2008": nascharts2008,
    "orion": orion_simple,
}
