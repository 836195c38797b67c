# SPDX-License-Identifier: Apache-2.0
"""`ioatlas merge`: campaigns of one plan put together."""

from __future__ import annotations

from pathlib import Path

import click

from ioatlas.cli._campaigns import CampaignDirectory
from ioatlas.cli._faults import says_what_does_not_fit


@click.command(
    name="merge",
    epilog="""\b
Examples:
  ioatlas merge monday tuesday -o week && ioatlas report week
  ioatlas merge monday tuesday -o week --json""",
)
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=CampaignDirectory())
@click.option(
    "-o", "output", metavar="DIR", required=True, type=click.Path(path_type=Path), help="The new campaign's directory."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@says_what_does_not_fit
def command(directories: tuple[Path, ...], output: Path, as_json: bool) -> None:
    """Write a campaign with the visits of several that have one plan, one target and the same cells.

    Name, seed, budget and number of visits may differ. The campaigns themselves stay as they are.
    Adaptive maps, SNIA rounds and load points are compared, not merged: what they measure follows from what they saw.
    """
    import json

    from ioatlas.results.merging import merge_campaigns

    found = merge_campaigns(directories, output)
    total = sum(found.visits.values())
    if as_json:
        told = {"directory": str(output), "visits": found.visits, "versions": list(found.versions)}
        click.echo(json.dumps(told, indent=2))
        return
    parts = ", ".join(f"{count} of {name}" for name, count in found.visits.items())
    click.echo(f"{output}: {total} visits ({parts})")
    if found.versions:
        click.echo(f"Not the same versions: {'; '.join(found.versions)}")
    click.echo(f"Next    ioatlas report {output}")
