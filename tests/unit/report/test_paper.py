# SPDX-License-Identifier: Apache-2.0
"""The folder of a paper: read back by other programs, free of the site, written whole or refused."""

import csv
import json
import re
import subprocess
from dataclasses import replace

import pytest
from click.testing import CliRunner

from ioatlas.campaign import load_result
from ioatlas.cli import ioatlas
from ioatlas.model.panel import Table
from ioatlas.report.paper.methods import methods
from ioatlas.report.paper.tables import PADDING, latex, loads_table, to_latex
from tests.unit.simulated import World

SWEEP = """name = "Array & Co_1"
[target]
path = "TARGET"
[sweep]
rw = ["randread", "write"]
size = ["4m"]
bs = ["4k", "64k"]
numjobs = [1, 4]
iodepth = 1
"""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("paper"))
    world.run(SWEEP)
    return world


@pytest.fixture(scope="module")
def paper(campaign, tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "paper"
    done = run(campaign, folder, "--author", "Ä. Uthor", "--author", 'B "C"', "--license", "CC-BY-4.0", "--json")
    assert done.exit_code == 0, done.output
    return folder


def run(campaign, folder, *options):
    return CliRunner().invoke(
        ioatlas, ["export", "--format", "paper", str(campaign.directory), "-o", str(folder), *options]
    )


def rows_of(path):
    with path.open(newline="") as text:
        return list(csv.DictReader(text))


def test_the_data_package_describes_each_column_of_the_csv(paper):
    package = json.loads((paper / "datapackage.json").read_text())
    csv_resource, parquet_resource = package["resources"]
    rows = rows_of(paper / csv_resource["path"])
    fields = {field["name"]: field for field in csv_resource["schema"]["fields"]}
    assert list(rows[0]) == list(fields)
    assert len(rows) == 8
    assert all(field["description"] for field in fields.values())
    assert fields["bw_bytes_per_s"]["unit"] == "B/s"
    for row in rows:
        for name, text in row.items():
            if text and fields[name]["type"] == "integer":
                int(text)
            elif text and fields[name]["type"] == "number":
                float(text)
    assert parquet_resource["bytes"] == (paper / parquet_resource["path"]).stat().st_size
    assert package["licenses"] == [{"name": "CC-BY-4.0"}]


def test_the_csv_has_the_values_of_the_export(campaign, paper):
    shown = CliRunner().invoke(ioatlas, ["export", str(campaign.directory), "--format", "csv"]).output
    exported = list(csv.DictReader(shown.splitlines()))
    ours = rows_of(paper / "data" / "cells.csv")
    for name in ("rw", "bs_bytes", "bw_bytes_per_s", "bw_low", "lat_p99_ns", "verdict", "method", "cell"):
        assert [row[name] for row in ours] == [row[name] for row in exported]


def test_duckdb_reads_the_parquet_with_types(paper):
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql(
        f"select rw, bs_bytes, bw_bytes_per_s from '{paper}/data/cells.parquet' order by bw_bytes_per_s desc limit 1"
    )
    assert [str(kind) for kind in found.types] == ["VARCHAR", "BIGINT", "DOUBLE"]
    best = max(rows_of(paper / "data" / "cells.csv"), key=lambda row: float(row["bw_bytes_per_s"]))
    assert found.fetchall() == [(best["rw"], int(best["bs_bytes"]), float(best["bw_bytes_per_s"]))]


def test_checksums_fit_by_sha256sum(paper):
    done = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=paper, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_nothing_names_the_site(campaign, paper):
    for path in paper.rglob("*"):
        if path.is_file() and path.suffix in (".md", ".tex", ".csv", ".json", ".cff", ".svg"):
            assert str(campaign.target) not in path.read_text(), path.name


def test_methods_have_the_numbers_of_the_campaign(campaign, paper):
    text = (paper / "methods.md").read_text()
    ((seed,),) = campaign.rows("select json_extract(plan_json, '$.spec.order_seed') from campaign")
    assert f"random (seed {seed})" in text
    assert "rw in {randread, write}" in text
    assert "bs in {4 KiB, 64 KiB}" in text
    assert "8 measured" in text
    assert "Intervals are of 95%: " in text
    ((done,),) = campaign.rows("select count(*) from visit where status = 'done'")
    ((discarded,),) = campaign.rows("select count(*) from visit where status = 'discarded'")
    assert ("None of" in text) if not discarded else (f"{discarded} were discarded" in text)
    assert done >= 8


def test_methods_claim_no_interval_of_what_was_measured_once(campaign):
    result = load_result(campaign.directory)
    once = [replace(e, n_visits=1, bw_low=None, bw_high=None) for e in result.estimates]
    text = " ".join(methods(replace(result, estimates=tuple(once))))
    assert "Each load was started independently once; " in text
    assert "Intervals are of 95%" not in text
    assert f"{len(once)} values have no interval." in text


def test_latex_is_complete_and_escaped(paper):
    text = (paper / "paper.tex").read_text()
    assert r"Array \& Co\_1" in text
    assert text.count(r"\begin{figure}") == text.count(r"\end{figure}") >= 1
    for line in text.splitlines():
        if "includegraphics" in line or r"\input{" in line:
            assert (paper / line.rpartition("{")[2].rstrip("}")).exists()
    table = (paper / "tables" / "loads.tex").read_text()
    assert table.count(r"\\") == 9
    assert latex('50% {a}_b\\c ±2 <|> \n"#$~^') == (
        r"50\% \{a\}\_b\textbackslash{}c $\pm$2 \textless{}\textbar{}\textgreater{} "
        r"\textquotedbl{}\#\$\textasciitilde{}\textasciicircum{}"
    )


def test_rows_of_several_targets_name_theirs(campaign):
    result = load_result(campaign.directory)
    twice = [*result.estimates, *(replace(e, cell=replace(e.cell, target="u")) for e in result.estimates)]
    one, both = (loads_table([replace(result, estimates=tuple(made))]) for made in (result.estimates, twice))
    assert len(both.rows) == 2 * len(one.rows)
    assert len({row[0] for row in both.rows}) == len(both.rows)
    assert any(row[0].startswith("u: ") for row in both.rows)


def test_the_citation_names_authors_and_licence(paper):
    text = (paper / "CITATION.cff").read_text()
    assert '  - name: "Ä. Uthor"' in text
    assert r'  - name: "B \"C\""' in text
    assert 'license: "CC-BY-4.0"' in text
    assert "type: dataset" in text


def test_its_own_folder_is_replaced_and_any_other_refused(campaign, tmp_path):
    folder = tmp_path / "new" / "paper"
    assert run(campaign, folder, "--no-figures").exit_code == 0
    assert not (folder / "figures").exists()
    assert run(campaign, folder, "--no-figures", "--title", "Second").exit_code == 0
    assert (folder / "README.md").read_text().startswith("# Second")
    (folder / "README.md").write_text("mine")
    done = run(campaign, folder, "--no-figures")
    assert "were changed since" in str(done.exception)
    assert (folder / "README.md").read_text() == "mine"
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.doc").write_text("years")
    assert "not of this command" in str(run(campaign, tmp_path / "home").exception)
    assert (tmp_path / "home" / "thesis.doc").read_text() == "years"
    (tmp_path / "link").symlink_to(tmp_path / "home")
    assert "this is no folder" in str(run(campaign, tmp_path / "link").exception)


def test_without_pyarrow_the_rest_is_written_and_it_is_said(campaign, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = run(campaign, tmp_path / "p", "--no-figures")
    assert "No Parquet: pyarrow is not installed" in done.output
    assert len(json.loads((tmp_path / "p" / "datapackage.json").read_text())["resources"]) == 1


def test_a_long_row_is_broken_into_the_width_of_a_line():
    """Of a long name the table once reached 8 cm beyond the page."""
    short = Table("T", ("a", "b"), (("one", "two"),), "")
    assert r"\begin{tabular}{ll}" in to_latex(short, "t")
    name = "Three ways to run the same boxes (a study of 2016), in small, once more and on another machine"
    columns = re.search(r"begin\{tabular\}\{(.+)\}", to_latex(Table("T", ("a", "b"), ((name, name),), ""), "t"))[1]
    shares = [float(share) for share in re.findall(r"p\{([\d.]+)\\linewidth\}", columns)]
    assert len(shares) == 2
    assert 0.8 < sum(shares) <= 1 - 2 * PADDING
