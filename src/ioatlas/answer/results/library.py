# SPDX-License-Identifier: Apache-2.0
"""What this user has measured and imported: found in the folders of the settings, never copied.

The settings are `ioatlas/config.toml` below $XDG_CONFIG_HOME, or ~/.config where that is not set:

    results = "~/ioatlas"
    library = ["/srv/measurements", "~/old"]

New campaigns are made in `results`; the folders of `library` are looked through as well. The environment variable
IOATLAS_RESULTS overrules `results`. Where neither says anything, campaigns are kept in the working directory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ioatlas.model.errors import IoAtlasError, RefusedError, UsageError
from ioatlas.model.target import Target
from ioatlas.store import archive, toml

JOURNAL, IMPORTED, REPORT = "journal.sqlite", "imported.sqlite", "report.html"
DEPTH = 2
"""A campaign stands in a folder of the library or in a folder of that one."""
IMPORTED_ONLY = "imported readings"
BUNDLE_ENDING, BUNDLE_INDEX = ".ioatlas.zip", "bundle.json"
"""The name of a bundle, and of the file in it that says what it holds."""
BUNDLE = "bundle"
OPENED = ".opened-bundle"
"""In the directory that an opened bundle is read from: where the bundle is."""
MOST_OF_INDEX = 1 << 20


@dataclass(frozen=True)
class Entry:
    """A campaign, a set of imported readings, or a bundle.

    directory: of a bundle the file itself. created: seconds since the epoch; of imported readings when they were
    written last. state: 'complete', 'unfinished', 'imported readings', 'bundle' (not verified), or 'cannot be read:
    ...'. targets: as they were recognised when it was begun.
    """

    directory: Path
    name: str
    created: float | None
    state: str
    targets: tuple[Target, ...] = ()

    @property
    def readable(self) -> bool:
        return not self.state.startswith("cannot")

    def is_of(self, wanted: str) -> bool:
        """Whether a target of it has that name or is at that place; a path may be written as one likes."""
        places = {wanted, os.path.realpath(wanted)}
        return any(target.name == wanted or target.location in places for target in self.targets)


def directories(folders: Iterable[Path]) -> list[Path]:
    """Directories of campaigns and imports below the folders, the newest first, none twice."""
    return _found(folders, stamp)


def bundles(folders: Iterable[Path]) -> list[Path]:
    """Bundles below the folders, the newest first, none twice."""
    return _found(
        folders, lambda path: path.stat().st_mtime if path.name.endswith(BUNDLE_ENDING) and path.is_file() else None
    )


def shown(directory: Path) -> str:
    """A campaign's directory for people: of an opened bundle the bundle, as the user named it."""
    try:
        return (directory / OPENED).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return str(directory)


def is_opened(directory: Path) -> bool:
    """Whether it is that of an opened bundle, which is gone when the command ends."""
    return (directory / OPENED).exists()


def check_not_opened(directory: Path) -> None:
    """Raises RefusedError for an opened bundle: it is read, never resumed and never packed again."""
    if is_opened(directory):
        raise RefusedError(
            "a bundle is read, never resumed or packed again",
            where=shown(directory),
            remedy="`ioatlas reproduce BUNDLE TARGET` measures the same on a target of yours",
        )


def stamp(path: Path) -> float | None:
    """When a campaign's directory was last written to; None for another directory."""
    stamps = []
    for name in (JOURNAL, IMPORTED):
        try:
            stamps.append((path / name).stat().st_mtime)
        except OSError:
            continue
    return max(stamps, default=None)


def entry(directory: Path) -> Entry:
    """What a directory or a bundle holds; one that cannot be read is an entry with the reason."""
    from ioatlas.store.journal import Journal

    if directory.name.endswith(BUNDLE_ENDING) and directory.is_file():
        return _bundle(directory)
    if not (directory / JOURNAL).exists():
        return _imported(directory)
    try:
        with closing(Journal.open(directory, only=("campaign", "target"))) as journal:
            campaign, targets = journal.campaign(), journal.targets()
    except IoAtlasError as error:
        return Entry(directory, directory.resolve().name, None, f"cannot be read: {error.what}")
    return Entry(
        directory, campaign.name, campaign.created_at, "complete" if campaign.complete else "unfinished", targets
    )


def _imported(directory: Path) -> Entry:
    from ioatlas.store.imported import Imported

    name = directory.resolve().name
    try:
        with closing(Imported.open(directory)) as store:
            imports = store.imports()
    except IoAtlasError as error:
        return Entry(directory, name, None, f"cannot be read: {error.what}")
    labels = sorted({label for _, _, label in imports if label})
    targets = tuple(Target(label, "imported", "") for label in labels)
    return Entry(directory, name, imports[0][0] if imports else stamp(directory), IMPORTED_ONLY, targets)


def _bundle(path: Path) -> Entry:
    """What a bundle says of itself: `ioatlas verify` looks whether that is so."""
    name = path.name.removesuffix(BUNDLE_ENDING)
    try:
        with archive.open_file(path) as opened:
            told = json.loads(opened.read(BUNDLE_INDEX, MOST_OF_INDEX))["campaign"]
        targets = tuple(Target(str(each), "directory", "") for each in told["targets"])
        texts = (str(told["name"]), *(target.name for target in targets))
        if not all(text.isprintable() for text in texts):
            raise ValueError("control characters")
        return Entry(path, texts[0], float(told["created_at"]), BUNDLE, targets)
    except IoAtlasError as error:
        return Entry(path, name, None, f"cannot be read: {error.what}")
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return Entry(path, name, None, "cannot be read: it does not say what it holds")


def _found(folders: Iterable[Path], written: Callable[[Path], float | None]) -> list[Path]:
    """written: when what is looked for was written last; None for anything else."""
    found = {path.resolve(): (when, path) for folder in folders for when, path in _walk(folder, DEPTH, written)}
    return [path for _, path in sorted(found.values(), key=lambda each: (-each[0], each[1].name))]


def _walk(folder: Path, depth: int, written: Callable[[Path], float | None]) -> Iterator[tuple[float, Path]]:
    try:
        inside = list(folder.iterdir())
    except OSError:
        return
    for path in inside:
        when = written(path)
        if when is not None:
            yield when, path
        elif depth > 1 and path.is_dir() and not path.is_symlink() and stamp(path) is None:
            yield from _walk(path, depth - 1, written)


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
