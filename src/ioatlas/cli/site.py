# SPDX-License-Identifier: Apache-2.0
"""`ioatlas site`: results as a folder of static pages."""

from __future__ import annotations

from pathlib import Path

import click

from ioatlas.analysis.wording import plural
from ioatlas.cli._arguments import units_option
from ioatlas.cli._commands import examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.cli._output import say, say_json
from ioatlas.config.user import library_folders


@click.command(name="site", epilog=examples("site"))
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("sources", metavar="[SOURCE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--title", metavar="TEXT", default="Storage results", show_default=True, help="Of the site.")
@click.option("--license", "licence", metavar="SPDX", default="", help="Licence of the data, such as CC-BY-4.0.")
@click.option(
    "--permission", metavar="TEXT", default="", help="Who allowed to publish what a licence holds back, and when."
)
@click.option("--redact", metavar="PLAN", help="What to replace: a TOML file, `default` or `none`.")
@units_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@says_what_does_not_fit
def command(
    folder: Path,
    sources: tuple[Path, ...],
    title: str,
    licence: str,
    permission: str,
    redact: str | None,
    as_json: bool,
) -> None:
    """Write campaigns, imports and bundles into FOLDER as static pages: a table, a report each, and downloads."""
    from ioatlas.bundle.redaction import read_plan
    from ioatlas.ui.site import write_site

    sources = sources or tuple(library_folders())
    said = {"licence": licence, "permission": permission.strip()}
    site = write_site(folder, sources, title=title, plan=read_plan(redact), **said)
    for text in site.left_out:
        say(f"left out: {text}", err=True)
    if as_json:
        names = ("results", "left_out", "changed", "removed", "files")
        say_json({"folder": str(folder), **{name: getattr(site, name) for name in names}})
        return
    say(
        f"{folder}  {plural(len(site.results), 'result')}, {plural(site.files, 'file')}: "
        f"{len(site.changed):,} written, {len(site.removed):,} removed"
    )
    say(f"Next: open {folder / 'index.html'} in a browser, or copy the folder to a web server", err=True)
