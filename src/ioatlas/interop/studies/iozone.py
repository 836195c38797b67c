# SPDX-License-Identifier: Apache-2.0
"""IOzone's operations as streams (facts: its manual and behaviour, versions 3.4xx)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ioatlas.model.cell import OptionValue
from ioatlas.model.workload import Address, Stream

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


OPERATIONS = {
    "write": Operation("write", "write", None, 0),
    "rewrite": Operation("write", None, "rewrite", 0),
    "read": Operation("read", "read", None, 1),
    "reread": Operation("read", None, "reread", 1),
    "random read": Operation("read", "randread", None, 2),
    "random write": Operation("write", "randwrite", None, 2),
    "backward read": Operation("read", None, "backward read", 3),
    "record rewrite": Operation("write", None, "record rewrite", 4),
    "strided read": Operation("read", None, "strided read", 5),
    "fwrite": Operation("write", None, "fwrite", 6),
    "frewrite": Operation("write", None, "frewrite", 6),
    "fread": Operation("read", None, "fread", 7),
    "freread": Operation("read", None, "freread", 7),
    "mixed workload": Operation("mixed", None, "mixed workload", 8),
    "pwrite": Operation("write", None, "pwrite", 9),
    "repwrite": Operation("write", None, "repwrite", 9),
    "pread": Operation("read", None, "pread", 10),
    "repread": Operation("read", None, "repread", 10),
    "pwritev": Operation("write", None, "pwritev", 11),
    "repwritev": Operation("write", None, "repwritev", 11),
    "preadv": Operation("read", None, "preadv", 12),
    "repreadv": Operation("read", None, "repreadv", 12),
}
TESTS = {
    test: tuple(name for name, one in OPERATIONS.items() if one.test == test)
    for test in sorted({one.test for one in OPERATIONS.values()})
}
"""Its operations by IOzone's number of the test."""
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
