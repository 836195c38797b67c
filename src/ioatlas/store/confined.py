# SPDX-License-Identifier: Apache-2.0
"""Files of a campaign's directory, reached step by step through directory descriptors and never through a link.

A directory may come from somebody else. The person named the directory itself, so it may be a link; whatever lies in
it may not, for a link there leads where nobody asked to read or write.
"""

from __future__ import annotations

import contextlib
import os
import stat
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

from ioatlas.model.errors import IoAtlasError, RefusedError

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
MOST_BYTES = 4 << 30
"""Largest file of text that is read whole."""
PIECE_BYTES = 1 << 20
"""What is read at a time."""
MOST_ENTRIES, MOST_LEVELS = 2_000_000, 8
"""Of a campaign's directory: entries in it, and levels of its sub-directories."""
_REMEDY = "remove it by hand if you know it; do not use a directory that came from somebody else"


def names_in(directory: int) -> list[str]:
    """The names in an open directory, in order. It is opened anew for this: on btrfs and FUSE a descriptor that was
    held while names came lists only those that were there when it was opened.
    """
    again = os.open(".", DIRECTORY, dir_fd=directory)
    try:
        return sorted(os.listdir(again))
    finally:
        os.close(again)


def _foreign(status: os.stat_result) -> str:
    """Why a file is not an ordinary one of its own; '' when it is."""
    if stat.S_ISLNK(status.st_mode):
        return "a symbolic link, which ioatlas never makes there"
    if not stat.S_ISREG(status.st_mode):
        return "not an ordinary file"
    return "a file that has a second name (hard link)" if status.st_nlink > 1 else ""


def is_ordinary(path: Path, *, most_bytes: int | None = None, linked: bool = True) -> bool:
    """Whether there is a file; False when nothing is there. Raises RefusedError for anything but an ordinary file.

    most_bytes: largest that is taken. linked: whether it may have a second name, as copies by hard link have.
    """
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise IoAtlasError(f"it cannot be looked at: {error}", where=str(path), remedy="name another path") from error
    why = _foreign(status)
    if why and not (linked and stat.S_ISREG(status.st_mode)):
        raise RefusedError(f"this is {why}", where=str(path), remedy=_REMEDY)
    if most_bytes is not None and status.st_size > most_bytes:
        raise RefusedError(
            f"it has {status.st_size} bytes, more than the {most_bytes} such a file may have",
            where=str(path),
            remedy=_REMEDY,
        )
    return True


def read_text(path: Path, *, most_bytes: int = MOST_BYTES) -> str:
    """The text of an ordinary file; bytes that are no UTF-8 are replaced. Raises OSError when it cannot be opened or is
    a link, RefusedError when it is something else or too large.
    """
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise RefusedError("this is not an ordinary file", where=str(path), remedy=_REMEDY)
        # In pieces: memory for the most there may be would be asked for at once, where a process may have less.
        left, pieces = most_bytes + 1, []
        while left and (piece := opened.read(min(left, PIECE_BYTES))):
            pieces.append(piece)
            left -= len(piece)
    data = b"".join(pieces)
    if len(data) > most_bytes:
        raise RefusedError(f"it has more than the {most_bytes} bytes it may have", where=str(path), remedy=_REMEDY)
    return data.decode(errors="replace")


def unfinished(name: str) -> str:
    """What a file is called while `write_text` writes it."""
    return f".{name}.new"


def write_text(path: Path, text: str, *, in_root: bool = False) -> None:
    """A new file in the place of one of that name, whatever that was. Raises RefusedError when its directory is a
    link.

    in_root: the directory is the one that a person named, which may be a link.
    """
    new = unfinished(path.name)
    with _opened(path.parent, follow=in_root) as directory:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new, dir_fd=directory)  # of a session that was killed
        with os.fdopen(os.open(new, NEW_FILE, 0o666, dir_fd=directory), "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(new, path.name, src_dir_fd=directory, dst_dir_fd=directory)


def make_directory(root: Path, relative: str, *, fresh: bool = False) -> Path:
    """A directory below `root`, made if need be. fresh: nothing may lie in it yet. Raises RefusedError for a link on
    the way or files in a fresh one.
    """
    path = root
    with contextlib.ExitStack() as opened:
        parent = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, parent)
        for part in Path(relative).parts:
            path /= part
            if part in ("..", "/"):
                raise RefusedError("this path leads out of the directory", where=str(path), remedy=_REMEDY)
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=parent)
            parent = _open_child(parent, part, path)
            opened.callback(os.close, parent)
        if fresh and os.listdir(parent):
            raise RefusedError(
                "files lie in it that the journal does not know", where=str(path), remedy="move it away by hand"
            )
    return path


def check_tree(root: Path, names: Collection[str]) -> None:
    """Raises RefusedError for a link, or anything else that is neither a directory nor an ordinary file of its own,
    among the files and directories of these names in `root`, and below them.
    """
    left = MOST_ENTRIES
    waiting: list[tuple[Path, int]] = [(root, 0)]
    while waiting:
        path, level = waiting.pop()
        with _opened(path, follow=not level) as directory, os.scandir(directory) as entries:
            for entry in entries:
                if not level and entry.name not in names:
                    continue
                left -= 1
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode) and level < MOST_LEVELS:
                    waiting.append((path / entry.name, level + 1))
                    continue
                why = _foreign(status) if left else "one of more files than a campaign has"
                if why:
                    raise RefusedError(f"this is {why}", where=str(path / entry.name), remedy=_REMEDY)


def plain_name(text: str) -> str:
    """A name as one part of a path: itself where it is plain, else with what is not plain replaced and told apart."""
    kept = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-+ ") else "-" for letter in text)
    if kept == text and text.strip(". ") and not text.startswith(".") and len(text) <= 128:
        return text
    return f"{kept[:100].strip('. ') or 'target'}-{zlib.crc32(text.encode(errors='replace')):08x}"


def _open_child(parent: int, name: str, path: Path) -> int:
    try:
        return os.open(name, DIRECTORY, dir_fd=parent)
    except OSError as error:
        raise RefusedError(
            f"this is a link or no directory ({error.strerror})", where=str(path), remedy=_REMEDY
        ) from error


@contextlib.contextmanager
def _opened(path: Path, *, follow: bool = False) -> Iterator[int]:
    """A directory, open. follow: it is the one a person named."""
    try:
        directory = os.open(path, DIRECTORY & ~os.O_NOFOLLOW if follow else DIRECTORY)
    except OSError as error:
        raise RefusedError(f"it cannot be opened ({error.strerror})", where=str(path), remedy=_REMEDY) from error
    try:
        yield directory
    finally:
        os.close(directory)
