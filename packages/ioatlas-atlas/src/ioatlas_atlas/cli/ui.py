# SPDX-License-Identifier: Apache-2.0
"""`ioatlas ui`: the library, reports and running campaigns in the browser of this machine; `ioatlas site`: results as a
folder of static pages.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import click

from ioatlas.answer.analysis.wording import plural
from ioatlas.answer.results.library import library_folders
from ioatlas.cli._arguments import units_option
from ioatlas.cli._commands import examples
from ioatlas.cli._output import say, say_json, says_what_does_not_fit
from ioatlas_atlas.cli._serve_place import bound

NICE = 10
"""A load may run on this machine: pages are made with what it leaves."""


@click.command(name="ui", epilog=examples("ui", "ioatlas_atlas.cli"))
@click.argument(
    "folders", metavar="[FOLDER]...", nargs=-1, type=click.Path(path_type=Path, file_okay=False, exists=True)
)
@click.option("--port", metavar="PORT", type=click.IntRange(0, 65535), default=8750, show_default=True, help="0: any.")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@units_option
@says_what_does_not_fit
def command(folders: tuple[Path, ...], port: int, no_open: bool) -> None:
    """Serve the library in FOLDER, or in the results folder, to the browser of this machine.

    Look at campaigns, imports and reports; compare any set; see what runs now while its map fills; start a measurement.
    Nothing is copied, and nothing is kept but what the commands keep.
    """
    import uvicorn

    from ioatlas_atlas.ui.app import make_app, new_token
    from ioatlas_atlas.ui.shelf import Shelf

    with contextlib.suppress(OSError):
        os.nice(NICE)
    with bound("127.0.0.1", port, where="--port") as listening:
        taken = listening.getsockname()[1]
        token = new_token()
        hosts = frozenset({f"127.0.0.1:{taken}", f"localhost:{taken}"})
        app = make_app(Shelf(folders or library_folders()), hosts=hosts, token=token)
        address = f"http://127.0.0.1:{taken}/?token={token}"
        click.echo(f"{address}\nCtrl-C ends it; running measurements continue.")
        if not no_open:
            click.launch(address)
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off")
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


@click.command(name="site", epilog=examples("site", "ioatlas_atlas.cli"))
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
def site_command(
    folder: Path,
    sources: tuple[Path, ...],
    title: str,
    licence: str,
    permission: str,
    redact: str | None,
    as_json: bool,
) -> None:
    """Write campaigns, bundles and other tools' results into FOLDER as static pages: a table, a report each, downloads.

    Imported results have a line for each set.
    """
    from ioatlas.bundle.redaction import read_plan
    from ioatlas_atlas.ui.site import write_site

    plan, sources = read_plan(redact), sources or tuple(library_folders())
    site = write_site(folder, sources, title=title, plan=plan, licence=licence, permission=permission.strip())
    for text in site.left_out:
        say(f"left out: {text}", err=True)
    if as_json:
        say_json({"folder": str(folder), **vars(site)})
        return
    say(
        f"{folder}  {plural(len(site.results), 'result')}, {plural(site.files, 'file')}: "
        f"{len(site.changed):,} written, {len(site.removed):,} removed"
    )
    say(f"Next: open {folder / 'index.html'} in a browser, or copy the folder to a web server", err=True)
