# SPDX-License-Identifier: Apache-2.0
"""`ioatlas list`: what was measured and imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ioatlas.cli._arguments import units_option
from ioatlas.cli._commands import examples
from ioatlas.cli._output import columns, say_json
from ioatlas.config.user import library_folders
from ioatlas.model.units import utc_text
from ioatlas.report.answer import answer_of
from ioatlas.results.library import Entry, bundles, directories, entry, stamp


@click.command(name="list", epilog=examples("list"))
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--target", metavar="TARGET", help="Only campaigns of this target: its name or its place.")
@units_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: Path | None, target: str | None, as_json: bool) -> None:
    """List the campaigns, imports and bundles in FOLDER, or in the library, the newest first."""
    folders = (folder,) if folder else library_folders()
    found = [entry(path) for path in (*directories(folders), *bundles(folders))]
    found.sort(key=lambda each: each.created or 0.0, reverse=True)
    if target is not None:
        found = [each for each in found if each.is_of(target)]
    if as_json:
        say_json([_told(each) for each in found])
    elif not found:
        of = f" of {target}" if target else ""
        places = ", ".join(str(each.resolve()) for each in folders)
        click.echo(f"no campaign{of} in {places}; make one: ioatlas map {target or 'DIRECTORY'}")
    else:
        for row in _rows([_told(each) for each in found]):
            click.echo(row.rstrip())


def _told(each: Entry) -> dict[str, Any]:
    answer = answer_of(each.directory, stamp(each.directory) or 0.0)
    return {
        "directory": str(each.directory),
        "name": each.name,
        "created": None if each.created is None else utc_text(each.created),
        "state": each.state,
        "best_read": answer.get("read"),
        "best_write": answer.get("write"),
        "trust": answer.get("trust"),
        "targets": [{"name": target.name, "location": target.location} for target in each.targets],
    }


def _rows(campaigns: list[dict[str, Any]]) -> list[str]:
    cells: list[tuple[str, ...]] = [("CREATED (UTC)", "STATE", "BEST READ", "BEST WRITE", "TRUST", "NAME", "DIRECTORY")]
    names = ("state", "best_read", "best_write", "trust", "name", "directory")
    cells += [
        ((each["created"] or "-")[:16].replace("T", " "), *(each[name] or "-" for name in names)) for each in campaigns
    ]
    return columns(cells, right={2, 3})
