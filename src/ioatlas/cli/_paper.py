# SPDX-License-Identifier: Apache-2.0
"""Figures, tables, data and words for a publication: `ioatlas export --format paper`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ioatlas.analysis.wording import plural
from ioatlas.cli._json import say_json


def write(
    directories: Sequence[Path], output: Path, about: tuple[str, tuple[str, ...], str], *, draw: bool, as_json: bool
) -> None:
    """Writes what a paper takes from the campaigns into a new folder, or one that this command wrote. Nothing in it
    names the site: paths, hosts, users and addresses are left out. about: title, authors, licence.
    """
    from ioatlas.campaign import load_result
    from ioatlas.report.paper.package import About, check_folder, write_paper
    from ioatlas.report.redact import redactor

    check_folder(output)
    results = [load_result(directory) for directory in directories]
    names = ", ".join(dict.fromkeys(redactor(result.targets)(result.name) for result in results))
    title, authors, licence = about
    said = About(title or f"Storage performance: {names}", authors, licence)
    paper = write_paper(results, output, said, draw=draw)
    if as_json:
        say_json({"folder": str(paper.folder), "files": list(paper.files), "parquet": paper.parquet})
        return
    click.echo(
        f"{paper.folder}: {plural(len(paper.files), 'file')}, {plural(paper.figures, 'figure')}, "
        f"{plural(paper.rows, 'row')} of data"
    )
    if not paper.parquet:
        click.echo('  No Parquet: pyarrow is not installed. To have it: pip install "ioatlas[paper]"')
    click.echo(f"Next: read {paper.folder / 'methods.md'}; set everything: cd {paper.folder} && pdflatex paper.tex")
