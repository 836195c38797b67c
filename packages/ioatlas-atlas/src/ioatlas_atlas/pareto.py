# SPDX-License-Identifier: Apache-2.0
"""Price against what is given, as a chart of points with intervals and the front that nothing beats. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ioatlas.answer.product.quantity import amount_text
from ioatlas.model.units import format_count
from ioatlas_atlas.records import Result
from ioatlas_atlas.views import SMALL_BYTES, day, rate_text

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 84, 16, 20, 44
LETTER = 7.4
"""Width of one, at most on average."""
LEAST_TICKS, MOST_TICKS = 3, 6
MIB = float(1 << 20)


@dataclass(frozen=True)
class Offered:
    """A product's price and I/Os a second, with the interval of what was measured; None without one.

    confirmed: as in `best`. Only such a value is on the front.
    """

    label: str
    link: str
    price: float
    value: float
    low: float | None = None
    high: float | None = None
    confirmed: bool = False


@dataclass(frozen=True)
class Point:
    """A product of the front, or the one that the chart is for, at its place. label_x, label_y: of its name; label_x 0:
    there is no room for it.
    """

    label: str
    link: str
    x: float
    y: float
    y_low: float
    y_high: float
    on_front: bool
    own: bool
    confirmed: bool
    text: str
    label_x: float = 0.0
    label_y: float = 0.0
    anchor: str = "end"


@dataclass(frozen=True)
class Tick:
    """A line of the grid and what it says."""

    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """The whole picture, WIDTH by HEIGHT. step: the front as points of a line. rest: all others, as paths of dots;
    rest_confirmed: those of them that are confirmed. offers: all products in it. place: where one of them is.
    """

    title: str
    x_name: str
    y_name: str
    points: tuple[Point, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    step: str
    rest: str = ""
    rest_confirmed: str = ""
    offers: Sequence[Offered] = ()
    place: Callable[[Offered], Point] | None = None

    def of(self, link: str) -> Chart:
        """The same for one product."""
        points = [self.place(one) for one in self.offers if self.place and one.link == link]
        named = [*(one for one in self.points if one.link != link), *(replace(one, own=True) for one in points)]
        return replace(self, points=_labelled(named)) if points else self


def front(offers: Sequence[Offered]) -> frozenset[int]:
    """Places of confirmed ones that no other of them beats: none is as cheap and fast, and better in one of both."""
    found: list[int] = []
    confirmed = [place for place, one in enumerate(offers) if one.confirmed]
    for place in sorted(confirmed, key=lambda at: (offers[at].price, -offers[at].value)):
        one, last = offers[place], offers[found[-1]] if found else None
        if last is None or one.value > last.value or (one.value, one.price) == (last.value, last.price):
            found.append(place)
    return frozenset(found)


def chart(title: str, offers: Sequence[Offered], currency: str, bs_bytes: int) -> Chart | None:
    """None where fewer than two have both. bs_bytes: large blocks are told in bytes a second."""
    known = [one for one in offers if one.price > 0 and one.value > 0]
    if len(known) < 2:
        return None
    best = front(known)
    rate = bs_bytes > SMALL_BYTES
    across = _Scale([one.price for one in known])
    lowest = [known[at].low or known[at].value for at in best]
    up = _Scale([*(one.value for one in known), *lowest], MIB / bs_bytes if rate else 1.0)

    def x(value: float) -> float:
        return round(LEFT + across.share(value) * (WIDTH - LEFT - RIGHT), 1)

    def place(one: Offered) -> Point:
        middle, low, high = (up.at(value) for value in (one.value, one.low or one.value, one.high or one.value))
        text = f"{one.label}: {amount_text(one.price)} {currency} per TiB, {rate_text(one.value, bs_bytes)}"
        return Point(one.label, one.link, x(one.price), middle, low, high, one in first, False, one.confirmed, text)

    first = {known[at] for at in best}
    rest = [one for at, one in enumerate(known) if at not in best]
    lone, sure = (
        "".join(f"M{px} {py}h0" for px, py in sorted({(round(x(one.price)), round(up.at(one.value))) for one in some}))
        for some in ([one for one in rest if not one.confirmed], [one for one in rest if one.confirmed])
    )
    line = sorted((place(known[at]) for at in best), key=lambda one: (one.x, -one.y))
    steps = [f"{line[0].x},{HEIGHT - BOTTOM}", f"{line[0].x},{line[0].y}"] if line else []
    for before, after in pairwise(line):
        steps += [f"{after.x},{before.y}", f"{after.x},{after.y}"]
    return Chart(
        title,
        f"price per TiB, {currency}",
        "MiB/s" if rate else "IOPS",
        _labelled(line),
        tuple(Tick(x(value), f"{value:,g}") for value in across.ticks()),
        tuple(Tick(up.at(one), f"{one * bs_bytes / MIB:g}" if rate else format_count(one)) for one in up.ticks()),
        " ".join([*steps, *(f"{WIDTH - RIGHT},{one.y}" for one in line[-1:])]),
        lone,
        sure,
        known,
        place,
    )


def history(results: Iterable[Result], currency: str) -> Chart | None:
    """A product's price when each of its results was measured. None where it is told but once, or did not change."""
    priced = [one for one in results if one.price_per_tib is not None and one.currency == currency]
    told = sorted((one.measured_at, one.price_per_tib or 0.0, f"/r/{one.id}") for one in priced)
    if len({price for _, price, _ in told}) < 2:
        return None
    first, last, up = told[0][0], told[-1][0], _Scale([price for _, price, _ in told])
    left, width = LEFT + 30, WIDTH - LEFT - RIGHT - 60  # a date stands below each end
    points = []
    for when, price, link in told:
        x, y = round(left + (when - first) / max(last - first, 1.0) * width, 1), up.at(price)
        name = f"{amount_text(price)} {currency}"
        points.append(Point(name, link, x, y, y, y, False, False, True, f"{day(when)}: {name} per TiB"))
    line = " ".join(f"{one.x},{one.y}" for one in points)
    days = tuple(Tick(x, day(when)) for x, when in ((left, first), (left + width, last)))
    prices = tuple(Tick(up.at(each), f"{each:,g}") for each in up.ticks())
    return Chart("Price so far", "", f"{currency} per TiB", _labelled(points), days, prices, line)


def _labelled(points: Sequence[Point]) -> tuple[Point, ...]:
    """Each name beside its point where it hides no other name and no other point; without a name elsewhere."""
    taken = [(one.x - 6, one.y - 6, one.x + 6, one.y + 6) for one in points]
    made = []
    for one in sorted(points, key=lambda one: (not one.own, one.x)):
        wide = LETTER * len(one.label)
        for right, down in ((False, False), (True, True), (True, False), (False, True)):
            left, top = (one.x + 8 if right else one.x - 8 - wide), (one.y + 4 if down else one.y - 20)
            box = (left, top, left + wide, top + 16)
            inside = box[0] >= LEFT and box[2] <= WIDTH - RIGHT and box[1] >= 0 and box[3] <= HEIGHT - BOTTOM
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                at, anchor = (one.x + 8, "start") if right else (one.x - 8, "end")
                made.append(replace(one, label_x=at, label_y=top + 13, anchor=anchor))
                break
        else:
            made.append(replace(one, label_x=0.0))
    return tuple(made)


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


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

    def at(self, value: float) -> float:
        """Its place from the top; none is below the axis."""
        return round(HEIGHT - BOTTOM - max(0.0, self.share(value)) * (HEIGHT - TOP - BOTTOM), 1)

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
