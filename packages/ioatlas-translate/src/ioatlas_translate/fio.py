# SPDX-License-Identifier: Apache-2.0
"""fio's own job files and command lines: read, resolved into plain jobs with sizes in bytes, and each option
classified.

An option is exact when the job file written here holds it in the same meaning. Options that name a path, a device, a
command or a library are never carried over; file names become targets that are named when the load is run.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping

from ioatlas.errors import UsageError
from ioatlas.fio.jobfile import JobSection, JobValue
from ioatlas.interop.fidelity import Fidelity, approximate, exact, located, merged, missing_include, not_expressible
from ioatlas.model.options import ALLOWED, ENGINES, REFUSED, read_option
from ioatlas_translate.command import Source, command_line
from ioatlas_translate.fio_options import (
    ALIASES,
    CONTROL,
    NEWER,
    NOT_STORAGE,
    OF_ENGINES,
    REPORTING,
    convert,
)
from ioatlas_translate.jobfile_read import RawJobFile, RawSection, parse_command, parse_job_file
from ioatlas_translate.translation import Job, Translation, safe_name

_OF_TARGETS = frozenset({"size", "offset", "offset_increment", "io_size", "bssplit", "rate"})

_OF_ZONED_DEVICES = frozenset(
    {"zonesize", "zonerange", "zoneskip", "zonecapacity", "max_open_zones", "job_max_open_zones", "read_beyond_wp"}
    | {"zone_reset_threshold", "zone_reset_frequency", "ignore_zone_limits"}
)


class _Reader:
    """Turns raw jobs into plain ones; targets are numbered as they appear."""

    def __init__(self, *, lenient: bool) -> None:
        self.lenient = lenient
        self.targets: dict[str, int] = {}
        self.found: dict[Fidelity, list[str]] = {}

    def job(self, raw: RawSection, name: str) -> Job | None:
        notes: list[Fidelity] = []
        options: dict[str, JobValue] = {}
        given = {ALIASES.get(key, key): value for key, value in raw.options.items()}
        base_text = str(given.get("kb_base") or "1024")
        kb_base = 1000 if base_text == "1000" else 1024
        engine = str(given.get("ioengine") or "")
        base_engine = engine.split(":", 1)[0]
        if base_engine in NOT_STORAGE:
            notes.append(
                not_expressible(
                    "ioengine", f"{engine}: {NOT_STORAGE[base_engine]}, not a storage workload; the job is left out"
                )
            )
            self._note(notes, name)
            return None
        origin = self._target(given, options, notes)
        for key, value in given.items():
            if key in ("filename", "directory", "filename_format") or (key == "name" and value):
                continue
            self._option(key, value, raw, kb_base, options, notes)
        mode = str(options.get("rw", "read"))
        if "rw" not in options:
            options["rw"] = mode
        of_others = [key for key in options if key in OF_ENGINES and options.get("ioengine") not in OF_ENGINES[key]]
        _withdraw(of_others, "an option of an engine that this job does not use here", options, notes)
        _without_zones_of_a_device(given, options, notes)
        bound = (
            "time" if "time_based" in options else "the work, capped by runtime" if "runtime" in options else "the work"
        )
        notes.append(exact("duration", f"bounded by {bound}"))
        waits = str(options.pop("stonewall", "0")) != "0"
        if str(options.get("buffered", "1")) == "0":
            options.pop("buffered")
            options["direct"] = 1
        self._note(notes, name)
        return Job(JobSection(name, options), origin, waits)

    def _note(self, notes: list[Fidelity], name: str) -> None:
        for note in notes:
            self.found.setdefault(note, []).append(name)

    def _target(self, given: dict[str, str | None], options: dict[str, JobValue], notes: list[Fidelity]) -> str:
        name, directory = given.get("filename"), given.get("directory")
        template = given.get("filename_format")
        if name:
            parts = re.split(r"(?<!\\):", name)
            numbers = [self.targets.setdefault(f"{directory or ''}/{part}", len(self.targets) + 1) for part in parts]
            paths = tuple(f"ioatlas-target-{number}" for number in numbers)
            options["filename"] = paths if len(paths) > 1 else paths[0]
            notes.append(
                exact(
                    "target",
                    "no path is carried over: names become ioatlas-target-N; number and sharing of files are kept",
                )
            )
            return name
        if template:
            plain = re.sub(r".*/", "", template)
            options["filename_format"] = (
                f"ioatlas-{plain}" if re.fullmatch(r"[\w.$\-]+", plain) else "ioatlas-$jobname.$jobnum.$filenum"
            )
            told = "file names by pattern, without directories"
            if "$jobnum" not in template and given.get("numjobs", "1") != "1":
                told += "; without $jobnum in it only the first job gets files, and the others move nothing (fio 3.33)"
            notes.append(exact("target", told))
            return template
        notes.append(exact("target", "fio names a file for each job itself, in the directory it runs in"))
        return directory or ""

    def _option(
        self,
        key: str,
        value: str | None,
        raw: RawSection,
        kb_base: int,
        options: dict[str, JobValue],
        notes: list[Fidelity],
    ) -> None:
        if key in REPORTING:
            notes.append(exact("reporting", f"{key}: changes what is reported, not the load"))
        elif key == "verify" and value in ("0", "none", "null"):
            notes.append(exact(key, f"{value}: no verification"))
        elif key == "ioengine":
            notes.append(_engine(str(value), raw.options, options))
        else:
            where = f"{raw.where}, {key}"
            try:
                normal = convert(key, value, where, kb_base, notes)
            except UsageError as error:
                reason = self._unread(key, value, error)
                if reason:
                    notes.append(not_expressible(key, reason))
                    return
                normal = value
            notes.append(_kept(key, value, normal, where, options))

    def _unread(self, key: str, value: str | None, error: UsageError) -> str:
        """Why a value that cannot be read is left out; '' when nothing is lost by that. Raises the error otherwise."""
        if key not in ALLOWED and key not in CONTROL:
            return ""
        if not value or re.search(r"[{}<>%]", value) or self.lenient:
            return f"{value!r} holds a placeholder or a variable that is not set"
        if "zones" in error.what:
            return error.what
        raise error


def _withdraw(keys: Iterable[str], reason: str, options: dict[str, JobValue], notes: list[Fidelity]) -> None:
    """Leave out options that were kept: what was noted of them holds no more."""
    for key in keys:
        options.pop(key)
        notes[:] = [note for note in notes if note.attribute != key]
        notes.append(not_expressible(key, reason))


def _without_zones_of_a_device(
    given: Mapping[str, str | None], options: dict[str, JobValue], notes: list[Fidelity]
) -> None:
    """Without zonemode=zbd, fio would take its zonesize as one of zonemode=strided: another load."""
    if given.get("zonemode") != "zbd":
        return
    reason = "of zonemode=zbd, which is not carried over: fio would read it otherwise"
    _withdraw([key for key in options if key in _OF_ZONED_DEVICES], reason, options, notes)


def _engine(engine: str, given: Mapping[str, str | None], options: dict[str, JobValue]) -> Fidelity:
    if engine == "windowsaio" and sys.platform != "win32":
        direct = given.get("direct", "0") in (None, "1") or given.get("buffered") == "0"
        options["ioengine"] = "libaio" if direct else "io_uring"
        return approximate(
            "ioengine",
            f"windowsaio: fio has it on Windows only; {options['ioengine']} keeps as many I/Os in flight here",
            "what an I/O costs the client",
        )
    if engine in ENGINES:
        options["ioengine"] = engine
        return exact("ioengine", engine)
    if engine in ("io_uring_cmd", "sg"):
        return not_expressible("ioengine", f"{engine}: sends commands to a device past its block layer")
    reason = "not an engine that is used here; fio's default engine takes its place"
    return not_expressible("ioengine", f"{engine}: {reason}")


def _is_of_later_fio(key: str, normal: JobValue) -> str:
    """What fio 3.33 would refuse: the option itself, or its value."""
    known = r"(random|zipf|pareto|normal|zoned|zoned_abs)\b"
    if (key == "random_distribution" and not re.match(known, str(normal))) or (
        key == "steadystate" and str(normal).startswith("lat")
    ):
        return f"{normal}: a later fio has it; fio 3.33 would refuse it"
    return "a later fio has it; fio 3.33 would refuse it" if key in NEWER else ""


def _kept(key: str, value: str | None, normal: JobValue, where: str, options: dict[str, JobValue]) -> Fidelity:
    """One option taken into the job, or the reason why it is not."""
    if value == "":
        return not_expressible(key, "its value is empty: a variable that is not set")
    later = _is_of_later_fio(key, normal)
    if later:
        return not_expressible(key, later)
    if key in ALLOWED:
        # What a campaign does not take, fio does: per cents of the target, and other values for writes.
        unchecked = key in _OF_TARGETS and any(mark in str(normal) for mark in "%-,")
        if normal is not None and not isinstance(normal, tuple) and not unchecked:
            try:
                read_option(key, normal, where=where)
            except UsageError as error:
                return not_expressible(key, error.what)
        options[key] = normal
        return exact(key, "kept")
    if key in CONTROL:
        options[key] = normal
        sets_itself = "; a campaign sets it itself" if key in REFUSED else ""
        return exact(key, f"kept in the job file{sets_itself}")
    reason = "not an option that is carried over: unknown, of one engine, or a check of contents"
    return not_expressible(key, REFUSED.get(key, reason))


def _program(raw: RawJobFile) -> list[Fidelity]:
    notes = []
    for name, value in raw.program_options.items():
        if name in ("client", "server", "remote-config", "daemonize"):
            notes.append(not_expressible(f"--{name}", "hosts are named when the load is run"))
        elif name in ("trigger", "trigger-remote", "trigger-file", "trigger-timeout", "aux-path"):
            notes.append(not_expressible(f"--{name}", "a command or path is never taken from elsewhere"))
        else:
            notes.append(exact("reporting", f"--{name}{'=' + value if value else ''}: not part of the load"))
    for name in sorted(raw.undefined):
        notes.append(
            approximate("environment", f"${{{name}}} is not set: fio reads it as empty", "the value it would have")
        )
    for name in raw.included:
        notes.append(exact("include", f"{name}: read in its place"))
    for name in raw.missing:
        notes.append(missing_include(name))
    return notes


def read_jobs(raw: RawJobFile, tool: str, where: str) -> Translation:
    """A raw job file as a translation. Raises UsageError when it holds no job."""
    reader = _Reader(lenient=bool(raw.undefined))
    jobs: list[Job] = []
    seen: Counter[str] = Counter()
    for section in raw.sections:
        name = safe_name(section.name)
        seen[name] += 1
        job = reader.job(section, name if seen[name] == 1 else f"{name}-{seen[name]}")
        if job is not None:
            jobs.append(job)
    labels = [job.section.name for job in jobs]
    notes = merged([*located(reader.found, labels), *_program(raw)])
    return Translation(tool, where, tuple(jobs), notes, own_groups=True)


def translate(source: Source, tool: str) -> Translation:
    """A job file, its text, or a command line."""
    environ = os.environ
    if re.search(r"(?m)^\s*\[[^\n\]]+\]\s*([;#].*)?$", source.text):
        raw = parse_job_file(source, environ)
        if not raw.sections:
            raise UsageError("the file holds no job, only globals", where=source.where, remedy="add a [job] section")
        return read_jobs(raw, tool, source.where)
    where, words = command_line(_escaped(source), ("fio",))
    return read_jobs(parse_command(words, where, source, environ), tool, source.where)


def _escaped(source: Source) -> Source:
    """`${NAME}` in a typed job option is fio's to replace, not the shell's."""
    if source.from_file:
        return source
    values = {name: os.environ.get(name, "") for name in re.findall(r"\$\{?([A-Za-z_]\w*)\}?", source.text)}
    text = re.sub(r"\$\{([A-Za-z_]\w*)\}", lambda m: values[m.group(1)], source.text)
    return Source(text, source.where, source.directory, from_file=False)
