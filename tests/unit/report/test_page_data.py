# SPDX-License-Identifier: Apache-2.0
"""The page's data: every number that goes in comes out, within what the format promises."""

import base64
import gzip
import json
import math
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

import synthetic  # noqa: E402

from ioatlas.answer.analysis.best import mark_of  # noqa: E402
from ioatlas.model.cell import Cell  # noqa: E402
from ioatlas.model.errors import IoAtlasError  # noqa: E402
from ioatlas.model.estimate import Estimate  # noqa: E402
from ioatlas.model.finding import Finding, FindingCode  # noqa: E402
from ioatlas.model.result import CampaignResult, Unmeasured  # noqa: E402
from ioatlas.model.verdict import read_unmeasured  # noqa: E402
from ioatlas.report import columns, page, page_data, page_format  # noqa: E402
from ioatlas.report.page_format import Column, ReportData  # noqa: E402
from tests.examples import examples  # noqa: E402

VALUE_NAMES = [name for triple in page_data._INTERVALS for name in triple]


def campaign(*estimates: Estimate, **axes: tuple[object, ...]) -> CampaignResult:
    return CampaignResult("c", "", 0, "0", (), axes, {}, estimates)


def unpack(column: Column, n: int) -> np.ndarray:
    raw = gzip.decompress(base64.b64decode(column.data))
    if column.encoding in ("u8", "u16", "u32"):
        stored = np.frombuffer(raw, dtype={"u8": "<u1", "u16": "<u2", "u32": "<u4"}[column.encoding])
        return np.cumsum(stored.astype(np.int64)) if column.step else stored
    if column.encoding == "f32":
        return np.frombuffer(raw, dtype="<f4").astype(float)
    assert column.encoding == "log16"
    planes = np.frombuffer(raw, dtype=np.uint8).astype(int)
    codes = planes[:n] | planes[n:] << 8
    return np.where(codes == 0, np.nan, np.exp(column.base + (codes - 1) * column.step))


def bound(data: ReportData, name: str, centre: np.ndarray) -> np.ndarray:
    column = data.cells.values[name]
    if column.encoding == "f32":
        return unpack(column, data.cells.n_rows)
    codes = np.frombuffer(gzip.decompress(base64.b64decode(column.data)), dtype=np.uint8).astype(int)
    if column.mirror:
        other = gzip.decompress(base64.b64decode(data.cells.values[column.mirror].data))
        codes = (codes + np.frombuffer(other, dtype=np.uint8)) % 256
    width = np.where(codes == 1, 0.0, np.exp(column.base + (codes - 2) * column.step))
    return np.where(codes == 0, np.nan, centre * np.exp(column.sign * width))


def rows(data: ReportData) -> list[dict[str, object]]:
    """Level values of each row, by axis name."""
    levels = [unpack(column, data.cells.n_rows) for column in data.cells.axes]
    return [
        {axis.name: axis.levels[int(codes[i])] for axis, codes in zip(data.axes, levels, strict=True)}
        for i in range(data.cells.n_rows)
    ]


def place(estimate: Estimate, names: list[str]) -> tuple[object, ...]:
    cell = estimate.cell
    pseudo = {"target": cell.target, "direction": estimate.direction, "sharing": cell.sharing, "state": cell.state}
    return tuple(pseudo[name] if name in pseudo else estimate.cell.option.get(name) for name in names)


@pytest.mark.parametrize("kind", ["seed2021", "few cells", "mixed", "line", "single", "nosize"])
def test_every_estimate_is_in_the_page(kind, monkeypatch):
    monkeypatch.setattr(page_data, "EXACT_ROWS", 10_000)
    result = synthetic.KINDS[kind]()
    data = page_data.report_data(result)
    names = [axis.name for axis in data.axes]
    at = {tuple(row[name] for name in names): i for i, row in enumerate(rows(data))}
    assert len(at) == data.cells.n_rows == len(result.estimates)
    columns_ = {name: unpack(column, data.cells.n_rows) for name, column in data.cells.values.items()}
    visits = unpack(data.cells.n_visits, data.cells.n_rows)
    verdicts = unpack(data.cells.verdict.codes, data.cells.n_rows)
    marks = unpack(data.cells.mark.codes, data.cells.n_rows)
    for estimate in result.estimates:
        row = at[place(estimate, names)]
        assert data.cells.mark.texts[marks[row]] == mark_of(estimate)
        for name in VALUE_NAMES:
            assert columns_[name][row] == pytest.approx(getattr(estimate, name), rel=1e-6)
        assert visits[row] == estimate.n_visits
        assert data.cells.verdict.texts[verdicts[row]] == estimate.verdict
    assert data.unmeasured.n_rows == sum(len(u.cell.directions) for u in result.unmeasured)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=40), st.booleans())
def test_integers_come_out_as_they_went_in(numbers, ascending):
    numbers = sorted(numbers) if ascending else numbers
    assert unpack(columns.pack_integers(numbers), len(numbers)).tolist() == numbers


def test_rounded_values_stay_within_the_promise(monkeypatch):
    monkeypatch.setattr(page_data, "EXACT_ROWS", 10)
    result = synthetic.KINDS["few cells"]()
    data = page_data.report_data(result)
    assert 0 < data.cells.resolution < 5e-4
    n = data.cells.n_rows
    names = [axis.name for axis in data.axes]
    at = {tuple(row[name] for name in names): i for i, row in enumerate(rows(data))}
    order = np.array([at[place(e, names)] for e in result.estimates])
    assert data.cells.values["iops"].encoding == "quotient"
    for centre, low, high in page_data._INTERVALS:
        if data.cells.values[centre].encoding == "quotient":
            continue
        got = unpack(data.cells.values[centre], n)[order]
        true = np.array([getattr(e, centre) for e in result.estimates])
        assert np.allclose(got, true, rtol=data.cells.resolution * 1.001)
        for name in (low, high):
            edge = np.array([getattr(e, name) for e in result.estimates])
            width, packed = (
                np.log(edge / true),
                np.log(bound(data, name, unpack(data.cells.values[centre], n))[order] / got),
            )
            assert np.allclose(packed, width, rtol=0.03, atol=1e-6)


def test_a_rate_of_zero_survives_rounding(monkeypatch):
    monkeypatch.setattr(page_data, "EXACT_ROWS", 0)
    cells = [Cell.of("t", {"rw": "read", "bs": bs}) for bs in (4096, 8192)]
    rates = zip(cells, (0.0, 5e6), strict=True)
    result = campaign(*(Estimate(c, "read", "measured", 1, v, iops=v / c.bs_bytes) for c, v in rates), bs=(4096, 8192))
    data = page_data.report_data(result)
    assert unpack(data.cells.values["bw_bytes_per_s"], 2).tolist() == [0.0, 5e6]


def test_iops_that_do_not_follow_from_throughput_are_kept(monkeypatch):
    monkeypatch.setattr(page_data, "EXACT_ROWS", 0)
    result = synthetic.KINDS["quick"]()
    odd = replace(result, estimates=tuple(replace(e, iops=(e.iops or 0) * 1.01) for e in result.estimates))
    assert page_data.report_data(odd).cells.values["iops"].encoding == "log16"


@given(st.lists(st.one_of(st.none(), st.floats(1e-3, 1e15)), min_size=1, max_size=60))
@examples(60)
def test_log_codes_round_to_their_step(values):
    true = np.array([math.nan if v is None else v for v in values])
    column, back, rounding = columns.pack_log16(true)
    got = unpack(column, len(true))
    assert np.array_equal(np.isnan(got), np.isnan(true))
    assert np.allclose(got[~np.isnan(true)], true[~np.isnan(true)], rtol=rounding + 1e-12)
    assert np.allclose(got, back, rtol=1e-12, equal_nan=True)


def test_axes_that_follow_from_others_are_derived():
    engine = {1: "psync", 8: "libaio"}
    cells = [Cell.of("t", {"rw": rw, "iodepth": d, "ioengine": engine[d]}) for rw in ("read", "write") for d in (1, 8)]
    result = campaign(*(Estimate(c, c.rw, "measured", 2, 1e6) for c in cells), rw=("read", "write"), iodepth=(1, 8))
    derived = {axis.name: axis.derived for axis in page_data.report_data(result).axes}
    assert derived == {"target": False, "rw": False, "iodepth": False, "direction": True, "ioengine": True}


def test_directions_that_do_not_follow_are_an_axis():
    data = page_data.report_data(synthetic.KINDS["mixed"]())
    direction = next(axis for axis in data.axes if axis.name == "direction")
    assert (direction.derived, direction.levels) == (False, ["read", "write", "trim"])


def test_levels_of_the_sweep_without_a_cell_stay_visible():
    cell = Cell.of("t", {"rw": "read", "bs": 4096})
    other = Cell.of("t", {"rw": "read", "bs": 8192})
    unmeasured = (Unmeasured(other, read_unmeasured("not reached")),)
    measured = campaign(Estimate(cell, "read", "measured", 1, 1.0), bs=(16384, 4096, 8192))
    result = replace(measured, unmeasured=unmeasured)
    axis = next(axis for axis in page_data.report_data(result).axes if axis.name == "bs")
    assert (axis.levels, axis.unit, axis.numeric) == ([4096, 8192, 16384], "bytes", True)


def test_an_empty_campaign_is_a_page_too():
    data = page_data.report_data(campaign())
    assert (data.cells.n_rows, data.unmeasured.n_rows, data.campaign.created) == (0, 0, "")


def test_findings_point_at_their_rows():
    result = synthetic.KINDS["mixed"]()
    cell = next(e.cell for e in result.estimates if e.cell.rw == "randrw")
    of_all = partial(Finding, FindingCode.METHOD, {"differences": "latency"})
    one = of_all((cell.key,), target=cell.target, direction="write")
    data = page_data.report_data(replace(result, findings=(of_all((cell.key,)), one, of_all(("0" * 16,)))))
    table = rows(data)
    assert [[table[i]["direction"] for i in f.rows] for f in data.findings] == [["read", "write"], ["write"], []]
    assert [(f.target, f.direction) for f in data.findings] == [("", ""), (cell.target, "write"), ("", "")]


def test_percentiles_and_courses_stand_at_the_rows_of_their_cells():
    result = synthetic.KINDS["line"]()
    data = page_data.report_data(result)
    rows_of = {place(e, [a.name for a in data.axes]): e for e in result.estimates}
    assert len(rows_of) == len(result.estimates)
    at = [rows_of[tuple(row.values())].cell.key for row in rows(data)]
    packed = data.latency_curves
    assert [at[row] for row in unpack(packed.row, packed.n)] == [c.cell_key for c in result.latency_curves]
    values = unpack(packed.latencies, packed.n * len(packed.percents)).reshape(packed.n, -1)
    for curve, got in zip(result.latency_curves, values, strict=True):
        wanted = [np.nan if ns is None else ns for ns in curve.latencies_ns]
        np.testing.assert_allclose(got, wanted, rtol=1e-3)
    courses = data.time_courses
    assert [at[row] for row in unpack(courses.row, courses.n)] == [c.cell_key for c in result.time_courses]
    rates = [rate for course in result.time_courses for rate in course.bw_bytes_per_s]
    assert 0.0 in rates
    np.testing.assert_allclose(np.nan_to_num(unpack(courses.bw_bytes_per_s, len(rates))), rates, rtol=1e-3)


def test_too_many_courses_for_a_page_are_left_out_and_that_is_said(monkeypatch):
    monkeypatch.setattr(columns, "MOST_POINTS", 100)
    monkeypatch.setattr(columns, "MOST_CURVES", 3)
    data = page_data.report_data(synthetic.KINDS["line"]())
    assert (data.time_courses.n, data.time_courses.left_out) == (0, True)
    assert (data.latency_curves.n, data.latency_curves.left_out) == (0, True)


def test_nothing_names_the_site():
    result = synthetic.KINDS["quick"]()
    result = replace(
        result,
        findings=(Finding(FindingCode.KNEE, {"load": "/srv/made-up/scratch/file"}, direction="read"),),
        sessions=({"hostname": "secret-host", "client serial": "S3CR3T", "fio": "fio-3.33 on /srv/made-up/scratch"},),
    )
    text = page_data.report_data(result).model_dump_json()
    for secret in ("/srv/made-up", "secret-host", "S3CR3T", "/dev/vdz"):
        assert secret not in text
    assert page_data.report_data(result).sessions[0].n_withheld == 2


def test_many_notes_are_packed_and_too_many_left_out(monkeypatch):
    result = synthetic.KINDS["seed2021"]()
    noted = replace(
        result,
        estimates=tuple(replace(e, notes=(f"{i} of the link's 117.7 MB/s",)) for i, e in enumerate(result.estimates)),
    )
    note = page_data.report_data(noted).cells.note
    texts = json.loads(gzip.decompress(base64.b64decode(note.packed_texts)))
    codes = unpack(note.codes, len(result.estimates))
    assert sorted(texts[c] for c in codes) == sorted(e.notes[0] for e in noted.estimates)
    monkeypatch.setattr(page_data, "NOTES_BYTES", 100)
    cells = page_data.report_data(noted).cells
    assert (cells.notes_left_out, cells.note.texts) == (True, [""])


def test_the_schema_is_the_checked_in_one():
    assert (ROOT / "web/schema/report-data.schema.json").read_text() == page_format.schema_text(), (
        "run `python -m ioatlas.report.page_format > web/schema/report-data.schema.json` and `npm run types` in web/"
    )


def test_the_data_fits_its_schema():
    jsonschema = pytest.importorskip("jsonschema")
    data = page_data.report_data(synthetic.KINDS["few cells"]())
    jsonschema.Draft202012Validator(page_format.schema()).validate(json.loads(data.model_dump_json()))


def test_equal_results_give_equal_pages():
    one, two = (page_data.report_data(synthetic.KINDS["quick"]()).model_dump_json() for _ in range(2))
    assert one == two


def test_embedded_data_cannot_end_its_element():
    text = json.dumps({"a": "</script><!-- <script>", "b": "\u2028"})
    escaped = page.escape_json(text)
    assert "<" not in escaped
    assert json.loads(escaped) == json.loads(text)


def test_a_missing_explorer_is_one_clear_error(monkeypatch, tmp_path):
    monkeypatch.setattr(page.resources, "files", lambda _: tmp_path)
    with pytest.raises(IoAtlasError, match="explorer is not built") as caught:
        page.write_report(synthetic.KINDS["single"](), tmp_path / "report.html")
    assert "make web" in caught.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_one_clear_error(monkeypatch, tmp_path):
    monkeypatch.setattr(page, "report_html", lambda *_: "x")
    with pytest.raises(IoAtlasError, match="cannot be written"):
        page.write_report(synthetic.KINDS["single"](), tmp_path / "nowhere" / "report.html")


def test_a_report_replaces_an_older_one_whole(monkeypatch, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(page, "report_html", lambda *_: "new")
    page.write_report(synthetic.KINDS["single"](), path)
    assert (path.read_text(), [p.name for p in tmp_path.iterdir()]) == ("new", ["report.html"])


OPTION_POOLS = {
    "rw": ["read", "randrw", "trimwrite", "randwrite:8"],
    "bs": [512, 4096, "4096,8192", 1 << 20],
    "size": [1 << 20, 1 << 31],
    "rwmixread": [0, 30, 100],
    "ioengine": ["psync", "libaio"],
    "bssplit": ["4096/60:8192/40"],
    "rate_iops": ["100", 100, 2.5],
}


@st.composite
def results(draw):
    names = draw(st.lists(st.sampled_from(sorted(OPTION_POOLS)), unique=True, max_size=5))
    cells = draw(
        st.lists(
            st.builds(
                lambda target, sharing, values: Cell.of(
                    target, {k: v for k, v in values.items() if v is not None}, sharing=sharing
                ),
                st.sampled_from(["a", "b"]),
                st.sampled_from(["shared", "private"]),
                st.fixed_dictionaries({name: st.sampled_from([*OPTION_POOLS[name], None]) for name in names}),
            ),
            unique=True,
            max_size=12,
        )
    )
    split = draw(st.integers(0, len(cells)))
    number = st.one_of(st.none(), st.floats(0, 1e12))
    kinds = st.sampled_from(["measured", "predicted", "imported"])
    estimates = tuple(
        Estimate(cell, direction, draw(kinds), 1, *(draw(number) for _ in range(3)))
        for cell in cells[:split]
        for direction in cell.directions
    )
    declared = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    axes = {name: tuple(OPTION_POOLS[name]) for name in declared}
    unmeasured = tuple(Unmeasured(c, read_unmeasured("not reached")) for c in cells[split:])
    return replace(campaign(*estimates, **axes), constants={"direct": 1}, unmeasured=unmeasured)


@given(results())
@examples(120)
def test_any_result_keeps_each_estimate_at_a_place_of_its_own(result):
    data = page_data.report_data(result)
    names = [axis.name for axis in data.axes]
    table = rows(data)
    places = [tuple(map(repr, row.values())) for row in table]
    # Levels that one spelling shares (100 and "100") stay apart; no two cells fall together.
    assert len(set(places)) == len(places) == len(result.estimates)
    expected = sorted(tuple(map(repr, place(e, names))) for e in result.estimates)
    assert sorted(places) == expected
    # What is navigated tells the cells apart: a derived axis never hides one.
    live = [i for i, axis in enumerate(data.axes) if not axis.derived]
    assert len({tuple(p[i] for i in live) for p in places}) == len(places)


def test_the_job_of_a_fleet_has_no_option_that_fio_does_not_know():
    grid = SimpleNamespace(constants={"bs": 4096, "clients": 2, "client_range": "own", "targets": 5}, names=())
    lines = page_data._job_recipe(SimpleNamespace(estimates=(), unmeasured=(), targets=()), grid).global_lines
    assert "bs=4096" in lines
    assert not [line for line in lines if line.startswith(("client", "targets"))]
    assert any("one client's part" in line for line in lines)
