# SPDX-License-Identifier: Apache-2.0
"""What an attribution must say of lab targets: one row for each known limit, with the sweep that shows it and the cell
that is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ioatlas_lab.scenario import Setting

KIB, MIB = 1 << 10, 1 << 20
Value = int | str


@dataclass(frozen=True)
class Case:
    """One row.

    name:     of the row. scenario, settings: what is started.
    sweep:    axes of the map that is measured. constants: options of every cell beside those the scenario asks for.
    asked:    options of the cell whose limit is compared.
    truth:    the limit in the lab's words. right: the names an attribution may give it; anything else but
              'undetermined' is wrong.
    visits:   of every cell.
    iperf:    measure the path first, as a user does who names the server's address.
    writes:   the map may write to the target.
    """

    name: str
    scenario: str
    truth: str
    right: tuple[str, ...]
    sweep: Mapping[str, tuple[Value, ...]]
    asked: Mapping[str, Value]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    constants: Mapping[str, Value] = field(default_factory=dict)
    visits: int = 2
    iperf: bool = False
    writes: bool = False


_BANDWIDTH = ("target bandwidth", "rate limit in bytes")
_IOPS = ("target IOPS", "rate limit in I/Os")
_DEPTHS = (1, 4, 16)
_64: dict[str, Value] = {"size": 64 * MIB}
_PATH = ("link", "network path")
"""A path that was measured is as fast as its link."""
_LINK_SWEEP: dict[str, tuple[Value, ...]] = {"rw": ("read",), "bs": (64 * KIB, 256 * KIB), "iodepth": (4, 16)}
_LINK_ASKED: dict[str, Value] = {"bs": 64 * KIB, "iodepth": 16}
_CACHE_SWEEP: dict[str, tuple[Value, ...]] = {
    "rw": ("read",),
    "bs": (64 * KIB, MIB),
    "size": (16 * MIB, 32 * MIB, 192 * MIB),
}

CASES: tuple[Case, ...] = (
    Case(
        "bytes a second, reads",
        "bandwidth",
        "drive bandwidth",
        _BANDWIDTH,
        {"rw": ("randread",), "bs": (4 * KIB, 16 * KIB, 64 * KIB), "iodepth": _DEPTHS},
        {"bs": 16 * KIB, "iodepth": 16},
        {"burst_seconds": 0.1},
        _64,
    ),
    Case(
        "bytes a second, writes",
        "bandwidth",
        "drive bandwidth",
        _BANDWIDTH,
        {"rw": ("randwrite",), "bs": (4 * KIB, 16 * KIB, 64 * KIB), "iodepth": _DEPTHS},
        {"bs": 16 * KIB, "iodepth": 16},
        {"burst_seconds": 0.1},
        _64,
        writes=True,
    ),
    Case(
        "bytes a second, burst credit that is used up",
        "bandwidth",
        "rate limit of the target",
        _BANDWIDTH,
        {"rw": ("randread",), "bs": (4 * KIB, 16 * KIB, 64 * KIB), "iodepth": _DEPTHS},
        {"bs": 16 * KIB, "iodepth": 16},
        {"burst_seconds": 2.0},
        _64,
    ),
    Case(
        "I/Os a second, burst credit that is used up",
        "burst-credit",
        "rate limit of the target",
        _IOPS,
        {"rw": ("randread",), "bs": (4 * KIB, 16 * KIB), "iodepth": _DEPTHS},
        {"bs": 4 * KIB, "iodepth": 16},
        {"iops": 1000, "burst_iops": 4000, "burst_seconds": 1},
        _64,
    ),
    Case(
        "I/Os a second",
        "iops",
        "drive IOPS",
        _IOPS,
        {"rw": ("randread",), "bs": (4 * KIB, 16 * KIB, 64 * KIB), "iodepth": _DEPTHS},
        {"bs": 4 * KIB, "iodepth": 16},
        {},
        _64,
    ),
    Case(
        "I/Os and bytes, small blocks",
        "throttled",
        "drive IOPS",
        _IOPS,
        {"rw": ("randread",), "bs": (4 * KIB, 16 * KIB, 256 * KIB), "iodepth": (1, 4, 16)},
        {"bs": 4 * KIB, "iodepth": 16},
        {},
        _64,
    ),
    Case(
        "I/Os and bytes, large blocks",
        "throttled",
        "drive bandwidth",
        _BANDWIDTH,
        {"rw": ("randread",), "bs": (4 * KIB, 64 * KIB, 256 * KIB), "iodepth": (1, 4, 16)},
        {"bs": 256 * KIB, "iodepth": 16},
        {},
        _64,
    ),
    Case(
        "latency, few in flight",
        "latency",
        "latency",
        ("latency",),
        {"rw": ("randread",), "bs": (4 * KIB, 64 * KIB), "iodepth": (1, 2, 4, 8)},
        {"bs": 4 * KIB, "iodepth": 2},
        {},
        _64,
    ),
    Case(
        "one request at a time",
        "single-queue",
        "single queue",
        _IOPS,
        {"rw": ("randread",), "bs": (4 * KIB, 64 * KIB), "iodepth": _DEPTHS},
        {"bs": 4 * KIB, "iodepth": 16},
        {},
        _64,
    ),
    Case(
        "a drive with seeks, written in place",
        "in-place",
        "single queue",
        _IOPS,
        {"rw": ("randwrite",), "bs": (4 * KIB, 64 * KIB), "iodepth": _DEPTHS},
        {"bs": 4 * KIB, "iodepth": 16},
        {},
        _64,
        writes=True,
    ),
    Case(
        "a log with room over such a drive, random writes",
        "log-structured",
        "drive bandwidth",
        _BANDWIDTH,
        {"rw": ("randwrite",), "bs": (4 * KIB, 16 * KIB, 64 * KIB), "iodepth": _DEPTHS},
        {"bs": 16 * KIB, "iodepth": 16},
        {"size_bytes": 64 * MIB, "spare_percent": 3200},
        _64,
        writes=True,
    ),
    Case(
        "the same log, reads of what random writes scattered",
        "log-structured-full",
        "single queue",
        _IOPS,
        {"rw": ("randread",), "bs": (4 * KIB, 16 * KIB), "iodepth": _DEPTHS},
        {"bs": 4 * KIB, "iodepth": 16},
        {"size_bytes": 64 * MIB},
        _64,
    ),
    Case(
        "memory without a limit",
        "memory",
        "client CPU",
        ("client CPU",),
        {"rw": ("randread",), "bs": (4 * KIB, 16 * KIB), "numjobs": (2, 4), "iodepth": (16, 64)},
        {"bs": 4 * KIB, "numjobs": 4, "iodepth": 64},
        {},
        _64,
    ),
    Case(
        "a cache of 64 MiB before a slow disk",
        "cache-edge",
        "server cache",
        ("server cache",),
        {"rw": ("randread",), "bs": (64 * KIB,), "size": (8 * MIB, 16 * MIB, 192 * MIB), "iodepth": (1, 4)},
        {"size": 8 * MIB, "iodepth": 4},
        {"miss_ms": 4},
        visits=4,
    ),
    Case(
        "a file through the page cache",
        "page-cache-drive",
        "client page cache",
        ("client page cache",),
        {"rw": ("read",), "bs": (64 * KIB, MIB), "numjobs": (1, 2)},
        {"bs": MIB, "numjobs": 1},
        {},
        {"size": 64 * MIB},
        writes=True,
    ),
    Case(
        "a file on a disk that others use",
        "page-cache",
        "client page cache",
        ("client page cache",),
        {"rw": ("read",), "bs": (64 * KIB, MIB), "numjobs": (1, 2)},
        {"bs": MIB, "numjobs": 1},
        {},
        {"size": 128 * MIB},
    ),
    Case(
        "a page cache of 96 MiB, a set that fits",
        "page-cache-limited",
        "client page cache",
        ("client page cache",),
        _CACHE_SWEEP,
        {"size": 32 * MIB, "bs": MIB},
        writes=True,
    ),
    Case(
        "a file on a far server, through the page cache",
        "nas-far",
        "client page cache",
        ("client page cache",),
        {"rw": ("read",), "bs": (4 * KIB, 16 * KIB), "numjobs": (1, 2)},
        {"bs": 4 * KIB, "numjobs": 1},
        {},
        {"size": MIB, "direct": 0, "invalidate": 0},
    ),
    Case(
        "a client (smbnetfs) that sends one request at a time",
        "nas-far",
        "single queue",
        _IOPS,
        {"rw": ("randread",), "bs": (4 * KIB, 16 * KIB), "numjobs": (1, 2, 4)},
        {"bs": 4 * KIB, "numjobs": 1},
        {},
        {"size": 16 * MIB, "direct": 1},
    ),
    Case(
        "an SMB server behind 100 Mb/s",
        "nas-smb",
        "link",
        ("link",),
        {"rw": ("read",), "bs": (256 * KIB, MIB), "numjobs": (1, 2)},
        {"bs": MIB, "numjobs": 2},
        {},
        {"size": 64 * MIB, "direct": 1},
        iperf=True,
    ),
    Case(
        "a replicated pair, reads behind 100 Mb/s",
        "pair",
        "link",
        ("link",),
        _LINK_SWEEP,
        {"bs": 256 * KIB, "iodepth": 16},
        {"store": "log-structured"},
        _64,
        iperf=True,
    ),
    Case(
        "a replicated pair, random reads from both boxes",
        "pair",
        "drive IOPS",
        _IOPS,
        {"rw": ("randread",), "bs": (4 * KIB, 16 * KIB), "iodepth": _DEPTHS},
        {"bs": 4 * KIB, "iodepth": 16},
        {"reads": "both", "size_bytes": 64 * MIB},
        _64,
    ),
    Case(
        "a file on an NFS server behind 100 Mb/s",
        "nas-nfs",
        "link",
        ("link",),
        _LINK_SWEEP,
        _LINK_ASKED,
        {},
        _64,
    ),
    Case(
        "a store that keeps everything three times, writes",
        "cluster",
        "link",
        ("link",),
        {"rw": ("write",), "bs": (256 * KIB, MIB), "iodepth": (4, 8)},
        {"bs": MIB, "iodepth": 8},
        {},
        {"size": 64 * MIB},
        writes=True,
    ),
    Case("1 Gb/s at MTU 1500", "link-1g", "link", _PATH, _LINK_SWEEP, _LINK_ASKED, {}, _64, iperf=True),
    Case("1 Gb/s at MTU 9000", "link-1g-jumbo", "link", _PATH, _LINK_SWEEP, _LINK_ASKED, {}, _64, iperf=True),
    Case("100 Mb/s at MTU 1500", "link-100m", "link", _PATH, _LINK_SWEEP, _LINK_ASKED, {}, _64, iperf=True),
    Case("1 Gb/s, path not measured", "link-1g", "link", ("link",), _LINK_SWEEP, _LINK_ASKED, {}, _64),
    Case(
        "a drive's bytes a second",
        "drive",
        "drive bandwidth",
        ("drive bandwidth", "drive"),
        {"rw": ("randread",), "bs": (128 * KIB, 256 * KIB, MIB), "iodepth": (4, 16)},
        {"bs": 256 * KIB, "iodepth": 16},
        {"bw_bytes_per_s": 50_000_000},
        _64,
    ),
    Case(
        "a drive's I/Os a second",
        "drive",
        "drive IOPS",
        ("drive IOPS", "drive"),
        {"rw": ("randread",), "bs": (4 * KIB, 16 * KIB, 32 * KIB), "iodepth": (1, 4, 16)},
        {"bs": 4 * KIB, "iodepth": 16},
        {"bw_bytes_per_s": 200_000_000},
        _64,
    ),
    Case(
        "an iSCSI LUN on a slow drive",
        "san-drive",
        "drive bandwidth",
        _BANDWIDTH,
        {"rw": ("randread",), "bs": (64 * KIB, 256 * KIB), "iodepth": (4, 16)},
        {"bs": 64 * KIB, "iodepth": 16},
        {},
        _64,
    ),
    Case(
        "an array's drives, large blocks",
        "array-model",
        "drive bandwidth",
        _BANDWIDTH,
        {"rw": ("read",), "bs": (256 * KIB, MIB), "iodepth": (4, 16)},
        {"bs": MIB, "iodepth": 16},
        {},
        {"size": 256 * MIB},
    ),
    Case(
        "an array's drives, small random blocks",
        "array-model",
        "drive IOPS",
        _IOPS,
        {"rw": ("randread",), "bs": (4 * KIB, 16 * KIB), "iodepth": (1, 4, 64, 128)},
        {"bs": 4 * KIB, "iodepth": 128},
        {},
        {"size": 256 * MIB},
    ),
    Case(
        "an array that is rebuilt",
        "array-model",
        "drive bandwidth",
        _BANDWIDTH,
        {"rw": ("read",), "bs": (256 * KIB, MIB), "iodepth": (4, 16)},
        {"bs": MIB, "iodepth": 16},
        {"rebuilding": 1},
        {"size": 256 * MIB},
    ),
    Case(
        "an array behind a slower link",
        "array-link",
        "link",
        ("link",),
        {"rw": ("read",), "bs": (64 * KIB, 256 * KIB), "iodepth": (4, 16)},
        {"bs": 256 * KIB, "iodepth": 16},
        {},
        {"size": 256 * MIB},
        iperf=True,
    ),
    Case(
        "an array slower than its link",
        "array-link",
        "drive bandwidth",
        _BANDWIDTH,
        {"rw": ("read",), "bs": (64 * KIB, 256 * KIB), "iodepth": (4, 16)},
        {"bs": 256 * KIB, "iodepth": 16},
        {"bw_bytes_per_s": 15_000_000},
        {"size": 256 * MIB},
        iperf=True,
    ),
    Case(
        "the inner zone of a drive",
        "drive-zones",
        "drive bandwidth",
        _BANDWIDTH,
        {"rw": ("read",), "bs": (256 * KIB, MIB), "iodepth": (4, 16)},
        {"bs": MIB, "iodepth": 16},
        {},
        {"size": 128 * MIB, "offset": 128 * MIB},
    ),
    Case(
        "a network card slower than the target",
        "slow-nic",
        "link",
        ("link",),
        _LINK_SWEEP,
        _LINK_ASKED,
        {},
        _64,
        iperf=True,
    ),
    Case(
        "a client of 64 MiB, a file that fits",
        "small-ram",
        "client page cache",
        ("client page cache",),
        {"rw": ("read",), "bs": (64 * KIB, MIB), "size": (16 * MIB, 128 * MIB)},
        {"size": 16 * MIB, "bs": MIB},
        iperf=True,
    ),
    Case(
        "a client of 64 MiB, a file that does not",
        "small-ram",
        "link",
        ("link",),
        {"rw": ("read",), "bs": (64 * KIB, MIB), "size": (16 * MIB, 128 * MIB)},
        {"size": 128 * MIB, "bs": MIB},
        iperf=True,
    ),
    Case(
        "a rate the load asks for",
        "memory",
        "configured rate",
        ("configured rate",),
        {"rw": ("randread",), "bs": (4 * KIB,), "iodepth": (4, 16)},
        {"iodepth": 16},
        {},
        {**_64, "rate_iops": 500},
    ),
)
"""In the order of the table."""
