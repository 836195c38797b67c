# SPDX-License-Identifier: Apache-2.0
"""The script is run by the real gnuplot, and the picture's pixels are compared with the values."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ioatlas.report.export.drawing import NOT_BELIEVED, Drawing
from ioatlas.report.export.grid import lay_out
from ioatlas.report.export.quantities import quantity
from ioatlas.report.export.to_figure import MapPlan
from ioatlas.report.export.to_gnuplot import PALETTE, write_gnuplot

from .exported import EIGHT_BY_EIGHT, SHAPES, SQUARE, campaign

pytestmark = pytest.mark.skipif(shutil.which("gnuplot") is None, reason="needs gnuplot")
STOPS = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in PALETTE], dtype=float)


def draw(script: Path, *arguments: str, cwd: Path | None = None) -> None:
    """Run gnuplot; a warning is a failure."""
    run = subprocess.run(
        ["gnuplot", *arguments, str(script)], capture_output=True, text=True, timeout=300, check=False, cwd=cwd
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def colour_of(share: float) -> np.ndarray:
    """RGB of a place 0..1 on the colour bar, between the palette's stops."""
    place = np.linspace(0, 1, len(STOPS))
    return np.array([np.interp(share, place, STOPS[:, channel]) for channel in range(3)])


@pytest.mark.parametrize("axes", [SQUARE, EIGHT_BY_EIGHT], ids=["three axes", "8 x 8 tiles"])
def test_every_cell_has_the_colour_of_its_value_in_its_place(axes, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    from matplotlib.image import imread

    result = campaign(axes)
    layout, bw = lay_out(result), quantity("bw")
    script, _ = write_gnuplot(result, layout, bw, tmp_path / "map.gp")
    draw(script)
    drawing = Drawing.of(layout, bw)
    (page,) = layout.pages
    plan = MapPlan.of(page, drawing)
    image = imread(tmp_path / "map.png")[:, :, :3] * 255
    dots = 300 / 72
    checked = missing = 0
    for number, tile in enumerate(page.tiles):
        left, top = plan.corner("nas", *plan.arranged.place(number))
        for cell in plan.cells(tile):
            # Beside the text: near the upper left corner of the cell.
            x = left + (cell.place[0] + 0.5 - 0.3) * plan.cell[0]
            y = top + (len(layout.y.levels) - cell.place[1] - 0.5 - 0.3) * plan.cell[1]
            rgb = image[round(y * dots), round(x * dots)]
            if cell.mark is None or cell.mark in NOT_BELIEVED:
                missing += cell.mark is None
                assert rgb.min() > 250
            else:
                checked += 1
                assert np.abs(rgb - colour_of((cell.value or 0) / drawing.unit.factor / drawing.high)).max() < 12
    assert missing == len(result.unmeasured)
    assert checked > len(result.estimates) / 2


def test_the_studys_figure_is_8_by_8_tiles_of_file_size_by_block_size() -> None:
    layout = lay_out(campaign(EIGHT_BY_EIGHT))
    assert (layout.x.name, layout.y.name) == ("size", "bs")
    assert layout.columns is not None
    assert layout.rows is not None
    assert (layout.columns.name, layout.rows.name) == ("numjobs", "iodepth")
    assert len(layout.pages[0].tiles) == 64


@pytest.mark.parametrize("shape", SHAPES)
def test_any_sweep_draws_without_a_warning(shape: str, tmp_path: Path) -> None:
    result = campaign(
        SHAPES[shape], name='it\'s a "name" with_underscores,\nand $x `date` ^{y}', targets=("nas", "san's")
    )
    for name in ("bw", "lat_p99"):
        script, _ = write_gnuplot(
            result, lay_out(result), quantity(name), tmp_path / name / "map.gp", log=name.startswith("lat")
        )
        draw(script)
        assert list((tmp_path / name).glob("*.png"))


def test_other_formats_and_other_working_directories(tmp_path: Path) -> None:
    result = campaign(SQUARE)
    script, _ = write_gnuplot(result, lay_out(result, tiles=["numjobs"]), quantity("bw"), tmp_path / "figure.plt")
    draw(script, "-e", "format='pdf'", cwd=Path("/"))
    draw(Path("figure.plt"), "-e", "format='svg'", cwd=tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"figure-nas-read.pdf", "figure-nas-write.pdf", "figure-nas-read.svg", "figure-nas-write.svg"} <= names


def test_all_tiles_and_pages_share_one_range(tmp_path: Path) -> None:
    result = campaign(SQUARE)
    script, _ = write_gnuplot(result, lay_out(result, tiles=["numjobs"]), quantity("bw"), tmp_path / "map.gp")
    text = script.read_text()
    assert text.count("set cbrange") == 1
    assert text.count("plot data index") == 6
