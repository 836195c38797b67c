# SPDX-License-Identifier: Apache-2.0
"""A cell: one point of a sweep, a workload on a target, in fio's own option names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

OptionValue = int | float | str

READS = frozenset({"read", "randread"})
WRITES = frozenset({"write", "randwrite"})
MIXED = frozenset({"rw", "readwrite", "randrw"})
TRIMS = frozenset({"trim", "randtrim", "trimwrite", "randtrimwrite"})


def directions_of(rw: str) -> tuple[str, ...]:
    """Which of read, write, trim a fio `rw` value moves data in."""
    base = rw.split(":", 1)[0]
    if base in READS:
        return ("read",)
    if base in WRITES:
        return ("write",)
    if base in MIXED:
        return ("read", "write")
    if base in ("trimwrite", "randtrimwrite"):
        return ("write", "trim")
    if base in ("trim", "randtrim"):
        return ("trim",)
    raise ValueError(f"unknown rw {rw!r}")


@dataclass(frozen=True)
class Cell:
    """One workload on one target.

    target:  the target's name in the campaign.
    options: normalised fio options, sorted by name; sizes in bytes as integers, booleans as 0 or 1.
             Holds everything that affects the I/O (engine, direct, data pattern, offered rate).
    sharing: 'shared' (all jobs on one file) or 'private' (a file for each job).
    state:   what the file must be before the load: 'laid-out', 'fresh', 'filled', ...
    """

    target: str
    options: tuple[tuple[str, OptionValue], ...]
    sharing: str = "shared"
    state: str = "laid-out"

    @classmethod
    def of(cls, target: str, options: Mapping[str, OptionValue], *, sharing: str = "shared", state: str = "laid-out") -> Cell:
        return cls(target, tuple(sorted(options.items())), sharing, state)

    @cached_property
    def option(self) -> dict[str, OptionValue]:
        return dict(self.options)

    def integer(self, name: str, default: int) -> int:
        return int(self.option.get(name, default))

    @property
    def rw(self) -> str:
        return str(self.option.get("rw", "read"))

    @property
    def bs_bytes(self) -> int:
        """Largest block size of the cell (`bs` may be `read,write,trim` in fio)."""
        return max(int(part) for part in str(self.option.get("bs", 4096)).split(",") if part)

    @property
    def size_bytes(self) -> int:
        return self.integer("size", 0)

    @property
    def numjobs(self) -> int:
        return self.integer("numjobs", 1)

    @property
    def iodepth(self) -> int:
        return self.integer("iodepth", 1)

    @property
    def outstanding(self) -> int:
        """I/Os kept in flight by a closed loop: numjobs x iodepth."""
        return self.numjobs * self.iodepth

    @property
    def footprint_bytes(self) -> int:
        """Bytes the cell really covers; caches show up as cliffs along it."""
        return self.size_bytes * (self.numjobs if self.sharing == "private" else 1)

    @property
    def end_bytes(self) -> int:
        """Where on the file or device the last job's range ends."""
        return self.size_bytes + self.integer("offset", 0) + self.integer("offset_increment", 0) * (self.numjobs - 1)

    @property
    def directions(self) -> tuple[str, ...]:
        return directions_of(self.rw)

    @property
    def writes(self) -> bool:
        """Whether running the cell changes what the target holds (trim counts)."""
        return any(direction != "read" for direction in self.directions)

    @property
    def loop(self) -> str:
        """'open' when arrivals are paced, else 'closed'."""
        paced = ("rate", "rate_iops")
        return "open" if any(self.option.get(name) for name in paced) else "closed"

    @property
    def work_bounded(self) -> bool:
        """Whether the load ends when its work is done rather than after a time."""
        return any(name in self.option for name in ("io_size", "number_ios", "loops"))

    @cached_property
    def key(self) -> str:
        """Hash of everything that affects the I/O: 16 hexadecimal digits."""
        text = json.dumps([self.target, list(self.options), self.sharing, self.state], separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
