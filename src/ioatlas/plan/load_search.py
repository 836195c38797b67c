# SPDX-License-Identifier: Apache-2.0
"""The highest load that a target carries: which offered rate to try next, from those that were tried.

A load is carried when its mean response time stays within a limit and the offered rate is achieved. Loads grow
fourfold until one is not carried
and are then halved in on logarithms; what a target achieved while it was overloaded is a better guess than the middle.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

START_IOPS = 400.0
LEAST_IOPS = 20.0
MOST_IOPS = 4e6
GROWTH = 4.0
"""From one load to the next while all are carried; what a target achieves of one that is far too much says where to
look.
"""
WIDTH = 1.05
"""Ratio of the lowest load not carried to the highest one carried at which the search ends."""
BACK = 0.93
"""Of a load that a longer trial refuted."""
CONFIRMATIONS = 2
"""Long trials that must carry a load before it is called the highest."""
MOST_TRIALS = 40


@dataclass(frozen=True)
class LoadTrial:
    """One visit at one offered load. long: it lasted as long as the visits to come, so that its yes counts."""

    offered_iops: float
    achieved_iops: float
    lat_mean_ns: float | None
    overloaded: bool
    long: bool = False

    def carried(self, limit_ns: float) -> bool:
        return not self.overloaded and self.lat_mean_ns is not None and self.lat_mean_ns <= limit_ns


@dataclass(frozen=True)
class LoadAnswer:
    """What the trials say. highest: carried in two long trials and in every other; None when there is none yet. next:
    (load, long) to try, None at the end.

    limited_by: 'response time', 'throughput' (the offered rate was not achieved), 'nothing' (the search ended at its
    own bounds), '' while unknown.
    """

    highest: float | None
    next: tuple[float, bool] | None
    refused: float | None
    limited_by: str


def search_load(trials: Sequence[LoadTrial], limit_ns: float) -> LoadAnswer:
    """The next load to try, or the end. Pure: the same trials give the same answer, so that a stopped search goes on
    where it was.
    """
    carried: dict[float, bool] = {}
    yeses: Counter[float] = Counter()
    for trial in trials:
        yes = trial.carried(limit_ns)
        carried[trial.offered_iops] = carried.get(trial.offered_iops, True) and yes
        yeses[trial.offered_iops] += yes and trial.long
    confirmed = {load for load, count in yeses.items() if count >= CONFIRMATIONS}
    refused = min((load for load, yes in carried.items() if not yes), default=None)
    below = [load for load, yes in carried.items() if yes and (refused is None or load < refused)]
    best = max(below, default=None)
    highest = max((load for load in below if load in confirmed), default=None)
    failing = [
        trial
        for trial in trials
        if refused is not None and trial.offered_iops == refused and not trial.carried(limit_ns)
    ]
    limit = "" if not failing else "throughput" if any(trial.overloaded for trial in failing) else "response time"
    if len(trials) >= MOST_TRIALS:
        return LoadAnswer(highest, None, refused, limit)
    if refused is None:
        if best is None:
            return LoadAnswer(None, (_tidy(START_IOPS), False), None, "")
        if best * GROWTH <= MOST_IOPS:
            return LoadAnswer(None, (_tidy(best * GROWTH), False), None, "")
        return LoadAnswer(highest, None if best in confirmed else (best, True), None, "nothing")
    if best is None:
        lower = _tidy(min(refused / 4, _guess(failing) or refused / 4))
        return LoadAnswer(None, (lower, False) if lower >= LEAST_IOPS and lower < refused else None, refused, limit)
    if refused / best > WIDTH:
        was_long = any(trial.long for trial in failing)
        guess = refused * BACK if was_long and refused * BACK > best * math.sqrt(WIDTH) else _guess(failing) or 0.0
        middle = math.sqrt(best * refused)
        candidate = guess if best * math.sqrt(WIDTH) < guess < refused / math.sqrt(WIDTH) else middle
        candidate = _tidy(candidate)
        if best < candidate < refused and candidate not in carried:
            return LoadAnswer(highest, (candidate, was_long), refused, limit)
    if best in confirmed:
        return LoadAnswer(best, None, refused, limit)
    return LoadAnswer(highest, (best, True), refused, limit)


def _guess(failing: Sequence[LoadTrial]) -> float | None:
    """Just below what was achieved of a load that was too much."""
    return (
        min((trial.achieved_iops for trial in failing if trial.overloaded and trial.achieved_iops > 0), default=0.0)
        * 0.97
        or None
    )


def _tidy(load: float) -> float:
    """Three digits: loads are read and typed by people."""
    digits = max(0, math.floor(math.log10(load)) - 2)
    return float(round(load / 10**digits) * 10**digits) if load >= 1 else load
