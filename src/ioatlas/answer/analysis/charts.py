# SPDX-License-Identifier: Apache-2.0
"""Values over a size or another number as a panel: of fixed work, of small files, of factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev

from ioatlas.model.panel import Dot, Line, Panel, Series
from ioatlas.model.units import format_size, rate_units

FAR = 1.6
"""A limit this much above the values is not drawn where it would press them flat against the axis below."""
WIDE = 40
"""Values further apart than this stand on a logarithmic scale."""


def chart(
    title: str,
    x_name: str,
    y_name: str,
    y_unit: str,
    series: Sequence[Series],
    *,
    sizes: bool = False,
    limits: Iterable[Line] = (),
    marks: Iterable[Line] = (),
    note: str = "",
) -> Panel:
    """A tick at each x, at its logarithm unless one is zero. sizes: whether they are bytes. marks: those between the
    first and the last are drawn.
    """
    dots = [dot for one in series for dot in one.dots]
    xs = sorted({dot.x for dot in dots})
    top = max(dot.value if dot.high is None else dot.high for dot in dots)
    bounds = tuple(limits)
    least = min([*(dot.value for dot in dots), *(one.value for one in bounds)])
    wide = 0 < WIDE * least < top
    unit, factor = rate_units()[2] if y_unit == "B/s" else ("", 1.0)
    far = [one for one in bounds if one.value > FAR * top and not wide]
    beyond = "; ".join(f"{one.name} {one.value / factor:,.4g} {unit}".rstrip() for one in far)
    return Panel(
        title,
        tuple(series),
        tuple((x, format_size(int(x)) if sizes else f"{x:g}") for x in xs),
        bounds,
        marks=tuple(one for one in marks if xs[0] <= one.value <= xs[-1]),
        x_name=x_name,
        y_name=y_name,
        y_unit=y_unit,
        x_scale="log" if xs[0] > 0 and len(xs) > 1 else "linear",
        y_scale="log" if wide else "linear",
        note=" ".join(filter(None, [note, f"Beyond: {beyond}." if beyond else ""])),
    )


def mean_dots(points: Mapping[float, Sequence[float]]) -> tuple[Dot, ...]:
    """The mean of the visits at each x, and bars of their standard deviation where there are several."""
    return tuple(_mean(x, values) for x, values in sorted(points.items()))


def _mean(x: float, values: Sequence[float]) -> Dot:
    mean, sd = fmean(values), stdev(values) if len(values) > 1 else None
    return Dot(x, mean, None if sd is None else mean - sd, None if sd is None else mean + sd, len(values))
