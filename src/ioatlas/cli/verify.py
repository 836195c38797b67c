# SPDX-License-Identifier: Apache-2.0
"""`ioatlas verify`: whether a bundle is to be believed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.cli._commands import examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._output import say, say_json

if TYPE_CHECKING:
    from ioatlas.bundle.verify import Verification

REFUSED = 3
MARKS = {"passed": "✔", "failed": "✘", "note": "!", "told": "·"}
SIGNED = {
    "trusted": "signed by a key you trust",
    "unknown": "signed by a key you do not know",
    "none": "not signed",
    "bad": "",
}


@click.command(name="verify", epilog=examples("verify"))
@click.argument("bundle", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.option("--trusted", "must_be_trusted", is_flag=True, help="Refuse a bundle that no trusted key signed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(bundle: Path, must_be_trusted: bool, as_json: bool) -> None:
    """Check BUNDLE: its files and signature, and every value, verdict and discard against its raw output."""
    from ioatlas.bundle.verify import Check, Signature, verify

    found = verify(bundle)
    if must_be_trusted and found.signature in (Signature.UNKNOWN, Signature.NONE):
        found.checks.append(Check("signature", "failed", f"it is {SIGNED[found.signature]}"))
    if as_json:
        told = {
            "bundle": str(bundle),
            "verified": found.verified,
            "refused": found.refused,
            "signature": found.signature,
            "signer": found.signer or None,
            "fingerprint": found.fingerprint or None,
            "checks": [vars(check) for check in found.checks],
        }
        say_json(told)
    else:
        said = "REFUSED" if found.refused else "VERIFIED" if found.verified else "NOT VERIFIED IN FULL"
        say(f"{bundle.name}: {said}{_signed(found)}")
        for check in found.checks:
            say(f"  {MARKS[check.state]} {check.name}: {check.text}")
        if found.verified and found.signature is Signature.UNKNOWN:
            say("Next: compare the fingerprint with its holder's, then `ioatlas atlas key trust`.")
        elif found.refused:
            say("Next: do not use it; ask its maker for another copy.")
        elif not found.verified:
            say("Next: check it with the ioatlas that packed it too; do not rank it by this.")
    if not found.verified:
        raise click.exceptions.Exit(REFUSED)


def _signed(found: Verification) -> str:
    words = SIGNED[found.signature]
    if not words:
        return ""
    holder = " ".join(filter(None, (found.signer, found.fingerprint)))
    return f", {words}{f' ({holder})' if holder else ''}"
