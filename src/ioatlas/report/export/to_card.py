# SPDX-License-Identifier: Apache-2.0
"""The answer as a picture of 1200 x 630, the size in which links are previewed: trust, four numbers, the map."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas.answer.analysis.summary import summarise
from ioatlas.model.finding import FindingCode
from ioatlas.model.result import CampaignResult
from ioatlas.model.summary import Headline, SmallIo, Summary, Trust
from ioatlas.model.units import format_count, format_latency
from ioatlas.report.export import printing
from ioatlas.report.export.printing import FAINT, INK, MUTED
from ioatlas.report.export.texts import conditions
from ioatlas.report.export.to_figure import BRIGHT
from ioatlas.report.findings import Worded, told_doubts, worded
from ioatlas.report.numbers import held_for, parts_of, title_of
from ioatlas.report.redact import redactor
from ioatlas.report.small_map import COLOURS, LEGEND, MISSING, SmallMap, Value, small_map, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE, HIGH, EDGE = 1200, 630, 44
DOTS = 100
"""Of an inch; a letter of 72 / DOTS points is one pixel high."""
BADGES = {Trust.GOOD: ("#e1f3ec", "#0f7a58"), Trust.FAIR: ("#fbf0d9", "#8a5a00"), Trust.LOW: ("#b3261e", "white")}
TILES, ACROSS, UPWARDS = 4, 8, 8
"""Kinds of load, and values of each axis, that are drawn: more is too small to be read."""
LEAST = 8
"""Pixels of type from which numbers stand in cells."""
SMALLEST = 0.65
"""Of its size, to which a line that does not fit is made smaller before it is cut."""


def write_card(result: CampaignResult, path: Path) -> None:
    """A PNG. Nothing on it names the site. Raises IoAtlasError when matplotlib is not installed."""
    summary, clean = summarise(result), redactor(result.targets)
    with printing.drawing_library():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDE / DOTS, HIGH / DOTS), dpi=DOTS)
        FigureCanvasAgg(figure)  # without one each line that is measured draws everything anew
        sheet = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDE), ylim=(HIGH, 0))
        sheet.set_axis_off()
        pen = _Pen(sheet)
        name, _, facts = clean(title_of(summary)).partition(" · ")
        pen.heading(name, summary, clean(told_doubts(summary.doubts)[0].sentence) if summary.doubts else "")
        pen.write(EDGE, 117, facts, 20, colour=MUTED)
        pen.line(148, INK, 2)
        fits = [one for one in worded(result) if one.code is FindingCode.FIT]
        numbers = [*map(_of_fit, fits), *map(_of_headline, summary.headlines), *map(_of_small, summary.small)]
        wide = (WIDE - 2 * EDGE) / 4
        for place, (label, value, note) in enumerate(numbers[:4]):
            left = EDGE + place * wide
            pen.write(left, 178, clean(label), 19, colour=MUTED, room=wide - 20)
            number, _, unit = value.rpartition(" ")
            end = pen.write(left, 222, number or unit, 42, bold=True, room=wide - 90)
            pen.write(end + 9, 222, unit if number else "", 22, room=wide - 20 - (end + 9 - left))
            pen.write(left, 257, clean(note), 16, colour=MUTED, room=wide - 20)
        pen.line(276, FAINT, 1)
        found = small_map(result)
        if found is not None:
            pen.map(found)
        pen.write(EDGE, 607, "I/O Atlas", 17, bold=True)
        pen.write(EDGE + 100, 607, conditions(result), 14, colour=MUTED, room=WIDE - 2 * EDGE - 100)
        figure.savefig(path, format="png", dpi=DOTS, metadata=printing.METADATA["png"])


def _of_fit(one: Worded) -> tuple[str, str, str]:
    answer, _, why = one.sentence.partition(": ")
    return (one.title, answer, why) if answer.isupper() else (one.title, "", one.sentence)


def _of_headline(one: Headline) -> tuple[str, str, str]:
    value, sure = parts_of(one)
    return one.label, value, " · ".join(filter(None, [sure, one.where]))


def _of_small(io: SmallIo) -> tuple[str, str, str]:
    value = f"{'~' if io.best.estimated else ''}{format_count(io.best.iops)} IOPS"
    times = [(io.lightest.lat_mean_ns, ""), (io.lightest.lat_p99_ns, "p99 ")]
    told = ", ".join(f"{word}{format_latency(time)}" for time, word in times if time)
    told = f"{io.lightest.in_flight} in flight: {told}" if told else ""
    return io.label, value, " · ".join(filter(None, [held_for(io.best).strip(), told]))


@dataclass(frozen=True)
class _Pen:
    """Draws in pixels from the upper left corner."""

    sheet: Axes

    def write(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        *,
        colour: str = INK,
        room: float = WIDE - 2 * EDGE,
        **how: Any,
    ) -> float:
        """A line that is made smaller, and at last cut, until it fits; where it ends."""
        bold = how.pop("bold", False)
        drawn = self.sheet.text(
            x, y, text, fontsize=size * 72 / DOTS, color=colour, va="baseline", weight="bold" if bold else None, **how
        )
        wide = drawn.get_window_extent().width
        if wide > room:
            drawn.set_fontsize(max(SMALLEST, 0.98 * room / wide) * size * 72 / DOTS)
            while (wide := drawn.get_window_extent().width) > room and len(text) > 1:
                text = text[:-1]
                drawn.set_text(f"{text.rstrip()}…")
        return x + wide

    def line(self, y: float, colour: str, width: float) -> None:
        self.sheet.plot((EDGE, WIDE - EDGE), (y, y), color=colour, linewidth=width * 72 / DOTS)

    def box(self, x: float, y: float, wide: float, high: float, **how: Any) -> None:
        from matplotlib.patches import Rectangle

        self.sheet.add_patch(Rectangle((x, y), wide, high, **how))

    def heading(self, name: str, summary: Summary, doubt: str) -> None:
        end = self.write(EDGE, 82, name, 46, bold=True, room=560) + 24
        ground, ink = BADGES[summary.trust]
        self.box(end, 44, 150, 44, facecolor=ground)
        self.write(end + 75, 73, f"Trust {summary.trust_text}", 20, colour=ink, bold=True, ha="center")
        self.write(end + 170, 72, doubt, 17, colour=MUTED, room=WIDE - EDGE - end - 170)

    def map(self, found: SmallMap) -> None:
        loads, xs = found.loads[:TILES], thinned(found.x.levels, ACROSS)
        ys = thinned(list(reversed(found.y.levels)), UPWARDS)
        side = EDGE + 78
        tile = (WIDE - EDGE - side - 14 * (len(loads) - 1)) / max(len(loads), 2)
        wide, high = tile / len(xs), 232 / len(ys)
        longest = max((len(value.text + value.mark) for value in found.values.values()), default=1)
        size = min(17, 0.6 * high, (wide - 3) / (0.7 * longest))  # one for all, for a number that is cut is another
        self.write(EDGE, 302, found.unit, 16, colour=MUTED)
        for n, load in enumerate(loads):
            left = side + n * (tile + 14)
            self.write(left, 302, str(load), 17, bold=True, room=tile)
            for i, x in enumerate(xs):
                self.write(left + (i + 0.5) * wide, 563, found.across(x), 14, colour=MUTED, ha="center", room=wide)
                for j, y in enumerate(ys):
                    place = (left + i * wide, 312 + j * high, wide, high)
                    self.cell(*place, found.values.get((load, x, y)), size)
        for j, y in enumerate(ys):
            self.write(side - 10, 317 + (j + 0.5) * high, found.upwards(y), 14, colour=MUTED, ha="right", room=76)
        self.write(EDGE, 563, found.name_across, 14, colour=MUTED, room=70)
        told = [f"{mark} {LEGEND[mark]}" for mark in found.marks if mark != MISSING]
        told += [found.folded] if found.folded else []
        for levels, axis in ((xs, found.x), (ys, found.y)):
            told += [f"{len(levels)} of {len(axis.levels)} {axis.name} values"] * (len(levels) < len(axis.levels))
        told += [f"{len(loads)} of {len(found.loads)} kinds of load"] * (len(loads) < len(found.loads))
        self.write(EDGE, 584, "   ".join(told), 13, colour=MUTED)

    def cell(self, x: float, y: float, wide: float, high: float, value: Value | None, size: float) -> None:
        if value is None or value.text == MISSING:
            self.box(x + 1, y + 1, wide - 2, high - 2, facecolor="none", edgecolor=FAINT, linewidth=0.5)
            return
        inset = 0.06 * min(wide, high) if value.is_estimated else 1
        look: dict[str, Any] = {"facecolor": "#f1f2f3", "edgecolor": MUTED, "linestyle": "dashed", "linewidth": 0.7}
        if value.step is not None:
            look = {"facecolor": f"#{COLOURS[value.step]}"}
        self.box(x + inset, y + inset, wide - 2 * inset, high - 2 * inset, **look)
        ink = MUTED if value.step is None else "black" if (value.share or 0) > BRIGHT else "white"
        style = "italic" if value.is_estimated else "normal"
        if size >= LEAST:
            place = (x + wide / 2, y + high / 2 + 0.36 * size)
            self.write(*place, f"{value.text}{value.mark}", size, colour=ink, style=style, ha="center")
