# SPDX-License-Identifier: Apache-2.0
"""How every figure is printed: its width in columns of a journal, type, colours, the foot with legend and conditions,
and its file. The drawing library is matplotlib, the extra `figures`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ioatlas.model.errors import IoAtlasError

if TYPE_CHECKING:
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

Kind = Literal["png", "svg", "pdf"]
WIDTHS_MM = {1: 85.0, 2: 175.0}
"""Of one column of a page, and of two."""
HIGHEST = 660.0
"""Points of a page's height that a figure may take."""
POINTS_PER_MM = 72 / 25.4
SMALL, TEXT, TITLE = 5.5, 6.5, 8.0
"""Points of type: notes and ticks, text, the figure's name."""
INK, MUTED, FAINT = "#14181d", "#59626d", "#b4bac1"
METADATA: dict[Kind, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""No date and no program version in the file: equal results give equal files."""
STYLE = Path(__file__).with_name("journal.mplstyle")
_ID = re.compile(r'(?:(?<=id=")|(?<=#))[a-z]+[0-9a-f]{10}\b')
_LINE = 1.3
"""Of a line's height, of its type."""


@contextmanager
def drawing_library() -> Iterator[None]:
    """The drawing library without a display and without figures kept alive, or one clear error."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise IoAtlasError(
            "figures need matplotlib, which is not installed",
            remedy="install the extra: pip install 'ioatlas[figures]'; or use --format html",
        ) from error
    with mpl.rc_context(fname=STYLE):
        yield


def figure_of(columns: int, height: float = 100.0) -> Figure:
    """An empty figure over this many columns of a page; height in points, which may be set later."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_of(columns) / 72, height / 72))


def width_of(columns: int) -> float:
    """Points."""
    return WIDTHS_MM[columns] * POINTS_PER_MM


def text_width(text: str, size: float = TEXT) -> float:
    """Points that a line of text takes at most, as far as can be told without its font."""
    return size * sum(0.36 if letter in " .,:;!il|()" else 0.93 if letter in "mwMW–≥≤" else 0.64 for letter in text)


def fold(text: str, width: float, size: float) -> list[str]:
    """The text in lines that are no wider than this, in points."""
    return textwrap.wrap(text, max(10, int(len(text) * width / max(text_width(text, size), width / 200))))


class Foot:
    """What stands below a figure: the legend, then notes and conditions. It is measured before it is drawn, so that
    nothing is cut off and nothing lies on anything else.
    """

    def __init__(self, columns: int, notes: Sequence[str], legend: Sequence[tuple[Any, str]] = ()) -> None:
        self.width = width_of(columns) - 8
        self.lines = [line for note in notes if note for line in fold(note, self.width, SMALL)]
        self._rows: list[list[tuple[Any, str]]] = []
        used = 0.0
        for handle, label in legend:
            wide = text_width(label, TEXT) + 26
            if not self._rows or used + wide > self.width:
                self._rows.append([])
                used = 0.0
            self._rows[-1].append((handle, label))
            used += wide

    @property
    def height(self) -> float:
        return self._legend_height + len(self.lines) * SMALL * _LINE + 4

    @property
    def _legend_height(self) -> float:
        return len(self._rows) * TEXT * 1.6 + (3 if self._rows else 0)

    def draw(self, figure: Figure) -> None:
        """At the bottom of the figure, whose size is set."""
        from matplotlib.legend import Legend

        wide, high = (72 * inches for inches in figure.get_size_inches())
        top = self.height
        tight: dict[str, Any] = {
            "handlelength": 1.8,
            "handletextpad": 0.5,
            "columnspacing": 1.2,
            "borderpad": 0.2,
            "borderaxespad": 0,
        }
        for row in self._rows:
            handles, labels = zip(*row, strict=True)
            place = (2 / wide, top / high)
            legend = Legend(figure, handles, labels, ncols=len(row), loc="upper left", bbox_to_anchor=place, **tight)
            legend.set_frame_on(False)
            figure.add_artist(legend)
            top -= TEXT * 1.6
        top = self.height - self._legend_height
        for line in self.lines:
            figure.text(4 / wide, top / high, line, fontsize=SMALL, color=MUTED, va="top")
            top -= SMALL * _LINE


def title_height(lines: Sequence[str]) -> float:
    return len(lines) * TITLE * _LINE + 4


def draw_title(figure: Figure, lines: Sequence[str]) -> None:
    wide, high = (72 * inches for inches in figure.get_size_inches())
    for number, line in enumerate(lines):
        below = 3 + number * TITLE * _LINE
        figure.text(4 / wide, 1 - below / high, line, fontsize=TITLE, fontweight="bold", va="top")


def colours() -> ListedColormap:
    """Viridis without its darkest: no grey in it, which stands for what is not believed, and in print without colour
    the order of the values stays.
    """
    import matplotlib as mpl
    from matplotlib.colors import ListedColormap

    return ListedColormap(mpl.colormaps["viridis"](np.linspace(0.06, 1.0, 256)))


def plain_logarithmic(axis: Any) -> None:
    """Plain numbers at 1, 2 and 5 of each decade: the library's own labels are formulas, which are not read here."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def save(pages: Iterable[tuple[str, Figure]], out: Path, kind: Kind) -> tuple[Path, ...]:
    """Every page with the word for its file. A PDF holds all of them; PNG and SVG get a file each, where there are
    several.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pdf":
        from matplotlib.backends.backend_pdf import PdfPages

        with PdfPages(out, metadata=METADATA["pdf"]) as book:
            for _, figure in pages:
                book.savefig(figure)
        return (out,)
    written = []
    for word, figure in pages:
        path = out.with_name(f"{out.stem}-{word}{out.suffix}") if word else out
        figure.savefig(path, format=kind, metadata=METADATA[kind])
        if kind == "svg":
            _number_ids(path)
        written.append(path)
    return tuple(written)


def _number_ids(path: Path) -> None:
    """Ids by their order: the library makes them of places to the last bit, which differs from one drawing to another
    of the same figure.
    """
    known: dict[str, str] = {}
    text = path.read_text(encoding="utf-8")
    path.write_text(
        _ID.sub(lambda found: known.setdefault(found[0], f"{found[0][0]}{len(known)}"), text), encoding="utf-8"
    )
