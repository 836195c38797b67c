# SPDX-License-Identifier: Apache-2.0
"""Campaigns by their directory on the command line; `last` is the newest of the results folder, names are looked up in
the folders of the library.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ioatlas.config.user import library_folders
from ioatlas.errors import UsageError
from ioatlas.results.library import BUNDLE_ENDING, bundles, directories, is_opened, stamp

LAST = "last"


class CampaignDirectory(click.Path):
    """A campaign's directory: a path, a name in the results folder, `last`, or a bundle, which is opened."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        if path.is_file():
            return _opened(path)
        if path.exists():
            return path
        folders = library_folders()
        if str(value) == LAST:
            return newest()
        inside = [folder / path for folder in folders if not path.is_absolute()]
        bundle = next((each for each in inside if each.name.endswith(BUNDLE_ENDING) and each.is_file()), None)
        return _opened(bundle) if bundle else next((each for each in inside if stamp(each) is not None), path)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        folders = library_folders()
        names = [LAST, *(path.name for path in (*directories(folders), *bundles(folders)))]
        items = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*items, *super().shell_complete(ctx, param, incomplete)]


def newest() -> Path:
    """The newest campaign of the results folder. Raises UsageError where there is none."""
    folder = library_folders()[0]
    found = directories([folder])
    if not found:
        remedy = "`ioatlas map DIRECTORY` makes one"
        raise UsageError("there is no campaign yet", where=str(folder.resolve()), remedy=remedy)
    return found[0]


class SideArgument(CampaignDirectory):
    """A campaign's directory, `DIR:TARGET` with the name of one of its targets, or a file."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        place, colon, target = str(value).rpartition(":")
        if Path(path).exists() or not colon or not place:
            return path
        inside = super().convert(place, param, ctx)
        return Path(f"{inside}:{target}") if Path(inside).exists() else path


def _opened(path: Path) -> Path:
    """The directory of a bundle's campaign; another file is left as it is."""
    from ioatlas.bundle.opening import looks_like_bundle, opened_directory

    return opened_directory(path) if looks_like_bundle(path) else path


def own_place(directory: Path, name: str) -> Path:
    """Where a command writes a file unless it is told: into the campaign's directory; of a bundle here, under its
    name.
    """
    return Path(f"{directory.name}-{name}") if is_opened(directory) else directory / name


campaign_argument = click.argument("directory", metavar="[DIR]", default=LAST, type=CampaignDirectory())
"""A campaign, by default the newest."""
