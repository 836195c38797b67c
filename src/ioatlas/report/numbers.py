# SPDX-License-Identifier: Apache-2.0
"""The numbers of an answer in words: the same on the screen, in what is pasted elsewhere, and on the card; and the
answer that a report holds, for lists of many campaigns, of which none is computed again.
"""

from __future__ import annotations

import json
import shlex
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from ioatlas.answer.analysis.best import NUMBER_WIDTH
from ioatlas.answer.analysis.wording import plural
from ioatlas.answer.results.library import REPORT
from ioatlas.model.estimate import UNDETERMINED
from ioatlas.model.summary import Advice, Beside, Headline, LoadReading, SmallIo, Summary, Trust
from ioatlas.model.units import (
    format_count,
    format_duration,
    format_latency,
    format_rate,
    format_size,
    format_size_rounded,
    per_cent,
)
from ioatlas.report.findings import next_step
from ioatlas.report.small_map import WRITTEN


def title_of(summary: Summary) -> str:
    """'disk · quick · 24 cells over 256 MiB · 52 s'"""
    cells = plural(summary.n_cells, "cell")
    if summary.n_estimated:
        cells = f"{summary.n_measured:,} measured + {summary.n_estimated:,} estimated of {cells}"
    elif summary.n_imported and not summary.n_measured:
        cells += " imported"
    elif summary.n_measured < summary.n_cells:
        cells = f"{summary.n_measured:,} of {cells}"
    if summary.sizes:
        cells += f" over {' to '.join(map(format_size, dict.fromkeys((summary.sizes[0], summary.sizes[-1]))))}"
        cells += f" of {format_size_rounded(summary.whole_bytes)}" if summary.whole_bytes > summary.sizes[-1] else ""
    took = format_duration(summary.seconds) if summary.seconds else ""
    parts = (summary.name, summary.profile, cells, took, "" if summary.complete else "not finished")
    return " · ".join(filter(None, parts))


def next_line(advice: Sequence[Advice], place: Path | None, shown: str = "") -> str:
    """The next step with what to paste between backticks, whole: a campaign that is to be run again as the line that
    does so, into the next directory beside it, after what else is to be done. place: the campaign's directory, None
    where there is none; shown: as the user named it, else its name alone, for a report names no place.
    """
    step = next_step(advice)
    if place is None or not (place / "campaign.toml").is_file():
        return step
    shown = shown or place.name
    again = [one for one in advice if one.code in ("again", "idle")]
    first = next_step(one for one in advice if one not in again).replace("DIR", shlex.quote(shown))
    if not again:
        return first
    free = next((f"{shown}-{n}" for n in range(2, 100) if not place.with_name(f"{place.name}-{n}").exists()), shown)
    options = [word for one in again for word in str(one.values.get("options", "")).split()]
    line = shlex.join(["ioatlas", "map", "--campaign", f"{shown}/campaign.toml", *options, "-o", free])
    gain = step[step.find(" (") :] if step.endswith(")") else ""
    first += ", then " * bool(first) + "when idle: " * any(one.code == "idle" for one in again)
    return f"{first}`{line}`{gain}"


def value_of(one: Headline) -> str:
    return " ".join(filter(None, parts_of(one)))


def parts_of(one: Headline) -> tuple[str, str]:
    """('113 MiB/s', '±2%'): the number with its unit, and how sure it is; '' where nothing tells. A lopsided interval
    is told by its ends.
    """
    wide = one.uncertainty
    text: Callable[[float], str] = {
        "bw_bytes_per_s": format_rate,
        "iops": lambda value: f"{format_count(value)} {one.unit or 'IOPS'}",
        "lat_mean_ns": format_latency,
    }[one.quantity]
    number = text(one.value)
    if wide is None:  # without an interval the number of runs tells what it is worth
        told = f"({plural(one.n_visits, 'run')})" if one.n_visits and not one.estimated else ""
    else:
        vague = "(runs disagree)" if one.n_visits > 1 else "(one run tells too little)"
        told = f"±{per_cent(wide)}" if wide <= NUMBER_WIDTH else vague
        if one.lopsided and wide <= NUMBER_WIDTH:
            told = f"({text(one.low or 0.0)} to {text(one.high or 0.0)})"
    return f"{'~' if one.estimated else '≥' if one.lower_bound else ''}{number}", f"{told}{held_for(one)}".strip()


def held_for(one: Headline | LoadReading) -> str:
    """' for 1 s', of a number of which nobody knows whether it lasts longer."""
    return "" if one.held_seconds is None else f" for {format_duration(one.held_seconds)}"


def where_of(one: Headline) -> str:
    facts = {one.tie: True, "the target may do more": one.lower_bound, "estimated": one.estimated}
    notes = [fact for fact, holds in facts.items() if fact and holds]
    told = f"{one.where} ({'; '.join(notes)})" if notes else one.where
    return " · ".join(filter(None, (told, one.grade, named(one.limit))))


def named(limit: str) -> str:
    """A limit where one is told."""
    return limit if limit != UNDETERMINED else ""


def small_of(io: SmallIo) -> str:
    """'41.8 k IOPS, 16 in flight; alone 129 µs, p99 272 µs · low': most IOPS, the times of the lightest load (its
    IOPS where none are known), the worse grade of both, and what limits the former.
    """
    one, best = io.lightest, io.best
    text = f"{'~' if best.estimated else ''}{format_count(best.iops)} IOPS{held_for(best)}"
    text += f", {best.in_flight} in flight" if best.in_flight else ""
    times = [format_latency(one.lat_mean_ns)] if one.lat_mean_ns else []
    times += [f"p99 {format_latency(one.lat_p99_ns)}"] if one.lat_p99_ns else []
    times = times or [f"{format_count(one.iops)} IOPS"] * (one.cell != best.cell)
    if times:
        alone = "; alone " if one.in_flight == 1 else f"; {one.in_flight} in flight: " if one.in_flight else "; "
        text += f"{': ' if one.cell == best.cell else alone}{'~' if one.estimated else ''}{', '.join(times)}"
    grades = [load.grade for load in (one, best) if load.grade is not None]
    return " · ".join(
        filter(None, (text, *([max(grades, key=list(Trust).index)] if grades else []), named(best.limit)))
    )


UNLIKE = 1.5
"""Times as fast or slow: from there on it is told what writes do alone."""


def beside_of(one: Beside) -> str:
    """'212 IOPS · 4.7 ms, p99 9 ms', 'a 4 KiB read takes 41 ms (p99 80 ms) instead of 1.1 ms, beside 19 MiB/s of
    writes'.
    """
    latency = format_latency(one.reading.lat_mean_ns or 0.0)
    p99 = f"p99 {format_latency(one.reading.lat_p99_ns)}" if one.reading.lat_p99_ns else ""
    if one.writes_bytes_per_s is None:
        return f"{format_count(one.reading.iops)} IOPS · {', '.join(filter(None, (latency, p99)))}"
    alone, writes = format_latency(one.alone_ns or 0.0), format_rate(one.writes_bytes_per_s)
    waits = alone != latency and (one.reading.lat_mean_ns or 0.0) > (one.alone_ns or 0.0)
    before = f" instead of {alone}," if one.alone_ns and waits else ""
    after = f", no longer than alone ({alone})" if one.alone_ns and not waits else ""
    takes = f"{latency} ({p99})" if p99 else latency
    ratio = one.writes_bytes_per_s / (one.lasting_bytes_per_s or one.writes_bytes_per_s)
    if not 1 / UNLIKE < ratio < UNLIKE:
        told = format_rate(one.lasting_bytes_per_s or 0.0)
        writes += f" of writes (in a burst; {told} last)" if ratio > 1 else f" of writes (alone {told})"
    else:
        writes += " of writes"
    return f"a {format_size(one.bs_bytes)} read takes {takes}{before} beside {writes}{after}"


DATA_ELEMENT_ID = "ioatlas-data"
"""Of the element of a page that holds its data."""
_MOST_BYTES = 4 << 20
"""Of a report that is read for this: one of many thousand cells is opened for itself."""
MOST_LETTERS = 200


def answer_of(directory: Path, since: float) -> dict[str, str]:
    """What the report in a campaign's directory says, as `answer_in` has it. Empty where there is none that is as new
    as `since`, seconds since the epoch.
    """
    path = directory / REPORT
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_mtime < since or status.st_size > _MOST_BYTES:
            return {}
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return {}
    return answer_in(text.partition(f'id="{DATA_ELEMENT_ID}">')[2].partition("</script>")[0])


def answer_in(data: str) -> dict[str, str]:
    """`read`, `write`, `small` (IOPS of 4 KiB random reads), `trust`, `why` it is no better and `map` (of
    `report.small_map`) as the data of a report have them, JSON that anybody may have written; what they do not have is
    left out. Empty of anything else.
    """
    try:
        told = json.loads(data)
        summary, drawn = told["summary"], told.get("thumbnail")
        found = {
            {"Best read": "read", "Best write": "write"}.get(one["label"]): _number(format_rate, one["value"], **one)
            for one in reversed(summary["headlines"])
        }
        for one in summary.get("small", ()):
            if (one["bs_bytes"], one["direction"]) == (4096, "read"):
                found.setdefault("small", _number(format_count, one["best"]["iops"], **one["best"]))
        found |= {"map": drawn} if drawn is not None and WRITTEN.fullmatch(drawn) else {}
        why = [str(one["sentence"])[:MOST_LETTERS] for one in summary.get("doubts", ())]
        found |= {"trust": str(Trust(summary["trust"])), "why": next(iter(why), "")}
        return {name: text for name, text in found.items() if name}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _number(
    form: Callable[[float], str], number: float, /, *, estimated: bool, lower_bound: bool = False, **_: object
) -> str:
    if not 0 <= number < 1e15:
        raise ValueError("no number of a target")
    return f"{'~' if estimated else '≥' if lower_bound else ''}{form(number)}"
