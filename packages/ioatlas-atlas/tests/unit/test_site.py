# SPDX-License-Identifier: Apache-2.0
"""`ioatlas site`: a folder of pages from a campaign, a bundle and an import."""

import csv
import gzip
import json
import math
import random
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from pyarrow import parquet
from tests.unit.bundle.made import bundle_file, campaign, packed
from tests.unit.simulated import Shell

from ioatlas.bundle.redaction import RedactPlan
from ioatlas.model.cell import Cell
from ioatlas.model.errors import RefusedError, UsageError
from ioatlas.model.estimate import Estimate
from ioatlas.model.verdict import VerdictCode
from ioatlas_atlas.ui import site
from ioatlas_atlas.ui import site as packing

ioatlas = Shell()
MAP = "dense"


def rows_of(folder):
    columns = unpacked(folder / "names.js")["columns"] | unpacked(folder / "summary.js")["columns"]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def unpacked(script):
    """As site.js does it."""
    ((size, letters),) = re.findall(r'\[(\d+),"(.+)"\]', script.read_text("utf-16"))
    bits = "".join(f"{ord(one) - 0x3000:015b}" for one in letters)[: 8 * int(size)]
    head, _, rest = gzip.decompress(int(bits, 2).to_bytes(int(size), "big")).partition(b"\n")
    told, at = json.loads(head), 0
    for name, parts in told["columns"].items():
        read = []
        for means, width in parts:
            planes = np.frombuffer(rest, np.uint8, width * told["rows"], at).reshape(width, told["rows"]).astype(int)
            codes = (planes << 8 * np.arange(width)[:, None]).sum(0)
            read.append([number(means, code) if isinstance(means, int) else means[code] for code in codes])
            at += planes.size
        whole = zip(*read, strict=True)
        told["columns"][name] = read[0] if len(read) == 1 else [", ".join(filter(None, one)) for one in whole]
    return told


def number(power, code):
    return float(f"{(code - 1) % 9000 + 1000}e{(code - 1) // 9000 + power}") if code else None


def of_fio(bs, iops, bs_bytes):
    job = {"jobname": "a", "job options": {"rw": "randread", "bs": bs, "iodepth": "2", "numjobs": "1"}, "error": 0}
    told = {"io_bytes": iops * 10 * bs_bytes, "bw_bytes": iops * bs_bytes, "total_ios": int(iops * 10)}
    job["read"] = {**told, "iops": iops, "runtime": 10000}
    return json.dumps({"fio version": "fio-3.33", "jobs": [job]})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A site of a campaign, of a bundle of another and of imported fio results, twice over."""
    place = tmp_path_factory.mktemp("site")
    (place / "fio.json").write_text(of_fio("4k", 1000.0, 4096))
    assert ioatlas("import", place / "fio.json", "-o", place / "=1+1").returncode == 0
    sources = [campaign(MAP), bundle_file(place, packed("rounds").data()), place / "=1+1"]
    folder = place / "public"
    first = site.write_site(folder, sources, title="<b>Ours</b>", plan=RedactPlan(), licence="CC-BY-4.0")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    again = site.write_site(folder, sources, title="<b>Ours</b>", plan=RedactPlan(), licence="CC-BY-4.0")
    return folder, first, again, before, sources


def test_each_imported_set_is_a_result_and_raw_results_are_imported_first(tmp_path):
    """Files of fio in folders named by drive, as a sweep leaves them; of one that holds nothing the reason is told."""
    for place, iops in (("ssd1/4k", 1000.0), ("ssd1/64k", 900.0), ("ssd2/4k", 2000.0), ("ssd2/64k", 1500.0)):
        drive, bs = place.split("/")
        (tmp_path / "tree" / drive).mkdir(parents=True, exist_ok=True)
        text = of_fio(bs, iops, int(bs[:-1]) << 10).replace("{", '{"time": "Sun Nov  1 17:14:04 2026", ', 1)
        (tmp_path / "tree" / f"{place}_sample1.json").write_text(text)
        (tmp_path / "tree" / f"{place}_sample2.json").write_text(text)
    how = {"title": "Sweep", "plan": RedactPlan()}
    found = site.write_site(tmp_path / "public", [tmp_path / "tree"], **how).results
    assert [(line["title"], line["read_4k"], line["created"]) for line in found] == [
        ("tree, ssd2", 2000.0, "2026-11-01T00:00:00Z"),
        ("tree, ssd1", 1000.0, "2026-11-01T00:00:00Z"),
    ]
    assert not site.write_site(tmp_path / "public", [tmp_path / "tree"], **how).changed
    packed_tree = Path(shutil.make_archive(str(tmp_path / "packed" / "tree"), "zip", tmp_path / "tree"))
    for source in (packed_tree, packed_tree.parent):
        lines = site.write_site(tmp_path / f"of {source.name}", [source], **how).results
        assert [line["read_4k"] for line in lines] == [2000.0, 1000.0]
    bundle_file(packed_tree.parent, packed("rounds").data())
    told = "tree.zip: an archive beside results; name it too, and it is shown"
    for sources in ([], [packed_tree]):
        both = site.write_site(tmp_path / f"both{len(sources)}", [packed_tree.parent, *sources], **how)
        assert (len(both.results), both.left_out) == ((3, []) if sources else (1, [told]))
    (tmp_path / "notes.md").write_text("nothing")
    with pytest.raises(UsageError, match="no known result format"):
        site.write_site(tmp_path / "other", [tmp_path / "notes.md"], **how)
    assert not (tmp_path / "other").exists()


def test_each_result_has_a_line_a_report_and_downloads(made):
    folder, first, *_ = made
    rows = rows_of(folder)
    assert (len(rows), first.left_out) == (3, [])
    assert rows == [{**line, "created": line["created"][:10]} for line in first.results]
    for row in rows:
        here = folder / "r" / row["id"]
        page = (here / "index.html").read_text()
        assert "ioatlas-data" in page
        # All reports of a site share one explorer, most of what a report weighs.
        assert 'src="../../explorer.js"' in page
        assert (folder / "explorer.js").read_text()[:200] not in page
        assert (here / "cells.csv").read_text().startswith("target,")
        assert (here / f"{row['id']}.ioatlas.zip").exists() == (row["trust"] != "as imported")
    imported = next(row for row in rows if row["trust"] == "as imported")
    assert (imported["read"], imported["read_4k"], imported["write"]) == (4096000, 1000, None)
    assert len(ET.parse(folder / "feed.xml").getroot().findall("{*}entry")) == 3
    assert "<b>Ours" not in (folder / "index.html").read_text()


def test_a_load_holds_one_value_of_each_result(made):
    folder, *_ = made
    loads = unpacked(folder / "summary.js")["loads"]
    assert "randread-4096" in loads
    for kind in loads:
        columns = unpacked(folder / f"loads/{kind}.js")["columns"]
        assert kind in (folder / f"loads/{kind}.js").read_text("utf-16")
        assert tuple(columns) == site.LOAD_COLUMNS
        assert min(columns["result"]) > 0
        assert {len(values) for values in columns.values()} == {len(columns["result"])}


def test_programs_get_what_the_page_has_and_every_value(made):
    folder, first, *_ = made
    told = [{name: None if value == "" else value for name, value in row.items()} for row in first.results]
    assert parquet.read_table(folder / "summary.parquet").to_pylist() == told
    rows = list(csv.DictReader((folder / "summary.csv").open(newline="")))
    assert [(row["id"], row["title"].replace("'=", "=")) for row in rows] == [(row["id"], row["title"]) for row in told]
    assert "'=1+1" in {row["title"] for row in rows}  # a spreadsheet does not compute it
    found = {}
    for path in sorted((folder / "cells").iterdir()):
        for row in parquet.read_table(path).to_pylist():
            assert path.stem in (
                "other",
                f"{row['rw']}-{row['bs_bytes']}",
                f"{row['rw']}-{row['bs_bytes']}-{row['direction']}",
            )
            found[row["result"], row["cell"], row["direction"]] = row
    for one in told:
        for row in csv.DictReader((folder / "r" / one["id"] / "cells.csv").open(newline="")):
            same = found.pop((one["id"], row["cell"], row["direction"]))
            assert same["iops"] == (float(row["iops"]) if row["iops"] else None)
            assert bool(same["mark"]) == (row["verdict"] in ("cached", "suspect") or row["kind"] == "predicted")
    assert not found
    # What the page shows of a load is the best of its file.
    (imported,) = (n for n, one in enumerate(told) if one["trust"] == "as imported")
    shown = unpacked(folder / "loads" / "randread-4096.js")["columns"]
    assert shown["iops"][(np.cumsum(shown["result"]) - 1).tolist().index(imported)] == 1000


def test_numbers_are_packed_exactly(tmp_path):
    drawn = random.Random(1)
    many = [None, 1e-7, 9999e9, 1e3, 12.0, *(float(f"{10 ** drawn.uniform(-4, 9):.4g}") for _ in range(5000))]
    columns = {"short": many, "long": [one and one * math.pi for one in many], "text": [f"a, {one}" for one in many]}
    (tmp_path / "a.js").write_bytes(packing.packed_script("of(%s)", columns, more=1))
    assert unpacked(tmp_path / "a.js") == {"more": 1, "rows": len(many), "columns": columns}
    assert isinstance(packing._coded(many)[0], int)


def test_without_pyarrow_there_is_csv(made, tmp_path, monkeypatch):
    *_, sources = made
    monkeypatch.setattr(site, "can", lambda: False)
    site.write_site(tmp_path / "s", sources[2:], title="T", plan=RedactPlan(), licence="CC-BY-4.0")
    files = {path.name for path in (tmp_path / "s").rglob("*")}
    assert "summary.csv" in files
    assert not [name for name in files if name.endswith(".parquet")]
    page = (tmp_path / "s" / "index.html").read_text()
    assert "CC-BY-4.0" in page
    assert ".parquet" not in page


@pytest.mark.long("atlas")
def test_a_run_that_was_stopped_is_gone_on_with(made, tmp_path, monkeypatch):
    *_, sources = made
    options = {"title": "T", "plan": RedactPlan(), "licence": "CC-BY-4.0"}
    with monkeypatch.context() as patched:
        patched.setattr(site, "write_pages", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            site.write_site(tmp_path / "s", sources, **options)
    left = len(list((tmp_path / "s" / "r").rglob("*.html")))
    assert left == 3
    assert len(site.write_site(tmp_path / "s", sources, **options).results) == 3


def test_a_second_run_writes_nothing(made):
    folder, first, again, before, _ = made
    assert (again.changed, again.removed, again.files) == ([], [], len(before) - 1)
    assert len(first.changed) == again.files
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_bundle_is_shown_as_it_was_packed(made):
    folder, *_ = made
    given = {path.read_bytes() for path in folder.rglob("*.ioatlas.zip")}
    assert packed("rounds").data() in given


def test_a_result_that_is_gone_leaves_nothing(made, tmp_path):
    *_, sources = made
    folder = tmp_path / "two"
    two = site.write_site(folder, sources[1:], title="t", plan=RedactPlan())
    one = site.write_site(folder, sources[2:], title="t", plan=RedactPlan())
    gone = two.results[0]["id"] if two.results[0]["trust"] != "as imported" else two.results[1]["id"]
    assert f"r/{gone}/index.html" in one.removed
    assert [path.name for path in (folder / "r").iterdir()] == [one.results[0]["id"]]


@pytest.mark.long("atlas", "report")
@pytest.mark.parametrize("licence", ["no", "ask first", "unknown", "yes"])
def test_what_a_licence_holds_back_is_left_out_without_a_permission(made, tmp_path, licence):
    *_, sources = made
    sheet = 'format = 1\n[source]\nname = "a data sheet"\ndate = 2020-06-18\n'
    sheet += f'[product]\nvendor = "V"\nmodel = "M"\n[publishing]\nlicence = "{licence}"\n'
    shutil.copytree(sources[2], tmp_path / "old")
    (tmp_path / "old" / "product.toml").write_text(sheet)
    both = [tmp_path / "old", sources[1]]
    kept = site.write_site(tmp_path / "site", both, title="t", plan=RedactPlan())
    assert (len(kept.results), len(kept.left_out)) == ((2, 0) if licence == "yes" else (1, 1))
    asked = site.write_site(tmp_path / "site", both, title="t", plan=RedactPlan(), permission="V, 2026-11-02")
    assert (len(asked.results), asked.left_out) == (2, [])


def test_a_folder_of_somebody_else_is_refused(made, tmp_path):
    *_, sources = made
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RefusedError):
        site.write_site(tmp_path, sources[2:], title="t", plan=RedactPlan())
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["index.html", "r"])
def test_what_a_link_leads_to_is_not_written(made, tmp_path, name):
    *_, sources = made
    folder, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    site.write_site(folder, sources[2:], title="t", plan=RedactPlan())
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(elsewhere)
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(RefusedError):
        site.write_site(folder, sources[2:], title="other", plan=RedactPlan())
    assert kept == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_nothing_to_show_is_one_error(tmp_path):
    with pytest.raises(UsageError):
        site.write_site(tmp_path / "site", [tmp_path], title="t", plan=RedactPlan())
    with pytest.raises(UsageError):
        site.write_site(tmp_path / "site", [tmp_path / "nowhere"], title="t", plan=RedactPlan())


def test_what_is_doubted_is_marked_and_stands_for_a_load_only_alone():
    cell = [Cell.of("nas", {"rw": "read", "bs": 4096, "numjobs": n}) for n in (1, 2)]
    steady = Estimate(cell[0], "read", "measured", 3, bw_bytes_per_s=1e6, bw_low=9.9e5, bw_high=1.01e6)
    cached = Estimate(cell[1], "read", "measured", 3, bw_bytes_per_s=9e9, verdict=VerdictCode.CACHED)
    assert [(kind, row[0], row[-1]) for kind, row in site._best([cached, steady])] == [("read-4096", 1e6, "")]
    assert [row[-1] for _, row in site._best([cached])] == ["? suspect"]


def test_the_command_says_what_it_wrote(made, tmp_path):
    *_, sources = made
    done = ioatlas("site", tmp_path / "out", sources[2], "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (len(told["results"]), told["files"], told["left_out"]) == (1, len(told["changed"]), [])
    assert ioatlas("site", tmp_path / "out", tmp_path / "none").returncode == 2
