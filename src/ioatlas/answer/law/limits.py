# SPDX-License-Identifier: Apache-2.0
"""What limits a cell, read off the law: the part that takes most of an I/O's time; and credit that ran out."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from ioatlas.answer.law.course import FALL, Floats
from ioatlas.answer.law.fit import DRAWS, Fit
from ioatlas.answer.law.model import Loads, device_times
from ioatlas.answer.law.told import bursts, fastest, tell
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Limit
from ioatlas.model.finding import Finding, FindingCode, Value
from ioatlas.model.units import format_count, format_rate

LIKELY = 0.95
"""How probable a limit must be to be named."""
MOST_SURE = 0.99
"""How sure a law can make anybody: it may lack a part."""
DEVICE = ("latency", "target IOPS", "target bandwidth")
LIMITERS = {
    ("bytes", False): "rate limit in bytes",
    ("ios", False): "rate limit in I/Os",
    ("bytes", True): "rate limit per job in bytes",
    ("ios", True): "rate limit per job in I/Os",
}
KINDS = dict(zip(DEVICE, ("latency", "ios", "bytes"), strict=True)) | {
    name: unit for (unit, _), name in LIMITERS.items()
}
"""What a limit is of: one in bytes is one, be it a throttle or the device."""
KIND_WORDS = {"latency": "latency", "ios": "I/Os a second", "bytes": "bytes a second"}


def limit_of(fit: Fit, cell: Cell, direction: str) -> Limit:
    told = tell(fit, cell, direction)
    kinds = _chances(fit, cell, direction)
    second, kind = sorted(KIND_WORDS, key=lambda one: kinds[one])[-2:]
    if (sure := kinds[kind]) < LIKELY:
        text = f"{KIND_WORDS[kind]} ({sure:.0%}) or {KIND_WORDS[second]} ({kinds[second]:.0%})"
        return Limit(evidence=(f"{text}: what was seen would look much alike under either",))
    times = {name: float(logs[0]) for name, logs in _times(fit, fit.theta[None, :], cell, direction).items()}
    name = max((one for one in times if KINDS[one] == kind), key=lambda one: times[one])
    rival = max((one for one in times if KINDS[one] != kind), key=lambda one: times[one])
    most = max(math.exp(-times[name]), 0.0 if name == "latency" else told.value)
    text = _evidence(name, most, cell)
    if not told.by_law and told.off and round(told.off, 2):
        text += f", by the law of the target, from which its loads differ by {math.expm1(told.off):+.0%}"
    behind = math.exp(min(0.0, times[rival] - times[name]))
    most_bytes = None if name == "latency" else most * cell.bs_bytes
    return Limit(name, None, rival, behind, (text,), MOST_SURE * sure, most_bytes)


def _times(fit: Fit, theta: Floats, cell: Cell, direction: str) -> dict[str, Floats]:
    """Logarithm of the seconds that an I/O takes by each part, shapes (points,) of theta (points, parameters)."""
    device = device_times(fit.shape, theta, Loads.of([(cell, direction)], fit.shape.ways))
    found = {name: logs[:, 0] for name, logs in zip(DEVICE, device, strict=True)}
    for number, limiter in enumerate(fit.shape.limiters):
        if limiter.covers(direction):
            rate, ios = (np.log(fit.shape.value(theta, f"{number}.{part}")) for part in ("rate", "peak"))
            size = math.log(limiter.size(cell))
            cache = {"target IOPS": -ios, "target bandwidth": size - rate}  # it is the medium behind it that limits
            for name, logs in (
                cache.items() if limiter.unit == "cache" else [(LIMITERS[limiter.unit, limiter.each], size - rate)]
            ):
                found[name] = np.maximum(found.get(name, logs), logs)
    return found


def _chances(fit: Fit, cell: Cell, direction: str) -> Mapping[str, float]:
    """How probable it is of each kind of part that one of it takes most of an I/O's time: over draws from the posterior
    of the law and of its rivals.
    """
    found: defaultdict[str, float] = defaultdict(float)
    for law, odds in fit.odds:
        times = _times(law, law.draws, cell, direction)
        kinds = [KINDS[name] for name in times]
        for place in np.argmax(list(times.values()), axis=0):
            found[kinds[place]] += odds / DRAWS
    return found


def _evidence(name: str, most: float, cell: Cell) -> str:
    """most: I/Os a second that the part lets through."""
    if name == "latency":
        return f"an I/O alone takes {1000 * cell.outstanding / most:.3g} ms; more in flight gives more"
    if name not in DEVICE:
        return "loads fell to this rate once their credit was used up"
    words = f"makes {format_count(most)} IOPS" if KINDS[name] == "ios" else f"moves {format_rate(most * cell.bs_bytes)}"
    return f"the target {words} at most"


# -- credit --------------------------------------------------------------------------------------------------


def burst_findings(fits: Mapping[str, Fit]) -> tuple[Finding, ...]:
    """What a target does after a pause, for how long, and when it can again."""
    found = []
    for target, fit in fits.items():
        if values := _over_time(fit):
            found.append(Finding(FindingCode.BURST, values, target=target))
            continue
        for limiter, at in bursts(fit):
            # Every rival has such a one too; of one block size nobody knows whether bytes are limited or I/Os.
            alike = [{(one.ways, one.refills, one.each) for one in rival.shape.limiters} for rival in fit.rivals]
            if not all((limiter.ways, limiter.refills, limiter.each) in rival for rival in alike):
                continue
            mine = [one for one in fit.courses if one.taught and limiter.covers(one.direction)]
            fast = {one.direction for one in mine if one.before * limiter.size(one.cell) > FALL * at.rate}
            if not fast:  # what no load outran is not told of its direction
                continue
            unit = "IOPS" if limiter.unit == "ios" else "B/s"
            values = {
                "ways": [f"{way}s" for way in limiter.ways if way in fast],
                "then": {"value": at.rate, "unit": unit},
                "each": limiter.each,
            }
            if limiter.unit == "cache":
                # Filled by the smallest blocks.
                values["back_seconds"] = at.size / min(at.rate, at.peak * min(one.bs for one in mine))
                values["small_iops"] = at.peak
                seen = max(one.before * one.bs for one in mine)
            else:
                values["back_seconds"] = at.size / at.rate if limiter.refills else None
                seen = fastest(limiter, at, mine)
            values["fast"] = {"value": seen, "unit": unit}
            first = _runs_fast(at.size, at.rate, seen) if limiter.refills else at.size
            values["first"] = {"value": first, "unit": "I/Os" if limiter.unit == "ios" else "B"}
            direction = min(fast) if len(fast) == 1 else ""
            found.append(Finding(FindingCode.BURST, values, target=target, direction=direction))
    return tuple(found)


def _runs_fast(credit: float, lasting: float, fast: float) -> float:
    """What runs fast on a credit: more than that, since it comes back at the lasting rate while it is used."""
    return credit / (1 - lasting / fast)


RECOVERED, NOT_AT_ALL = 0.9, 0.05
"""Shares of what was fast at first that are fast again after a rest."""


def _over_time(fit: Fit) -> Mapping[str, Value]:
    """What loads that go through their file once, one after another with rests between them, show of their one cell:
    where it falls, to what, and what came back in a rest. Nothing of other loads.
    """
    mine = [course for course in fit.courses if course.taught]
    if len({one.cell.key for one in mine if one.visit_id}) > 1 or not mine[-1].cell.work_bounded:
        return {}
    first, *later = mine[next((place for place, one in enumerate(mine) if one.fell), -1) :]
    values: dict[str, Value] = {"moved_bytes": int(first.moved * first.bs), "bw_bytes_per_s": first.tail * first.bs}
    if not first.fell:
        return values
    fast = float(first.rates[: first.kink].max())
    credit = _runs_fast(first.excess * first.bs, first.tail, fast)
    values |= {"noun": f"{first.direction}s", "fast_bytes_per_s": fast * first.bs, "first_bytes": int(credit)}
    for again in later[:1]:
        pause = again.start - first.start - first.ended
        back = again.excess * again.bs / (first.excess * first.bs)
        back = back if again.fell else float(again.tail > FALL * first.tail)
        values |= {
            "pause_seconds": pause,
            "back": "none" if back <= NOT_AT_ALL else "all" if back >= RECOVERED else "some",
        }
        values |= {"back_bytes": int(back * credit), "whole_seconds": pause / max(back, NOT_AT_ALL)}
    return values
