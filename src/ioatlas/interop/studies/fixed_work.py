# SPDX-License-Identifier: Apache-2.0
"""Sequences of fixed work that published evaluations made on one new file: nine operations of IOzone, NAS charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ioatlas.errors import UsageError
from ioatlas.interop.studies.iozone import TESTS, operation
from ioatlas.model.workload import Stream, Workload

KIB = 1 << 10


LARGEST_RECORD = 16 << 20
_TESTS = range(6)
"""What IOzone calls the nine operations."""


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
    if max(records) > LARGEST_RECORD:
        raise UsageError("IOzone's largest record is 16 MiB", where="bs", remedy="use records up to 16m")
    tests = [word for test in _TESTS for word in ("-i", str(test))]
    sizes = ["-s", f"{size_bytes // KIB}k", *(word for record in records for word in ("-r", f"{record // KIB}k"))]
    return [*tests, "-c", "-e", *(["-I"] if direct else []), *sizes]


def iozone_round(size_bytes: int, record_bytes: int, *, direct: bool = True) -> tuple[Workload, ...]:
    """The nine operations on one new file, in the order in which each needs the one before."""
    iozone_arguments(size_bytes, [record_bytes])
    if record_bytes > size_bytes:
        raise UsageError("no record fits into a file", where="size, bs", remedy="use a larger size or smaller records")
    streams = [operation(op, size_bytes, record_bytes, direct=direct) for test in _TESTS for op in TESTS[test]]
    streams[-1] = replace(streams[-1], options={**streams[-1].options, "unlink": 1})
    return tuple(Workload(stream.name, (stream,)) for stream in streams)


def nas_round(size_bytes: int, record_bytes: int, *, direct: bool = False) -> tuple[Workload, ...]:
    """One file written and read over its whole length, buffered unless `direct`."""
    workloads = []
    for op in ("write", "read"):
        name = f"{op}-{size_bytes // KIB}k"
        options = {"invalidate": 0} | ({} if op == "read" else {"fallocate": "none"})
        stream = Stream(
            name,
            100.0 if op == "read" else 0.0,
            sizes=((record_bytes, 100.0),),
            size_bytes=size_bytes,
            operation=op,
            engine="psync",
            direct=direct,
            options=options,
        )
        workloads.append(Workload(name, (stream,)))
    return tuple(workloads)


ROUNDS: dict[str, Callable[..., tuple[Workload, ...]]] = {"iozone2017": iozone_round, "nascharts2008": nas_round}


def round_of(name: str, size_bytes: int, record_bytes: int, *, direct: bool) -> tuple[Workload, ...]:
    """One sequence: operations on one new file, each of which needs the one before. Raises UsageError."""
    if name not in ROUNDS:
        raise UsageError(f"the study {name!r} has no order", where="study", remedy="name one of " + ", ".join(ROUNDS))
    return ROUNDS[name](size_bytes, record_bytes, direct=direct)
