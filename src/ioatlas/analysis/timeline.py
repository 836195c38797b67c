# SPDX-License-Identifier: Apache-2.0
"""One target over time: the level of each campaign, and the steps between them.

A campaign's level is its effect in a two-way fit of cells and campaigns (`stats.drift.fit_replicates`), so campaigns
may miss cells of each other. Steps are looked for among the levels (`stats.steps`): what campaigns of an unchanged
target differ by is learned from the series itself, not from the visits inside a campaign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import exp, expm1, log1p, sqrt
from typing import Literal

import numpy as np

from ioatlas.analysis.compare import TOLERANCE, Reading
from ioatlas.analysis.wording import per_cent, plural
from ioatlas.stats.drift import fit_replicates
from ioatlas.stats.steps import FEWEST, find_steps, smallest_step

METHOD = "campaign-steps/1"
FALSE_ALARMS = 0.01
RECENT = 5
"""Newest campaigns among which a step must begin to count as news."""

Part = Literal["all", "read", "write"]
Verdict = Literal["worse", "better", "unchanged", "too few"]


@dataclass(frozen=True)
class Moment:
    """One campaign of the series: its accepted visits, when it was made (seconds since the epoch), and its facts."""

    name: str
    time: float
    readings: Mapping[Part, Sequence[Reading]]
    facts: Mapping[str, str]


@dataclass(frozen=True)
class LevelAt:
    """A campaign's level over the first one's; low, high: 95% of what its visits and the first one's scatter by."""

    name: str
    time: float
    ratio: float
    low: float
    high: float
    cells: int


@dataclass(frozen=True)
class Change:
    """A step: the levels from `points[at]` on over those before it, back to the step before.

    ratio, low, high: with its 95% interval. p: chance of such a step in a series without one.
    differs: facts that are not the same in the campaigns before and after it.
    """

    at: int
    ratio: float
    low: float
    high: float
    p: float
    differs: tuple[str, ...]


@dataclass(frozen=True)
class Timeline:
    """points: in the order of time. changes: steps beyond the tolerance. left_out: campaigns without a cell in common
    with the newest one's.

    sd: by which campaigns of an unchanged target differ, a logarithm; None for too few. smallest: drop of the next
    campaign that would be found with 80%, as a share; None for too few. false_alarms: chance of any change in this part
    without one. verdict: of the newest campaigns.
    """

    part: Part
    points: tuple[LevelAt, ...]
    changes: tuple[Change, ...]
    left_out: tuple[str, ...]
    sd: float | None
    smallest: float | None
    false_alarms: float
    verdict: Verdict


def follow(
    moments: Sequence[Moment],
    *,
    higher_is_better: bool = True,
    tolerance: float = TOLERANCE,
    false_alarms: float = FALSE_ALARMS,
    recent: int = RECENT,
) -> tuple[Timeline, ...]:
    """The series as a whole, and its reads and writes where it has both. false_alarms: of all of them together."""
    ordered = sorted(moments, key=lambda moment: moment.time)
    parts = _parts(ordered)
    return tuple(
        _follow(part, ordered, higher_is_better, tolerance, false_alarms / len(parts), recent) for part in parts
    )


def _parts(moments: Sequence[Moment]) -> tuple[Part, ...]:
    directions: tuple[Part, ...] = ("read", "write")
    both = all(any(moment.readings.get(part) for moment in moments) for part in directions)
    return ("all", *directions) if both else ("all",)


def _follow(
    part: Part, moments: Sequence[Moment], higher_is_better: bool, tolerance: float, false_alarms: float, recent: int
) -> Timeline:
    known = [moment for moment in moments if any(row.value > 0 for row in moment.readings.get(part, ()))]
    kept = _connected(part, known)
    left_out = tuple(moment.name for moment in moments if moment not in kept)
    if len(kept) < 2:
        return Timeline(part, _alone(part, kept), (), left_out, None, None, false_alarms, "too few")
    points, levels = _levels(part, kept)
    steps = find_steps(levels, false_alarms=false_alarms)
    changes = tuple(
        Change(step.at, exp(step.change), exp(step.low), exp(step.high), step.p, _differs(kept, step.at))
        for step in steps
        if abs(step.change) > log1p(tolerance)
    )
    sd = _spread(levels, [step.at for step in steps])
    drop = smallest_step(len(levels) + 1, sd, false_alarms=false_alarms) if sd is not None else None
    smallest = None if drop is None else -expm1(-drop)
    verdict = _verdict(len(levels), changes, higher_is_better, recent)
    return Timeline(part, points, changes, left_out, sd, smallest, false_alarms, verdict)


def _connected(part: Part, moments: Sequence[Moment]) -> list[Moment]:
    """The campaigns that can be held against the newest one, through cells in common, also by way of others."""
    if not moments:
        return []
    cells = [{row.cell for row in moment.readings[part] if row.value > 0} for moment in moments]
    reached, seen = {len(moments) - 1}, set(cells[-1])
    while True:
        new = {index for index, own in enumerate(cells) if index not in reached and own & seen}
        if not new:
            return [moments[index] for index in sorted(reached)]
        reached |= new
        seen |= set().union(*(cells[index] for index in new))


def _alone(part: Part, moments: Sequence[Moment]) -> tuple[LevelAt, ...]:
    return tuple(
        LevelAt(moment.name, moment.time, 1.0, 1.0, 1.0, len({row.cell for row in moment.readings[part]}))
        for moment in moments
    )


def _levels(part: Part, moments: Sequence[Moment]) -> tuple[tuple[LevelAt, ...], list[float]]:
    rows = [
        (row.cell, index, row.value)
        for index, moment in enumerate(moments)
        for row in moment.readings[part]
        if row.value > 0
    ]
    fit = fit_replicates(*(list(column) for column in zip(*rows, strict=True)))
    first = fit.effects[0]
    points = []
    for index, moment in enumerate(moments):
        level = fit.effects[index] - first
        half = 1.96 * float(fit.apart[index, 0])
        cells = len({row.cell for row in moment.readings[part] if row.value > 0})
        points.append(LevelAt(moment.name, moment.time, exp(level), exp(level - half), exp(level + half), cells))
    return tuple(points), [fit.effects[index] for index in range(len(moments))]


def _differs(moments: Sequence[Moment], at: int) -> tuple[str, ...]:
    before, after = moments[at - 1].facts, moments[at].facts
    return tuple(
        f"{name}: {before.get(name, 'not recorded')}, then {after.get(name, 'not recorded')}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )


def _spread(levels: Sequence[float], cuts: Sequence[int]) -> float | None:
    """Standard deviation of levels about the mean of their stretch between steps."""
    if len(levels) < FEWEST:
        return None
    stretches = np.split(np.asarray(levels), list(cuts))
    dof = len(levels) - len(stretches)
    return sqrt(float(sum(((part - part.mean()) ** 2).sum() for part in stretches)) / dof) if dof > 0 else None


def _verdict(n: int, changes: Sequence[Change], higher_is_better: bool, recent: int) -> Verdict:
    if n < FEWEST:
        return "too few"
    news = [change for change in changes if change.at >= n - recent]
    if not news:
        return "unchanged"
    return "better" if (news[-1].ratio > 1) is higher_is_better else "worse"


SUBJECTS: dict[Part, str] = {"all": "The map as a whole", "read": "Reads", "write": "Writes"}
SHORT: dict[Part, str] = {"all": "the whole", "read": "reads", "write": "writes"}
MOST_FACTS = 4


def day(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d")


def moment(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M")


def told(timeline: Timeline) -> list[str]:
    """The changes of one part, the newest first; or that there is none."""
    if timeline.verdict == "too few":
        missing = max(1, FEWEST - len(timeline.points))
        return [f"{plural(missing, 'more campaign is', 'more campaigns are')} needed before a change can be detected."]
    found = [_change(timeline, change) for change in reversed(timeline.changes)]
    return found or [f"{SUBJECTS[timeline.part]}: no change shown."]


def story(timelines: Sequence[Timeline]) -> list[str]:
    """The changes of all parts, and what would be seen; once where all parts say the same."""
    sentences = [sentence for timeline in timelines for sentence in told(timeline)]
    return [*dict.fromkeys(sentences), *_smallest(timelines)]


def _change(timeline: Timeline, change: Change) -> str:
    verb = "rose" if change.ratio > 1 else "fell"
    size = per_cent(abs(change.ratio - 1))
    ends = sorted(abs(end - 1) for end in (change.low, change.high))
    when = _when(timeline, change.at)
    sentence = f"{SUBJECTS[timeline.part]} {verb} by {size} ({per_cent(ends[0])} to {per_cent(ends[1])}) on {when}."
    if not change.differs:
        return f"{sentence} No recorded fact changed there."
    facts = "; ".join(change.differs[:MOST_FACTS])
    more = f"; {len(change.differs) - MOST_FACTS} more" if len(change.differs) > MOST_FACTS else ""
    return f"{sentence} What changed there: {facts}{more}."


def _when(timeline: Timeline, at: int) -> str:
    """The day; with the time where the campaign before was made on that day too."""
    time = timeline.points[at].time
    alone = at == 0 or day(timeline.points[at - 1].time) != day(time)
    return day(time) if alone else f"{moment(time)} UTC"


def _smallest(timelines: Sequence[Timeline]) -> list[str]:
    known = [(SHORT[timeline.part], timeline.smallest) for timeline in timelines if timeline.smallest is not None]
    if not known:
        return []
    drops = ", ".join(f"{per_cent(drop)} of {name}" if len(known) > 1 else per_cent(drop) for name, drop in known)
    return [f"The next campaign would show a drop of {drops} 4 times in 5."]


def chance(timelines: Sequence[Timeline]) -> str:
    """How often a look says that something changed where nothing did."""
    share = per_cent(sum(timeline.false_alarms for timeline in timelines))
    return f"Where nothing changed, a look says so wrongly with a chance of {share}."


def left_out(timelines: Sequence[Timeline]) -> list[str]:
    """Which campaigns are no part of it, and why."""
    names = timelines[0].left_out if timelines else ()
    if not names:
        return []
    shown = ", ".join(names[:MOST_FACTS]) + (f" and {len(names) - MOST_FACTS} more" if len(names) > MOST_FACTS else "")
    return [f"Left out, as they share no load with the newest campaign: {shown}."]
