# SPDX-License-Identifier: Apache-2.0
"""Price as a factor: sentences, lines, columns; what is held while it varies, and where nothing can be said."""

import csv
import io

import pytest

from ioatlas.answer.results.factors import _held, price_factors
from ioatlas.measure import campaign
from ioatlas.model.factors import Configuration, Factor
from ioatlas.model.finding import FindingCode
from ioatlas.model.result import ProductCost
from ioatlas.report.export.grid import lay_out
from ioatlas.report.page_data import report_data
from ioatlas.report.table import PRICES, write_csv
from tests.unit.procedures.test_configurations import RATES, Switching

pytestmark = pytest.mark.usefixtures("no_law")

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
