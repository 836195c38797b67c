# SPDX-License-Identifier: Apache-2.0
"""Campaigns by their directory on the command line; `last` is the newest of the results folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ioatlas.config.user import results_folder
from ioatlas.errors import UsageError

JOURNAL, IMPORTED = "journal.sqlite", "imported.sqlite"
LAST = "last"


def campaigns_in(folder: Path) -> list[Path]:
    """Directories of campaigns in a folder, the newest first."""
    found = [(stamp, path) for path in _directories(folder) if (stamp := _stamp(path)) is not None]
    return [path for _, path in sorted(found, key=lambda each: (-each[0], each[1].name))]


def _directories(folder: Path) -> Iterator[Path]:
    try:
        yield from (path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return


def _stamp(path: Path) -> float | None:
    """When a campaign's directory was last written to; None for another directory."""
    stamps = []
    for name in (JOURNAL, IMPORTED):
        try:
            stamps.append((path / name).stat().st_mtime)
        except OSError:
            continue
    return max(stamps, default=None)


class CampaignDirectory(click.Path):
    """A campaign's directory: a path, a name in the results folder, or `last`."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        if path.exists():
            return path
        folder = results_folder()
        if str(value) == LAST:
            newest = campaigns_in(folder)
            if not newest:
                raise UsageError(
                    "there is no campaign yet", where=str(folder.resolve()), remedy="make one: `ioatlas map DIRECTORY`"
                )
            return newest[0]
        inside = folder / path
        return inside if not path.is_absolute() and _stamp(inside) is not None else path

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        names = [LAST, *(path.name for path in campaigns_in(results_folder()))]
        items = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*items, *super().shell_complete(ctx, param, incomplete)]


campaign_argument = click.argument("directory", metavar="DIR", type=CampaignDirectory())
