# SPDX-License-Identifier: Apache-2.0
"""`ioatlas atlas`: results that others may see and check; `ioatlas atlas key`: keys that sign bundles, and keys you
trust.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.cli._arguments import PathOrWord
from ioatlas.cli._commands import Commands, examples
from ioatlas.cli._output import say, say_json
from ioatlas.model.errors import UsageError, faults

if TYPE_CHECKING:
    from ioatlas.bundle.keys import PublicKey


@click.group(name="atlas", cls=Commands, files={"atlas": "key"})
def command() -> None:
    """An atlas collects signed bundles, recomputes every number from the raw output, and lets vendors answer."""


@click.group(name="key", epilog=examples("key"))
def key_command() -> None:
    """Keys that sign bundles, and keys that you trust."""


@key_command.command(name="new")
@click.option("--passphrase", is_flag=True, help="Ask for a passphrase that protects the key.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def new(passphrase: bool, as_json: bool) -> None:
    """Make your signing key; an existing one is never replaced."""
    from ioatlas.bundle import keys

    text = click.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True) if passphrase else ""
    public = keys.make_key(keys.own_path(), text)
    if as_json:
        told = {"key": str(keys.own_path()), "public": public.line, "fingerprint": public.fingerprint}
        say_json(told, line=True)
        return
    click.echo(f"{public.fingerprint}\nprivate key: {keys.own_path()}\n{public.line}")
    if not passphrase:
        say("It has no passphrase: who can read the file can sign as you.", err=True)


@key_command.command(name="show")
@click.argument("source", metavar="[KEY]", required=False, type=PathOrWord())
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(source: str | None, as_json: bool) -> None:
    """Show your public key and whom you trust, or the fingerprint of KEY: a public key, its file, or a bundle."""
    from ioatlas.bundle import keys

    found = [_named(source)] if source is not None else keys.trusted()
    if as_json:
        say_json([{"name": k.name, "public": k.line, "fingerprint": k.fingerprint} for k in found])
    elif not found:
        say("there is no key yet; make one: ioatlas atlas key new")
    for key in found if not as_json else ():
        click.echo(f"{key.fingerprint}  {key.name}\n  {key.line}")


@key_command.command(name="trust")
@click.argument("source", metavar="KEY", type=PathOrWord())
@click.option("--name", default="", help="Your name for its owner.")
@click.option("--fingerprint", metavar="SHA256:...", help="Refuse any other key than this one.")
@click.option("--remove", is_flag=True, help="Trust it no longer. KEY may be its fingerprint.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def trust(source: str, name: str, fingerprint: str | None, remove: bool, as_json: bool) -> None:
    """Trust what KEY signs: a public key, its file, or a bundle that it signed.

    Compare the fingerprint with its owner over another channel than the one that brought the key.
    """
    from ioatlas.bundle import keys

    wanted = source if remove and source.startswith("SHA256:") else ""
    key = None if wanted else _named(source)
    told = wanted or (key.fingerprint if key else "")
    if fingerprint and told != fingerprint:
        raise UsageError(f"its fingerprint is {told}", where=source, remedy="ask its holder which one is right")
    if remove:
        changed = keys.distrust(told)
        text = "no longer trusted" if changed else "it was not in the list"
    else:
        assert key is not None
        label = " ".join((name or key.name).split())
        if not label.isprintable():
            raise UsageError("this name has control characters", where="--name")
        changed = keys.trust(keys.PublicKey(key.raw, label))
        text = "trusted" if changed else "trusted already"
    if as_json:
        say_json({"fingerprint": told, "changed": changed, "trusted": not remove}, line=True)
    else:
        click.echo(f"{told}: {text}")


def _named(source: str) -> PublicKey:
    """The public key that a text, a file, the .pub of a private key or a bundle names. Raises UsageError."""
    from ioatlas.bundle import keys
    from ioatlas.bundle.opening import looks_like_bundle, open_bundle
    from ioatlas.store import confined

    if source.startswith(f"{keys.KIND} "):
        return keys.read_public(source, "KEY")
    if (bundle := Path(source)).is_file() and looks_like_bundle(bundle):
        with open_bundle(bundle) as opened:
            if opened.attestation.key is None:
                raise UsageError("nobody signed this bundle", where=source, remedy="ask its maker for the key")
            return opened.attestation.key
    public = Path(f"{source}.pub")
    with faults(UsageError, "the key cannot be read", where=source):
        text = confined.read_text(public if public.exists() else Path(source), most_bytes=keys.MOST_BYTES)
    return keys.read_public(text, source)
