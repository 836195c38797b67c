# SPDX-License-Identifier: Apache-2.0
"""`ioatlas open`: a campaign's report in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from ioatlas import beneath
from ioatlas.cli._campaigns import campaign_argument
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._session import REPORT


@click.command(
    name="open",
    epilog="""\b
Examples:
  ioatlas open nas1    its report.html in the browser
  ioatlas open last    that of the newest campaign""",
)
@campaign_argument
@says_what_does_not_fit
def command(directory: Path) -> None:
    """Open the report of the campaign in DIR in the browser; one that is missing is written first."""
    report = directory / REPORT
    if not beneath.is_ordinary(report, linked=False):  # a link in somebody else's directory leads elsewhere
        from ioatlas.campaign import load_result
        from ioatlas.report.page import write_report

        write_report(load_result(directory), report)
    open_report(report)


def open_report(report: Path) -> None:
    """In the user's browser; where there is none, its place is printed."""
    status = click.launch(str(report.resolve()))
    if status:
        click.echo(f"no browser could be started; the report is {report.resolve()}")
    else:
        click.echo(str(report))
