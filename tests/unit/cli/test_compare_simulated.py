# SPDX-License-Identifier: Apache-2.0
"""`ioatlas compare` on campaigns of a target of known speed, and of the same made 30% slower."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from ioatlas.answer.results.comparison import compare_sides
from ioatlas.answer.results.joined import joined_sides
from ioatlas.measure.campaign import load_result
from ioatlas.model.panel import Table
from tests.simulate.law import Law, Way
from tests.unit.simulated import LAW, Shell

pytestmark = pytest.mark.usefixtures("no_law")

SWEEP = """
window = "300ms"
[sweep]
rw = ["randread"]
bs = ["32k", "64k"]
size = ["1m"]
numjobs = [1, 2]
direct = 0
"""
ioatlas = Shell()


def measure(scratch: Path, name: str, bytes_per_s: float) -> Path:
    way = Way(10e-6, 1e6, bytes_per_s)
    (scratch / "disk").mkdir(exist_ok=True)
    (scratch / f"{name}.toml").write_text(SWEEP)
    sweep = ["--campaign", scratch / f"{name}.toml", "--visits", "3", "-o", scratch / name, "--yes"]
    done = Shell(Law(read=way, write=way, noise=0.02))("map", scratch / "disk", *sweep)
    assert done.returncode == 0, done.stderr
    return scratch / name


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory) -> tuple[Path, Path]:
    scratch = tmp_path_factory.mktemp("compare")
    return measure(scratch, "first", 100e6), measure(scratch, "second", 70e6)


def test_a_slower_limit_is_found_in_every_cell_and_as_a_whole(campaigns: tuple[Path, Path]) -> None:
    done = ioatlas("compare", *campaigns, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = json.loads(done.stdout)["pairs"]
    assert found["cells_compared"] == 4
    assert found["map"]["ratio"] == pytest.approx(0.7, abs=0.03)
    assert all(cell["ratio"] == pytest.approx(0.7, abs=0.06) for cell in found["cells"])
    assert {(cell["bs_bytes"], cell["numjobs"]) for cell in found["cells"]} == {
        (32768, 1),
        (32768, 2),
        (65536, 1),
        (65536, 2),
    }


def test_the_table_names_the_cells_by_what_differs(campaigns: tuple[Path, Path]) -> None:
    done = ioatlas("compare", *campaigns, "--cells")
    assert done.returncode == 0
    assert "randread, bs 64 KiB, numjobs 2" in done.stdout
    assert done.stdout.startswith("2 sides, throughput: second IS LOWER than first")
    assert "Assumed: the target drifted no more" in done.stdout


def test_exit_code_3_tells_that_it_got_worse(campaigns: tuple[Path, Path]) -> None:
    first, second = campaigns
    assert ioatlas("compare", first, second, "--fail-if-worse").returncode == 3
    assert ioatlas("compare", second, first, "--fail-if-worse").returncode == 0
    twice = ioatlas("compare", first, f"{first}/.", "--fail-if-worse")
    assert twice.returncode == 0
    assert "named twice" in twice.stderr
    assert "no such directory" in ioatlas("compare", first, first / "nowhere").stderr


def test_latencies_compare_the_other_way_round(campaigns: tuple[Path, Path]) -> None:
    (found,) = json.loads(ioatlas("compare", *campaigns, "--quantity", "lat_mean", "--json").stdout)["pairs"]
    assert found["map"]["ratio"] > 1.1


@pytest.mark.parametrize(
    ("arguments", "message"), [(["--tolerance", "60%"], "tolerance"), (["--same", "FIRST"], "two or more")]
)
def test_wrong_requests_are_refused(campaigns: tuple[Path, Path], arguments: list[str], message: str) -> None:
    done = ioatlas("compare", *campaigns, *[str(campaigns[0]) if word == "FIRST" else word for word in arguments])
    assert done.returncode == 2
    assert message in done.stderr


def test_a_directory_without_a_campaign_is_refused(campaigns: tuple[Path, Path], tmp_path: Path) -> None:
    done = ioatlas("compare", campaigns[0], tmp_path)
    assert done.returncode in (1, 2)
    assert "journal" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_page_holds_both_maps_and_what_changed(campaigns: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = campaigns
    done = ioatlas("compare", *campaigns, "-o", tmp_path / "both.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "both.html").stat().st_size > 100_000
    one, two = load_result(first), load_result(second)
    found = compare_sides((first, second))
    law = Table("The law, load by load", ("load",), (("4 KiB",),))
    both = joined_sides([replace(one, page_tables=(law,)), two], found)
    assert both.page_tables == (), "it is of one side"
    assert [target.name for target in both.targets] == list(found.names)
    assert len(both.estimates) == len(one.estimates) + len(two.estimates)
    assert {each.cell_key for each in both.changes} == {
        e.cell.key for e in both.estimates if e.cell.target == found.names[1]
    }
    by_value = {(e.cell.bs_bytes, e.cell.numjobs): e.bw_bytes_per_s for e in one.estimates}
    for change in both.changes:
        [e] = [each for each in both.estimates if each.cell.key == change.cell_key]
        assert change.ratio == pytest.approx(e.bw_bytes_per_s / by_value[e.cell.bs_bytes, e.cell.numjobs], rel=0.05)
        assert change.low < change.ratio < change.high


def test_a_damaged_file_of_imported_results_is_refused_in_words(campaigns: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "imported").mkdir()
    (tmp_path / "imported" / "imported.sqlite").write_bytes(b"")
    done = ioatlas("compare", campaigns[0], tmp_path / "imported", "-o", tmp_path / "both.html")
    assert done.returncode == 1
    assert "remove the file and import again" in done.stderr
    assert not (tmp_path / "both.html").exists()


def test_a_build_gets_a_case_for_each_cell_and_a_pull_request_the_answer(campaigns, tmp_path):
    files = ["--junit", tmp_path / "c.xml", "--markdown", tmp_path / "c.md"]
    done = ioatlas("compare", *campaigns, "--fail-if-worse", *files)
    assert done.returncode == 3
    suite = ET.parse(tmp_path / "c.xml").getroot().find("testsuite")
    assert suite.get("name").endswith("first: throughput")
    cases = {case.get("name"): case.find("failure") for case in suite}
    assert len(cases) == 5
    assert all(failure is not None for failure in cases.values())
    assert "bs 32 KiB" in " ".join(cases)
    text = (tmp_path / "c.md").read_text()
    assert re.search(r"❌ the map as a whole: -(29|30|31)\.\d% .*4 more got worse", text)
    same = ioatlas("compare", campaigns[0], campaigns[0], "--junit", tmp_path / "same.xml")
    assert same.returncode == 0
    suite = ET.parse(tmp_path / "same.xml").getroot().find("testsuite")
    assert suite.get("failures") == "0"


def test_three_sides_are_checked_against_the_first(campaigns, tmp_path):
    first, second = campaigns
    done = ioatlas("compare", first, second, first, "--junit", tmp_path / "c.xml")
    assert done.returncode == 0, done.stderr
    suite = ET.parse(tmp_path / "c.xml").getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("10", "5")


WEAK = """
visits = 2
window = "300ms"
[sweep]
rw = ["randread", "write"]
bs = ["4k", "64k"]
size = "8m"
numjobs = [1, 4]
"""


def test_compare_says_when_the_test_was_weak(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").mkdir()
    (tmp_path / "sweep.toml").write_text(WEAK)
    shell = Shell(LAW)
    for name in ("a", "b"):
        done = shell("map", "t", "--campaign", "sweep.toml", "-o", name, "--yes")
        assert done.returncode == 0, done.stderr
    rows = shell("compare", "a", "b").stdout.splitlines()
    assert len(rows) <= 25
    assert "throughput: " in rows[0]
    assert any(row.startswith("Power") for row in rows)
