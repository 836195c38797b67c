# SPDX-License-Identifier: Apache-2.0
"""Findings in the order of what a reader should do next, each under a title of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from ioatlas.model.finding import Finding, FindingCode

_F = FindingCode
TITLES = {
    _F.ABOVE_CEILING: "Above a ceiling",
    _F.CACHE: "Caches",
    _F.CACHE_SIZE: "Size of a cache",
    _F.CORRUPTION: "Corrupted data",
    _F.COUNTERS: "Kernel counters",
    _F.ENGINES: "Two tools",
    _F.KNEE: "90 % of the peak",
    _F.LIMIT: "What limits",
    _F.LITTLES_LAW: "Little's law",
    _F.MAP_ERROR: "Error of the map",
    _F.METHOD: "Methods differ",
    _F.NO_DATA_REDUCTION: "Data reduction",
    _F.UNDETERMINED: "What limits",
    _F.ROUNDS: "SNIA test",
    _F.WEAK_REGIME: "Weak predictions",
}
"""Where a code made into words would not do."""


@dataclass(frozen=True)
class _Trouble:
    """The first finding of a code that reports trouble."""

    code: FindingCode


_OTHER = None
_ORDER: tuple[FindingCode | _Trouble | None, ...] = (
    # Is it to be believed at all?
    *(_F.CORRUPTION, _F.LITTLES_LAW, _F.ABOVE_CEILING, _Trouble(_F.CACHE), _Trouble(_F.COUNTERS), _F.DATA_REDUCTION),
    _Trouble(_F.DRIFT),
    # The answer: the best, the least that comes near it, where more gains nothing, how sure, what is missing.
    *(_F.FIT, _F.FACTOR),
    *(_F.ROUNDS, _F.HIGHEST_LOAD, _F.KNEE, _Trouble(_F.PRECISION)),
    *(_F.NOT_MEASURED, _F.BURST, _F.MAP_ERROR, _F.WEAK_REGIME),
    # What to change for more, and where to look further.
    *(_F.LIMIT, _OTHER, _F.BALANCE, _F.CACHE_SIZE, _F.CLIFF, _F.POWER),
    # What was in order or could not be told, and detail.
    *(_F.UNDETERMINED, _F.INTEGRITY, _F.CACHE, _F.COUNTERS, _F.DRIFT, _F.NO_DATA_REDUCTION),
    *(_F.IMPORTED, _F.METHOD),
)
"""Codes from the first to be read to the last; _OTHER is every other one."""
_RANK = {what: rank for rank, what in enumerate(_ORDER)}
_PLACES = {
    _F.NOT_MEASURED: "not-measured",
    _F.COUNTERS: "method",
    _F.DRIFT: "discards",
}
"""Section of the report that holds the evidence where no cell does."""


def headlines(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings in reading order with titles, no two alike. Equal codes keep the order they came in."""
    given = _agreeing(list(findings))
    first = {one.code: index for index, one in reversed(list(enumerate(given))) if _troubled(one)}
    ordered = [
        one
        for _, one in sorted(
            enumerate(given), key=lambda item: _rank(item[1], first=first.get(item[1].code) == item[0])
        )
    ]
    named = [
        replace(
            one,
            title=one.title or _title(one.code),
            place=one.place or ("" if one.cells else _PLACES.get(one.code, "method")),
        )
        for one in ordered
    ]
    named = _told_apart(named, attrgetter("direction"), "{}, {}s")
    named = _told_apart(named, attrgetter("target"), "{}, on {}")
    count, seen = Counter(one.title for one in named), Counter[str]()
    numbered = []
    for one in named:
        seen[one.title] += 1
        numbered.append(replace(one, title=f"{one.title} ({seen[one.title]})") if count[one.title] > 1 else one)
    return tuple(numbered)


def _agreeing(findings: Sequence[Finding]) -> list[Finding]:
    """Without the checks that found nothing where another of the same kind found something."""
    troubled = {one.code for one in findings if not one.in_order}
    return [one for one in findings if not (one.in_order and one.code in troubled)]


def _told_apart(findings: Sequence[Finding], by: Callable[[Finding], str], words: str) -> list[Finding]:
    """Findings of one title that differ in something: it is added to their titles ('Peak, reads')."""
    values: dict[str, set[str]] = {}
    for one in findings:
        values.setdefault(one.title, set()).add(by(one))
    return [
        replace(one, title=words.format(one.title, by(one))) if by(one) and len(values[one.title]) > 1 else one
        for one in findings
    ]


def _rank(finding: Finding, *, first: bool) -> int:
    """first: it is the first of its code that reports trouble; further ones (the other direction, another target)
    would push the answer away.
    """
    trouble = _RANK.get(_Trouble(finding.code))
    if trouble is not None and first:
        return trouble
    return _RANK.get(finding.code, _RANK[_OTHER])


def _troubled(finding: Finding) -> bool:
    """Whether a check found something, rather than that all is well."""
    return not finding.in_order and (finding.code is not FindingCode.CACHE or bool(finding.cells))


def _title(code: FindingCode) -> str:
    return TITLES.get(code, code[:1].upper() + code[1:].replace("-", " "))
