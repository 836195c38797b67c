# SPDX-License-Identifier: Apache-2.0
"""Results inside something else: quoted in a mail, indented in a document or a program, behind the time stamps of a
build log.

Most readers need a line to begin where the tool began it. What stands before such lines again and again is a margin,
and is taken off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_STAMP = r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?Z| ?[+-]\d\d:?\d\d)?\]?:? ?"
_SYSLOG = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.\-]{1,60} [\w.\-/]{1,60}(?:\[\d{1,8}\])?: "
_MARGIN = re.compile(rf"(?:[ \t]*(?:{_STAMP}|{_SYSLOG}|>[> ]?))+|[ \t]+")
_MARKS = re.compile(rf"({_STAMP})|({_SYSLOG})")
_PLACES = 200
_SHAPES = 8


def _pattern(margin: str) -> str:
    """A margin as a pattern: time stamps differ from line to line, blanks and quote marks do not."""
    parts = []
    at = 0
    for match in _MARKS.finditer(margin):
        parts += [re.escape(margin[at : match.start()]), _STAMP if match[1] else _SYSLOG]
        at = match.end()
    return "".join([*parts, re.escape(margin[at:])])


def _margins(text: str, hints: Iterable[str]) -> list[str]:
    """Patterns of what stands before lines that hold one of `hints`, the longest first."""
    found: dict[str, str] = {}
    for hint in hints:
        place = -1
        for _ in range(_PLACES):
            place = text.find(hint, place + 1)
            if place < 0:
                break
            start = text.rfind("\n", 0, place) + 1
            match = _MARGIN.match(text, start, min(start + 200, len(text)))
            if match is not None and match.end() <= place:
                found.setdefault(_pattern(match.group()), match.group())
                if len(found) >= _SHAPES:
                    break
    return sorted(found, key=lambda pattern: len(found[pattern]), reverse=True)


def margin_of(text: str, hints: Sequence[str], signature: re.Pattern[str]) -> re.Pattern[str] | None:
    """What is to be taken off the lines of `text` for a reader with this signature to find more of its results; None
    for nothing.

    A quote mark or a time stamp is never part of a result. Blanks may be: they count only where the signature is found
    more often without.
    """
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
