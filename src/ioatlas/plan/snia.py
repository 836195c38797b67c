# SPDX-License-Identifier: Apache-2.0
"""The tests of the SNIA Solid State Storage Performance Test Specification that are run here, and what each costs
before it is started.

What is taken from PTS 2.0.1: section 7 (IOPS), 8 (throughput), 9 (latency) and the write saturation test: block
sizes, read shares, one minute
each, the fill of twice the capacity, the variable that is tracked, and the definition of steady state
(`stats.steadystate`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ioatlas.model.cell import Cell, OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.options import SniaTest
from ioatlas.model.units import format_duration, format_size, grouped
from ioatlas.stats.steadystate import MOST_ROUNDS, WINDOW
from ioatlas.store.toml import shipped

METHOD = "snia-pts-2.0/1"
CELL_SECONDS = 60
FILL_PASSES = 2
FILL_BLOCK_BYTES = 128 << 10
SATURATION_CAPACITIES = 4
SATURATION_SECONDS = 24 * 3600

Test = SniaTest
Quantity = Literal["iops", "bw_bytes_per_s", "lat_mean_ns"]


@dataclass(frozen=True)
class Procedure:
    """One test of the specification, as `snia.toml` has it.

    axes, constants: its cells, in fio's terms; the order of the axes is the order in a round, the last one runs
    fastest.
    quantity:        what is tracked from round to round and reported. tracked: the options of the cell that is tracked.
    fill_passes:     how often the footprint is written in sequence before the first round (workload-independent
    preconditioning).
    apart:       an axis of which each value has a purge, a fill and rounds of its own; '' when all cells share them.
    """

    test: Test
    title: str
    axes: dict[str, tuple[OptionValue, ...]]
    constants: dict[str, OptionValue]
    quantity: Quantity
    tracked: dict[str, OptionValue]
    fill_passes: int = FILL_PASSES
    apart: str = ""

    def tracks(self, cell: Cell) -> bool:
        return all(cell.option.get(name) == value for name, value in self.tracked.items())


PROCEDURES = {
    Test(name): Procedure(Test(name), **{**one, "axes": {axis: tuple(values) for axis, values in one["axes"].items()}})
    for name, one in shipped("ioatlas.plan", "snia.toml").items()
}


def passes(test: Test, cells: Iterable[Cell]) -> tuple[tuple[Cell, ...], ...]:
    """Cells of one target as they run: each tuple is one pass of purge, fill and rounds, in the order of a round.

    Raises UsageError when a pass lacks the cell whose value is tracked, or has it twice.
    """
    procedure = PROCEDURES[test]
    groups = grouped((cell.option.get(procedure.apart) if procedure.apart else "", cell) for cell in cells)
    for group in groups.values():
        if sum(procedure.tracks(cell) for cell in group) != 1:
            words = ", ".join(f"{name} {value}" for name, value in procedure.tracked.items())
            raise UsageError(
                f"the {procedure.title} tracks one cell: {words}",
                where="[sweep]",
                remedy="keep that cell in the sweep and vary rwmixread, rw and bs only, or run an ordinary map",
            )
    return tuple(tuple(group) for group in groups.values())


def deviations(
    test: Test, cells: Sequence[Cell], *, window_seconds: float, capacity_bytes: int | None
) -> tuple[str, ...]:
    """What of a campaign is not as the specification says, each as a sentence; a result names them. Empty when all is.

    capacity_bytes: of the whole target; None for a directory, where the footprint stands for the capacity.
    """
    procedure = PROCEDURES[test]
    found = []
    if window_seconds != CELL_SECONDS:
        found.append(
            f"Each cell of a round ran {format_duration(window_seconds)};"
            f" the specification says {CELL_SECONDS} s: a shorter one is not what it says."
            if window_seconds < CELL_SECONDS
            else f"Each cell of a round ran {format_duration(window_seconds)}; the specification says {CELL_SECONDS} s."
        )
    for name, values in procedure.axes.items():
        have = dict.fromkeys(cell.option.get(name) for cell in cells)
        missing = [value for value in values if value not in have]
        more = [value for value in have if value not in values]
        for what, which in (("left out", missing), ("added", more)):
            if which:
                shown = ", ".join(
                    format_size(int(value)) if name == "bs" else str(value) for value in which if value is not None
                )
                found.append(f"{name} {shown} {what}: the specification has others.")
    footprint = max((cell.footprint_bytes for cell in cells), default=0)
    if capacity_bytes is None:
        found.append(f"The active range is a file of {format_size(footprint)} on a file system, not a whole device.")
    elif footprint < capacity_bytes:
        found.append(
            f"The active range is {format_size(footprint)} of {format_size(capacity_bytes)}, not the whole device."
        )
    if any(cell.option.get("buffer_compress_percentage") or cell.option.get("dedupe_percentage") for cell in cells):
        found.append("The data compress or repeat; the specification asks for random data.")
    return tuple(found)


@dataclass(frozen=True)
class SniaPlan:
    """What a test on one target costs, before it is started.

    fill_bytes, round_seconds: of one pass. least_, most_: of the whole test, with 5 and with 25 rounds
    (write saturation: until 4 times the footprint is written, and after 24 hours), at the rates that were expected.
    """

    test: Test
    passes: int
    cells_per_round: int
    fill_bytes: int
    round_seconds: float
    least_rounds: int
    most_rounds: int
    least_seconds: float
    most_seconds: float
    least_bytes: int
    most_bytes: int


def plan_snia(
    test: Test,
    cells: Sequence[Cell],
    *,
    window_seconds: float = CELL_SECONDS,
    start_seconds: float = 0.0,
    sequential_write_bytes_per_s: float,
    random_write_bytes_per_s: float | None = None,
) -> SniaPlan:
    """Plan a test of `cells` on one target.

    start_seconds: what each cell of a round takes besides its window. Rates are expectations for planning only;
    random writes are counted at
    the sequential rate when their own is unknown, which errs upward in bytes. Raises UsageError as `passes`.
    """
    groups = passes(test, cells)
    rate = (
        sequential_write_bytes_per_s
        if test == "throughput"
        else random_write_bytes_per_s or sequential_write_bytes_per_s
    )
    footprint = max(cell.footprint_bytes for cell in cells)
    fill_bytes = PROCEDURES[test].fill_passes * footprint
    fill_seconds = fill_bytes / sequential_write_bytes_per_s
    longest = max(len(group) for group in groups)
    round_seconds = longest * (window_seconds + start_seconds)
    round_bytes = max(sum(window_seconds * rate * _written_share(cell) for cell in group) for group in groups)
    least, most = WINDOW, MOST_ROUNDS
    if test == "saturation":
        most = max(1, round(SATURATION_SECONDS / window_seconds))
        least = min(most, max(1, -(-SATURATION_CAPACITIES * footprint // max(1, int(round_bytes)))))
    count = len(groups)
    return SniaPlan(
        test,
        count,
        longest,
        fill_bytes,
        round_seconds,
        least,
        most,
        count * (fill_seconds + least * round_seconds),
        count * (fill_seconds + most * round_seconds),
        int(count * (fill_bytes + least * round_bytes)),
        int(count * (fill_bytes + most * round_bytes)),
    )


def _written_share(cell: Cell) -> float:
    if not cell.writes:
        return 0.0
    return 1.0 if "read" not in cell.directions else (100 - cell.integer("rwmixread", 50)) / 100
