# SPDX-License-Identifier: Apache-2.0
"""JSON as it is found in the field: behind banners, several to a file, cut off, with log lines inside.

The strict parser of the standard library does the reading; this module finds where documents start,
takes out lines that cannot be JSON, and closes what was cut off at its last complete value. A value
that was cut in the middle is never used.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from ioatlas.model.units import words

_START = re.compile(r"\{\s*(?=[\"}])")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|["{}\[\],]', re.DOTALL)
_MAX_DEPTH = 100
_MAX_DIGITS = 400
_MAX_REPAIRS = 50
_LIST_KEYS = frozenset({"jobs", "client_stats", "disk_util"})
_FIGURES = frozenset(
    words(
        "read write trim mixed jobname error io_bytes io_kbytes bw bw_bytes iops total_ios mean N bins percentile "
        "slat clat lat slat_ns clat_ns lat_ns"
    )
)
_PADDING = frozenset({"0.00", "0.000000"})  # fio 2.x fills unused percentile places with this key


@dataclass(frozen=True)
class Problem:
    """What could not be read, and the line (from 1) where; line 0 concerns the whole file."""

    line: int
    what: str
    lost: bool = True
    """Whether a measured figure was lost; False for a remark."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}" if self.line else self.what


@dataclass
class Document:
    """One JSON value with the offset of its first character and of the one after its last."""

    value: Any
    start: int
    end: int
    complete: bool = True
    repeated: list[str] = field(default_factory=list)
    broken_at: int = -1


class _Pairs:
    """Collects keys that occur twice in one object with different values; the last value stands, as in fio's own
    parser.
    """

    def __init__(self) -> None:
        self.repeated: list[str] = []

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        seen: dict[str, Any] = {}
        for key, value in pairs:
            if key in seen and key not in _PADDING:
                before = seen[key]
                if key in _LIST_KEYS and isinstance(before, list) and isinstance(value, list):
                    seen[key] = before + value
                    continue
                if before != value:
                    self.repeated.append(key)
            seen[key] = value
        return seen


def whole_document(raw: bytes) -> Any:
    """`raw` as one sound JSON object with no key given twice, by orjson; None for anything else. The quick way for the
    usual file.

    orjson keeps the last of two equal keys without a word, so the value is written out again: when that has fewer
    colons than the text, a key was given twice (or a colon stood as an escape), which the slow way sorts out.
    """
    try:
        value = orjson.loads(raw)
    except (orjson.JSONDecodeError, RecursionError):
        return None
    if type(value) is not dict:
        return None
    return value if raw.count(b":") == orjson.dumps(value).count(b":") else None


def _whole(digits: str) -> float:
    """A whole number; one with more digits than Python reads is beyond any measurement, and must not lose the file."""
    return int(digits) if len(digits) < _MAX_DIGITS else math.inf


def _decode(text: str, position: int) -> tuple[Any, int, list[str]]:
    pairs = _Pairs()
    decoder = json.JSONDecoder(object_pairs_hook=pairs, strict=False, parse_int=_whole)
    value, end = decoder.raw_decode(text, position)
    return value, end, pairs.repeated


def line_of(text: str, offset: int, first_line: int = 1) -> int:
    return text.count("\n", 0, offset) + first_line


def close_cut(text: str, start: int, end: int) -> tuple[str, int] | None:
    """The text from `start` up to its last complete value before `end`, every bracket closed, and where it was cut;
    None when nothing is complete.
    """
    stack: list[str] = []
    safe = -1
    for match in _TOKEN.finditer(text, start, end):
        mark = match.group()
        if mark in "{[":
            stack.append("}" if mark == "{" else "]")
            if len(stack) > _MAX_DEPTH:
                return None
            safe = match.end()
        elif mark in "}]":
            if not stack or stack[-1] != mark:
                break
            stack.pop()
            safe = match.end()
            if not stack:
                break
        elif mark == ",":
            safe = match.start()
        elif mark == '"':  # a string that never ends
            break
    if safe < 0:
        return None
    return text[start:safe] + "".join(reversed(stack)), safe  # every bracket moves `safe`: the stack is that of `safe`


def _junk_line(text: str, start: int, at: int) -> tuple[int, int] | None:
    """The line around `at` when it cannot be a line of pretty-printed JSON."""
    begin = max(text.rfind("\n", start, at) + 1, start)
    end = text.find("\n", at)
    end = len(text) if end < 0 else end + 1
    line = text[begin:end].strip()
    if not line or re.match(r'^("(?:[^"\\]|\\.)*"\s*:|[\[\]{}"]|-?\d[\d.eE+-]*,?$|(true|false|null),?$)', line):
        return None
    return begin, end


class _Work:
    """Bounds the characters that may be looked at again while repairing, so that a hostile file costs linear time."""

    def __init__(self, length: int) -> None:
        self.left = 16 * length + (1 << 22)

    def spend(self, length: int) -> bool:
        self.left -= length
        return self.left > 0


def _repair(text: str, start: int, work: _Work, problems: list[Problem], first_line: int) -> Document | None:
    """A document that does not parse: junk lines out, then the cut end closed. Offsets refer to the original text."""
    body = text[start:]
    removed: list[tuple[int, int]] = []  # (offset in body after removal, length)

    def original(offset: int) -> int:
        return start + offset + sum(length for place, length in removed if place <= offset)

    at = 0
    for _ in range(_MAX_REPAIRS):
        if not work.spend(len(body)):
            return None
        try:
            value, end, repeated = _decode(body, 0)
        except json.JSONDecodeError as error:
            at = min(error.pos, len(body))
            span = _junk_line(body, 0, at)
            if span is None or span[0] == 0 or span[1] == len(body):
                break
            line = line_of(text, original(span[0]), first_line)
            problems.append(Problem(line, f"not JSON, skipped: {body[span[0] : span[1]].strip()[:80]!r}"))
            removed.append((span[0], span[1] - span[0]))
            body = body[: span[0]] + body[span[1] :]
            continue
        except RecursionError:
            problems.append(Problem(line_of(text, start, first_line), "JSON nested too deeply, not read"))
            return None
        return Document(value, start, original(end), True, repeated)
    closed = close_cut(body, 0, at)
    if closed is None:
        return None
    candidate, cut = closed
    try:
        value, _, repeated = _decode(candidate, 0)
    except (json.JSONDecodeError, RecursionError):
        return None
    return Document(value, start, max(original(cut), start + 1), False, repeated, original(at))


def documents(text: str, problems: list[Problem], *, first_line: int = 1) -> Iterator[Document]:
    """Every JSON object in `text`, in order. Problems are added to the list as they are met."""
    position = 0
    failures = 0
    cuts = 0
    work = _Work(len(text))
    while match := _START.search(text, position):
        start = match.start()
        try:
            value, end, repeated = _decode(text, start)
            document = Document(value, start, end, True, repeated)
        except RecursionError:
            problems.append(Problem(line_of(text, start, first_line), "JSON nested too deeply, not read"))
            return
        except json.JSONDecodeError as error:
            if not work.spend(error.pos - start):
                problems.append(
                    Problem(line_of(text, start, first_line), "too many broken pieces of JSON; the rest was not read")
                )
                return
            found = _repair(text, start, work, problems, first_line)
            if found is None:
                failures += 1
                if failures == 1:
                    problems.append(Problem(line_of(text, error.pos, first_line), f"not JSON: {error.msg.lower()}"))
                position = start + 1
                continue
            document = found
            cuts += not found.complete
            if not found.complete and cuts <= _MAX_REPAIRS:
                where = line_of(text, min(found.broken_at, len(text)), first_line)
                problems.append(
                    Problem(where, "the JSON is cut off or broken here; what was complete before it is kept")
                )
        if document.repeated:
            names = sorted(set(document.repeated))
            what = f"keys given twice with different values, the last one kept: {', '.join(names[:8])}"
            problems.append(Problem(line_of(text, start, first_line), what, lost=not _FIGURES.isdisjoint(names)))
        yield document
        position = max(document.end, start + 1)
