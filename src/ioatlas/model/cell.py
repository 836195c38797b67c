# SPDX-License-Identifier: Apache-2.0
"""A cell: one point of a sweep, a workload on a target, in fio's own option names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

OptionValue = int | float | str
Options = tuple[tuple[str, OptionValue], ...]

READS = frozenset({"read", "randread"})
WRITES = frozenset({"write", "randwrite"})
MIXED = frozenset({"rw", "readwrite", "randrw"})
TRACE, TRACE_SECONDS = "trace", "trace_seconds"
"""Labels of a cell that is a timed trace: the digest of its I/Os, and how long they take. Its other options sum it up.
"""
CLIENTS, CLIENT_RANGE = "clients", "client_range"
"""How many clients of a fleet take part, and whether each has a file or range of its own: fio never sees these."""
FLUSHES = ("fsync", "fdatasync", "sync_file_range")
"""Options that flush after so many writes."""
BLOCKING_FLUSH = frozenset({"libaio"})
"""Engines that wait for a flush before they submit anything else."""
OF_FLEETS = frozenset({CLIENTS, CLIENT_RANGE})
TARGETS = "targets"
"""How many targets of a group are loaded together, each with the load of the cell: fio never sees it."""
NOT_OF_FIO = OF_FLEETS | {TARGETS}


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

    target:  the target's name in the campaign; of targets loaded together that of their group.
    options: normalised fio options, sorted by name; sizes in bytes as integers, booleans as 0 or 1.
             Holds everything that affects the I/O (engine, direct, data pattern, offered rate).
    sharing: 'shared' (all jobs on one file) or 'private' (a file for each job).
    state:   what the file must be before the load: 'laid-out', 'fresh', 'filled', ...
    streams: (name, options) of each stream of a load that is several at once; then `options` only say which load it is
             (phase, per cent of the highest load) and fio never sees them. Empty for a load of one stream.
    """

    target: str
    options: Options
    sharing: str = "shared"
    state: str = "laid-out"
    streams: tuple[tuple[str, Options], ...] = ()

    @classmethod
    def of(
        cls, target: str, options: Mapping[str, OptionValue], *, sharing: str = "shared", state: str = "laid-out"
    ) -> Cell:
        return cls(target, tuple(sorted(options.items())), sharing, state)

    @cached_property
    def option(self) -> dict[str, OptionValue]:
        return dict(self.options)

    def integer(self, name: str, default: int) -> int:
        return int(self.option.get(name, default))

    @property
    def trace(self) -> str:
        """Digest of the timed trace that the cell replays, or ''."""
        return str(self.option.get(TRACE, ""))

    @cached_property
    def members(self) -> tuple[Cell, ...]:
        """The cell of each stream; of a load of one stream the cell itself."""
        if not self.streams:
            return (self,)
        return tuple(Cell(self.target, options, self.sharing, self.state) for _, options in self.streams)

    @cached_property
    def rw(self) -> str:
        if self.streams:
            modes = {one.rw.split(":", 1)[0] for one in self.members}
            random = "rand" if any(mode.startswith("rand") for mode in modes) else ""
            directions = self.directions
            return random + (directions[0] if len(directions) == 1 else "rw")
        return str(self.option.get("rw", "read"))

    @cached_property
    def bs_bytes(self) -> int:
        """Largest block size of the cell (`bs` may be `read,write,trim` in fio)."""
        if self.streams:
            return max(one.bs_bytes for one in self.members)
        if "bssplit" in self.option:
            return max(self.block_sizes)
        return max(int(part) for part in str(self.option.get("bs", 4096)).split(",") if part)

    @cached_property
    def block_sizes(self) -> tuple[int, ...]:
        """Every block size the cell moves data in, ascending."""
        if self.streams:
            return tuple(sorted({size for one in self.members for size in one.block_sizes}))
        mix = str(self.option.get("bssplit", ""))
        directions = mix.split(",") if mix else []
        sizes = [entry.partition("/")[0] for direction in directions for entry in direction.split(":")]
        if not all(directions) or not sizes:  # a direction without a split has `bs`
            sizes += str(self.option.get("bs", 4096)).split(",")
        return tuple(sorted({int(size) for size in sizes if size}))

    @property
    def size_bytes(self) -> int:
        if self.streams:
            return self.integer("size", self.end_bytes)
        return self.integer("size", 0)

    @cached_property
    def numjobs(self) -> int:
        if self.streams:
            return sum(one.numjobs for one in self.members)
        return self.integer("numjobs", 1)

    @cached_property
    def iodepth(self) -> int:
        if self.streams:
            return max(one.iodepth for one in self.members)
        return self.integer("iodepth", 1)

    @cached_property
    def outstanding(self) -> int:
        """I/Os kept in flight by a closed loop: numjobs x iodepth, on all clients and targets together."""
        if self.streams:
            return sum(one.outstanding for one in self.members)
        return self.numjobs * self.iodepth * self.clients * self.n_targets

    @property
    def footprint_bytes(self) -> int:
        """Bytes the cell really covers; caches show up as cliffs along it."""
        own = self.clients if self.own_ranges else 1
        return self.size_bytes * (self.numjobs if self.sharing == "private" else 1) * own * self.n_targets

    @property
    def clients(self) -> int:
        """How many clients make the load together."""
        return max(one.integer(CLIENTS, 1) for one in self.members) if self.streams else self.integer(CLIENTS, 1)

    @property
    def n_targets(self) -> int:
        """How many targets are loaded at once."""
        return self.integer(TARGETS, 1)

    @property
    def of_group(self) -> bool:
        """Whether it loads targets of a group together, be it one of them."""
        return TARGETS in self.option

    @property
    def of_fleet(self) -> bool:
        """Whether clients that were named make the load, be it one of them."""
        return CLIENTS in self.members[0].option

    @property
    def own_ranges(self) -> bool:
        """Whether each client has a file or a range of its own."""
        return self.members[0].option.get(CLIENT_RANGE) == "own"

    @cached_property
    def end_bytes(self) -> int:
        """Where on the file or device the last job's range ends."""
        if self.streams:
            return max(one.end_bytes for one in self.members)
        return self.size_bytes + self.integer("offset", 0) + self.integer("offset_increment", 0) * (self.numjobs - 1)

    @property
    def directions(self) -> tuple[str, ...]:
        if self.streams:
            used = {direction for one in self.members for direction in one.directions}
            return tuple(direction for direction in ("read", "write", "trim") if direction in used)
        return directions_of(self.rw)

    @property
    def writes(self) -> bool:
        """Whether running the cell changes what the target holds (trim counts)."""
        return any(direction != "read" for direction in self.directions)

    @property
    def flushes(self) -> bool:
        """Whether writes of it wait for flushes, which the load generator times by themselves."""
        return any(str(self.option.get(name, 0)) != "0" for name in FLUSHES)

    @property
    def flush_holds_queue(self) -> bool:
        """Whether a flush keeps the I/Os behind it from being submitted, several of which are to be in flight.

        fio times such a flush from when it was first put off: its times add up to more than there was. Writes in
        flight meanwhile are timed with their wait for it.
        """
        return self.flushes and self.iodepth > 1 and self.option.get("ioengine") in BLOCKING_FLUSH

    @property
    def loop(self) -> str:
        """'open' when arrivals are paced, else 'closed'."""
        paced = ("rate", "rate_iops", TRACE)
        return "open" if any(one.option.get(name) for one in self.members for name in paced) else "closed"

    @property
    def work_bounded(self) -> bool:
        """Whether the load ends when its work is done rather than after a time."""
        return any(name in one.option for one in self.members for name in ("io_size", "number_ios", "loops", TRACE))

    @cached_property
    def key(self) -> str:
        """Hash of everything that affects the I/O: 16 hexadecimal digits."""
        parts = [self.target, list(self.options), self.sharing, self.state, *([self.streams] if self.streams else [])]
        text = json.dumps(parts, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
