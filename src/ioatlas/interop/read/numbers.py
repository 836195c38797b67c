# SPDX-License-Identifier: Apache-2.0
"""Figures as other tools and locales print them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

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


def size_bytes(text: str | None, *, bare: int = 1, decimal: bool = False) -> int | None:
    """Bytes of `4k`, `4KiB`, `64 MB`, `1g`; a bare number is times `bare`. Letters are binary unless `decimal`, as each
    tool documents.
    """
    match = _SIZE.match(text or "")
    if match is None:
        return None
    value = num(match[1])
    if value is None:
        return None
    letter, unit = match[2].lower(), (match[3] or "").lower()
    base = 1000 if decimal and not unit.startswith("i") else 1024
    size = value * (base ** (" kmgtpe".index(letter)) if letter else (1 if unit else bare))
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
