# SPDX-License-Identifier: Apache-2.0
"""`ioatlas circle`: groups of accounts of an atlas that show each other results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from ioatlas.cli._token import client_of, plain
from ioatlas.errors import UsageError


@click.group(
    name="circle",
    epilog="""\b
Examples:
  ioatlas circle --at https://atlas.example new "Storage lab"
  ioatlas circle --at https://atlas.example invite "Storage lab" bert
  ioatlas circle --at https://atlas.example join "Storage lab"          as bert
  ioatlas circle --at https://atlas.example share "Storage lab" 4x7k2m9qpt
  ioatlas circle --at https://atlas.example list

\b
A circle is named by its name or its id. The token is read as by `ioatlas publish`.""",
)
@click.option("--at", "url", metavar="URL", required=True, help="The atlas.")
@click.pass_context
def command(context: click.Context, url: str) -> None:
    """Groups of evaluators: members see what the others share, before or instead of everybody."""
    context.obj = url


@command.command(name="list", epilog="\b\nExample:\n  ioatlas circle --at https://atlas.example list --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def list_(url: str, as_json: bool) -> None:
    """Your circles, and those that you are invited to."""
    found = client_of(url).ask("GET", "/api/v1/circles")
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for one in found.get("entries") or ():
        state = plain(one.get("role")) if one.get("joined") else "invited; `ioatlas circle join` accepts"
        click.echo(f"{plain(one.get('id'))}  {plain(one.get('name'))}  {state}, {one.get('results', 0)} results")


@command.command(epilog='\b\nExample:\n  ioatlas circle --at https://atlas.example show "Storage lab"')
@click.argument("circle")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def show(url: str, circle: str, as_json: bool) -> None:
    """Its members."""
    found = client_of(url).ask("GET", f"/api/v1/circles/{_id(url, circle)}")
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for one in found.get("members") or ():
        click.echo(f"{plain(one.get('account'))}  {plain(one.get('role')) if one.get('joined') else 'invited'}")


@command.command(epilog='\b\nExample:\n  ioatlas circle --at https://atlas.example new "Storage lab"')
@click.argument("name")
@click.pass_obj
def new(url: str, name: str) -> None:
    """Make a circle; you are its owner."""
    made = client_of(url).ask("POST", "/api/v1/circles", {"name": name})
    click.echo(f"{plain(made.get('id'))}  {plain(made.get('name'))}")
    click.echo(f"Next: ioatlas circle --at {url} invite {plain(made.get('id'))} ACCOUNT", err=True)


@command.command(epilog='\b\nExample:\n  ioatlas circle --at https://atlas.example invite "Storage lab" bert')
@click.argument("circle")
@click.argument("account")
@click.pass_obj
def invite(url: str, circle: str, account: str) -> None:
    """Invite ACCOUNT: it sees nothing before it joins."""
    client_of(url).ask("PUT", f"/api/v1/circles/{_id(url, circle)}/members/{_part(account)}")
    click.echo(f"{account} may join")


@command.command(epilog='\b\nExample:\n  ioatlas circle --at https://atlas.example join "Storage lab"')
@click.argument("circle")
@click.pass_obj
def join(url: str, circle: str) -> None:
    """Join a circle that you are invited to."""
    client_of(url).ask("PUT", f"/api/v1/circles/{_id(url, circle)}/members/{_me(url)}")
    click.echo("joined")


@command.command(
    epilog="""\b
Examples:
  ioatlas circle --at https://atlas.example leave "Storage lab"
  ioatlas circle --at https://atlas.example leave "Storage lab" --send-away bert"""
)
@click.argument("circle")
@click.option("--send-away", metavar="ACCOUNT", help="Another member, by the circle's owner.")
@click.pass_obj
def leave(url: str, circle: str, send_away: str | None) -> None:
    """Leave a circle. What you shared with it is shared no more."""
    name = _part(send_away) if send_away else _me(url)
    client_of(url).ask("DELETE", f"/api/v1/circles/{_id(url, circle)}/members/{name}")
    click.echo(f"{name} is not in it any more")


@command.command(epilog='\b\nExample:\n  ioatlas circle --at https://atlas.example dissolve "Storage lab" --yes')
@click.argument("circle")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def dissolve(url: str, circle: str, yes: bool) -> None:
    """Dissolve a circle of yours. Results stay with their owners."""
    number = _id(url, circle)
    if not yes:
        click.confirm(f"Dissolve {circle}?", abort=True, err=True)
    client_of(url).ask("DELETE", f"/api/v1/circles/{number}")
    click.echo("dissolved")


@command.command(epilog='\b\nExample:\n  ioatlas circle --at https://atlas.example share "Storage lab" 4x7k2m9qpt')
@click.argument("circle")
@click.argument("result")
@click.option("--end", is_flag=True, help="Share it no more.")
@click.pass_obj
def share(url: str, circle: str, result: str, end: bool) -> None:
    """Share RESULT with a circle while it is private or under embargo."""
    place = f"/api/v1/results/{_part(result)}/circles/{_id(url, circle)}"
    client_of(url).ask("DELETE" if end else "PUT", place)
    click.echo("not shared any more" if end else "shared")


def _part(text: str) -> str:
    """One part of an address. Raises UsageError."""
    if not text.isascii() or not text.replace(".", "").replace("-", "").isalnum():
        raise UsageError("this is no name", where=text[:40], remedy="letters, digits, dots and hyphens")
    return text


def _me(url: str) -> str:
    """The account of the token."""
    found: Mapping[str, Any] = client_of(url).ask("GET", "/api/v1/me").get("account") or {}
    return _part(str(found.get("name", "")))


def _id(url: str, circle: str) -> str:
    """Of the circle with that name or id. Raises UsageError."""
    known = client_of(url).ask("GET", "/api/v1/circles").get("entries") or ()
    found = [one["id"] for one in known if circle in (one.get("id"), one.get("name"))]
    if len(found) != 1:
        what = "several circles have this name" if found else "there is no such circle, or you are not in it"
        raise UsageError(what, where=circle[:40], remedy=f"`ioatlas circle --at {url} list` shows their ids")
    return str(found[0])
