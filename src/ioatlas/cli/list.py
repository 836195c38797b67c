# SPDX-License-Identifier: Apache-2.0
"""`ioatlas list`: what was measured and imported; `ioatlas open`: a campaign's report in the browser; `ioatlas
profiles`: the built-in campaigns; `ioatlas completion`: for a shell.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from ioatlas.answer.results.library import (
    REPORT,
    Entry,
    bundles,
    directories,
    entry,
    is_opened,
    library_folders,
    shown,
    stamp,
)
from ioatlas.cli import ioatlas
from ioatlas.cli._arguments import Name, campaign_argument, units_option
from ioatlas.cli._commands import examples
from ioatlas.cli._output import columns, folded, say_json, says_what_does_not_fit
from ioatlas.model.units import utc_text
from ioatlas.plan.profiles import check, described, profiles, text_of
from ioatlas.report.numbers import answer_of
from ioatlas.store import confined


@click.command(name="list", epilog=examples("list"))
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--target", metavar="TARGET", help="Only campaigns of this target: its name or its place.")
@units_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: Path | None, target: str | None, as_json: bool) -> None:
    """List the campaigns, imports and bundles in FOLDER, or in the library, the newest first."""
    folders = (folder,) if folder else library_folders()
    found = [entry(path) for path in (*directories(folders), *bundles(folders))]
    found.sort(key=lambda each: each.created or 0.0, reverse=True)
    if target is not None:
        found = [each for each in found if each.is_of(target)]
    if as_json:
        say_json([_told(each) for each in found])
    elif not found:
        of = f" of {target}" if target else ""
        places = ", ".join(str(each.resolve()) for each in folders)
        click.echo(f"no campaign{of} in {places}; make one: ioatlas map {target or 'DIRECTORY'}")
    else:
        for row in _rows([_told(each) for each in found]):
            click.echo(row.rstrip())


def _told(each: Entry) -> dict[str, Any]:
    answer = answer_of(each.directory, stamp(each.directory) or 0.0)
    return {
        "directory": str(each.directory),
        "name": each.name,
        "created": None if each.created is None else utc_text(each.created),
        "state": each.state,
        "best_read": answer.get("read"),
        "best_write": answer.get("write"),
        "trust": answer.get("trust"),
        "targets": [{"name": target.name, "location": target.location} for target in each.targets],
    }


def _rows(campaigns: list[dict[str, Any]]) -> list[str]:
    cells: list[tuple[str, ...]] = [("CREATED (UTC)", "STATE", "BEST READ", "BEST WRITE", "TRUST", "NAME", "DIRECTORY")]
    names = ("state", "best_read", "best_write", "trust", "name", "directory")
    cells += [
        ((each["created"] or "-")[:16].replace("T", " "), *(each[name] or "-" for name in names)) for each in campaigns
    ]
    return columns(cells, right={2, 3})


@click.command(name="open", epilog=examples("open"))
@campaign_argument
@says_what_does_not_fit
def open_command(directory: Path) -> None:
    """Make the report of the campaign in DIR from its journal and open it in the browser.

    An existing report.html is never opened as it is, because it may be somebody else's page.
    """
    from ioatlas import api

    result = api.load(directory)
    report = directory / REPORT
    confined.is_ordinary(report, linked=False)  # a link in somebody else's directory leads elsewhere
    if is_opened(directory) or not os.access(directory, os.W_OK):
        report = Path(tempfile.mkdtemp(prefix="ioatlas-")) / REPORT
        click.echo(f"{shown(directory)} cannot be written to: the report is made in {report.parent}", err=True)
    api.export(result, report)
    open_report(report)


def open_report(report: Path) -> None:
    """In the user's browser; where there is none, its place is printed."""
    status = click.launch(str(report.resolve()))
    if status:
        click.echo(f"no browser could be started; the report is {report.resolve()}")
    else:
        click.echo(str(report))


@click.command(name="profiles", epilog=examples("profiles"))
@click.argument("name", required=False, type=Name(profiles))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def profiles_command(name: str | None, as_json: bool) -> None:
    """List the built-in profiles, or print the one called NAME as a campaign file."""
    if name is not None:
        check(name, "NAME")
        click.echo(text_of(name).rstrip())
        return
    if as_json:
        say_json([asdict(each) for each in described()])
        return
    rows = [("PROFILE", "CELLS", "TIME", "FILE", "FOR")]
    rows += [
        (each.name, f"{each.n_cells:,}" if each.n_cells else "-", each.time, each.size or "-", each.reader)
        for each in described()
    ]
    lines = columns(rows, right={1, 3})
    for line in lines:
        click.echo(folded(line, lines[0].index("FOR")))
    click.echo()
    click.echo(
        folded("TIME is about what two visits of each cell take. FILE is the largest file; - depends on the target.")
    )
    click.echo(
        folded("In a directory, a map writes only inside a subdirectory of its own, which is removed at the end.")
    )


SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_IOATLAS_COMPLETE"


@click.command(name="completion", epilog=examples("completion"))
@click.argument("shell", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print what makes SHELL complete commands, options, profiles and campaigns."""
    kind = get_completion_class(shell)
    assert kind is not None, shell
    source = kind(ioatlas, {}, "ioatlas", VARIABLE).source()
    # click's lines for fish are cut at every comma, also at those of a help text.
    click.echo(source.replace('string split ","', 'string split --max 1 ","'))
