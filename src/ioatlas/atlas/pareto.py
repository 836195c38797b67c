# SPDX-License-Identifier: Apache-2.0
"""Price against what is given, as a chart of points with intervals and the front that nothing beats. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ioatlas.model.units import format_count, format_rate
from ioatlas.product.quantity import amount_text

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 112, 16, 16, 44
LEAST_TICKS, MOST_TICKS = 3, 6
MIB = float(1 << 20)


@dataclass(frozen=True)
class Offered:
    """A product's price and what it gives, with the interval of what was measured; None without one."""

    label: str
    link: str
    price: float
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Point:
    """A point at its place in the picture. on_front: no cheaper one gives as much."""

    label: str
    link: str
    x: float
    y: float
    y_low: float
    y_high: float
    on_front: bool
    text: str


@dataclass(frozen=True)
class Tick:
    """A line of the grid and what it says."""

    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """The whole picture, in its own units. step: the front as points of a line."""

    title: str
    x_name: str
    y_name: str
    points: tuple[Point, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    step: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    bottom: int = HEIGHT - BOTTOM
    top: int = TOP
    right: int = WIDTH - RIGHT


def front(offers: Sequence[Offered]) -> frozenset[int]:
    """Places of those that no other beats in both price and value."""
    return frozenset(
        place
        for place, one in enumerate(offers)
        if not any(
            other.price <= one.price
            and other.value >= one.value
            and (other.price < one.price or other.value > one.value)
            for other in offers
        )
    )


def chart(title: str, offers: Sequence[Offered], currency: str, *, rate: bool) -> Chart | None:
    """None where fewer than two have both. rate: values are bytes a second, else I/Os a second."""
    known = [one for one in offers if one.price > 0 and one.value > 0]
    if len(known) < 2:
        return None
    best = front(known)
    lows = [one.low or one.value for one in known]
    highs = [one.high or one.value for one in known]
    across = _Scale([one.price for one in known])
    up = _Scale([*lows, *highs], MIB if rate else 1.0)
    told = format_rate if rate else format_count

    def x(value: float) -> float:
        return round(LEFT + across.share(value) * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - up.share(value) * (HEIGHT - TOP - BOTTOM), 1)

    points = tuple(
        Point(
            one.label,
            one.link,
            x(one.price),
            y(one.value),
            y(one.low or one.value),
            y(one.high or one.value),
            place in best,
            f"{one.label}: {amount_text(one.price)} {currency}, {told(one.value)}",
        )
        for place, one in enumerate(known)
    )
    line = sorted((one for one in points if one.on_front), key=lambda one: one.x)
    return Chart(
        title,
        f"price per TiB, {currency}",
        "bytes a second" if rate else "I/Os a second",
        points,
        tuple(Tick(x(value), amount_text(value)) for value in across.ticks()),
        tuple(Tick(y(value), f"{value / MIB:g} MiB/s" if rate else told(value)) for value in up.ticks()),
        " ".join(f"{one.x},{one.y}" for one in line),
    )


class _Scale:
    """Logarithmic, with room around."""

    def __init__(self, values: Sequence[float], unit: float = 1.0) -> None:
        """unit: ticks are round numbers of it."""
        self._unit = unit
        low, high = math.log10(min(values)), math.log10(max(values))
        room = max(0.1, (high - low) * 0.12)
        self._low, self._high = low - room, high + room

    def share(self, value: float) -> float:
        return (math.log10(value) - self._low) / (self._high - self._low)

    def ticks(self) -> list[float]:
        """Round numbers that lie inside: as fine as the range needs, and not too many."""
        for digits in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
            found = self._inside(digits)
            if len(found) >= LEAST_TICKS:
                break
        while len(found) > MOST_TICKS:
            found = found[::2]
        return found

    def _inside(self, digits: Sequence[float]) -> list[float]:
        low, high = self._low - math.log10(self._unit), self._high - math.log10(self._unit)
        return [
            digit * 10.0**power * self._unit
            for power in range(math.floor(low), math.ceil(high) + 1)
            for digit in digits
            if low <= math.log10(digit) + power <= high
        ]
