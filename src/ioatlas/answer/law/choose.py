# SPDX-License-Identifier: Apache-2.0
"""Which load comes next: the one that teaches most about what will be told, in the time that is left.

Of the loads of a map only a few move the main numbers: large blocks and small ones, each way, and one I/O alone (drop
any other and no main number is less certain). So these come first, for as long as they still fall; then large blocks
with fewest in flight, which tell latency from a limit in bytes, and are faster where an arm seeks between the streams
of jobs, and with more in flight, where that has moved more so far; then all of them again, since how loads differ can
be seen in repeats alone; then the other cells. Of a large map, or of one of which some cells are to be measured, time
is kept for these: they show where the law does not hold, so that what it foretells is told no surer than it is.

Random writes have the last part of the time for themselves. A cache takes them at once, and its store may need minutes
to take them from it, in which it has little left for any other load.

Last come loads that no map has: writes that wait for a flush each, and reads under full writes.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from ioatlas.answer.law.course import Course, trend_of
from ioatlas.answer.law.fit import draw_down
from ioatlas.answer.law.model import Limiter
from ioatlas.answer.law.read import can_be_told
from ioatlas.model.cell import Cell
from ioatlas.model.units import grouped

Role = Literal["alone", "large", "small", "second"]
START_SECONDS = 0.35
"""Of a process, before its first I/O."""
SMALL_BYTES = 4096
WAVES, FEWEST_WAVES = 3, 2
"""Times that all I/Os in flight come back in a load, and in one that would take long for that."""
MOST_WAVE, QUICK_WAVE = 0.04, 0.01
"""Shares of the budget in which all I/Os in flight must come back once: of slow targets fewer are kept in flight. And
in which MANY of the largest come back where these are the first choice, for a target that is far away needs them.
"""
MANY, FEW = 16, 8
MUCH = 1.1
"""Times as fast: from there on one cell is faster than another, beyond what loads of one differ by."""
SHARES: dict[Role, float] = {"alone": 0.03, "large": 0.12, "small": 0.07, "second": 0.02}
"""Of the budget, for the first load of a cell."""
MOST_ALONE = 0.05
"""Most of it for the first load of one I/O alone, whose length nobody knows."""
AGAIN, OTHER = 0.05, 0.02
"""Likewise for one that repeats a main cell, and for one of any other."""
SHORTEST_SECONDS, LEAST_SECONDS = 0.5, 0.3
"""Of a load, and of one that would be missing otherwise."""
OTHER_SECONDS, MAIN_SECONDS, MOST_MAINS = 1.2, 60.0, 12
"""Of a first load of another cell, where time is kept for it; what the main numbers have all the same, or half of less;
and how many cells these rest on.
"""
LONGEST_SECONDS = 60.0
MOST_RUN_ON, DROP = 2, 0.3
"""Loads of a cell that are made because the one before still fell, and by how much at least, as a logarithm."""
LONG: tuple[Role, ...] = ("large", "small")
LASTS = 1.5
"""Times as long as credit of one kind lasted that a load should run which may be on credit of another."""
MOST_LOADS = 12


@dataclass(frozen=True)
class Next:
    """A load to be made. why: what it is for."""

    cell: Cell
    direction: str
    seconds: float
    why: str


@dataclass(frozen=True)
class Main:
    """A cell that a main number rests on, or what is said of why it is no more, of which one load is enough (second):
    large blocks with fewest in flight, where an arm is faster, and with more, where that has moved more so far.
    """

    cell: Cell
    direction: str
    role: Role


def main_cells(cells: Sequence[Cell], courses: Sequence[Course], total: float) -> list[Main]:
    """What the main numbers rest on, in the order in which they are first measured."""
    plain = [cell for cell in cells if can_be_told(cell)]
    found: list[Main] = []
    for direction in ("read", "write"):
        mine = [cell for cell in plain if cell.directions == (direction,)]
        if not mine:
            continue
        small = _over_most(mine, lambda bs: abs(math.log(bs / SMALL_BYTES)), in_random=True)
        light = min(small, key=lambda cell: cell.outstanding)
        full = max(small, key=lambda cell: cell.outstanding)
        large = _over_most(mine, lambda bs: -bs, in_random=False)
        chosen = _in_time(large, courses, direction, total)
        found += [Main(light, direction, "alone"), Main(chosen, direction, "large"), Main(full, direction, "small")]
        lightest = min(large, key=lambda cell: cell.outstanding)
        # An arm seeks between the streams of several jobs; a target far away keeps many I/Os in flight.
        ends, seen = [lightest], [one for one in courses if one.direction == direction and one.cell in large]
        if _outrun(chosen, full, courses, direction) or _of_each(seen):
            most = SHARES["large"] * total
            able = (one for one in large if FEWEST_WAVES * wave_seconds(one, courses, direction) <= most)
            ends.append(max(able, default=chosen, key=lambda cell: cell.outstanding))
        for end in ends:
            found.append(Main(end, direction, "large" if _outrun(chosen, end, courses, direction) else "second"))
    first = {"alone": 0, "large": 1, "small": 3, "second": 6}
    later = {("alone", "write"): 5, ("large", "read"): 2}
    if sum(course.seconds for course in courses if course.counted and not course.visit_id) >= AGAIN * total:
        later["large", "write"] = 4  # the files were written in large blocks: that was such a load
    order = sorted(found, key=lambda one: later.get((one.role, one.direction), first[one.role]))
    kept: dict[tuple[str, str], Main] = {}
    for one in order:
        kept.setdefault((one.cell.key, one.direction), one)
    return list(kept.values())


def _over_most(cells: Sequence[Cell], far: Callable[[int], float], *, in_random: bool) -> list[Cell]:
    """Cells of the block size that is least far, random or in sequence where there are such, over the largest range."""
    chosen = [cell for cell in cells if cell.rw.startswith("rand") is in_random] or cells
    bs = min((cell.bs_bytes for cell in chosen), key=far)
    most = max(cell.size_bytes for cell in chosen if cell.bs_bytes == bs)
    return [cell for cell in chosen if (cell.bs_bytes, cell.size_bytes) == (bs, most)]


def wave_seconds(cell: Cell, courses: Sequence[Course], direction: str) -> float:
    """Seconds in which all that a cell keeps in flight comes back once, at the best rate that lasted, of its direction
    and of such blocks if there is one; 0 while nothing is known.
    """
    alike = [one for one in courses if one.bs >= cell.bs_bytes / 2] or courses
    mine = [one for one in alike if one.direction == direction] or alike
    # Neither in larger blocks nor with more in flight does a target move less.
    fewer = [one for one in courses if one.direction == direction and one.outstanding <= cell.outstanding]
    best = max((one.tail * one.bs for one in (*mine, *fewer)), default=math.inf)
    return cell.bs_bytes * cell.outstanding / max(best, _of_each(mine) * cell.outstanding)


def _of_each(courses: Sequence[Course]) -> float:
    """Bytes a second that each I/O in flight moves, where more of them move more in proportion; 0 where they do not, or
    nobody knows.
    """
    ends = sorted(courses, key=lambda one: one.outstanding)
    if not ends or ends[0].outstanding == ends[-1].outstanding:
        return 0.0
    few, many = (one.tail * one.bs / one.outstanding for one in (ends[0], ends[-1]))
    return many if MUCH * many >= few * (1 - 1 / ends[0].moved) else 0.0  # an I/O more or less is chance


def _in_time(cells: Sequence[Cell], courses: Sequence[Course], direction: str, total: float) -> Cell:
    """The cell with about MANY I/Os in flight, fewer where these take long to come back. What was chosen stays so."""
    able = [cell for cell in cells if wave_seconds(cell, courses, direction) <= MOST_WAVE * total]
    chosen = next((one for course in courses for one in able if one.key == course.cell.key), None)
    if chosen is not None:
        return chosen
    lightest = min(cells, key=lambda cell: cell.outstanding)
    quick = MANY * wave_seconds(lightest, courses, direction) <= QUICK_WAVE * total * lightest.outstanding
    wanted = MANY if quick else FEW
    return min(able or [lightest], key=lambda cell: (abs(math.log2(cell.outstanding / wanted)), cell.outstanding))


def _outrun(one: Cell, other: Cell, courses: Sequence[Course], direction: str) -> bool:
    """Whether another cell moves more. Where small blocks move more than large ones, more of these in flight are
    faster, for a busy target does not move less in larger blocks.
    """
    mine = sorted((one for one in courses if one.direction == direction), key=lambda one: one.seconds)
    moved = {one.cell.key: one.tail * one.bs for one in mine}  # by the longest load of each
    return moved.get(other.key, 0.0) > MUCH * moved.get(one.key, math.inf)


def unsettled(course: Course) -> bool:
    """Whether more of the same load is needed: it still falls, or it fell too late for what lasts to be seen. A target
    that warms up does so under any load.
    """
    return trend_of(course) < -DROP or (course.fell and course.flat_seconds < 0.4 * course.seconds)


def next_load(
    cells: Sequence[Cell],
    courses: Sequence[Course],
    *,
    total: float,
    left: float,
    seed: int = 0,
    begun: bool = True,
    most: int | None = None,
) -> Next | None:
    """The next load of a map; None when nothing more is worth its time.

    courses: what was seen so far, the lay-out's among them, in the order of time. total, left: seconds of the budget.
    begun: whether a load was made, if it gave nothing. Where the writing of files took the whole of a small budget, one
    is made all the same. most: cells that may be measured, for which time is kept; None for all, with what is left.
    """
    kept = 0.0
    if most is not None:
        seen = {course.cell.key for course in courses if course.visit_id}
        cells = [cell for cell in cells if cell.key in seen] if len(seen) >= most else cells
        kept = min(seconds_of_others(min(most, len(cells))), max(total / 2, total - MAIN_SECONDS))
    mains = main_cells(cells, courses, total - kept)
    if not mains:
        return None
    late = [cell for cell in cells if _leaves_debt(cell)]
    parts = [(late, 0.0), (cells, 0.0)]
    if not any(_leaves_debt(course.cell) for course in courses):
        time = left + sum(course.seconds + START_SECONDS for course in courses if course.visit_id)
        parts.insert(0, ([cell for cell in cells if cell not in late], _seconds_of_late(mains, total, time)))
    for part, reserve in parts:
        few = None if most is None else max(0, most * len(part) // len(cells) - sum(one.key in seen for one in part))
        mine = [main for main in mains if main.cell in part]
        share = len(part) / max(1, len(cells))
        for one in _wanted(mine, courses, part, total - kept, left - reserve, seed, few, kept * share):
            fitted = _fitted(one, courses, left - reserve)
            if fitted is not None:
                return fitted
    if begun:
        return None
    return Next(mains[0].cell, mains[0].direction, max(LEAST_SECONDS, MOST_ALONE * total), "first")


def _seconds_of_late(mains: Sequence[Main], total: float, time: float) -> float:
    """What the main cells of random writes need for two loads each, or their part of the time where that is short."""
    needs = [(main, (SHARES[main.role] + OTHER) * total + 2 * START_SECONDS) for main in mains]
    every, late = sum(need for _, need in needs), sum(need for main, need in needs if _leaves_debt(main.cell))
    return late * min(1.0, time / every)


def seconds_of_others(count: int) -> float:
    """What first loads take of all of so many cells but those that the main numbers rest on."""
    return max(0, count - MOST_MAINS) * (OTHER_SECONDS + START_SECONDS)


def _fitted(wanted: Next, courses: Sequence[Course], left: float) -> Next | None:
    """The load as long as it should run, shorter where a main number would be missing otherwise; None when it takes too
    long.
    """
    wave = wave_seconds(wanted.cell, courses, wanted.direction)
    room = left - START_SECONDS - wave
    least = LEAST_SECONDS if wanted.why == "first" else max(SHORTEST_SECONDS, WAVES * wave)
    seconds = min(LONGEST_SECONDS, max(least, wanted.seconds))
    if seconds > room:
        if room < (max(LEAST_SECONDS, wave) if wanted.why in ("first", "on") else least):
            return None
        seconds = room
    return replace(wanted, seconds=seconds)


def _fair(mains: Sequence[Main], courses: Sequence[Course], left: float) -> float:
    """Seconds for each unit of a share, where all of these are to be made in what time is left."""
    return max(0.0, left - _besides(mains, courses)) / max(1e-9, sum(SHARES[main.role] for main in mains))


def _besides(mains: Sequence[Main], courses: Sequence[Course]) -> float:
    """Seconds that loads of these take besides their own: until they begin, and until their last I/Os are back."""
    return sum(START_SECONDS + wave_seconds(main.cell, courses, main.direction) for main in mains)


def _credit_seconds(courses: Sequence[Course]) -> float:
    """How long loads of one kind ran, or would have run from a rest, before they fell; the longest of such times."""
    most = 0.0
    for course in courses:
        if course.fell:
            alike = [one for one in courses if 0.5 <= one.bs / course.bs <= 2 and one.direction == course.direction]
            credit = draw_down(alike, Limiter("ios", (course.direction,)), course.tail)
            most = max(most, credit / (max(one.before for one in alike) - course.tail))
    return most


def _again(
    mains: Sequence[Main], courses: Sequence[Course], total: float, left: float, kept: float, longer: float
) -> Iterable[Next]:
    """Another load of each of these, all of which have their turn in the time that is left. Where none ran for as long
    as credit lasted, this one does.
    """
    fair = _fair(mains, courses, left - len(mains) * OTHER * total)
    for main in mains:
        seconds = min(AGAIN, OTHER + SHARES[main.role] * fair / total) * total
        mine = (one.seconds for one in courses if (one.cell.key, one.direction) == (main.cell.key, main.direction))
        if main.role in LONG and LASTS * max(mine, default=0.0) < longer:
            seconds = max(seconds, longer)
        seconds = min(seconds, left - kept - START_SECONDS)
        if seconds >= SHORTEST_SECONDS:
            yield Next(main.cell, main.direction, seconds, "again")


def _leaves_debt(cell: Cell) -> bool:
    """Whether loads after this one may be slowed by it: a cache takes small writes that its store needs minutes for."""
    return cell.directions == ("write",) and cell.rw.startswith("rand")


def _wanted(
    mains: Sequence[Main],
    courses: Sequence[Course],
    cells: Sequence[Cell],
    total: float,
    left: float,
    seed: int,
    most: int | None,
    kept: float,
) -> Iterable[Next]:
    keys = [(course.cell.key, course.direction) for course in courses]
    made = Counter(keys)
    missing = [one for one in mains if (one.cell.key, one.direction) not in made]
    fair = _fair(missing, courses, left)

    def leaves_half(seconds: float) -> bool:
        """Of what each missing load would have without one of so many seconds."""
        return not missing or _fair(missing, courses, left - seconds) >= min(fair, total) / 2

    for main in mains:
        key = (main.cell.key, main.direction)
        if [key] == keys[-1:] and made[key] <= MOST_RUN_ON and unsettled(courses[-1]):
            seconds = max(courses[-1].seconds, 0.7 * SHARES[main.role] * total)
            if leaves_half(seconds):
                yield Next(main.cell, main.direction, seconds, "on")
    slowest = max((course.outstanding / course.tail for course in courses), default=0.0)
    longer = LASTS * _credit_seconds(courses)  # where bytes have credit, I/Os may have as many seconds of it
    for main in missing:
        wave = wave_seconds(main.cell, courses, main.direction)
        waves = min(WAVES * wave, max(FEWEST_WAVES * wave, SHARES[main.role] * total))
        if main.role == "alone":  # no I/O takes longer than the large ones that were seen
            waves = max(waves, min(WAVES * slowest, MOST_ALONE * total))
        # On average half a wave is waited for; small blocks, of which no other load tells, are left their least.
        small = [one for one in missing if one.role == "small" and one is not main]
        able = left - START_SECONDS - wave / 2 - LEAST_SECONDS * len(small) - _besides(small, courses)
        seconds = max(min(waves, able), SHARES[main.role] * min(total, fair))
        if longer > seconds and main.role in LONG and leaves_half(longer):
            seconds = longer
        yield Next(main.cell, main.direction, seconds, "first")
    main_keys = {(main.cell.key, main.direction) for main in mains}
    others = [(cell, way) for cell in cells for way in cell.directions if (cell.key, way) not in main_keys]
    random.Random(seed).shuffle(others)  # noqa: S311 - an order, not a secret
    other = OTHER * total
    if most is not None:
        others = _each_footprint(others)
        waiting = min(most, sum(made[cell.key, way] == 0 for cell, way in others))
        other = max(OTHER_SECONDS, min(other, left / max(1, waiting) - START_SECONDS))
        kept = min(kept, waiting * (OTHER_SECONDS + START_SECONDS))
        seen = {(course.cell.size_bytes, course.direction) for course in courses if course.visit_id}
        yield from (Next(cell, way, other, "other") for cell, way in others if (cell.size_bytes, way) not in seen)
    for count in range(2, MOST_LOADS):
        few = [one for one in mains if made[one.cell.key, one.direction] < (1 if one.role == "second" else count)]
        yield from _again(few, courses, total, left, kept, longer)
        for cell, way in others:
            if made[cell.key, way] < count - 1:
                yield Next(cell, way, other, "other")


def _each_footprint(cells: Sequence[tuple[Cell, str]]) -> list[tuple[Cell, str]]:
    """Those of each footprint and direction in turn: nothing is foretold of one that was never seen."""
    kinds = grouped(((cell.size_bytes, way), (cell, way)) for cell, way in cells)
    return [one for turn in zip_longest(*kinds.values()) for one in turn if one is not None]


# -- beside a map --------------------------------------------------------------------------------------------------

MOST_SMALL_BYTES = 64 << 10
BESIDE_SHARE = 0.03
"""Of the budget, for each of these loads; and in which all that writes keep in flight comes back once."""
LEAST_BUDGET_SECONDS = 20.0
"""A shorter one is all for the map."""


def cells_beside(cells: Sequence[Cell], courses: Sequence[Course], total: float, flush: str = "fsync") -> list[Cell]:
    """The loads of one target, from those of its map. They write, so they come after all others, which they would take
    credit from. flush: the option with which its engine flushes, '' where its server takes none. total: seconds of the
    budget.
    """
    # Where two cells have a role, the first choice: the other one is of one job, which makes no full writes.
    mains = {(one.role, one.direction): one.cell for one in reversed(main_cells(cells, courses, total))}
    read, full = mains.get(("alone", "read")), mains.get(("large", "write"))
    write = mains.get(("alone", "write")) or mains.get(("small", "write"))  # one cell, where all have as many in flight
    found = [replace(write, options=tuple(sorted({**write.option, flush: 1}.items())))] if write and flush else []
    if read is not None and full is not None:
        kind = (full.rw, full.bs_bytes, full.size_bytes)
        able = [one for one in cells if (one.rw, one.bs_bytes, one.size_bytes) == kind]
        able = sorted((one for one in able if one.outstanding <= full.outstanding), key=lambda one: one.outstanding)
        full = [able[0], *(one for one in able if wave_seconds(one, courses, "write") <= BESIDE_SHARE * total)][-1]
        streams = (("reads", read.options), ("writes", full.options))
        found.append(replace(read, options=(("phase", "reads-under-writes"),), streams=streams))
    small = [one for one in found if one.members[0].outstanding == 1 and one.members[0].bs_bytes <= MOST_SMALL_BYTES]
    return small if total >= LEAST_BUDGET_SECONDS else []


def planned_beside(cells: Sequence[Cell], courses: Mapping[str, Sequence[Course]], total: float) -> list[Cell]:
    """The loads of all targets."""
    by_target = {cell.target: [one for one in cells if one.target == cell.target] for cell in cells}
    return [one for name, mine in by_target.items() for one in cells_beside(mine, courses.get(name, ()), total)]


def seconds_beside(cell: Cell, courses: Sequence[Course], total: float) -> tuple[float, float]:
    """How long such a load runs at best, and what it takes besides."""
    wave = min(wave_seconds(cell.members[-1], courses, "write"), MOST_WAVE * total)
    return max(SHORTEST_SECONDS, BESIDE_SHARE * total, FEWEST_WAVES * wave), START_SECONDS + wave
