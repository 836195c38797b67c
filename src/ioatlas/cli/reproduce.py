# SPDX-License-Identifier: Apache-2.0
"""`ioatlas reproduce`: a bundle's campaign on a target of one's own, and whether it came to the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.cli._arguments import PathOrWord, path_option, quantity_option
from ioatlas.cli._examples import examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._options import (
    check_read_only,
    destroy_options,
    dry_run_option,
    overwrite_options,
    quiet_option,
    read_only_option,
    verbose_option,
    yes_option,
)
from ioatlas.cli._output import say, say_json
from ioatlas.errors import UsageError

if TYPE_CHECKING:
    from ioatlas.bundle.reproduce import Reproduction
    from ioatlas.run.plan import Plan
    from ioatlas.run.procedure import Procedure

DIFFERS = 3
MARKS = {"reproduced": "✔", "differs": "✘", "not comparable": "!"}


@click.command(
    name="reproduce",
    epilog=examples("reproduce"),
)
@click.argument("bundle", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.argument("target", metavar="[TARGET]", required=False, type=PathOrWord())
@path_option("-o", "--out", "output", metavar="DIR", help="Directory of your campaign.")
@click.option(
    "--tolerance", metavar="PERCENT", default="10%", show_default=True, help="Differences that do not matter."
)
@path_option("--product", metavar="SHEET", help="Sheet of your product; else the bundle's.")
@quantity_option("What is compared.")
@dry_run_option
@yes_option
@verbose_option
@quiet_option
@read_only_option
@destroy_options
@overwrite_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(
    bundle: Path,
    target: str | None,
    output: Path | None,
    tolerance: str,
    product: Path | None,
    quantity: str,
    dry_run: bool,
    yes: bool,
    verbose: bool,
    quiet: bool,
    read_only: bool,
    destroy: tuple[str, ...],
    overwrite: tuple[str, ...],
    as_json: bool,
) -> None:
    """Measure the campaign of BUNDLE on TARGET, and say whether the result is the same.

    Plan, order seed and windows are those of the bundle. Commands and confirmations in it are shown, never run.
    """
    from ioatlas.bundle.opening import opened_directory
    from ioatlas.bundle.reproduce import judge
    from ioatlas.campaign import default_directory
    from ioatlas.cli.compare import share_of
    from ioatlas.cli.plan import describe, summary_of

    share = share_of(tolerance)
    opened = opened_directory(bundle)
    if target is None:
        if output is None or dry_run or not output.is_dir():
            raise UsageError(
                "no target is named",
                where="reproduce",
                remedy="name one, or the directory of your finished campaign with --out",
            )
        mine = output
    else:
        plan, procedure = _plan(opened, target, product, read_only=read_only)
        if dry_run:
            click.echo(json.dumps(summary_of(plan), indent=2) if as_json else describe(plan))
            return
        _agreed(plan, yes=yes)
        mine = output or default_directory(plan)
        _measure(plan, procedure, mine, (destroy, overwrite), as_json=as_json, verbose=verbose, quiet=quiet)
    said = judge(opened, mine, quantity, share)
    _tell(said, bundle, mine, as_json=as_json)
    if said.outcome != "reproduced":
        raise click.exceptions.Exit(DIFFERS)


def _plan(opened: Path, target: str, product: Path | None, *, read_only: bool) -> tuple[Plan, Procedure | None]:
    """The bundle's campaign on the target, and the procedure that no campaign file names."""
    from ioatlas.bundle.reproduce import specification
    from ioatlas.campaign import open_plan

    spec, procedure = specification(opened, target, str(product or ""))
    plan = open_plan(spec, read_only=read_only, procedure=procedure)
    if read_only:
        check_read_only(plan)
    return plan, procedure


def _agreed(plan: Plan, *, yes: bool) -> None:
    """The plan is always shown: it is somebody else's."""
    from ioatlas.cli.plan import describe

    click.echo(describe(plan), err=True)
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm("Go on?", default=True, abort=True, err=True)


def _measure(
    plan: Plan,
    procedure: Procedure | None,
    directory: Path,
    confirmed: tuple[tuple[str, ...], tuple[str, ...]],
    *,
    as_json: bool,
    verbose: bool,
    quiet: bool,
) -> None:
    """confirmed: what may be destroyed, and overwritten."""
    from ioatlas.campaign import start
    from ioatlas.cli._session import run_session
    from ioatlas.cli.tune import finish

    destroy, overwrite = confirmed
    journal = start(plan, directory, destroy=destroy, overwrite=overwrite, procedure=procedure)
    if procedure is not None:
        finish(journal, as_json=as_json, verbose=verbose, quiet=quiet)
    else:
        run_session(journal, as_json=as_json, verbose=verbose, quiet=quiet)


def _tell(said: Reproduction, bundle: Path, mine: Path, *, as_json: bool) -> None:
    if as_json:
        told = {
            "event": "reproduction",
            "outcome": said.outcome,
            "reasons": said.reasons,
            "conditions": said.conditions,
        }
        say_json({**told, "bundle": str(bundle), "directory": str(mine)}, line=True)
        return
    say(f"{MARKS[said.outcome]} {said.outcome.upper()}: {mine} against {bundle.name}")
    for reason in said.reasons:
        say(f"  {reason}")
    if said.conditions:
        click.echo("Other conditions:")
    for condition in said.conditions:
        say(f"  {condition}")
    say(f"All cells: ioatlas compare {bundle} {mine} --cells --tolerance 10%")
