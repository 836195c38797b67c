# SPDX-License-Identifier: Apache-2.0
"""`ioatlas bundle`: pack a campaign into one signed file; `ioatlas verify`: whether a bundle is to be believed;
`ioatlas reproduce`: its campaign on a target of one's own, and whether it came to the same.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.answer.results.library import BUNDLE_ENDING, check_not_opened
from ioatlas.cli._arguments import PathOrWord, campaign_argument, path_option, quantity_option
from ioatlas.cli._commands import examples, of_package
from ioatlas.cli._options import Measuring, how_options
from ioatlas.cli._output import say, say_json, says_what_does_not_fit
from ioatlas.model.errors import GateError, UsageError, written
from ioatlas.model.units import parse_percent

if TYPE_CHECKING:
    from ioatlas.bundle.keys import SigningKey
    from ioatlas.bundle.pack import Packed
    from ioatlas.bundle.reproduce import Reproduction
    from ioatlas.bundle.verify import Verification


MOST_SHOWN = 40


@click.command(name="bundle", epilog=examples("bundle"))
@campaign_argument
@path_option("-o", "output", metavar="FILE", help="The bundle. Default: DIR.ioatlas.zip.")
@click.option("--redact", metavar="PLAN", help="What to replace: a TOML file, `default` or `none`.")
@path_option("--key", metavar="FILE", help="Private key to sign with. Default: yours.")
@click.option("--unsigned", is_flag=True, help="Do not sign.")
@click.option("--license", "licence", metavar="SPDX", default="", help="Licence of the data, such as CC-BY-4.0.")
@click.option("--dry-run", is_flag=True, help="Show what would be replaced, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(
    directory: Path,
    output: Path | None,
    redact: str | None,
    key: Path | None,
    unsigned: bool,
    licence: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Pack the campaign in DIR into one file that anybody can check: raw output, journal, values, hashes, signature."""
    from ioatlas.bundle import statement
    from ioatlas.bundle.pack import check_free, pack
    from ioatlas.bundle.redaction import read_plan
    from ioatlas.report.page import put_whole

    check_not_opened(directory)
    path = output or Path(f"{directory.resolve().name}{statement.ENDING}")
    if not dry_run:
        check_free(path)
    signing = None if unsigned else _signing_key(key)
    packed = pack(directory, plan=read_plan(redact), key=signing, licence=licence)
    data = packed.data()
    if not dry_run:
        with written(path, "name another place with -o"):
            put_whole(data, path)
    signer = signing.public.fingerprint if signing else ""
    if as_json:
        told = {"bundle": None if dry_run else str(path), "bytes": len(data), "signed_by": signer or None}
        replaced = [{"kind": kind, "name": name, "by": by} for kind, name, by in packed.redactor.table()]
        kept = sorted(packed.redactor.ordinary)
        say_json({**told, **packed.index, "replaced": replaced, "not_replaced": kept})
        return
    _preview(packed, verbose=dry_run)
    if dry_run:
        say(f"nothing was written; {path} would have {len(data):,} bytes", err=True)
        return
    signed = f"signed by {signer}" if signer else "not signed: `ioatlas atlas key new` makes a key"
    say(f"{path}  {len(data):,} bytes, {len(packed.members)} files, {signed}")
    say(f"Next: ioatlas verify {path}", err=True)


def _signing_key(path: Path | None) -> SigningKey | None:
    from ioatlas.bundle import keys

    if path is None and not keys.own_path().exists():
        return None

    def ask() -> str:
        return str(click.prompt("Passphrase of the key", hide_input=True, err=True)) if sys.stdin.isatty() else ""

    return keys.load_key(path or keys.own_path(), ask)


def _preview(packed: Packed, *, verbose: bool) -> None:
    """What was replaced; on standard error, since it names the site."""
    redactor = packed.redactor
    table = redactor.table()
    for kind, name, by in table[:MOST_SHOWN] if verbose else ():
        say(f"  {kind:<10} {name}  →  {by}", err=True)
    if verbose and len(table) > MOST_SHOWN:
        say(f"  and {len(table) - MOST_SHOWN} more: see --json", err=True)
    places = sum(redactor.counts.values())
    say(f"replaced: {len(table)} names in {places:,} places; private facts are left out", err=True)
    if redactor.plan.keep:
        say(f"kept by your plan: {', '.join(sorted(redactor.plan.keep))}", err=True)
    if redactor.ordinary:
        names = ", ".join(sorted(redactor.ordinary))
        say(f"too short or too common to be replaced in texts: {names}", err=True)
    targets = ", ".join(packed.index["campaign"]["targets"])
    say(f"names that stay: campaign {packed.index['campaign']['name']!r}, targets {targets}", err=True)


CHECK_MARKS = {"passed": "✔", "failed": "✘", "note": "!", "told": "·"}
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
def verify_command(bundle: Path, must_be_trusted: bool, as_json: bool) -> None:
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
            **{name: getattr(found, name) or None for name in ("signer", "fingerprint", "packed_with", "since")},
            "checks": [vars(check) for check in found.checks],
        }
        say_json(told)
    else:
        said, then = _said(found)
        say(f"{bundle.name}: {said}{_signed(found)}")
        for check in found.checks:
            say(f"  {CHECK_MARKS[check.state]} {check.name}: {check.text}")
        if then:
            say(f"Next: {then}")
    if not found.verified:
        raise click.exceptions.Exit(GateError.exit_code)


def _said(found: Verification) -> tuple[str, str]:
    """The answer, and what to do next; '' for nothing."""
    if found.refused:
        return "REFUSED", "do not use it; ask its maker for another copy."
    if found.verified:
        then = "compare the fingerprint with its holder's, then `ioatlas atlas key trust`."
        return "VERIFIED", then if found.signature == "unknown" else ""
    by = f"ioatlas {found.since}" if found.since else "another version"
    then = f"this is expected of what {by} made: check it with that version too; do not rank it by this."
    return "NOT VERIFIED IN FULL", then


def _signed(found: Verification) -> str:
    words = SIGNED[found.signature]
    if not words:
        return ""
    holder = " ".join(filter(None, (found.signer, found.fingerprint)))
    return f", {words}{f' ({holder})' if holder else ''}"


OUTCOME_MARKS = {"reproduced": "✔", "differs": "✘", "not comparable": "!"}


@click.command(name="reproduce", epilog=examples("reproduce"))
@click.argument("source", metavar="BUNDLE", type=PathOrWord())
@click.argument("target", metavar="[TARGET]", required=False, type=PathOrWord())
@path_option("-o", "--out", "output", metavar="DIR", help="Directory of your campaign.")
@click.option(
    "--tolerance", metavar="PERCENT", default="10%", show_default=True, help="Differences that do not matter."
)
@path_option("--product", metavar="SHEET", help="Sheet of your product; else the bundle's.")
@quantity_option("What is compared.")
@how_options("dry_run yes verbose quiet read_only destroy overwrite as_json")
@says_what_does_not_fit
def reproduce_command(
    how: Measuring,
    source: str,
    target: str | None,
    output: Path | None,
    tolerance: str,
    product: Path | None,
    quantity: str,
) -> None:
    """Measure the campaign of BUNDLE, a file or a result's address, on TARGET, and say whether it comes out the same.

    Plan, order seed and windows are those of the bundle. Commands and confirmations in it are shown, never run.
    """
    from ioatlas.bundle.opening import opened_directory
    from ioatlas.bundle.reproduce import judge, specification
    from ioatlas.cli._session import run_session
    from ioatlas.cli.compare import MOST_TOLERANCE
    from ioatlas.cli.tune import finish

    share = parse_percent(tolerance, where="--tolerance", most=MOST_TOLERANCE)
    bundle = _fetched(source) if "://" in source else Path(source)
    opened = opened_directory(bundle)
    if target is None:
        if output is None or how.dry_run or not output.is_dir():
            raise UsageError(
                "no target is named", where="reproduce", remedy="name one, or with --out the directory of your campaign"
            )
        mine = output
    else:
        spec, procedure = specification(opened, target, str(product or ""))
        plan = how.plan(spec, procedure)
        if how.only_shows(plan):
            return
        how.agree(plan)  # always: it is somebody else's
        journal = how.start(plan, output)
        mine = journal.directory
        measure = run_session if procedure is None else finish
        measure(journal, how)
    said = judge(opened, mine, quantity, share)
    _tell(said, bundle, mine, as_json=how.as_json)
    if said.outcome != "reproduced":
        raise click.exceptions.Exit(GateError.exit_code)


def _fetched(address: str) -> Path:
    """The bundle of a result, as `ioatlas atlas fetch` brings it here; where it is here already, it stays as it is."""
    path = Path(f"{address.rstrip('/').rpartition('/')[2]}{BUNDLE_ENDING}")
    if not path.exists():
        with redirect_stdout(sys.stderr), suppress(GateError):  # it says itself that another version packed it
            of_package("fetch").main([address, "-o", str(path)], "ioatlas atlas fetch", standalone_mode=False)
    return path


def _tell(said: Reproduction, bundle: Path, mine: Path, *, as_json: bool) -> None:
    if as_json:
        say_json({"event": "reproduction", **vars(said), "bundle": str(bundle), "directory": str(mine)}, line=True)
        return
    say(f"{OUTCOME_MARKS[said.outcome]} {said.outcome.upper()}: {mine} against {bundle.name}")
    for reason in said.reasons:
        say(f"  {reason}")
    if said.conditions:
        click.echo("Other conditions:")
    for condition in said.conditions:
        say(f"  {condition}")
    say(f"All cells: ioatlas compare {bundle} {mine} --cells --tolerance 10%")
