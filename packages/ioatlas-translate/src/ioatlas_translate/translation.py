# SPDX-License-Identifier: Apache-2.0
"""A foreign command or file in our terms: workloads in order, the fio job file, the campaign, and the fidelity of each
attribute.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ioatlas.load.fio.jobfile import JobSection, render_job
from ioatlas.load.streams.compile import compile_workload
from ioatlas.load.streams.fidelity import Fidelity
from ioatlas.model.errors import UsageError
from ioatlas.model.options import JobValue
from ioatlas.model.units import words
from ioatlas.model.workload import Workload

SECTIONS_MAX = 20_000
_BYTES = frozenset(
    words("""
    bs size io_size offset offset_increment blockalign filesize zonesize zonerange zoneskip buffer_compress_chunk
    offset_align
    """)
)
_SECONDS = frozenset({"runtime", "ramp_time", "startdelay"})
_MODES = {"readwrite": "rw"}
_WORSE = {"not expressible": 0, "approximate": 1, "exact": 2}
_SHOWN_BEFORE = ("rw", "readwrite", "filename", "stonewall")


@dataclass(frozen=True)
class Job:
    """One section, the target the source named for it, and whether it waits for the sections before it."""

    section: JobSection
    origin: str = ""
    waits: bool = False
    operation: str = ""


@dataclass(frozen=True)
class Translation:
    """What a command or file of `tool` means here."""

    tool: str
    source: str
    jobs: tuple[Job, ...]
    fidelity: tuple[Fidelity, ...]
    workloads: tuple[Workload, ...] = ()
    own_groups: bool = False
    """Whether the jobs bring their own `thread` and `group_reporting`, as those of fio do."""

    @property
    def is_exact(self) -> bool:
        return all(entry.level == "exact" for entry in self.fidelity)

    @property
    def job_file(self) -> str:
        sections = []
        for index, job in enumerate(self.jobs):
            # With group_reporting, streams that run at once would be summed into one result without a group of their
            # own.
            grouped = self.own_groups or not index
            mark: dict[str, JobValue] = {"stonewall": None} if job.waits else {} if grouped else {"new_group": None}
            sections.append(JobSection(job.section.name, {**job.section.options, **mark}))
        return render_job(sections, {} if self.own_groups else {"group_reporting": 1, "thread": 1})

    @property
    def campaign_toml(self) -> str:
        from ioatlas_translate.campaign_text import render_campaign

        return render_campaign(self)

    def to_dict(self) -> dict[str, Any]:
        from ioatlas_translate.campaign_text import render_campaigns

        return {
            "tool": self.tool,
            "source": self.source,
            "exact": self.is_exact,
            "jobs": [job_to_dict(job) for job in self.jobs],
            "fidelity": [entry.to_dict() for entry in self.fidelity],
            "job_file": self.job_file,
            "campaign_toml": self.campaign_toml,
            "campaigns": render_campaigns(self),
        }


def _number(value: JobValue) -> JobValue:
    text = str(value)
    return int(text) if re.fullmatch(r"-?\d+", text) else value


def _seconds(value: JobValue) -> JobValue:
    text = str(value)
    if text.endswith("ms"):
        return int(text[:-2]) / 1000
    return _number(value)


def _rates(value: JobValue) -> Any:
    parts = [_number(part) if part else None for part in str(value).split(",")]
    return parts[0] if len(parts) == 1 else parts


def _bssplit(value: JobValue) -> list[Any]:
    """[[bytes, per cent], ...] for all directions, or one such list each for reads, writes and trims; an empty one has
    no split.
    """
    directions = []
    for direction in str(value).split(","):
        entries = direction.split(":") if direction else []
        directions.append([[_number(part) for part in entry.split("/")] for entry in entries])
    return directions[0] if len(directions) == 1 else directions


_WITH_UNIT: dict[str, tuple[str, Callable[[JobValue], Any]]] = {
    **dict.fromkeys(_BYTES, ("_bytes", _rates)),
    **dict.fromkeys(_SECONDS, ("_seconds", _seconds)),
    "rate": ("_bytes_per_s", _rates),
    "rate_iops": ("", _rates),
    "thinktime": ("_us", _number),
    "bssplit": ("_bytes", _bssplit),
}
"""What is added to an option's name, and how its value is read."""


def _shown(name: str, value: JobValue) -> dict[str, Any]:
    """An option under a name that says its unit."""
    if name in _BYTES and str(value).endswith("%"):
        return {f"{name}_percent": int(str(value)[:-1])}
    if name in _WITH_UNIT:
        suffix, read = _WITH_UNIT[name]
        return {f"{name}{suffix}": read(value)}
    return {name: True if value is None else _number(value)}


def job_to_dict(job: Job) -> dict[str, Any]:
    """Fio's options by name, sizes with `_bytes` and times with `_seconds`; a list where reads and writes differ, in
    that order.
    """
    options = job.section.options
    entry: dict[str, Any] = {"name": job.section.name, "target": job.origin or None, "stonewall": job.waits}
    if job.operation:
        entry["operation"] = job.operation
    rw = str(options.get("rw", options.get("readwrite", "read")))
    entry["rw"] = _MODES.get(rw, rw)
    whole_split = "bssplit" in options and all(str(options["bssplit"]).split(","))
    entry["bs_bytes"] = None if whole_split or "bsrange" in options else 4096
    entry["size_bytes"] = None
    for name, value in options.items():
        if name not in _SHOWN_BEFORE:
            entry |= _shown(name, value)
    if isinstance(options.get("filename"), tuple):
        entry["nrfiles"] = len(options["filename"])  # type: ignore[arg-type]
    for name, default in (("iodepth", 1), ("numjobs", 1), ("direct", 0)):
        entry.setdefault(name, default)
    base = entry["rw"].split(":", 1)[0]
    if base in ("read", "randread"):
        entry["rwmixread"] = 100
    elif base in ("write", "randwrite"):
        entry["rwmixread"] = 0
    elif base in ("rw", "randrw") and "rwmixread" not in entry:
        writes = entry.get("rwmixwrite", 50)  # fio's default is half and half
        entry["rwmixread"] = 100 - writes if isinstance(writes, int) else None
    return entry


def from_workloads(
    tool: str, source: str, workloads: Iterable[Workload], extra: Iterable[Fidelity] = ()
) -> Translation:
    """Workloads that run one after another. Raises UsageError when they expand into more sections than a job file
    should hold.
    """
    jobs: list[Job] = []
    found: dict[Fidelity, list[str]] = {}
    kept = tuple(workloads)
    names: Counter[str] = Counter()
    for index, workload in enumerate(kept):
        compiled = compile_workload(workload)
        for position, (section, stream, entries) in enumerate(
            zip(compiled.sections, workload.streams, compiled.fidelity, strict=True)
        ):
            names[section.name] += 1
            count = names[section.name]
            named = section if count == 1 else JobSection(f"{section.name}.{count}", section.options)
            for entry in entries:
                found.setdefault(entry, []).append(stream.operation or named.name)
            jobs.append(Job(named, stream.origin, index > 0 and position == 0, stream.operation))
        if len(jobs) > SECTIONS_MAX:
            raise UsageError(
                f"it expands into more than {SECTIONS_MAX:,} fio sections",
                where=source,
                remedy="narrow its loops, or translate it in parts",
            )
    if not jobs:
        raise UsageError(
            "it holds no load", where=source, remedy="give a command or file that reads or writes something"
        )
    labels = [job.operation or job.section.name for job in jobs]
    return Translation(tool, source, tuple(jobs), merged([*located(found, labels), *extra]), kept)


def safe_name(text: str, fallback: str = "job") -> str:
    """A section name out of foreign words: letters, digits, `.`, `_`, `-`; never 'global...'."""
    name = re.sub(r"[^A-Za-z0-9._\-]+", "-", text).strip("-.")[:80] or fallback
    return f"job-{name}" if name.startswith("global") else name


def render_fidelity(translation: Translation) -> str:
    """The report for people: one line an attribute, the worst level of each first."""
    counts = Counter(entry.level for entry in translation.fidelity)
    total = ", ".join(f"{counts[level]} {level}" for level in ("exact", "approximate", "not expressible"))
    lines = [f"{translation.tool}: {len(translation.jobs)} fio sections; attributes: {total}"]
    for entry in translation.fidelity:
        error = f" ({entry.error})" if entry.error else ""
        about = (
            f" [{', '.join(entry.jobs[:4])}{f', and {len(entry.jobs) - 4} more' if len(entry.jobs) > 4 else ''}]"
            if entry.jobs
            else ""
        )
        lines.append(f"  {entry.level:<15} {entry.attribute}: {entry.reason}{error}{about}")
    return "\n".join(lines) + "\n"


def merged(entries: Iterable[Fidelity]) -> tuple[Fidelity, ...]:
    """Each entry once, in order of first appearance; an attribute's worst levels first."""
    unique = list(dict.fromkeys(entries))
    first = {entry.attribute: position for position, entry in reversed(list(enumerate(unique)))}
    return tuple(sorted(unique, key=lambda entry: (first[entry.attribute], _WORSE[entry.level])))


def located(found: Mapping[Fidelity, Sequence[str]], everything: Sequence[str]) -> list[Fidelity]:
    """Entries with the names of the jobs they are about, left out where that is every job there is."""
    whole = set(everything)
    return [
        entry if set(names) == whole else replace(entry, jobs=tuple(dict.fromkeys(names)))
        for entry, names in found.items()
    ]
