# SPDX-License-Identifier: Apache-2.0
"""Price against value as a drawing: places, front and refusals."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from ioatlas.cli import ioatlas

SHEETS = Path(__file__).resolve().parents[3] / "examples" / "products"


def cost(tmp_path, name, *sheets):
    chosen = [option for sheet in sheets for option in ("--product", str(SHEETS / f"{sheet}.toml"))]
    return CliRunner().invoke(ioatlas, ["product", "cost", *chosen, "-o", str(tmp_path / name)])


@pytest.mark.long("product", "report")
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_products_are_drawn(tmp_path, suffix):
    done = cost(tmp_path, f"p.{suffix}", "netgear-rn51600", "synology-ds2015xs", "synology-fs6400")
    assert done.exit_code == 0, done.output
    assert (tmp_path / f"p.{suffix}").stat().st_size > 500


def test_products_stand_at_their_price_and_capacity(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("ioatlas.cli.cost.write_drawing", lambda drawing, out: drawn.append(drawing) or ())
    cost(tmp_path, "p.svg", "netgear-rn51600", "synology-ds2015xs", "synology-fs6400")
    (panel,) = drawn[0].panels
    places = {round(dot.x): dot.value for series in panel.series for dot in series.dots}
    assert set(places) == {3282, 4288, 70000}
    assert places[4288] == pytest.approx(43.66, abs=0.01)


def test_one_product_makes_no_drawing(tmp_path):
    done = cost(tmp_path, "p.png", "netgear-rn51600")
    assert getattr(done.exception, "exit_code", None) == 2
    assert "fewer than two products" in str(done.exception)
