# SPDX-License-Identifier: Apache-2.0
"""A target that is watched: the levels of its rounds, cell by cell, and the changes of them.

Each cell and direction has a chart of its own (`stats.sequential`). The time between false alarms that was asked for is
that of all charts together. A change has to be significant and relevant: larger than the tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, expm1, log, log1p

from ioatlas.stats.distributions import Z95
from ioatlas.stats.sequential import METHOD, Found, Watcher, limit_for, run_length

__all__ = ["METHOD", "Change", "Chart", "Round", "Rules", "Watched"]

TOLERANCE = 0.05
FALSE_ALARM_SECONDS = 365 * 86_400.0


@dataclass(frozen=True)
class Rules:
    """every_seconds: between rounds. false_alarm_seconds: mean time between false alarms of a target that does not
    change. rhythm_seconds: rounds so far apart are held against each other; 0 where there is no rhythm.
    """

    every_seconds: float
    false_alarm_seconds: float = FALSE_ALARM_SECONDS
    tolerance: float = TOLERANCE
    rhythm_seconds: float = 0.0
    higher_is_better: bool = True

    def limit(self, charts: int) -> float:
        """Of one side of one chart."""
        return limit_for(round(max(1, charts) * self.false_alarm_seconds / self.every_seconds, 6))

    def found_after(self, charts: int) -> dict[float, float]:
        """Mean rounds until a change is found, by its size in standard deviations of rounds."""
        return {shift: round(run_length(self.limit(charts), shift), 1) for shift in (2.0, 3.0, 5.0)}

    def phase(self, time: float) -> int:
        """Which part of the rhythm a moment belongs to."""
        if not self.rhythm_seconds:
            return 0
        parts = max(1, round(self.rhythm_seconds / self.every_seconds))
        return round(time % self.rhythm_seconds / self.rhythm_seconds * parts) % parts


@dataclass(frozen=True)
class Round:
    """One round. time: when it began, seconds since the epoch. levels: of each cell and direction, above zero."""

    name: str
    time: float
    levels: Mapping[str, float]


@dataclass(frozen=True)
class Change:
    """A change of one chart. since, since_time: the first round of it. found, found_time: the round that showed it.

    ratio, low, high: new level over the old one, with its 95% interval. worse: whether it is an alarm.
    """

    chart: str
    since: str
    since_time: float
    found: str
    found_time: float
    ratio: float
    low: float
    high: float
    worse: bool


@dataclass(frozen=True)
class Chart:
    """What is known of one cell and direction.

    level: mean of the level that holds now. last: of the newest round. noise: by which rounds differ, as a share.
    evidence: of a level that got worse, as a share of what an alarm takes. learning: too few rounds to tell.
    """

    name: str
    rounds: int
    level: float
    last: float
    noise: float | None
    evidence: float
    learning: bool


@dataclass
class Watched:
    """Takes round after round. charts: how many cells and directions share the false alarms."""

    rules: Rules
    charts: int
    _watchers: dict[str, Watcher] = field(default_factory=dict)
    _rounds: dict[str, list[Round]] = field(default_factory=dict)

    def take(self, made: Round) -> list[Change]:
        """The changes that a round shows. A cell without a value in it waits for the next one."""
        changes = []
        for name, value in made.levels.items():
            if value <= 0:
                continue
            if name not in self._watchers:
                self._watchers[name] = Watcher(self.rules.limit(self.charts), log1p(self.rules.tolerance))
            self._rounds.setdefault(name, []).append(made)
            found = self._watchers[name].take(log(value), self.rules.phase(made.time))
            if found is not None:
                changes.append(self._change(name, found))
        return changes

    def state(self) -> list[Chart]:
        """Of every cell and direction that has a round, by name."""
        return [self._chart(name) for name in sorted(self._rounds)]

    def _chart(self, name: str) -> Chart:
        watcher, rounds = self._watchers[name], self._rounds[name]
        level, noise = watcher.level, watcher.noise
        return Chart(
            name,
            len(rounds),
            exp(level) if level is not None else rounds[-1].levels[name],
            rounds[-1].levels[name],
            None if noise is None else expm1(noise),
            watcher.down if self.rules.higher_is_better else watcher.up,
            watcher.learning,
        )

    def _change(self, name: str, found: Found) -> Change:
        rounds, size = self._rounds[name], found.after - found.before
        first, last = rounds[found.since], rounds[found.at]
        half = Z95 * found.error
        return Change(
            name,
            first.name,
            first.time,
            last.name,
            last.time,
            exp(size),
            exp(size - half),
            exp(size + half),
            (size < 0) is self.rules.higher_is_better,
        )
