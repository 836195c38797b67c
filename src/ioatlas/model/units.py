# SPDX-License-Identifier: Apache-2.0
"""Sizes, durations and rates: one unambiguous grammar in, one normal form out.

fio 3.33 reads `4ki` as 4096 and `4KiB` as 4000 by default, so job files only ever receive bare
integers. What people write is read here: `KiB`, `MiB`, ... are binary, `kB`, `MB`, ... decimal, and
a bare letter (`4k`, `1m`) is binary as fio users expect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from decimal import Decimal
from math import ceil, inf
from typing import Literal, TypeVar, get_args

from ioatlas.model.errors import UsageError


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def pairs(text: str) -> dict[str, str]:
    """Words with what each stands for: 'b=block s=size'."""
    return dict(word.split("=", 1) for word in text.split())


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def grouped(told: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    """Values by their keys, each in the order in which they come."""
    found: dict[_Key, list[_Value]] = {}
    for key, value in told:
        found.setdefault(key, []).append(value)
    return found


_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kmgtp]?)(ib|b|i)?\s*$", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|us|µs|ns|min|d|h|m|s)?", re.IGNORECASE)
UNITS = {
    "binary": {unit: 1024**power for power, unit in enumerate(words("B KiB MiB GiB TiB PiB"))},
    "decimal": {unit: 1000**power for power, unit in enumerate(words("B kB MB GB TB PB"))},
    "latency": {"ns": 1, "µs": 1000, "ms": 1000**2, "s": 1000**3},
    "count": {"k": 1000, "M": 1000**2, "G": 1000**3},
}
"""In which bytes, nanoseconds and counts are told, here and on the page, from the smallest up."""
_LARGEST = 1 << 63
_LONGEST_SECONDS = 1e9
_SECONDS: dict[str, Decimal] = {
    k: Decimal(v)
    for k, v in {
        "d": "86400",
        "h": "3600",
        "min": "60",
        "m": "60",
        "s": "1",
        "ms": "1e-3",
        "us": "1e-6",
        "µs": "1e-6",
        "ns": "1e-9",
    }.items()
}


def parse_size_bytes(text: str | int, *, where: str = "") -> int:
    """Bytes of `4k`, `4KiB`, `4 kB`, `1.5GiB` or a bare integer. Raises UsageError on anything else."""

    def fault(what: str, remedy: str = "write a size such as 4k, 1MiB, 1MB or 4096") -> UsageError:
        return UsageError(what, where=where, remedy=remedy)

    match = _SIZE.match(str(text)) if not isinstance(text, bool) else None
    if isinstance(text, int) and abs(text) >= _LARGEST:
        raise fault("that is larger than any file can be", "write a size below 8 EiB")
    if match is None:
        raise fault(f"{text!r} is not a size")
    number, letter, unit = match.groups()
    # "4kB" is decimal; "4k", "4ki" and "4KiB" are binary; "512B" has no prefix at all.
    base = 1000 if unit is not None and unit.lower() == "b" else 1024
    size = Decimal(number) * base ** _POWER[letter.lower()]
    if size != size.to_integral_value():
        raise fault(f"{text!r} is not a whole number of bytes", "write a size that is a whole number of bytes")
    if size >= _LARGEST:
        raise fault(f"{text!r} is larger than any file can be", "write a size below 8 EiB")
    return int(size)


def format_size(size_bytes: int) -> str:
    """Shortest exact binary form: 4096 -> '4 KiB', 1000 -> '1000 B'."""
    known = UNITS["binary"].items()
    *_, (unit, factor) = (one for one in known if one[1] <= max(1, size_bytes) and size_bytes % one[1] == 0)
    return f"{size_bytes // factor} {unit}"


def format_size_rounded(size_bytes: float) -> str:
    """Three significant digits with a binary unit, for people: 1.24 GiB."""
    unit, factor = _fitting([*UNITS["binary"].items()], size_bytes)
    return f"{_three_digits(size_bytes / factor)} {unit}"


def _fitting(units: Sequence[tuple[str, float]], value: float) -> tuple[str, float]:
    """The first unit in which the value has at most three digits."""
    return next((unit for unit in units if abs(value) / unit[1] < 999.5), units[-1])


def parse_duration_seconds(text: str | float, *, where: str = "") -> float:
    """Seconds of `10m`, `1h30m`, `500ms`, `90` (bare numbers are seconds, as in fio). Raises UsageError."""

    def fault(what: str) -> UsageError:
        return UsageError(what, where=where, remedy="write a duration such as 10m, 90s or 500ms")

    if not isinstance(text, str):
        if isinstance(text, bool) or not 0 <= text <= _LONGEST_SECONDS:
            raise fault(f"{text!r} is not a duration")
        return float(text)
    total, rest = Decimal(0), text.strip()
    if not rest:
        raise fault("a duration is empty")
    while rest:
        match = _DURATION.match(rest)
        if match is None:
            raise fault(f"{text!r} is not a duration")
        total += Decimal(match.group(1)) * _SECONDS[(match.group(2) or "s").lower()]
        rest = rest[match.end() :].strip()
    return parse_duration_seconds(float(total), where=where)


def exact_duration(seconds: float) -> str:
    """For files: '500ms', '1000s'; `parse_duration_seconds` reads the same number back."""
    exact = Decimal(repr(seconds))
    return f"{(exact * 1000).normalize():f}ms" if 0 < exact < 1 else f"{exact.normalize():f}s"


def format_duration(seconds: float) -> str:
    """For people: '850 ms', '42 s', '3 min 20 s', '2 h 05 min'."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def utc_text(seconds: float) -> str:
    """RFC 3339, of seconds since the epoch: '2026-11-27T22:47:00+00:00'."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


_ROUND_TIMES = ("1m", "2m", "3m", "5m", "10m", "15m", "20m", "30m", "1h", "2h", "4h", "8h")


def round_budget(seconds: float) -> str:
    """The first round time that is no shorter, as an option has it: '5m', '8h', '26h'."""
    return next((text for text in _ROUND_TIMES if parse_duration_seconds(text) >= seconds), f"{ceil(seconds / 3600)}h")


def parse_percent(text: str | float, *, where: str = "", most: float = inf) -> float:
    """A fraction from '5%' or 0.05, up to `most`. Raises UsageError."""
    percent = isinstance(text, str) and text.strip().endswith("%")
    try:
        value = float(text.strip().removesuffix("%") if isinstance(text, str) else text) / (100 if percent else 1)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise UsageError(f"{text!r} is not a percentage", where=where, remedy="write a percentage such as 5%")
    if value > most:
        raise UsageError(f"{text!r} is more than {most:.0%}", where=where, remedy="write a percentage such as 5%")
    return value


# -- rates ---------------------------------------------------------------------------------------------------

RateSystem = Literal["binary", "decimal"]
RATE_UNITS: dict[RateSystem, tuple[tuple[str, float], ...]] = {
    system: tuple((f"{unit}/s", float(n)) for unit, n in UNITS[system].items()) for system in get_args(RateSystem)
}
_SYSTEM: ContextVar[RateSystem] = ContextVar("system of units of throughput", default="binary")


def rate_units() -> tuple[tuple[str, float], ...]:
    """Units of throughput, each with the bytes per second that it is, from the smallest up, as they were chosen."""
    return RATE_UNITS[_SYSTEM.get()]


def rate_system() -> RateSystem:
    """Of RATE_UNITS."""
    return _SYSTEM.get()


@contextmanager
def rates_in(system: RateSystem) -> Iterator[None]:
    """All rates of an answer in units of RATE_UNITS[system]."""
    before = _SYSTEM.set(system)
    try:
        yield
    finally:
        _SYSTEM.reset(before)


def format_rate(bytes_per_second: float) -> str:
    """Throughput for people, three significant digits: '113 MiB/s'."""
    unit, factor = _fitting(rate_units(), bytes_per_second)
    return f"{_three_digits(bytes_per_second / factor)} {unit}"


def format_rate_like(bytes_per_second: float, other: float) -> str:
    """In the unit in which another rate is told, so that both can be compared at a glance: '1,008 MiB/s' beside 744."""
    unit, factor = _fitting(rate_units(), other)
    value = bytes_per_second / factor
    return f"{value:,.0f} {unit}" if abs(value) >= 999.5 else f"{_three_digits(value)} {unit}"


def format_count(value: float) -> str:
    """IOPS and counts for people: '950', '12.4 k', '1.2 M'."""
    return _in_largest("count", value) if value >= 9995 else _three_digits(value)


def format_latency(nanoseconds: float) -> str:
    """Latency for people: '84.2 µs', '1.05 ms', '2.3 s'."""
    return _in_largest("latency", nanoseconds) if nanoseconds >= 999.5 else f"{nanoseconds:.0f} ns"


def _in_largest(kind: str, value: float) -> str:
    """In the largest unit that it reaches when rounded."""
    unit, factor = next(one for one in reversed(UNITS[kind].items()) if value >= one[1] * 0.9995)
    return f"{_three_digits(value / factor)} {unit}"


def number_of(number: float) -> str:
    """With two digits at least, and no more than are needed for that."""
    digits = next((digits for digits, least in enumerate((9.995, 0.995, 0.0995)) if number >= least), 3)
    return f"{number:.{digits}f}"


def _three_digits(value: float) -> str:
    """Three significant digits, never in powers of ten."""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def per_cent(share: float) -> str:
    """'31%', '7.6%': two digits."""
    return f"{share:.0%}" if share >= 0.1 else f"{share * 100:.2g}%"


def format_times(factor: float) -> str:
    """'3.1 times'."""
    return f"{factor:.2g} times" if factor < 99.5 else f"{factor:,.0f} times"
