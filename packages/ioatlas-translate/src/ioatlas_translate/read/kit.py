# SPDX-License-Identifier: Apache-2.0
"""What readers share: lines by patterns with named parts, runs of such lines, figures as other tools and locales print
them, and the reading that is made of them.

Of files that are JSON their documents, and figures in them that may be missing or of another kind.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from ioatlas.load.fio.loose_json import Problem, documents
from ioatlas.model.imported_reading import ImportedReading
from ioatlas_translate.read.source import Source

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
_PLAIN = re.compile(r"^[+]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$", re.ASCII)
_THOUSANDS = re.compile(r"^[+]?\d{1,3}(,\d{3})+$", re.ASCII)
_NO_FIGURE = frozenset(
    {"", "n/a", "na", "nan", "-nan", "inf", "-inf", "-", "--", "none", "null", "+++", "++++", "+++++", "-1.#ind"}
)
_SIZE = re.compile(r"^\s*([\d.,]+)\s*([kmgtpe]?)(i?b?|bytes|i?bytes?)?\s*$", re.IGNORECASE)
_LIMIT = 1e24


_NO_NUMBER = re.compile(
    r"^[+-]?(nan|inf|infinity|1\.#(inf|ind|qnan)|\d+(\.\d*)?e\+?\d{3,})$|^-\d*\.?\d*[1-9]\d*$", re.IGNORECASE
)
_noted: list[str] | None = None
_MOST_NOTED = 1000


@contextmanager
def noted() -> Iterator[list[str]]:
    """Collects what stood where a figure should and is none: not a number, without bound, or negative."""
    global _noted  # noqa: PLW0603 - readers call `num` from everywhere, and read one file at a time
    before, _noted = _noted, []
    try:
        yield _noted
    finally:
        _noted = before


def _note(text: str) -> None:
    if _noted is not None and len(_noted) < _MOST_NOTED and len(text) <= 60 and _NO_NUMBER.match(text):
        _noted.append(text)


def num(text: str | None, *, comma: bool | None = None) -> float | None:
    """A finite figure from zero up, else None: nothing measured here is negative. `comma`: True when commas are decimal
    points in this text, None to judge by the figure alone.
    """
    if text is None:
        return None
    text = text.strip().strip('"').strip("%").strip()
    _note(text)
    if len(text) > 60 or text.lower() in _NO_FIGURE:
        return None
    if "," in text:
        if "." in text:
            text = (
                text.replace(",", "") if text.rfind(".") > text.rfind(",") else text.replace(".", "").replace(",", ".")
            )
        elif comma is not True and _THOUSANDS.match(text):
            text = text.replace(",", "")
        elif comma is not False and text.count(",") == 1:
            text = text.replace(",", ".")
        else:
            return None
    if not _PLAIN.match(text):
        return None
    value = float(text)
    return value if math.isfinite(value) and value < _LIMIT else None


def figure(text: str | None) -> float | None:
    """A figure of a tool that prints no thousands separators: a comma is its locale's decimal point."""
    return num(text, comma=True)


def positive(text: str | None) -> float | None:
    """A figure above zero, else None: for quantities where a tool prints zero for 'not measured'."""
    value = figure(text)
    return value if value is not None and value > 0 else None


def whole(text: str | None) -> int | None:
    """A non-negative whole number below 2^63, else None."""
    value = num(text)
    return int(value) if value is not None and 0 <= value < 2**63 and value == int(value) else None


def size_bytes(text: str | None) -> int | None:
    """Bytes of `4k`, `4KiB`, `64 MB`, `1g`: letters are binary."""
    match = _SIZE.match(text or "")
    if match is None:
        return None
    value = num(match[1])
    if value is None:
        return None
    size = value * 1024 ** " kmgtpe".index(match[2].lower() or " ")
    return int(size) if 0 <= size < 2**63 else None


_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)(ms|µs|us|ns|s))?$")
_UNITS = {"s": 1e9, "ms": 1e6, "µs": 1e3, "us": 1e3, "ns": 1.0}


def nanoseconds(text: str) -> float | None:
    """A duration with its units: 1m2.5s, 417ms, 1.3µs."""
    match = _DURATION.match(text.strip())
    rest = num(match[3]) if match is not None and match[3] else 0.0
    if match is None or not text.strip() or rest is None:
        return None
    return times((int(match[1] or 0) * 3600 + int(match[2] or 0) * 60) * 1e9 + rest * _UNITS[match[4] or "s"], 1)


def times(value: float | None, factor: float) -> float | None:
    """`value` in the base unit; None stays None."""
    if value is None:
        return None
    result = value * factor
    return round(result, 3) if math.isfinite(result) else None


class Meaning(NamedTuple):
    """What a printed figure may stand for: a value, and how far from it the truth may be (half of the last digit).
    usual: it is what it says, and no digit was lost.
    """

    value: float
    half: float
    usual: bool = True

    def fits(self, other: Meaning) -> bool:
        return abs(self.value - other.value) <= (self.half + other.half) * (1 + 1e-6) + 1e-9 * self.value


def printed(text: str | None, factor: float = 1, *, lost_carry: bool = False, cut: bool = False) -> list[Meaning]:
    """The meanings of a printed figure in base units; none for what is no figure. `lost_carry`: 17.96 may stand there
    as 17.0. `cut`: the digits behind the last were dropped, not rounded.
    """
    value = num(text)
    if text is None or value is None:
        return []
    decimals = text.strip().partition(".")[2]
    step = 10.0 ** -len(decimals)
    found = [Meaning(value * factor, step * factor * (1 if cut else 0.5))]
    if lost_carry and decimals and not decimals.strip("0"):
        found.append(Meaning((value + 1 - step / 4) * factor, step / 4 * factor, usual=False))
    return found


def per_second(amounts: Iterable[Meaning], seconds: float | None, half: float = 0.0) -> list[Meaning]:
    """Amounts over a time that is known to `half` seconds."""
    if not seconds:
        return []
    return [Meaning(of.value / seconds, (of.half + of.value * half / seconds) / seconds, of.usual) for of in amounts]


def agreed(*figures: list[Meaning]) -> tuple[Meaning | None, bool]:
    """The most precise meaning of several figures of one quantity, of those that most of the figures allow; and whether
    all of them do.
    """
    told = [figure for figure in figures if figure]

    def allowed_by(one: Meaning) -> int:
        return sum(any(one.fits(other) for other in figure) for figure in told)

    best = max(
        (one for figure in told for one in figure),
        key=lambda one: (allowed_by(one), one.usual, -one.half / one.value if one.value else -math.inf),
        default=None,
    )
    return best, best is None or allowed_by(best) == len(told)


CUT = "the file ends inside this line, which was not used"
_LONGEST, _LONGEST_OF_MANY = 1 << 14, 2000
"""Characters of a text that are kept: a row of a wide matrix has thousands of them; and of each of all of a name."""
_MOST_NAMES = 500
_MOST_TEXTS = 100_000
MOST_ROWS = 10_000
"""Lines of one table that are kept until its run has ended."""


class Said(dict[str, str]):
    """What the lines of a run said: texts by name, the last where one was said again. at: the line that said it.
    every: all texts of a name. rows: lines of a table, each with what was said before it.
    """

    def __init__(self, before: Mapping[str, str] | None = None) -> None:
        super().__init__(before or {})
        self.at: dict[str, int] = {}
        self.every: dict[str, list[str]] = {}
        self.rows: list[Said] = []

    def take(self, number: int, said: Mapping[str, str]) -> None:
        for name, text in said.items():
            if name in self or len(self) < _MOST_NAMES:
                self[name] = text.strip()[:_LONGEST]
                self.at[name] = number
                if len(every := self.every.setdefault(name, [])) < _MOST_TEXTS:
                    every.append(self[name][:_LONGEST_OF_MANY])

    def num(self, name: str, factor: float | None = None) -> float | None:
        """A figure, in base units by `factor`."""
        value = num(self.get(name))
        return value if factor is None else times(value, factor)

    def whole(self, name: str) -> int | None:
        return whole(self.get(name))


def compiled(*patterns: str) -> tuple[re.Pattern[str], ...]:
    """Patterns of lines. Named parts say what they are called; those named `name` and `value` say one by the other."""
    return tuple(re.compile(pattern) for pattern in patterns)


def said(source: Source, number: int, line: str, patterns: Sequence[re.Pattern[str]]) -> dict[str, str]:
    """What the first pattern that fits a line says. A last line without its end says nothing where a figure or its
    point ends it: it may be cut.
    """
    for pattern in patterns:
        if (match := pattern.match(line)) is not None:
            break
    else:
        return {}
    if source.unended(number) and match.end() == len(line) and re.search(r"[\d.]$", line):
        source.problem(number, CUT)
        return {}
    parts = {name: text for name, text in match.groupdict().items() if text is not None}
    return {parts["name"]: parts["value"]} if "name" in parts else parts


def runs(
    source: Source,
    patterns: Sequence[re.Pattern[str]],
    *,
    result: str,
    begins: str = "",
    row: str = "",
    keeps: Sequence[str] = (),
) -> Iterator[Said]:
    """The runs of a text. A new one begins with a line that says `begins`, and with one that says again what was said
    before the run had its `result`. row: its line is of a table. keeps: what holds for the runs that follow too.
    """
    run = Said()
    for number, line in source.lines():
        found = said(source, number, line, patterns)
        if row in found:
            if len(run.rows) < MOST_ROWS:
                run.rows.append(Said(run))
                run.rows[-1].take(number, found)
            else:
                source.problem(0, f"a run of more than {MOST_ROWS} results; the rest was not read")
            continue
        again = result in run.at and any(name in run.at for name in found)
        if run and (again or begins in found):
            yield run
            run = Said({name: run[name] for name in keeps if name in run})
        run.take(number, found)
    if run or run.rows:
        yield run


Settings = Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], Mapping[str, Any]]]]
"""What lines set of a run: patterns, each with the attributes that its match gives."""


def settings(*lines: tuple[str, Callable[[re.Match[str]], Mapping[str, Any]]]) -> Settings:
    return tuple((re.compile(pattern), says) for pattern, says in lines)


def settle(run: object, text: str, lines: Settings) -> bool:
    """Sets what the first pattern that is found in a line says; whether one is."""
    for pattern, says in lines:
        if match := pattern.search(text):
            for name, value in says(match).items():
                setattr(run, name, value)
            return True
    return False


def cells_of(line: str, separators: str) -> list[str]:
    """Cells of a row with one of these separators, the first that it has, without the quotes around them."""
    separator = next((mark for mark in separators if mark in line), None)
    return [cell.strip().strip('"').strip() for cell in line.split(separator)]


def rw_of(direction: str | None, *, random: bool | None) -> str | None:
    """Fio's word for an access pattern; None where direction or order are not told."""
    if direction is None or random is None:
        return None
    word = "rw" if direction == "mixed" else direction
    return f"rand{word}" if random else word


def latencies(kind: str, figures: Sequence[float] | None) -> dict[str, float]:
    """Details of one kind of latency that is told by its least, most, mean and deviation, in nanoseconds."""
    names = (f"{kind}_{what}_ns" for what in ("min", "max", "mean", "stddev"))
    return dict(zip(names, figures or (), strict=False))


def reading(
    source: Source,
    line: int,
    tool: str,
    *,
    mean: float | None = None,
    p99: float | None = None,
    latency: str | None = "total",
    p99_latency: str = "",
    notes: Sequence[str] = (),
    details: Mapping[str, Any] | None = None,
    n: int | None = 1,
    **fields: Any,
) -> ImportedReading:
    """A reading of what is known. mean, p99: nanoseconds of `latency`, p99 of `p99_latency` where that differs.
    details: those without a value are left out.
    """
    return ImportedReading(
        source.name,
        line,
        tool,
        lat_mean_ns=mean,
        lat_p99_ns=p99,
        lat_kind=None if mean is None else latency,
        lat_p99_kind=None if p99 is None else p99_latency or latency,
        n=n,
        notes=tuple(notes),
        details={name: value for name, value in (details or {}).items() if value is not None},
        **fields,
    )


@dataclass(frozen=True)
class Found:
    """One JSON object of a file."""

    value: dict[str, Any]
    text: str
    start: int

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.start) + 1

    def line_of(self, pattern: str, after: int = 0) -> int:
        """The line of the first match behind the object's beginning and line `after`; the object's own without one."""
        if len(self.text) > 4 << 20:
            return self.line
        start = self.start
        for _ in range(max(after - self.line + 1, 0)):
            start = self.text.find("\n", start) + 1 or len(self.text)
        match = re.compile(pattern).search(self.text, start)
        return self.text.count("\n", 0, match.start()) + 1 if match else self.line


def objects(source: Source) -> Iterator[Found]:
    """Every JSON object of the file; what is broken joins the source's problems."""
    text, complete = source.text()
    if not complete:
        source.problem(0, "only the first part of a large JSON file was read")
    problems: list[Problem] = []
    for document in documents(text, problems):
        if isinstance(document.value, dict):
            yield Found(document.value, text, document.start)
    for problem in problems:
        source.problem(problem.line, problem.what, lost=problem.lost)


def part(value: object, *names: str) -> dict[str, Any]:
    """The object inside `value` under these names; empty where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def word_of(value: object, name: str) -> str | None:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found[:500] if isinstance(found, str) and found else None
