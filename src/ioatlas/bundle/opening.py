# SPDX-License-Identifier: Apache-2.0
"""A bundle opened as what it was made from: a campaign's directory, to be read and never to be resumed.

Its files go into a new directory of this process alone. Their names pass a list of what a bundle holds; nothing is
written anywhere else, and nothing in it is run.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ioatlas.answer.results.library import OPENED
from ioatlas.bundle import statement
from ioatlas.bundle.statement import parse, parse_lines
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.store import archive
from ioatlas.store.archive import Container
from ioatlas.store.journal import rebuild
from ioatlas.store.rules import MOST_ROWS

REMEDY = "`ioatlas verify` says what is wrong with it"
_HEAD = b"PK\3\4"


class NotABundleError(UsageError):
    """The file is something else."""


@dataclass(frozen=True)
class Bundle:
    """An open bundle whose bytes are those of its statement."""

    container: Container
    attestation: statement.Attestation
    index: Mapping[str, Any]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.container.close()


def looks_like_bundle(path: Path) -> bool:
    """Whether a file is meant to be one, sound or not: two of its three marks are there."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(64)
            size = file.seek(0, 2)
            file.seek(max(0, size - (4 << 20)))
            tail = file.read()
    except OSError:
        return False
    marks = (head.startswith(_HEAD), statement.FILE_NAME.encode() in head, tail[-22:-18] == b"PK\5\6")
    return sum(marks) > 1 and (statement.INDEX.encode() in tail or marks[1])


def open_bundle(path: Path) -> Bundle:
    """The bundle at `path`: its form, its signature and the hash of every file are checked.

    Raises NotABundleError for another file, IoAtlasError for a bundle that was changed.
    """
    if not looks_like_bundle(path):
        raise NotABundleError(
            "this is no bundle" if path.exists() else "there is no such file",
            where=str(path),
            remedy="name a file that `ioatlas bundle` wrote",
        )
    opened = archive.open_file(path)
    try:
        return checked(opened)
    except BaseException:
        opened.close()
        raise


def checked(opened: Container) -> Bundle:
    """The bundle in an open container. Raises IoAtlasError."""
    where = f"{opened.where}: {statement.FILE_NAME}"
    attested = statement.read(opened.read(statement.FILE_NAME, statement.MOST_BYTES), where)
    version = attested.predicate.get("format")
    if type(version) is not int or not 1 <= version <= statement.FORMAT:
        raise IoAtlasError(
            f"it has format {str(version)[:20]}, this ioatlas reads up to {statement.FORMAT}",
            where=opened.where,
            remedy="use a newer ioatlas",
        )
    _check_hashes(opened, attested)
    index = parse(opened.read(statement.INDEX, statement.MOST_TEXT), f"{opened.where}: {statement.INDEX}")
    _check_index(index, version, opened.where)
    return Bundle(opened, attested, index)


def _check_hashes(opened: Container, attested: statement.Attestation) -> None:
    names = opened.members.keys() - {statement.FILE_NAME}
    for name in sorted(names ^ attested.subjects.keys()):
        what = "the statement does not list this file" if name in names else "it is missing"
        raise IoAtlasError(what, where=f"{opened.where}: {name[:80]!r}", remedy=archive.REMEDY)
    for name in opened.members:
        if name == statement.FILE_NAME:
            continue
        if not statement.belongs(name):
            raise IoAtlasError("no bundle holds such a file", where=f"{opened.where}: {name[:80]!r}", remedy=REMEDY)
        if hashlib.sha256(opened.read(name)).hexdigest() != attested.subjects[name]:
            raise IoAtlasError("its hash is not that of the statement", where=f"{opened.where}: {name}", remedy=REMEDY)
    if attested.predicate.get("container_sha256") != opened.digest(without=statement.FILE_NAME):
        raise IoAtlasError("it was packed anew by another program", where=opened.where, remedy=REMEDY)


def _check_index(index: Any, version: int, where: str) -> None:
    campaign = index.get("campaign") if isinstance(index, dict) else None
    texts = ("id", "name", "procedure", "tool_version")
    if (
        not isinstance(campaign, dict)
        or index.get("format") != version
        or type(index.get("journal_format")) is not int
        or not all(isinstance(campaign.get(name), str) for name in texts)
        or not all(campaign[name].isprintable() for name in texts)
        or type(campaign.get("created_at")) not in (int, float)
        or type(campaign.get("complete")) is not bool
    ):
        raise IoAtlasError("it does not say what it holds", where=f"{where}: {statement.INDEX}", remedy=REMEDY)


def unpack(bundle: Bundle, directory: Path) -> None:
    """Its campaign in a new directory. Raises IoAtlasError for a journal that is none."""
    opened = bundle.container
    lay_out(directory, opened.members, opened.read, bundle.index["journal_format"], opened.where)


def lay_out(
    directory: Path, names: Iterable[str], read: Callable[[str], bytes], journal_format: int, where: str
) -> None:
    """A campaign's directory from the members of a bundle. names: each passes `statement.belongs`."""
    rows = {}
    for name in names:
        if name in statement.TABLES:
            table = statement.TABLES[name]
            rows[table] = parse_lines(read(name), f"{where}: {name}", MOST_ROWS[table])
        elif name.startswith(statement.CAMPAIGN):
            path = directory / name.removeprefix(statement.CAMPAIGN)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(read(name))
    rebuild(directory, journal_format, rows, where)
    (directory / OPENED).write_text(f"{where}\n", encoding="utf-8")


@functools.cache
def opened_directory(path: Path) -> Path:
    """The directory of a bundle's campaign, for as long as this process lasts. Raises as `open_bundle`.

    It goes by the name of the bundle, so that what is told of it names the bundle.
    """
    bundle = open_bundle(path)
    place = tempfile.mkdtemp(prefix="ioatlas-bundle-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    directory = Path(place) / (path.name.removesuffix(statement.ENDING) or "bundle")
    directory.mkdir()
    with bundle:
        unpack(bundle, directory)
    return directory
