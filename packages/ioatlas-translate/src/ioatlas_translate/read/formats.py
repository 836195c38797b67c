# SPDX-License-Identifier: Apache-2.0
"""The formats that are read, as `formats.toml` lists them. A new one is a module beside this one
with a `read`, and an entry there.

Tools that are known and not read stand there too: a user is told so, and what to do instead.

Results inside something else are found as well: quoted in a mail, indented in a document or a program, behind the time
stamps of a build log. A collector's label before each line is taken off too: `[pod/fio-1/fio] `, `fio-1  | `,
`host: `, `stdout F `; and the sign of a comment: `# `, `// `. Most readers need a line to begin where the tool began
it. What stands before such lines again and again is a margin, and is taken off.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from ioatlas.store.toml import shipped

_STAMP = r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?Z| ?[+-]\d\d:?\d\d)?\]?:? ?"
_SYSLOG = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.\-]{1,60} [\w.\-/]{1,60}(?:\[\d{1,8}\])?: "
_MARGIN = re.compile(rf"(?:[ \t]*(?:{_STAMP}|{_SYSLOG}|>[> ]?))+|[ \t]+")
_MARKS = re.compile(rf"({_STAMP})|({_SYSLOG})")
_LABEL = re.compile(
    rf"(?:\d{{1,7}}:|(?:{_STAMP}|{_SYSLOG}|[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d )?"
    r"(?:\[[^\]\n]{1,120}\]|[\w.@/\-]{1,80} +\||[A-Za-z][\w.@\-]{0,80}:|std(?:out|err) [FP]"
    r"|[#+]|//+|(?:[;%*]|--)(?= ))?)(?: |$)?"
)
"""What a collector puts before each line: a container's name, a host's, a stream's, a mark of a comment, a number."""
_PLACES = 200
_SHAPES = 8
_LABELLED = 0.8
"""Of the labels of neighbouring lines, how many must be of a kind that is repeated."""
_REPEATED = 3
_AROUND = 200
_BLOCKS = 5


def _pattern(margin: str) -> str:
    """A margin as a pattern: time stamps differ from line to line, blanks and quote marks do not."""
    parts = []
    at = 0
    for match in _MARKS.finditer(margin):
        parts += [re.escape(margin[at : match.start()]), _STAMP if match[1] else _SYSLOG]
        at = match.end()
    return "".join([*parts, re.escape(margin[at:])])


def _places(text: str, hints: Iterable[str], most: int) -> Iterator[int]:
    """Where hints stand in a text: the first `most` places of each."""
    for hint in hints:
        place = -1
        for _ in range(most):
            place = text.find(hint, place + 1)
            if place < 0:
                break
            yield place


def _margins(text: str, hints: Iterable[str]) -> list[str]:
    """Patterns of what stands before lines that hold one of `hints`, the longest first."""
    found: dict[str, str] = {}
    for place in _places(text, hints, _PLACES):
        start = text.rfind("\n", 0, place) + 1
        match = _MARGIN.match(text, start, min(start + 200, len(text)))
        if match is not None and match.end() <= place:
            found.setdefault(_pattern(match.group()), match.group())
            if len(found) >= _SHAPES:
                break
    return sorted(found, key=lambda pattern: len(found[pattern]), reverse=True)


def _kind(label: str) -> str:
    return re.sub(r"\d+", "0", label)


def _label(line: str) -> str:
    match = _LABEL.match(line)
    return match.group().strip() if match else ""


def _labels(text: str, hints: Iterable[str]) -> list[str]:
    """Patterns of labels that stand before all lines around a place that holds one of `hints`. None where the lines of
    several sources are mixed: whose figures are whose is not told then.
    """
    lines = text.split("\n")
    for place in _places(text, hints, _BLOCKS):
        if found := _labels_around(lines, text.count("\n", 0, place)):
            return found
    return []


def _labels_around(lines: Sequence[str], at: int) -> list[str]:
    above = list(takewhile(bool, map(_label, lines[max(0, at - _AROUND) : at + 1][::-1])))
    starts = above[::-1] + list(takewhile(bool, map(_label, lines[at + 1 : at + _AROUND])))
    kinds = Counter(map(_kind, starts))
    common = [kind for kind, times in kinds.most_common(_SHAPES) if times >= _REPEATED]
    if not common or sum(_kind(start).startswith(tuple(common)) for start in starts) < _LABELLED * len(starts):
        return []
    common = [kind for kind in common if not any(kind != other and kind.startswith(other) for other in common)]
    starts = [start for start in starts if _kind(start) in common]
    runs = [start for at, start in enumerate(starts) if at == 0 or starts[at - 1] != start]
    if len(runs) != len(set(runs)) or ("0:" in common and len(runs) < len(starts)):  # an hour is no line's number
        return []
    return [re.escape(kind).replace("0", r"\d+") + r"(?: |$)?" for kind in common]


def margin_of(text: str, hints: Sequence[str], signature: re.Pattern[str]) -> re.Pattern[str] | None:
    """What is to be taken off the lines of `text` for a reader with this signature to find more of its results; None
    for nothing.

    A quote mark or a time stamp is never part of a result. Blanks may be: they count only where the signature is found
    more often without.
    """
    if labels := _labels(text, hints):
        bare = re.sub(rf"(?m)^(?:{'|'.join(labels)})", "", text)
        if sum(1 for _ in signature.finditer(bare)) >= max(1, sum(1 for _ in signature.finditer(text))):
            return re.compile("|".join(labels))
    useful = []
    before: int | None = None
    for pattern in _margins(text, hints):
        if re.fullmatch(r"(?:\\[ \t]|[ \t])+", pattern):
            before = sum(1 for _ in signature.finditer(text)) if before is None else before
            bare = re.sub(rf"(?m)^{pattern}", "", text)
            if sum(1 for _ in signature.finditer(bare)) <= before:
                continue
        useful.append(pattern)
    return re.compile("|".join(useful)) if useful else None


if TYPE_CHECKING:
    from ioatlas.model.imported_reading import ImportedReading
    from ioatlas_translate.read.source import Source


@dataclass(frozen=True)
class Format:
    """One format: its name for people, patterns of its results, and the module that reads it. hints: without one of
    them in a text the patterns are not looked for. tools: what its readings are of, by the names their makers write,
    and what their units mean.
    """

    name: str
    module: str
    signature: Sequence[str]
    hints: Sequence[str] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
    reader: str = "read"
    beside: str = ""
    """What another file beside tells, by which files of this format are parts of that other result."""
    passed_over: str = ""
    """What such parts are called."""
    margin: re.Pattern[str] | None = None
    """What stands before its lines in this file."""

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(self.signature), re.MULTILINE)

    def found_in(self, text: str) -> bool:
        hinted = not self.hints or any(hint in text for hint in self.hints)
        return hinted and self._pattern.search(text) is not None

    def margin_in(self, text: str) -> re.Pattern[str] | None:
        """What stands before the lines of this format in `text`; None for nothing, or where the format is not there."""
        hints = [hint for hint in self.hints if hint in text]
        margin = margin_of(text, hints, self._pattern) if hints else None
        return margin if margin is not None and self.found_in(re.sub(rf"(?m)^(?:{margin.pattern})", "", text)) else None

    def is_told_beside(self, source: Source) -> bool:
        return bool(self.beside) and source.is_told_beside(re.compile(self.beside.encode(), re.MULTILINE))

    def read(self, source: Source) -> Iterator[ImportedReading]:
        source.margin = self.margin
        module = importlib.import_module(f"ioatlas_translate.read.{self.module}")
        yield from getattr(module, self.reader)(source)


_TOLD = shipped("ioatlas_translate.read", "formats.toml")
FORMATS, LOGS = (tuple(Format(**one) for one in _TOLD[kind]) for kind in ("format", "log"))
NAMES: Mapping[str, Mapping[str, str]] = _TOLD["names"]
"""By tool, how it names what a reader knows by one name."""
TOOLS = {tool: units for item in FORMATS for tool, units in item.tools.items()}
"""Tools whose results are read, and what their units mean; the readings are in base units already."""


NOT_READ = "which is not read"
_PATTERNS = [
    (one["tool"], re.compile(one["pattern"], re.MULTILINE), _TOLD["instead"].get(one["instead"], one["instead"]))
    for one in _TOLD["unread"]
]


def told_of(text: str) -> str | None:
    """What to tell of a text in which no reader found its own; None where nothing in it is known."""
    for tool, pattern, remedy in _PATTERNS:
        if pattern.search(text):
            return f"a result of {tool}, {NOT_READ}. {remedy}"
    return None
