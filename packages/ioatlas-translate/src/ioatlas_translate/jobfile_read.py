# SPDX-License-Identifier: Apache-2.0
"""The one parser of fio job files and fio command lines: sections with their options as written, in order.

Facts (fio's HOWTO and behaviour, 3.33): a comment begins with `;` or `#` anywhere in a line; global sections hold for
the jobs after them; `include` splices another file's options in; `${NAME}` comes from the environment, empty where it
is not set; the names of all `filename` lines count; a number may be an expression in brackets; k, m, g, t, p are binary
and ki, KiB, Mi, ... decimal unless `kb_base=1000` swaps them.
"""

from __future__ import annotations

import ast
import math
import operator
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ioatlas.model.errors import UsageError
from ioatlas.model.units import words
from ioatlas.store.toml import shipped
from ioatlas_translate.command import Source

_TOLD = shipped("ioatlas_translate", "options.toml")["fio"]
NO_VALUE = frozenset(words(_TOLD["no_value"]))
_PROGRAM_FLAGS = frozenset(words(_TOLD["program_flags"]))
_PROGRAM_OPTIONS = _PROGRAM_FLAGS | frozenset(words(_TOLD["program_options"]))
"""Options of the fio program itself; a value follows those that are no flags."""
_DECIMAL = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_TIMES = {
    "d": Fraction(86400),
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "sec": Fraction(1),
    "ms": Fraction(1, 1000),
    "msec": Fraction(1, 1000),
    "us": Fraction(1, 10**6),
    "usec": Fraction(1, 10**6),
}


@dataclass
class RawSection:
    """A job: its name, its options over the globals before it, and where it stands. Values are text, None for a bare
    name.
    """

    name: str
    options: dict[str, str | None] = field(default_factory=dict)
    where: str = ""


@dataclass
class RawJobFile:
    sections: list[RawSection] = field(default_factory=list)
    program_options: dict[str, str | None] = field(default_factory=dict)
    undefined: set[str] = field(default_factory=set)
    included: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def clean(line: str) -> str:
    """A line as fio sees it: without comment and outer blanks."""
    return re.split(r"[;#]", line, maxsplit=1)[0].strip()


def _substitute(text: str, environ: Mapping[str, str], undefined: set[str]) -> str:
    def replace(match: re.Match[str]) -> str:
        if match.group(1) not in environ:
            undefined.add(match.group(1))
        return environ.get(match.group(1), "")

    text = re.sub(r"\$\{([^}]*)\}", replace, text)
    pages = {"$pagesize": "4096", "$ncpus": str(os.cpu_count() or 1), "$mb_memory": str(_memory_mb())}
    expression = False
    for word, value in pages.items():
        if word in text:
            text, expression = text.replace(word, value), True
    name, equals, value = text.partition("=")
    if expression and equals and re.fullmatch(r"[0-9+\-*/(). ]+", value) and re.search(r"[+\-*/]", value):
        return f"{name}={evaluate(value)}"
    return text


def _memory_mb() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (OSError, ValueError):
        return 1024


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1 or not 0 <= exponent <= 64 or abs(base) > 1 << 20:
        raise ValueError
    return Fraction(base ** int(exponent))


_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}


def evaluate(expression: str, where: str = "") -> int:
    """The whole number of an arithmetic expression of + - * / % ^ and brackets. Raises UsageError."""

    def walk(node: ast.expr) -> Fraction:
        match node:
            case ast.Constant(value=int() | float() as value):
                return Fraction(str(value))
            case ast.UnaryOp(op=ast.USub()):
                return -walk(node.operand)
            case ast.BinOp():
                return _OPERATIONS[type(node.op)](walk(node.left), walk(node.right))
        raise ValueError

    try:
        if len(expression) > 200:
            raise ValueError
        plain = re.sub(
            r"(\d)\s*([kmgtp])(?:i?b?)\b",
            lambda m: f"{m[1]}*{1024 ** _DECIMAL[m[2].lower()]}",
            expression,
            flags=re.IGNORECASE,
        )
        if not re.fullmatch(r"[0-9+\-*/%^(). ]+", plain):
            raise ValueError
        return int(walk(ast.parse(plain.replace("^", "**").strip(), mode="eval").body))
    except (ValueError, LookupError, SyntaxError, RecursionError, MemoryError, ArithmeticError) as error:
        raise UsageError(
            f"{expression!r} is not an expression that can be worked out", where=where, remedy="write the number"
        ) from error


def read_size(text: str, where: str, *, kb_base: int = 1024) -> int | str:
    """Bytes of a size by fio's documented rule; a percentage stays text. Raises UsageError."""
    text = text.strip()
    if re.fullmatch(r"-?\d+%", text):
        return text
    if text.startswith("("):
        return evaluate(text, where)
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        return int(text, 16)
    match = re.fullmatch(r"(-?\d+(?:\.\d+)?)([kmgtp]?)(i?)(b?)", text, re.IGNORECASE)
    if match is None:
        raise UsageError(f"{text!r} is not a size", where=where, remedy="write a number with k, m, g, t or p")
    number, letter, binary, _ = match.groups()
    base = (1024 if binary else 1000) if kb_base == 1000 else (1000 if binary else 1024)
    size = Fraction(number) * base ** _DECIMAL[letter.lower()]
    if size.denominator != 1:
        size = Fraction(math.floor(size))
    return int(size)


def read_seconds(text: str, where: str, *, unit: str = "s") -> Fraction:
    """Seconds of a time; bare numbers are in `unit`. Raises UsageError."""
    text = text.strip()
    if text.startswith("("):
        return Fraction(evaluate(text, where)) * _TIMES[unit]
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text, re.IGNORECASE)
    if match is None or (match.group(2) and match.group(2).lower() not in _TIMES):
        raise UsageError(f"{text!r} is not a time", where=where, remedy="write a number with d, h, m, s, ms or us")
    return Fraction(match.group(1)) * _TIMES[match.group(2).lower() or unit]


class _Sections:
    """Sections as they are read: each begins with the globals that stand before it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.result = RawJobFile()
        self.general: dict[str, str | None] = {}
        self.current: dict[str, str | None] | None = None
        self._section: RawSection | None = None

    def begin(self, name: str, where: str) -> None:
        """A section, or the globals again."""
        self.close()
        if name.startswith("global"):
            self.current = self.general
        else:
            self.current = dict(self.general)
            self._section = RawSection(name or "job", self.current, where)

    def set(self, name: str, value: str | None) -> None:
        """An option of the current section; a repeated one takes its new place in the order, and its last value counts.

        Only file names add up (seen with fio 3.33): those of the globals, of the job, and of each further line.
        """
        if self.current is None:
            self.current = self.general
        before = self.current.pop(name, None)
        if name == "filename" and before and value:
            value = ":".join(dict.fromkeys(re.split(r"(?<!\\):", f"{before}:{value}")))
        self.current[name] = value

    def substituted(self, text: str) -> str:
        return _substitute(text, self.environ, self.result.undefined)

    def close(self) -> None:
        if self._section is not None:
            self.result.sections.append(self._section)
        self._section = None


def parse_job_file(source: Source, environ: Mapping[str, str]) -> RawJobFile:
    """All jobs with the globals that stand before them. Raises UsageError with the line."""
    sections = _Sections(environ)
    _read_lines(source, 0, sections)
    sections.close()
    return sections.result


def _read_lines(source: Source, depth: int, sections: _Sections) -> None:
    for number, raw in enumerate(source.text.split("\n"), 1):
        where = f"{source.where}:{number}" if source.from_file else source.where
        line = clean(raw)
        include = re.match(r"^include[\s=]+(\S.*)$", line)
        header = re.fullmatch(r"\[([^\n]*)\]", line)
        if header and depth:
            raise UsageError("an included file may not begin a section", where=where, remedy="include options only")
        if header:
            sections.begin(header.group(1).strip(), where)
        elif include:
            name = include.group(1).strip()
            if source.included(name).is_file():
                sections.result.included.append(name)
                _read_lines(source.include(name, depth=depth + 1), depth + 1, sections)
            else:
                sections.result.missing.append(name)
        elif line:
            _read_option(line, where, sections)


def _read_option(line: str, where: str, sections: _Sections) -> None:
    if sections.current is None:
        raise UsageError(
            f"the option {line!r} stands outside of a [section]",
            where=where,
            remedy="put it under [global] or under a job",
        )
    name, equals, value = sections.substituted(line).partition("=")
    name = name.strip()
    if not re.fullmatch(r"[A-Za-z][\w\-]*", name):
        raise UsageError(f"{line!r} is not an option", where=where, remedy="write name=value")
    sections.set(name, value.strip() if equals else None)


def _words(words: list[str], where: str) -> Iterator[tuple[str, str | None]]:
    """(name, value) of each option, ("", word) of what is none."""
    left = deque(words)
    while left:
        word = left.popleft()
        if not word.startswith("-") or word == "-":
            yield "", word
            continue
        name, equals, value = word.lstrip("-").partition("=")
        text: str | None = value if equals else None
        wants = name not in _PROGRAM_FLAGS | NO_VALUE
        if not equals and wants and left and not re.match(r"^--?[A-Za-z]", left[0]):
            text = left.popleft()
        if not re.fullmatch(r"[A-Za-z][\w\-]*", name):
            raise UsageError(f"{word!r} is not an option", where=where, remedy="write --name=value")
        yield name, text


def parse_command(words: list[str], where: str, source: Source, environ: Mapping[str, str]) -> RawJobFile:
    """A fio command line: `--name=...` begins a job, options before it are global, other words name job files."""
    sections = _Sections(environ)
    result, files = sections.result, []
    for name, value in _words(words, where):
        if not name:
            files.append(value or "")
        elif name in _PROGRAM_OPTIONS and name != "readonly":
            result.program_options[name] = value
        else:
            text = None if value is None else sections.substituted(f"x={value}")[2:]
            if name == "name":
                sections.begin(text or "", where)
            else:
                sections.set(name, text)
    sections.close()
    for file in files:
        _join(parse_job_file(source.include(file, depth=1), environ), sections)
    wanted = result.program_options.get("section")
    if wanted:
        result.sections = [s for s in result.sections if s.name in wanted.split(",")]
    if not result.sections:
        raise UsageError(
            "the command names no job", where=where, remedy="add --name=... with its options, or a job file"
        )
    return result


def _join(inner: RawJobFile, sections: _Sections) -> None:
    """The jobs of a file after those there are, under the command's globals."""
    result = sections.result
    for number, job in enumerate(inner.sections):
        if number == 0 and result.sections:
            job.options["stonewall"] = None
        job.options = {**{k: v for k, v in sections.general.items() if k not in job.options}, **job.options}
        result.sections.append(job)
    result.undefined |= inner.undefined
    result.missing += inner.missing
