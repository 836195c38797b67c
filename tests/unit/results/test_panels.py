# SPDX-License-Identifier: Apache-2.0
"""Bars, lines and prices of several sides: every number is that of the side, in the order asked for."""

import csv
import io
import itertools
import json
import math
import xml.etree.ElementTree as ET

import pytest
from click.testing import CliRunner

from ioatlas.answer.results.factors import _held, price_factors
from ioatlas.answer.results.only import parse_filter
from ioatlas.answer.results.panels import bars, latency_curves, lines
from ioatlas.answer.results.sides import align, read_sides
from ioatlas.cli import ioatlas
from ioatlas.measure import campaign
from ioatlas.model.errors import UsageError
from ioatlas.model.factors import Configuration, Factor
from ioatlas.model.finding import FindingCode
from ioatlas.model.result import ProductCost
from ioatlas.report.export.grid import lay_out
from ioatlas.report.page_data import report_data
from ioatlas.report.table import PRICES, write_csv
from tests.simulate.law import Law, Way
from tests.unit.procedures.test_configurations import RATES, Switching
from tests.unit.simulated import Shell

pytestmark = pytest.mark.usefixtures("no_law")

SWEEP = """
window = "300ms"
[sweep]
rw = ["randwrite", "randread", "randrw"]
rwmixread = 67
bs = ["64k", "4k"]
size = ["16m"]
numjobs = [1, 4]
"""


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    home = tmp_path_factory.mktemp("sides")
    (home / "disk").mkdir()
    (home / "s.toml").write_text(SWEEP)
    for name, speed in (("slow", 100e6), ("fast", 300e6)):
        law = Law(read=Way(50e-6, 1e5, speed), write=Way(80e-6, 8e4, speed), noise=0.02)
        done = Shell(law)(
            "map", home / "disk", "--campaign", home / "s.toml", "--visits", "3", "-o", home / name, "--yes"
        )
        assert done.returncode == 0, done.stderr
    return [home / "fast", home / "slow"]


def drawn(sides, *where, quantity="bw"):
    return bars(align(read_sides(sides, quantity)), quantity, where=parse_filter(where), title="t")


def run(*arguments):
    return CliRunner().invoke(ioatlas, ["export", "--figure", *map(str, arguments)])


@pytest.mark.long("results", "report")
def test_bars_are_the_geometric_means_of_the_visits_with_their_intervals(sides):
    (panel,) = drawn(sides, "numjobs=4", "rw=randread").panels
    side = read_sides(sides[:1])[0]
    for dot, bs in zip(panel.series[0].dots, (4096, 65536), strict=True):
        (place,) = [
            place
            for place, row in side.rows.items()
            if (row.cell.bs_bytes, row.cell.numjobs, row.cell.rw) == (bs, 4, "randread")
        ]
        values = [row.value for row in side.readings[place]]
        assert dot.n == len(values) >= 3
        assert dot.value == pytest.approx(math.exp(sum(map(math.log, values)) / len(values)))
        assert dot.low < dot.value < dot.high


def test_mixed_loads_are_stacked_to_the_total_of_each_visit(sides):
    (panel,) = drawn(sides, "rw=randrw", "bs=4k", "numjobs=4").panels
    (dot,) = panel.series[0].dots
    assert [name for name, _ in dot.parts] == ["read", "write"]
    assert sum(value for _, value in dot.parts) == pytest.approx(dot.value, rel=0.01)
    assert dot.parts[0][1] / dot.value == pytest.approx(0.67, abs=0.05)
    (panel,) = drawn(sides, "rw=randrw", "bs=4k", "numjobs=4", quantity="lat_mean").panels
    assert panel.series[0].dots[0].parts == ()


def test_the_order_is_that_of_the_filter_else_from_small_to_large(sides):
    named = drawn(sides, "rw=randwrite,randread", "bs=64k,4k", "numjobs=1")
    assert [label for _, label in named.panels[0].ticks] == [
        f"{rw}\nbs {bs}" for rw in ("randwrite", "randread") for bs in ("64 KiB", "4 KiB")
    ]
    plain = drawn(sides, "numjobs=1", "rw=randread")
    assert [label for _, label in plain.panels[0].ticks] == ["bs 4 KiB", "bs 64 KiB"]
    assert [series.name for series in named.panels[0].series] == [place.name for place in sides]


def test_lines_have_a_panel_for_each_other_option_and_their_ceilings(sides):
    from ioatlas.model.panel import Line

    aligned = align(read_sides(sides))
    key = next(row.cell.key for row in aligned.rows.values() if (row.cell.rw, row.cell.numjobs) == ("randread", 4))
    drawing = lines(
        aligned,
        "bw",
        where=parse_filter(["rw=randread,randwrite"]),
        title="t",
        ceilings={f"{key}/read": [Line("link", 117e6)]},
    )
    assert [panel.title for panel in drawing.panels] == [
        "randread, numjobs 1",
        "randread, numjobs 4",
        "randwrite, numjobs 1",
        "randwrite, numjobs 4",
    ]
    assert [len(panel.limits) for panel in drawing.panels] == [0, 1, 0, 0]
    assert all(len(series.dots) == 2 for panel in drawing.panels for series in panel.series)
    over_jobs = lines(aligned, "bw", where=parse_filter(["rw=randread"]), title="t", x="numjobs")
    assert [label for _, label in over_jobs.panels[0].ticks] == ["1", "4"]


def test_percentiles_are_those_of_the_result(sides):
    from ioatlas.measure.campaign import load_result

    result = load_result(sides[0])
    where = parse_filter(["rw=randread", "bs=4k", "numjobs=4"])
    drawing = latency_curves([("fast", result)], where=where, title="t")
    (series,) = drawing.panels[0].series
    cells = {e.cell.key: e.cell for e in result.estimates}
    (curve,) = [
        curve
        for curve in result.latency_curves
        if (cells[curve.cell_key].rw, cells[curve.cell_key].bs_bytes, cells[curve.cell_key].numjobs)
        == ("randread", 4096, 4)
    ]
    assert [dot.value for dot in series.dots] == [value for value in curve.latencies_ns if value is not None]
    with pytest.raises(UsageError, match="too many"):
        latency_curves([("a", result), ("b", result)], where={}, title="t")


@pytest.mark.parametrize(
    ("where", "what"),
    [
        (["bs"], "'bs' is no choice"),
        (["bs="], "'bs=' is no choice"),
        (["bs=2k"], "no load is left"),
        (["nosuch=1"], "no load is left"),
    ],
)
def test_a_filter_that_leaves_nothing_says_what_there_is(sides, where, what):
    with pytest.raises(UsageError, match=what) as caught:
        drawn(sides, *where)
    assert "bs=4" in caught.value.remedy


@pytest.mark.long("results", "report")
@pytest.mark.parametrize(
    ("suffix", "kind"),
    [
        *itertools.product(["svg", "csv"], ["bars", "lines", "latency"]),
        ("png", "bars"),  # matplotlib alone makes another file of the same drawing
        ("pdf", "lines"),
    ],
)
def test_every_kind_is_written_in_every_format(sides, tmp_path, kind, suffix):
    done = run(kind, *sides, "--where", "rw=randread", "--where", "numjobs=4", "-o", tmp_path / f"c.{suffix}", "--json")
    assert done.exit_code == 0, done.output
    files = json.loads(done.output)["files"]
    assert files[0] == str(tmp_path / f"c.{suffix}")
    if suffix == "svg":
        assert ET.parse(tmp_path / "c.svg").getroot().tag.endswith("svg")
    if suffix == "csv":
        with (tmp_path / "c.csv").open(newline="") as text:
            rows = list(csv.DictReader(text))
        assert len(rows) >= 4
        assert all(float(row["value"]) > 0 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["bars", "SIDES", "-o", "c.doc"], "c.doc is no drawing"),
        (["bars", "SIDES", "--x", "bs", "-o", "c.png"], "--x is not for --figure bars"),
        (["lines", "SIDES", "--x", "colour", "-o", "c.png"], "no option 'colour'"),
        (["latency", "SIDES", "-o", "c.png"], "too many"),
    ],
)
def test_what_cannot_be_drawn_is_one_message(sides, arguments, what):
    given = [each for name in arguments for each in (sides if name == "SIDES" else [name])]
    done = run(*given)
    assert getattr(done.exception, "exit_code", None) == 2
    assert what in str(done.exception)


def test_a_mixed_load_tells_its_mix_and_whose_latency_it_shows(sides):
    mixed = drawn(sides, "numjobs=4", "bs=4k", quantity="lat_mean")
    assert [label for _, label in mixed.panels[0].ticks] == ["randread", "randrw 67% reads", "randwrite"]
    assert mixed.note.startswith("Of mixed loads it is that of the slower direction.")
    assert "mixed" not in drawn(sides, "numjobs=4", "rw=randread", quantity="lat_mean").note


SHEET = """
format = 1
[source]
name = "a test"
date = "2026-01"
[product]
vendor = "Nobody"
model = "M{drives}"
[[drives]]
count = {drives}
capacity = "1 TB"
[layout]
type = "raid0"
[[price]]
what = "all"
each = {price}
currency = "{currency}"
"""
COSTS = {1: 1000, 2: 1500, 4: 2500}


def cost(target, total, currency="USD", tib=1.0):
    return ProductCost(target, "a product", currency, total, "", int(tib * 2**40), ())


@pytest.fixture
def measured(tmp_path):
    def make(currencies=("USD", "USD", "USD")):
        world = Switching(tmp_path)
        for drives, currency in zip(RATES, currencies, strict=True):
            text = SHEET.format(drives=drives, price=COSTS[drives], currency=currency)
            (tmp_path / f"m{drives}.toml").write_text(text)
            world.text = world.text.replace(f'name = "d{drives}"', f'name = "d{drives}"\nproduct = "m{drives}.toml"')
        world.run()
        return campaign.load_result(world.directory)

    return make


def test_what_the_money_buys_is_told_drawn_and_in_the_table(measured):
    result = measured()
    lines = [one.values for one in result.findings if one.code is FindingCode.FACTOR and one.direction == "write"]
    (told,) = [one for one in lines if one["factor"] == "price"]
    assert [told[name] for name in ("price_ratio", "least_price", "most_price", "unit")] == [2.5, 1000, 2500, "USD"]
    assert told["change"]["value"] == pytest.approx(4, rel=0.1)
    assert told["efficiency"] > 1, "four times the rate for 2.5 times the price is more for each"
    assert any(one["factor"] == "drives" for one in lines), "drives are told as before"
    (chart,) = [chart for chart in result.charts if chart.title == "Writes over price"]
    assert [dot.x for dot in chart.series[0].dots] == [1000, 1500, 2500]
    out = io.StringIO()
    write_csv(result, out)
    rows = {row["configuration"]: row for row in csv.DictReader(io.StringIO(out.getvalue()))}
    assert {name: row["factor_price"] for name, row in rows.items()} == {"d1": "1000", "d2": "1500", "d4": "2500"}
    assert float(rows["d4"]["factor_price_per_tib"]) == pytest.approx(2500 / (4e12 / 2**40), abs=0.1)
    layout = lay_out(result, x="price")
    assert layout.x.heading == "price, USD"
    assert "drives" not in {axis.heading for page in layout.pages for axis, _ in page.fixed}, "it follows the price"
    usual = lay_out(result, x="drives")
    assert not {axis.name for page in usual.pages for axis, _ in page.fixed} & PRICES, "they follow the drives"
    axes = {axis.name: axis for axis in report_data(result).axes}
    assert axes["factor_price"].levels == [1000, 1500, 2500]
    assert axes["factor_price"].derived, "drives come first"


def test_prices_in_several_currencies_are_not_held_against_each_other(measured):
    result = measured(("USD", "EUR", "USD"))
    (told,) = [one.values for one in result.findings if one.values.get("factor") == "price"]
    assert told["why"].startswith("its configurations are priced in EUR and USD.")


def test_equal_prices_are_no_axis_and_missing_ones_are_left_out():
    assert price_factors([cost("a", 10.0), cost("b", 10.0)]) == {}
    assert price_factors([cost("a", 10.0), cost("b", None)]) == {}
    found = price_factors([cost("a", 10.0), cost("b", 20.0, tib=2.0), cost("c", None)])
    assert found == {"a": {"price": Factor(10, "USD")}, "b": {"price": Factor(20, "USD")}}, "10 USD a TiB, both"


def test_what_differs_at_one_price_is_held_while_the_price_varies():
    configurations = [
        Configuration(f"{drives}-{mtu}", "/x", {"drives": Factor(drives), "mtu": Factor(mtu)})
        for drives in (3, 7)
        for mtu in (1500, 9000)
    ]
    prices = price_factors([cost(one.name, 1000.0 * one.factors["drives"].value) for one in configurations])
    assert _held(configurations, prices, "price") == {"mtu"}
