# SPDX-License-Identifier: Apache-2.0
"""What a target's history says, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ioatlas.analysis.timeline import Change, Part, Timeline
from ioatlas.analysis.wording import per_cent, plural
from ioatlas.stats.steps import FEWEST

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
        return [f"{plural(missing, 'more campaign is', 'more campaigns are')} needed before a change can be told."]
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
