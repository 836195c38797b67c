# SPDX-License-Identifier: Apache-2.0
"""Fixed-work sequences on a real disk: fio, and IOzone where it is installed."""

import csv
import io
import json
import re
import subprocess
from statistics import fmean, stdev

import pytest

from tests.load_points import check_load_points, study
from tests.real.conftest import ioatlas, rows
from tests.simulate.iozone import COLUMNS

pytestmark = pytest.mark.needs("fio")

NINE = list(COLUMNS)


def visits_of(journal):
    """(operation, tool, record, block) of every finished visit in the order in which they were made."""
    found = rows(
        journal,
        "select c.options_json, v.block from visit v join cell c using (cell_key) where v.status='done' order by "
        "v.visit_id",
    )
    labels = [(dict(json.loads(text)), block) for text, block in found]
    return [(label["operation"], label["tool"], label["bs"], block) for label, block in labels]


def table(directory):
    return list(csv.DictReader(io.StringIO(ioatlas("export", directory, "--format", "csv").stdout)))


@pytest.mark.long("procedures", "fio")
@pytest.mark.unmeasured
def test_nine_operations_go_where_they_say(disk_dir, tmp_path):
    """In their order, over a fixed amount of work, and at the offsets that fio really sends, from its own log."""
    done = ioatlas(
        "map", "--campaign", study(tmp_path, disk_dir, size='"512k"', bs='["64k"]'), "-o", tmp_path / "c", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert list(disk_dir.iterdir()) == []
    assert [operation for operation, *_ in visits_of(tmp_path / "c")] == NINE
    moved = rows(
        tmp_path / "c", "select distinct p.io_bytes from part p join visit v using (visit_id) where v.purpose='sweep'"
    )
    assert moved == [(512 << 10,)]
    assert {row["verdict"] for row in table(tmp_path / "c")} <= {"work-bounded", "cached", "suspect"}
    record, positions = 65536, {}
    for job in sorted((tmp_path / "c" / "batches").glob("*/job.fio")):
        place = tmp_path / "again"
        place.mkdir(exist_ok=True)
        text = re.sub(r"filename=.*", f"filename={disk_dir}/again.dat", job.read_text())
        text = re.sub(r"(?m)^(startdelay|write_bw_log|write_lat_log|log_avg_msec)=.*\n", "", text)
        log = place / f"{job.parent.name}.log"
        (place / "job.fio").write_text(f"{text}\nwrite_iolog={log}\n")
        subprocess.run(["fio", "job.fio", "--output=out"], cwd=place, check=True)
        lines = [line.split() for line in log.read_text().splitlines()]
        positions[len(positions)] = [int(words[-2]) // record for words in lines if words[-1] == str(record)]
    by_operation = dict(zip(NINE, positions.values(), strict=True))
    n = 8
    for operation in ("write", "rewrite", "read", "reread"):
        assert by_operation[operation] == list(range(n))
    for operation in ("random read", "random write"):
        assert sorted(by_operation[operation]) == list(range(n)), "every record once"
    assert by_operation["backward read"] == [0, *range(n - 2, -1, -1)]
    assert by_operation["record rewrite"] == [0] * n


@pytest.mark.unmeasured
@pytest.mark.needs("iozone")
def test_iozone_beside_fio_in_one_run(disk_dir, tmp_path):
    done = ioatlas(
        "map",
        "--campaign",
        study(tmp_path, disk_dir, visits=2, bs='["64k"]', more='engine = "both"'),
        "-o",
        tmp_path / "c",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    assert list(disk_dir.iterdir()) == []
    made = visits_of(tmp_path / "c")
    assert len(made) == 2 * 2 * 9
    rounds = [made[first : first + 9] for first in range(0, len(made), 9)]
    assert all([operation for operation, *_ in one] == NINE for one in rounds)
    pairs = [(one[0][1:], other[0][1:]) for one, other in zip(rounds[::2], rounds[1::2], strict=True)]
    assert all({one[0], other[0]} == {"fio", "iozone"} and one[1:] == other[1:] for one, other in pairs), (
        "the tools of one record run side by side"
    )
    found = table(tmp_path / "c")
    assert sorted({row["tool"] for row in found}) == ["fio", "iozone"]
    assert all(int(row["n_visits"]) == 2 for row in found)
    # What IOzone printed is what stands in the result.
    printed = {}
    for path in (tmp_path / "c" / "batches").glob("*/iozone.txt"):
        line = next(line for line in path.read_text().splitlines() if re.match(r"\s+1024\s+64\s+\d", line)).split()
        for operation, value in zip(NINE, line[2:], strict=True):
            printed.setdefault((operation, int(line[1]) * 1024), []).append(int(value) * 1024)
    exported = json.loads(ioatlas("export", tmp_path / "c", "--format", "json").stdout)
    charts = {
        chart["title"].lower(): {line["name"]: line["dots"] for line in chart["series"]} for chart in exported["charts"]
    }
    assert list(charts) == NINE
    for operation, lines in charts.items():
        (point,) = lines["iozone"]
        values = printed[operation, 65536]
        assert (point["x"], point["n"]) == (1 << 20, 2)
        assert point["value"] == pytest.approx(fmean(values))
        assert point["high"] - point["value"] == pytest.approx(stdev(values))
    assert [row[0] for row in exported["tables"][0]["rows"]] == NINE
    for row in exported["rows"]:
        if row["tool"] == "iozone":
            values = printed[row["operation"], row["bs_bytes"]]
            assert min(values) * 0.999 <= row["bw_bytes_per_s"] <= max(values) * 1.001
            assert row["lat_mean_ns"] is None
    html = (tmp_path / "c" / "report.html").read_text()
    assert "IOzone and its fio translation side by side" in html
    usages = [json.loads(text) for (text,) in rows(tmp_path / "c", "select usage_json from batch")]
    mine = [usage for usage in usages if "also_moved" in usage]
    assert len(mine) == 2
    for usage in mine:  # five reads are reported; backward is read twice, and two records once before the clock
        assert usage["also_moved"] == {"read": (1 << 20) + 2 * 65536}
        for disk in usage["disks"].values():
            assert disk["read_bytes"] >= 0.98 * (5 * (1 << 20) + usage["also_moved"]["read"]), (
                "counted where the file is; others only add to it"
            )


@pytest.mark.unmeasured
def test_without_iozone_the_engine_is_refused_with_a_remedy(disk_dir, monkeypatch):
    with monkeypatch.context() as bare:
        bare.setenv("PATH", "/nonexistent")
        refused = ioatlas("plan", disk_dir, "--profile", "iozone2017", "--engine", "iozone")
    assert refused.returncode == 2
    assert "iozone is not installed" in refused.stderr
    assert "--engine fio" in refused.stderr
    other = ioatlas("plan", disk_dir, "--engine", "both")
    assert other.returncode == 2
    assert "iozone2017" in other.stderr


@pytest.mark.unmeasured
def test_load_points_in_order_with_their_streams(tmp_path):
    check_load_points(ioatlas, tmp_path)
