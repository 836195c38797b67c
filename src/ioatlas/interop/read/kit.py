# SPDX-License-Identifier: Apache-2.0
"""What readers share: lines by patterns with named parts, runs of such lines, and the reading that is made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ioatlas.interop.read.numbers import num, times, whole
from ioatlas.interop.read.source import Source
from ioatlas.model.imported_reading import ImportedReading

CUT = "the file ends inside this line, which was not used"
_LONGEST = 2000
_MOST_NAMES = 500


class Said(dict[str, str]):
    """What the lines of a run said: texts by name; `at`: the line that said it."""

    def __init__(self, before: Mapping[str, str] | None = None) -> None:
        super().__init__(before or {})
        self.at: dict[str, int] = {}

    def take(self, number: int, parts: Mapping[str, str | None]) -> None:
        for name, text in parts.items():
            if text is not None and (name in self or len(self) < _MOST_NAMES):
                self[name] = text.strip()[:_LONGEST]
                self.at[name] = number

    def num(self, name: str, factor: float | None = None) -> float | None:
        """A figure, in base units by `factor`."""
        value = num(self.get(name))
        return value if factor is None else times(value, factor)

    def whole(self, name: str) -> int | None:
        return whole(self.get(name))


def matched(source: Source, number: int, line: str, patterns: Sequence[re.Pattern[str]]) -> re.Match[str] | None:
    """The match of the first pattern that fits a line. A last line without its end fits none where a figure ends it: it
    may be cut.
    """
    match = next((found for pattern in patterns if (found := pattern.match(line))), None)
    if match is not None and source.unended(number) and match.end() == len(line) and line[-1:].isdigit():
        source.problem(number, CUT)
        return None
    return match


def runs(
    source: Source, *patterns: re.Pattern[str], begins: str, ends: str = "", keeps: Sequence[str] = ()
) -> Iterator[Said]:
    """The runs of a text: what the named parts of `patterns` said. A new one begins with a line that says `begins`, or
    again what a run says once (`ends`). keeps: names that hold for the runs that follow too.
    """
    run = Said()
    for number, line in source.lines():
        if (match := matched(source, number, line, patterns)) is None:
            continue
        parts = {name: text for name, text in match.groupdict().items() if text is not None}
        if run and (begins in parts or (ends in parts and ends in run)):
            yield run
            run = Said({name: run[name] for name in keeps if name in run})
        run.take(number, parts)
    if run:
        yield run


def reading(
    source: Source,
    line: int,
    tool: str,
    *,
    mean: float | None = None,
    p99: float | None = None,
    latency: str = "total",
    notes: Sequence[str] = (),
    details: Mapping[str, Any] | None = None,
    n: int | None = 1,
    **fields: Any,
) -> ImportedReading:
    """A reading of what is known. mean, p99: nanoseconds of `latency`. details: those without a value are left out."""
    return ImportedReading(
        source.name,
        line,
        tool,
        lat_mean_ns=mean,
        lat_p99_ns=p99,
        lat_kind=None if mean is None else latency,
        lat_p99_kind=None if p99 is None else latency,
        n=n,
        notes=tuple(notes),
        details={name: value for name, value in (details or {}).items() if value is not None},
        **fields,
    )
