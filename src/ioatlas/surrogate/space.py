# SPDX-License-Identifier: Apache-2.0
"""The grid a map is made of: its axes, where each cell lies on them, and the roles some axes play in storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ioatlas.errors import UsageError
from ioatlas.model.cell import directions_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Level = int | float | str
Point = Mapping[str, Level | None]

BLOCK_NAMES = ("bs_bytes", "bs")
SIZE_NAMES = ("size_bytes", "size")
SECTOR_BYTES = 4096


@dataclass(frozen=True)
class Axis:
    """One axis with at least two levels.

    numeric: levels have an order and a distance; a categorical axis only knows same or different.
    place:   position of each level, 0 to 1; on the scale (linear or logarithmic) that spaces the levels most evenly.
    derived: computed from other axes (footprint, outstanding, direction ...): never counted when levels must be
    touched.
    """

    name: str
    levels: tuple[Level | None, ...]
    numeric: bool
    place: Floats
    derived: bool = False


def _unevenness(place: Floats) -> float:
    gaps = np.diff(place)
    return float(np.std(gaps) / np.mean(gaps))


def _numeric_axis(name: str, values: Sequence[float], *, derived: bool = False) -> tuple[Axis, Ints]:
    levels, index = np.unique(np.asarray(values, dtype=float), return_inverse=True)
    scales = [levels]
    if levels[0] > 0:
        scales.append(np.log2(levels))
    elif levels[0] == 0:
        scales.append(np.log2(1 + levels / levels[1]))
    best = min(scales, key=_unevenness)
    if levels[0] > 0 and levels[-1] >= 32 * levels[0]:
        best = np.log2(levels)
    place = (best - best[0]) / (best[-1] - best[0])
    shown = tuple(int(v) if float(v).is_integer() else float(v) for v in levels)
    return Axis(name, shown, numeric=True, place=place, derived=derived), index.astype(np.int64)


def _categorical_axis(name: str, values: Sequence[Level | None], *, derived: bool = False) -> tuple[Axis, Ints]:
    levels = sorted(set(values), key=str)
    at = {level: i for i, level in enumerate(levels)}
    place = np.linspace(0, 1, len(levels))
    return Axis(name, tuple(levels), numeric=False, place=place, derived=derived), np.array(
        [at[v] for v in values], dtype=np.int64
    )


def _is_number(value: Level | None) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value))


@dataclass(frozen=True)
class Space:
    """All cells of a map. Arrays over cells have shape (n,).

    axes, index: the axes that vary and each cell's level on each: index has shape (n, len(axes)).
    block_bytes, size_bytes, numjobs, iodepth: 1 where the grid does not say.
    known:       which of 'block', 'size', 'numjobs', 'iodepth' the grid says.
    """

    points: tuple[Point, ...]
    axes: tuple[Axis, ...]
    index: Ints
    block_bytes: Floats
    size_bytes: Floats
    numjobs: Floats
    iodepth: Floats
    known: frozenset[str]
    _inside: dict[str, NDArray[np.bool_]] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def outstanding(self) -> Floats:
        """I/Os a closed loop keeps in flight."""
        return self.numjobs * self.iodepth

    @property
    def own_axes(self) -> tuple[int, ...]:
        return tuple(i for i, axis in enumerate(self.axes) if not axis.derived)

    def in_direction(self, direction: str) -> NDArray[np.bool_]:
        """Which cells move data in this direction ('' for all), shape (n,)."""
        if direction not in self._inside:
            names = ("" if point.get("rw") is None else direction_name(str(point["rw"])) for point in self.points)
            self._inside[direction] = np.array([not direction or name == direction for name in names])
        return self._inside[direction]

    @cached_property
    def mode(self) -> Ints:
        """Which `rw` each cell has, as the number of its level, 0 where nothing or one is given; shape (n,)."""
        rw = self.axis_named("rw")
        return np.zeros(len(self), dtype=np.int64) if rw is None else self.index[:, rw]

    @cached_property
    def directions(self) -> tuple[str, ...]:
        """Directions the cells move data in; ('',) when the grid does not say."""
        return tuple(
            sorted({direction_name(str(point["rw"])) if point.get("rw") is not None else "" for point in self.points})
        )

    def axis_named(self, *names: str) -> int | None:
        return next((i for i, axis in enumerate(self.axes) if axis.name in names), None)

    def coordinates(self) -> Floats:
        """Places of all cells on their own axes, categorical ones as 0/1 columns / sqrt(2): for distances. Shape (n,
        columns).
        """
        columns = []
        for i in self.own_axes:
            axis = self.axes[i]
            if axis.numeric:
                columns.append(axis.place[self.index[:, i]])
            else:
                columns += [(self.index[:, i] == level) / np.sqrt(2.0) for level in range(len(axis.levels))]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self), 1))

    @classmethod
    def of(cls, points: Sequence[Point]) -> Space:
        """The space of these cells. Raises UsageError when two of them cannot be told apart."""
        if not points:
            raise UsageError("there are no cells to map", remedy="name at least one axis with a value")
        names = sorted({name for point in points for name in point})
        axes: list[Axis] = []
        columns: list[Ints] = []
        for name in names:
            values = [point.get(name) for point in points]
            if len(set(values)) < 2:
                continue
            numbers = [float(v) for v in values if isinstance(v, (int, float)) and _is_number(v)]
            if len(numbers) == len(values):
                made = [_numeric_axis(name, numbers)]
            elif len(set(numbers)) >= 3 and all(v is None or _is_number(v) for v in values):
                # Numbers with gaps: the gap is a category of its own, its place the middle of the others.
                middle = sorted(set(numbers))[len(set(numbers)) // 2]
                filled = [v if isinstance(v, (int, float)) else middle for v in values]
                made = [_numeric_axis(name, filled)]
                made.append(_categorical_axis(f"{name} given", [str(v is not None) for v in values]))
            else:
                made = [_categorical_axis(name, values)]
            for axis, column in made:
                axes.append(axis)
                columns.append(column)
        index = np.stack(columns, axis=1) if columns else np.zeros((len(points), 0), dtype=np.int64)
        if len(np.unique(index, axis=0)) != len(points):
            raise UsageError("two cells of the map have the same value on every axis", remedy="give each cell once")
        roles = {
            "block": _role(points, BLOCK_NAMES),
            "size": _role(points, SIZE_NAMES),
            "numjobs": _role(points, ("numjobs",)),
            "iodepth": _role(points, ("iodepth",)),
        }
        known = frozenset(name for name, values in roles.items() if values is not None)
        full = {name: np.ones(len(points)) if values is None else values for name, values in roles.items()}
        base = cls(
            tuple(points), tuple(axes), index, full["block"], full["size"], full["numjobs"], full["iodepth"], known
        )
        return _with_derived(base)


def _role(points: Sequence[Point], names: Sequence[str]) -> Floats | None:
    """The positive numbers under the first of `names` that every point has, else None."""
    for name in names:
        values = [point.get(name) for point in points]
        if all(_is_number(v) and float(v) > 0 for v in values):  # type: ignore[arg-type]
            return np.array([float(v) for v in values])  # type: ignore[arg-type]
    return None


def _with_derived(space: Space) -> Space:
    """Adds what matters in storage though nobody swept it: footprint, direction and order of `rw`, sector alignment."""
    axes, columns = list(space.axes), [space.index[:, i] for i in range(space.index.shape[1])]

    def add(axis: Axis, column: Ints) -> None:
        if len(axis.levels) > 1 and not any(np.array_equal(other, column) for other in columns):
            axes.append(axis)
            columns.append(column)

    if {"size", "numjobs"} <= space.known and np.ptp(space.size_bytes) > 0 and np.ptp(space.numjobs) > 0:
        add(*_numeric_axis("footprint_bytes", list(space.size_bytes * space.numjobs), derived=True))
    if {"numjobs", "iodepth"} <= space.known and np.ptp(space.numjobs) > 0 and np.ptp(space.iodepth) > 0:
        add(*_numeric_axis("outstanding", list(space.outstanding), derived=True))
    rw = space.axis_named("rw")
    if rw is not None:
        values = [str(point.get("rw")) for point in space.points]
        for name, column in (
            ("direction of rw", [direction_name(v) for v in values]),
            ("order of rw", [order_name(v) for v in values]),
        ):
            if 1 < len(set(column)) < len(space.axes[rw].levels):
                add(*_categorical_axis(name, column, derived=True))
    if "block" in space.known:
        aligned = [str(bool(v % SECTOR_BYTES == 0)) for v in space.block_bytes]
        if len(set(aligned)) > 1:
            add(*_categorical_axis("bs multiple of 4096", aligned, derived=True))
            partial = [
                str(a == "False" and "write" in str(point.get("rw", "")))
                for a, point in zip(aligned, space.points, strict=True)
            ]
            add(*_categorical_axis("write of part of 4096 bytes", partial, derived=True))
    return Space(
        space.points,
        tuple(axes),
        np.stack(columns, axis=1) if columns else space.index,
        space.block_bytes,
        space.size_bytes,
        space.numjobs,
        space.iodepth,
        space.known,
    )


def direction_name(rw: str) -> str:
    """'read', 'write', 'read+write' ... of a fio `rw` value; the value itself when fio does not know it."""
    try:
        return "+".join(directions_of(rw))
    except ValueError:
        return rw


def order_name(rw: str) -> str:
    return "random" if rw.startswith("rand") else "sequential"
