# SPDX-License-Identifier: Apache-2.0
"""What of a campaign's directory goes into a bundle, as it lies there: files, logs, tables of the journal."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import tomlkit

from ioatlas.load.fio.series import ARCHIVE
from ioatlas.load.machine.typed_in import FACTS_FILE, commands_of, read_power
from ioatlas.measure.campaign import OURS
from ioatlas.measure.run.telemetry import RAW
from ioatlas.model.errors import IoAtlasError, UsageError, faults
from ioatlas.model.visit import BatchStatus
from ioatlas.store import confined
from ioatlas.store.imported import FILE_NAME as IMPORTED
from ioatlas.store.journal import FILE_NAME, Journal, Tables, export

LEFT_OUT = frozenset({FILE_NAME, f"{FILE_NAME}-journal", IMPORTED, "report.html"})
"""The journal goes as text, and a report is made anew."""
TELEMETRY = RAW.removesuffix(".gz")
MOST_BYTES = 1 << 30


@dataclass
class Material:
    """files: by their place in the directory. logs: members of the archive of logs at that place."""

    directory: Path
    journal_format: int
    tables: Tables
    files: dict[str, bytes] = field(default_factory=dict)
    logs: dict[str, dict[str, bytes]] = field(default_factory=dict)


def gather(directory: Path) -> Material:
    """Everything that is shared of the campaign in `directory`. Raises UsageError while it runs, or when there is none.

    Raises IoAtlasError or RefusedError for a directory that holds what no campaign writes.
    """
    if (directory / IMPORTED).exists() and not (directory / FILE_NAME).exists():
        raise UsageError(
            "imported readings alone cannot be bundled: nothing in them can be checked again",
            where=str(directory),
            remedy="share the files of the other tool, and `ioatlas import` them anew",
        )
    with closing(Journal.open(directory)) as journal:
        if any(row.status is BatchStatus.RUNNING for row in journal.batches()):
            raise UsageError(
                "the campaign is running, or its last session died",
                where=str(directory),
                remedy=f"let it end, or `ioatlas resume {directory}`",
            )
    confined.check_tree(directory, OURS)
    found = Material(directory, *export(directory))
    for path in _files(directory):
        _take(found, path, path.relative_to(directory))
    return found


def _files(directory: Path) -> Iterator[Path]:
    for top in sorted(directory.iterdir()):
        if top.name in OURS - LEFT_OUT:
            yield from sorted(path for path in (top.rglob("*") if top.is_dir() else [top]) if path.is_file())


def _take(found: Material, path: Path, place: Path) -> None:
    confined.is_ordinary(path, most_bytes=MOST_BYTES)
    if path.name == ARCHIVE:
        found.logs.setdefault(str(place), {}).update(_unzipped(path))
    elif path.suffix == ".log" and place.parts[0] == "batches":  # of a session that died before it put them away
        found.logs.setdefault(str(place.parent / ARCHIVE), {})[path.name] = path.read_bytes()
    elif path.name == RAW:
        found.files[str(place.with_name(TELEMETRY))] = _gunzipped(path)
    elif str(place) == FACTS_FILE and commands_of(read_power(path)):  # they may hold passwords
        document = tomlkit.parse(path.read_text(encoding="utf-8"))
        del document["power"]
        found.files[str(place)] = tomlkit.dumps(document).encode()
    elif not path.name.endswith(".new"):
        found.files[str(place)] = path.read_bytes()


def _unzipped(path: Path) -> dict[str, bytes]:
    with (
        faults(
            IoAtlasError,
            "the logs cannot be unpacked",
            where=str(path),
            remedy="restore the directory from a copy",
            of=(zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError),
        ),
        zipfile.ZipFile(path) as archive,
    ):
        infos = archive.infolist()
        if sum(info.file_size for info in infos) > MOST_BYTES:
            raise IoAtlasError("it would unpack to more than 1 GiB", where=str(path), remedy="remove it")
        return {info.filename: archive.read(info) for info in infos}


def _gunzipped(path: Path) -> bytes:
    try:
        with gzip.open(path) as opened:
            data = opened.read(MOST_BYTES + 1)
    except EOFError:  # the machine died meanwhile
        return b""
    except (OSError, zlib.error) as error:
        raise IoAtlasError(
            f"it cannot be unpacked: {error}", where=str(path), remedy="restore the directory from a copy"
        ) from error
    if len(data) > MOST_BYTES:
        raise IoAtlasError("it would unpack to more than 1 GiB", where=str(path), remedy="remove it")
    return data
