# SPDX-License-Identifier: Apache-2.0
"""What a user set once for all campaigns: where they are kept.

The file is `ioatlas/config.toml` below $XDG_CONFIG_HOME, or ~/.config where that is not set:

    results = "~/ioatlas"

The environment variable IOATLAS_RESULTS overrules it. Where neither says anything, campaigns are kept in the working
directory.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from ioatlas.errors import UsageError

VARIABLE = "IOATLAS_RESULTS"
KEYS = ("results",)


def settings_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "ioatlas" / "config.toml"


def results_folder() -> Path:
    """The folder in which campaigns are made and looked for. Raises UsageError for a file that cannot be read."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else _from_file(settings_file()) or Path()


def _from_file(path: Path) -> Path | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the settings cannot be read: {error}", where=str(path)) from None
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"this is no TOML: {error}", where=str(path)) from None
    unknown = sorted(settings.keys() - set(KEYS))
    if unknown:
        raise UsageError(
            f"there is no setting {unknown[0]!r}", where=str(path), remedy=f"settings are {', '.join(KEYS)}"
        )
    folder = settings.get("results")
    if folder is None:
        return None
    if not isinstance(folder, str) or not folder:
        raise UsageError("results is not the path of a folder", where=str(path), remedy='write results = "~/ioatlas"')
    return Path(folder).expanduser()
