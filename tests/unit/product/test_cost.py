# SPDX-License-Identifier: Apache-2.0
"""What units cost: intervals carried through, fronts, break-even prices; the command end to end; the drawing."""

import csv
import json
import os
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.answer.product.cost import (
    Front,
    Offer,
    Terms,
    answers,
    compare_costs,
    costed,
    divided,
    mean_watts,
    with_fronts,
)
from ioatlas.answer.product.cost_rows import sentences
from ioatlas.answer.product.figures import figures
from ioatlas.answer.product.quantity import TIB
from ioatlas.answer.product.readings import Reading, Unit, Workload, readings
from ioatlas.answer.product.sheet_file import read_sheet
from ioatlas.cli import ioatlas
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate
from ioatlas.model.load_curve import Spread
from ioatlas.model.result import CampaignResult
from ioatlas.model.verdict import VerdictCode
from tests.command_line import call
from tests.simulate.law import Law, Way
from tests.unit.simulated import LAW, Shell

pytestmark = pytest.mark.usefixtures("no_law")

EXAMPLES = Path(__file__).parents[3] / "examples" / "products"
USD = Terms("USD")


def sheet(model="M", price=1000.0, rest=""):
    priced = (
        f'[[price]]\nwhat = "box"\neach = {price}\ncurrency = "USD"\ndate = 2020-01-01\n' if price is not None else ""
    )
    return read_sheet(
        f'format = 1\n[source]\nname = "s"\n[product]\nvendor = "V"\nmodel = "{model}"\n'
        f'[[drives]]\ncount = 4\ncapacity = "1 TiB"\n[layout]\ntype = "raid5"\n{priced}{rest}'
    )


def product(label, price, amount, terms=USD, rest="", unit=Unit.KIOPS_READ):
    made = sheet(label, price, rest)
    reading = Reading(unit, amount, "a cell", "key", 3)
    return costed(label, made, figures(made), terms, [reading])


def estimate(target="t", direction="read", rw="randread", bs=4096, **values):
    cell = Cell.of(target, {"rw": rw, "bs": bs, "numjobs": values.pop("numjobs", 1)})
    given_ = {"bw_bytes_per_s": values["iops"] * bs, "verdict": VerdictCode.STEADY, **values}
    return Estimate(cell, direction, "measured", 3, **given_)


def result(*estimates):
    return CampaignResult("id", "name", 0.0, "0", (), {}, {}, tuple(estimates))


# -- units ---------------------------------------------------------------------------------------------------------


def test_a_price_is_divided_by_what_is_given_and_its_interval_turns_around():
    cost = divided(1000, Spread(50, 40, 100))
    assert (cost.value, cost.low, cost.high) == (20, 10, 25)
    assert divided(None, Spread(50)) is None
    assert divided(1000, Spread(0)) is None
    assert divided(1000, Spread(50, None, 100)) == Spread(20, 10, None)


@given(st.floats(1, 1e6), st.floats(0.1, 1e5), st.floats(0, 0.9), st.floats(0, 3))
def test_the_interval_of_a_cost_holds_its_value(total, value, below, above):
    cost = divided(total, Spread(value, value * (1 - below), value * (1 + above)))
    assert cost.low <= cost.value * (1 + 1e-12)
    assert cost.high >= cost.value * (1 - 1e-12)


def test_energy_and_service_count_over_the_years():
    power = '[power]\nidle = "100 W"\nloaded = "200 W"\n'
    one = product("M", 1000, Spread(10), Terms("USD", 5, 0.30, 0.25), power)
    assert one.spend.watts == 125
    assert one.spend.energy == pytest.approx(0.125 * 8760 * 5 * 0.30)
    assert one.spend.total == pytest.approx(1000 + 1642.5)
    assert one.unit(Unit.KIOPS_READ).cost.value == pytest.approx(264.25)
    assert one.unit(Unit.TIB).cost.value == pytest.approx(2642.5 / 3)
    assert one.unit(Unit.KIOPS_READ).per_watt == pytest.approx(10 / 200)


SERVICE = '[volume]\nsize = "2 TiB"\n[[rate]]\nof = "capacity"\nunit = "TiB"\namount = 50\ncurrency = "USD"\n'
CLOUD = read_sheet(f'format = 1\n[source]\nname = "s"\n[product]\nvendor = "V"\nmodel = "cloud"\n{SERVICE}')


def test_a_service_is_paid_by_the_month():
    one = costed("cloud", CLOUD, figures(CLOUD), Terms("USD", 3), [])
    assert one.spend.total == 100 * 12 * 3
    assert one.unit(Unit.TIB).cost.value == 1800
    told = compare_costs([Offer(CLOUD)], USD, Workload()).remarks
    assert any("--years" in remark for remark in told)


def test_what_a_service_may_charge_a_month_to_win():
    terms = Terms("USD", 3)
    cloud = costed("cloud", CLOUD, figures(CLOUD), terms, [])
    bought = product("B", 600, Spread(10), terms)
    answer = next(one for one in answers([cloud, bought]) if one.unit is Unit.TIB)
    even = answer.break_even[0]
    assert (even.label, even.monthly) == ("cloud", True)
    # 600 USD for 3 TiB; so 400 USD for 2 TiB, in 36 months.
    assert even.purchase.value == pytest.approx(400 / 36)
    assert even.change == pytest.approx(400 / 3600 - 1)


def test_measured_watts_stand_before_those_of_the_sheet():
    made = sheet("M", 1000, '[power]\nloaded = "200 W"\n')
    readings_ = [Reading(Unit.KIOPS_READ, Spread(10), "", "", 3, watts=50)]
    one = costed("M", made, figures(made), Terms("USD", 1, 1.0), readings_, 50)
    assert one.unit(Unit.KIOPS_READ).per_watt == 0.2
    assert one.unit(Unit.KIOPS_READ).watts_from == "measured"
    assert one.spend.watts == 50
    assert mean_watts(None, None, 0.5) is None


# -- which reading -------------------------------------------------------------------------------------------------


def test_the_best_cell_within_the_limit_counts():
    loads = ((1000.0, 1e6, 1), (4000.0, 4e6, 4), (9000.0, 9e6, 16))
    found = result(*(estimate(iops=iops, lat_p99_ns=p99, numjobs=jobs) for iops, p99, jobs in loads))
    without = {one.unit: one for one in readings(found, "t", Workload())}
    within = {one.unit: one for one in readings(found, "t", Workload(limit_ns=5e6))}
    assert without[Unit.KIOPS_READ].amount.value == 9
    assert within[Unit.KIOPS_READ].amount.value == 4
    assert readings(found, "t", Workload(limit_ns=1e5)) == ()
    assert readings(result(estimate(iops=1000.0)), "t", Workload(limit_ns=1e9)) == (), "what is unknown keeps no limit"


@pytest.mark.parametrize(("asked", "kiops"), [({}, 2), ({"bs": 4096}, 1), ({"rw": "read"}, 50)])
def test_iops_are_of_random_small_blocks(asked, kiops):
    found = result(estimate(iops=50_000.0, rw="read"), estimate(iops=1000.0, bs=4096), estimate(iops=2000.0, bs=512))
    told = {one.unit: one for one in readings(found, "t", Workload(asked))}
    assert told[Unit.KIOPS_READ].amount.value == kiops


def test_an_option_that_a_cell_leaves_out_has_fios_default():
    found = result(estimate(iops=1000.0))
    assert readings(found, "t", Workload({"iodepth": 1}))
    assert not readings(found, "t", Workload({"iodepth": 2}))


def test_what_is_suspect_or_predicted_is_not_sold():
    cached = estimate(iops=1e6, numjobs=2, verdict=VerdictCode.CACHED)
    assert [one.amount.value for one in readings(result(estimate(iops=1000.0), cached), "t", Workload())][1] == 1


def test_two_results_are_told_of_a_block_size_that_both_have():
    first = result(estimate(iops=8000.0, bs=512), estimate(iops=1000.0, bs=4096))
    second = result(estimate(iops=2000.0, bs=4096), estimate(iops=500.0, bs=65536))
    offers = [Offer(sheet("A"), first, "t"), Offer(sheet("B"), second, "t")]
    found = compare_costs(offers, USD, Workload())
    assert [one.unit(Unit.KIOPS_READ).amount.value for one in found.products] == [1, 2]
    assert any("4 KiB blocks" in remark for remark in found.remarks)


# -- a set ---------------------------------------------------------------------------------------------------------

points = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50), st.integers(0, 5)), min_size=1, max_size=8)


@given(points)
def test_the_front_holds_the_cheapest_and_the_best_and_nobody_who_is_beaten(drawn):
    made = with_fronts([product(f"P{n}", p, Spread(v, v - w / 10, v + w / 10)) for n, (p, v, w) in enumerate(drawn)])
    state = {one.label: one.unit(Unit.KIOPS_READ).front for one in made}
    value = {one.label: (one.spend.total, one.unit(Unit.KIOPS_READ).amount) for one in made}
    for label, (total, amount) in value.items():
        better = [
            (other_total, other)
            for name, (other_total, other) in value.items()
            if name != label
            and other_total <= total
            and other.value >= amount.value
            and (other_total, other.value) != (total, amount.value)
        ]
        surely = [other for _, other in better if other.low >= amount.high]
        assert state[label] is (Front.NO if surely else Front.UNDECIDED if better else Front.YES)
    assert any(front is not Front.NO for front in state.values())


def test_the_cheapest_is_told_with_what_the_others_would_have_to_cost():
    made = [product("A", 1000, Spread(10, 9, 11)), product("B", 3000, Spread(20, 18, 22))]
    answer = next(one for one in answers(made) if one.unit is Unit.KIOPS_READ)
    assert (answer.cheapest, answer.second, answer.decided) == ("A", "B", True)
    even = answer.break_even[0]
    assert even.purchase.value == pytest.approx(2000)
    assert even.change == pytest.approx(-1 / 3)
    assert even.purchase.low < 2000 < even.purchase.high


@given(st.floats(100, 1e5), st.floats(1, 1e3), st.floats(100, 1e5), st.floats(1, 1e3), st.floats(0, 1))
def test_at_its_break_even_price_a_product_costs_as_much(price, value, other_price, other_value, energy):
    terms = Terms("USD", 3, energy)
    power = '[power]\nloaded = "100 W"\n'
    made = [
        product("A", price, Spread(value), terms, power),
        product("B", other_price, Spread(other_value), terms, power),
    ]
    answer = next(one for one in answers(made) if one.unit is Unit.KIOPS_READ)
    even = answer.break_even[0]
    if even.purchase.value <= 0:
        return
    amounts = {"A": value, "B": other_value}
    again = product(even.label, even.purchase.value, Spread(amounts[even.label]), terms, power)
    lowest = min(one.unit(Unit.KIOPS_READ).cost.value for one in made)
    assert again.unit(Unit.KIOPS_READ).cost.value == pytest.approx(lowest, rel=1e-6)


def test_overlapping_intervals_and_a_value_without_one_decide_nothing():
    overlapping = [product("A", 1000, Spread(10, 5, 15)), product("B", 1000, Spread(11, 6, 16))]
    assert not next(one for one in answers(overlapping) if one.unit is Unit.KIOPS_READ).decided
    once, known = product("A", 1000, Spread(10)), product("B", 1000, Spread(5, 4.9, 5.1))
    per_tib, found = answers([once, known])
    assert found.cheapest == "A"
    assert (found.decided, found.unbounded, per_tib.unbounded) == (False, True, False)
    assert [one.unit(Unit.KIOPS_READ).front for one in with_fronts([once, known])] == [Front.YES, Front.UNDECIDED]


def test_two_sheets_of_one_price_cost_the_same():
    same = [Offer(sheet("A")), Offer(sheet("B"))]
    assert sentences(compare_costs(same, USD, Workload())) == ["Per usable TiB: V A and V B cost the same."]


def test_a_service_by_the_month_has_a_price():
    found = compare_costs([Offer(read_sheet((EXAMPLES / "amazon-ebs-gp3.toml").read_text()))], USD, Workload())
    assert found.remarks == ("Amazon EBS gp3 is paid by the month: say --years.",)


def test_what_no_price_would_mend_is_said():
    power = '[power]\nloaded = "10 kW"\n'
    terms = Terms("USD", 5, 0.3)
    made = [product("A", 1000, Spread(10), terms), product("B", 1000, Spread(10), terms, power)]
    found = compare_costs([Offer(one.sheet) for one in made], terms, Workload())
    assert any("at any price" in sentence for sentence in sentences(found))
    assert any("power is unknown" in remark for remark in found.remarks)


def test_the_published_four_are_told_per_raw_tebibyte():
    names = ("synology-fs6400", "synology-sa3400", "netgear-rn51600", "synology-ds2015xs")
    done = call("cost", *(word for name in names for word in ("--product", EXAMPLES / f"{name}.toml")), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    per_raw = {
        one["product"]: unit["cost"] for one in found["products"] for unit in one["units"] if unit["unit"] == "raw TiB"
    }
    assert per_raw["Synology SA3400"] == pytest.approx(40_000 / (648e12 / TIB))
    assert per_raw["Synology FS6400"] == pytest.approx(70_000 / (288e12 / TIB))
    assert {one["unit"]: one["cheapest"] for one in found["answers"]} == {
        "usable TiB": "Synology DS2015xs",
        "raw TiB": "Synology SA3400",
    }


# -- a campaign ----------------------------------------------------------------------------------------------------

SWEEP = """
visits = 3
window = "200ms"
[sweep]
rw = ["read", "randread", "randwrite"]
bs = ["4k", "1m"]
size = "8m"
numjobs = [1, 4]
"""


@pytest.fixture(scope="module")
def measured():
    with tempfile.TemporaryDirectory(dir=os.environ.get("IOATLAS_TEST_DISK", "/var/tmp")) as place:
        scratch = Path(place)
        (scratch / "t").mkdir()
        (scratch / "sweep.toml").write_text(SWEEP)
        shell = Shell(LAW)
        done = shell("map", scratch / "t", "--campaign", scratch / "sweep.toml", "-o", scratch / "d", "--yes")
        assert done.returncode == 0, done.stderr
        yield scratch / "d"


def test_a_measured_map_and_a_sheet_give_costs_with_intervals(measured, tmp_path):
    done = call("cost", measured, "--product", EXAMPLES / "synology-ds2015xs.toml", "--json")
    assert done.returncode == 0, done.stderr
    units = {unit["unit"]: unit for unit in json.loads(done.stdout)["products"][0]["units"]}
    assert set(units) == {"usable TiB", "MB/s read", "MB/s write", "kIOPS read", "kIOPS write"}
    read = units["kIOPS read"]
    assert "randread" in read["where"]
    assert read["cost"] == pytest.approx(4288 / read["amount"])
    assert read["cost_low"] == pytest.approx(4288 / read["amount_high"])
    assert read["cost_low"] < read["cost"] < read["cost_high"]


def test_a_latency_limit_asks_for_less(measured):
    shown = [
        json.loads(call("cost", measured, "--product", EXAMPLES / "synology-ds2015xs.toml", "--json", *more).stdout)
        for more in ((), ("--p99", "115us", "--at", "bs=4k"))
    ]
    free, limited = (
        next((unit["amount"] for unit in one["products"][0]["units"] if unit["unit"] == "kIOPS read"), 0.0)
        for one in shown
    )
    assert limited <= free
    assert shown[1]["workload"] == "bs=4 KiB, 99% within 115 µs"


def test_two_products_in_files_and_on_the_screen(measured, tmp_path):
    sheets = ("--product", EXAMPLES / "synology-ds2015xs.toml", "--product", EXAMPLES / "netgear-rn51600.toml")
    for ending in ("csv", "md", "html", "json"):
        done = call("cost", measured, measured, *sheets, "-o", tmp_path / f"cost.{ending}")
        assert done.returncode == 0, done.stderr
    assert "Per usable TiB: Synology DS2015xs is cheapest" in done.stdout
    assert all(len(line) <= 100 for line in done.stdout.splitlines() if not line.startswith("written"))
    rows = list(csv.DictReader((tmp_path / "cost.csv").read_text().splitlines()))
    assert len(rows) == 10
    assert {row["product"] for row in rows} == {"Synology DS2015xs", "NETGEAR ReadyNAS 516 (RN51600)"}
    assert "| per usable TiB |" in (tmp_path / "cost.md").read_text()
    assert '<th scope="row">per usable TiB</th>' in (tmp_path / "cost.html").read_text()
    assert json.loads((tmp_path / "cost.json").read_text())["currency"] == "USD"


SHEET = ("--product", EXAMPLES / "synology-ds2015xs.toml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "nothing to cost"),
        (("MEASURED",), "names no product"),
        ((*SHEET, "--at", "bs"), "OPTION=VALUE"),
        ((*SHEET, "--energy-price", "0.3"), "--years"),
        ((*SHEET, "-o", "x.xls"), "names no format"),
        ((*SHEET, "--p99", "1ms", "--mean", "1ms"), "two latency limits"),
    ],
)
def test_wrong_use_is_told(measured, arguments, words):
    done = call("cost", *(measured if one == "MEASURED" else one for one in arguments))
    assert done.returncode == 2
    assert words in done.stderr


# -- a search ------------------------------------------------------------------------------------------------------

SLOW = Law(random_read=Way(2e-3, 4000, 400e6), random_write=Way(2e-3, 4000, 400e6), noise=0.03)


@pytest.mark.long("product", "procedures")
def test_a_search_is_sold_by_its_confirming_runs():
    with tempfile.TemporaryDirectory(dir=os.environ.get("IOATLAS_TEST_DISK", "/var/tmp")) as place:
        (Path(place) / "t").mkdir()
        shell, directory = Shell(SLOW), Path(place) / "d"
        done = shell("tune", Path(place) / "t", "--size", "4m", "--p99", "10ms", "--max-jobs", "2", "-o", directory)
        assert done.returncode == 0, done.stderr
        best = json.loads((directory / "tune.json").read_text())["best"]
        sheet_ = ("--product", EXAMPLES / "synology-ds2015xs.toml", "--json")
        told = json.loads(call("cost", directory, *sheet_, "--p99", "10ms").stdout)
        unit = next(one for one in told["products"][0]["units"] if one["unit"] == "kIOPS read")
        assert unit["amount"] == pytest.approx(best["iops"] / 1000)
        assert (unit["amount_low"], unit["amount_high"]) == (
            pytest.approx(best["iops_low"] / 1000),
            pytest.approx(best["iops_high"] / 1000),
        )
        assert any("fixed request rate" in remark for remark in told["remarks"])
        # a stricter limit than the search had asks the trials, or nothing
        strict = json.loads(call("cost", directory, *sheet_, "--p99", "1us").stdout)
        assert [one["unit"] for one in strict["products"][0]["units"]] == ["usable TiB"]
        assert any("no measured cell fits" in remark for remark in strict["remarks"])


def test_cells_that_a_cache_may_have_answered_are_counted_in_the_remark():
    cached = result(estimate(iops=1e6, verdict=VerdictCode.CACHED))
    found = compare_costs([Offer(sheet("A"), cached, "t")], USD, Workload())
    assert any("1 cell may have been answered by a cache" in remark for remark in found.remarks)


def test_what_was_imported_is_sold_as_such():
    cell = Cell.of("t", {"rw": "read", "bs": 1 << 20})
    told = {"statistic": "mean of 40", "verdict": VerdictCode.IMPORTED}
    e = Estimate(cell, "read", "imported", 40, bw_bytes_per_s=95.9e6, **told)
    found = compare_costs([Offer(sheet("A", 4288), result(e), "t")], USD, Workload())
    unit = found.products[0].unit(Unit.MB_READ)
    assert unit.cost.value == pytest.approx(4288 / 95.9)
    assert unit.cost.low is None
    assert any("imported (mean of 40)" in remark for remark in found.remarks)


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
    assert "too few products" in str(done.exception)
