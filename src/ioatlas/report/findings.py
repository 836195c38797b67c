# SPDX-License-Identifier: Apache-2.0
"""Findings, doubts and advice in words: `findings.toml` holds those of every code; this fills in the values.

A code has one text or several, of which the first is used that has all the values it needs. In a text `{seconds}` is a
value of the finding, its `target` or `direction`, or `on`: the target where the result has several. Behind a colon
stands how it is written: a name of `WRITTEN`, `+visit` for '1 visit' and '2 visits', what goes between the members of a
list, or a format of Python's. `[one|other]` is the first alternative that has all the values it needs, or nothing.
`{?name}` asks for a value and writes nothing; `{?name=text}` asks for this very value. None, False, '' and an empty
list are no values. `each` has the text of the members of a list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ioatlas.answer.analysis.factors import times_text
from ioatlas.answer.analysis.wording import plural
from ioatlas.model.finding import Finding
from ioatlas.model.load_curve import Spread
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import Advice, Doubt, DoubtCode, Trust
from ioatlas.model.units import (
    format_count,
    format_duration,
    format_latency,
    format_rate,
    format_size,
    format_size_rounded,
    format_times,
    per_cent,
)
from ioatlas.store.toml import shipped

TEXTS: Mapping[str, Any] = shipped("ioatlas.report", "findings.toml")


def _amount(one: Mapping[str, Any]) -> str:
    """A value with its unit: 'B', 'B/s', 'ns', or what is counted."""
    known: Mapping[str, Callable[[float], str]] = {"B": format_size_rounded, "B/s": format_rate, "ns": format_latency}
    value, unit = one["value"], one["unit"]
    return known[unit](value) if unit in known else f"{format_count(value)} {unit}"


WRITTEN: Mapping[str, Callable[[Any], str]] = {
    "amount": _amount,
    "bytes": format_size_rounded,
    "capital": lambda text: text[:1].upper() + text[1:],
    "change": lambda ratio: times_text(Spread(**ratio)),
    "count": format_count,
    "duration": format_duration,
    "latency": format_latency,
    "money": lambda amount: f"{amount:,.0f}" if amount >= 1000 else f"{amount:,.4g}",
    "per_cent": per_cent,
    "plain": lambda value: f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}",
    "rate": format_rate,
    "size": format_size,
    "times": format_times,
}
_CHOICE = re.compile(r"\[([^][]*)\]")
_VALUE = re.compile(r"\{(?P<asked>\?)?(?P<name>\w+)(?:=(?P<is>[^}]*))?(?::(?P<spec>[^}]*))?\}")


@dataclass(frozen=True)
class ToldDoubt:
    """A doubt in words, as exports and the page have it. advice: '' where nothing can be done."""

    code: DoubtCode
    level: Trust
    sentence: str
    advice: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Worded(Finding):
    """A finding with its title, of which no two of a result are alike, and its sentence."""

    title: str = ""
    sentence: str = ""


def worded(result: CampaignResult) -> tuple[Worded, ...]:
    """The findings of a result in words, in their order."""
    return in_words(result.findings, several=sum(one.kind != "imported" for one in result.targets) > 1)


def in_words(findings: Iterable[Finding], *, several: bool = False) -> tuple[Worded, ...]:
    """several: whether more than one target was measured."""
    found = [_worded(one, several=several) for one in findings]
    found = _told_apart(found, "direction", "{}, {}s")
    found = _told_apart(found, "target", "{}, on {}")
    count, seen = Counter(one.title for one in found), Counter[str]()
    numbered = []
    for one in found:
        seen[one.title] += 1
        numbered.append(replace(one, title=f"{one.title} ({seen[one.title]})") if count[one.title] > 1 else one)
    return tuple(numbered)


def sentence_of(finding: Finding) -> str:
    """Of one alone."""
    return _worded(finding, several=False).sentence


def told_doubts(doubts: Iterable[Doubt]) -> tuple[ToldDoubt, ...]:
    """In words, in their order."""
    said = ((one, _said(TEXTS["doubt"][one.code], one.values)["says"]) for one in doubts)
    return tuple(
        ToldDoubt(one.code, one.level, sentence, next_step([one.advice] if one.advice else []), one.cells)
        for one, sentence in said
    )


def next_step(advice: Iterable[Advice]) -> str:
    """All that the reader can do, in one line; that it is to be run again is said once."""
    told = [_filled(TEXTS["advice"][one.code], one.values, {}) for one in advice]
    again = [text.removeprefix("re-run ") if told[0].startswith("re-run") else text for text in told[1:]]
    return ", ".join([*told[:1], *again])


def _told_apart(found: Sequence[Worded], by: str, words: str) -> list[Worded]:
    """Findings of one title that differ in something: it is added to their titles ('Peak, reads')."""
    values: dict[str, set[str]] = {}
    for one in found:
        values.setdefault(one.title, set()).add(getattr(one, by))
    several = {title for title, known in values.items() if len(known) > 1}
    return [
        replace(one, title=words.format(one.title, value))
        if (value := getattr(one, by)) and one.title in several
        else one
        for one in found
    ]


def _worded(one: Finding, *, several: bool) -> Worded:
    values = {"target": one.target, "direction": one.direction, **one.values}
    text = _said(TEXTS[one.code], values, several=several)
    return Worded(**vars(one), title=text["title"], sentence=text["says"])


def _said(texts: Iterable[Mapping[str, Any]], values: Mapping[str, Any], *, several: bool = False) -> dict[str, str]:
    """The parts of the first text that has all the values it needs, in words."""
    text = next(one for one in texts if _has_all(needed(one.get("title", "") + one["says"]), values))
    return {name: _filled(text[name], values, text.get("each", {}), several).strip() for name in text if name != "each"}


def needed(text: str) -> str:
    """A text without its choices."""
    while (made := _CHOICE.sub("", text)) != text:
        text = made
    return text


def _has_all(text: str, values: Mapping[str, Any]) -> bool:
    """Whether there is a value for all that a text without choices names."""
    for found in _VALUE.finditer(text):
        value = values.get(found["name"])
        empty = value is None or value is False or (isinstance(value, str | list | tuple) and not value)
        if empty or found["is"] not in (None, str(value)):
            return False
    return True


def _filled(text: str, values: Mapping[str, Any], each: Mapping[str, str], several: bool = False) -> str:
    """A text with its choices made, the innermost first, and then its values written."""
    values = {**values, "on": several and values.get("target")}

    def chosen(found: re.Match[str]) -> str:
        return next((one for one in found[1].split("|") if _has_all(one, values)), "")

    def written(found: re.Match[str]) -> str:
        value, spec = values[found["name"]], found["spec"] or ""
        if found["asked"]:
            return ""
        if isinstance(value, list | tuple):
            own = each.get(found["name"], "")
            return (spec or ", ").join(_filled(own, one, each, several) if own else str(one) for one in value)
        if spec.startswith("+"):
            return plural(value, *spec[1:].split("/"))
        return WRITTEN[spec](value) if spec in WRITTEN else format(value, spec)

    while (made := _CHOICE.sub(chosen, text)) != text:
        text = made
    return _VALUE.sub(written, text)
