# SPDX-License-Identifier: Apache-2.0
"""Sequences of fixed work that published evaluations made on one new file: nine operations of IOzone, NAS charts; and
IOzone's operations as streams (facts: its manual and behaviour, versions 3.4xx).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ioatlas.model.cell import OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.workload import Address, Stream, Workload

OWN_DATA = "0x" + "5f" * 8 + "00" * 56
"""IOzone's buffer as near as fio's pattern of at most 512 bytes comes to it: eight bytes of a pattern at the start of
each page of 4,096, zeros behind.

IOzone writes the one buffer again and again and touches none of it between two records; with a pattern fio leaves its
buffer alone too. Its default, random data altered before every write, takes about 50 us more for a direct write of 1
MiB (docs/decisions/0029-iozone.md).
"""


class Operation(NamedTuple):
    """direction, fio's rw (None where fio has no word), the operation's own name (None where rw says it), iozone's -i
    number.
    """

    direction: str
    rw: str | None
    operation: str | None
    test: int


_OF_FIO = {"write": "write", "read": "read", "random read": "randread", "random write": "randwrite"}
_NAMES = (
    "write,rewrite read,reread random_read,random_write backward_read record_rewrite strided_read fwrite,frewrite "
    "fread,freread mixed_workload pwrite,repwrite pread,repread pwritev,repwritev preadv,repreadv"
)
TESTS = {test: tuple(names.replace("_", " ").split(",")) for test, names in enumerate(_NAMES.split())}
"""Its operations by IOzone's number of the test."""


def _operation(name: str, test: int) -> Operation:
    direction = "mixed" if name.startswith("mixed") else "write" if "write" in name else "read"
    return Operation(direction, _OF_FIO.get(name), None if name in _OF_FIO else name, test)


OPERATIONS = {name: _operation(name, test) for test, names in TESTS.items() for name in names}
WRITERS = frozenset(name for name, one in OPERATIONS.items() if one.direction == "write")


def _address(op: str, record: int, stride: int) -> Address:
    if op.startswith("random"):
        return Address("random", once=True)
    if op == "backward read":
        return Address("backward")
    if op == "strided read":
        return Address("strided", skip_bytes=(stride - 1) * record) if stride > 1 else Address("sequential")
    if op == "record rewrite":
        return Address("fixed")
    return Address("sequential")


def operation(
    op: str,
    size: int,
    record: int,
    given: Mapping[str, OptionValue] | None = None,
    *,
    direct: bool,
    own_data: bool = True,
    dropped: bool = False,
    flushed: bool = True,
    stride: int = 17,
) -> Stream:
    """One operation on a file of `size` bytes by one thread.

    given: options of fio beside IOzone's own. own_data: the file holds what IOzone writes unless told otherwise.
    dropped: pages leave the cache before a read. flushed: a write ends with a flush, inside its time.
    """
    writes = op in WRITERS
    options = dict(given or {})
    if own_data:
        options["buffer_pattern"] = OWN_DATA  # of reads too: a file that fio or a campaign lays out holds the same
    if "buffer_pattern" in options:
        # fio 3.33 fills the buffer anew for every write where it reads a pattern before it reads rw=write.
        options["refill_buffers"] = 0
    options["invalidate"] = int(dropped and not writes)
    if writes:
        options["fallocate"] = "none"
        if flushed:
            options["end_fsync"] = 1
    return Stream(
        name=f"{op.replace(' ', '-')}.s{size >> 10}k.r{record >> 10}k",
        operation=op,
        read_percent=0.0 if writes else 100.0,
        address=_address(op, record, stride),
        sizes=((record, 100.0),),
        size_bytes=size,
        work_bytes=size // record * record if op == "record rewrite" else None,
        direct=direct,
        engine="psync",
        options=options,
    )


KIB = 1 << 10


LARGEST_RECORD = 16 << 20
_TESTS = range(6)
"""What IOzone calls the nine operations."""
_NINE = tuple(name for test in _TESTS for name in TESTS[test])
_TABLE = re.compile(
    r"^\s*[kK]B\s+reclen\s+write\s.*\n\s*(\d{1,15})\s+(\d{1,15})((?:[ \t]+\d{1,15})+)[ \t]*$", re.MULTILINE
)
_ENDED = "iozone test complete"


class IozoneTable(NamedTuple):
    """What IOzone said of the nine operations. bytes_per_s: by operation; 0 for one of which it said nothing."""

    size_bytes: int
    record_bytes: int
    bytes_per_s: Mapping[str, float]


def iozone_table(text: str) -> IozoneTable | None:
    """The table of a run with the arguments below and one record size; None where it is not there in full."""
    row = _TABLE.search(text) if _ENDED in text else None
    rates = [float(figure) * KIB for figure in row[3].split()] if row else []
    if row is None or len(rates) != len(_NINE):
        return None
    return IozoneTable(int(row[1]) * KIB, int(row[2]) * KIB, dict(zip(_NINE, rates, strict=True)))


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
    streams = [operation(op, size_bytes, record_bytes, direct=direct) for op in _NINE]
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
