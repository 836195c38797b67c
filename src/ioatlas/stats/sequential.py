# SPDX-License-Identifier: Apache-2.0
"""Changes of a level that is looked at for ever, with a stated time between false alarms.

A self-starting CUSUM (Hawkins 1987): each value is held against those before it, and what is found is brought to a
standard normal value whatever level and noise are. These values are independent, so the sums of Page (1954) have the
same limit from the first rounds on. Values are held back at `HELD` (Hawkins and Olwell 1998): one stray value alone
never alarms. Where each value follows the last, only what is new in it is summed (Alwan and Roberts 1988).
The limit comes from the run length of the sum, as a Markov chain (Brook and Evans 1972).

With phases (such as hours of the day) each has a level of its own and the noise is shared: recursive residuals of that
model (Brown, Durbin and Evans 1975) are independent and normal too.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf, sqrt
from statistics import NormalDist

import numpy as np

from ioatlas.model.units import grouped
from ioatlas.stats.distributions import normal_tail, t_tail

METHOD = "self-starting-cusum/2"
ALLOWANCE = 1.0
"""Standard deviations by which a level may be off before it counts: changes of twice that are found soonest."""
HELD = 4.0
"""Standard deviations at which a value is held back."""
FEWEST_DOF = 3
"""Degrees of freedom behind the noise before values count: four values of one phase."""
FEWEST_PAIRS = 24
"""Values before it is told whether each follows the last."""
NEAR = 2.0
MOST_FOLLOWED = 0.8
_STATES = 150
_HIGHEST = 24.0
_PRECISE = 1e-9


@dataclass(frozen=True)
class Found:
    """A sum that passed its limit. since: the first value of the change. at: the value with which it was found.

    before, after: means on its two sides. error: standard error of their difference.
    """

    since: int
    at: int
    before: float
    after: float
    error: float


@dataclass
class _Sum:
    """A sum of one side and the place where it last was zero."""

    value: float = 0.0
    since: int = 0

    def add(self, step: float, at: int) -> None:
        if self.value == 0.0:
            self.since = at
        self.value = max(0.0, self.value + step)


@dataclass
class _Follow:
    """How much each value follows the last: only what is new in one counts, so that a level that wanders is no change.

    Products of values beyond `NEAR` count as if they were that: a change would look like following otherwise.
    """

    count: int = 0
    products: float = 0.0
    squares: float = 0.0
    last: float = 0.0

    @property
    def correlation(self) -> float:
        """Lag one, 0 where it is not more than chance."""
        found = self.products / self.squares if self.squares else 0.0
        return min(MOST_FOLLOWED, found) if self.count >= FEWEST_PAIRS and found > 2 / sqrt(self.count) else 0.0

    def innovation(self, standard: float) -> float:
        """What a standard normal value has that the one before did not foretell, as a standard normal value."""
        known, last = self.correlation, self.last
        near, before = (max(-NEAR, min(NEAR, each)) for each in (standard, last))
        self.count, self.last = self.count + 1, max(-HELD, min(HELD, standard))
        self.products += near * before
        self.squares += near * near
        return (standard - known * last) / sqrt(1 - known * known)


@dataclass
class Watcher:
    """Takes one value after another. limit: of the sums, from `limit_for`. least: a change smaller than this is none.

    down, up: evidence of a lower and of a higher level, as shares of the limit.
    """

    limit: float
    least: float = 0.0
    _values: list[tuple[float, Hashable]] = field(default_factory=list)
    _begin: int = 0
    _means: dict[Hashable, tuple[int, float]] = field(default_factory=dict)
    _squares: float = 0.0
    _down: _Sum = field(default_factory=_Sum)
    _up: _Sum = field(default_factory=_Sum)
    _follow: _Follow = field(default_factory=_Follow)

    def take(self, value: float, phase: Hashable = None) -> Found | None:
        """The change that this value shows, if it shows one. What comes after is held against the new level."""
        at = len(self._values)
        self._values.append((value, phase))
        standard = self._learn(value, phase)
        if standard is None:
            return None
        step = max(-HELD, min(HELD, self._follow.innovation(standard)))
        self._down.add(-step - ALLOWANCE, at)
        self._up.add(step - ALLOWANCE, at)
        for one in (self._down, self._up):
            if one.value >= self.limit and (found := self._change(one.since, at)) is not None:
                self._restart(found.since)
                return found
        return None

    @property
    def down(self) -> float:
        return min(1.0, self._down.value / self.limit)

    @property
    def up(self) -> float:
        return min(1.0, self._up.value / self.limit)

    @property
    def learning(self) -> bool:
        """Whether too few values are known to tell a change."""
        return self._dof < FEWEST_DOF

    @property
    def noise(self) -> float | None:
        """Standard deviation of values about their level; None while too few are known."""
        return None if self.learning else sqrt(self._squares / self._dof)

    @property
    def level(self) -> float | None:
        """The mean of the level that holds now."""
        count = sum(count for count, _ in self._means.values())
        return sum(count * mean for count, mean in self._means.values()) / count if count else None

    @property
    def _dof(self) -> int:
        return sum(count for count, _ in self._means.values()) - len(self._means)

    def _learn(self, value: float, phase: Hashable) -> float | None:
        """The value as a standard normal one, from what was known before it; then it is known too."""
        count, mean = self._means.get(phase, (0, 0.0))
        off, dof = value - mean, self._dof
        self._means[phase] = (count + 1, mean + off / (count + 1))
        if count == 0:
            return None
        known = self._squares
        self._squares += off * off * count / (count + 1)
        if dof < FEWEST_DOF:
            return None
        if known <= 0.0:
            return inf * off if off else 0.0
        t = off / sqrt(known / dof * (1 + 1 / count))
        # The lower tail keeps its digits; one too small for any is held back all the same.
        lower = NormalDist().inv_cdf(max(float(t_tail(abs(t), dof)), 1e-300))
        return -lower if t > 0 else lower

    def _change(self, since: int, at: int) -> Found | None:
        """The change since a value, by the values of its phases before it; None where it is too small to matter.

        Where a small change went before a large one, the large one is meant: its place is where the mean of what
        follows is furthest off for its number of values.
        """
        earlier = grouped((phase, value) for value, phase in self._values[self._begin : since])
        pairs = [
            (at, value, float(np.mean(earlier[phase])))
            for at, (value, phase) in enumerate(self._values[since : at + 1], since)
            if phase in earlier
        ]
        if not pairs:
            return None
        off = np.array([value - before for _, value, before in pairs])
        counts = np.arange(off.size, 0, -1)
        means = np.cumsum(off[::-1])[::-1] / counts
        first = int(np.argmax(np.abs(means * np.sqrt(counts))[: max(1, off.size - 2)]))
        if min(abs(float(np.median(off[first:]))), abs(float(means[first]))) <= self.least:
            return None
        dof = sum(map(len, earlier.values())) - len(earlier)
        spread = sum(float(((np.asarray(part) - np.mean(part)) ** 2).sum()) for part in earlier.values())
        error = sqrt(spread / max(dof, 1) * (1 / counts[first] + 1 / sum(map(len, earlier.values()))))
        before = float(np.mean([before for _, _, before in pairs[first:]]))
        return Found(pairs[first][0], at, before, before + float(means[first]), error)

    def _restart(self, begin: int) -> None:
        self._begin, self._means, self._squares = begin, {}, 0.0
        self._down, self._up = _Sum(), _Sum()
        self._follow = _Follow()
        for value, phase in self._values[begin:]:
            self._learn(value, phase)


@lru_cache(maxsize=32)
def limit_for(rounds: float) -> float:
    """The limit of one sum that an unchanged target passes once in so many rounds on average, or less often: one value
    never reaches it. Raises ValueError for what is no number of rounds.
    """
    if not rounds >= 1:
        raise ValueError(f"no sum passes its limit after {rounds} rounds")
    low = HELD - ALLOWANCE
    high = 2 * low
    while run_length(high) < rounds:
        low, high = high, 2 * high
    while high - low > _PRECISE * high:
        middle = (low + high) / 2
        low, high = (middle, high) if run_length(middle) < rounds else (low, middle)
    return high


def run_length(limit: float, shift: float = 0.0) -> float:
    """Mean number of values until a sum passes the limit, from zero on. shift: of the level in the direction of the
    sum, in standard deviations. Raises ValueError for a limit that the states are too few for.

    States are eliminated one by one without a subtraction (Grassmann, Taksar and Heyman 1985, Operations Research
    33(5)): every figure keeps its digits however rarely the limit is passed. A solver subtracts chances from 1, and has
    only rounding left once they add up to 1 but for 1e-16.
    """
    if not 0 < limit <= _HIGHEST:
        raise ValueError(f"a sum with a limit of {limit} has no run length that is known")
    width = 2 * limit / (2 * _STATES - 1)
    centres = np.arange(_STATES) * width
    # From one centre into the interval of another, for steps that are held back at both ends.
    edges = (centres + width / 2)[None, :] - centres[:, None] + ALLOWANCE
    below = np.where(edges >= HELD, 1.0, np.where(edges < -HELD, 0.0, normal_tail(shift - edges)))
    passed = np.where(edges[:, -1] >= HELD, 0.0, normal_tail(edges[:, -1] - shift))
    # Of each state: the chance to pass the limit next, the mean number of values spent, the chances of states.
    table = np.column_stack([passed, np.ones(_STATES), np.diff(below, axis=1, prepend=0.0)])
    for state in range(_STATES - 1, 0, -1):
        row = table[state, : state + 2]
        onwards = table[:state, state + 2] / (row[0] + row[2:].sum())
        table[:state, : state + 2] += np.outer(onwards, row)
    return float(table[0, 1] / table[0, 0])
