# SPDX-License-Identifier: Apache-2.0
"""The first screen of a campaign, computed from its result: headline numbers, small I/O, limits, trust, the next step.

The terminal and the report's page draw the same model, so that they cannot disagree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TypeVar

from ioatlas.answer.analysis.best import (
    NUMBER_WIDTH,
    Best,
    Group,
    best_of,
    client_limited,
    disagrees,
    groups,
    speed,
    tie_words,
    usable,
)
from ioatlas.answer.analysis.imported_answer import SMALL_BYTES, in_flight, named, operation_of, rivals, small_ones
from ioatlas.answer.analysis.trust import GOOD_WIDTH, IDLE, again, badge, doubts_of
from ioatlas.answer.analysis.wording import Namer, plural, size_text
from ioatlas.model.cell import FLUSHES
from ioatlas.model.estimate import UNDETERMINED, Estimate
from ioatlas.model.finding import Value
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import (
    Advice,
    Beside,
    Count,
    Doubt,
    DoubtCode,
    Headline,
    LoadReading,
    SmallIo,
    Summary,
    Trust,
)
from ioatlas.model.units import format_rate, grouped, parse_duration_seconds

One = TypeVar("One")
MOST_SMALL_BYTES = 64 << 10
"""The latency of 4 KiB is told, or of the nearest block size up to this."""
FEWEST_IOS_OF_P99 = 100
_BUDGET = "--budget "
UNCLEAR = 0.5
"""Share of values whose limit is unclear from which the next step is to find it."""


def summarise(result: CampaignResult) -> Summary:
    """Pure: equal results give equal summaries."""
    estimates = result.estimates
    cells = [*(e.cell for e in estimates), *(u.cell for u in result.unmeasured)]
    namer = Namer(cells, [target.name for target in result.targets], tuple(result.axes))
    kinds: dict[str, set[str]] = defaultdict(set)
    for e in estimates:
        kinds[e.kind].add(e.cell.key)
    if result.headlines is None:
        headlines = tuple(_headlines(result, estimates, namer))
    else:
        headlines = _best(result.headlines, lambda one: (one.label, not one.cell and one.where), lambda one: one.value)
    small = () if not result.has_small else tuple(small_io(estimates, namer))
    if result.configurations:
        headlines = _best(headlines, lambda one: (one.direction, one.quantity), lambda one: one.value)
    if result.configurations or all(e.kind == "imported" for e in result.estimates):
        small = _best(small, lambda one: (one.rw, one.direction), lambda one: one.best.iops)
    doubts = doubts_of(result, headlines, small)
    bottlenecks = _bottlenecks(estimates)
    return Summary(
        name=_name(result),
        profile=str(result.settings.get("profile", "")),
        seconds=result.seconds,
        n_cells=len({cell.key for cell in cells}),
        n_measured=len(kinds["measured"]),
        n_estimated=len(kinds["predicted"] - kinds["measured"]),
        n_imported=len(kinds["imported"]),
        n_visits=result.n_visits,
        complete=result.complete,
        trust=badge(doubts),
        doubts=doubts,
        headlines=headlines,
        small=small,
        bottlenecks=bottlenecks,
        next_step=tuple(_next_step(doubts, headlines, bottlenecks, result)),
        beside=tuple(_beside(result, namer)),
        sizes=tuple(sorted({e.cell.size_bytes for e in estimates if e.kind == "measured" and not e.cell.trace} - {0})),
        whole_bytes=max((target.size_bytes or 0 for target in result.targets), default=0),
    )


def _name(result: CampaignResult) -> str:
    """Without the profile, which a campaign's default name ends with."""
    profile = result.settings.get("profile", "")
    return (result.name or result.campaign_id).removesuffix(f" ({profile})")


def _best(found: Iterable[One], place: Callable[[One], object], value: Callable[[One], float]) -> tuple[One, ...]:
    """Of each place the best one only: what other configurations or sets reach is told elsewhere."""
    best: dict[object, One] = {}
    for one in found:
        if place(one) not in best or value(one) > value(best[place(one)]):
            best[place(one)] = one
    return tuple(best.values())


# -- headlines -----------------------------------------------------------------------------------------------


def _headlines(result: CampaignResult, estimates: Sequence[Estimate], namer: Namer) -> Iterator[Headline]:
    """The best of the cells, which are picked anew where some are left out or doubted."""
    for group, members in groups(estimates).items():
        best = best_of(members)
        if best is not None:
            yield _of_map(group, best, estimates, namer)
    if not any(e.kind == "measured" for e in estimates):
        yield from _of_imported(result, estimates, namer)


def _of_map(group: Group, best: Best, estimates: Iterable[Estimate], namer: Namer) -> Headline:
    """The best measured value, or an estimate of the model that is clearly higher."""
    e = best.peak
    predicted = [
        p for p in estimates if p.kind == "predicted" and (p.cell.target, p.direction) == group and p.bw_low is not None
    ]
    top = max(predicted, key=speed, default=None)
    if top is not None and top.bw_low is not None and top.bw_low > speed(e):
        return replace(_headline(group, top, namer), estimated=True)
    return replace(
        _headline(group, e, namer),
        tie=tie_words(best, namer) or _left_out(best),
        ties=tuple(one.cell.key for one in best.ties),
        first=e.bw_first,
    )


def _left_out(best: Best) -> str:
    """Why the map may show more than the headline: what is faster and may not be named."""
    if not best.higher:
        return ""
    suspect = [not usable(one) for one in best.higher]
    why = "suspect" if all(suspect) else "doubtful" if any(suspect) else "unsteady"
    told = plural(len(best.higher), f"faster, {why} cell")
    return f"leaves out {told} of up to {format_rate(max(map(speed, best.higher)))}"


def _headline(group: Group, e: Estimate, namer: Namer) -> Headline:
    target, direction = group
    return Headline(
        label=f"Best {direction}{namer.on(target)}",
        target=target,
        direction=direction,
        quantity="bw_bytes_per_s",
        value=speed(e),
        low=e.bw_low,
        high=None if e.outrun else e.bw_high,
        where=namer.short(e.cell),
        cell=e.cell.key,
        n_visits=e.n_visits,
        lower_bound=e.outrun or client_limited(e),
        limit=e.limit.resource if e.limit else "",
        limit_probability=e.limit.probability if e.limit else None,
        grade=e.grade,
        held_seconds=e.held_seconds,
    )


def _of_imported(result: CampaignResult, estimates: Sequence[Estimate], namer: Namer) -> Iterator[Headline]:
    """The highest reading of each direction over all sets, or the rates of what moves no data. One that went through
    the client's page cache outranks none that did not.
    """
    told = rivals(estimates) or [e for e in estimates if e.kind == "imported"]
    buffered = {name for name, facts in result.methods.items() if facts.get("page cache") == "buffered"}
    best = {e.direction: e for e in sorted(told, key=lambda e: (e.cell.target not in buffered, speed(e))) if speed(e)}
    for direction in sorted(best, key=lambda one: (one not in ("read", "write"), one)):
        e = best[direction]
        faster = sum(one.direction == direction and speed(one) > speed(e) for one in estimates)
        why = f"{faster:,} faster not ranked: smaller file, cache or contradiction"
        one = _headline((e.cell.target, direction), e, namer)
        yield replace(one, label=f"Best {direction}", where=named(e, namer), tie=why if faster else "")
    rates = {} if best else {operation_of(e): e for e in sorted(told, key=lambda e: e.iops or 0.0) if e.iops}
    for name, e in rates.items():
        where = f"{namer.short(e.cell, without=('operation',))}{namer.on(e.cell.target)}"
        yield Headline(
            name.capitalize(),
            e.cell.target,
            e.direction,
            "iops",
            e.iops or 0.0,
            where=where,
            cell=e.cell.key,
            unit="ops/s",
        )


# -- small I/O, limits, doubtful cells -----------------------------------------------------------------------


def small_io(estimates: Sequence[Estimate], namer: Namer) -> Iterator[SmallIo]:
    """For each target and direction: random I/O where the sweep has it, of the block size nearest to 4 KiB."""
    for (target, direction), members in _small_groups(estimates).items():
        random = [e for e in members if e.cell.rw.startswith("rand")]
        chosen = random or members
        bs = min({e.cell.bs_bytes for e in chosen}, key=lambda size: abs(size - SMALL_BYTES))
        chosen = [e for e in chosen if e.cell.bs_bytes == bs]
        if bs > MOST_SMALL_BYTES:
            continue
        lightest = min(chosen, key=lambda e: (in_flight(e), e.kind != "measured", -(e.iops or 0.0)))
        best = max([e for e in chosen if e.kind == "measured"] or chosen, key=lambda e: e.iops or 0.0)
        rw = lightest.cell.rw
        word = f"{'random ' if rw.startswith('rand') else ''}{direction}"
        on = "" if lightest.kind == "imported" else namer.on(target)
        yield SmallIo(f"{size_text(bs)} {word}{on}", target, direction, rw, bs, _reading(lightest), _reading(best))


def _beside(result: CampaignResult, namer: Namer) -> Iterator[Beside]:
    """Writes with their flush, where one was seen; reads under writes, where the same reads alone are a value."""
    seen = {e.cell.key: e for e in result.estimates}
    found = {(e.cell.target, bool(e.cell.streams), e.direction): e for e in result.beside if e.n_visits and e.iops}
    for (target, together, direction), e in found.items():
        small, writes = e.cell.members[0], found.get((target, together, "write"))
        alone = seen.get(replace(small, options=tuple(one for one in small.options if one[0] not in FLUSHES)).key)
        able = alone is not None and usable(alone) and direction == "read" if together else e.lat_kind == "flushed"
        if writes is None or not able:
            continue
        few = (e.iops or 0.0) * (e.window_seconds or 0.0) < FEWEST_IOS_OF_P99
        reading = replace(_reading(e), in_flight=1, lat_p99_ns=None if few else e.lat_p99_ns)
        mean = alone.lat_mean_ns if alone is not None and not disagrees(alone) else None
        if alone is not None and mean and not together and 0 < (alone.iops or 0.0) < reading.iops:
            reading = replace(reading, iops=alone.iops or 0.0, lat_mean_ns=mean)  # what credit gave does not last
        label = f"{'Under writes' if together else f'{size_text(small.bs_bytes)} + flush'}{namer.on(target)}"
        rate = writes.bw_bytes_per_s if together else None
        full = seen.get(e.cell.members[-1].key) if together else None
        lasting = full.bw_bytes_per_s if full is not None and not disagrees(full) else None
        yield Beside(label, target, direction, small.bs_bytes, reading, mean if together else None, rate, lasting)


def _small_groups(estimates: Sequence[Estimate]) -> dict[Group, list[Estimate]]:
    found: dict[Group, list[Estimate]] = defaultdict(list)
    imported = [] if any(e.kind == "measured" for e in estimates) else small_ones(estimates)
    for e in (*imported, *(e for e in estimates if e.kind != "imported")):
        able = e.kind == "predicted" or (e.kind == "measured" and usable(e)) or e.kind == "imported"
        if able and e.iops and len(e.cell.directions) == 1 and not e.cell.streams and not disagrees(e):
            found[e.cell.target, e.direction].append(e)
    return found


def _reading(e: Estimate) -> LoadReading:
    return LoadReading(
        e.cell.key,
        in_flight(e),
        e.iops or 0.0,
        e.lat_mean_ns,
        e.lat_p99_ns,
        estimated=e.kind == "predicted",
        grade=e.grade,
        limit=e.limit.resource if e.limit is not None else "",
        held_seconds=e.held_seconds,
    )


def _bottlenecks(estimates: Iterable[Estimate]) -> tuple[Count, ...]:
    found = grouped((e.limit.resource, e.limit) for e in estimates if e.limit is not None and e.kind == "measured")
    ranked = sorted(found.items(), key=lambda item: (item[0] == UNDETERMINED, -len(item[1])))
    stated = {name: [one.probability for one in limits if one.probability is not None] for name, limits in ranked}
    return tuple(Count(name, len(limits), fmean(stated[name]) if stated[name] else None) for name, limits in ranked)


def _next_step(
    doubts: Sequence[Doubt], headlines: Sequence[Headline], bottlenecks: Sequence[Count], result: CampaignResult
) -> list[Advice]:
    """What the two worst doubts ask for; without a doubt, what would be worth knowing."""
    if own := result.next_step:  # options of a map would say nothing there
        return [replace(own, values={**own.values, "idle": any(doubt.advice == IDLE for doubt in doubts)})]
    worst = [doubt for doubt in doubts if doubt.level is Trust.LOW] or doubts
    chosen = _advice_of(worst)[:2] or _advice_of(doubts)[:1]
    skipped = next((doubt.advice for doubt in doubts if doubt.code is DoubtCode.SKIPPED), None)
    if skipped and skipped not in chosen:
        # Within the same budget longer windows leave out still more.
        chosen = [*[one for one in chosen if "--window" not in str(one.values)][:1], skipped]
    if chosen:
        gain = _gain(doubts, headlines, chosen)
        *before, last = _of_the_longest(chosen)
        return [*before, replace(last, values={**last.values, **gain})]
    total = sum(one.count for one in bottlenecks)
    unclear = sum(one.count for one in bottlenecks if one.name == UNDETERMINED)
    if total and unclear > UNCLEAR * total:
        return [again("--budget 5m --numjobs 1,2,4,8,16,32 --bs 4k,64k,1m")]
    compared = result.shown_as == "tables" or any(e.kind == "imported" for e in result.estimates)
    return [Advice("compare" if compared else "fit")]


def _advice_of(doubts: Iterable[Doubt]) -> list[Advice]:
    given = [doubt.advice for doubt in doubts if doubt.advice]
    return [one for n, one in enumerate(given) if one not in given[:n]]


def _gain(doubts: Iterable[Doubt], headlines: Iterable[Headline], advice: Sequence[Advice]) -> Mapping[str, Value]:
    """What four times the time leaves of the widest interval of a main number: half of it."""
    longer = any(doubt.advice in advice for doubt in doubts if doubt.code is DoubtCode.NUMBER)
    wide = max((one.uncertainty for one in headlines if one.uncertainty), default=0.0)
    return {"width": wide, "half": wide / 2} if longer and GOOD_WIDTH < wide <= NUMBER_WIDTH else {}


def _of_the_longest(advice: Sequence[Advice]) -> list[Advice]:
    """Of several budgets the longest one counts."""
    options = (str(one.values.get("options", "")) for one in advice)
    budgets = [text for text in options if text.startswith(_BUDGET)]
    if len(budgets) < 2:
        return list(advice)
    longest = again(max(budgets, key=lambda text: parse_duration_seconds(text.removeprefix(_BUDGET))))
    return [
        longest if one.values.get("options") == budgets[0] else one
        for one in advice
        if one.values.get("options") not in budgets[1:]
    ]
