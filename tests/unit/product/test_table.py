# SPDX-License-Identifier: Apache-2.0
"""Products side by side: what is stated, what was claimed and measured, what works."""

import csv
import json
from pathlib import Path

import pytest

from ioatlas.answer.product.cost import Offer
from ioatlas.answer.product.sheet_file import read_sheet
from ioatlas.answer.product.table import Kept, check_claim, columns, rows
from ioatlas.model.cell import Cell
from ioatlas.model.estimate import Estimate, Limit
from ioatlas.model.result import CampaignResult
from ioatlas.model.verdict import VerdictCode
from tests.command_line import call

EXAMPLES = Path(__file__).parents[3] / "examples" / "products"
HEAD = 'format = 1\n[source]\nname = "data sheet"\n[product]\nvendor = "V"\nmodel = "M"\n'


def claim(value="100 MB/s", cell='{rw = "read", bs = "1m"}'):
    return read_sheet(f'{HEAD}[[claim]]\nwhat = "reads"\nvalue = "{value}"\ncell = {cell}\n').claims[0]


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
    head, body = rows(columns([Offer(read_sheet(HEAD + FUNCTION)), Offer(read_sheet(HEAD))]))
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
