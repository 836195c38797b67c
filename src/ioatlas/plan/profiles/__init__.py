# SPDX-License-Identifier: Apache-2.0
"""Built-in profiles: campaign files beside this module that lack only a target.

Besides the keys of a campaign file one may say `rank` (its place in lists), `summary` (one sentence), `n_cells` (how
many cells it has, where that does not depend on the target), `time` (about how long it takes), `reader` (whom it
serves), `remarks` (what its maps note) and `study` (the fixed-work sequence it makes).
"""

from __future__ import annotations

import difflib
import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ioatlas.model.errors import UsageError

ENDING = ".toml"
EXAMPLES = ("seed2021", "diskspd2016", "xdd2008")
"""Sweeps of single studies, which were profiles: examples/campaigns has them as campaign files."""


@functools.cache
def _texts() -> dict[str, str]:
    return {
        entry.name.removesuffix(ENDING): entry.read_text(encoding="utf-8")
        for entry in files(__name__).iterdir()
        if entry.name.endswith(ENDING)
    }


@dataclass(frozen=True)
class Profile:
    """What a list tells of a profile. n_cells: None where they depend on the target. size: the largest footprint of a
    cell, as the profile writes it; '' where that depends on the target.
    """

    name: str
    summary: str
    n_cells: int | None
    time: str
    size: str
    reader: str


@functools.cache
def described() -> tuple[Profile, ...]:
    """Every profile, in the order of their ranks."""
    read = {name: tomllib.loads(text) for name, text in _texts().items()}
    return tuple(
        Profile(name, each["summary"], each.get("n_cells"), each["time"], _largest(each), each["reader"])
        for name, each in sorted(read.items(), key=lambda item: item[1]["rank"])
    )


def _largest(profile: Mapping[str, Any]) -> str:
    """Sizes stand in rising order, as a list or as LOW..HIGH."""
    sizes = profile.get("sweep", {}).get("size", "")
    return str(sizes[-1] if isinstance(sizes, list) else sizes.rpartition("..")[2])


@functools.cache
def profiles() -> dict[str, str]:
    """Name and summary of every profile, in the order of their ranks."""
    return {each.name: each.summary for each in described()}


def text_of(name: str) -> str:
    """The campaign file of a profile."""
    return _texts()[name]


def check(name: str, where: str) -> None:
    """Raises UsageError, naming those there are, for a profile that is none."""
    if name not in profiles():
        if name in EXAMPLES:
            remedy = f"its campaign file is examples/campaigns/{name}.toml in the source: use --campaign FILE"
            raise UsageError(f"{name!r} is no profile any more", where=where, remedy=remedy)
        close = difflib.get_close_matches(name, profiles(), n=1)
        near = f"did you mean {close[0]!r}? " if close else ""
        hint = {"apps": "time a program itself, or ask `ioatlas fit` whether a target suits a use; "}.get(name, near)
        remedy = f"{hint}profiles are {', '.join(profiles())}"
        raise UsageError(f"there is no profile {name!r}", where=where, remedy=remedy)
