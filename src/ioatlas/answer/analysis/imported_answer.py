# SPDX-License-Identifier: Apache-2.0
"""What imported readings answer: which of them may stand for their set, what was lost on the way, and how the figures
came about, as far as their sources tell. Readings that the user called repeats by a label become one estimate with
mean, standard deviation and interval.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ioatlas.answer.analysis.wording import Namer
from ioatlas.model.estimate import Estimate
from ioatlas.model.imported_reading import ImportedReading, Labelled
from ioatlas.model.units import format_count, format_duration, format_latency, format_rate, grouped
from ioatlas.stats.intervals import t_half_width

CACHED_BY_DESIGN = "record rewrite"
"""An operation of IOzone: one record again and again, which the nearest cache takes."""
UNSOUND = ("contradiction", "the run failed")
"""A note with one of these says that the figures cannot all be right."""
SETS, LOADS = "Sets", "Loads"
"""Titles of the table with a line for each set, or for each load of a set that makes no map."""
_PLACE = re.compile(r"(.*?): ")
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\S*\d\S*(?: (?:[kMG]|[KMGT]?i?B(?:/s)?|[nµm]?s)\b)?")
_MOST_TEXT = 70
SMALL_BYTES = 4096


def operation_of(e: Estimate) -> str:
    return str(e.cell.option.get("operation") or e.cell.option.get("rw") or e.direction)


def _size(e: Estimate) -> int:
    size = e.cell.option.get("size")
    return size if isinstance(size, int) else 0


def unsound(e: Estimate) -> bool:
    """Whether its figures contradict each other, or its run failed: it ranks nowhere."""
    return any(word in note for note in e.notes for word in UNSOUND)


def rivals(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Those that may stand for their sets: no figures that contradict each other, nothing that a cache answers by
    design, and of each operation the largest file, which caches hold least of.
    """
    found = [e for e in estimates if e.kind == "imported"]
    sound = [e for e in found if operation_of(e) != CACHED_BY_DESIGN and not unsound(e)]
    largest: dict[tuple[str, str, str], int] = {}
    for e in sound:
        key = (e.cell.target, e.direction, operation_of(e))
        largest[key] = max(largest.get(key, 0), _size(e))
    return [e for e in sound if _size(e) in (0, largest[e.cell.target, e.direction, operation_of(e)])]


def small_ones(estimates: Iterable[Estimate]) -> list[Estimate]:
    """4 KiB random I/O with its rate of I/Os, which follows from bytes where it is not told."""
    return [
        e if e.iops else replace(e, iops=(e.bw_bytes_per_s or 0.0) / SMALL_BYTES)
        for e in rivals(estimates)
        if e.cell.option.get("bs") == SMALL_BYTES and str(e.cell.option.get("rw", "")).startswith("rand")
    ]


def named(e: Estimate, namer: Namer, *, everything: bool = False) -> str:
    """'strided read, 256 KiB, 1 job on iozone 3.489': what the direction and the block size do not tell, or all."""
    operation = operation_of(e)
    told = operation in (e.direction, e.cell.option.get("rw")) or operation.endswith("not told")
    first = f"{operation}, " if everything or not told else ""
    return f"{first}{namer.short(e.cell, without=('operation',))}{namer.on(e.cell.target)}"


def in_flight(e: Estimate) -> int:
    """I/Os in flight; 0 where another tool's file tells neither jobs nor depth."""
    return e.cell.outstanding if e.kind != "imported" or {"numjobs", "iodepth"} & e.cell.option.keys() else 0


def by_kind(remarks: Sequence[str]) -> list[str]:
    """Remarks of the form `FILE:LINE: what`, those alike but for names and numbers together: the most frequent first,
    each with where the first one stands.
    """
    kinds: Counter[str] = Counter()
    first: dict[str, str] = {}
    for remark in remarks:
        place = _PLACE.match(remark)
        what = remark[place.end() :] if place else remark
        kind = _VARYING.sub("#", what)
        kinds[kind] += 1
        short = what if len(what) <= _MOST_TEXT else f"{what[:_MOST_TEXT].rpartition(' ')[0]} …"
        first.setdefault(kind, f"{short} ({place[1].rpartition('/')[2]})" if place else short)
    return [f"{n:,} × {first[kind]}" if n > 1 else first[kind] for kind, n in kinds.most_common()]


UNKNOWN = "not told"
_NO = frozenset({"0", "false", "no", "off", "disabled", "n", "none", ""})


def caching(reading: ImportedReading) -> str:
    """'direct', 'buffered' or 'not told': whether the client's page cache was passed by."""
    told = reading.details.get("direct")
    if told is None:
        return UNKNOWN
    return "buffered" if str(told).strip().lower() in _NO else "direct"


def statistic(reading: ImportedReading) -> str:
    """'single run', 'mean of 3 runs', 'best of 5 runs', 'statistic not told'."""
    word = reading.statistic.split()[0]
    if word in ("mean", "best"):
        return f"{word} of {reading.n} runs" if reading.n else f"{word} of several runs"
    return "single run" if word == "single" else "statistic not told"


def methods(readings: Iterable[ImportedReading]) -> dict[str, str]:
    """What is known of how a set of readings was measured: name of the fact to its value, or several values in one
    text.
    """
    found: dict[str, dict[str, None]] = {}
    seconds: list[float] = []
    for reading in readings:
        facts = {
            "tool": "ioatlas with fio"
            if reading.tool == "ioatlas"
            else f"{reading.tool} {reading.tool_version or '(version not told)'}",
            "page cache": caching(reading),
            "statistic": statistic(reading),
            "mean latency": (reading.latency.kind or UNKNOWN) if reading.latency.mean_ns is not None else None,
            "p99 latency": (reading.latency.kind or UNKNOWN) if reading.latency.p99_ns is not None else None,
            "engine": str(reading.details["ioengine"]) if reading.details.get("ioengine") else None,
            "units": reading.details.get("units"),
        }
        for name, value in facts.items():
            if value is not None:
                found.setdefault(name, {})[value] = None
        if reading.runtime_seconds is not None:
            seconds.append(reading.runtime_seconds)
    told = {name: several(sorted(values) if name == "engine" else list(values)) for name, values in found.items()}
    return {**told, "running time": _span(min(seconds), max(seconds)) if seconds else UNKNOWN}


def differences(sets: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """{fact: who has which value} of the facts in which the sets are not alike, or cannot be known to be."""
    names = list(dict.fromkeys(name for facts in sets.values() for name in facts))
    found = {}
    for name in names:
        by_value = grouped((facts.get(name, "no figure"), label) for label, facts in sets.items())
        if len(by_value) > 1:
            found[name] = "; ".join(f"{value} ({several(labels, 4)})" for value, labels in by_value.items())
    return found


def several(values: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def _span(low: float, high: float) -> str:
    first, last = format_duration(low), format_duration(high)
    return first if first == last else f"{first} to {last}"


METHOD = "repeats-t/1"
FEWEST = 2
_NAMES = {
    "bw_bytes_per_s": ("bw_low", "bw_high", "bw_sd"),
    "iops": ("iops_low", "iops_high", "iops_sd"),
    "lat_mean_ns": ("lat_mean_low_ns", "lat_mean_high_ns", "lat_mean_sd_ns"),
    "lat_p99_ns": ("lat_p99_low_ns", "lat_p99_high_ns", "lat_p99_sd_ns"),
}
_WRITE = {"bw_bytes_per_s": format_rate, "iops": format_count}
MIDDLE = "middle"
"""The statistic of a load that has several readings which nothing tells apart begins so."""
_MOST_NAMED = 1000
_CLONES = frozenset({"fio"})
"""Tools that print one load several times in one file because several jobs ran it at once."""


def with_repeats(readings: Sequence[Labelled], estimates: Sequence[Estimate]) -> tuple[Estimate, ...]:
    """One estimate for each load of a set.

    With one label, where each stands in a file of its own: mean and standard deviation of the values as they are, 95%
    by Student's t, as studies of repeated runs print them. Several readings of a load in one file are repeats too, but
    for tools whose jobs are told one by one. Other readings of one load that nothing tells apart: the middle one,
    whatever their order, and between what they lie.
    """
    groups: dict[object, list[int]] = {}
    for at, (reading, e) in enumerate(zip(readings, estimates, strict=True)):
        groups.setdefault((reading.label, e.cell.key, e.direction), []).append(at)
    found = []
    for places in groups.values():
        members = [estimates[at] for at in places]
        files = Counter(readings[at].file for at in places)
        clones = max(files.values()) > 1 and any(readings[at].tool in _CLONES for at in places)
        if len(members) < FEWEST:
            found += members
        elif clones or not readings[places[0]].label:
            found.append(_middle(members))
        else:
            found.append(_mean(members, len(files)))
    return tuple(found)


def _middle(members: Sequence[Estimate]) -> Estimate:
    name = next((name for name in _NAMES if any(getattr(e, name) is not None for e in members)), "bw_bytes_per_s")
    known = sorted((e for e in members if getattr(e, name) is not None), key=lambda e: (getattr(e, name), e.notes))
    middle = known[(len(known) - 1) // 2]
    write = _WRITE.get(name, format_latency)
    low, high = (write(getattr(known[at], name)) for at in (0, -1))
    others = ", ".join(e.notes[0] for e in known if e is not middle)
    first, *further = middle.notes
    return replace(
        middle,
        statistic=f"{MIDDLE} of {len(members)} readings",
        notes=(f"{first}; the others are {others[:_MOST_NAMED]}", f"{name}: {low} to {high}", *further),
    )


def _mean(members: Sequence[Estimate], files: int) -> Estimate:
    first, n = members[0], len(members)
    values: dict[str, float | None] = {}
    notes = [f"{first.notes[0]} and {n - 1} more, in {files} file{'s' if files > 1 else ''}"]
    for name, (low, high, deviation) in _NAMES.items():
        # Of latencies of two kinds there is no mean.
        alike = [e for e in members if not name.startswith("lat") or e.lat_kind == first.lat_kind]
        known = [value for e in alike if (value := getattr(e, name)) is not None]
        values |= dict.fromkeys((name, low, high, deviation))
        if known:
            values[name] = mean = float(np.mean(known))
        if len(known) >= FEWEST:
            values[deviation] = sd = float(np.std(known, ddof=1))
            half = t_half_width(known)
            values[low], values[high] = max(0.0, mean - half), mean + half
            write = _WRITE.get(name, format_latency)
            share = f" ({sd / mean:.1%})" if mean else ""
            notes.append(
                f"{name}: standard deviation {write(sd)}{share}, {write(min(known))} to {write(max(known))}"
                + (f", n {len(known)}" if len(known) < n else "")
            )
    kinds = dict.fromkeys(e.statistic for e in members)
    of = "" if list(kinds) == ["single run"] else f", each {' or '.join(kinds)}"
    further = dict.fromkeys(note for e in members for note in e.notes[1:])
    return replace(
        first,
        **values,  # type: ignore[arg-type]
        n_repeats=n,
        statistic=f"mean of {n} repeats{of}",
        method=f"{METHOD}, {first.method}",
        notes=(*notes, *further),
    )
