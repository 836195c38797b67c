# SPDX-License-Identifier: Apache-2.0
"""`ioatlas import`: result files of other tools as imported readings."""

from __future__ import annotations

import gc
import io
import json
import os
import sys
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from ioatlas import __version__
from ioatlas.answer.analysis.imported_answer import by_kind
from ioatlas.answer.analysis.wording import plural
from ioatlas.cli._commands import examples
from ioatlas.cli._output import folded
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas_translate.read.formats import NOT_READ, TOOLS

if TYPE_CHECKING:
    from ioatlas_translate.read.source import Source

_TOLD_ONE_BY_ONE = 8
"""More remarks than this are told by kind."""
_MANY = 64
_CHUNK = 100
_AT_ONCE = 1000
_KEPT_MESSAGES = 10_000
_Item = tuple[str, str, str]
"""A file, the folder that was named if not itself, and what it is called: a member of an archive lies elsewhere."""
_Batch = tuple[list[bytes], list[bytes]]
"""JSON lines and their digests."""


@dataclass
class _Tally:
    """What came of some files. passed_over: how many were not read, by why. lost: whether figures were lost."""

    files: int = 0
    readings: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    lost: bool = False
    messages: list[str] = field(default_factory=list)

    def take(self, other: _Tally) -> None:
        """Those of other files as well."""
        self.files += other.files
        self.readings += other.readings
        self.passed_over += other.passed_over
        self.lost = self.lost or other.lost
        self.messages += other.messages[: max(0, _KEPT_MESSAGES - len(self.messages))]


def _of_file(source: Source, count: int) -> _Tally:
    """count: of its readings."""
    known = count > 0 or not source.passed_over
    problems = [
        f"{source.name}:{problem.line}: {problem.what}" if problem.line else f"{source.name}: {problem.what}"
        for problem in source.problems
    ]
    if source.unlisted:
        problems.append(f"{source.name}: {plural(source.unlisted, 'more problem')} like these")
    if not known and source.root:
        return _Tally(1, count, Counter({source.passed_over: 1}), lost=False, messages=[] if source.lost else problems)
    if known and not count and not source.lost:
        problems.append(f"{source.name}: no reading in it")
    return _Tally(
        1, count, Counter([source.passed_over] * (not known)), lost=source.lost or not count, messages=problems
    )


def _judged(readings: Iterator[Any], told: list[str]) -> Iterator[Any]:
    """The readings, each with what its own figures contradict in its notes; `told` gets the same, a line each."""
    from ioatlas_translate.read.physics import doubts

    for reading in readings:
        found = doubts(reading)
        if len(told) < _KEPT_MESSAGES:
            told += (f"{reading.origin}: {sentence}" for sentence in found)
        yield replace(reading, notes=(*reading.notes, *found)) if found else reading


def _encode(record: dict[str, Any]) -> bytes:
    import orjson

    try:
        return orjson.dumps(record)
    except TypeError:  # a number beyond 64 bits, or a lone surrogate
        return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")


def _read(item: _Item, tally: _Tally) -> Iterator[_Batch]:
    """One file, a bounded number of readings at a time: it may hold millions."""
    from ioatlas.store.imported import digest_of
    from ioatlas_translate.read.importer import read_source
    from ioatlas_translate.read.source import Source

    path, root, name = item
    source = source_of(path) if is_own(path) else Source.of(path, name, root)
    count = 0
    told: list[str] = []
    readings = _judged(read_source(source), told)
    while lines := [_encode(reading.as_dict()) for reading in islice(readings, _AT_ONCE)]:
        count += len(lines)
        yield lines, [digest_of(line) for line in lines]
    found = _of_file(source, count)
    found.messages += told
    tally.take(found)


def _read_part(items: list[_Item]) -> tuple[_Batch, _Tally]:
    """Some files, whole: what a worker process does."""
    tally = _Tally()
    batches = [batch for item in items for batch in _read(item, tally)]
    lines, digests = ([one for batch in batches for one in batch[side]] for side in (0, 1))
    return (lines, digests), tally


def _no_collector() -> None:
    """In a worker: readings form no cycles, and looking for some takes a tenth of the time."""
    gc.disable()


def _read_all(files: list[_Item], tally: _Tally) -> Iterator[_Batch]:
    """All files in order, many of them by all processors."""
    if len(files) < _MANY or any(is_own(path) for path, _, _ in files):
        for item in files:
            yield from _read(item, tally)
        return

    from concurrent.futures import ProcessPoolExecutor

    import ioatlas_translate.read.importer  # noqa: F401 - imported once, before the workers are forked

    parts = [files[place : place + _CHUNK] for place in range(0, len(files), _CHUNK)]
    with ProcessPoolExecutor(max_workers=min(os.cpu_count() or 1, 8), initializer=_no_collector) as pool:
        for batch, found in pool.map(_read_part, parts):
            tally.take(found)
            yield batch


def _kept(batches: Iterator[_Batch], directory: Path, label: str, tally: _Tally) -> Iterator[_Batch]:
    """The readings, written into `directory` as they are passed on; kept when the last was taken."""
    from ioatlas.store.imported import Imported

    for first in batches:
        if first[0]:
            break
    else:  # nothing was read: no directory that looks like a result
        return
    store = Imported.at(directory)
    try:
        number = store.begin_import(__version__, label)
        for lines, digests in chain([first], batches):
            store.add(number, lines, digests)
            yield lines, digests
        passed_over = [f"{plural(n, 'file')} {why}" for why, n in tally.passed_over.items()]
        store.end_import(number, [*tally.messages, *passed_over])
    finally:
        store.close()


def _found(files: tuple[Path, ...], problems: list[str], temporary: ExitStack) -> list[_Item]:
    """All files to read. Archives are laid out in a temporary directory each, and walked as folders are."""
    from ioatlas_translate.read.importer import walk
    from ioatlas_translate.read.source import is_archive, unpack

    found: list[_Item] = []
    for path, root in walk((str(path) for path in files), problems, whole=is_campaign):
        if is_own(path) or not is_archive(path):
            found.append((path, root, path))
            continue
        folder = temporary.enter_context(TemporaryDirectory(prefix="ioatlas-import-"))
        unpack(path, Path(folder), problems)
        members = walk([folder], problems, whole=is_campaign)
        found += ((member, folder, path + member.removeprefix(folder)) for member, _ in members)
    return found


def _answer(directory: Path, name: str, kept: bool) -> None:
    """One screen, as `show` has it of what was imported into the directory."""
    from ioatlas.answer.analysis.findings import in_reading_order
    from ioatlas.answer.results.imported import load_imported
    from ioatlas.cli._output import show

    found = load_imported(directory, name)
    result = replace(found, findings=in_reading_order(found.findings))
    show(result, place=str(directory) if kept else "", report="")


def _print_lines(batches: Iterator[_Batch], *, to_the_end: bool) -> None:
    """One JSON object a line. A reader of them that has enough (`| head`) ends the printing; `to_the_end`: not the
    keeping.
    """
    out = sys.stdout.buffer
    open_ = True
    for lines, _ in batches:
        try:
            if open_ and lines:
                out.writelines((b"\n".join(lines), b"\n"))
                out.flush()
        except BrokenPipeError:
            open_ = False
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not open_ and not to_the_end:
            return


def _can_end(path: Path) -> bool:
    """A file, a folder, or a pipe that a shell made for this command (`<(command)`): not a named pipe nobody may write
    to, nor a device.
    """
    return path.is_file() or path.is_dir() or (path.is_fifo() and str(path.resolve()).startswith("/proc/"))


def _check(files: tuple[Path, ...]) -> None:
    for path in files:
        if not path.exists():
            raise UsageError(
                "no such file or directory", where=str(path), remedy="name result files, or a folder of them"
            )
        if not _can_end(path):
            raise UsageError(
                "neither a file nor a folder: reading it might never end",
                where=str(path),
                remedy="write its output into a file, and name that",
            )


def _label_of_repeats(label: str, directory: Path | None) -> str:
    """A label makes them repeats: that of the user, else the name of the directory they are kept in."""
    if directory is None:
        raise UsageError("repeats have to be kept", where="--repeats", remedy="name a directory with -o")
    return label.strip() or directory.resolve().name


_TOOLS = sorted(TOOLS, key=str.lower)
_HALF = len(_TOOLS) // 2

_HELP = f"""Read result files of other tools: {", ".join(_TOOLS[:_HALF])}.

Also of {", ".join(_TOOLS[_HALF:])}. And what `ioatlas export` wrote, campaigns and bundles.

Formats are recognised by content. Folders and archives (tar, zip) are walked. A reading keeps its file and line, and
what its source does not say stays empty. What cannot be read is named on the error stream.
"""


@click.command("import", help=_HELP, epilog=examples("import", "ioatlas_translate"))
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the readings in DIR, for show, report, export and compare.",
    metavar="DIR",
)
@click.option(
    "--label",
    default="",
    metavar="TEXT",
    help="What to call these results in charts and comparisons. Default: the tool and its version.",
)
@click.option(
    "--repeats",
    is_flag=True,
    help="The files are repeats of the same loads: mean, standard deviation and interval of each. A label says so too.",
)
@click.option("-v", "--verbose", is_flag=True, help="Every remark on what was read, one by one.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object per line.")
def command(
    files: tuple[Path, ...], directory: Path | None, label: str, repeats: bool, verbose: bool, as_json: bool
) -> None:
    if repeats:
        label = _label_of_repeats(label, directory)
    _check(files)
    tally = _Tally()
    unreadable: list[str] = []
    found = _found(files, unreadable, click.get_current_context().with_resource(ExitStack()))
    tally.lost = bool(unreadable)
    tally.messages += unreadable
    batches = _read_all(found, tally)
    place = directory
    if place is None and not as_json:
        place = Path(click.get_current_context().with_resource(TemporaryDirectory(prefix="ioatlas-import-")))
    if place is not None:
        batches = _kept(batches, place, label.strip(), tally)
    if as_json:
        _print_lines(batches, to_the_end=directory is not None)
    else:
        deque(batches, maxlen=0)
    told = tally.messages if verbose or len(tally.messages) <= _TOLD_ONE_BY_ONE else by_kind(tally.messages)
    for message in told:
        click.echo(folded(f"ioatlas: {message}", 4), err=True)
    click.echo(
        f"ioatlas: {plural(tally.readings, 'reading')} from {tally.files - tally.passed_over.total():,} of "
        f"{plural(tally.files, 'file')}",
        err=True,
    )
    if not tally.readings:
        if not tally.messages or not all(NOT_READ in message for message in tally.messages):
            remedy = "what a benchmark printed or wrote as its results; `ioatlas import --help` lists the tools"
            click.echo(folded(f"  what to do: name {remedy}, `ioatlas translate` reads their job files", 4), err=True)
        sys.exit(1)
    if place is not None and not as_json:
        _answer(place, "" if directory else files[0].resolve().name, directory is not None)
    if tally.lost:
        sys.exit(4)


def is_campaign(name: str) -> bool:
    """Whether a path is a campaign's directory: its raw output is read by the campaign, visit by visit."""
    from ioatlas.store.journal import FILE_NAME

    return (Path(name) / FILE_NAME).is_file()


def is_own(name: str) -> bool:
    """Whether a path is a campaign's directory or a bundle."""
    from ioatlas.bundle.opening import looks_like_bundle

    return is_campaign(name) or (name.endswith(".zip") and looks_like_bundle(Path(name)))


def source_of(name: str) -> Source:
    """Its values as a source. What is wrong with it is a problem of the source."""
    from ioatlas import api
    from ioatlas.bundle.opening import opened_directory
    from ioatlas_translate.read.source import Source

    try:
        directory = Path(name) if is_campaign(name) else opened_directory(Path(name))
        text = io.StringIO()
        api.write(api.load(directory), "json", text)
        return Source.made(name, text.getvalue().encode())
    except IoAtlasError as error:
        source = Source.made(name, b"")
        source.problem(0, error.what)
        return source
