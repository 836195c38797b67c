# SPDX-License-Identifier: Apache-2.0
"""One result file: its lines in any usual encoding, streamed, with bounded memory, and what could not be read of it.

Archives (tar, plain or packed by gzip, bzip2 or xz, and zip) are laid out first, each member a file of its own: read as
one text, the runs of several would be taken for one another's.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import quopri
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from ioatlas.load.fio.loose_json import Problem

LINE_LIMIT = 1 << 20
"""Characters of one line that are kept; the rest of a longer line is skipped and reported."""
TEXT_LIMIT = 32 << 20
"""Bytes read into memory at once where a format needs the whole text."""
EXPANDED_LIMIT = 4 << 30
"""Bytes a compressed file may expand to."""
PROBLEM_LIMIT = 50
_KEEP_LIMIT = 1 << 20
_PIECES_LIMIT = 10_000
_NEIGHBOURS = 256
_NEIGHBOUR_BYTES = 64 << 10
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding_of(head: bytes) -> tuple[str, int]:
    """Encoding and length of the byte order mark. PowerShell's redirection writes UTF-16; without a mark it shows as
    NULs in every second place.
    """
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name, len(mark)
    sample = head[:4096]
    if len(sample) >= 8 and b"\0" in sample:
        even, odd = sample[0::2].count(0), sample[1::2].count(0)
        if odd > len(sample) // 4 and even < odd // 8:
            return "utf-16-le", 0
        if even > len(sample) // 4 and odd < even // 8:
            return "utf-16-be", 0
    return "utf-8", 0


_COLOURS = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|\][^\x07\n]{0,200}\x07|[()][A-Z0-9])")


@lru_cache(maxsize=256)
def told_in(folder: Path, pattern: re.Pattern[bytes]) -> frozenset[bytes]:
    """What the first match of a pattern says in the first part of each file of a folder, but of logs."""
    found: set[bytes] = set()
    try:
        with os.scandir(folder) as entries:
            others = (item for item in entries if not item.name.endswith(".log") and not item.name.startswith("."))
            plain = (item.path for item in others if item.is_file(follow_symlinks=False))
            for path in islice(plain, _NEIGHBOURS):
                with open(path, "rb") as file:  # noqa: PTH123
                    match = pattern.search(file.read(_NEIGHBOUR_BYTES))
                if match is not None:
                    found.add(match[match.lastindex or 0])
    except OSError:
        return frozenset()
    return frozenset(found)


_SOFT_END = re.compile(rb"=[ \t]*\r?\n")
_QUOTED = re.compile(rb"(?im)^content-transfer-encoding:[ \t]*quoted-printable")
_BARE_SIGN = re.compile(rb"=(?![0-9A-F]{2}|[ \t]*\r?\n)")
_MAIL_HEADER_END = re.compile(rb"\r?\n\r?\n")


def decode(raw: bytes, *, mail: bool = False) -> str:
    """UTF-8, else the Windows code page most tools use. NUL bytes and a terminal's colours are dropped; `&lt;` of a web
    page is <, `=3D` of a mail is =. `mail`: it is quoted-printable throughout.
    """
    if mail:
        raw = quopri.decodestring(raw)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", errors="replace")
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    if "&lt;" in text or "&gt;" in text:
        text = text.replace("&lt;", "<").replace("&gt;", ">")
    if "=3D" in text:  # a mail as it was sent (quoted-printable)
        text = text.replace("=3D", "=").replace("=20\n", " \n")
    if "\xa0" in text:  # a blank that does not break, as mail programs and web pages have them
        text = text.replace("\xa0", " ")
    return text.replace("\0", "") if "\0" in text else text


@dataclass
class Source:
    """A result file. `name` is how readings cite it. Nothing here raises for bad content; `problems` says what was not
    read.
    """

    path: Path | str
    name: str
    problems: list[Problem] = field(default_factory=list)
    unlisted: int = 0
    root: str = ""
    """The folder that was named, in which it was found; empty of a file that was named itself."""
    passed_over: str = ""
    """Why it was not read, as `of no known format`."""
    margin: re.Pattern[str] | None = None
    """What is taken off the beginning of each line that has it."""
    _last_unended: int = 0
    _kept: bytes | None = None

    @classmethod
    def of(cls, path: Path | str, name: str | None = None, root: str = "") -> Source:
        return cls(path, str(path) if name is None else name, root=root)

    @classmethod
    def made(cls, name: str, content: bytes) -> Source:
        """Of what is in no file."""
        return cls(name, name, _kept=content)

    def is_told_beside(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether another file has a pattern that this one has not: in its folder or one of two above it, inside the
        folder that was named.
        """
        folder, root = Path(self.path).parent, Path(self.root)
        inside = [place for place in (folder, *folder.parents[:2]) if self.root and place.is_relative_to(root)]
        return (
            bool(inside)
            and not pattern.search(self.head(_NEIGHBOUR_BYTES))
            and any(told_in(place, pattern) for place in inside)
        )

    @property
    def is_file(self) -> bool:
        return self._kept is None or os.path.isfile(self.path)  # noqa: PTH113

    def problem(self, line: int, what: str, *, lost: bool = True) -> None:
        """Record what could not be read; only the first few of a file are kept one by one."""
        if len(self.problems) < PROBLEM_LIMIT:
            found = Problem(line, " ".join(what.split())[:300], lost)
            if found not in self.problems:
                self.problems.append(found)
        else:
            self.unlisted += 1

    def unended(self, number: int) -> bool:
        """Whether line `number`, just read, is the last one and has no line end: its last figure may be cut."""
        return self._last_unended == number

    def cut(self, number: int) -> bool:
        """Whether the file ends inside row `number`, which is told then."""
        if self.unended(number):
            self.problem(number, "the file ends inside this row, which was not used")
        return self.unended(number)

    @property
    def lost(self) -> bool:
        return self.unlisted > 0 or any(problem.lost for problem in self.problems)

    def open(self) -> BinaryIO:
        """The file's bytes, decompressed when its first bytes say gzip, bzip2 or xz. Raises OSError."""
        file = open(self.path, "rb")  # noqa: SIM115, PTH123 - the caller closes it; a plain string is quicker than a Path
        magic = file.peek(6)[:6]
        if magic.startswith(b"\x1f\x8b"):
            return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
        if magic.startswith(b"BZh"):
            return bz2.BZ2File(file)  # type: ignore[return-value]
        if magic.startswith(b"\xfd7zXZ\0"):
            return lzma.LZMAFile(file)  # type: ignore[return-value]
        return file

    def small(self) -> bytes | None:
        """All bytes of a small file, which are kept from then on so that it is opened once; None for a larger one."""
        if self._kept is None:
            try:
                raw = self._plain()
                if raw.startswith(_PACKED):
                    with self.open() as file:
                        raw = file.read(_KEEP_LIMIT + 1)
            except _BROKEN:
                return None  # read again, with what can be kept of it
            if len(raw) > _KEEP_LIMIT:
                return None
            self._kept = raw
        return self._kept

    @property
    def mail(self) -> bool:
        """Whether a small file is a mail as it was sent, quoted-printable: lines that end in = go on in the next. Where
        some lines are not (an answer below it), `iodepth=32` would be misread: then it counts as plain text.
        """
        raw = self.small() or b""
        head = _QUOTED.search(raw) if b"printable" in raw.lower() else None
        if head is None and b"=3D" not in raw:
            return False
        body = _MAIL_HEADER_END.search(raw, head.end()) if head else None
        at = body.end() if body else 0
        return (head or _SOFT_END.search(raw, at)) is not None and _BARE_SIGN.search(raw, at) is None

    def _plain(self) -> bytes:
        """The first bytes of the file as they are, more than are kept of a small one; by system calls, which cost a
        third of a file object.
        """
        handle = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            parts = [os.read(handle, _KEEP_LIMIT + 1)]
            while parts[-1] and sum(map(len, parts)) <= _KEEP_LIMIT:
                parts.append(os.read(handle, _KEEP_LIMIT + 1))
        finally:
            os.close(handle)
        return b"".join(parts)

    def head(self, length: int) -> bytes:
        """The first `length` bytes; empty when the file cannot be read."""
        if self._kept is not None:
            return self._kept[:length]
        try:
            with self.open() as file:
                return self._take(file, length)
        except _BROKEN as error:
            self.problem(0, f"cannot be read: {error}")
            return b""

    def _take(self, file: BinaryIO, length: int) -> bytes:
        parts: list[bytes] = []
        taken = 0
        try:
            while taken < length and (part := file.read(min(length - taken, 1 << 20))):
                parts.append(part)
                taken += len(part)
        except _BROKEN as error:  # keep what a damaged archive still gave
            self.problem(0, f"damaged: {error}")
        return b"".join(parts)

    def text(self, limit: int = TEXT_LIMIT) -> tuple[str, bool]:
        """The decoded text of the first `limit` bytes, with plain line ends, and whether that is all of it."""
        raw = self.head(limit + 1)
        complete = len(raw) <= limit
        raw = raw[:limit]
        name, skip = encoding_of(raw)
        if name == "utf-8":
            text = decode(raw[skip:], mail=self.mail)
        else:
            text = raw.decode(name, errors="replace").replace("\0", "")
        text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
        return (re.sub(rf"(?m)^(?:{self.margin.pattern})", "", text) if self.margin is not None else text), complete

    def lines(self) -> Iterator[tuple[int, str]]:
        """(line number from 1, line without its end and margin). A line longer than LINE_LIMIT is cut there and
        reported.
        """
        margin = self.margin
        if margin is None:
            return self._lines()
        return (
            (number, line[match.end() :] if (match := margin.match(line)) else line) for number, line in self._lines()
        )

    def _lines(self) -> Iterator[tuple[int, str]]:
        try:
            with self.open() if self._kept is None else io.BytesIO(self._kept) as file:
                yield from self._numbered(io.BufferedReader(file, 1 << 18))  # type: ignore[arg-type]
        except _BROKEN as error:
            self.problem(0, f"damaged: {error}")

    def _numbered(self, file: io.BufferedReader) -> Iterator[tuple[int, str]]:
        name, skip = encoding_of(file.peek(4096)[:4096])
        readline: Callable[[int], bytes] = file.readline
        if name == "utf-8":
            file.read(skip)
        else:
            text = io.TextIOWrapper(file, encoding=name, errors="replace", newline="\n")
            readline = lambda most: text.readline(most).lstrip("\ufeff").encode()  # noqa: E731
        number, total, mail = 0, 0, self.mail
        while raw := readline(LINE_LIMIT):
            number += 1
            total += len(raw)
            while mail and _SOFT_END.search(raw, max(0, len(raw) - 80)) and (more := readline(LINE_LIMIT)):
                number += 1
                raw = _SOFT_END.sub(b"", raw) + more
            if not raw.endswith(b"\n"):
                self._last_unended = number
            if total > EXPANDED_LIMIT:
                self.problem(number, "more than 4 GiB of text; the rest was not read")
                return
            if len(raw) >= LINE_LIMIT and not raw.endswith(b"\n"):
                self.problem(number, f"a line longer than {LINE_LIMIT} bytes was cut there")
                while (skipped := readline(LINE_LIMIT)) and not skipped.endswith(b"\n"):
                    total += len(skipped)
                    if total > EXPANDED_LIMIT:
                        return
            if b"\r" in raw.rstrip(b"\r\n"):  # old Mac line ends, or a progress line rewritten in place
                pieces = [piece for piece in raw.split(b"\r") if piece.strip()]
                if len(pieces) > _PIECES_LIMIT:
                    self.problem(
                        number, f"a line rewritten more than {_PIECES_LIMIT} times; the rest of it was not read"
                    )
                for piece in pieces[:_PIECES_LIMIT]:
                    yield number, decode(piece, mail=mail).rstrip("\n")
                continue
            yield number, decode(raw, mail=mail).rstrip("\r\n")


MOST_MEMBERS = 200_000
MOST_BYTES = 8 << 30
_PIECE = 1 << 20
_TAR_WORD, _TAR_AT = b"ustar", 257
_ZIP = b"PK\x03\x04"
_DOCUMENTS = frozenset({"[Content_Types].xml", "mimetype", "META-INF/MANIFEST.MF"})
"""Members that make a zip a workbook, a text document or a program."""
_UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)
_REFUSED = (NotImplementedError, RuntimeError, ValueError)
"""What zipfile raises for a method it does not know, a password, or a name that is none."""


def is_archive(path: str) -> bool:
    """Whether a file holds files. By its content; one that cannot be read is none."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            head = file.read(_TAR_AT + len(_TAR_WORD))
        if head.startswith(_ZIP):
            with zipfile.ZipFile(path) as pack:
                return not _DOCUMENTS.intersection(pack.namelist())
        if head.startswith(_PACKED):
            with tarfile.open(path) as tar:
                return tar.next() is not None
    except (*_UNREADABLE, *_REFUSED):
        return False
    return head[_TAR_AT:] == _TAR_WORD


def unpack(path: str, folder: Path, problems: list[str]) -> None:
    """The regular files of an archive, laid out in `folder`. Links and devices are left out; what cannot be read, and
    what is beyond the limits, joins `problems`.
    """
    left = MOST_BYTES
    try:
        for number, (name, file) in enumerate(_members(path), 1):
            if number > MOST_MEMBERS or left <= 0:
                problems.append(f"{path}: too large; the rest of it was not unpacked")
                return
            place = _place(folder, name)
            if place is not None:
                left -= _copied(file, place, left)
    except (*_UNREADABLE, *_REFUSED) as error:
        problems.append(f"{path}: cannot be unpacked whole: {error}")


def _members(path: str) -> Iterator[tuple[str, BinaryIO]]:
    if zipfile.is_zipfile(path) and not tarfile.is_tarfile(path):
        with zipfile.ZipFile(path) as pack:
            for entry in pack.infolist():
                if not entry.is_dir():
                    with pack.open(entry) as file:
                        yield entry.filename, file  # type: ignore[misc]
        return
    with tarfile.open(path) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None:
                yield member.name, content  # type: ignore[misc]


def _place(folder: Path, name: str) -> Path | None:
    """Where a member is laid, inside `folder` whatever it is called."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    return folder.joinpath(*parts) if parts else None


def _copied(file: BinaryIO, place: Path, most: int) -> int:
    place.parent.mkdir(parents=True, exist_ok=True)
    copied = 0
    with place.open("wb") as out:
        while copied < most and (piece := file.read(min(_PIECE, most - copied))):
            out.write(piece)
            copied += len(piece)
    return copied
