# SPDX-License-Identifier: Apache-2.0
"""Figures: what is drawn of a result, and imported sets of many kinds as one list with a cell each."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.text import Text

from ioatlas.model import panel
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.estimate import Estimate
from ioatlas.model.quantities import QUANTITIES, quantity
from ioatlas.model.result import CampaignResult
from ioatlas.model.target import Target
from ioatlas.report.export import printing
from ioatlas.report.export.drawing import Drawing
from ioatlas.report.export.grid import axes_of, lay_out
from ioatlas.report.export.texts import conditions
from ioatlas.report.export.to_figure import MapPlan, write_figures
from ioatlas.report.export.to_panels import panel_figure, write_drawing
from ioatlas.report.table import entries

from .exported import EIGHT_BY_EIGHT, SHAPES, SQUARE, campaign

SIGNATURES = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


LATER = pytest.mark.long("report")


@pytest.mark.long("report")
@pytest.mark.parametrize(
    ("style", "kind"),
    [
        *(("map", "pdf"), ("map", "png"), ("lines", "svg")),
        *(pytest.param(*other, marks=LATER) for other in (("map", "svg"), ("lines", "png"), ("lines", "pdf"))),
    ],
)
def test_each_format_and_style_is_written(kind, style, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    result = campaign(SQUARE)
    paths = write_figures(result, tmp_path / f"out.{kind}", kind, tiles="numjobs", style=style)
    assert len(paths) == (1 if (kind, style) == ("pdf", "map") else 2)  # a page for reads and one for writes
    for path in paths:
        data = path.read_bytes()
        assert data.startswith(SIGNATURES[kind])
        assert kind != "pdf" or (b"/FontFile2" in data and b"/Type3" not in data), "its fonts are TrueType"
        assert kind != "png" or int.from_bytes(data[16:20], "big") == pytest.approx(175 / 25.4 * 300, abs=1), "300 dpi"


@pytest.mark.long("report")
@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=LATER) if shape in ("square", "mixed") else shape for shape in SHAPES]
)
def test_any_sweep_is_drawn(shape: str, tmp_path: Path) -> None:
    result = campaign(SHAPES[shape], name="cost $5 and $6 \\frac{x")
    for style in ("map", "lines"):
        assert write_figures(result, tmp_path / f"{style}.svg", "svg", quantity="lat_p99", style=style, scale="log")


def test_equal_results_give_equal_files(tmp_path: Path) -> None:
    for kind in SIGNATURES:
        files = [write_figures(campaign({}), tmp_path / f"{n}.{kind}", kind)[0] for n in "ab"]  # type: ignore[arg-type]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_svg_has_values_marks_and_conditions_and_is_called_by_its_target(tmp_path: Path) -> None:
    result = campaign(SQUARE)
    text = write_figures(result, tmp_path / "map.svg", "svg")[0].read_text()
    words = re.findall(r">([^<>]+)<", text)
    assert {"nas: throughput", "numjobs 16", "64 KiB", "no value", "~ estimated", "! not steady", "4.0~"} <= set(words)
    assert "a campaign" not in text
    told = " ".join(words)
    for condition in ("blocks of 4 KiB", "files of 64 KiB", "1, 4, 16 jobs", "direct", "2 runs of 0.5 s", "±15%"):
        assert condition in told
    assert not any(colour in text for colour in ("#e00000", "#ff0000"))


@pytest.mark.long("report")
@pytest.mark.parametrize(
    ("shape", "columns"),
    [
        *((shape, 2) for shape in SHAPES),
        ("five axes", 1),
        *(pytest.param(shape, 1, marks=LATER) for shape in SHAPES if shape != "five axes"),
        pytest.param("8 x 8 tiles", 2, marks=LATER),
    ],
)
def test_a_map_is_as_wide_as_its_columns_and_nothing_is_cut_off(shape: str, columns: int) -> None:
    result = campaign({**SHAPES, "8 x 8 tiles": EIGHT_BY_EIGHT}[shape])
    layout = lay_out(result)
    drawing = Drawing.of(layout, quantity("bw"))
    for page in layout.pages:
        with printing.drawing_library():
            figure = MapPlan.of(page, drawing, columns).draw("nas", conditions(result))
            figure.draw_without_rendering()
            wide, high = figure.get_size_inches() * figure.dpi
            assert wide / figure.dpi * 25.4 == pytest.approx({1: 85, 2: 175}[columns])
            assert high / figure.dpi <= 10
            *panels, bar = figure.axes
            for text in {*figure.findobj(Text)} - {*bar.findobj(Text)}:
                box = text.get_window_extent()
                if text.get_text():
                    assert min(box.x0, box.y0) >= -1, text
                    assert max(box.x1 - wide, box.y1 - high) <= 1, text
            for panel in panels:  # a value lies inside of its cell
                side = panel.get_window_extent().width / len(layout.x.levels)
                assert all(text.get_window_extent().width <= side for text in panel.texts if text.get_rotation() == 0)


def test_an_interval_far_out_ends_in_an_arrow_with_its_end(tmp_path: Path) -> None:
    dots = (panel.Dot(0.0, 1e8, 9e7, 1.1e8), panel.Dot(1.0, 1e8, 1e7, 9e8))
    one = panel.Panel("", (panel.Series("disk", dots),), ((0.0, "a"), (1.0, "b")))
    drawn = panel.Drawing("disk", "lines", "jobs", "throughput", "B/s", (one,))
    text = write_drawing(drawn, tmp_path / "a.svg")[0].read_text()
    assert "to 858" in text
    (top,) = {float(found) for found in re.findall(r">(\d+)</text>", text) if float(found) > 100} - {858.0} or {0.0}
    assert top < 300


def test_without_matplotlib_there_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(IoAtlasError, match="figures") as caught:
        write_figures(campaign({}), tmp_path / "a.png", "png")
    assert "html" in caught.value.remedy


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({"x": "colour"}, "no axis 'colour'"),
        ({"x": "bs", "y": "bs"}, "twice"),
        ({"tiles": ["rw", "numjobs", "size"]}, "3 axes"),
    ],
)
def test_a_wrong_axis_is_refused_by_name(asked, word: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=word):
        lay_out(campaign(SQUARE), **asked)


def test_asked_sides_are_kept_and_every_entry_has_one_place() -> None:
    result = campaign(SQUARE)
    for x, y, tiles in (("numjobs", "size", ["bs"]), ("rw", "bs", []), ("", "", ["size", "rw"]), ("bs", "", [])):
        layout = lay_out(result, x=x, y=y, tiles=tiles)
        assert not x or layout.x.name == x
        assert not y or layout.y.name == y
        placed = [entry for page in layout.pages for tile in page.tiles for entry in tile.cells.values()]
        assert len(placed) == len(entries(result))
        assert len({(entry.cell.key, entry.direction) for entry in placed}) == len(placed)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_two_cells_share_a_place(shape: str) -> None:
    """Also where an option that no axis declares tells them apart."""
    from dataclasses import replace

    for result in (campaign(SHAPES[shape]), replace(campaign(SHAPES[shape]), axes={})):
        found = entries(result)
        placed = [e for page in lay_out(result).pages for tile in page.tiles for e in tile.cells.values()]
        assert len(placed) == len(found)
        assert axes_of(result, found)


def test_quantities_choose_a_unit_that_fits() -> None:
    assert quantity("bw").unit([3e9, 1.0]).name == "MiB/s"
    assert quantity("bw").unit([3e10]).name == "GiB/s"
    assert quantity("lat_p99").unit([3e5]).name == "µs"
    assert quantity("bw").unit([]).name == "B/s"
    assert quantity("bw_bytes_per_s") is QUANTITIES["bw"]
    with pytest.raises(UsageError, match="no quantity"):
        quantity("colour")


def test_each_jobs_share_divides_value_and_bounds() -> None:
    estimate = next(e for e in campaign(SQUARE).estimates if e.cell.numjobs == 4)
    whole, share = quantity("bw"), quantity("bw_per_job")
    assert share.value(estimate) == (whole.value(estimate) or 0) / 4
    assert share.bounds(estimate) == tuple((bound or 0) / 4 for bound in whole.bounds(estimate))


def test_what_all_panels_say_stands_once() -> None:
    dots = (panel.Dot(1.0, 2e6), panel.Dot(2.0, 3e6))
    note = "Of one visit each."
    panels = [
        panel.Panel(
            title, (panel.Series("fio", dots),), x_name="File size", y_name="Throughput", y_unit="B/s", note=note
        )
        for title in ("Read", "Write")
    ]

    def texts(*drawn: panel.Panel) -> list[str]:
        drawing = panel.Drawing("", "lines", "", "", "", drawn, "linear", alike=False)
        with printing.drawing_library():
            return [one.get_text().replace("\n", " ") for one in panel_figure(drawing).findobj(Text)]

    alike = texts(*panels)
    assert [sum(word in text for text in alike) for word in (note, "Throughput")] == [1, 1]
    other = replace(panels[1], note="Of two.", y_name="Latency", y_unit="ns")
    apart = texts(panels[0], other)
    assert [sum(word in text for text in apart) for word in (note, "Of two.", "Throughput", "Latency")] == [1, 1, 1, 1]


AXES = ("bs", "size", "numjobs", "iodepth")
NAMES = [f"tool {n}" for n in range(8)]


def result(kind, names=NAMES, sizes=1):
    estimates = []
    for number, name in enumerate(names):
        for k in range(sizes):
            rw = ("read", "write")[k % 2]
            options = {"rw": rw, "bs": 4096 << (number + k) % 5, "numjobs": 1 + (number + 2 * k) % 3}
            options |= {"size": (1 << 30) << (number * k) % 3, "iodepth": 1 + (3 * number + k // 2) % 4}
            estimates.append(Estimate(Cell.of(name, options), rw, kind, 1, 1e6 * (number + 1)))
    axes = {axis: tuple(dict.fromkeys(e.cell.option[axis] for e in estimates)) for axis in AXES}
    targets = tuple(Target(name, "imported", name) for name in names)
    return CampaignResult("id", "old", 0.0, "0", targets, axes=axes, constants={}, estimates=tuple(estimates))


def cells(layout):
    return [entry.estimate for page in layout.pages for tile in page.tiles for entry in tile.cells.values()]


def test_many_imported_sets_stand_in_one_list():
    layout = lay_out(result("imported", sizes=2))
    assert len(layout.pages) == 1
    assert len(layout.pages[0].tiles) == 1
    assert sorted(e.bw_bytes_per_s for e in cells(layout)) == sorted([1e6 * n for n in range(1, 9)] * 2)
    assert len(layout.y.levels) == 16
    assert any("tool 3" in str(level) and "iodepth" in str(level) for level in layout.y.levels)


@pytest.mark.parametrize(
    ("found", "tiles"),
    [
        (result("measured", sizes=2), ()),
        (result("imported", NAMES[:3], sizes=2), ()),
        (result("imported", sizes=9), ()),
    ],
)
def test_what_fills_its_pages_keeps_them(found, tiles):
    layout = lay_out(found, tiles=tiles)
    assert layout.y.name != "load"
    assert len(cells(layout)) == len(found.estimates)
