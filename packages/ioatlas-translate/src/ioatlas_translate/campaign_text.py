# SPDX-License-Identifier: Apache-2.0
"""A translation as campaign files: sweeps of cells that are measured one at a time, in the order ioatlas draws,
and streams that run at once.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tomlkit

from ioatlas.answer.analysis.wording import plural
from ioatlas.model.cell import OptionValue
from ioatlas.model.errors import UsageError
from ioatlas.model.options import JobValue, read_option
from ioatlas.model.units import exact_duration, words

if TYPE_CHECKING:
    from ioatlas_translate.translation import Job, Translation

Cell = tuple[tuple[str, OptionValue], ...]
_OWN_FILES = "filename_format"
_OF_FILES = ("nrfiles", "openfiles", "file_service_type")


def _cell(job: Job) -> tuple[Cell, tuple[str, ...]]:
    """The options of a job that a campaign takes, normalised, and the names of those it does not."""
    own = ("filename", _OWN_FILES, "time_based", "runtime", "ramp_time", "stonewall", "filesize", "unlink", *_OF_FILES)
    kept, left = normalised(job.section.options, own)
    return tuple(sorted(kept.items())), tuple(left)


def _file_count(job: Job) -> int:
    """How many files the job works on, each of its jobs for itself."""
    names = job.section.options.get("filename")
    return len(names) if isinstance(names, tuple) else int(str(job.section.options.get("nrfiles", 1)))


def _has_own_files(job: Job) -> bool:
    """Whether each of a section's jobs has files of its own; fio names them so when nobody else does."""
    options = job.section.options
    if _OWN_FILES in options:
        return "$jobnum" in str(options[_OWN_FILES])
    return "filename" not in options and str(options.get("numjobs", 1)) != "1"


def _rectangles(cells: Sequence[Cell]) -> list[tuple[dict[str, OptionValue], dict[str, list[OptionValue]]]]:
    """Cells in groups, each a full cross of its axes: (constants, axes). Few groups, not provably the fewest."""
    groups: list[tuple[dict[str, OptionValue], dict[str, list[OptionValue]]]] = []
    left = list(dict.fromkeys(cells))
    while left:
        names = [name for name, _ in left[0]]
        family = [cell for cell in left if [name for name, _ in cell] == names]
        while True:
            values = {name: list(dict.fromkeys(dict(cell)[name] for cell in family)) for name in names}
            if math.prod(len(v) for v in values.values()) == len(family):
                break
            # Hold one option at its first value: the one whose split leaves the most cells.
            varied = [name for name in names if len(values[name]) > 1]
            family = max(([cell for cell in family if dict(cell)[name] == values[name][0]] for name in varied), key=len)
        constants = {name: v[0] for name, v in values.items() if len(v) == 1}
        groups.append((constants, {name: v for name, v in values.items() if len(v) > 1}))
        taken = {
            tuple(zip(names, combination, strict=True))
            for combination in itertools.product(*(values[name] for name in names))
        }
        left = [cell for cell in left if cell not in taken]
    return groups


def render_campaigns(translation: Translation) -> list[str]:
    """Streams that run at once in one campaign file, and one for each group of other jobs that is a full cross of
    options, the largest first.
    """
    families: dict[tuple[str, float | None], list[Cell]] = {}
    left: set[str] = set()
    most_files = 1
    streams = render_streams(translation)
    used = streams.jobs if streams else frozenset()
    for job in (job for number, job in enumerate(translation.jobs) if number not in used):
        cell, omitted = _cell(job)
        left |= set(omitted)
        options = job.section.options
        sharing = "private" if _has_own_files(job) else "shared"
        most_files = max(most_files, _file_count(job))
        window = seconds_of(options["runtime"]) if "runtime" in options else None
        families.setdefault((sharing, window), []).append(cell)
    together = any(len(members) > 1 and not used.issuperset(members) for members in groups(translation.jobs))
    documents: list[tuple[int, str]] = []
    for (sharing, window), cells in families.items():
        for constants, axes in _rectangles(cells):
            count = math.prod(len(v) for v in axes.values())
            whose = "each job's" if sharing == "private" else "the source's"
            remarks = {
                "The source leaves the size to the target: add size = to [sweep].": "size" not in {**constants, **axes},
                "The source runs streams at once; here each is a cell of its own. The job file runs them together.": (
                    together
                ),
                f"Here {whose} files (up to {most_files}) are one file of their whole size.": most_files > 1,
            }
            settings: dict[str, Any] = {"sharing": sharing, **({"window": exact_duration(window)} if window else {})}
            document = {**settings, "sweep": {**axes, **constants}}
            documents.append((count, _campaign(translation, plural(count, "cell"), remarks, left, document)))
    documents.sort(key=lambda item: -item[0])
    return [*([streams.text] if streams else []), *(text for _, text in documents)]


def render_campaign(translation: Translation) -> str:
    """The first campaign file; a comment says how many more there are. Empty when no job can be a cell."""
    documents = render_campaigns(translation)
    if not documents:
        return ""
    if len(documents) == 1:
        return documents[0]
    return f"# 1 of {len(documents)} campaign files: the jobs are not one full cross of options.\n" + documents[0]


_PLACE = frozenset(
    words("""
    filename filename_format time_based runtime ramp_time stonewall new_group filesize unlink group_reporting thread
    nrfiles openfiles file_service_type
    """)
)
_FLOW = ("flow", "flow_id", "flow_sleep")
_NOT_HERE = frozenset({"io_size", "number_ios", "loops", "rate", "offset_increment", "file_append"})
"""What a stream of a campaign cannot have: an end by its work, a rate in bytes, jobs side by side in a file."""


@dataclass(frozen=True)
class _Entry:
    """One stream: fio options, where it lies, and its flow weight over all of its jobs."""

    name: str
    target: str
    options: dict[str, OptionValue]
    percent: tuple[int, int] | None
    weight: float | None


@dataclass(frozen=True)
class StreamsText:
    """The campaign file, and which jobs of the translation it holds (by place)."""

    text: str
    jobs: frozenset[int]


def groups(jobs: Sequence[Job]) -> list[list[int]]:
    """Places of the jobs that run at once."""
    found: list[list[int]] = []
    for number, job in enumerate(jobs):
        if job.waits or not found:
            found.append([])
        found[-1].append(number)
    return found


def render_streams(translation: Translation) -> StreamsText | None:
    """The campaign of all groups of several jobs that can be one; None when there is none."""
    phases: list[tuple[str, list[_Entry], float]] = []
    used: set[int] = set()
    left: set[str] = set()
    for members in groups(translation.jobs):
        if len(members) < 2:
            continue
        entries = [one for number in members if (one := _entry(translation.jobs[number], left))]
        windows = [seconds_of(translation.jobs[number].section.options.get("runtime")) for number in members]
        if len(entries) < len(members) or 0.0 in windows or not _alike(entries):
            continue
        phases.append((_phase_name(translation, members, [name for name, _, _ in phases]), entries, max(windows)))
        used |= set(members)
    if not phases:
        return None
    places = _places([entry for _, entries, _ in phases for entry in entries])
    if places is None:
        return None
    return StreamsText(_document(translation, phases, places, left), frozenset(used))


def _entry(job: Job, left: set[str]) -> _Entry | None:
    """A job as a stream; None when it cannot be one."""
    options = dict(job.section.options)
    if "filename_format" in options or _NOT_HERE & options.keys() or "time_based" not in options:
        return None
    weight = options.get("flow")
    jobs = int(str(options.get("numjobs", 1)))
    percent = None
    if any(str(options.get(name, "")).endswith("%") for name in ("offset", "size")):
        low, size = (_percent(options.get(name, default)) for name, default in (("offset", "0%"), ("size", "100%")))
        if low is None or size is None:
            return None
        percent = (low, min(100, low + size))
    own = _PLACE | set(_FLOW) | ({"offset", "size"} if percent else set())
    kept, omitted = normalised(options, own)
    left.update(omitted)
    names = options.get("filename", "")
    return _Entry(
        job.section.name,
        ":".join(names) if isinstance(names, tuple) else str(names),
        kept,
        percent,
        float(str(weight)) * jobs if weight is not None else None,
    )


def normalised(options: Mapping[str, JobValue], own: Container[str]) -> tuple[dict[str, OptionValue], list[str]]:
    """The options of a job that a campaign takes, in their normal form, and the names of those it does not; `own` are
    left to the campaign.
    """
    kept: dict[str, OptionValue] = {}
    left = []
    for name, value in options.items():
        if name in own:
            continue
        if value is None or isinstance(value, tuple):
            left.append(name)
            continue
        try:
            option, normal = read_option(name, value)
        except UsageError:
            left.append(name)
            continue
        kept[option] = normal
    return kept, left


def _percent(value: object) -> int | None:
    match = re.fullmatch(r"(\d+)%", str(value))
    return int(match[1]) if match else None


def seconds_of(runtime: object) -> float:
    """Seconds of fio's `runtime` as it is written here: bare, or with s or ms. 0 for anything else."""
    match = re.fullmatch(r"(\d+)(ms|s)?", str(runtime))
    return int(match[1]) / (1000 if match[2] == "ms" else 1) if match else 0.0


def _alike(entries: Sequence[_Entry]) -> bool:
    """Whether one load makes sense of them: all paced, or all in shares, or all free."""
    paced, weighed = (
        [bool(entry.options.get("rate_iops")) for entry in entries],
        [entry.weight is not None for entry in entries],
    )
    return all(paced) == any(paced) and all(weighed) == any(weighed) and not (any(paced) and any(weighed))


def _phase_name(translation: Translation, members: Sequence[int], taken: Sequence[str]) -> str:
    """The workload's own name where it has one, else a number; never one that is taken."""
    names = [workload.name for workload in translation.workloads for _ in workload.streams]
    name = names[members[0]] if len(names) == len(translation.jobs) else ""
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:50]
    name = clean or f"phase-{len(taken) + 1}"
    return name if name not in taken else f"{name}-{len(taken) + 1}"


def _places(entries: Sequence[_Entry]) -> dict[str, tuple[int, int]] | None:
    """(start, length in bytes) of each target of the source inside the one file of a campaign; lengths of 0 where there
    is one target only.

    None when several targets have no sizes: then nobody knows where one ends.
    """
    targets = list(dict.fromkeys(entry.target for entry in entries))
    if len(targets) == 1:
        return {targets[0]: (0, 0)}
    ends = dict.fromkeys(targets, 0)
    for entry in entries:
        if entry.percent is not None or "size" not in entry.options:
            return None
        ends[entry.target] = max(ends[entry.target], int(entry.options["size"]) + int(entry.options.get("offset", 0)))
    start, found = 0, {}
    for target in targets:
        length = -(-ends[target] // 4096) * 4096
        found[target] = (start, length)
        start += length
    return found


def _document(
    translation: Translation,
    phases: Sequence[tuple[str, list[_Entry], float]],
    places: Mapping[str, tuple[int, int]],
    left: set[str],
) -> str:
    entries = [entry for _, members, _ in phases for entry in members]
    ends = [
        int(entry.options["size"]) + places[entry.target][0] + int(entry.options.get("offset", 0))
        for entry in entries
        if "size" in entry.options
    ]
    windows = {window for _, _, window in phases}
    remarks = {
        f"The source's {len(places)} targets lie one behind the other in one file or device here.": len(places) > 1,
        "Several files of one stream are one file of their whole size here.": any(":" in one.target for one in entries),
        "The source leaves the size to the target: add --size.": len(ends) < len(entries),
        "The source's loads last differently long; here each lasts as long as the longest.": len(windows) > 1,
    }
    document: dict[str, Any] = {"window": f"{max(windows):g}s", "streams": {"load": "free"}}
    if len(ends) == len(entries) or len(places) > 1:
        document["sweep"] = {"size": max(ends)}
    document["stream"] = [
        _stream_table(entry, members, phase if len(phases) > 1 else "", places[entry.target][0])
        for phase, members, _ in phases
        for entry in members
    ]
    what = f"{plural(len(phases), 'load')} of several streams at once"
    return _campaign(translation, what, remarks, left, document)


def _stream_table(entry: _Entry, members: Sequence[_Entry], phase: str, start: int) -> dict[str, Any]:
    """One `[[stream]]`; `start`: where its target begins inside the campaign's one file."""
    table: dict[str, Any] = {"name": _name(entry, members)} | ({"phase": phase} if phase else {})
    if entry.weight is not None:
        table["share"] = float(f"{100 * entry.weight / sum(one.weight or 0.0 for one in members):.6g}")
    if entry.percent:
        table["region"] = list(entry.percent)
    table |= entry.options
    if start:
        table["offset"] = int(entry.options.get("offset", 0)) + start
    return table


def _campaign(
    translation: Translation, what: str, remarks: Mapping[str, bool], left: set[str], document: Mapping[str, Any]
) -> str:
    """A campaign file: what it holds and those of the remarks that apply as comments, then the document."""
    head = [f"{what} out of {translation.tool}.", "Name the target when it is run: ioatlas map TARGET --campaign FILE"]
    head += [remark for remark, applies in remarks.items() if applies]
    head += [f"Kept in the job file only: {', '.join(sorted(left))}."] if left else []
    named = {"name": f"{translation.tool}-translated", **document}
    return "".join(f"# {line}\n" for line in head) + tomlkit.dumps(named)


def _name(entry: _Entry, members: Sequence[_Entry]) -> str:
    """The section's name as a campaign takes it; numbered where that makes two alike."""
    clean = [re.sub(r"[^A-Za-z0-9._-]+", "-", one.name).strip("-._")[:56] or "stream" for one in members]
    place = members.index(entry)
    return clean[place] if clean.count(clean[place]) == 1 else f"{clean[place]}-{place + 1}"
