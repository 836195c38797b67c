# SPDX-License-Identifier: Apache-2.0
"""A workload as data: streams that run at once, each with its share, mix, addresses, sizes and arrivals; and how long
they run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ioatlas.model.cell import OptionValue

Law = Literal[
    "sequential",  # one position for each job, wrapping at the end of the region
    "shared-sequential",  # one position that all jobs of the stream advance together
    "random",  # uniform over the region
    "part-random",  # `random_percent` of the I/O random, the rest continues where the last one ended
    "strided",  # forward, leaving `skip_bytes` out after each block
    "backward",  # from the end to the start
    "fixed",  # the same block again and again
    "zipf",
    "pareto",
    "normal",
    "zoned",  # `zones` of the region with their shares of the I/O
    "hierarchical-reuse",  # a random walk over a tree of leaves, as in SPC-1-like loads
]


@dataclass(frozen=True)
class Address:
    """Where the next I/O goes.

    align_bytes:    offsets are multiples of it; None for the block size.
    random_percent: of `part-random`.
    skip_bytes:     of `strided`: bytes left out after each block.
    parameter:      theta of zipf, h of pareto, standard deviation in per cent of normal.
    zones:          of `zoned`: (per cent of the I/O, extent), in order; extents in per cent of the region, or bytes
                    when `zones_are_bytes`.
    once:           each block once before any comes again; False for independent draws.
    """

    law: Law = "sequential"
    align_bytes: int | None = None
    random_percent: float = 100.0
    skip_bytes: int = 0
    parameter: float | None = None
    zones: tuple[tuple[float, float], ...] = ()
    zones_are_bytes: bool = False
    once: bool = False


@dataclass(frozen=True)
class Arrival:
    """When the next I/O comes. `closed`: as soon as one ends. Rates are totals over the jobs of the stream."""

    law: Literal["closed", "constant", "poisson"] = "closed"
    rate_iops: float | None = None
    rate_bytes_per_s: float | None = None
    think_us: int = 0
    think_blocks: int = 1


@dataclass(frozen=True)
class Stream:
    """One stream of a workload.

    read_percent:   reads among the I/O; the rest are writes, or trims when `trims`.
    sizes:          (bytes, per cent), summing to 100; `write_sizes` where writes differ from reads.
    share:          of the workload's I/O, 0 to 1; None when the streams run freely.
    jobs, depth:    threads or processes, and the I/Os each keeps in flight.
    size_bytes:     of the file or region each job covers from `offset_bytes`; None for the whole target.
    region_percent: (start, end) of the region where the target's size is not known.
    files, private: how many files the stream works on, and whether each job has its own.
    origin:         the target as the source names it: shown, never opened.
    sync:           '' or 'sync' or 'dsync': writes reach stable storage before they complete.
    work_bytes:     bytes each job moves when work bounds it; None for its size once.
    operation:      what the source calls it, where fio's rw has no word of its own ('rewrite', 'backward read', ...).
    options:        further fio options that shape the I/O and have no field here.
    """

    name: str
    read_percent: float = 100.0
    address: Address = field(default_factory=Address)
    sizes: tuple[tuple[int, float], ...] = ((4096, 100.0),)
    write_sizes: tuple[tuple[int, float], ...] = ()
    arrival: Arrival = field(default_factory=Arrival)
    share: float | None = None
    jobs: int = 1
    depth: int = 1
    size_bytes: int | None = None
    offset_bytes: int = 0
    region_percent: tuple[float, float] | None = None
    offset_increment_bytes: int = 0
    target: int = 1
    files: int = 1
    private: bool = False
    origin: str = ""
    direct: bool = False
    sync: str = ""
    engine: str = ""
    trims: bool = False
    work_bytes: int | None = None
    operation: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)

    @property
    def reads(self) -> bool:
        return self.read_percent > 0 and not self.trims

    @property
    def writes(self) -> bool:
        return self.read_percent < 100 and not self.trims


@dataclass(frozen=True)
class Workload:
    """Streams that start together and end together.

    runtime_seconds: a window of time; None when the work bounds it.
    warmup_seconds:  load before the window.
    """

    name: str
    streams: tuple[Stream, ...]
    runtime_seconds: float | None = None
    warmup_seconds: float = 0.0
    passes: int = 1
