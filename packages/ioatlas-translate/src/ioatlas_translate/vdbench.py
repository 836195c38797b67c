# SPDX-License-Identifier: Apache-2.0
"""vdbench: what raw workloads (sd, wd, rd) and file workloads (fsd, fwd) mean in fio.

Facts (manual 5.04 and its behaviour): a run lasts 30 s unless `elapsed` says otherwise; an sd has 8 threads, which are
its I/Os in flight, shared by all its workloads and one sequential position; 4 KiB random reads are the default; offered
rates have exponential gaps unless `distribution` says otherwise; the first `forxx` written is the outermost loop; a
curve runs at the maximum, then at 10, 50, 70, 80, 90 and 100% of what that gave.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace

from ioatlas.analysis.wording import plural
from ioatlas.errors import UsageError
from ioatlas.interop.fidelity import Notes
from ioatlas.model.units import pairs, words
from ioatlas.model.workload import Workload
from ioatlas_translate.command import Source, command_line
from ioatlas_translate.translation import SECTIONS_MAX, Translation, from_workloads
from ioatlas_translate.vdbench_files import file_workload
from ioatlas_translate.vdbench_parm import ParameterFile, parse, runs_of
from ioatlas_translate.vdbench_raw import raw_workload

_REPORTING = frozenset(
    words("report report_run_totals histogram auxreport monitor messagescan showlba port debug misc swat")
)
_OF_VDBENCH = frozenset(words("system host hd vdbench shell user jvms clients client master instance kstat cleanup"))
"""Parameters that only say how vdbench itself is started, and on which hosts."""


def _general_notes(parm: ParameterFile, notes: Notes) -> None:
    hosts = [h for h in parm.definitions["hd"] if h.name != "localhost"]
    if len(hosts) > 1 or any(h.first("system") not in (None, "localhost", "127.0.0.1") for h in hosts):
        told = f"{len(hosts)} hosts named in the file"
        notes.lost("hosts", f"{told}: one job file is one client's load; hosts are named when it is run")
    notes.missing(parm.missing)
    for keyword in parm.general.values:
        if keyword in ("compratio", "compression", "dedupratio", "dedupunit"):
            continue
        if keyword in _REPORTING:
            notes.same("reporting", f"{keyword}=: not part of the load")
        else:
            notes.lost(f"{keyword}=", "a general parameter without counterpart in fio")
    if parm.passed_over:
        lines = plural(len(parm.passed_over), "line")
        notes.lost("text", f"{lines} without keyword=value passed over: {'; '.join(parm.passed_over[:3])}")
    if parm.definitions["rg"]:
        notes.lost("replay groups", "rg= replays a trace")


def _unused(parm: ParameterFile, notes: Notes) -> None:
    """Parameters that nothing was made of, of the definitions that a run uses. Read after all runs."""
    for kind, definitions in parm.definitions.items():
        taken = [definition for definition in definitions if definition.used or kind == "hd"]
        for keyword in dict.fromkeys(word for one in taken for word in one.values if word not in one.used):
            if keyword in _OF_VDBENCH and kind != "wd":
                notes.same("reporting", f"{kind}: {keyword}=: not part of the load")
            else:
                notes.lost(f"{kind}: {keyword}=", "nothing of this load in fio follows from it")


def _parameter_source(source: Source) -> tuple[Source, dict[str, str]]:
    """The parameter file itself, out of a command line when the source is one; and the options that override it."""
    text = (
        re.sub(r"(?s)<title>.*?</title>|</?\w+[^>]*>", "", source.text)
        if source.text.lstrip().startswith("<")
        else source.text
    )
    if re.search(r"(?m)^\s*(sd|fsd|wd|fwd|rd|hd)\s*=", text):
        return replace(source, text=text), {}
    words = command_line(source, ("vdbench",))
    name, settings, left = "", {}, deque(words)
    takes = pairs("-f=file -o=output -e=elapsed -i=interval -w=warmup -m=jvms -r=restart -l=loop -p=port")
    while left:
        word = left.popleft()
        option = takes.get(word[:2], "") if word != "-rerun" else ""
        if "=" in word and not word.startswith("-"):
            key, _, value = word.partition("=")
            settings[f"${key}"] = value
        elif option:
            value = word[2:]
            if not value and left and not (option == "loop" and left[0].startswith("-")):
                value = left.popleft()
            if option == "file":
                name = name or value
            else:
                settings[option] = value
        elif word.startswith("-"):
            settings[f"option {word}"] = ""
        else:
            name = name or word
    if not name:
        raise UsageError("the command names no parameter file", remedy="add -f FILE, or translate the file itself")
    return source.include(name, depth=1), settings


def translate(source: Source, tool: str) -> Translation:
    """A parameter file, its text, or a command line that names one."""
    parameters, settings = _parameter_source(source)
    parm = parse(parameters, {key[1:]: value for key, value in settings.items() if key.startswith("$")})
    notes = Notes()
    _general_notes(parm, notes)
    for key in settings:
        if key.startswith("option "):
            notes.lost(key, "an execution option of vdbench (validation, simulation, journal) without counterpart")
    workloads: list[Workload] = []
    metadata_only = ""  # where the first run stands that moves no data
    if not parm.definitions["rd"]:
        raise UsageError(
            "there is no run definition (rd=)",
            where=parameters.where,
            remedy="add one, for example rd=rd1,wd=wd1,iorate=max,elapsed=60",
        )
    for rd in parm.definitions["rd"]:
        if "only" in (word.lower() for word in rd.values.get("format", ())):
            notes.lost(
                "format=only", f"rd={rd.name}: it only makes or removes files; fio lays its files out before the load"
            )
            continue
        for run in runs_of(rd, settings):
            workload: Workload | None
            if parm.definitions["fwd"] and (rd.all("fwd") or not parm.definitions["wd"]):
                workload = file_workload(run, parm)
                metadata_only = metadata_only or (rd.where if workload is None else "")
            else:
                workload = raw_workload(run, parm)
            workloads += [workload] if workload is not None else []
            notes += run.notes
            if len(workloads) > SECTIONS_MAX:
                raise UsageError(
                    "the loops expand into too many runs", where=rd.where, remedy="narrow the forxx= lists"
                )
    if metadata_only and not workloads:
        raise UsageError(
            "this file only does metadata operations, which fio's jobs do not have",
            where=metadata_only,
            remedy="translate its read and write runs",
        )
    _unused(parm, notes)
    return from_workloads(tool, source.where, workloads, notes)
