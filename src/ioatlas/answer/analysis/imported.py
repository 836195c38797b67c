# SPDX-License-Identifier: Apache-2.0
"""Imported readings as rows of a map: imported estimates without visits and without intervals; and which loads of
different tools are the same load.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ioatlas.answer.analysis.imported_answer import caching, methods, statistic, with_repeats
from ioatlas.model.cell import MIXED, Cell, OptionValue
from ioatlas.model.estimate import Estimate, LatKind
from ioatlas.model.imported_reading import ImportedReading, Labelled
from ioatlas.model.units import format_count, format_latency, format_rate, grouped, words
from ioatlas.model.verdict import VerdictCode

AXES = ("operation", "rw", "bs", "size", "numjobs", "iodepth", "rwmixread", "rate_iops")
VDBENCH_UNCONTROLLED = 999_000
"""From here on a requested rate is vdbench's code for as fast as possible."""
NOT_TOLD = "not told"
NO_DATA = "no data"
MOST_FILES, FEWEST_OF_A_SET = 12, 4
"""More sets than this that only their paths would tell apart are taken for repeats, unless each has so many files."""
_WORDS = re.compile(r"\d{4}[.-]\d\d[.-]\d\d(?:[-T_.]\d\d(?:[.:]?\d\d){1,2})?|[^\s/_.\-]+")
_REPEAT = re.compile(r"(?:(?<=[/_.-])|^)(?:[Ss]ample|[Rr]ep(?:eat)?|[Ii]ter(?:ation)?|[Tt]rial)[_-]?\d+(?=[/_.-]|$)")
"""What names one of several times that the same was measured."""


@dataclass(frozen=True)
class ImportedMap:
    """Imported readings as a map.

    series: names of the targets, in order; one for each tool, version and label that has to be told apart.
    axes:   values of each option that differs, ascending; `operation` is there when a tool did what fio's rw has no
    word for.
    methods: by series, how its figures came about.
    readings: by series, those that have a figure.
    """

    series: tuple[str, ...]
    axes: Mapping[str, tuple[OptionValue, ...]]
    estimates: tuple[Estimate, ...]
    methods: Mapping[str, Mapping[str, str]]
    readings: Mapping[str, Sequence[Labelled]]

    def of_set(self, name: str) -> ImportedMap:
        """One series as a map of its own."""
        estimates = tuple(one for one in self.estimates if one.cell.target == name)
        axes = _axes([one.cell.option for one in estimates])
        return ImportedMap((name,), axes, estimates, {name: self.methods[name]}, {name: self.readings[name]})


def imported_map(found: Iterable[Labelled], *, one_by_one: bool = False) -> ImportedMap:
    """Estimates of kind 'imported'; what a source does not say is not in its cell.

    Readings of one load that the user gave a label are repeats, and one estimate; one_by_one: each reading that has a
    figure is an estimate, to be tested with the others.
    """
    kept = _without_repeats([one for one in found if _has_figure(one.reading)])
    worded = any(one.reading.operation for one in kept)
    options = [_options(one.reading, worded=worded) for one in kept]
    files = _short_files(one.reading.source for one in kept)
    names = _series(kept, options, files)
    estimates = tuple(
        _estimate(one.reading, name, option, files[one.reading.source])
        for one, name, option in zip(kept, names, options, strict=True)
    )
    if not one_by_one:
        estimates = with_repeats(kept, estimates)
    by_series = grouped((name, one) for one, name in zip(kept, names, strict=True))
    told = {name: methods(one.reading for one in those) for name, those in by_series.items()}
    return ImportedMap(tuple(by_series), _axes(options), estimates, told, by_series)


def _axes(options: Sequence[Mapping[str, OptionValue]]) -> dict[str, tuple[OptionValue, ...]]:
    """Values of each option that differs. Where operations have words, rw follows from them."""
    worded = any("operation" in option for option in options)
    axes: dict[str, tuple[OptionValue, ...]] = {}
    for name in AXES if not worded else [axis for axis in AXES if axis != "rw"]:
        values = dict.fromkeys(option[name] for option in options if name in option)
        if len(values) > 1 or (values and any(name not in option for option in options)):
            numbers = all(isinstance(value, (int, float)) for value in values)
            axes[name] = tuple(sorted(values, key=float) if numbers else values)
    return axes


def _has_figure(reading: ImportedReading) -> bool:
    return any(
        value is not None for value in (reading.iops, reading.bw_bytes_per_s, reading.lat_mean_ns, reading.lat_p99_ns)
    )


def _without_repeats(kept: Sequence[Labelled]) -> list[Labelled]:
    """Vdbench writes one run into several files of a folder (summary, totals, flatfile, one for each host and
    device): the fullest stays.
    """
    groups: dict[tuple[str, str | None, str | None], list[int]] = {}
    for place, one in enumerate(kept):
        if one.reading.tool == "vdbench" and one.reading.iops is not None:
            key = (one.reading.source.rpartition("/")[0], one.reading.label, one.reading.direction)
            groups.setdefault(key, []).append(place)
    left_out: set[int] = set()
    for places in groups.values():
        places.sort(key=lambda place: -_told(kept[place].reading))
        stay: list[ImportedReading] = []
        for place in places:
            reading = kept[place].reading
            if any(other.source != reading.source and _alike(other, reading) for other in stay):
                left_out.add(place)
            else:
                stay.append(reading)
    return [one for place, one in enumerate(kept) if place not in left_out]


def _told(reading: ImportedReading) -> int:
    """How many of the figures and options a reading has."""
    names = words("""
        rw bs_bytes size_bytes numjobs rwmixread bw_bytes_per_s lat_mean_ns lat_p99_ns tool_version
    """)
    return sum(getattr(reading, name) is not None for name in names)


def _alike(one: ImportedReading, other: ImportedReading) -> bool:
    """Whether two readings of a folder are of one run: equal but for rounding."""
    pairs = ((one.iops, other.iops, 0.002), (one.lat_mean_ns, other.lat_mean_ns, 0.005))
    return all(a is None or b is None or abs(a - b) <= share * max(a, b) for a, b, share in pairs)


def _options(reading: ImportedReading, *, worded: bool) -> dict[str, OptionValue]:
    """The cell's options: only what the source says."""
    told: dict[str, OptionValue | None] = {
        "operation": (reading.operation or reading.rw or _untold(reading)) if worded else None,
        "rw": reading.rw,
        "bs": reading.bs_bytes,
        "size": reading.size_bytes,
        "numjobs": reading.numjobs,
        "iodepth": reading.iodepth,
        "rwmixread": reading.rwmixread,
        "rate_iops": _offered(reading),
    }
    return {name: int(v) if isinstance(v, float) and v.is_integer() else v for name, v in told.items() if v is not None}


def _untold(reading: ImportedReading) -> str:
    """The direction, where the source does not say whether it was sequential or random."""
    return f"{reading.direction}, pattern not told" if reading.direction else NOT_TOLD


def _offered(reading: ImportedReading) -> float | None:
    """I/Os per second that were asked for, where the tool was told a rate; None for as fast as it can."""
    rate = reading.details.get("reqrate", reading.details.get("requested_rate"))
    try:
        value = float(rate) if rate is not None else None
    except ValueError:  # vdbench says 'Uncontrolled MAX run' and the like
        return None
    return None if value is None or not 0 < value < VDBENCH_UNCONTROLLED else value


def _series(kept: Sequence[Labelled], options: Sequence[dict[str, OptionValue]], files: Mapping[str, str]) -> list[str]:
    """A name for the target of each reading: the user's label, else the tool and its version; with more where cells
    could not be told apart.

    What is added, until they can be, and names those of one tool and version alone: the host (as a number), direct or
    buffered, what tells their paths apart, the folder, and last the tool's own label, such as a job's name. Results
    that the user gave a label, and those of more sets than a legend can hold, are not split by their files: they are
    repeats. But where each of several folders holds repeats, those of a folder belong together.
    """
    base = [one.label or _tool(one.reading) for one in kept]
    files = {source: _REPEAT.sub("", name) for source, name in files.items()}
    places = [(tuple(option.items()), one.reading.direction) for one, option in zip(kept, options, strict=True)]
    names = list(base)
    tools: dict[str, set[str]] = {}
    for name, one in zip(base, kept, strict=True):
        tools.setdefault(name, set()).add(_tool(one.reading))
    for i, one in enumerate(kept):
        if len(tools[base[i]]) > 1:
            names[i] = f"{base[i]}, {_tool(one.reading)}"
    hosts = {
        host: f"host {n}"
        for n, host in enumerate(dict.fromkeys(one.reading.host for one in kept if one.reading.host), 1)
    }
    folders = _folders(kept, places, files)
    apart: dict[str, str] = {}
    further: tuple[Callable[[Labelled], str | None], ...] = (
        lambda one: hosts[one.reading.host] if one.reading.host else None,
        lambda one: caching(one.reading) if caching(one.reading) != NOT_TOLD else None,
        lambda one: None if one.label else apart.get(one.reading.source),
        lambda one: folders.get((one.label, files[one.reading.source].rpartition("/")[0])),
        lambda one: _short(one.reading.label),
    )
    for part in further:
        clash = _clashing(names, places)
        if not clash:
            break
        if part in further[-3:-1]:
            apart = _apart(kept, names, places, files)
            splits: dict[str, dict[str, str | None]] = {}
            for name, one in zip(names, kept, strict=True):
                splits.setdefault(name, {})[one.reading.source] = part(one)
            clash &= {name for name, texts in splits.items() if _are_sets(texts)}
        split = _that_splits(names, places, clash, [part(one) for one in kept])
        names = [
            f"{name}, {text}" if name in split and (text := part(one)) else name
            for name, one in zip(names, kept, strict=True)
        ]
    alone = len(set(base)) == 1 and not kept[0].label and all(name != base[0] for name in names)
    return [name.removeprefix(f"{base[0]}, ") for name in names] if alone else names


def _are_sets(texts: Mapping[str, str | None]) -> bool:
    """Whether what tells files apart tells sets apart. texts: by file."""
    count = len(set(texts.values()))
    return count <= MOST_FILES or count * FEWEST_OF_A_SET <= len(texts)


def _folders(
    kept: Sequence[Labelled], places: Sequence[Any], files: Mapping[str, str]
) -> dict[tuple[str, str], str | None]:
    """The folders that tell sets apart, by label and folder: of labelled results (repeats) only where each folder has
    some load more than once. A folder for each repeat tells no sets apart.
    """
    loads: dict[tuple[str, str], Counter[Any]] = {}
    for one, place in zip(kept, places, strict=True):
        key = (one.label, files[one.reading.source].rpartition("/")[0])
        loads.setdefault(key, Counter())[place, one.reading.label] += 1  # jobs and targets are told apart before
    single = {label for (label, _), seen in loads.items() if label and max(seen.values()) < 2}
    return {(label, folder): None if label in single else folder or None for label, folder in loads}


def _apart(
    kept: Sequence[Labelled], names: Sequence[str], places: Sequence[Any], files: Mapping[str, str]
) -> dict[str, str]:
    """What tells files without a label apart whose readings stand in one place, by file."""
    groups: dict[str, dict[Any, dict[str, None]]] = {}
    for name, place, one in zip(names, places, kept, strict=True):
        if not one.label:
            groups.setdefault(name, {}).setdefault(place, {})[one.reading.source] = None
    found: dict[str, str] = {}
    for by_place in groups.values():
        sources = list(dict.fromkeys(source for group in by_place.values() for source in group))
        clashing = [list(group) for group in by_place.values() if len(group) > 1]
        found |= _in_paths({source: files[source] for source in sources}, clashing)
    return found


def _in_paths(paths: Mapping[str, str], groups: Sequence[Sequence[str]]) -> dict[str, str]:
    """The words of their paths in which files of one group differ: nas and ssd of `nas-4k.json` and `ssd-4k.json`.
    Files of which none shares its words with another are named by folder, file name or path.
    """
    words = {file: _WORDS.findall(path) for file, path in paths.items()}
    differ = set()
    for group in groups:
        differ |= set().union(*(words[file] for file in group)) - set.intersection(
            *(set(words[file]) for file in group)
        )
    uses = Counter(word for of in words.values() for word in dict.fromkeys(of))
    for known in ({word for word in differ if uses[word] > 1}, differ):
        told = {file: " ".join(word for word in of if word in known) for file, of in words.items()}
        if all(len({told[file] for file in group}) == len(group) for group in groups):
            break
    if len(set(told.values())) < len(paths):
        return told
    split = {file: path.rpartition("/") for file, path in paths.items()}
    for place in (0, 2):
        if len({parts[place] for parts in split.values()}) == len(paths):
            return {file: parts[place] for file, parts in split.items()}
    return dict(paths)


def _short(label: str | None) -> str | None:
    """A label short enough for a legend; the step of a vdbench curve is told by its offered rate."""
    label = re.sub(r"_\(\d+%\)$", "", label) if label else label
    return label if label is None or len(label) <= 80 else f"{label[:79]}…"


def _short_files(sources: Iterable[str]) -> dict[str, str]:
    """Files by names that a reader can place and that do not tell where on the user's machine they were: without
    the folder all share.
    """
    names = list(dict.fromkeys(sources))
    folders = [name.split("/")[:-1] for name in names]
    common = 0
    while (
        folders and all(len(folder) > common for folder in folders) and len({folder[common] for folder in folders}) == 1
    ):
        common += 1
    return {name: "/".join(name.split("/")[common:]) for name in names}


def _clashing(names: Sequence[str], places: Sequence[Any]) -> set[str]:
    """Series in which two readings stand in one place."""
    seen = Counter(zip(names, places, strict=True))
    return {name for (name, _), count in seen.items() if count > 1}


def _that_splits(names: Sequence[str], places: Sequence[Any], clash: set[str], texts: Sequence[str | None]) -> set[str]:
    """Of the clashing series, those in which `texts` tells apart at least two readings of one place."""
    seen: dict[tuple[str, Any], set[str | None]] = {}
    for name, place, text in zip(names, places, texts, strict=True):
        if name in clash:
            seen.setdefault((name, place), set()).add(text)
    return {name for (name, _), found in seen.items() if len(found) > 1}


def _tool(reading: ImportedReading) -> str:
    return f"{reading.tool} {reading.tool_version}" if reading.tool_version else reading.tool


def _estimate(reading: ImportedReading, series: str, options: Mapping[str, OptionValue], file: str) -> Estimate:
    latency = reading.latency
    return Estimate(
        Cell.of(series, options, sharing="unknown", state="unknown"),
        reading.direction or NO_DATA,
        "imported",
        0,
        bw_bytes_per_s=reading.bw_bytes_per_s,
        iops=reading.iops,
        lat_mean_ns=latency.mean_ns,
        lat_p99_ns=latency.p99_ns,
        lat_kind=cast(LatKind, latency.kind or "unknown"),
        verdict=VerdictCode.IMPORTED,
        statistic=statistic(reading),
        method=_tool(reading),
        notes=_notes(reading, file),
    )


def _notes(reading: ImportedReading, file: str) -> tuple[str, ...]:
    """Where it stands, what its source says of its scatter, and what had to be decided to read it."""
    notes = [f"{file}:{reading.line}"]
    if reading.spread is not None:
        write = {"bw_bytes_per_s": format_rate, "iops": format_count, "lat_mean_ns": format_latency}.get(
            (reading.spread_of or "").split(",")[0], str
        )
        notes.append(f"the source's spread over runs: {write(reading.spread)}; no interval is made of it")
    if reading.errors:
        notes.append(f"errors told by the tool: {reading.errors}")
    shown = reading.latency
    if shown.mean_ns != reading.lat_mean_ns and reading.lat_mean_ns is not None:
        told = format_latency(reading.lat_mean_ns)
        notes.append(f"mean and p99 are of {shown.kind} latency; the mean of {reading.lat_kind or NOT_TOLD} is {told}")
    elif shown.p99_ns is None and reading.lat_p99_ns is not None:
        told = format_latency(reading.lat_p99_ns)
        notes.append(f"p99 of {reading.lat_p99_kind or NOT_TOLD} latency, which the mean is not of: {told}")
    return (*notes, *reading.notes)


_LOAD_AXES = ("bs", "size", "numjobs", "iodepth", "rwmixread", "rate_iops")

Load = tuple[str, str, tuple[tuple[str, str | int | float], ...]]
"""Operation, direction and the other options of a load, as far as its source tells them."""


def load_of(cell: Cell, direction: str) -> Load:
    """A load by what any tool may tell of it."""
    option = cell.option
    operation = str(option.get("operation") or option.get("rw") or "")
    operation = "" if operation.endswith(NOT_TOLD) else {"readwrite": "rw"}.get(operation, operation)
    load = tuple(
        (name, option[name]) for name in _LOAD_AXES if name in option and (name != "rwmixread" or operation in MIXED)
    )
    return operation, direction, load


def told_by_one(first: Load, second: Load) -> tuple[str, ...]:
    """Options that only one of two counterparts tells, taken as equal."""
    a, b = dict(first[2]), dict(second[2])
    return tuple(name for name in _LOAD_AXES if (name in a) != (name in b))


def counterparts(first: Iterable[Load], second: Iterable[Load]) -> tuple[list[tuple[Load, Load]], int]:
    """Each load with its one counterpart, and how many have several.

    Loads match by operation, direction and options; an option that one source does not tell fits any value, if that
    leaves one counterpart.
    """
    theirs = dict.fromkeys(second)
    by_operation = grouped((load[:2], load) for load in theirs)
    fits: dict[Load, list[Load]] = {}
    back: dict[Load, list[Load]] = {}
    for load in dict.fromkeys(first):
        alike = by_operation.get(load[:2], ())
        for other in [load] if load in theirs else [one for one in alike if _fit(load, one)]:
            fits.setdefault(load, []).append(other)
            back.setdefault(other, []).append(load)
    pairs = [(load, others[0]) for load, others in fits.items() if len(others) == 1 and len(back[others[0]]) == 1]
    return pairs, len(fits) - len(pairs)


def _fit(one: Load, other: Load) -> bool:
    """Whether what both tell is equal, and at least the block size is told by both or by neither."""
    a, b = dict(one[2]), dict(other[2])
    return ("bs" in a) == ("bs" in b) and all(a[name] == b[name] for name in a.keys() & b.keys())
