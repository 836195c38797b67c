# SPDX-License-Identifier: Apache-2.0
"""The sheet that facts are written on while a testbed is looked at, and the two ways of looking: a file, a tool."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ioatlas.load.fio.process import asked
from ioatlas.model.testbed import Fact, FactValue

TOOL_SECONDS = 1.5
"""A tool that hangs (a drive asleep, a dead server) costs this much and is recorded."""
_RAW_LIMIT = 64 << 10
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"))


@dataclass
class Sheet:
    """Facts and raw texts of one part of the testbed; parts are looked at side by side and put together afterwards."""

    facts: list[Fact] = field(default_factory=list)
    raw: dict[str, str] = field(default_factory=dict)

    def known(
        self, name: str, value: FactValue, source: str, *, unit: str = "", private: bool = False, note: str = ""
    ) -> None:
        """Enter a value; an empty one is unknown."""
        if value is None or value == "":
            self.unknown(name, source, note or "it is empty")
        else:
            self.facts.append(Fact(name, value, unit, "known", source, private, note))

    def says(
        self,
        name: str,
        path: str | Path,
        read: Callable[[str], FactValue] = str,
        *,
        unit: str = "",
        private: bool = False,
    ) -> None:
        """Enter what a file says, where it says something."""
        if text := self.file(path):
            self.known(name, read(text), str(path), unit=unit, private=private)

    def stated(
        self, name: str, value: FactValue, source: str, *, doubt: str, unit: str = "", private: bool = False
    ) -> None:
        """Known, or doubtful for the reason `doubt` when there is one, such as that a virtual device says so."""
        if doubt and value not in {None, ""}:
            self.facts.append(Fact(name, value, unit, "doubtful", source, private, doubt))
        else:
            self.known(name, value, source, unit=unit, private=private)

    def unknown(self, name: str, source: str, note: str = "") -> None:
        """Looked for and not told."""
        self.facts.append(Fact(name, None, "", "unknown", source, note=note))

    def absent(self, name: str, source: str, note: str) -> None:
        """The tool or the feature is not there."""
        self.facts.append(Fact(name, None, "", "absent", source, note=note))

    def file(self, path: str | Path) -> str | None:
        """Stripped content of a small file of /proc or /sys; None when it cannot be read."""
        try:
            return Path(path).read_text(errors="replace").strip()
        except OSError:
            return None

    def tool(self, *arguments: str, accept_failure: bool = False, seconds: float = TOOL_SECONDS) -> str | None:
        """Standard output of a tool, kept raw.

        None, and an entry under `tool.NAME`, when it is missing, fails or takes too long.
        """
        program = arguments[0]
        command = " ".join(arguments)
        path = shutil.which(program, path=PATH)
        if path is None:
            self.absent(f"tool.{program}", command, f"{program} is not installed")
            return None
        variables = {**os.environ, "LC_ALL": "C", "PATH": PATH}
        try:
            done = asked([path, *arguments[1:]], seconds, env=variables)
        except (OSError, subprocess.TimeoutExpired) as error:
            what = f"no answer within {seconds:g} s" if isinstance(error, subprocess.TimeoutExpired) else str(error)
            self.unknown(f"tool.{program}", command, what)
            return None
        self.raw[command] = (done.stdout + (f"\n[stderr]\n{done.stderr}" if done.stderr.strip() else ""))[:_RAW_LIMIT]
        if done.returncode != 0 and not accept_failure:
            reason = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
            self.unknown(f"tool.{program}", command, reason)
            return None
        return done.stdout

    def tool_json(self, *arguments: str, accept_failure: bool = False) -> Any:
        """The same, parsed as JSON; None when there is none."""
        text = self.tool(*arguments, accept_failure=accept_failure)
        if text is None:
            return None
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            self.unknown(f"tool.{arguments[0]}", " ".join(arguments), f"its JSON cannot be read: {error}")
            return None


def as_int(text: object) -> int | None:
    """A whole number, or None."""
    try:
        return int(str(text).strip(), 0)
    except ValueError:
        return None


def as_value(text: str) -> int | str:
    """A number where it is one, else the words, each one blank apart."""
    number = as_int(text)
    return " ".join(text.split()) if number is None else number


_MADE_BY = {"/virtio": "virtio", "/xen": "Xen", "/vbd-": "Xen", "/vif-": "Xen", "/VMBUS:": "Hyper-V"}


def is_virtual(sysfs: str | Path) -> str:
    """Why a device's word about its hardware is doubtful, judged by its place in /sys; empty when it is a real one."""
    place = os.path.realpath(sysfs)
    if "/devices/virtual/" in place:
        return "a device made by the kernel has no hardware to speak of"
    made = next((kind for sign, kind in _MADE_BY.items() if sign in place), "")
    return f"a {made} device of a virtual machine says so about itself" if made else ""
