# SPDX-License-Identifier: Apache-2.0
"""Every export of a result says what its CSV says, cell by cell: JSON, and what is drawn."""

import csv
import io
import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from ioatlas.measure.procedures.registry import load_result
from ioatlas.model.estimate import Limit
from ioatlas.model.quantities import quantity
from ioatlas.model.result import CampaignResult
from ioatlas.report.export import printing, to_figure
from ioatlas.report.export.drawing import NOT_BELIEVED, Drawing
from ioatlas.report.export.grid import lay_out
from ioatlas.report.export.to_figure import MapPlan
from ioatlas.report.export.to_json import write_json
from ioatlas.report.table import write_csv
from tests.unit.report.exported import SHAPES, campaign
from tests.unit.simulated import Shell

pytest.importorskip("matplotlib")
IOZONE = """\tIozone: Performance Test of File I/O
\t\tVersion $Revision: 3.489 $
\tOutput is in kBytes/sec
                                                              random    random      bkwd     record     stride
              kB  reclen    write  rewrite    read    reread    read     write      read    rewrite       read
            {size}     {record}   {figures}
"""


@pytest.fixture(scope="module")
def nine(tmp_path_factory) -> CampaignResult:
    """The nine operations of the published IOzone study, on a simulated target."""
    folder = tmp_path_factory.mktemp("nine")
    (folder / "target").mkdir()
    text = f'profile = "iozone2017"\nvisits = 2\n[target]\npath = "{folder / "target"}"\n'
    (folder / "s.toml").write_text(text + '[sweep]\nsize = ["1m", "4m"]\nbs = ["64k", "256k"]\n')
    done = Shell()("map", "--campaign", folder / "s.toml", "-o", folder / "done", "--yes")
    assert done.returncode == 0, done.stderr
    return load_result(folder / "done")


@pytest.fixture(scope="module")
def repeats(tmp_path_factory) -> CampaignResult:
    """Five runs of IOzone, imported under one label."""
    folder = tmp_path_factory.mktemp("repeats")
    for number, speed in enumerate((500, 100, 400, 300, 200)):
        figures = "   ".join(str(speed * 1000 + operation) for operation in range(9))
        (folder / f"run{number}.txt").write_text(IOZONE.format(size=1024, record=64, figures=figures))
    done = Shell()("import", *sorted(folder.glob("*.txt")), "-o", folder / "kept", "--label", "disk")
    assert done.returncode == 0, done.stderr
    return load_result(folder / "kept")


@pytest.fixture(params=["nine", "repeats", *SHAPES])
def result(request) -> CampaignResult:
    if request.param in SHAPES:
        return campaign(SHAPES[request.param], targets=("nas", "das"))
    return request.getfixturevalue(request.param)


def table(result: CampaignResult) -> list[dict[str, str]]:
    text = io.StringIO()
    write_csv(result, text)
    return list(csv.DictReader(io.StringIO(text.getvalue())))


def values(result: CampaignResult) -> Counter[str]:
    """The throughputs of the CSV: each as often as it stands there."""
    return Counter(f"{float(row['bw_bytes_per_s']):.6g}" for row in table(result) if row["bw_bytes_per_s"])


@pytest.mark.long("report", "results")
def test_json_has_the_rows_of_the_csv(result):
    text = io.StringIO()
    write_json(result, text)
    rows = json.loads(text.getvalue())["rows"]
    found = Counter(f"{row['bw_bytes_per_s']:.6g}" for row in rows if row["bw_bytes_per_s"] is not None)
    assert found == values(result)


@pytest.mark.parametrize("log", [False, pytest.param(True, marks=pytest.mark.long("report"))])
def test_maps_show_every_value_of_the_csv(result, log):
    """Believed ones with a colour."""
    drawing = Drawing.of(lay_out(result), quantity("bw"), log=log)
    found: Counter[str] = Counter()
    for page in drawing.layout.pages:
        plan = MapPlan.of(page, drawing)
        cells = [cell for tile in page.tiles for cell in plan.cells(tile)]
        found.update(f"{cell.value:.6g}" for cell in cells if cell.value is not None)
        with printing.drawing_library():
            figure = plan.draw("", "")
        drawn = Counter(
            f"{value * drawing.unit.factor:.6g}"
            for panel in figure.axes
            for collection in panel.collections
            if len(collection.get_paths()) and collection.get_array() is not None and panel.get_xlim()[0] == -0.5
            for value in collection.get_array()
        )
        assert drawn == Counter(
            f"{cell.value:.6g}" for cell in cells if cell.value is not None and cell.mark not in NOT_BELIEVED
        )
    assert found == values(result)


def test_lines_show_every_value_of_the_csv_and_name_each_line(result):
    layout = lay_out(result)
    drawing = Drawing.of(layout, quantity("bw"), log=True)
    found: Counter[str] = Counter()
    for page in layout.pages:
        series = [one for panel in drawing.lines(page, "").panels for one in panel.series]
        found.update(f"{dot.value:.6g}" for one in series for dot in one.dots)
        shown = {
            y for tile in page.tiles for (_, y), entry in tile.cells.items() if drawing.quantity.shown(entry.estimate)
        }
        named = list(dict.fromkeys(one.name for one in series))
        assert named == [layout.y.title(y) for y in layout.y.levels if y in shown]
    assert found == values(result)


def test_lists_of_sentences_are_joined_in_the_csv(nine):
    limit = Limit(evidence=("one", "two"))
    told = replace(nine, estimates=tuple(replace(e, limit=limit) for e in nine.estimates))
    evidence = [row["limit_evidence"] for row in table(told) if row["limit_evidence"]]
    assert evidence
    assert not any(text.startswith("(") for text in evidence)


def test_operations_of_a_sequence_are_not_one_load(nine):
    layout = lay_out(nine)
    assert layout.columns is not None
    assert layout.columns.name == "rw"
    assert set(layout.columns.levels) == {row["operation"] for row in table(nine)}
    assert len(layout.columns.levels) == 9
    for tile in layout.pages[0].tiles:
        for entry in tile.cells.values():
            assert entry.cell.option["operation"] == tile.column


@pytest.fixture(scope="module")
def drawn(nine, tmp_path_factory):
    """Of a style: its figure, on logarithmic scales."""

    @cache
    def made(style):
        place = tmp_path_factory.mktemp("drawn") / "a.svg"
        (path,) = to_figure.write_figures(nine, place, "svg", style=style, scale="log")
        return Path(path).read_text()

    return made


@pytest.mark.long("report")
def test_a_long_strip_of_tiles_goes_on_in_further_rows(nine, drawn):
    layout = lay_out(nine)
    arranged = layout.arrange(layout.pages[0])
    assert (arranged.rows, arranged.columns, arranged.wrapped) == (3, 3, True)
    width, height = (
        float(re.search(rf'<svg[^>]* {side}="([\d.]+)pt"', drawn("lines"))[1]) for side in ("width", "height")
    )
    assert width < 2 * height


@pytest.mark.parametrize("style", ["map", "lines"])
def test_logarithmic_scales_have_plain_numbers(drawn, style):
    text = drawn(style)
    assert "mathdefault" not in text
    assert "$" not in text
    numbers = re.findall(r">([125]0*|[125](?:0|00)?,000|0\.0*[125])<", text)
    assert len(numbers) >= 2


@pytest.mark.parametrize(("spread", "log"), [(10, False), (1000, True)])
def test_imported_values_that_span_decades_are_drawn_on_a_log_scale(spread, log, tmp_path):
    figures = "   ".join(str(1000 * (1 + place * (spread - 1) // 8)) for place in range(9))
    (tmp_path / "run.txt").write_text(IOZONE.format(size=1024, record=64, figures=figures))
    assert Shell()("import", tmp_path / "run.txt", "-o", tmp_path / "kept").returncode == 0
    layout = lay_out(load_result(tmp_path / "kept"))
    assert Drawing.of(layout, quantity("bw")).log == log
    assert not Drawing.of(layout, quantity("bw"), log=False).log, "what was asked for goes first"


def test_measured_values_are_drawn_on_a_linear_scale(nine):
    assert not Drawing.of(lay_out(nine), quantity("bw")).log


def test_repeats_are_means_everywhere(repeats):
    rows = table(repeats)
    assert sorted(float(row["bw_bytes_per_s"]) for row in rows) == [(300_000 + n) * 1024 for n in range(9)]
    assert {row["n_repeats"] for row in rows} == {"5"}
