# SPDX-License-Identifier: Apache-2.0
"""Findings in the order of what a reader should do next, each under a title of its own; the first TOP stand at the head of a report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ioatlas.model.result import Finding

TOP = 10

TITLES = {
    "above-ceiling": "Above a ceiling", "balance": "Balance", "cache": "Caches", "cache-size": "Size of a cache", "cliff": "Cliff", "corruption": "Corrupted data",
    "counters": "Kernel counters", "data-reduction": "Data reduction", "drift": "Drift", "engines": "Two tools", "highest-load": "Highest load",
    "knee": "90 % of the peak", "law": "Law of the map", "limit": "What limits", "limits": "Limits of the cells", "map-error": "Error of the map",
    "method": "Methods differ", "no-data-reduction": "Data reduction", "not-measured": "Not measured", "offset": "Place on the device", "peak": "Peak",
    "reads-after-writes": "Reads after writes", "response-time": "Response time", "saturation-law": "Law of saturation", "sentinel": "Sentinel cell", "undetermined": "What limits",
    "rounds": "SNIA test", "weak-regime": "Weak predictions",
}  # fmt: skip
"""Where a code made into words would not do."""

_ORDER = (
    # Is it to be believed at all?
    ("corruption", "above-ceiling", "!cache", "!counters", "data-reduction", "!drift"),
    # The answer: the best, the least that comes near it, where more gains nothing, how sure, what is missing.
    ("rounds", "highest-load", "response-time", "peak", "knee", "saturation", "noise", "not-measured", "map-error", "weak-regime"),
    # What to change for more, and where to look further.
    ("limit", "", "balance", "offset", "cache-size", "limits", "saturation-law", "cliff", "power"),
    # What was in order or could not be told, and detail.
    ("undetermined", "integrity", "cache", "counters", "drift", "sentinel", "no-data-reduction", "law", "imported", "method"),
)
"""Codes from the first to be read to the last; '' is every other one, '!' a code that reports trouble: its first finding."""
_RANK = {code: rank for rank, code in enumerate(code for group in _ORDER for code in group)}
_PLACES = {"not-measured": "not-measured", "counters": "method", "drift": "discards", "noise": "map", "limits": "map"}
"""Section of the report that holds the evidence where no cell does."""
_DIRECTIONS = ("read", "write", "trim")


def headlines(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings in reading order with titles, no two alike. Equal codes keep the order they came in."""
    given = list(findings)
    first = {one.code: index for index, one in reversed(list(enumerate(given))) if _troubled(one)}
    ordered = [one for _, one in sorted(enumerate(given), key=lambda item: _rank(item[1], first=first.get(item[1].code) == item[0]))]
    named = [
        replace(one, title=one.title or _title(one.code), place=one.place or ("" if one.cells else _PLACES.get(one.code, "method")))
        for one in ordered
    ]
    for tell in (_of_direction, _of_target, _of_number):
        count = Counter(one.title for one in named)
        seen: Counter[str] = Counter()
        made = []
        for one in named:
            seen[one.title] += 1
            made.append(replace(one, title=tell(one, seen[one.title])) if count[one.title] > 1 else one)
        named = made
    return tuple(named)


def _rank(finding: Finding, *, first: bool) -> int:
    """first: it is the first of its code that reports trouble; further ones (the other direction, another target) would push the answer away."""
    trouble = _RANK.get(f"!{finding.code}")
    if trouble is not None and first:
        return trouble
    return _RANK.get(finding.code, _RANK[""])


def _troubled(finding: Finding) -> bool:
    """Whether a check found something, rather than that all is well."""
    if finding.code == "counters":
        return "no cache in between" not in finding.sentence
    return finding.code != "cache" or bool(finding.cells)


def _title(code: str) -> str:
    return TITLES.get(code, code[:1].upper() + code[1:].replace("-", " "))


def _of_direction(finding: Finding, _number: int) -> str:
    """'Peak, reads': the direction that the sentence speaks of, when it is one."""
    named = [word for word in _DIRECTIONS if re.search(rf"\b{word}s?\b", finding.sentence)]
    return f"{finding.title}, {named[0]}s" if len(named) == 1 else finding.title


def _of_target(finding: Finding, _number: int) -> str:
    """'Peak, reads, on nas': the target that the sentence names as 'throughput on NAME'."""
    found = re.search(r"(?:throughput|load|reads|writes) on (\S+?)[,:; ]", finding.sentence)
    return f"{finding.title}, on {found[1]}" if found else finding.title


def _of_number(finding: Finding, number: int) -> str:
    return f"{finding.title} ({number})"
