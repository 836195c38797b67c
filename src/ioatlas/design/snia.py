# SPDX-License-Identifier: Apache-2.0
"""What a test of the SNIA Solid State Storage Performance Test Specification runs, and what it costs, before it is started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ioatlas.errors import UsageError
from ioatlas.stats.steadystate import MOST_ROUNDS, WINDOW

METHOD = "snia-plan/1"
CELL_SECONDS = 60
FILL_PASSES = 2

Test = Literal["iops", "throughput", "latency"]

_KIB = 1024
_SIZES: dict[Test, tuple[int, ...]] = {
    "iops": (1024 * _KIB, 128 * _KIB, 64 * _KIB, 32 * _KIB, 16 * _KIB, 8 * _KIB, 4 * _KIB, 512),
    "throughput": (1024 * _KIB, 128 * _KIB),
    "latency": (8 * _KIB, 4 * _KIB, 512),
}
_READ_PERCENT: dict[Test, tuple[int, ...]] = {"iops": (100, 95, 65, 50, 35, 5, 0), "throughput": (100, 0), "latency": (100, 65, 0)}


@dataclass(frozen=True)
class SniaCell:
    """One minute of a round, in fio's terms. tracking: its value is the round's tracking variable."""

    rw: str
    bs_bytes: int
    rwmixread: int
    tracking: bool


@dataclass(frozen=True)
class SniaPlan:
    """A test as it will run.

    passes:       one for each purge and fill: the IOPS and latency tests have one with all block sizes, the throughput test one for each block size. Cells of
                  one round, in order. fill_bytes: written sequentially before each pass's first round: twice the capacity.
    fill_seconds, round_seconds: of one pass's fill, of one of its rounds.
    least_seconds, most_seconds: of the whole test, with 5 and with 25 rounds; least_bytes, most_bytes: written by fill and rounds, at the expected rates.
    left_out:     what the specification asks for and this plan does not do, each with its reason; a result then names them.
    """

    test: Test
    passes: tuple[tuple[SniaCell, ...], ...]
    fill_bytes: int
    fill_seconds: float
    round_seconds: float
    least_seconds: float
    most_seconds: float
    least_bytes: int
    most_bytes: int
    left_out: tuple[str, ...]
    method: str = METHOD


def plan_snia(
    test: Test,
    capacity_bytes: int,
    *,
    sequential_write_bytes_per_s: float,
    random_write_bytes_per_s: float | None = None,
    logical_block_bytes: int = 512,
    can_purge: bool = False,
    purge_seconds: float = 0.0,
) -> SniaPlan:
    """Plan a test on a target of `capacity_bytes`.

    Block sizes and read shares are those of PTS 2.0 (IOPS: 8 sizes x 7 mixes; throughput: sequential 1024 and 128 KiB; latency: 3 x 3, one I/O in flight),
    one minute each, tracked on 4 KiB random write (throughput: sequential write of the block size). Sizes that are no multiple of the logical block are
    left out. Rates are expectations for planning only; random writes are counted at the sequential rate when their own is unknown, which errs upward.
    """
    if test not in _SIZES:
        raise UsageError(f"there is no SNIA test {test!r}", remedy=f"use one of {', '.join(_SIZES)}")
    if capacity_bytes <= 0 or sequential_write_bytes_per_s <= 0:
        raise UsageError("a plan takes a capacity and an expected write rate above 0", remedy="measure the rate with a short map first")
    left_out = [] if can_purge else ["purge: the target offers none; the state before the fill is unknown"]
    sizes = [size for size in _SIZES[test] if size % logical_block_bytes == 0]
    left_out += [
        f"bs {size}: not a multiple of the logical block of {logical_block_bytes} bytes" for size in _SIZES[test] if size not in sizes
    ]
    groups = [[size] for size in sizes] if test == "throughput" else [sizes]
    passes = tuple(tuple(_cell(test, size, read) for read in _READ_PERCENT[test] for size in group) for group in groups)
    random_rate = random_write_bytes_per_s or sequential_write_bytes_per_s
    rate = sequential_write_bytes_per_s if test == "throughput" else random_rate
    fill_bytes = FILL_PASSES * capacity_bytes
    fill_seconds = fill_bytes / sequential_write_bytes_per_s
    round_seconds = float(CELL_SECONDS * len(passes[0]))
    round_bytes = sum(CELL_SECONDS * rate * (100 - cell.rwmixread) / 100 for cell in passes[0])
    fixed = fill_seconds + (purge_seconds if can_purge else 0.0)
    count = len(passes)
    return SniaPlan(
        test,
        passes,
        fill_bytes,
        fill_seconds,
        round_seconds,
        count * (fixed + WINDOW * round_seconds),
        count * (fixed + MOST_ROUNDS * round_seconds),
        int(count * (fill_bytes + WINDOW * round_bytes)),
        int(count * (fill_bytes + MOST_ROUNDS * round_bytes)),
        tuple(left_out),
    )


def _cell(test: Test, size: int, read: int) -> SniaCell:
    pattern = ("read" if read == 100 else "write") if test == "throughput" else {100: "randread", 0: "randwrite"}.get(read, "randrw")
    tracking = read == 0 and (test == "throughput" or size == 4 * _KIB)
    return SniaCell(pattern, size, read, tracking)
