# SPDX-License-Identifier: Apache-2.0
"""What a user set once for all campaigns: where they are kept, and where others are.

The file is `ioatlas/config.toml` below $XDG_CONFIG_HOME, or ~/.config where that is not set:

    results = "~/ioatlas"
    library = ["/srv/measurements", "~/old"]

New campaigns are made in `results`; the folders of `library` are looked through as well. The environment variable
IOATLAS_RESULTS overrules `results`. Where neither says anything, campaigns are kept in the working directory.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ioatlas import toml
from ioatlas.errors import UsageError

VARIABLE = "IOATLAS_RESULTS"
KEYS = ("results", "library")


def settings_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "ioatlas" / "config.toml"


def results_folder() -> Path:
    """The folder in which campaigns are made and looked for. Raises UsageError for a file that cannot be read."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else _results(settings_file()) or Path()


def library_folders() -> tuple[Path, ...]:
    """The folders in which campaigns are looked for, the results folder first. Raises as `results_folder`."""
    path = settings_file()
    folders = _read(path).get("library", [])
    if not isinstance(folders, list) or not all(isinstance(each, str) and each for each in folders):
        raise UsageError("library is not a list of folders", where=str(path), remedy='write library = ["/srv/results"]')
    return (results_folder(), *(Path(each).expanduser() for each in folders))


def _results(path: Path) -> Path | None:
    folder = _read(path).get("results")
    if folder is None:
        return None
    if not isinstance(folder, str) or not folder:
        raise UsageError("results is not the path of a folder", where=str(path), remedy='write results = "~/ioatlas"')
    return Path(folder).expanduser()


def _read(path: Path) -> dict[str, Any]:
    return toml.read(path, "the settings", KEYS) if path.exists() else {}
