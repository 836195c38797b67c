# SPDX-License-Identifier: Apache-2.0
"""A study's lab targets, and the campaign file over them: an ordinary one, that `ioatlas map` would run as well."""

from __future__ import annotations

import shlex
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.studies.study import Made, Study, targets_of
from ioatlas.measure.procedures.options import read_campaign
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.plan.spec import CampaignSpec
from ioatlas_lab import instance
from ioatlas_lab.running import down, expected, find, missing, up

TRIES = 5
"""A file system that still writes keeps its devices for some seconds."""
WRITTEN_OVER = ("uri", "file")
"""Kinds of targets whose loss has to be typed. These hold nothing but what was just made."""


def check_possible(study: Study, *, quick: bool, root: bool) -> None:
    """Raises IoAtlasError naming all packages that are missing, or root."""
    used = [find(name) for name in dict.fromkeys(made.scenario for made in targets_of(study, quick=quick))]
    packages = sorted({need.package for scenario in used for need in missing(scenario)})
    if packages:
        raise IoAtlasError(
            f"the study {study.name} needs packages that are missing here",
            where=", ".join(scenario.name for scenario in used if missing(scenario)),
            remedy=f"apt-get install {' '.join(packages)}",
        )
    if not root and any(scenario.needs_root for scenario in used):
        raise IoAtlasError(
            f"the study {study.name} sets up loop devices or network namespaces, which needs root",
            remedy="run it with sudo",
        )


def ident_of(study: Study, directory: Path, number: int) -> str:
    """Name of a lab target: the same in every session of one directory, and no other's."""
    return f"{_prefix(study, directory)}{number}"


def _prefix(study: Study, directory: Path) -> str:
    return f"{study.name}-{zlib.crc32(str(directory.absolute()).encode()):08x}-"


def campaign_document(study: Study, directory: Path, *, quick: bool) -> dict[str, Any]:
    """The campaign file as tables. directory: where the campaign will lie, which names its lab targets."""
    document = study.campaign_of(quick=quick)
    document["name"] = campaign_name(study, quick=quick)
    document["configuration"] = [
        _configuration(study, made, ident_of(study, directory, number))
        for number, made in enumerate(targets_of(study, quick=quick))
    ]
    return document


def campaign_name(study: Study, *, quick: bool) -> str:
    """What the journal calls it; by this a directory is known again."""
    return f"{study.title}, in small{' and quick' if quick else ''}"


def _configuration(study: Study, made: Made, ident: str) -> dict[str, Any]:
    if made.together:
        return {"name": made.name, "factors": made.factors, "target": _members(made, ident)}
    recipe = expected(made.scenario, made.settings, ident)
    kind, location = recipe.kind, recipe.location
    if "{" in location:
        raise UsageError(
            f"where {made.scenario} will be is known only once it runs", remedy="start it, then measure it"
        )
    if made.folder:
        kind, location = "directory", str(Path(location).parent)
    entry: dict[str, Any] = {"name": made.name, "factors": made.factors}
    entry["uri" if kind == "uri" else "path"] = location + ("/" if kind == "directory" else "")
    if kind in WRITTEN_OVER:
        entry["overwrite"] = f"{location} {made.settings['size_bytes']}"
    if not study.together:
        ioatlas = f"{shlex.quote(sys.executable)} -m ioatlas"
        words = " ".join(f"--set {name}={shlex.quote(str(value))}" for name, value in made.settings.items())
        entry["before"] = f"{ioatlas} lab up {made.scenario} --id {ident} {words}"
        entry["after"] = f"{ioatlas} lab down {ident}"
    return entry


def _members(made: Made, ident: str) -> list[dict[str, Any]]:
    """A table for each disk. They exist beforehand: what is set up by a command has one target."""
    return [
        {
            "name": f"{made.name} {name}",
            "uri": location,
            "overwrite": f"{location} {made.settings['size_bytes']}",
        }
        for name, location in expected(made.scenario, made.settings, ident).exports
    ]


@contextmanager
def lab_of(study: Study, directory: Path, *, quick: bool) -> Iterator[None]:
    """The lab targets that exist side by side, for as long as this lasts; at its end none of the study is left."""
    try:
        if study.together:
            for number, made in enumerate(targets_of(study, quick=quick)):
                up(made.scenario, made.settings, owned=True, ident=ident_of(study, directory, number))
        yield
    except BaseException:
        _take_down(_prefix(study, directory))  # what went wrong is told, not what that left
        raise
    if left := _take_down(_prefix(study, directory)):
        raise IoAtlasError(
            f"lab targets are left: {'; '.join(left)}",
            remedy="end what uses them, then run `ioatlas lab down`",
        )


def _take_down(prefix: str) -> list[str]:
    """Take down all lab targets of a study; what could not be undone. One that is still busy is tried again."""
    left: dict[str, str] = {}
    for _ in range(TRIES):
        left = {}
        for one in instance.instances():
            if one.ident.startswith(prefix):
                try:
                    down(one.directory)
                except IoAtlasError as error:
                    left[one.ident] = error.what
        if not left:
            break
        time.sleep(1.0)
    return [f"{ident} ({what})" for ident, what in left.items()]


def read_document(document: dict[str, Any]) -> CampaignSpec:
    """The campaign of a file with these tables. Raises UsageError as for a user's own."""
    import tomlkit

    return read_campaign(tomlkit.dumps(document), source=f"study {document['name']}", folder=Path("/"))
