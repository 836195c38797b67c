# SPDX-License-Identifier: Apache-2.0
"""A translation as campaign files: sweeps of cells that are measured one at a time, in the order ioatlas draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ioatlas.interop.streams_text import campaign_document, groups, normalised, render_streams, seconds_of
from ioatlas.model.cell import OptionValue
from ioatlas.model.units import exact_duration

if TYPE_CHECKING:
    from ioatlas.interop.translation import Job, Translation

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
    together = False
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
    for members in groups(translation.jobs):
        together = together or (len(members) > 1 and not used.issuperset(members))
    documents: list[tuple[int, str]] = []
    for (sharing, window), cells in families.items():
        for constants, axes in _rectangles(cells):
            count = math.prod(len(v) for v in axes.values())
            head = [
                (
                    f"{count} cell{'s' if count != 1 else ''} out of {translation.tool}. Name the target when it is "
                    "run: ioatlas map TARGET --campaign FILE"
                )
            ]
            if "size" not in constants and "size" not in axes:
                head.append("The source leaves the size to the target: add size = to [sweep].")
            if together:
                head.append(
                    "The source runs streams at once; here each is a cell of its own. The job file runs them together."
                )
            if most_files > 1:
                whose = "each job's" if sharing == "private" else "the source's"
                head.append(f"Here {whose} files (up to {most_files}) are one file of their whole size.")
            if left:
                head.append("Kept in the job file only: " + ", ".join(sorted(left)) + ".")
            settings = {"name": f"{translation.tool}-translated", "sharing": sharing}
            if window:
                settings["window"] = exact_duration(window)
            documents.append((count, campaign_document(head, {**settings, "sweep": {**axes, **constants}})))
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
