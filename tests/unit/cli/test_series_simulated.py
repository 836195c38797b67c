# SPDX-License-Identifier: Apache-2.0
"""`ioatlas history series`: campaigns measured apart, joined by their factors."""

import csv
import json
import re
import shutil

import pytest

from ioatlas.config.series_file import parse_factors, read_series
from ioatlas.errors import UsageError
from ioatlas.model.factors import Factor
from tests.simulate.law import Law, Way
from tests.unit.simulated import Shell

pytestmark = pytest.mark.usefixtures("no_law")

RATES = {3: 60e6, 7: 140e6, 11: 141e6}
CAMPAIGN = """
visits = 3
[target]
path = "TARGET"
[sweep]
rw = "write"
bs = ["64k", "1m"]
size = "16m"
iodepth = 4
direct = DIRECT
"""


def measure(place, drives, direct=1):
    way = Way(1e-4, 50_000, RATES[drives])
    target = place / f"target{drives}"
    target.mkdir()
    (place / "c.toml").write_text(CAMPAIGN.replace("TARGET", str(target)).replace("DIRECT", str(direct)))
    shell = Shell(Law(read=way, write=way, noise=0.01))
    found = shell("map", "--campaign", place / "c.toml", "-o", place / f"d{drives}")
    assert found.returncode == 0, found.stderr


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Three campaigns on targets of other speeds, and a series of them."""
    place = tmp_path_factory.mktemp("series")
    for drives in RATES:
        measure(place, drives)
    shell = Shell()
    assert shell("series", "new", place / "s.toml", "--name", "more drives").returncode == 0
    for drives in (7, 3, 11):
        added = shell("series", "add", place / "s.toml", place / f"d{drives}", "--factor", f"drives={drives}")
        assert added.returncode == 0, added.stderr
    return place


def test_it_tells_what_the_factor_does(measured):
    found = Shell()("series", "show", measured / "s.toml")
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert lines[0] == "more drives · 3 members"
    assert lines[1].startswith("Nothing else that is known differs")
    told = re.search(r"From 3 to (?:7|11) drives writes grow [\d.]+ times \(([\d.]+) to ([\d.]+)\)", found.stdout)
    assert told, found.stdout
    assert float(told[1]) <= 2.4, "the truth is 7/3 from 7 on, and both ends are rounded"
    assert float(told[2]) >= 2.3
    assert float(told[2]) - float(told[1]) <= 0.6
    assert "Scaling efficiency at 11 drives: 6" in found.stdout


def test_all_of_it_is_written_as_a_page_and_a_table(measured, tmp_path):
    shell = Shell()
    for name in ("s.html", "s.csv", "s.json", "s.svg"):
        found = shell("series", "show", measured / "s.toml", "-o", tmp_path / name)
        assert found.returncode == 0, found.stderr
    rows = list(csv.DictReader((tmp_path / "s.csv").open()))
    assert {(row["configuration"], row["factor_drives"]) for row in rows} == {("d3", "3"), ("d7", "7"), ("d11", "11")}
    assert len(rows) == 6
    data = json.loads((tmp_path / "s.json").read_text())
    assert [one["factors"]["drives"]["value"] for one in data["configurations"]] == [7, 3, 11]
    assert "factor_drives" in (tmp_path / "s.html").read_text()
    assert shell("series", "show", measured / "s.toml", "-o", tmp_path / "s.doc").returncode == 2


def test_what_else_differs_is_told_first(measured, tmp_path):
    shutil.copytree(measured / "d3", tmp_path / "d3")
    measure(tmp_path, 7, direct=0)
    shell = Shell()
    shell("series", "new", tmp_path / "s.toml")
    for drives in (3, 7):
        shell("series", "add", tmp_path / "s.toml", tmp_path / f"d{drives}", "--factor", f"drives={drives}")
    found = shell("series", "show", tmp_path / "s.toml")
    lines = found.stdout.splitlines()
    assert lines[1] == "Besides the factors these differ:"
    assert any("page cache: direct (d3), buffered (d7)" in line for line in lines[2:5])


def test_the_file_keeps_what_people_wrote_and_leads_from_where_it_lies(measured, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(measured, moved)
    path = moved / "s.toml"
    path.write_text("# mine\n" + path.read_text())
    assert [member.place.name for member in read_series(path).members] == ["d7", "d3", "d11"]
    assert Shell()("series", "show", path).returncode == 0
    assert path.read_text().startswith("# mine\n")
    twice = Shell()("series", "add", path, moved / "d3", "--factor", "drives=3")
    assert twice.returncode == 2
    assert "in the series already" in twice.stderr


def test_what_cannot_be_is_refused_with_a_remedy(measured, tmp_path):
    shell = Shell()
    assert "series new" in shell("series", "add", tmp_path / "no.toml", measured / "d3", "--factor", "a=1").stderr
    shell("series", "new", tmp_path / "s.toml")
    assert shell("series", "new", tmp_path / "s.toml").returncode == 2
    assert "needs two" in shell("series", "show", tmp_path / "s.toml").stderr
    assert "--factor" in shell("series", "add", tmp_path / "s.toml", measured / "d3").stderr
    assert shell("series", "add", tmp_path / "s.toml", tmp_path, "--factor", "a=1").returncode != 0
    assert shell("export", measured / "d3", "-o", tmp_path / "d3.csv").returncode == 0
    table = shell("series", "add", tmp_path / "s.toml", tmp_path / "d3.csv", "--factor", "a=1")
    assert table.returncode == 2
    assert "ioatlas import" in table.stderr
    (tmp_path / "s.toml").write_text("[[member]]\npath = 'x'\nfactor = 3\n")
    bad = shell("series", "show", tmp_path / "s.toml")
    assert "s.toml:3" in bad.stderr
    assert "did you mean 'factors'" in bad.stderr


def test_factors_as_they_are_typed():
    found = parse_factors(["drives=3", "link = 10 Gbit/s", "share=0.5", "raid=raid5", "fw=1.2.3"])
    assert found == {
        "drives": Factor(3),
        "link": Factor(10, "Gbit/s"),
        "share": Factor(0.5),
        "raid": Factor("raid5"),
        "fw": Factor("1.2.3"),
    }
    for wrong in ("drives", "drives=", "=3", "9x=1"):
        with pytest.raises(UsageError):
            parse_factors([wrong])
