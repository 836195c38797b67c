# SPDX-License-Identifier: Apache-2.0
"""Tokens that I/Os wait for, and when a neighbour comes and goes."""

from __future__ import annotations

import bisect
import math
import random

from parts import Limiter, Neighbour


class Bucket:
    """Tokens: an I/O passes as soon as there is no debt, and may leave one. First come, first served."""

    __slots__ = ("at", "level", "quantum", "rate", "size")

    def __init__(self, rate: float, size: float, quantum: float) -> None:
        self.rate, self.size, self.quantum = rate, size, quantum
        self.level, self.at = size, 0.0

    def copy(self) -> Bucket:
        other = Bucket(self.rate, self.size, self.quantum)
        other.level, other.at = self.level, self.at
        return other

    def passes(self, t: float, cost: float) -> float:
        """When an I/O of `cost` passes that comes at t."""
        if t > self.at:
            self.level = min(self.size, self.level + self.rate * (t - self.at))
            self.at = t
        if self.level < 0:
            wait = -self.level / self.rate
            if self.quantum:
                # All that came together go at the same tick of the clock.
                wait = math.ceil((self.at + wait) / self.quantum - 1e-9) * self.quantum - self.at
            self.at += wait
            self.level += self.rate * wait
        self.level -= cost
        return self.at


def limited(limiter: Limiter, main: Bucket, peak: Bucket | None, t: float, moved: float, group: float) -> float:
    cost = moved if limiter.unit == "bytes" else group
    t = main.passes(t, cost)
    return peak.passes(t, cost) if peak else t


def turns_of(neighbour: Neighbour, seed: int) -> list[float]:
    """Moments at which it comes or goes, the first of them a coming."""
    draws = random.Random(f"neighbour {seed}")
    at, turns = draws.expovariate(1 / neighbour.off), []
    while at < 4000:
        turns += [at, at := at + draws.expovariate(1 / neighbour.on)]
        at += draws.expovariate(1 / neighbour.off)
    return turns


def is_on(turns: list[float], t: float) -> bool:
    return bisect.bisect(turns, t) % 2 == 1
