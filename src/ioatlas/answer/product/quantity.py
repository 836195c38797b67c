# SPDX-License-Identifier: Apache-2.0
"""Capacities, rates, watts and money of a sheet. TB is 10^12 bytes and TiB 2^40; neither stands for the other."""

from __future__ import annotations

from ioatlas.load.machine.typed_in import quantity
from ioatlas.model.errors import UsageError

TB, TIB = 10**12, 2**40
MB = 10**6
_LARGEST = 1 << 70
_WANTED = {
    "B": (
        "a capacity with its unit",
        'write "4 TB" (10^12 bytes) or "4 TiB" (2^40 bytes), as the maker or the paper does',
    ),
    "B/s": ("a throughput", 'write "125 MiB/s" or "125 MB/s"'),
    "W": ("a power", 'write "265 W"'),
}


def capacity_bytes(text: str, *, where: str) -> int:
    """Bytes of '4 TB' or '27.3 TiB', rounded to whole ones. Raises UsageError: '4T' says neither TB nor TiB."""
    size = _value(text, "B", where)
    if not 0 < size < _LARGEST:
        raise UsageError(f"{text!r} is out of range for a capacity", where=where, remedy="check its unit")
    return round(size)


def rate_bytes_per_s(text: str, *, where: str) -> float:
    """Bytes a second of '125 MiB/s' or '1.2 GB/s'. Raises UsageError."""
    return _value(text, "B/s", where)


def watts(text: str, *, where: str) -> float:
    """Watts of '265 W' or '1.2 kW'. Raises UsageError."""
    return _value(text, "W", where)


def _value(text: str, unit: str, where: str) -> float:
    found = quantity(text)
    if found is None or found[1] != unit or found[0] < 0:
        what, remedy = _WANTED[unit]
        raise UsageError(f"{text!r} is not {what}", where=where, remedy=remedy)
    return float(found[0])


def both_units(size_bytes: float) -> str:
    """'43.7 TiB (48.0 TB)': always both, so that nobody takes the one for the other."""
    return f"{in_tib(size_bytes)} ({in_tb(size_bytes)})"


def in_tib(size_bytes: float) -> str:
    return f"{_short(size_bytes / TIB)} TiB"


def in_tb(size_bytes: float) -> str:
    return f"{_short(size_bytes / TB)} TB"


def money(amount: float, currency: str) -> str:
    """'3,282 USD', '121.6 USD', '0.0034 USD': at least three digits that count."""
    return f"{amount_text(amount)} {currency}".strip()


def amount_text(amount: float) -> str:
    """Without its currency."""
    size = abs(amount)
    if size >= 1000:
        return f"{amount:,.0f}"
    if size >= 10 or size == 0:
        return f"{amount:.1f}"
    return f"{amount:.2f}" if size >= 1 else f"{amount:.3g}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 1 else f"{value:.3g}"
