# SPDX-License-Identifier: Apache-2.0
"""Imported readings that the user called repeats by a label: one estimate with mean, standard deviation, interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ioatlas.model.estimate import Estimate
from ioatlas.model.imported_reading import Labelled
from ioatlas.model.units import format_count, format_latency, format_rate
from ioatlas.stats.intervals import t_half_width

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
