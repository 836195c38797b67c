# SPDX-License-Identifier: Apache-2.0
"""Result files that are JSON: their documents, and figures in them that may be missing or of another kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ioatlas.fio.loose_json import Problem, documents
from ioatlas.interop.read.numbers import num
from ioatlas.interop.read.source import Source


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


def figure_of(value: object, name: str) -> float | None:
    found = value.get(name) if isinstance(value, dict) else None
    return num(str(found)) if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def word_of(value: object, name: str) -> str | None:
    found = value.get(name) if isinstance(value, dict) else None
    return found[:500] if isinstance(found, str) and found else None
