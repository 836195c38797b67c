# SPDX-License-Identifier: Apache-2.0
"""Ready-made works: data files beside this module, with the programs that each needs."""

from __future__ import annotations

import functools
import os
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ioatlas.errors import UsageError
from ioatlas.procedures.application import works
from ioatlas.procedures.application.options import read_work
from ioatlas.procedures.application.work import Work

ENDING = ".toml"
OTHER_PLACES = ("usr/lib/postgresql/*/bin",)
"""Where programs lie that Debian does not put on PATH."""


@dataclass(frozen=True)
class ReadyWork:
    """A ready-made work. needs: its programs."""

    work: Work
    summary: str
    needs: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Its programs that are not on this machine."""
        return tuple(name for name in self.needs if not _found(name))


@functools.cache
def ready_works() -> dict[str, ReadyWork]:
    """All, by name, in the order of their files."""
    found: dict[str, ReadyWork] = {}
    for entry in sorted(files(works).iterdir(), key=lambda one: one.name):
        if entry.name.endswith(ENDING):
            for one in _read(tomllib.loads(entry.read_text(encoding="utf-8")), entry.name):
                found[one.work.name] = one
    return found


def choose(names: Sequence[str], where: str) -> list[ReadyWork]:
    """The ready-made works of these names. Raises UsageError for one that there is not, or whose program is missing."""
    known = ready_works()
    for name in names:
        if name not in known:
            raise UsageError(
                f"there is no ready-made work {name!r}", where=where, remedy=f"there are {', '.join(known)}"
            )
        if missing := known[name].missing:
            raise UsageError(
                f"{name} needs {', '.join(missing)}, and it is not installed",
                where=where,
                remedy="install it, or leave that work out",
            )
    return [known[name] for name in dict.fromkeys(names)]


def is_shipped(work: Work) -> bool:
    """Whether a work is one of these as it is shipped."""
    shipped = ready_works().get(work.name)
    return shipped is not None and shipped.work.digest == work.digest


def _read(document: Mapping[str, Any], source: str) -> list[ReadyWork]:
    found = []
    for variant in document.get("variants", [{}]):
        table = {key: value for key, value in document.items() if key not in ("summary", "needs", "variants")}
        table = {key: _filled(value, variant) for key, value in table.items()} | {
            key: value for key, value in variant.items() if key in ("space", "takes")
        }
        work = read_work(table, lambda *path: f"{source}: {'.'.join(map(str, path))}")
        found.append(ReadyWork(work, _filled(document["summary"], variant), tuple(document["needs"])))
    return found


def _filled(value: Any, variant: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        for name, text in variant.items():
            value = value.replace(f"{{{name}}}", str(text))
    return value


def _found(program: str) -> bool:
    places = [
        os.environ.get("PATH", os.defpath),
        *(one for form in OTHER_PLACES for one in sorted(map(str, Path("/").glob(form)))),
    ]
    return shutil.which(program, path=os.pathsep.join(places)) is not None
