# SPDX-License-Identifier: Apache-2.0
"""`ioatlas open`: a campaign's report in the browser."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ioatlas import beneath
from ioatlas.cli._campaigns import campaign_argument
from ioatlas.cli._commands import examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.results.library import REPORT


@click.command(name="open", epilog=examples("open"))
@campaign_argument
@says_what_does_not_fit
def command(directory: Path) -> None:
    """Make the report of the campaign in DIR from its journal and open it in the browser.

    An existing report.html is never opened as it is, because it may be somebody else's page.
    """
    from ioatlas.campaign import load_result
    from ioatlas.report.page import write_report
    from ioatlas.results.library import is_opened, shown

    result = load_result(directory)
    report = directory / REPORT
    beneath.is_ordinary(report, linked=False)  # a link in somebody else's directory leads elsewhere
    if is_opened(directory) or not os.access(directory, os.W_OK):
        import tempfile

        report = Path(tempfile.mkdtemp(prefix="ioatlas-")) / REPORT
        click.echo(f"{shown(directory)} cannot be written to: the report is made in {report.parent}", err=True)
    write_report(result, report)
    open_report(report)


def open_report(report: Path) -> None:
    """In the user's browser; where there is none, its place is printed."""
    status = click.launch(str(report.resolve()))
    if status:
        click.echo(f"no browser could be started; the report is {report.resolve()}")
    else:
        click.echo(str(report))
