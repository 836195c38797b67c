# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas serve`: an atlas of many evaluators' bundles, and what its operator does."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import uvicorn

from ioatlas.answer.analysis.wording import plural
from ioatlas.bundle.redaction import read_plan
from ioatlas.cli._commands import examples
from ioatlas.cli._output import say_json
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.units import utc_text
from ioatlas_atlas import accounts
from ioatlas_atlas.accounts import new_account
from ioatlas_atlas.app import make_app
from ioatlas_atlas.audit import entries
from ioatlas_atlas.backup import Copied
from ioatlas_atlas.backup import backup as write
from ioatlas_atlas.backup import restore as put_back
from ioatlas_atlas.browsers import link_to
from ioatlas_atlas.changes import Decision
from ioatlas_atlas.changes import decide as settle
from ioatlas_atlas.cli._serve_place import Place, blobs_of, bound, opened, place_options
from ioatlas_atlas.connections import AT_ONCE, Guarded
from ioatlas_atlas.database import open_database
from ioatlas_atlas.migrations import form_of
from ioatlas_atlas.migrations import migrate as bring
from ioatlas_atlas.oidc import Provider
from ioatlas_atlas.queries import doubts_of, public_bundles
from ioatlas_atlas.records import AccountKind, Scope
from ioatlas_atlas.tidy import Kept
from ioatlas_atlas.tidy import tidy as clean
from ioatlas_atlas.ui.site import write_site

LISTEN = "127.0.0.1:8760"


@click.group(name="serve", invoke_without_command=True, epilog=examples("serve", "ioatlas_atlas.cli"))
@place_options
@click.option("--listen", metavar="HOST:PORT", default=LISTEN, show_default=True, help="Port 0: any.")
@click.option("--proxy", metavar="ADDRESS", default="", help="Address of a proxy whose X-Forwarded-For is believed.")
@click.option(
    "--public-url", metavar="URL", default="", help="Where the world reaches it, such as https://atlas.example."
)
@click.option("--oidc-issuer", metavar="URL", default="", help="A provider of OpenID Connect to sign in with.")
@click.option(
    "--oidc-client", metavar="ID", default="", help="Its name for this service. Secret: $IOATLAS_OIDC_SECRET."
)
def command(place: Place, listen: str, proxy: str, public_url: str, oidc_issuer: str, oidc_client: str) -> None:
    """Serve an atlas: take in bundles, check them, and answer what can do what.

    Without options everything lies in one folder, and only this machine reaches it.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return

    origin = _origin(public_url)
    provider = _provider(oidc_issuer, oidc_client, origin)
    with opened(place, fresh=True) as held, _listening(listen) as listening:
        app = make_app(held, blobs_of(place), origin=origin, warm=True, provider=provider)
        host, port = listening.getsockname()[:2]
        click.echo(f"http://{f'[{host}]' if ':' in host else host}:{port}/\nCtrl-C ends it.")
        quiet: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False}
        proxied: dict[str, Any] = {"proxy_headers": bool(proxy), "forwarded_allow_ips": proxy or None}
        limits: dict[str, Any] = {"backlog": AT_ONCE, "h11_max_incomplete_event_size": 64 << 10}
        config = uvicorn.Config(app, http=Guarded, ws="none", lifespan="off", **quiet, **proxied, **limits)
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def _provider(issuer: str, client: str, origin: str) -> Provider | None:
    """Raises UsageError for a half, and where the provider cannot be told where people come back to."""
    if not issuer and not client:
        return None
    if not (issuer and client):
        raise UsageError("both are needed", where="--oidc-issuer", remedy="give --oidc-issuer and --oidc-client")
    if not origin:
        raise UsageError("the provider needs the service's address", where="--oidc-issuer", remedy="give --public-url")
    return Provider(issuer, client, os.environ.get("IOATLAS_OIDC_SECRET", ""))


def _origin(text: str) -> str:
    """Without a slash at its end; '' stays. Raises UsageError for what is no origin."""
    parts = urlsplit(text)
    if text and (parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query):
        raise UsageError("this is no address of a service", where="--public-url", remedy="write https://atlas.example")
    return f"{parts.scheme}://{parts.netloc}" if text else ""


def _listening(text: str) -> socket.socket:
    """A listening socket. Raises UsageError for no address, IoAtlasError for one that cannot be used."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError("this is no address", where="--listen", remedy=f"write HOST:PORT, such as {LISTEN}")
    return bound(host.strip("[]"), int(port), where="--listen")


@command.command(epilog=examples("serve migrate", "ioatlas_atlas.cli"))
@place_options
@click.option("--check", is_flag=True, help="Show what would be done, and do nothing.")
def migrate(place: Place, check: bool) -> None:
    """Make the tables of a new database, or bring those of an older ioatlas to today's form."""
    with contextlib.closing(open_database(place.url)) as held:
        form = form_of(held) if check else bring(held)
    if form.current:
        click.echo(f"the database has form {form.newest} already; nothing to do")
    else:
        said = "would get" if check else "got"
        click.echo(f"the database {said} form {form.newest}; it was {form.found or 'empty'}")


@command.command(epilog=examples("serve account", "ioatlas_atlas.cli"))
@click.argument("name")
@place_options
@click.option("--kind", type=click.Choice(["member", "vendor", "moderator"]), default="member", show_default=True)
@click.option("--vendor", metavar="NAME", default="", help="The vendor that a vendor's account speaks for.")
@click.option(
    "--person", metavar="ISSUER SUBJECT", nargs=2, help="Who signs in as it with a provider of OpenID Connect."
)
def account(place: Place, name: str, kind: str, vendor: str, person: tuple[str, str] | None) -> None:
    """Make the account NAME."""
    with opened(place, fresh=True) as held:
        made = new_account(held, name, AccountKind(kind), vendor)
        if person:
            link_to(held, made, *person)
    click.echo(f"{made.name}: {made.kind}{f' of {made.vendor}' if made.vendor else ''}")
    click.echo(f"Next: ioatlas atlas serve token {made.name}", err=True)


@command.command(epilog=examples("serve token", "ioatlas_atlas.cli"))
@click.argument("name")
@place_options
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["read", "publish", "reply", "moderate"]),
    help="What it allows; repeatable. Default: what the account may.",
)
@click.option("--days", type=click.FloatRange(0.01, 3650), help="Days until it expires. Default: never.")
@click.option("--label", default="", help="What it is for.")
@click.option("--list", "listed", is_flag=True, help="The account's tokens, without their secrets.")
@click.option("--revoke", metavar="ID", help="Revoke one.")
def token(
    place: Place, name: str, scopes: tuple[str, ...], days: float | None, label: str, listed: bool, revoke: str | None
) -> None:
    """Make a token for the account NAME, list its tokens, or revoke one."""
    with opened(place) as held:
        of = accounts.account_named(held, name)
        if revoke:
            accounts.revoke(held, revoke)
            click.echo(f"{revoke} is revoked")
        elif listed:
            for one in accounts.tokens_of(held, of):
                good = f"until {utc_text(one.expires_at)[:10]}" if one.expires_at else "good"
                told = (utc_text(one.created_at)[:10], " ".join(one.scopes), "revoked" if one.revoked_at else good)
                click.echo("  ".join((one.id, *told, one.label)).rstrip())
        else:
            seconds = days * 86_400 if days else None
            click.echo(accounts.new_token(held, of, map(Scope, scopes), label=label, seconds=seconds))
            click.echo("Keep it: it is not shown again.", err=True)


@command.command(epilog=examples("serve audit", "ioatlas_atlas.cli"))
@place_options
@click.option("--most", type=click.IntRange(1, 1_000_000), default=100, show_default=True, help="Newest entries.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object per line.")
def audit(place: Place, most: int, as_json: bool) -> None:
    """Who did what, oldest first."""
    with opened(place) as held:
        for one in reversed(entries(held, most)):
            who = one.account or "operator"
            told = f"{utc_text(one.at)}  {who:<16}  {one.action:<14}  {one.subject}  {json.dumps(one.detail)}"
            click.echo(json.dumps(vars(one)) if as_json else told)


@command.command(epilog=examples("serve backup", "ioatlas_atlas.cli"))
@click.argument("to", metavar="DIR", type=click.Path(path_type=Path))
@place_options
def backup(place: Place, to: Path) -> None:
    """Write everything into the new folder DIR, as it is at one moment. The service may go on running."""
    with opened(place) as held:
        _told(write(held, blobs_of(place), to), f"written to {to}", place.blobs)
    click.echo(f"Next: ioatlas atlas serve restore {to} --folder NEW", err=True)


@command.command(epilog=examples("serve restore", "ioatlas_atlas.cli"))
@click.argument("of", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@place_options
def restore(place: Place, of: Path) -> None:
    """Make an atlas from the backup in DIR. The database has to be empty."""
    with opened(place, fresh=True, empty=True) as held:
        _told(put_back(held, blobs_of(place), of), f"restored from {of}", of)


@command.command(epilog=examples("serve site", "ioatlas_atlas.cli"))
@click.argument("to", metavar="FOLDER", type=click.Path(path_type=Path, file_okay=False))
@place_options
@click.option("--title", metavar="TEXT", default="I/O Atlas", show_default=True, help="Of the site.")
def site(place: Place, to: Path, title: str) -> None:
    """Write what anybody may see into FOLDER as static pages with all data, as `ioatlas site` does."""
    with opened(place) as held:
        kept = blobs_of(place)
        paths = [path for sha256 in public_bundles(held) if (path := kept.path(sha256)).is_file()]
        told: dict[str, Any] = {"title": title, "permission": "recorded in the atlas"}
        made = write_site(to, paths, plan=read_plan(None), doubts=lambda path: doubts_of(held, path.stem), **told)
    for text in made.left_out:
        click.echo(f"left out: {text}", err=True)
    click.echo(f"{to}  {plural(len(made.results), 'result')}, {plural(len(made.changed), 'file')} written")


@command.command(epilog=examples("serve decide", "ioatlas_atlas.cli"))
@click.argument("result")
@click.argument("decision", type=click.Choice(["release", "flag"]))
@place_options
@click.option("--reason", required=True, help="One line, shown with the result.")
def decide(place: Place, result: str, decision: str, reason: str) -> None:
    """Flag RESULT, so that only its owner and moderators see it, or release it."""
    with opened(place) as held:
        after = settle(held, result, Decision(decision), reason, None)
    click.echo(f"{after.state}: {after.reason}")


@command.command(name="tidy", epilog=examples("serve tidy", "ioatlas_atlas.cli"))
@place_options
@click.option("--audit-days", type=click.IntRange(2), default=400, show_default=True, help="Audit log, dead tokens.")
@click.option("--keys-days", type=click.IntRange(1), default=30, show_default=True, help="Keys of uploads sent again.")
@click.option("--drafts-days", type=click.IntRange(1), help="Private results older than this. Default: kept.")
@click.option("--dry-run", is_flag=True, help="Count, and remove nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def tidy(place: Place, audit_days: int, keys_days: int, drafts_days: int | None, dry_run: bool, as_json: bool) -> None:
    """Remove what is kept for a time only. Nothing that a public result rests on is touched."""
    with opened(place) as held:
        done = clean(held, blobs_of(place), Kept(audit_days, keys_days, drafts_days), dry_run=dry_run)
    if as_json:
        say_json(done, line=True)
        return
    names = {
        "audit": "lines of the audit log",
        "keys": "keys of uploads",
        "browsers": "browsers that are signed out",
        "tokens": "tokens that are good for nothing",
        "drafts": "private results",
        "leftovers": "leftovers of uploads",
    }
    for name, what in names.items():
        click.echo(f"{done[name]:>8,}  {what} {'would go' if dry_run else 'removed'}")


def _told(copied: Copied, what: str, where: Path) -> None:
    """Raises IoAtlasError where it is not whole: who makes backups from a timer reads the status alone."""
    click.echo(f"{plural(copied.results, 'result')} and {plural(copied.bundles, 'bundle')} {what}")
    if copied.missing:
        lacking = f"{plural(len(copied.missing), 'result')} whose bundle is not there, such as {copied.missing[0]}"
        remedy = "name the folder of bundles with --blobs, and a new one for what is written"
        raise IoAtlasError(lacking, where=str(where), remedy=remedy)
