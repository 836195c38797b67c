# SPDX-License-Identifier: Apache-2.0
"""Campaigns that name their product: the sheet is checked first, kept with the campaign, and told in every answer."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from ioatlas.answer.product.kept import kept_sheet
from ioatlas.measure.campaign import load_result
from ioatlas.measure.procedures.options import read_campaign_file
from ioatlas.report.page_data import report_data
from tests.unit.simulated import LAW, Shell

EXAMPLES = Path(__file__).parents[3] / "examples" / "products"
SWEEP = """
visits = 2
window = "200ms"
{head}
[sweep]
rw = ["read", "randread"]
bs = ["4k", "1m"]
size = "8m"
numjobs = [1, 4]
"""
CONFIGURATION = """[[configuration]]
name = "{name}"
path = "{name}"
product = "{sheet}"
factors = {{ drives = {drives} }}
"""


@pytest.fixture(scope="module")
def shell():
    return Shell(LAW)


@pytest.fixture(scope="module")
def place():
    with tempfile.TemporaryDirectory(dir=os.environ.get("IOATLAS_TEST_DISK", "/var/tmp")) as made:
        for name in ("one", "big", "small"):
            (Path(made) / name).mkdir()
        for sheet in ("synology-ds2015xs", "netgear-rn51600"):
            shutil.copy(EXAMPLES / f"{sheet}.toml", made)
        yield Path(made)


@pytest.fixture(scope="module")
def single(shell, place):
    (place / "one.toml").write_text(SWEEP.format(head='product = "synology-ds2015xs.toml"'))
    done = shell("map", place / "one", "--campaign", place / "one.toml", "-o", place / "d1", "--yes")
    assert done.returncode == 0, done.stderr
    return place / "d1", done.stdout


@pytest.fixture(scope="module")
def configured(shell, place):
    head = CONFIGURATION.format(name="big", sheet="synology-ds2015xs.toml", drives=8)
    head += CONFIGURATION.format(name="small", sheet="netgear-rn51600.toml", drives=6)
    (place / "two.toml").write_text(SWEEP.format(head=head).replace('path = "', f'path = "{place}/'))
    done = shell("map", "--campaign", place / "two.toml", "-o", place / "d2", "--yes")
    assert done.returncode == 0, done.stderr
    return place / "d2"


def test_the_sheet_is_copied_and_told_in_the_answer(single):
    directory, told = single
    assert (directory / "product.toml").read_text() == (EXAMPLES / "synology-ds2015xs.toml").read_text()
    assert any(line.startswith("Price        98.2 USD per usable TiB · ") for line in told.splitlines())
    assert len(told.splitlines()) <= 25


def test_a_campaign_file_that_was_written_names_the_sheet_again(single, place):
    spec = read_campaign_file(single[0] / "campaign.toml")
    assert spec.product == str(place / "synology-ds2015xs.toml")


def test_result_page_and_json_hold_the_same_cost(shell, single):
    directory, _ = single
    result = load_result(directory)
    cost = result.costs[0]
    assert (cost.product, cost.total, cost.currency) == ("Synology DS2015xs", 4288, "USD")
    units = {one.unit: one for one in cost.units}
    assert units["usable TiB"].cost == pytest.approx(98.22, abs=0.01)
    assert units["kIOPS read"].cost == pytest.approx(4288 / units["kIOPS read"].amount)
    page = report_data(result).costs[0]
    shown = {one.unit: one for one in page.units}
    assert shown["kIOPS read"].row is not None
    assert shown["usable TiB"].row is None
    assert shown["kIOPS read"].cost == units["kIOPS read"].cost
    document = json.loads(shell("show", directory, "--json").stdout)
    assert document["costs"][0]["total"] == 4288


@pytest.mark.long("product")
def test_every_configuration_has_its_own_sheet(shell, configured):
    assert kept_sheet(configured, "big").model == "DS2015xs"
    assert kept_sheet(configured, "small").vendor == "NETGEAR"
    assert not (configured / "product.toml").exists()
    done = shell("cost", configured, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [one["product"] for one in found["products"]] == ["Synology DS2015xs", "NETGEAR ReadyNAS 516 (RN51600)"]
    assert {one["unit"] for one in found["answers"]} >= {"usable TiB", "MB/s read", "kIOPS read"}


def test_a_bad_sheet_is_refused_before_anything_is_made(shell, place):
    (place / "bad.toml").write_text("format = 1\n[product]\nvendor = 3\n")
    done = shell("map", place / "one", "--product", place / "bad.toml", "-o", place / "d3", "--yes")
    assert done.returncode == 2
    assert "bad.toml:3" in done.stderr
    assert not (place / "d3").exists()
    assert not os.listdir(place / "one")


def test_a_kept_sheet_may_be_corrected_and_is_no_link(shell, single, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(single[0], copy)
    text = (copy / "product.toml").read_text()
    (copy / "product.toml").write_text(text.replace("each = 1560", "each = 2560"))
    assert load_result(copy).costs[0].total == 5288
    (copy / "product.toml").unlink()
    assert load_result(copy).costs == ()
    (copy / "product.toml").symlink_to(EXAMPLES / "synology-ds2015xs.toml")
    refused = shell("show", copy)
    assert refused.returncode == 2
    assert "product.toml" in refused.stderr


def test_a_campaign_without_a_product_has_no_price(shell, place):
    (place / "none.toml").write_text(SWEEP.format(head=""))
    done = shell("map", place / "one", "--campaign", place / "none.toml", "-o", place / "d4", "--yes")
    assert done.returncode == 0, done.stderr
    assert "Price" not in done.stdout
    assert report_data(load_result(place / "d4")).costs == []
    assert "names no product" in shell("cost", place / "d4").stderr
