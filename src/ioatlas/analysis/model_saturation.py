# SPDX-License-Identifier: Apache-2.0
"""Where throughput stops to grow with jobs or depth, by the model of an adaptive map: along lines of which few cells
were measured and the rest is foretold. Always told as the model's, with intervals.

An interval is drawn from those of the levels: 95% intervals of measured ones, 90% intervals of foretold ones, each by
itself. Errors of neighbours in a model go together, which moves a line up or down and not its bend: so drawn by
themselves they make the interval wider than it has to be, never narrower.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from ioatlas.analysis.best import usable
from ioatlas.analysis.saturation import LineKey, Range, last_gaining, near_peak
from ioatlas.analysis.wording import Namer, plural
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.finding import Finding, FindingCode
from ioatlas.model.units import format_count
from ioatlas.model.verdict import LOWER_BOUND

FEWEST_POINTS = 4
"""Levels that a line has at least."""
DRAWS = 400
WITHIN = 90
"""Per cent of the draws between the ends of an interval."""
MEASURED_SIDES, FORETOLD_SIDES = 2 * 1.96, 2 * 1.645
BARE_SPREAD = 0.1
"""Standard deviation of the logarithm of a measured value without an interval."""
LEAST_SPREAD, MOST_SPREAD = 0.005, 0.4
"""Standard deviations of the logarithm of a level: least, and from which a line is told of no more."""
TIED = 2.0
"""Standard deviations within which a level may be the best too."""
LONGEST_SPAN = 8.0
"""An interval whose ends are this many times apart tells nothing."""


@dataclass(frozen=True)
class ModelLine:
    """One line along `key.along`: its levels, and what the model says of it."""

    key: LineKey
    points: tuple[tuple[int, Estimate], ...]
    near_peak: Range
    last_gaining: Range

    @property
    def place(self) -> tuple[str, str, str]:
        """Target, direction and the option along which it goes."""
        return self.key.target, self.key.direction, self.key.along

    @property
    def measured(self) -> int:
        return sum(e.kind == "measured" for _, e in self.points)

    @property
    def last(self) -> int:
        return self.points[-1][0]

    @property
    def best(self) -> tuple[int, Estimate]:
        return max(self.points, key=lambda point: point[1].iops or 0.0)

    @property
    def bends(self) -> bool:
        """Whether 90% of the best is surely reached before the end of the line."""
        return self.near_peak.high is not None and self.near_peak.high < self.last / 1.2

    @property
    def told(self) -> bool:
        """Whether its levels and its interval are narrow enough to say something."""
        low, high = self.near_peak.low, self.near_peak.high
        vague = median(_spread(e) for _, e in self.points) > MOST_SPREAD
        return not vague and low is not None and high is not None and high <= LONGEST_SPAN * low


def model_lines(estimates: Iterable[Estimate]) -> list[ModelLine]:
    """The fastest line of each target, direction and option along which cells are foretold and one at least was
    measured; nothing where the map has no model.
    """
    groups: dict[tuple[object, ...], dict[int, Estimate]] = defaultdict(dict)
    for e in estimates:
        if not e.iops or e.cell.loop == "open" or not _tells(e):
            continue
        for along in ("numjobs", "iodepth"):
            rest = tuple(pair for pair in e.cell.options if pair[0] not in {along, "ioengine"})
            line = groups[e.cell.target, e.direction, along, e.cell.sharing, e.cell.state, rest]
            level = e.cell.integer(along, 1)
            if level not in line or e.kind == "measured":
                line[level] = e
    fastest: dict[tuple[str, str, str], tuple[float, dict[int, Estimate]]] = {}
    for (target, direction, option, *_), line in groups.items():
        kinds = {e.kind for e in line.values()}
        if len(line) < FEWEST_POINTS or kinds != {"measured", "predicted"}:
            continue
        place = (str(target), str(direction), str(option))
        top = max(e.bw_bytes_per_s or 0.0 for e in line.values())
        if place not in fastest or top > fastest[place][0]:
            fastest[place] = (top, line)
    return [_line(LineKey(*place, cell=_first(line)), line) for place, (_, line) in fastest.items()]


def _tells(e: Estimate) -> bool:
    """What was foretold, or measured and not held down by the client."""
    return e.kind == "predicted" or (e.kind == "measured" and usable(e) and e.verdict not in LOWER_BOUND)


def _first(line: dict[int, Estimate]) -> Cell:
    return line[min(line)].cell


def _line(key: LineKey, line: dict[int, Estimate]) -> ModelLine:
    points = tuple(sorted(line.items()))
    n = [float(level) for level, _ in points]
    values = [e.iops or 1.0 for _, e in points]
    spreads = np.array([_spread(e) for _, e in points])
    noise = np.random.default_rng(1).normal(size=(DRAWS, len(points)))
    draws = np.exp(np.log(values) + noise * spreads)
    # The highest of several equal values is too high by their noise: the best is the mean of those that may be it.
    top = int(np.argmax(values))
    tied = np.log(values[top] / np.array(values)) <= TIED * np.hypot(spreads, spreads[top])
    best = np.exp(np.average(np.log(draws[:, tied]), axis=1, weights=spreads[tied] ** -2.0))

    def told(each: Sequence[float]) -> Range:
        low, middle, high = np.percentile(each, [50 - WITHIN / 2, 50, 50 + WITHIN / 2])
        return Range(float(middle), float(low), float(high))

    rows = [list(map(float, row)) for row in draws]
    bends = [near_peak(n, row, float(goal)) for row, goal in zip(rows, best, strict=True)]
    return ModelLine(key, points, told(bends), told([last_gaining(n, row) for row in rows]))


def _spread(e: Estimate) -> float:
    if not e.iops_low or not e.iops_high:
        return BARE_SPREAD
    sides = FORETOLD_SIDES if e.kind == "predicted" else MEASURED_SIDES
    return max(LEAST_SPREAD, math.log(max(1.0, e.iops_high / e.iops_low)) / sides)


# -- sentences -----------------------------------------------------------------------------------------------


def model_saturation_findings(
    estimates: Sequence[Estimate], told: Iterable[tuple[str, str, str]] = (), *, most: int = 4
) -> tuple[Finding, ...]:
    """What the model says of the fastest line along each option, where readings alone did not.

    told: target, direction and option of lines that were told from readings.
    """
    known = set(told)
    lines = [line for line in model_lines(estimates) if line.place not in known and line.told]
    namer = Namer((e.cell for e in estimates), sorted({e.cell.target for e in estimates}))
    return tuple(
        Finding(
            FindingCode.SATURATION_LAW,
            _sentence(line, namer),
            tuple(e.cell.key for _, e in line.points if e.kind == "measured"),
            target=line.key.target,
            direction=line.key.direction,
        )
        for line in lines[:most]
    )


def _sentence(line: ModelLine, namer: Namer) -> str:
    """The bend, how many still help, what it rests on: a few short sentences."""
    where = namer.cell(line.key.cell, without=(line.key.along,))
    on = namer.on(line.key.target)
    text = f"By the map's model, {line.key.direction}s{on} ({where}): "
    if line.bends:
        text += (
            f"90% of the best takes {near_words(line)}. A doubling still gains 25% up to {_span(line.last_gaining)}."
        )
    else:
        text += f"no bend is sure up to {_count(line.last, line.key.along)}. Test more of them."
    level, best = line.best
    text += f" Best: {format_count(best.iops or 0.0)} IOPS at {level}."
    return f"{text} Of {plural(len(line.points), 'point')} {line.measured} {_were(line.measured)} measured."


def near_words(line: ModelLine) -> str:
    """'12 jobs (8 to 16)'."""
    return f"{_count(round(line.near_peak.value), line.key.along)} ({_bounds(line.near_peak)})"


def _count(number: int, along: str) -> str:
    return plural(number, "job") if along == "numjobs" else f"iodepth {number}"


def _span(value: Range) -> str:
    return f"{round(value.value)} ({_bounds(value)})"


def _bounds(value: Range) -> str:
    return f"{round(value.low or value.value)} to {round(value.high or value.value)}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
