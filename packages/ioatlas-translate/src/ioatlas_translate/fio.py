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
from collections.abc import Callable, Iterable

from ioatlas.load.fio.jobfile import JobSection
from ioatlas.load.streams.compile import seconds_option
from ioatlas.load.streams.fidelity import Fidelity, Notes, notes_in
from ioatlas.model.errors import UsageError
from ioatlas.model.options import ALLOWED, ENGINES, REFUSED, RW_VALUES, JobValue, read_option
from ioatlas.model.units import pairs, words
from ioatlas.store.toml import shipped
from ioatlas_translate.command import Source, command_line
from ioatlas_translate.jobfile_read import (
    RawJobFile,
    RawSection,
    parse_command,
    parse_job_file,
    read_seconds,
    read_size,
)
from ioatlas_translate.translation import Job, Translation, located, merged, safe_name

_TOLD = notes_in("ioatlas_translate", "fio")
_NAMES = shipped("ioatlas_translate", "options.toml")["fio"]
ALIASES = pairs(_NAMES["aliases"])
_SIZES, _COUNTS = (frozenset(words(_NAMES[name])) for name in ("sizes", "counts"))
CONTROL = frozenset(words(_NAMES["control"]))
"""Job control and safe options that the job file keeps as they are, beyond what a campaign may set."""
REPORTING = frozenset(words(_NAMES["reporting"]))
"""Options that change what fio reports, not its load."""
NEWER = frozenset(words(_NAMES["newer"]))
"""Options of a later fio than 3.33."""
NOT_STORAGE: dict[str, str] = _NAMES["not_storage"]
"""Engines that make no storage load, and what they are."""
OF_ENGINES = {name: words(engines) for name, engines in _NAMES["of_engines"].items()}
"""Options that only these engines have."""


_Size = Callable[[str], int | str]


def _each(value: str, read: _Size) -> JobValue:
    """Of reads, writes and trims, each read alone; an empty direction stays empty."""
    parts = [read(part) if part.strip() else "" for part in value.split(",")]
    return parts[0] if len(parts) == 1 else ",".join(map(str, parts)).rstrip(",")


def _range(value: str, size: _Size) -> JobValue:
    """low-high of each direction; one size is both."""
    pairs = (re.split("[-:]", one, maxsplit=1) for one in re.split("[,/]", value))
    return ",".join(f"{size(pair[0])}-{size(pair[-1] or pair[0])}" for pair in pairs)


def _bssplit(value: str, size: _Size) -> JobValue:
    """Sizes and ranges of sizes in bytes, shares as they are; a direction without a split stays empty."""

    def entry(text: str) -> str:
        sizes, slash, share = text.partition("/")
        return "-".join(str(size(one)) for one in sizes.split("-")) + slash + share

    return ",".join(":".join(map(entry, way.split(":"))) if way.strip() else "" for way in value.split(","))


def _distribution(value: str, size: _Size) -> JobValue:
    zoned = value.startswith("zoned_abs:")
    return re.sub("(?<=/)[^:,]+", lambda extent: str(size(extent[0])), value) if zoned else value


def _times(value: str, where: str) -> JobValue:
    return value if "-" in value else _each(value, lambda text: seconds_option(read_seconds(text, where, unit="s")))


def _rw(value: str, size: _Size, where: str) -> str:
    mode, _, postfix = value.partition(":")
    mode = {"readwrite": "rw"}.get(mode.strip(), mode.strip())
    if mode not in RW_VALUES:
        raise UsageError(f"rw={value!r} is not one of fio's", where=where, remedy="use " + ", ".join(RW_VALUES))
    return f"{mode}:{'-' * postfix.startswith('-')}{size(postfix.removeprefix('-'))}" if postfix else mode


_TIMES = frozenset(words("runtime ramp_time startdelay steadystate_duration steadystate_ramp_time thinktime_iotime"))
_OF_SIZES: dict[str, Callable[[str, _Size], JobValue]] = {
    **dict.fromkeys((*_SIZES, "rate_iops"), _each),
    "bsrange": _range,
    "bssplit": _bssplit,
    "random_distribution": _distribution,
    "filesize": lambda value, size: _range(value, size) if re.search(r"\d[a-zA-Z]*[-:]", value) else size(value),
}
"""How options that hold sizes are read, by (value, reader of one size)."""


def convert(name: str, value: str | None, where: str, kb_base: int, notes: Notes) -> JobValue:
    """The value of an option in bare integers. Raises UsageError for what fio would not take either."""

    def size(text: str) -> int | str:
        if re.search(r"[kmgtp]ib?$", text.strip(), re.IGNORECASE) and kb_base != 1000:
            notes.tell(_TOLD["size-suffix"], size=text.strip())
        if text.strip().endswith("z"):
            raise UsageError("sizes in zones depend on the device", where=where, remedy="write bytes")
        return read_size(text, where, kb_base=kb_base)

    if value is None:
        return None
    if name == "rw":
        return _rw(value, size, where)
    if name in _TIMES:
        return _times(value, where)
    if name in ("thinktime", "thinktime_spin"):
        return int(read_seconds(value, where, unit="us") * 10**6)
    if name in _COUNTS:
        counted = re.fullmatch(r"[\d.]+[kmgtpib]*|\(.*\)|0x[0-9a-f]+", value, re.IGNORECASE)
        return size(value) if counted else value
    return _OF_SIZES[name](value, size) if name in _OF_SIZES else value


_OF_TARGETS = frozenset({"size", "offset", "offset_increment", "io_size", "bssplit", "rate"})

_OF_ZONED_DEVICES = frozenset(
    {"zonesize", "zonerange", "zoneskip", "zonecapacity", "max_open_zones", "job_max_open_zones", "read_beyond_wp"}
    | {"zone_reset_threshold", "zone_reset_frequency", "ignore_zone_limits"}
)


class _Section:
    """One job on its way: what it was given, its options here, and what is to be told of them."""

    def __init__(self, raw: RawSection, targets: dict[str, int], *, lenient: bool) -> None:
        """targets: numbers of all of the file, by path. lenient: values may hold variables that are not set."""
        self.raw, self.targets, self.lenient = raw, targets, lenient
        self.given = {ALIASES.get(key, key): value for key, value in raw.options.items()}
        self.options: dict[str, JobValue] = {}
        self.notes = Notes()
        self.origin = ""

    def read(self) -> bool:
        """Whether it is a load of storage."""
        engine, options = str(self.given.get("ioengine") or ""), self.options
        if (what := NOT_STORAGE.get(engine.split(":", 1)[0])) is not None:
            self.notes.tell(_TOLD["not-storage"], engine=engine, what=what)
            return False
        self._target()
        for key, value in self.given.items():
            if key not in ("filename", "directory", "filename_format") and not (key == "name" and value):
                self._option(key, value)
        options.setdefault("rw", "read")
        of_others = [key for key in options if key in OF_ENGINES and options.get("ioengine") not in OF_ENGINES[key]]
        self._withdraw(of_others, "an option of an engine that this job does not use here")
        if self.given.get("zonemode") == "zbd":  # fio would take its zonesize as one of strided zones: another load
            reason = "of zonemode=zbd, which is not carried over: fio would read it otherwise"
            self._withdraw([key for key in options if key in _OF_ZONED_DEVICES], reason)
        capped = "the work, capped by runtime" if "runtime" in options else "the work"
        self.notes.same("duration", f"bounded by {'time' if 'time_based' in options else capped}")
        if str(options.get("buffered", "1")) == "0":
            options.pop("buffered")
            options["direct"] = 1
        return True

    def _withdraw(self, keys: Iterable[str], reason: str) -> None:
        """Leave out options that were kept: what was noted of them holds no more."""
        for key in keys:
            self.options.pop(key)
            self.notes[:] = [note for note in self.notes if note.attribute != key]
            self.notes.lost(key, reason)

    def _target(self) -> None:
        name, directory = self.given.get("filename"), self.given.get("directory") or ""
        template = self.given.get("filename_format")
        if name:
            parts = re.split(r"(?<!\\):", name)
            numbers = [self.targets.setdefault(f"{directory}/{part}", len(self.targets) + 1) for part in parts]
            paths = tuple(f"ioatlas-target-{number}" for number in numbers)
            self.options["filename"] = paths if len(paths) > 1 else paths[0]
            told = "no path is carried over: names become ioatlas-target-N; number and sharing of files are kept"
        elif template:
            plain = re.sub(r".*/", "", template)
            plain = plain if re.fullmatch(r"[\w.$\-]+", plain) else "$jobname.$jobnum.$filenum"
            self.options["filename_format"] = f"ioatlas-{plain}"
            told = "file names by pattern, without directories"
            if "$jobnum" not in template and self.given.get("numjobs", "1") != "1":
                told += "; without $jobnum in it only the first job gets files, and the others move nothing (fio 3.33)"
        else:
            told = "fio names a file for each job itself, in the directory it runs in"
        self.notes.same("target", told)
        self.origin = name or template or directory

    def _option(self, key: str, value: str | None) -> None:
        if key in REPORTING:
            self.notes.same("reporting", f"{key}: changes what is reported, not the load")
        elif key == "verify" and value in ("0", "none", "null"):
            self.notes.same(key, f"{value}: no verification")
        elif key == "ioengine":
            self._engine(str(value))
        else:
            where, kb_base = f"{self.raw.where}, {key}", 1000 if self.given.get("kb_base") == "1000" else 1024
            try:
                normal = convert(key, value, where, kb_base, self.notes)
            except UsageError as error:
                if reason := self._unread(key, value, error):
                    self.notes.lost(key, reason)
                    return
                normal = value
            if lost := _refused(key, value, normal, where):
                self.notes.lost(key, lost)
                return
            self.options[key] = normal
            ours = "; a campaign sets it itself" if key in REFUSED else ""
            self.notes.same(key, "kept" if key in ALLOWED else f"kept in the job file{ours}")

    def _unread(self, key: str, value: str | None, error: UsageError) -> str:
        """Why a value that cannot be read is left out; '' when nothing is lost by that. Raises the error otherwise."""
        if key not in ALLOWED and key not in CONTROL:
            return ""
        if not value or re.search(r"[{}<>%]", value) or self.lenient:
            return f"{value!r} holds a placeholder or a variable that is not set"
        if "zones" in error.what:
            return error.what
        raise error

    def _engine(self, engine: str) -> None:
        given = self.raw.options
        if engine == "windowsaio" and sys.platform != "win32":
            direct = given.get("direct", "0") in (None, "1") or given.get("buffered") == "0"
            self.options["ioengine"] = own = "libaio" if direct else "io_uring"
            self.notes.tell(_TOLD["windowsaio"], engine=own)
        elif engine in ENGINES:
            self.options["ioengine"] = engine
            self.notes.same("ioengine", engine)
        else:
            self.notes.tell(_TOLD["passthrough" if engine in ("io_uring_cmd", "sg") else "other-engine"], engine=engine)


def _refused(key: str, value: str | None, normal: JobValue, where: str) -> str:
    """Why an option is not taken into the job; '' where it is."""
    if value == "":
        return "its value is empty: a variable that is not set"
    known = r"(random|zipf|pareto|normal|zoned|zoned_abs)\b"
    later = "a later fio has it; fio 3.33 would refuse it"
    if (key == "random_distribution" and not re.match(known, str(normal))) or (
        key == "steadystate" and str(normal).startswith("lat")
    ):
        return f"{normal}: {later}"
    if key in NEWER:
        return later
    if key in CONTROL and key not in ALLOWED:
        return ""
    if key not in ALLOWED:
        return REFUSED.get(key, "not an option that is carried over: unknown, of one engine, or a check of contents")
    # What a campaign does not take, fio does: per cents of the target, and other values for writes.
    unchecked = key in _OF_TARGETS and any(mark in str(normal) for mark in "%-,")
    if normal is not None and not isinstance(normal, tuple) and not unchecked:
        try:
            read_option(key, normal, where=where)
        except UsageError as error:
            return error.what
    return ""


def _program(raw: RawJobFile) -> Notes:
    notes = Notes()
    for name, value in raw.program_options.items():
        if name in ("client", "server", "remote-config", "daemonize"):
            notes.lost(f"--{name}", "hosts are named when the load is run")
        elif name in ("trigger", "trigger-remote", "trigger-file", "trigger-timeout", "aux-path"):
            notes.lost(f"--{name}", "a command or path is never taken from elsewhere")
        else:
            notes.same("reporting", f"--{name}{'=' + value if value else ''}: not part of the load")
    for name in sorted(raw.undefined):
        notes.nearly("environment", f"${{{name}}} is not set: fio reads it as empty", "the value it would have")
    for name in raw.included:
        notes.same("include", f"{name}: read in its place")
    notes.missing(raw.missing)
    return notes


def read_jobs(raw: RawJobFile, tool: str, where: str) -> Translation:
    """A raw job file as a translation. Raises UsageError when it holds no job."""
    targets: dict[str, int] = {}
    found: dict[Fidelity, list[str]] = {}
    jobs: list[Job] = []
    seen: Counter[str] = Counter()
    for section in raw.sections:
        name = safe_name(section.name)
        seen[name] += 1
        name = name if seen[name] == 1 else f"{name}-{seen[name]}"
        made = _Section(section, targets, lenient=bool(raw.undefined))
        if made.read():
            waits = str(made.options.pop("stonewall", "0")) != "0"
            jobs.append(Job(JobSection(name, made.options), made.origin, waits))
        for note in made.notes:
            found.setdefault(note, []).append(name)
    notes = merged([*located(found, [job.section.name for job in jobs]), *_program(raw)])
    return Translation(tool, where, tuple(jobs), notes, own_groups=True)


def translate(source: Source, tool: str) -> Translation:
    """A job file, its text, or a command line."""
    environ = os.environ
    if re.search(r"(?m)^\s*\[[^\n\]]+\]\s*([;#].*)?$", source.text):
        raw = parse_job_file(source, environ)
        if not raw.sections:
            raise UsageError("the file holds no job, only globals", where=source.where, remedy="add a [job] section")
        return read_jobs(raw, tool, source.where)
    words = command_line(_escaped(source), ("fio",))
    return read_jobs(parse_command(words, source.where, source, environ), tool, source.where)


def _escaped(source: Source) -> Source:
    """`${NAME}` in a typed job option is fio's to replace, not the shell's."""
    if source.from_file:
        return source
    values = {name: os.environ.get(name, "") for name in re.findall(r"\$\{?([A-Za-z_]\w*)\}?", source.text)}
    text = re.sub(r"\$\{([A-Za-z_]\w*)\}", lambda m: values[m.group(1)], source.text)
    return Source(text, source.where, source.directory, from_file=False)
