# SPDX-License-Identifier: Apache-2.0
"""`ioatlas paper`: figures, tables, data and words for a publication."""

from __future__ import annotations

from pathlib import Path

import click

from ioatlas.analysis.wording import plural
from ioatlas.cli._campaigns import CampaignDirectory
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._json import say_json


@click.command(
    name="paper",
    epilog="""\b
Examples:
  ioatlas paper nas1 -o nas1-paper
  ioatlas paper nas1 nas2 -o both --title "Two arrays" --author "A. Uthor" --license CC-BY-4.0
  cd both && pdflatex paper.tex                            everything on a few pages

\b
The folder holds: figures (PDF, SVG) with captions, tables (LaTeX, Markdown, CSV), all values (CSV, Parquet) with a
dictionary (Data Package 2.0), a methods section, CITATION.cff, a README and checksums.
Figures and Parquet need the extras `figures` and `paper`: pip install "ioatlas[figures,paper]".""",
)
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=CampaignDirectory())
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    required=True,
    type=click.Path(path_type=Path),
    help="A new folder, or one that this command wrote.",
)
@click.option("--title", metavar="TEXT", help="Title of the data. Default: the names of the campaigns.")
@click.option("--author", "authors", metavar="NAME", multiple=True, help="An author; give it once for each.")
@click.option("--license", "licence", metavar="SPDX", default="", help="Licence of the data, such as CC-BY-4.0.")
@click.option("--no-figures", is_flag=True, help="Leave out the figures.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
@says_what_does_not_fit
def command(
    directories: tuple[Path, ...],
    output: Path,
    title: str | None,
    authors: tuple[str, ...],
    licence: str,
    no_figures: bool,
    as_json: bool,
) -> None:
    """Write what a paper takes from the campaigns in DIR... into a folder.

    Nothing names your site: paths, hosts, users and addresses are left out.
    """
    from ioatlas.campaign import load_result
    from ioatlas.report.paper.package import About, check_folder, write_paper
    from ioatlas.report.redact import redactor

    check_folder(output)
    results = [load_result(directory) for directory in directories]
    names = ", ".join(dict.fromkeys(redactor(result.targets)(result.name) for result in results))
    about = About(title or f"Storage performance: {names}", authors, licence)
    paper = write_paper(results, output, about, draw=not no_figures)
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
