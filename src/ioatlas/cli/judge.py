# SPDX-License-Identifier: Apache-2.0
"""`ioatlas product judge`: is this good? Against what the parts allow, and against other targets in the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ioatlas.cli._arguments import folder_option, path_option
from ioatlas.cli._campaigns import campaign_argument
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._output import say_json

if TYPE_CHECKING:
    from ioatlas.analysis.standing import Bound, Figure, Peer, Standing
    from ioatlas.model.result import CampaignResult
    from ioatlas.product.sheet import Sheet
    from ioatlas.product.speed import Allowed

MOST_PEERS = 50
"""Other targets that are read: each takes up to a second."""


@click.command(
    name="judge",
    epilog="""\b
Examples:
  ioatlas product judge nas1                                 against its link, and the targets in the library
  ioatlas product judge nas1 --product nas1.toml             and against what its drives allow together
  ioatlas product judge last --json

\b
In the sheet, [[drives]] says what one drive does: read = "210 MB/s", write, read_iops, write_iops.
What they allow together follows from [layout]; caches are left out of it.""",
)
@campaign_argument
@path_option(
    "--product", "sheet", metavar="SHEET.toml", help="What it is made of. Default: the sheet that the campaign names."
)
@folder_option("--in", "folder", metavar="FOLDER", help="Other targets are looked for here instead of in the library.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@says_what_does_not_fit
def command(directory: Path, sheet: Path | None, folder: Path | None, as_json: bool) -> None:
    """Say how good the campaign in DIR is for what its target is made of."""
    from ioatlas.analysis.standing import comparable, figures, standing
    from ioatlas.analysis.summary import summarise
    from ioatlas.campaign import load_result
    from ioatlas.product.speed import allowed

    result = load_result(directory)
    summary = summarise(result)
    peers, judged = _peers(directory, folder), figures(summary, result)
    sheets = {figure.target: _sheet(sheet, directory, figure.target) for figure in judged}
    parts = {target: () if one is None else allowed(one) for target, one in sheets.items()}
    found = [standing(figure, _bounds(figure, result, parts[figure.target]), peers) for figure in judged]
    trusted = comparable(summary)
    if as_json:
        say_json({"name": result.name, "trusted": trusted, "figures": [_told(one) for one in found]})
        return
    click.echo(f"{result.name}: {len(found)} figures" if found else f"{result.name}: no figure that can be judged")
    if not trusted:
        click.echo("  The trust in this campaign is low: mend that first. `ioatlas show` says why.")
    for one in found:
        for line in lines(one):
            click.echo(line)
    known = any(one is not None for one in sheets.values())
    sheet_says = "in [[drives]] of the sheet write what one drive does" if known else "name a sheet with --product"
    if not any(one.bounds for one in found):
        click.echo(f"Next: {sheet_says}, and the link in testbed.toml.")
    elif not any(parts.values()):
        click.echo(f"Nothing is known of the drives. Next: {sheet_says}.")


def lines(one: Standing) -> list[str]:
    """The value and its band, then the bounds, then the others."""
    from ioatlas.analysis.wording import per_cent, plural

    figure = one.figure
    share = "" if one.share is None else f", {per_cent(one.share)}"
    found = [
        f"  {figure.kind.capitalize():<13} {_amount(figure, figure.value)}{share}: {one.band}",
        f"    {figure.where}",
    ]
    if one.bounds:
        tightest, *others = one.bounds
        found.append(f"    tightest: {_amount(figure, tightest.value)}, {tightest.name}")
        found += [f"    also:     {_amount(figure, bound.value)}, {bound.name}" for bound in others[:2]]
    if one.peers:
        ties = f", ties with {one.ties}" if one.ties else ""
        found.append(f"    faster than {one.beaten} of {plural(one.peers, 'other target')}{ties}")
        if one.best_peer is not None:
            found.append(f"    fastest: {one.best_peer.name}, {_amount(figure, one.best_peer.figure.value)}")
    return found


def _amount(figure: Figure, value: float) -> str:
    from ioatlas.model.units import format_count

    if figure.quantity == "iops":
        return f"{format_count(value)} IOPS"
    return f"{value / 1e6:,.1f} MB/s" if value < 1e10 else f"{value / 1e9:,.1f} GB/s"


def _sheet(named: Path | None, directory: Path, target: str) -> Sheet | None:
    """The sheet that is named, else that of the campaign or of its configuration."""
    from ioatlas.product.kept import kept_sheet
    from ioatlas.product.sheet_file import read_sheet_file

    return kept_sheet(directory, target) if named is None else read_sheet_file(named)


def _bounds(figure: Figure, result: CampaignResult, parts: Sequence[Allowed]) -> list[Bound]:
    from ioatlas.analysis.standing import Bound

    found = []
    for e in result.estimates:
        if (e.cell.key, e.direction) == (figure.cell, figure.direction) and e.ceiling is not None:
            per_io = figure.block if figure.quantity == "iops" else 1
            found.append(Bound(e.ceiling.name, e.ceiling.bw_bytes_per_s / per_io))
    return found + [Bound(one.why, one.value) for one in parts if one.work == figure.kind]


def _peers(directory: Path, folder: Path | None) -> list[Peer]:
    """The newest campaign of each other target of the library; those of low trust are left out."""
    from ioatlas.analysis.standing import Peer, comparable, figures
    from ioatlas.analysis.summary import summarise
    from ioatlas.campaign import load_result
    from ioatlas.config.user import library_folders
    from ioatlas.errors import IoAtlasError
    from ioatlas.results.library import directories, entry

    own = {target.location or target.name for target in entry(directory).targets}
    seen: set[str] = set()
    found: list[Peer] = []
    for path in directories([folder] if folder else library_folders()):
        known = entry(path)
        places = {target.location or target.name for target in known.targets}
        if not known.readable or not places or places & own or places <= seen:
            continue
        seen |= places
        try:
            result = load_result(path)
        except IoAtlasError:
            continue
        summary = summarise(result)
        if comparable(summary):
            found += [Peer(path.name, figure) for figure in figures(summary, result)]
        if len(seen) >= MOST_PEERS:
            break
    return found


def _told(one: Standing) -> dict[str, Any]:
    return {**asdict(one), "band": one.band.name.lower()}
