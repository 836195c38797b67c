# SPDX-License-Identifier: Apache-2.0
"""A command line of another tool, typed or alone in a file, cut into words by the right rules. Scripts are not read.

Option tables say what each option of a tool does to the plan that its translator fills. A table maps an option's name
to an action. An action takes the plan, the option as it is written in messages, and its value. The words of a note may
name `{option}` and `{value}`. Faults that name no place are of the source that is translated (`located`).
"""

from __future__ import annotations

import contextlib
import itertools
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ioatlas.load.streams.fidelity import Fidelity
from ioatlas.model.errors import UsageError, faults

_TEXT_MAX = 4 << 20
_WINDOWS = re.compile(r"(^|[\s\"'=])[A-Za-z]:\\|\\\\[A-Za-z0-9]|\.exe\b", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?[A-Za-z_]\w*\}?|%[A-Za-z_]\w*%|\$\([^)]*\)*")


@contextlib.contextmanager
def located(where: str) -> Iterator[None]:
    """Faults inside that name no place are of this one."""
    try:
        yield
    except UsageError as error:
        error.where = error.where or where
        raise


@dataclass(frozen=True)
class Source:
    """What is to be translated. `where` names it in messages; `directory` is where its includes are looked for."""

    text: str
    where: str
    directory: Path
    from_file: bool

    def included(self, name: str) -> Path:
        """Where a file that this one includes should be."""
        path = Path(name) if Path(name).is_absolute() else self.directory / name
        # An absolute path is of the machine the file was written on.
        return path if path.exists() else self.directory / path.name

    def include(self, name: str, *, depth: int) -> Source:
        """Another file, beside this one unless `name` is absolute. Raises UsageError."""
        if depth > 10:
            raise UsageError(
                "files include each other more than ten deep", where=self.where, remedy="remove the circle"
            )
        path = self.included(name)
        if self.from_file and not path.exists():
            raise UsageError(
                "there is no such file",
                where=f"{self.where}: include {name}",
                remedy=f"put {path.name} into the folder of the file that includes it",
            )
        return read_source(path, where=f"{self.where}: include {name}")


def read_source(path: Path, *, where: str = "") -> Source:
    """A text file of at most 4 MiB. Raises UsageError when it is missing, larger, or not a regular file."""
    with faults(UsageError, "cannot be read", where=where or str(path), remedy="check the path and its permissions"):
        if not path.is_file():
            raise UsageError(
                "there is no such file",
                where=where or str(path),
                remedy="name an existing file, or pass the command line itself",
            )
        if path.stat().st_size > _TEXT_MAX:
            raise UsageError(
                "the file is larger than 4 MiB: not a command line or a parameter file",
                where=where or str(path),
                remedy="name another file",
            )
        raw = path.read_bytes()
    if b"\0" in raw[:4096] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError("the file is not text", where=where or str(path), remedy="name a text file")
    encoding = "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return Source(raw.decode(encoding, errors="replace").replace("\r\n", "\n"), str(path), path.parent, from_file=True)


def open_argument(argument: str) -> Source:
    """The argument of `translate`: the path of a file, or the command line itself."""
    if not argument.strip():
        raise UsageError("there is nothing to translate", remedy="give a command line in quotes, or the path of a file")
    if "\n" not in argument and len(argument) < 4096:
        try:
            if Path(argument).is_file():
                return read_source(Path(argument))
        except OSError:
            pass
        word = argument.strip()
        if re.fullmatch(
            r"\S+\.(fio|job|parm|xml|sh|bat|cmd|ps1|sch|txt|cfg|conf|ini|json)|\.{0,2}/\S+/", word
        ) or re.fullmatch(r"/\S*/[^/\s]+", word):
            raise UsageError(
                "there is no such file",
                where=word,
                remedy="name an existing file, or pass the command line itself in quotes",
            )
    return Source(argument.replace("\r\n", "\n"), "command line", Path.cwd(), from_file=False)


def looks_windows(text: str) -> bool:
    return _WINDOWS.search(text) is not None


def split_words(text: str, *, windows: bool) -> list[str]:
    """Words of one command line; a pipe or semicolon is a word of its own. Windows: a backslash is a letter except
    before a double quote. POSIX: it escapes the next letter. Raises UsageError for a quote that never ends.
    """
    lexer = shlex.shlex(re.sub(r'\\(?!")', r"\\\\", text) if windows else text, posix=True, punctuation_chars="|;")
    lexer.whitespace_split, lexer.commenters = True, ""
    if windows:
        lexer.escapedquotes = "\"'"
        lexer.quotes = '"' if text.count("'") % 2 else "\"'"
    with faults(UsageError, "a quote or backslash ends nowhere", remedy="close the quote", of=ValueError):
        return list(lexer)


def _program(word: str) -> str:
    name = re.split(r"[/\\]", word)[-1].lower()
    return name.removesuffix(".exe").removesuffix(".bat").removesuffix(".sh")


_BUILD = re.compile(r"[-_.]?(linux|lnx|win|windows|freebsd|osx|x86|x64|amd64|em64t|\d)[\w.\-]*")


def _is_program(word: str, programs: Sequence[str]) -> bool:
    """Whether a word names one of the programs, or a build of it: `diskspd64`, `xdd.linux`, `fio-3.33`."""
    name = _program(word)
    return any(
        name == program or (name.startswith(program) and _BUILD.fullmatch(name[len(program) :])) for program in programs
    )


_OF_FIO = frozenset({"jobname", "jobnum", "filenum", "clientuid", "pagesize", "mb_memory", "ncpus"})
"""Names that fio replaces itself."""


def _cut(words: Sequence[str]) -> list[str]:
    """The words up to a pipe, without redirections."""
    kept = list(itertools.takewhile(lambda word: word not in ("|", "||", "&&", ";", "&"), words))
    alone = re.compile(r"\d?>{1,2}&?")  # the file's name follows
    return [
        word
        for before, word in itertools.pairwise(["", *kept])
        if not re.match(r"\d?>{1,2}", word) and not alone.fullmatch(before)
    ]


_PRINTED = str.maketrans("\u201c\u201d\u201e\u2018\u2019\xa0\u202f", '"""\'\'  ', "\u200b\ufeff")


def _typed(body: str) -> str:
    """What a page or a word processor made of dashes, quotes and blanks, as it was typed."""
    if body.isascii():
        return body
    plain = body.translate(_PRINTED)
    plain = re.sub(r"(?<!\S)[\u2010-\u2013\u2212](?=[A-Za-z+-])", "-", plain)
    return re.sub(
        r"(?<!\S)[\u2014\u2015]([A-Za-z]\S?)",
        lambda m: ("--" if len(m[1]) == 2 and m[1][1].isalpha() else "-") + m[1],
        plain,
    )


def command_line(source: Source, programs: Sequence[str], *, windows: bool | None = None) -> list[str]:
    """Arguments, without the program's name, of the one command in the source; a line may be continued.

    Without a program's name all words are arguments. Raises UsageError for a script, with what to paste instead.
    """
    lines = [line.strip() for line in re.sub(r"(?<!\\)[\\^`][ \t]*\n", " ", _typed(source.text)).split("\n")]
    lines = [line for line in lines if line and not re.match(r"(?i)#|//|::|@?rem\b", line)]
    named = [line for line in lines if any(_is_program(word.strip("\"'"), programs) for word in line.split())]
    likely = [line for line in named if " -" in line or _is_program(line.split()[0], programs)]
    likely = likely or [line for line in lines if re.match(r"--?[A-Za-z]", line)]
    several = any(not line.startswith("-") for line in lines[1:]) or (source.from_file and len(lines) > 1 and not named)
    if not lines or ((source.from_file or several) and not likely):
        raise UsageError(
            f"no {programs[0]} command is in it",
            remedy=f"name a file of {programs[0]}, or give a command line in quotes",
        )
    if several:
        example = likely[0].replace("'", '"')
        raise UsageError(
            "scripts are not read, only one command",
            remedy=f"paste it, with values in place of variables: ioatlas translate {programs[0]} '{example}'",
        )
    body = " ".join(lines)
    unknown = [match[0] for match in _VARIABLE.finditer(body) if match[0].strip("${}") not in _OF_FIO]
    if unknown:
        raise UsageError(f"the variable {unknown[0]} has no value here", remedy="write its value in the command line")
    words = split_words(body, windows=looks_windows(body) if windows is None else windows)
    found_at = next((i for i, word in enumerate(words) if _is_program(word, programs)), -1)
    return _cut(words[found_at + 1 :])


def whole_number(text: str, what: str, *, low: int = 0, high: int = 1 << 62) -> int:
    """A whole number in a range. Raises UsageError naming the option."""
    if not re.fullmatch(r"[+-]?\d+", text.strip()):
        raise UsageError(f"{what} takes a whole number, not {text!r}", remedy=f"write {what} with a whole number")
    number = int(text)
    if not low <= number <= high:
        raise UsageError(f"{what} {number} is out of range", remedy=f"write a number from {low} to {high}")
    return number


def sized(text: str, what: str, units: Mapping[str, float], example: str, *, where: str = "") -> float:
    """A number with one of these suffixes, by their lower case; '' is the unit of a bare number. Raises UsageError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]?)", text.strip().lower())
    if match is None or match[2] not in units:
        suffixes = ", ".join(filter(None, units))
        raise UsageError(
            f"{what} takes a number, with {suffixes} behind it or alone, not {text!r}",
            where=where,
            remedy=f"write for example {example}",
        )
    return float(match[1]) * units[match[2]]


BINARY = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}

Read = Callable[[str, str], Any]
"""A value out of (text, option). Raises UsageError."""
Action = Callable[[Any, str, str], None]


def whole(low: int = 0, high: int = 1 << 62) -> Read:
    """Whole numbers in a range."""
    return lambda text, option: whole_number(text, option, low=low, high=high)


def one_of(*known: str) -> Read:
    """One of these words, in any case."""

    def read(text: str, option: str) -> str:
        if text.lower() not in known:
            raise UsageError(f"{option} does not know {text!r}", remedy="use " + ", ".join(known))
        return text.lower()

    return read


def as_it_is(text: str, _option: str) -> str:
    return text


def put(attribute: str, read: Read) -> Action:
    """The value becomes an attribute of the plan."""
    return lambda plan, option, value: setattr(plan, attribute, read(value, option))


def puts(read: Read, pairs: str) -> dict[str, Action]:
    """Options whose values become attributes. pairs: `option=attribute` of each, or one word where both are alike."""
    split = (pair.partition("=") for pair in pairs.split())
    return {option: put(attribute or option, read) for option, _, attribute in split}


def sets(pairs: str) -> dict[str, Action]:
    """Options that alone set an attribute to true. pairs: as of `puts`."""
    split = (pair.partition("=") for pair in pairs.split())
    return {option: fixed(**{attribute or option: True}) for option, _, attribute in split}


def append(attribute: str, read: Read) -> Action:
    """The value joins a list of the plan."""
    return lambda plan, option, value: getattr(plan, attribute).append(read(value, option))


def fixed(**values: Any) -> Action:
    """The option alone sets these attributes."""

    def act(plan: Any, _option: str, _value: str) -> None:
        for name, value in values.items():
            setattr(plan, name, value)

    return act


def noting(note: Fidelity) -> Action:
    """The note is told, with the option and its value."""
    return lambda plan, option, value: plan.notes.tell(note, option=option, value=value)


def same(attribute: str, reason: str) -> Action:
    """Noted as exact."""
    return noting(Fidelity(attribute, "exact", reason))


def lost(attribute: str, reason: str) -> Action:
    """Noted as not expressible."""
    return noting(Fidelity(attribute, "not expressible", reason))


def asks_for_help(_plan: Any, option: str, _value: str) -> None:
    raise UsageError(f"{option} asks for help; there is no load in it", remedy="give the options of a run")


def both(*actions: Action) -> Action:
    """One after another."""

    def act(plan: Any, option: str, value: str) -> None:
        for action in actions:
            action(plan, option, value)

    return act
