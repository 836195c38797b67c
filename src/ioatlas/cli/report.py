# SPDX-License-Identifier: Apache-2.0
"""`ioatlas report`: write a campaign's report anew."""

from __future__ import annotations

from pathlib import Path

import click

from ioatlas.cli._campaigns import campaign_argument, own_place
from ioatlas.cli._faults import says_what_does_not_fit


@click.command(
    name="report",
    epilog="""\b
Examples:
  ioatlas report nas1                  writes nas1/report.html
  ioatlas report nas1 -o nas1.html""",
)
@campaign_argument
@click.option(
    "-o", "output", metavar="FILE", type=click.Path(path_type=Path), help="Where to write it. Default: DIR/report.html."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@says_what_does_not_fit
def command(directory: Path, output: Path | None, as_json: bool) -> None:
    """Write the report of the campaign in DIR: one HTML file that works offline."""
    import json

    from ioatlas import beneath
    from ioatlas.campaign import load_result
    from ioatlas.report.page import write_report

    path = output or own_place(directory, "report.html")
    if output is None:
        beneath.is_ordinary(path, linked=False)  # a link in somebody else's directory leads elsewhere
    result = load_result(directory)
    write_report(result, path)
    click.echo(
        json.dumps({"report": str(path), "cells": len(result.estimates), "visits": result.n_visits})
        if as_json
        else str(path)
    )
