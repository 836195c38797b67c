# SPDX-License-Identifier: Apache-2.0
"""`ioatlas compare` with three sides and more: campaigns, targets of one campaign, tables that were exported."""

import csv
import json
from pathlib import Path

import pytest

from tests.simulate.law import Law, Way
from tests.unit.simulated import Shell

pytestmark = pytest.mark.usefixtures("no_law")

SWEEP = """
visits = 3
window = "300ms"
[[target]]
name = "one"
path = "ONE"
[[target]]
name = "two"
path = "TWO"
[sweep]
rw = ["randread", "randwrite"]
bs = ["16k", "64k"]
size = ["1m"]
numjobs = [1, 4]
direct = DIRECT
"""
ioatlas = Shell()


def law(speed: float, seed: int) -> Law:
    way = Way(20e-6 / speed, 80e3 * speed, 300e6 * speed)
    return Law(read=way, write=way, random_read=way, random_write=way, noise=0.02, seed=seed)


def measure(scratch: Path, name: str, speed: float, seed: int, direct: int = 1) -> Path:
    text = SWEEP.replace("DIRECT", str(direct))
    for target in ("one", "two"):
        (scratch / target).mkdir(exist_ok=True)
        text = text.replace(target.upper(), str(scratch / target))
    if name != "both":
        text = text.replace(text[text.index("[[target]]", text.index("[[target]]") + 1) : text.index("[sweep]")], "")
    (scratch / f"{name}.toml").write_text(text)
    done = Shell(law(speed, seed))("map", "--campaign", scratch / f"{name}.toml", "-o", scratch / name, "--yes")
    assert done.returncode == 0, done.stderr
    return scratch / name


@pytest.fixture(scope="module")
def scratch(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("many")
    for name, speed, seed in (("a", 1.0, 1), ("b", 0.85, 2), ("c", 1.0, 3), ("both", 1.0, 4)):
        measure(place, name, speed, seed)
    measure(place, "buffered", 1.0, 5, direct=0)
    return place


@pytest.mark.long("cli", "results")
def test_the_slow_one_of_three_comes_last_and_the_others_tie(scratch: Path) -> None:
    done = ioatlas("compare", *(scratch / name for name in "abc"), COLUMNS="80")
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("3 sides, throughput: ")
    assert first.endswith("SHARE THE FIRST PLACE")
    assert any(line.split()[:2] == ["3", "b"] for line in rest)
    assert {"Ties: a and c.", "Ties: c and a."} & set(rest)
    assert any("is found 8 times in 10" in line for line in rest)
    table = done.stdout[: done.stdout.index("Cells, against")]
    assert max(len(line) for line in table.splitlines()) <= 80


def test_json_has_every_pair_with_its_shares(scratch: Path) -> None:
    found = json.loads(ioatlas("compare", *(scratch / name for name in "abc"), "--json").stdout)
    names = [side["name"] for side in found["sides"]]
    assert names == ["a", "b", "c"]
    pairs = {(p["first"], p["second"]): p for p in found["pairs"]}
    assert set(pairs) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert pairs["a", "b"]["map"]["outcome"] == "lower"
    assert pairs["a", "b"]["map"]["ratio"] == pytest.approx(0.85, abs=0.03)
    assert pairs["a", "b"]["share_lower"] > 0.7
    assert pairs["a", "c"]["map"]["outcome"] in ("not different", "same")
    assert found["family_wise_error_of_maps"] == pytest.approx(0.05)
    assert [(place["best"], place["worst"]) for place in found["ranking"]] == [(1, 2), (1, 2), (3, 3)]
    assert found["reference"] is None


def test_a_reference_leaves_the_other_pairs_out(scratch: Path) -> None:
    places = [str(scratch / name) for name in "abc"]
    found = json.loads(ioatlas("compare", *places, "--reference", places[1], "--json").stdout)
    assert found["reference"] == "b"
    assert {pair["first"] for pair in found["pairs"]} == {"b"}
    assert len(found["pairs"]) == 2
    told = ioatlas("compare", *places, "--reference", "nobody")
    assert told.returncode == 2
    assert "not one of the sides" in told.stderr


def test_the_targets_inside_one_campaign_are_compared(scratch: Path) -> None:
    done = ioatlas("compare", scratch / "both", "--by", "target")
    assert done.returncode == 0, done.stderr
    assert "NO DIFFERENCE SHOWN" in done.stdout or "THE SAME within 2%" in done.stdout
    named = ioatlas("compare", f"{scratch / 'both'}:one", f"{scratch / 'both'}:two", "--json")
    found = json.loads(named.stdout)
    assert [side["name"] for side in found["sides"]] == ["one", "two"]
    assert len(found["pairs"][0]["cells"]) == 8


def test_one_side_alone_says_what_to_do(scratch: Path) -> None:
    done = ioatlas("compare", scratch / "a")
    assert done.returncode == 2
    assert "--by target" in done.stderr


def test_what_was_measured_otherwise_is_told_before_anything(scratch: Path) -> None:
    done = ioatlas("compare", scratch / "a", scratch / "buffered")
    assert done.returncode == 2
    assert "page cache: direct" in done.stderr
    several = ioatlas("compare", scratch / "a", scratch / "c", scratch / "buffered")
    assert several.returncode == 0
    assert "Not comparable here, because these differ: page cache: direct" in several.stdout


def test_what_was_exported_and_imported_has_ratios_and_no_test(scratch: Path, tmp_path: Path) -> None:
    ioatlas("export", scratch / "b", "--format", "json", "-o", tmp_path / "b.json")
    ioatlas("import", tmp_path / "b.json", "-o", tmp_path / "b")
    (pair,) = json.loads(ioatlas("compare", scratch / "a", tmp_path / "b", "--json").stdout)["pairs"]
    assert pair["map"] is None
    assert pair["cells_untested"] == 8
    assert pair["ratio"] == pytest.approx(0.85, abs=0.03)


def test_a_side_without_a_test_shares_no_place(scratch: Path, tmp_path: Path) -> None:
    ioatlas("export", scratch / "a", "--format", "json", "-o", tmp_path / "old.json")
    ioatlas("import", tmp_path / "old.json", "-o", tmp_path / "old")
    done = ioatlas("compare", scratch / "a", scratch / "b", tmp_path / "old")
    assert done.stdout.splitlines()[0] == "3 sides, throughput: a IS BEST; no test of old"
    assert "Not known to be the same: " in done.stdout
    third = ioatlas("compare", tmp_path / "old", scratch / "b").stdout
    assert third.startswith("2 sides, throughput: SINGLE READINGS")


def test_csv_has_every_cell_of_every_pair(scratch: Path, tmp_path: Path) -> None:
    done = ioatlas("compare", *(scratch / name for name in "abc"), "-o", tmp_path / "pairs.csv")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "pairs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 8
    assert {row["outcome"] for row in rows} <= {"higher", "lower", "same", "undecided"}
    assert all(float(row["ratio_low"]) <= float(row["ratio"]) <= float(row["ratio_high"]) for row in rows)


def page_data(path: Path) -> dict:
    text = path.read_text()
    start = text.index(">", text.index('id="ioatlas-data"')) + 1
    return json.loads(text[start : text.index("</script>", start)])


def test_the_page_has_all_maps_and_the_ratios_against_the_first(scratch: Path, tmp_path: Path) -> None:
    done = ioatlas("compare", *(scratch / name for name in "abc"), "-o", tmp_path / "many.html")
    assert done.returncode == 0, done.stderr
    data = page_data(tmp_path / "many.html")
    assert (data["comparison"]["first"], data["comparison"]["second"]) == (["a"], ["b", "c"])
    assert [target["name"] for target in data["targets"]] == ["a", "b", "c"]
    assert {"ratio", "ratio_low", "ratio_high", "ratio_told"} <= set(data["cells"]["values"])
    assert data["cells"]["n_rows"] == 3 * 8
    (sides,) = [table for table in data["tables"] if "share a letter" in table["title"]]
    assert sorted(row[1] for row in sides["rows"]) == ["a", "b", "c"]
    assert str(scratch) not in (tmp_path / "many.html").read_text()


def test_the_page_shows_targets_of_one_campaign(scratch: Path, tmp_path: Path) -> None:
    done = ioatlas("compare", scratch / "both", "--by", "target", "-o", tmp_path / "both.html")
    assert done.returncode == 0, done.stderr
    data = page_data(tmp_path / "both.html")
    assert (data["comparison"]["first"], data["comparison"]["second"]) == (["one"], ["two"])


def test_exit_code_3_names_who_is_worse_than_the_first(scratch: Path) -> None:
    done = ioatlas("compare", *(scratch / name for name in "abc"), "--fail-if-worse")
    assert done.returncode == 3
    assert "b (the map as a whole" in done.stderr
    assert " c (" not in done.stderr
    assert ioatlas("compare", *(scratch / name for name in "bac"), "--fail-if-worse").returncode == 0


def test_a_difference_that_does_not_matter_to_the_user_is_none(scratch: Path) -> None:
    places = [scratch / name for name in "abc"]
    found = json.loads(ioatlas("compare", *places, "--tolerance", "30%", "--json").stdout)
    assert {pair["map"]["outcome"] for pair in found["pairs"]} == {"same"}
    assert ioatlas("compare", *places, "--tolerance", "60%").returncode == 2


def test_options_of_two_campaigns_are_refused_for_three(scratch: Path) -> None:
    done = ioatlas("compare", *(scratch / name for name in "abc"), "--same", scratch / "a", "--same", scratch / "c")
    assert done.returncode == 2
    assert "--same is for two campaigns" in done.stderr


def test_results_of_other_tools_have_a_page_too(scratch: Path, tmp_path: Path) -> None:
    for name in "ab":
        outputs = sorted((scratch / name).glob("batches/*/fio.json"))
        assert ioatlas("import", *outputs, "-o", tmp_path / name).returncode == 0
    done = ioatlas("compare", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "ab.html")
    assert done.returncode == 0, done.stderr
    data = page_data(tmp_path / "ab.html")
    assert {name.split(":")[0] for name in data["comparison"]["first"]} == {"a"}
    assert {name.split(":")[0] for name in data["comparison"]["second"]} == {"b"}
    assert {"ratio", "ratio_told"} <= set(data["cells"]["values"])
