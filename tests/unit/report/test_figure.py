# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.report.export.grid import axes_of, lay_out
from ioatlas.report.export.quantities import QUANTITIES, quantity
from ioatlas.report.export.to_figure import write_figures
from ioatlas.report.table import entries

from .exported import SHAPES, SQUARE, campaign

SIGNATURES = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.parametrize("kind", SIGNATURES)
@pytest.mark.parametrize("style", ["map", "lines"])
def test_each_format_and_style_is_written(kind, style, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    result = campaign(SQUARE)
    paths = write_figures(
        result, lay_out(result, tiles=["numjobs"]), quantity("bw"), tmp_path / f"out.{kind}", kind, style=style
    )
    assert len(paths) == (1 if kind == "pdf" else 2)  # a page for reads and one for writes
    for path in paths:
        assert path.read_bytes().startswith(SIGNATURES[kind])


@pytest.mark.parametrize("shape", SHAPES)
def test_any_sweep_is_drawn(shape: str, tmp_path: Path) -> None:
    result = campaign(SHAPES[shape], name="cost $5 and $6 \\frac{x")
    for style in ("map", "lines"):
        assert write_figures(
            result, lay_out(result), quantity("lat_p99"), tmp_path / f"{style}.svg", "svg", style=style, log=True
        )  # type: ignore[arg-type]


def test_equal_results_give_equal_files(tmp_path: Path) -> None:
    for kind in SIGNATURES:
        files = [
            write_figures(campaign({}), lay_out(campaign({})), quantity("bw"), tmp_path / f"{n}.{kind}", kind)[0]
            for n in "ab"
        ]  # type: ignore[arg-type]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_svg_names_cells_that_are_not_measured_or_not_steady(tmp_path: Path) -> None:
    result = campaign(SQUARE)
    text = write_figures(result, lay_out(result), quantity("bw"), tmp_path / "map.svg", "svg")[0].read_text()
    for word in (
        "no value",
        "predicted",
        "no steady state",
        "suspect: see its verdict",
        "Block size (bs)",
        "numjobs 16",
        "64 KiB",
    ):
        assert word in text


def test_without_matplotlib_there_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(IoAtlasError, match="figures") as caught:
        write_figures(campaign({}), lay_out(campaign({})), quantity("bw"), tmp_path / "a.png", "png")
    assert "gnuplot" in caught.value.remedy


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


def test_the_axis_name_stands_clear_of_ticks_and_legend() -> None:
    from ioatlas.report.export.drawing import Drawing
    from ioatlas.report.export.to_figure import _map_figure

    result = campaign(SQUARE)
    layout = lay_out(result)
    figure = _map_figure(layout.pages[0], Drawing.of(layout, quantity("bw"), log=False), "title")
    figure.draw_without_rendering()
    box = figure._supxlabel.get_window_extent()  # type: ignore[attr-defined]
    line = (box.y0 + box.height / 2, box.y1)  # the upper of two lines; the lower one is empty
    assert figure.legends[0].get_window_extent().y1 <= line[0] + 2
    assert all(
        label.get_window_extent().y0 >= line[1] - 2
        for panel in figure.axes[:-1]
        for label in panel.get_xticklabels()
        if label.get_text()
    )
