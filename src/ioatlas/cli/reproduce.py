# SPDX-License-Identifier: Apache-2.0
"""`ioatlas reproduce`: a bundle's campaign on a target of one's own, and whether it came to the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ioatlas.cli._arguments import PathOrWord, path_option, quantity_option
from ioatlas.cli._commands import examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._options import Measuring, how_options
from ioatlas.cli._output import say, say_json
from ioatlas.errors import UsageError
from ioatlas.model.units import parse_percent

if TYPE_CHECKING:
    from ioatlas.bundle.reproduce import Reproduction

DIFFERS = 3
MARKS = {"reproduced": "✔", "differs": "✘", "not comparable": "!"}


@click.command(name="reproduce", epilog=examples("reproduce"))
@click.argument("bundle", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.argument("target", metavar="[TARGET]", required=False, type=PathOrWord())
@path_option("-o", "--out", "output", metavar="DIR", help="Directory of your campaign.")
@click.option(
    "--tolerance", metavar="PERCENT", default="10%", show_default=True, help="Differences that do not matter."
)
@path_option("--product", metavar="SHEET", help="Sheet of your product; else the bundle's.")
@quantity_option("What is compared.")
@how_options("dry_run yes verbose quiet read_only destroy overwrite as_json")
@says_what_does_not_fit
def command(
    how: Measuring,
    bundle: Path,
    target: str | None,
    output: Path | None,
    tolerance: str,
    product: Path | None,
    quantity: str,
) -> None:
    """Measure the campaign of BUNDLE on TARGET, and say whether the result is the same.

    Plan, order seed and windows are those of the bundle. Commands and confirmations in it are shown, never run.
    """
    from ioatlas.bundle.opening import opened_directory
    from ioatlas.bundle.reproduce import judge, specification
    from ioatlas.campaign import default_directory
    from ioatlas.cli._session import run_session
    from ioatlas.cli.compare import MOST_TOLERANCE
    from ioatlas.cli.tune import finish

    share = parse_percent(tolerance, where="--tolerance", most=MOST_TOLERANCE)
    opened = opened_directory(bundle)
    if target is None:
        if output is None or how.dry_run or not output.is_dir():
            raise UsageError(
                "no target is named",
                where="reproduce",
                remedy="name one, or the directory of your finished campaign with --out",
            )
        mine = output
    else:
        spec, procedure = specification(opened, target, str(product or ""))
        plan = how.plan(spec, procedure)
        if how.only_shows(plan, procedure):
            return
        how.agree(plan, procedure)  # always: it is somebody else's
        mine = output or default_directory(plan)
        journal = how.start(plan, mine, procedure=procedure)
        if procedure is not None:
            finish(journal, how)
        else:
            run_session(journal, how)
    said = judge(opened, mine, quantity, share)
    _tell(said, bundle, mine, as_json=how.as_json)
    if said.outcome != "reproduced":
        raise click.exceptions.Exit(DIFFERS)


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
