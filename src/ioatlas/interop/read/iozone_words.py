# SPDX-License-Identifier: Apache-2.0
"""IOzone's operations in fio's words, and its units."""

from __future__ import annotations

import re
from typing import NamedTuple


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
COLUMNS = tuple(OPERATIONS)[:13]

# Titles in the -R report, the -b workbook and the throughput blocks, squeezed to letters, besides its own name.
_TITLES = {
    "write": "writer initialwrite initialwriter initialwriters writers",
    "rewrite": "rewriter rewriters",
    "read": "reader readers",
    "reread": "rereader rereaders",
    "random read": "randomreader randomreaders",
    "random write": "randomwriter randomwriters",
    "backward read": "backwardsread bkwdread reverseread reversereader reversereaders backwardreaders",
    "record rewrite": "recrewrite",
    "strided read": "strideread stridereader stridereaders",
    "fwrite": "fwriter fwriters",
    "frewrite": "refwrite frewriters refwriters",
    "fread": "freader freaders",
    "freread": "refread frereaders refreaders",
    "pwrite": "pwritewriters pwriters",
    "pread": "preadreaders preaders",
}
_NAMES = {name.replace(" ", ""): name for name in OPERATIONS} | {
    title: name for name, titles in _TITLES.items() for title in titles.split()
}


def operation_named(title: str) -> str | None:
    """The key of OPERATIONS a title stands for; None for a title IOzone does not have."""
    squeezed = re.sub(r"[^a-z]", "", title.lower().removesuffix("report").strip())
    return _NAMES.get(squeezed.removesuffix("report"))
