# SPDX-License-Identifier: Apache-2.0
"""The cliff pass: bisection along the footprint, one line of cells for each direction, before the rest of the map is
filled in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ioatlas.model.map_model import ChangePoint
from ioatlas.surrogate.change_points import exponents, footprint
from ioatlas.surrogate.space import SIZE_NAMES, Ints, Space
from ioatlas.surrogate.surrogate import PRIOR_SD

LEAST_DROP = 0.22
"""Log step below which two readings of a line count as the same: 25%."""
NOISE_SDS = 4.0


@dataclass(frozen=True)
class Line:
    """Cells that differ only in size, by rising size; `cross` holds the same at the highest concurrency that has
    enough sizes.
    """

    direction: str
    cells: Ints
    sizes: tuple[float, ...]
    cross: tuple[int, ...] = ()


def lines(space: Space) -> tuple[Line, ...]:
    """One line per direction: the longest, then random over sequential order, low concurrency and a block near 16
    KiB.
    """
    size_axis = space.axis_named(*SIZE_NAMES)
    if size_axis is None or "size" not in space.known or len(space.axes[size_axis].levels) < 3:
        return ()
    others = [i for i in space.own_axes if i != size_axis]
    found = []
    for direction in space.directions:
        groups: dict[tuple[int, ...], list[int]] = {}
        for cell in np.flatnonzero(space.in_direction(direction)):
            groups.setdefault(tuple(space.index[cell, others].tolist()), []).append(int(cell))

        best = sorted(
            min(groups.values(), key=lambda cells: _unlikeness(space, cells, others)),
            key=lambda cell: float(space.size_bytes[cell]),
        )
        if len(best) >= 3:
            found.append(
                Line(
                    direction,
                    np.array(best),
                    tuple(float(space.size_bytes[c]) for c in best),
                    _cross(space, best[0], groups, others),
                )
            )
    return tuple(found)


def _unlikeness(space: Space, cells: Iterable[int], others: Sequence[int]) -> tuple[float, ...]:
    """Smallest for the line to walk along; ties are broken by the other axes' middle."""
    first, *rest = cells
    order = 0.0 if str(space.points[first].get("rw", "")).startswith("rand") else 1.0
    middle = sum(abs(float(space.axes[i].place[space.index[first, i]]) - 0.5) for i in others)
    return (
        -len(rest),
        order,
        float(space.outstanding[first]),
        float(abs(np.log2(space.block_bytes[first] / 16384))),
        middle,
    )


def _cross(
    space: Space, like: int, groups: Mapping[tuple[int, ...], list[int]], others: Sequence[int]
) -> tuple[int, ...]:
    """The line with all options of `like` but the largest number of jobs."""
    jobs = space.axis_named("numjobs")
    if jobs is None:
        return ()
    key = list(space.index[like, list(others)].tolist())
    for level in range(len(space.axes[jobs].levels) - 1, int(space.index[like, jobs]), -1):
        key[list(others).index(jobs)] = level
        cells = groups.get(tuple(key), [])
        if len(cells) >= 3:
            return tuple(sorted(cells, key=lambda cell: float(space.size_bytes[cell])))
    return ()


def _steps(line: Line, log_reading: Mapping[int, float], noise_sd: float = PRIOR_SD) -> list[tuple[float, int, int]]:
    """(height, place before, place after) of each cliff between neighbouring cells of the line that were measured."""
    done = [place for place, cell in enumerate(line.cells) if int(cell) in log_reading]
    found = [
        (abs(log_reading[int(line.cells[low])] - log_reading[int(line.cells[high])]), low, high)
        for low, high in itertools.pairwise(done)
    ]
    return [step for step in found if step[0] > max(LEAST_DROP, NOISE_SDS * noise_sd)]


def suspected(
    space: Space, all_lines: Sequence[Line], log_reading: Mapping[int, float], noise_sd: float
) -> tuple[ChangePoint, ...]:
    """Steps seen along the lines, as edges on size and on size * numjobs alike: which it is, the map decides."""
    found = []
    for line in all_lines:
        for _, low, high in _steps(line, log_reading, noise_sd):
            for exponent in exponents(space):
                size = footprint(space, exponent)[line.cells]
                found.append(ChangePoint(float(size[low]), float(size[high]), exponent, line.direction))
    return tuple(found)


def next_cells(line: Line, log_reading: Mapping[int, float], most: int) -> list[int]:
    """The cells of the line to measure next: its ends, then the middle of the widest step that is a cliff; [] when it
    is bracketed.

    log_reading: by cell, of all cells measured so far. most: how many of the line may be measured in all.
    """
    done = [i for i, cell in enumerate(line.cells) if int(cell) in log_reading]
    if len(done) >= most:
        return []
    ends = [i for i in (0, len(line.cells) - 1) if i not in done]
    if ends:
        return [int(line.cells[i]) for i in ends][: most - len(done)]
    steps = _steps(line, log_reading)
    if wide := [step for step in steps if step[2] - step[1] > 1]:
        _, low, high = max(wide)
        return [int(line.cells[(low + high) // 2])]
    if len(done) == 2 and len(line.cells) > 4:
        # Equal ends can hide a hump or a dip: look once in the middle.
        return [int(line.cells[len(line.cells) // 2])]
    # Two cells at many jobs, far below and just below the edge in size, tell whether the edge lies on size or on size *
    # numjobs.
    if not steps or not line.cross or any(cell in log_reading for cell in line.cross):
        return []
    at = min(steps[0][1], len(line.cross) - 1)
    return [line.cross[at], line.cross[max(0, at - 3)]] if at else []
