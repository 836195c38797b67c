# SPDX-License-Identifier: Apache-2.0
"""Built-in profiles: campaign files beside this module that lack only a target.

Besides the keys of a campaign file one may say `rank` (its place in lists), `summary` (one sentence), `remarks` (what
its maps note) and `study` (the fixed-work sequence it makes).
"""

from __future__ import annotations

import difflib
import functools
import tomllib
from importlib.resources import files

from ioatlas.errors import UsageError

ENDING = ".toml"


@functools.cache
def _texts() -> dict[str, str]:
    return {
        entry.name.removesuffix(ENDING): entry.read_text(encoding="utf-8")
        for entry in files(__name__).iterdir()
        if entry.name.endswith(ENDING)
    }


@functools.cache
def profiles() -> dict[str, str]:
    """Name and summary of every profile, in the order of their ranks."""
    read = {name: tomllib.loads(text) for name, text in _texts().items()}
    return {name: read[name]["summary"] for name in sorted(read, key=lambda name: read[name]["rank"])}


def text_of(name: str) -> str:
    """The campaign file of a profile."""
    return _texts()[name]


def check(name: str, where: str) -> None:
    """Raises UsageError, naming those there are, for a profile that is none."""
    if name not in profiles():
        close = difflib.get_close_matches(name, profiles(), n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(
            f"there is no profile {name!r}", where=where, remedy=f"{hint}profiles are {', '.join(profiles())}"
        )
