# SPDX-License-Identifier: Apache-2.0
"""Where an atlas is: the options that every `ioatlas atlas serve` command has, and the opening of it."""

from __future__ import annotations

import functools
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ioatlas.cli._arguments import path_option
from ioatlas.model.errors import IoAtlasError, UsageError

if TYPE_CHECKING:
    from ioatlas_atlas.blobs import Blobs
    from ioatlas_atlas.database import Database

FOLDER = Path("atlas")
VARIABLE, BLOBS = "IOATLAS_DATABASE", "IOATLAS_BLOBS"


@dataclass(frozen=True)
class Place:
    """url: of the database. blobs: folder of the bundles. embedded: the database is the default one, in the folder."""

    url: str
    blobs: Path
    embedded: bool


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --folder, --database and --blobs, handed on as one `Place`, the command's first argument. What is not said
    behind the command holds as said behind `serve`.
    """

    @functools.wraps(command)
    def with_place(*, folder: Path | None, database: str | None, blobs: Path | None, **given: Any) -> Any:
        group = click.get_current_context().parent
        above = group.params if group and group.command.name == "serve" else {}
        folder = folder or above.get("folder") or FOLDER
        database = database or above.get("database")
        blobs = blobs or above.get("blobs") or folder / "blobs"
        url = database or f"sqlite:///{folder.absolute() / 'atlas.sqlite'}"
        return command(Place(url, blobs, database is None), **given)

    decorated: Callable[..., Any] = with_place
    for option in (
        path_option("--blobs", metavar="DIR", envvar=BLOBS, help=f"Bundles. Default: FOLDER/blobs. Also ${BLOBS}."),
        click.option(
            "--database",
            metavar="URL",
            envvar=VARIABLE,
            help=f"postgresql://USER@HOST/NAME, or sqlite:///FILE. Default: FOLDER/atlas.sqlite. Also ${VARIABLE}.",
        ),
        path_option("--folder", metavar="FOLDER", help="Folder of everything. Default: atlas."),
    ):
        decorated = option(decorated)
    return decorated


@contextmanager
def opened(place: Place, *, fresh: bool = False, empty: bool = False) -> Iterator[Database]:
    """The database in today's form. fresh: the embedded one is made where there is none. empty: the tables too, in an
    empty one of either kind. Raises IoAtlasError.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from ioatlas_atlas.database import first_line, open_database
    from ioatlas_atlas.migrations import check_current, form_of, migrate

    file = Path(place.url.removeprefix("sqlite:///"))
    if place.embedded and not fresh and not file.exists():
        remedy = "`ioatlas atlas serve` makes one, or name --folder"
        raise UsageError("there is no atlas", where=str(file.parent), remedy=remedy)
    database = open_database(place.url)
    try:
        if (empty or (fresh and place.embedded)) and form_of(database).found == 0:
            migrate(database)
        check_current(database)
        yield database
    except SQLAlchemyError as error:
        remedy = "see that it is the database of an atlas, and that it may be written"
        raise IoAtlasError(first_line(error), where=database.where, remedy=remedy) from error
    finally:
        database.close()


def blobs_of(place: Place) -> Blobs:
    """The folder of bundles. Raises UsageError where a bucket was used, so that no bundle is missed."""
    from ioatlas_atlas.blobs import Blobs

    if os.environ.get("IOATLAS_S3"):
        remedy = f"copy the bucket into {place.blobs / 'kept'} as it is, then unset IOATLAS_S3"
        raise UsageError("bundles are kept in a folder only", where="IOATLAS_S3", remedy=remedy)
    return Blobs(place.blobs)


def bound(host: str, port: int, *, where: str) -> socket.socket:
    """A listening socket. where: the option that names it. Raises IoAtlasError for an address that cannot be used."""
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        what = f"port {port} of {host} cannot be used: {error.strerror}"
        raise IoAtlasError(what, where=where, remedy="name another port, or 0 for any") from error
    found.listen(128)
    return found
