# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas publish`: send a bundle to an atlas, after a look at what others would see."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from ioatlas.answer.analysis.wording import plural
from ioatlas.cli._commands import examples
from ioatlas.cli._output import say_json, says_what_does_not_fit
from ioatlas.model.errors import RefusedError
from ioatlas_atlas.cli._token import agree, plain, state_of, token_of
from ioatlas_atlas.client import Client, OtherwiseError
from ioatlas_atlas.fairness import Declaration, grade
from ioatlas_atlas.preview import Preview, preview, read_declaration

WHO = {"public": "anybody", "private": "you alone", "embargoed": "you, until its embargo ends; then anybody"}


@click.command(name="publish", epilog=examples("publish", "ioatlas_atlas.cli"))
@click.argument("bundle", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.option("--to", "url", metavar="URL", required=True, help="The atlas.")
@click.option("--sponsor", metavar="TEXT", help="Who paid for the measurement, or none.")
@click.option("--conflict", metavar="TEXT", help="Your conflict of interest, or none.")
@click.option("--permission", metavar="TEXT", default="", help="Who allowed to publish it, and when.")
@click.option("--embargo", metavar="DATE", default="", help="Nobody else sees it before this date, such as 2027-01-31.")
@click.option("--private", is_flag=True, help="Keep it for yourself.")
@click.option("--replaces", metavar="ID", default="", help="Your result that this bundle corrects.")
@click.option("--reproduces", metavar="ID", default="", help="Another's result that this campaign reproduces.")
@click.option("--dry-run", is_flag=True, help="Show what would be published, and send nothing.")
@click.option("--yes", is_flag=True, help="Do not ask whether to go on.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(
    bundle: Path,
    url: str,
    sponsor: str | None,
    conflict: str | None,
    permission: str,
    embargo: str,
    private: bool,
    replaces: str,
    reproduces: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Publish BUNDLE in an atlas. What others would see is shown first; nothing is sent before you agree."""
    declared = read_declaration(sponsor, conflict, permission, embargo)
    client = Client(url, token_of(url))
    seen = preview(bundle, declared, datetime.now(UTC).date(), private=private)
    if as_json and dry_run:
        say_json({"to": client.url, "published": False, **seen.document()})
    elif not as_json or not yes:
        _show(seen, client.url)
    if seen.checked.refused:
        why = "it does not verify, so no atlas takes it"
        raise RefusedError(why, where=str(bundle), remedy=f"ioatlas verify {bundle}")
    if dry_run:
        click.echo("nothing was sent", err=True)
        return
    agree("publish it", "Publish it?", where="publish", yes=yes)
    answer = _send(client, seen, declared, private=private, replaces=replaces)
    number = plain(answer.get("id"))
    if not as_json:
        there = "" if answer.get("new", True) else " (it was there already)"
        click.echo(f"{client.url}/r/{number}  {state_of(answer)}{there}")
    if reproduces:
        answer["reproduces"] = {"id": reproduces, "outcome": client.reproduces(reproduces, number)}
    if as_json:
        say_json({"to": client.url, "published": True, **answer})
    elif reproduces:
        click.echo(f"{client.url}/r/{reproduces}  {plain(answer['reproduces']['outcome'])}")
    else:
        click.echo(f"Next: ioatlas atlas search --at {client.url}", err=True)


def _show(seen: Preview, url: str) -> None:
    """On standard error: what is printed after it is the address."""
    lines = [
        f"{seen.path.name} to {url}: {seen.size_bytes:,} bytes, {seen.n_cells:,} cells",
        f"  seen by     {WHO.get(seen.publication.state, seen.publication.state)}: {seen.publication.reason}",
        f"  title       {seen.title}",
        f"  product     {seen.product or 'no product sheet'}",
        f"  names       {', '.join(dict.fromkeys(seen.names))} stay; of your site replaced: {seen.replaced}",
        f"  signed by   {seen.checked.fingerprint or 'nobody'}",
        f"  licence     {seen.licence or 'none given'}",
        f"  recomputed  {_verified(seen)}",
        f"  grade       {grade(seen.conditions)}; missing or partly told: {plural(len(seen.missing), 'condition')}",
    ]
    if seen.kept:
        lines.append(f"  kept        {', '.join(seen.kept)} were not replaced, as your plan asked")
    lines += [f"    {one.name}: {one.text}{f'; {one.todo}' if one.todo else ''}" for one in seen.missing]
    marks = {"failed": "✘", "note": "!"}
    lines += [f"  {marks[one.state]} {one.name}: {one.text}" for one in seen.checked.checks if one.state in marks]
    for line in lines:
        click.echo(line, err=True)


def _verified(seen: Preview) -> str:
    refused = "NO" if seen.checked.refused else "not in full: its badge will be 'unchecked'"
    return "yes" if seen.checked.verified else refused


def _send(client: Client, seen: Preview, declared: Declaration, *, private: bool, replaces: str) -> dict[str, Any]:
    said = {"permission": declared.permission, "embargo": declared.embargo, "private": "true" if private else ""}
    said = {name: text for name, text in {**said, "replaces": replaces}.items() if text}
    told = {"sponsor": declared.sponsor, "conflict": declared.conflict}  # '' says that there is none
    said |= {name: text for name, text in told.items() if text is not None}
    with click.progressbar(length=seen.size_bytes, label="Sending", file=sys.stderr, show_eta=True) as bar:
        key = seen.sha256 if not replaces else f"{seen.sha256}-{replaces}"
        try:
            return client.publish(seen.path, key, said, lambda sent: bar.update(sent - bar.pos))
        except OtherwiseError:
            why = "you published this bundle before, and declared something else"
            remedy = "`ioatlas atlas change` changes who sees it; delete it there to declare something else"
            raise RefusedError(why, where=client.url, remedy=remedy) from None
