# SPDX-License-Identifier: Apache-2.0
"""Product sheets: what they take, how faults are told; the studies' tables computed from them, and side by side."""

import csv
import json
import time
import tomllib
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioatlas.answer.product.cost import Offer
from ioatlas.answer.product.figures import figures, remarks
from ioatlas.answer.product.price import bill_of, charged, monthly
from ioatlas.answer.product.quantity import TB, TIB
from ioatlas.answer.product.sheet import Origin, Period, Rate, RateOf, schema
from ioatlas.answer.product.sheet_file import read_sheet, read_sheet_file
from ioatlas.answer.product.table import Kept, check_claim, columns, rows
from ioatlas.model.cell import Cell
from ioatlas.model.errors import UsageError
from ioatlas.model.estimate import Estimate, Limit
from ioatlas.model.result import CampaignResult
from ioatlas.model.verdict import VerdictCode
from tests.command_line import call

EXAMPLES = Path(__file__).parents[3] / "examples" / "products"
HEAD = 'format = 1\n[source]\nname = "a data sheet"\ndate = 2020-06-18\n[product]\nvendor = "V"\nmodel = "M"\n'


def told(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        figures(read_sheet(text, "p.toml"))
    return str(caught.value)


# -- the studies' tables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "total", "printed_tib", "printed", "computed", "usable_tb"),
    [
        ("netgear-rn51600", 3282, 27, 121.5, 121.56, 30),
        ("synology-ds2015xs", 4288, 43, 99.7, 99.72, 48),
        ("synology-fs6400", 70_000, 288, 243, 243.06, 216),
        ("synology-sa3400", 40_000, 648, 62, 61.73, None),
    ],
)
def test_published_prices_per_tib_are_computed_from_the_sheets(name, total, printed_tib, printed, computed, usable_tb):
    sheet = read_sheet_file(EXAMPLES / f"{name}.toml")
    found = figures(sheet)
    assert found.price_total == total
    assert sheet.printed.capacity_bytes == printed_tib * TIB
    assert sheet.printed.price_per_tib == printed
    assert found.printed.computed_per_tib == pytest.approx(computed, abs=0.005)
    assert abs(found.printed.computed_per_tib - printed) < 0.3
    if usable_tb is None:
        assert found.usable_bytes is None
        assert found.price_per_tib is None
    else:
        assert found.usable_bytes == usable_tb * TB
        assert found.price_per_tib == pytest.approx(total / (usable_tb * TB / TIB))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("synology-fs6400", "288.0 TB = 261.9 TiB"),
        ("synology-sa3400", "648.0 TB = 589.4 TiB"),
        ("netgear-rn51600", "our usable capacity is 27.3 TiB (30.0 TB)"),
        ("synology-ds2015xs", "our usable capacity is 43.7 TiB (48.0 TB)"),
        ("netgear-rn51600", "Printed: 121.5, which is that cut off, not rounded"),
        ("synology-ds2015xs", "Printed: 99.7, which is that rounded"),
    ],
)
def test_where_their_units_differ_a_sentence_says_so(name, sentence):
    found = figures(read_sheet_file(EXAMPLES / f"{name}.toml"))
    assert any(sentence in one for one in found.printed.sentences), found.printed.sentences


def test_a_price_per_terabyte_is_more_per_tebibyte():
    found = figures(read_sheet_file(EXAMPLES / "purestorage-x20.toml"))
    assert found.price_total is None
    assert found.price_per_tib == pytest.approx(5000 * TIB / TB)
    assert round(found.price_per_tib) == 5498


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_examples_are_sound_and_fit_the_schema(path):
    sheet = read_sheet_file(path)
    figures(sheet)
    assert all(fact.origin.source for fact in sheet.facts)
    written = json.loads(json.dumps(tomllib.loads(path.read_text()), default=str))
    jsonschema.Draft202012Validator(schema()).validate(written)


def test_a_volume_of_a_service_costs_what_its_price_list_says():
    """500 GiB at 0.08, 3,000 IOPS above those included at 0.005, 125 MiB/s above those included at 0.04 USD a month."""
    found = figures(read_sheet_file(EXAMPLES / "amazon-ebs-gp3.toml"))
    assert found.per_month == pytest.approx(40 + 15 + 5)
    both = ("--product", EXAMPLES / "amazon-ebs-gp3.toml", "--product", EXAMPLES / "synology-ds2015xs.toml")
    shown = call("cost", *both, "--years", "5").stdout
    told = [line.split() for line in shown.splitlines()]
    assert ["purchase", "-", "4,288", "USD"] in told
    assert ["service", "3,600", "USD", "-"] in told


# -- faults --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + 'vendr = "X"\n', ["p.toml:8", "unknown key 'vendr'", "did you mean 'vendor'?"]),
        (HEAD + "cpu = 5\n", ["p.toml:8", "product.cpu", "a text in quotes"]),
        (HEAD + "cpu = {valeu = 5}\n", ["unknown key 'valeu'", "did you mean 'value'?"]),
        (HEAD + '[[drives]]\ncount = 3\ncapcity = "4 TB"\n', ["p.toml:10", "did you mean 'capacity'?"]),
        (HEAD + '[[drives]]\ncount = 3\ncapacity = "4T"\n', ["p.toml:10", "4 TB", "4 TiB"]),
        (HEAD + '[layout]\ntype = "raid7"\n', ["p.toml:9", "'raid6'"]),
        (HEAD + '[[price]]\nwhat = "x"\neach = -1\ncurrency = "USD"\n', ["p.toml:10", "a number of at least 0"]),
        (HEAD + '[[price]]\nwhat = "x"\neach = inf\ncurrency = "USD"\n', ["p.toml:10", "a finite number"]),
        (HEAD + '[[price]]\nwhat = "x"\neach = 1\ncurrency = "usd"\n', ["p.toml:11", "three letters"]),
        (HEAD.replace("format = 1", "format = 2"), ["format is 2", "update ioatlas"]),
        (HEAD.replace("2020-06-18", '"June"'), ["p.toml:4", "a date"]),
        ('format = 1\n[product]\nvendor = "V"\nmodel = "M"\n', ["p.toml:3", "'vendor' has no source", "[source]"]),
        (HEAD + "x =\n", ["p.toml:8", "not TOML"]),
    ],
)
def test_a_fault_names_line_key_and_remedy(text, words):
    message = told(text)
    assert all(word in message for word in words), message


def test_a_sheet_of_many_drives_is_refused_or_quick():
    many = "".join(f'[[drives]]\ncount = 100000\ncapacity = "{n} TB"\n' for n in range(1, 300))
    assert "more than 100,000 drives" in told(HEAD + many)
    few = "".join(f'[[drives]]\ncount = 50\ncapacity = "{n} GB"\n' for n in range(1, 501))
    began = time.process_time()
    for layout in ('type = "shr-1"', 'type = "erasure"\ndata = 20000\nparity = 999', 'type = "raid5"'):
        assert figures(read_sheet(f"{HEAD}{few}[layout]\n{layout}\n")).usable_bytes > 0
    assert time.process_time() - began < 20


def test_a_fact_carries_its_own_source_and_date_and_takes_no_date_of_another():
    text = (
        'format = 1\n[product]\nvendor = {value = "V", source = "label", date = 2021-01-02}\n'
        'model = {value = "M", source = "label"}\n[facts]\n'
        'snapshots = {value = true, source = "tried", date = "2021"}\n'
    )
    assert [(fact.name, fact.value, fact.origin) for fact in read_sheet(text).facts] == [
        ("vendor", "V", Origin("label", "2021-01-02")),
        ("model", "M", Origin("label", "")),
        ("snapshots", True, Origin("tried", "2021")),
    ]
    sheet = read_sheet(HEAD + 'cpu = {value = "C", source = "label"}\n')
    assert [sheet.facts[at].origin for at in (0, -1)] == [Origin("a data sheet", "2020-06-18"), Origin("label", "")]


# -- money ---------------------------------------------------------------------------------------------------------

YEN = '[[price]]\nwhat = "box"\neach = 10_690\ncurrency = "JPY"\n'
DOLLARS = '[[price]]\nwhat = "drive"\ncount = 4\neach = 50\ncurrency = "USD"\n'
RATE = '[[exchange]]\ncurrency = "JPY"\nfor_one = "USD"\nrate = 106.9\n'


def test_prices_in_two_currencies_need_a_rate_and_a_currency():
    assert "the total has no currency" in told(HEAD + YEN + DOLLARS)
    top = HEAD.replace("format = 1", 'format = 1\ncurrency = "USD"')
    assert "no exchange rate from JPY to USD" in told(top + YEN + DOLLARS)
    assert figures(read_sheet(top + YEN + DOLLARS + RATE)).price_total == pytest.approx(300)
    assert figures(read_sheet(top + YEN + DOLLARS + RATE), "JPY").price_total == pytest.approx(300 * 106.9)


def test_prices_with_and_without_tax_are_not_added_as_they_are():
    included = DOLLARS + 'tax = "included"\n'
    excluded = DOLLARS + 'tax = "excluded"\n'
    assert "holds tax and others do not" in told(HEAD + included + excluded)
    bill = bill_of(read_sheet(HEAD + included + 'tax_rate = "25%"\n' + excluded))
    assert bill.total == pytest.approx(200 / 1.25 + 200)
    assert bill.with_tax is False
    assert bill_of(read_sheet(HEAD + included)).with_tax is True
    assert bill_of(read_sheet(HEAD + DOLLARS)).with_tax is None


SERVICE = """
[volume]
size = "1 TiB"
iops = 6000
throughput = "250 MiB/s"
[[rate]]
of = "capacity"
amount = 0.08
unit = "GiB"
currency = "USD"
[[rate]]
of = "iops"
amount = 0.005
included = 3000
currency = "USD"
[[rate]]
of = "throughput"
amount = 0.04
unit = "MiB/s"
included = 125
currency = "USD"
"""


def test_a_provisioned_volume_costs_what_its_rates_say():
    sheet = read_sheet(HEAD + SERVICE)
    found = figures(sheet)
    assert monthly(sheet) == pytest.approx(1024 * 0.08 + 3000 * 0.005 + 125 * 0.04)
    assert found.per_month == pytest.approx(101.92)
    assert found.per_tib_month == pytest.approx(101.92)
    assert found.usable_bytes == TIB
    assert found.price_total is None
    assert found.price_per_tib is None
    assert "how much" in told(HEAD + SERVICE.replace("iops = 6000\n", ""))
    assert "provisioned" in told(
        HEAD + SERVICE.replace('size = "1 TiB"\niops = 6000\nthroughput = "250 MiB/s"\n', "").replace("[volume]", "")
    )


@given(st.floats(0, 1e6), st.floats(1, 1e5), st.floats(1, 1e5))
def test_steps_of_a_rate_add_up_to_the_rate_without_steps(units, first, more):
    def rate(included, up_to):
        return Rate(of=RateOf.IOPS, amount=0.065, currency="USD", included=included, up_to=up_to)

    steps = (rate(0, first), rate(first, first + more), rate(first + more, None))
    assert sum(charged(one, units) for one in steps) == pytest.approx(charged(rate(0, None), units))


def test_an_hour_is_a_730th_of_a_month():
    one = Rate(of=RateOf.VOLUME, amount=0.1, period=Period.HOUR, currency="USD")
    assert charged(one, 1) == pytest.approx(73)


# -- commands ------------------------------------------------------------------------------------------------------


def test_new_makes_a_sheet_that_is_sound_and_overwrites_none(tmp_path):
    place = tmp_path / "nas.toml"
    given_ = ("--vendor", "Syn", "--model", "DS1", "--drives", 8, "--capacity", "8 TB", "--layout", "raid6")
    made = call("product", "new", place, *given_, "--price", 4288)
    assert made.returncode == 0, made.stderr
    shown = json.loads(call("product", "show", place, "--json").stdout)
    assert (shown["usable_bytes"], shown["price_total"], shown["currency"]) == (48 * TB, 4288, "USD")
    assert shown["usable_tib"] == pytest.approx(43.6557, abs=1e-4)
    assert shown["price_per_tib"] == pytest.approx(98.22, abs=0.01)
    again = call("product", "new", place)
    assert again.returncode == 2
    assert "there already" in again.stderr


def test_new_without_anything_is_a_template_that_reads(tmp_path):
    place = tmp_path / "nas.toml"
    assert call("product", "new", place).returncode == 0
    checked = call("product", "check", place)
    assert checked.returncode == 0
    assert "There is no price" in checked.stdout
    # every commented table is one that the format takes
    text = place.read_text()
    body = [line for line in text.splitlines() if not line.startswith(("# What", "# A fact"))]
    read_sheet("\n".join(line.removeprefix("# ") for line in body))


def test_new_refuses_what_cannot_be_before_it_writes(tmp_path):
    place = tmp_path / "nas.toml"
    refused = call("product", "new", place, "--drives", 3, "--capacity", "8 TB", "--layout", "raid6")
    assert refused.returncode == 2
    assert "at least 4 drives" in refused.stderr
    assert not place.exists()

    for option in ("--capacity", "--currency"):
        alone = call("product", "new", place, option, "8 TB" if option == "--capacity" else "EUR")
        assert alone.returncode == 2
        assert "says nothing without" in alone.stderr
    assert not place.exists()


def test_check_tells_every_fault_of_every_sheet(tmp_path):
    text = HEAD.replace('model = "M"', 'model = ""') + 'colour = "red"\n[[drives]]\ncount = "five"\nread = 200\n'
    (tmp_path / "bad.toml").write_text(text + '[[price]]\neach = -5\ncurrency = "USD"\n')
    (tmp_path / "good.toml").write_text(HEAD)
    done = call("product", "check", tmp_path / "bad.toml", tmp_path / "none.toml", tmp_path / "good.toml")
    assert done.returncode == 2
    assert "good.toml: sound" in done.stdout
    for line, key in ((7, "product.model"), (8, "product.colour"), (10, "drives.count"), (11, "drives.read")):
        assert f"bad.toml:{line}, key '{key}'" in done.stderr
    assert "'' is not a non-empty text" in done.stderr
    assert "bad.toml:12, key 'price.what'" in done.stderr
    assert "bad.toml:13, key 'price.each'" in done.stderr
    assert "none.toml: the product sheet cannot be read" in done.stderr


def test_check_can_be_a_gate(tmp_path):
    done = call("product", "check", EXAMPLES / "synology-ds916plus.toml", "--complete")
    assert done.returncode == 3
    assert call("product", "check", tmp_path / "none.toml").returncode == 2


def test_show_answers_first():
    shown = call("product", "show", EXAMPLES / "synology-ds2015xs.toml", "-v").stdout.splitlines()
    assert shown[1].startswith("Usable       43.7 TiB (48.0 TB)   survives 2 drive failures")
    assert "4,288 USD   98.2 USD per usable TiB" in shown[2]
    assert max(len(line) for line in shown) <= 100


def test_a_licence_that_forbids_is_loud():
    text = HEAD + '[publishing]\nlicence = "no"\nsays = "no benchmarks"\n'
    sheet = read_sheet(text)
    assert any("no permission" in remark for remark in remarks(sheet, figures(sheet)))


FIRST_LINE = 'format = 1\n[source]\nname = "data sheet"\n[product]\nvendor = "V"\nmodel = "M"\n'


def claim(value="100 MB/s", cell='{rw = "read", bs = "1m"}'):
    return read_sheet(f'{FIRST_LINE}[[claim]]\nwhat = "reads"\nvalue = "{value}"\ncell = {cell}\n').claims[0]


def result(*, low, value, high, **more):
    cell = Cell.of("t", {"rw": "read", "bs": 1 << 20})
    interval = {"bw_low": low * 1e6, "bw_high": high * 1e6, "verdict": VerdictCode.STEADY}
    e = Estimate(cell, "read", "measured", 3, value * 1e6, **interval, **more)
    return CampaignResult("id", "n", 0.0, "0", (), {}, {}, (e,))


BY_CLIENT = {"limit": Limit("client CPU")}


@pytest.mark.parametrize(
    ("low", "value", "high", "more", "kept"),
    [
        (101, 110, 120, {}, Kept.REACHED),
        (80, 90, 99, {}, Kept.MISSED),
        (90, 100, 110, {}, Kept.UNDECIDED),
        (80, 90, 99, BY_CLIENT, Kept.UNDECIDED),
    ],
)
def test_a_claim_is_judged_by_the_interval_where_the_client_was_not_the_limit(low, value, high, more, kept):
    check = check_claim(claim(), result(low=low, value=value, high=high, **more))
    assert check.kept is kept
    assert check.share == pytest.approx(value / 100)
    assert ("the client was the limit" in check.text) is bool(more)


@pytest.mark.parametrize(
    ("value", "cell", "kept"),
    [
        ("very fast", '{rw = "read"}', Kept.WORDS),
        ("100 MB/s", "{}", Kept.NOT_MEASURED),
        ("100 MB/s", '{rw = "write"}', Kept.NOT_MEASURED),
        ("100 MB/s", '{rw = "read", bs = "4k"}', Kept.NOT_MEASURED),
    ],
)
def test_what_cannot_be_judged_says_why(value, cell, kept):
    check = check_claim(claim(value, cell), result(low=1, value=2, high=3))
    assert check.kept is kept
    assert kept is Kept.WORDS or check.why


def test_a_claimed_latency_is_kept_by_a_lower_one():
    measured = result(low=1, value=2, high=3, lat_mean_ns=9e5, lat_mean_low_ns=8e5, lat_mean_high_ns=9.5e5)
    assert check_claim(claim("1 ms"), measured).kept is Kept.REACHED
    assert check_claim(claim("0.5 ms"), measured).kept is Kept.MISSED


@pytest.mark.parametrize(("text", "iops"), [("200 k IOPS", 2e5), ("1.5 M IOPS", 1.5e6), ("195,000 IOPS", 195_000)])
def test_claims_are_read_as_makers_write_them(text, iops):
    found = claim(text)
    assert (found.quantity, found.value) == ("iops", iops)


FUNCTION = """[[function]]
name = "LUN snapshots"
listed = true
works = "no"
evidence = "never ended, 2 of 2 times"
vendor_answer = "none after 30 days"
"""


def test_a_listed_function_that_does_not_work_stands_with_its_evidence():
    head, body = rows(columns([Offer(read_sheet(FIRST_LINE + FUNCTION)), Offer(read_sheet(FIRST_LINE))]))
    told = {row[0]: row[1:] for row in body}
    assert head == ["", "V M", "V M"]
    assert told["function: LUN snapshots"] == [
        "listed, does not work: never ended, 2 of 2 times. Vendor: none after 30 days",
        "not stated",
    ]
    assert told["sources"] == ["data sheet", "data sheet"]


def test_the_study_of_2021_side_by_side(tmp_path):
    sheets = [EXAMPLES / f"synology-{name}.toml" for name in ("fs6400", "sa3400")]
    for ending in ("md", "csv", "html", "json"):
        done = call("product", "table", *sheets, "-o", tmp_path / f"t.{ending}")
        assert done.returncode == 0, done.stderr
    found = {row[0]: row[1:] for row in csv.reader((tmp_path / "t.csv").read_text().splitlines())}
    assert found["price per TiB as printed"] == ["243 USD", "62 USD"]
    assert found["usable capacity"] == ["196.5 TiB (216.0 TB)", "not stated"]
    assert "| memory | 512 GB | 128 GB |" in (tmp_path / "t.md").read_text()
    page = (tmp_path / "t.html").read_text()
    assert "<td>512 GB</td>" in page
    assert "http" not in page.replace("http-equiv", "")
    assert len(json.loads((tmp_path / "t.json").read_text())["products"]) == 2


def test_wrong_use_of_the_table_is_told(tmp_path):
    done = call("product", "table", EXAMPLES / "synology-fs6400.toml", "-o", tmp_path / "t.docx")
    assert done.returncode == 2
    assert not (tmp_path / "t.docx").exists()
