# SPDX-License-Identifier: Apache-2.0
"""`ioatlas list`: the campaigns in a folder."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from ioatlas.cli._campaigns import campaigns_in
from ioatlas.config.user import results_folder
from ioatlas.errors import IoAtlasError


@click.command(
    name="list",
    epilog="""\b
Examples:
  ioatlas list                the campaigns of the results folder, the newest first
  ioatlas list /srv/results   those of another folder
  ioatlas list --json

\b
The results folder: IOATLAS_RESULTS, or `results = "..."` in ~/.config/ioatlas/config.toml, or the working
directory.""",
)
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: Path | None, as_json: bool) -> None:
    """List the campaigns in FOLDER, the newest first."""
    folder = folder or results_folder()
    campaigns = [_told(path) for path in campaigns_in(folder)]
    if as_json:
        click.echo(json.dumps(campaigns, indent=2))
    elif not campaigns:
        click.echo(f"no campaign in {folder.resolve()}; make one: ioatlas map DIRECTORY")
    else:
        for row in _rows(campaigns):
            click.echo(row.rstrip())


def _told(path: Path) -> dict[str, Any]:
    """What a list says of a campaign; one that cannot be read is listed with the reason."""
    from ioatlas.store.journal import FILE_NAME, Journal

    told: dict[str, Any] = {"directory": str(path), "name": path.name, "created": None, "state": "imported readings"}
    if not (path / FILE_NAME).exists():
        return told
    try:
        journal = Journal.open(path)
        try:
            campaign = journal.campaign()
        finally:
            journal.close()
    except IoAtlasError as error:
        return {**told, "state": f"cannot be read: {error.what}"}
    created = datetime.fromtimestamp(campaign.created_at, UTC).isoformat(timespec="seconds")
    state = "complete" if campaign.complete else "unfinished"
    return {**told, "name": campaign.name, "created": created, "state": state}


def _rows(campaigns: list[dict[str, Any]]) -> list[str]:
    cells = [("CREATED (UTC)", "STATE", "NAME", "DIRECTORY")]
    cells += [
        ((each["created"] or "-")[:16].replace("T", " "), each["state"], each["name"], each["directory"])
        for each in campaigns
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(3)]
    return [
        "  ".join([*(f"{text:<{width}}" for text, width in zip(row, widths, strict=False)), row[3]]) for row in cells
    ]
