# SPDX-License-Identifier: Apache-2.0
"""`ioatlas ui`: the library, reports and running campaigns in the browser of this machine."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

import click

from ioatlas.cli._arguments import units_option
from ioatlas.cli._commands import examples
from ioatlas.cli._faults import says_what_does_not_fit
from ioatlas.errors import IoAtlasError

NICE = 10
"""A load may run on this machine: pages are made with what it leaves."""


@click.command(name="ui", epilog=examples("ui"))
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

    from ioatlas.config.user import library_folders
    from ioatlas.ui.app import make_app
    from ioatlas.ui.gate import new_token
    from ioatlas.ui.shelf import Shelf

    with contextlib.suppress(OSError):
        os.nice(NICE)
    with _listening(port) as listening:
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


def _listening(port: int) -> socket.socket:
    """A socket on loopback; on another port where the usual one is taken. Raises IoAtlasError."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
    except OSError as error:
        found.close()
        raise IoAtlasError(
            f"port {port} cannot be used: {error.strerror}", where="--port", remedy="name another port, or 0 for any"
        ) from error
    found.listen()
    return found
