# SPDX-License-Identifier: Apache-2.0
"""An array of drives as arithmetic: how long each request keeps each drive busy. Pure: it neither sleeps nor stores.

Every drive is a clock of its own: an I/O takes a seek (with the rotation) and its transfer. Requests that follow each
other pass under all heads at once, whole stripe by whole stripe: the controller reads ahead, gathers writes, and pays a
seek for the start of the stream only. Other requests are I/Os of single drives: a small write to parity reads data and
parity and writes them again, a unit on a missing drive is computed from all units that are needed.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

PARITY = {"raid0": 0, "raid5": 1, "raid6": 2}
LEVELS = ("raid0", "raid1", "raid5", "raid6", "raid10")
STREAMS = 32
"""Places at which the controller remembers that a request ended; the request that begins there goes on with it."""


@dataclass(frozen=True)
class Layout:
    """Drives, their level and how fast they are.

    missing:        drives that are not there: the first ones; of raid10 the first of each of the first pairs.
    inner_bytes_per_s: rate of the second half of every drive; 0 is the same as of the first.
    rebuild_share:  share of the time of each drive that a rebuild takes.
    cache_bytes:    size of an SSD cache of random reads; 0 is none. ssd_iops: I/Os a second of that SSD.
    """

    level: str = "raid5"
    drives: int = 5
    missing: int = 0
    bw_bytes_per_s: float = 20e6
    inner_bytes_per_s: float = 0.0
    seek_s: float = 0.008
    unit_bytes: int = 64 << 10
    rebuild_share: float = 0.0
    cache_bytes: int = 0
    ssd_iops: float = 4000.0
    size_bytes: int = 256 << 20

    @property
    def mirrored(self) -> bool:
        return self.level in ("raid1", "raid10")

    @property
    def units(self) -> int:
        """Units of data in a stripe."""
        if self.mirrored:
            return 1 if self.level == "raid1" else self.drives // 2
        return self.drives - PARITY[self.level]

    @property
    def gone(self) -> frozenset[int]:
        """The missing drives."""
        return frozenset(index * (2 if self.level == "raid10" else 1) for index in range(self.missing))

    @property
    def living(self) -> list[int]:
        return [drive for drive in range(self.drives) if drive not in self.gone]

    def problem(self) -> str:
        """Why there can be no such array; '' when there can be."""
        least = {"raid0": 1, "raid1": 2, "raid5": 3, "raid6": 4, "raid10": 4}.get(self.level)
        if least is None:
            return f"an array cannot be {self.level!r}: it is one of {', '.join(LEVELS)}"
        if self.drives < least or (self.level == "raid10" and self.drives % 2):
            even = ", and an even number" if self.level == "raid10" else ""
            return f"{self.level} needs at least {least} drives{even}, not {self.drives}"
        most = {"raid0": 0, "raid1": self.drives - 1, "raid10": self.drives // 2}.get(
            self.level, PARITY.get(self.level, 0)
        )
        if self.missing > most:
            return f"{self.level} over {self.drives} drives can do without {most} of them, not {self.missing}"
        return ""


Amounts = dict[int, int]
"""Bytes by drive."""
Work = dict[int, float]
"""Seconds that a request takes of each drive; the SSD is SSD."""
SSD = -1
Number = TypeVar("Number", int, float)


class Array:
    """What requests cost, in the order in which they come: it remembers streams and what the cache holds."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._slower = 1 / (1 - layout.rebuild_share)
        self._streams: dict[int, int] = {}
        self._started = 0
        self._turns: dict[int, int] = {}
        self._cache: OrderedDict[int, None] = OrderedDict()

    def work(self, offset: int, length: int, *, write: bool) -> Work:
        """Seconds of each drive for the next request."""
        stream = self._stream(offset, length)
        if stream is not None:
            return self.of_stream(offset, length, stream, write=write)
        if not write and self.layout.cache_bytes:
            return self._cached(offset, length)
        return self.of_one(offset, length, write=write)

    def _stream(self, offset: int, length: int) -> int | None:
        """Which of two sides of mirrors serves the stream that this request goes on with; None when it stands alone."""
        side = self._streams.pop(offset, None)
        if side is not None:
            self._streams[offset + length] = side
            return side
        self._started += 1
        self._streams[offset + length] = self._started
        if len(self._streams) > STREAMS:
            self._streams.pop(next(iter(self._streams)))
        return None

    def _rate(self, offset: int) -> float:
        inner = self.layout.inner_bytes_per_s
        return inner if inner and offset >= self.layout.size_bytes / 2 else self.layout.bw_bytes_per_s

    def of_stream(self, offset: int, length: int, side: int, *, write: bool) -> Work:
        """All heads move over the same share of a stripe, whether its unit is data, parity or computed."""
        layout = self.layout
        each = length / layout.units / self._rate(offset) * self._slower
        if not layout.mirrored or write:
            return dict.fromkeys(layout.living, each)
        if layout.level == "raid1":
            return {layout.living[side % len(layout.living)]: each}
        pairs = ((pair + side % 2, pair + 1 - side % 2) for pair in range(0, layout.drives, 2))
        return {other if first in layout.gone else first: each for first, other in pairs}

    def _cached(self, offset: int, length: int) -> Work:
        """A read that stands alone, of the SSD where that holds all of it; else whole units are read and kept."""
        unit = self.layout.unit_bytes
        touched = range(offset // unit, -(-(offset + length) // unit))
        work: Work = {SSD: 1 / self.layout.ssd_iops}
        for number in touched:
            if number in self._cache:
                self._cache.move_to_end(number)
                continue
            _add(work, self.of_one(number * unit, unit, write=False))
            self._cache[number] = None
            if len(self._cache) * unit > self.layout.cache_bytes:
                self._cache.popitem(last=False)
        return work

    def of_one(self, offset: int, length: int, *, write: bool) -> Work:
        """A request that stands alone: each drive that takes part seeks once to read and once to write."""
        reads: Amounts = {}
        writes: Amounts = {}
        chosen: dict[int, int] = {}
        for stripe, begin, end in self._stripes(offset, length):
            if self.layout.mirrored:
                self._of_mirrors(begin, end, writes if write else reads, None if write else chosen)
            else:
                self._of_parity(stripe, begin, end, reads, writes if write else None)
        seek, rate, work = self.layout.seek_s, self._rate(offset), Work()
        for amounts in (reads, writes):
            _add(work, {drive: (seek + amount / rate) * self._slower for drive, amount in amounts.items()})
        return work

    def _stripes(self, offset: int, length: int) -> Iterator[tuple[int, int, int]]:
        """(stripe, begin and end in it) of each stripe that a request touches."""
        width = self.layout.units * self.layout.unit_bytes
        while length > 0:
            stripe, begin = divmod(offset, width)
            part = min(length, width - begin)
            yield stripe, begin, begin + part
            offset, length = offset + part, length - part

    def _parts(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """(unit of the stripe, bytes of it)."""
        unit = self.layout.unit_bytes
        while begin < end:
            part = min(end, (begin // unit + 1) * unit) - begin
            yield begin // unit, part
            begin += part

    def _of_mirrors(self, begin: int, end: int, amounts: Amounts, chosen: dict[int, int] | None) -> None:
        """Bytes of each drive: of all copies, or of the one of each pair that this request has chosen, in turn."""
        layout = self.layout
        for unit, part in self._parts(begin, end):
            copies = range(layout.drives) if layout.level == "raid1" else (2 * unit, 2 * unit + 1)
            here = [drive for drive in copies if drive not in layout.gone]
            if chosen is not None:
                if here[0] not in chosen:
                    turn = self._turns[here[0]] = self._turns.get(here[0], 0) + 1
                    chosen[here[0]] = here[turn % len(here)]
                here = [chosen[here[0]]]
            _add(amounts, dict.fromkeys(here, part))

    def _of_parity(self, stripe: int, begin: int, end: int, reads: Amounts, writes: Amounts | None) -> None:
        """Bytes that each drive reads, and writes where this is a write, for a part of a stripe."""
        layout, parts = self.layout, dict(self._parts(begin, end))
        drive = [(unit - stripe) % layout.drives for unit in range(layout.drives)]
        here = {unit for unit in range(layout.drives) if drive[unit] not in layout.gone}
        most = max(parts.values())
        if writes is None:
            wanted = {unit: part for unit, part in parts.items() if unit in here}
            if len(wanted) < len(parts):
                # What is lost is computed from as many others as there are data units, each read once.
                wanted |= dict.fromkeys(sorted(here)[: layout.units], most)
            _add(reads, {drive[unit]: part for unit, part in wanted.items()})
            return
        written = [unit for unit in (*parts, *range(layout.units, layout.drives)) if unit in here]
        _add(writes, {drive[unit]: parts.get(unit, most) for unit in written})
        if len(parts) < layout.units or min(parts.values()) < layout.unit_bytes:
            _add(reads, {drive[unit]: parts.get(unit, most) for unit in self._read_before(parts, here)})

    def _read_before(self, parts: dict[int, int], here: set[int]) -> list[int]:
        """Units that a write of a part of a stripe has to read: those it changes and the parity, or, where one that it
        changes is lost, all others.
        """
        data, parity = range(self.layout.units), range(self.layout.units, self.layout.drives)
        checks = [unit for unit in parity if unit in here]
        if not checks:
            return []
        if all(unit in here for unit in parts):
            return [*parts, *checks]
        others = [unit for unit in data if unit not in parts]
        absent = sum(unit not in here for unit in others)
        return [unit for unit in others if unit in here] + (checks if absent else [])


def _add(sums: dict[int, Number], more: dict[int, Number]) -> None:
    for drive, amount in more.items():
        sums[drive] = sums.get(drive, 0) + amount


# -- what follows from it ------------------------------------------------------------------------------------


def stream_bytes_per_s(layout: Layout, *, write: bool) -> float:
    """Bytes a second of one stream in the first half of the array, when the busiest drive never rests."""
    work = Array(layout).of_stream(0, 1 << 20, 0, write=write)
    return (1 << 20) / max(work.values())


def random_iops(layout: Layout, block_bytes: int, *, write: bool) -> float:
    """Requests a second of aligned blocks, each as likely as any other, when the busiest drive never rests. Without
    the cache; mean over all places at which a block can lie.
    """
    array, busy = Array(layout), Work()
    # Blocks of one unit cost the same, and after as many stripes as there are drives all begins again.
    step = max(block_bytes, layout.unit_bytes)
    count = max(1, 2 * layout.drives * layout.units * layout.unit_bytes // step)
    for number in range(count):
        _add(busy, array.of_one(number * step, block_bytes, write=write))
    return count / max(busy.values())


def cached_iops(layout: Layout, footprint_bytes: int) -> float:
    """Random reads a second over a footprint, once the cache has what it can hold: hits are those of the SSD, a miss
    reads a whole unit.
    """
    misses = max(0.0, 1 - layout.cache_bytes / footprint_bytes)
    drives = random_iops(layout, layout.unit_bytes, write=False) / misses if misses else math.inf
    return min(layout.ssd_iops, drives)
